/* Python's door to the states of random/xoroshiro.h; lanewise/random.py is built on it. */
#ifndef LW_RANDOM_RANDOM_PY_H
#define LW_RANDOM_RANDOM_PY_H

#include <Python.h>

/* _core._xoroshiro_states, _xoroshiro_seed, _xoroshiro_table. -1 with an exception. */
int lw_random_register(PyObject *module);

#endif
