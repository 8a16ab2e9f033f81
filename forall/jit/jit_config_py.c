/* Reads the shape of a launch from kernel[grid, block, stream, sharedmem]. */
#include "forall/jit/jit_py_internal.h"

#include "core/py/cuda/cuda_py.h"

#include <string.h>

/* The limits of every GPU of compute capability 5.0 and later (CUDA C++ Programming Guide,
 * table of technical specifications); the simulator has the same limits. */
static const int64_t most_grid[3] = {2147483647, 65535, 65535};
static const int64_t most_block[3] = {1024, 1024, 64};
static const int64_t most_cluster[3] = {16, 16,
                                        16}; /* and 16 in all, of which 8 are portable */
enum { MOST_THREADS = 1024 };
static const char axes[3] = {'x', 'y', 'z'};

static int
too_large(const char *what, const char *expected, PyObject *value)
{
    PyErr_Format(PyExc_ValueError, "%s must be %s, not %.200R", what, expected, value);
    return -1;
}

/* Reads an int, or an object with __index__ that is not a bool; *out is clipped to int64. */
static int
read_int(PyObject *value, const char *what, int64_t *out)
{
    PyObject *index;
    int overflow = 0;

    if (PyLong_CheckExact(value)) {
        *out = PyLong_AsLongLongAndOverflow(value, &overflow);
    } else {
        index = PyBool_Check(value) ? NULL : PyNumber_Index(value);
        if (index == NULL) {
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "%s must be an int, not %.100s %.200R", what,
                         Py_TYPE(value)->tp_name, value);
            return -1;
        }
        *out = PyLong_AsLongLongAndOverflow(index, &overflow);
        Py_DECREF(index);
    }
    if (overflow)
        *out = overflow > 0 ? INT64_MAX : INT64_MIN;
    return 0;
}

int
lw_jit_count_read(PyObject *value, const char *what, int64_t most, int64_t *out)
{
    char expected[64];

    if (read_int(value, what, out) < 0)
        return -1;
    if (*out >= 0 && *out <= most)
        return 0;
    PyOS_snprintf(expected, sizeof expected, "from 0 to %lld", (long long)most);
    return too_large(what, expected, value);
}

/* Reads a plain int in range, as nearly all are, without preparing a message. */
static bool
read_plain(PyObject *value, int64_t most, uint32_t *out)
{
    int overflow = 0;
    long long n = PyLong_CheckExact(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : 0;

    *out = (uint32_t)n;
    return !overflow && n >= 1 && n <= most;
}

static int
read_axis(PyObject *value, const char *what, int axis, int64_t most, uint32_t *out)
{
    char name[64], expected[64];
    int64_t n;

    if (read_plain(value, most, out))
        return 0;
    PyOS_snprintf(name, sizeof name, "kernel[grid, block]: %s.%c", what, axes[axis]);
    if (read_int(value, name, &n) < 0)
        return -1;
    if (n < 1 || n > most) {
        PyOS_snprintf(expected, sizeof expected, "from 1 to %lld", (long long)most);
        return too_large(name, expected, value);
    }
    *out = (uint32_t)n;
    return 0;
}

/* In place of another exception, if there is one. */
static int
refuse_shape(PyObject *exception, const char *what, const char *wanted, PyObject *value)
{
    PyObject *shown =
        PyTuple_Check(value) ? PySequence_List(value) : Py_BuildValue("[O]", value);

    if (shown != NULL)
        PyErr_Format(exception, "kernel[grid, block]: %s must be a sequence of %s, got %.200R",
                     what, wanted, shown);
    Py_XDECREF(shown);
    return -1;
}

static int
read_shape(PyObject *value, const char *what, const int64_t *most, uint32_t *out)
{
    bool sequence = PyTuple_Check(value);
    Py_ssize_t n = sequence ? PyTuple_GET_SIZE(value) : 1;
    char dimensions[16];

    if (PyList_Check(value)) { /* which other threads may change */
        PyObject *now = PyList_AsTuple(value);
        int result = now ? read_shape(now, what, most, out) : -1;
        Py_XDECREF(now);
        return result;
    }
    snprintf(dimensions, sizeof dimensions, "%s%s", what, *what == 'c' ? "" : "dim");
    if (n < 1 || n > 3)
        return refuse_shape(PyExc_ValueError, dimensions, "1, 2 or 3 integers", value);
    out[1] = out[2] = 1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (read_axis(sequence ? PyTuple_GET_ITEM(value, i) : value, what, (int)i, most[i],
                      &out[i]) < 0)
            return PyErr_ExceptionMatches(PyExc_TypeError)
                       ? refuse_shape(PyExc_TypeError, dimensions, "integers", value)
                       : -1;
    return 0;
}

static int
check_threads(const uint32_t *block)
{
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];

    if (threads <= MOST_THREADS)
        return 0;
    PyErr_Format(
        PyExc_ValueError,
        "kernel[grid, block]: block (%u, %u, %u) has %llu threads; a block has at most "
        "%d",
        block[0], block[1], block[2], (unsigned long long)threads, MOST_THREADS);
    return -1;
}

/* None and 0: no clusters. */
static int
read_cluster(PyObject *value, lw_launch_shape *out)
{
    const uint32_t *grid = out->grid, *c = out->cluster;

    if (value == Py_None || (PyLong_CheckExact(value) && PyLong_AsLong(value) == 0))
        return 0;
    if (PyErr_Occurred())
        PyErr_Clear(); /* too large: read_shape says so */
    if (read_shape(value, "cluster", most_cluster, out->cluster) < 0)
        return -1;
    if (c[0] * c[1] * c[2] > (uint32_t)most_cluster[0]) {
        PyErr_Format(
            PyExc_ValueError,
            "kernel[grid, block]: cluster (%u, %u, %u) has %u blocks; a cluster has at "
            "most %d",
            c[0], c[1], c[2], c[0] * c[1] * c[2], (int)most_cluster[0]);
        return -1;
    }
    if (grid[0] % c[0] == 0 && grid[1] % c[1] == 0 && grid[2] % c[2] == 0)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "kernel[grid, block]: grid (%u, %u, %u) is not made of whole clusters of "
                 "(%u, %u, %u) blocks",
                 grid[0], grid[1], grid[2], c[0], c[1], c[2]);
    return -1;
}

int
lw_jit_config_read(PyObject *key, lw_launch_shape *out, PyObject **stream_object)
{
    Py_ssize_t n = PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1;
    int64_t shared = 0;

    *stream_object = NULL;
    memset(out, 0, sizeof *out);
    if (n < 2 || n > 5) {
        PyErr_Format(PyExc_ValueError,
                     "kernel[grid, block, stream=0, sharedmem=0, cluster=0]: expected 2 to 5 "
                     "entries, not %zd",
                     n);
        return -1;
    }
    if (read_shape(PyTuple_GET_ITEM(key, 0), "grid", most_grid, out->grid) < 0 ||
        read_shape(PyTuple_GET_ITEM(key, 1), "block", most_block, out->block) < 0 ||
        check_threads(out->block) < 0)
        return -1;
    if (n > 3 &&
        lw_jit_count_read(PyTuple_GET_ITEM(key, 3), "sharedmem", INT32_MAX, &shared) < 0)
        return -1;
    out->shared_bytes = (uint32_t)shared;
    if (n > 4 && read_cluster(PyTuple_GET_ITEM(key, 4), out) < 0)
        return -1;
    if (n > 2) {
        *stream_object = PyTuple_GET_ITEM(key, 2);
        return lw_stream_read(*stream_object, &out->stream);
    }
    return 0;
}
