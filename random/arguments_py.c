/* Reads the arguments of `_Draws`' methods: plain Python numbers, and how many results are
 * asked for. */
#include "random/draws_py_internal.h"

#include <math.h>

static bool
read_number(PyObject *object, double *out)
{
    int overflow;
    long long value;

    if (PyFloat_Check(object)) {
        *out = PyFloat_AS_DOUBLE(object);
        return true;
    }
    if (!PyLong_CheckExact(object))
        return false;
    value = PyLong_AsLongLongAndOverflow(object, &overflow);
    *out = (double)value;
    return !overflow && value < INT64_C(1) << 53 && value > -(INT64_C(1) << 53);
}

static bool
read_integer(PyObject *object, int64_t *out)
{
    int overflow;

    if (!PyLong_CheckExact(object))
        return false;
    *out = PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow;
}

static bool
read_size(PyObject *object, int most, lw_few *out)
{
    out->one = object == Py_None;
    out->n = 1;
    return out->one || (read_integer(object, &out->n) && out->n >= 0 && out->n <= most);
}

bool
lw_read_parameter(const lw_method *m, int k, PyObject *object, lw_few *out)
{
    out->n_given = k + 1 > out->n_given ? k + 1 : out->n_given;
    return m->integers >> k & 1 ? read_integer(object, &out->integer[k])
                                : read_number(object, &out->p[k]);
}

/* Reads argument k: a parameter, or the size after the parameters. */
static bool
read_one(const lw_method *m, int k, PyObject *object, lw_few *out)
{
    if (k == m->n_parameters)
        return read_size(object, m->most, out);
    return lw_read_parameter(m, k, object, out);
}

static int
named(const lw_method *m, PyObject *name)
{
    for (int k = 0; k < m->n_parameters; k++)
        if (PyUnicode_CompareWithASCIIString(name, m->names[k]) == 0)
            return k;
    return PyUnicode_CompareWithASCIIString(name, "size") == 0 ? m->n_parameters : -1;
}

bool
lw_read_few(const lw_method *m, PyObject *const *args, Py_ssize_t n, PyObject *kwnames,
            lw_few *out)
{
    Py_ssize_t n_named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    unsigned seen, needed = 0;

    if (n > m->n_parameters + 1)
        return false;
    seen = (1u << n) - 1;
    *out = (lw_few){.n = 1, .one = true};
    for (int k = 0; k < m->n_parameters; k++) {
        out->p[k] = m->fallback[k];
        needed |= isnan(m->fallback[k]) ? 1u << k : 0;
    }
    for (int k = 0; k < n; k++)
        if (!read_one(m, k, args[k], out))
            return false;
    for (Py_ssize_t i = 0; i < n_named; i++) {
        int k = named(m, PyTuple_GET_ITEM(kwnames, i));
        if (k < 0 || seen >> k & 1 || !read_one(m, k, args[n + i], out))
            return false;
        seen |= 1u << k;
    }
    return (seen & needed) == needed;
}

bool
lw_few_as_floats(const lw_method *m, lw_few *out)
{
    const int64_t most = INT64_C(1) << 53;

    for (int k = 0; k < m->n_parameters; k++) {
        if ((m->integers >> k & 1) == 0)
            continue;
        if (out->integer[k] > most || out->integer[k] < -most)
            return false;
        out->p[k] = (double)out->integer[k];
    }
    return true;
}
