#include "core/py/windows/windows.h"

#include "core/py/windows/debug_kernel_py.h"
#include "core/py/windows/debug_lower_py.h"
#include "core/py/windows/debug_py.h"
#include "core/py/windows/debug_typing_py.h"
#include "core/py/windows/simulate_py.h"

int
lw_windows_register(PyObject *module)
{
    static int (*const registers[])(PyObject *) = {
        lw_debug_register, lw_debug_typing_register, lw_debug_lower_register,
        lw_debug_kernel_register, lw_debug_simulate_register};

    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
        if (registers[i](module) < 0)
            return -1;
    return 0;
}
