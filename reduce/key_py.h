/* Runs of equal keys on a device. */
#ifndef LW_REDUCE_KEY_PY_H
#define LW_REDUCE_KEY_PY_H

#include "core/py/numpy_api.h"

/* r.by_key where an array is on a device: (keys, results), device arrays. How many there are is
 * known when the kernel has ended: this waits for its stream. */
PyObject *lw_reducer_by_key_on_device(PyObject *self, PyObject *args, PyObject *kwargs);
/* For tests: the same kernel for host arrays, run by core/host/simulator.h. */
PyObject *lw_reducer_simulate_by_key(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
