/* Device memory: blocks in size classes, kept in free lists by (device, stream, class) over the
 * driver's stream-ordered pool (our own pool, release threshold = max), or over cuMemAlloc
 * where pools are not supported.
 *
 * Ordering. A block belongs to a stream: its memory may be used by work given to that stream
 * after take, and put says that no more work will be given that uses it. put never waits: the
 * next user of the memory is ordered behind the old one by the stream. A block also used on
 * another stream must be told so (lw_pool_also_on) before put; then events order the two.
 *
 * A hit (take and put of a class that the stream has used before) makes no driver call and
 * takes one uncontended lock. When memory is out, all cached blocks are given back and the
 * allocation is tried once more; only then may the host wait.
 *
 * Stream capture. A hit is legal while the stream captures. A miss then allocates outside the
 * capture, and nothing is given back to the driver through a capturing stream. A captured graph
 * holds addresses: keep its arrays alive for as long as it is replayed.
 *
 * Foreign streams: a handle stands for its stream. Whoever destroys a stream that lanewise did
 * not make waits for its work first, for a new stream may get the same handle.
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

/* size_bytes == 0 gives a block with address 0 and touches nothing. The device is entered on a
 * miss only. Out of memory: LW_ERR_DRIVER, CUDA_ERROR_OUT_OF_MEMORY, sizes in the text. */
lw_status lw_pool_take(lw_device *device, size_t size_bytes, CUstream stream, lw_block **out,
                       lw_error *err);
/* NULL is allowed. Never waits and never fails. */
void lw_pool_put(lw_block *block);
/* LW_ERR_DRIVER when a reset of the device took its memory. */
lw_status lw_pool_check(const lw_block *block, lw_error *err);
/* Work that uses the block was or will be given to this other stream before put. */
lw_status lw_pool_also_on(lw_block *block, CUstream stream, lw_error *err);

/* Give cached blocks back to the driver, and what the driver's pool keeps to the system. Waits
 * for the device. */
lw_status lw_pool_trim(lw_device *device, lw_error *err);

typedef struct lw_pool_stats {
    size_t used_bytes, cached_bytes, peak_used_bytes;
    uint64_t n_used, n_cached;
    uint64_t n_hits, n_misses, n_trims;
} lw_pool_stats;

/* All zero before the device was used. */
void lw_pool_statistics(lw_device *device, lw_pool_stats *out);

/* Where misses get memory from, in place of the driver (an external allocator). take returns an
 * address that is usable on the stream, aligned to 16 bytes, and in *keeper what put gets; put
 * must not wait. Called without any lock held. The pool caches nothing while a source is set.
 * What the library itself keeps on a device never comes from a source. NULL restores the
 * driver's. */
typedef struct lw_pool_source {
    lw_status (*take)(void *context, lw_device *device, size_t size_bytes, CUstream stream,
                      CUdeviceptr *out, void **keeper, lw_error *err);
    void (*put)(void *context, lw_device *device, CUdeviceptr address, size_t size_bytes,
                CUstream stream, void *keeper);
    void *context;
} lw_pool_source;

/* source: copied. For blocks taken from now on; earlier ones go back to where they came from.
 */
lw_status lw_pool_set_source(const lw_pool_source *source, lw_error *err);

#endif
