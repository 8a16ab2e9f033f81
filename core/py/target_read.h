/* target= of inspection and compiling ahead. */
#ifndef LW_PY_TARGET_READ_H
#define LW_PY_TARGET_READ_H

#include <Python.h>

#include <stdbool.h>

/* "cpu" and "host" (where `host` allows them) are 0, "sm_90" and 90 are 90; None and NULL are
 * `fallback`, "cuda" is it too, or 90. -1 with an exception. */
int lw_target_read(PyObject *target, int fallback, bool host);

#endif
