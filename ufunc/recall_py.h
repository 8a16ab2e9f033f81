/* Calls on device arrays that are remembered (core/py/compiled/recall.h). */
#ifndef LW_UFUNC_RECALL_PY_H
#define LW_UFUNC_RECALL_PY_H

#include "ufunc/device_call_py.h"

/* 1: done, *result is new or NULL with an exception; 0: it is not remembered, nothing has
 * happened. */
int lw_call_recall(lw_ufunc *self, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames,
                   PyObject **result);
/* The call, which was launched with this kernel, if it is one to remember. */
void lw_call_remember(const lw_call *call, const lw_kernel_key *key, lw_loaded *loaded);

#endif
