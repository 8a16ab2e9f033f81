#include "core/py/numpy_api.h"

#include "core/py/windows/simulate_py.h"

#include "core/base/memory.h"
#include "core/host/simulator.h"
#include "core/ir/build.h"
#include "core/py/numpy/device_call.h"

#include <string.h>

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

static uint32_t
kernel_of(const lw_module *module)
{
    uint32_t i = 0;

    while (module->funcs.data[i]->linkage != LW_KERNEL)
        i++;
    return i;
}

static lw_status
run(const lw_module *module, lw_sim_launch *launch, lw_error *err)
{
    lw_build_options options = {
        .opt = true, .use_disk = true, .watch = LW_WATCH_SHARED, .name = "simulated"};
    lw_sim_result result;
    lw_code *code = NULL;
    lw_status status;
    void *entry;

    launch->static_bytes = lw_ir_shared_bytes(module);
    LW_TRY(lw_ir_local_bytes(module, &launch->local_bytes, err));
    LW_TRY(lw_build_host(module, &options, &code, NULL, err));
    entry = lw_code_symbol(code, "lw_entry");
    memcpy(&launch->single, &entry, sizeof entry);
    LW_TRY(lw_simulate(launch, &result, err));
fail:
    lw_code_free(code);
    return status;
}

/* The same as the record's launch; waits. The GIL is held. */
static lw_status
simulate(const lw_device_launch *launch, lw_error *err)
{
    lw_sim_launch shape = {.grid = {launch->record->grid, 1, 1},
                           .block = {launch->record->block, 1, 1},
                           .dynamic_bytes = launch->record->shared_bytes,
                           .checks = true,
                           .in_order = true,
                           .values = launch->record->values};
    lw_module *module = NULL;
    lw_status status;

    LW_TRY(launch->door->module(launch->resolution, launch->key, &module, err));
    LW_TRY(add_entry(module, kernel_of(module), err));
    Py_BEGIN_ALLOW_THREADS
    status = run(module, &shape, err);
    Py_END_ALLOW_THREADS
fail:
    lw_module_free(module);
    return status;
}

static PyObject *
simulate_kernels(PyObject *Py_UNUSED(module), PyObject *on)
{
    int truth = PyObject_IsTrue(on);

    if (truth < 0)
        return NULL;
    lw_device_launcher = truth ? simulate : NULL;
    Py_RETURN_NONE;
}

int
lw_debug_simulate_register(PyObject *module)
{
    static PyMethodDef methods[] = {{"_simulate_kernels", simulate_kernels, METH_O,
                                     "_simulate_kernels(on): device kernels of ufuncs and "
                                     "gufuncs run on the CPU, for tests "
                                     "on a driver whose device memory is host memory"},
                                    {NULL, NULL, 0, NULL}};

    return PyModule_AddFunctions(module, methods);
}
