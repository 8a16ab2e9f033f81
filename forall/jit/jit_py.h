/* What lanewise/module.c needs of this folder: jit, with what belongs to it. */
#ifndef LW_FORALL_JIT_JIT_PY_H
#define LW_FORALL_JIT_JIT_PY_H

#include <Python.h>

/* Adds Kernel, Launcher, jit, and cuda's jit, In, Out, InOut. -1 with an exception. */
int lw_jit_register(PyObject *module);

#endif
