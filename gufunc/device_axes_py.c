/* axes=, axis= and keepdims=, with NumPy's rules and messages. */
#include "core/py/numpy_api.h"

#include "gufunc/device_call_py.h"

static void
axis_error(const char *format, ...)
{
    PyObject *exceptions = PyImport_ImportModule("numpy.exceptions"), *class = NULL, *text;
    va_list list;

    va_start(list, format);
    text = PyUnicode_FromFormatV(format, list);
    va_end(list);
    if (exceptions != NULL && text != NULL)
        class = PyObject_GetAttrString(exceptions, "AxisError");
    if (class != NULL)
        PyErr_SetObject(class, text);
    Py_XDECREF(text);
    Py_XDECREF(class);
    Py_XDECREF(exceptions);
}

int
lw_gufunc_read_keepdims(const lw_device_gufunc *call, bool *keepdims)
{
    *keepdims = call->base.keepdims == Py_True;
    if (call->base.keepdims == NULL || PyBool_Check(call->base.keepdims))
        return 0;
    PyErr_SetString(PyExc_TypeError, "'keepdims' must be a boolean");
    return -1;
}

/* Dimensions that operand i has, or will have. */
static int
ndim_of(const lw_device_gufunc *call, int operand)
{
    int n = 0;

    if (call->views[operand].present)
        return call->views[operand].ndim;
    for (int i = 0; i < call->base.self->nin + call->base.self->nout; i++)
        if (call->views[i].present && call->views[i].ndim - call->shape.n_axes[i] > n)
            n = call->views[i].ndim - call->shape.n_axes[i];
    return n + call->shape.n_axes[operand];
}

static int
read_axis(PyObject *object, int ndim, int16_t *out)
{
    long axis;

    if (PyBool_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "an integer is required");
        return -1;
    }
    axis = PyLong_AsLong(object);
    if (axis == -1 && PyErr_Occurred())
        return -1;
    if (axis < -ndim || axis >= ndim) {
        axis_error("axis %ld is out of bounds for array of dimension %d", axis, ndim);
        return -1;
    }
    *out = (int16_t)(axis < 0 ? axis + ndim : axis);
    return 0;
}

static int
check_repeated(const lw_device_gufunc *call, int operand)
{
    const int16_t *axes = call->shape.axes[operand];

    for (int d = 1; d < call->shape.n_axes[operand]; d++)
        for (int k = 0; k < d; k++)
            if (axes[d] == axes[k]) {
                PyErr_Format(PyExc_ValueError, "axes item %d has value %d repeated", operand,
                             (int)axes[d]);
                return -1;
            }
    return 0;
}

static int
read_item(lw_device_gufunc *call, int operand, PyObject *item)
{
    int n = call->shape.n_axes[operand], ndim = ndim_of(call, operand);
    int16_t *axes = call->shape.axes[operand];
    PyObject *number;
    int result;

    if (PyTuple_Check(item)) {
        if (PyTuple_GET_SIZE(item) != n) {
            axis_error("%s: operand %d has %d core dimensions, but %zd dimensions are "
                       "specified by axes tuple.",
                       call->shape.name, operand, n, PyTuple_GET_SIZE(item));
            return -1;
        }
        for (int d = 0; d < n; d++)
            if (read_axis(PyTuple_GET_ITEM(item, d), ndim, &axes[d]) < 0)
                return -1;
        return check_repeated(call, operand);
    }
    number = PyNumber_Index(item);
    if (number == NULL)
        return -1;
    if (n != 1) {
        axis_error("%s: operand %d has %d core dimensions, but the axes item is a single "
                   "integer.",
                   call->shape.name, operand, n);
        Py_DECREF(number);
        return -1;
    }
    result = read_axis(PyBool_Check(item) ? item : number, ndim, &axes[0]);
    Py_DECREF(number);
    return result;
}

static int
read_axes_list(lw_device_gufunc *call)
{
    int nin = call->base.self->nin, n = nin + call->base.self->nout;
    Py_ssize_t given;

    if (!PyList_Check(call->base.axes)) {
        PyErr_SetString(PyExc_TypeError, "axes should be a list.");
        return -1;
    }
    given = PyList_GET_SIZE(call->base.axes);
    if (given != n) {
        bool may = given == nin;
        for (int i = nin; i < n; i++)
            may &= call->shape.layout->operands[i].n == 0;
        if (!may) {
            PyErr_Format(PyExc_ValueError,
                         "axes should be a list with an entry for all %d inputs and outputs; "
                         "entries for outputs can only be omitted if none of them has core "
                         "axes.",
                         n);
            return -1;
        }
    }
    for (int i = 0; i < given; i++)
        if (read_item(call, i, PyList_GET_ITEM(call->base.axes, i)) < 0)
            return -1;
    return 0;
}

static int
read_single_axis(lw_device_gufunc *call)
{
    const lw_core_layout *layout = call->shape.layout;
    int n = call->base.self->nin + call->base.self->nout;
    bool shared = layout->n_dims == 1;

    for (int i = 0; i < n; i++)
        shared &= layout->operands[i].n <= 1;
    if (!shared) {
        PyErr_Format(PyExc_TypeError,
                     "%s: axis can only be used with a single shared core dimension, not with "
                     "the %u distinct ones implied by signature %s.",
                     call->shape.name, layout->n_dims, layout->text);
        return -1;
    }
    for (int i = 0; i < n; i++)
        if (call->shape.n_axes[i] == 1 &&
            read_axis(call->base.axis, ndim_of(call, i), &call->shape.axes[i][0]) < 0)
            return -1;
    return 0;
}

int
lw_gufunc_read_axes(lw_device_gufunc *call)
{
    if (call->base.axes != NULL && call->base.axis != NULL) {
        PyErr_SetString(PyExc_TypeError, "cannot specify both 'axis' and 'axes'");
        return -1;
    }
    if (call->base.axes != NULL)
        return read_axes_list(call);
    return call->base.axis != NULL ? read_single_axis(call) : 0;
}
