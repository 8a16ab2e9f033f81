#include "core/py/numpy/host_loops.h"

#include "core/py/compiled/in_python.h"
#include "core/py/host_cuda.h"
#include "core/py/llvm_bridge.h"
#include "core/py/print_py.h"
#include "core/py/raise.h"

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
