/* Calls with where= and out= on host arrays. NumPy calls a loop for each run of selected
 * elements, one or two of them in a random mask, so a call costs many times what it costs
 * without a mask. Here a block of selected elements is gathered, computed and scattered
 * (ufunc/host_run.c), on all cores.
 *
 * This is for the usual call: arrays of exactly the loop's dtypes, Python numbers beside them,
 * an array of bools, one output. All else goes to NumPy, errors included. NumPy's iterator
 * decides about shapes, order and overlap, as in NumPy's own calls. */
#include "ufunc/ufunc_parts.h"

#include "core/host/flags.h"
#include "core/py/float_flags.h"
#include "core/py/numpy/host_loops.h"
#include "core/py/signals.h"

#include <string.h>

enum { FEWEST = 64 }; /* elements for which the iterator pays */

typedef struct masked_call {
    lw_loop *loop;
    lw_host_kernel *kernel;
    int nin;
    PyArrayObject *operands[LW_MAX_ARGS + 1]; /* inputs, the mask, the output */
    PyArrayObject *made[LW_MAX_ARGS];         /* of numbers, owned */
} masked_call;

/* ---- what the call is ---- */

static bool
is_usable(PyObject *object)
{
    return PyArray_CheckExact(object) && PyArray_ISBEHAVED_RO((PyArrayObject *)object);
}

/* where= and out= and nothing else. */
static bool
read_keywords(masked_call *c, PyObject *const *values, PyObject *kwnames)
{
    if (PyTuple_GET_SIZE(kwnames) != 2)
        return false;
    for (int i = 0; i < 2; i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i), *value = values[i];
        bool mask = PyUnicode_CompareWithASCIIString(name, "where") == 0;

        if (!mask && PyUnicode_CompareWithASCIIString(name, "out") != 0)
            return false;
        if (!mask && PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == 1)
            value = PyTuple_GET_ITEM(value, 0);
        if (!is_usable(value))
            return false;
        c->operands[c->nin + !mask] = (PyArrayObject *)value;
    }
    return c->operands[c->nin] != NULL && c->operands[c->nin + 1] != NULL &&
           PyArray_TYPE(c->operands[c->nin]) == NPY_BOOL &&
           PyArray_ISWRITEABLE(c->operands[c->nin + 1]) &&
           PyArray_SIZE(c->operands[c->nin + 1]) >= FEWEST;
}

/* The dtype of Python numbers beside arrays that all have `common`; void: NumPy decides. */
static lw_dtype
dtype_of_number(PyObject *number, lw_dtype common)
{
    if (PyFloat_CheckExact(number))
        return common == LW_DT_f64 || common == LW_DT_f32 ? common : LW_DT_void;
    if (PyLong_CheckExact(number))
        return common == LW_DT_f64 || common == LW_DT_i64 ? common : LW_DT_void;
    return LW_DT_void;
}

static bool
read_inputs(masked_call *c, PyObject *const *args, lw_dtype *in, char *weak)
{
    lw_dtype common = LW_DT_void;

    for (int i = 0; i < c->nin; i++) {
        if (!PyArray_CheckExact(args[i]))
            continue;
        in[i] = lw_dtype_from_num(PyArray_TYPE((PyArrayObject *)args[i]));
        if (!is_usable(args[i]) || in[i] == LW_DT_void ||
            (common != LW_DT_void && common != in[i]))
            return false;
        common = in[i];
        c->operands[i] = (PyArrayObject *)args[i];
    }
    for (int i = 0; i < c->nin; i++) {
        weak[i] = c->operands[i] == NULL ? lw_weak_kind(args[i]) : 0;
        if (c->operands[i] == NULL && (in[i] = dtype_of_number(args[i], common)) == LW_DT_void)
            return false;
    }
    return true;
}

/* Whether a loop for these operands is there, which needs no more than its values. */
static bool
find_loop(masked_call *c, lw_ufunc_object *self, const lw_dtype *in, const char *weak)
{
    lw_loop *loop = lw_rows_find_weak((lw_ufunc_head *)self, in, weak);

    if (loop == NULL || loop->nout != 1 || loop->uniforms.first != loop->nin ||
        loop->types[loop->nin] != lw_dtype_from_num(PyArray_TYPE(c->operands[c->nin + 1])))
        return false;
    c->loop = loop;
    c->kernel = atomic_load_explicit(&loop->host, memory_order_acquire);
    return c->kernel != NULL && lw_host_may_mask(c->kernel);
}

/* Python numbers as arrays without dimensions; false with an exception, such as of an int that
 * is too large. */
static bool
make_numbers(masked_call *c, PyObject *const *args, const lw_dtype *in)
{
    for (int i = 0; i < c->nin; i++) {
        if (c->operands[i] != NULL)
            continue;
        c->made[i] = (PyArrayObject *)PyArray_FromAny(
            args[i], PyArray_DescrFromType(lw_type_num(in[i])), 0, 0, 0, NULL);
        c->operands[i] = c->made[i];
        if (c->made[i] == NULL)
            return false;
    }
    return true;
}

/* ---- running it ---- */

/* NULL with an exception, which NumPy words better. */
static NpyIter *
iterator(masked_call *c)
{
    enum { READ = NPY_ITER_READONLY | NPY_ITER_ALIGNED | NPY_ITER_OVERLAP_ASSUME_ELEMENTWISE };
    npy_uint32 flags[LW_MAX_ARGS + 1];

    for (int i = 0; i <= c->nin; i++)
        flags[i] = READ;
    flags[c->nin + 1] = NPY_ITER_READWRITE | NPY_ITER_ALIGNED | NPY_ITER_NO_BROADCAST |
                        NPY_ITER_OVERLAP_ASSUME_ELEMENTWISE;
    return NpyIter_MultiNew(c->nin + 2, c->operands,
                            NPY_ITER_EXTERNAL_LOOP | NPY_ITER_ZEROSIZE_OK |
                                NPY_ITER_COPY_IF_OVERLAP,
                            NPY_KEEPORDER, NPY_NO_CASTING, flags, NULL);
}

/* One span of the iterator's. false: an element raised, or Ctrl-C. */
static bool
run_span(const masked_call *c, char *const *data, const npy_intp *strides, int64_t n,
         lw_stop *stop, lw_host_failure *failure)
{
    char *args[LW_MAX_ARGS];
    int64_t steps[LW_MAX_ARGS];

    for (int i = 0; i <= c->nin; i++) {
        int from = i < c->nin ? i : c->nin + 1;
        args[i] = data[from];
        steps[i] = strides[from];
    }
    lw_host_run_masked(c->kernel, args, n, steps, data[c->nin], strides[c->nin], stop, failure);
    return failure->row == 0 && !atomic_load_explicit(&stop->stopped, memory_order_relaxed);
}

static void
run_all(const masked_call *c, NpyIter *iter, NpyIter_IterNextFunc *next, lw_stop *stop,
        lw_host_failure *failure)
{
    char **data = NpyIter_GetDataPtrArray(iter);
    const npy_intp *strides = NpyIter_GetInnerStrideArray(iter);
    const npy_intp *n = NpyIter_GetInnerLoopSizePtr(iter);
    int64_t before = 0;

    failure->row = 0;
    do {
        if (!run_span(c, data, strides, *n, stop, failure)) {
            failure->element += before;
            return;
        }
        before += *n;
    } while (next(iter));
}

/* -1 with an exception. */
static int
run(const masked_call *c, const char *name, NpyIter *iter)
{
    NpyIter_IterNextFunc *next = NpyIter_GetIterNext(iter, NULL);
    lw_stop stop = {.ask = lw_signal_raised_anyhow};
    lw_host_failure failure = {0};
    int raised;

    if (next == NULL)
        return -1;
    if (NpyIter_GetIterSize(iter) == 0)
        return 0;
    lw_flags_clear();
    Py_BEGIN_ALLOW_THREADS
    run_all(c, iter, next, &stop, &failure);
    Py_END_ALLOW_THREADS
    raised = c->loop->scalar->pure_integer && !c->loop->raises_flags ? 0 : lw_flags_raised();
    if (lw_host_loop_stopped(&stop, 0))
        return -1;
    if (failure.row != 0) {
        lw_raise_place place = {.kind = LW_AT_ELEMENT, .index = {failure.element}};
        return lw_host_loop_raise(c->loop->scalar, failure.row, failure.words, &place);
    }
    return lw_give_float_flags(name, raised);
}

bool
lw_ufunc_call_masked(lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                     PyObject *kwnames, PyObject **result)
{
    masked_call c = {.nin = self->base.nin};
    lw_dtype in[LW_MAX_ARGS];
    char weak[LW_MAX_ARGS];
    NpyIter *iter;
    int failed;

    if (n_args != c.nin || c.nin + 2 > LW_MAX_ARGS || self->base.nout != 1 ||
        !read_keywords(&c, args + n_args, kwnames) || !read_inputs(&c, args, in, weak) ||
        !find_loop(&c, self, in, weak))
        return false;
    iter = make_numbers(&c, args, in) ? iterator(&c) : NULL;
    if (iter != NULL) {
        failed = run(&c, self->base.table->numpy_name, iter);
        if (NpyIter_Deallocate(iter) == NPY_FAIL)
            failed = -1;
        *result = failed < 0 ? NULL : Py_NewRef((PyObject *)c.operands[c.nin + 1]);
    }
    for (int i = 0; i < c.nin; i++)
        Py_XDECREF((PyObject *)c.made[i]);
    if (iter == NULL)
        PyErr_Clear(); /* NumPy says what is wrong */
    return iter != NULL;
}
