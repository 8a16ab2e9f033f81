/* The call on device arrays, by NumPy's rules for generalized ufuncs: read operands, find the
 * loop, match the shapes, make outputs, copy what needs a cast or overlaps, launch. Nothing is
 * written before all shapes and dtypes are known to be right. */
#include "core/py/numpy_api.h"

#include "gufunc/device_call_py.h"

#include "core/py/compiled/device_call.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/numpy/numpy_rules.h"
#include "core/py/print_py.h"
#include "core/py/raise.h"
#include "gufunc/device_inspect_py.h"
#include "gufunc/device_large_py.h"
#include "gufunc/device_register_py.h"
#include "gufunc/device_simulate_py.h"

#include <string.h>

/* ---- keywords ---- */

static const lw_call_keyword keywords[] = {
    {"out", offsetof(lw_gcall, out), false},
    {"stream", offsetof(lw_gcall, stream_object), false},
    {"casting", offsetof(lw_gcall, casting), true},
    {"dtype", offsetof(lw_gcall, dtype), false},
    {"order", offsetof(lw_gcall, order), false},
    {"subok", offsetof(lw_gcall, subok), true},
    {"signature", offsetof(lw_gcall, signature), true},
    {"sig", offsetof(lw_gcall, signature), true},
    {"axes", offsetof(lw_gcall, axes), true},
    {"axis", offsetof(lw_gcall, axis), true},
    {"keepdims", offsetof(lw_gcall, keepdims), true},
};

static int
read_keywords(lw_gcall *call, PyObject *const *values, PyObject *kwnames)
{
    return lw_call_keywords(keywords, sizeof keywords / sizeof *keywords,
                            lw_gufunc_name(call->self), values, kwnames, call);
}

/* Refused before shapes are looked at, in NumPy's words. */
static int
check_rules(const lw_gcall *call)
{
    NPY_CASTING rule;

    if (call->signature != NULL && call->dtype != NULL) {
        PyErr_SetString(PyExc_TypeError, "cannot specify both 'signature' and 'dtype'");
        return -1;
    }
    if (call->signature == Py_None) {
        PyErr_SetString(PyExc_TypeError,
                        "the signature object to ufunc must be a string or a tuple.");
        return -1;
    }
    return call->casting == NULL || PyArray_CastingConverter(call->casting, &rule) ? 0 : -1;
}

static int
check_call(lw_gcall *call, Py_ssize_t n_args)
{
    if (lw_call_check(lw_gufunc_name(call->self), call->self->nin, call->self->nout, n_args,
                      call->subok, call->order, &call->order_letter) < 0)
        return -1;
    return check_rules(call);
}

/* ---- outputs ---- */

static int
read_outputs(lw_gcall *call, PyObject *const *args, Py_ssize_t n_args)
{
    int nin = call->self->nin;
    /* out=...: an array, also of no dimensions: so it is anyway */
    bool says_nothing = call->out == Py_Ellipsis && n_args <= nin;

    if (says_nothing)
        return 0;
    return lw_call_outputs(call->out, nin, call->self->nout, args, n_args, call->out_objects) <
                   0
               ? -1
               : 0;
}

/* ---- reading operands ---- */

static int
bring_over(lw_gcall *call, lw_operand *operand)
{
    PyObject *copy = NULL;
    int result = lw_call_bring_over(operand, call->device, call->stream, &copy);

    if (copy != NULL)
        call->owned[call->n_owned++] = copy;
    return result;
}

static int
check_device(lw_gcall *call, const lw_operand *operand)
{
    if (call->first.object == NULL) {
        call->first.library = operand->library;
        call->first.object = operand->object;
        call->first.device = operand->device;
        call->first.stream = operand->stream;
    }
    return lw_call_same_device(operand, &call->device);
}

static int
read_one(lw_gcall *call, PyObject *object)
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

/* Outputs that are not given take a place in operands[], filled in by make_outputs. */
static int
read_operands(lw_gcall *call, PyObject *const *args)
{
    for (int i = 0; i < call->self->nin; i++)
        if (read_one(call, args[i]) < 0)
            return -1;
    for (int i = 0; i < call->self->nout; i++) {
        if (call->out_objects[i] == NULL) {
            call->operands[call->n_read].release = NULL;
            call->operands[call->n_read++].kind = LW_OPERAND_OTHER;
        } else if (read_one(call, call->out_objects[i]) < 0 ||
                   lw_call_check_output(&call->operands[call->n_read - 1],
                                        call->out_objects[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
bring_over_all(lw_gcall *call)
{
    for (int i = 0; i < call->self->nin; i++) {
        lw_operand *operand = &call->operands[i];
        if ((operand->kind == LW_OPERAND_HOST || operand->kind == LW_OPERAND_OTHER) &&
            bring_over(call, operand) < 0)
            return -1;
    }
    return 0;
}

static int
read_stream(lw_gcall *call)
{
    bool foreign = call->first.object != NULL && call->first.library != LW_LIB_OWN;

    call->stream = foreign ? call->first.stream : 0;
    return call->stream_object ? lw_stream_read(call->stream_object, &call->stream) : 0;
}

/* ---- resolution ---- */

static const lw_gufunc_loop *
loop_of(const lw_gcall *call)
{
    return call->resolution->head.loop;
}

static int
find_resolution(lw_gcall *call)
{
    int nin = call->self->nin, n = nin + call->self->nout;
    uint8_t codes[LW_MAX_OPERANDS];

    if (lw_resolved_codes(call->operands, nin, n, codes) < 0)
        return -1;
    call->resolution = lw_gresolution_get(call->self, call->device, codes, n, call->signature,
                                          call->dtype, call->casting);
    return call->resolution ? lw_resolved_check(&call->resolution->head, call->stream) : -1;
}

/* ---- shapes ---- */

static void
set_views(lw_gcall *call)
{
    for (int i = 0; i < call->n_read; i++) {
        const lw_operand *operand = &call->operands[i];
        bool array = operand->kind == LW_OPERAND_DEVICE;
        call->views[i].present = array || i < call->self->nin;
        call->views[i].ndim = array ? operand->ndim : 0;
        call->views[i].shape = operand->shape;
        call->views[i].strides = operand->strides;
    }
}

static int
match_shapes(lw_gcall *call)
{
    lw_error err = {0};
    lw_status status;
    bool keepdims;

    set_views(call);
    if (lw_gcall_read_keepdims(call, &keepdims) < 0)
        return -1;
    LW_TRY(lw_core_shape_init(&call->shape, &call->self->layout, lw_gufunc_name(call->self),
                              &err));
    if (call->keepdims != NULL) /* False is refused too */
        LW_TRY(lw_core_shape_check_keepdims(&call->shape, &err));
    LW_TRY(lw_core_shape_dims(&call->shape, call->views, keepdims, &err));
    if ((call->axes != NULL || call->axis != NULL) && lw_gcall_read_axes(call) < 0)
        return -1;
    LW_TRY(lw_core_shape_sizes(&call->shape, call->views, &err));
    if (call->self->sizes != NULL && lw_gufunc_fill_sizes(call->self, call->shape.sizes) < 0)
        return -1;
    LW_TRY(lw_core_shape_loop(&call->shape, call->views, &err));
    return 0;
fail:
    lw_py_raise(&err);
    return -1;
}

/* ---- new outputs ---- */

/* Whether axis a of the output should lie outside axis b. Core axes lie innermost, in their
 * order; loop axes as in the inputs, or in order 'C', which wins where these disagree. 'F' is
 * 'C' the other way around. */
static bool
outside(const lw_gcall *call, char order, int8_t core_a, int8_t core_b, int loop_a, int loop_b,
        const int64_t (*loops)[LW_SHAPE_DIMS])
{
    bool any = false;

    if (order == 'F')
        return outside(call, 'C', core_b, core_a, loop_b, loop_a, loops);
    if (core_a >= 0 || core_b >= 0)
        return core_a < core_b;
    if (order == 'C')
        return loop_a < loop_b;
    if (loop_a < loop_b)
        return !outside(call, order, core_b, core_a, loop_b, loop_a, loops);
    for (int i = 0; i < call->self->nin; i++) {
        int64_t a = loops[i][loop_a], b = loops[i][loop_b];
        a = a < 0 ? -a : a;
        b = b < 0 ? -b : b;
        if (a && b && a <= b)
            return false;
        any |= a && b;
    }
    return any;
}

/* Strides of a dense array. As NumPy has it, an order is that of the loop's axes with the
 * core's behind them, wherever `axes` puts these. */
static void
keep_order(const lw_gcall *call, char order, int operand, int ndim, const int64_t *shape,
           int64_t itemsize, int64_t *strides)
{
    int64_t loops[LW_MAX_OPERANDS][LW_SHAPE_DIMS], core[LW_MAX_CORE_DIMS], step = itemsize;
    int8_t place[LW_SHAPE_DIMS];
    int number[LW_SHAPE_DIMS] = {0}, axes[LW_SHAPE_DIMS] = {0}, loop = 0;

    for (int i = 0; i < call->self->nin; i++)
        lw_core_shape_strides(&call->shape, i, &call->views[i], loops[i], core);
    lw_core_shape_axes(&call->shape, operand, ndim, place);
    for (int a = 0; a < ndim; a++) {
        number[a] = place[a] < 0 ? loop++ : 0;
        axes[a] = a;
        for (int j = a; j > 0 && outside(call, order, place[axes[j]], place[axes[j - 1]],
                                         number[axes[j]], number[axes[j - 1]], loops);
             j--) {
            int kept = axes[j];
            axes[j] = axes[j - 1];
            axes[j - 1] = kept;
        }
    }
    for (int i = ndim - 1; i >= 0; i--) {
        strides[axes[i]] = step;
        step *= shape[axes[i]] ? shape[axes[i]] : 1;
    }
}

static bool
all_contiguous(const lw_gcall *call, bool fortran)
{
    bool any = false;

    for (int i = 0; i < call->self->nin; i++) {
        const lw_operand *operand = &call->operands[i];
        int64_t step = operand->itemsize;
        if (operand->kind != LW_OPERAND_DEVICE)
            continue;
        any = true;
        if (!fortran && !operand->c_contiguous)
            return false;
        for (int d = 0; fortran && d < operand->ndim; d++) {
            if (operand->shape[d] != 1 && operand->strides[d] != step)
                return false;
            step *= operand->shape[d];
        }
    }
    return any || !fortran;
}

static lw_device_array *
new_output(const lw_gcall *call, int operand, lw_dtype dtype)
{
    int64_t shape[LW_SHAPE_DIMS], strides[LW_SHAPE_DIMS];
    int ndim = lw_core_shape_result(&call->shape, operand, shape);
    bool plain = call->axes == NULL && call->axis == NULL;
    char order = call->order_letter;

    if (order == 'A')
        order = all_contiguous(call, true) ? 'F' : 'C';
    if (order == 'K' && plain && all_contiguous(call, false))
        order = 'C';
    if (order != 'K' && plain)
        return lw_device_array_new(call->device, call->stream, dtype, ndim, shape, order);
    keep_order(call, order, operand, ndim, shape, lw_dtypes[dtype].size_bytes, strides);
    return lw_device_array_new_strided(call->device, call->stream, dtype, ndim, shape, strides);
}

static int
make_outputs(lw_gcall *call)
{
    int nin = call->self->nin;

    for (int i = nin; i < nin + call->self->nout; i++) {
        lw_operand *operand = &call->operands[i];
        lw_device_array *made;
        if (operand->kind == LW_OPERAND_DEVICE)
            continue;
        made = new_output(call, i, loop_of(call)->types[i]);
        call->made[i - nin] = made;
        if (made == NULL || lw_operand_read(operand, (PyObject *)made) < 0)
            return -1;
    }
    return 0;
}

/* ---- copies: casts, and results as if what overlaps had been copied first ---- */

static bool
is_written(const lw_gcall *call, int operand)
{
    return operand >= call->self->nin || loop_of(call)->writable[operand];
}

/* Whether the operand is a result that is returned: nothing of what was there stays. */
static bool
is_returned(const lw_gcall *call, int operand)
{
    return loop_of(call)->form[operand] == LW_CORE_RESULT;
}

static int
copy_into(lw_gcall *call, lw_device_array *to, lw_device_array *from)
{
    lw_error err = {0};

    if (lw_device_array_use(from, call->stream, &err) != LW_OK ||
        lw_device_array_use(to, call->stream, &err) != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    return lw_device_array_hooks.copy_strided(to, from, call->stream);
}

/* The operand's values in the loop's dtype and memory of its own, in place of the operand. What
 * is written goes back after the kernel. */
static int
replace_by_copy(lw_gcall *call, int i)
{
    lw_operand *operand = &call->operands[i];
    lw_device_array *array = lw_operand_as_array(operand->object), *copy = NULL;
    lw_error err = {0};

    if (array == NULL)
        return -1;
    copy = lw_device_array_new(call->device, call->stream, loop_of(call)->types[i],
                               operand->ndim, operand->shape, 'C');
    if (copy == NULL ||
        (operand->size && !is_returned(call, i) && copy_into(call, copy, array) < 0))
        goto fail;
    if (operand->library != LW_LIB_OWN &&
        lw_operand_done(operand, call->stream, &err) != LW_OK) {
        lw_py_raise(&err);
        goto fail;
    }
    call->owned[call->n_owned++] = (PyObject *)copy;
    if (is_written(call, i)) {
        call->target[i] = array;
        call->source[i] = operand->object;
    } else {
        Py_DECREF(array);
    }
    lw_operand_release(operand);
    operand->release = NULL;
    return lw_operand_read(operand, (PyObject *)copy);
fail:
    Py_DECREF(array);
    Py_XDECREF(copy);
    return -1;
}

/* Whether operand i must be copied, as another one is written where it lies. Outputs and
 * writable inputs are compared with all others; of two that are written the later one
 * moves. */
static bool
must_move(const lw_gcall *call, int i)
{
    for (int k = 0; k < call->n_read; k++) {
        bool writes = is_written(call, k);
        if (k == i || call->operands[k].kind != LW_OPERAND_DEVICE || !writes ||
            (is_written(call, i) && k > i))
            continue;
        if (lw_reaches_meet(lw_operand_reach(&call->operands[i]),
                            lw_operand_reach(&call->operands[k])))
            return true;
    }
    return false;
}

static int
make_copies(lw_gcall *call)
{
    const lw_gufunc_loop *loop = loop_of(call);

    for (int i = 0; i < call->n_read; i++) {
        lw_operand *operand = &call->operands[i];
        if (operand->kind != LW_OPERAND_DEVICE)
            continue;
        if (i < call->self->nin && loop->writable[i] && operand->readonly) {
            PyErr_Format(PyExc_ValueError, "argument %d is read-only, and %s() writes into it",
                         i + 1, lw_gufunc_name(call->self));
            return -1;
        }
        if (operand->dtype == loop->types[i] && !must_move(call, i))
            operand->written = is_written(call, i);
        else if (replace_by_copy(call, i) < 0)
            return -1;
    }
    return 0;
}

/* A foreign producer waits for what was copied back. */
static int
tell_source(const lw_gcall *call, int i)
{
    lw_operand source;
    lw_error err = {0};
    lw_status status = LW_OK;

    if (lw_operand_look(&source, call->source[i]) < 0)
        return -1;
    if (source.kind == LW_OPERAND_DEVICE && source.library != LW_LIB_OWN)
        status = lw_operand_done(&source, call->stream, &err);
    lw_operand_release(&source);
    if (status != LW_OK)
        lw_py_raise(&err);
    return status == LW_OK ? 0 : -1;
}

static int
copy_back(lw_gcall *call)
{
    for (int i = 0; i < call->n_read; i++)
        if (call->target[i] != NULL && call->target[i]->size &&
            (copy_into(call, call->target[i], (lw_device_array *)call->operands[i].object) <
                 0 ||
             tell_source(call, i) < 0))
            return -1;
    return 0;
}

/* ---- plan ---- */

static int
fill_plan(lw_gcall *call)
{
    lw_core_plan *plan = &call->plan;
    const lw_gufunc_loop *loop = loop_of(call);

    plan->loop = loop;
    plan->n_operands = call->n_read;
    plan->can_spread = call->resolution->spread.possible;
    plan->joins = call->resolution->spread.joins;
    plan->searches = call->resolution->spread.searches;
    plan->sizes = call->shape.sizes;
    set_views(call);
    for (int i = 0; i < call->n_read; i++) {
        const lw_operand *operand = &call->operands[i];
        lw_core_plan_operand *p = &plan->operands[i];
        p->by_value = operand->kind != LW_OPERAND_DEVICE;
        p->keep = i >= call->self->nin && call->made[i - call->self->nin] == NULL;
        p->data = operand->data;
        lw_core_shape_strides(&call->shape, i, &call->views[i], p->strides, p->core);
        if (p->by_value && lw_operand_item(operand, loop->types[i], &call->values[i]) < 0)
            return -1;
    }
    if (lw_core_plan_normalise(plan, call->shape.loop_ndim, call->shape.loop))
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "%s: loops of more than %d dimensions longer than 1 are not supported",
                 lw_gufunc_name(call->self), LW_CORE_LOOP_DIMS);
    return -1;
}

/* ---- errors ---- */

static int
report_errors(const lw_gcall *call)
{
    lw_watch *watch = call->resolution->head.watch;

    if (watch == NULL || call->self->options.errors != LW_RAISE || call->plan.n == 0)
        return 0;
    return lw_watch_wait(watch, call->stream);
}

/* ---- results ---- */

static PyObject *
take_result(lw_gcall *call, int which)
{
    lw_device_array *made = call->made[which];

    if (made == NULL)
        return Py_NewRef(call->out_objects[which]);
    call->made[which] = NULL;
    if (call->first.object == NULL || call->first.library == LW_LIB_OWN)
        return (PyObject *)made;
    return lw_result_wrap(&call->first, made);
}

static PyObject *
results(lw_gcall *call)
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
prepare(lw_gcall *call, PyObject *const *args, Py_ssize_t n_args)
{
    if (read_outputs(call, args, n_args) < 0 || read_operands(call, args) < 0)
        return -1;
    if (call->device == NULL) { /* target="cuda" and nothing on a device yet */
        call->device = lw_current_device();
        if (call->device == NULL)
            return -1;
    }
    if (read_stream(call) < 0 || (call->n_host && bring_over_all(call) < 0))
        return -1;
    return match_shapes(call) < 0 || find_resolution(call) < 0 ? -1 : 0;
}

static void
release(lw_gcall *call)
{
    for (int i = 0; i < call->n_read; i++) {
        if (call->operands[i].release != NULL)
            lw_operand_release(&call->operands[i]);
        Py_CLEAR(call->target[i]);
    }
    for (int i = 0; i < call->self->nout; i++)
        Py_CLEAR(call->made[i]);
    while (call->n_owned > 0)
        Py_DECREF(call->owned[--call->n_owned]);
}

static void
init(lw_gcall *call, lw_gufunc *self, lw_extra_arrays *extra)
{
    size_t n = (size_t)self->nin + (size_t)self->nout;

    memset(call, 0, offsetof(lw_gcall, operands)); /* the rest is filled as it is used */
    memset(call->out_objects, 0, n * sizeof *call->out_objects);
    memset(call->made, 0, n * sizeof *call->made);
    memset(call->target, 0, n * sizeof *call->target);
    call->self = self;
    call->extra = extra;
    call->device = extra ? extra->device : NULL;
}

PyObject *
lw_gcall_on_device(lw_gufunc *self, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames,
                   lw_extra_arrays *extra)
{
    PyObject *result = NULL;
    lw_gcall call;

    init(&call, self, extra);
    if (read_keywords(&call, args + n_args, kwnames) == 0 && check_call(&call, n_args) == 0 &&
        prepare(&call, args, n_args) == 0 && make_outputs(&call) == 0 &&
        make_copies(&call) == 0 && fill_plan(&call) == 0 && lw_gcall_run(&call) == 0 &&
        copy_back(&call) == 0 && report_errors(&call) == 0)
        result = results(&call);
    if (extra != NULL && result != NULL)
        extra->stream = call.stream;
    release(&call);
    return result;
}

static PyObject *
call_device(lw_gufunc *self, PyObject *const *args, size_t nargsf, PyObject *kwnames,
            lw_extra_arrays *extra)
{
    Py_ssize_t n_args = PyVectorcall_NARGS(nargsf);
    lw_gcall call;

    if (self->options.target == LW_CHOOSE_CUDA) {
        init(&call, self, extra);
        if (read_keywords(&call, args + n_args, kwnames) < 0 || check_call(&call, n_args) < 0)
            return NULL;
        if (lw_gcall_is_hosted(&call, args, n_args))
            return lw_gcall_hosted(&call, args, n_args, kwnames);
    }
    return lw_gcall_on_device(self, args, n_args, kwnames, extra);
}

int
lw_gufunc_device_register(PyObject *module)
{
    lw_gufunc_device.call = call_device;
    lw_gufunc_inspect_register();
    return lw_gufunc_large_register(module) < 0 ? -1 : lw_gufunc_simulate_register(module);
}
