#include "core/py/numpy/host_calls.h"

#include "core/host/flags.h"
#include "core/plan/walk.h"
#include "core/py/array/whole_array.h"
#include "core/py/float_flags.h"
#include "core/py/numpy/loop_rows.h"
#include "core/py/numpy/numpy_rules.h"
#include "core/py/numpy/ufunc_choose.h"
#include "core/py/type_num.h"

#include <math.h>
#include <string.h>

/* ---- operands ---- */

bool
lw_direct_read_number(PyObject *object, lw_dtype dtype, lw_direct_number *to)
{
    const int64_t exact = (int64_t)1 << 53;
    int overflow = 0;

    if (PyFloat_CheckExact(object)) {
        double value = PyFloat_AS_DOUBLE(object);
        if (dtype == LW_DT_f64)
            to->f64 = value;
        else if (dtype == LW_DT_f32 && (!isfinite(value) || isfinite((float)value)))
            to->f32 = (float)value;
        else
            return false;
    } else if (PyLong_CheckExact(object) && (dtype == LW_DT_i64 || dtype == LW_DT_f64)) {
        int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow || (dtype == LW_DT_f64 && (value > exact || value < -exact)))
            return false;
        if (dtype == LW_DT_f64)
            to->f64 = (double)value;
        else
            to->i64 = value;
    } else
        return false;
    return true;
}

bool
lw_make_numbers(PyObject *const *args, int nin, const lw_dtype *types, PyArrayObject **arrays,
                PyArrayObject **made)
{
    for (int i = 0; i < nin; i++) {
        if (arrays[i] != NULL || (lw_weak_kind(args[i]) != 0) != (types != NULL))
            continue;
        made[i] = (PyArrayObject *)(types != NULL ? lw_number_in(args[i], types[i])
                                                  : PyArray_FromScalar(args[i], NULL));
        arrays[i] = made[i];
        if (made[i] == NULL)
            return false;
    }
    return true;
}

PyObject *const *
lw_given_outputs(PyObject *const *out, int nout)
{
    if (!PyTuple_CheckExact(*out))
        return nout == 1 ? out : NULL;
    return PyTuple_GET_SIZE(*out) == nout ? &PyTuple_GET_ITEM(*out, 0) : NULL;
}

int64_t
lw_broadcast(PyArrayObject *const *arrays, int n, int most, int *ndim, npy_intp *shape)
{
    int64_t elements = 1;

    *ndim = 0;
    for (int i = 0; i < n; i++)
        if (arrays[i] != NULL && PyArray_NDIM(arrays[i]) > *ndim)
            *ndim = PyArray_NDIM(arrays[i]);
    if (*ndim > most)
        return 0;
    for (int d = 0; d < *ndim; d++)
        shape[d] = 1;
    for (int i = 0; i < n; i++) {
        int own = arrays[i] != NULL ? PyArray_NDIM(arrays[i]) : 0, first = *ndim - own;
        for (int d = 0; d < own; d++) {
            npy_intp size = PyArray_DIM(arrays[i], d);
            if (size != 1 && shape[first + d] != 1 && shape[first + d] != size)
                return 0;
            if (size != 1)
                shape[first + d] = size;
        }
    }
    for (int d = 0; d < *ndim; d++)
        if (__builtin_mul_overflow(elements, shape[d], &elements))
            return 0;
    return elements;
}

/* From the dimension of the smallest stride on, none may reach into the next one. */
bool
lw_is_apart(PyArrayObject *array)
{
    int64_t reach = PyArray_ITEMSIZE(array);
    bool taken[NPY_MAXDIMS] = {false};

    for (int i = 0; i < PyArray_NDIM(array); i++) {
        int next = -1;
        for (int d = 0; d < PyArray_NDIM(array); d++)
            if (!taken[d] && (next < 0 || lw_magnitude(PyArray_STRIDE(array, d)) <
                                              lw_magnitude(PyArray_STRIDE(array, next))))
                next = d;
        taken[next] = true;
        if (PyArray_DIM(array, next) <= 1)
            continue;
        if (lw_magnitude(PyArray_STRIDE(array, next)) < reach)
            return false;
        reach += lw_magnitude(PyArray_STRIDE(array, next)) * (PyArray_DIM(array, next) - 1);
    }
    return true;
}

bool
lw_may_meet(PyArrayObject *a, PyArrayObject *b)
{
    return lw_memory_spans_overlap(lw_numpy_span(a), lw_numpy_span(b));
}

/* ---- which loop ---- */

/* The operands of a call, as the choice of a loop sees them. */
typedef struct operand_types {
    lw_dtype dtypes[LW_LOOP_OPERANDS]; /* void: a number, or an output to be made */
    char weak[LW_LOOP_OPERANDS];       /* of inputs: as lw_rows_find_weak's */
    bool any_weak;
} operand_types;

/* false: some dtype is none of ours. */
static bool
read_types(const lw_ufunc_head *head, PyObject *const *args, PyArrayObject *const *arrays,
           operand_types *types)
{
    for (int k = 0; k < head->nin + head->nout; k++) {
        bool is_number = k < head->nin && arrays[k] == NULL;
        types->dtypes[k] = arrays[k] ? lw_dtype_from_num(PyArray_TYPE(arrays[k])) : LW_DT_void;
        types->weak[k] = is_number ? lw_weak_kind(args[k]) : 0;
        types->any_weak |= types->weak[k] != 0;
        if (types->dtypes[k] == LW_DT_void && arrays[k] != NULL)
            return false;
    }
    return true;
}

static bool
has_types(const lw_loop_head *loop, const lw_dtype *dtypes)
{
    for (int k = 0; k < loop->nin + loop->nout; k++)
        if (dtypes[k] != loop->types[k] && (k < loop->nin || dtypes[k] != LW_DT_void))
            return false;
    return true;
}

/* What Python's numbers become beside arrays of one dtype, in dtypes; false: NumPy decides. */
static bool
take_common(int nin, const char *weak, lw_dtype *dtypes)
{
    lw_dtype common = LW_DT_void;

    for (int i = 0; i < nin; i++) {
        if (weak[i] == 0 && common != LW_DT_void && dtypes[i] != common)
            return false;
        if (weak[i] == 0)
            common = dtypes[i];
    }
    for (int i = 0; i < nin; i++) {
        if (weak[i] == 0)
            continue;
        if (common != LW_DT_f64 &&
            (weak[i] == 'f' ? common != LW_DT_f32 : weak[i] != 'i' || common != LW_DT_i64))
            return false;
        dtypes[i] = common;
    }
    return true;
}

/* The loop for exactly these operands, if NumPy has run it before; or NULL. */
static lw_loop_head *
known_loop(const lw_ufunc_head *head, const operand_types *types)
{
    lw_dtype dtypes[LW_LOOP_OPERANDS];
    lw_loop_head *loop;

    memcpy(dtypes, types->dtypes, sizeof dtypes);
    if (!types->any_weak)
        loop = lw_rows_find(head, dtypes);
    else if (take_common(head->nin, types->weak, dtypes))
        loop = lw_rows_find_weak(head, dtypes, types->weak);
    else
        return NULL;
    return loop != NULL && atomic_load_explicit(&loop->numpy_ran, memory_order_relaxed) &&
                   has_types(loop, dtypes)
               ? loop
               : NULL;
}

void *
lw_loop_for_operands(lw_ufunc_head *head, PyObject *const *args, PyArrayObject *const *arrays)
{
    operand_types types = {.any_weak = false};
    lw_loop_head *loop;

    if (!read_types(head, args, arrays, &types))
        return NULL;
    loop = known_loop(head, &types);
    if (loop != NULL || lw_beyond_numpy(head->nin, head->nout, types.dtypes, types.weak))
        return loop;
    loop = lw_loops_of_call(head, types.dtypes, types.weak, &(lw_call_rules){0});
    if (loop != NULL && has_types(loop, types.dtypes))
        atomic_store_explicit(&loop->numpy_ran, true, memory_order_relaxed);
    return loop;
}

bool
lw_left_to_numpy(void)
{
    if (PyErr_Occurred() &&
        (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_Warning)))
        return false;
    PyErr_Clear();
    return true;
}

/* ---- NumPy's iterator ---- */

int
lw_walk_of_iterator(NpyIter *iter, int ndim, int n, int nin, int nout, lw_walk *walk)
{
    char *const *data = NpyIter_GetDataPtrArray(iter);
    npy_intp shape[NPY_MAXDIMS];

    if (NpyIter_GetShape(iter, shape) == NPY_FAIL)
        return -1;
    walk->n_operands = n;
    walk->ndim = 0;
    walk->n = 1;
    for (int k = 0; k < n; k++)
        walk->operands[k] = (lw_walk_operand){.data = (uint64_t)(uintptr_t)data[k],
                                              .is_output = k >= nin && k < nin + nout};
    for (int d = ndim; d-- > 0;) { /* innermost first */
        const npy_intp *strides = NpyIter_GetAxisStrideArray(iter, d);
        if (strides == NULL)
            return -1;
        walk->n *= shape[d];
        if (shape[d] == 1)
            continue;
        walk->shape[walk->ndim] = shape[d];
        for (int k = 0; k < n; k++)
            walk->operands[k].strides[walk->ndim] = strides[k];
        walk->ndim++;
    }
    lw_walk_sort(walk);
    lw_walk_merge(walk);
    return 0;
}

PyObject *
lw_results_of_iterator(NpyIter *iter, PyArrayObject *const *given, int nin, int nout)
{
    PyArrayObject **made = NpyIter_GetOperandArray(iter);
    PyObject *results[LW_LOOP_OPERANDS], *tuple;

    for (int k = 0; k < nout; k++)
        results[k] = (PyObject *)(given[nin + k] ? given[nin + k] : made[nin + k]);
    if (nout == 1)
        return Py_NewRef(results[0]);
    tuple = PyTuple_New(nout);
    for (int k = 0; tuple != NULL && k < nout; k++)
        PyTuple_SET_ITEM(tuple, k, Py_NewRef(results[k]));
    return tuple;
}

/* ---- runs ---- */

#ifdef LW_WINDOWS
static _Thread_local int64_t n_direct;

int64_t
lw_direct_calls(void)
{
    return n_direct;
}

static void
count_direct(void)
{
    n_direct++;
}
#else
static void
count_direct(void)
{
}
#endif

PyThreadState *
lw_direct_begin(int64_t n)
{
    enum { LET_OTHERS_RUN = 500 }; /* elements; as NumPy */
    PyThreadState *saved = n > LET_OTHERS_RUN ? PyEval_SaveThread() : NULL;

    count_direct();
    lw_flags_clear();
    return saved;
}

int
lw_direct_end(const lw_loop_head *loop, const char *name, PyThreadState *saved, int failed)
{
    int raised = !loop->scalar->pure_integer || loop->raises_flags ? lw_flags_raised() : 0;

    if (saved != NULL)
        PyEval_RestoreThread(saved);
    return failed < 0 || PyErr_Occurred() ? -1 : raised ? lw_give_float_flags(name, raised) : 0;
}
