/* A reduction with where= as a reduction without: the mask is one more operand, and an element
 * whose mask is not set counts as the neutral value, which changes nothing. So loops need no
 * branch for it. Pure C. */
#ifndef LW_REDUCE_HOST_MASKED_H
#define LW_REDUCE_HOST_MASKED_H

#include "reduce/function/reduction.h"

/* *out is NULL where combine has no neutral value that is known, or where map does more than
 * compute: then it must not run for elements that are left out. `of` must outlive *out. */
lw_status lw_reduction_masked(const lw_reduction *of, lw_reduction **out, lw_error *err);
void lw_reduction_masked_free(lw_reduction *self); /* NULL is allowed */

#endif
