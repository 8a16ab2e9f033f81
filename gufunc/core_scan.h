/* A block makes totals and prefixes of what its threads have. Pure C. */
#ifndef LW_GUFUNC_CORE_SCAN_H
#define LW_GUFUNC_CORE_SCAN_H

#include "gufunc/core_rounds.h"

/* x op y, x coming before y, and what leaves every y as it is. */
lw_ref lw_carried_combine(lw_builder *b, const lw_carried *one, lw_ref x, lw_ref y);
lw_ref lw_carried_nothing(lw_builder *b, const lw_carried *one, lw_dtype type);

/* One variable of a scan. */
typedef struct lw_scan {
    const lw_carried *one;
    lw_dtype type;
    lw_ref value;  /* in: of this thread */
    lw_ref before; /* out: of all threads in front of this one together */
    lw_ref total;  /* out: of all threads */
} lw_scan;

/* Called by all threads of a block, which are a power of two, at least a warp. `turn`: a bool,
 * the same in all threads, another one than at the call that came before: a second barrier is
 * not needed then. The order of the operations depends on the number of threads alone. */
void lw_block_scan(lw_builder *b, lw_scan *scans, uint32_t n, lw_ref tid, uint32_t n_threads,
                   lw_ref turn);
/* Halving through shared memory: value becomes the total, in the same order each time. */
lw_ref lw_block_total(lw_builder *b, const lw_carried *one, lw_ref value, lw_ref tid,
                      uint32_t n_threads);
/* What thread 0 has, for all. */
lw_ref lw_block_share(lw_builder *b, lw_ref value, lw_ref tid);

#endif
