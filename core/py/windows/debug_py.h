/* Windows for tests: into the front end (what was read, how a signature parsed, whether a
 * captured value changed), and the controls of core/base/memory.h. */
#ifndef LW_PY_DEBUG_PY_H
#define LW_PY_DEBUG_PY_H

#include <Python.h>

/* Adds _dump_tree, _captures, _captures_changed, _parse_signature, _sort_signatures,
 * _memory_live and _memory_fail_at. */
int lw_debug_register(PyObject *module);

#endif
