/* Calls on contiguous host arrays whose dtypes are exactly those of a loop that NumPy has run
 * before, and whose shapes match: the loop is called here, where NumPy would take a microsecond
 * to prepare its iterators. Each operand has the loop dimensions of all, or none; inputs
 * without core dimensions may be Python numbers; outputs are new, or given and apart from
 * everything.
 *
 * NumPy decides about everything else, errors included: other layouts, casts, broadcasting,
 * subclasses, keywords, empty arrays, outputs that lie where an input does. */
#include "gufunc/gufunc_parts_py.h"

#include "core/py/numpy/host_calls.h"
#include "core/py/numpy/host_loops.h"

#include <string.h>

enum { MOST_OPERANDS = 8, MOST_DIMS = 8, MOST_STRIDES = 16, MOST_LOOP_DIMS = 16, UNKNOWN = -1 };

typedef struct gufunc_direct {
    const lw_core_layout *layout;
    int nin, nout;
    lw_gufunc_loop *loop;
    PyArrayObject *arrays[MOST_OPERANDS]; /* borrowed; NULL: a number, an output to be made */
    PyArrayObject *first;                 /* of the inputs that are arrays */
    PyArrayObject *shape;                 /* the first that has loop dimensions, or NULL */
    int loop_ndim;
    bool has_numbers;
    lw_dtype in[MOST_OPERANDS];
    char weak[MOST_OPERANDS]; /* as lw_rows_find_weak's */
    lw_direct_number numbers[MOST_OPERANDS];
    /* As the inner loops of NumPy have them (gufunc/core/host_code.h). */
    char *args[MOST_OPERANDS];
    int64_t dims[1 + MOST_DIMS], steps[MOST_OPERANDS + MOST_STRIDES];
    int64_t bytes[MOST_OPERANDS]; /* of an item */
} gufunc_direct;

/* ---- what the call is ---- */

/* Sizes of core dimensions agree, none is 0. */
static bool
read_core(gufunc_direct *c, const lw_core_operand *operand, const npy_intp *sizes)
{
    for (uint32_t j = 0; j < operand->n; j++) {
        int64_t *known = &c->dims[1 + operand->dims[j]];
        if (*known == UNKNOWN)
            *known = sizes[j];
        if (*known != sizes[j] || sizes[j] == 0)
            return false;
    }
    return true;
}

/* No loop dimensions, or those of the operands before. */
static bool
read_loop_dims(gufunc_direct *c, PyArrayObject *array, int n)
{
    if (n == 0)
        return true;
    if (c->shape == NULL) {
        c->shape = array;
        c->loop_ndim = n;
    }
    if (n != c->loop_ndim || n > MOST_LOOP_DIMS)
        return false;
    for (int i = 0; i < n; i++)
        if (PyArray_DIM(array, i) != PyArray_DIM(c->shape, i))
            return false;
    return true;
}

static bool
read_shape(gufunc_direct *c, int k, PyArrayObject *array)
{
    const lw_core_operand *operand = &c->layout->operands[k];
    int n = PyArray_NDIM(array) - (int)operand->n;

    c->arrays[k] = array;
    c->args[k] = PyArray_BYTES(array);
    return n >= 0 && read_loop_dims(c, array, n) &&
           read_core(c, operand, PyArray_DIMS(array) + n);
}

static bool
read_array(gufunc_direct *c, int k, PyArrayObject *array)
{
    c->in[k] = lw_dtype_from_num(PyArray_TYPE(array));
    c->weak[k] = 0;
    if (c->first == NULL)
        c->first = array;
    return c->in[k] != LW_DT_void && lw_direct_reads(array) && read_shape(c, k, array);
}

/* Beside arrays of one dtype, which says what the number becomes. */
static bool
read_number(gufunc_direct *c, int k, PyObject *object)
{
    lw_dtype dtype = lw_dtype_from_num(PyArray_TYPE(c->first));

    for (int i = 0; i < c->nin; i++)
        if (c->arrays[i] != NULL && c->in[i] != dtype)
            return false;
    if (c->layout->operands[k].n != 0 || !lw_direct_read_number(object, dtype, &c->numbers[k]))
        return false;
    c->has_numbers = true;
    c->in[k] = dtype;
    c->weak[k] = lw_weak_kind(object);
    c->args[k] = (char *)&c->numbers[k];
    return true;
}

static bool
read_inputs(gufunc_direct *c, PyObject *const *args)
{
    for (int k = 0; k < c->nin; k++)
        if (PyArray_CheckExact(args[k]) && !read_array(c, k, (PyArrayObject *)args[k]))
            return false;
    if (c->first == NULL)
        return false;
    for (int k = 0; k < c->nin; k++)
        if (!PyArray_CheckExact(args[k]) && !read_number(c, k, args[k]))
            return false;
    return true;
}

static bool
find_loop(gufunc_direct *c, const lw_gufunc_object *self)
{
    const lw_ufunc_head *head = (const lw_ufunc_head *)self;
    lw_gufunc_loop *loop =
        c->has_numbers ? lw_rows_find_weak(head, c->in, c->weak) : lw_rows_find(head, c->in);

    if (loop == NULL || !atomic_load_explicit(&loop->numpy_ran, memory_order_relaxed))
        return false;
    for (int k = c->nin; k < c->nin + c->nout; k++)
        if (lw_type_num(loop->types[k]) < 0)
            return false;
    c->loop = loop;
    return true;
}

/* An input that the function writes to must be an array for each item; NumPy handles what has
 * to be copied back. */
static bool
may_write_inputs(const gufunc_direct *c, const lw_gufunc_object *self)
{
    for (int k = 0; k < c->nin; k++)
        if (c->loop->writable[k] || self->writable[k])
            if (c->arrays[k] == NULL || !lw_direct_writes(c->arrays[k]) ||
                PyArray_NDIM(c->arrays[k]) - (int)c->layout->operands[k].n != c->loop_ndim)
                return false;
    return true;
}

/* None, or an array of the loop's dtype, with the loop dimensions of the inputs. */
static bool
read_output(gufunc_direct *c, int k, PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    int loop_ndim = c->loop_ndim;

    c->arrays[k] = NULL;
    if (object == Py_None)
        return true;
    return PyArray_CheckExact(object) &&
           lw_dtype_from_num(PyArray_TYPE(array)) == c->loop->types[k] &&
           lw_direct_writes(array) && read_shape(c, k, array) && c->loop_ndim == loop_ndim &&
           PyArray_NDIM(array) - (int)c->layout->operands[k].n == loop_ndim;
}

/* By position, or by out=, a tuple if there are several. */
static bool
read_outputs(gufunc_direct *c, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    PyObject *const *given = args + c->nin;
    Py_ssize_t n_given = n_args - c->nin;

    if (kwnames != NULL) {
        given = lw_given_outputs(&args[n_args], c->nout);
        n_given = c->nout;
        if (given == NULL)
            return false;
    }
    for (int k = 0; k < c->nout; k++)
        if (!read_output(c, c->nin + k, k < n_given ? given[k] : Py_None))
            return false;
    return true;
}

/* ---- where the operands lie ---- */

/* false: a size does not fit 64 bits, which NumPy refuses. */
static bool
set_steps(gufunc_direct *c)
{
    int64_t *stride = c->steps + c->nin + c->nout;
    int64_t n = 1;

    for (int i = 0; i < c->loop_ndim; i++)
        n *= PyArray_DIM(c->shape, i);
    c->dims[0] = n;
    for (int k = 0; k < c->nin + c->nout; k++) {
        const lw_core_operand *operand = &c->layout->operands[k];
        int64_t bytes = lw_dtypes[c->loop->types[k]].size_bytes;
        for (uint32_t j = operand->n; j-- > 0;) {
            int64_t size = c->dims[1 + operand->dims[j]];
            stride[j] = size == 1 ? 0 : bytes; /* as NumPy has them */
            if (__builtin_mul_overflow(bytes, size, &bytes))
                return false;
        }
        stride += operand->n;
        c->bytes[k] = bytes;
        c->steps[k] = n == 1 || (k < c->nin && (c->arrays[k] == NULL ||
                                                PyArray_NDIM(c->arrays[k]) == (int)operand->n))
                          ? 0
                          : bytes;
    }
    return true;
}

static bool
are_apart(const gufunc_direct *c, int a, int b)
{
    int64_t n = c->dims[0], bytes_a = c->steps[a] ? n * c->bytes[a] : c->bytes[a],
            bytes_b = c->steps[b] ? n * c->bytes[b] : c->bytes[b];

    return c->args[a] + bytes_a <= c->args[b] || c->args[b] + bytes_b <= c->args[a];
}

/* Whether what is written, as far as NumPy knows of it, is apart from all other operands. Where
 * one overlaps another, NumPy makes a copy. */
static bool
is_apart(const gufunc_direct *c, const lw_gufunc_object *self)
{
    for (int k = 0; k < c->nin + c->nout; k++)
        if (c->arrays[k] != NULL && (k >= c->nin || self->writable[k]))
            for (int i = 0; i < c->nin + c->nout; i++)
                if (i != k && c->arrays[i] != NULL && !are_apart(c, k, i))
                    return false;
    return true;
}

/* Whether the sizes of all dimensions are known, and nothing is empty. */
static bool
is_whole(const gufunc_direct *c)
{
    for (uint32_t d = 0; d < c->layout->n_dims; d++)
        if (c->dims[1 + d] == UNKNOWN)
            return false;
    for (int i = 0; i < c->loop_ndim; i++)
        if (PyArray_DIM(c->shape, i) == 0)
            return false;
    return true;
}

static bool
fits_here(const lw_gufunc_object *self)
{
    const lw_core_layout *layout = &self->base.layout;
    uint32_t n_strides = 0;

    for (int k = 0; k < self->base.nin + self->base.nout && k < MOST_OPERANDS; k++)
        n_strides += layout->operands[k].n;
    return self->base.nin + self->base.nout <= MOST_OPERANDS && layout->n_dims <= MOST_DIMS &&
           n_strides <= MOST_STRIDES && !layout->has_broadcast && self->base.sizes == NULL;
}

static bool
read_call(gufunc_direct *c, const lw_gufunc_object *self, PyObject *const *args,
          Py_ssize_t n_args, PyObject *kwnames)
{
    if (kwnames != NULL
            ? n_args != c->nin || PyTuple_GET_SIZE(kwnames) != 1 ||
                  PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "out") != 0
            : n_args < c->nin || n_args > c->nin + c->nout)
        return false;
    if (!fits_here(self))
        return false;
    for (uint32_t d = 0; d < c->layout->n_dims; d++)
        c->dims[1 + d] = c->layout->dims[d].fixed ? c->layout->dims[d].fixed : UNKNOWN;
    if (!read_inputs(c, args) || !find_loop(c, self) || !may_write_inputs(c, self) ||
        !read_outputs(c, args, n_args, kwnames) || !is_whole(c))
        return false;
    return set_steps(c) && is_apart(c, self);
}

/* ---- running it ---- */

/* A new array for output k, or NULL with an exception. */
static PyObject *
new_output(const gufunc_direct *c, int k)
{
    const lw_core_operand *operand = &c->layout->operands[k];
    npy_intp shape[MOST_LOOP_DIMS + MOST_STRIDES];

    for (int i = 0; i < c->loop_ndim; i++)
        shape[i] = PyArray_DIM(c->shape, i);
    for (uint32_t j = 0; j < operand->n; j++)
        shape[c->loop_ndim + (int)j] = c->dims[1 + operand->dims[j]];
    return PyArray_NewFromDescr(&PyArray_Type,
                                PyArray_DescrFromType(lw_type_num(c->loop->types[k])),
                                c->loop_ndim + (int)operand->n, shape, NULL, NULL, 0, NULL);
}

/* The elements of all items, which is how long it may take. */
static int64_t
work_of(const gufunc_direct *c)
{
    int64_t work = c->dims[0];

    for (uint32_t d = 0; d < c->layout->n_dims; d++)
        if (__builtin_mul_overflow(work, c->dims[1 + d], &work))
            return INT64_MAX;
    return work;
}

static int
run(const gufunc_direct *c, lw_loop_table *table)
{
    PyThreadState *saved = lw_direct_begin(work_of(c));
    int failed = lw_gufunc_run(table, c->loop, c->args, c->dims, c->steps);

    return lw_direct_end((const lw_loop_head *)c->loop, table->numpy_name, saved, failed);
}

/* What was given, a new array, or the number in one without dimensions. Steals `out`. */
static PyObject *
result_of(const gufunc_direct *c, int k, PyObject *out)
{
    return c->arrays[k] != NULL ? out : PyArray_Return((PyArrayObject *)out);
}

/* A tuple where there are several; steals them all. */
static PyObject *
results_of(const gufunc_direct *c, PyObject **outs)
{
    PyObject *tuple;

    if (c->nout == 0)
        Py_RETURN_NONE;
    if (c->nout == 1)
        return result_of(c, c->nin, outs[0]);
    tuple = PyTuple_New(c->nout);
    for (int k = 0; k < c->nout; k++) {
        PyObject *one = result_of(c, c->nin + k, outs[k]);
        if (tuple != NULL && one != NULL)
            PyTuple_SET_ITEM(tuple, k, one);
        else {
            Py_XDECREF(one);
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

bool
lw_gufunc_call_direct(lw_gufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                      PyObject *kwnames, PyObject **result)
{
    PyObject *outs[MOST_OPERANDS] = {NULL};
    gufunc_direct c;
    bool good = true;

    c.layout = &self->base.layout;
    c.nin = self->base.nin;
    c.nout = self->base.nout;
    c.first = c.shape = NULL;
    c.loop_ndim = 0;
    c.has_numbers = false;
    memset(c.arrays, 0, sizeof c.arrays);
    if (!read_call(&c, self, args, n_args, kwnames))
        return false;
    lw_host_call_begin(self->base.table);
    for (int k = 0; k < c.nout && good; k++) {
        PyObject *given = (PyObject *)c.arrays[c.nin + k];
        outs[k] = given ? Py_NewRef(given) : new_output(&c, c.nin + k);
        good = outs[k] != NULL;
        if (good)
            c.args[c.nin + k] = PyArray_BYTES((PyArrayObject *)outs[k]);
    }
    if (good && run(&c, self->base.table) == 0) {
        *result = results_of(&c, outs);
        return true;
    }
    for (int k = 0; k < c.nout; k++)
        Py_XDECREF(outs[k]);
    *result = NULL;
    return true;
}
