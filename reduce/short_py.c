#include "core/py/numpy_api.h"

#include "reduce/short_py.h"

#include "core/host/flags.h"
#include "core/host/schedule.h"
#include "core/py/array/args.h"
#include "core/py/array/convert.h"
#include "core/py/float_flags.h"
#include "core/py/raise.h"
#include "core/py/type_num.h"
#include "reduce/host/host_flags.h"
#include "reduce/recall_py.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

enum {
    DIMS = 4,       /* of the array at most */
    MOST = 1 << 13, /* elements, which take some microseconds; … */
    /* … and of those that are known to be for one thread. What is known may come from arrays
     * that end a search early, so these are not too many either. */
    MOST_KNOWN = 1 << 18
};

typedef struct request {
    PyArrayObject *array; /* borrowed */
    int64_t n;            /* its elements */
    int64_t axis;         /* LW_REDUCE_NO_AXIS: all, or those of `several` */
    PyObject *several;    /* axis=, where it is a tuple; borrowed */
    uint32_t reduced;     /* bits of the dimensions that axis= means */
    lw_dtype dtype;       /* void: not given */
} request;

/* One that is answered here. */
typedef struct short_call {
    request r;
    const lw_reducer *self;
    const lw_reduction *reduction;
    lw_reduce_code *code;
    PyArray_Descr *descr; /* of the results; borrowed */
} short_call;

/* ---- which calls ---- */

static bool
read_axis(request *r, PyObject *axis)
{
    if (!PyTuple_CheckExact(axis))
        return lw_reduce_recalled_axis(axis, &r->axis);
    r->several = axis;
    return true;
}

static bool
read_keywords(request *r, int which, PyObject *const *values, PyObject *kwnames)
{
    r->axis = LW_REDUCE_NO_AXIS;
    r->several = NULL;
    r->dtype = LW_DT_void;
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        if (PyUnicode_CompareWithASCIIString(name, "axis") == 0) {
            if (!read_axis(r, values[i]))
                return false;
        } else if (PyUnicode_CompareWithASCIIString(name, "dtype") == 0) {
            if (!lw_reduce_recalled_dtype(values[i], &r->dtype))
                return false;
        } else if (which == LW_RECALL_ACCUMULATE || !lw_reduce_says_nothing(name, values[i]))
            return false;
    }
    return true;
}

/* Whether this is the array of such a call, whose elements can be read where they are. */
static bool
read_array(request *r, PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;

    if (!PyArray_CheckExact(object) || PyArray_NDIM(array) > DIMS ||
        !PyArray_ISBEHAVED_RO(array))
        return false;
    r->array = array;
    r->n = 1;
    for (int d = 0; d < PyArray_NDIM(array); d++) {
        if (PyArray_DIM(array, d) > MOST_KNOWN)
            return false;
        r->n *= PyArray_DIM(array, d);
    }
    return r->n > 0 && r->n <= MOST_KNOWN;
}

/* An axis that an array of `ndim` dimensions has. */
static bool
add_axis(request *r, int64_t axis, int ndim)
{
    axis += axis < 0 ? ndim : 0;
    if (axis < 0 || axis >= ndim || r->reduced >> axis & 1)
        return false;
    r->reduced |= UINT32_C(1) << axis;
    return true;
}

/* False: the long way says what is wrong with them. */
static bool
read_several(request *r, int ndim)
{
    int64_t axis;

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(r->several); i++)
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(r->several, i)) ||
            !lw_reduce_recalled_axis(PyTuple_GET_ITEM(r->several, i), &axis) ||
            !add_axis(r, axis, ndim))
            return false;
    return r->reduced != 0;
}

/* A scan takes the first axis where none is given; None says so only where there is no other.
 */
static bool
read_request(request *r, int which, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    int ndim;

    if (n_args != 1 || !read_array(r, args[0]) || !read_keywords(r, which, args + 1, kwnames))
        return false;
    ndim = PyArray_NDIM(r->array);
    if (r->axis != LW_REDUCE_NO_AXIS && r->axis < 0)
        r->axis += ndim;
    if (r->axis == LW_REDUCE_NO_AXIS && which == LW_RECALL_ACCUMULATE &&
        (kwnames == NULL || ndim == 1))
        r->axis = 0;
    r->reduced = 0;
    if (r->several != NULL)
        return which == LW_RECALL_CALL && read_several(r, ndim);
    if (r->axis != LW_REDUCE_NO_AXIS)
        return r->axis >= 0 && add_axis(r, r->axis, ndim);
    r->reduced = (UINT32_C(1) << ndim) - 1;
    return which == LW_RECALL_CALL;
}

/* Whether results are one array of numbers, no function raises, and none may take long. */
static bool
is_plain(const lw_reduction *r)
{
    return r->n_in == 1 && r->n_out == 1 && r->n_raised == 0 && r->out_form.n_nodes == 1 &&
           r->out_form.node[0].kind == LW_REDUCE_NUMBER && !lw_is_time(r->out[0]);
}

/* Whether this thread is to reduce the elements alone, as far as the loops that have all that
 * is compiled have measured how long that takes. */
static bool
is_short(const lw_reduce_specialisation *specialisation, const request *r, int which)
{
    lw_reduce_way way = which == LW_RECALL_CALL ? LW_REDUCE_ROWS : LW_REDUCE_IN_ORDER;
    uint32_t cost_ps =
        atomic_load_explicit(&specialisation->host.cost_ps[way], memory_order_relaxed);

    if (r->n <= MOST)
        return true;
    if (cost_ps == 0 || PyArray_NDIM(r->array) != 1)
        return false;
    if (lw_reduce_is_undivided(&specialisation->host, way, r->n))
        return true;
    if (lw_work_pays((double)r->n * cost_ps))
        return false;
    lw_work_alone((double)r->n * cost_ps);
    return true;
}

/* NULL: the call is not such a one, or the long way types it first. */
static lw_reduce_specialisation *
specialisation_of(lw_reducer *self, const request *r, int which)
{
    lw_reduce_operand operand = {.dtype = lw_dtype_from_num(PyArray_TYPE(r->array))};
    lw_reduce_specialisation *found;

    if (self->stage != LW_REDUCE_WHOLE || self->cuda_only || operand.dtype == LW_DT_void ||
        (r->dtype != LW_DT_void && lw_is_complex(operand.dtype)))
        return NULL;
    found = lw_reducer_known(self, &operand, 1, r->dtype);
    return found != NULL && is_plain(found->reduction) && is_short(found, r, which) ? found
                                                                                    : NULL;
}

/* ---- the job ---- */

/* Spaces and addresses; the shape of the results goes to `kept`. */
static void
fill_job(lw_reduce_job *job, const short_call *c)
{
    PyArrayObject *array = c->r.array;

    memset(job, 0, offsetof(lw_reduce_job, kept));
    job->kept.n = job->reduced.n = 0;
    job->reduction = c->reduction;
    job->code = c->code;
    job->max_threads = (uint32_t)c->self->options.max_blocksize;
    job->operand[0] = PyArray_BYTES(array);
    job->here = true;
    for (int d = 0; d < PyArray_NDIM(array); d++) {
        lw_reduce_space *space = c->r.reduced >> d & 1 ? &job->reduced : &job->kept;
        int64_t size = PyArray_DIM(array, d);
        space->size[space->n] = size;
        space->stride[0][space->n++] = size != 1 ? PyArray_STRIDE(array, d) : 0;
    }
}

/* -1 with an exception. */
static int
run(lw_reduce_job *job)
{
    lw_error err = {0};
    lw_status status;
    int flags;

    lw_reduce_flags_begin();
    status = lw_reduce_run(job, &err);
    flags = lw_reduce_flags_end(job, true, 0);
    if (status == LW_OK)
        return lw_give_float_flags("reduce", flags);
    lw_py_raise(&err);
    return -1;
}

/* The same of a scan along `reduced`. The dimensions of `results` are `kept`, then that one. */
static int
run_scan(lw_reduce_job *job, const lw_reduce_space *results, int64_t n)
{
    lw_error err = {0};
    lw_status status;
    int flags;

    lw_reduce_flags_begin();
    status = lw_reduce_scan_run(job, results, false, &err);
    flags = lw_reduce_flags_end(job, false, n);
    if (status == LW_OK)
        return lw_give_float_flags("accumulate", flags);
    lw_py_raise(&err);
    return -1;
}

/* ---- results ---- */

static PyArrayObject *
new_array(const short_call *c, int ndim, const int64_t *shape)
{
    Py_INCREF(c->descr);
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, c->descr, ndim,
                                                 (const npy_intp *)shape, NULL, NULL, 0, NULL);
}

/* Not inlined, like the next one: its frame has a job, of more bytes than a single number needs
 * to have touched. */
static __attribute__((noinline)) PyObject *
reduce(const short_call *c)
{
    _Alignas(16) char value[64];
    PyArrayObject *result;
    lw_reduce_job job; /* strides beyond `n` are not read */

    fill_job(&job, c);
    if (job.kept.n == 0) {
        job.out[0] = value;
        return run(&job) < 0 ? NULL : PyArray_Scalar(value, c->descr, NULL);
    }
    result = new_array(c, job.kept.n, job.kept.size);
    if (result != NULL)
        job.out[0] = PyArray_BYTES(result);
    if (result != NULL && run(&job) < 0)
        Py_CLEAR(result);
    return (PyObject *)result;
}

/* In the operand's order in memory, as NumPy's. */
static PyArrayObject *
new_scan(const short_call *c)
{
    PyArrayObject *model = c->r.array;

    if (PyArray_NDIM(model) == 1)
        return new_array(c, 1, &c->r.n);
    Py_INCREF(c->descr);
    return (PyArrayObject *)PyArray_NewLikeArray(model, NPY_KEEPORDER, c->descr, 0);
}

static __attribute__((noinline)) PyObject *
scan(const short_call *c)
{
    PyArrayObject *result = new_scan(c);
    lw_reduce_space results; /* like the job's */
    lw_reduce_job job;
    int ndim, n = 0;

    if (result == NULL)
        return NULL;
    fill_job(&job, c);
    job.out[0] = PyArray_BYTES(result);
    ndim = PyArray_NDIM(result);
    results.n = ndim;
    for (int d = 0; d < ndim; d++) {
        int to = d == c->r.axis ? ndim - 1 : n++;
        results.size[to] = PyArray_DIM(result, d);
        results.stride[0][to] = PyArray_STRIDE(result, d);
    }
    if (run_scan(&job, &results, c->r.n) < 0)
        Py_CLEAR(result);
    return (PyObject *)result;
}

/* What the calls of compiled code for a single number have raised. -1 with an exception. */
static __attribute__((noinline)) int
give_flags(const short_call *c, char *value)
{
    lw_reduce_job job;

    fill_job(&job, c);
    job.out[0] = value;
    return lw_give_float_flags("reduce", lw_reduce_flags_end(&job, true, 0));
}

/* One number of contiguous elements. NULL without an exception: it takes a job. */
static PyObject *
number(const short_call *c)
{
    PyArrayObject *array = c->r.array;
    _Alignas(16) char value[64];

    if (c->r.reduced + 1 != UINT32_C(1) << PyArray_NDIM(array) ||
        !PyArray_IS_C_CONTIGUOUS(array))
        return NULL;
    lw_reduce_flags_begin();
    if (!lw_reduce_run_few(c->reduction, c->code, PyArray_BYTES(array), c->r.n, value) ||
        (lw_flags_raised() && give_flags(c, value) < 0))
        return NULL;
    return PyArray_Scalar(value, c->descr, NULL);
}

int
lw_reduce_short(lw_reducer *self, int which, PyObject *const *args, Py_ssize_t n_args,
                PyObject *kwnames, PyObject **result)
{
    bool scans = which == LW_RECALL_ACCUMULATE;
    lw_reduce_specialisation *specialisation;
    short_call c;

    if (!read_request(&c.r, which, args, n_args, kwnames))
        return 0;
    specialisation = specialisation_of(self, &c.r, which);
    if (specialisation == NULL)
        return 0;
    *result = NULL;
    c.self = self;
    c.reduction = specialisation->reduction;
    c.code = lw_reducer_soon(self, specialisation, c.r.n,
                             scans ? LW_REDUCE_QUICK_SCANS_ALONE : LW_REDUCE_QUICK, false);
    if (c.code == NULL)
        return 1;
    if (c.code->costly)
        return 0;
    c.descr = lw_descr_of(c.reduction->out[0]);
    if (c.descr == NULL)
        return 1;
    *result = scans ? scan(&c) : number(&c);
    if (*result == NULL && !scans && !PyErr_Occurred())
        *result = reduce(&c);
    return 1;
}
