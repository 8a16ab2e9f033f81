/* Calling a scalar type casts: float32(1.5). */
#ifndef LW_PY_TYPE_CAST_H
#define LW_PY_TYPE_CAST_H

#include <Python.h>

#include "core/tables/dtypes.h"

/* One value as a NumPy scalar of another type, by the rules of casts in compiled code: integers
 * wrap, floats round, floats to integers saturate and NaN gives 0. NULL with TypeError. */
PyObject *lw_type_cast(lw_dtype dtype, PyObject *value);

#endif
