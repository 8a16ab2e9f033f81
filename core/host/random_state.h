/* The states of np.random in compiled functions: one of each thread, from which
 * lanewise/_thread_random.py draws.
 *
 * A part of a loop over prange has a state of its own, which follows from that of the thread
 * that runs the loop and the number of the part alone. So the same seed gives the same numbers
 * for every number of threads. */
#ifndef LW_HOST_RANDOM_STATE_H
#define LW_HOST_RANDOM_STATE_H

#include "core/ir/random_words.h"

#include <stdint.h>

typedef struct lw_random_state {
    uint64_t words[LW_RANDOM_WORDS];
    uint64_t origin; /* of a part: what it is seeded with when it first draws */
} lw_random_state;

/* What the parts of the next loop of this thread are seeded with. */
uint64_t lw_random_fork(void);
/* Gives the thread the state of a part, and keeps its own in *saved, … */
void lw_random_enter(uint64_t fork, int64_t part, lw_random_state *saved);
/* … which it has again from here on. */
void lw_random_leave(const lw_random_state *saved);
/* Makes the state's address known to compiled code. */
void lw_random_state_register(void);

#endif
