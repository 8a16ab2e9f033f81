/* A reduction whose mask is one more operand: where it is not set, an element counts as what
 * changes nothing. Loops go through all elements side by side then, without a branch. Pure C.
 */
#ifndef LW_REDUCE_HOST_MASKED_H
#define LW_REDUCE_HOST_MASKED_H

#include "reduce/function/reduction.h"

/* *out is NULL where combine is not known to have such an element, or map does more than
 * compute: of elements that are left out it may not even be computed. What of is has to outlive
 * it. */
lw_status lw_reduction_masked(const lw_reduction *of, lw_reduction **out, lw_error *err);
void lw_reduction_masked_free(lw_reduction *self); /* NULL is allowed */

#endif
