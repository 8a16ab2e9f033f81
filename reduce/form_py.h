/* Records and nested tuples among a call's arrays and results. */
#ifndef LW_REDUCE_FORM_PY_H
#define LW_REDUCE_FORM_PY_H

#include "reduce/call_parts_py.h"

/* Array number i of the call has this dtype. Gives how many numbers an element of it is, with
 * their dtypes and offsets; 0 with an exception. */
uint32_t lw_reduce_take_dtype(lw_reduce_call *call, uint32_t i, PyArray_Descr *descr,
                              lw_dtype dtype[LW_REDUCE_MOST], int64_t offset[LW_REDUCE_MOST]);

/* What becomes of results that are numbers: array `to` of the call's results. */
typedef struct lw_reduce_packing {
    int (*number)(void *context, uint32_t to, uint32_t from);
    /* n numbers, which go to these offsets of its items. */
    int (*record)(void *context, uint32_t to, PyArray_Descr *descr, uint32_t from, uint32_t n,
                  const int64_t *offset);
} lw_reduce_packing;

int lw_reduce_pack(const lw_reduce_call *call, const lw_reduce_packing *packing, void *context);
/* The arrays as the form has them, in tuples; give: a new reference to array number i. */
PyObject *lw_reduce_arrange(const lw_reduce_form *form,
                            PyObject *(*give)(void *context, uint32_t i), void *context);
/* TypeError unless this is a number, or a tuple or a record of some. */
int lw_reduce_check_identity(PyObject *object);
/* identity= and initial=: the numbers of an accumulator. kept: becomes false where an integer
 * does not hold its number, which is then no error; or NULL. */
int lw_reduce_read_accumulator(const lw_reduction *r, PyObject *object, const char *keyword,
                               lw_reduce_item *out, bool *kept);

#endif
