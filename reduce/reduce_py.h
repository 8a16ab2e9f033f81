/* What lanewise/module.c needs of this door. */
#ifndef LW_REDUCE_REDUCE_PY_H
#define LW_REDUCE_REDUCE_PY_H

#include <Python.h>

/* The type Reduction, and the function reduce. -1 with an exception. */
int lw_reduce_register(PyObject *module);

#endif
