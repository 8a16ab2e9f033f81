/* What the loops that NumPy calls have in common: one C function serves as the loop of all
 * ufuncs of a kind, finds ours by the operands' dtypes and compiles machine code at its first
 * run. NumPy may have released the GIL: what needs it here takes it. */
#ifndef LW_PY_HOST_LOOPS_H
#define LW_PY_HOST_LOOPS_H

#include "core/py/numpy_api.h"

#include "core/front/lower/lower.h"
#include "core/host/pieces.h"
#include "core/plan/loop.h"
#include "core/py/numpy/ufunc_inner.h"
#include "core/py/raise_row.h"

#include <fenv.h>

/* A loop is compiled between these, without the GIL; a compiler computes too: its
 * floating-point flags are not the loop's. */
typedef struct lw_compiling {
    fenv_t flags;
    PyThreadState *saved;
} lw_compiling;

void lw_compiling_begin(lw_compiling *compiling);
/* Counts it, gives warnings of the cache. -1 with an exception: it failed, or a warning is
 * one. */
int lw_compiling_end(lw_compiling *compiling, lw_loop_table *table, lw_status status,
                     const lw_build_report *report, lw_error *err);

/* Items that loops of this thread have run since the last reset, by which messages count. add:
 * n more; returns how many there were. */
void lw_host_items_reset(void);
int64_t lw_host_items_add(int64_t n);
/* At the beginning of a user's call. */
static inline void
lw_host_call_begin(const lw_loop_table *table)
{
    if (table->can_raise)
        lw_host_items_reset();
}

/* What a run reported by `row` of scalar->raises, + 1, and what it carries. Always -1. */
int lw_host_loop_raise(const lw_scalar *scalar, uint32_t row, const uint64_t *words,
                       lw_raise_place *place);
/* Whether plain Python runs in place of the loop (core/py/compiled/in_python.h). Then it has
 * run, and *result is 0, or -1 with an exception. The arguments are those of the loop. */
bool lw_host_loop_in_python(PyArrayMethod_Context *context, char *const *data,
                            const npy_intp *dimensions, const npy_intp *strides, int *result);
/* NumPy asks for a loop that we do not have. Always -1. */
int lw_host_loop_unknown(void);
/* The end of a run over n elements. True: Ctrl-C ended it early, or is seen now; the exception
 * is set. */
bool lw_host_loop_stopped(lw_stop *stop, int64_t n);
/* What the function printed. -1 with an exception. */
int lw_host_loop_show(void);
/* Tells NumPy of a loop, if NumPy has its dtypes. spec: its dtypes and nin, nout, casting are
 * filled here. classes: of the dtypes; NULL: the usual ones for the types. -1 with an
 * exception.
 */
int lw_host_loop_give(PyObject *inner, PyArrayMethod_Spec *spec, const lw_dtype *types,
                      PyArray_DTypeMeta *const *classes, int nin, int nout, bool pure_integer);

#endif
