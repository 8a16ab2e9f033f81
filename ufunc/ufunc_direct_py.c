/* Calls on host arrays whose dtypes are exactly those of a loop that NumPy has run before: the
 * loop is called here, where NumPy would take as long to find it as it takes to add a thousand
 * numbers. The arrays are contiguous and of one shape, or they have few elements and any shapes
 * and strides, if the result is in C order. Python numbers may stand beside the arrays, and
 * there may be an output, which is apart from the inputs or is one of them.
 *
 * NumPy decides about everything else, errors included: other layouts, casts, subclasses,
 * scalars, results of several arrays. */
#include "ufunc/ufunc_parts.h"

#include "core/py/numpy/host_calls.h"
#include "core/py/numpy/host_loops.h"

#include <string.h>

enum {
    MOST_INPUTS = 8,
    MOST_DIMS = 4,        /* of arrays that are not contiguous, or not of one shape; */
    MOST_ELEMENTS = 8192, /* of such a call, if rows are contiguous */
    MOST_STRIDED = 1024   /* and if not: NumPy copies long rows, which is faster */
};

typedef struct direct_call {
    int nin;
    int64_t n;            /* elements, or those of a row */
    PyArrayObject *shape; /* the first input array; all others have its shape where is_plain */
    PyArrayObject *out;   /* borrowed, or NULL */
    lw_loop *loop;
    lw_host_kernel *kernel;
    lw_dtype in[MOST_INPUTS];
    char *args[MOST_INPUTS + 1];
    int64_t strides[MOST_INPUTS + 1];
    bool is_plain; /* all arrays are contiguous and of one shape; else there are rows: */
    PyArrayObject *arrays[MOST_INPUTS + 1]; /* NULL: a number, or an output that is made */
    int ndim;                               /* outermost first; the last one is a row */
    npy_intp dims[MOST_DIMS];
    int64_t steps[MOST_DIMS][MOST_INPUTS + 1]; /* bytes */
    bool has_numbers;
    char weak[MOST_INPUTS]; /* as lw_rows_find_weak's */
    lw_direct_number numbers[MOST_INPUTS];
} direct_call;

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
read_array(direct_call *c, int i, PyArrayObject *array)
{
    lw_dtype dtype = lw_dtype_from_num(PyArray_TYPE(array));

    if (dtype == LW_DT_void || !PyArray_ISBEHAVED_RO(array) || PyArray_NDIM(array) == 0)
        return false;
    if (c->shape == NULL) {
        c->shape = array;
        c->n = PyArray_SIZE(array);
    } else if (dtype != lw_dtype_from_num(PyArray_TYPE(c->shape)))
        return false;
    c->is_plain = c->is_plain && PyArray_IS_C_CONTIGUOUS(array) && has_shape(array, c->shape);
    c->arrays[i] = array;
    c->in[i] = dtype;
    c->args[i] = PyArray_BYTES(array);
    c->strides[i] = PyArray_ITEMSIZE(array);
    c->weak[i] = 0;
    return true;
}

static bool
read_number(direct_call *c, int i, PyObject *object)
{
    lw_dtype dtype = lw_dtype_from_num(PyArray_TYPE(c->shape));

    if (!lw_direct_read_number(object, dtype, &c->numbers[i]))
        return false;
    c->has_numbers = true;
    c->arrays[i] = NULL;
    c->weak[i] = lw_weak_kind(object);
    c->in[i] = dtype;
    c->args[i] = (char *)&c->numbers[i];
    c->strides[i] = 0;
    return true;
}

/* The arrays first, as they say what the numbers become. */
static bool
read_inputs(direct_call *c, PyObject *const *args)
{
    for (int i = 0; i < c->nin; i++)
        if (PyArray_CheckExact(args[i]) && !read_array(c, i, (PyArrayObject *)args[i]))
            return false;
    if (c->shape == NULL || c->n == 0)
        return false;
    for (int i = 0; i < c->nin; i++)
        if (!PyArray_CheckExact(args[i]) && !read_number(c, i, args[i]))
            return false;
    return true;
}

/* Whether the output has the elements of input i at the same addresses, or none of its memory.
 */
static bool
may_overwrite(const direct_call *c, int i)
{
    const char *out = PyArray_BYTES(c->out);
    int64_t size = PyArray_ITEMSIZE(c->out), size_in = c->strides[i];

    if (size_in == 0 || (c->args[i] == out && size_in == size))
        return true;
    return c->args[i] + c->n * size_in <= out || out + c->n * size <= c->args[i];
}

static bool
takes_output(const direct_call *c)
{
    PyArrayObject *out = c->out;

    if (!lw_direct_writes(out) || !has_shape(out, c->shape))
        return false;
    for (int i = 0; i < c->nin; i++)
        if (!may_overwrite(c, i))
            return false;
    return true;
}

/* ---- arrays of other layouts and shapes ---- */

/* The steps of an operand; false: some are negative, for which NumPy has another order. */
static bool
find_steps(direct_call *c, int i)
{
    PyArrayObject *array = c->arrays[i];
    int first = array ? c->ndim - PyArray_NDIM(array) : c->ndim;

    for (int d = 0; d < c->ndim; d++) {
        bool moves = d >= first && PyArray_DIM(array, d - first) != 1;
        c->steps[d][i] = moves ? PyArray_STRIDE(array, d - first) : 0;
        if (c->steps[d][i] < 0)
            return false;
    }
    return true;
}

/* Whether NumPy's iterator keeps these two axes in this order, so that a new result is in C
 * order: it does if the steps of some operand have this order, or if none have the other one.
 */
static bool
is_in_order(const direct_call *c, int outer, int inner)
{
    bool swapped = false;

    for (int i = 0; i <= c->nin; i++) {
        int64_t step = c->steps[outer][i], next = c->steps[inner][i];
        if (step != 0 && next != 0 && next <= step)
            return true;
        swapped = swapped || (step != 0 && next != 0);
    }
    return !swapped;
}

/* Whether the output has this shape and, of each input, the elements at the same addresses, or
 * none of its memory. */
static bool
takes_output_of_rows(const direct_call *c)
{
    if (PyArray_NDIM(c->out) != c->ndim || !PyArray_ISBEHAVED_RO(c->out) ||
        !lw_is_written_apart(c->out))
        return false;
    for (int d = 0; d < c->ndim; d++)
        if (PyArray_DIM(c->out, d) != c->dims[d])
            return false;
    for (int i = 0; i < c->nin; i++) {
        bool same = c->arrays[i] != NULL && c->args[i] == PyArray_BYTES(c->out);
        for (int d = 0; same && d < c->ndim; d++)
            same = c->steps[d][i] == c->steps[d][c->nin];
        if (c->arrays[i] != NULL && !same && lw_may_meet(c->arrays[i], c->out))
            return false;
    }
    return true;
}

/* Merges two axes where each operand continues along the outer one as along the inner one. */
static void
merge_axes(direct_call *c)
{
    int to = c->ndim - 1;

    for (int d = c->ndim - 2; d >= 0; d--) {
        bool is_one = true;
        for (int i = 0; is_one && i <= c->nin; i++)
            is_one =
                c->dims[d] == 1 || c->steps[d][i] == c->steps[to][i] * (int64_t)c->dims[to];
        if (is_one) {
            c->dims[to] *= c->dims[d];
            continue;
        }
        if (c->dims[to] != 1)
            to--;
        c->dims[to] = c->dims[d];
        memcpy(c->steps[to], c->steps[d], sizeof c->steps[to]);
    }
    c->ndim -= to;
    memmove(c->dims, c->dims + to, (size_t)c->ndim * sizeof *c->dims);
    memmove(c->steps, c->steps + to, (size_t)c->ndim * sizeof *c->steps);
}

/* Finds all that rows need, except the steps of an output that is not made yet. */
static bool
find_rows(direct_call *c)
{
    bool strided = false;

    c->n = lw_broadcast(c->arrays, c->nin, MOST_DIMS, &c->ndim, c->dims);
    if (c->n == 0 || c->n > MOST_ELEMENTS || lw_host_is_long(c->kernel, c->n))
        return false;
    c->arrays[c->nin] = c->out;
    for (int i = 0; i <= c->nin; i++) {
        if (!find_steps(c, i))
            return false;
        strided = strided || (c->arrays[i] != NULL &&
                              c->steps[c->ndim - 1][i] != PyArray_ITEMSIZE(c->arrays[i]));
    }
    if (strided && c->n > MOST_STRIDED)
        return false;
    for (int outer = 0; outer < c->ndim; outer++)
        for (int inner = outer + 1; inner < c->ndim; inner++)
            if (!is_in_order(c, outer, inner))
                return false;
    return c->out == NULL || takes_output_of_rows(c);
}

/* ---- what else the call is ---- */

static bool
find_loop(direct_call *c, const lw_ufunc_object *self)
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
           (c->out == NULL || lw_dtype_from_num(PyArray_TYPE(c->out)) == loop->types[c->nin]);
}

/* None, an array, or a tuple of one of these. false: anything else. */
static bool
read_output(direct_call *c, PyObject *out)
{
    if (PyTuple_CheckExact(out) && PyTuple_GET_SIZE(out) == 1)
        out = PyTuple_GET_ITEM(out, 0);
    if (out == Py_None)
        return true;
    c->out = (PyArrayObject *)out;
    return PyArray_CheckExact(out);
}

static bool
read_call(direct_call *c, const lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
          PyObject *kwnames)
{
    if (c->nin > MOST_INPUTS || self->base.nout != 1)
        return false;
    if (kwnames != NULL) {
        if (n_args != c->nin || PyTuple_GET_SIZE(kwnames) != 1 ||
            PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "out") != 0 ||
            !read_output(c, args[c->nin]))
            return false;
    } else if (n_args == c->nin + 1) {
        c->out = (PyArrayObject *)args[c->nin];
        if (!PyArray_CheckExact(args[c->nin]))
            return false;
    } else if (n_args != c->nin)
        return false;
    if (!read_inputs(c, args) || !find_loop(c, self))
        return false;
    return c->is_plain ? c->out == NULL || takes_output(c) : find_rows(c);
}

/* ---- running it ---- */

static PyObject *
output_of(const direct_call *c)
{
    int ndim = c->is_plain ? PyArray_NDIM(c->shape) : c->ndim;
    npy_intp const *dims = c->is_plain ? PyArray_DIMS(c->shape) : c->dims;

    if (c->out != NULL)
        return Py_NewRef((PyObject *)c->out);
    return PyArray_NewFromDescr(&PyArray_Type,
                                PyArray_DescrFromType(lw_type_num(c->loop->types[c->nin])),
                                ndim, dims, NULL, NULL, 0, NULL);
}

/* One row after the other. < 0 with an exception. */
static int
run_rows(direct_call *c)
{
    int last = c->ndim - 1, failed = 0;
    npy_intp at[MOST_DIMS] = {0};

    for (;;) {
        int d = last - 1;
        failed =
            lw_ufunc_run_kernel(c->kernel, c->loop, c->args, c->dims[last], c->steps[last]);
        while (d >= 0 && ++at[d] == c->dims[d]) {
            for (int i = 0; i <= c->nin; i++)
                c->args[i] -= (c->dims[d] - 1) * c->steps[d][i];
            at[d--] = 0;
        }
        if (d < 0 || failed < 0)
            return failed;
        for (int i = 0; i <= c->nin; i++)
            c->args[i] += c->steps[d][i];
    }
}

/* -1 with an exception. */
static int
run(direct_call *c, const char *name)
{
    PyThreadState *saved = lw_direct_begin(c->n);
    int failed = c->is_plain
                     ? lw_ufunc_run_kernel(c->kernel, c->loop, c->args, c->n, c->strides)
                     : run_rows(c);

    return lw_direct_end((const lw_loop_head *)c->loop, name, saved, failed);
}

bool
lw_ufunc_call_direct(lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                     PyObject *kwnames, PyObject **result)
{
    direct_call c;
    PyObject *out;

    c.nin = self->base.nin;
    c.shape = c.out = NULL;
    c.has_numbers = false;
    c.is_plain = true;
    if (!read_call(&c, self, args, n_args, kwnames))
        return false;
    lw_host_call_begin(self->base.table);
    out = output_of(&c);
    if (out != NULL) {
        c.args[c.nin] = PyArray_BYTES((PyArrayObject *)out);
        c.strides[c.nin] = PyArray_ITEMSIZE((PyArrayObject *)out);
        if (!c.is_plain) {
            c.arrays[c.nin] = (PyArrayObject *)out;
            (void)find_steps(&c, c.nin);
            merge_axes(&c);
        }
        if (run(&c, self->base.table->numpy_name) < 0)
            Py_CLEAR(out);
    }
    *result = out;
    return true;
}
