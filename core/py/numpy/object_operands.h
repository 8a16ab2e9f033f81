/* Operands that are objects of a class of the user's, or arrays of them, and results that are:
 * lanewise/_objects.py calls a ufunc of the fields in their place. And operands that are Dask
 * arrays, of which lanewise/_dask.py makes a lazy call. */
#ifndef LW_PY_OBJECT_OPERANDS_H
#define LW_PY_OBJECT_OPERANDS_H

#include "core/py/compiled/compiled.h"

#include <stdbool.h>

/* Whether an argument, given by position, is one. A few ns for those of NumPy's and Python's
 * own types. */
bool lw_brings_objects(PyObject *const *args, Py_ssize_t n_args);
/* The call by the function `name` of lanewise/_objects.py. */
PyObject *lw_call_of_objects(const char *name, PyObject *object, PyObject *const *args,
                             Py_ssize_t n_args, PyObject *kwnames);
/* The same with a tuple and a dictionary. */
PyObject *lw_call_of_objects_by(const char *name, PyObject *object, PyObject *args,
                                PyObject *kwargs);
/* _fields_of_object(object): the names of the fields, or None where it is no object whose class
 * is read. */
PyObject *lw_fields_of_object(PyObject *module, PyObject *object);
/* _has_code(cls): whether a class that is derived from tuple has methods of its author's. */
PyObject *lw_has_code(PyObject *module, PyObject *cls);
/* With an exception: whether it says that the function gives an object. The exception is
 * cleared then, and noted in the compiled object. */
bool lw_gives_objects(lw_compiled *self);

/* Dask need not be there to ask. A few ns for objects of NumPy's and Python's own types. */
bool lw_is_dask(PyObject *object);
/* Whether one of them is; n counts the values of keywords too. */
bool lw_brings_dask(PyObject *const *args, Py_ssize_t n);
/* The call by the function `name` of lanewise/_dask.py. */
PyObject *lw_call_of_dask(const char *name, PyObject *object, PyObject *const *args,
                          Py_ssize_t n_args, PyObject *kwnames);

#endif
