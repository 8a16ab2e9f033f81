/* Arrays of other libraries in the host's memory, as NumPy arrays that share it: what has
 * __array_interface__, a buffer, or __dlpack__ on a CPU. What has only __array__ may be a copy,
 * so its array is read-only. */
#ifndef LW_PY_HOST_VIEW_H
#define LW_PY_HOST_VIEW_H

#include "core/py/numpy_api.h"

#include <stdbool.h>

/* Whether this is such an array; not those of NumPy and of devices, texts and bytes. */
bool lw_is_foreign_host(PyObject *object);

/* A new reference; NULL with an exception: it is none, or its library refuses. */
PyArrayObject *lw_host_view(PyObject *object);

#endif
