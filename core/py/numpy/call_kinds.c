#include "core/py/numpy/call_kinds.h"

#include "core/py/array/args.h"
#include "core/py/array/device_array.h"
#include "core/py/array/host_view.h"
#include "core/py/host_cuda.h"
#include "core/py/numpy/override.h"
#include "core/py/numpy/ufunc_inner.h"

#include <string.h>

static bool
is_plain(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    return type == &PyArray_Type || type == &PyFloat_Type || type == &PyLong_Type ||
           type == &PyDoubleArrType_Type || type == &PyFloatArrType_Type ||
           type == Py_TYPE(Py_None) || type == &PyBool_Type || type == &PyComplex_Type;
}

static int
kind_of(PyObject *object)
{
    if (is_plain(object))
        return LW_CALL_KIND_PLAIN;
    if (lw_is_device_array(object)) /* its own override leads back here */
        return LW_CALL_KIND_DEVICE;
    if (lw_is_device_operand(object))
        return lw_is_known_library(object) || !lw_has_override(object)
                   ? LW_CALL_KIND_DEVICE
                   : LW_CALL_KIND_DEVICE | LW_CALL_KIND_OTHER;
    if (lw_has_override(object) || lw_has_arrow_memory(object))
        return LW_CALL_KIND_OTHER; /* lw_override refuses Arrow's nulls */
    if (PyArray_Check(object))
        return LW_CALL_KIND_SUBCLASS;
    return lw_wraps_results(object) ? LW_CALL_KIND_WRAPS : LW_CALL_KIND_PLAIN;
}

static int
kind_of_out(PyObject *out)
{
    int seen = LW_CALL_KIND_PLAIN;

    if (!PyTuple_CheckExact(out))
        return kind_of(out);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out); i++)
        seen |= kind_of(PyTuple_GET_ITEM(out, i));
    return seen;
}

static bool
brings_operands(PyObject *name, bool has_where)
{
    return PyUnicode_CompareWithASCIIString(name, "out") == 0 ||
           (has_where && PyUnicode_CompareWithASCIIString(name, "where") == 0);
}

lw_seen
lw_look(PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames, bool has_where)
{
    lw_seen s = {.kinds = LW_CALL_KIND_PLAIN, .stream = -1};

    for (Py_ssize_t i = 0; i < n_args; i++)
        if (!is_plain(args[i]))
            s.kinds |= kind_of_out(args[i]);
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i), *value = args[n_args + i];
        if (PyUnicode_CompareWithASCIIString(name, "stream") == 0)
            s.stream = n_args + i;
        else if (!is_plain(value) && brings_operands(name, has_where))
            s.kinds |= kind_of_out(value);
    }
    return s;
}

int
lw_call_kinds_of(PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    Py_ssize_t n = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    int kinds = LW_CALL_KIND_PLAIN;

    for (Py_ssize_t i = 0; i < n; i++)
        if (!is_plain(args[i]))
            kinds |= kind_of_out(args[i]);
    return kinds;
}

PyObject *
lw_refuse_device(const lw_ufunc_head *self)
{
    return PyErr_Format(
        PyExc_TypeError,
        "`%s` was made with target=\"cpu\" and got a device array: use target=\"auto\", "
        "or copy the array to the host, `a.copy_to_host()`",
        self->table->name);
}

enum { MOST_ARGUMENTS = 64 + 16 }; /* NumPy's limit on operands, and keywords */

PyObject *
lw_call_without_stream(lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args,
                       PyObject *kwnames, Py_ssize_t stream, lw_host_call call)
{
    Py_ssize_t n = PyTuple_GET_SIZE(kwnames), at = stream - n_args;
    PyObject *values[MOST_ARGUMENTS], *names, *result;

    if (!lw_stream_says_nothing(args[stream]))
        return PyErr_Format(
            PyExc_TypeError,
            "stream= is for device arrays; `%s` was called with host operands only",
            self->table->name);
    if (n_args + n > MOST_ARGUMENTS)
        return PyErr_Format(PyExc_TypeError, "`%s` got %zd arguments", self->table->name,
                            n_args + n);
    names = PyTuple_New(n - 1);
    if (names == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        if (i != at)
            PyTuple_SET_ITEM(names, i - (i > at), Py_NewRef(PyTuple_GET_ITEM(kwnames, i)));
    memcpy(values, args, (size_t)stream * sizeof *values);
    memcpy(values + stream, args + stream + 1, (size_t)(n - at - 1) * sizeof *values);
    result = call(self, values, (size_t)n_args, names);
    Py_DECREF(names);
    return result;
}
