/* From a plan to the driver: the parameter block as device_kernel.h lists it, calls with more
 * accesses than 32 bits count cut into several launches, and the order with the operands'
 * streams. */
#include "core/py/numpy/launch_order.h"
#include "core/py/numpy_api.h"

#include "ufunc/device_call_py.h"

#include "core/base/clock.h"
#include "core/py/array/whole_array.h"
#include "core/py/raise.h"
#include "ufunc/recall_py.h"

enum { MOST_PARAMS = 3 + 3 * LW_PLAN_DIMS + LW_PLAN_OPERANDS * (LW_PLAN_DIMS + 2) };

typedef struct launch_values {
    int64_t items;
    uint32_t items32;
    CUdeviceptr pointer[LW_PLAN_OPERANDS];
    uint32_t divider[3 * LW_PLAN_DIMS];
    int64_t stride[LW_PLAN_OPERANDS][LW_PLAN_DIMS];
    int32_t stride32[LW_PLAN_OPERANDS][LW_PLAN_DIMS];
    uint32_t extent[2];
    CUdeviceptr report;
} launch_values;

static int64_t
squares(int64_t size)
{
    return (size + LW_PLAN_TILE - 1) / LW_PLAN_TILE;
}

/* Elements, accesses or squares: what `items` counts for this kernel. */
static int64_t
count_items(const lw_plan *plan, const lw_kernel_key *key)
{
    if (key->tiled)
        return plan->n / plan->shape[0] / plan->shape[1] * squares(plan->shape[0]) *
               squares(plan->shape[1]);
    return key->ndim ? plan->n / key->width : plan->n;
}

static uint32_t
add_walk(const lw_plan *plan, const lw_kernel_key *key, launch_values *v, void **params,
         uint32_t n)
{
    for (int d = 0; d < 2 && key->tiled; d++) {
        v->extent[d] = (uint32_t)plan->shape[d];
        params[n++] = &v->extent[d];
    }
    for (int d = 0; d + 1 < key->ndim; d++) {
        uint32_t size = (uint32_t)(key->tiled && d < 2 ? squares(plan->shape[d])
                                   : d == 0            ? plan->shape[0] / key->width
                                                       : plan->shape[d]);
        lw_divider divider = lw_divider_of(size);
        v->divider[3 * d] = size;
        v->divider[3 * d + 1] = divider.multiplier;
        v->divider[3 * d + 2] = divider.shift;
        for (int i = 0; i < 3; i++)
            params[n++] = &v->divider[3 * d + i];
    }
    for (int i = 0; i < key->n_operands; i++)
        for (int d = 0; d < key->ndim; d++) {
            if (!lw_kernel_has_stride(key, i, d))
                continue;
            v->stride[i][d] = plan->operands[i].strides[d];
            v->stride32[i][d] = (int32_t)plan->operands[i].strides[d];
            params[n++] = key->wide ? (void *)&v->stride[i][d] : (void *)&v->stride32[i][d];
        }
    return n;
}

lw_status
lw_call_launch(lw_call *call, const lw_plan *plan, const lw_kernel_key *key, lw_kernel *kernel,
               lw_error *err)
{
    launch_values v;
    void *params[MOST_PARAMS];
    uint32_t n = 0;
    uint64_t per_block =
        key->tiled ? 1 : (uint64_t)LW_PLAN_BLOCK * key->groups * (key->ndim ? 1 : key->width);

    v.items = count_items(plan, key);
    v.items32 = (uint32_t)v.items;
    params[n++] = key->ndim ? (void *)&v.items32 : (void *)&v.items;
    for (int i = 0; i < key->n_operands; i++) {
        if (plan->operands[i].by_value) {
            lw_dtype dtype = plan->operands[i].dtype;
            params[n++] = &call->values[i];
            if (lw_is_complex(dtype))
                params[n++] = call->values[i].bytes + lw_dtypes[dtype].size_bytes / 2;
            continue;
        }
        v.pointer[i] = (CUdeviceptr)(uintptr_t)plan->operands[i].data;
        params[n++] = &v.pointer[i];
    }
    n = add_walk(plan, key, &v, params, n);
    if (call->resolution->head.watch != NULL) {
        v.report = lw_watch_address(call->resolution->head.watch); /* alive, as the kernel is */
        params[n++] = &v.report;
    }
    return lw_launch(kernel, (uint32_t)(((uint64_t)v.items + per_block - 1) / per_block), 1, 1,
                     LW_PLAN_BLOCK, 1, 1, 0, call->stream, params, err);
}

/* More than 2^31 accesses: cut along the outermost dimensions, so that indices stay 32-bit. */
static lw_status
launch_cut(lw_call *call, lw_plan *plan, const lw_kernel_key *key, lw_kernel *kernel,
           lw_error *err)
{
    const int64_t limit = INT64_C(1) << 30;
    lw_status status = LW_OK;
    const int n_operands = plan->n_operands;
    int d = plan->ndim - 1;
    int64_t whole = plan->shape[d], inner = plan->n / whole, step;
    char *data[LW_PLAN_OPERANDS];

    while (inner > limit && plan->shape[d] == 1)
        inner /= plan->shape[--d], whole = plan->shape[d];
    if (plan->n / key->width <= limit)
        return lw_call_launch(call, plan, key, kernel, err);
    step = inner >= limit ? 1 : limit / inner;
    for (int i = 0; i < n_operands; i++)
        data[i] = plan->operands[i].data;
    if (d == 0)
        step -= step % key->width;
    for (int64_t at = 0; at < whole && status == LW_OK; at += step) {
        plan->shape[d] = whole - at < step ? whole - at : step;
        plan->n = inner * plan->shape[d];
        for (int i = 0; i < n_operands; i++)
            plan->operands[i].data =
                data[i] + (plan->operands[i].by_value ? 0 : at * plan->operands[i].strides[d]);
        status = launch_cut(call, plan, key, kernel, err);
    }
    plan->shape[d] = whole;
    plan->n = inner * whole;
    for (int i = 0; i < n_operands; i++)
        plan->operands[i].data = data[i];
    return status;
}

int
lw_call_run(lw_call *call)
{
    lw_error err = {0};
    lw_status status = LW_OK;
    CUcontext before = NULL;
    lw_kernel_key key;
    lw_loaded *entry;

    if (call->plan.n == 0)
        return 0;
    lw_plan_key(&call->plan, call->resolution->cost, call->resolution->has_loop, &key);
    entry = lw_entry_get(call->resolution, &key);
    if (entry == NULL)
        return -1;
    LW_TRY(lw_device_visit(call->device, &before, &err));
    LW_TRY(lw_operands_behind(call->operands, call->n_read, call->extra, call->stream, &err));
    if (key.ndim)
        LW_TRY(launch_cut(call, &call->plan, &key, entry->kernel, &err));
    else
        LW_TRY(lw_call_launch(call, &call->plan, &key, entry->kernel, &err));
    LW_TRY(lw_operands_after(call->operands, call->n_read, call->extra, call->stream, &err));
    lw_call_remember(call, &key, entry);
fail:
    lw_device_leave(before);
    if (status != LW_OK)
        lw_py_raise(&err);
    return status == LW_OK ? 0 : -1;
}

double
lw_call_time(lw_call *call, long n)
{
    lw_error err = {0};
    lw_kernel_key key;
    lw_loaded *entry;
    int64_t start, end;
    lw_status status = LW_OK;

    if (call->plan.n == 0)
        return 0.0;
    lw_plan_key(&call->plan, call->resolution->cost, call->resolution->has_loop, &key);
    entry = lw_entry_get(call->resolution, &key);
    if (entry == NULL)
        return -1.0;
    start = lw_now_ns();
    for (long i = 0; i < n && status == LW_OK; i++)
        status = lw_call_launch(call, &call->plan, &key, entry->kernel, &err);
    end = lw_now_ns();
    if (status != LW_OK) {
        lw_py_raise(&err);
        return -1.0;
    }
    return 1e-9 * (double)(end - start) / (double)n;
}
