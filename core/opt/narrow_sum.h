/* Sums that lose digits: loops that add up in a type of 16 or 32 bits. Looks, changes nothing.
 *
 * After n additions one by one the error of a sum can be n * u of the sum of the absolute
 * values, where u = 2^-p for p bits of precision (Higham, "Accuracy and Stability of Numerical
 * Algorithms", 2002, section 4.2). A loop counts when half of the digits may be lost, n * u >
 * sqrt(u): from 2^(p/2) additions on, or when nobody knows how many there will be. */
#ifndef LW_OPT_NARROW_SUM_H
#define LW_OPT_NARROW_SUM_H

#include "core/ir/ir.h"

typedef struct lw_narrow_sum {
    lw_dtype dtype; /* of the sum, or of a part of it where that is complex */
    lw_ref at;      /* the SET or STORE that puts the sum back; 0: there is no such loop */
    bool in_memory; /* it is a STORE: `out[0] += x` */
} lw_narrow_sum;

/* The first such loop of the function. What is added must not follow from the sum: iterations
 * such as Newton's and compensated sums mend their own errors. Nor may the loop end by a
 * comparison of floats that it computes: those run until they converge. */
lw_status lw_find_narrow_sum(const lw_func *func, lw_narrow_sum *out, lw_error *err);

#endif
