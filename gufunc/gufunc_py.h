/* The Python side of the guvectorize door: the object, and who provides what to whom. */
#ifndef LW_GUFUNC_GUFUNC_PY_H
#define LW_GUFUNC_GUFUNC_PY_H

#include <Python.h>

#include "core/py/numpy/family.h"
#include "core/py/numpy/ufunc_type.h"
#include "gufunc/core/gufunc_loop.h"

typedef struct lw_gufunc {
    LW_UFUNC_HEAD
    lw_core_layout layout;
    PyObject *large; /* does device calls of large cores, from large_least on; or NULL */
    int64_t large_least;
    PyObject *sizes; /* dict: name only in outputs -> function; or NULL */
} lw_gufunc;

/* ---- gufunc_object.c, gufunc_loops_py.c, gufunc_sizes_py.c ---- */
int lw_gufunc_register(PyObject *module);
const char *lw_gufunc_name(const lw_gufunc *self);
/* Fill the sizes that are -1 (names that stand in outputs only) by the functions of sizes=;
 * sizes has one entry per dims of the layout. -1 with an exception where one is not known or
 * not an int from 0 on. The user's functions are called: GIL held, no lock. */
int lw_gufunc_fill_sizes(lw_gufunc *self, int64_t *sizes);

#endif
