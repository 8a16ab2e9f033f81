/* From a plan to the driver: the parameter block as core_kernel.h lists it, calls with more
 * items than 31 bits count cut into several launches, and the order with the operands' streams.
 */
#include "core/py/numpy/launch_order.h"
#include "core/py/numpy_api.h"

#include "gufunc/device_call_py.h"
#include "gufunc/device_large_py.h"
#include "gufunc/device_simulate_py.h"
#include "gufunc/recall_py.h"

#include "core/base/divider.h"
#include "core/py/raise.h"

#include <stdio.h>

enum {
    MOST_PARAMS = 3 + 2 * LW_MAX_OPERANDS + 3 * LW_CORE_LOOP_DIMS +
                  LW_MAX_OPERANDS * LW_CORE_LOOP_DIMS + LW_SHAPE_CORE_NAMES +
                  LW_MAX_OPERANDS * LW_MAX_CORE_DIMS,
};

typedef struct launch_values {
    uint32_t items, tile;
    uint64_t pointer[LW_MAX_OPERANDS];
    uint32_t divider[3 * LW_CORE_LOOP_DIMS];
    int32_t stride32[LW_MAX_OPERANDS][LW_CORE_LOOP_DIMS];
    CUdeviceptr report;
    void *params[MOST_PARAMS];
} launch_values;

static uint32_t
add_operands(lw_gcall *call, launch_values *v, uint32_t n)
{
    const lw_core_plan *plan = &call->plan;

    for (int i = 0; i < plan->n_operands; i++) {
        lw_dtype dtype = plan->loop->types[i];
        if (!plan->operands[i].by_value) {
            v->pointer[i] = plan->operands[i].data;
            v->params[n++] = &v->pointer[i];
            continue;
        }
        v->params[n++] = &call->values[i];
        if (lw_is_complex(dtype))
            v->params[n++] = call->values[i].bytes + lw_dtypes[dtype].size_bytes / 2;
    }
    return n;
}

static uint32_t
add_loop(lw_core_plan *plan, const lw_core_key *key, launch_values *v, uint32_t n)
{
    for (int d = 0; d + 1 < key->ndim; d++) {
        lw_divider divider = lw_divider_of((uint32_t)plan->shape[d]);
        v->divider[3 * d] = (uint32_t)plan->shape[d];
        v->divider[3 * d + 1] = divider.multiplier;
        v->divider[3 * d + 2] = divider.shift;
        for (int i = 0; i < 3; i++)
            v->params[n++] = &v->divider[3 * d + i];
    }
    for (int i = 0; i < plan->n_operands; i++)
        for (int d = 0; d < key->ndim && lw_core_has_loop_strides(key, i); d++) {
            v->stride32[i][d] = (int32_t)plan->operands[i].strides[d];
            v->params[n++] =
                key->wide ? (void *)&plan->operands[i].strides[d] : (void *)&v->stride32[i][d];
        }
    return n;
}

static uint32_t
add_cores(lw_gcall *call, const lw_core_key *key, launch_values *v, uint32_t n)
{
    const lw_core_layout *layout = call->plan.loop->layout;

    for (uint32_t d = 0; d < layout->n_dims && !key->constant; d++)
        v->params[n++] = &call->shape.sizes[d];
    for (int i = 0; i < call->plan.n_operands; i++)
        for (uint32_t d = 0;
             d < layout->operands[i].n && key->operands[i].reach == LW_REACH_STRIDED; d++)
            v->params[n++] = &call->plan.operands[i].core[d];
    return n;
}

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
items_of(const lw_gcall *call, const lw_core_key *key, uint32_t block)
{
    int64_t blocks = 2 * (int64_t)call->device->n_sms, few;
    uint32_t most;

    if (!key->tiled)
        return key->spread ? 1 : block;
    most = lw_core_plan_tile(&call->plan, key);
    few = (call->plan.n + blocks - 1) / blocks;
    return few < most ? (uint32_t)few : most;
}

lw_status
lw_gcall_launch(lw_gcall *call, const lw_core_key *key, lw_loaded *entry, lw_error *err)
{
    lw_core_plan *plan = &call->plan;
    uint32_t n = 0, block = block_of(call->device, key, plan->n);
    uint32_t per_block = items_of(call, key, block);
    uint32_t grid = (uint32_t)((plan->n + per_block - 1) / per_block);
    launch_values v;

    v.items = (uint32_t)plan->n;
    v.params[n++] = &v.items;
    v.tile = per_block;
    if (key->tiled)
        v.params[n++] = &v.tile;
    n = add_operands(call, &v, n);
    n = add_loop(plan, key, &v, n);
    n = add_cores(call, key, &v, n);
    if (call->resolution->head.watch != NULL) {
        v.report = lw_watch_address(call->resolution->head.watch); /* alive, as the kernel is */
        v.params[n++] = &v.report;
    }
    if (lw_gufunc_simulates)
        return lw_gufunc_simulate(call->resolution->head.loop, key, grid, block, v.params, err);
    return lw_launch(entry->kernel, grid, 1, 1, block, 1, 1, 0, call->stream, v.params, err);
}

/* Cut along the outermost dimensions until the items of a launch are counted in 31 bits. */
static lw_status
launch_cut(lw_gcall *call, const lw_core_key *key, lw_loaded *entry, lw_error *err)
{
    lw_core_plan *plan = &call->plan;
    lw_status status = LW_OK;
    int d = plan->ndim - 1;
    int64_t whole, inner = plan->n, step;
    uint64_t data[LW_MAX_OPERANDS] = {0};

    if (plan->n <= LW_GCALL_ITEMS)
        return lw_gcall_launch(call, key, entry, err);
    while (d > 0 && plan->shape[d] == 1)
        d--;
    whole = plan->shape[d];
    inner /= whole;
    step = inner >= LW_GCALL_ITEMS ? 1 : LW_GCALL_ITEMS / inner;
    for (int i = 0; i < plan->n_operands; i++)
        data[i] = plan->operands[i].data;
    for (int64_t at = 0; at < whole && status == LW_OK; at += step) {
        plan->shape[d] = whole - at < step ? whole - at : step;
        plan->n = inner * plan->shape[d];
        for (int i = 0; i < plan->n_operands; i++)
            if (!plan->operands[i].by_value)
                plan->operands[i].data =
                    data[i] + (uint64_t)(at * plan->operands[i].strides[d]);
        status = launch_cut(call, key, entry, err);
    }
    plan->shape[d] = whole;
    plan->n = inner * whole;
    for (int i = 0; i < plan->n_operands; i++)
        plan->operands[i].data = data[i];
    return status;
}

/* Once for each loop: few items, each with much to do, and one thread for each. */
static int
warn_of_idle(lw_gcall *call)
{
    const lw_gresolution *resolution = call->resolution;
    lw_text text = {0};
    int result;

    if (resolution->spread.possible || resolution->warned || !call->self->options.warn ||
        !lw_core_plan_is_large(&call->plan))
        return 0;
    call->resolution->warned = true;
    lw_text_addf(&text, "`%s`: %lld items with large cores run on one thread each%s",
                 call->shape.name, (long long)call->plan.n,
                 resolution->spread.line ? ". What prevents that more of them share an item is "
                                         : "");
    lw_spread_tell(&resolution->spread, true, &text);
    result = lw_door_warn(&call->self->options, "PerformanceWarning", lw_text_get(&text));
    lw_text_reset(&text);
    return result;
}

/* Foreign arrays' producers wait for what a Python function has launched. */
static int
finish(lw_gcall *call)
{
    lw_error err = {0};
    lw_status status;
    CUcontext before = NULL;

    LW_TRY(lw_device_visit(call->device, &before, &err));
    LW_TRY(lw_operands_after(call->operands, call->n_read, call->extra, call->stream, &err));
fail:
    lw_device_leave(before);
    if (status != LW_OK)
        lw_py_raise(&err);
    return status == LW_OK ? 0 : -1;
}

int
lw_gcall_run(lw_gcall *call)
{
    lw_error err = {0};
    lw_status status = LW_OK;
    CUcontext before = NULL;
    lw_core_key key;
    lw_loaded *entry;
    int taken;

    if (call->plan.n == 0)
        return 0;
    if (call->self->large != NULL && (taken = lw_gcall_large(call)) != 0)
        return taken < 0 ? -1 : finish(call);
    lw_core_plan_key(&call->plan, &key);
    if (warn_of_idle(call) < 0)
        return -1;
    entry = lw_gentry_get(call->resolution, &key);
    if (entry == NULL)
        return -1;
    LW_TRY(lw_device_visit(call->device, &before, &err));
    LW_TRY(lw_operands_behind(call->operands, call->n_read, call->extra, call->stream, &err));
    LW_TRY(launch_cut(call, &key, entry, &err));
    LW_TRY(lw_operands_after(call->operands, call->n_read, call->extra, call->stream, &err));
    lw_gcall_remember(call, &key, entry);
fail:
    lw_device_leave(before);
    if (status != LW_OK)
        lw_py_raise(&err);
    return status == LW_OK ? 0 : -1;
}
