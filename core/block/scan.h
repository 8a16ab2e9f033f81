/* Code that a block shares: totals, prefixes and choices of what its threads have. Pure C. */
#ifndef LW_BLOCK_SCAN_H
#define LW_BLOCK_SCAN_H

#include "core/ir/build.h"

/* x op y: ADD, MUL, AND, OR, XOR; LT, GT: the smaller, the larger, x where neither is;
 * INTRINSIC: the row `intrinsic`. */
typedef struct lw_associative {
    lw_op op;
    uint32_t intrinsic;
} lw_associative;

/* Which of several values, each with a number of its own, is the one that stays. */
typedef struct lw_preference {
    lw_op op;       /* GT: the largest stays, LT: the smallest */
    bool last;      /* of equals the last stays */
    bool nan_best;  /* what is no number is better than all numbers, */
    bool nan_worst; /* or worse than all; neither: it is never taken */
    bool nan_last;  /* of several that are no numbers the last stays */
} lw_preference;

/* x op y, where x comes first; its identity, which leaves every y as it is. */
lw_ref lw_block_combine(lw_builder *b, const lw_associative *one, lw_ref x, lw_ref y);
lw_ref lw_block_identity(lw_builder *b, const lw_associative *one, lw_dtype type);

/* One variable of a scan. */
typedef struct lw_scan {
    const lw_associative *one;
    lw_dtype type;
    lw_ref value;  /* in: of this thread */
    lw_ref before; /* out: of all that come before it */
    lw_ref total;  /* out, of the first time: of all threads and times */
} lw_scan;

/* Called by all threads of a block, which are a power of two, at least a warp. Each thread
 * brings `times` values of each of n variables: scans[k * n + i] is its k-th value of variable
 * i. The first values of all threads of a warp come first, in the order of the lanes, then
 * their second values, and so on; then the next warp (lw_scan_place). `turn` is a bool, the
 * same in all threads, that changes from call to call, so that one barrier is enough. The order
 * of the operations depends on the numbers of threads and times alone. */
void lw_block_scan(lw_builder *b, lw_scan *scans, uint32_t n, uint32_t times, lw_ref tid,
                   uint32_t n_threads, lw_ref turn);
/* Which of the block's threads * times this thread is the k-th time; of the type of tid. */
lw_ref lw_scan_place(lw_builder *b, lw_ref tid, uint32_t times, uint32_t k);
/* The total of all threads' values, in the same order each time: warps by shuffles, their
 * totals through shared memory. */
lw_ref lw_block_total(lw_builder *b, const lw_associative *one, lw_ref value, lw_ref tid,
                      uint32_t n_threads);
/* Of the iterations that threads have picked (i64, negative: none) the one that stays, known
 * to all threads. best: the value that this thread's has, or 0 where the pick is of the
 * last. */
lw_ref lw_block_pick(lw_builder *b, const lw_preference *pick, lw_ref best, lw_ref iteration,
                     lw_ref tid, uint32_t n_threads);
/* values[i] becomes what the thread where `mine` holds has, of which there is one; if there is
 * none, anything. */
void lw_block_give(lw_builder *b, lw_ref *values, uint32_t n, lw_ref mine);
/* What thread 0 has, for all. */
lw_ref lw_block_share(lw_builder *b, lw_ref value, lw_ref tid);

#endif
