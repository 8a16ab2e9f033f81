/* What calls on host arrays that do not go through NumPy have in common, in ufuncs and gufuncs:
 * short calls on arrays whose dtypes are those of a loop (*_direct_py.c), and long calls of any
 * layout (*_walk_py.c). Each function that says no leaves the call to NumPy, which words all
 * errors. */
#ifndef LW_PY_HOST_CALLS_H
#define LW_PY_HOST_CALLS_H

#include "core/py/numpy_api.h"

#include "core/plan/loop.h"
#include "core/py/numpy/ufunc_inner.h"

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

/* Whether no two elements of it are the same memory. */
bool lw_is_apart(PyArrayObject *array);
/* And it may be written to, without a flag by which NumPy warns of that. */
static inline bool
lw_is_written_apart(PyArrayObject *array)
{
    return PyArray_ISWRITEABLE(array) && PyArray_FLAGS(array) >= 0 &&
           (PyArray_IS_C_CONTIGUOUS(array) || lw_is_apart(array));
}

static inline bool
lw_direct_writes(PyArrayObject *array)
{
    return lw_direct_reads(array) && lw_is_written_apart(array);
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
/* The shape that these arrays have together by NumPy's rules, outermost dimension first; some
 * of the n may be NULL. Returns the number of its elements, or 0: there are none, or too many,
 * or more than `most` dimensions, or the shapes do not match. */
int64_t lw_broadcast(PyArrayObject *const *arrays, int n, int most, int *ndim, npy_intp *shape);
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
