/* Arrays of other libraries in the host's memory, as NumPy arrays that share it: what has
 * __array_interface__, a buffer, or __dlpack__ on a CPU. What has only __array__ may be a copy,
 * so its array is read-only. */
#ifndef LW_PY_HOST_VIEW_H
#define LW_PY_HOST_VIEW_H

#include "core/py/numpy_api.h"

#include <stdbool.h>

/* Whether this is such an array; not those of NumPy and of devices, texts and bytes. */
bool lw_is_foreign_host(PyObject *object);

/* TypeError, "<what> is a pandas Series … with missing values, …", where an array made of the
 * object would not have what it says, as a mask. labels: where the result is made of it as a
 * whole, and would not have its names of dimensions, columns or chunks. Arrays, numbers and
 * lists cost nothing. */
int lw_refuse_container(PyObject *object, bool labels, const char *what);

/* Whether NumPy would make an array of it whose missing values are NaN: it has Arrow's memory,
 * and says nothing itself of ufuncs. Cheap. */
bool lw_has_arrow_memory(PyObject *object);

/* A new reference; NULL with an exception: it is none, its library refuses, or the view would
 * not have what the object says. what: the argument, for messages. */
PyArrayObject *lw_host_view(PyObject *object, const char *what);

#endif
