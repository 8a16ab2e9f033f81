/* NumPy arrays over memory that compiled code has made (core/host/counted_memory.h). */
#ifndef LW_PY_COUNTED_ARRAY_H
#define LW_PY_COUNTED_ARRAY_H

#include "core/py/numpy_api.h"

#include "core/front/lower/lower.h"

/* The array of which these are the parts. descr is borrowed. Its .base is a MemInfo, which
 * takes over the reference; without one it is `base` (borrowed), the array whose memory this
 * is; NULL: nobody knows, and the elements are copied. NULL on failure: the reference is
 * released, too. */
PyObject *lw_counted_array(const lw_array_result *kind, PyArray_Descr *descr,
                           const uint64_t *parts, PyObject *base);

/* One reference to the memory of an array: to that of compiled code, or to `data` with a
 * reference to the array. NULL: memory is out. */
void *lw_counted_of_array(PyObject *array);
void *lw_counted_over_object(void *data, PyObject *object);

int lw_counted_array_register(PyObject *module);

#endif
