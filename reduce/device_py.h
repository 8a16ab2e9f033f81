/* Reductions of device arrays. */
#ifndef LW_REDUCE_DEVICE_PY_H
#define LW_REDUCE_DEVICE_PY_H

#include "reduce/call_parts_py.h"

/* r(a, *more, …) where an array is on a device. */
PyObject *lw_reduce_on_device(lw_reduce_call *call, PyObject *args);
/* For tests: the same kernel for host arrays, run by core/host/simulator.h. blocks: how many
 * the device would have. */
PyObject *lw_reducer_simulate(PyObject *self, PyObject *args, PyObject *kwargs);
void lw_reduce_entry_free(void *entry);

#endif
