/* Slices of device arrays. */
#ifndef LW_REDUCE_SLICE_PY_H
#define LW_REDUCE_SLICE_PY_H

#include "reduce/call_parts_py.h"

/* r.reduceat where an array is on a device; axis=, dtype=, out= and stream= are call->keywords.
 * Indices of a device are copied to the host first, which waits. */
PyObject *lw_reduce_reduceat_on_device(lw_reduce_call *call, PyObject *const *arrays,
                                       Py_ssize_t n, PyObject *indices);
/* int64 on the host, new reference; of anything that NumPy or a device has. */
PyArrayObject *lw_reduce_read_indices(PyObject *given);
/* The axis of call->keywords, and IndexError for indices outside of it. */
int lw_reduce_check_slices(lw_reduce_call *call, PyArrayObject *indices, int *axis);
/* For tests: the same kernel for host arrays, run by core/host/simulator.h. The indices come
 * behind the arrays. */
PyObject *lw_reducer_simulate_slices(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
