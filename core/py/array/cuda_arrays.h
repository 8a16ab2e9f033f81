/* The functions of lanewise.cuda that make arrays on a device, and arrays of the host that a
 * device reaches: page-locked, mapped and managed ones. */
#ifndef LW_PY_ARRAY_CUDA_ARRAYS_H
#define LW_PY_ARRAY_CUDA_ARRAYS_H

#include "core/py/array/device_array.h"

/* Our own array over the memory of an array of cuda.mapped_array or cuda.managed_array, which
 * keeps it alive and knows the stream of its last use (new reference). NULL: the object is
 * none, or an exception is set. */
lw_device_array *lw_mapped_as_array(PyObject *object);

/* Adds these functions and the types DeviceArray and MappedArray to lanewise.cuda. -1 with an
 * exception. */
int lw_cuda_arrays_register(PyObject *module);
/* cuda_host.c's part of it; cuda: lanewise.cuda. */
int lw_cuda_host_register(PyObject *cuda);

#endif
