/* Arrays of uniform numbers, equal to those of the kernel philox_random_float64: two numbers of
 * each block. */
#ifndef LW_RANDOM_UNITS_H
#define LW_RANDOM_UNITS_H

#include "random/philox.h"

/* out[i] = low + width * a number in [0, 1), rounded once, for n numbers from block `place` on;
 * on the pool's threads where that is worth it. */
void lw_philox_uniforms(const lw_philox *stream, uint64_t place, double low, double width,
                        int64_t n, double *out);
/* x[i] = loc + scale * x[i], rounded once. */
void lw_move_numbers(double *x, int64_t n, double loc, double scale);

#endif
