/* Gufuncs on device arrays: what core/py/numpy/device_call.h asks of this door. Shapes are
 * matched by NumPy's rules for generalized ufuncs; the walk goes over items, and gets a kernel
 * that calls the body for each (core/core_kernel.h). */
#include "core/py/numpy_api.h"

#include "gufunc/device_call_py.h"

#include "core/py/raise.h"
#include "core/py/raise_row.h"
#include "gufunc/core/core_trace.h"
#include "gufunc/device_large_py.h"
#include "gufunc/gufunc_parts_py.h"

#include <string.h>

static lw_device_gufunc *
whole_of(lw_device_call *call)
{
    return (lw_device_gufunc *)call; /* base is its first member */
}

static const lw_gufunc_loop *
loop_of(const lw_device_call *call)
{
    return call->resolution->loop;
}

static const char *
name(const lw_ufunc_head *self)
{
    return lw_gufunc_name((const lw_gufunc *)self);
}

/* ---- shapes ---- */

static void
set_views(lw_device_gufunc *w)
{
    for (int i = 0; i < w->base.n_read; i++) {
        const lw_operand *operand = &w->base.operands[i];
        bool array = operand->kind == LW_OPERAND_DEVICE;
        w->views[i].present = array || i < w->base.self->nin;
        w->views[i].ndim = array ? operand->ndim : 0;
        w->views[i].shape = operand->shape;
        w->views[i].strides = operand->strides;
    }
}

static int
match(lw_device_call *call)
{
    lw_device_gufunc *w = whole_of(call);
    lw_gufunc *self = lw_gufunc_of(w);
    lw_error err = {0};
    lw_status status;
    bool keepdims;

    set_views(w);
    if (lw_gufunc_read_keepdims(w, &keepdims) < 0)
        return -1;
    LW_TRY(lw_core_shape_init(&w->shape, &self->layout, name(call->self), &err));
    if (call->keepdims != NULL) /* False is refused too */
        LW_TRY(lw_core_shape_check_keepdims(&w->shape, &err));
    LW_TRY(lw_core_shape_dims(&w->shape, w->views, keepdims, &err));
    if ((call->axes != NULL || call->axis != NULL) && lw_gufunc_read_axes(w) < 0)
        return -1;
    LW_TRY(lw_core_shape_sizes(&w->shape, w->views, &err));
    if (self->sizes != NULL && lw_gufunc_fill_sizes(self, w->shape.sizes) < 0)
        return -1;
    LW_TRY(lw_core_shape_loop(&w->shape, w->views, &err));
    call->loop_ndim = w->shape.loop_ndim;
    memcpy(call->loop, w->shape.loop, (size_t)call->loop_ndim * sizeof *call->loop);
    return 0;
fail:
    lw_py_raise(&err);
    lw_gufunc_show_names((lw_gufunc_object *)self); /* whose head it is */
    return -1;
}

static int
result(const lw_device_call *call, int output, int64_t *shape, int8_t *core)
{
    const lw_core_shape *s = &((const lw_device_gufunc *)call)->shape;
    int ndim = lw_core_shape_result(s, output, shape);

    lw_core_shape_axes(s, output, ndim, core);
    return ndim;
}

static void
strides(const lw_device_call *call, int i, int64_t *loop)
{
    const lw_device_gufunc *w = (const lw_device_gufunc *)call;
    int64_t core[LW_MAX_CORE_DIMS];

    lw_core_shape_strides(&w->shape, i, &w->views[i], loop, core);
}

static bool
writes(const lw_device_call *call, int input)
{
    return loop_of(call)->writable[input];
}

/* A result that is returned: nothing of what was there stays. */
static bool
overwrites(const lw_device_call *call, int output)
{
    return loop_of(call)->form[output] == LW_CORE_RESULT;
}

/* ---- plan ---- */

static int
make_plan(lw_device_gufunc *w)
{
    lw_device_call *call = &w->base;
    const lw_spread *spread = &((const lw_gufunc_resolution *)call->resolution)->spread;
    int64_t steps[LW_MAX_OPERANDS][LW_SHAPE_DIMS];
    const int64_t *rows[LW_MAX_OPERANDS];
    lw_core_plan *plan = &w->plan;

    plan->loop = loop_of(call);
    plan->can_spread = spread->possible;
    plan->joins = spread->joins;
    plan->scans_little = spread->scans_little;
    plan->searches = spread->searches;
    plan->in_order = spread->in_order;
    plan->kept_dim = spread->kept_dim;
    plan->kept_bytes = spread->kept_bytes;
    plan->kept_weight = spread->kept_weight;
    plan->reads_rows = spread->reads_rows;
    plan->own_rows = spread->own_rows;
    plan->most_shared = (uint32_t)call->device->shared_per_block_optin;
    plan->sizes = w->shape.sizes;
    if (lw_device_call_fill(call, &plan->walk) < 0)
        return -1;
    set_views(w); /* copies may stand for operands */
    for (int i = 0; i < call->n_read; i++) {
        rows[i] = steps[i];
        plan->operands[i].keep =
            i >= call->self->nin && call->made[i - call->self->nin] == NULL;
        lw_core_shape_strides(&w->shape, i, &w->views[i], steps[i], plan->operands[i].core);
    }
    if (lw_core_plan_normalise(plan, call->loop_ndim, call->loop, rows))
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "%s: loops of more than %d dimensions longer than 1 are not supported",
                 name(call->self), LW_WALK_DIMS);
    return -1;
}

/* Once for each loop: few items, each with much to do, and one thread for each. */
static int
warn_of_idle(lw_device_gufunc *w)
{
    lw_gufunc_resolution *resolution = (lw_gufunc_resolution *)w->base.resolution;
    const lw_door_options *options = &w->base.self->options;
    lw_text text = {0};
    int failed;

    if (resolution->spread.possible || resolution->warned || !options->warn ||
        !lw_core_plan_is_large(&w->plan))
        return 0;
    resolution->warned = true;
    lw_text_addf(&text, "`%s`: %lld items with large cores run on one thread each%s",
                 w->shape.name, (long long)w->plan.walk.n,
                 resolution->spread.line ? ". More threads cannot share an item because of "
                                         : "");
    lw_spread_tell(&resolution->spread, true, &text);
    failed = lw_door_warn(options, "PerformanceWarning", lw_text_get(&text));
    lw_text_reset(&text);
    return failed;
}

/* ---- launch ---- */

/* Few items are spread over all SMs by smaller blocks. */
static uint32_t
block_of(const lw_device *device, const lw_core_key *key, int64_t items)
{
    uint32_t block = LW_CORE_THREADS;

    if (key->block)
        return key->block;
    while (block > 32 && (items + block - 1) / block < 2 * (int64_t)device->n_sms)
        block /= 2;
    return block;
}

/* Items of a block; tiles get smaller where there are few. */
static uint32_t
items_of(const lw_device_gufunc *w, uint32_t block)
{
    int64_t blocks = 2 * (int64_t)w->base.device->n_sms, few;
    uint32_t most;

    if (!w->key.tiled)
        return w->key.warps ? w->key.warps : w->key.spread ? 1 : block;
    most = lw_core_plan_tile(&w->plan, &w->key);
    few = (w->plan.walk.n + blocks - 1) / blocks;
    return few < most ? (uint32_t)few : most;
}

static void
add_walk(lw_launch_record *record, const lw_walk *walk, const lw_core_key *key)
{
    for (int d = 0; d + 1 < key->ndim; d++)
        lw_record_add_divider(record, (uint32_t)walk->shape[d]);
    for (int i = 0; i < walk->n_operands; i++)
        for (int d = 0; d < key->ndim && lw_core_has_loop_strides(key, i); d++)
            lw_record_add(record, (uint64_t)walk->operands[i].strides[d]);
}

static void
add_cores(lw_launch_record *record, const lw_device_gufunc *w)
{
    const lw_core_layout *layout = w->plan.loop->layout;

    for (uint32_t d = 0; d < layout->n_dims && !w->key.constant; d++)
        lw_record_add(record, (uint64_t)w->shape.sizes[d]);
    for (int i = 0; i < w->plan.walk.n_operands; i++)
        for (uint32_t d = 0;
             d < layout->operands[i].n && w->key.operands[i].access == LW_ACCESS_STRIDED; d++)
            lw_record_add(record, (uint64_t)w->plan.operands[i].core[d]);
}

/* The parameters as core/core_kernel.h lists them. */
static void
fill_record(const lw_device_call *call, lw_launch_record *record)
{
    const lw_device_gufunc *w = (const lw_device_gufunc *)call;
    const lw_walk *walk = &w->plan.walk;
    uint32_t block = block_of(call->device, &w->key, walk->n);
    uint32_t per_block = items_of(w, block);

    record->grid = (uint32_t)((walk->n + per_block - 1) / per_block *
                              lw_core_plan_bands(&w->plan, &w->key));
    record->block = block;
    record->shared_bytes = lw_core_dynamic_bytes(&w->key);
    lw_record_add(record, (uint64_t)walk->n);
    if (w->key.tiled)
        lw_record_add(record, per_block);
    for (int i = 0; i < walk->n_operands; i++)
        if (walk->operands[i].by_value)
            lw_record_add_item(record, i, w->plan.loop->types[i], &call->values[i]);
        else
            lw_record_add_address(record, i, walk->operands[i].data);
    add_walk(record, walk, &w->key);
    add_cores(record, w);
    if (call->resolution->watch != NULL) /* alive, as the kernel is */
        lw_record_add(record, lw_watch_address(call->resolution->watch));
}

/* Inputs that the body writes to, and sizes that a Python function gives, are looked at anew.
 */
static bool
may_recall(const lw_device_gufunc *w)
{
    const lw_gufunc *self = lw_gufunc_of(w);
    bool may = self->large == NULL && self->sizes == NULL;

    for (int i = 0; i < self->nin; i++)
        may = may && !w->plan.loop->writable[i];
    return may;
}

static int
launch(lw_device_call *call)
{
    lw_device_gufunc *w = whole_of(call);
    lw_device_launch launch = {.door = &lw_gufunc_device_door,
                               .call = call,
                               .resolution = call->resolution,
                               .key = &w->key,
                               .walk = &w->plan.walk,
                               .width = 1,
                               .fill = fill_record};
    int taken;

    if (make_plan(w) < 0)
        return -1;
    if (w->plan.walk.n == 0)
        return 0;
    call->items = w->plan.walk.n;
    if (lw_gufunc_of(w)->large != NULL && (taken = lw_gufunc_call_large(w)) != 0)
        return taken < 0 ? -1 : lw_device_call_after(call);
    lw_core_plan_key(&w->plan, &w->key);
    launch.may_recall = may_recall(w);
    return warn_of_idle(w) < 0 ? -1 : lw_device_call_launch(&launch);
}

/* ---- resolutions and kernels ---- */

static void
examine(lw_resolved *made)
{
    ((lw_gufunc_resolution *)made)->spread = lw_core_spread(made->loop);
}

static int
raise_record(const void *owner, const lw_report_record *record)
{
    lw_raise_place place = {.kind = LW_AT_INDEX, .ndim = 1};

    return lw_device_raise(owner, record, &place);
}

static size_t
key_size(const void *key)
{
    return lw_core_key_size(key);
}

static lw_status
module(const lw_resolved *resolved, const void *key, lw_module **out, lw_error *err)
{
    lw_core_key actual = *(const lw_core_key *)key;
    char symbol[96];

    lw_core_drop_keep(resolved->loop, &actual);
    lw_device_symbol(resolved->options.name, resolved->loop, &actual, key_size(&actual),
                     symbol);
    return lw_core_kernel(resolved->loop, &actual, symbol, resolved->options.max_registers, out,
                          err);
}

/* ---- inspection ---- */

/* Of many contiguous items, with cores of 3 where the layout fixes no size. */
static void
usual_key(const void *object, void *key)
{
    const lw_gufunc_loop *loop = object;
    const lw_core_layout *layout = loop->layout;
    const int64_t n = 1 << 24;
    int64_t sizes[LW_SHAPE_CORE_NAMES], steps[LW_MAX_OPERANDS];
    const int64_t *rows[LW_MAX_OPERANDS];
    lw_core_plan plan = {.loop = loop, .sizes = sizes}; /* not spread: the cores are small */

    for (uint32_t d = 0; d < layout->n_dims && d < LW_SHAPE_CORE_NAMES; d++)
        sizes[d] = layout->dims[d].fixed ? layout->dims[d].fixed : 3;
    plan.walk.n_operands = loop->nin + loop->nout;
    for (int i = 0; i < plan.walk.n_operands; i++) {
        const lw_core_operand *core = &layout->operands[i];
        steps[i] = lw_dtypes[loop->types[i]].size_bytes;
        rows[i] = &steps[i];
        for (uint32_t d = core->n; d-- > 0;) {
            plan.operands[i].core[d] = steps[i];
            steps[i] *= sizes[core->dims[d]];
        }
        plan.walk.operands[i].data = (uint64_t)(i + 1) << 36; /* apart: none is followed */
    }
    lw_core_plan_normalise(&plan, 1, &n, rows);
    lw_core_plan_key(&plan, key);
}

static PyObject *
sizes_dict(const lw_gufunc_loop *loop, const lw_core_key *key)
{
    PyObject *dict = PyDict_New();

    for (uint32_t d = 0; dict != NULL && key->constant && d < loop->layout->n_dims; d++) {
        PyObject *size = PyLong_FromLong(key->sizes[d]);
        if (size == NULL || PyDict_SetItemString(dict, loop->layout->dims[d].name, size) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(size);
    }
    return dict;
}

static PyObject *
large_cores(const lw_gufunc_loop *loop, const lw_spread *spread)
{
    lw_text text = {0};
    PyObject *said;

    if (spread->possible)
        return PyUnicode_FromString("block per item");
    lw_text_add(&text, loop->writes_excluded ? "thread per item"
                                             : "thread per item, staged through shared memory "
                                               "up to 8 KB an item");
    if (spread->line)
        lw_text_add(&text, ": ");
    lw_spread_tell(spread, false, &text);
    said = PyUnicode_FromString(lw_text_get(&text));
    lw_text_reset(&text);
    return said;
}

static PyObject *
resources(const void *object, const void *usual, const lw_cubin_info *info, int cc)
{
    const lw_gufunc_loop *loop = object;
    const lw_core_key *key = usual;
    int block = key->block ? key->block : LW_CORE_THREADS;
    lw_spread spread = lw_core_spread(loop);
    PyObject *large = large_cores(loop, &spread);

    return Py_BuildValue("{s:i,s:d,s:s,s:N,s:N}", "threads_per_block", block, "occupancy",
                         lw_occupancy_of(info, cc, block), "mapping",
                         key->block ? "thread per item, staged through shared memory"
                                    : "thread per item",
                         "core_sizes", sizes_dict(loop, key), "large_cores", large);
}

const lw_device_door lw_gufunc_device_door = {
    .is_generalized = true,
    .name = name,
    .match = match,
    .result = result,
    .strides = strides,
    .writes = writes,
    .overwrites = overwrites,
    .launch = launch,
    .resolution_bytes = sizeof(lw_gufunc_resolution),
    .examine = examine,
    .raise = raise_record,
    .key_bytes = sizeof(lw_core_key),
    .usual_key = usual_key,
    .key_size = key_size,
    .resources = resources,
    .module = module,
};

/* ---- the call ---- */

PyObject *
lw_gufunc_call_device(lw_ufunc_head *self, PyObject *const *args, size_t nargsf,
                      PyObject *kwnames, lw_extra_arrays *extra)
{
    lw_device_gufunc call;

    return lw_device_call_run(&call.base, self, args, PyVectorcall_NARGS(nargsf), kwnames,
                              extra);
}
