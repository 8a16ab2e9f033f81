/* Calls on device arrays that are remembered (core/py/compiled/recall.h). */
#ifndef LW_GUFUNC_RECALL_PY_H
#define LW_GUFUNC_RECALL_PY_H

#include "gufunc/device_call_py.h"

/* 1: done, *result is new or NULL with an exception; 0: it is not remembered, nothing has
 * happened. */
int lw_gcall_recall(lw_gufunc *self, PyObject *const *args, Py_ssize_t n_args,
                    PyObject *kwnames, PyObject **result);
/* The call, which was launched with this kernel, if it is one to remember. */
void lw_gcall_remember(const lw_gcall *call, const lw_core_key *key, lw_loaded *loaded);

#endif
