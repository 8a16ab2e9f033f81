/* Code that the threads of a block run together: totals, prefix sums and selection over a value
 * of each thread. Pure C. */
#ifndef LW_BLOCK_SCAN_H
#define LW_BLOCK_SCAN_H

#include "core/ir/build.h"

/* An associative operation x op y: ADD, MUL, AND, OR, XOR; LT, GT: the smaller, the larger, and
 * x where neither is; INTRINSIC: the row `intrinsic`. */
typedef struct lw_associative {
    lw_op op;
    uint32_t intrinsic;
} lw_associative;

/* Which of several values, each with a number of its own, is selected. */
typedef struct lw_preference {
    lw_op op;       /* GT: the largest, LT: the smallest */
    bool last;      /* the last of several equals, else the first */
    bool nan_best;  /* NaN is better than all numbers, */
    bool nan_worst; /* or worse than all; neither: it is never selected */
    bool nan_last;  /* the last of several NaNs, else the first */
} lw_preference;

/* x op y, where x comes first; and the identity of the operation, which leaves every y
 * unchanged. */
lw_ref lw_block_combine(lw_builder *b, const lw_associative *one, lw_ref x, lw_ref y);
lw_ref lw_block_identity(lw_builder *b, const lw_associative *one, lw_dtype type);

/* The threads of a block, as the code of one of them sees them. */
typedef struct lw_thread_block {
    lw_ref tid;         /* the thread's number in the block */
    uint32_t n_threads; /* a power of two, at least a warp: of a block, or a warp of a block */
    bool once;          /* no thread runs the code of one of these operations twice */
} lw_thread_block;

/* What is scanned: a value; or, if there is a factor, the map x -> factor * x + value, so that
 * the total of two of them is the one after the other. */
typedef struct lw_scan_term {
    lw_ref value, factor; /* factor: 0, or of the same type */
} lw_scan_term;

/* One variable of a scan. */
typedef struct lw_scan {
    const lw_associative *one; /* of values without factors */
    lw_dtype type;
    lw_scan_term term;  /* in: this thread's */
    lw_ref start;       /* in, only in the first term of the variable: its value at first */
    lw_ref before;      /* out: its value before the term */
    lw_scan_term total; /* out, only in the first term of the variable: that of all terms */
} lw_scan;

/* The variable's value x after a term. */
lw_ref lw_scan_apply(lw_builder *b, const lw_associative *one, lw_scan_term term, lw_ref x);

enum { LW_SCAN_MOST_TIMES = 8 };

/* Called by all threads of a block. Each thread has `times` (at most LW_SCAN_MOST_TIMES) values
 * of each of n variables: scans[k * n + i] is its k-th value of variable i. The first values of
 * all threads of a warp come first, in the order of the lanes, then their second values, and so
 * on; then the next warp (lw_scan_index). `turn` is a bool, the same in all threads, that
 * changes from call to call, so that one barrier is enough. The order of the operations depends
 * on the numbers of threads and times alone. */
void lw_block_scan(lw_builder *b, const lw_thread_block *block, lw_scan *scans, uint32_t n,
                   uint32_t times, lw_ref turn);
/* The position of this thread's k-th value among the block's threads * times values; it has the
 * type of tid. */
lw_ref lw_scan_index(lw_builder *b, lw_ref tid, uint32_t times, uint32_t k);
/* The total of all threads' values, combined in the same order each time: within warps by
 * shuffles, then the warps' totals through shared memory. */
lw_ref lw_block_total(lw_builder *b, const lw_thread_block *block, const lw_associative *one,
                      lw_ref value);
/* Selects one of the iterations that threads have picked (i32 or i64, negative: none); all
 * threads get it. best: this thread's value, or 0 where the last iteration is selected. */
lw_ref lw_block_pick(lw_builder *b, const lw_thread_block *block, const lw_preference *pick,
                     lw_ref best, lw_ref iteration);
/* values[i] becomes the value of the one thread for which `mine` is true; if there is none, it
 * is undefined. */
void lw_block_give(lw_builder *b, const lw_thread_block *block, lw_ref *values, uint32_t n,
                   lw_ref mine);
/* Whether a bool is true in all threads. */
lw_ref lw_block_all(lw_builder *b, const lw_thread_block *block, lw_ref is);
/* Gives all threads the value of thread 0. */
lw_ref lw_block_share(lw_builder *b, const lw_thread_block *block, lw_ref value);
/* The threads wait for each other, and what they have written is seen by all. */
void lw_block_wait(lw_builder *b, const lw_thread_block *block);

#endif
