/* The call on device arrays. Warm path: read operands, find the resolution and the kernel by
 * comparing a few bytes with the last ones, fill the parameter block, launch. No dictionary, no
 * tuple, no heap call but the result's free list, no driver query. */
#include "core/py/numpy_api.h"

#include "ufunc/device_call_py.h"

#include "core/py/compiled/device_call.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/numpy/numpy_rules.h"
#include "core/py/raise.h"
#include "ufunc/ufunc_parts.h"

#include <string.h>

/* ---- keywords ---- */

static const lw_call_keyword keywords[] = {
    {"out", offsetof(lw_call, out), false},
    {"stream", offsetof(lw_call, stream_object), false},
    {"where", offsetof(lw_call, where), false},
    {"casting", offsetof(lw_call, casting), false},
    {"dtype", offsetof(lw_call, dtype), false},
    {"order", offsetof(lw_call, order), false},
    {"subok", offsetof(lw_call, subok), false},
    {"signature", offsetof(lw_call, signature), false},
    {"sig", offsetof(lw_call, signature), false},
};

static int
read_keywords(lw_call *call, PyObject *const *values, PyObject *kwnames)
{
    return lw_call_keywords(keywords, sizeof keywords / sizeof *keywords,
                            lw_ufunc_name(call->self), values, kwnames, call);
}

/* ---- outputs ---- */

static int
read_outputs(lw_call *call, PyObject *const *args, Py_ssize_t n_args)
{
    call->n_given = lw_call_outputs(call->out, call->self->nin, call->self->nout, args, n_args,
                                    call->out_objects);
    return call->n_given < 0 ? -1 : 0;
}

static int
check_output(lw_call *call, int which)
{
    lw_operand *operand = &call->operands[call->self->nin + which];

    if (lw_call_check_output(operand, call->out_objects[which]) < 0)
        return -1;
    operand->written = true;
    if (operand->dtype == LW_DT_void) {
        PyErr_Format(PyExc_TypeError, "out has a dtype that kernels cannot write: %.200R",
                     operand->descr ? (PyObject *)operand->descr : Py_None);
        return -1;
    }
    return 0;
}

/* ---- reading operands ---- */

/* One item is passed by value instead, with the array's own dtype. */
static int
bring_over(lw_call *call, lw_operand *operand)
{
    PyObject *copy = NULL;
    int result = lw_call_bring_over(operand, call->device, call->stream, &copy);

    if (copy != NULL)
        call->owned[call->n_owned++] = copy;
    return result;
}

static int
check_device(lw_call *call, const lw_operand *operand)
{
    if (call->first == NULL)
        call->first = operand;
    return lw_call_same_device(operand, &call->device);
}

static int
read_one(lw_call *call, PyObject *object)
{
    lw_operand *operand = &call->operands[call->n_read];

    if (lw_operand_read(operand, object) < 0)
        return -1;
    call->n_read++;
    if (operand->kind == LW_OPERAND_DEVICE)
        return check_device(call, operand);
    call->n_host += operand->kind == LW_OPERAND_HOST || operand->kind == LW_OPERAND_OTHER;
    return 0;
}

static int
read_where(lw_call *call)
{
    if (call->where == NULL || call->where == Py_True) {
        call->where = NULL;
        return 0;
    }
    call->masked = true;
    return read_one(call, call->where);
}

/* Outputs that are not given take a place in operands[], filled in by make_outputs. */
static int
read_operands(lw_call *call, PyObject *const *args)
{
    int nin = call->self->nin, nout = call->self->nout;

    for (int i = 0; i < nin; i++)
        if (read_one(call, args[i]) < 0)
            return -1;
    for (int i = 0; i < nout; i++) {
        if (call->out_objects[i] == NULL) {
            call->operands[call->n_read].release = NULL;
            call->operands[call->n_read++].kind = LW_OPERAND_OTHER;
        } else if (read_one(call, call->out_objects[i]) < 0 || check_output(call, i) < 0) {
            return -1;
        }
    }
    return read_where(call);
}

static int
bring_over_all(lw_call *call)
{
    int nin = call->self->nin, nout = call->self->nout;

    for (int i = 0; i < call->n_read; i++) {
        lw_operand *operand = &call->operands[i];
        bool given = i < nin || i >= nin + nout;
        if (given &&
            (operand->kind == LW_OPERAND_HOST || operand->kind == LW_OPERAND_OTHER ||
             (i >= nin + nout && operand->kind != LW_OPERAND_DEVICE)) &&
            bring_over(call, operand) < 0)
            return -1;
    }
    if (call->masked && call->operands[nin + nout].dtype != LW_DT_b1) {
        PyErr_SetString(PyExc_TypeError, "where must be a bool array: cannot cast it to bool "
                                         "according to the rule 'safe'");
        return -1;
    }
    return 0;
}

static int
read_stream(lw_call *call)
{
    call->stream = call->first && call->first->library != LW_LIB_OWN ? call->first->stream : 0;
    return call->stream_object ? lw_stream_read(call->stream_object, &call->stream) : 0;
}

/* ---- resolution ---- */

static int
find_resolution(lw_call *call)
{
    int nin = call->self->nin, n = nin + call->self->nout;
    uint8_t codes[LW_MAX_ARGS];

    if (lw_resolved_codes(call->operands, nin, n, codes) < 0)
        return -1;
    call->resolution = lw_resolution_get(call->self, call->device, codes, n, call->signature,
                                         call->dtype, call->casting);
    return call->resolution ? lw_resolved_check(&call->resolution->head, call->stream) : -1;
}

/* ---- shapes ---- */

static void
refuse_shapes(const lw_call *call)
{
    PyObject *text =
        PyUnicode_FromString("operands could not be broadcast together with shapes");

    for (int i = 0; text != NULL && i < call->n_read; i++) {
        const lw_operand *operand = &call->operands[i];
        PyObject *shape;
        if (operand->kind != LW_OPERAND_DEVICE)
            continue;
        shape = PyTuple_New(operand->ndim);
        for (int d = 0; shape != NULL && d < operand->ndim; d++)
            PyTuple_SET_ITEM(shape, d, PyLong_FromLongLong(operand->shape[d]));
        Py_SETREF(text, shape ? PyUnicode_FromFormat("%U %R", text, shape) : NULL);
        Py_XDECREF(shape);
    }
    if (text != NULL)
        PyErr_SetObject(PyExc_ValueError, text);
    Py_XDECREF(text);
}

static int
broadcast(lw_call *call)
{
    call->ndim = 0;
    for (int i = 0; i < call->n_read; i++)
        if (call->operands[i].kind == LW_OPERAND_DEVICE && call->operands[i].ndim > call->ndim)
            call->ndim = call->operands[i].ndim;
    for (int d = 0; d < call->ndim; d++)
        call->shape[d] = 1;
    for (int i = 0; i < call->n_read; i++) {
        const lw_operand *operand = &call->operands[i];
        int shift = call->ndim - operand->ndim;
        if (operand->kind != LW_OPERAND_DEVICE)
            continue;
        for (int d = 0; d < operand->ndim; d++) {
            int64_t *size = &call->shape[d + shift];
            if (operand->shape[d] == *size || operand->shape[d] == 1)
                continue;
            if (*size != 1) {
                refuse_shapes(call);
                return -1;
            }
            *size = operand->shape[d];
        }
    }
    return 0;
}

static bool
has_call_shape(const lw_call *call, const lw_operand *operand)
{
    return operand->ndim == call->ndim &&
           memcmp(operand->shape, call->shape, (size_t)call->ndim * sizeof *call->shape) == 0;
}

static int
check_output_shapes(const lw_call *call)
{
    for (int i = 0; i < call->self->nout; i++) {
        const lw_operand *operand = &call->operands[call->self->nin + i];
        if (operand->kind == LW_OPERAND_DEVICE && !has_call_shape(call, operand)) {
            PyErr_SetString(
                PyExc_ValueError,
                "non-broadcastable output operand: out must have the shape that the "
                "inputs broadcast to");
            return -1;
        }
    }
    return 0;
}

/* ---- new outputs ---- */

/* Strides of a dense array whose axes are ordered as the inputs': NumPy's order='K'. */
static void
keep_order(const lw_call *call, int64_t itemsize, int64_t *strides)
{
    const int ndim = call->ndim;
    int axes[LW_MAX_DIMS] = {0};
    int64_t step = itemsize;

    for (int d = 0; d < ndim; d++)
        axes[d] = d;
    for (int i = 1; i < ndim; i++) /* stable: outermost first by falling stride */
        for (int j = i; j > 0; j--) {
            int64_t before = 0, here = 0;
            for (int k = 0; k < call->self->nin && before == here; k++) {
                const lw_operand *operand = &call->operands[k];
                int shift = call->ndim - operand->ndim;
                if (operand->kind != LW_OPERAND_DEVICE || axes[j - 1] < shift ||
                    axes[j] < shift)
                    continue;
                before = operand->strides[axes[j - 1] - shift];
                here = operand->strides[axes[j] - shift];
                before = before < 0 ? -before : before;
                here = here < 0 ? -here : here;
                if (before == 0 || here == 0)
                    before = here = 0;
            }
            if (before >= here)
                break;
            int kept = axes[j];
            axes[j] = axes[j - 1];
            axes[j - 1] = kept;
        }
    for (int i = ndim - 1; i >= 0; i--) {
        strides[axes[i]] = step;
        step *= call->shape[axes[i]] ? call->shape[axes[i]] : 1;
    }
}

static bool
all_f_contiguous(const lw_call *call)
{
    bool any = false;

    for (int i = 0; i < call->self->nin; i++) {
        const lw_operand *operand = &call->operands[i];
        int64_t step = operand->itemsize;
        if (operand->kind != LW_OPERAND_DEVICE)
            continue;
        any = true;
        for (int d = 0; d < operand->ndim; d++) {
            if (operand->shape[d] != 1 && operand->strides[d] != step)
                return false;
            step *= operand->shape[d];
        }
    }
    return any;
}

static lw_device_array *
new_output(const lw_call *call, lw_dtype dtype)
{
    int64_t strides[LW_MAX_DIMS];
    char order = call->order_letter;

    if (order == 'A')
        order = all_f_contiguous(call) ? 'F' : 'C';
    if (order == 'K' && call->all_c)
        order = 'C';
    if (order != 'K')
        return lw_device_array_new(call->device, call->stream, dtype, call->ndim, call->shape,
                                   order);
    keep_order(call, lw_dtypes[dtype].size_bytes, strides);
    return lw_device_array_new_strided(call->device, call->stream, dtype, call->ndim,
                                       call->shape, strides);
}

static int
make_outputs(lw_call *call)
{
    const lw_loop *loop = call->resolution->head.loop;
    int nin = call->self->nin;

    for (int i = 0; i < call->self->nout; i++) {
        lw_operand *operand = &call->operands[nin + i];
        if (operand->kind == LW_OPERAND_DEVICE)
            continue;
        call->made[i] = new_output(call, loop->types[nin + i]);
        if (call->made[i] == NULL || lw_operand_read(operand, (PyObject *)call->made[i]) < 0)
            return -1;
    }
    return 0;
}

/* ---- overlap: results as if the inputs had been copied first ---- */

static bool
conflicts(const lw_operand *input, const lw_operand *output)
{
    bool same = input->data == output->data && input->itemsize == output->itemsize &&
                input->ndim == output->ndim;

    if (!lw_reaches_meet(lw_operand_reach(input), lw_operand_reach(output)))
        return false;
    for (int d = 0; same && d < input->ndim; d++)
        same = input->shape[d] == output->shape[d] &&
               (input->shape[d] == 1 || input->strides[d] == output->strides[d]);
    return !same; /* the same element of both: every thread reads it before it writes it */
}

static int
copy_input(lw_call *call, lw_operand *operand)
{
    lw_error err = {0};
    lw_device_array *from = lw_operand_as_array(operand->object), *copy = NULL;

    if (from == NULL)
        return -1;
    copy = lw_device_array_new(call->device, call->stream, (lw_dtype)operand->dtype,
                               operand->ndim, operand->shape, 'C');
    if (copy == NULL)
        goto fail;
    if (lw_device_array_use(from, call->stream, &err) != LW_OK) {
        lw_py_raise(&err);
        goto fail;
    }
    if (lw_device_array_hooks.copy_strided(copy, from, call->stream) < 0)
        goto fail;
    if (lw_operand_done(operand, call->stream, &err) != LW_OK) {
        lw_py_raise(&err);
        goto fail;
    }
    Py_DECREF(from);
    call->owned[call->n_owned++] = (PyObject *)copy;
    lw_operand_release(operand);
    return lw_operand_read(operand, (PyObject *)copy);
fail:
    Py_DECREF(from);
    Py_XDECREF(copy);
    return -1;
}

static int
part_overlaps(lw_call *call)
{
    int nin = call->self->nin, nout = call->self->nout;

    for (int o = nin; o < nin + nout; o++)
        for (int i = 0; i < call->n_read; i++) {
            lw_operand *input = &call->operands[i];
            if ((i >= nin && i < nin + nout) || input->kind != LW_OPERAND_DEVICE ||
                !conflicts(input, &call->operands[o]))
                continue;
            if (copy_input(call, input) < 0)
                return -1;
        }
    return 0;
}

/* ---- plan ---- */

static int
fill_plan(lw_call *call)
{
    lw_plan *plan = &call->plan;
    const lw_loop *loop = call->resolution->head.loop;
    int nin = call->self->nin, nout = call->self->nout;

    plan->n_in = nin;
    plan->n_out = nout;
    plan->masked = call->masked;
    plan->n_operands = call->n_read;
    plan->stores = loop->uniforms.stores;
    for (int i = 0; i < call->n_read; i++) {
        const lw_operand *operand = &call->operands[i];
        lw_plan_operand *p = &plan->operands[i];
        p->is_output = i >= nin && i < nin + nout;
        p->by_value = operand->kind != LW_OPERAND_DEVICE;
        p->dtype = p->by_value ? loop->types[i] : (lw_dtype)operand->dtype;
        p->data = (char *)(uintptr_t)operand->data;
        if (p->by_value && lw_operand_item(operand, p->dtype, &call->values[i]) < 0)
            return -1;
    }
    return 0;
}

/* Everything has the same shape and is C-contiguous: one dimension, nothing to normalise. */
static bool
plan_flat(lw_call *call)
{
    lw_plan *plan = &call->plan;

    for (int i = 0; i < call->n_read; i++) {
        const lw_operand *operand = &call->operands[i];
        if (operand->kind == LW_OPERAND_DEVICE &&
            (!operand->c_contiguous || !has_call_shape(call, operand)))
            return false;
    }
    plan->n = 1;
    for (int d = 0; d < call->ndim; d++)
        plan->n *= call->shape[d];
    plan->ndim = 1;
    plan->shape[0] = plan->n;
    for (int i = 0; i < call->n_read; i++)
        plan->operands[i].strides[0] = lw_dtypes[plan->operands[i].dtype].size_bytes;
    return true;
}

static int
plan_general(lw_call *call)
{
    int64_t strides[LW_PLAN_OPERANDS][LW_MAX_DIMS];
    const int64_t *rows[LW_PLAN_OPERANDS];

    for (int i = 0; i < call->n_read; i++) {
        const lw_operand *operand = &call->operands[i];
        int shift = call->ndim - operand->ndim;
        rows[i] = strides[i];
        if (operand->kind != LW_OPERAND_DEVICE)
            continue;
        for (int d = 0; d < call->ndim; d++)
            strides[i][d] =
                d < shift || operand->shape[d - shift] == 1 ? 0 : operand->strides[d - shift];
    }
    if (lw_plan_normalise(&call->plan, call->ndim, call->shape, rows))
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "operands of %d dimensions, of which more than %d are longer than 1, are not "
                 "supported",
                 call->ndim, LW_PLAN_DIMS);
    return -1;
}

/* ---- errors ---- */

static int
report_errors(const lw_call *call)
{
    lw_watch *watch = call->resolution->head.watch;

    if (watch == NULL || call->self->options.errors != LW_RAISE || call->plan.n == 0)
        return 0;
    return lw_watch_wait(watch, call->stream);
}

/* ---- results ---- */

static PyObject *
take_result(lw_call *call, int which)
{
    lw_device_array *made = call->made[which];

    if (made == NULL)
        return Py_NewRef(call->out_objects[which]);
    call->made[which] = NULL;
    if (call->first == NULL || call->first->library == LW_LIB_OWN)
        return (PyObject *)made;
    return lw_result_wrap(call->first, made);
}

static PyObject *
results(lw_call *call)
{
    PyObject *tuple;

    if (call->self->nout == 1)
        return take_result(call, 0);
    tuple = PyTuple_New(call->self->nout);
    for (int i = 0; tuple != NULL && i < call->self->nout; i++) {
        PyObject *one = take_result(call, i);
        if (one == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, one);
    }
    return tuple;
}

/* ---- the call ---- */

static int
check_call(lw_call *call, Py_ssize_t n_args)
{
    return lw_call_check(lw_ufunc_name(call->self), call->self->nin, call->self->nout, n_args,
                         call->subok, call->order, &call->order_letter);
}

static int
prepare(lw_call *call, PyObject *const *args, Py_ssize_t n_args)
{
    if (read_outputs(call, args, n_args) < 0 || read_operands(call, args) < 0)
        return -1;
    if (call->device == NULL) { /* target="cuda" and nothing on a device yet */
        call->device = lw_current_device();
        if (call->device == NULL)
            return -1;
    }
    if (read_stream(call) < 0 || ((call->n_host || call->masked) && bring_over_all(call) < 0) ||
        find_resolution(call) < 0 || broadcast(call) < 0)
        return -1;
    if (call->n_given && check_output_shapes(call) < 0)
        return -1;
    call->all_c = true;
    for (int i = 0; i < call->self->nin; i++)
        call->all_c &=
            call->operands[i].kind != LW_OPERAND_DEVICE || call->operands[i].c_contiguous;
    return 0;
}

void
lw_call_release(lw_call *call)
{
    for (int i = 0; i < call->n_read; i++)
        if (call->operands[i].release != NULL)
            lw_operand_release(&call->operands[i]);
    for (int i = 0; i < call->self->nout; i++)
        Py_CLEAR(call->made[i]);
    while (call->n_owned > 0)
        Py_DECREF(call->owned[--call->n_owned]);
}

void
lw_call_init(lw_call *call, lw_ufunc *self)
{
    memset(call, 0,
           offsetof(lw_call, operands)); /* the large arrays are filled as they are used */
    memset(call->out_objects, 0, (size_t)self->nout * sizeof *call->out_objects);
    memset(call->made, 0, (size_t)self->nout * sizeof *call->made);
    call->self = self;
}

/* Everything up to the launch. */
static int
make_plan(lw_call *call, PyObject *const *args, Py_ssize_t n_args)
{
    if (prepare(call, args, n_args) < 0 || make_outputs(call) < 0 ||
        (call->n_given && part_overlaps(call) < 0) || fill_plan(call) < 0)
        return -1;
    return plan_flat(call) ? 0 : plan_general(call);
}

PyObject *
lw_ufunc_call_device(lw_ufunc *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    return lw_ufunc_call_device_with(self, args, nargsf, kwnames, NULL);
}

PyObject *
lw_ufunc_call_device_with(lw_ufunc *self, PyObject *const *args, size_t nargsf,
                          PyObject *kwnames, lw_extra_arrays *extra)
{
    Py_ssize_t n_args = PyVectorcall_NARGS(nargsf);
    PyObject *result = NULL;
    lw_call call;

    lw_call_init(&call, self);
    call.extra = extra;
    call.device = extra ? extra->device : NULL;
    if (read_keywords(&call, args + n_args, kwnames) < 0 || check_call(&call, n_args) < 0)
        goto done;
    if (lw_call_is_hosted(&call, args, n_args))
        result = lw_call_hosted(&call, args, n_args, kwnames);
    else if (make_plan(&call, args, n_args) == 0 && lw_call_run(&call) == 0 &&
             report_errors(&call) == 0)
        result = results(&call);
    if (extra != NULL && result != NULL && call.n_read > 0)
        extra->stream = call.stream;
done:
    lw_call_release(&call);
    return result;
}

PyObject *
lw_ufunc_time_launch(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args)
{
    PyObject *result = NULL;
    double seconds;
    long n;
    lw_call call;

    if (n_args < 3 || PyVectorcall_Function(args[0]) != lw_ufunc_call ||
        (n = PyLong_AsLong(args[1])) <= 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "_time_launch(ufunc, n, *operands)");
        return NULL;
    }
    lw_call_init(&call, (lw_ufunc *)args[0]);
    if (check_call(&call, n_args - 2) == 0 && make_plan(&call, args + 2, n_args - 2) == 0 &&
        lw_call_run(&call) == 0 && (seconds = lw_call_time(&call, n)) >= 0.0)
        result = PyFloat_FromDouble(seconds);
    lw_call_release(&call);
    return result;
}
