/* Shared by pool.c (lists), pool_driver.c and pool_source.c. */
#ifndef LW_DEVICE_POOL_INTERNAL_H
#define LW_DEVICE_POOL_INTERNAL_H

#include "core/device/device_internal.h"
#include "core/device/pool_bins.h"

/* ---- pool.c ---- */
/* Makes the block's own stream wait for the others that have used it. */
void lw_block_settle_(lw_block *block, lw_context *context, CUstream stream);

/* ---- pool_driver.c; where not said otherwise the context must be current ---- */
/* Handles of the per-thread stream are the same in every thread; this number tells threads
 * apart. */
uint64_t lw_thread_number_(void);
/* A stream of the pool's own, which nobody captures. */
lw_status lw_pool_side_(lw_pool *pool, CUstream *out, lw_error *err);
/* Whether the stream captures; true also when another capture forbids the query. */
bool lw_stream_captures_(CUstream stream);
lw_status lw_pool_driver_take_(lw_pool *pool, size_t size_bytes, CUstream stream,
                               bool capturing, CUdeviceptr *out, lw_error *err);
/* Frees one block's memory after the work that its stream has now. */
void lw_pool_driver_put_(lw_pool *pool, const lw_block *block);
/* The stream on which a block of the bin is freed; needs no context. */
CUstream lw_pool_freeing_stream_(const lw_pool *pool, const lw_bin *bin);

/* ---- pool_source.c ---- */
typedef struct lw_source_box lw_source_box;
/* The source that is set, held for one block; NULL: none is set. */
lw_source_box *lw_source_hold_(void);
/* A block from a source or, if the source is NULL, one of no bytes; drops the source on
 * failure. */
lw_status lw_source_take_(lw_device *device, size_t size_bytes, CUstream stream,
                          lw_source_box *source, lw_block **out, lw_error *err);
void lw_source_put_(lw_block *block);
/* The context that such a block holds; NULL for one of no bytes. */
const lw_context *lw_source_context_(const lw_block *block);

#endif
