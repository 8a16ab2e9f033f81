/* NumPy's structured dtypes as lw_arg_record, the form that the front end knows. */
#ifndef LW_FRONT_READ_RECORD_H
#define LW_FRONT_READ_RECORD_H

#include <Python.h>

#include "core/front/typed.h"

/* From a numpy.dtype with fields; everything is copied into the arena. `align` is the alignment
 * of every item in an array that NumPy allocated: that of its widest part if every field has an
 * offset that is a multiple of its own alignment, else 1. A caller that takes an array of
 * records checks that its address and strides are multiples of it. 0, or -1 with TypeError that
 * names a field whose dtype compiled code does not know. */
int lw_read_record(PyObject *dtype, lw_arena *arena, lw_arg_record **out);
/* The attribute of a dtype's type that names the class whose objects the records are. */
#define LW_CLASS_OF_RECORDS "__lanewise_class__"

#endif
