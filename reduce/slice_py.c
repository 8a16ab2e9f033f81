#include "core/py/numpy_api.h"

#include "reduce/slice_py.h"

#include "core/base/memory.h"
#include "core/device/copy.h"
#include "core/device/launch.h"
#include "core/py/array/host_view.h"
#include "core/py/raise.h"
#include "reduce/device/slice_plan.h"
#include "reduce/device_parts_py.h"
#include "reduce/scan_py.h"

#include <string.h>

/* Slices of this mean length are reduced by many blocks each, in a launch of their own. */
enum { LONG = 1 << 16 };

/* A call's slices. */
typedef struct slices {
    lw_reduce_scan scan;
    PyArrayObject *indices; /* owned */
    lw_reduce_slice *at;    /* owned */
    int64_t n;
    int axis;
} slices;

PyArrayObject *
lw_reduce_read_indices(PyObject *given)
{
    lw_device_array *array;
    PyObject *host = NULL;
    PyArrayObject *indices;

    if (lw_refuse_container(given, false, "indices") < 0)
        return NULL;
    if (lw_is_device_operand(given)) {
        array = lw_operand_as_array(given);
        if (array != NULL)
            host = lw_device_array_to_host(array, lw_device_array_stream(array));
        Py_XDECREF(array);
        if (host == NULL)
            return NULL;
        given = host;
    }
    indices = (PyArrayObject *)PyArray_FromAny(given, PyArray_DescrFromType(NPY_INT64), 1, 1,
                                               NPY_ARRAY_CARRAY_RO, NULL);
    Py_XDECREF(host);
    return indices;
}

int
lw_reduce_check_slices(lw_reduce_call *call, PyArrayObject *indices, int *axis)
{
    const int64_t *index = PyArray_DATA(indices);

    if (lw_reduce_read_scan_axis(call, "reduceat", axis) < 0)
        return -1;
    for (int64_t i = 0; i < PyArray_SIZE(indices); i++)
        if (index[i] < 0 || index[i] >= call->shape[*axis]) {
            PyErr_Format(PyExc_IndexError, "index %lld out-of-bounds in %s.reduceat [0, %lld)",
                         (long long)index[i], lw_reducer_name(call->self),
                         (long long)call->shape[*axis]);
            return -1;
        }
    return 0;
}

/* The axis, the slices, and the results' shape, which has as many as there are slices. */
static int
read_slices(slices *s, lw_reduce_call *call, int64_t *shape)
{
    s->n = PyArray_SIZE(s->indices);
    if (lw_reduce_check_slices(call, s->indices, &s->axis) < 0)
        return -1;
    s->at = lw_alloc((size_t)(s->n + 1) * sizeof *s->at);
    if (s->at == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    lw_reduce_scan_start(&s->scan, call, s->axis);
    lw_reduce_slices_of(PyArray_DATA(s->indices), s->n, s->scan.elements, s->at);
    memcpy(shape, call->shape, sizeof call->shape);
    shape[s->axis] = s->n;
    return 0;
}

static bool
is_empty(const slices *s)
{
    return s->n == 0 || s->scan.outer == 0 || s->scan.inner == 0;
}

/* ---- the simulator ---- */

static lw_status
simulate(const slices *s, const lw_reduce_slice_plan *plan, const lw_reduce_entry *entry,
         lw_error *err)
{
    uint64_t words[LW_SCAN_MOST_PARAMS];

    lw_reduce_slice_words(&s->scan, plan, s->n, (uint64_t)(uintptr_t)s->at, words);
    return lw_reduce_simulate(entry, (uint32_t)plan->tiles, 1, plan->threads, words, err);
}

static int
run_simulated(lw_reduce_call *call, const slices *s, lw_reduce_slice_plan *plan)
{
    lw_reduce_entry *entry;
    lw_error err = {0};
    lw_status status;

    plan->key.simulated = 1;
    entry = lw_reduce_entry_of(call, NULL, &plan->key);
    if (entry == NULL)
        return -1;
    Py_BEGIN_ALLOW_THREADS
    status = simulate(s, plan, entry, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        lw_py_raise(&err);
    return status == LW_OK ? 0 : -1;
}

/* With res= the code for compute capability size=. */
static PyObject *
simulate_call(lw_reduce_call *call, slices *s, PyObject *args)
{
    Py_ssize_t n = PyTuple_GET_SIZE(args) - 1;
    int64_t shape[LW_REDUCE_DIMS];
    lw_reduce_slice_plan plan;

    s->indices = lw_reduce_read_indices(PyTuple_GET_ITEM(args, n));
    if (s->indices == NULL ||
        lw_reduce_read_operands(call, PySequence_Fast_ITEMS(args), n, NULL) < 0 ||
        read_slices(s, call, shape) < 0 || lw_reduce_new_results(call, call->ndim, shape) < 0 ||
        lw_reduce_scan_on_host(call, &s->scan, s->axis) < 0)
        return NULL;
    if (is_empty(s))
        return lw_reduce_hand_out(call);
    lw_reduce_slice_plan_of(&s->scan, s->n, &plan);
    if (call->keywords.res != NULL)
        return lw_reduce_cubin_of(call, &plan.key, (int)PyLong_AsLong(call->keywords.size));
    return run_simulated(call, s, &plan) < 0 ? NULL : lw_reduce_hand_out(call);
}

static void
reset(slices *s)
{
    Py_CLEAR(s->indices);
    lw_free(s->at);
}

PyObject *
lw_reducer_simulate_slices(PyObject *self, PyObject *args, PyObject *kwargs)
{
    lw_reduce_call *call = lw_reduce_call_new(self);
    PyObject *result = NULL;
    slices s = {0};

    if (call == NULL)
        return NULL;
    if (PyTuple_GET_SIZE(args) < 2)
        PyErr_SetString(PyExc_TypeError, "_simulate_slices() takes arrays, then indices");
    else if (lw_reduce_read_keywords(&call->keywords, kwargs, LW_TAKES_REDUCE,
                                     "_simulate_slices") == 0)
        result = simulate_call(call, &s, args);
    reset(&s);
    return lw_reduce_call_end(call, result);
}

/* ---- device arrays ---- */

typedef struct planned_slices {
    const lw_reduce_entry *entry;
    lw_reduce_slice_plan plan;
    const slices *slices;
} planned_slices;

static lw_status
launch_slices(lw_reduce_device *d, void *context, lw_error *err)
{
    planned_slices *p = context;
    const slices *s = p->slices;
    uint64_t words[LW_SCAN_MOST_PARAMS];
    size_t bytes = (size_t)s->n * sizeof *s->at;
    lw_status status = LW_OK;
    uint32_t n;

    LW_TRY(lw_pool_take(d->device, bytes, d->stream, &d->memory, err));
    LW_TRY(lw_copy_to_device(&(lw_copy_queue){d->device, d->stream, false}, d->memory->address,
                             s->at, bytes,
                             err)); /* pageable: the driver has read it when this returns */
    n = lw_reduce_slice_words(&s->scan, &p->plan, s->n, d->memory->address, words);
    LW_TRY(lw_reduce_launch_words(p->entry,
                                  &(lw_launch_shape){.grid = {(uint32_t)p->plan.tiles, 1, 1},
                                                     .block = {p->plan.threads, 1, 1},
                                                     .stream = d->stream},
                                  words, n, err));
fail:
    return status;
}

static int
run_together(lw_reduce_device *d, const slices *s)
{
    planned_slices p = {.slices = s};

    lw_reduce_slice_plan_of(&s->scan, s->n, &p.plan);
    if (p.plan.tiles > INT32_MAX)
        return lw_reduce_refuse("so many results");
    p.entry = lw_reduce_entry_of(d->call, d->device, &p.plan.key);
    return p.entry != NULL ? lw_reduce_launch(d, launch_slices, &p) : -1;
}

/* One slice as a reduction of its own. */
static int
run_one(lw_reduce_device *d, const slices *s, int64_t which)
{
    const lw_reduction *r = s->scan.reduction;
    lw_reduce_job *job = &d->call->job;

    memset(job, 0, sizeof *job);
    job->reduction = r;
    job->max_threads = s->scan.max_threads;
    job->kept.n = job->reduced.n = 1;
    job->kept.size[0] = s->scan.inner;
    job->reduced.size[0] = s->at[which].count;
    for (uint32_t i = 0; i < r->n_in; i++) {
        job->operand[i] = (char *)(uintptr_t)s->scan.operand[i];
        job->operand[i] += s->at[which].begin * s->scan.step[i];
        job->kept.stride[i][0] = s->scan.inner_step[i];
        job->reduced.stride[i][0] = s->scan.step[i];
    }
    for (uint32_t i = 0; i < r->n_out; i++)
        job->out[i] =
            s->scan.out[i] + (size_t)(which * s->scan.inner) * lw_dtypes[r->out[i]].size_bytes;
    lw_pool_put(d->memory);
    d->memory = NULL;
    return lw_reduce_run_job(d);
}

static int
run(lw_reduce_device *d, slices *s)
{
    if (lw_reduce_scan_on_device(d, &s->scan, s->axis) < 0)
        return -1;
    if (s->scan.outer != 1 || s->scan.elements / s->n < LONG)
        return run_together(d, s);
    for (int64_t i = 0; i < s->n; i++)
        if (run_one(d, s, i) < 0)
            return -1;
    return 0;
}

typedef struct given {
    PyObject *const *arrays;
    Py_ssize_t n;
    PyObject *indices;
} given;

static PyObject *
reduceat(lw_reduce_device *d, const given *g, slices *s)
{
    int64_t shape[LW_REDUCE_DIMS];

    s->indices = lw_reduce_read_indices(g->indices);
    if (s->indices == NULL || lw_reduce_device_read(d, g->arrays, g->n) < 0 ||
        lw_reduce_check_out_count(d) < 0 || read_slices(s, d->call, shape) < 0 ||
        lw_reduce_device_results(d, d->call->ndim, shape) < 0)
        return NULL;
    if (!is_empty(s) && run(d, s) < 0)
        return NULL;
    return lw_reduce_device_hand_out(d);
}

static PyObject *
act(lw_reduce_device *d, void *context)
{
    slices s = {0};
    PyObject *result = reduceat(d, context, &s);

    reset(&s);
    return result;
}

PyObject *
lw_reduce_reduceat_on_device(lw_reduce_call *call, PyObject *const *arrays, Py_ssize_t n,
                             PyObject *indices)
{
    given g = {arrays, n, indices};

    return lw_reduce_device_call(call, act, &g);
}
