/* NEP 18: NumPy's functions on device arrays that need no Python code. */
#ifndef LW_PY_ARRAY_FUNCTION_H
#define LW_PY_ARRAY_FUNCTION_H

#include <Python.h>

/* function(*args, **kwargs) of NumPy's: a tuple and a dict. NULL without an exception: the call
 * is left to lanewise/_array_protocol.py, and nothing has happened. */
PyObject *lw_array_function(PyObject *function, PyObject *args, PyObject *kwargs);

#endif
