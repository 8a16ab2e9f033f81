#include "core/py/numpy/host_loops.h"

#include "core/host/flags.h"
#include "core/plan/walk.h"
#include "core/py/descr.h"
#include "core/py/compiled/in_python.h"
#include "core/py/float_flags.h"
#include "core/py/host_cuda.h"
#include "core/py/llvm_bridge.h"
#include "core/py/numpy/numpy_rules.h"
#include "core/py/print_py.h"
#include "core/py/raise.h"

#include <math.h>
#include <string.h>

/* ---- machine code ---- */

void
lw_compiling_begin(lw_compiling *compiling)
{
    fegetenv(&compiling->flags);
    compiling->saved = PyGILState_Check() ? PyEval_SaveThread() : NULL;
}

static void
count(lw_loop_table *table, bool good, const lw_build_report *report)
{
    lw_lock_take(&table->lock);
    if (good)
        lw_ufunc_count(&table->stats, report);
    else
        table->stats.failed++;
    lw_lock_give(&table->lock);
}

int
lw_compiling_end(lw_compiling *compiling, lw_loop_table *table, lw_status status,
                 const lw_build_report *report, lw_error *err)
{
    PyGILState_STATE gil;
    int result = -1;

    count(table, status == LW_OK, report);
    if (compiling->saved != NULL)
        PyEval_RestoreThread(compiling->saved);
    fesetenv(&compiling->flags);
    gil = PyGILState_Ensure();
    if (status != LW_OK)
        lw_py_raise(err);
    else
        result = lw_py_cache_warn();
    PyGILState_Release(gil);
    return result;
}

/* ---- runs ---- */

static _Thread_local int64_t items_before;

void
lw_host_items_reset(void)
{
    items_before = 0;
}

int64_t
lw_host_items_add(int64_t n)
{
    int64_t before = items_before;

    items_before += n;
    return before;
}

int
lw_host_loop_raise(const lw_scalar *scalar, uint32_t row, const uint64_t *words,
                   lw_raise_place *place)
{
    PyGILState_STATE gil = PyGILState_Ensure();

    memcpy(place->words, words, sizeof place->words);
    lw_raise_at(&scalar->raises[row - 1], place);
    PyGILState_Release(gil);
    return -1;
}

/* Operand k as an array: its items lie along the first dimension, and core dimensions follow.
 * core: the strides of the latter, from which this takes its own. New reference. */
static PyObject *
operand_of(PyArrayMethod_Context *context, int k, char *data, const npy_intp *dimensions,
           npy_intp stride, const npy_intp **core)
{
    const PyUFuncObject *ufunc = (PyUFuncObject *)context->caller;
    PyArray_Descr *descr = context->descriptors[k];
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    int n = ufunc->core_enabled ? ufunc->core_num_dims[k] : 0;

    shape[0] = dimensions[0];
    strides[0] = stride;
    for (int d = 0; d < n; d++) {
        shape[1 + d] = dimensions[1 + ufunc->core_dim_ixs[ufunc->core_offsets[k] + d]];
        strides[1 + d] = *(*core)++;
    }
    Py_INCREF(descr);
    return PyArray_NewFromDescr(&PyArray_Type, descr, 1 + n, shape, strides, data,
                                NPY_ARRAY_WRITEABLE, NULL);
}

/* Whether the function may write to an input: writable_args=, or one without outputs. */
static bool
writes(const PyUFuncObject *ufunc, int k)
{
    return ufunc->nout == 0 || (ufunc->op_flags[k] & NPY_ITER_READWRITE);
}

/* What the function has written to outputs, and to inputs that it may write. -1: exception. */
static int
copy_back(PyArrayMethod_Context *context, PyObject *const *views, PyObject *const *copies)
{
    const PyUFuncObject *ufunc = (PyUFuncObject *)context->caller;

    for (int k = 0; k < ufunc->nargs; k++)
        if ((k >= ufunc->nin || writes(ufunc, k)) &&
            PyArray_CopyInto((PyArrayObject *)views[k], (PyArrayObject *)copies[k]) < 0)
            return -1;
    return 0;
}

static int
run_python(PyObject *loop, PyArrayMethod_Context *context, char *const *data,
           const npy_intp *dimensions, const npy_intp *strides)
{
    PyObject *views[NPY_MAXARGS] = {NULL}, *operands[NPY_MAXARGS] = {NULL}, *done = NULL;
    int n = ((PyUFuncObject *)context->caller)->nargs, made = 0, result = -1;
    const npy_intp *core = strides + n;

    for (; made < n; made++) {
        views[made] = operand_of(context, made, data[made], dimensions, strides[made], &core);
        /* a copy, because the function may keep it */
        operands[made] =
            views[made] ? PyArray_NewCopy((PyArrayObject *)views[made], NPY_KEEPORDER) : NULL;
        if (operands[made] == NULL)
            break;
    }
    if (made == n)
        done = lw_python_loop_call(loop, operands, n);
    if (done != NULL)
        result = copy_back(context, views, operands);
    for (int k = 0; k < n; k++) {
        Py_XDECREF(views[k]);
        Py_XDECREF(operands[k]);
    }
    Py_XDECREF(done);
    return result;
}

bool
lw_host_loop_in_python(PyArrayMethod_Context *context, char *const *data,
                       const npy_intp *dimensions, const npy_intp *strides, int *result)
{
    lw_ufunc_head *owner;
    PyGILState_STATE gil;
    PyObject *loop;
    fenv_t flags;

    if (!lw_on_python())
        return false;
    gil = PyGILState_Ensure();
    owner = lw_inner_owner_or_null((const void *)((PyUFuncObject *)context->caller)->data);
    loop = owner ? lw_python_loop_of((lw_compiled *)owner) : NULL;
    if (loop != NULL) {
        fegetenv(&flags); /* NumPy would warn of those that Python's arithmetic sets */
        *result = run_python(loop, context, data, dimensions, strides);
        fesetenv(&flags);
    }
    Py_XDECREF((PyObject *)owner);
    PyGILState_Release(gil);
    return loop != NULL;
}

int
lw_host_loop_unknown(void)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    lw_error err = {0};

    lw_fail(&err, LW_ERR_INTERNAL, "a loop over host memory failed");
    lw_py_raise(&err);
    PyGILState_Release(gil);
    return -1;
}

/* NumPy calls loops of a few thousand elements, or of few, for one call of the user's. */
bool
lw_host_loop_stopped(lw_stop *stop, int64_t n)
{
    enum { MANY = 2048 };
    static _Thread_local int64_t done;

    if (atomic_load_explicit(&stop->stopped, memory_order_relaxed))
        return true;
    done += n;
    if (done < MANY)
        return false;
    done = 0;
    return lw_stop_asked(stop);
}

int
lw_host_loop_show(void)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    int result = lw_print_show();

    PyGILState_Release(gil);
    return result;
}

/* ---- registering with NumPy ---- */

int
lw_host_loop_give(PyObject *inner, PyArrayMethod_Spec *spec, const lw_dtype *types,
                  PyArray_DTypeMeta *const *classes, int nin, int nout, bool pure_integer)
{
    PyArray_DTypeMeta *dtypes[64]; /* NumPy's limit on nin + nout */

    if (!lw_numpy_knows(types, nin + nout))
        return 0;
    for (int i = 0; i < nin + nout; i++)
        dtypes[i] = classes != NULL ? classes[i] : lw_dtype_class(types[i]);
    spec->nin = nin;
    spec->nout = nout;
    spec->casting = NPY_NO_CASTING;
    spec->dtypes = dtypes;
    if (pure_integer)
        spec->flags |= NPY_METH_NO_FLOATINGPOINT_ERRORS;
    return PyUFunc_AddLoopFromSpec(inner, spec);
}

/* ---- calls that need none of NumPy's rules ---- */

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

bool
lw_left_to_numpy(void)
{
    if (PyErr_Occurred() &&
        (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_Warning)))
        return false;
    PyErr_Clear();
    return true;
}

/* From the dimension of the smallest stride on, none may reach into the next one. */
bool
lw_is_written_apart(PyArrayObject *array)
{
    int64_t reach = PyArray_ITEMSIZE(array);
    bool taken[NPY_MAXDIMS] = {false};

    if (!PyArray_ISWRITEABLE(array) || PyArray_FLAGS(array) < 0)
        return false;
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

static void
bytes_of(PyArrayObject *array, const char **begin, const char **end)
{
    *begin = PyArray_BYTES(array);
    *end = *begin + PyArray_ITEMSIZE(array);
    for (int d = 0; d < PyArray_NDIM(array); d++) {
        int64_t reach = PyArray_STRIDE(array, d) * (PyArray_DIM(array, d) - 1);
        *(reach < 0 ? begin : end) += reach;
    }
}

bool
lw_may_meet(PyArrayObject *a, PyArrayObject *b)
{
    const char *begin, *end, *other_begin, *other_end;

    bytes_of(a, &begin, &end);
    bytes_of(b, &other_begin, &other_end);
    return begin < other_end && other_begin < end;
}

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
