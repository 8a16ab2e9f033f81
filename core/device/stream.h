/* Streams and events. Everywhere else a stream is the bare handle (CUstream), so that streams
 * of other libraries need no wrapper: 0 and LW_STREAM_LEGACY are the default stream,
 * LW_STREAM_PER_THREAD is the calling thread's own. A lw_stream owns a handle that we made, or
 * wraps one. */
#ifndef LW_DEVICE_STREAM_H
#define LW_DEVICE_STREAM_H

#include "core/device/context.h"

#define LW_STREAM_LEGACY     ((CUstream)(uintptr_t)1)
#define LW_STREAM_PER_THREAD ((CUstream)(uintptr_t)2)

typedef struct lw_stream {
    CUstream handle;
    lw_device *device;   /* borrowed */
    lw_context *context; /* held when owned */
    bool owned;
    struct lw_stream *next; /* in the list of its context's pool, when owned */
} lw_stream;

typedef struct lw_event {
    CUevent handle;
    lw_device *device;   /* borrowed */
    lw_context *context; /* held */
    bool timing;
} lw_event;

/* blocking: ordered with the legacy default stream. priority: 0 is the lowest, more negative is
 * more urgent; it is clamped to the device's range. */
lw_status lw_stream_new(lw_device *device, bool blocking, int priority, lw_stream **out,
                        lw_error *err);
/* Wraps a stream that belongs to somebody else; it is never destroyed by us. */
lw_status lw_stream_wrap(lw_device *device, CUstream handle, lw_stream **out, lw_error *err);
/* Never waits: queued work continues. NULL is allowed. */
void lw_stream_free(lw_stream *stream);

lw_status lw_stream_synchronize(lw_device *device, CUstream stream, lw_error *err);
/* *done: whether all work queued so far has finished. */
lw_status lw_stream_query(lw_device *device, CUstream stream, bool *done, lw_error *err);
lw_status lw_stream_capturing(lw_device *device, CUstream stream, bool *capturing,
                              lw_error *err);
/* destroy(data) is called once the graph that the stream captures, and all that was
 * instantiated or cloned from it, is destroyed: in any thread, where neither CUDA nor Python
 * may be called. Never where this fails, such as with drivers before CUDA 11.3. */
lw_status lw_stream_keep_for_graph(lw_device *device, CUstream stream, void (*destroy)(void *),
                                   void *data, lw_error *err);
/* Work queued on `later` from now on runs after the work queued on `earlier` so far. The host
 * does not wait. Both streams are of the same device. */
lw_status lw_stream_after(lw_device *device, CUstream later, CUstream earlier, lw_error *err);
/* The same between devices. */
lw_status lw_stream_after_on(lw_device *later_device, CUstream later, lw_device *earlier_device,
                             CUstream earlier, lw_error *err);

lw_status lw_event_new(lw_device *device, bool timing, lw_event **out, lw_error *err);
void lw_event_free(lw_event *event); /* NULL is allowed */
lw_status lw_event_record(lw_event *event, CUstream stream, lw_error *err);
lw_status lw_event_synchronize(lw_event *event, lw_error *err);
lw_status lw_event_query(lw_event *event, bool *done, lw_error *err);
/* The stream may be of another device. */
lw_status lw_event_wait(lw_event *event, lw_device *device, CUstream stream, lw_error *err);
/* LW_ERR_VALUE when one of the events was made without timing. */
lw_status lw_event_elapsed(lw_event *from, lw_event *to, float *out_ms, lw_error *err);

#endif
