/* Random orders on the host, by Fisher and Yates' exchanges (Durstenfeld, 1964): step i puts
 * one of the elements i … n - 1 at place i. The steps' numbers are counted, so that the first
 * steps of an order of n elements are a sample of them without replacement: lw_sample gives
 * what lw_shuffle leaves in front, in time and memory that grow with the sample alone. */
#ifndef LW_RANDOM_SHUFFLE_H
#define LW_RANDOM_SHUFFLE_H

#include "core/base/error.h"
#include "random/philox.h"

#include <stddef.h>

/* Where the numbers of steps 0, 1, … come from: of Philox's words (32 bits a step for fewer
 * than 2^32 elements, else 64) from block `place` on, or of `words`. */
typedef struct lw_draws {
    lw_philox philox;
    uint64_t place;
    const uint64_t *words; /* NULL: Philox's */
} lw_draws;

/* Philox's blocks for `count` steps among n elements. */
uint64_t lw_shuffle_blocks(int64_t n, int64_t count);
/* The first `count` steps among n items of `bytes` each, `stride` bytes apart; the first of
 * them is step `step` of the draws. */
void lw_shuffle(const lw_draws *draws, uint64_t step, char *items, size_t bytes, size_t stride,
                int64_t n, int64_t count);
/* The first `count` of the numbers below n in random order; count <= n. LW_ERR_OUT_OF_MEMORY.
 */
lw_status lw_sample(const lw_draws *draws, int64_t *out, int64_t n, int64_t count,
                    lw_error *err);

#endif
