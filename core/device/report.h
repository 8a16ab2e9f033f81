/* The host half of what kernels report (core/ir/report.h): one for every loaded kernel that can
 * raise. Looking costs one load of host memory and never waits. */
#ifndef LW_DEVICE_REPORT_H
#define LW_DEVICE_REPORT_H

#include "core/device/context.h"
#include "core/ir/report.h"

typedef struct lw_report lw_report;

/* Clean, for kernels given to any stream of the device from now on. */
lw_status lw_report_new(lw_device *device, lw_report **out, lw_error *err);
/* No kernel that has its address may run any more. NULL is allowed. */
void lw_report_free(lw_report *report);
/* What such kernels take as their parameter. */
CUdeviceptr lw_report_address(const lw_report *report);
/* False after a reset of the device, or a fork: make a new one. */
bool lw_report_is_alive(const lw_report *report);

/* *found: whether a thread has failed. Then *out is what it wrote, and both halves are
 * cleared: the record now, the device's word in the order of `stream`, the one the kernel was
 * given to (so that what of it still runs is told of once, and later launches are clean).
 * Several threads may look: one gets it. While the stream captures, nothing is taken. */
lw_status lw_report_check(lw_report *report, CUstream stream, bool *found,
                          lw_report_record *out, lw_error *err);

#endif
