/* The index space of a call. */
#include "forall/forall_py_internal.h"

#include <string.h>

static int
wrong(const lw_function *self, PyObject *object)
{
    if (self->n_index == 1)
        PyErr_Format(PyExc_TypeError,
                     "%s: the index space must be an int, a range or a slice, not %.100s",
                     lw_function_name(self), Py_TYPE(object)->tp_name);
    else
        PyErr_Format(PyExc_TypeError,
                     "%s: the index space must be a tuple of %u ints, ranges or slices, not "
                     "%.100s",
                     lw_function_name(self), (unsigned)self->n_index, Py_TYPE(object)->tp_name);
    return -1;
}

static int
wrong_length(const lw_function *self, PyObject *tuple)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);

    if (self->n_index == 1 && (n == 2 || n == 3))
        PyErr_Format(PyExc_TypeError,
                     "%s: the index space must be an int, a range or a slice, not a tuple of "
                     "%zd; forall(ndim=%zd) takes one",
                     lw_function_name(self), n, n);
    else if (self->n_index == 1)
        PyErr_Format(PyExc_TypeError,
                     "%s: the index space must be an int, a range or a slice, not a tuple of "
                     "%zd",
                     lw_function_name(self), n);
    else
        PyErr_Format(PyExc_TypeError,
                     "%s: the index space must be a tuple of %u ints, ranges or slices, not a "
                     "tuple of %zd",
                     lw_function_name(self), (unsigned)self->n_index, n);
    return -1;
}

/* None stands for `missing`. */
static int
read_number(const lw_function *self, PyObject *object, int64_t missing, int64_t *out)
{
    PyObject *number;
    int overflow;

    *out = missing;
    if (object == Py_None)
        return 0;
    number = PyNumber_Index(object);
    if (number == NULL) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            wrong(self, object);
        }
        return -1;
    }
    *out = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow)
        PyErr_Format(PyExc_OverflowError,
                     "%s: the index space must be within int64, not %.100R",
                     lw_function_name(self), number);
    Py_DECREF(number);
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Computes len(range(start, stop, step)). */
static int
set_range(const lw_function *self, int64_t start, int64_t stop, int64_t step, lw_space *out,
          int d)
{
    __int128 n;

    if (step == 0) {
        PyErr_Format(PyExc_ValueError, "%s: the index space has a step of 0",
                     lw_function_name(self));
        return -1;
    }
    n = step > 0 ? ((__int128)stop - start + step - 1) / step
                 : ((__int128)start - stop - step - 1) / -(__int128)step;
    if ((step > 0 && stop <= start) || (step < 0 && stop >= start))
        n = 0;
    if (n > INT64_MAX) {
        PyErr_Format(PyExc_ValueError, "%s: the index space has more than 2^63 elements",
                     lw_function_name(self));
        return -1;
    }
    out->n[d] = (int64_t)n;
    out->start[d] = start;
    out->step[d] = step;
    return 0;
}

static int
read_range(const lw_function *self, PyObject *range, lw_space *out, int d)
{
    static const char *const names[] = {"start", "stop", "step"};
    int64_t value[3] = {0, 0, 1};

    for (int i = 0; i < 3; i++) {
        PyObject *part = PyObject_GetAttrString(range, names[i]);
        int failed = part == NULL || (i == 1 && part == Py_None)
                         ? -1
                         : read_number(self, part, value[i], &value[i]);
        if (part == Py_None && i == 1)
            PyErr_Format(PyExc_ValueError, "%s: the slice of an index space must have a stop",
                         lw_function_name(self));
        Py_XDECREF(part);
        if (failed)
            return -1;
    }
    return set_range(self, value[0], value[1], value[2], out, d);
}

static int
read_one(const lw_function *self, PyObject *object, lw_space *out, int d)
{
    int64_t n;

    if (PyRange_Check(object) || PySlice_Check(object))
        return read_range(self, object, out, d);
    if (PyBool_Check(object) || !PyIndex_Check(object))
        return wrong(self, object);
    if (read_number(self, object, 0, &n) < 0)
        return -1;
    if (n < 0) {
        PyErr_Format(PyExc_ValueError, "%s: the index space has a negative extent: %lld",
                     lw_function_name(self), (long long)n);
        return -1;
    }
    out->n[d] = n;
    out->start[d] = 0;
    out->step[d] = 1;
    return 0;
}

int
lw_space_read(const lw_function *self, PyObject *object, lw_space *out, int64_t *n)
{
    uint32_t ndim = self->n_index;

    *n = 1;
    if (ndim == 1 && !PyTuple_Check(object)) {
        if (read_one(self, object, out, 0) < 0)
            return -1;
        *n = out->n[0];
        return 0;
    }
    if (!PyTuple_Check(object))
        return wrong(self, object);
    if (PyTuple_GET_SIZE(object) != (Py_ssize_t)ndim)
        return wrong_length(self, object);
    for (uint32_t d = 0; d < ndim; d++)
        if (read_one(self, PyTuple_GET_ITEM(object, d), out, (int)d) < 0)
            return -1;
    for (uint32_t d = 0; d < ndim; d++)
        if (out->n[d] == 0)
            *n = 0;
    for (uint32_t d = 0; d < ndim && *n; d++)
        if (__builtin_mul_overflow(*n, out->n[d], n)) {
            PyErr_Format(PyExc_ValueError, "%s: the index space has more than 2^63 elements",
                         lw_function_name(self));
            return -1;
        }
    return 0;
}
