/* Decides by the values whether floating-point flags are those of the formula, or of vector
 * code, which also computes what a branch throws away. */
#ifndef LW_HOST_VALUE_CLASS_H
#define LW_HOST_VALUE_CLASS_H

#include "core/tables/dtypes.h"

enum { LW_IS_NAN = 1, LW_IS_INF = 2, LW_IS_TINY = 4 /* zero or subnormal */, LW_IS_ZERO = 8 };

/* The class bits of a value in memory; integers have none. */
unsigned lw_value_class(lw_dtype dtype, const char *at);
/* Which of `flags` (of fenv.h) are explained by outputs of these classes for inputs of these
 * classes: "invalid" by a NaN output where no input is NaN; "overflow" and "divide" by an
 * infinite output where all inputs are finite; "underflow" by an output that is then zero or
 * subnormal. A zero input makes poles and exact zeros, so where both flags are raised it
 * explains "divide" alone, and not "underflow" to zero. */
int lw_flags_explained(unsigned in, unsigned out, int flags);

#endif
