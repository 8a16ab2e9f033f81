/* States of xoroshiro128+ (D. Blackman, S. Vigna, "Scrambled Linear Pseudorandom Number
 * Generators", 2018, in its first form of 2016 with the constants 55, 14, 36), equal to those
 * of numba.cuda.random bit for bit, but made in time that does not grow with the number of
 * jumps.
 *
 * State i of a set is the seeded state after (subsequence_start + i) jumps of 2^64 steps. A
 * jump is linear over GF(2): J = T^(2^64), where T is the step. Applying J^(2^k) to a state
 * takes 16 look-ups in a table of bytes, and the set doubles with every table: states[h … 2h) =
 * J^h states[0 … h). */
#ifndef LW_RANDOM_XOROSHIRO_H
#define LW_RANDOM_XOROSHIRO_H

#include "core/base/error.h"

#include <stdint.h>

typedef struct lw_xoroshiro {
    uint64_t s0, s1;
} lw_xoroshiro;

enum { LW_XOROSHIRO_LEVELS = 64, LW_XOROSHIRO_TABLE_BYTES = 16 * 256 * 16 };

/* State `start` of the seed: one output of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, 2014)
 * in both words, as numba does, then the jumps. The one seed for which that output is 0
 * (7046029254386353131) takes the next output, because an all-zero state would stay zero. */
lw_xoroshiro lw_xoroshiro_seed(uint64_t seed, uint64_t start);
/* J^(2^level) as table[byte of the state][its value]; each entry is the two words of a product.
 * Made at the first use and kept. LW_ERR_OUT_OF_MEMORY. */
lw_status lw_xoroshiro_table(unsigned level, const lw_xoroshiro **out, lw_error *err);
/* Computes the states start … start + n of a seed on the threads of the pool. */
lw_status lw_xoroshiro_states(lw_xoroshiro *states, int64_t n, uint64_t seed, uint64_t start,
                              lw_error *err);

#endif
