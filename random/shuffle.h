/* Random orders on the host by the exchanges of Fisher and Yates (R. Durstenfeld, 1964): step i
 * puts one of the elements i … n - 1 at position i. The number for a step depends on the step
 * alone, so the first steps of an order of n elements are a sample of them without replacement:
 * lw_sample gives the elements that lw_shuffle would put first, in time and memory that grow
 * with the sample only. */
#ifndef LW_RANDOM_SHUFFLE_H
#define LW_RANDOM_SHUFFLE_H

#include "core/base/error.h"
#include "random/philox.h"

#include <stddef.h>

#include "core/host/pieces.h"

/* Where the numbers of steps 0, 1, … come from: Philox's words (32 bits per step for fewer than
 * 2^32 elements, else 64) from block `place` on, or `words`. */
typedef struct lw_draws {
    lw_philox philox;
    uint64_t place;
    const uint64_t *words; /* NULL: Philox's */
    lw_stop *stop;         /* core/host/pieces.h: it may end early; or NULL */
} lw_draws;

/* How many of Philox's blocks `count` steps among n elements take. */
uint64_t lw_shuffle_blocks(int64_t n, int64_t count);
/* n items of `bytes` each, `stride` bytes apart. */
typedef struct lw_shuffled {
    char *items;
    size_t bytes, stride;
    int64_t n;
} lw_shuffled;

/* The first `count` steps among the items; the first of these is step `step` of the draws. */
void lw_shuffle(const lw_draws *draws, uint64_t step, const lw_shuffled *of, int64_t count);
/* The first `count` of the numbers below n in random order; count <= n. LW_ERR_OUT_OF_MEMORY.
 */
lw_status lw_sample(const lw_draws *draws, int64_t *out, int64_t n, int64_t count,
                    lw_error *err);

#endif
