/* target="cuda" on host arrays: the same call on device copies. Outputs that are given are
 * copied to the device too, for what the body does not write stays. */
#include "core/py/numpy_api.h"
#include "core/py/cuda/cuda_py.h"

#include "gufunc/device_call_py.h"

enum { MOST_ARGS = LW_MAX_OPERANDS + 16 };

static bool
has_device(PyObject *object)
{
    if (object == NULL || !PyTuple_Check(object))
        return object != NULL && lw_is_device_operand(object);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
        if (lw_is_device_operand(PyTuple_GET_ITEM(object, i)))
            return true;
    return false;
}

bool
lw_gcall_is_hosted(const lw_gcall *call, PyObject *const *args, Py_ssize_t n_args)
{
    bool any = has_device(call->out);

    for (Py_ssize_t i = 0; i < n_args; i++)
        any |= has_device(args[i]);
    any |= call->extra != NULL && call->extra->some_given_there;
    return !any && call->self->options.target == LW_CHOOSE_CUDA;
}

static bool
is_number(PyObject *object)
{
    return PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
           PyComplex_CheckExact(object) || PyBool_Check(object) ||
           PyArray_IsScalar(object, Generic);
}

static PyObject *
copy_of(const lw_gcall *call, PyObject *object)
{
    PyObject *host = PyArray_FROM_O(object), *copy = NULL;

    if (host != NULL)
        copy = (PyObject *)lw_device_array_from_host((PyArrayObject *)host, call->device,
                                                     call->stream);
    Py_XDECREF(host);
    return copy;
}

/* An output of the call: None stays; anything but a writable host array is refused. */
static PyObject *
copy_of_output(const lw_gcall *call, PyObject *object)
{
    if (object == Py_None)
        return Py_NewRef(object);
    if (!PyArray_Check(object)) {
        PyErr_Format(PyExc_TypeError, "return arrays must be of ArrayType, not %.200s",
                     Py_TYPE(object)->tp_name);
        return NULL;
    }
    if (PyArray_FailUnlessWriteable((PyArrayObject *)object, "output array") < 0)
        return NULL;
    return copy_of(call, object);
}

static PyObject *
copy_of_out(const lw_gcall *call, PyObject *out)
{
    PyObject *tuple;

    if (out == Py_Ellipsis)
        return Py_NewRef(out);
    if (!PyTuple_Check(out))
        return copy_of_output(call, out);
    tuple = PyTuple_New(PyTuple_GET_SIZE(out));
    for (Py_ssize_t i = 0; tuple != NULL && i < PyTuple_GET_SIZE(out); i++) {
        PyObject *item = copy_of_output(call, PyTuple_GET_ITEM(out, i));
        if (item == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, item);
    }
    return tuple;
}

/* One argument of the call on the device; numbers stay numbers. */
static PyObject *
moved(const lw_gcall *call, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames,
      Py_ssize_t i)
{
    if (i < call->self->nin)
        return is_number(args[i]) ? Py_NewRef(args[i]) : copy_of(call, args[i]);
    if (i < n_args)
        return copy_of_output(call, args[i]);
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i - n_args), "out") == 0)
        return copy_of_out(call, args[i]);
    return Py_NewRef(args[i]);
}

/* The output given for this place, borrowed, or NULL. */
static PyObject *
given_output(const lw_gcall *call, PyObject *const *args, Py_ssize_t n_args, int which)
{
    PyObject *object = NULL;

    if (n_args > call->self->nin + which)
        object = args[call->self->nin + which];
    else if (call->out != NULL && PyTuple_Check(call->out))
        object = PyTuple_GET_ITEM(call->out, which);
    else if (call->out != Py_Ellipsis)
        object = call->out;
    return object == Py_None ? NULL : object;
}

static PyObject *
bring_back(const lw_gcall *call, PyObject *device, PyObject *out)
{
    PyObject *host = lw_device_array_to_host((lw_device_array *)device, call->stream);

    if (host == NULL || out == NULL)
        return host ? PyArray_Return((PyArrayObject *)host) : NULL;
    if (PyArray_CopyInto((PyArrayObject *)out, (PyArrayObject *)host) < 0)
        out = NULL;
    Py_DECREF(host);
    return Py_XNewRef(out);
}

static PyObject *
bring_all_back(const lw_gcall *call, PyObject *device, PyObject *const *args, Py_ssize_t n_args)
{
    int nout = call->self->nout;
    PyObject *tuple;

    if (nout == 1)
        return bring_back(call, device, given_output(call, args, n_args, 0));
    tuple = PyTuple_New(nout);
    for (int i = 0; tuple != NULL && i < nout; i++) {
        PyObject *one =
            bring_back(call, PyTuple_GET_ITEM(device, i), given_output(call, args, n_args, i));
        if (one == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, one);
    }
    return tuple;
}

PyObject *
lw_gcall_hosted(lw_gcall *call, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    Py_ssize_t n = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0), done = 0;
    PyObject *values[MOST_ARGS], *device = NULL, *result = NULL;

    if (n > MOST_ARGS) {
        PyErr_Format(PyExc_TypeError, "%s() got %zd arguments", lw_gufunc_name(call->self), n);
        return NULL;
    }
    if (call->stream_object && lw_stream_read(call->stream_object, &call->stream) < 0)
        return NULL;
    call->device = call->extra ? call->extra->device : lw_current_device();
    if (call->device == NULL)
        return NULL;
    while (done < n && (values[done] = moved(call, args, n_args, kwnames, done)) != NULL)
        done++;
    if (done == n)
        device = lw_gcall_on_device(call->self, values, n_args, kwnames, call->extra);
    if (device != NULL)
        result = bring_all_back(call, device, args, n_args);
    Py_XDECREF(device);
    while (done > 0)
        Py_DECREF(values[--done]);
    return result;
}
