/* Finds sums that lose digits or wrap around: loops that add up in a float type of 16 or 32
 * bits, or in a variable of an integer type of 8, 16 or 32. It changes nothing.
 *
 * After n additions one by one the error of a sum can be n * u times the sum of the absolute
 * values, where u = 2^-p for p bits of precision (N. J. Higham, "Accuracy and Stability of
 * Numerical Algorithms", 2002, section 4.2). A loop is reported when half of the digits may be
 * lost, n * u > sqrt(u): from 2^(p/2) additions on, or when their number is not known. A loop
 * over integers is reported unless its total decides what the loop does or which element it
 * takes, as counters do. */
#ifndef LW_OPT_NARROW_SUM_H
#define LW_OPT_NARROW_SUM_H

#include "core/ir/ir.h"

typedef struct lw_narrow_sum {
    lw_dtype dtype; /* of the sum, or of a part of it where that is complex */
    lw_ref at;      /* the SET or STORE that stores the sum; 0: there is no such loop */
    bool in_memory; /* it is a STORE: `out[0] += x` */
} lw_narrow_sum;

/* Finds the first such loop of the function whose sum is stored behind `after` (0: of all).
 * What is added must not depend on the sum:
 * iterations such as Newton's, and compensated sums, correct their own errors. Nor may a
 * comparison of floats that the loop computes end it: such loops run until they converge. */
lw_status lw_find_narrow_sum(const lw_func *func, lw_ref after, lw_narrow_sum *out,
                             lw_error *err);

#endif
