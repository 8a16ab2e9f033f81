/* The heap's state is written when it is made, and each image's variable when the image is
 * loaded, by copies: no kernel is launched for it. Copies are on the pool's own stream, which
 * waits for nobody's work.
 *
 * Locks: `lock` is taken behind those of devices, and nothing else is taken under it but the
 * pool's. */
#include "core/device/heap.h"

#include "core/base/env.h"
#include "core/base/lock.h"
#include "core/device/module_internal.h"
#include "core/device/pool_internal.h"
#include "core/ir/counted.h"
#include "core/link/cubin_info.h"

#include <assert.h>
#include <stdatomic.h>

typedef struct header {
    uint64_t counts;
    lw_heap_stats stats;
    uint64_t warps, sm_warps, kept_bytes, shared_bytes;
} header;

_Static_assert(offsetof(header, counts) == LW_HEAP_COUNTS_AT &&
                   offsetof(header, stats.allocated) == LW_HEAP_ALLOCATED_AT &&
                   offsetof(header, stats.freed) == LW_HEAP_FREED_AT &&
                   offsetof(header, stats.made) == LW_HEAP_MADE_AT &&
                   offsetof(header, stats.destroyed) == LW_HEAP_DESTROYED_AT &&
                   offsetof(header, warps) == LW_HEAP_WARPS_AT &&
                   offsetof(header, sm_warps) == LW_HEAP_SM_WARPS_AT &&
                   offsetof(header, kept_bytes) == LW_HEAP_KEPT_AT &&
                   offsetof(header, shared_bytes) == LW_HEAP_SHARED_AT &&
                   sizeof(header) <= LW_HEAP_HEADER,
               "as core/emit/gpu_memory.c reads it");

static lw_lock lock = LW_LOCK_INIT; /* the list */
static lw_heap *heaps;              /* that have a state */
static atomic_bool counting;

/* ---- copies; needs: the context is current ---- */

static lw_status
put(lw_context *context, CUdeviceptr to, const void *from, size_t n_bytes, lw_error *err)
{
    int ordinal = context->device->ordinal;
    CUstream stream = NULL;
    lw_status status;

    LW_TRY(lw_pool_side_(&context->pool, &stream, err));
    LW_TRY(LW_CUDA(MemcpyHtoDAsync, (to, from, n_bytes, stream), ordinal, err));
    LW_TRY(LW_CUDA(StreamSynchronize, (stream), ordinal, err));
fail:
    return status;
}

static lw_status
get(lw_context *context, void *to, CUdeviceptr from, size_t n_bytes, lw_error *err)
{
    int ordinal = context->device->ordinal;
    CUstream stream = NULL;
    lw_status status;

    LW_TRY(lw_pool_side_(&context->pool, &stream, err));
    LW_TRY(LW_CUDA(MemcpyDtoHAsync, (to, from, n_bytes, stream), ordinal, err));
    LW_TRY(LW_CUDA(StreamSynchronize, (stream), ordinal, err));
fail:
    return status;
}

/* ---- the heap's size ---- */

enum { LIMIT_OF_HEAP = 2 /* CU_LIMIT_MALLOC_HEAP_SIZE */ };

static size_t
wanted_bytes(const lw_device *device)
{
    int64_t megabytes = lw_env_int(LW_ENV_nrt_heap_mb);
    size_t most = (size_t)1 << 30, part = device->total_bytes / 16;

    if (megabytes > 0)
        return (size_t)megabytes << 20;
    return part < most ? part : most;
}

/* The heap is never made smaller. The driver refuses the change where kernels of another
 * library have used the heap already: then it stays as it is, and a kernel for which it is too
 * small raises MemoryError. */
static lw_status
set_size(lw_device *device, size_t *n_bytes, lw_error *err)
{
    size_t wanted = wanted_bytes(device);
    int ordinal = device->ordinal;
    lw_status status = LW_CUDA(CtxGetLimit, (n_bytes, LIMIT_OF_HEAP), ordinal, err);

    if (status != LW_OK || *n_bytes >= wanted || lw_cuda.CtxSetLimit == NULL)
        return status;
    (void)lw_cuda.CtxSetLimit(LIMIT_OF_HEAP, wanted);
    return LW_CUDA(CtxGetLimit, (n_bytes, LIMIT_OF_HEAP), ordinal, err);
}

/* ---- its state ---- */

/* What is kept is at most half of the heap if each lane that the device has at one time keeps
 * one piece of memory. Memory that is allocated for a warp at once is at most 1/256 of the
 * heap, so that what holds a chunk for one last piece does not hold much. */
static header
header_of(const lw_device *device, size_t heap_bytes)
{
    uint64_t sm_warps = (uint64_t)device->max_threads_per_sm / 32;
    header h = {.counts = atomic_load(&counting),
                .warps = sm_warps * (uint64_t)device->n_sms,
                .sm_warps = sm_warps};

    h.kept_bytes = heap_bytes / 2 / (h.warps * 32) & ~(uint64_t)15;
    h.shared_bytes = heap_bytes / 256 / 32 & ~(uint64_t)15;
    return h;
}

static lw_status
make_state(lw_heap *heap, size_t heap_bytes, lw_error *err)
{
    lw_device *device = heap->context->device;
    header h = header_of(device, heap_bytes);
    size_t n_bytes = LW_HEAP_HEADER + h.warps * LW_HEAP_WARP_BYTES;
    CUdeviceptr state = 0;
    CUstream stream = NULL;
    int ordinal = device->ordinal;
    lw_status status;

    LW_TRY(lw_pool_side_(&heap->context->pool, &stream, err));
    LW_TRY(LW_CUDA(MemAlloc, (&state, n_bytes), ordinal, err));
    LW_TRY(LW_CUDA(MemsetD32Async, (state, 0, n_bytes / 4, stream), ordinal, err));
    LW_TRY(put(heap->context, state, &h, sizeof h, err));
    heap->n_bytes = heap_bytes;
    atomic_store(&heap->state, state);
    return LW_OK;
fail:
    if (state != 0)
        (void)LW_CUDA(MemFree, (state), ordinal, NULL);
    return status;
}

/* A capture that is under way in another thread does not forbid what we do. */
static lw_status
make_state_in_capture(lw_heap *heap, size_t heap_bytes, lw_error *err)
{
    int mode = 2; /* RELAXED */
    bool exchanged = lw_cuda.ThreadExchangeStreamCaptureMode != NULL &&
                     lw_cuda.ThreadExchangeStreamCaptureMode(&mode) == LW_CUDA_SUCCESS;
    lw_status status = make_state(heap, heap_bytes, err);

    if (exchanged)
        (void)lw_cuda.ThreadExchangeStreamCaptureMode(&mode);
    return status;
}

lw_status
lw_heap_prepare_(lw_context *context, lw_error *err)
{
    lw_heap *heap = &context->heap;
    size_t n_bytes = 0;
    lw_status status = LW_OK;

    lw_lock_take(&lock);
    if (atomic_load(&heap->state) == 0) {
        heap->context = context;
        LW_TRY(set_size(context->device, &n_bytes, err));
        LW_TRY(make_state_in_capture(heap, n_bytes, err));
        heap->next = heaps;
        heaps = heap;
    }
fail:
    lw_lock_give(&lock);
    return status;
}

lw_status
lw_heap_prepare(lw_device *device, lw_error *err)
{
    lw_context *context = NULL;
    CUcontext before = NULL;
    lw_status status;

    LW_TRY(lw_context_hold(device, &context, err));
    LW_TRY(lw_device_visit(device, &before, err));
    LW_TRY(lw_heap_prepare_(context, err));
fail:
    lw_device_leave(before);
    lw_context_drop(context);
    return status;
}

size_t
lw_heap_bytes(lw_device *device)
{
    lw_context *context = atomic_load(&device->context);

    return context && atomic_load(&context->heap.state) ? context->heap.n_bytes : 0;
}

void
lw_heap_destroy_(lw_heap *heap)
{
    CUcontext before = NULL;
    CUdeviceptr state = atomic_exchange(&heap->state, 0);
    lw_heap **link;

    if (state == 0)
        return;
    lw_lock_take(&lock);
    for (link = &heaps; *link != heap; link = &(*link)->next)
        continue;
    *link = heap->next;
    lw_lock_give(&lock);
    if (lw_context_visit(heap->context, &before))
        (void)LW_CUDA(MemFree, (state), heap->context->device->ordinal, NULL);
    lw_device_leave(before);
}

/* ---- images ---- */

bool
lw_heap_is_used_(const void *bytes, size_t n_bytes)
{
    return lw_cubin_names(bytes, n_bytes, LW_HEAP_VARIABLE);
}

lw_status
lw_heap_connect_(lw_image *image, lw_context *context, lw_error *err)
{
    CUdeviceptr state = atomic_load(&context->heap.state), variable = 0;
    lw_status status;
    size_t size = 0;

    assert(state != 0);
    LW_TRY(lw_image_global(image, LW_HEAP_VARIABLE, &variable, &size, err));
    LW_TRY(put(context, variable, &state, sizeof state, err));
fail:
    return status;
}

/* ---- statistics ---- */

/* What is done with a state, in its context, when its device has done all work. */
typedef lw_status heap_action(lw_context *context, CUdeviceptr state, void *given,
                              lw_error *err);

static lw_status
visit(lw_heap *heap, heap_action *act, void *given, lw_error *err)
{
    CUdeviceptr state = atomic_load(&heap->state);
    lw_status status = LW_OK;
    CUcontext before = NULL;

    if (state == 0 || !lw_context_visit(heap->context, &before))
        return LW_OK;
    LW_TRY(LW_CUDA(CtxSynchronize, (), heap->context->device->ordinal, err));
    LW_TRY(act(heap->context, state, given, err));
fail:
    lw_device_leave(before);
    return status;
}

static lw_status
each(heap_action *act, void *given, lw_error *err)
{
    lw_status status = LW_OK;

    if (lw_driver_forked())
        return LW_OK;
    lw_lock_take(&lock);
    for (lw_heap *heap = heaps; heap != NULL && status == LW_OK; heap = heap->next)
        status = visit(heap, act, given, err);
    lw_lock_give(&lock);
    return status;
}

static lw_status
write_counts(lw_context *context, CUdeviceptr state, void *given, lw_error *err)
{
    uint64_t counts = *(bool *)given;

    return put(context, state + LW_HEAP_COUNTS_AT, &counts, sizeof counts, err);
}

lw_status
lw_heap_count(bool counts, lw_error *err)
{
    atomic_store(&counting, counts);
    return each(write_counts, &counts, err);
}

bool
lw_heap_counts(void)
{
    return atomic_load(&counting);
}

static lw_status
add_stats(lw_context *context, CUdeviceptr state, void *given, lw_error *err)
{
    lw_heap_stats *sum = given, one = {0};
    lw_status status = get(context, &one, state + LW_HEAP_ALLOCATED_AT, sizeof one, err);

    sum->allocated += one.allocated;
    sum->freed += one.freed;
    sum->made += one.made;
    sum->destroyed += one.destroyed;
    return status;
}

lw_status
lw_heap_read(lw_heap_stats *out, lw_error *err)
{
    *out = (lw_heap_stats){0};
    return each(add_stats, out, err);
}

static lw_status
clear_stats(lw_context *context, CUdeviceptr state, void *given, lw_error *err)
{
    return put(context, state + LW_HEAP_ALLOCATED_AT, given, sizeof(lw_heap_stats), err);
}

lw_status
lw_heap_forget(lw_error *err)
{
    lw_heap_stats nothing = {0};

    return each(clear_stats, &nothing, err);
}
