/* The objects of lanewise.types: scalars (float32), arrays of them (float32[:, ::1]), records,
 * tuples, void, and signatures (float64(float64, int32)). Immutable, compared by value,
 * hashable, picklable; str and repr are the spelling that core/front/signature.c reads back. */
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
/* One value as a NumPy scalar of another type, by the rules of casts in compiled code: integers
 * wrap, floats round, floats to integers saturate and NaN gives 0. NULL with TypeError. */
PyObject *lw_type_cast(lw_dtype dtype, PyObject *value);

/* Adds the classes, the scalars under all their names, typeof and from_dtype. -1: exception. */
int lw_types_register(PyObject *module);

#endif
