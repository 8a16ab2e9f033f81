/* Shared by pool.c (lists), pool_driver.c and pool_source.c. */
#ifndef LW_DEVICE_POOL_INTERNAL_H
#define LW_DEVICE_POOL_INTERNAL_H

#include "core/device/device_internal.h"
#include "core/device/pool_bins.h"

/* ---- pool.c ---- */
/* The block's own stream waits for the others that used it. */
void lw_block_settle_(lw_block *block, lw_context *context, CUstream stream);

/* ---- pool_driver.c; where not said otherwise the context must be current ---- */
/* Handles of the per-thread stream look alike in every thread; this tells threads apart. */
uint64_t lw_thread_number_(void);
/* A stream of the pool's own, that nobody captures. */
lw_status lw_pool_side_(lw_pool *pool, CUstream *out, lw_error *err);
/* Capturing, or unknowable because another capture forbids the question. */
bool lw_stream_captures_(CUstream stream);
lw_status lw_pool_driver_take_(lw_pool *pool, size_t size_bytes, CUstream stream,
                               bool capturing, CUdeviceptr *out, lw_error *err);
/* One block's memory, ordered behind what its stream holds now. */
void lw_pool_driver_put_(lw_pool *pool, const lw_block *block);
/* The stream that a block of the bin is freed on; needs no context. */
CUstream lw_pool_freeing_stream_(const lw_pool *pool, const lw_bin *bin);

/* ---- pool_source.c ---- */
typedef struct lw_source_box lw_source_box;
/* The source that is set, held for one block; NULL: none is. */
lw_source_box *lw_source_hold_(void);
/* A block of a source, or, with NULL, of no bytes; drops the source when it fails. */
lw_status lw_source_take_(lw_device *device, size_t size_bytes, CUstream stream,
                          lw_source_box *source, lw_block **out, lw_error *err);
void lw_source_put_(lw_block *block);
/* What such a block holds: NULL for one of no bytes. */
const lw_context *lw_source_context_(const lw_block *block);

#endif
