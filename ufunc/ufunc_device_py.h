/* Ufuncs on device arrays. */
#ifndef LW_UFUNC_UFUNC_DEVICE_PY_H
#define LW_UFUNC_UFUNC_DEVICE_PY_H

#include "core/py/numpy/device_call.h"
#include "ufunc/device_kernel.h"

typedef struct lw_resolution {
    lw_resolved head; /* its loop is an lw_loop */
    uint32_t cost;
    bool has_loop;
} lw_resolution;

extern const lw_device_door lw_ufunc_device_door;

PyObject *lw_ufunc_call_device(lw_ufunc_head *self, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames, lw_extra_arrays *extra);
/* _time_launch(ufunc, n, *operands): seconds of one bare driver launch of that call's kernel.
 */
PyObject *lw_ufunc_time_launch(PyObject *module, PyObject *const *args, Py_ssize_t n_args);

/* One side of a copy: items of this dtype at an address, or `item`, the one for all. */
typedef struct lw_copy_side {
    lw_dtype dtype;
    uint64_t data;
    const void *item;       /* or NULL */
    const int64_t *strides; /* bytes */
} lw_copy_side;

typedef struct lw_device_copy {
    lw_resolved *resolution; /* of the loop that copies */
    lw_device *device;
    CUstream stream;
    int ndim;
    const int64_t *shape;
    lw_copy_side from, to;
} lw_device_copy;

/* The kernel of `lambda x: x`, cast as it loads and stores. -1 with an exception. */
int lw_ufunc_launch_copy(const lw_device_copy *copy);

#endif
