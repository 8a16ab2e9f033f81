/* `|1`: an input whose core dimension may be 1 where the others have n. Before NumPy sees it,
 * it becomes a view of n equal elements, by a stride of 0. */
#include "gufunc/gufunc_parts_py.h"

#include <string.h>

typedef struct inputs {
    const lw_gufunc *self;
    PyArrayObject *arrays[LW_MAX_OPERANDS];      /* owned; NULL: not looked at */
    int axes[LW_MAX_OPERANDS][LW_MAX_CORE_DIMS]; /* of the core dimensions */
    int64_t sizes[256];
} inputs;

/* ---- where the core dimensions lie ---- */

static bool
set_axis(const inputs *in, int k, long axis, int *out)
{
    int ndim = PyArray_NDIM(in->arrays[k]);

    if (axis < 0)
        axis += ndim;
    if (axis < 0 || axis >= ndim)
        return false;
    *out = (int)axis;
    return true;
}

/* What axes= says of an operand: a tuple, or an int for one dimension. False: NumPy will
 * complain. */
static bool
read_axes(inputs *in, int k, PyObject *entry)
{
    uint32_t n = in->self->layout.operands[k].n;

    if (PyLong_Check(entry) && n == 1)
        return set_axis(in, k, PyLong_AsLong(entry), &in->axes[k][0]);
    if (!PyTuple_Check(entry) || PyTuple_GET_SIZE(entry) != (Py_ssize_t)n)
        return false;
    for (uint32_t d = 0; d < n; d++) {
        PyObject *axis = PyTuple_GET_ITEM(entry, d);
        if (!PyLong_Check(axis) || !set_axis(in, k, PyLong_AsLong(axis), &in->axes[k][d]))
            return false;
    }
    return true;
}

static bool
place_operand(inputs *in, int k, PyObject *axes, PyObject *axis)
{
    int n = (int)in->self->layout.operands[k].n, ndim;

    if (in->arrays[k] == NULL)
        return true;
    ndim = PyArray_NDIM(in->arrays[k]);
    if (ndim < n) /* too few, or `?`: NumPy decides */
        return false;
    for (int d = 0; d < n; d++)
        in->axes[k][d] = ndim - n + d;
    if (axes != NULL && PyList_Check(axes) && k < PyList_GET_SIZE(axes))
        return read_axes(in, k, PyList_GET_ITEM(axes, k));
    if (axis != NULL && PyLong_Check(axis) && n == 1)
        return set_axis(in, k, PyLong_AsLong(axis), &in->axes[k][0]);
    return true;
}

static PyObject *
keyword(PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames, const char *name)
{
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), name) == 0)
            return args[n_args + i] == Py_None ? NULL : args[n_args + i];
    return NULL;
}

/* ---- sizes ---- */

static void
find_sizes(inputs *in)
{
    const lw_core_layout *layout = &in->self->layout;

    for (uint32_t d = 0; d < layout->n_dims; d++)
        in->sizes[d] = layout->dims[d].fixed ? layout->dims[d].fixed : 1;
    for (int k = 0; k < in->self->nin; k++)
        for (uint32_t d = 0; in->arrays[k] != NULL && d < layout->operands[k].n; d++) {
            int64_t size = PyArray_DIM(in->arrays[k], in->axes[k][d]);
            if (size != 1)
                in->sizes[layout->operands[k].dims[d]] = size;
        }
}

/* Given outputs say a size, too, where all inputs are 1 there. */
static void
look_at_out(inputs *in, int k, PyObject *out)
{
    const lw_core_operand *operand = &in->self->layout.operands[k];
    int n = (int)operand->n, ndim;

    if (out == NULL || !PyArray_Check(out))
        return;
    ndim = PyArray_NDIM((PyArrayObject *)out);
    for (int d = 0; ndim >= n && d < n; d++) {
        int64_t size = PyArray_DIM((PyArrayObject *)out, ndim - n + d);
        if (in->sizes[operand->dims[d]] == 1)
            in->sizes[operand->dims[d]] = size;
    }
}

static void
look_at_outputs(inputs *in, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    PyObject *out = keyword(args, n_args, kwnames, "out");

    for (int k = 0; k < in->self->nout; k++)
        look_at_out(in, in->self->nin + k,
                    in->self->nin + k < n_args ? args[in->self->nin + k]
                    : out && PyTuple_Check(out) && k < PyTuple_GET_SIZE(out)
                        ? PyTuple_GET_ITEM(out, k)
                        : out);
}

static PyObject *
stretched(const inputs *in, int k)
{
    const lw_core_operand *operand = &in->self->layout.operands[k];
    PyArrayObject *array = in->arrays[k];
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    PyObject *view;
    bool changed = false;
    int ndim = PyArray_NDIM(array);

    memcpy(shape, PyArray_DIMS(array), (size_t)ndim * sizeof *shape);
    memcpy(strides, PyArray_STRIDES(array), (size_t)ndim * sizeof *strides);
    for (uint32_t d = 0; d < operand->n; d++) {
        int axis = in->axes[k][d];
        int64_t size = in->sizes[operand->dims[d]];
        if (!operand->broadcast[d] || shape[axis] != 1 || size == 1)
            continue;
        shape[axis] = (npy_intp)size;
        strides[axis] = 0;
        changed = true;
    }
    if (!changed)
        return Py_NewRef((PyObject *)array);
    Py_INCREF(PyArray_DESCR(array));
    view = PyArray_NewFromDescr(Py_TYPE(array), PyArray_DESCR(array), ndim, shape, strides,
                                PyArray_DATA(array),
                                PyArray_FLAGS(array) & ~NPY_ARRAY_WRITEABLE, (PyObject *)array);
    if (view == NULL)
        return NULL;
    Py_INCREF(array);
    if (PyArray_SetBaseObject((PyArrayObject *)view, (PyObject *)array) < 0)
        Py_CLEAR(view);
    return view;
}

static int
read_inputs(inputs *in, PyObject *const *args)
{
    for (int k = 0; k < in->self->nin; k++) {
        if (in->self->layout.operands[k].n == 0)
            continue; /* Python numbers stay what they are */
        in->arrays[k] =
            (PyArrayObject *)PyArray_FromAny(args[k], NULL, 0, 0, 0, NULL); /* as asanyarray */
        if (in->arrays[k] == NULL)
            return -1;
    }
    return 0;
}

int
lw_gufunc_stretch(const lw_gufunc *self, PyObject *const *args, Py_ssize_t n_args,
                  PyObject *kwnames, PyObject **to)
{
    PyObject *axes = keyword(args, n_args, kwnames, "axes");
    PyObject *axis = keyword(args, n_args, kwnames, "axis");
    inputs in = {.self = self};
    bool placed = true;
    int result = -1, k = 0;

    if (read_inputs(&in, args) < 0)
        goto done;
    for (int i = 0; i < self->nin; i++)
        placed = place_operand(&in, i, axes, axis) && placed;
    if (placed)
        find_sizes(&in);
    if (placed && axes == NULL && axis == NULL)
        look_at_outputs(&in, args, n_args, kwnames);
    for (; k < self->nin; k++) {
        to[k] = in.arrays[k] == NULL ? Py_NewRef(args[k])
                : placed             ? stretched(&in, k)
                                     : Py_NewRef((PyObject *)in.arrays[k]);
        if (to[k] == NULL)
            goto done;
    }
    result = 0;
done:
    for (int i = 0; i < self->nin; i++)
        Py_XDECREF(in.arrays[i]);
    while (result < 0 && k-- > 0)
        Py_DECREF(to[k]);
    return result;
}
