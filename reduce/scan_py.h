/* Scans of device arrays. */
#ifndef LW_REDUCE_SCAN_PY_H
#define LW_REDUCE_SCAN_PY_H

#include "reduce/device/scan_plan.h"
#include "reduce/device_parts_py.h"

/* r.accumulate where an array is on a device; axis=, exclusive=, initial=, dtype=, out= and
 * stream= are call->keywords. */
PyObject *lw_reduce_accumulate_on_device(lw_reduce_call *call, PyObject *const *arrays,
                                         Py_ssize_t n);
/* For both: axis=, initial= and exclusive= of a call whose operands are read, and the errors of
 * those. -1 with an exception. */
int lw_reduce_read_scan(lw_reduce_call *call, int *axis, bool *exclusive);
/* What a scan and slices along an axis have in common: sizes, no seed; then addresses and
 * strides of operands and results. Operands on a device are copied where strides ask for it,
 * those on the host are refused (tests). */
void lw_reduce_scan_start(lw_reduce_scan *scan, const lw_reduce_call *call, int axis);
int lw_reduce_scan_on_host(lw_reduce_call *call, lw_reduce_scan *scan, int axis);
int lw_reduce_scan_on_device(lw_reduce_device *d, lw_reduce_scan *scan, int axis);
/* Runs what is filled: rows and elements are not 0. */
int lw_reduce_scan_launch(lw_reduce_device *d, const lw_reduce_scan *scan);
int lw_reduce_scan_simulate(lw_reduce_call *call, const lw_reduce_scan *scan);
/* For tests: the same kernel for host arrays, run by core/host/simulator.h. */
PyObject *lw_reducer_simulate_scan(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
