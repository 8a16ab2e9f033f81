/* Views of another shape. Nothing here touches the data, except reshape and ravel where no
 * strides can express the new shape: those copy, as NumPy's do. */
#include "core/py/array/device_array_internal.h"
#include "core/py/method_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void
layout_of(const lw_device_array *array, lw_array_layout *out)
{
    out->ndim = array->ndim;
    out->offset = 0;
    if (array->ndim > 0) {
        memcpy(out->shape, array->shape, (size_t)array->ndim * sizeof(int64_t));
        memcpy(out->strides, array->strides, (size_t)array->ndim * sizeof(int64_t));
    }
}

static void
reverse(int64_t *values, int n)
{
    for (int i = 0; i < n / 2; i++) {
        int64_t swap = values[i];
        values[i] = values[n - 1 - i];
        values[n - 1 - i] = swap;
    }
}

/* ---- reshape ---- */

/* Strides for a new shape over the same elements in C order: old and new axes are walked in
 * groups of equal product, and a group of old axes must step evenly. size > 0. */
static bool
strides_for(const lw_array_layout *old, int ndim, const int64_t *shape, int64_t itemsize,
            int64_t *strides)
{
    int64_t from[LW_MAX_DIMS], step[LW_MAX_DIMS];
    int n = 0, o = 0, i = 0;

    for (int k = 0; k < old->ndim; k++)
        if (old->shape[k] != 1) {
            from[n] = old->shape[k];
            step[n++] = old->strides[k];
        }
    while (o < n && i < ndim) {
        int64_t n_old = from[o], n_new = shape[i];
        int o_end = o + 1, i_end = i + 1;

        while (n_old != n_new)
            if (n_new < n_old)
                n_new *= shape[i_end++];
            else {
                assert(o_end < n); /* the sizes agree */
                n_old *= from[o_end++];
            }
        for (int k = o; k + 1 < o_end; k++)
            if (step[k] != from[k + 1] * step[k + 1])
                return false;
        strides[i_end - 1] = step[o_end - 1];
        for (int k = i_end - 1; k > i; k--)
            strides[k - 1] = strides[k] * shape[k];
        o = o_end;
        i = i_end;
    }
    for (; i < ndim; i++) /* only extents of 1 are left */
        strides[i] = i > 0 ? strides[i - 1] : itemsize;
    return true;
}

/* Fill in a -1 and compare sizes. */
static int
complete_shape(const lw_device_array *array, int ndim, int64_t *shape)
{
    int unknown = -1;
    int64_t known = 1;
    bool fits = true;

    for (int i = 0; i < ndim; i++) {
        if (shape[i] >= 0) {
            fits = fits && !__builtin_mul_overflow(known, shape[i], &known);
        } else if (unknown >= 0) {
            PyErr_SetString(PyExc_ValueError, "can only specify one unknown dimension");
            return -1;
        } else {
            unknown = i;
        }
    }
    if (fits && unknown >= 0 && known > 0 && array->size % known == 0) {
        shape[unknown] = array->size / known;
        return 0;
    }
    if (fits && unknown < 0 && known == array->size)
        return 0;
    PyErr_Format(PyExc_ValueError, "cannot reshape array of size %lld into that shape",
                 (long long)array->size);
    return -1;
}

static lw_device_array *
reshape(lw_device_array *array, int ndim, const int64_t *shape, char order)
{
    lw_array_layout old, new = {.ndim = ndim};
    lw_device_array *dense, *view;
    bool fits = true;

    if (ndim > 0)
        memcpy(new.shape, shape, (size_t)ndim * sizeof *shape);
    layout_of(array, &old);
    if (array->size == 0) {
        lw_layout_fill(ndim, shape, array->itemsize, order, new.strides);
    } else if (order == 'F') {
        reverse(old.shape, old.ndim);
        reverse(old.strides, old.ndim);
        reverse(new.shape, ndim);
        fits = strides_for(&old, ndim, new.shape, array->itemsize, new.strides);
        reverse(new.shape, ndim);
        reverse(new.strides, ndim);
    } else {
        fits = strides_for(&old, ndim, shape, array->itemsize, new.strides);
    }
    if (fits)
        return lw_array_view_layout(array, &new);
    dense = lw_device_array_copy(array, order);
    view = dense != NULL ? reshape(dense, ndim, shape, order) : NULL;
    Py_XDECREF(dense);
    return view;
}

/* 'C', 'F' or 'K'; with_k: whether the elements may be taken as they lie. None means C. */
static int
order_read(PyObject *order, const lw_device_array *array, bool with_k, char *out)
{
    const char *text = order == NULL || order == Py_None ? "C"
                       : PyUnicode_Check(order)          ? PyUnicode_AsUTF8(order)
                                                         : "";

    if (text == NULL)
        return -1;
    if (strcmp(text, "C") == 0 || strcmp(text, "F") == 0 ||
        (with_k && strcmp(text, "K") == 0)) {
        *out = text[0];
    } else if (strcmp(text, "A") == 0) {
        *out = array->f_contiguous && !array->c_contiguous ? 'F' : 'C';
    } else {
        PyErr_Format(PyExc_ValueError, "order: expected 'C', 'F'%s, got %.200R",
                     with_k ? ", 'A' or 'K'" : " or 'A'", order);
        return -1;
    }
    return 0;
}

/* A view whose axes are sorted so that the first has the largest step: C order is then the
 * order in which the elements lie, but for axes that go backwards, as NumPy has it. */
static lw_device_array *
sorted_by_step(lw_device_array *array)
{
    lw_array_layout layout;

    layout_of(array, &layout);
    for (int i = 1; i < layout.ndim; i++) {
        int64_t extent = layout.shape[i], step = layout.strides[i];
        int k = i;
        for (; k > 0 && llabs(layout.strides[k - 1]) < llabs(step); k--) {
            layout.shape[k] = layout.shape[k - 1];
            layout.strides[k] = layout.strides[k - 1];
        }
        layout.shape[k] = extent;
        layout.strides[k] = step;
    }
    return lw_array_view_layout(array, &layout);
}

/* All elements in the order; copied: not a view, even where one could be made. */
static lw_device_array *
flat(lw_device_array *array, char order, bool copied)
{
    lw_device_array *from, *dense, *result;

    from =
        order == 'K' ? sorted_by_step(array) : (lw_device_array *)Py_NewRef((PyObject *)array);
    order = order == 'F' ? 'F' : 'C';
    if (from == NULL)
        return NULL;
    dense = copied ? lw_device_array_copy(from, order)
                   : (lw_device_array *)Py_NewRef((PyObject *)from);
    result = dense != NULL ? reshape(dense, 1, &array->size, order) : NULL;
    Py_XDECREF(dense);
    Py_DECREF(from);
    return result;
}

/* `f(2, 3)` and `f((2, 3))` mean the same; borrowed. */
static PyObject *
spread(PyObject *args)
{
    return PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : args;
}

/* order= and copy= of reshape, and nothing else; *copy is borrowed. */
static int
reshape_keywords(PyObject *kwargs, PyObject **order, PyObject **copy)
{
    *order = kwargs != NULL ? PyDict_GetItemString(kwargs, "order") : NULL;
    *copy = kwargs != NULL ? PyDict_GetItemString(kwargs, "copy") : NULL;
    if (kwargs == NULL || PyDict_GET_SIZE(kwargs) == (*order != NULL) + (*copy != NULL))
        return 0;
    PyErr_SetString(PyExc_TypeError, "reshape() takes no keywords but order and copy");
    return -1;
}

/* copy: None, or NULL: only where no strides express the shape. */
static PyObject *
reshape_copied(lw_device_array *array, int ndim, const int64_t *shape, char order,
               PyObject *copy)
{
    int is_true = copy == NULL || copy == Py_None ? -1 : PyObject_IsTrue(copy);
    lw_device_array *source, *result;

    if (PyErr_Occurred())
        return NULL;
    if (is_true == 1) {
        source = lw_device_array_copy(array, order);
        result = source != NULL ? reshape(source, ndim, shape, order) : NULL;
        Py_XDECREF(source);
        return (PyObject *)result;
    }
    result = reshape(array, ndim, shape, order);
    if (result != NULL && is_true == 0 && array->size > 0 && result->data != array->data) {
        PyErr_SetString(PyExc_ValueError, "Unable to avoid creating a copy while reshaping.");
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

static PyObject *
method_reshape(PyObject *self, PyObject *args, PyObject *kwargs)
{
    lw_device_array *array = (lw_device_array *)self;
    int64_t shape[LW_MAX_DIMS];
    PyObject *order, *copy;
    char layout;
    int ndim;

    if (reshape_keywords(kwargs, &order, &copy) < 0)
        return NULL;
    ndim = lw_shape_read(spread(args), shape, true);
    if (ndim < 0 || order_read(order, array, false, &layout) < 0 ||
        complete_shape(array, ndim, shape) < 0)
        return NULL;
    return reshape_copied(array, ndim, shape, layout, copy);
}

static PyObject *
method_ravel(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"order", "stream", NULL};
    lw_device_array *array = (lw_device_array *)self;
    PyObject *order = NULL, *stream = NULL;
    char layout;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:ravel", names, &order, &stream) ||
        order_read(order, array, true, &layout) < 0)
        return NULL;
    return (PyObject *)flat(array, layout, false);
}

static PyObject *
method_flatten(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"order", NULL};
    lw_device_array *array = (lw_device_array *)self;
    PyObject *order = NULL;
    char layout;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:flatten", names, &order) ||
        order_read(order, array, true, &layout) < 0)
        return NULL;
    return (PyObject *)flat(array, layout, true);
}

/* ---- order and number of axes ---- */

PyObject *
lw_array_get_transposed(PyObject *self, void *Py_UNUSED(closure))
{
    lw_array_layout layout;

    layout_of((lw_device_array *)self, &layout);
    reverse(layout.shape, layout.ndim);
    reverse(layout.strides, layout.ndim);
    return (PyObject *)lw_array_view_layout((lw_device_array *)self, &layout);
}

static void
raise_axis_error(Py_ssize_t axis, int ndim)
{
    PyObject *module = PyImport_ImportModule("numpy.exceptions"), *error = NULL;

    if (module != NULL)
        error = PyObject_CallMethod(module, "AxisError", "ni", axis, ndim);
    if (error != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    Py_XDECREF(module);
}

static int
axis_read(PyObject *object, int ndim, int *out)
{
    Py_ssize_t axis;

    if (!PyIndex_Check(object)) {
        PyErr_Format(PyExc_TypeError, "axis: expected an int, got %.200s",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    axis = PyNumber_AsSsize_t(object, PyExc_IndexError);
    if (axis == -1 && PyErr_Occurred())
        return -1;
    if (axis < -ndim || axis >= ndim) {
        raise_axis_error(axis, ndim);
        return -1;
    }
    *out = (int)(axis < 0 ? axis + ndim : axis);
    return 0;
}

static PyObject *
method_transpose(PyObject *self, PyObject *args)
{
    lw_device_array *array = (lw_device_array *)self;
    PyObject *axes = spread(args), *items, *result = NULL;
    bool seen[LW_MAX_DIMS] = {false};
    lw_array_layout layout = {.ndim = array->ndim};
    int axis;

    if (PyTuple_GET_SIZE(args) == 0 || axes == Py_None)
        return lw_array_get_transposed(self, NULL);
    if (PyIndex_Check(axes)) /* one int */
        axes = args;
    items = PySequence_Tuple(axes);
    if (items == NULL)
        return NULL;
    if (PyTuple_GET_SIZE(items) != array->ndim) {
        PyErr_SetString(PyExc_ValueError, "axes don't match array");
        goto done;
    }
    for (int i = 0; i < array->ndim; i++) {
        if (axis_read(PyTuple_GET_ITEM(items, i), array->ndim, &axis) < 0)
            goto done;
        if (seen[axis]) {
            PyErr_SetString(PyExc_ValueError, "repeated axis in transpose");
            goto done;
        }
        seen[axis] = true;
        layout.shape[i] = array->shape[axis];
        layout.strides[i] = array->strides[axis];
    }
    result = (PyObject *)lw_array_view_layout(array, &layout);
done:
    Py_DECREF(items);
    return result;
}

/* Which axes squeeze drops; None: all of extent 1. */
static int
squeezed_axes(lw_device_array *array, PyObject *axis, bool drop[LW_MAX_DIMS])
{
    PyObject *items;
    int k;

    for (int i = 0; i < array->ndim; i++)
        drop[i] = axis == Py_None && array->shape[i] == 1;
    if (axis == Py_None)
        return 0;
    items = PyIndex_Check(axis) ? PyTuple_Pack(1, axis) : PySequence_Tuple(axis);
    if (items == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
        if (axis_read(PyTuple_GET_ITEM(items, i), array->ndim, &k) < 0)
            break;
        if (array->shape[k] != 1) {
            PyErr_SetString(PyExc_ValueError,
                            "cannot select an axis to squeeze out which has size not equal to "
                            "one");
            break;
        }
        if (drop[k]) {
            PyErr_SetString(PyExc_ValueError, "duplicate value in 'axis'");
            break;
        }
        drop[k] = true;
    }
    Py_DECREF(items);
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *
method_squeeze(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"axis", "stream", NULL};
    lw_device_array *array = (lw_device_array *)self;
    PyObject *axis = Py_None, *stream = NULL;
    lw_array_layout layout = {0};
    bool drop[LW_MAX_DIMS];

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:squeeze", names, &axis, &stream) ||
        squeezed_axes(array, axis, drop) < 0)
        return NULL;
    for (int i = 0; i < array->ndim; i++)
        if (!drop[i]) {
            layout.shape[layout.ndim] = array->shape[i];
            layout.strides[layout.ndim++] = array->strides[i];
        }
    return (PyObject *)lw_array_view_layout(array, &layout);
}

/* ---- another dtype over the same bytes ---- */

/* Items of another size: the last axis must be dense and hold whole new items. */
static int
resize_last_axis(lw_device_array *array, int64_t itemsize, lw_array_layout *layout)
{
    int last = array->ndim - 1;
    int64_t n_bytes;

    if (last < 0 || (array->shape[last] != 1 && array->strides[last] != array->itemsize)) {
        PyErr_SetString(
            PyExc_ValueError,
            "To change to a dtype of a different size, the last axis must be contiguous");
        return -1;
    }
    n_bytes = array->shape[last] * array->itemsize;
    if (itemsize == 0 || n_bytes % itemsize != 0) {
        PyErr_SetString(
            PyExc_ValueError,
            "When changing to a larger dtype, its size must be a divisor of the total size in "
            "bytes of the last axis of the array.");
        return -1;
    }
    layout->shape[last] = n_bytes / itemsize;
    layout->strides[last] = itemsize;
    return 0;
}

static PyObject *
method_view(PyObject *self, PyObject *args)
{
    lw_device_array *array = (lw_device_array *)self, *view = NULL;
    PyArray_Descr *descr;
    PyObject *object = NULL;
    lw_array_layout layout;
    lw_dtype dtype;
    int64_t itemsize;

    if (!PyArg_ParseTuple(args, "|O:view", &object))
        return NULL;
    layout_of(array, &layout);
    if (object == NULL)
        return (PyObject *)lw_array_view_layout(array, &layout);
    if (lw_dtype_read(object, &dtype, &descr) < 0)
        return NULL;
    itemsize = PyDataType_ELSIZE(descr);
    if (itemsize != array->itemsize && resize_last_axis(array, itemsize, &layout) < 0)
        goto done;
    view = lw_array_view_as(array, array->data, dtype, descr, &layout);
done:
    Py_DECREF(descr);
    return (PyObject *)view;
}

/* ---- any strides ---- */

/* For lanewise/_array_protocol.py: broadcast arrays, diagonals, windows. Elements may be there
 * more than once, so that the view cannot be written to. It must stay within the array. */
static PyObject *
method_strided(PyObject *self, PyObject *args)
{
    lw_device_array *array = (lw_device_array *)self, *view;
    int64_t low = 0, high = 0, new_low = 0, new_high = 0;
    PyObject *shape, *strides;
    lw_array_layout layout = {0};
    int n;

    if (!PyArg_ParseTuple(args, "OO:_strided", &shape, &strides))
        return NULL;
    layout.ndim = lw_shape_read(shape, layout.shape, false);
    n = layout.ndim < 0 ? -1 : lw_strides_read(strides, layout.strides);
    if (n < 0)
        return NULL;
    (void)lw_layout_reach(array->ndim, array->shape, array->strides, array->itemsize, &low,
                          &high);
    if (n != layout.ndim ||
        !lw_layout_reach(n, layout.shape, layout.strides, array->itemsize, &new_low,
                         &new_high) ||
        new_low < low || new_high > high) {
        PyErr_SetString(PyExc_ValueError, "the view would leave the array");
        return NULL;
    }
    view = lw_array_view_layout(array, &layout);
    if (view != NULL)
        view->readonly = true;
    return (PyObject *)view;
}

PyMethodDef lw_array_shape_methods[] = {
    {"reshape", LW_KEYWORDS(method_reshape),
     "reshape(*shape, order='C'): return an array with this shape; a view if the strides allow "
     "it, otherwise a copy"},
    {"ravel", LW_KEYWORDS(method_ravel),
     "ravel(order='C'): return the elements as a one-dimensional array; a view if possible"},
    {"flatten", LW_KEYWORDS(method_flatten),
     "flatten(order='C'): return a one-dimensional copy"},
    {"transpose", method_transpose, METH_VARARGS,
     "transpose(*axes): return a view with the axes in this order"},
    {"squeeze", LW_KEYWORDS(method_squeeze),
     "squeeze(axis=None): return a view without the dimensions of size 1"},
    {"view", method_view, METH_VARARGS,
     "view(dtype): return a view of the same bytes with another dtype"},
    {"_strided", method_strided, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};
