/* The Python side of the vectorize door: the object, and who provides what to whom. */
#ifndef LW_UFUNC_UFUNC_PY_H
#define LW_UFUNC_UFUNC_PY_H

#include <Python.h>

#include "ufunc/ufunc.h"

#include "core/base/lock.h"
#include "core/py/compiled/recall.h"
#include "core/py/compiled/resolved.h"
#include "core/py/numpy/family.h"
#include "core/py/numpy/ufunc_type.h"

typedef struct lw_ufunc {
    LW_UFUNC_HEAD
    lw_lock lock;              /* guards loops while they grow; never held while Python runs */
    LW_ARRAY(lw_loop *) loops; /* declared ones first, in canonical order */
    lw_resolved_list plans;    /* of device calls */
    lw_recalled *recalled;     /* of those, the latest: ufunc/recall_py.h */
} lw_ufunc;

/* ---- ufunc_object.c, ufunc_host_py.c ---- */
int lw_ufunc_register(PyObject *module);
/* The loop for exact input dtypes, made (typed and lowered, not yet compiled to machine code)
 * when it is new. NULL with an exception set. GIL held. */
lw_loop *lw_ufunc_loop(lw_ufunc *self, const lw_dtype *in);
/* What NumPy would run: dtypes[i] for the inputs (weak[i]: 0 strong, 'i' 'f' 'c' a Python int,
 * float, complex), then for given outputs (LW_DT_void: not given); signature/dtype/casting as
 * in the call or NULL. Gives the loop; NULL with the exception NumPy would raise. GIL held;
 * slow (about a microsecond and, for new dtypes, a compile of the front end): cache the answer.
 */
lw_loop *lw_ufunc_resolve(lw_ufunc *self, const lw_dtype *dtypes, const char *weak,
                          PyObject *signature, PyObject *dtype, PyObject *casting);

/* ---- ufunc_device_py.c ---- */
/* The call with at least one device operand (in or out), or host operands and target "cuda".
 * args, kwnames as vectorcall's. NEP 13 is already done. */
PyObject *lw_ufunc_call_device(lw_ufunc *self, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames);
/* The same with arrays beside the operands; NULL: none. */
PyObject *lw_ufunc_call_device_with(lw_ufunc *self, PyObject *const *args, size_t nargsf,
                                    PyObject *kwnames, lw_extra_arrays *extra);
/* _time_launch(ufunc, n, *operands): seconds of one bare driver launch of that call's kernel.
 */
PyObject *lw_ufunc_time_launch(PyObject *module, PyObject *const *args, Py_ssize_t n_args);

#endif
