/* How long kernels take, for lanewise.profile(): each launch stands between two events of the
 * driver, whose distance is asked when both have passed. Nothing waits before that is read. In
 * a stream that is being captured nothing is measured. */
#ifndef LW_DEVICE_LAUNCH_TIMES_H
#define LW_DEVICE_LAUNCH_TIMES_H

#include "core/device/context.h"

/* One launch, between begin and end on one thread. */
typedef struct lw_timed_launch {
    CUevent from, to; /* NULL: it is not measured */
    uint32_t row;
} lw_timed_launch;

/* The device is entered. Failures are no errors: the launch is then not measured. */
void lw_launch_time_begin(lw_device *device, CUstream stream, lw_timed_launch *out);
void lw_launch_time_end(lw_device *device, CUstream stream, const lw_timed_launch *timed);
/* Waits for the launches that were measured, and makes them events of the profile. The caller
 * does not hold the GIL. */
void lw_launch_times_read(void);

#endif
