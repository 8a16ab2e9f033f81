/* Calls on host arrays whose dtypes are exactly those of a loop that NumPy has run before: the
 * loop is called here, where NumPy would take as long to find it as it takes to add a thousand
 * numbers. The arrays are contiguous and of one shape, or they have few elements and any shapes
 * and strides, if the result is in C order. Python numbers may stand beside the arrays, and
 * there may be an output, which is apart from the inputs or is one of them.
 *
 * NumPy decides about everything else, errors included: other layouts, casts, subclasses,
 * scalars, results of several arrays. */
#include "ufunc/ufunc_parts.h"

#include "core/plan/walk.h"
#include "core/py/array/whole_array.h"
#include "core/py/numpy/host_calls.h"
#include "core/py/numpy/host_loops.h"

enum {
    MOST_INPUTS = 8,
    MOST_DIMS = 4,        /* of arrays that are not contiguous, or not of one shape; */
    MOST_ELEMENTS = 8192, /* of such a call, if rows are contiguous */
    MOST_STRIDED = 1024,  /* and if not: NumPy copies long rows, which is faster; */
    MOST_ROWS = 96 /* NumPy copies short rows together, which is faster than so many runs */
};

typedef struct ufunc_direct {
    int nin;
    PyArrayObject *arrays[MOST_INPUTS + 1]; /* NULL: a number, or an output that is made */
    PyArrayObject *first;                   /* of the inputs that are arrays */
    lw_loop *loop;
    lw_host_kernel *kernel;
    lw_dtype in[MOST_INPUTS];
    bool has_numbers;
    char weak[MOST_INPUTS]; /* as lw_rows_find_weak's */
    lw_direct_number numbers[MOST_INPUTS];
    bool is_plain; /* all arrays are contiguous and of one shape; else */
    bool walks;    /* lw_host_run_walk runs it, and no single rows are run */
    int64_t n;     /* elements */
    int ndim;      /* of the result; outermost first */
    const npy_intp *dims;
    npy_intp own_dims[MOST_DIMS]; /* what dims is if the call is not plain */
    /* Of operands: where they begin, and their strides along rows. */
    char *args[MOST_INPUTS + 1];
    int64_t strides[MOST_INPUTS + 1];
} ufunc_direct;

/* ---- what the call is ---- */

static bool
has_shape(PyArrayObject *array, PyArrayObject *of)
{
    int n = PyArray_NDIM(of);

    if (PyArray_NDIM(array) != n)
        return false;
    for (int i = 0; i < n; i++)
        if (PyArray_DIM(array, i) != PyArray_DIM(of, i))
            return false;
    return true;
}

static bool
read_array(ufunc_direct *c, int i, PyArrayObject *array)
{
    lw_dtype dtype = lw_dtype_from_num(PyArray_TYPE(array));

    if (dtype == LW_DT_void || !PyArray_ISBEHAVED_RO(array) || PyArray_NDIM(array) == 0)
        return false;
    c->is_plain = c->is_plain && PyArray_IS_C_CONTIGUOUS(array);
    if (c->first == NULL)
        c->first = array;
    else if (dtype != lw_dtype_from_num(PyArray_TYPE(c->first)))
        return false;
    else
        c->is_plain = c->is_plain && has_shape(array, c->first);
    c->arrays[i] = array;
    c->in[i] = dtype;
    c->weak[i] = 0;
    c->args[i] = PyArray_BYTES(array);
    c->strides[i] = PyArray_ITEMSIZE(array);
    return true;
}

static bool
read_number(ufunc_direct *c, int i, PyObject *object)
{
    lw_dtype dtype = lw_dtype_from_num(PyArray_TYPE(c->first));

    if (!lw_direct_read_number(object, dtype, &c->numbers[i]))
        return false;
    c->has_numbers = true;
    c->arrays[i] = NULL;
    c->in[i] = dtype;
    c->weak[i] = lw_weak_kind(object);
    c->args[i] = (char *)&c->numbers[i];
    c->strides[i] = 0;
    return true;
}

/* The arrays first, as they say what the numbers become. */
static bool
read_inputs(ufunc_direct *c, PyObject *const *args)
{
    for (int i = 0; i < c->nin; i++)
        if (PyArray_CheckExact(args[i]) && !read_array(c, i, (PyArrayObject *)args[i]))
            return false;
    if (c->first == NULL)
        return false;
    for (int i = 0; i < c->nin; i++)
        if (!PyArray_CheckExact(args[i]) && !read_number(c, i, args[i]))
            return false;
    return true;
}

/* ---- arrays of other layouts and shapes ---- */

/* Whether NumPy's iterator keeps these two dimensions in this order, so that a new result is in
 * C order: it does if the strides of some operand have this order, or if none have the other
 * one. An output that is made has no say. */
static bool
is_in_order(const ufunc_direct *c, const lw_walk *walk, int outer, int inner)
{
    bool swapped = false;

    for (int i = 0; i < c->nin + (c->arrays[c->nin] != NULL); i++) {
        const int64_t *strides = walk->operands[i].strides;
        if (strides[outer] == 0 || strides[inner] == 0)
            continue;
        if (strides[inner] <= strides[outer])
            return true;
        swapped = true;
    }
    return !swapped;
}

/* The stride of operand i along dimension d of the result; 0 if it is repeated. */
static int64_t
stride_along(const ufunc_direct *c, int i, int d)
{
    PyArrayObject *array = c->arrays[i];
    int own = array != NULL ? d - c->ndim + PyArray_NDIM(array) : -1;

    return own >= 0 && PyArray_DIM(array, own) != 1 ? PyArray_STRIDE(array, own) : 0;
}

/* Adds dimension d of the result to the walk. false: some array has a negative stride, for
 * which NumPy has another order. */
static bool
add_dimension(const ufunc_direct *c, lw_walk *walk, int d)
{
    int64_t *made = walk->operands[c->nin].strides;
    int at = walk->ndim++;

    walk->shape[at] = c->dims[d];
    for (int i = 0; i <= c->nin; i++) {
        int64_t stride = stride_along(c, i, d);
        if (stride < 0)
            return false;
        walk->operands[i].strides[at] = stride;
    }
    if (c->arrays[c->nin] == NULL)
        made[at] = at == 0 ? c->strides[c->nin] : made[at - 1] * walk->shape[at - 1];
    return true;
}

/* The walk of a plain call: one row. */
static bool
find_row(ufunc_direct *c)
{
    c->n = 1;
    c->ndim = PyArray_NDIM(c->first);
    c->dims = PyArray_DIMS(c->first);
    for (int d = 0; d < c->ndim; d++)
        c->n *= c->dims[d];
    return c->n > 0;
}

/* Whether the walk, which copies short rows together and transposes what lies across, takes
 * less time than a run for each row. It has no place for the number of an element that raises.
 */
static bool
is_for_walk(const ufunc_direct *c, const lw_walk *walk)
{
    enum { FEW = 24, SHORT = 48, LONG = 256 };
    int64_t row = walk->shape[0];
    bool is_packed = true;

    if (c->n < FEW || c->n == row || c->loop->scalar->can_raise ||
        !lw_host_may_walk(c->kernel, false))
        return false;
    if (row < SHORT)
        return true;
    for (int i = 0; i <= c->nin; i++) {
        uint32_t size = lw_dtypes[c->loop->types[i]].size_bytes;
        if (lw_walk_across(walk, i, size) != 0)
            return true;
        is_packed &= c->strides[i] == 0 || c->strides[i] == size;
    }
    return row >= LONG && !is_packed;
}

/* Whether a run for each row takes less time than NumPy, which copies long rows that are not
 * contiguous, and copies many short rows together. */
static bool
is_for_rows(const ufunc_direct *c, const lw_walk *walk)
{
    for (int i = 0; c->n > MOST_STRIDED && i <= c->nin; i++)
        if (c->arrays[i] != NULL && c->strides[i] != lw_dtypes[c->loop->types[i]].size_bytes)
            return false;
    return c->n <= MOST_ROWS * walk->shape[0];
}

static bool
find_rows(ufunc_direct *c, lw_walk *walk)
{
    c->n = lw_broadcast(c->arrays, c->nin, MOST_DIMS, &c->ndim, c->own_dims);
    c->dims = c->own_dims;
    if (c->n == 0 || c->n > MOST_ELEMENTS || lw_host_is_long(c->kernel, c->n))
        return false;
    walk->n = c->n;
    walk->ndim = 0;
    for (int d = c->ndim; d-- > 0;)
        if (c->dims[d] != 1 && !add_dimension(c, walk, d))
            return false;
    c->walks = false;
    if (walk->ndim == 0) { /* one element */
        lw_walk_single(walk);
        return true;
    }
    for (int outer = 1; outer < walk->ndim; outer++)
        for (int inner = 0; inner < outer; inner++)
            if (!is_in_order(c, walk, outer, inner))
                return false;
    walk->n_operands = c->nin + 1;
    for (int i = 0; i <= c->nin; i++)
        walk->operands[i].by_value = false;
    lw_walk_merge(walk);
    for (int i = 0; i <= c->nin; i++)
        c->strides[i] = walk->operands[i].strides[0];
    c->walks = is_for_walk(c, walk);
    return c->walks || is_for_rows(c, walk);
}

/* ---- what else the call is ---- */

static bool
find_loop(ufunc_direct *c, const lw_ufunc_object *self)
{
    const lw_ufunc_head *head = (const lw_ufunc_head *)self;
    lw_loop *loop =
        c->has_numbers ? lw_rows_find_weak(head, c->in, c->weak) : lw_rows_find(head, c->in);

    if (loop == NULL || loop->nout != 1 || loop->uniforms.first != c->nin ||
        !atomic_load_explicit(&loop->numpy_ran, memory_order_relaxed))
        return false;
    c->loop = loop;
    c->kernel = atomic_load_explicit(&loop->host, memory_order_acquire);
    return c->kernel != NULL && lw_type_num(loop->types[c->nin]) >= 0 &&
           (c->arrays[c->nin] == NULL ||
            lw_dtype_from_num(PyArray_TYPE(c->arrays[c->nin])) == loop->types[c->nin]);
}

/* None, an array, or a tuple of one of these. false: anything else. */
static bool
read_output(ufunc_direct *c, PyObject *out)
{
    if (PyTuple_CheckExact(out) && PyTuple_GET_SIZE(out) == 1)
        out = PyTuple_GET_ITEM(out, 0);
    if (out == Py_None)
        return true;
    c->arrays[c->nin] = (PyArrayObject *)out;
    return PyArray_CheckExact(out);
}

static bool
read_call(ufunc_direct *c, const lw_ufunc_object *self, PyObject *const *args,
          Py_ssize_t n_args, PyObject *kwnames)
{
    PyArrayObject *out;

    if (c->nin > MOST_INPUTS || self->base.nout != 1)
        return false;
    c->arrays[c->nin] = NULL;
    if (kwnames != NULL) {
        if (n_args != c->nin || PyTuple_GET_SIZE(kwnames) != 1 ||
            PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "out") != 0 ||
            !read_output(c, args[c->nin]))
            return false;
    } else if (n_args == c->nin + 1) {
        c->arrays[c->nin] = (PyArrayObject *)args[c->nin];
        if (!PyArray_CheckExact(args[c->nin]))
            return false;
    } else if (n_args != c->nin)
        return false;
    if (!read_inputs(c, args) || !find_loop(c, self))
        return false;
    out = c->arrays[c->nin];
    if (out != NULL) {
        if (!PyArray_ISBEHAVED_RO(out))
            return false;
        c->is_plain = c->is_plain && PyArray_IS_C_CONTIGUOUS(out);
        c->args[c->nin] = PyArray_BYTES(out);
    }
    c->strides[c->nin] = lw_dtypes[c->loop->types[c->nin]].size_bytes;
    return true;
}

/* ---- where the output lies ---- */

static lw_memory_span
span_of(const ufunc_direct *c, int i)
{
    uint64_t low = (uint64_t)(uintptr_t)c->args[i];

    return c->is_plain ? (lw_memory_span){low, low + (uint64_t)(c->n * c->strides[i])}
                       : lw_numpy_span(c->arrays[i]);
}

/* Whether the elements of an input are where those of the output are. */
static bool
is_same(const ufunc_direct *c, const lw_walk *walk, int i)
{
    bool same = c->args[i] == c->args[c->nin] && c->strides[i] == c->strides[c->nin];

    for (int d = 1; walk != NULL && same && d < walk->ndim; d++)
        same = walk->operands[i].strides[d] == walk->operands[c->nin].strides[d];
    return same;
}

/* Whether the output has the result's shape and, of each input, the elements at the same
 * addresses, or none of its memory. */
static bool
takes_output(const ufunc_direct *c, const lw_walk *walk)
{
    PyArrayObject *out = c->arrays[c->nin];
    lw_memory_span span;

    if (!lw_is_written_apart(out) || PyArray_NDIM(out) != c->ndim)
        return false;
    for (int d = 0; d < c->ndim; d++)
        if (PyArray_DIM(out, d) != c->dims[d])
            return false;
    span = span_of(c, c->nin);
    for (int i = 0; i < c->nin; i++)
        if (c->arrays[i] != NULL && !is_same(c, walk, i) &&
            lw_memory_spans_overlap(span_of(c, i), span))
            return false;
    return true;
}

/* ---- running it ---- */

static PyObject *
output_of(ufunc_direct *c)
{
    PyArrayObject *out = c->arrays[c->nin];

    if (out != NULL)
        return Py_NewRef((PyObject *)out);
    out = (PyArrayObject *)PyArray_NewFromDescr(
        &PyArray_Type, PyArray_DescrFromType(lw_type_num(c->loop->types[c->nin])), c->ndim,
        c->dims, NULL, NULL, 0, NULL);
    if (out != NULL)
        c->args[c->nin] = PyArray_BYTES(out);
    return (PyObject *)out;
}

static void
run_walk(const ufunc_direct *c, lw_walk *walk)
{
    lw_host_failure failure;

    for (int i = 0; i <= c->nin; i++) {
        walk->operands[i].data = (uint64_t)(uintptr_t)c->args[i];
        walk->operands[i].is_output = i == c->nin;
    }
    lw_host_run_walk(c->kernel, walk, false, NULL, NULL, &failure);
}

/* One row after the other. < 0 with an exception. */
static int
run_rows(ufunc_direct *c, const lw_walk *walk)
{
    lw_host_kernel *kernel = c->kernel;
    const lw_loop *loop = c->loop;
    int64_t index[MOST_DIMS] = {0}, row = walk->shape[0], left = c->n;
    int failed;

    for (;;) {
        failed = lw_ufunc_run_kernel(kernel, loop, c->args, row, c->strides);
        left -= row;
        if (left == 0 || failed < 0)
            return failed;
        lw_walk_next_row(walk, index, c->args);
    }
}

/* -1 with an exception. */
static int
run(ufunc_direct *c, lw_walk *walk, lw_loop_table *table)
{
    PyThreadState *saved;
    int failed = 0;

    if (walk != NULL && lw_host_lacks_strided(c->kernel, c->args, walk->shape[0], c->strides) &&
        lw_ufunc_add_strided(table, c->loop, c->kernel) < 0)
        return -1;
    saved = lw_direct_begin(c->n);
    if (walk == NULL)
        failed = lw_ufunc_run_kernel(c->kernel, c->loop, c->args, c->n, c->strides);
    else if (c->walks)
        run_walk(c, walk);
    else
        failed = run_rows(c, walk);
    return lw_direct_end((const lw_loop_head *)c->loop, table->numpy_name, saved, failed);
}

/* walk: to be filled; NULL: the call is plain. */
static bool
call(ufunc_direct *c, lw_walk *walk, lw_loop_table *table, PyObject **result)
{
    if (!(walk != NULL ? find_rows(c, walk) : find_row(c)) ||
        (c->arrays[c->nin] != NULL && !takes_output(c, walk)))
        return false;
    lw_host_call_begin(table);
    *result = output_of(c);
    if (*result != NULL && run(c, walk, table) < 0)
        Py_CLEAR(*result);
    return true;
}

/* Not inlined: a walk is large, and plain calls are slower with so large a frame. */
__attribute__((noinline)) static bool
call_rows(ufunc_direct *c, lw_loop_table *table, PyObject **result)
{
    lw_walk walk;

    return call(c, &walk, table, result);
}

bool
lw_ufunc_call_direct(lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                     PyObject *kwnames, PyObject **result)
{
    lw_loop_table *table = self->base.table;
    ufunc_direct c;

    c.nin = self->base.nin;
    c.first = NULL;
    c.has_numbers = false;
    c.is_plain = true;
    if (!read_call(&c, self, args, n_args, kwnames))
        return false;
    return c.is_plain ? call(&c, NULL, table, result) : call_rows(&c, table, result);
}
