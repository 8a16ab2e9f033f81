#include "core/py/array/device_array.h"

#include "core/front/read/python.h"
#include "core/py/array/args.h"
#include "core/py/array/device_array_internal.h"
#include "core/py/array/dlpack_arrays.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/cuda/memory_manager.h"

#include "core/base/memory.h"
#include "core/front/read/critical.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h>

/* How many dead objects wait for reuse: more than a deep expression has temporaries. */
#ifdef Py_GIL_DISABLED
#define N_FREE 0
#else
#define N_FREE 64
#endif

lw_array_hooks lw_device_array_hooks;

static struct {
    lw_device_array *items[N_FREE + 1];
    int n;
} free_list;

int
lw_array_fail(lw_error *err)
{
    (void)lw_py_raise(err);
    return -1;
}

/* ---- making ---- */

/* An object with room for ndim dimensions; everything else is 0. */
static lw_device_array *
object_new(int ndim)
{
    PyTypeObject *type = lw_state_class(lw_core->device_array_type);
    lw_device_array *self;

    if (type == NULL)
        return NULL;
    if (free_list.n > 0) {
        self = free_list.items[--free_list.n];
        (void)PyObject_Init((PyObject *)self, type);
    } else {
        self = PyObject_New(lw_device_array, type);
        if (self == NULL)
            return NULL;
    }
    memset((char *)self + sizeof(PyObject), 0,
           offsetof(lw_device_array, dims) - sizeof(PyObject));
    self->ndim = ndim;
    self->root = self;
    self->shape = self->dims;
    if (ndim > LW_INLINE_DIMS) {
        self->shape = lw_alloc(2 * (size_t)ndim * sizeof *self->shape);
        if (self->shape == NULL) {
            self->shape = self->dims;
            Py_DECREF(self);
            PyErr_NoMemory();
            return NULL;
        }
    }
    self->strides = self->shape + (ndim > LW_INLINE_DIMS ? ndim : LW_INLINE_DIMS);
    return self;
}

/* Memory goes back in the order of the stream that used it last; never waits, unless there is
 * no memory left even for a note of that. */
static void
give_back(lw_device_array *self)
{
    CUstream stream = atomic_load_explicit(&self->stream, memory_order_relaxed);

    if (self->block == NULL) {
        if (self->base != NULL && self->root == self && stream != self->origin)
            /* the keeper's own stream may hand the memory on: let it wait for us, if it can */
            (void)lw_stream_after(self->device, self->origin, stream, NULL);
        return;
    }
    if (stream != self->block->stream && lw_pool_also_on(self->block, stream, NULL) != LW_OK)
        (void)lw_stream_synchronize(self->device, stream, NULL);
    lw_pool_put(self->block);
}

static void
object_free(PyObject *object)
{
    lw_device_array *self = (lw_device_array *)object;
    PyTypeObject *type = Py_TYPE(self);

    if (self->weakrefs != NULL)
        PyObject_ClearWeakRefs(object);
    give_back(self);
    if (self->shape != self->dims)
        lw_free(self->shape);
    lw_stream_drop(self->kept);
    lw_stream_drop(self->origin_kept);
    Py_XDECREF(self->base);
    Py_XDECREF(self->descr);
    if (free_list.n < N_FREE)
        free_list.items[free_list.n++] = self;
    else
        PyObject_Free(self);
    Py_DECREF(type);
}

/* Shape, strides and what follows from them. strides NULL: dense in `order`. */
static int
set_layout(lw_device_array *self, const int64_t *shape, const int64_t *strides, char order,
           int64_t *n_bytes)
{
    int ndim = self->ndim;
    int64_t low, high;

    if (ndim > 0)
        memcpy(self->shape, shape, (size_t)ndim * sizeof *shape);
    if (!lw_shape_size(ndim, shape, self->itemsize, &self->size, n_bytes)) {
        PyErr_SetString(PyExc_ValueError, "array is too big: its bytes exceed 2**63 - 1");
        return -1;
    }
    if (strides == NULL)
        lw_layout_fill(ndim, shape, self->itemsize, order, self->strides);
    else if (ndim > 0)
        memcpy(self->strides, strides, (size_t)ndim * sizeof *strides);
    if (strides != NULL &&
        !lw_layout_reach(ndim, shape, strides, self->itemsize, &low, &high)) {
        PyErr_SetString(PyExc_ValueError, "strides: the array reaches beyond 2**63 - 1 bytes");
        return -1;
    }
    self->c_contiguous = (strides == NULL && order != 'F') ||
                         lw_layout_is_c(ndim, shape, self->strides, self->itemsize);
    self->f_contiguous = lw_layout_is_f(ndim, shape, self->strides, self->itemsize);
    return 0;
}

static void
note_alignment(lw_device_array *self)
{
    int64_t align = lw_dtype_alignment((lw_dtype)self->dtype, self->descr);

    self->misaligned =
        self->size > 0 &&
        lw_layout_alignment(self->ndim, self->shape, self->strides, self->data, align) < align;
}

/* The stream behind a handle must live while the memory was last used on it, and so must the
 * one it came with. Those in between may go: the later one was put behind them. */
static void
keep_stream(lw_device_array *root, CUstream stream)
{
    lw_kept_stream *before = root->kept;

    root->kept = (uintptr_t)stream <= 2 ? NULL : lw_stream_keep(stream);
    lw_stream_drop(before);
}

static lw_device_array *
array_new(lw_device *device, CUstream stream, lw_dtype dtype, PyArray_Descr *descr, int ndim,
          const int64_t *shape, const int64_t *strides, char order)
{
    lw_device_array *self = descr != NULL ? object_new(ndim) : NULL;
    lw_error err = {0};
    int64_t n_bytes;

    if (self == NULL)
        return NULL;
    self->dtype = (uint8_t)dtype;
    self->descr = (PyArray_Descr *)Py_NewRef((PyObject *)descr);
    self->itemsize = PyDataType_ELSIZE(descr);
    self->device = device;
    atomic_init(&self->stream, stream);
    keep_stream(self, stream);
    self->origin = stream;
    self->origin_kept = lw_stream_keep_too(self->kept);
    if (set_layout(self, shape, strides, order, &n_bytes) < 0)
        goto fail;
    if (lw_pool_take(device, (size_t)n_bytes, stream, &self->block, &err) != LW_OK) {
        self->block = NULL;
        (void)lw_py_raise(&err);
        goto fail;
    }
    self->data = self->block->address;
    if (stream == LW_STREAM_PER_THREAD)
        self->thread = (unsigned long)pthread_self();
    return self;
fail:
    Py_DECREF(self);
    return NULL;
}

lw_device_array *
lw_device_array_new(lw_device *device, CUstream stream, lw_dtype dtype, int ndim,
                    const int64_t *shape, char order)
{
    return array_new(device, stream, dtype, lw_descr_of(dtype), ndim, shape, NULL, order);
}

void
lw_device_array_cut(lw_device_array *array, int ndim, const int64_t *shape)
{
    int64_t most = array->size, n_bytes;

    assert(array->shape == array->dims && ndim <= LW_INLINE_DIMS && array->c_contiguous);
    array->ndim = ndim;
    (void)set_layout(array, shape, NULL, 'C', &n_bytes); /* smaller ones exist */
    assert(array->size <= most);
    (void)most;
}

lw_device_array *
lw_device_array_new_strided(lw_device *device, CUstream stream, lw_dtype dtype, int ndim,
                            const int64_t *shape, const int64_t *strides)
{
    return array_new(device, stream, dtype, lw_descr_of(dtype), ndim, shape, strides, 'C');
}

lw_device_array *
lw_device_array_new_descr(lw_device *device, CUstream stream, PyArray_Descr *descr, int ndim,
                          const int64_t *shape, char order)
{
    if (PyDataType_ELSIZE(descr) == 0) {
        PyErr_Format(PyExc_TypeError,
                     "dtype: %.200R has items of no bytes; device arrays need some",
                     (PyObject *)descr);
        return NULL;
    }
    return array_new(device, stream, lw_dtype_of_descr(descr), descr, ndim, shape, NULL, order);
}

lw_device_array *
lw_device_array_over(lw_device *device, CUstream stream, CUdeviceptr data, lw_dtype dtype,
                     PyArray_Descr *descr, int ndim, const int64_t *shape,
                     const int64_t *strides, bool readonly, PyObject *keeper)
{
    lw_device_array *self;
    int64_t n_bytes;

    if (descr == NULL)
        descr = lw_descr_of(dtype);
    self = descr != NULL ? object_new(ndim) : NULL;
    if (self == NULL)
        return NULL;
    self->dtype = (uint8_t)dtype;
    self->descr = (PyArray_Descr *)Py_NewRef((PyObject *)descr);
    self->itemsize = PyDataType_ELSIZE(descr);
    self->device = device;
    atomic_init(&self->stream, stream);
    self->origin = stream;
    self->data = data;
    self->readonly = readonly;
    if (stream == LW_STREAM_PER_THREAD)
        self->thread = (unsigned long)pthread_self();
    keep_stream(self, stream);
    self->origin_kept = lw_stream_keep_too(self->kept);
    if (set_layout(self, shape, strides, 'C', &n_bytes) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    note_alignment(self);
    self->base = Py_XNewRef(keeper);
    return self;
}

lw_device_array *
lw_array_view_as(lw_device_array *array, CUdeviceptr data, lw_dtype dtype, PyArray_Descr *descr,
                 const lw_array_layout *layout)
{
    lw_device_array *self = object_new(layout->ndim);
    int64_t n_bytes;

    if (self == NULL)
        return NULL;
    self->dtype = (uint8_t)dtype;
    self->descr = (PyArray_Descr *)Py_NewRef((PyObject *)descr);
    self->itemsize = PyDataType_ELSIZE(descr);
    self->device = array->device;
    self->readonly = array->readonly;
    self->data = data;
    self->root = array->root;
    self->base = Py_NewRef((PyObject *)array->root);
    if (set_layout(self, layout->shape, layout->strides, 'C', &n_bytes) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    note_alignment(self);
    return self;
}

lw_device_array *
lw_array_view_layout(lw_device_array *array, const lw_array_layout *layout)
{
    return lw_array_view_as(array, array->data + (CUdeviceptr)layout->offset,
                            (lw_dtype)array->dtype, array->descr, layout);
}

lw_device_array *
lw_device_array_view(lw_device_array *array, CUdeviceptr data, int ndim, const int64_t *shape,
                     const int64_t *strides)
{
    lw_array_layout layout = {.ndim = ndim};

    if (ndim > 0) {
        memcpy(layout.shape, shape, (size_t)ndim * sizeof *shape);
        memcpy(layout.strides, strides, (size_t)ndim * sizeof *strides);
    }
    return lw_array_view_as(array, data, (lw_dtype)array->dtype, array->descr, &layout);
}

/* ---- streams ---- */

/* A capturing stream cannot wait for work outside its capture; whoever captures has ordered
 * that before. The array stays where it was: nothing touches it until the graph runs. */
static lw_status
outside_capture(lw_device *device, CUstream later, CUstream earlier, bool *out, lw_error *err)
{
    bool inside = false;
    lw_status status;

    *out = false;
    if ((uintptr_t)later <= 1)
        return LW_OK;
    LW_TRY(lw_stream_capturing(device, later, &inside, err));
    if (!inside)
        return LW_OK;
    inside = false;
    if ((uintptr_t)earlier > 1)
        LW_TRY(lw_stream_capturing(device, earlier, &inside, err));
    *out = !inside;
    return LW_OK;
fail:
    return status;
}

/* In a critical section on the root. */
static lw_status
move_stream(lw_device_array *root, CUstream stream, lw_error *err)
{
    unsigned long thread = (unsigned long)pthread_self();
    CUstream earlier = lw_device_array_stream(root);
    lw_status status;
    bool outside;

    if (root->block != NULL)
        LW_TRY(lw_pool_check(root->block, err));
    if (earlier == stream && stream != LW_STREAM_PER_THREAD)
        return LW_OK;
    if (earlier == LW_STREAM_PER_THREAD) {
        if (stream == earlier && root->thread == thread)
            return LW_OK;
        if (root->thread != thread)
            earlier = NULL; /* the legacy stream stands behind every thread's own */
    }
    LW_TRY(outside_capture(root->device, stream, earlier, &outside, err));
    if (outside)
        return LW_OK;
    LW_TRY(lw_stream_after(root->device, stream, earlier, err));
    keep_stream(root, stream);
    atomic_store_explicit(&root->stream, stream, memory_order_relaxed);
    root->thread = thread;
    return LW_OK;
fail:
    return status;
}

lw_status
lw_device_array_move_stream(lw_device_array *root, CUstream stream, lw_error *err)
{
    lw_status status;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)root);
    status = move_stream(root, stream, err);
    Py_END_CRITICAL_SECTION();
    return status;
}

int
lw_array_stream(lw_device_array *array, PyObject *stream, CUstream *out)
{
    *out = NULL;
    if (stream != NULL &&
        (lw_stream_read(stream, out) < 0 || lw_stream_check(stream, array->device) < 0))
        return -1;
    if (*out == NULL)
        *out = lw_device_array_stream(array);
    return 0;
}

/* ---- layout ---- */

int64_t
lw_array_n_bytes(const lw_device_array *array)
{
    return array->size * array->itemsize;
}

bool
lw_array_is_dense(const lw_device_array *array, int64_t *low)
{
    int axes[LW_MAX_DIMS], n = 0;
    int64_t high, step = array->itemsize;

    (void)lw_layout_reach(array->ndim, array->shape, array->strides, array->itemsize, low,
                          &high);
    if (array->size == 0 || array->c_contiguous || array->f_contiguous)
        return true;
    for (int i = 0; i < array->ndim; i++) { /* insertion sort by |stride|, smallest first */
        int k = n;
        if (array->shape[i] == 1)
            continue;
        for (; k > 0 && llabs(array->strides[axes[k - 1]]) > llabs(array->strides[i]); k--)
            axes[k] = axes[k - 1];
        axes[k] = i;
        n++;
    }
    for (int k = 0; k < n; k++) {
        if (llabs(array->strides[axes[k]]) != step)
            return false;
        step *= array->shape[axes[k]];
    }
    return true;
}

/* ---- attributes ---- */

static PyObject *
tuple_of(int n, const int64_t *values)
{
    PyObject *tuple = PyTuple_New(n);

    for (int i = 0; tuple != NULL && i < n; i++)
        lw_tuple_put(&tuple, i, PyLong_FromLongLong(values[i]));
    return tuple;
}

static PyObject *
get_shape(PyObject *self, void *Py_UNUSED(closure))
{
    lw_device_array *array = (lw_device_array *)self;
    return tuple_of(array->ndim, array->shape);
}

static PyObject *
get_strides(PyObject *self, void *Py_UNUSED(closure))
{
    lw_device_array *array = (lw_device_array *)self;
    return tuple_of(array->ndim, array->strides);
}

static PyObject *
get_ndim(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromLong(((lw_device_array *)self)->ndim);
}

static PyObject *
get_size(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromLongLong(((lw_device_array *)self)->size);
}

static PyObject *
get_itemsize(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromLongLong(((lw_device_array *)self)->itemsize);
}

static PyObject *
get_nbytes(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromLongLong(lw_array_n_bytes((lw_device_array *)self));
}

static PyObject *
get_dtype(PyObject *self, void *Py_UNUSED(closure))
{
    return Py_NewRef((PyObject *)((lw_device_array *)self)->descr);
}

static PyObject *
get_device(PyObject *self, void *Py_UNUSED(closure))
{
    return lw_device_object(((lw_device_array *)self)->device);
}

static PyObject *
get_stream(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromVoidPtr(lw_device_array_stream((lw_device_array *)self));
}

static PyObject *
get_base(PyObject *self, void *Py_UNUSED(closure))
{
    PyObject *base = ((lw_device_array *)self)->base;
    return Py_NewRef(base != NULL ? base : Py_None);
}

static PyObject *
get_flags(PyObject *self, void *Py_UNUSED(closure))
{
    lw_device_array *array = (lw_device_array *)self;

    return Py_BuildValue("{s:O,s:O,s:O,s:O}", "C_CONTIGUOUS",
                         array->c_contiguous ? Py_True : Py_False, "F_CONTIGUOUS",
                         array->f_contiguous ? Py_True : Py_False, "OWNDATA",
                         array->block != NULL ? Py_True : Py_False, "WRITEABLE",
                         array->readonly ? Py_False : Py_True);
}

static PyObject *
interface_stream(const lw_device_array *array)
{
    CUstream stream = lw_device_array_stream(array);

    /* protocol: 1 is the legacy stream, 0 is forbidden */
    return PyLong_FromVoidPtr(stream == NULL ? (void *)LW_STREAM_LEGACY : (void *)stream);
}

static PyObject *
get_interface(PyObject *self, void *Py_UNUSED(closure))
{
    lw_device_array *array = (lw_device_array *)self;
    PyObject *typestr = NULL, *descr = NULL, *strides = NULL, *shape = NULL, *stream = NULL;
    PyObject *result = NULL;

    typestr = PyObject_GetAttrString((PyObject *)array->descr, "str");
    descr = PyObject_GetAttrString((PyObject *)array->descr, "descr");
    if (descr == NULL) { /* dtypes of other packages, and overlapping fields */
        PyErr_Clear();
        descr = Py_BuildValue("[(sO)]", "", typestr);
    }
    strides = array->c_contiguous ? Py_NewRef(Py_None) : tuple_of(array->ndim, array->strides);
    shape = tuple_of(array->ndim, array->shape);
    stream = interface_stream(array);
    if (typestr != NULL && descr != NULL && strides != NULL && shape != NULL && stream != NULL)
        result = Py_BuildValue(
            "{s:O,s:O,s:O,s:O,s:(K,O),s:O,s:i}", "shape", shape, "strides", strides, "typestr",
            typestr, "descr", descr, "data", array->size == 0 ? 0ULL : array->data,
            array->readonly ? Py_True : Py_False, "stream", stream, "version", 3);
    Py_XDECREF(typestr);
    Py_XDECREF(descr);
    Py_XDECREF(strides);
    Py_XDECREF(shape);
    Py_XDECREF(stream);
    return result;
}

static PyObject *
method_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *max_version = Py_None, *dl_device = Py_None, *copy = Py_None;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", names, &stream,
                                     &max_version, &dl_device, &copy))
        return NULL;
    return lw_dlpack_export((lw_device_array *)self, stream, max_version, dl_device, copy);
}

static PyObject *
method_dlpack_device(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return Py_BuildValue("ii", kDLCUDA, ((lw_device_array *)self)->device->ordinal);
}

static PyObject *
method_is_c(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return PyBool_FromLong(((lw_device_array *)self)->c_contiguous);
}

static PyObject *
method_is_f(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return PyBool_FromLong(((lw_device_array *)self)->f_contiguous);
}

static PyObject *
method_ipc(PyObject *self, PyObject *Py_UNUSED(unused))
{
    lw_device_array *array = (lw_device_array *)self;
    int64_t low = 0, high = 0;

    if (array->size == 0) {
        PyErr_SetString(PyExc_ValueError, "an empty array has no memory to share");
        return NULL;
    }
    (void)lw_layout_reach(array->ndim, array->shape, array->strides, array->itemsize, &low,
                          &high); /* an array that exists fits into memory */
    return lw_memory_call("_array_handle", "(OKL)", self,
                          (unsigned long long)array->data + (unsigned long long)low,
                          (long long)(high - low));
}

static PyObject *
get_is_alive(PyObject *self, void *Py_UNUSED(closure))
{
    const lw_block *block = ((lw_device_array *)self)->root->block;

    return PyBool_FromLong(block == NULL || lw_pool_check(block, NULL) == LW_OK);
}

/* Of blocks on the host and on a device, Dask asks the latter what to make. */
static PyObject *
get_priority(PyObject *Py_UNUSED(self), void *Py_UNUSED(closure))
{
    return PyFloat_FromDouble(100);
}

/* What other libraries call a copy on the host. It is an AttributeError, because programs ask
 * with hasattr() whose array they have. */
static PyObject *
refuse_foreign(PyObject *Py_UNUSED(self), void *name)
{
    PyErr_Format(
        PyExc_AttributeError,
        "DeviceArray has no `%s`: copy_to_host() returns a NumPy array with the contents",
        (const char *)name);
    return NULL;
}

static PyGetSetDef getset[] = {
    {"shape", get_shape, NULL, "a tuple with the size of each dimension", NULL},
    {"strides", get_strides, NULL,
     "a tuple with the number of bytes from one element to the next along each dimension",
     NULL},
    {"ndim", get_ndim, NULL, "the number of dimensions", NULL},
    {"size", get_size, NULL, "the number of elements", NULL},
    {"itemsize", get_itemsize, NULL, "the number of bytes of one element", NULL},
    {"nbytes", get_nbytes, NULL, "the number of bytes of all elements", NULL},
    {"dtype", get_dtype, NULL, "the NumPy dtype of the elements", NULL},
    {"device", get_device, NULL, "the device that holds the array", NULL},
    {"stream", get_stream, NULL, "the handle of the stream on which the array was last used",
     NULL},
    {"base", get_base, NULL, "the object that owns the memory of a view, or None", NULL},
    {"_is_alive", get_is_alive, NULL, "did no reset of the device take its memory?", NULL},
    {"flags", get_flags, NULL,
     "the flags C_CONTIGUOUS, F_CONTIGUOUS, OWNDATA and WRITEABLE, as in NumPy", NULL},
    {"real", lw_array_get_real, lw_array_set_real, "a view of the real parts", NULL},
    {"imag", lw_array_get_imag, lw_array_set_imag,
     "a view of the imaginary parts; for real numbers, an array of zeros", NULL},
    {"T", lw_array_get_transposed, NULL, "a view with the axes reversed", NULL},
    {"mT", lw_array_get_service, NULL, "a view with the last two axes exchanged", (void *)"mT"},
    {"__array_priority__", get_priority, NULL, "above a NumPy array's", NULL},
    {"_numba_type_", lw_array_get_service, NULL, "what lw.typeof gives",
     (void *)"_numba_type_"},
    {"alloc_size", lw_array_get_service, NULL,
     "the number of bytes from the first element to the end of the last one",
     (void *)"alloc_size"},
    {"gpu_data", lw_array_get_service, NULL, "the memory, a cuda.MemoryPointer",
     (void *)"gpu_data"},
    {"device_ctypes_pointer", lw_array_get_service, NULL,
     "the address of the first element, a ctypes.c_void_p", (void *)"device_ctypes_pointer"},
    {"__cuda_array_interface__", get_interface, NULL, "CUDA Array Interface, version 3", NULL},
    {"get", refuse_foreign, NULL,
     "raises AttributeError: CuPy's method is called copy_to_host here", (void *)"get"},
    {"cpu", refuse_foreign, NULL,
     "raises AttributeError: PyTorch's method is called copy_to_host here", (void *)"cpu"},
    {"numpy", refuse_foreign, NULL,
     "raises AttributeError: PyTorch's method is called copy_to_host here", (void *)"numpy"},
    {"flat", refuse_foreign, NULL, "raises AttributeError: ravel() returns all elements",
     (void *)"flat"},
    {"tofile", refuse_foreign, NULL, "raises AttributeError: numpy.save writes device arrays",
     (void *)"tofile"},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef own_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))method_dlpack, METH_VARARGS | METH_KEYWORDS,
     "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)"},
    {"__dlpack_device__", method_dlpack_device, METH_NOARGS, "(2, device ordinal)"},
    {"get_ipc_handle", method_ipc, METH_NOARGS,
     "Return a cuda.IpcHandle of the memory, for other processes."},
    {"is_c_contiguous", method_is_c, METH_NOARGS,
     "Return whether the array is contiguous in C order."},
    {"is_f_contiguous", method_is_f, METH_NOARGS,
     "Return whether the array is contiguous in Fortran order."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(lw_device_array, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyObject *
no_new(PyTypeObject *Py_UNUSED(type), PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    PyErr_SetString(PyExc_TypeError,
                    "DeviceArray cannot be called: use cuda.device_array(shape, dtype) or "
                    "cuda.to_device(array)");
    return NULL;
}

static const char doc[] =
    "An array in the memory of a CUDA device, with attributes and methods of numpy.ndarray.\n\n"
    "Made by cuda.to_device, cuda.device_array and by calls of ufuncs on device arrays. "
    "Nothing is copied to the host until copy_to_host() or another method asks for it.\n\n"
    ">>> d = cuda.to_device(np.arange(6.0).reshape(2, 3))\n"
    ">>> d.shape, d[1].copy_to_host()\n"
    "((2, 3), array([3., 4., 5.]))\n"
    ">>> float(d.sum())\n"
    "15.0";

/* All methods in one table, which must live as long as the type. */
static PyMethodDef *
collect_methods(void)
{
    static PyMethodDef all[96];
    PyMethodDef *parts[] = {own_methods,
                            lw_array_copy_methods,
                            lw_array_index_methods,
                            lw_array_shape_methods,
                            lw_array_reduce_methods,
                            lw_array_service_methods,
                            lw_array_ops_methods};
    size_t n = 0;

    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
        for (PyMethodDef *m = parts[p]; m->ml_name != NULL && n < 95; m++)
            all[n++] = *m;
    return all;
}

static PyObject *
make_type(PyObject *module)
{
    PyType_Slot slots[96] = {{Py_tp_dealloc, object_free},
                             {Py_tp_new, no_new},
                             {Py_tp_doc, (void *)doc},
                             {Py_tp_getset, getset},
                             {Py_tp_members, members},
                             {Py_tp_methods, collect_methods()},
                             {Py_tp_repr, lw_array_repr},
                             {Py_tp_str, lw_array_str},
                             {Py_tp_iter, lw_array_iter},
                             {Py_tp_hash, PyObject_HashNotImplemented},
                             {Py_mp_length, lw_array_length},
                             {Py_mp_subscript, lw_array_subscript},
                             {Py_mp_ass_subscript, lw_array_ass_subscript},
                             {Py_sq_length, lw_array_length},
                             {Py_sq_contains, lw_array_contains},
                             {Py_sq_item, lw_array_sq_item}};
    PyType_Spec spec = {"lanewise.cuda.DeviceArray", sizeof(lw_device_array), 0,
                        Py_TPFLAGS_DEFAULT, slots};
    size_t n = 0;

    while (slots[n].slot != 0)
        n++;
    for (PyType_Slot *s = lw_array_ops_slots; s->slot != 0; s++)
        slots[n++] = *s;
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}

int
lw_device_array_register(PyObject *module)
{
    PyObject *type, *exchange;

    if (lw_descrs_make() < 0 || lw_args_names_make() < 0)
        return -1;
    type = make_type(module);
    if (type == NULL)
        return -1;
    exchange = lw_dlpack_own_exchange();
    if (exchange == NULL ||
        PyObject_SetAttrString(type, "__dlpack_c_exchange_api__", exchange) < 0) {
        Py_XDECREF(exchange);
        Py_DECREF(type);
        return -1;
    }
    Py_DECREF(exchange);
    lw_core->device_array_type = (PyTypeObject *)type;
    return PyModule_AddObjectRef(module, "DeviceArray", type);
}

lw_device *
lw_device_of_arrays(PyObject *const *args, Py_ssize_t n_args)
{
    for (Py_ssize_t i = 0; i < n_args; i++)
        if (lw_is_device_array(args[i]))
            return ((lw_device_array *)args[i])->device;
    return lw_current_device();
}
