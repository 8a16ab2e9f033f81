#include "core/py/numpy/host_loops.h"

#include "core/py/descr.h"
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
lw_host_loop_give(PyObject *inner, PyArrayMethod_Spec *spec, const lw_dtype *types, int nin,
                  int nout, bool pure_integer)
{
    PyArray_DTypeMeta *dtypes[64]; /* NumPy's limit on nin + nout */

    if (!lw_numpy_knows(types, nin + nout))
        return 0;
    for (int i = 0; i < nin + nout; i++)
        dtypes[i] = lw_dtype_class(types[i]);
    spec->nin = nin;
    spec->nout = nout;
    spec->casting = NPY_NO_CASTING;
    spec->dtypes = dtypes;
    if (pure_integer)
        spec->flags |= NPY_METH_NO_FLOATINGPOINT_ERRORS;
    return PyUFunc_AddLoopFromSpec(inner, spec);
}
