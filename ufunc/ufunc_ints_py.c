/* Calls with Python ints that do not fit into the dtype that the operands have: they have ended
 * with an OverflowError, and are made again with what NumPy computes with instead. */
#include "ufunc/ufunc_parts.h"

#include "core/py/numpy/call_kinds.h"
#include "core/py/numpy/ufunc_names.h"

#include <string.h>

/* ---- Python ints beyond 64 bits beside floats ---- */

static bool
is_inexact(PyObject *object)
{
    PyObject *dtype;
    bool result;

    if (PyFloat_CheckExact(object) || PyComplex_CheckExact(object))
        return true;
    dtype = PyLong_CheckExact(object) ? NULL : PyObject_GetAttrString(object, "dtype");
    result = dtype != NULL && PyArray_DescrCheck(dtype) &&
             (PyTypeNum_ISFLOAT(((PyArray_Descr *)dtype)->type_num) ||
              PyTypeNum_ISCOMPLEX(((PyArray_Descr *)dtype)->type_num));
    Py_XDECREF(dtype);
    PyErr_Clear();
    return result;
}

static bool
is_huge(PyObject *object)
{
    int overflow = 0;

    if (PyLong_CheckExact(object))
        PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow != 0;
}

/* Whether NumPy takes ints of this call as floats, whatever their size: one is beyond int64,
 * and an operand is inexact. */
static bool
has_huge_beside_float(PyObject *const *args, Py_ssize_t n_args)
{
    bool huge = false, inexact = false;

    for (Py_ssize_t i = 0; i < n_args && !huge; i++)
        huge = is_huge(args[i]);
    for (Py_ssize_t i = 0; huge && i < n_args && !inexact; i++)
        inexact = is_inexact(args[i]);
    return inexact;
}

/* Such ints as Python floats. */
static PyObject *
call_with_floats(PyObject *object, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames,
                 vectorcallfunc call)
{
    Py_ssize_t n = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *values[LW_PLACED_MAX], *floats = PyList_New(0), *result = NULL;
    bool failed = floats == NULL;

    memcpy(values, args, (size_t)n * sizeof *values);
    for (Py_ssize_t i = 0; i < n_args && !failed; i++)
        if (is_huge(args[i])) {
            double number = PyLong_AsDouble(args[i]);
            values[i] = number == -1 && PyErr_Occurred() ? NULL : PyFloat_FromDouble(number);
            failed = values[i] == NULL || PyList_Append(floats, values[i]) < 0;
            Py_XDECREF(values[i]); /* the list holds it */
        }
    if (!failed)
        result = call(object, values, (size_t)n_args, kwnames);
    Py_XDECREF(floats);
    return result;
}

/* ---- Python ints beyond the dtype that they are compared with ---- */

static PyObject *
zero_d_float(double number, int type)
{
    PyObject *weak = PyFloat_FromDouble(number), *zero_d = NULL;

    if (weak != NULL)
        zero_d = PyArray_FromAny(weak, PyArray_DescrFromType(type), 0, 0, 0, NULL);
    Py_XDECREF(weak);
    return zero_d;
}

/* The int in a dtype of its own; beyond all of them it compares as an infinity does. */
static PyObject *
strong_int(PyObject *value)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    PyObject *zero_d;

    if (!overflow && number == -1 && PyErr_Occurred())
        return NULL;
    if (!overflow)
        return PyArray_FromAny(value, PyArray_DescrFromType(NPY_INT64), 0, 0, 0, NULL);
    if (overflow > 0) {
        zero_d = PyArray_FromAny(value, PyArray_DescrFromType(NPY_UINT64), 0, 0, 0, NULL);
        if (zero_d != NULL || !PyErr_ExceptionMatches(PyExc_OverflowError))
            return zero_d;
        PyErr_Clear();
    }
    return zero_d_float(overflow * Py_HUGE_VAL, NPY_FLOAT64);
}

/* The ints of a comparison in dtypes of their own. */
static PyObject *
compare_strong(PyObject *object, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames,
               vectorcallfunc call)
{
    Py_ssize_t n = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *values[LW_PLACED_MAX], *strong[2] = {NULL, NULL}, *result = NULL;
    bool failed = false;

    PyErr_Clear();
    memcpy(values, args, (size_t)n * sizeof *values);
    for (int i = 0; i < 2 && !failed; i++)
        if (PyLong_CheckExact(values[i])) {
            values[i] = strong[i] = strong_int(values[i]);
            failed = strong[i] == NULL;
        }
    if (!failed)
        result = call(object, values, (size_t)n_args, kwnames);
    Py_XDECREF(strong[0]);
    Py_XDECREF(strong[1]);
    return result;
}

/* ---- Python ints beyond the dtype of the integers that floats are computed of ---- */

/* The bytes of an item; 0: unknown. */
static Py_ssize_t
item_bytes(PyObject *operand)
{
    PyObject *dtype = PyObject_GetAttrString(operand, "dtype");
    PyObject *size = dtype ? PyObject_GetAttrString(dtype, "itemsize") : NULL;
    Py_ssize_t bytes = size ? PyLong_AsSsize_t(size) : 0;

    Py_XDECREF(size);
    Py_XDECREF(dtype);
    PyErr_Clear();
    return bytes;
}

/* The int as NumPy's float of the dtype in which it computes with such an operand. */
static PyObject *
strong_float(const lw_ufunc_object *self, PyObject *value, PyObject *other)
{
    double number = PyLong_AsDouble(value);
    Py_ssize_t bytes = self->divides ? 8 : item_bytes(other);
    int type = bytes == 1 ? NPY_FLOAT16 : bytes == 2 ? NPY_FLOAT32 : NPY_FLOAT64;

    return number == -1 && PyErr_Occurred() ? NULL : zero_d_float(number, type);
}

/* The int as a float, or as its truth for logical_and and the like. */
static PyObject *
call_with_strong(lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                 PyObject *kwnames, vectorcallfunc call)
{
    Py_ssize_t n = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *values[LW_PLACED_MAX], *strong, *result;
    int i = PyLong_CheckExact(args[0]) ? 0 : 1;

    PyErr_Clear();
    memcpy(values, args, (size_t)n * sizeof *values);
    strong = self->folds_truth ? PyBool_FromLong(PyObject_IsTrue(args[i]))
                               : strong_float(self, args[i], args[1 - i]);
    if (strong == NULL)
        return NULL;
    values[i] = strong;
    result = call((PyObject *)self, values, (size_t)n_args, kwnames);
    Py_DECREF(strong);
    return result;
}

/* With a mask, NumPy's comparisons of integers with ints beyond their dtype crash (2.4: they
 * free what they have not set). */
static bool
compares_masked(const lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                PyObject *kwnames)
{
    bool masked = false;

    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++)
        masked |= PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "where") == 0;
    return masked && self->compares && n_args >= 2 &&
           (PyLong_CheckExact(args[0]) || PyLong_CheckExact(args[1]));
}

/* ---- the call ---- */

PyObject *
lw_ufunc_call_beyond(lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                     PyObject *kwnames, vectorcallfunc call)
{
    PyObject *object = (PyObject *)self, *kind, *error, *trace;

    if (n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0) > LW_PLACED_MAX)
        return NULL;
    PyErr_Fetch(&kind, &error, &trace);
    if (has_huge_beside_float(args, n_args)) {
        Py_XDECREF(kind);
        Py_XDECREF(error);
        Py_XDECREF(trace);
        return call_with_floats(object, args, n_args, kwnames, call);
    }
    PyErr_Restore(kind, error, trace);
    if (compares_masked(self, args, n_args, kwnames))
        return compare_strong(object, args, n_args, kwnames, call);
    if (self->base.numpys != NULL && kwnames != NULL &&
        !(lw_look(args, n_args, kwnames, true).kinds & LW_CALL_KIND_DEVICE)) {
        PyErr_Clear();
        return lw_ufunc_ask_numpys(self->base.numpys, "__call__", args, n_args, kwnames);
    }
    if (self->compares && n_args >= 2 &&
        (PyLong_CheckExact(args[0]) || PyLong_CheckExact(args[1])))
        return compare_strong(object, args, n_args, kwnames, call);
    if ((self->folds_truth || self->divides || self->gives_floats) && n_args >= 2 &&
        PyLong_CheckExact(args[0]) != PyLong_CheckExact(args[1]))
        return call_with_strong(self, args, n_args, kwnames, call);
    return NULL;
}
