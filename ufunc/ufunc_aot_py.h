/* lanewise.compile: ahead of time, for any target, without a GPU. */
#ifndef LW_UFUNC_UFUNC_AOT_PY_H
#define LW_UFUNC_UFUNC_AOT_PY_H

#include <Python.h>

int lw_aot_register(PyObject *module);

/* A plain function of arrays is a kernel's: 1 with *kernel, a new reference; 0: it is not; -1:
 * an exception. */
int lw_kernel_of_arrays(PyObject *module, PyObject *f, PyObject *sig, PyObject **kernel);

#endif
