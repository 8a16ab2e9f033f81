/* Device memory: blocks in size classes, kept in free lists by (device, stream, class) over the
 * driver's stream-ordered pool (our own pool, release threshold = max), or over cuMemAlloc
 * where pools are not supported.
 *
 * Ordering. A block belongs to a stream: work queued on that stream after take may use its
 * memory, and put says that no further work that uses it will be queued. put never waits: the
 * stream itself orders the next user of the memory after the old one. If a block is also used
 * on another stream, lw_pool_also_on must be called before put; then events order the two.
 *
 * A hit (take and put of a class that the stream has used before) makes no driver call and
 * takes one uncontended lock. When there is no memory, all cached blocks are given back and the
 * allocation is tried once more; only then may the host wait.
 *
 * Stream capture. A hit is legal while the stream captures. A miss then allocates outside the
 * capture, and nothing is given back to the driver through a capturing stream. A captured graph
 * holds addresses: its arrays must be kept alive for as long as it is replayed.
 *
 * Foreign streams: a handle stands for its stream. Whoever destroys a stream that lanewise did
 * not make must wait for its work first, because a new stream may get the same handle.
 *
 * What it does that the driver's pool (cuMemAllocAsync) does not:
 * - A hit makes no driver call. On an H200 (driver 580.159, 2026-11-23, `python bench/pool.py`)
 * a DeviceArray of 1 KB to 1 GB is made and dropped in 0.68 us, Python's part included;
 *   cuMemAllocAsync and cuMemFreeAsync alone take 1.3 to 1.5 us where the pool keeps all its
 *   memory, 1.4 to 5.4 us with its default settings.
 * - A block may be used on several streams: put orders them.
 * - A hit during a capture adds no node to the graph, whose memory would not outlive a launch.
 * - It is there without pools, too: on virtual GPUs that have none, and for memory of IPC.
 * - External allocators take its place (lw_pool_set_source).
 * - What is cached and used is counted, and a block taken before a reset of the device is
 * refused. Sizes from which any other size can be made, and giving back to the system, are the
 * driver's.
 *
 * All functions may be called from any thread. */
#ifndef LW_DEVICE_POOL_H
#define LW_DEVICE_POOL_H

#include "core/device/context.h"

typedef struct lw_block {
    CUdeviceptr address; /* aligned to 256 bytes at least; 0 when size_bytes is 0 */
    size_t size_bytes;   /* as asked for */
    CUstream stream;
    lw_device *device; /* borrowed */
    /* internal */
    struct lw_bin *bin;
    struct lw_block *next;
    struct lw_side_use *also_on;
} lw_block;

/* size_bytes == 0 gives a block with address 0 and makes no driver call. The device is entered
 * on a miss only. Out of memory: LW_ERR_DRIVER, CUDA_ERROR_OUT_OF_MEMORY, with the sizes in the
 * text. */
lw_status lw_pool_take(lw_device *device, size_t size_bytes, CUstream stream, lw_block **out,
                       lw_error *err);
/* lw_pool_take, but never from a source; size_bytes > 0. */
lw_status lw_pool_take_own(lw_device *device, size_t size_bytes, CUstream stream,
                           lw_block **out, lw_error *err);
/* NULL is allowed. Never waits and never fails. */
void lw_pool_put(lw_block *block);
/* LW_ERR_DRIVER when a reset of the device has freed the block's memory. */
lw_status lw_pool_check(const lw_block *block, lw_error *err);
/* Says that work on this other stream, queued before put, uses the block. */
lw_status lw_pool_also_on(lw_block *block, CUstream stream, lw_error *err);

/* Gives cached blocks back to the driver, and what the driver's pool keeps to the system. Waits
 * for the device. */
lw_status lw_pool_trim(lw_device *device, lw_error *err);

typedef struct lw_pool_stats {
    size_t used_bytes, cached_bytes, peak_used_bytes;
    uint64_t n_used, n_cached;
    uint64_t n_hits, n_misses, n_trims;
} lw_pool_stats;

/* All zero if the device was never used. */
void lw_pool_statistics(lw_device *device, lw_pool_stats *out);

/* An external allocator that misses get memory from in place of the driver. take returns an
 * address that is usable on the stream, aligned to 16 bytes, and in *keeper what put gets; put
 * must not wait. Both are called without any lock held. The pool caches nothing while a source
 * is set. What the library itself keeps on a device never comes from a source. */
typedef struct lw_pool_source {
    lw_status (*take)(void *context, lw_device *device, size_t size_bytes, CUstream stream,
                      CUdeviceptr *out, void **keeper, lw_error *err);
    void (*put)(void *context, lw_device *device, CUdeviceptr address, size_t size_bytes,
                CUstream stream, void *keeper);
    void *context;
} lw_pool_source;

/* Sets the source, which is copied; NULL restores the driver. It serves blocks taken from now
 * on; earlier ones go back to where they came from. */
lw_status lw_pool_set_source(const lw_pool_source *source, lw_error *err);

#endif
