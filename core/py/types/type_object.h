/* lanewise.types.Type: scalars (float32), arrays of them (float32[:, ::1]), records, tuples and
 * void. Called with types a type makes a signature, with a value it casts. Immutable, compared
 * by value, hashable, picklable; str and repr are the spelling that
 * core/front/signature_parse.c reads back. */
#ifndef LW_PY_TYPE_OBJECT_H
#define LW_PY_TYPE_OBJECT_H

#include <Python.h>

#include <stdbool.h>

#include "core/front/signature.h"
#include "core/tables/dtypes.h"

/* A new reference to the object of a type or NULL with an exception. */
PyObject *lw_type_object_new(const lw_sig_type *type);
/* The scalar type object of a dtype (new reference). */
PyObject *lw_type_object_of(lw_dtype dtype);
/* True, and *out, when object is a type object; *out points into it. */
bool lw_type_object_get(PyObject *object, lw_sig_type *out);

/* Adds the classes, and the scalars under all their names. -1: exception. */
int lw_types_register(PyObject *module);

#endif
