/* The functions of lanewise.cuda that make device arrays. */
#include "core/py/array/cuda_arrays.h"

#include "core/py/array/args_internal.h"
#include "core/py/array/device_array_internal.h"
#include "core/py/array/dlpack_arrays.h"
#include "core/py/array/host_view.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/host_cuda.h"
#include "core/py/method_table.h"

#include <string.h>

static PyObject *
like(lw_device *device, CUstream stream, PyArray_Descr *descr, int ndim, const int64_t *shape,
     bool is_f)
{
    return (PyObject *)lw_device_array_new_descr(device, stream, descr, ndim, shape,
                                                 is_f ? 'F' : 'C');
}

static PyObject *
like_host(PyArrayObject *host, lw_device *device, CUstream stream)
{
    bool is_f = PyArray_IS_F_CONTIGUOUS(host) && !PyArray_IS_C_CONTIGUOUS(host);
    int64_t shape[LW_MAX_DIMS];

    for (int i = 0; i < PyArray_NDIM(host); i++)
        shape[i] = PyArray_DIM(host, i);
    if (PyDataType_REFCHK(PyArray_DESCR(host))) {
        PyErr_Format(PyExc_TypeError,
                     "dtype %.200R holds Python objects, which device memory cannot",
                     (PyObject *)PyArray_DESCR(host));
        return NULL;
    }
    return like(device, stream, PyArray_DESCR(host), PyArray_NDIM(host), shape, is_f);
}

/* obj as an array of the host; a new reference. */
static PyArrayObject *
on_host(PyObject *object)
{
    PyArrayObject *host = NULL;

    if (lw_refuse_container(object, false, "obj") >= 0)
        host = (PyArrayObject *)PyArray_FromAny(object, NULL, 0, 0, 0, NULL);
    if (host != NULL && (PyUnicode_Check(object) || PyBytes_Check(object))) {
        PyErr_Format(PyExc_TypeError,
                     "obj: expected an array or numbers, got %.100s (dtype %S)",
                     Py_TYPE(object)->tp_name, PyArray_DESCR(host));
        Py_CLEAR(host);
    }
    return host;
}

/* to= is given: the contents go there. */
static PyObject *
fill_to(PyObject *to, PyObject *object, PyObject *stream, bool copy)
{
    if (!lw_is_device_array(to)) {
        PyErr_Format(PyExc_TypeError, "to: expected a DeviceArray, got %.200s",
                     Py_TYPE(to)->tp_name);
        return NULL;
    }
    if (copy && lw_array_assign((lw_device_array *)to, object, stream) < 0)
        return NULL;
    return Py_NewRef(to);
}

/* (numba) No copy of an array that is there already; one of another GPU is copied to the
 * current one. */
static PyObject *
to_current(PyObject *object, CUstream stream)
{
    lw_device_array *array = lw_operand_as_array(object), *copy;
    lw_device *device = array != NULL ? lw_current_device() : NULL;

    if (device == NULL || device == array->device) {
        if (device == NULL)
            Py_CLEAR(array);
        return (PyObject *)array;
    }
    copy = lw_device_array_to(array, device, stream);
    Py_DECREF(array);
    return (PyObject *)copy;
}

static PyObject *
to_device(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"obj", "stream", "copy", "to", NULL};
    PyObject *object, *stream_object = Py_None, *to = Py_None, *result;
    PyArrayObject *host;
    lw_device *device;
    CUstream stream;
    int copy = 1;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OpO:to_device", names, &object,
                                     &stream_object, &copy, &to) ||
        lw_stream_read(stream_object, &stream) < 0)
        return NULL;
    if (to != Py_None)
        return fill_to(to, object, stream_object, copy);
    if (lw_is_device_operand(object))
        return to_current(object, stream);
    host = on_host(object);
    device = host != NULL ? lw_current_device() : NULL;
    if (device == NULL)
        result = NULL;
    else if (copy)
        result = (PyObject *)lw_device_array_from_host(host, device, stream);
    else
        result = like_host(host, device, stream);
    Py_XDECREF(host);
    return result;
}

/* Any strides: bytes for the whole reach, and a view of them. */
static PyObject *
strided_array(lw_device *device, CUstream stream, lw_dtype dtype, PyArray_Descr *descr,
              lw_array_layout *layout)
{
    int64_t low, high, n_bytes;
    lw_device_array *bytes, *view;

    if (!lw_layout_reach(layout->ndim, layout->shape, layout->strides, PyDataType_ELSIZE(descr),
                         &low, &high)) {
        PyErr_SetString(PyExc_ValueError, "strides: the array reaches beyond 2**63 - 1 bytes");
        return NULL;
    }
    n_bytes = high - low;
    bytes = lw_device_array_new(device, stream, LW_DT_u8, 1, &n_bytes, 'C');
    if (bytes == NULL)
        return NULL;
    view = lw_array_view_as(bytes, bytes->data - (CUdeviceptr)low, dtype, descr, layout);
    Py_DECREF(bytes);
    return (PyObject *)view;
}

static PyObject *
device_array(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"shape", "dtype", "strides", "order", "stream", NULL};
    PyObject *shape, *dtype_object = (PyObject *)&PyFloat_Type, *strides = Py_None;
    PyObject *stream_object = Py_None, *result = NULL;
    PyArray_Descr *descr = NULL;
    const char *order = "C";
    lw_array_layout layout = {0};
    lw_device *device;
    CUstream stream;
    lw_dtype dtype;
    int n;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOsO:device_array", names, &shape,
                                     &dtype_object, &strides, &order, &stream_object))
        return NULL;
    if (strcmp(order, "C") != 0 && strcmp(order, "F") != 0) {
        PyErr_Format(PyExc_ValueError, "order: expected 'C' or 'F', got '%.20s'", order);
        return NULL;
    }
    layout.ndim = lw_shape_read(shape, layout.shape, false);
    if (layout.ndim < 0 || lw_stream_read(stream_object, &stream) < 0 ||
        lw_dtype_read(dtype_object, &dtype, &descr) < 0)
        return NULL;
    if (strides != Py_None) {
        n = lw_strides_read(strides, layout.strides);
        if (n >= 0 && n != layout.ndim)
            PyErr_Format(PyExc_ValueError, "strides: expected %d, as in shape, got %d",
                         layout.ndim, n);
        if (PyErr_Occurred())
            goto done;
    }
    device = lw_current_device();
    if (device == NULL)
        goto done;
    if (strides != Py_None)
        result = strided_array(device, stream, dtype, descr, &layout);
    else
        result = like(device, stream, descr, layout.ndim, layout.shape, order[0] == 'F');
    if (result != NULL && strides == Py_None)
        ((lw_device_array *)result)->dtype = (uint8_t)dtype; /* bfloat16 as raw bytes */
done:
    Py_DECREF(descr);
    return result;
}

/* Whether the first axes have the smallest strides: then an array like it is in Fortran order,
 * as NumPy's is, also where the array is a view that leaves out elements. */
static bool
ascends(int ndim, const int64_t *shape, const int64_t *strides)
{
    int64_t last = 0;
    int n = 0;

    for (int d = 0; d < ndim; d++) {
        int64_t step = strides[d] < 0 ? -strides[d] : strides[d];
        if (shape[d] == 1)
            continue;
        if (step <= last)
            return false;
        last = step;
        n++;
    }
    return n > 1;
}

static PyObject *
device_array_like(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"ary", "stream", NULL};
    PyObject *object, *stream_object = Py_None, *result = NULL;
    lw_device_array *array;
    PyArrayObject *host;
    lw_device *device;
    CUstream stream;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device_array_like", names, &object,
                                     &stream_object) ||
        lw_stream_read(stream_object, &stream) < 0)
        return NULL;
    if (lw_is_device_operand(object)) {
        array = lw_operand_as_array(object);
        if (array == NULL)
            return NULL;
        result =
            like(array->device, stream, array->descr, array->ndim, array->shape,
                 !array->c_contiguous && ascends(array->ndim, array->shape, array->strides));
        if (result != NULL && lw_dtype_of_descr(array->descr) != (lw_dtype)array->dtype &&
            array->dtype == LW_DT_bf16)
            ((lw_device_array *)result)->dtype = LW_DT_bf16;
        Py_DECREF(array);
        return result;
    }
    host = on_host(object);
    device = host != NULL ? lw_current_device() : NULL;
    if (device != NULL)
        result = like_host(host, device, stream);
    Py_XDECREF(host);
    return result;
}

static PyObject *
as_cuda_array(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"obj", "sync", NULL};
    lw_device_array *array;
    PyObject *object;
    int sync = 1;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|p:as_cuda_array", names, &object, &sync))
        return NULL;
    array = lw_operand_as_array(object);
    if (array != NULL && !sync &&
        !lw_is_device_array(object)) { /* do not order behind the producer */
        atomic_store_explicit(&array->root->stream, NULL, memory_order_relaxed);
        array->root->origin = NULL;
    }
    return (PyObject *)array;
}

static PyObject *
is_cuda_array(PyObject *Py_UNUSED(module), PyObject *object)
{
    return PyBool_FromLong(lw_is_device_operand(object));
}

static PyObject *
from_dlpack(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", "copy", NULL};
    PyObject *object, *copy = Py_None;
    lw_device_array *array, *dense;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$O:from_dlpack", names, &object, &copy))
        return NULL;
    array = lw_array_from_dlpack(object);
    if (array == NULL || copy == Py_None || copy == Py_False)
        return (PyObject *)array;
    dense = lw_device_array_copy(array, 'C');
    Py_DECREF(array);
    return (PyObject *)dense;
}

/* What has its like without a GPU. */
LW_ON_HOST_ONE(is_cuda_array)
LW_ON_HOST_KEYWORDS(to_device)
LW_ON_HOST_KEYWORDS(device_array)
LW_ON_HOST_KEYWORDS(device_array_like)
LW_ON_HOST_KEYWORDS(as_cuda_array)
LW_ON_HOST_KEYWORDS(from_dlpack)

/* A NumPy array over the memory of a DLPack exporter on the host; None for one on a device. */
static PyObject *
host_of_dlpack(PyObject *Py_UNUSED(module), PyObject *object)
{
    int type;

    if (lw_args_dlpack_device(object, &type) < 0)
        return NULL;
    return lw_dlpack_on_host(type) ? lw_dlpack_host_array(object) : Py_NewRef(Py_None);
}

/* dtype= as DeviceArray reads it, for arrays in host memory. */
static PyObject *
dtype_of(PyObject *Py_UNUSED(module), PyObject *object)
{
    PyArray_Descr *descr = NULL;
    lw_dtype dtype;

    return lw_dtype_read(object, &dtype, &descr) == 0 ? (PyObject *)descr : NULL;
}

static PyMethodDef functions[] = {
    {"_is_device_array", is_cuda_array, METH_O, NULL}, /* on a GPU, whatever the setting */
    {"_as_device_array", LW_KEYWORDS(as_cuda_array), NULL},
    {"_host_of_dlpack", host_of_dlpack, METH_O, NULL},
    {"_dtype", dtype_of, METH_O, NULL},
    {"to_device", LW_KEYWORDS(to_device_there),
     "to_device(obj, stream=0, copy=True, to=None): return a device array with the contents of "
     "obj, on the current GPU; to=array copies them to an existing device array instead.\n\n"
     ">>> d = cuda.to_device(np.arange(3.0))\n>>> (d * 2).copy_to_host()\narray([0., 2., 4.])"},
    {"device_array", LW_KEYWORDS(device_array_there),
     "device_array(shape, dtype=float64, strides=None, order='C', stream=0): return a new, "
     "uninitialised device array.\n\n"
     ">>> cuda.device_array((2, 3), 'f4').shape\n(2, 3)"},
    {"device_array_like", LW_KEYWORDS(device_array_like_there),
     "device_array_like(ary, stream=0): return a new, uninitialised device array with the "
     "shape and dtype of ary"},
    {"as_cuda_array", LW_KEYWORDS(as_cuda_array_there),
     "as_cuda_array(obj, sync=True): return a device array that uses the memory of obj, an "
     "array of another library, without a copy. With sync=True, later work waits for the work "
     "on the stream that obj names."},
    {"is_cuda_array", is_cuda_array_there, METH_O,
     "is_cuda_array(obj): return whether obj is an array on a device"},
    {"_from_dlpack", LW_KEYWORDS(from_dlpack), NULL},
    {"from_dlpack", LW_KEYWORDS(from_dlpack_there),
     "from_dlpack(x, /, *, copy=None): return a device array that uses the memory of x, an "
     "object with __dlpack__"},
    {NULL, NULL, 0, NULL}};

int
lw_cuda_arrays_register(PyObject *module)
{
    PyObject *cuda = PyObject_GetAttrString(module, "cuda");
    int result = -1;

    if (cuda != NULL && PyModule_AddFunctions(cuda, functions) == 0 &&
        PyModule_AddObjectRef(cuda, "DeviceArray", (PyObject *)lw_core->device_array_type) == 0)
        result = lw_cuda_host_register(cuda);
    Py_XDECREF(cuda);
    return result;
}
