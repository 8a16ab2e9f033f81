#include "core/py/reports.h"

#include "core/base/memory.h"
#include "core/device/stream.h"
#include "core/front/read/critical.h"
#include "core/py/print_py.h"
#include "core/py/raise.h"
#include "core/py/state.h"

struct lw_watch {
    lw_report *report;
    lw_device *device; /* borrowed */
    lw_watch_raise raise;
    const void *owner;
    lw_watch *next, *before;
};

static lw_watch *watches; /* in a critical section on guard() */

/* One object for the list and all reports: whoever frees a watch waits until nobody raises what
 * it found. Without a module no thread is left. */
static inline PyObject *
guard(void)
{
    return lw_core->watches_guard ? lw_core->watches_guard : Py_None;
}

/* Makes a report in place of one whose memory went with a reset, or of none. */
static int
renew(lw_watch *watch)
{
    lw_report *fresh = NULL;
    lw_error err = {0};

    if (lw_report_new(watch->device, &fresh, &err) != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    lw_report_free(watch->report);
    watch->report = fresh;
    return 0;
}

int
lw_watch_new(lw_device *device, lw_watch_raise raise, const void *owner, lw_watch **out)
{
    lw_watch *watch = lw_alloc_zero(1, sizeof *watch);

    if (watch == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    watch->device = device;
    watch->raise = raise;
    watch->owner = owner;
    if (renew(watch) < 0) {
        lw_free(watch);
        return -1;
    }
    Py_BEGIN_CRITICAL_SECTION(guard());
    watch->next = watches;
    if (watches != NULL)
        watches->before = watch;
    watches = watch;
    Py_END_CRITICAL_SECTION();
    *out = watch;
    return 0;
}

void
lw_watch_free(lw_watch *watch)
{
    if (watch == NULL)
        return;
    Py_BEGIN_CRITICAL_SECTION(guard());
    if (watch->before != NULL)
        watch->before->next = watch->next;
    else
        watches = watch->next;
    if (watch->next != NULL)
        watch->next->before = watch->before;
    Py_END_CRITICAL_SECTION();
    lw_report_free(watch->report);
    lw_free(watch);
}

CUdeviceptr
lw_watch_address(lw_watch *watch)
{
    CUdeviceptr address;

    Py_BEGIN_CRITICAL_SECTION(guard());
    address = !lw_report_is_alive(watch->report) && renew(watch) < 0
                  ? 0
                  : lw_report_address(watch->report);
    Py_END_CRITICAL_SECTION();
    return address;
}

/* In a critical section on guard(). */
static int
check(lw_watch *watch, CUstream stream)
{
    lw_report_record record;
    lw_error err = {0};
    bool found;

    if (!lw_report_is_alive(watch->report))
        return 0;
    if (lw_report_check(watch->report, stream, &found, &record, &err) != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    return found ? watch->raise(watch->owner, &record) : 0;
}

int
lw_watch_check(lw_watch *watch, CUstream stream)
{
    int result;

    Py_BEGIN_CRITICAL_SECTION(guard());
    result = check(watch, stream);
    Py_END_CRITICAL_SECTION();
    return result;
}

int
lw_watch_wait(lw_watch *watch, CUstream stream)
{
    lw_status status = LW_OK;
    bool capturing = false;
    lw_error err = {0};

    if ((uintptr_t)stream > 1)
        LW_TRY(lw_stream_capturing(watch->device, stream, &capturing, &err));
    if (capturing)
        return 0;
    Py_BEGIN_ALLOW_THREADS
    status = lw_stream_synchronize(watch->device, stream, &err);
    Py_END_ALLOW_THREADS
    if (status == LW_OK)
        return lw_print_show() < 0 ? -1 : lw_watch_check(watch, stream);
fail:
    lw_py_raise(&err);
    return -1;
}

int
lw_watches_check(void)
{
    int result = 0;

    Py_BEGIN_CRITICAL_SECTION(guard());
    for (lw_watch *watch = watches, *next; watch != NULL && result == 0; watch = next) {
        next = watch->next;
        result = check(watch, LW_STREAM_PER_THREAD);
    }
    Py_END_CRITICAL_SECTION();
    return result;
}
