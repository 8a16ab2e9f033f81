/* Subscripts: integers, slices, ellipsis, newaxis and field names, all as views. An index that
 * names one element gives it as a NumPy scalar, which waits for the device. Arrays among the
 * subscripts are device_array_service.c's. */
#include "core/py/array/device_array_internal.h"

#include <string.h>

typedef struct cursor {
    lw_device_array *array;
    lw_array_layout *layout;
    int axis;      /* next axis of the array */
    bool is_array; /* a slice, ellipsis or newaxis was seen */
} cursor;

static int
keep_axes(cursor *at, int n)
{
    for (; n > 0; n--, at->axis++, at->layout->ndim++) {
        at->layout->shape[at->layout->ndim] = at->array->shape[at->axis];
        at->layout->strides[at->layout->ndim] = at->array->strides[at->axis];
    }
    return 0;
}

static int
take_integer(cursor *at, PyObject *key)
{
    Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);
    int64_t extent = at->array->shape[at->axis];

    if (i == -1 && PyErr_Occurred())
        return -1;
    if (i < -extent || i >= extent) {
        PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for axis %d with size %lld",
                     i, at->axis, (long long)extent);
        return -1;
    }
    at->layout->offset += (i < 0 ? i + extent : i) * at->array->strides[at->axis];
    at->axis++;
    return 0;
}

static int
take_slice(cursor *at, PyObject *key)
{
    Py_ssize_t start, stop, step, n;
    int64_t stride = at->array->strides[at->axis];
    int k = at->layout->ndim;

    if (PySlice_Unpack(key, &start, &stop, &step) < 0)
        return -1;
    n = PySlice_AdjustIndices((Py_ssize_t)at->array->shape[at->axis], &start, &stop, step);
    if (n > 0)
        at->layout->offset += start * stride;
    at->layout->shape[k] = n;
    /* a step beyond the axis means one element: its stride is never taken */
    if (__builtin_mul_overflow(stride, (int64_t)step, &at->layout->strides[k]))
        at->layout->strides[k] = stride;
    at->layout->ndim++;
    at->axis++;
    return 0;
}

static bool
takes_axis(PyObject *key)
{
    return key != Py_Ellipsis && key != Py_None;
}

static int
check_count(cursor *at, PyObject *const *keys, Py_ssize_t n, int *n_hidden)
{
    int n_taken = 0, n_ellipses = 0, n_new = 0;

    for (Py_ssize_t i = 0; i < n; i++) {
        n_taken += takes_axis(keys[i]);
        n_ellipses += keys[i] == Py_Ellipsis;
        n_new += keys[i] == Py_None;
    }
    if (n_ellipses > 1) {
        PyErr_SetString(PyExc_IndexError, "an index can only have a single ellipsis ('...')");
        return -1;
    }
    if (n_taken > at->array->ndim) {
        PyErr_Format(PyExc_IndexError,
                     "too many indices for array: array is %d-dimensional, but %d were indexed",
                     at->array->ndim, n_taken);
        return -1;
    }
    if (at->array->ndim + n_new > LW_MAX_DIMS) {
        PyErr_Format(PyExc_IndexError, "more than %d dimensions", LW_MAX_DIMS);
        return -1;
    }
    *n_hidden = at->array->ndim - n_taken;
    return 0;
}

static int
take(cursor *at, PyObject *key, int n_hidden)
{
    if (key == Py_Ellipsis)
        return keep_axes(at, n_hidden);
    if (key == Py_None) {
        at->layout->shape[at->layout->ndim] = 1;
        at->layout->strides[at->layout->ndim++] = 0;
        return 0;
    }
    if (PySlice_Check(key))
        return take_slice(at, key);
    return take_integer(at, key);
}

/* is_scalar: every axis was indexed by an integer. */
static int
parse(lw_device_array *array, PyObject *key, lw_array_layout *layout, bool *is_scalar)
{
    cursor at = {.array = array, .layout = layout};
    PyObject *const *keys = PyTuple_Check(key) ? &PyTuple_GET_ITEM(key, 0) : &key;
    Py_ssize_t n = PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1;
    bool all_integers = true;
    int n_hidden;

    layout->ndim = 0;
    layout->offset = 0;
    if (check_count(&at, keys, n, &n_hidden) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        all_integers = all_integers && takes_axis(keys[i]);
        if (take(&at, keys[i], n_hidden) < 0)
            return -1;
    }
    keep_axes(&at, array->ndim - at.axis);
    *is_scalar = all_integers && layout->ndim == 0;
    return 0;
}

/* A field of a record array; one with a shape of its own adds axes. */
static lw_device_array *
field_view(lw_device_array *array, PyObject *name)
{
    PyObject *fields =
        PyDataType_HASFIELDS(array->descr) ? PyDataType_FIELDS(array->descr) : NULL;
    PyObject *field = fields != NULL ? PyDict_GetItemWithError(fields, name) : NULL;
    lw_array_layout layout = {.ndim = array->ndim};
    int64_t extents[LW_MAX_DIMS];
    PyArray_Descr *descr;
    int n_sub = 0;

    if (field == NULL) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "no field of name %.200R", name);
        return NULL;
    }
    descr = (PyArray_Descr *)PyTuple_GET_ITEM(field, 0);
    layout.offset = PyLong_AsLongLong(PyTuple_GET_ITEM(field, 1));
    if (array->ndim > 0) {
        memcpy(layout.shape, array->shape, (size_t)array->ndim * sizeof(int64_t));
        memcpy(layout.strides, array->strides, (size_t)array->ndim * sizeof(int64_t));
    }
    if (PyDataType_HASSUBARRAY(descr)) {
        PyObject *sub = PyDataType_SUBARRAY(descr)->shape;
        descr = PyDataType_SUBARRAY(descr)->base;
        n_sub = lw_shape_read(sub, extents, false);
        if (n_sub < 0)
            return NULL;
        if (array->ndim + n_sub > LW_MAX_DIMS) {
            PyErr_SetString(PyExc_ValueError, "the field has too many dimensions");
            return NULL;
        }
        memcpy(layout.shape + array->ndim, extents, (size_t)n_sub * sizeof(int64_t));
        lw_layout_fill(n_sub, layout.shape + array->ndim, PyDataType_ELSIZE(descr), 'C',
                       layout.strides + array->ndim);
        layout.ndim += n_sub;
    }
    return lw_array_view_as(array, array->data + (CUdeviceptr)layout.offset,
                            lw_dtype_of_descr(descr), descr, &layout);
}

static bool
is_record(const lw_device_array *array)
{
    return array->descr != NULL && PyDataType_HASFIELDS(array->descr);
}

/* An item of an array of records stays on the device, so that a kernel can write to it; its
 * value is item[()]. */
PyObject *
lw_array_subscript(PyObject *self, PyObject *key)
{
    lw_device_array *array = (lw_device_array *)self, *view;
    PyObject *item;
    lw_array_layout layout;
    bool is_scalar;

    if (PyUnicode_Check(key))
        return (PyObject *)field_view(array, key);
    if (!lw_array_key_is_basic(key))
        return lw_array_take(self, key);
    if (parse(array, key, &layout, &is_scalar) < 0)
        return NULL;
    view = lw_array_view_layout(array, &layout);
    if (view == NULL || !is_scalar || (array->ndim > 0 && is_record(array)))
        return (PyObject *)view;
    item = lw_array_item(view);
    Py_DECREF(view);
    return item;
}

static int
assign_at(PyObject *self, PyObject *key, PyObject *value, PyObject *stream)
{
    lw_device_array *array = (lw_device_array *)self, *view;
    lw_array_layout layout;
    bool is_scalar;
    int result;

    if (value == NULL) {
        PyErr_SetString(PyExc_ValueError, "cannot delete array elements");
        return -1;
    }
    if (PyUnicode_Check(key)) {
        view = field_view(array, key);
    } else if (!lw_array_key_is_basic(key)) {
        return lw_array_put(self, key, value);
    } else {
        if (parse(array, key, &layout, &is_scalar) < 0)
            return -1;
        view = lw_array_view_layout(array, &layout);
    }
    if (view == NULL)
        return -1;
    result = lw_array_assign(view, value, stream);
    Py_DECREF(view);
    return result;
}

int
lw_array_ass_subscript(PyObject *self, PyObject *key, PyObject *value)
{
    return assign_at(self, key, value, NULL);
}

PyObject *
lw_array_sq_item(PyObject *self, Py_ssize_t i)
{
    PyObject *key, *item;

    if (((lw_device_array *)self)->ndim == 0) {
        PyErr_SetString(PyExc_IndexError, "too many indices for array: array is 0-dimensional");
        return NULL;
    }
    key = PyLong_FromSsize_t(i);
    item = key != NULL ? lw_array_subscript(self, key) : NULL;
    Py_XDECREF(key);
    return item;
}

Py_ssize_t
lw_array_length(PyObject *self)
{
    lw_device_array *array = (lw_device_array *)self;

    if (array->ndim > 0)
        return (Py_ssize_t)array->shape[0];
    PyErr_SetString(PyExc_TypeError, "len() of unsized object");
    return -1;
}

PyObject *
lw_array_iter(PyObject *self)
{
    if (((lw_device_array *)self)->ndim > 0)
        return PySeqIter_New(self);
    PyErr_SetString(PyExc_TypeError, "iteration over a 0-d array");
    return NULL;
}

/* (numba) the stream forms of a[key] and a[key] = value. */
static PyObject *
method_getitem(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"item", "stream", NULL};
    PyObject *key, *stream_object = NULL;
    lw_device_array *array = (lw_device_array *)self;
    lw_error err = {0};
    CUstream stream;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:getitem", names, &key,
                                     &stream_object) ||
        lw_array_stream(array, stream_object, &stream) < 0)
        return NULL;
    if (lw_device_array_use(array, stream, &err) != LW_OK)
        return lw_py_raise(&err);
    return lw_array_subscript(self, key);
}

static PyObject *
method_setitem(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"key", "value", "stream", NULL};
    PyObject *key, *value, *stream = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O:setitem", names, &key, &value,
                                     &stream) ||
        assign_at(self, key, value, stream) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyMethodDef lw_array_index_methods[] = {
    {"getitem", (PyCFunction)(void (*)(void))method_getitem, METH_VARARGS | METH_KEYWORDS,
     "getitem(item, stream=0): return self[item]; copies run on this stream"},
    {"setitem", (PyCFunction)(void (*)(void))method_setitem, METH_VARARGS | METH_KEYWORDS,
     "setitem(key, value, stream=0): assign self[key] = value, on this stream"},
    {NULL, NULL, 0, NULL}};
