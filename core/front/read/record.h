/* NumPy's structured dtypes as what the front end knows of them. */
#ifndef LW_FRONT_READ_RECORD_H
#define LW_FRONT_READ_RECORD_H

#include <Python.h>

#include "core/front/typed.h"

/* From a numpy.dtype with fields; everything is copied into the arena. `align` is what every
 * item has where NumPy made the array: that of its widest part if every field lies at a
 * multiple of its own, else 1. Whoever takes an array of records sees to it that address and
 * strides are multiples of it. 0, or -1 with TypeError naming a field whose dtype compiled code
 * does not know. */
int lw_read_record(PyObject *dtype, lw_arena *arena, lw_arg_record **out);

#endif
