/* What the device side tells about a loop: its kernel for contiguous operands, the resources
 * that kernel takes, and compiling it ahead of the first call. */
#include "core/py/numpy_api.h"

#include "ufunc/device_inspect_py.h"

#include "core/py/compiled/resources.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/numpy/ufunc_inspect.h"
#include "ufunc/device_kernel.h"
#include "ufunc/device_table_py.h"
#include "ufunc/ufunc_parts.h"

/* A call on large, aligned, contiguous arrays of exactly the loop's dtypes. */
static void
contiguous_plan(const lw_loop *loop, lw_plan *plan)
{
    plan->n_in = loop->nin;
    plan->n_out = loop->nout;
    plan->n_operands = loop->nin + loop->nout;
    plan->masked = false;
    plan->stores = loop->uniforms.stores;
    plan->ndim = 1;
    plan->n = plan->shape[0] = 1 << 24;
    for (int i = 0; i < plan->n_operands; i++) {
        lw_plan_operand *operand = &plan->operands[i];
        operand->dtype = loop->types[i];
        operand->by_value = i >= loop->uniforms.first && i < loop->nin;
        operand->is_output = i >= loop->nin;
        operand->data = (char *)((uintptr_t)(i + 1) << 36); /* apart: no address is followed */
        operand->strides[0] = lw_dtypes[loop->types[i]].size_bytes;
    }
}

static void
contiguous_key(const lw_loop *loop, lw_kernel_key *key)
{
    bool has_loop;
    uint32_t cost = lw_scalar_cost(loop->scalar, &has_loop);
    lw_plan plan;

    contiguous_plan(loop, &plan);
    lw_plan_key(&plan, cost, has_loop, key);
}

static lw_status
make_module(lw_ufunc *self, lw_loop *loop, lw_module **out, lw_error *err)
{
    lw_kernel_key key;
    char symbol[96];

    contiguous_key(loop, &key);
    lw_kernel_symbol(lw_build_options_of(self).name, loop, &key, symbol);
    return lw_device_kernel(loop, &key, symbol, self->options.max_registers, out, err);
}

/* ---- resources ---- */

static PyObject *
resources_dict(const lw_cubin_info *info, const char *symbol, int cc, const lw_kernel_key *key)
{
    return lw_resources_dict(symbol, info, cc,
                             Py_BuildValue("{s:i,s:i,s:d}", "threads_per_block", LW_PLAN_BLOCK,
                                           "elements_per_thread", key->width * key->groups,
                                           "occupancy",
                                           lw_occupancy_of(info, cc, LW_PLAN_BLOCK)));
}

static PyObject *
resources(lw_ufunc *self, lw_loop *loop, int cc)
{
    lw_cubin_info info = {0};
    lw_kernel_key key;
    char symbol[96];

    if (cc == 0 && (cc = lw_current_cc()) < 0)
        return NULL;
    contiguous_key(loop, &key);
    lw_kernel_symbol(lw_ufunc_name(self), loop, &key, symbol);
    if (lw_ufunc_info((lw_ufunc_head *)self, loop, cc, &info) < 0)
        return NULL;
    return resources_dict(&info, symbol, cc, &key);
}

static int
compile_for_device(lw_ufunc *self, lw_loop *loop, int cc)
{
    lw_device *device = lw_current_device_of(cc);
    uint8_t codes[LW_MAX_ARGS] = {0};
    lw_resolution *resolution;
    lw_kernel_key key;

    if (device == NULL)
        return -1;
    for (int i = 0; i < loop->nin; i++)
        codes[i] = (uint8_t)loop->types[i];
    resolution =
        lw_resolution_get(self, device, codes, loop->nin + loop->nout, NULL, NULL, NULL);
    if (resolution == NULL)
        return -1;
    contiguous_key(loop, &key);
    return lw_entry_get(resolution, &key) ? 0 : -1;
}

void
lw_device_inspect_register(void)
{
    lw_ufunc_device.module = make_module;
    lw_ufunc_device.resources = resources;
    lw_ufunc_device.compile = compile_for_device;
}
