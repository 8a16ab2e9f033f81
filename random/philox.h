/* Philox-4x32-10 (J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel Random Numbers:
 * As Easy as 1, 2, 3", 2011) on the host: the same words, bit for bit, that the kernels of
 * lanewise/_random_kernels.py use. Block b of a stream has the counter (b, 0, c3); attempt k of
 * element e has (e, k, c3 + 1). */
#ifndef LW_RANDOM_PHILOX_H
#define LW_RANDOM_PHILOX_H

#include <stdint.h>

typedef struct lw_philox {
    uint32_t key[2];
    uint32_t c3; /* twice the number of jumps */
} lw_philox;

enum { LW_PHILOX_BATCH = 64 }; /* blocks that callers with a room for words ask for at once */

/* The words of `n` blocks from block `first` on, four each. */
void lw_philox_blocks(const lw_philox *stream, uint64_t first, int n, uint32_t *words);
/* n numbers with 53 random bits in [0, 1), two of each block. */
void lw_philox_units(const lw_philox *stream, uint64_t first, int n, double *out);
/* word * span >> 32 without bias, as `_below32` of the kernels: words that would cause a bias
 * are drawn again. 0 < span <= 2^32. */
uint64_t lw_philox_below32(const lw_philox *stream, uint64_t element, uint32_t word,
                           uint64_t span);
/* The same for 64 bits; `word` is attempt 0 of the element. */
uint64_t lw_philox_integer64(const lw_philox *stream, uint64_t element, uint64_t span);
uint64_t lw_philox_below64(const lw_philox *stream, uint64_t element, uint64_t word,
                           uint64_t span);

static inline uint64_t
lw_philox_long(const uint32_t *words)
{
    return (uint64_t)words[0] << 32 | words[1];
}

/* 53 random bits in [0, 1). */
static inline double
lw_philox_unit(const uint32_t *words)
{
    return (double)((uint64_t)(words[0] >> 5) << 26 | words[1] >> 6) * 0x1p-53;
}

#endif
