/* The C function that serves as the loop of every Ufunc's inner numpy.ufunc
 * (core/py/numpy/ufunc_inner.h), and texts of loops. It finds ours by the operands' dtypes and
 * compiles machine code at its first run. */
#include "core/ir/printed.h"
#include "ufunc/ufunc_parts.h"

#include "core/py/numpy/host_loops.h"
#include "core/py/signals.h"
#include "core/py/text_py.h"

#include <stdatomic.h>
#include <string.h>

/* ---- texts ---- */

/* bfloat16 has no character of NumPy's own; ml_dtypes uses E. */
PyObject *
lw_types_text(const lw_loop *loop)
{
    char text[LW_MAX_ARGS + 4];
    int n = 0;

    for (int i = 0; i < loop->nin + loop->nout; i++) {
        if (i >= loop->uniforms.first && i < loop->nin) /* of excluded arrays */
            continue;
        if (i == loop->nin) {
            text[n++] = '-';
            text[n++] = '>';
        }
        text[n++] = lw_dtypes[loop->types[i]].numpy ? lw_dtypes[loop->types[i]].numpy : 'E';
    }
    return PyUnicode_FromStringAndSize(text, n);
}

static void
add_names(lw_text *text, const lw_dtype *types, int n)
{
    lw_text_add(text, "(");
    for (int i = 0; i < n; i++)
        lw_text_addf(text, "%s%s", i ? ", " : "", lw_dtypes[types[i]].public_name);
    lw_text_add(text, ")");
}

PyObject *
lw_loop_text(const lw_loop *loop)
{
    lw_text text = {0};

    if (loop->nout == 1)
        lw_text_add(&text, lw_dtypes[loop->types[loop->nin]].public_name);
    else {
        lw_text_add(&text, "Tuple");
        add_names(&text, loop->types + loop->nin, loop->nout);
    }
    add_names(&text, loop->types, loop->uniforms.first);
    return lw_text_take(&text);
}

/* ---- machine code ---- */

void
lw_loop_free(void *object)
{
    lw_loop *loop = object;

    lw_host_kernel_free(loop->host);
    lw_host_kernel_free(loop->indexed);
    lw_host_kernel_free(loop->fold);
    lw_scalar_free(loop->scalar);
    lw_free(loop);
}

typedef lw_status (*kernel_maker)(const lw_loop *, const lw_build_options *, lw_host_kernel **,
                                  lw_build_report *, lw_error *);

static lw_host_kernel *
kernel_at(_Atomic(lw_host_kernel *) *place, kernel_maker make, lw_loop_table *table,
          const lw_loop *loop)
{
    lw_host_kernel *kernel = atomic_load_explicit(place, memory_order_acquire);
    lw_host_kernel *expected = NULL;
    lw_build_report report = {0};
    lw_compiling compiling;
    lw_error err = {0};
    lw_status status;

    if (kernel != NULL)
        return kernel;
    lw_compiling_begin(&compiling);
    status = make(loop, &table->build, &kernel, &report, &err);
    if (status == LW_OK && !atomic_compare_exchange_strong(place, &expected, kernel)) {
        lw_host_kernel_free(kernel); /* another thread was first */
        kernel = expected;
    }
    if (lw_compiling_end(&compiling, table, status, &report, &err) < 0)
        return NULL;
    return kernel;
}

lw_host_kernel *
lw_ufunc_kernel(lw_loop_table *table, lw_loop *loop)
{
    return kernel_at(&loop->host, lw_host_kernel_new, table, loop);
}

int
lw_ufunc_add_strided(lw_loop_table *table, const lw_loop *loop, lw_host_kernel *kernel)
{
    lw_build_report report = {0};
    lw_compiling compiling;
    lw_error err = {0};
    lw_status status;

    lw_compiling_begin(&compiling);
    status = lw_host_add_strided(kernel, loop, &table->build, &report, &err);
    return lw_compiling_end(&compiling, table, status, &report, &err);
}

/* ---- the loop of every Ufunc ---- */

/* The end of a run over n elements: Ctrl-C, what was printed, what an element raised. */
static int
end_run(lw_stop *stop, const lw_loop *loop, int64_t n, const lw_host_failure *failure)
{
    int64_t before;

    if (lw_host_loop_stopped(stop, n))
        return -1;
    if (lw_printed_pending() && lw_host_loop_show() < 0)
        return -1;
    if (!loop->scalar->can_raise)
        return 0;
    before = lw_host_items_add(n);
    if (failure->row != 0) {
        lw_raise_place place = {.kind = LW_AT_ELEMENT, .index = {before + failure->element}};
        return lw_host_loop_raise(loop->scalar, failure->row, failure->words, &place);
    }
    return 0;
}

int
lw_ufunc_run_kernel(lw_host_kernel *kernel, const lw_loop *loop, char *const *args, int64_t n,
                    const int64_t *strides)
{
    lw_stop stop = {.ask = lw_signal_raised_anyhow};
    lw_host_failure failure;

    lw_host_run(kernel, args, n, strides, &stop, &failure);
    return end_run(&stop, loop, n, &failure);
}

/* ---- the loop of reduce, accumulate and reduceat ---- */

enum {
    AT_ONCE = 1 << 16,   /* of at(): elements between two looks at Ctrl-C */
    PAYS_FROM = 1 << 17, /* elements in all from which a loop of their own is compiled */
    NOT_FEW = 4,         /* elements of a fold that are worth a look at its kind */
};

/* Not inlined: an lw_error takes longer to clear than a short slice of reduceat to add up. */
__attribute__((noinline)) static int
find_fold_kind(lw_loop *loop)
{
    lw_fold_kind found;
    lw_error err = {0};

    if (lw_host_fold_kind(loop, &found, &err) != LW_OK)
        return LW_FOLD_NEVER; /* no memory: this time as ever */
    atomic_store_explicit(&loop->fold_kind, (int)found, memory_order_release);
    return (int)found;
}

static int
fold_kind_of(lw_loop *loop)
{
    int kind = atomic_load_explicit(&loop->fold_kind, memory_order_acquire);

    return kind != LW_FOLD_UNKNOWN ? kind : find_fold_kind(loop);
}

/* The kernel for this fold, or NULL without an exception: the usual one runs it. -1. A sum of
 * many floats has bits of its own, so this one never depends on what was run before. */
static int
fold_kernel(lw_loop_table *table, lw_loop *loop, int64_t n, bool reduces, lw_host_kernel **out)
{
    int kind = fold_kind_of(loop);

    *out = NULL;
    if (kind == LW_FOLD_NEVER)
        return 0;
    *out = atomic_load_explicit(&loop->fold, memory_order_acquire);
    if (*out != NULL)
        return 0;
    if (!(kind == LW_FOLD_SUMS && reduces && n >= LW_FOLD_MANY) &&
        atomic_fetch_add(&loop->n_folded, n) + n < PAYS_FROM)
        return 0;
    *out = kernel_at(&loop->fold, lw_host_fold_new, table, loop);
    return *out == NULL ? -1 : 0;
}

static int
run_fold(lw_host_kernel *kernel, const lw_loop *loop, char *const *args, int64_t n,
         const int64_t *strides)
{
    lw_stop stop = {.ask = lw_signal_raised_anyhow};
    lw_host_failure failure;

    lw_host_run_fold(kernel, args, n, strides, &stop, &failure);
    return end_run(&stop, loop, n, &failure);
}

static int
run_loop(PyArrayMethod_Context *context, char *const *data, const npy_intp *dimensions,
         const npy_intp *strides, NpyAuxData *Py_UNUSED(unused))
{
    lw_loop_table *table = (void *)((PyUFuncObject *)context->caller)->data;
    lw_loop *loop = (lw_loop *)lw_table_find(table, context->descriptors);
    lw_host_kernel *kernel;
    int result;

    if (dimensions[0] == 0)
        return 0;
    if (lw_host_loop_in_python(context, data, dimensions, strides, &result))
        return result;
    if (loop == NULL)
        return lw_host_loop_unknown();
    if (dimensions[0] > NOT_FEW && loop->nin == 2 && loop->nout == 1 &&
        lw_host_is_fold(data, strides)) {
        if (fold_kernel(table, loop, dimensions[0], strides[0] == 0, &kernel) < 0)
            return -1;
        if (kernel != NULL)
            return run_fold(kernel, loop, data, dimensions[0], strides);
    }
    kernel = atomic_load_explicit(&loop->host, memory_order_acquire);
    if (kernel == NULL && (kernel = lw_ufunc_kernel(table, loop)) == NULL)
        return -1;
    if (lw_host_lacks_strided(kernel, data, dimensions[0], strides) &&
        lw_ufunc_add_strided(table, loop, kernel) < 0)
        return -1;
    if (!atomic_load_explicit(&loop->numpy_ran, memory_order_relaxed))
        atomic_store_explicit(&loop->numpy_ran, true, memory_order_relaxed);
    return lw_ufunc_run_kernel(kernel, loop, data, dimensions[0], strides);
}

/* ---- the loop of at() ---- */

/* The compiled loop, or NULL without an exception: the elements are run one by one. -1. */
static int
indexed_kernel(lw_loop_table *table, lw_loop *loop, int64_t n, lw_host_kernel **out)
{
    *out = NULL;
    if (atomic_load_explicit(&loop->indexed, memory_order_acquire) == NULL) {
        if (!lw_host_may_index(loop))
            return 0;
        if (atomic_load_explicit(&loop->host, memory_order_acquire) != NULL &&
            atomic_fetch_add(&loop->n_indexed, n) + n < PAYS_FROM)
            return 0;
    }
    *out = kernel_at(&loop->indexed, lw_host_indexed_new, table, loop);
    return *out == NULL ? -1 : 0;
}

static int
run_one_by_one(PyArrayMethod_Context *context, char *const *data, int64_t n,
               const npy_intp *strides)
{
    lw_loop_table *table = (void *)((PyUFuncObject *)context->caller)->data;
    const lw_loop *loop = (lw_loop *)lw_table_find(table, context->descriptors);
    const npy_intp none[LW_MAX_ARGS] = {0};
    const npy_intp one = 1;

    for (int64_t i = 0; i < n; i++) {
        npy_intp at = *(const npy_intp *)(data[1] + i * strides[1]);
        char *args[3];

        args[0] = data[0] + (at < 0 ? at + strides[3] : at) * strides[0];
        args[1] = loop->nin == 2 ? data[2] + i * strides[2] : args[0];
        args[2] = args[0];
        if (run_loop(context, args, &one, none, NULL) < 0)
            return -1;
    }
    return 0;
}

/* data: an array of one dimension, its indices, whose range NumPy has checked, and the values
 * of functions of two operands. strides: of these, and the length of the array. */
static int
run_indexed(PyArrayMethod_Context *context, char *const *data, const npy_intp *dimensions,
            const npy_intp *strides, NpyAuxData *Py_UNUSED(unused))
{
    lw_loop_table *table = (void *)((PyUFuncObject *)context->caller)->data;
    lw_loop *loop = (lw_loop *)lw_table_find(table, context->descriptors);
    lw_host_kernel *kernel;
    lw_stop stop = {.ask = lw_signal_raised_anyhow};
    lw_host_failure failure;

    if (loop == NULL)
        return lw_host_loop_unknown();
    if (indexed_kernel(table, loop, dimensions[0], &kernel) < 0)
        return -1;
    if (kernel == NULL)
        return run_one_by_one(context, data, dimensions[0], strides);
    for (int64_t i = 0; i < dimensions[0]; i += AT_ONCE) {
        int64_t n = dimensions[0] - i < AT_ONCE ? dimensions[0] - i : AT_ONCE;
        char *args[3] = {data[0], data[1] + i * strides[1], data[2] + i * strides[2]};

        lw_host_run_indexed(kernel, args, n, strides, &failure);
        if (end_run(&stop, loop, n, &failure) < 0)
            return -1;
    }
    return 0;
}

static bool
is_minus_one(PyObject *identity)
{
    int overflow = 0;

    return (PyLong_Check(identity) || PyArray_IsScalar(identity, SignedInteger)) &&
           PyLong_AsLongAndOverflow(identity, &overflow) == -1 && overflow == 0;
}

/* Whether a number of the array's dtype that was made from identity= is what was meant:
 * integers and bools hold no infinity and no fraction, and a bool holds 0 and 1 only. For bools
 * and unsigned integers, -1 stands for all bits set, as in NumPy, if the function, such as
 * `a & b`, has that number as its identity. */
static int
is_held(const lw_ufunc_head *owner, PyObject *identity, PyArray_Descr *descr, void *initial)
{
    PyObject *scalar = PyArray_Scalar(initial, descr, NULL);
    PyObject *value = scalar ? PyNumber_Long(scalar) : NULL;
    int held = value ? PyObject_RichCompareBool(value, identity, Py_EQ) : -1;

    if (held == 0 && !PyTypeNum_ISSIGNED(descr->type_num) && is_minus_one(identity))
        held = lw_ufunc_keeps(owner, value, 0, NULL);
    Py_XDECREF(scalar);
    Py_XDECREF(value);
    return held;
}

/* Gives NumPy the number from which reduce starts: identity=. Returns 0, so that there is none,
 * where the dtype cannot hold it: reduce then starts from the first element, and NumPy refuses
 * empty arrays and where=. */
static int
reduction_initial(PyArrayMethod_Context *context, npy_bool Py_UNUSED(is_empty), void *initial)
{
    const lw_loop_table *table = (void *)((PyUFuncObject *)context->caller)->data;
    lw_ufunc_head *owner = lw_inner_owner_or_null(table);
    PyArray_Descr *descr = context->descriptors[0];
    bool whole = PyTypeNum_ISINTEGER(descr->type_num) || PyTypeNum_ISBOOL(descr->type_num);
    PyObject *identity = Py_NewRef(owner ? owner->identity : Py_None), *number;
    int found = 0;

    if (identity != Py_None && !PyUnicode_Check(identity)) {
        number = PyLong_CheckExact(identity) && PyTypeNum_ISUNSIGNED(descr->type_num)
                     ? PyObject_CallOneArg((PyObject *)&PyLongArrType_Type, identity)
                     : Py_NewRef(identity);
        found = number && PyArray_Pack(descr, initial, number) == 0 ? 1 : -1;
        if (found < 0 && whole &&
            (PyErr_ExceptionMatches(PyExc_OverflowError) ||
             PyErr_ExceptionMatches(PyExc_ValueError))) {
            PyErr_Clear();
            found = 0;
        } else if (found > 0 && whole && !lw_is_usual_identity(identity)) {
            found = is_held(owner, identity, descr, initial);
        }
        Py_XDECREF(number);
    }
    Py_DECREF(identity);
    Py_XDECREF((PyObject *)owner);
    return found;
}

PyType_Slot lw_ufunc_loop_slots[] = {
    {NPY_METH_strided_loop, (void *)run_loop},
    {NPY_METH_contiguous_indexed_loop, (void *)run_indexed},
    {NPY_METH_get_reduction_initial, (void *)reduction_initial},
    {0, NULL}};
