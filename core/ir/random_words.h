/* The words of a thread's state of np.random (core/host/random_state.h), of which code for the
 * host gets the address. */
#ifndef LW_IR_RANDOM_WORDS_H
#define LW_IR_RANDOM_WORDS_H

enum {
    LW_RANDOM_FIRST,     /* xoroshiro128+'s state: two words, */
    LW_RANDOM_SECOND,    /* never both 0 */
    LW_RANDOM_HAS_SPARE, /* whether a standard normal number is left over, */
    LW_RANDOM_SPARE,     /* and which: a float64 */
    LW_RANDOM_FORKS,     /* loops over prange since it was seeded */
    LW_RANDOM_SEEDED,    /* 0: it has no state yet */
    LW_RANDOM_WORDS
};

#endif
