/* Structured dtypes for doors: lw_read_record of core/front/read/python.h by NumPy's type. */
#ifndef LW_PY_RECORD_SPEC_H
#define LW_PY_RECORD_SPEC_H

#include "core/front/typed.h"
#include "core/py/numpy_api.h"

/* 0, or -1 with TypeError naming the field. Some microseconds a field: ask once for each dtype.
 */
int lw_record_spec(PyArray_Descr *descr, lw_arena *arena, lw_arg_record **out);

#endif
