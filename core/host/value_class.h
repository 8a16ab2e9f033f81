/* Whether floating-point flags are the formula's or those of vector code, which computes what a
 * branch throws away: the values decide. */
#ifndef LW_HOST_VALUE_CLASS_H
#define LW_HOST_VALUE_CLASS_H

#include "core/tables/dtypes.h"

enum { LW_IS_NAN = 1, LW_IS_INF = 2, LW_IS_TINY = 4 /* zero or subnormal */, LW_IS_ZERO = 8 };

/* Bits of what a value in memory is; of integers none. */
unsigned lw_value_class(lw_dtype dtype, const char *at);
/* Which of `flags` (of fenv.h) outputs of these classes explain where the inputs are of those:
 * "invalid" where an output is NaN and no input is; "overflow" and "divide" where an output is
 * infinite and all inputs are finite; "underflow" where such an output is zero or subnormal.
 * An input that is zero makes poles and exact zeros: where both flags are raised it explains
 * "divide" alone, and no "underflow" to zero. */
int lw_flags_explained(unsigned in, unsigned out, int flags);

#endif
