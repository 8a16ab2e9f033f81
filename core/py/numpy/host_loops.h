/* What the loops that NumPy calls, and the calls that run a loop directly, have in common: one
 * C function serves as the loop of all ufuncs of a kind, finds ours by the operands' dtypes and
 * compiles machine code at its first run. NumPy may have released the GIL: what needs it here
 * takes it. */
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

/* ---- calls that do not go through NumPy: host_calls.c ---- */

/* A Python number as loops read it. */
typedef union lw_direct_number {
    double f64;
    float f32;
    int64_t i64;
} lw_direct_number;

/* Contiguous, aligned, in this machine's byte order. */
static inline bool
lw_direct_reads(PyArrayObject *array)
{
    return PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISBEHAVED_RO(array);
}

/* And writable: without a flag by which NumPy warns of writing to it. */
static inline bool
lw_direct_writes(PyArrayObject *array)
{
    return lw_direct_reads(array) && PyArray_ISWRITEABLE(array) && PyArray_FLAGS(array) >= 0;
}

/* A Python float as a float of this dtype, a Python int as an int64 or a float64 that is the
 * same number. false: others are NumPy's, as are floats that are too large, of which it warns.
 */
bool lw_direct_read_number(PyObject *object, lw_dtype dtype, lw_direct_number *to);
/* Those of nin operands that are numbers (their place in `arrays` is NULL), as arrays without
 * dimensions, which `made` owns: those of Python in the loop's types, or where types is NULL,
 * those of NumPy in their own. false with an exception. */
bool lw_make_numbers(PyObject *const *args, int nin, const lw_dtype *types,
                     PyArrayObject **arrays, PyArrayObject **made);
/* Whether it may be written to, without a flag by which NumPy warns of that, and no two of its
 * elements are the same memory. */
bool lw_is_written_apart(PyArrayObject *array);
/* Whether the ranges of bytes from the first to the last one overlap. */
bool lw_may_meet(PyArrayObject *a, PyArrayObject *b);
/* The outputs that out= gives, nout of them: those of a tuple, or the only one. NULL: they are
 * fewer or more. */
PyObject *const *lw_given_outputs(PyObject *const *out, int nout);

/* The loop that NumPy would run for the operands of a call without keywords that choose dtypes.
 * arrays: of inputs, NULL where args has a Python number, and of outputs, NULL where they are
 * to be made. NULL: NumPy's call decides; with an exception, or without one. */
void *lw_loop_for_operands(lw_ufunc_head *head, PyObject *const *args,
                           PyArrayObject *const *arrays);
/* After preparations that failed, with an exception or without one: NumPy's call words it
 * better. false, with the exception: it is none that a second try would give, as Ctrl-C. */
bool lw_left_to_numpy(void);

/* The walk along the first ndim axes of an iterator with a multi-index, over n operands of
 * which those after nin, nout of them, are outputs; sorted and merged. -1 with an exception. */
struct lw_walk;
int lw_walk_of_iterator(NpyIter *iter, int ndim, int n, int nin, int nout,
                        struct lw_walk *walk);
/* The outputs of a call: those that were given (their places in `given`, which has all
 * operands, are not NULL), and those that the iterator has made. A tuple if there are several.
 */
PyObject *lw_results_of_iterator(NpyIter *iter, PyArrayObject *const *given, int nin, int nout);

/* Around the loop's run over n elements, which leaves with `failed` < 0 if there is an
 * exception. end: reports floating-point flags as NumPy does; -1 with an exception. */
PyThreadState *lw_direct_begin(int64_t n);
int lw_direct_end(const lw_loop_head *loop, const char *name, PyThreadState *saved, int failed);

#ifdef LW_WINDOWS
/* How many such calls this thread has made: results do not tell. */
int64_t lw_direct_calls(void);
#endif

#endif
