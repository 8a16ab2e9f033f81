/* target= of inspection and compiling ahead. */
#ifndef LW_PY_TARGET_READ_H
#define LW_PY_TARGET_READ_H

#include <Python.h>

#include <stdbool.h>

/* "cpu" and "host" (where `host` allows them) are 0, "sm_90" and 90 are 90; None and NULL are
 * `fallback`, "cuda" is it too, or 90. -1 with an exception. */
int lw_target_read(PyObject *target, int fallback, bool host);
/* The same of the arguments (sig=None, target=None). format: "|OO", or with the function's
 * name. *sig: borrowed. */
int lw_target_arguments(PyObject *args, PyObject *kwargs, const char *format, int fallback,
                        PyObject **sig);

#endif
