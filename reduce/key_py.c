#include "core/py/numpy_api.h"

#include "reduce/key_py.h"

#include "core/device/copy.h"
#include "core/py/raise.h"
#include "reduce/scan_py.h"

#include <string.h>

static lw_reduce_call *
new_call(PyObject *self, PyObject *args)
{
    if (PyTuple_GET_SIZE(args) < 2) {
        PyErr_SetString(PyExc_TypeError, "by_key() takes keys and values");
        return NULL;
    }
    return lw_reduce_call_new(self);
}

static int
check_keys(const lw_reduce_call *call, int ndim, int64_t n, lw_dtype dtype)
{
    if (ndim != 1)
        PyErr_Format(PyExc_ValueError, "keys must have one dimension, not %d", ndim);
    else if (call->ndim == 0 || call->shape[0] != n)
        PyErr_Format(PyExc_ValueError, "%lld rows of values do not match %lld keys",
                     (long long)(call->ndim ? call->shape[0] : 0), (long long)n);
    else if (dtype == LW_DT_void)
        PyErr_SetString(PyExc_TypeError, "kernels do not support the dtype of the keys");
    else
        return 0;
    return -1;
}

/* ---- the simulator ---- */

static PyObject *
first_of(PyObject *array, int64_t n)
{
    return PySequence_GetSlice(array, 0, (Py_ssize_t)n);
}

/* The first n of the keys and of each result. */
static PyObject *
cut(lw_reduce_call *call, PyObject *keys, int64_t n)
{
    PyObject *results, *first;

    for (uint32_t i = 0; i < call->specialisation->reduction->n_out; i++) {
        PyObject *part = first_of((PyObject *)call->result[i], n);
        if (part == NULL)
            return NULL;
        Py_SETREF(call->result[i], (PyArrayObject *)part);
    }
    first = first_of(keys, n);
    results = first ? lw_reduce_hand_out(call) : NULL;
    return results ? Py_BuildValue("NN", first, results) : (Py_XDECREF(first), NULL);
}

static PyObject *
simulate(lw_reduce_call *call, PyArrayObject *keys, PyObject *args)
{
    PyObject *keys_out, *result = NULL;
    int64_t n_runs = 0, size = 0;
    lw_reduce_scan scan;

    if (call->keywords.size != NULL)
        size = PyLong_AsLongLong(call->keywords.size);
    if (lw_reduce_read_operands(call, PySequence_Fast_ITEMS(args) + 1,
                                PyTuple_GET_SIZE(args) - 1, NULL) < 0 ||
        check_keys(call, PyArray_NDIM(keys), PyArray_SIZE(keys),
                   lw_dtype_of_descr(PyArray_DESCR(keys))) < 0 ||
        lw_reduce_new_results(call, call->ndim, call->shape) < 0)
        return NULL;
    lw_reduce_scan_start(&scan, call, 0);
    if (size > 0 && call->keywords.res == NULL) {
        scan.max_threads = 32;
        scan.max_items = (uint32_t)size;
    }
    keys_out = PyArray_NewLikeArray(keys, NPY_CORDER, NULL, 0);
    scan.keys = PyArray_BYTES(keys);
    scan.key_step = PyArray_STRIDE(keys, 0);
    scan.key_dtype = lw_dtype_of_descr(PyArray_DESCR(keys));
    scan.keys_out = keys_out ? PyArray_BYTES((PyArrayObject *)keys_out) : NULL;
    scan.n_runs = (char *)&n_runs;
    if (keys_out != NULL && lw_reduce_scan_on_host(call, &scan, 0) == 0) {
        if (call->keywords.res != NULL) {
            lw_reduce_scan_plan plan;
            lw_reduce_scan_plan_of(&scan, &plan);
            result = lw_reduce_cubin_of(call, &plan.key, (int)size);
        } else if (scan.elements == 0 || lw_reduce_scan_simulate(call, &scan) == 0) {
            result = cut(call, keys_out, n_runs);
        }
    }
    Py_XDECREF(keys_out);
    return result;
}

PyObject *
lw_reducer_simulate_by_key(PyObject *self, PyObject *args, PyObject *kwargs)
{
    lw_reduce_call *call = new_call(self, args);
    PyObject *keys = NULL, *result = NULL;

    if (call == NULL)
        return NULL;
    if (lw_reduce_read_keywords(&call->keywords, kwargs, LW_TAKES_REDUCE, "_simulate_by_key") ==
        0)
        keys = PyArray_FROM_O(PyTuple_GET_ITEM(args, 0));
    if (keys != NULL)
        result = simulate(call, (PyArrayObject *)keys, args);
    Py_XDECREF(keys);
    return lw_reduce_call_end(call, result);
}

/* ---- device arrays ---- */

/* Keys are read behind the numbers of the values: order and release of operands hold for them,
 * too. NULL with an exception. */
static const lw_operand *
read_keys(lw_reduce_device *d, PyObject *object)
{
    lw_operand *keys = &d->operand[d->n_read];

    if (lw_operand_read(keys, object) < 0)
        return NULL;
    d->n_read++;
    if (keys->kind != LW_OPERAND_DEVICE)
        PyErr_SetString(PyExc_TypeError, "the keys are not on a device, but the values are: "
                                         "copy them there");
    else if (keys->device != d->device)
        (void)lw_operand_refuse_devices(lw_reducer_name(d->call->self),
                                        (lw_located){"the first array of values", d->device},
                                        (lw_located){"the keys", keys->device});
    else if (check_keys(d->call, keys->ndim, keys->ndim == 1 ? keys->shape[0] : 0,
                        (lw_dtype)keys->dtype) == 0)
        return keys;
    return NULL;
}

/* The first n rows: a copy where that frees most of the memory. Steals array. */
static lw_device_array *
first_rows(lw_reduce_device *d, lw_device_array *array, int64_t n)
{
    int64_t shape[LW_REDUCE_DIMS];
    lw_device_array *view, *copy = NULL;

    memcpy(shape, array->shape, (size_t)array->ndim * sizeof *shape);
    shape[0] = n;
    view = lw_device_array_view(array, array->data, array->ndim, shape, array->strides);
    if (view == NULL || n > array->shape[0] / 2) {
        Py_DECREF(array);
        return view;
    }
    copy = lw_device_array_new(d->device, d->stream, (lw_dtype)array->dtype, array->ndim, shape,
                               'C');
    if (copy != NULL && copy->size > 0 &&
        lw_device_array_hooks.copy_strided(copy, view, d->stream) < 0)
        Py_CLEAR(copy);
    Py_DECREF(view);
    Py_DECREF(array);
    return copy;
}

static lw_device_array *
new_count(lw_reduce_device *d)
{
    int64_t one = 1;
    lw_device_array *count = lw_device_array_new(d->device, d->stream, LW_DT_i64, 1, &one, 'C');
    lw_error err = {0};

    if (count != NULL && lw_fill(&(lw_copy_queue){d->device, d->stream, false}, count->data, 0,
                                 4, 2, &err) != LW_OK) {
        lw_py_raise(&err);
        Py_CLEAR(count);
    }
    return count;
}

static int
wait_for_count(lw_reduce_device *d, const lw_device_array *count, int64_t *out)
{
    lw_error err = {0};
    lw_status status;

    Py_BEGIN_ALLOW_THREADS
    status = lw_copy_to_host(&(lw_copy_queue){d->device, d->stream, true}, out, count->data,
                             sizeof *out, &err);
    Py_END_ALLOW_THREADS
    if (status == LW_OK)
        return lw_check_errors();
    lw_py_raise(&err);
    return -1;
}

/* Runs the kernel; how many runs there were. -1 with an exception. */
static int64_t
run(lw_reduce_device *d, const lw_operand *keys, const lw_device_array *keys_out)
{
    lw_device_array *count;
    lw_reduce_scan scan;
    int64_t n = -1;

    lw_reduce_scan_start(&scan, d->call, 0);
    if (scan.elements == 0)
        return 0;
    if (scan.inner == 0) {
        PyErr_SetString(PyExc_ValueError, "by_key() of device arrays needs values in each row");
        return -1;
    }
    count = new_count(d);
    if (count == NULL)
        return -1;
    scan.keys = (const char *)(uintptr_t)keys->data;
    scan.key_step = keys->strides[0];
    scan.key_dtype = (lw_dtype)keys->dtype;
    scan.keys_out = (char *)(uintptr_t)keys_out->data;
    scan.n_runs = (char *)(uintptr_t)count->data;
    if (lw_reduce_scan_on_device(d, &scan, 0) < 0 || lw_reduce_scan_launch(d, &scan) < 0 ||
        wait_for_count(d, count, &n) < 0)
        n = -1;
    Py_DECREF(count);
    return n;
}

static PyObject *
by_key(lw_reduce_device *d, void *context)
{
    PyObject *args = context, *results, *first;
    const lw_operand *keys;
    lw_device_array *keys_out;
    int64_t n;

    if (lw_reduce_device_read(d, PySequence_Fast_ITEMS(args) + 1, PyTuple_GET_SIZE(args) - 1) <
        0)
        return NULL;
    keys = read_keys(d, PyTuple_GET_ITEM(args, 0));
    if (keys == NULL || lw_reduce_device_results(d, d->call->ndim, d->call->shape) < 0)
        return NULL;
    keys_out =
        lw_device_array_new(d->device, d->stream, (lw_dtype)keys->dtype, 1, keys->shape, 'C');
    n = keys_out ? run(d, keys, keys_out) : -1;
    for (uint32_t i = 0; i < d->call->specialisation->reduction->n_out && n >= 0; i++) {
        d->result[i] = first_rows(d, d->result[i], n);
        if (d->result[i] == NULL)
            n = -1;
    }
    if (n < 0)
        Py_CLEAR(keys_out);
    else
        keys_out = first_rows(d, keys_out, n);
    first = lw_result_wrap(keys, keys_out);
    results = first ? lw_reduce_device_hand_out(d) : NULL;
    if (results == NULL)
        Py_XDECREF(first);
    return results ? Py_BuildValue("NN", first, results) : NULL;
}

PyObject *
lw_reducer_by_key_on_device(PyObject *self, PyObject *args, PyObject *kwargs)
{
    lw_reduce_call *call = new_call(self, args);
    PyObject *result = NULL;

    if (call == NULL)
        return NULL;
    if (lw_reduce_read_keywords(&call->keywords, kwargs, LW_TAKES_KEYS, "by_key") < 0)
        result = NULL;
    else if (call->self->cpu_only)
        lw_reduce_refuse("by_key() of a reduction made with target=\"cpu\"");
    else
        result = lw_reduce_device_call(call, by_key, args);
    return lw_reduce_call_end(call, result);
}
