/* sizes=: what dimensions that stand in outputs only measure, from the other sizes. */
#include "gufunc/gufunc_parts_py.h"

#include <string.h>

static int
dim_named(const lw_gufunc *self, const char *name)
{
    for (uint32_t d = 0; d < self->layout.n_dims; d++)
        if (self->layout.dims[d].fixed == 0 && strcmp(self->layout.dims[d].name, name) == 0)
            return (int)d;
    return -1;
}

/* ---- at decoration ---- */

static int
check_rule(const lw_gufunc *self, PyObject *name, PyObject *rule)
{
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    int dim = text ? dim_named(self, text) : -1;

    if (PyErr_Occurred())
        return -1;
    if (dim < 0 || !self->layout.dims[dim].only_in_outputs) {
        PyErr_Format(
            PyExc_ValueError,
            "sizes=: %.200R is not a dimension that occurs only in outputs of layout `%s`",
            name, self->layout.text);
        return -1;
    }
    if (PyLong_Check(rule) && !PyBool_Check(rule))
        return 0;
    if (PyFunction_Check(rule))
        return 0;
    PyErr_Format(
        PyExc_TypeError,
        "sizes=: the size of %.200R must be an int or a function whose parameters are named "
        "as other dimensions, not %.100s",
        name, Py_TYPE(rule)->tp_name);
    return -1;
}

int
lw_gufunc_check_sizes(const lw_gufunc *self, PyObject *sizes)
{
    PyObject *name, *rule;
    Py_ssize_t at = 0;

    if (!PyDict_Check(sizes)) {
        PyErr_Format(PyExc_TypeError,
                     "sizes= must be a dict {name of a dimension: function}, not %.100s",
                     Py_TYPE(sizes)->tp_name);
        return -1;
    }
    while (PyDict_Next(sizes, &at, &name, &rule))
        if (check_rule(self, name, rule) < 0)
            return -1;
    return 0;
}

/* ---- at a call ---- */

static PyObject *
argument(const lw_gufunc *self, PyObject *name, const int64_t *sizes)
{
    const char *text = PyUnicode_AsUTF8(name);
    int dim = text ? dim_named(self, text) : -1;

    if (text == NULL)
        return NULL;
    if (dim >= 0 && sizes[dim] >= 0)
        return PyLong_FromLongLong(sizes[dim]);
    return PyErr_Format(
        PyExc_ValueError,
        dim < 0 ? "sizes=: `%.200U` is not a dimension of layout `%s`"
                : "sizes=: `%.200U` of layout `%s` is not known when the function is called",
        name, self->layout.text);
}

/* The function's parameters say which sizes it wants. */
static PyObject *
ask(const lw_gufunc *self, PyObject *rule, const int64_t *sizes)
{
    PyObject *code = PyObject_GetAttrString(rule, "__code__");
    PyObject *names = code ? PyObject_GetAttrString(code, "co_varnames") : NULL;
    PyObject *count = code ? PyObject_GetAttrString(code, "co_argcount") : NULL;
    Py_ssize_t n = names && count ? PyLong_AsSsize_t(count) : -1;
    PyObject *args = n >= 0 ? PyTuple_New(n) : NULL, *result = NULL;
    bool good = args != NULL;

    for (Py_ssize_t i = 0; good && i < n; i++) {
        PyObject *value = argument(self, PyTuple_GET_ITEM(names, i), sizes);
        good = value != NULL;
        if (good)
            PyTuple_SET_ITEM(args, i, value);
    }
    if (good)
        result = PyObject_CallObject(rule, args);
    Py_XDECREF(args);
    Py_XDECREF(count);
    Py_XDECREF(names);
    Py_XDECREF(code);
    return result;
}

static int
size_of(const lw_gufunc *self, PyObject *name, PyObject *rule, const int64_t *sizes,
        int64_t *out)
{
    PyObject *value = PyLong_Check(rule) ? Py_NewRef(rule) : ask(self, rule, sizes);
    PyObject *index = value ? PyNumber_Index(value) : NULL;

    *out = -1;
    if (index != NULL)
        *out = PyLong_AsLongLong(index);
    if (value != NULL && (index == NULL || *out < 0)) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError,
                     "sizes=: the size of %.200R must be an int from 0 on, not %.200R", name,
                     value);
        *out = -1;
    }
    Py_XDECREF(index);
    Py_XDECREF(value);
    return *out < 0 ? -1 : 0;
}

static int
fill_one(const lw_gufunc *self, PyObject *name, PyObject *rule, int64_t *sizes)
{
    int dim = dim_named(self, PyUnicode_AsUTF8(name));
    int64_t size;

    if (size_of(self, name, rule, sizes, &size) < 0)
        return -1;
    if (sizes[dim] >= 0 && sizes[dim] != size) {
        PyErr_Format(PyExc_ValueError,
                     "`%s`: dimension %.200R of the output is %lld, and sizes= gives %lld",
                     lw_gufunc_name(self), name, (long long)sizes[dim], (long long)size);
        return -1;
    }
    sizes[dim] = size;
    return 0;
}

int
lw_gufunc_fill_sizes(lw_gufunc *self, int64_t *sizes)
{
    PyObject *name, *rule;
    Py_ssize_t at = 0;

    while (self->sizes != NULL && PyDict_Next(self->sizes, &at, &name, &rule))
        if (fill_one(self, name, rule, sizes) < 0)
            return -1;
    for (uint32_t d = 0; d < self->layout.n_dims; d++)
        if (sizes[d] < 0) {
            PyErr_Format(PyExc_ValueError,
                         "`%s`: the size of dimension `%s`, which occurs only in outputs, is "
                         "not known: give out=, or sizes={\"%s\": ...} to guvectorize",
                         lw_gufunc_name(self), self->layout.dims[d].name,
                         self->layout.dims[d].name);
            return -1;
        }
    return 0;
}
