/* DLPack 1.x (dmlc/dlpack, include/dlpack/dlpack.h, version 1.3): the structs of its ABI, and
 * both directions for device arrays: export as a capsule, import from a capsule, from a
 * `__dlpack__` method or from a type's C exchange table. */
#ifndef LW_PY_DLPACK_H
#define LW_PY_DLPACK_H

#include "core/py/array/args.h"

enum { LW_DL_CPU = 1, LW_DL_CUDA = 2, LW_DL_CUDA_HOST = 3, LW_DL_CUDA_MANAGED = 13 };
enum { LW_DL_INT, LW_DL_UINT, LW_DL_FLOAT, LW_DL_BFLOAT = 4, LW_DL_COMPLEX, LW_DL_BOOL };
#define LW_DL_READONLY 1u
#define LW_DL_COPIED   2u

typedef struct lw_dl_version {
    uint32_t major, minor;
} lw_dl_version;

typedef struct lw_dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides in elements; NULL: C order (before 1.2) */
    uint64_t byte_offset;
} lw_dl_tensor;

typedef struct lw_dl_managed {
    lw_dl_tensor tensor;
    void *context;
    void (*deleter)(struct lw_dl_managed *self);
} lw_dl_managed;

typedef struct lw_dl_versioned {
    lw_dl_version version;
    void *context;
    void (*deleter)(struct lw_dl_versioned *self);
    uint64_t flags;
    lw_dl_tensor tensor;
} lw_dl_versioned;

typedef struct lw_dl_exchange {
    lw_dl_version version;
    struct lw_dl_exchange *previous; /* of an older major version */
    int (*allocate)(lw_dl_tensor *like, lw_dl_versioned **out, void *context,
                    void (*set_error)(void *context, const char *kind, const char *message));
    int (*from_object)(void *object, lw_dl_versioned **out);
    int (*to_object)(lw_dl_versioned *tensor, void **out); /* steals tensor */
    int (*borrow)(void *object, lw_dl_tensor *out);        /* may be NULL */
    int (*current_stream)(int device_type, int32_t device_id, void **out);
} lw_dl_exchange;

/* The type's `__dlpack_c_exchange_api__` of major version 1; NULL without an exception when it
 * has none that we can read. */
const lw_dl_exchange *lw_dlpack_exchange(PyTypeObject *type);

static inline bool
lw_dlpack_on_host(int device_type)
{
    return device_type == LW_DL_CPU || device_type == LW_DL_CUDA_HOST;
}

/* The CUDA device that a tensor names. -1 with BufferError where this machine has no such
 * device, DriverError where the driver cannot say. */
int lw_dlpack_find_device(lw_operand *out, const lw_dl_tensor *tensor);
/* Fill an operand from a checked tensor. -1 with BufferError (or ValueError) set; the tensor
 * stays the caller's. */
int lw_dlpack_read_tensor(lw_operand *out, const lw_dl_tensor *tensor);
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
lw_dl_versioned *lw_dlpack_managed(lw_device_array *array);
/* Our own table, as the capsule to put on the DeviceArray type. */
PyObject *lw_dlpack_own_exchange(void);

#endif
