/* Structured dtypes by identity: equal ones are one row, for as long as the process lives. */
#ifndef LW_PY_RECORD_INTERN_H
#define LW_PY_RECORD_INTERN_H

#include "core/front/typed.h"
#include "core/py/numpy_api.h"

/* What the dtype is to compiled code. A dtype seen before costs one look-up by its address.
 * NULL with a TypeError naming the field that compiled code does not know. */
const lw_arg_record *lw_record_intern(PyArray_Descr *descr);
/* Whether items of the dtype are records to compiled code: it has fields, or it is one of texts
 * or bytes, in native byte order. */
bool lw_is_record_descr(const PyArray_Descr *descr);
/* A dtype that is this record; borrowed. */
PyArray_Descr *lw_record_descr(const lw_arg_record *record);

#endif
