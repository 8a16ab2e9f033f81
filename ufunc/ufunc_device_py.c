/* Ufuncs on device arrays: what core/py/numpy/device_call.h asks of this door. Shapes
 * broadcast; the walk gets an elementwise kernel (device_kernel.h). */
#include "core/py/numpy_api.h"

#include "ufunc/ufunc_device_py.h"

#include "core/base/clock.h"
#include "core/py/raise.h"
#include "core/py/raise_row.h"
#include "ufunc/ufunc_parts.h"

#include <string.h>

typedef struct ufunc_call {
    lw_device_call base;
    lw_kernel_key key;
    lw_plan plan;
} ufunc_call;

static ufunc_call *
whole_of(lw_device_call *call)
{
    return (ufunc_call *)call; /* base is its first member */
}

static const char *
name_of(const lw_ufunc_head *self)
{
    return self->tree->fns.n > 1 ? self->tree->fns.data[1].name : "kernel";
}

/* ---- shapes ---- */

static void
refuse_shapes(const lw_device_call *call)
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

static bool
has_call_shape(const lw_device_call *call, const lw_operand *operand)
{
    return operand->ndim == call->loop_ndim &&
           memcmp(operand->shape, call->loop, (size_t)operand->ndim * sizeof *call->loop) == 0;
}

static int
check_output_shapes(const lw_device_call *call)
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

static int
match(lw_device_call *call)
{
    for (int i = 0; i < call->n_read; i++)
        if (call->operands[i].kind == LW_OPERAND_DEVICE &&
            call->operands[i].ndim > call->loop_ndim)
            call->loop_ndim = call->operands[i].ndim;
    for (int d = 0; d < call->loop_ndim; d++)
        call->loop[d] = 1;
    for (int i = 0; i < call->n_read; i++) {
        const lw_operand *operand = &call->operands[i];
        int shift = call->loop_ndim - operand->ndim;
        if (operand->kind != LW_OPERAND_DEVICE)
            continue;
        for (int d = 0; d < operand->ndim; d++) {
            int64_t *size = &call->loop[d + shift];
            if (operand->shape[d] == *size || operand->shape[d] == 1)
                continue;
            if (*size != 1) {
                refuse_shapes(call);
                return -1;
            }
            *size = operand->shape[d];
        }
    }
    return call->n_given ? check_output_shapes(call) : 0;
}

static int
result(const lw_device_call *call, int Py_UNUSED(output), int64_t *shape, int8_t *core)
{
    for (int d = 0; d < call->loop_ndim; d++) {
        shape[d] = call->loop[d];
        core[d] = -1;
    }
    return call->loop_ndim;
}

static void
strides(const lw_device_call *call, int i, int64_t *loop)
{
    const lw_operand *operand = &call->operands[i];
    int ndim = operand->kind == LW_OPERAND_DEVICE ? operand->ndim : 0;
    int shift = call->loop_ndim - ndim;

    for (int d = 0; d < call->loop_ndim; d++)
        loop[d] = d < shift || operand->shape[d - shift] == 1 ? 0 : operand->strides[d - shift];
}

static bool
writes(const lw_device_call *Py_UNUSED(call), int Py_UNUSED(input))
{
    return false;
}

static bool
overwrites(const lw_device_call *call, int Py_UNUSED(output))
{
    return !call->masked;
}

/* ---- plan ---- */

static int
fill_plan(ufunc_call *whole)
{
    lw_device_call *call = &whole->base;
    const lw_dtype *types = lw_device_call_types(call);
    lw_plan *plan = &whole->plan;

    plan->n_in = call->self->nin;
    plan->n_out = call->self->nout;
    plan->masked = call->masked;
    plan->stores = ((const lw_loop *)call->resolution->loop)->uniforms.stores;
    if (lw_device_call_fill(call, &plan->walk) < 0)
        return -1;
    for (int i = 0; i < call->n_read; i++)
        plan->dtypes[i] =
            plan->walk.operands[i].by_value ? (uint8_t)types[i] : call->operands[i].dtype;
    return 0;
}

/* Everything has the same shape and is C-contiguous: one dimension, nothing to normalise. */
static bool
plan_flat(ufunc_call *whole)
{
    lw_device_call *call = &whole->base;
    lw_walk *walk = &whole->plan.walk;

    for (int i = 0; i < call->n_read; i++) {
        const lw_operand *operand = &call->operands[i];
        if (operand->kind == LW_OPERAND_DEVICE &&
            (!operand->c_contiguous || !has_call_shape(call, operand)))
            return false;
    }
    walk->n = 1;
    for (int d = 0; d < call->loop_ndim; d++)
        walk->n *= call->loop[d];
    walk->ndim = 1;
    walk->shape[0] = walk->n;
    for (int i = 0; i < call->n_read; i++)
        walk->operands[i].strides[0] = lw_dtypes[whole->plan.dtypes[i]].size_bytes;
    return true;
}

static int
plan_general(ufunc_call *whole)
{
    lw_device_call *call = &whole->base;
    int64_t steps[LW_WALK_OPERANDS][LW_MAX_DIMS];
    const int64_t *rows[LW_WALK_OPERANDS];

    for (int i = 0; i < call->n_read; i++) {
        rows[i] = steps[i];
        strides(call, i, steps[i]);
    }
    if (lw_plan_normalise(&whole->plan, call->loop_ndim, call->loop, rows))
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "operands of %d dimensions, of which more than %d are longer than 1, are not "
                 "supported",
                 call->loop_ndim, LW_WALK_DIMS);
    return -1;
}

static int
make_plan(ufunc_call *whole)
{
    if (fill_plan(whole) < 0)
        return -1;
    return plan_flat(whole) ? 0 : plan_general(whole);
}

/* ---- launch ---- */

static int64_t
squares(const lw_kernel_key *key, int64_t size)
{
    return (size + lw_plan_side(key) - 1) / lw_plan_side(key);
}

/* Elements, accesses or squares: what `items` counts for this kernel. */
static int64_t
count_items(const lw_walk *walk, const lw_kernel_key *key)
{
    if (key->tiled)
        return walk->n / walk->shape[0] / walk->shape[1] * squares(key, walk->shape[0]) *
               squares(key, walk->shape[1]);
    return key->ndim ? walk->n / key->width : walk->n;
}

static void
add_walk(lw_launch_record *record, const lw_walk *walk, const lw_kernel_key *key)
{
    for (int d = 0; d < 2 && key->tiled; d++)
        lw_record_add(record, (uint64_t)walk->shape[d]);
    for (int d = 0; d + 1 < key->ndim; d++)
        lw_record_add_divider(record,
                              (uint32_t)(key->tiled && d < 2 ? squares(key, walk->shape[d])
                                         : d == 0            ? walk->shape[0] / key->width
                                                             : walk->shape[d]));
    for (int i = 0; i < key->n_operands; i++)
        for (int d = 0; d < key->ndim; d++)
            if (lw_kernel_has_stride(key, i, d))
                lw_record_add(record, (uint64_t)walk->operands[i].strides[d]);
}

/* The parameters as device_kernel.h lists them. */
static void
fill_record(const lw_device_call *call, lw_launch_record *record)
{
    const ufunc_call *w = (const ufunc_call *)call;
    const lw_walk *walk = &w->plan.walk;
    const lw_kernel_key *key = &w->key;
    uint64_t items = (uint64_t)count_items(walk, key);
    uint64_t per_block =
        key->tiled ? 1 : (uint64_t)LW_PLAN_BLOCK * key->groups * (key->ndim ? 1 : key->width);

    record->grid = (uint32_t)((items + per_block - 1) / per_block);
    record->block = LW_PLAN_BLOCK;
    lw_record_add(record, items);
    for (int i = 0; i < key->n_operands; i++)
        if (walk->operands[i].by_value)
            lw_record_add_item(record, i, w->plan.dtypes[i], &call->values[i]);
        else
            lw_record_add_address(record, i, walk->operands[i].data);
    add_walk(record, walk, key);
    if (call->resolution->watch != NULL) /* alive, as the kernel is */
        lw_record_add(record, lw_watch_address(call->resolution->watch));
}

static int
launch_plan(ufunc_call *whole, bool may_recall)
{
    const lw_resolution *resolution = (const lw_resolution *)whole->base.resolution;
    lw_device_launch launch = {.door = &lw_ufunc_device_door,
                               .call = &whole->base,
                               .resolution = whole->base.resolution,
                               .key = &whole->key,
                               .walk = &whole->plan.walk,
                               .may_recall = may_recall,
                               .fill = fill_record};

    if (whole->plan.walk.n == 0)
        return 0;
    lw_plan_key(&whole->plan, resolution->cost, resolution->has_loop, &whole->key);
    if (whole->key.ndim) /* others count their elements in 64 bits */
        launch.width = whole->key.width;
    return lw_device_call_launch(&launch);
}

static int
launch(lw_device_call *call)
{
    return make_plan(whole_of(call)) < 0 ? -1 : launch_plan(whole_of(call), true);
}

/* ---- copies ---- */

int
lw_ufunc_launch_copy(const lw_device_copy *copy)
{
    const int64_t *rows[2] = {copy->from.strides, copy->to.strides};
    const lw_copy_side *sides[2] = {&copy->from, &copy->to};
    ufunc_call call;

    memset(&call.base, 0, offsetof(lw_device_call, operands));
    call.base.stream = copy->stream;
    call.base.device = copy->device;
    call.base.resolution = copy->resolution;
    call.plan.n_in = call.plan.n_out = 1;
    call.plan.masked = call.plan.stores = false;
    call.plan.walk.n_operands = 2;
    for (int i = 0; i < 2; i++) {
        call.plan.dtypes[i] = (uint8_t)sides[i]->dtype;
        call.plan.walk.operands[i].by_value = sides[i]->item != NULL;
        call.plan.walk.operands[i].is_output = i == 1;
        call.plan.walk.operands[i].data = sides[i]->data;
        if (sides[i]->item != NULL)
            memcpy(&call.base.values[i], sides[i]->item, lw_dtypes[sides[i]->dtype].size_bytes);
    }
    if (lw_plan_normalise(&call.plan, copy->ndim, copy->shape, rows))
        return launch_plan(&call, false);
    PyErr_Format(PyExc_ValueError, "a copy of %d dimensions cannot be merged", copy->ndim);
    return -1;
}

/* ---- resolutions and kernels ---- */

static void
examine(lw_resolved *made)
{
    lw_resolution *resolution = (lw_resolution *)made;

    resolution->cost =
        lw_scalar_cost(((const lw_loop *)made->loop)->scalar, &resolution->has_loop);
}

static int
raise_record(const void *owner, const lw_report_record *record)
{
    lw_raise_place place = {.kind = LW_AT_ELEMENT};

    return lw_device_raise(owner, record, &place);
}

static size_t
key_size(const void *key)
{
    return lw_kernel_key_size(key);
}

static lw_status
module(const lw_resolved *resolved, const void *key, lw_module **out, lw_error *err)
{
    char symbol[96];

    lw_device_symbol(resolved->options.name, resolved->loop, key, key_size(key), symbol);
    return lw_device_kernel(resolved->loop, key, symbol, resolved->options.max_registers, out,
                            err);
}

/* Of a call on large, aligned, contiguous arrays of exactly the loop's dtypes. */
static void
usual_key(const void *object, void *key)
{
    const lw_loop *loop = object;
    bool has_loop;
    uint32_t cost = lw_scalar_cost(loop->scalar, &has_loop);
    lw_plan plan = {.n_in = loop->nin, .n_out = loop->nout, .stores = loop->uniforms.stores};
    lw_walk *walk = &plan.walk;

    walk->n_operands = loop->nin + loop->nout;
    walk->ndim = 1;
    walk->n = walk->shape[0] = 1 << 24;
    for (int i = 0; i < walk->n_operands; i++) {
        plan.dtypes[i] = (uint8_t)loop->types[i];
        walk->operands[i].by_value = i >= loop->uniforms.first && i < loop->nin;
        walk->operands[i].is_output = i >= loop->nin;
        walk->operands[i].data = (uint64_t)(i + 1) << 36; /* apart: no address is followed */
        walk->operands[i].strides[0] = lw_dtypes[loop->types[i]].size_bytes;
    }
    lw_plan_key(&plan, cost, has_loop, key);
}

static PyObject *
resources(const void *Py_UNUSED(loop), const void *object, const lw_cubin_info *info, int cc)
{
    const lw_kernel_key *key = object;

    return Py_BuildValue("{s:i,s:i,s:d}", "threads_per_block", LW_PLAN_BLOCK,
                         "elements_per_thread", key->width * key->groups, "occupancy",
                         lw_occupancy_of(info, cc, LW_PLAN_BLOCK));
}

const lw_device_door lw_ufunc_device_door = {
    .is_elementwise = true,
    .name = name_of,
    .match = match,
    .result = result,
    .strides = strides,
    .writes = writes,
    .overwrites = overwrites,
    .launch = launch,
    .resolution_bytes = sizeof(lw_resolution),
    .examine = examine,
    .raise = raise_record,
    .key_bytes = sizeof(lw_kernel_key),
    .usual_key = usual_key,
    .key_size = key_size,
    .resources = resources,
    .module = module,
};

/* ---- the call ---- */

PyObject *
lw_ufunc_call_device(lw_ufunc_head *self, PyObject *const *args, size_t nargsf,
                     PyObject *kwnames, lw_extra_arrays *extra)
{
    ufunc_call call;

    return lw_device_call_run(&call.base, self, args, PyVectorcall_NARGS(nargsf), kwnames,
                              extra);
}

/* Seconds of a launch, of n one after the other. -1.0 with an exception. */
static double
time_launches(lw_device_call *call, long n)
{
    lw_loaded *loaded =
        lw_device_kernel_for(&lw_ufunc_device_door, call->resolution, &whole_of(call)->key);
    lw_launch_record record;
    int64_t start = lw_now_ns();
    lw_error err = {0};
    lw_status status = LW_OK;

    if (loaded == NULL)
        return -1.0;
    record.kernel = loaded->kernel;
    for (long i = 0; i < n && status == LW_OK; i++) {
        lw_record_begin(&record);
        fill_record(call, &record);
        status = lw_record_launch(&record, call->stream, &err);
    }
    if (status == LW_OK)
        return 1e-9 * (double)(lw_now_ns() - start) / (double)n;
    lw_py_raise(&err);
    return -1.0;
}

PyObject *
lw_ufunc_time_launch(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args)
{
    PyObject *seconds = NULL;
    double made;
    long n;
    ufunc_call call;

    if (n_args < 3 || PyVectorcall_Function(args[0]) != lw_ufunc_call ||
        (n = PyLong_AsLong(args[1])) <= 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "_time_launch(ufunc, n, *operands)");
        return NULL;
    }
    if (lw_device_call_begin(&call.base, (lw_ufunc_head *)args[0], args + 2, n_args - 2, NULL,
                             NULL) < 0)
        return NULL;
    if (lw_device_call_prepare(&call.base, args + 2, n_args - 2) == 0 &&
        launch(&call.base) == 0 &&
        (made = call.plan.walk.n ? time_launches(&call.base, n) : 0.0) >= 0.0)
        seconds = PyFloat_FromDouble(made);
    lw_device_call_end(&call.base);
    return seconds;
}
