/* Operands by the names of the function's parameters, and values for parameters with defaults:
 * NumPy's ufuncs know neither, so calls are put into NumPy's form first. */
#ifndef LW_PY_UFUNC_NAMES_H
#define LW_PY_UFUNC_NAMES_H

#include "core/py/numpy/ufunc_type.h"

enum { LW_PLACED_MAX = 64 + 16 }; /* NumPy's operands, and keywords */

/* A call as vectorcall takes it. Values are borrowed but for those of `owned`. */
typedef struct lw_placed {
    PyObject *args[LW_PLACED_MAX];
    Py_ssize_t n_args;
    PyObject *kwnames; /* owned; NULL: no keywords */
    PyObject *owned;   /* list of defaults that were filled in, or NULL */
} lw_placed;

/* Whether a keyword is one of the call, as out=, which goes before a parameter of the same
 * name. */
bool lw_ufunc_names_keyword(PyObject *name);
/* Parameters with names that stand before any *args; the keyword-only ones come last. */
int lw_ufunc_n_named(const lw_ufunc_head *self);
/* TypeError: the call has no such keyword, and no parameter of this name; it names one that is
 * near. Always -1. */
int lw_ufunc_names_refuse(const lw_ufunc_head *self, PyObject *name);
/* TypeError: this argument is missing; or the call has no such keyword, if there is one,
 * because it may have been meant for that argument. others: the keywords that name no operand.
 * Always -1. */
int lw_ufunc_names_missing(const lw_ufunc_head *self, int param, PyObject *const *others,
                           Py_ssize_t n_others);
/* How many of the parameters, from the first on, this call gives values to; n_params have
 * names that count. */
int lw_ufunc_names_given(const lw_ufunc_head *self, Py_ssize_t n_args, PyObject *kwnames,
                         int n_params);
/* Whether a keyword names one of the nin operands, or a default stands for a missing one. */
bool lw_ufunc_names_any(const lw_ufunc_head *self, Py_ssize_t n_args, PyObject *kwnames);
/* The call with its first `nin` parameters as positional operands, then what came behind them:
 * outputs. -1 with an exception. Drop it afterwards, also then. */
int lw_ufunc_names_place(const lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args,
                         PyObject *kwnames, int nin, lw_placed *out);
void lw_placed_drop(lw_placed *placed);
/* The parameters of inspect.signature as those of a lambda, up to `*, out=None, `; all: also
 * those that have defaults and are no operands. Their defaults go to the list. -1: exception.
 */
int lw_ufunc_names_show(const lw_ufunc_head *self, bool all, PyObject *defaults, lw_text *out);
/* Functions with this attribute have operands only, the keyword-only parameters too. */
#define LW_ALL_OPERANDS "__lanewise_all_operands__"
/* The function without its defaults, so that all its parameters are operands. */
PyObject *lw_function_without_defaults(PyObject *function);

#endif
