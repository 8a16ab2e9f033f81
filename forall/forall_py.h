/* What lanewise/module.c needs of this folder: forall. */
#ifndef LW_FORALL_FORALL_PY_H
#define LW_FORALL_FORALL_PY_H

#include <Python.h>

/* Adds Forall, its bound calls and the decorator. -1 with an exception. */
int lw_forall_register(PyObject *module);

#endif
