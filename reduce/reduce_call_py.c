/* r(a, *more, …), r.accumulate and r.reduceat. */
#include "core/py/numpy_api.h"

#include "core/base/memory.h"
#include "core/front/read/critical.h"
#include "core/front/read/python.h"
#include "core/front/read/services.h"
#include "core/py/array/args.h"
#include "core/py/array/host_view.h"
#include "core/py/compiled/in_python.h"
#include "core/py/host_cuda.h"
#include "core/py/progress.h"
#include "core/py/raise.h"
#include "core/py/signals.h"
#include "reduce/call_parts_py.h"
#include "reduce/device_py.h"
#include "reduce/form_py.h"
#include "reduce/host/host_flags.h"
#include "reduce/scan_py.h"
#include "reduce/slice_py.h"

#include <string.h>

static bool
any_on_device(PyObject *args)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        if (lw_is_device_operand(PyTuple_GET_ITEM(args, i)))
            return true;
    return false;
}

/* What users call it: its __name__, which is not always that of its operator. A new reference,
 * or NULL with an exception. */
static PyObject *
shown_name(const lw_reducer *self)
{
    PyObject *name = PyObject_GetAttrString((PyObject *)self, "__name__");

    if (name == NULL || !PyUnicode_Check(name)) {
        PyErr_Clear();
        Py_XSETREF(name, PyUnicode_FromString(lw_reducer_name(self)));
    }
    return name;
}

/* -1: this asks for progress= of a call on a device. */
static int
refuse_progress(const lw_reduce_call *call)
{
    PyObject *name = shown_name(call->self);
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
    int result = text ? lw_progress_refuse(call->keywords.progress, text) : -1;

    Py_XDECREF(name);
    return result;
}

static int
refuse_stream(const lw_reducer *self)
{
    PyObject *name = shown_name(self);

    if (name != NULL)
        PyErr_Format(PyExc_TypeError,
                     "stream= is for device arrays; `%U` was called with host operands only",
                     name);
    Py_XDECREF(name);
    return -1;
}

/* target="cpu" is for host arrays, stream= for those of a device. */
static int
check_target(const lw_reduce_call *call, bool on_device)
{
    const lw_reducer *self = call->self;
    lw_error err = {0};

    if (!on_device && call->keywords.stream != NULL &&
        !lw_stream_says_nothing(call->keywords.stream))
        return refuse_stream(self);
    if (on_device && call->keywords.progress != NULL && refuse_progress(call) < 0)
        return -1;
    if (!on_device || !self->cpu_only)
        return 0;
    lw_fail(&err, LW_ERR_UNSUPPORTED,
            "a reduction made with target=\"cpu\" takes host arrays: use copy_to_host()");
    lw_py_raise(&err);
    return -1;
}

/* target="cuda" with host arrays: lanewise/_reduce.py copies them there, and results back. */
static bool
is_axis(PyObject *object)
{
    bool good = PyTuple_Check(object) && PyTuple_GET_SIZE(object) > 0;

    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(object); i++)
        good = PyLong_Check(PyTuple_GET_ITEM(object, i)) ||
               PyArray_IsScalar(PyTuple_GET_ITEM(object, i), Integer);
    return good || object == Py_None || (PyLong_Check(object) && !PyBool_Check(object)) ||
           PyArray_IsScalar(object, Integer);
}

/* Without a map any number of arrays are the accumulator's numbers: what stands before an axis
 * or a truth value, and before the indices, where such are among them. */
static Py_ssize_t
leading_arrays(PyObject *args, bool with_indices)
{
    Py_ssize_t n = 1, more;

    while (n < PyTuple_GET_SIZE(args)) {
        PyObject *object = PyTuple_GET_ITEM(args, n);
        if ((is_axis(object) && !(with_indices && PyTuple_Check(object))) ||
            PyBool_Check(object))
            break;
        n++;
    }
    more = n - with_indices;
    return more > 1 ? more : 1;
}

static bool
goes_through_device(PyObject *self, PyObject *args)
{
    return ((lw_reducer *)self)->cuda_only && PyTuple_GET_SIZE(args) > 0 &&
           !any_on_device(args);
}

static PyObject *
through_device(PyObject *self, const char *method, PyObject *args, PyObject *kwargs)
{
    bool indices = strcmp(method, "reduceat") == 0 &&
                   (kwargs == NULL || PyDict_GetItemString(kwargs, "indices") == NULL);
    uint32_t n = lw_reducer_n_arrays((lw_reducer *)self);
    PyObject *module = lw_service_module(LW_SERVICE_REDUCE), *result;

    if (module == NULL)
        return NULL;
    if (n == 0)
        n = strcmp(method, "__call__") == 0 ? LW_REDUCE_MOST
                                            : (uint32_t)leading_arrays(args, indices);
    result = PyObject_CallMethod(module, "through_device", "OsIOO", self, method, n, args,
                                 kwargs ? kwargs : Py_None);
    Py_DECREF(module);
    return result;
}

/* LW_ERR_PYTHON has no text: the handler of Ctrl-C has raised. */
static int
raise_unless_ok(lw_status status, lw_error *err)
{
    if (status == LW_ERR_PYTHON)
        err->status = status;
    if (status != LW_OK)
        lw_py_raise(err);
    return status == LW_OK ? 0 : -1;
}

/* Without the GIL, and until Ctrl-C. */
typedef struct free_run {
    PyThreadState *state;
    lw_stop stop;
} free_run;

static void
run_begin(free_run *r, lw_reduce_job *job)
{
    r->state = PyEval_SaveThread();
    lw_reduce_flags_begin();
    r->stop = (lw_stop){.ask = lw_signal_raised, .context = &r->state};
    job->stop = &r->stop;
}

static void
run_end(free_run *r, lw_reduce_job *job)
{
    job->stop = NULL;
    PyEval_RestoreThread(r->state);
}

/* Of one operand, before they are masked: the work goes over as many. */
static int64_t
n_elements(const lw_reduce_call *call)
{
    int64_t n = 1;

    for (int d = 0; d < call->ndim; d++)
        n *= call->shape[d];
    return n;
}

static int
begin_progress(lw_progress *progress, const lw_reduce_call *call)
{
    PyObject *name = call->keywords.progress ? shown_name(call->self) : NULL;
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
    int result =
        text || call->keywords.progress == NULL
            ? lw_progress_begin(progress, call->keywords.progress, n_elements(call), text)
            : -1;

    Py_XDECREF(name);
    return result;
}

static int
run_job(lw_reduce_call *call)
{
    lw_progress progress;
    lw_error err = {0};
    lw_status status;
    free_run run;
    int failed;

    if (begin_progress(&progress, call) < 0)
        return -1;
    call->method = "reduce";
    run_begin(&run, &call->job);
    lw_progress_watch(&progress, &run.stop);
    status = lw_reduce_run(&call->job, &err);
    call->flags = lw_reduce_flags_end(&call->job, true, 0);
    run_end(&run, &call->job);
    failed = raise_unless_ok(status, &err);
    return lw_progress_end(&progress, failed == 0) < 0 ? -1 : failed;
}

/* ---- the functions as plain Python ---- */

/* Whether all that it has are numbers in tuples, whose items have no names. */
static bool
is_plain(const lw_reduce_form *form)
{
    for (uint32_t i = 0; i < form->n_nodes; i++)
        if (form->node[i].kind == LW_REDUCE_RECORD || form->node[i].name != NULL)
            return false;
    return true;
}

/* A tuple of n items; give: a new reference. */
static PyObject *
tuple_of(const lw_reduce_call *call, uint32_t n,
         PyObject *(*give)(const lw_reduce_call *call, uint32_t i))
{
    PyObject *tuple = PyTuple_New(n);

    for (uint32_t i = 0; tuple != NULL && i < n; i++)
        lw_tuple_put(&tuple, i, give(call, i));
    return tuple;
}

/* Operand i in the dtype that map takes. */
static PyObject *
operand(const lw_reduce_call *call, uint32_t i)
{
    PyArray_Descr *descr = lw_descr_of(call->specialisation->reduction->in[i]);

    Py_XINCREF(descr);
    return descr ? PyArray_CastToType(call->in[i], descr, 0) : NULL;
}

static PyObject *
accumulator_dtype(const lw_reduce_call *call, uint32_t i)
{
    return Py_XNewRef((PyObject *)lw_descr_of(call->specialisation->reduction->acc[i]));
}

static PyObject *
is_reduced(const lw_reduce_call *call, uint32_t d)
{
    return PyBool_FromLong(call->reduced[d]);
}

static PyObject *
result(const lw_reduce_call *call, uint32_t i)
{
    return Py_NewRef((PyObject *)call->result[i]);
}

/* What nothing is reduced to, number by number. */
static PyObject *
empty_number(void *context, uint32_t i)
{
    lw_reduce_call *call = context;
    PyArray_Descr *descr = lw_descr_of(call->specialisation->reduction->acc[i]);

    return descr ? PyArray_Scalar(call->empty[i].bytes, descr, NULL) : NULL;
}

/* Records are passed to kernels number by number, and named tuples as tuples. */
static bool
has_names(const lw_reduction *r)
{
    bool named = !is_plain(&r->acc_form) || !is_plain(&r->out_form);

    for (uint32_t i = 0; i < r->n_arrays; i++)
        named |= r->array[i].record != NULL;
    return named;
}

/* Calls loop(operands, mask, shape, reduced, dtypes, empty, begins, indexed, results), which
 * fills the results. dtypes are those of an accumulator's numbers; empty: the accumulator of
 * nothing, or None; begins: whether it is initial=, with which each result begins. */
static int
run_in_python(lw_reduce_call *call, PyObject *loop)
{
    const lw_reduction *r = call->specialisation->reduction;
    PyObject *mask = call->masked ? (PyObject *)call->in[call->n_in] : Py_None;
    uint32_t n = lw_reduce_n_results(r);
    PyObject *args[9], *done = NULL;
    bool good = true;
    lw_error err = {0};
    int n_args = 0;

    if (has_names(r)) {
        lw_fail(&err, LW_ERR_UNSUPPORTED, "a reduction of records has no loop of Python's");
        lw_py_raise(&err);
        return -1;
    }
    for (uint32_t i = n; i < r->n_out; i++) /* which exceptions were raised: none */
        PyArray_FILLWBYTE(call->result[i], 0);
    args[n_args++] = tuple_of(call, call->n_in, operand);
    args[n_args++] = Py_NewRef(mask);
    args[n_args++] = PyArray_IntTupleFromIntp(call->ndim, (const npy_intp *)call->shape);
    args[n_args++] = tuple_of(call, (uint32_t)call->ndim, is_reduced);
    args[n_args++] = tuple_of(call, r->n_acc - r->n_raised, accumulator_dtype);
    args[n_args++] = call->has_empty ? lw_reduce_arrange(&r->acc_form, empty_number, call)
                                     : Py_NewRef(Py_None);
    args[n_args++] = PyBool_FromLong(call->has_initial);
    args[n_args++] = PyBool_FromLong(r->indexed);
    args[n_args++] = tuple_of(call, n, result);
    for (int i = 0; i < n_args; i++)
        good &= args[i] != NULL;
    if (good)
        done = lw_python_loop_call(loop, args, n_args);
    while (n_args > 0)
        Py_XDECREF(args[--n_args]);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* ---- r(...) ---- */

/* The number of elements, up to all of them. New reference. */
static PyObject *
read_size(PyObject *array, PyObject *size)
{
    PyObject *shape, *stop;
    Py_ssize_t ndim, n;

    if (!PyIndex_Check(size) || PyBool_Check(size) || PyArray_Check(size))
        return PyErr_Format(PyExc_TypeError, "size= must be an int, not %.100s %.200R",
                            Py_TYPE(size)->tp_name, size);
    shape = PyObject_GetAttrString(array, "shape");
    ndim = shape ? PyObject_Length(shape) : -1;
    Py_XDECREF(shape);
    if (ndim < 0)
        return NULL;
    if (ndim != 1)
        return PyErr_Format(PyExc_ValueError,
                            "size= is for an array of one dimension, not of %zd", ndim);
    n = PyObject_Length(array);
    stop = n < 0 ? NULL : PyNumber_Index(size);
    if (stop != NULL) {
        Py_ssize_t wanted = PyNumber_AsSsize_t(stop, NULL);
        if (wanted >= 0 && wanted <= n)
            return stop;
        PyErr_Format(PyExc_ValueError,
                     "size= must be 0 to %zd, the number of elements, not %.200R", n, size);
        Py_DECREF(stop);
    }
    return NULL;
}

/* numba's size=: the first so many elements of a one-dimensional array. New tuple. */
static PyObject *
first_elements(PyObject *args, PyObject *size)
{
    PyObject *array, *stop, *slice = NULL, *part = NULL, *all = NULL;

    if (PyTuple_GET_SIZE(args) != 1) {
        PyErr_SetString(PyExc_TypeError, "size= is for one array");
        return NULL;
    }
    array = any_on_device(args) || PyArray_Check(PyTuple_GET_ITEM(args, 0))
                ? Py_NewRef(PyTuple_GET_ITEM(args, 0))
            : lw_refuse_container(PyTuple_GET_ITEM(args, 0), true, "argument 1") < 0
                ? NULL
                : PyArray_FROM_O(PyTuple_GET_ITEM(args, 0));
    stop = array ? read_size(array, size) : NULL;
    if (stop != NULL)
        slice = PySlice_New(NULL, stop, NULL);
    if (slice != NULL)
        part = PyObject_GetItem(array, slice);
    if (part != NULL)
        all = PyTuple_Pack(1, part);
    Py_XDECREF(part);
    Py_XDECREF(slice);
    Py_XDECREF(stop);
    Py_XDECREF(array);
    return all;
}

/* numba's res=: its first element gets the result, and nothing is returned. Steals result. */
static PyObject *
put_in_res(PyObject *res, PyObject *result)
{
    PyObject *zero = result ? PyLong_FromLong(0) : NULL;
    int failed = zero ? PyObject_SetItem(res, zero, result) : -1;

    Py_XDECREF(zero);
    Py_XDECREF(result);
    return failed < 0 ? NULL : Py_NewRef(Py_None);
}

/* At first code that is compiled soon. */
static int
choose_code(lw_reduce_call *call)
{
    call->code = lw_reducer_soon(call->self, call->specialisation, n_elements(call),
                                 LW_REDUCE_QUICK, call->masked);
    return call->code ? 0 : -1;
}

/* numpy.matrix has two axes, whatever its methods reduce, or the result is a number. */
static int
keeps_axes(lw_reduce_call *call, int keepdims)
{
    PyObject *axis = call->keywords.axis;

    if (keepdims || call->wraps == NULL ||
        !PyObject_HasAttrString((PyObject *)Py_TYPE(call->wraps), "getA1"))
        return keepdims;
    if (axis != NULL && axis != Py_None)
        return 1;
    call->wraps = NULL;
    return 0;
}

static PyObject *
call_on_host(lw_reduce_call *call, PyObject *args)
{
    PyObject *const *arrays = PySequence_Fast_ITEMS(args);
    int64_t shape[LW_REDUCE_DIMS];
    int keepdims = lw_reduce_read_flag(call->keywords.keepdims, "keepdims"), ndim;
    PyObject *loop = lw_python_loop_of((lw_compiled *)call->self);

    call->soon = true;
    if (keepdims < 0 ||
        lw_reduce_read_operands(call, arrays, PyTuple_GET_SIZE(args), call->keywords.where) <
            0 ||
        lw_reduce_read_axes(call, call->keywords.axis) < 0 ||
        (loop == NULL && choose_code(call) < 0) || lw_reduce_read_initial(call) < 0)
        return NULL;
    keepdims = keeps_axes(call, keepdims);
    ndim = lw_reduce_shape(call, keepdims, shape);
    if (lw_reduce_check_empty(call) < 0 || lw_reduce_new_results(call, ndim, shape) < 0)
        return NULL;
    if (loop != NULL)
        return run_in_python(call, loop) < 0 ? NULL : lw_reduce_hand_out(call);
    lw_reduce_fill_job(call);
    lw_reduce_mask_job(call);
    return run_job(call) < 0 ? NULL : lw_reduce_hand_out(call);
}

/* Kernels on a device, their counters and the remembered calls are the Reduction's: calls there
 * are in a critical section. */
static PyObject *
call_on_device(lw_reduce_call *call, PyObject *args)
{
    PyObject *result;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)call->self);
    result = lw_reduce_on_device(call, args);
    Py_END_CRITICAL_SECTION();
    return result;
}

static PyObject *
accumulate_on_device(lw_reduce_call *call, PyObject *const *arrays, Py_ssize_t n)
{
    PyObject *result;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)call->self);
    result = lw_reduce_accumulate_on_device(call, arrays, n);
    Py_END_CRITICAL_SECTION();
    return result;
}

static PyObject *
reduceat_on_device(lw_reduce_call *call, PyObject *const *arrays, Py_ssize_t n,
                   PyObject *indices)
{
    PyObject *result;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)call->self);
    result = lw_reduce_reduceat_on_device(call, arrays, n, indices);
    Py_END_CRITICAL_SECTION();
    return result;
}

/* NumPy's r(a, 0): what stands behind the arrays here are more arrays. */
static int
refuse_axis(const lw_reducer *self, PyObject *args)
{
    uint32_t n = lw_reducer_n_arrays(self);

    for (Py_ssize_t i = n ? n : 1; i < PyTuple_GET_SIZE(args); i++) {
        PyObject *object = PyTuple_GET_ITEM(args, i);
        if (is_axis(object)) {
            PyErr_Format(PyExc_TypeError,
                         "argument %zd of `%s` must be an array, not %.200R; did you mean "
                         "axis=%.200R?",
                         i + 1, lw_reducer_name(self), object, object);
            return -1;
        }
    }
    return 0;
}

PyObject *
lw_reducer_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    lw_reduce_call *call;
    PyObject *result = NULL, *part = NULL;

    if (refuse_axis((lw_reducer *)self, args) < 0)
        return NULL;
    if (goes_through_device(self, args))
        return through_device(self, "__call__", args, kwargs);
    call = lw_reduce_call_new(self);
    if (call == NULL || lw_reduce_read_keywords(&call->keywords, kwargs, LW_TAKES_REDUCE,
                                                lw_reducer_name(call->self)) < 0)
        return lw_reduce_call_end(call, NULL);
    if (call->keywords.size != NULL && call->keywords.size != Py_None) {
        part = first_elements(args, call->keywords.size);
        if (part == NULL)
            return lw_reduce_call_end(call, NULL);
        args = part;
    }
    if (check_target(call, any_on_device(args)) == 0)
        result = any_on_device(args) ? call_on_device(call, args) : call_on_host(call, args);
    if (call->keywords.res != NULL && call->keywords.res != Py_None && result != NULL)
        result = put_in_res(call->keywords.res, result);
    Py_XDECREF(part);
    return lw_reduce_call_end(call, result);
}

/* ---- what accumulate and reduceat take behind the arrays ---- */

/* Takes the next positional argument for a keyword that was not given. */
static int
take_next(PyObject *args, Py_ssize_t *at, PyObject **keyword, const char *name)
{
    if (*at >= PyTuple_GET_SIZE(args))
        return 0;
    if (*keyword != NULL) {
        PyErr_Format(PyExc_TypeError, "%s= is given twice", name);
        return -1;
    }
    *keyword = PyTuple_GET_ITEM(args, (*at)++);
    return 0;
}

static int
end_of(PyObject *args, Py_ssize_t at, const char *function)
{
    if (at >= PyTuple_GET_SIZE(args))
        return 0;
    PyErr_Format(PyExc_TypeError, "%s() takes at most %zd positional arguments, not %zd",
                 function, at, PyTuple_GET_SIZE(args));
    return -1;
}

/* How many arrays come first; indices: behind them, by position. */
static Py_ssize_t
arrays_of(const lw_reduce_call *call, PyObject *args, const char *function, bool indices)
{
    uint32_t n = lw_reducer_n_arrays(call->self);

    if (n == 0 && PyTuple_GET_SIZE(args) > 0)
        return leading_arrays(args, indices);
    if (PyTuple_GET_SIZE(args) >= (Py_ssize_t)(n ? n : 1))
        return n ? n : 1;
    PyErr_Format(PyExc_TypeError, "%s() takes %u array%s first", function,
                 (unsigned)(n ? n : 1), n > 1 ? "s" : "");
    return -1;
}

/* ---- accumulate ---- */

static int
scan_job(lw_reduce_call *call, int axis, bool exclusive)
{
    lw_reduce_space results; /* strides beyond `n` are not read */
    lw_error err = {0};
    lw_status status;
    free_run run;
    const lw_reduction *r = call->specialisation->reduction;

    call->code = lw_reducer_soon(call->self, call->specialisation, n_elements(call),
                                 LW_REDUCE_QUICK_SCANS_ALONE, false);
    if (call->code == NULL)
        return -1;
    results.n = 0;
    for (int pass = 0; pass < 2; pass++) /* the axis last */
        for (int d = 0; d < call->ndim; d++) {
            if ((d == axis) != pass)
                continue;
            results.size[results.n] = call->shape[d];
            for (uint32_t i = 0; i < r->n_out; i++)
                results.stride[i][results.n] = PyArray_STRIDE(call->result[i], d);
            results.n++;
        }
    lw_reduce_fill_job(call);
    if (!exclusive && !call->has_initial)
        call->job.empty = NULL; /* the first element is the first result */
    call->method = "accumulate";
    run_begin(&run, &call->job);
    status = lw_reduce_scan_run(&call->job, &results, exclusive, &err);
    call->flags = lw_reduce_flags_end(&call->job, false, n_elements(call));
    run_end(&run, &call->job);
    return raise_unless_ok(status, &err);
}

static PyObject *
accumulate(lw_reduce_call *call, PyObject *args)
{
    PyObject *const *arrays = PySequence_Fast_ITEMS(args);
    Py_ssize_t n = arrays_of(call, args, "accumulate", false), at = n;
    bool exclusive, on_device = any_on_device(args);
    int axis;

    if (n < 0 || take_next(args, &at, &call->keywords.axis, "axis") < 0 ||
        take_next(args, &at, &call->keywords.exclusive, "exclusive") < 0 ||
        end_of(args, at, "accumulate") < 0 || check_target(call, on_device) < 0)
        return NULL;
    if (on_device)
        return accumulate_on_device(call, arrays, n);
    call->soon = true;
    if (lw_reduce_read_operands(call, arrays, n, NULL) < 0 ||
        lw_reduce_read_scan(call, &axis, &exclusive) < 0 ||
        lw_reduce_new_scan_results(call) < 0)
        return NULL;
    call->reduced[axis] = true;
    return scan_job(call, axis, exclusive) < 0 ? NULL : lw_reduce_hand_out(call);
}

PyObject *
lw_reducer_accumulate(PyObject *self, PyObject *args, PyObject *kwargs)
{
    lw_reduce_call *call;

    if (goes_through_device(self, args))
        return through_device(self, "accumulate", args, kwargs);
    call = lw_reduce_call_new(self);
    if (call == NULL ||
        lw_reduce_read_keywords(&call->keywords, kwargs, LW_TAKES_SCAN, "accumulate") < 0)
        return lw_reduce_call_end(call, NULL);
    return lw_reduce_call_end(call, accumulate(call, args));
}

/* ---- reduceat ---- */

/* One slice along the axis, for all the other axes: results to `place` of the axis. */
typedef struct slices {
    lw_reduce_call *call;
    int axis;
    const int64_t *index;
    int64_t n;
    char *scratch[LW_REDUCE_MOST]; /* results of one slice */
} slices;

/* Copies from scratch, contiguous over the other axes, to their places. */
static void
spread(const slices *s, int64_t which)
{
    const lw_reduction *r = s->call->specialisation->reduction;

    for (uint32_t i = 0; i < r->n_out; i++) {
        PyArrayObject *result = s->call->result[i];
        size_t size = lw_dtypes[r->out[i]].size_bytes;
        int64_t inner = 1, outer = 1, n = PyArray_DIM(result, s->axis);
        for (int d = 0; d < s->call->ndim; d++) {
            if (d < s->axis)
                outer *= s->call->shape[d];
            else if (d > s->axis)
                inner *= s->call->shape[d];
        }
        for (int64_t o = 0; o < outer; o++)
            memcpy(PyArray_BYTES(result) + (size_t)((o * n + which) * inner) * size,
                   s->scratch[i] + (size_t)(o * inner) * size, (size_t)inner * size);
    }
}

static lw_status
one_slice(slices *s, int64_t which, lw_error *err)
{
    lw_reduce_call *call = s->call;
    int64_t begin = s->index[which], end;
    lw_status status;

    end = which + 1 < s->n ? s->index[which + 1] : call->shape[s->axis];
    if (end <= begin)
        end = begin + 1;
    lw_reduce_fill_job(call);
    call->job.reduced.size[0] = end - begin;
    for (uint32_t i = 0; i < call->n_in; i++)
        call->job.operand[i] += begin * call->job.reduced.stride[i][0];
    memcpy(call->job.out, s->scratch, sizeof s->scratch);
    status = lw_reduce_run(&call->job, err);
    call->flags |= lw_reduce_flags_end(&call->job, true, 0);
    if (status == LW_OK)
        spread(s, which);
    return status;
}

static int
run_slices(slices *s)
{
    const lw_reduction *r = s->call->specialisation->reduction;
    lw_status status = LW_OK;
    free_run run;
    lw_error err = {0};
    size_t n = 1;

    for (int d = 0; d < s->call->ndim; d++)
        n *= d == s->axis ? 1 : (size_t)s->call->shape[d];
    for (uint32_t i = 0; i < r->n_out && status == LW_OK; i++) {
        s->scratch[i] = lw_alloc(n * lw_dtypes[r->out[i]].size_bytes + 1);
        if (s->scratch[i] == NULL)
            status = lw_fail_memory(&err);
    }
    run_begin(&run, &s->call->job);
    for (int64_t i = 0; i < s->n && status == LW_OK; i++)
        status = one_slice(s, i, &err);
    run_end(&run, &s->call->job);
    for (uint32_t i = 0; i < r->n_out; i++)
        lw_free(s->scratch[i]);
    return raise_unless_ok(status, &err);
}

/* A run for each is worth it where slices are long, or rows lie side by side. */
static int
run_all_slices(slices *s)
{
    enum { LONG = 8192, WIDE = 16 };
    lw_reduce_call *call = s->call;
    int64_t inner = 1;
    lw_error err = {0};
    lw_status status;
    free_run run;
    bool alone;

    for (int d = s->axis + 1; d < call->ndim; d++)
        inner *= call->shape[d];
    call->method = "reduceat";
    alone = inner >= WIDE || s->n == 0 || call->shape[s->axis] / s->n >= LONG;
    call->code = lw_reducer_soon(call->self, call->specialisation,
                                 call->ndim == 1 ? n_elements(call) : INT64_MAX,
                                 alone ? LW_REDUCE_QUICK : LW_REDUCE_QUICK_SCANS, false);
    if (call->code == NULL)
        return -1;
    if (alone)
        return run_slices(s);
    lw_reduce_fill_job(call);
    run_begin(&run, &call->job);
    status = lw_reduce_slices_run(&call->job, s->index, s->n, inner);
    call->flags = lw_reduce_flags_end(&call->job, false, PyArray_SIZE(call->result[0]));
    run_end(&run, &call->job);
    return raise_unless_ok(status, &err);
}

static PyObject *
reduce_slices(lw_reduce_call *call, PyArrayObject *indices)
{
    slices s = {.call = call, .index = PyArray_DATA(indices), .n = PyArray_SIZE(indices)};
    int64_t shape[LW_REDUCE_DIMS];

    if (lw_reduce_check_slices(call, indices, &s.axis) < 0)
        return NULL;
    call->reduced[s.axis] = true;
    memcpy(shape, call->shape, sizeof shape);
    shape[s.axis] = s.n;
    if (lw_reduce_new_results(call, call->ndim, shape) < 0 || run_all_slices(&s) < 0)
        return NULL;
    return lw_reduce_hand_out(call);
}

static PyObject *
reduceat(lw_reduce_call *call, PyObject *args)
{
    Py_ssize_t n = arrays_of(call, args, "reduceat", call->keywords.indices == NULL);
    Py_ssize_t at = n;
    PyObject *given = call->keywords.indices, *result = NULL;
    PyArrayObject *indices;
    bool on_device;

    if (n < 0 || take_next(args, &at, &given, "indices") < 0 ||
        take_next(args, &at, &call->keywords.axis, "axis") < 0 ||
        end_of(args, at, "reduceat") < 0)
        return NULL;
    if (given == NULL) {
        PyErr_SetString(PyExc_TypeError, "reduceat() takes the indices after the arrays");
        return NULL;
    }
    on_device = any_on_device(args);
    if (check_target(call, on_device) < 0)
        return NULL;
    if (on_device)
        return reduceat_on_device(call, PySequence_Fast_ITEMS(args), n, given);
    indices = lw_reduce_read_indices(given);
    if (indices == NULL)
        return NULL;
    call->soon = true;
    if (lw_reduce_read_operands(call, PySequence_Fast_ITEMS(args), n, NULL) == 0)
        result = reduce_slices(call, indices);
    Py_DECREF(indices);
    return result;
}

PyObject *
lw_reducer_reduceat(PyObject *self, PyObject *args, PyObject *kwargs)
{
    lw_reduce_call *call;

    if (goes_through_device(self, args))
        return through_device(self, "reduceat", args, kwargs);
    call = lw_reduce_call_new(self);
    if (call == NULL ||
        lw_reduce_read_keywords(&call->keywords, kwargs, LW_TAKES_SLICES, "reduceat") < 0)
        return lw_reduce_call_end(call, NULL);
    return lw_reduce_call_end(call, reduceat(call, args));
}
