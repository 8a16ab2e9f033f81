/* Windows into the front end for tests: what was read, how a signature parsed, whether a
 * captured value changed. */
#ifndef LW_PY_DEBUG_PY_H
#define LW_PY_DEBUG_PY_H

#include <Python.h>

/* Adds _dump_tree, _captures, _captures_changed, _parse_signature and _sort_signatures. */
int lw_debug_register(PyObject *module);

#endif
