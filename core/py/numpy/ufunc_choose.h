/* Which loop of a ufunc serves which dtypes, for ufuncs of all kinds that hold loops. GIL held.
 */
#ifndef LW_PY_UFUNC_CHOOSE_H
#define LW_PY_UFUNC_CHOOSE_H

#include "core/py/numpy_api.h"

#include "core/py/numpy/numpy_rules.h"
#include "core/py/numpy/ufunc_type.h"

enum { LW_UFUNC_OPERANDS = 64 /* NumPy's limit */ };

typedef struct lw_wanted {
    lw_dtype in[LW_UFUNC_OPERANDS];  /* strong operands; void: weak */
    char weak[LW_UFUNC_OPERANDS];    /* 0, 'i', 'f', 'c' */
    bool fixed[LW_UFUNC_OPERANDS];   /* by signature=: no cast allowed */
    lw_dtype out[LW_UFUNC_OPERANDS]; /* void: any */
    bool foreign[LW_UFUNC_OPERANDS]; /* strong, of a dtype that is none of ours: NumPy casts it
                                      */
    bool reduction; /* the first input is the accumulator: it must equal the output */
} lw_wanted;

/* The loop for these operands by the rules of docs/typing.md. NULL: with an exception, or
 * without one where NumPy's own message says it best. */
void *lw_loops_choose(lw_ufunc_head *self, const lw_wanted *wanted);
/* The loop of exactly these inputs; failures are remembered. NULL with an exception. */
void *lw_loops_find_or_make(lw_ufunc_head *self, const lw_dtype *in);
/* The signature's loop for a call with nothing but Python numbers (weak[i]: 'i', 'f', 'c'),
 * where none takes what they are by themselves: they take its dtypes. NULL, without an
 * exception: there is none, or it is not needed. */
void *lw_loops_of_numbers(lw_ufunc_head *self, const char *weak);
void lw_loops_raise_none(lw_ufunc_head *self, const lw_wanted *wanted); /* E181 */
/* The loop that NumPy would run for a call: dtypes[i] for the inputs (weak[i]: 0 strong, 'i'
 * 'f' 'c' a Python int, float, complex), then for given outputs (void: not given). Made (typed
 * and lowered) when it is new. NULL with the exception that NumPy would raise. Slow, about a
 * microsecond: remember the answer. */
void *lw_loops_of_call(lw_ufunc_head *self, const lw_dtype *dtypes, const char *weak,
                       const lw_call_rules *rules);
/* W202: two signatures of which neither is narrower. -1 where the warning is an error. */
int lw_loops_warn_ambiguous(lw_ufunc_head *self);

#endif
