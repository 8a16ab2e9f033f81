/* What tests see of the compiler's inside: trees, types, IR and kernels as text, memory that
 * runs out. Only in builds with LW_WINDOWS, which the released module is not. */
#ifndef LW_PY_WINDOWS_WINDOWS_H
#define LW_PY_WINDOWS_WINDOWS_H

#include <Python.h>

/* Adds the functions, whose names begin with `_`. -1 with an exception. */
int lw_windows_register(PyObject *module);

#endif
