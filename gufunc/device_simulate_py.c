#include "core/py/numpy_api.h"

#include "gufunc/device_simulate_py.h"

#include "core/base/memory.h"
#include "core/host/simulator.h"

#include <string.h>

bool lw_gufunc_simulates;

/* int32 lw_entry(context, values): loads each parameter and calls the kernel. */
static lw_status
add_entry(lw_module *module, uint32_t kernel, lw_error *err)
{
    lw_func *func = module->funcs.data[kernel];
    uint32_t n = func->params.n;
    lw_ref *args = lw_arena_take(&module->arena, (n + 1) * sizeof *args), values, zero;
    lw_builder b;

    if (args == NULL)
        return lw_fail_memory(err);
    func->linkage = LW_OUTLINED;
    func->max_threads = func->max_registers = 0;
    lw_builder_start(&b, module, "lw_entry");
    if (b.func != NULL)
        b.func->linkage = LW_EXPORTED;
    lw_ir_result_add(&b, LW_DT_i32);
    values = lw_ir_param_add(&b, LW_DT_ptr, 0, "values");
    lw_ir_context(&b);
    for (uint32_t i = 0; i < n; i++) {
        lw_ref at = lw_ir_offset(&b, values, lw_ir_int(&b, LW_DT_i64, 8 * (int64_t)i));
        lw_dtype type = module->funcs.data[kernel]->params.data[i].type;
        lw_dtype stored = type == LW_DT_b1 ? LW_DT_u8 : type;
        args[i] = lw_ir_cast(&b, type, lw_ir_load(&b, stored, 1, at, 0, 0));
    }
    lw_ir_call(&b, kernel, args, n);
    zero = lw_ir_zero(&b, LW_DT_i32);
    lw_ir_return(&b, &zero, 1);
    return lw_ir_finish(&b, err);
}

static unsigned
bytes_of(lw_dtype type)
{
    return type == LW_DT_ptr ? 8 : type == LW_DT_b1 ? 1 : lw_dtypes[type].size_bytes;
}

static lw_status
run(const lw_module *module, const uint64_t *values, lw_sim_launch *launch, lw_error *err)
{
    lw_build_options options = {
        .opt = true, .use_disk = true, .watch = LW_WATCH_SHARED, .name = "gufunc"};
    lw_sim_result result;
    lw_code *code = NULL;
    lw_status status;
    void *entry;

    launch->static_bytes = lw_ir_shared_bytes(module);
    launch->values = values;
    LW_TRY(lw_ir_local_bytes(module, &launch->local_bytes, err));
    LW_TRY(lw_build_host(module, &options, &code, NULL, err));
    entry = lw_code_symbol(code, "lw_entry");
    memcpy(&launch->single, &entry, sizeof entry);
    LW_TRY(lw_simulate(launch, &result, err));
fail:
    lw_code_unref(code);
    return status;
}

lw_status
lw_gufunc_simulate(const lw_gufunc_loop *loop, const lw_core_key *key, uint32_t grid,
                   uint32_t block, void *const *params, lw_error *err)
{
    lw_sim_launch launch = {
        .grid = {grid, 1, 1}, .block = {block, 1, 1}, .checks = true, .in_order = true};
    lw_module *module = NULL;
    uint64_t *values = NULL;
    uint32_t kernel;
    lw_status status;

    LW_TRY(lw_core_kernel(loop, key, "lw_simulated", 0, &module, err));
    kernel = lw_ir_find(module, "lw_simulated");
    values = lw_alloc_zero(module->funcs.data[kernel]->params.n + 1, sizeof *values);
    if (values == NULL) {
        status = lw_fail_memory(err);
        goto fail;
    }
    for (uint32_t i = 0; i < module->funcs.data[kernel]->params.n; i++)
        memcpy(&values[i], params[i],
               bytes_of(module->funcs.data[kernel]->params.data[i].type));
    LW_TRY(add_entry(module, kernel, err));
    Py_BEGIN_ALLOW_THREADS
    status = run(module, values, &launch, err);
    Py_END_ALLOW_THREADS
fail:
    lw_free(values);
    lw_module_free(module);
    return status;
}

static PyObject *
simulate_gufuncs(PyObject *Py_UNUSED(module), PyObject *on)
{
    int truth = PyObject_IsTrue(on);

    if (truth < 0)
        return NULL;
    lw_gufunc_simulates = truth;
    Py_RETURN_NONE;
}

int
lw_gufunc_simulate_register(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"_simulate_gufuncs", simulate_gufuncs, METH_O,
         "_simulate_gufuncs(on): device kernels of gufuncs run on the CPU, for tests on a "
         "driver whose device memory is host memory"},
        {NULL, NULL, 0, NULL}};

    return PyModule_AddFunctions(module, methods);
}
