/* lanewise.compile: ahead of time, for any target, without a GPU. */
#ifndef LW_UFUNC_UFUNC_AOT_PY_H
#define LW_UFUNC_UFUNC_AOT_PY_H

#include <Python.h>

int lw_aot_register(PyObject *module);

#endif
