/* Windows into inference for tests: the typed tree as text, promotion, joins and casts. */
#ifndef LW_PY_DEBUG_TYPING_PY_H
#define LW_PY_DEBUG_TYPING_PY_H

#include <Python.h>

/* Adds _dump_typed, _promote, _join, _can_cast and _named_functions. */
int lw_debug_typing_register(PyObject *module);

#endif
