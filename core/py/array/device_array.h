/* DeviceArray: an n-dimensional array in a GPU's memory. A lean array: create, copy, view,
 * slice, reshape, print, exchange; arithmetic is what the ufuncs bring.
 *
 * Ownership. An array that owns memory holds its pool block; a view holds the array that does
 * (never another view); an array over foreign memory holds the object that keeps it. That owner
 * is the `root`: it alone knows the stream its memory was last used on.
 *
 * Order. Before work on a stream touches an array, lw_device_array_use puts that stream behind
 * whatever was last given to the array, by an event and only when the streams differ. The last
 * drop gives the block back to the pool in that order and never waits.
 *
 * Objects are not tracked by the garbage collector (as NumPy's are not) and come from a free
 * list: a new array of up to LW_INLINE_DIMS dimensions makes no heap call on a pool hit. All
 * functions here need the GIL; those that return a pointer or -1 have set an exception then. */
#ifndef LW_PY_DEVICE_ARRAY_H
#define LW_PY_DEVICE_ARRAY_H

#include "core/py/numpy_api.h"

#include "core/base/memory_span.h"
#include "core/device/pool.h"
#include "core/device/stream.h"
#include "core/py/descr.h"
#include "core/py/print_py.h"
#include "core/py/reports.h"
#include "core/py/state.h"
#include "core/tables/dtypes.h"

#define LW_INLINE_DIMS 8
#define LW_MAX_DIMS    64 /* NumPy's limit */

typedef struct lw_device_array {
    PyObject_HEAD
    CUdeviceptr data; /* of element [0, …, 0]; may be 0 when size is 0 */
    int64_t size;     /* elements */
    int64_t itemsize; /* bytes */
    int64_t *shape;   /* ndim elements; in dims or in the heap */
    int64_t *strides; /* bytes; may be zero or negative */
    lw_device *device;
    int ndim;
    /* lw_dtype; LW_DT_void: a NumPy dtype that no kernel reads (records, dates) */
    uint8_t dtype;
    bool c_contiguous, f_contiguous, readonly;
    bool misaligned; /* some element is not at a multiple of lw_dtype_alignment: only copies
                        reach it, and kernels get an aligned copy (lw_operand_read) */
    _Atomic(CUstream) stream; /* in a root: last used on; elsewhere meaningless. Changed in a
                                 critical section on the root */
    lw_block *block;          /* in a root over our own memory, else NULL */
    PyObject *base; /* a view's root or the keeper of foreign memory; NULL in an owning root */
    struct lw_kept_stream *kept;        /* in a root: what is behind `stream`, or NULL */
    struct lw_device_array *root;       /* borrowed: self, or base */
    unsigned long thread;               /* in a root whose stream is per-thread: whose */
    CUstream origin;                    /* in a root: the stream its memory came with */
    struct lw_kept_stream *origin_kept; /* what is behind `origin`, or NULL */
    PyArray_Descr *descr;
    PyObject *weakrefs;
    int64_t dims[2 * LW_INLINE_DIMS];
} lw_device_array;

static inline bool
lw_is_device_array(PyObject *object)
{
    return Py_TYPE(object) == lw_core->device_array_type; /* it cannot be subclassed */
}

/* The device of the first of these objects that is a DeviceArray, else the current one; NULL
 * with an exception. */
lw_device *lw_device_of_arrays(PyObject *const *args, Py_ssize_t n_args);

/* Uninitialised memory, belonging to `stream`. order 'C' or 'F'. */
lw_device_array *lw_device_array_new(lw_device *device, CUstream stream, lw_dtype dtype,
                                     int ndim, const int64_t *shape, char order);
/* The same with explicit strides (bytes): a dense layout in any order of axes. */
lw_device_array *lw_device_array_new_strided(lw_device *device, CUstream stream, lw_dtype dtype,
                                             int ndim, const int64_t *shape,
                                             const int64_t *strides);
/* The same for any NumPy dtype without Python objects in it. descr is borrowed. */
lw_device_array *lw_device_array_new_descr(lw_device *device, CUstream stream,
                                           PyArray_Descr *descr, int ndim, const int64_t *shape,
                                           char order);
/* Gives a new C-contiguous array another shape, of up to LW_INLINE_DIMS dimensions and at most
 * as many elements. Nobody else has seen the array yet. */
void lw_device_array_cut(lw_device_array *array, int ndim, const int64_t *shape);
/* An array over memory that `keeper` (a new reference is taken) keeps alive; last used on
 * `stream`. dtype gives the kernel type, descr NumPy's (borrowed; NULL: that of dtype). */
lw_device_array *lw_device_array_over(lw_device *device, CUstream stream, CUdeviceptr data,
                                      lw_dtype dtype, PyArray_Descr *descr, int ndim,
                                      const int64_t *shape, const int64_t *strides,
                                      bool readonly, PyObject *keeper);
/* A view of the same memory. */
lw_device_array *lw_device_array_view(lw_device_array *array, CUdeviceptr data, int ndim,
                                      const int64_t *shape, const int64_t *strides);

/* The stream that its memory was last used on. */
static inline CUstream
lw_device_array_stream(const lw_device_array *array)
{
    return atomic_load_explicit(&array->root->stream, memory_order_relaxed);
}

/* Slow half of lw_device_array_use. */
lw_status lw_device_array_move_stream(lw_device_array *root, CUstream stream, lw_error *err);

/* Work on `stream` (of the array's device) is about to read or write the array: order it behind
 * the last use. A few ns when the stream is the same as last time. */
static inline lw_status
lw_device_array_use(lw_device_array *array, CUstream stream, lw_error *err)
{
    lw_device_array *root = array->root;
    if (lw_device_array_stream(root) == stream && stream != LW_STREAM_PER_THREAD &&
        !atomic_load_explicit(&lw_some_device_was_reset, memory_order_relaxed))
        return LW_OK;
    return lw_device_array_move_stream(root, stream, err);
}

/* A copy on the host as a new ndarray; waits. */
PyObject *lw_device_array_to_host(lw_device_array *array, CUstream stream);
/* A dense copy on the device in order 'C' or 'F', on the stream the array was last used on. */
lw_device_array *lw_device_array_copy(lw_device_array *array, char order);
/* A dense copy on another device, ready on that stream of it; the host does not wait. */
lw_device_array *lw_device_array_to(lw_device_array *array, lw_device *device, CUstream stream);
/* A new device array with the host array's contents and dtype; F order when it has that. */
lw_device_array *lw_device_array_from_host(PyArrayObject *host, lw_device *device,
                                           CUstream stream);

/* Where the array's elements lie. */
static inline lw_memory_span
lw_device_array_span(const lw_device_array *array)
{
    return lw_memory_span_of(array->ndim, array->shape, array->strides, array->itemsize,
                             array->data);
}

/* ---- hooks: what the ufuncs give to arrays once they are there ---- */
/* Copy with cast, any strides and alignment, same shape, one device: to[...] = from[...]. Where
 * either dtype is LW_DT_void, items of one size move as they are. Both arrays are already
 * ordered on the stream. Returns -1 with an exception set. */
typedef int (*lw_copy_strided_hook)(lw_device_array *to, lw_device_array *from,
                                    CUstream stream);
/* to[...] = one item of to's dtype (itemsize bytes on the host). */
typedef int (*lw_fill_strided_hook)(lw_device_array *to, const void *item, CUstream stream);
/* The lanewise ufunc that stands for a numpy.ufunc (borrowed), NULL without an exception when
 * there is none. */
typedef PyObject *(*lw_numpy_ufunc_hook)(PyObject *numpy_ufunc);

typedef struct lw_array_hooks {
    lw_copy_strided_hook copy_strided; /* NULL: UnsupportedError where it is needed */
    lw_fill_strided_hook fill_strided;
    lw_numpy_ufunc_hook ufunc;
} lw_array_hooks;

extern lw_array_hooks lw_device_array_hooks;

/* Adds the type to the module. -1 with an exception. */
int lw_device_array_register(PyObject *module);

#endif
