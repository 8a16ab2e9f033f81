/* The Python interface of this folder, on which lanewise/random.py and lanewise/_generator.py
 * are built. */
#ifndef LW_RANDOM_RANDOM_PY_H
#define LW_RANDOM_RANDOM_PY_H

#include <Python.h>

/* _core._xoroshiro_states, _xoroshiro_seed, _xoroshiro_table, _alias_table, _Draws. -1 with an
 * exception. */
int lw_random_register(PyObject *module);

/* ---- draws_py.c ---- */
int lw_draws_register(PyObject *module);

#endif
