/* What compiled code has printed, in sys.stdout. */
#ifndef LW_PY_PRINT_PY_H
#define LW_PY_PRINT_PY_H

#include <Python.h>

#include "core/tables/dtypes.h"

/* To be called after every wait for a device, and after work on the host that may print: shows
 * what is there, in order, and how many lines were lost. -1 when sys.stdout raises. The GIL is
 * held. */
int lw_print_show(void);
/* The text of a value: 8-byte slots as in core/ir/format.h; a new reference. */
PyObject *lw_print_value_text(lw_dtype dtype, const uint64_t *slots, const char *spec);

#endif
