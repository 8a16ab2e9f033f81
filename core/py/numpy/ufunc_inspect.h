/* Looking into a ufunc of any kind: inspect_*, resources, compile, export. */
#ifndef LW_PY_UFUNC_INSPECT_H
#define LW_PY_UFUNC_INSPECT_H

#include "core/link/cubin_info.h"
#include "core/py/numpy/ufunc_type.h"

enum { LW_N_UFUNC_INSPECTIONS = 9 };

extern PyMethodDef lw_ufunc_inspections[LW_N_UFUNC_INSPECTIONS];

/* What the kernel of a loop takes on cc. -1 with an exception. */
int lw_ufunc_info(lw_ufunc_head *self, void *loop, int cc, lw_cubin_info *out);
/* One form ("ptx", "cubin", "object") of one loop: bytes or str. NULL with an exception. */
PyObject *lw_ufunc_form(lw_ufunc_head *self, void *loop, int cc, const char *form);

#endif
