#include "core/device/launch_times.h"

#include "core/base/clock.h"
#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/base/profile.h"
#include "core/device/device_internal.h"

enum { MOST_WAITING = 1024 }; /* launches: then those that have passed are read */

typedef struct waiting { /* a launch that nobody has read */
    struct waiting *next;
    lw_device *device;
    lw_context *context; /* held */
    CUevent from, to;
    uint32_t row;
} waiting;

/* An event of each device whose time on the host's clock is known. */
typedef struct anchor {
    CUevent event;
    lw_context *context; /* held; NULL: there is none */
    int64_t at_ns;
} anchor;

static lw_lock lock = LW_LOCK_INIT; /* guards the rest */
static waiting *first, **last = &first;
static uint32_t n_waiting;
static anchor anchors[LW_MOST_DEVICES];

static bool
is_capturing(CUstream stream)
{
    int status = 0;

    return lw_cuda.StreamIsCapturing != NULL &&
           lw_cuda.StreamIsCapturing(stream, &status) == LW_CUDA_SUCCESS && status != 0;
}

static bool
can_measure(void)
{
    return lw_cuda.EventCreate && lw_cuda.EventRecord && lw_cuda.EventSynchronize &&
           lw_cuda.EventElapsedTime && lw_cuda.EventDestroy && lw_cuda.EventQuery;
}

/* Waits for the stream, once in a profile for each device. The caller has the lock. */
static void
make_anchor(lw_device *device, CUstream stream)
{
    anchor *own = &anchors[device->ordinal];

    if (own->context != NULL)
        return;
    if (lw_context_hold(device, &own->context, NULL) != LW_OK)
        return;
    if (lw_cuda.EventCreate(&own->event, 0) == LW_CUDA_SUCCESS) {
        if (lw_cuda.EventRecord(own->event, stream) == LW_CUDA_SUCCESS &&
            lw_cuda.EventSynchronize(own->event) == LW_CUDA_SUCCESS) {
            own->at_ns = lw_now_ns();
            return;
        }
        (void)lw_cuda.EventDestroy(own->event);
    }
    lw_context_drop(own->context);
    own->context = NULL;
}

void
lw_launch_time_begin(lw_device *device, CUstream stream, lw_timed_launch *out)
{
    lw_profile_frame *frame = lw_profile_top();

    out->from = out->to = NULL;
    out->row = frame ? frame->row : LW_PROFILE_NO_CALL;
    if (frame != NULL)
        frame->n_launches++;
    if (!can_measure() || is_capturing(stream))
        return;
    lw_lock_take(&lock);
    make_anchor(device, stream);
    lw_lock_give(&lock);
    if (lw_cuda.EventCreate(&out->from, 0) != LW_CUDA_SUCCESS)
        out->from = NULL;
    else if (lw_cuda.EventCreate(&out->to, 0) != LW_CUDA_SUCCESS ||
             lw_cuda.EventRecord(out->from, stream) != LW_CUDA_SUCCESS) {
        (void)lw_cuda.EventDestroy(out->from);
        out->from = NULL;
    }
}

/* ---- reading ---- */

/* Its time as an event of the profile; false: it has none. */
static bool
measured(const waiting *launch, lw_profile_event *out)
{
    const anchor *own = &anchors[launch->device->ordinal];
    float since = 0, took = 0;

    if (own->context != launch->context ||
        lw_cuda.EventElapsedTime(&since, own->event, launch->from) != LW_CUDA_SUCCESS ||
        lw_cuda.EventElapsedTime(&took, launch->from, launch->to) != LW_CUDA_SUCCESS)
        return false;
    *out = (lw_profile_event){.start_ns = own->at_ns + (int64_t)(1e6 * (double)since),
                              .duration_ns = (int64_t)(1e6 * (double)took),
                              .row = launch->row,
                              .thread = (uint32_t)launch->device->ordinal,
                              .kind = LW_PROFILE_KERNEL,
                              .target = LW_PROFILE_CUDA};
    return true;
}

/* Reads one and frees it. false: it has not passed, and nobody wants to wait. The caller has
 * the lock. */
static bool
read_one(waiting *launch, bool wait)
{
    lw_profile_event event;
    CUcontext before;

    if (lw_context_visit(launch->context, &before)) {
        if (!wait && lw_cuda.EventQuery(launch->to) == LW_CUDA_NOT_READY) {
            lw_device_leave(before);
            return false;
        }
        if (lw_cuda.EventSynchronize(launch->to) == LW_CUDA_SUCCESS && measured(launch, &event))
            lw_profile_add(&event);
        (void)lw_cuda.EventDestroy(launch->from);
        (void)lw_cuda.EventDestroy(launch->to);
        lw_device_leave(before);
    }
    lw_context_drop(launch->context);
    lw_free(launch);
    return true;
}

/* In the order of the launches, as far as it goes. The caller has the lock. */
static void
read_waiting(bool wait)
{
    while (first != NULL) {
        waiting *next = first->next;
        if (!read_one(first, wait))
            return;
        first = next;
        n_waiting--;
    }
    last = &first;
}

void
lw_launch_time_end(lw_device *device, CUstream stream, const lw_timed_launch *timed)
{
    waiting *launch;

    if (timed->from == NULL)
        return;
    launch = lw_alloc_zero(1, sizeof *launch);
    if (launch == NULL || lw_context_hold(device, &launch->context, NULL) != LW_OK ||
        lw_cuda.EventRecord(timed->to, stream) != LW_CUDA_SUCCESS) {
        if (launch != NULL)
            lw_context_drop(launch->context);
        lw_free(launch);
        (void)lw_cuda.EventDestroy(timed->from);
        (void)lw_cuda.EventDestroy(timed->to);
        return;
    }
    launch->device = device;
    launch->from = timed->from;
    launch->to = timed->to;
    launch->row = timed->row;
    lw_lock_take(&lock);
    *last = launch;
    last = &launch->next;
    if (++n_waiting > MOST_WAITING)
        read_waiting(false);
    lw_lock_give(&lock);
}

static void
drop_anchors(void)
{
    for (int i = 0; i < LW_MOST_DEVICES; i++) {
        CUcontext before;
        if (anchors[i].context == NULL)
            continue;
        if (lw_context_visit(anchors[i].context, &before)) {
            (void)lw_cuda.EventDestroy(anchors[i].event);
            lw_device_leave(before);
        }
        lw_context_drop(anchors[i].context);
        anchors[i].context = NULL;
    }
}

void
lw_launch_times_read(void)
{
    lw_lock_take(&lock);
    read_waiting(true);
    drop_anchors();
    lw_lock_give(&lock);
}
