/* The Python objects of kernels' own functions and values: `cuda.grid`, `cuda.threadIdx.x`.
 * Compiled code knows them by their row of names.def; on the host they only have a name, a
 * docstring, and an error for whoever calls them. */
#ifndef LW_PY_INTRINSIC_H
#define LW_PY_INTRINSIC_H

#include <Python.h>

/* Adds the classes Intrinsic and IntrinsicGroup, and the group `intrinsics`, whose attributes
 * are the paths of kernel_names.def behind "lanewise.": intrinsics.cuda.shared.array. */
int lw_intrinsics_register(PyObject *module);

#endif
