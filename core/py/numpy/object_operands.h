/* Operands that are objects of a class of the user's, or arrays of them, and results that are:
 * lanewise/_objects.py calls a ufunc of the fields in their place. And operands that are arrays
 * of other libraries' collections: Dask arrays, of which lanewise/_dask.py makes a lazy call,
 * and labelled arrays of xarray, which are lanewise/_labelled.py's. */
#ifndef LW_PY_OBJECT_OPERANDS_H
#define LW_PY_OBJECT_OPERANDS_H

#include "core/py/compiled/compiled.h"

#include <stdbool.h>

/* Whether an argument, given by position, is one. A few ns for those of NumPy's and Python's
 * own types. */
bool lw_brings_objects(const lw_compiled *self, PyObject *const *args, Py_ssize_t n_args);
/* Whether an argument of a call, given by the name of a parameter, is one. */
bool lw_names_objects(const lw_compiled *self, PyObject *const *values, PyObject *kwnames);
/* Whether the argument is an object by itself, and no array of objects. */
bool lw_is_single_object(const lw_compiled *self, PyObject *object);
/* _takes_as_object(compiled, object): the same, for Python. */
PyObject *lw_takes_as_object(PyObject *module, PyObject *args);
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

/* An xarray DataArray may hold a Dask array, so that the larger one answers. */
typedef enum { LW_NO_COLLECTION, LW_DASK_ARRAY, LW_LABELLED_ARRAY } lw_collection;

/* The libraries need not be there to ask. A few ns for objects of NumPy's and Python's own
 * types. */
lw_collection lw_collection_of(PyObject *object);
/* The largest among these; n counts the values of keywords too. */
lw_collection lw_brings_collection(PyObject *const *args, Py_ssize_t n);
/* The call by the function `name` of the module that the collection is of. */
PyObject *lw_call_of_collection(lw_collection collection, const char *name, PyObject *object,
                                PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames);
/* The same with a tuple and a dictionary. */
PyObject *lw_call_of_collection_by(lw_collection collection, const char *name, PyObject *object,
                                   PyObject *args, PyObject *kwargs);

#endif
