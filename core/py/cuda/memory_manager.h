/* Memory managers written in Python (lanewise/_memory.py), numba's plugin interface: they stand
 * in for the pool of core/device/pool.c, and for the driver's host memory. Also the primitives
 * that such managers are built from, and memory shared between processes. */
#ifndef LW_PY_MEMORY_MANAGER_H
#define LW_PY_MEMORY_MANAGER_H

#include <Python.h>

#include <stdbool.h>

#include "core/device/context.h"

/* Whether cuda.set_memory_manager has set one. */
bool lw_memory_managed(void);
/* Call a function of lanewise._memory; arguments as Py_BuildValue's, in parentheses. */
PyObject *lw_memory_call(const char *name, const char *format, ...);

/* MemoryInfo(free, total) of the driver. */
PyObject *lw_memory_info(lw_device *device);

extern PyMethodDef lw_memory_functions[];

#endif
