/* The free lists of a pool, found by (stream, class): a chained hash table, part of pool.c. All
 * functions need the pool's lock. */
#ifndef LW_DEVICE_POOL_BINS_H
#define LW_DEVICE_POOL_BINS_H

#include "core/device/device_internal.h"

/* The free list of one (stream, class). Blocks point to it, so it lives as long as they do. */
struct lw_bin {
    lw_pool *pool;
    CUstream stream;
    uint64_t thread; /* of a per-thread stream its thread; 0 for all other streams */
    size_t class_bytes;
    lw_block *free; /* newest first */
    uint32_t n_free, n_used;
    lw_bin *next;
    /* the stream is somebody else's, who may destroy it without telling us. While the bin's
     * blocks are in use their owner keeps it alive; when they are cached nobody does, and the
     * driver may crash on a handle that is destroyed, so it must not be given to the driver */
    bool foreign;
    bool gone; /* the stream was destroyed: not in the table, freed with its last block */
};

/* NULL when there is none. */
lw_bin *lw_bin_find_(const lw_pool *pool, CUstream stream, uint64_t thread, size_t class_bytes);
/* Made if there is none; NULL: memory ran out. */
lw_bin *lw_bin_need_(lw_pool *pool, CUstream stream, uint64_t thread, size_t class_bytes);
/* Notes that a block of the bin is neither in use nor cached any more. */
void lw_bin_lose_(lw_bin *bin);

#endif
