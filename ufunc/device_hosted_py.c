/* target="cuda" on host arrays: the same call on device copies. */
#include "core/py/numpy_api.h"
#include "core/py/cuda/cuda_py.h"

#include "ufunc/device_call_py.h"
#include "ufunc/ufunc_parts.h"

#include <assert.h>

static bool
is_host_output(PyObject *object)
{
    return object != NULL && object != Py_None && PyArray_Check(object);
}

bool
lw_call_is_hosted(const lw_call *call, PyObject *const *args, Py_ssize_t n_args)
{
    bool any_host_output = is_host_output(call->out);

    if (call->self->options.target != LW_CHOOSE_CUDA ||
        (call->extra != NULL && call->extra->some_given_there))
        return false;
    for (Py_ssize_t i = 0; i < n_args; i++)
        if (lw_is_device_operand(args[i]))
            return false;
    if (call->out == NULL || any_host_output)
        return true;
    if (!PyTuple_Check(call->out))
        return !lw_is_device_operand(call->out);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(call->out); i++)
        if (lw_is_device_operand(PyTuple_GET_ITEM(call->out, i)))
            return false;
    return true;
}

/* The keywords again, without out. */
static PyObject *
keywords_without_out(PyObject *const *values, PyObject *kwnames)
{
    PyObject *dict = PyDict_New();

    for (Py_ssize_t i = 0; dict != NULL && kwnames && i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        if (PyUnicode_CompareWithASCIIString(name, "out") == 0)
            continue;
        if (PyDict_SetItem(dict, name, values[i]) < 0)
            Py_CLEAR(dict);
    }
    return dict;
}

/* The output given for this place, borrowed; NULL: none. -1 in *bad for what is no array. */
static PyObject *
given_output(const lw_call *call, PyObject *const *args, Py_ssize_t n_args, int which, int *bad)
{
    PyObject *object = NULL;

    if (n_args > call->self->nin + which)
        object = args[call->self->nin + which];
    else if (call->out != NULL && PyTuple_Check(call->out))
        object =
            which < PyTuple_GET_SIZE(call->out) ? PyTuple_GET_ITEM(call->out, which) : NULL;
    else if (which == 0)
        object = call->out;
    if (object == NULL || object == Py_None)
        return NULL;
    if (!PyArray_Check(object)) {
        PyErr_Format(PyExc_TypeError, "return arrays must be of ArrayType, not %.200s",
                     Py_TYPE(object)->tp_name);
        *bad = -1;
    }
    return object;
}

/* Into the given host array, by NumPy's casting rule; nothing is written when it does not fit.
 */
static PyObject *
deliver(const lw_call *call, PyObject *host, PyObject *out)
{
    PyArrayObject *to = (PyArrayObject *)out, *from = (PyArrayObject *)host;
    static const char *const rules[] = {"no", "equiv", "safe", "same_kind", "unsafe"};
    NPY_CASTING rule = NPY_SAME_KIND_CASTING;

    if (call->casting != NULL && PyArray_CastingConverter(call->casting, &rule) != NPY_SUCCEED)
        return NULL;
    if (PyArray_NDIM(to) != PyArray_NDIM(from) ||
        !PyArray_CompareLists(PyArray_DIMS(to), PyArray_DIMS(from), PyArray_NDIM(to))) {
        PyErr_SetString(PyExc_ValueError, "non-broadcastable output operand: out must have the "
                                          "shape that the inputs broadcast to");
        return NULL;
    }
    if (!PyArray_CanCastArrayTo(from, PyArray_DESCR(to), rule)) {
        PyErr_Format(PyExc_TypeError,
                     "cannot cast the result from %.200R to %.200R by casting='%s'",
                     PyArray_DESCR(from), PyArray_DESCR(to), rules[rule]);
        return NULL;
    }
    if (PyArray_FailUnlessWriteable(to, "output array") < 0 || PyArray_CopyInto(to, from) < 0)
        return NULL;
    return Py_NewRef(out);
}

static PyObject *
bring_back(const lw_call *call, PyObject *device, PyObject *out)
{
    PyObject *host = lw_device_array_to_host((lw_device_array *)device, call->stream), *result;

    if (host == NULL)
        return NULL;
    if (out == NULL)
        return PyArray_Return((PyArrayObject *)host);
    result = deliver(call, host, out);
    Py_DECREF(host);
    return result;
}

static bool
is_number(PyObject *object)
{
    return PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
           PyComplex_CheckExact(object) || PyBool_Check(object) ||
           PyArray_IsScalar(object, Generic);
}

/* Of numbers only, the one that becomes an array: the first that is not weak, for an array's
 * dtype is strong. -1: there are arrays. */
static int
number_to_copy(const lw_call *call, PyObject *const *args)
{
    int first_strong = -1;

    for (int i = 0; i < lw_shown_inputs(lw_ufunc_whole(call->self)); i++) {
        if (!is_number(args[i]))
            return -1;
        if (first_strong < 0 && (PyBool_Check(args[i]) || PyArray_IsScalar(args[i], Generic)))
            first_strong = i;
    }
    return first_strong < 0 ? 0 : first_strong;
}

static PyObject *
copy_of(const lw_call *call, lw_device *device, PyObject *object)
{
    PyObject *host = PyArray_FROM_O(object), *copy = NULL;

    if (host != NULL)
        copy =
            (PyObject *)lw_device_array_from_host((PyArrayObject *)host, device, call->stream);
    Py_XDECREF(host);
    return copy;
}

/* Device copies of the inputs; numbers stay numbers, but for one of numbers only. NULL with an
 * exception; the tuple owns them. */
static PyObject *
copies(const lw_call *call, PyObject *const *args)
{
    lw_device *device = lw_current_device();
    PyObject *tuple = device ? PyTuple_New(call->self->nin) : NULL;
    int chosen = number_to_copy(call, args);

    for (int i = 0; tuple != NULL && i < call->self->nin; i++) {
        bool stays = is_number(args[i]) && i != chosen;
        PyObject *item = stays ? Py_NewRef(args[i]) : copy_of(call, device, args[i]);
        if (item == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, item);
    }
    return tuple;
}

/* With where=, what an output holds stays where the mask is false: the call writes into copies
 * of the outputs given. */
static int
keep_masked(const lw_call *call, PyObject *const *outs, PyObject *kwargs)
{
    lw_device *device = lw_current_device();
    int nout = call->self->nout, result = -1;
    PyObject *tuple = device ? PyTuple_New(nout) : NULL;

    for (int i = 0; tuple != NULL && i < nout; i++) {
        PyObject *item = outs[i] ? copy_of(call, device, outs[i]) : Py_NewRef(Py_None);
        if (item == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, item);
    }
    if (tuple != NULL)
        result = PyDict_SetItemString(kwargs, "out", tuple);
    Py_XDECREF(tuple);
    return result;
}

/* The call itself, on the copies. */
static PyObject *
call_there(const lw_call *call, PyObject *inputs, PyObject *kwargs)
{
    PyObject *values[LW_MAX_ARGS + 16], *names = PyTuple_New(PyDict_GET_SIZE(kwargs));
    Py_ssize_t n = PyTuple_GET_SIZE(inputs), at = 0, k = 0;
    PyObject *name, *value, *result = NULL;

    assert(n + PyDict_GET_SIZE(kwargs) <= (Py_ssize_t)(sizeof values / sizeof *values));
    for (Py_ssize_t i = 0; i < n; i++)
        values[i] = PyTuple_GET_ITEM(inputs, i);
    while (names != NULL && PyDict_Next(kwargs, &at, &name, &value)) {
        PyTuple_SET_ITEM(names, k, Py_NewRef(name));
        values[n + k++] = value;
    }
    if (names != NULL)
        result = lw_ufunc_call_device_with(call->self, values, (size_t)n, names, call->extra);
    Py_XDECREF(names);
    return result;
}

PyObject *
lw_call_hosted(lw_call *call, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    PyObject *inputs = NULL, *kwargs = NULL, *device = NULL, *result = NULL;
    PyObject *outs[LW_MAX_ARGS] = {NULL};
    int bad = 0, nout = call->self->nout;

    for (int i = 0; i < nout; i++)
        outs[i] = given_output(call, args, n_args, i, &bad);
    if (bad || (call->stream_object && lw_stream_read(call->stream_object, &call->stream) < 0))
        return NULL;
    inputs = copies(call, args);
    kwargs = inputs ? keywords_without_out(args + n_args, kwnames) : NULL;
    if (kwargs != NULL && call->where != NULL && keep_masked(call, outs, kwargs) < 0)
        goto done;
    if (kwargs != NULL)
        device = call_there(call, inputs, kwargs);
    if (device == NULL)
        goto done;
    if (nout == 1) {
        result = bring_back(call, device, outs[0]);
        goto done;
    }
    result = PyTuple_New(nout);
    for (int i = 0; result != NULL && i < nout; i++) {
        PyObject *one = bring_back(call, PyTuple_GET_ITEM(device, i), outs[i]);
        if (one == NULL)
            Py_CLEAR(result);
        else
            PyTuple_SET_ITEM(result, i, one);
    }
done:
    Py_XDECREF(inputs);
    Py_XDECREF(kwargs);
    Py_XDECREF(device);
    return result;
}
