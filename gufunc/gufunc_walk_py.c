/* Long calls on host arrays with several loop dimensions that are not all contiguous: broadcast
 * stacks, slices, transposed arrays. NumPy calls the loop for the items along the innermost
 * loop dimension, once for each index of the other dimensions, on one thread. Here all cores
 * share all items.
 *
 * NumPy's rules decide which loop is run, and NumPy's iterator decides about loop dimensions
 * and the layout of new outputs, as in NumPy's own calls. This is for exact, aligned arrays of
 * a loop's dtypes, and numbers where an operand has no core dimensions, with no keywords other
 * than out= and axis=. All other calls are NumPy's, including those that fail. */
#include "gufunc/gufunc_parts_py.h"

#include "core/plan/walk.h"
#include "core/py/numpy/host_calls.h"
#include "core/py/numpy/host_loops.h"
#include "core/py/signals.h"

enum {
    MOST_OPERANDS = 8,
    MOST_DIMS = 8,
    MOST_STRIDES = 16,
    MOST_LOOP_DIMS = 16,
    FEWEST = 2048, /* elements of all items from which on the iterator pays */
    UNKNOWN = -1
};

typedef struct gufunc_walk {
    lw_gufunc_object *self;
    const lw_core_layout *layout;
    int nin, nout;
    lw_gufunc_loop *loop;
    PyArrayObject *arrays[MOST_OPERANDS]; /* NULL: an output to be made */
    PyArrayObject *made[MOST_OPERANDS];   /* of numbers, owned */
    int loop_ndim;
    bool has_axis; /* axis= is given; there is one core dimension */
    int axis;      /* where it is; from the end if this is negative */
    /* As the inner loops of NumPy have them (gufunc/core/host_code.h). */
    int64_t dims[1 + MOST_DIMS], steps[MOST_OPERANDS + MOST_STRIDES];
} gufunc_walk;

static int
core_ndim(const gufunc_walk *c, int k)
{
    return (int)c->layout->operands[k].n;
}

/* The axis of core dimension j in an operand of n_loop loop dimensions. */
static int
core_axis(const gufunc_walk *c, int n_loop, int j)
{
    if (!c->has_axis)
        return n_loop + j;
    return c->axis < 0 ? c->axis + n_loop + 1 : c->axis;
}

/* The axis of loop dimension d in operand k, if that has n_loop of them. */
static int
loop_axis(const gufunc_walk *c, int k, int n_loop, int d)
{
    return core_ndim(c, k) > 0 && d >= core_axis(c, n_loop, 0) ? d + core_ndim(c, k) : d;
}

/* ---- what the call is ---- */

/* axis= is for functions with one core dimension, which not all operands need to have. */
static bool
read_axis(gufunc_walk *c, PyObject *value)
{
    long axis = PyLong_CheckExact(value) ? PyLong_AsLong(value) : NPY_MAXDIMS;

    if (axis == -1 && PyErr_Occurred()) {
        PyErr_Clear(); /* NumPy says that it is too large */
        return false;
    }
    for (int k = 0; k < c->nin + c->nout; k++)
        if (core_ndim(c, k) > 1)
            return false;
    c->has_axis = true;
    c->axis = (int)axis;
    return c->layout->n_dims == 1 && axis >= -MOST_LOOP_DIMS && axis < MOST_LOOP_DIMS;
}

/* Whether the operand has sizes of core dimensions that agree with the others and are not 0,
 * and not too many loop dimensions. */
static bool
read_shape(gufunc_walk *c, int k, PyArrayObject *array)
{
    const lw_core_operand *operand = &c->layout->operands[k];
    int n = PyArray_NDIM(array) - core_ndim(c, k);

    if (n < 0 || n > MOST_LOOP_DIMS || !PyArray_ISBEHAVED_RO(array))
        return false;
    if (c->has_axis && operand->n > 0 && (core_axis(c, n, 0) < 0 || core_axis(c, n, 0) > n))
        return false;
    for (uint32_t j = 0; j < operand->n; j++) {
        int64_t *known = &c->dims[1 + operand->dims[j]],
                size = PyArray_DIM(array, core_axis(c, n, (int)j));
        if (*known == UNKNOWN)
            *known = size;
        if (*known != size || size == 0)
            return false;
    }
    c->arrays[k] = array;
    if (n > c->loop_ndim)
        c->loop_ndim = n;
    return true;
}

static bool
read_inputs(gufunc_walk *c, PyObject *const *args)
{
    for (int k = 0; k < c->nin; k++) {
        if (PyArray_CheckExact(args[k])) {
            if (c->self->writable[k] || !read_shape(c, k, (PyArrayObject *)args[k]))
                return false;
        } else if (core_ndim(c, k) != 0 ||
                   (lw_weak_kind(args[k]) == 0 && !PyArray_IsScalar(args[k], Generic)))
            return false;
    }
    return true;
}

static bool
read_output(gufunc_walk *c, int k, PyObject *object)
{
    if (object == Py_None)
        return true;
    return PyArray_CheckExact(object) && lw_is_written_apart((PyArrayObject *)object) &&
           read_shape(c, k, (PyArrayObject *)object);
}

/* given: NULL: there is a wrong number of outputs. */
static bool
read_outputs(gufunc_walk *c, PyObject *const *given, Py_ssize_t n)
{
    if (given == NULL)
        return false;
    for (int k = 0; k < n; k++)
        if (!read_output(c, c->nin + k, given[k]))
            return false;
    return true;
}

/* Reads axis= first, which says what the dimensions of the operands are. */
static bool
read_call(gufunc_walk *c, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    PyObject *const *out = NULL;

    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i), *const *value = &args[n_args + i];
        if (PyUnicode_CompareWithASCIIString(name, "out") == 0)
            out = value;
        else if (PyUnicode_CompareWithASCIIString(name, "axis") != 0 || !read_axis(c, *value))
            return false;
    }
    if (out != NULL && n_args != c->nin)
        return false;
    if (!read_inputs(c, args) || !read_outputs(c, args + c->nin, n_args - c->nin) ||
        (out != NULL && !read_outputs(c, lw_given_outputs(out, c->nout), c->nout)))
        return false;
    for (uint32_t d = 0; d < c->layout->n_dims; d++)
        if (c->dims[1 + d] == UNKNOWN)
            return false;
    return true;
}

static bool
fits_here(const gufunc_walk *c)
{
    uint32_t n_strides = 0;

    if (c->nin + c->nout > MOST_OPERANDS || c->layout->n_dims > MOST_DIMS || c->nout == 0 ||
        c->layout->has_broadcast || c->self->base.sizes != NULL)
        return false;
    for (int k = 0; k < c->nin + c->nout; k++)
        n_strides += c->layout->operands[k].n;
    return n_strides <= MOST_STRIDES;
}

/* Whether it may have enough elements, and NumPy would call the loop more than once. */
static bool
is_worth_it(const gufunc_walk *c)
{
    int64_t shape[MOST_LOOP_DIMS], elements = 1;
    bool all_contiguous = true;

    for (int d = 0; d < c->loop_ndim; d++)
        shape[d] = 1;
    for (int k = 0; k < c->nin + c->nout; k++) {
        int n = c->arrays[k] ? PyArray_NDIM(c->arrays[k]) - core_ndim(c, k) : 0;
        for (int d = 0; d < n; d++) { /* shape: innermost first */
            int64_t size = PyArray_DIM(c->arrays[k], loop_axis(c, k, n, n - 1 - d));
            shape[d] = size > shape[d] ? size : shape[d];
        }
        if (n > 0)
            all_contiguous &=
                n == c->loop_ndim && !c->has_axis && PyArray_IS_C_CONTIGUOUS(c->arrays[k]);
    }
    for (int d = 0; d < c->loop_ndim; d++)
        if (__builtin_mul_overflow(elements, shape[d], &elements))
            return false;
    for (uint32_t d = 0; d < c->layout->n_dims; d++)
        if (__builtin_mul_overflow(elements, c->dims[1 + d], &elements))
            return false;
    return c->loop_ndim > 1 && !all_contiguous && elements >= FEWEST;
}

/* Whether no given output shares memory with another operand. NumPy makes copies of those. */
static bool
outputs_are_apart(const gufunc_walk *c)
{
    for (int k = c->nin; k < c->nin + c->nout; k++)
        for (int i = 0; c->arrays[k] != NULL && i < c->nin + c->nout; i++)
            if (i != k && c->arrays[i] != NULL && lw_may_meet(c->arrays[k], c->arrays[i]))
                return false;
    return true;
}

/* ---- which loop ---- */

static bool
find_loop(gufunc_walk *c, PyObject *const *args)
{
    if (!lw_make_numbers(args, c->nin, NULL, c->arrays, c->made) ||
        (c->loop = lw_loop_for_operands((lw_ufunc_head *)c->self, args, c->arrays)) == NULL ||
        c->loop->library != NULL || c->loop->n_shown != c->nin ||
        !lw_make_numbers(args, c->nin, c->loop->types, c->arrays, c->made))
        return false;
    for (int k = 0; k < c->nin + c->nout; k++)
        if (lw_type_num(c->loop->types[k]) < 0 || c->loop->writable[k] ||
            (c->arrays[k] != NULL &&
             lw_dtype_from_num(PyArray_TYPE(c->arrays[k])) != c->loop->types[k]))
            return false;
    return true;
}

/* ---- where the operands lie ---- */

/* The iterator has the loop dimensions, and then the core dimensions of each output, because it
 * makes outputs. NULL with an exception, which NumPy words better. */
static NpyIter *
new_iterator(gufunc_walk *c)
{
    int axes[MOST_OPERANDS][MOST_LOOP_DIMS + MOST_STRIDES], *all_axes[MOST_OPERANDS];
    npy_intp shape[MOST_LOOP_DIMS + MOST_STRIDES];
    PyArray_Descr *dtypes[MOST_OPERANDS];
    npy_uint32 flags[MOST_OPERANDS];
    int n = c->nin + c->nout, ndim = c->loop_ndim;
    NpyIter *iter;

    for (int d = 0; d < c->loop_ndim; d++)
        shape[d] = -1;
    for (int k = 0; k < n; k++) {
        int own = c->arrays[k] ? PyArray_NDIM(c->arrays[k]) - core_ndim(c, k) : c->loop_ndim;
        for (int d = 0; d < MOST_LOOP_DIMS + MOST_STRIDES; d++)
            axes[k][d] = -1;
        for (int d = 0; d < own; d++)
            axes[k][c->loop_ndim - own + d] = loop_axis(c, k, own, d);
        for (int j = 0; k >= c->nin && j < core_ndim(c, k); j++) {
            axes[k][ndim] = core_axis(c, own, j);
            shape[ndim++] = c->dims[1 + c->layout->operands[k].dims[j]];
        }
        all_axes[k] = axes[k];
        dtypes[k] = PyArray_DescrFromType(lw_type_num(c->loop->types[k]));
        flags[k] = k < c->nin ? NPY_ITER_READONLY
                              : NPY_ITER_WRITEONLY | NPY_ITER_ALLOCATE | NPY_ITER_NO_BROADCAST |
                                    NPY_ITER_NO_SUBTYPE;
    }
    iter = NpyIter_AdvancedNew(
        n, c->arrays,
        NPY_ITER_MULTI_INDEX | NPY_ITER_DONT_NEGATE_STRIDES | NPY_ITER_ZEROSIZE_OK,
        NPY_KEEPORDER, NPY_NO_CASTING, flags, dtypes, ndim, all_axes, shape, 0);
    for (int k = 0; k < n; k++)
        Py_DECREF(dtypes[k]);
    return iter;
}

/* Sets the walk over loop dimensions, and dims and steps of its rows. -1 with an exception. */
static int
describe(gufunc_walk *c, NpyIter *iter, lw_walk *walk)
{
    PyArrayObject **arrays = NpyIter_GetOperandArray(iter);
    int n = c->nin + c->nout;
    int64_t *core = c->steps + n;

    if (lw_walk_of_iterator(iter, c->loop_ndim, n, c->nin, c->nout, walk) < 0)
        return -1;
    if (walk->n == 0)
        return 0;
    for (int k = 0; k < n; k++) {
        int own = PyArray_NDIM(arrays[k]) - core_ndim(c, k);
        for (int j = 0; j < core_ndim(c, k); j++) { /* of one element: 0, as NumPy has it */
            int axis = core_axis(c, own, j);
            *core++ = PyArray_DIM(arrays[k], axis) == 1 ? 0 : PyArray_STRIDE(arrays[k], axis);
        }
    }
    if (walk->ndim == 0)
        lw_walk_single(walk);
    c->dims[0] = walk->shape[0];
    for (int k = 0; k < n; k++)
        c->steps[k] = walk->n == 1 ? 0 : walk->operands[k].strides[0];
    return 0;
}

/* ---- running it ---- */

/* -1 with an exception. */
static int
run(gufunc_walk *c, const lw_walk *walk, lw_gufunc_code *code)
{
    lw_loop_table *table = c->self->base.table;
    lw_stop stop = {.ask = lw_signal_raised_anyhow};
    PyThreadState *saved = lw_direct_begin(INT64_MAX);
    lw_failure failure;
    int failed = 0;

    lw_gufunc_host_run_walk(c->loop->host, code, walk, c->dims, c->steps, &stop, &failure);
    if (lw_host_loop_stopped(&stop, 0))
        failed = -1;
    else if (failure.at >= 0) {
        lw_raise_place place = {.kind = LW_AT_INDEX, .ndim = 1, .index = {failure.at}};
        failed = lw_host_loop_raise(c->loop->scalar, (uint32_t)failure.status, failure.words,
                                    &place);
    }
    return lw_direct_end((const lw_loop_head *)c->loop, table->numpy_name, saved, failed);
}

/* false: NumPy has to run it. */
static bool
run_iterator(gufunc_walk *c, NpyIter *iter, PyObject **result)
{
    lw_loop_table *table = c->self->base.table;
    lw_gufunc_code *code;
    lw_walk walk;

    *result = NULL;
    if (describe(c, iter, &walk) < 0)
        return true;
    if (walk.n == 0)
        return false;
    code = lw_gufunc_code_for(table, c->loop, c->dims, c->steps);
    if (code == NULL)
        return true;
    if (!lw_gufunc_host_may_walk(c->loop->host, code))
        return false;
    if (run(c, &walk, code) == 0)
        *result = lw_results_of_iterator(iter, c->arrays, c->nin, c->nout);
    return true;
}

bool
lw_gufunc_call_walk(lw_gufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                    PyObject *kwnames, PyObject **result)
{
    gufunc_walk c = {.self = self,
                     .layout = &self->base.layout,
                     .nin = self->base.nin,
                     .nout = self->base.nout};
    NpyIter *iter = NULL;
    bool done = false;

    if (n_args < c.nin || n_args > c.nin + c.nout || !fits_here(&c))
        return false;
    for (uint32_t d = 0; d < c.layout->n_dims; d++)
        c.dims[1 + d] = c.layout->dims[d].fixed ? c.layout->dims[d].fixed : UNKNOWN;
    if (!read_call(&c, args, n_args, kwnames) || !is_worth_it(&c) || !outputs_are_apart(&c))
        return false;
    if (find_loop(&c, args))
        iter = new_iterator(&c);
    if (iter != NULL) {
        done = run_iterator(&c, iter, result);
        if (NpyIter_Deallocate(iter) == NPY_FAIL)
            Py_CLEAR(*result);
    } else {
        *result = NULL;
        done = !lw_left_to_numpy();
    }
    for (int k = 0; k < c.nin; k++)
        Py_XDECREF((PyObject *)c.made[k]);
    return done;
}
