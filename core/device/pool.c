#include "core/device/pool.h"

#include "core/base/memory.h"
#include "core/device/pool_internal.h"
#include "core/device/stream.h"

#include <assert.h>
#include <string.h>

/* Size classes: eight per power of two between these steps, so that at most 1/8 is lost, and at
 * most one large step for big blocks (2 MB, the driver's page). A larger small step would waste
 * memory on scalars, a smaller one would make more lists. */
#define SMALL_STEP ((size_t)512)
#define LARGE_STEP ((size_t)2 << 20)

typedef struct lw_side_use {
    struct lw_side_use *next;
    CUstream stream;
} lw_side_use;

static size_t
round_size(size_t size_bytes)
{
    size_t step = SMALL_STEP;

    if (size_bytes > SIZE_MAX / 2)
        return size_bytes; /* the driver will refuse it */
    if (size_bytes > 8 * SMALL_STEP)
        step = ((size_t)1 << (63 - __builtin_clzll(size_bytes))) / 8;
    if (step > LARGE_STEP)
        step = LARGE_STEP;
    return (size_bytes + step - 1) / step * step;
}

static CUstream
plain_handle(CUstream stream)
{
    return stream == LW_STREAM_LEGACY ? NULL : stream;
}

static uint64_t
owner_of(CUstream stream)
{
    return stream == LW_STREAM_PER_THREAD ? lw_thread_number_() : 0;
}

/* ---- giving back; none may hold the lock ---- */

/* Frees a chain of blocks that are in no list but still counted in their bin's n_used. */
static void
give_back(lw_pool *pool, lw_block *chain)
{
    CUcontext before = NULL;
    bool usable = chain != NULL && lw_context_visit(pool->context, &before);

    while (chain != NULL) {
        lw_block *block = chain;
        assert(block->bin->pool == pool);
        chain = block->next;
        if (usable)
            lw_pool_driver_put_(pool, block);
        lw_lock_take(&pool->lock);
        lw_bin_lose_(block->bin);
        lw_lock_give(&pool->lock);
        lw_free(block);
        lw_context_drop(pool->context);
    }
    lw_device_leave(before);
}

/* Moves the blocks of one list to the chain. needs: the lock. */
static lw_block *
detach(lw_pool *pool, lw_bin *bin, lw_block *chain)
{
    while (bin->free != NULL) {
        lw_block *block = bin->free;
        assert(block->bin == bin && bin->n_free > 0 && pool->stats.n_cached > 0);
        bin->free = block->next;
        bin->n_free--;
        bin->n_used++;
        pool->stats.n_cached--;
        pool->stats.cached_bytes -= bin->class_bytes;
        block->next = chain;
        chain = block;
    }
    return chain;
}

/* Whether the bin's blocks may be freed now: not through a stream that captures, and those of
 * foreign streams only where the device may be waited for. */
static bool
may_free(const lw_bin *bin, bool wait)
{
    return bin->foreign ? wait : !lw_stream_captures_(bin->stream);
}

/* Moves the blocks of all lists that may be freed to a chain. */
static lw_block *
detach_all(lw_pool *pool, bool wait)
{
    lw_block *chain = NULL;
    uint32_t i;

    lw_lock_take(&pool->lock);
    for (i = 0; i < pool->capacity; i++) {
        lw_bin *bin;
        for (bin = pool->table[i]; bin != NULL; bin = bin->next)
            if (bin->free != NULL && may_free(bin, wait))
                chain = detach(pool, bin, chain);
    }
    lw_lock_give(&pool->lock);
    return chain;
}

/* Called in the pool's context. wait: false during a capture. */
static void
empty(lw_pool *pool, bool wait)
{
    int ordinal = pool->device->ordinal;

    give_back(pool, detach_all(pool, wait));
    lw_lock_take(&pool->lock);
    pool->stats.n_trims++;
    lw_lock_give(&pool->lock);
    if (!wait)
        return;
    (void)LW_CUDA(CtxSynchronize, (), ordinal, NULL);
    if (pool->handle != NULL)
        (void)LW_CUDA(MemPoolTrimTo, (pool->handle, 0), ordinal, NULL);
}

void
lw_pool_shut_(lw_pool *pool)
{
    lw_lock_take(&pool->lock);
    pool->closed = true;
    lw_lock_give(&pool->lock);
    give_back(pool, detach_all(pool, true));
}

/* ---- streams of ours ---- */

void
lw_pool_know_(lw_pool *pool, lw_stream *stream)
{
    lw_lock_take(&pool->lock);
    stream->next = pool->streams;
    pool->streams = stream;
    lw_lock_give(&pool->lock);
}

void
lw_pool_lose_(lw_pool *pool, lw_stream *stream)
{
    lw_stream **link = &pool->streams;

    lw_lock_take(&pool->lock);
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    lw_lock_give(&pool->lock);
}

/* Takes what the stream's bins cache; *in_use: whether blocks of the stream are in use. */
static lw_block *
empty_bins(lw_pool *pool, CUstream stream, bool *in_use)
{
    lw_block *chain = NULL;
    uint32_t i;

    lw_lock_take(&pool->lock);
    for (i = 0; i < pool->capacity; i++) {
        lw_bin *bin;
        for (bin = pool->table[i]; bin != NULL; bin = bin->next) {
            if (bin->stream != stream)
                continue;
            *in_use |= bin->n_used > 0;
            chain = detach(pool, bin, chain);
        }
    }
    lw_lock_give(&pool->lock);
    return chain;
}

/* Takes the stream's bins out of the table; those with blocks in use live on until these are
 * put. */
static lw_block *
bury_bins(lw_pool *pool, CUstream stream)
{
    lw_block *chain = NULL;
    uint32_t i;

    lw_lock_take(&pool->lock);
    for (i = 0; i < pool->capacity; i++) {
        lw_bin **link = &pool->table[i];
        while (*link != NULL) {
            lw_bin *bin = *link;
            if (bin->stream != stream) {
                link = &bin->next;
                continue;
            }
            *link = bin->next;
            assert(pool->n_bins > 0 && !bin->gone);
            pool->n_bins--;
            chain = detach(pool, bin, chain); /* another thread has put them meanwhile */
            bin->gone = true;
            if (bin->n_used == 0)
                lw_free(bin);
        }
    }
    lw_lock_give(&pool->lock);
    return chain;
}

/* Blocks in use change to the side stream, which waits for the work of the stream that is
 * destroyed. */
void
lw_pool_forget_(lw_pool *pool, CUstream stream)
{
    CUcontext before = NULL;
    CUstream side = NULL;
    bool in_use = false;

    give_back(pool, empty_bins(pool, stream, &in_use));
    if (in_use && lw_context_visit(pool->context, &before) &&
        (lw_pool_side_(pool, &side, NULL) != LW_OK ||
         lw_stream_order_(side, stream, pool->device->ordinal, NULL) != LW_OK))
        (void)LW_CUDA(StreamSynchronize, (stream), pool->device->ordinal, NULL);
    lw_device_leave(before);
    give_back(pool, bury_bins(pool, stream));
}

/* ---- take ---- */

static void
count_taken(lw_pool *pool, size_t class_bytes) /* needs: the lock */
{
    pool->stats.n_used++;
    pool->stats.used_bytes += class_bytes;
    if (pool->stats.used_bytes > pool->stats.peak_used_bytes)
        pool->stats.peak_used_bytes = pool->stats.used_bytes;
}

static lw_block *
take_hit(lw_pool *pool, CUstream stream, uint64_t thread, size_t class_bytes)
{
    lw_block *block = NULL;
    lw_bin *bin;

    lw_lock_take(&pool->lock);
    bin = lw_bin_find_(pool, stream, thread, class_bytes);
    if (bin != NULL && bin->free != NULL && !pool->closed) {
        block = bin->free;
        assert(block->bin == bin && bin->n_free > 0 && !bin->gone);
        bin->free = block->next;
        bin->n_free--;
        bin->n_used++;
        pool->stats.n_cached--;
        pool->stats.cached_bytes -= class_bytes;
        pool->stats.n_hits++;
        count_taken(pool, class_bytes);
    }
    lw_lock_give(&pool->lock);
    return block;
}

static void
explain_memory(lw_pool *pool, size_t size_bytes, lw_error *err)
{
    size_t n_free = 0, n_total = 0;

    if (err == NULL || err->vendor_code != LW_CUDA_OUT_OF_MEMORY)
        return;
    if (LW_CUDA(MemGetInfo, (&n_free, &n_total), pool->device->ordinal, NULL) != LW_OK)
        n_total = pool->device->total_bytes;
    lw_driver_note(err,
                   "; %zu bytes were asked for, %zu of %zu are free, %zu are held by arrays of "
                   "lanewise",
                   size_bytes, n_free, n_total, pool->stats.used_bytes);
}

/* Takes memory from the driver; if there is none, once more after emptying the cache. needs:
 * the context is current. */
static lw_status
driver_take_hard(lw_pool *pool, size_t size_bytes, CUstream stream, CUdeviceptr *out,
                 lw_error *err)
{
    bool capturing = lw_stream_captures_(stream);
    lw_error why = {0};
    lw_status status;

    status = lw_pool_driver_take_(pool, size_bytes, stream, capturing, out, &why);
    if (status == LW_OK)
        return LW_OK;
    if (why.vendor_code != LW_CUDA_OUT_OF_MEMORY) {
        lw_driver_pass(err, &why);
        return status;
    }
    lw_error_reset(&why);
    empty(pool, !capturing);
    status = lw_pool_driver_take_(pool, size_bytes, stream, capturing, out, err);
    if (status != LW_OK)
        explain_memory(pool, size_bytes, err);
    return status;
}

/* Counts the block as used by its bin before it has memory, so that the bin cannot be freed. */
static lw_bin *
reserve_bin(lw_pool *pool, CUstream stream, uint64_t thread, size_t class_bytes)
{
    lw_bin *bin;

    lw_lock_take(&pool->lock);
    bin = lw_bin_need_(pool, stream, thread, class_bytes);
    if (bin != NULL) {
        bin->n_used++;
        pool->stats.n_misses++;
    }
    lw_lock_give(&pool->lock);
    return bin;
}

static lw_status
take_miss(lw_device *device, CUstream stream, uint64_t thread, size_t class_bytes,
          lw_block **out, lw_error *err)
{
    lw_context *context = NULL;
    CUcontext before = NULL;
    lw_block *block = lw_alloc_zero(1, sizeof *block);
    lw_bin *bin = NULL;
    lw_status status;

    if (block == NULL)
        return lw_fail_memory(err);
    LW_TRY(lw_context_hold(device, &context, err));
    bin = reserve_bin(&context->pool, stream, thread, class_bytes);
    if (bin == NULL) {
        status = lw_fail_memory(err);
        goto fail;
    }
    LW_TRY(lw_device_visit(device, &before, err));
    LW_TRY(driver_take_hard(&context->pool, class_bytes, stream, &block->address, err));
    lw_device_leave(before);
    block->bin = bin;
    block->device = device;
    block->stream = stream;
    lw_lock_take(&context->pool.lock);
    count_taken(&context->pool, class_bytes);
    lw_lock_give(&context->pool.lock);
    *out = block; /* it holds the context until its memory is given back */
    return LW_OK;
fail:
    lw_device_leave(before);
    if (bin != NULL) {
        lw_lock_take(&context->pool.lock);
        lw_bin_lose_(bin);
        lw_lock_give(&context->pool.lock);
    }
    lw_context_drop(context);
    lw_free(block);
    return status;
}

lw_status
lw_pool_take_own(lw_device *device, size_t size_bytes, CUstream stream, lw_block **out,
                 lw_error *err)
{
    lw_context *context;
    size_t class_bytes;
    uint64_t thread;
    lw_status status = LW_OK;

    *out = NULL;
    stream = plain_handle(stream);
    class_bytes = round_size(size_bytes);
    thread = owner_of(stream);
    context = atomic_load_explicit(&device->context, memory_order_acquire);
    if (context != NULL)
        *out = take_hit(&context->pool, stream, thread, class_bytes);
    if (*out == NULL)
        status = take_miss(device, stream, thread, class_bytes, out, err);
    if (status != LW_OK)
        return status;
    assert(*out != NULL && (*out)->also_on == NULL && (*out)->bin->class_bytes >= size_bytes);
    (*out)->size_bytes = size_bytes;
    return LW_OK;
}

lw_status
lw_pool_take(lw_device *device, size_t size_bytes, CUstream stream, lw_block **out,
             lw_error *err)
{
    lw_source_box *box;

    *out = NULL;
    if (lw_driver_forked())
        return lw_driver_need(err);
    if (size_bytes == 0)
        return lw_source_take_(device, 0, plain_handle(stream), NULL, out, err);
    box = lw_source_hold_();
    if (box != NULL)
        return lw_source_take_(device, size_bytes, plain_handle(stream), box, out, err);
    return lw_pool_take_own(device, size_bytes, stream, out, err);
}

/* ---- put ---- */

static void
drop_side_uses(lw_block *block)
{
    while (block->also_on != NULL) {
        lw_side_use *use = block->also_on;
        block->also_on = use->next;
        lw_free(use);
    }
}

void
lw_block_settle_(lw_block *block, lw_context *context, CUstream stream)
{
    int ordinal = block->device->ordinal;
    CUcontext before = NULL;
    lw_side_use *use;

    if (lw_context_visit(context, &before)) {
        for (use = block->also_on; use != NULL; use = use->next)
            if (lw_stream_order_(stream, use->stream, ordinal, NULL) != LW_OK)
                (void)LW_CUDA(CtxSynchronize, (), ordinal, NULL); /* a destroyed stream */
    }
    lw_device_leave(before);
    drop_side_uses(block);
}

/* Puts the block into its list, unless the list may not be used any more. */
static bool
put_cached(lw_pool *pool, lw_bin *bin, lw_block *block)
{
    bool cached, full;

    lw_lock_take(&pool->lock);
    assert(bin->n_used > 0 && pool->stats.n_used > 0 &&
           pool->stats.used_bytes >= bin->class_bytes);
    pool->stats.n_used--;
    pool->stats.used_bytes -= bin->class_bytes;
    cached =
        !pool->closed && !bin->gone && (bin->thread == 0 || bin->thread == lw_thread_number_());
    if (cached) {
        block->next = bin->free;
        bin->free = block;
        bin->n_free++;
        bin->n_used--;
        pool->stats.n_cached++;
        pool->stats.cached_bytes += bin->class_bytes;
    }
    full = pool->stats.cached_bytes > pool->cache_limit_bytes;
    lw_lock_give(&pool->lock);
    if (full)
        give_back(pool, detach_all(pool, false));
    return cached;
}

void
lw_pool_put(lw_block *block)
{
    lw_bin *bin;
    lw_pool *pool;

    if (block == NULL)
        return;
    bin = block->bin;
    if (lw_driver_forked()) { /* the memory belongs to the parent */
        drop_side_uses(block);
        lw_free(block);
        return;
    }
    if (bin == NULL) {
        lw_source_put_(block);
        return;
    }
    pool = bin->pool;
    assert(pool->device == block->device);
    if (block->also_on != NULL)
        lw_block_settle_(block, pool->context, lw_pool_freeing_stream_(pool, bin));
    if (!put_cached(pool, bin, block)) {
        block->next = NULL;
        give_back(pool, block);
    }
}

lw_status
lw_pool_check(const lw_block *block, lw_error *err)
{
    lw_status status = lw_driver_need(err); /* gives the error of a forked process */
    const lw_context *context =
        block->bin != NULL ? block->bin->pool->context : lw_source_context_(block);

    if (status != LW_OK || context == NULL || lw_context_is_alive(context))
        return status;
    return lw_fail(err, LW_ERR_DRIVER,
                   "this array was made before device %d was reset: its memory is gone",
                   block->device->ordinal);
}

lw_status
lw_pool_also_on(lw_block *block, CUstream stream, lw_error *err)
{
    lw_side_use *use;

    stream = plain_handle(stream);
    if (stream == block->stream || block->address == 0)
        return LW_OK;
    for (use = block->also_on; use != NULL; use = use->next)
        if (use->stream == stream)
            return LW_OK;
    use = lw_alloc(sizeof *use);
    if (use == NULL)
        return lw_fail_memory(err);
    use->stream = stream;
    use->next = block->also_on;
    block->also_on = use;
    return LW_OK;
}

/* ---- the rest ---- */

lw_status
lw_pool_trim(lw_device *device, lw_error *err)
{
    lw_context *context = NULL;
    CUcontext before = NULL;
    lw_status status;

    LW_TRY(lw_driver_need(err));
    if (atomic_load(&device->context) == NULL)
        return LW_OK;
    LW_TRY(lw_context_hold(device, &context, err));
    status = lw_device_visit(device, &before, err);
    if (status == LW_OK)
        empty(&context->pool, true);
    lw_device_leave(before);
    lw_context_drop(context);
fail:
    return status;
}

void
lw_pool_statistics(lw_device *device, lw_pool_stats *out)
{
    lw_context *context = lw_driver_forked() ? NULL : atomic_load(&device->context);

    memset(out, 0, sizeof *out);
    if (context == NULL)
        return;
    lw_lock_take(&context->pool.lock);
    *out = context->pool.stats;
    lw_lock_give(&context->pool.lock);
}
