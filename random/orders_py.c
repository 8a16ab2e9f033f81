/* Random orders of `_Draws`: samples, and arrays shuffled in place. */
#include "random/draws_py_internal.h"

#include <stdbool.h>

#include "core/py/cuda/cuda_py.h"
#include "core/py/raise.h"
#include "core/py/signals.h"
#include "random/shuffle.h"

enum { LONG = 10000 }; /* steps from which on other threads are let run */

/* words: an array of 64-bit words, one per step, or None: then Philox's are used, and the place
 * advances. */
static int
start_steps(lw_drawing *self, PyObject *words, int64_t n, int64_t steps, lw_draws *out)
{
    *out = (lw_draws){.philox = self->philox, .place = self->place};
    if (words == Py_None) {
        self->place += lw_shuffle_blocks(n, steps);
        return 0;
    }
    if (!PyArray_Check(words) || PyArray_TYPE((PyArrayObject *)words) != NPY_UINT64 ||
        !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)words) ||
        PyArray_SIZE((PyArrayObject *)words) < steps) {
        PyErr_SetString(PyExc_TypeError, "words must be a uint64 array of one word a step");
        return -1;
    }
    out->words = PyArray_DATA((PyArrayObject *)words);
    out->place -= (uint64_t)steps; /* drawing them has advanced it */
    return 0;
}

/* A stream is checked although nothing runs on it. */
static int
check_stream(PyObject *stream)
{
    CUstream handle;

    return lw_stream_read(stream, &handle);
}

PyObject *
lw_draws_sample(PyObject *object, PyObject *args)
{
    long long n, count;
    npy_intp shape;
    PyObject *words, *stream, *result;
    lw_status status;
    lw_error err = {0};
    lw_stop stop = {.ask = lw_signal_raised_anyhow};
    lw_draws from;

    if (!PyArg_ParseTuple(args, "LLOO:_sample", &n, &count, &words, &stream) ||
        check_stream(stream) < 0)
        return NULL;
    if (count < 0 || count > n)
        return PyErr_Format(PyExc_ValueError, "count must be from 0 to %lld, not %lld", n,
                            count);
    shape = (npy_intp)count;
    result = PyArray_SimpleNew(1, &shape, NPY_INT64);
    if (result == NULL || start_steps((lw_drawing *)object, words, n, count, &from) < 0) {
        Py_XDECREF(result);
        return NULL;
    }
    from.stop = &stop;
    Py_BEGIN_ALLOW_THREADS
    status = lw_sample(&from, PyArray_DATA((PyArrayObject *)result), n, count, &err);
    Py_END_ALLOW_THREADS
    if (status == LW_OK && !stop.stopped)
        return result;
    Py_DECREF(result);
    if (status == LW_OK)
        return NULL;
    return lw_py_raise(&err);
}

/* A contiguous array as outer x length x inner items of `bytes`. */
typedef struct lines {
    char *items;
    size_t bytes;
    int64_t outer, length, inner;
} lines;

/* Shuffles each line along the middle dimension in an order of its own. */
static void
shuffle_lines(const lw_draws *from, const lines *l)
{
    uint64_t step = 0;
    size_t stride = (size_t)l->inner * l->bytes;

    for (int64_t a = 0; a < l->outer; a++)
        for (int64_t b = 0; b < l->inner && (!from->stop || !from->stop->stopped);
             b++, step += (uint64_t)l->length)
            lw_shuffle(from, step,
                       &(lw_shuffled){.items = l->items + (size_t)(a * l->length) * stride +
                                               (size_t)b * l->bytes,
                                      .bytes = l->bytes,
                                      .stride = stride,
                                      .n = l->length},
                       l->length);
}

/* together: all lines get the same order. */
static int
read_lines(PyObject *object, int axis, bool together, lines *out)
{
    PyArrayObject *array = (PyArrayObject *)object;

    if (!PyArray_Check(object) || !PyArray_IS_C_CONTIGUOUS(array) ||
        !PyArray_ISWRITEABLE(array) || axis < 0 || axis >= PyArray_NDIM(array) ||
        PyArray_SIZE(array) == 0 || (together && axis != 0)) {
        PyErr_SetString(PyExc_TypeError, "_mix takes a contiguous array and its axis");
        return -1;
    }
    *out = (lines){PyArray_DATA(array), (size_t)PyArray_ITEMSIZE(array), 1,
                   PyArray_DIM(array, axis), 1};
    for (int d = 0; d < axis; d++)
        out->outer *= PyArray_DIM(array, d);
    out->inner = PyArray_SIZE(array) / out->outer / out->length;
    if (together) {
        out->bytes *= (size_t)out->inner;
        out->inner = 1;
    }
    return 0;
}

PyObject *
lw_draws_mix(PyObject *object, PyObject *args)
{
    PyObject *words, *array, *stream;
    int axis, together;
    int64_t steps;
    lw_stop stop = {.ask = lw_signal_raised_anyhow};
    lw_draws from;
    lines l;

    if (!PyArg_ParseTuple(args, "OipOO:_mix", &array, &axis, &together, &words, &stream) ||
        check_stream(stream) < 0 || read_lines(array, axis, together, &l) < 0)
        return NULL;
    steps = l.outer * l.length * l.inner;
    if (start_steps((lw_drawing *)object, words, l.length, steps, &from) < 0)
        return NULL;
    if (steps < LONG || PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)array))) {
        shuffle_lines(&from, &l);
    } else {
        from.stop = &stop;
        Py_BEGIN_ALLOW_THREADS
        shuffle_lines(&from, &l);
        Py_END_ALLOW_THREADS
        if (stop.stopped)
            return NULL;
    }
    Py_RETURN_NONE;
}
