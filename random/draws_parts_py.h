/* What the Python files of `_core._Draws` share among themselves. */
#ifndef LW_RANDOM_DRAWS_PARTS_PY_H
#define LW_RANDOM_DRAWS_PARTS_PY_H

#include "core/py/numpy_api.h"

#include "random/philox.h"

typedef struct lw_drawing { /* in front of `_Draws` */
    PyObject_HEAD
    lw_philox philox;
    uint64_t place; /* the next block */
} lw_drawing;

/* ---- orders_py.c: rows of METH_VARARGS ---- */

/* _sample(n, count, words, stream): the first of the numbers below n in random order. */
PyObject *lw_draws_sample(PyObject *object, PyObject *args);
/* _mix(array, axis, together, words, stream): its lines along the axis in random orders. */
PyObject *lw_draws_mix(PyObject *object, PyObject *args);

#endif
