/* What calls on device arrays do as numpy.ufunc does: for ufuncs and gufuncs alike. */
#ifndef LW_PY_NUMPY_RULES_H
#define LW_PY_NUMPY_RULES_H

#include "core/py/numpy_api.h"

#include "core/front/types.h"

/* Keywords of a call that choose dtypes; borrowed, NULL: not given. */
typedef struct lw_call_rules {
    PyObject *signature, *dtype, *casting;
} lw_call_rules;

/* ufunc.resolve_dtypes for these operands: dtypes[i], weak[i] 'i' 'f' 'c' for Python's numbers
 * (else 0), outputs void where not given. A new reference, or NULL with NumPy's exception. */
PyObject *lw_numpy_resolve(PyObject *ufunc, int nin, int nout, const lw_dtype *dtypes,
                           const char *weak, const lw_call_rules *rules);
/* bfloat16 among them: NumPy has no dtype of its own for it. */
bool lw_beyond_numpy(int nin, int nout, const lw_dtype *dtypes, const char *weak);
bool lw_cast_allowed(lw_dtype from, lw_dtype to, NPY_CASTING rule);

/* The number of positional arguments, subok= and order= (NULL: not given), whose letter goes to
 * *letter. -1 with an exception. */
int lw_call_check(const char *name, int nin, int nout, Py_ssize_t n_args, PyObject *subok,
                  PyObject *order, char *letter);

/* 'i', 'f' or 'c' of Python's own numbers, else 0. */
char lw_weak_kind(PyObject *object);
/* The number as an array without dimensions of that dtype; an int that does not fit is an
 * OverflowError. A new reference. */
PyObject *lw_number_in(PyObject *number, lw_dtype dtype);
/* Whether a Python number (weak: 'i', 'f' or 'c') fits a loop's slot. */
bool lw_weak_fits(char weak, lw_dtype slot);
/* For E181: an operand's type, "float32" or "Python int"; why argument number i (from 0), of
 * this name or NULL, does not fit a loop's slot. */
void lw_no_loop_operand(lw_text *text, lw_dtype dtype, char weak);
void lw_no_loop_argument(lw_text *text, int i, const char *name, lw_dtype dtype, char weak,
                         lw_dtype slot);

#endif
