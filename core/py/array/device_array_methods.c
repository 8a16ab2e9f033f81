/* Methods of device arrays that give or take contents. The work is device_array_copy.c's. */
#include "core/front/read/services.h"
#include "core/py/array/args.h"
#include "core/py/array/device_array_internal.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/method_table.h"

#include <string.h>

static int
check_host_target(lw_device_array *array, PyObject *object)
{
    PyArrayObject *host = (PyArrayObject *)object;
    int masked = PyArray_CheckExact(object) ? 0 : lw_is_masked_array(object);
    bool same;

    if (masked < 0)
        return -1;
    if (masked || !PyArray_Check(object)) {
        PyErr_Format(PyExc_TypeError, "ary: expected a NumPy array, got %.200s",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    same = PyArray_NDIM(host) == array->ndim;
    for (int i = 0; same && i < array->ndim; i++)
        same = PyArray_DIM(host, i) == array->shape[i];
    if (!same) {
        PyErr_SetString(PyExc_ValueError, "ary: its shape differs from the device array's");
        return -1;
    }
    if (!PyArray_EquivTypes(PyArray_DESCR(host), array->descr)) {
        PyErr_Format(PyExc_TypeError, "ary: expected dtype %.200R, got %.200R",
                     (PyObject *)array->descr, (PyObject *)PyArray_DESCR(host));
        return -1;
    }
    if (!PyArray_ISWRITEABLE(host)) {
        PyErr_SetString(PyExc_ValueError, "ary: the array is read-only");
        return -1;
    }
    return 0;
}

static PyObject *
method_copy_to_host(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"ary", "stream", NULL};
    PyObject *host = Py_None, *stream_object = NULL;
    lw_device_array *array = (lw_device_array *)self;
    CUstream given = NULL, stream;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:copy_to_host", names, &host,
                                     &stream_object))
        return NULL;
    if (PyArray_IsScalar(host, Void))
        return lw_array_to_record(self, host, stream_object);
    if ((stream_object != NULL && lw_stream_read(stream_object, &given) < 0) ||
        lw_array_stream(array, stream_object, &stream) < 0)
        return NULL;
    if (host == Py_None)
        return lw_device_array_to_host(array, stream);
    if (check_host_target(array, host) < 0)
        return NULL;
    /* (numba) a given stream makes the copy into page-locked memory asynchronous */
    if (lw_array_copy_out(array, (PyArrayObject *)host, stream, given == NULL) < 0)
        return NULL;
    return Py_NewRef(host);
}

static PyObject *
method_copy_to_device(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"ary", "stream", NULL};
    PyObject *value, *stream_object = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:copy_to_device", names, &value,
                                     &stream_object))
        return NULL;
    if (lw_array_assign((lw_device_array *)self, value, stream_object) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
method_fill(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"value", "stream", NULL};
    PyObject *value, *stream_object = NULL;
    PyArrayObject *host;
    int ndim;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:fill", names, &value, &stream_object))
        return NULL;
    if (!lw_is_device_operand(value)) {
        host = lw_array_host_value((lw_device_array *)self, value);
        if (host == NULL)
            return NULL;
        ndim = PyArray_NDIM(host);
        Py_DECREF(host);
        if (ndim != 0) {
            PyErr_Format(PyExc_ValueError, "value: expected a scalar, got %d dimensions", ndim);
            return NULL;
        }
    }
    if (lw_array_assign((lw_device_array *)self, value, stream_object) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static int
order_read(const char *order, lw_device_array *array, char *out)
{
    if (strcmp(order, "C") == 0 || strcmp(order, "F") == 0) {
        *out = order[0];
    } else if (strcmp(order, "A") == 0 || strcmp(order, "K") == 0) {
        *out = array->f_contiguous && !array->c_contiguous ? 'F' : 'C';
    } else {
        PyErr_Format(PyExc_ValueError, "order: expected 'C', 'F', 'A' or 'K', got '%.20s'",
                     order);
        return -1;
    }
    return 0;
}

static PyObject *
method_copy(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"order", NULL};
    const char *order = "C";
    char layout;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|s:copy", names, &order) ||
        order_read(order, (lw_device_array *)self, &layout) < 0)
        return NULL;
    return (PyObject *)lw_device_array_copy((lw_device_array *)self, layout);
}

static PyObject *
method_deepcopy(PyObject *self, PyObject *Py_UNUSED(memo))
{
    return (PyObject *)lw_device_array_copy((lw_device_array *)self, 'C');
}

static PyObject *
method_astype(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"dtype", "order", "copy", NULL};
    lw_device_array *array = (lw_device_array *)self, *out;
    PyArray_Descr *descr;
    PyObject *object;
    const char *order = "K";
    int copy = 1;
    lw_dtype dtype;
    char layout;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|s$p:astype", names, &object, &order,
                                     &copy) ||
        order_read(order, array, &layout) < 0 || lw_dtype_read(object, &dtype, &descr) < 0)
        return NULL;
    if (dtype == array->dtype && PyArray_EquivTypes(descr, array->descr)) {
        Py_DECREF(descr);
        if (!copy && (layout == 'C' ? array->c_contiguous : array->f_contiguous))
            return Py_NewRef(self);
        return (PyObject *)lw_device_array_copy(array, layout);
    }
    out = lw_warn_of_complex((lw_dtype)array->dtype, dtype) < 0
              ? NULL
              : lw_device_array_new_descr(array->device, lw_device_array_stream(array), descr,
                                          array->ndim, array->shape, layout);
    Py_DECREF(descr);
    if (out != NULL)
        out->dtype = (uint8_t)dtype;
    if (out != NULL && out->size > 0 && lw_array_copy_same_shape(out, array, out->stream) < 0)
        Py_CLEAR(out);
    return (PyObject *)out;
}

static PyObject *
method_item(PyObject *self, PyObject *args)
{
    lw_device_array *array = (lw_device_array *)self;
    PyObject *host, *result;

    if (PyTuple_GET_SIZE(args) > 0)
        return lw_array_item_at(self, args);
    if (array->size != 1) {
        PyErr_Format(PyExc_ValueError,
                     "can only convert an array of size 1 to a Python scalar, not of size %lld",
                     (long long)array->size);
        return NULL;
    }
    host = lw_device_array_to_host(array, lw_device_array_stream(array));
    result = host != NULL ? PyObject_CallMethod(host, "item", NULL) : NULL;
    Py_XDECREF(host);
    return result;
}

static PyObject *
method_tolist(PyObject *self, PyObject *Py_UNUSED(unused))
{
    lw_device_array *array = (lw_device_array *)self;
    PyObject *host = lw_device_array_to_host(array, lw_device_array_stream(array)), *result;

    if (host == NULL)
        return NULL;
    result = PyArray_ToList((PyArrayObject *)host);
    Py_DECREF(host);
    return result;
}

static const char array_hint[] =
    "a DeviceArray is not converted to a NumPy array by itself: call copy_to_host() "
    "(or numpy.array(a, copy=True))";

static PyObject *
method_array(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"dtype", "copy", NULL};
    PyObject *dtype = Py_None, *copy = Py_None, *host, *result;
    PyArray_Descr *descr = NULL;
    lw_device_array *array = (lw_device_array *)self;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", names, &dtype, &copy))
        return NULL;
    if (copy == Py_False) {
        PyErr_SetString(
            PyExc_ValueError,
            "`copy=False` is not possible: device memory cannot become a NumPy array "
            "without a copy");
        return NULL;
    }
    if (copy != Py_True && array->ndim > 0) { /* one number is converted, as by float() */
        PyErr_SetString(PyExc_TypeError, array_hint);
        return NULL;
    }
    host = lw_device_array_to_host(array, lw_device_array_stream(array));
    if (host == NULL || dtype == Py_None)
        return host;
    result = PyArray_DescrConverter(dtype, &descr) == NPY_SUCCEED
                 ? PyArray_CastToType((PyArrayObject *)host, descr, 0)
                 : NULL;
    Py_DECREF(host);
    return result;
}

/* Pickled by a copy on the host; it comes back on the device that is current there. */
static PyObject *
method_reduce(PyObject *self, PyObject *Py_UNUSED(unused))
{
    lw_device_array *array = (lw_device_array *)self;
    PyObject *rebuild = lw_service_find(LW_SERVICE_CUDA, "to_device"), *host = NULL;
    PyObject *result = NULL;

    if (rebuild != NULL)
        host = lw_device_array_to_host(array, lw_device_array_stream(array));
    if (host != NULL)
        result = Py_BuildValue("O(O)", rebuild, host);
    Py_XDECREF(rebuild);
    Py_XDECREF(host);
    return result;
}

PyMethodDef lw_array_copy_methods[] = {
    {"copy_to_host", LW_KEYWORDS(method_copy_to_host),
     "copy_to_host(ary=None, stream=0): return a NumPy array with the contents, or copy them "
     "to the NumPy array ary"},
    {"copy_to_device", LW_KEYWORDS(method_copy_to_device),
     "copy_to_device(ary, stream=0): copy the contents of a host or device array to this "
     "array"},
    {"fill", LW_KEYWORDS(method_fill), "fill(value, stream=0): set all elements"},
    {"copy", LW_KEYWORDS(method_copy),
     "copy(order='C'): return a contiguous copy on the same device"},
    {"astype", LW_KEYWORDS(method_astype),
     "astype(dtype, order='K', *, copy=True): return a copy with another dtype"},
    {"item", method_item, METH_VARARGS, "item(*index): return one element as a Python number"},
    {"tolist", method_tolist, METH_NOARGS,
     "Return the elements as nested lists of Python numbers."},
    {"__array__", LW_KEYWORDS(method_array),
     "__array__(dtype=None, copy=True): explicit only; numpy.asarray is refused"},
    {"__copy__", method_deepcopy, METH_NOARGS, NULL},
    {"__deepcopy__", method_deepcopy, METH_O, NULL},
    {"__reduce__", method_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};
