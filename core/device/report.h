/* The host half of what kernels report (core/ir/report.h): one lw_report for every loaded
 * kernel that can raise. Checking it costs one load of host memory and never waits. */
#ifndef LW_DEVICE_REPORT_H
#define LW_DEVICE_REPORT_H

#include "core/device/context.h"
#include "core/ir/report.h"

typedef struct lw_report lw_report;

/* Makes a cleared report, for kernels launched on any stream of the device. */
lw_status lw_report_new(lw_device *device, lw_report **out, lw_error *err);
/* No kernel that has its address may still run. NULL is allowed. */
void lw_report_free(lw_report *report);
/* The value of the kernels' parameter. */
CUdeviceptr lw_report_address(const lw_report *report);
/* False after a reset of the device, or a fork: a new report is needed. */
bool lw_report_is_alive(const lw_report *report);

/* *found: whether a thread has failed. Then *out is what it wrote, and both halves are
 * cleared: the record now, the device's word in the order of `stream`, on which the kernel
 * was launched (so that a failure of what still runs is not reported again, and later
 * launches start cleared). If several threads check, one gets it. While the stream captures,
 * nothing is taken. */
lw_status lw_report_check(lw_report *report, CUstream stream, bool *found,
                          lw_report_record *out, lw_error *err);

#endif
