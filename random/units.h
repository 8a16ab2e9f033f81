/* Arrays of uniform numbers, equal to those of the kernels philox_random_float64, two numbers
 * of each block, and philox_random_float32. */
#ifndef LW_RANDOM_UNITS_H
#define LW_RANDOM_UNITS_H

#include "core/host/pieces.h"
#include "random/philox.h"

/* out[i] = low + width * a number in [0, 1), rounded once, for n numbers from block `place` on;
 * on the pool's threads where that is worth it. stop: see core/host/pieces.h; or NULL. */
void lw_philox_uniforms(const lw_philox *stream, uint64_t place, double low, double width,
                        int64_t n, double *out, lw_stop *stop);
/* The same in float32, four numbers of each block, in [0, 1): those of philox_random_float32.
 */
void lw_philox_uniforms32(const lw_philox *stream, uint64_t place, int64_t n, float *out,
                          lw_stop *stop);
/* x[i] = loc + scale * x[i], rounded once. */
void lw_move_numbers(double *x, int64_t n, double loc, double scale);

#endif
