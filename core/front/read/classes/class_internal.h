/* Shared by the files that read classes of the user's only.
 *
 *   kind.c    which classes, and which of their functions, are the author's
 *   class.c   members, bases, registered types: lw_read_class
 *   make.c    the `__init__` that dataclasses generate
 *   object.c  objects as constants, and the order of their fields
 *   super.c   super()
 *   setattr.c object.__setattr__ and setattr */
#ifndef LW_FRONT_READ_CLASS_INTERNAL_H
#define LW_FRONT_READ_CLASS_INTERNAL_H

#include "core/front/read/read_internal.h"

/* ---- kind.c ---- */
bool lw_class_text_is(PyObject *object, const char *text);
/* Whether a function was written by the class's author, and not made by dataclasses or
 * collections. */
bool lw_class_is_written(PyObject *function);
/* The function in an attribute of a class (borrowed from it), or NULL. */
PyObject *lw_class_function_in(PyObject *raw, lw_class_member_kind *kind);
/* The same, or what a ufunc in the class was made from. */
PyObject *lw_class_code_in(PyObject *raw, lw_class_member_kind *kind);
/* Whether it is a Ufunc or Gufunc that an object has as a method. */
bool lw_class_is_ufunc_method(PyObject *raw);
/* Names that compiled code never asks a class for. */
bool lw_class_skips(const char *name);
PyObject *lw_class_dict(PyTypeObject *type); /* of the class alone; new reference */
bool lw_class_is_base(PyTypeObject *type);   /* object, tuple */
bool lw_class_is_namedtuple(PyObject *object);
PyObject *lw_class_dataclass_fields(PyObject *object); /* new reference, or NULL */
/* The `__init__` that the author wrote (borrowed), or NULL. */
PyObject *lw_class_written_init(PyObject *object);
/* Whether its author has defined this method. */
bool lw_class_defines(PyObject *object, const char *name);
/* Whether objects of the class are their fields and nothing else. */
bool lw_class_is_readable(PyObject *object);
/* Whether such a class says itself how an object is made. */
bool lw_class_is_made(PyObject *object);

/* ---- make.c ---- */
/* The fn of the `__init__` that was generated for the dataclass `owner`; 0: stop. */
uint32_t lw_class_init_of_dataclass(lw_reader *r, PyObject *owner, PyObject *fields);

/* ---- object.c ---- */
/* The names that objects of the class may have as fields, in the order that all of them keep (a
 * new list); NULL with an exception. */
PyObject *lw_class_order(PyObject *object);
/* The names of its slots, where objects have no `__dict__` (a new list). NULL without an
 * exception: they have one. */
PyObject *lw_class_slots(PyObject *object);

#endif
