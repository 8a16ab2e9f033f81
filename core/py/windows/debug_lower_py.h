/* Windows into lowering and what follows it, for tests: the IR that a function becomes. */
#ifndef LW_PY_DEBUG_LOWER_PY_H
#define LW_PY_DEBUG_LOWER_PY_H

#include <Python.h>

/* Adds _dump_ir and _in_pieces. */
int lw_debug_lower_register(PyObject *module);

#endif
