/* Exceptions of a reduction's functions. An exception of map or combine is carried as numbers
 * behind those of the accumulator: a status (0, or the index of a raise row + 1) and the words
 * that its message shows. combine keeps the exception of its left operand, else that of its
 * right one, else its own; finish passes it on behind its results, and whoever reads the
 * results looks at it. So no kernel knows of exceptions, and of several the first in the order
 * of combination is reported. Pure C. */
#ifndef LW_REDUCE_FUNCTION_RAISED_H
#define LW_REDUCE_FUNCTION_RAISED_H

#include "reduce/function/reduction.h"

/* Replaces r's functions, some of which can raise, by functions that carry these numbers, which
 * n_acc and n_out then include. LW_ERR_UNSUPPORTED where there is no room for them. */
lw_status lw_reduce_carry_raised(lw_reduction *r, lw_error *err);
/* The raise row of a status; NULL for one that no function leaves. */
const lw_raise_row *lw_reduce_raised_row(const lw_reduction *r, int32_t status);

#endif
