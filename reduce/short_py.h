/* Calls on one small array of the host, with axis= and dtype= at most, and other keywords only
 * if they say what leaving them out says. Such a call is over in some hundred nanoseconds, of
 * which reading keywords, allocating memory for a call with any number of operands and
 * dimensions, and letting other threads run would take most. It runs the same loops in the same
 * order as other calls, so it gives the same bits. */
#ifndef LW_REDUCE_SHORT_PY_H
#define LW_REDUCE_SHORT_PY_H

#include "reduce/reduce_parts_py.h"

/* r(*args, …), or with LW_RECALL_ACCUMULATE r.accumulate(*args, …). 1: done, *result is new or
 * NULL with an exception; 0: it is no such call, and nothing has happened. */
int lw_reduce_short(lw_reducer *self, int which, PyObject *const *args, Py_ssize_t n_args,
                    PyObject *kwnames, PyObject **result);

#endif
