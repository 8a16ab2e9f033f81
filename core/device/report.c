#include "core/device/report.h"

#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/device/copy.h"
#include "core/device/device_internal.h"
#include "core/device/pool.h"
#include "core/device/stream.h"

#include <stdatomic.h>
#include <string.h>

struct lw_report {
    lw_lock lock; /* of taking the record */
    lw_device *device;
    lw_host_block *record; /* mapped; holds the context */
    lw_block *control;
};

static lw_status
send_control(lw_report *report, lw_error *err)
{
    lw_report_control control = {.record = report->record->address};

    /* waits, because the kernels that use it may be launched on other streams */
    return lw_copy_to_device(&(lw_copy_queue){report->device, LW_STREAM_PER_THREAD, true},
                             report->control->address, &control, sizeof control, err);
}

lw_status
lw_report_new(lw_device *device, lw_report **out, lw_error *err)
{
    lw_status status = LW_OK;
    lw_report *report = lw_alloc_zero(1, sizeof *report);

    if (report == NULL)
        return lw_fail_memory(err);
    report->lock = (lw_lock)LW_LOCK_INIT;
    report->device = device;
    LW_TRY(lw_host_block_new(device, LW_HOST_MAPPED, NULL, sizeof(lw_report_record),
                             &report->record, err));
    memset(report->record->host, 0, sizeof(lw_report_record));
    LW_TRY(lw_pool_take_own(device, sizeof(lw_report_control), LW_STREAM_PER_THREAD,
                            &report->control, err));
    LW_TRY(send_control(report, err));
    *out = report;
    return LW_OK;
fail:
    lw_report_free(report);
    return status;
}

void
lw_report_free(lw_report *report)
{
    if (report == NULL)
        return;
    lw_host_block_free(report->record); /* the driver waits here for running kernels */
    lw_pool_put(report->control);
    lw_free(report);
}

CUdeviceptr
lw_report_address(const lw_report *report)
{
    return report->control->address;
}

bool
lw_report_is_alive(const lw_report *report)
{
    return lw_context_is_alive(report->record->context);
}

static _Atomic uint32_t *
flag_of(const lw_report *report)
{
    return (_Atomic uint32_t *)report->record->host; /* its first field */
}

/* Clears the flag first, then the word that lets the next thread write; the other order would
 * lose a report. */
static lw_status
take(lw_report *report, CUstream stream, bool *found, lw_report_record *out, lw_error *err)
{
    if (atomic_load_explicit(flag_of(report), memory_order_acquire) == 0)
        return LW_OK;
    memcpy(out, report->record->host, sizeof *out);
    atomic_store_explicit(flag_of(report), 0, memory_order_release);
    *found = true;
    return lw_fill(&(lw_copy_queue){report->device, stream, false}, report->control->address, 0,
                   4, 1, err);
}

lw_status
lw_report_check(lw_report *report, CUstream stream, bool *found, lw_report_record *out,
                lw_error *err)
{
    bool capturing = false;
    lw_status status;

    *found = false;
    if (atomic_load_explicit(flag_of(report), memory_order_relaxed) == 0)
        return LW_OK;
    status = lw_stream_capturing(report->device, stream, &capturing, err);
    if (status != LW_OK || capturing)
        return status;
    lw_lock_take(&report->lock);
    status = take(report, stream, found, out, err);
    lw_lock_give(&report->lock);
    return status;
}
