/* Blocks that are in no list: those from a source set with lw_pool_set_source, and those of no
 * bytes. One source serves all devices; it is counted, because its blocks may outlive the
 * setting. */
#include "core/device/pool_internal.h"

#include "core/base/memory.h"

#include <assert.h>

/* The source that lw_pool_set_source has set. */
struct lw_source_box {
    lw_pool_source calls;
    atomic_long n_users;
};

/* A block from a source, or of no bytes, with what put needs besides lw_block. */
typedef struct foreign_block {
    lw_block block;
    lw_source_box *source; /* NULL for blocks of no bytes, as is the context */
    lw_context *context;   /* held, so that a reset is noticed */
    void *keeper;
} foreign_block;

static lw_lock source_lock = LW_LOCK_INIT;
static _Atomic(lw_source_box *) source;

lw_source_box *
lw_source_hold_(void)
{
    lw_source_box *box;

    if (atomic_load_explicit(&source, memory_order_acquire) == NULL)
        return NULL;
    lw_lock_take(&source_lock);
    box = atomic_load(&source);
    if (box != NULL)
        atomic_fetch_add(&box->n_users, 1);
    lw_lock_give(&source_lock);
    return box;
}

static void
drop_source(lw_source_box *box)
{
    if (box != NULL && atomic_fetch_sub(&box->n_users, 1) == 1)
        lw_free(box);
}

lw_status
lw_source_take_(lw_device *device, size_t size_bytes, CUstream stream, lw_source_box *box,
                lw_block **out, lw_error *err)
{
    foreign_block *made = lw_alloc_zero(1, sizeof *made);
    lw_status status = LW_OK;

    if (made == NULL)
        status = lw_fail_memory(err);
    else if (box != NULL)
        status = lw_context_hold(device, &made->context, err);
    if (status == LW_OK && box != NULL)
        status = box->calls.take(box->calls.context, device, size_bytes, stream,
                                 &made->block.address, &made->keeper, err);
    if (made == NULL || status != LW_OK) {
        if (made != NULL)
            lw_context_drop(made->context);
        drop_source(box);
        lw_free(made);
        return status;
    }
    made->source = box;
    made->block.size_bytes = size_bytes;
    made->block.device = device;
    made->block.stream = stream;
    *out = &made->block;
    return LW_OK;
}

void
lw_source_put_(lw_block *block)
{
    foreign_block *made = (foreign_block *)block;
    lw_source_box *box = made->source;

    assert(block->bin == NULL); /* else it is the pool's */
    assert(box != NULL || block->size_bytes == 0);
    if (made->block.also_on != NULL)
        lw_block_settle_(&made->block, made->context, made->block.stream);
    if (box != NULL)
        box->calls.put(box->calls.context, made->block.device, made->block.address,
                       made->block.size_bytes, made->block.stream, made->keeper);
    lw_context_drop(made->context);
    drop_source(box);
    lw_free(made);
}

const lw_context *
lw_source_context_(const lw_block *block)
{
    return ((const foreign_block *)block)->context;
}

lw_status
lw_pool_set_source(const lw_pool_source *wanted, lw_error *err)
{
    lw_source_box *box = NULL, *old;

    if (wanted != NULL) {
        box = lw_alloc_zero(1, sizeof *box);
        if (box == NULL)
            return lw_fail_memory(err);
        box->calls = *wanted;
        atomic_store(&box->n_users, 1);
    }
    lw_lock_take(&source_lock);
    old = atomic_exchange(&source, box);
    lw_lock_give(&source_lock);
    drop_source(old);
    return LW_OK;
}
