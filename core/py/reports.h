/* The reports of kernels that can raise (core/device/report.h), for all doors: each is watched
 * from the kernel's first launch on, so that any wait for a device tells what it found. All
 * with a thread state. */
#ifndef LW_PY_REPORTS_H
#define LW_PY_REPORTS_H

#include <Python.h>

#include "core/py/print_py.h"

#include "core/device/report.h"

typedef struct lw_watch lw_watch;

/* Raises what the record says; always -1. */
typedef int (*lw_watch_raise)(const void *owner, const lw_report_record *record);

/* -1 with an exception. */
int lw_watch_new(lw_device *device, lw_watch_raise raise, const void *owner, lw_watch **out);
/* No kernel that has its address is given to a stream any more. NULL is allowed. */
void lw_watch_free(lw_watch *watch);
/* What a launch passes to the kernel. 0: after a reset of the device, and a new report could
 * not be made; an exception is set. */
CUdeviceptr lw_watch_address(lw_watch *watch);
/* -1: a thread has failed, and its exception is set. Looks without waiting; stream: the one
 * that the kernel was given to. */
int lw_watch_check(lw_watch *watch, CUstream stream);
/* errors="raise": waits for the stream, shows what was printed and checks. While the stream
 * captures nothing runs: then, as with "defer", the next call or synchronisation tells. */
int lw_watch_wait(lw_watch *watch, CUstream stream);
/* lw_watch_check of all that are watched. */
int lw_watches_check(void);

/* To be called after every wait for a device: shows what was printed, raises what kernels
 * reported (assert, raise). */
static inline int
lw_check_errors(void)
{
    return lw_print_show() < 0 ? -1 : lw_watches_check();
}

#endif
