/* Arrays of integers below a span of at most 2^32, equal to those of the kernels
 * philox_integers32: four numbers of each block. */
#ifndef LW_RANDOM_INTEGERS_H
#define LW_RANDOM_INTEGERS_H

#include "core/host/pieces.h"
#include "random/philox.h"

/* out[i] = low + a number below span, for n numbers from block `place` on; on the pool's
 * threads where that is worth it. stop: see core/host/pieces.h; or NULL. */
void lw_philox_integers32(const lw_philox *stream, uint64_t place, uint64_t low, uint64_t span,
                          int64_t n, int64_t *out, lw_stop *stop);

#endif
