/* Calls with large cores that a Python function makes in the kernels' place. */
#ifndef LW_GUFUNC_DEVICE_LARGE_PY_H
#define LW_GUFUNC_DEVICE_LARGE_PY_H

#include "gufunc/device_call_py.h"

/* After the plan is filled. 1: done, all is given to the call's stream; 0: the kernel must do
 * it; -1 with an exception. */
int lw_gufunc_call_large(lw_device_gufunc *call);
/* Adds _use_large(gufunc, function, least). -1 with an exception. */
int lw_gufunc_large_register(PyObject *module);

#endif
