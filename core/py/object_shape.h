/* Objects of the user's classes as values: which fields they have, and objects made of fields.
 * A shape is a class with the names of the fields of its objects; there is one for each, for as
 * long as the process lives, so that keys of calls name it by its address. */
#ifndef LW_PY_OBJECT_SHAPE_H
#define LW_PY_OBJECT_SHAPE_H

#include <Python.h>

#include "core/tables/dtypes.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct lw_object_shape {
    _Atomic(unsigned) version; /* of the class, when it was last compared; 0: none */
    struct lw_object_shape *next;
    PyTypeObject *type;   /* owned */
    PyObject *names;      /* owned: a tuple of str, of the object's attributes */
    PyObject *fields;     /* owned: the same in compiled code */
    PyObject *given;      /* owned: what trees know the class by: itself, or the type that
                             typeof_impl gives its objects */
    PyObject *registered; /* owned: what register() noted of the class, or the _Struct of the
                             type (lanewise/_struct_types.py), or NULL */
    _Atomic(uint64_t)
        overloads;          /* of a type: the version when its _Struct was last looked at */
    const lw_dtype *dtypes; /* by field: as registered; void: not registered */
    bool by_dict;           /* the fields are those of `__dict__` */
    bool is_container;      /* a typed list or dict: given is a class of the package, and the
                               fields are what all holders of the object share */
} lw_object_shape;

/* The shape of an object; NULL: compiled code does not know such objects (numbers, tuples and
 * arrays among them), or what typeof_impl has registered for the class raised an exception,
 * which is set. A class seen before costs a look-up by its address. */
const lw_object_shape *lw_object_shape_of(PyObject *object);
/* The same, but NULL for classes that were not asked for lately: before what costs more. */
const lw_object_shape *lw_object_shape_seen(PyObject *object);
/* Whether a container is a typed list; else it is a typed dict. */
bool lw_object_is_typed_list(const lw_object_shape *container);
/* The shape of Python's slices, which compiled code knows as objects of a class of the package;
 * NULL with an exception. */
const lw_object_shape *lw_slice_shape(void);
/* The value of attribute i of an object (new reference): of a type with a model, tuples of
 * numbers have the types of its member. */
PyObject *lw_object_field(PyObject *object, const lw_object_shape *shape, Py_ssize_t i);
/* A new object of the Python class of a type with a model (its _Struct) that has these members.
 */
PyObject *lw_object_make_struct(PyObject *structure, PyObject *const *values);
/* A new object with these values (one for each name), which no method of its class sees: what
 * `__init__` does is not done again. NULL with an exception. */
PyObject *lw_object_make(PyTypeObject *type, PyObject *names, PyObject *const *values);
/* The same for a class that is derived from tuple: `items` become its items. */
PyObject *lw_object_make_tuple(PyTypeObject *type, PyObject *items);
/* Adds _container and _typed_classes to the module. */
int lw_object_shape_register(PyObject *module);

/* Whether it is a sparse array of SciPy, or of a library like it, which no array is made of. */
bool lw_is_sparse(PyObject *object);

#endif
