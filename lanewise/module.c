/* The roof: registers the types and doors, and holds nothing else. */
#define LW_NUMPY_OWNER
#include "core/py/numpy_api.h"

#include "core/front/read/services.h"
#include "core/host/counted_memory.h"
#include "core/host/pieces.h"
#include "core/host/print_host.h"
#include "core/host/raise_note.h"
#include "core/host/parallel_loop.h"
#include "core/host/thread_pool.h"
#include "core/host/random_state.h"
#include "core/host/texts.h"
#include "core/host/recursion.h"
#include "core/host/simulator.h"
#include "core/py/array/counted_array.h"
#include "core/py/typed/typed_object.h"
#include "core/py/array/cuda_arrays.h"
#include "core/py/array/device_array.h"
#include "core/py/array/runtime_memory.h"
#include "core/py/compiled/link_read.h"
#include "core/py/compiled/compiled.h"
#include "core/py/compiled/entry.h"
#include "core/py/compiled/overload_ask.h"
#include "core/py/compiled/same_math.h"
#include "core/py/compiled/settings_py.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/llvm_bridge.h"
#include "core/py/types/row_sorts.h"
#include "core/py/object_shape.h"
#include "core/py/print_py.h"
#include "core/py/signals.h"
#include "core/py/state.h"
#include "core/py/types/intrinsic.h"
#include "core/py/types/type_make.h"
#include "core/py/types/type_object.h"
#ifdef LW_WINDOWS
#include "core/py/windows/windows.h"
#endif
#include "forall/forall_py.h"
#include "forall/jit/jit_py.h"
#include "gufunc/device_large_py.h"
#include "gufunc/gufunc_py.h"
#include "random/random_py.h"
#include "reduce/reduce_py.h"
#include "ufunc/device_copy_py.h"
#include "ufunc/explain_py.h"
#include "ufunc/numpy_names_py.h"
#include "ufunc/ufunc_aot_py.h"
#include "ufunc/ufunc_py.h"

static int
module_exec(PyObject *module)
{
    static int (*const registers[])(PyObject *) = {
        lw_state_register,        lw_services_register,     lw_types_register,
        lw_type_make_register,    lw_settings_register,     lw_device_array_register,
        lw_cuda_register,         lw_cuda_arrays_register,  lw_compiled_register,
        lw_profile_register,      lw_ufunc_register,        lw_aot_register,
        lw_explain_register,      lw_intrinsics_register,   lw_counted_array_register,
        lw_random_register,       lw_gufunc_register,       lw_gufunc_large_register,
        lw_forall_register,       lw_jit_register,          lw_link_register,
        lw_reduce_register,       lw_overload_ask_register, lw_runtime_memory_register,
        lw_object_shape_register, lw_same_math_register,    lw_typed_object_register,
#ifdef LW_WINDOWS
        lw_windows_register,
#endif
    };

    if (lw_numpy_import() < 0)
        return -1;
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
        if (registers[i](module) < 0)
            return -1;
    lw_py_bridge_install();
    lw_print_host_register();
    lw_raise_note_register();
    lw_pieces_register();
    lw_recursion_register();
    lw_thread_pool_register();
    lw_parallel_loop_register();
    lw_random_state_register();
    lw_texts_register();
    if (lw_numpy_sorts_register() < 0 || lw_signals_register() < 0)
        return -1;
    lw_counted_register();
    lw_device_copy_register();
    lw_numpy_names_register();
    lw_simulator_register();
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)module_exec},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil /* ARCHITECTURE.md, "Without the GIL", says what protects what */
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static int
module_traverse(PyObject *module, visitproc visit, void *arg)
{
    return lw_state_traverse(PyModule_GetState(module), visit, arg);
}

static int
module_clear(PyObject *module)
{
    lw_state_clear(PyModule_GetState(module));
    return 0;
}

static void
module_free(void *module)
{
    lw_state_clear(PyModule_GetState(module));
}

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "lanewise._core",
    .m_doc = "The compiled core of lanewise; use it through the package.",
    .m_size = sizeof(lw_state),
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC
PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
