#include "core/device/copy.h"

#include "core/base/memory.h"
#include "core/device/device_internal.h"

/* Ends every copy: waits if that was asked for, and leaves the device. */
static lw_status
finish(const lw_copy_queue *queue, lw_status status, CUcontext before, lw_error *err)
{
    if (status == LW_OK && queue->wait)
        status = LW_CUDA(StreamSynchronize, (queue->stream), queue->device->ordinal, err);
    lw_device_leave(before);
    return status;
}

lw_status
lw_copy_to_device(const lw_copy_queue *queue, CUdeviceptr to, const void *from, size_t n_bytes,
                  lw_error *err)
{
    CUcontext before;
    lw_status status = lw_device_visit(queue->device, &before, err);

    if (status == LW_OK && n_bytes > 0)
        status = LW_CUDA(MemcpyHtoDAsync, (to, from, n_bytes, queue->stream),
                         queue->device->ordinal, err);
    return finish(queue, status, before, err);
}

lw_status
lw_copy_to_host(const lw_copy_queue *queue, void *to, CUdeviceptr from, size_t n_bytes,
                lw_error *err)
{
    CUcontext before;
    lw_status status = lw_device_visit(queue->device, &before, err);

    if (status == LW_OK && n_bytes > 0)
        status = LW_CUDA(MemcpyDtoHAsync, (to, from, n_bytes, queue->stream),
                         queue->device->ordinal, err);
    return finish(queue, status, before, err);
}

lw_status
lw_copy_on_device(const lw_copy_queue *queue, CUdeviceptr to, CUdeviceptr from, size_t n_bytes,
                  lw_error *err)
{
    CUcontext before;
    lw_status status = lw_device_visit(queue->device, &before, err);

    if (status == LW_OK && n_bytes > 0)
        status = LW_CUDA(MemcpyDtoDAsync, (to, from, n_bytes, queue->stream),
                         queue->device->ordinal, err);
    return finish(queue, status, before, err);
}

lw_status
lw_copy_between(const lw_copy_queue *queue, lw_device *to_device, CUdeviceptr to,
                CUdeviceptr from, size_t n_bytes, lw_error *err)
{
    lw_context *to_context = NULL, *from_context = NULL;
    int ordinal = queue->device->ordinal;
    CUcontext before = NULL;
    lw_status status;

    if (to_device == queue->device)
        return lw_copy_on_device(queue, to, from, n_bytes, err);
    LW_TRY(lw_context_hold(to_device, &to_context, err));
    LW_TRY(lw_context_hold(queue->device, &from_context, err));
    LW_TRY(lw_device_visit(queue->device, &before, err));
    lw_peer_prepare_(from_context, to_context);
    if (n_bytes > 0)
        status = LW_CUDA(
            MemcpyPeerAsync,
            (to, to_context->handle, from, from_context->handle, n_bytes, queue->stream),
            ordinal, err);
    if (status == LW_OK && queue->wait)
        status = LW_CUDA(StreamSynchronize, (queue->stream), ordinal, err);
fail:
    lw_device_leave(before);
    lw_context_drop(from_context);
    lw_context_drop(to_context);
    return status;
}

static lw_status
fill(const lw_copy_queue *queue, CUdeviceptr to, uint32_t value, size_t item_bytes, size_t n,
     lw_error *err)
{
    int ordinal = queue->device->ordinal;

    switch (item_bytes) {
    case 1:
        return LW_CUDA(MemsetD8Async, (to, (unsigned char)value, n, queue->stream), ordinal,
                       err);
    case 2:
        return LW_CUDA(MemsetD16Async, (to, (unsigned short)value, n, queue->stream), ordinal,
                       err);
    case 4: return LW_CUDA(MemsetD32Async, (to, value, n, queue->stream), ordinal, err);
    default:
        return lw_fail(err, LW_ERR_VALUE,
                       "filling device memory: items are of 1, 2 or 4 bytes, got %zu",
                       item_bytes);
    }
}

lw_status
lw_fill(const lw_copy_queue *queue, CUdeviceptr to, uint32_t value, size_t item_bytes, size_t n,
        lw_error *err)
{
    CUcontext before;
    lw_status status = lw_device_visit(queue->device, &before, err);

    if (status == LW_OK && n > 0)
        status = fill(queue, to, value, item_bytes, n, err);
    return finish(queue, status, before, err);
}

/* PORTABLE: page-locked for every context of the process. */
enum { PORTABLE = 1, DEVICE_MAP = 2, WRITE_COMBINED = 4, ATTACH_GLOBAL = 1, ATTACH_HOST = 2 };

static bool
is_managed(lw_host_kind kind)
{
    return kind == LW_HOST_MANAGED || kind == LW_HOST_MANAGED_AT_HOST;
}

/* Memory attached to the host is reached by kernels at once where the device can share pages
 * with the host, and elsewhere only by streams that it is attached to, which nothing here does.
 */
static lw_status
managed_memory(lw_host_block *block, lw_error *err)
{
    bool at_host = block->kind == LW_HOST_MANAGED_AT_HOST;
    lw_status status;

    if (at_host && !block->device->concurrent_managed)
        return lw_fail(
            err, LW_ERR_VALUE,
            "attach_global: must be True on device %d, whose kernels could not reach "
            "the memory (CONCURRENT_MANAGED_ACCESS is 0)",
            block->device->ordinal);
    status =
        LW_CUDA(MemAllocManaged,
                (&block->address, block->size_bytes, at_host ? ATTACH_HOST : ATTACH_GLOBAL),
                block->device->ordinal, err);
    block->host = (void *)(uintptr_t)block->address; /* one address for both */
    return status;
}

static lw_status
host_memory(lw_host_block *block, lw_error *err)
{
    static const unsigned flags[] = {
        [LW_HOST_PINNED] = PORTABLE,
        [LW_HOST_MAPPED] = PORTABLE | DEVICE_MAP,
        [LW_HOST_WRITE_COMBINED] = PORTABLE | DEVICE_MAP | WRITE_COMBINED,
        [LW_HOST_REGISTERED] = PORTABLE | DEVICE_MAP,
    };
    int ordinal = block->device->ordinal;

    if (is_managed(block->kind))
        return managed_memory(block, err);
    if (block->kind == LW_HOST_REGISTERED)
        return LW_CUDA(MemHostRegister,
                       (block->host, block->size_bytes, flags[LW_HOST_REGISTERED]), ordinal,
                       err);
    return LW_CUDA(MemHostAlloc, (&block->host, block->size_bytes, flags[block->kind]), ordinal,
                   err);
}

static void
unmake(lw_host_block *block)
{
    int ordinal = block->device->ordinal;

    if (is_managed(block->kind))
        (void)LW_CUDA(MemFree, (block->address), ordinal, NULL);
    else if (block->kind == LW_HOST_REGISTERED)
        (void)LW_CUDA(MemHostUnregister, (block->host), ordinal, NULL);
    else
        (void)LW_CUDA(MemFreeHost, (block->host), ordinal, NULL);
}

lw_status
lw_host_block_new(lw_device *device, lw_host_kind kind, void *memory, size_t size_bytes,
                  lw_host_block **out, lw_error *err)
{
    lw_status status;
    CUcontext before = NULL;
    lw_host_block *block = lw_alloc_zero(1, sizeof *block);

    if (block == NULL)
        return lw_fail_memory(err);
    block->device = device;
    block->kind = kind;
    block->size_bytes = size_bytes;
    block->host = kind == LW_HOST_REGISTERED ? memory : NULL;
    LW_TRY(lw_context_hold(device, &block->context, err));
    LW_TRY(lw_device_visit(device, &before, err));
    LW_TRY(host_memory(block, err));
    if (kind != LW_HOST_PINNED && !is_managed(kind)) {
        status = LW_CUDA(MemHostGetDevicePointer, (&block->address, block->host, 0),
                         device->ordinal, err);
        if (status != LW_OK)
            unmake(block);
    }
    if (status == LW_OK) {
        lw_device_leave(before);
        *out = block;
        return LW_OK;
    }
fail:
    lw_device_leave(before);
    lw_context_drop(block->context);
    lw_free(block);
    return status;
}

void
lw_host_block_free(lw_host_block *block)
{
    CUcontext before = NULL;

    if (block == NULL)
        return;
    if (lw_context_visit(block->context, &before))
        unmake(block);
    lw_device_leave(before);
    lw_context_drop(block->context);
    lw_free(block);
}
