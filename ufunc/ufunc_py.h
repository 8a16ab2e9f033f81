/* The Python side of the vectorize door: the object, and who provides what to whom. */
#ifndef LW_UFUNC_UFUNC_PY_H
#define LW_UFUNC_UFUNC_PY_H

#include <Python.h>

#include "ufunc/ufunc.h"

#include "core/py/numpy/family.h"
#include "core/py/numpy/ufunc_type.h"

typedef struct lw_ufunc {
    LW_UFUNC_HEAD
} lw_ufunc;

/* ---- ufunc_object.c, ufunc_host_py.c ---- */
int lw_ufunc_register(PyObject *module);
/* The loop for exact input dtypes, made (typed and lowered, not yet compiled to machine code)
 * when it is new. NULL with an exception set. GIL held. */
lw_loop *lw_ufunc_loop(lw_ufunc *self, const lw_dtype *in);
#endif
