/* DLPack both ways for device arrays: export as a capsule, import from a capsule, from a
 * `__dlpack__` method or from a type's C exchange table. */
#ifndef LW_PY_ARRAY_DLPACK_ARRAYS_H
#define LW_PY_ARRAY_DLPACK_ARRAYS_H

#include "core/py/array/args.h"
#include "core/py/array/dlpack.h"

/* The type's `__dlpack_c_exchange_api__` of major version 1; NULL without an exception when it
 * has none that we can read. */
const DLPackExchangeAPI *lw_dlpack_exchange(PyTypeObject *type);

static inline bool
lw_dlpack_on_host(int device_type)
{
    return device_type == kDLCPU || device_type == kDLCUDAHost;
}

/* The CUDA device that a tensor names. -1 with BufferError where this machine has no such
 * device, DriverError where the driver cannot say. */
int lw_dlpack_find_device(lw_operand *out, const DLTensor *tensor);
/* Fill an operand from a checked tensor. -1 with BufferError (or ValueError) set; the tensor
 * stays the caller's. */
int lw_dlpack_read_tensor(lw_operand *out, const DLTensor *tensor);
/* Fill an operand by object.__dlpack__(…), which out->keep then owns. */
int lw_dlpack_read_object(lw_operand *out, PyObject *object);
/* Fill an operand by a capsule, which is consumed (renamed) on success. */
int lw_dlpack_read_capsule(lw_operand *out, PyObject *capsule);

/* A NumPy array (new reference) over the memory of an exporter on the host. numpy.from_dlpack
 * believes its tensor: it reads a NULL shape, and makes arrays over NULL and over reaches that
 * overflow. NULL with BufferError, ValueError or TypeError set. */
PyObject *lw_dlpack_host_array(PyObject *object);

/* DeviceArray.__dlpack__: versioned when max_version's major is at least 1. */
PyObject *lw_dlpack_export(lw_device_array *array, PyObject *stream, PyObject *max_version,
                           PyObject *dl_device, PyObject *copy);
/* The managed tensor of a whole array, which it then keeps alive. NULL with an exception. */
DLManagedTensorVersioned *lw_dlpack_managed(lw_device_array *array);
/* Our own table, as the capsule to put on the DeviceArray type. */
PyObject *lw_dlpack_own_exchange(void);

#endif
