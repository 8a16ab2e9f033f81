/* The free lists of a pool, found by (stream, class): a chained hash table, part of pool.c. All
 * need the pool's lock. */
#ifndef LW_DEVICE_POOL_BINS_H
#define LW_DEVICE_POOL_BINS_H

#include "core/device/device_internal.h"

/* The free list of one (stream, class). Blocks point to it, so it lives as long as they do. */
struct lw_bin {
    lw_pool *pool;
    CUstream stream;
    uint64_t thread; /* whose per-thread stream; 0 for all other streams */
    size_t class_bytes;
    lw_block *free; /* newest first */
    uint32_t n_free, n_used;
    lw_bin *next;
    bool gone; /* the stream was destroyed: out of the table, freed with its last block */
};

/* NULL when there is none. */
lw_bin *lw_bin_find_(const lw_pool *pool, CUstream stream, uint64_t thread, size_t class_bytes);
/* Made when there is none; NULL when memory is out. */
lw_bin *lw_bin_need_(lw_pool *pool, CUstream stream, uint64_t thread, size_t class_bytes);
/* A block of the bin is no longer in use, and not cached. */
void lw_bin_lose_(lw_bin *bin);

#endif
