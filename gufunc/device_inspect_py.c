/* What the device side tells about a loop: the kernel of many contiguous items, the resources
 * it takes, and compiling it ahead of the first call. */
#include "core/py/numpy_api.h"

#include "gufunc/device_inspect_py.h"

#include "core/py/compiled/resources.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/numpy/ufunc_inspect.h"
#include "gufunc/device_call_py.h"

/* Many contiguous items with cores of these sizes; NULL: 3 where the layout fixes none. */
static void
usual_plan(const lw_gufunc_loop *loop, int64_t *sizes, lw_core_plan *plan)
{
    const lw_core_layout *layout = loop->layout;
    const int64_t n = 1 << 24;

    for (uint32_t d = 0; d < layout->n_dims && d < LW_SHAPE_CORE_NAMES; d++)
        sizes[d] = layout->dims[d].fixed ? layout->dims[d].fixed : 3;
    plan->loop = loop;
    plan->n_operands = loop->nin + loop->nout;
    plan->can_spread = false; /* the cores are small */
    plan->sizes = sizes;
    for (int i = 0; i < plan->n_operands; i++) {
        const lw_core_operand *core = &layout->operands[i];
        lw_core_plan_operand *operand = &plan->operands[i];
        int64_t step = lw_dtypes[loop->types[i]].size_bytes;
        for (uint32_t d = core->n; d-- > 0;) {
            operand->core[d] = step;
            step *= sizes[core->dims[d]];
        }
        operand->by_value = operand->keep = false;
        operand->data = (uint64_t)(i + 1) << 36; /* apart: no address is followed */
        operand->strides[0] = step;
    }
    lw_core_plan_normalise(plan, 1, &n);
}

static void
usual_key(const lw_gufunc_loop *loop, lw_core_key *key)
{
    int64_t sizes[LW_SHAPE_CORE_NAMES];
    lw_core_plan plan;

    usual_plan(loop, sizes, &plan);
    lw_core_plan_key(&plan, key);
}

static lw_status
make_module(lw_gufunc *self, lw_gufunc_loop *loop, lw_module **out, lw_error *err)
{
    lw_core_key key;
    char symbol[96];

    usual_key(loop, &key);
    lw_gsymbol(lw_gufunc_name(self), loop, &key, symbol);
    return lw_core_kernel(loop, &key, symbol, self->options.max_registers, out, err);
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
    PyObject *result;

    if (spread->possible)
        return PyUnicode_FromString("block per item");
    lw_text_add(&text, loop->writes_excluded ? "thread per item"
                                             : "thread per item, staged through shared memory "
                                               "up to 8 KB an item");
    if (spread->line)
        lw_text_add(&text, ": ");
    lw_spread_tell(spread, false, &text);
    result = PyUnicode_FromString(lw_text_get(&text));
    lw_text_reset(&text);
    return result;
}

static PyObject *
resources_dict(const lw_gufunc_loop *loop, const lw_cubin_info *info, const char *symbol,
               int cc, const lw_core_key *key)
{
    int block = key->block ? key->block : LW_CORE_THREADS;
    lw_spread spread = lw_core_spread(loop);
    PyObject *large = large_cores(loop, &spread);

    return lw_resources_dict(
        symbol, info, cc,
        Py_BuildValue("{s:i,s:d,s:s,s:N,s:N}", "threads_per_block", block, "occupancy",
                      lw_occupancy_of(info, cc, block), "mapping",
                      key->block ? "thread per item, staged through shared memory"
                                 : "thread per item",
                      "core_sizes", sizes_dict(loop, key), "large_cores", large));
}

static PyObject *
resources(lw_gufunc *self, lw_gufunc_loop *loop, int cc)
{
    lw_cubin_info info = {0};
    lw_core_key key;
    char symbol[96];

    if (cc == 0 && (cc = lw_current_cc()) < 0)
        return NULL;
    usual_key(loop, &key);
    lw_gsymbol(lw_gufunc_name(self), loop, &key, symbol);
    if (lw_ufunc_info((lw_ufunc_head *)self, loop, cc, &info) < 0)
        return NULL;
    return resources_dict(loop, &info, symbol, cc, &key);
}

static int
compile_for_device(lw_gufunc *self, lw_gufunc_loop *loop, int cc)
{
    lw_device *device = lw_current_device_of(cc);
    uint8_t codes[LW_MAX_OPERANDS] = {0};
    lw_gresolution *resolution;
    lw_core_key key;

    if (device == NULL)
        return -1;
    for (int i = 0; i < loop->nin; i++)
        codes[i] = (uint8_t)loop->types[i];
    resolution =
        lw_gresolution_get(self, device, codes, loop->nin + loop->nout, NULL, NULL, NULL);
    if (resolution == NULL)
        return -1;
    usual_key(loop, &key);
    return lw_gentry_get(resolution, &key) ? 0 : -1;
}

void
lw_gufunc_inspect_register(void)
{
    lw_gufunc_device.module = make_module;
    lw_gufunc_device.resources = resources;
    lw_gufunc_device.compile = compile_for_device;
}
