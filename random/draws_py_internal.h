/* What the Python files of `_core._Draws` share among themselves. */
#ifndef LW_RANDOM_DRAWS_PY_INTERNAL_H
#define LW_RANDOM_DRAWS_PY_INTERNAL_H

#include "core/py/numpy_api.h"

#include <stdbool.h>

#include "random/philox.h"

typedef struct lw_bit_stream lw_bit_stream;

typedef struct lw_drawing { /* the first part of `_Draws` */
    PyObject_HEAD
    lw_philox philox;
    uint64_t place;      /* the next block */
    lw_bit_stream *bits; /* NULL until NumPy asks for it */
    char is_philox;
} lw_drawing;

/* ---- bit_stream_py.c ---- */

/* The getter of `capsule`. */
PyObject *lw_draws_capsule(PyObject *object, void *closure);
/* The stream has changed: words that were computed in advance are not used. bits may be NULL.
 */
void lw_bit_stream_forget(lw_bit_stream *bits);

/* ---- arguments_py.c ---- */

enum { LW_MOST_PARAMETERS = 2 };

typedef struct lw_few {
    double p[LW_MOST_PARAMETERS];
    int64_t integer[LW_MOST_PARAMETERS];
    int n_given; /* how many of the parameters were given, from the first on */
    int64_t n;   /* how many numbers */
    bool one;    /* one number instead of an array */
} lw_few;

typedef struct lw_method {
    const char *slow;       /* name of the method in Python */
    int n_parameters, most; /* most: numbers at once */
    bool integers;
    const char *names[LW_MOST_PARAMETERS];
    double fallback[LW_MOST_PARAMETERS];
} lw_method;

/* Reads a call. False: it is not for this fast path, or it is wrong. */
bool lw_read_few(const lw_method *m, PyObject *const *args, Py_ssize_t n, PyObject *kwnames,
                 lw_few *out);

/* ---- orders_py.c: rows of METH_VARARGS ---- */

/* _sample(n, count, words, stream): the first of the numbers below n in random order. */
PyObject *lw_draws_sample(PyObject *object, PyObject *args);
/* _mix(array, axis, together, words, stream): its lines along the axis in random orders. */
PyObject *lw_draws_mix(PyObject *object, PyObject *args);

#endif
