/* What resources() of every door says of a kernel. */
#ifndef LW_PY_RESOURCES_H
#define LW_PY_RESOURCES_H

#include <Python.h>

#include "core/link/cubin_info.h"

/* A dict of the kernel's name (NULL: none is said), target and memory, then the door's own
 * entries. `more` is stolen; NULL: its exception stays. */
PyObject *lw_resources_dict(const char *kernel, const lw_cubin_info *info, int cc,
                            PyObject *more);
/* The same of code for the host. */
PyObject *lw_host_resources_dict(size_t code_bytes);
/* The compute capability of the current device, as 90; -1 with an exception. */
int lw_current_cc(void);

#endif
