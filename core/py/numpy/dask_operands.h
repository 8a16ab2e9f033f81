/* Operands that are Dask arrays: lanewise/_dask.py makes a lazy call of theirs. */
#ifndef LW_PY_DASK_OPERANDS_H
#define LW_PY_DASK_OPERANDS_H

#include <Python.h>

#include <stdbool.h>

/* Dask need not be there to ask. A few ns for objects of NumPy's and Python's own types. */
bool lw_is_dask(PyObject *object);
/* Whether one of them is; n counts the values of keywords too. */
bool lw_brings_dask(PyObject *const *args, Py_ssize_t n);
/* The call by the function `name` of lanewise/_dask.py. */
PyObject *lw_call_of_dask(const char *name, PyObject *object, PyObject *const *args,
                          Py_ssize_t n_args, PyObject *kwnames);

#endif
