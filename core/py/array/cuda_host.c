/* Host arrays in memory that the device reaches: page-locked (an ordinary ndarray), mapped and
 * managed (ndarrays that are device operands too, by __cuda_array_interface__). */
#include "core/py/array/cuda_arrays.h"
#include "core/py/array/device_array_internal.h"
#include "core/py/array/host_view.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/cuda/memory_manager.h"
#include "core/py/host_cuda.h"
#include "core/py/method_table.h"
#include "core/py/state.h"

#include "core/base/memory.h"
#include "core/device/copy.h"

#include <string.h>

static const char CAPSULE[] = "lanewise.host_block";

static void
block_dropped(PyObject *capsule)
{
    lw_host_block_free(PyCapsule_GetPointer(capsule, CAPSULE));
}

/* A manager's memory: the block is only the note of where it lies. */
static void
managed_dropped(PyObject *capsule)
{
    lw_free(PyCapsule_GetPointer(capsule, CAPSULE));
    Py_DECREF((PyObject *)PyCapsule_GetContext(capsule));
}

/* parts: (memory, host address, device address or 0), from lanewise._memory; NULL is passed on.
 */
static PyObject *
managed_capsule(PyObject *parts, lw_host_block **out)
{
    lw_host_block *block = parts != NULL ? lw_alloc_zero(1, sizeof *block) : NULL;
    PyObject *capsule = NULL, *memory;
    unsigned long long host, address;

    if (parts != NULL && block == NULL)
        PyErr_NoMemory();
    if (block != NULL && PyArg_ParseTuple(parts, "OKK:memory", &memory, &host, &address))
        capsule = PyCapsule_New(block, CAPSULE, NULL);
    if (capsule == NULL) {
        Py_XDECREF(parts);
        lw_free(block);
        return NULL;
    }
    block->host = (void *)(uintptr_t)host;
    block->address = address;
    *out = block;
    (void)PyCapsule_SetContext(capsule, Py_NewRef(memory));
    (void)PyCapsule_SetDestructor(capsule, managed_dropped);
    Py_DECREF(parts);
    return capsule;
}

/* A capsule that owns the block. */
static PyObject *
block_new(lw_device *device, lw_host_kind kind, Py_ssize_t n_bytes, lw_host_block **out)
{
    static const char *const names[] = {[LW_HOST_PINNED] = "pinned",
                                        [LW_HOST_MAPPED] = "mapped",
                                        [LW_HOST_WRITE_COMBINED] = "write-combined",
                                        [LW_HOST_MANAGED] = "managed",
                                        [LW_HOST_MANAGED_AT_HOST] = "managed-at-host"};
    PyObject *capsule;
    lw_error err = {0};

    if (lw_memory_managed())
        return managed_capsule(
            lw_memory_call("_allocate_host", "(isn)", device->ordinal, names[kind], n_bytes),
            out);
    if (lw_host_block_new(device, kind, NULL, (size_t)n_bytes, out, &err) != LW_OK)
        return lw_py_raise(&err);
    capsule = PyCapsule_New(*out, CAPSULE, block_dropped);
    if (capsule == NULL)
        lw_host_block_free(*out);
    return capsule;
}

/* What the array functions take. */
typedef struct request {
    int ndim;
    int64_t shape[LW_MAX_DIMS], strides[LW_MAX_DIMS];
    int64_t low, n_bytes;
    lw_dtype dtype;
    PyArray_Descr *descr; /* owned */
} request;

static int
layout_read(request *out, PyObject *strides, const char *order)
{
    int64_t size, high = 0;
    int n;

    if (strcmp(order, "C") != 0 && strcmp(order, "F") != 0) {
        PyErr_Format(PyExc_ValueError, "order: expected 'C' or 'F', got '%.20s'", order);
        return -1;
    }
    if (!lw_shape_size(out->ndim, out->shape, PyDataType_ELSIZE(out->descr), &size,
                       &out->n_bytes)) {
        PyErr_SetString(PyExc_ValueError, "shape: the array's bytes exceed 2**63 - 1");
        return -1;
    }
    lw_layout_fill(out->ndim, out->shape, PyDataType_ELSIZE(out->descr), order[0],
                   out->strides);
    out->low = 0;
    if (strides == Py_None)
        return 0;
    n = lw_strides_read(strides, out->strides);
    if (n >= 0 && n != out->ndim)
        PyErr_Format(PyExc_ValueError, "strides: expected %d, as in shape, got %d", out->ndim,
                     n);
    else if (n >= 0 && !lw_layout_reach(out->ndim, out->shape, out->strides,
                                        PyDataType_ELSIZE(out->descr), &out->low, &high))
        PyErr_SetString(PyExc_ValueError, "strides: the array reaches beyond 2**63 - 1 bytes");
    if (PyErr_Occurred())
        return -1;
    out->n_bytes = high - out->low;
    return 0;
}

static int
request_read(request *out, PyObject *shape, PyObject *dtype, PyObject *strides,
             const char *order)
{
    out->descr = NULL;
    out->ndim = lw_shape_read(shape, out->shape, false);
    if (out->ndim < 0 || lw_dtype_read(dtype, &out->dtype, &out->descr) < 0)
        return -1;
    if (layout_read(out, strides, order) == 0)
        return 0;
    Py_CLEAR(out->descr);
    return -1;
}

/* What keeps the memory, and, for mapped memory, is a device array of its bytes: it knows the
 * stream of its last use. Steals capsule. */
static PyObject *
host_owner(PyObject *capsule, const lw_host_block *block, lw_device *device, CUstream stream,
           int64_t n_bytes)
{
    const int64_t step = 1;
    lw_device_array *bytes;

    if (block->address == 0)
        return capsule;
    bytes = lw_device_array_over(device, stream, block->address, LW_DT_u8, NULL, 1, &n_bytes,
                                 &step, false, capsule);
    Py_DECREF(capsule);
    return (PyObject *)bytes;
}

/* Steals request->descr. */
static PyObject *
host_array_new(request *wish, lw_host_kind kind, CUstream stream)
{
    PyTypeObject *type = kind == LW_HOST_PINNED ? &PyArray_Type : lw_core->mapped_array_type;
    npy_intp shape[LW_MAX_DIMS], strides[LW_MAX_DIMS];
    lw_device *device = lw_current_device();
    lw_host_block *block = NULL;
    PyObject *owner = NULL, *array;
    char *memory;

    if (device != NULL)
        owner = block_new(device, kind, wish->n_bytes > 0 ? wish->n_bytes : 1, &block);
    memory = owner != NULL ? block->host : NULL;
    if (owner != NULL)
        owner = host_owner(owner, block, device, stream, wish->n_bytes);
    if (owner == NULL)
        goto fail;
    for (int i = 0; i < wish->ndim; i++) {
        shape[i] = (npy_intp)wish->shape[i];
        strides[i] = (npy_intp)wish->strides[i];
    }
    array = PyArray_NewFromDescr(type, wish->descr, wish->ndim, shape, strides,
                                 memory - wish->low, NPY_ARRAY_WRITEABLE, NULL);
    if (array == NULL)
        Py_DECREF(owner);
    else if (PyArray_SetBaseObject((PyArrayObject *)array, owner) < 0) /* steals */
        Py_CLEAR(array);
    return array;
fail:
    Py_CLEAR(wish->descr);
    return NULL;
}

/* ---- the ndarray that is a device operand too ---- */

/* Borrowed; NULL: the result of some NumPy operation, in ordinary memory. */
static lw_device_array *
bytes_of(PyObject *array)
{
    while (array != NULL && PyArray_Check(array))
        array = PyArray_BASE((PyArrayObject *)array);
    return array != NULL && lw_is_device_array(array) ? (lw_device_array *)array : NULL;
}

lw_device_array *
lw_mapped_as_array(PyObject *object)
{
    PyTypeObject *type = lw_core->mapped_array_type;
    lw_device_array *bytes =
        type != NULL && PyObject_TypeCheck(object, type) ? bytes_of(object) : NULL;
    PyArrayObject *array = (PyArrayObject *)object;
    const lw_host_block *block;
    lw_device_array *view;
    lw_array_layout layout;

    if (bytes == NULL)
        return NULL;
    block = PyCapsule_GetPointer(bytes->base, CAPSULE);
    if (block == NULL)
        return NULL;
    layout.ndim = PyArray_NDIM(array);
    for (int i = 0; i < layout.ndim; i++) {
        layout.shape[i] = PyArray_DIM(array, i);
        layout.strides[i] = PyArray_STRIDE(array, i);
    }
    view = lw_array_view_as(
        bytes, bytes->data + (CUdeviceptr)(PyArray_BYTES(array) - (char *)block->host),
        lw_dtype_of_descr(PyArray_DESCR(array)), PyArray_DESCR(array), &layout);
    if (view != NULL)
        view->readonly = !PyArray_ISWRITEABLE(array);
    return view;
}

static PyObject *
mapped_interface(PyObject *self, void *Py_UNUSED(closure))
{
    PyObject *array = (PyObject *)lw_mapped_as_array(self), *face;

    if (array == NULL) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_AttributeError, "__cuda_array_interface__");
        return NULL;
    }
    face = PyObject_GetAttrString(array, "__cuda_array_interface__");
    Py_DECREF(array);
    return face;
}

/* What NumPy computes lies in ordinary memory, so it is an ordinary array or scalar. */
static PyObject *
mapped_wrap(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *array, *context = Py_None;
    int return_scalar = 0;

    if (!PyArg_ParseTuple(args, "O|Op:__array_wrap__", &array, &context, &return_scalar))
        return NULL;
    if (return_scalar && PyArray_Check(array))
        return PyArray_Return((PyArrayObject *)Py_NewRef(array)); /* steals */
    return Py_NewRef(array);
}

static PyMethodDef mapped_methods[] = {{"__array_wrap__", mapped_wrap, METH_VARARGS, NULL},
                                       {NULL, NULL, 0, NULL}};

static PyGetSetDef mapped_getset[] = {{"__cuda_array_interface__", mapped_interface, NULL,
                                       "CUDA Array Interface, version 3", NULL},
                                      {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot mapped_slots[] = {
    {Py_tp_getset, mapped_getset},
    {Py_tp_methods, mapped_methods},
    {Py_tp_doc, "A NumPy array whose memory the device can access, too, made by "
                "cuda.mapped_array or cuda.managed_array."},
    {0, NULL}};
static PyType_Spec mapped_spec = {"lanewise.cuda.MappedArray", 0, 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, mapped_slots};

/* ---- the caller's memory, page-locked for a while ---- */

static void
lock_dropped(PyObject *capsule)
{
    lw_host_block_free(PyCapsule_GetPointer(capsule, CAPSULE));
    Py_DECREF((PyObject *)PyCapsule_GetContext(capsule)); /* the array */
}

static bool
is_lockable(PyObject *object)
{
    if (!PyArray_Check(object)) {
        PyErr_Format(PyExc_TypeError, "arrays: expected NumPy arrays, got %.200s",
                     Py_TYPE(object)->tp_name);
        return false;
    }
    if (PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)object))) {
        PyErr_Format(PyExc_TypeError, "arrays: %.200R holds Python objects",
                     (PyObject *)PyArray_DESCR((PyArrayObject *)object));
        return false;
    }
    return true;
}

/* A capsule that locks the array's bytes while it lives, and keeps the array; None for an array
 * of no bytes. *address becomes the device's view of element 0, where it is mapped. */
static PyObject *
lock(PyArrayObject *array, lw_device *device, bool mapped, CUdeviceptr *address)
{
    int64_t shape[LW_MAX_DIMS], strides[LW_MAX_DIMS], low = 0, high = 0;
    lw_host_block *block;
    lw_error err = {0};
    PyObject *capsule;

    for (int i = 0; i < PyArray_NDIM(array); i++) {
        shape[i] = PyArray_DIM(array, i);
        strides[i] = PyArray_STRIDE(array, i);
    }
    *address = 0;
    if (PyArray_NBYTES(array) == 0)
        return Py_NewRef(Py_None);
    (void)lw_layout_reach(PyArray_NDIM(array), shape, strides, PyArray_ITEMSIZE(array), &low,
                          &high); /* an array that exists fits into memory */
    if (lw_memory_managed()) {
        capsule = managed_capsule(
            lw_memory_call("_pin", "(iOKni)", device->ordinal, (PyObject *)array,
                           (unsigned long long)(uintptr_t)(PyArray_BYTES(array) + low),
                           (Py_ssize_t)(high - low), (int)mapped),
            &block);
        if (capsule != NULL)
            *address = block->address - (CUdeviceptr)low;
        return capsule;
    }
    if (lw_host_block_new(device, LW_HOST_REGISTERED, PyArray_BYTES(array) + low,
                          (size_t)(high - low), &block, &err) != LW_OK)
        return lw_py_raise(&err);
    *address = block->address - (CUdeviceptr)low;
    capsule = PyCapsule_New(block, CAPSULE, NULL);
    if (capsule == NULL) {
        lw_host_block_free(block);
        return NULL;
    }
    (void)PyCapsule_SetContext(capsule, Py_NewRef((PyObject *)array));
    (void)PyCapsule_SetDestructor(capsule, lock_dropped);
    return capsule;
}

static PyObject *
page_lock(PyObject *Py_UNUSED(module), PyObject *array)
{
    lw_device *device = is_lockable(array) ? lw_current_device() : NULL;
    CUdeviceptr address;

    return device != NULL ? lock((PyArrayObject *)array, device, false, &address) : NULL;
}

/* A device array over the same memory, which it keeps page-locked. */
static PyObject *
map_array(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *object, *stream_object, *keeper, *result;
    int64_t shape[LW_MAX_DIMS], strides[LW_MAX_DIMS];
    PyArrayObject *array;
    PyArray_Descr *descr;
    lw_device *device;
    CUdeviceptr address;
    CUstream stream;

    if (!PyArg_ParseTuple(args, "OO:map", &object, &stream_object) ||
        lw_stream_read(stream_object, &stream) < 0 ||
        lw_refuse_container(object, false, "arrays: one") < 0 || !is_lockable(object))
        return NULL;
    array = (PyArrayObject *)object;
    descr = PyArray_DESCR(array);
    device = lw_current_device();
    keeper = device != NULL ? lock(array, device, true, &address) : NULL;
    if (keeper == NULL)
        return NULL;
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        shape[i] = PyArray_DIM(array, i);
        strides[i] = PyArray_STRIDE(array, i);
    }
    result = (PyObject *)lw_device_array_over(device, stream, address, lw_dtype_of_descr(descr),
                                              descr, PyArray_NDIM(array), shape, strides,
                                              !PyArray_ISWRITEABLE(array), keeper);
    Py_DECREF(keeper);
    return result;
}

/* ---- functions ---- */

static PyObject *
pinned_array(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"shape", "dtype", "strides", "order", NULL};
    PyObject *shape, *dtype = (PyObject *)&PyFloat_Type, *strides = Py_None;
    const char *order = "C";
    request wish;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOs:pinned_array", names, &shape, &dtype,
                                     &strides, &order) ||
        request_read(&wish, shape, dtype, strides, order) < 0)
        return NULL;
    return host_array_new(&wish, LW_HOST_PINNED, NULL);
}

static PyObject *
mapped_array(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"shape",  "dtype",    "strides", "order",
                            "stream", "portable", "wc",      NULL};
    PyObject *shape, *dtype = (PyObject *)&PyFloat_Type, *strides = Py_None, *stream = Py_None;
    int portable = 0, wc = 0; /* portable: memory of ours always is */
    const char *order = "C";
    CUstream handle;
    request wish;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOsOpp:mapped_array", names, &shape,
                                     &dtype, &strides, &order, &stream, &portable, &wc) ||
        lw_stream_read(stream, &handle) < 0 ||
        request_read(&wish, shape, dtype, strides, order) < 0)
        return NULL;
    return host_array_new(&wish, wc ? LW_HOST_WRITE_COMBINED : LW_HOST_MAPPED, handle);
}

static PyObject *
managed_array(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"shape",  "dtype",         "strides", "order",
                            "stream", "attach_global", NULL};
    PyObject *shape, *dtype = (PyObject *)&PyFloat_Type, *strides = Py_None, *stream = Py_None;
    int attach_global = 1;
    const char *order = "C";
    CUstream handle;
    request wish;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOsOp:managed_array", names, &shape,
                                     &dtype, &strides, &order, &stream, &attach_global) ||
        lw_stream_read(stream, &handle) < 0)
        return NULL;
    if (request_read(&wish, shape, dtype, strides, order) < 0)
        return NULL;
    return host_array_new(&wish, attach_global ? LW_HOST_MANAGED : LW_HOST_MANAGED_AT_HOST,
                          handle);
}

/* What has its like without a GPU. */
LW_ON_HOST_KEYWORDS(pinned_array)
LW_ON_HOST_KEYWORDS(mapped_array)
LW_ON_HOST_KEYWORDS(managed_array)
LW_ON_HOST_ONE(page_lock)
LW_ON_HOST_MANY(map_array)

static PyMethodDef functions[] = {
    {"pinned_array", LW_KEYWORDS(pinned_array_there),
     "pinned_array(shape, dtype=float64, strides=None, order='C'): return a page-locked NumPy "
     "array"},
    {"mapped_array", LW_KEYWORDS(mapped_array_there),
     "mapped_array(shape, dtype=float64, strides=None, order='C', stream=0, portable=False, "
     "wc=False): return a page-locked NumPy array whose memory the device can access, too"},
    {"managed_array", LW_KEYWORDS(managed_array_there),
     "managed_array(shape, dtype=float64, strides=None, order='C', stream=0, "
     "attach_global=True): return a NumPy array in managed memory, which migrates between host "
     "and device"},
    {"_page_lock", page_lock_there, METH_O, NULL},
    {"_map", map_array_there, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};

int
lw_cuda_host_register(PyObject *cuda)
{
    PyObject *type = PyType_FromSpecWithBases(&mapped_spec, (PyObject *)&PyArray_Type);

    if (type == NULL)
        return -1;
    lw_core->mapped_array_type = (PyTypeObject *)type;
    return PyModule_AddFunctions(cuda, functions) < 0
               ? -1
               : PyModule_AddObjectRef(cuda, "MappedArray", type);
}
