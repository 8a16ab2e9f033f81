/* Calls on contiguous host arrays of one shape, whose dtypes are exactly those of a loop that
 * NumPy has run before: the loop is called here, where NumPy would take as long to find it as
 * it takes to add a thousand numbers. Python numbers may stand beside the arrays, and there may
 * be an output, which is apart from the inputs or is one of them.
 *
 * NumPy decides about everything else, errors included: other layouts, casts, broadcasting,
 * subclasses, scalars, results of several arrays. */
#include "ufunc/ufunc_parts.h"

#include "core/py/numpy/host_loops.h"

enum { MOST_INPUTS = 8 };

typedef struct direct_call {
    int nin;
    int64_t n;            /* elements */
    PyArrayObject *shape; /* an input array; all others have its shape */
    PyArrayObject *out;   /* borrowed, or NULL */
    lw_loop *loop;
    lw_host_kernel *kernel;
    lw_dtype in[MOST_INPUTS];
    char *args[MOST_INPUTS + 1];
    int64_t strides[MOST_INPUTS + 1];
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

    if (dtype == LW_DT_void || !lw_direct_reads(array))
        return false;
    if (c->shape == NULL) {
        if (PyArray_NDIM(array) == 0)
            return false;
        c->shape = array;
        c->n = PyArray_SIZE(array);
    } else if (dtype != lw_dtype_from_num(PyArray_TYPE(c->shape)) ||
               !has_shape(array, c->shape))
        return false;
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

/* Whether the output lies as input i does, or apart from it. */
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

    if (lw_dtype_from_num(PyArray_TYPE(out)) != c->loop->types[c->nin] ||
        !lw_direct_writes(out) || !has_shape(out, c->shape))
        return false;
    for (int i = 0; i < c->nin; i++)
        if (!may_overwrite(c, i))
            return false;
    return true;
}

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
    return c->kernel != NULL && lw_type_num(loop->types[c->nin]) >= 0;
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
    return read_inputs(c, args) && find_loop(c, self) && (c->out == NULL || takes_output(c));
}

/* ---- running it ---- */

static PyObject *
output_of(const direct_call *c)
{
    if (c->out != NULL)
        return Py_NewRef((PyObject *)c->out);
    return PyArray_NewFromDescr(
        &PyArray_Type, PyArray_DescrFromType(lw_type_num(c->loop->types[c->nin])),
        PyArray_NDIM(c->shape), PyArray_DIMS(c->shape), NULL, NULL, 0, NULL);
}

/* -1 with an exception. */
static int
run(const direct_call *c, const char *name)
{
    PyThreadState *saved = lw_direct_begin(c->n);
    int failed = lw_ufunc_run_kernel(c->kernel, c->loop, c->args, c->n, c->strides);

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
    if (!read_call(&c, self, args, n_args, kwnames))
        return false;
    lw_host_call_begin(self->base.table);
    out = output_of(&c);
    if (out != NULL) {
        c.args[c.nin] = PyArray_BYTES((PyArrayObject *)out);
        c.strides[c.nin] = PyArray_ITEMSIZE((PyArrayObject *)out);
        if (run(&c, self->base.table->numpy_name) < 0)
            Py_CLEAR(out);
    }
    *result = out;
    return true;
}
