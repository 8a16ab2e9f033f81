/* Kernels of gufuncs on the simulator of core/host, for tests without a GPU: while it is on,
 * launches run there, on what the driver of the tests calls device memory. */
#ifndef LW_GUFUNC_DEVICE_SIMULATE_PY_H
#define LW_GUFUNC_DEVICE_SIMULATE_PY_H

#include "gufunc/core/core_kernel.h"

#include <Python.h>

extern bool lw_gufunc_simulates;

/* The same as a launch with these parameters; waits. The GIL is held. */
lw_status lw_gufunc_simulate(const lw_gufunc_loop *loop, const lw_core_key *key, uint32_t grid,
                             uint32_t block, void *const *params, lw_error *err);
/* Adds _simulate_gufuncs(on). -1 with an exception. */
int lw_gufunc_simulate_register(PyObject *module);

#endif
