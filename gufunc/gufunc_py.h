/* The Python side of the guvectorize door: the object, and who provides what to whom. */
#ifndef LW_GUFUNC_GUFUNC_PY_H
#define LW_GUFUNC_GUFUNC_PY_H

#include <Python.h>

#include "core/base/lock.h"
#include "core/py/compiled/recall.h"
#include "core/py/compiled/resolved.h"
#include "core/py/numpy/family.h"
#include "core/py/numpy/ufunc_type.h"
#include "gufunc/core/gufunc_loop.h"

typedef struct lw_gufunc {
    LW_UFUNC_HEAD
    lw_core_layout layout;
    LW_ARRAY(lw_gufunc_loop *) loops; /* under the GIL */
    PyObject *large; /* does device calls of large cores, from large_least on; or NULL */
    int64_t large_least;
    PyObject *sizes;        /* dict: name only in outputs -> function; or NULL */
    lw_resolved_list plans; /* of device calls */
    lw_recalled *recalled;  /* of those, the latest: gufunc/recall_py.h */
} lw_gufunc;

/* ---- gufunc_object.c, gufunc_loops_py.c, gufunc_sizes_py.c ---- */
int lw_gufunc_register(PyObject *module);
const char *lw_gufunc_name(const lw_gufunc *self);
/* The loop NumPy would run: dtypes[i] for the inputs (weak[i]: 0 strong, 'i' 'f' 'c' a Python
 * int, float, complex), then for given outputs (LW_DT_void: not given); signature, dtype and
 * casting as in the call, or NULL. Makes it (typed and lowered) when it is new; gives NULL with
 * the exception NumPy would raise. Checks the casts of all operands. GIL held; slow: remember
 * the answer. */
lw_gufunc_loop *lw_gufunc_resolve(lw_gufunc *self, const lw_dtype *dtypes, const char *weak,
                                  PyObject *signature, PyObject *dtype, PyObject *casting);
/* Fill the sizes that are -1 (names that stand in outputs only) by the functions of sizes=;
 * sizes has one entry per dims of the layout. -1 with an exception where one is not known or
 * not an int from 0 on. The user's functions are called: GIL held, no lock. */
int lw_gufunc_fill_sizes(lw_gufunc *self, int64_t *sizes);

/* ---- the device side, where it is linked in: NULL otherwise ---- */
typedef struct lw_gufunc_device_hooks {
    /* The call with at least one device operand (in or out), or host operands and target
     * "cuda". args, kwnames as vectorcall's. NEP 13 is already done. extra: arrays beside the
     * operands, or NULL. */
    PyObject *(*call)(lw_gufunc *self, PyObject *const *args, size_t nargsf, PyObject *kwnames,
                      lw_extra_arrays *extra);
    /* The kernel that an item takes on cc (90), for inspection and ahead-of-time output. */
    lw_status (*module)(lw_gufunc *self, lw_gufunc_loop *loop, lw_module **out, lw_error *err);
    /* A dict: registers, shared, local, constant bytes, spills, occupancy, mapping. cc 0: the
     * first device's. */
    PyObject *(*resources)(lw_gufunc *self, lw_gufunc_loop *loop, int cc);
    int (*compile)(lw_gufunc *self, lw_gufunc_loop *loop, int cc); /* and load; -1: exception */
} lw_gufunc_device_hooks;

extern lw_gufunc_device_hooks lw_gufunc_device; /* filled by lw_gufunc_device_register */

#endif
