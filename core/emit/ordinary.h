/* A function without the tests of its float64 operations, for GPUs. There a division, a root, a
 * logarithm and e^x test whether a number needs the care that hardly any needs (zeros,
 * infinities, NaN, subnormal and very large numbers), and branch. The branches keep ptxas from
 * computing several elements side by side, and from loading a coefficient once for all of them:
 * Black-Scholes in float64 has 261 instructions for an option instead of 305 (sm_90,
 * CUDA 13.0).
 *
 * needs: nothing; keeps: the function, beside which an ordinary one is added. */
#ifndef LW_EMIT_ORDINARY_H
#define LW_EMIT_ORDINARY_H

#include "core/ir/build.h"

enum { LW_NO_FUNCTION = UINT32_MAX };

/* Adds a function that computes the same without these tests, and has one more result: whether
 * no number needed one. Only then the others are those of the function, with the same bits.
 * LW_NO_FUNCTION: it has too few such operations, or does more than compute its results. */
lw_status lw_add_ordinary(lw_module *module, uint32_t func, uint32_t *ordinary, lw_error *err);

#endif
