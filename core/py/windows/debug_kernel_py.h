/* Kernels for the project's own tests: typed, lowered, run once on the host. */
#ifndef LW_PY_DEBUG_KERNEL_PY_H
#define LW_PY_DEBUG_KERNEL_PY_H

#include <Python.h>

/* Adds _dump_kernel and _run_kernel to the module; 0, or -1 with the exception set. */
int lw_debug_kernel_register(PyObject *module);

#endif
