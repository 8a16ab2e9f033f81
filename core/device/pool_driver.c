/* What the pool needs of the driver: its own stream-ordered pool, or cuMemAlloc where there is
 * none; memory during captures; giving memory back after the work that a stream has. */
#include "core/device/pool_internal.h"

#include "core/base/env.h"

/* At most 1/CACHE_SHARE of the device's memory is kept in our lists; beyond that they are
 * emptied into the driver's pool (which does not wait), where blocks of any size can be made of
 * it. */
#define CACHE_SHARE 2

uint64_t
lw_thread_number_(void)
{
    static atomic_uint_fast64_t last;
    static _Thread_local uint64_t mine;

    if (mine == 0)
        mine = atomic_fetch_add(&last, 1) + 1;
    return mine;
}

lw_status
lw_pool_open_(lw_pool *pool, lw_context *context, lw_error *err)
{
    static const lw_lock fresh = LW_LOCK_INIT;
    CUmemPoolProps props = {.alloc_type = 1 /* PINNED */,
                            .location = {1 /* DEVICE */, context->device->handle}};
    uint64_t keep_all = UINT64_MAX;
    lw_error why = {0};
    lw_status status = LW_OK;

    pool->lock = fresh;
    pool->context = context;
    pool->device = context->device;
    pool->cache_limit_bytes = SIZE_MAX; /* cuMemFree would wait */
    pool->open = true;
    if (lw_env_int(LW_ENV_ipc) != 0) /* memory of a pool has no cuIpcGetMemHandle */
        return LW_OK;
    if (!context->device->has_pools || lw_cuda.MemPoolCreate == NULL ||
        lw_cuda.MemAllocFromPoolAsync == NULL || lw_cuda.MemFreeAsync == NULL)
        return LW_OK;
    status = LW_CUDA(MemPoolCreate, (&pool->handle, &props), context->device->ordinal, &why);
    if (status != LW_OK)
        pool->handle = NULL; /* whatever the driver wrote */
    if (status == LW_OK)
        (void)LW_CUDA(MemPoolSetAttribute, (pool->handle, 4 /* RELEASE_THRESHOLD */, &keep_all),
                      context->device->ordinal, NULL); /* without it the pool is only slower */
    if (status != LW_OK && why.vendor_code == LW_CUDA_NOT_SUPPORTED) {
        lw_error_reset(&why); /* some virtual GPUs have no pools: cuMemAlloc is used */
        return LW_OK;
    }
    if (status == LW_OK)
        pool->cache_limit_bytes = context->device->total_bytes / CACHE_SHARE;
    else
        lw_driver_pass(err, &why);
    return status;
}

lw_status
lw_pool_side_(lw_pool *pool, CUstream *out, lw_error *err)
{
    lw_status status = LW_OK;
    CUstream side = NULL; /* what the driver writes when it fails is no stream */

    lw_lock_take(&pool->lock);
    if (pool->side == NULL) {
        status = LW_CUDA(StreamCreateWithPriority, (&side, 1 /* NON_BLOCKING */, 0),
                         pool->device->ordinal, err);
        pool->side = status == LW_OK ? side : NULL;
    }
    *out = pool->side;
    lw_lock_give(&pool->lock);
    return status;
}

bool
lw_stream_captures_(CUstream stream)
{
    enum { FIRST_CAPTURE_ERROR = 900, LAST_CAPTURE_ERROR = 908 };
    int capture_status = 0;
    CUresult code;

    if (lw_cuda.StreamIsCapturing == NULL)
        return false;
    code = lw_cuda.StreamIsCapturing(stream, &capture_status);
    return code == LW_CUDA_SUCCESS ? capture_status != 0
                                   : code >= FIRST_CAPTURE_ERROR && code <= LAST_CAPTURE_ERROR;
}

static lw_status
plain_take(lw_pool *pool, size_t size_bytes, CUstream stream, CUdeviceptr *out, lw_error *err)
{
    if (pool->handle == NULL)
        return LW_CUDA(MemAlloc, (out, size_bytes), pool->device->ordinal, err);
    return LW_CUDA(MemAllocFromPoolAsync, (out, size_bytes, pool->handle, stream),
                   pool->device->ordinal, err);
}

/* Allocates memory that is not a node of the graph being captured, because the block outlives
 * the graph: from the side stream, ready when this returns. */
static lw_status
take_outside_capture(lw_pool *pool, size_t size_bytes, CUdeviceptr *out, lw_error *err)
{
    int mode = 2; /* RELAXED: this thread may allocate while a capture is under way */
    int ordinal = pool->device->ordinal;
    CUstream side = NULL;
    lw_status status;

    LW_TRY(LW_CUDA(ThreadExchangeStreamCaptureMode, (&mode), ordinal, err));
    status = lw_pool_side_(pool, &side, err);
    if (status == LW_OK)
        status = plain_take(pool, size_bytes, side, out, err);
    if (status == LW_OK) {
        status = LW_CUDA(StreamSynchronize, (side), ordinal, err);
        if (status != LW_OK)
            (void)LW_CUDA(MemFree, (*out), ordinal, NULL);
    }
    (void)LW_CUDA(ThreadExchangeStreamCaptureMode, (&mode), ordinal, NULL);
fail:
    return status;
}

lw_status
lw_pool_driver_take_(lw_pool *pool, size_t size_bytes, CUstream stream, bool capturing,
                     CUdeviceptr *out, lw_error *err)
{
    return capturing ? take_outside_capture(pool, size_bytes, out, err)
                     : plain_take(pool, size_bytes, stream, out, err);
}

CUstream
lw_pool_freeing_stream_(const lw_pool *pool, const lw_bin *bin)
{
    if (bin->gone)
        return pool->side;
    if (bin->thread != 0 && bin->thread != lw_thread_number_())
        return NULL; /* the legacy stream is ordered after every thread's own */
    return bin->stream;
}

void
lw_pool_driver_put_(lw_pool *pool, const lw_block *block)
{
    CUstream stream = lw_pool_freeing_stream_(pool, block->bin);
    int ordinal = pool->device->ordinal;

    if (pool->handle == NULL) {
        (void)LW_CUDA(MemFree, (block->address), ordinal, NULL);
        return;
    }
    if ((!block->bin->foreign || block->bin->gone) &&
        LW_CUDA(MemFreeAsync, (block->address, stream), ordinal, NULL) == LW_OK)
        return;
    /* the stream may be destroyed */
    (void)LW_CUDA(CtxSynchronize, (), ordinal, NULL);
    (void)LW_CUDA(MemFree, (block->address), ordinal, NULL);
}

void
lw_pool_destroy_(lw_pool *pool)
{
    CUcontext before;

    if (!pool->open || !lw_context_visit(pool->context, &before))
        return;
    pool->open = false;
    if (pool->side != NULL)
        (void)LW_CUDA(StreamDestroy, (pool->side), pool->device->ordinal, NULL);
    if (pool->handle != NULL)
        (void)LW_CUDA(MemPoolDestroy, (pool->handle), pool->device->ordinal, NULL);
    pool->side = NULL;
    lw_device_leave(before);
}
