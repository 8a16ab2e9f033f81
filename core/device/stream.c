#include "core/device/stream.h"

#include "core/base/memory.h"
#include "core/device/device_internal.h"

lw_status
lw_stream_new(lw_device *device, bool blocking, int priority, lw_stream **out, lw_error *err)
{
    lw_status status;
    CUcontext before = NULL;
    int least = 0, greatest = 0;
    lw_stream *stream = lw_alloc_zero(1, sizeof *stream);

    if (stream == NULL)
        return lw_fail_memory(err);
    stream->device = device;
    stream->owned = true;
    LW_TRY(lw_context_hold(device, &stream->context, err));
    LW_TRY(lw_device_visit(device, &before, err));
    LW_TRY(LW_CUDA(CtxGetStreamPriorityRange, (&least, &greatest), device->ordinal, err));
    if (priority > least)
        priority = least;
    if (priority < greatest)
        priority = greatest;
    LW_TRY(LW_CUDA(StreamCreateWithPriority,
                   (&stream->handle, blocking ? 0u : 1u /* NON_BLOCKING */, priority),
                   device->ordinal, err));
    lw_device_leave(before);
    lw_pool_know_(&stream->context->pool, stream);
    *out = stream;
    return LW_OK;
fail:
    lw_device_leave(before);
    lw_context_drop(stream->context);
    lw_free(stream);
    return status;
}

lw_status
lw_stream_wrap(lw_device *device, CUstream handle, lw_stream **out, lw_error *err)
{
    lw_stream *stream = lw_alloc_zero(1, sizeof *stream);

    if (stream == NULL)
        return lw_fail_memory(err);
    stream->device = device;
    stream->handle = handle;
    *out = stream;
    return LW_OK;
}

void
lw_stream_free(lw_stream *stream)
{
    CUcontext before = NULL;

    if (stream == NULL)
        return;
    if (stream->owned && lw_context_visit(stream->context, &before)) {
        lw_pool_forget_(&stream->context->pool, stream->handle);
        (void)LW_CUDA(StreamDestroy, (stream->handle), stream->device->ordinal, NULL);
        lw_device_leave(before);
    }
    if (stream->owned && !lw_driver_forked())
        lw_pool_lose_(&stream->context->pool, stream);
    lw_context_drop(stream->context);
    lw_free(stream);
}

lw_status
lw_stream_synchronize(lw_device *device, CUstream stream, lw_error *err)
{
    CUcontext before;
    lw_status status = lw_device_visit(device, &before, err);

    if (status == LW_OK)
        status = LW_CUDA(StreamSynchronize, (stream), device->ordinal, err);
    lw_device_leave(before);
    return status;
}

/* "not ready" is an answer, not an error. */
static lw_status
ready(CUresult code, lw_driver_call call, int ordinal, bool *done, lw_error *err)
{
    *done = code == LW_CUDA_SUCCESS;
    return code == LW_CUDA_NOT_READY ? LW_OK : lw_driver_check(code, call, ordinal, err);
}

lw_status
lw_stream_query(lw_device *device, CUstream stream, bool *done, lw_error *err)
{
    CUcontext before;
    lw_status status = lw_device_visit(device, &before, err);

    if (status == LW_OK && lw_cuda.StreamQuery == NULL)
        status = lw_driver_missing(LW_CALL_StreamQuery, device->ordinal, err);
    if (status == LW_OK)
        status =
            ready(lw_cuda.StreamQuery(stream), LW_CALL_StreamQuery, device->ordinal, done, err);
    lw_device_leave(before);
    return status;
}

lw_status
lw_stream_capturing(lw_device *device, CUstream stream, bool *capturing, lw_error *err)
{
    CUcontext before;
    int capture_status = 0;
    lw_status status = lw_device_visit(device, &before, err);

    if (status == LW_OK)
        status = LW_CUDA(StreamIsCapturing, (stream, &capture_status), device->ordinal, err);
    *capturing = capture_status != 0;
    lw_device_leave(before);
    return status;
}

lw_status
lw_stream_keep_for_graph(lw_device *device, CUstream stream, void (*destroy)(void *),
                         void *data, lw_error *err)
{
    enum { NO_DESTRUCTOR_SYNC = 1, MOVE = 1 };
    CUcontext before;
    CUgraph graph = NULL;
    CUuserObject object = NULL;
    uint64_t id = 0;
    int ordinal = device->ordinal, capture_status = 0;
    lw_status status = lw_device_visit(device, &before, err);

    if (status == LW_OK && lw_cuda.GraphRetainUserObject == NULL)
        status = lw_driver_missing(LW_CALL_GraphRetainUserObject, ordinal, err);
    if (status == LW_OK)
        status = LW_CUDA(StreamGetCaptureInfo,
                         (stream, &capture_status, &id, &graph, NULL, NULL), ordinal, err);
    if (status == LW_OK)
        status = LW_CUDA(UserObjectCreate, (&object, data, destroy, 1, NO_DESTRUCTOR_SYNC),
                         ordinal, err);
    if (status == LW_OK)
        status = LW_CUDA(GraphRetainUserObject, (graph, object, 1, MOVE), ordinal, err);
    /* An object that no graph has taken is not released: destroy would be called after all. */
    lw_device_leave(before);
    return status;
}

/* Making and destroying an event costs 0.1 us (H200, driver 580, 2026-11-21), and the driver
 * keeps a destroyed one until its waiters have passed: no cache of events is needed. */
static lw_status
mark(CUstream stream, CUevent *out, int ordinal, lw_error *err)
{
    lw_status status = LW_CUDA(EventCreate, (out, 2 /* DISABLE_TIMING */), ordinal, err);

    if (status != LW_OK) {
        *out = NULL; /* whatever the driver wrote */
        return status;
    }
    status = LW_CUDA(EventRecord, (*out, stream), ordinal, err);
    if (status != LW_OK) {
        (void)LW_CUDA(EventDestroy, (*out), ordinal, NULL);
        *out = NULL;
    }
    return status;
}

lw_status
lw_stream_order_(CUstream later, CUstream earlier, int ordinal, lw_error *err)
{
    CUevent event = NULL;
    lw_status status = mark(earlier, &event, ordinal, err);

    if (status != LW_OK)
        return status;
    status = LW_CUDA(StreamWaitEvent, (later, event, 0), ordinal, err);
    (void)LW_CUDA(EventDestroy, (event), ordinal, NULL);
    return status;
}

lw_status
lw_stream_after(lw_device *device, CUstream later, CUstream earlier, lw_error *err)
{
    CUcontext before;
    lw_status status;

    if (later == earlier)
        return LW_OK;
    status = lw_device_visit(device, &before, err);
    if (status == LW_OK)
        status = lw_stream_order_(later, earlier, device->ordinal, err);
    lw_device_leave(before);
    return status;
}

lw_status
lw_stream_after_on(lw_device *later_device, CUstream later, lw_device *earlier_device,
                   CUstream earlier, lw_error *err)
{
    CUcontext before = NULL;
    CUevent event = NULL;
    lw_status status;

    if (later_device == earlier_device)
        return lw_stream_after(later_device, later, earlier, err);
    status = lw_device_visit(earlier_device, &before, err);
    if (status == LW_OK)
        status = mark(earlier, &event, earlier_device->ordinal, err);
    lw_device_leave(before);
    if (status != LW_OK)
        return status;
    status = lw_device_visit(later_device, &before, err);
    if (status == LW_OK)
        status = LW_CUDA(StreamWaitEvent, (later, event, 0), later_device->ordinal, err);
    (void)LW_CUDA(EventDestroy, (event), earlier_device->ordinal, NULL);
    lw_device_leave(before);
    return status;
}

lw_status
lw_event_new(lw_device *device, bool timing, lw_event **out, lw_error *err)
{
    lw_status status;
    CUcontext before = NULL;
    lw_event *event = lw_alloc_zero(1, sizeof *event);

    if (event == NULL)
        return lw_fail_memory(err);
    event->device = device;
    event->timing = timing;
    LW_TRY(lw_context_hold(device, &event->context, err));
    LW_TRY(lw_device_visit(device, &before, err));
    LW_TRY(LW_CUDA(EventCreate, (&event->handle, timing ? 0u : 2u /* DISABLE_TIMING */),
                   device->ordinal, err));
    lw_device_leave(before);
    *out = event;
    return LW_OK;
fail:
    lw_device_leave(before);
    lw_context_drop(event->context);
    lw_free(event);
    return status;
}

void
lw_event_free(lw_event *event)
{
    CUcontext before = NULL;

    if (event == NULL)
        return;
    if (lw_context_visit(event->context, &before))
        (void)LW_CUDA(EventDestroy, (event->handle), event->device->ordinal, NULL);
    lw_device_leave(before);
    lw_context_drop(event->context);
    lw_free(event);
}

lw_status
lw_event_record(lw_event *event, CUstream stream, lw_error *err)
{
    CUcontext before;
    lw_status status = lw_device_visit(event->device, &before, err);

    if (status == LW_OK)
        status = LW_CUDA(EventRecord, (event->handle, stream), event->device->ordinal, err);
    lw_device_leave(before);
    return status;
}

lw_status
lw_event_synchronize(lw_event *event, lw_error *err)
{
    lw_status status = lw_driver_need(err);

    if (status == LW_OK)
        status = LW_CUDA(EventSynchronize, (event->handle), event->device->ordinal, err);
    return status;
}

lw_status
lw_event_query(lw_event *event, bool *done, lw_error *err)
{
    int ordinal = event->device->ordinal;
    lw_status status = lw_driver_need(err);

    *done = false;
    if (status != LW_OK)
        return status;
    if (lw_cuda.EventQuery == NULL)
        return lw_driver_missing(LW_CALL_EventQuery, ordinal, err);
    return ready(lw_cuda.EventQuery(event->handle), LW_CALL_EventQuery, ordinal, done, err);
}

lw_status
lw_event_wait(lw_event *event, lw_device *device, CUstream stream, lw_error *err)
{
    CUcontext before;
    lw_status status = lw_device_visit(device, &before, err);

    if (status == LW_OK)
        status = LW_CUDA(StreamWaitEvent, (stream, event->handle, 0), device->ordinal, err);
    lw_device_leave(before);
    return status;
}

lw_status
lw_event_elapsed(lw_event *from, lw_event *to, float *out_ms, lw_error *err)
{
    lw_status status = lw_driver_need(err);

    if (status != LW_OK)
        return status;
    if (!from->timing || !to->timing)
        return lw_fail(err, LW_ERR_VALUE,
                       "an elapsed time needs two events made with timing=True; the %s one was "
                       "made without",
                       from->timing ? "second" : "first");
    return LW_CUDA(EventElapsedTime, (out_ms, from->handle, to->handle), from->device->ordinal,
                   err);
}
