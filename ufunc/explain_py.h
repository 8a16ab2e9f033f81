/* lanewise.explain: how every expression of a function is typed, in both modes. */
#ifndef LW_UFUNC_EXPLAIN_PY_H
#define LW_UFUNC_EXPLAIN_PY_H

#include <Python.h>

int lw_explain_register(PyObject *module);

#endif
