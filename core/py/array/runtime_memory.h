/* What lanewise/runtime.py asks of counted memory, on the host and on devices. */
#ifndef LW_PY_RUNTIME_MEMORY_H
#define LW_PY_RUNTIME_MEMORY_H

#include <Python.h>

int lw_runtime_memory_register(PyObject *module);

#endif
