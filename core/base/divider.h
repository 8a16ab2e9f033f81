/* Division by a number that is known before many numbers are divided by it, as a product and a
 * shift: T. Granlund, P. Montgomery, "Division by Invariant Integers using Multiplication",
 * PLDI 1994, figure 4.1. The host makes the divider, kernels use it. Also
 * Euclid's algorithm, rounding up, and the smaller of two numbers. */
#ifndef LW_BASE_DIVIDER_H
#define LW_BASE_DIVIDER_H

#include <stdint.h>

/* n / d == (mulhi(n, multiplier) + n) >> shift for all n < 2^31. */
typedef struct lw_divider {
    uint32_t multiplier, shift;
} lw_divider;

lw_divider lw_divider_of(uint32_t d); /* for d == 0 a divider that must not be used */

/* For a >= 0 and b > 0. */
static inline int64_t
lw_divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* The least multiple of b that is not less than a. */
static inline int64_t
lw_round_up(int64_t a, int64_t b)
{
    return lw_divide_up(a, b) * b;
}

static inline int64_t
lw_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

uint64_t lw_greatest_divisor(uint64_t x, uint64_t y); /* of both; that of 0 and y is y */

#endif
