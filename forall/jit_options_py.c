/* Each of numba's keywords has a meaning here or is refused; none is ignored:
 *   inline, forceinline, lto  a kernel and all it calls are compiled as one function body, so
 *                             what they ask for is the case; "never" is numba's default
 *   boundscheck               check={"bounds"}
 *   extensions, shared_memory_carveout, clusters of launch_bounds   refused unless empty */
#include "forall/jit_options_py.h"

#include "core/py/raise.h"

#include <string.h>

typedef struct reader {
    lw_jit_options *options;
    const char *keyword;
} reader;

static int
wrong(PyObject *class, const reader *r, const char *expected, PyObject *value)
{
    PyErr_Format(class, "%s= must be %s, not %.200R", r->keyword, expected, value);
    return -1;
}

static int
unsupported(const char *what)
{
    lw_error err = {0};

    lw_fail(&err, LW_ERR_UNSUPPORTED, "%s", what);
    lw_py_raise(&err);
    return -1;
}

static int
read_bool(const reader *r, PyObject *value, bool *out)
{
    if (!PyBool_Check(value))
        return wrong(PyExc_TypeError, r, "True or False", value);
    *out = value == Py_True;
    return 0;
}

static int
read_device(reader *r, PyObject *value)
{
    return read_bool(r, value, &r->options->device);
}

static int
read_cooperative(reader *r, PyObject *value)
{
    return value == Py_None ? 0 : read_bool(r, value, &r->options->cooperative);
}

static int
read_inline(reader *r, PyObject *value)
{
    if (PyBool_Check(value))
        return 0;
    if (!PyUnicode_Check(value))
        return wrong(PyExc_TypeError, r, "\"never\", \"always\" or a bool", value);
    if (PyUnicode_CompareWithASCIIString(value, "never") == 0 ||
        PyUnicode_CompareWithASCIIString(value, "always") == 0)
        return 0;
    return wrong(PyExc_ValueError, r, "\"never\", \"always\" or a bool", value);
}

static int
read_flag(reader *r, PyObject *value)
{
    bool unused;

    return value == Py_None ? 0 : read_bool(r, value, &unused);
}

static int
read_boundscheck(reader *r, PyObject *value)
{
    return value == Py_None ? 0 : read_bool(r, value, &r->options->bounds);
}

static int
read_carveout(reader *r, PyObject *value)
{
    if (value == Py_None ||
        (PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, "default") == 0) ||
        (PyLong_Check(value) && PyLong_AsLong(value) == -1))
        return PyErr_Occurred() ? -1 : 0;
    (void)r;
    return unsupported("shared_memory_carveout= other than \"default\" (-1) is not supported");
}

static int
read_extensions(reader *r, PyObject *value)
{
    Py_ssize_t n = value == Py_None ? 0 : PyObject_Size(value);

    if (n < 0) {
        PyErr_Clear();
        return wrong(PyExc_TypeError, r, "a sequence", value);
    }
    return n == 0 ? 0
                  : unsupported("extensions= is not supported: pass arrays, or tuples of what "
                                "the kernel reads");
}

/* An int from 1 to most. */
static int
read_bound(const reader *r, PyObject *value, long most, const char *expected, uint32_t *out)
{
    long n;

    if (!PyLong_Check(value) || PyBool_Check(value))
        return wrong(PyExc_TypeError, r, expected, value);
    n = PyLong_AsLong(value);
    if (n == -1 && PyErr_Occurred())
        PyErr_Clear();
    if (n < 1 || n > most)
        return wrong(PyExc_ValueError, r, expected, value);
    *out = (uint32_t)n;
    return 0;
}

static int
read_launch_bounds(reader *r, PyObject *value)
{
    static const char expected[] =
        "None, threads a block (1 to 1024), or (threads, blocks an SM (1 to 32))";
    Py_ssize_t n = PyTuple_Check(value) ? PyTuple_GET_SIZE(value) : 0;

    if (value == Py_None)
        return 0;
    if (!PyTuple_Check(value))
        return read_bound(r, value, 1024, expected, &r->options->bound_threads);
    if (n == 3)
        return unsupported("launch_bounds= with blocks a cluster is not supported: clusters "
                           "cannot be launched");
    if (n < 1 || n > 2)
        return wrong(PyExc_ValueError, r, expected, value);
    if (read_bound(r, PyTuple_GET_ITEM(value, 0), 1024, expected, &r->options->bound_threads) <
        0)
        return -1;
    return n == 1 ? 0
                  : read_bound(r, PyTuple_GET_ITEM(value, 1), 32, expected,
                               &r->options->bound_blocks);
}

static const struct keyword {
    const char *name;
    int (*read)(reader *r, PyObject *value);
} own[] = {
    {"device", read_device},
    {"inline", read_inline},
    {"forceinline", read_flag},
    {"lto", read_flag},
    {"cooperative", read_cooperative},
    {"launch_bounds", read_launch_bounds},
    {"boundscheck", read_boundscheck},
    {"extensions", read_extensions},
    {"shared_memory_carveout", read_carveout},
};

/* Reads one keyword of ours out of `rest`. */
static int
take(reader *r, const struct keyword *keyword, PyObject *rest)
{
    PyObject *value = PyDict_GetItemString(rest, keyword->name); /* borrowed */

    if (value == NULL)
        return 0;
    r->keyword = keyword->name;
    if (keyword->read(r, value) < 0)
        return -1;
    return PyDict_DelItemString(rest, keyword->name);
}

PyObject *
lw_jit_options_read(PyObject *keywords, lw_jit_options *options)
{
    PyObject *rest = keywords ? PyDict_Copy(keywords) : PyDict_New();
    reader r = {.options = options};

    memset(options, 0, sizeof *options);
    for (size_t i = 0; rest != NULL && i < sizeof own / sizeof *own; i++)
        if (take(&r, &own[i], rest) < 0)
            Py_CLEAR(rest);
    return rest;
}
