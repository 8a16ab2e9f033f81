#include "core/py/numpy_api.h"

#include "reduce/short_py.h"

#include "core/py/array/args.h"
#include "core/py/array/convert.h"
#include "core/py/float_flags.h"
#include "core/py/raise.h"
#include "core/py/type_num.h"
#include "reduce/host/host_flags.h"
#include "reduce/recall_py.h"

#include <stddef.h>
#include <string.h>

enum {
    DIMS = 4,      /* of the array at most */
    MOST = 1 << 13 /* elements, which take some microseconds */
};

typedef struct request {
    PyArrayObject *array; /* borrowed */
    int64_t axis;         /* LW_REDUCE_NO_AXIS: all */
    lw_dtype dtype;       /* void: not given */
} request;

/* ---- which calls ---- */

static bool
read_keywords(request *r, PyObject *const *values, PyObject *kwnames)
{
    r->axis = LW_REDUCE_NO_AXIS;
    r->dtype = LW_DT_void;
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        if (PyUnicode_CompareWithASCIIString(name, "axis") == 0) {
            if (!lw_reduce_recalled_axis(values[i], &r->axis))
                return false;
        } else if (PyUnicode_CompareWithASCIIString(name, "dtype") != 0 ||
                   !lw_reduce_recalled_dtype(values[i], &r->dtype))
            return false;
    }
    return true;
}

/* Whether this is the array of such a call, whose elements can be read where they are. */
static bool
is_small_array(PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;

    return PyArray_CheckExact(object) && PyArray_NDIM(array) <= DIMS &&
           PyArray_ISBEHAVED_RO(array) && PyArray_SIZE(array) > 0 &&
           PyArray_SIZE(array) <= MOST;
}

static bool
read_request(request *r, const lw_reducer *self, PyObject *const *args, Py_ssize_t n_args,
             PyObject *kwnames)
{
    int ndim;

    if (n_args != 1 || !is_small_array(args[0]) || lw_reducer_n_arrays(self) > 1 ||
        self->stage != LW_REDUCE_WHOLE || self->cuda_only ||
        !read_keywords(r, args + 1, kwnames))
        return false;
    r->array = (PyArrayObject *)args[0];
    ndim = PyArray_NDIM(r->array);
    if (r->axis != LW_REDUCE_NO_AXIS && r->axis < 0)
        r->axis += ndim;
    return r->axis == LW_REDUCE_NO_AXIS || (r->axis >= 0 && r->axis < ndim);
}

/* Whether results are one array of numbers, no function raises, and none may take long. */
static bool
is_plain(const lw_reduction *r)
{
    return r->n_in == 1 && r->n_out == 1 && r->n_raised == 0 && r->out_form.n_nodes == 1 &&
           r->out_form.node[0].kind == LW_REDUCE_NUMBER && !lw_is_time(r->out[0]);
}

/* ---- the job ---- */

/* Spaces and addresses; the shape of the results goes to `kept`. */
static void
fill_job(lw_reduce_job *job, const request *r, const lw_reduction *reduction)
{
    memset(job, 0, offsetof(lw_reduce_job, kept));
    job->kept.n = job->reduced.n = 0;
    job->reduction = reduction;
    job->operand[0] = PyArray_BYTES(r->array);
    job->here = true;
    for (int d = 0; d < PyArray_NDIM(r->array); d++) {
        bool reduced = r->axis == LW_REDUCE_NO_AXIS || r->axis == d;
        lw_reduce_space *space = reduced ? &job->reduced : &job->kept;
        int64_t size = PyArray_DIM(r->array, d);
        space->size[space->n] = size;
        space->stride[0][space->n++] = size != 1 ? PyArray_STRIDE(r->array, d) : 0;
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

static PyObject *
scalar_result(lw_reduce_job *job, PyArray_Descr *descr)
{
    _Alignas(16) char value[64];

    job->out[0] = value;
    return run(job) < 0 ? NULL : PyArray_Scalar(value, descr, NULL);
}

static PyObject *
array_result(lw_reduce_job *job, PyArray_Descr *descr)
{
    PyArrayObject *result;

    Py_INCREF(descr);
    result = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, job->kept.n,
                                                   (const npy_intp *)job->kept.size, NULL, NULL,
                                                   0, NULL);
    if (result == NULL)
        return NULL;
    job->out[0] = PyArray_BYTES(result);
    if (run(job) == 0)
        return (PyObject *)result;
    Py_DECREF(result);
    return NULL;
}

int
lw_reduce_short(lw_reducer *self, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames,
                PyObject **result)
{
    lw_reduce_operand operand = {0};
    lw_reduce_specialisation *specialisation;
    PyArray_Descr *descr;
    lw_reduce_job job; /* strides beyond `n` are not read */
    request r;

    if (!read_request(&r, self, args, n_args, kwnames))
        return 0;
    operand.dtype = lw_dtype_from_num(PyArray_TYPE(r.array));
    if (operand.dtype == LW_DT_void || (r.dtype != LW_DT_void && lw_is_complex(operand.dtype)))
        return 0;
    specialisation = lw_reducer_known(self, &operand, 1, r.dtype);
    if (specialisation == NULL || !is_plain(specialisation->reduction))
        return 0; /* the long way types it */
    fill_job(&job, &r, specialisation->reduction);
    job.code =
        lw_reducer_soon(self, specialisation, PyArray_SIZE(r.array), LW_REDUCE_QUICK, false);
    *result = NULL;
    if (job.code == NULL)
        return 1;
    if (job.code->costly)
        return 0;
    job.max_threads = (uint32_t)self->options.max_blocksize;
    descr = lw_descr_of(specialisation->reduction->out[0]);
    if (descr != NULL)
        *result = job.kept.n == 0 ? scalar_result(&job, descr) : array_result(&job, descr);
    return 1;
}
