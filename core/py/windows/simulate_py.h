/* Device kernels of ufuncs and gufuncs on the simulator of core/host, for tests without a GPU.
 */
#ifndef LW_PY_SIMULATE_PY_H
#define LW_PY_SIMULATE_PY_H

#include <Python.h>

/* Adds _simulate_kernels to the module; 0, or -1 with the exception set. */
int lw_debug_simulate_register(PyObject *module);

#endif
