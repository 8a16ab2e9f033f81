/* Long calls on host arrays of any shapes and layouts, and calls with where=. NumPy calls a
 * loop for one row after the other on one thread, and with a mask for each run of selected
 * elements, which is one or two elements long in a random mask. Here all cores share the whole
 * call (ufunc/host_walk.c).
 *
 * NumPy's rules decide which loop is run, and NumPy's iterator decides about shapes, the layout
 * of new outputs and overlap, as in NumPy's own calls. This is for exact arrays and numbers,
 * with no keywords other than out= and where=. All other calls are NumPy's, including those
 * that fail. */
#include "ufunc/ufunc_parts.h"

#include "core/plan/walk.h"
#include "core/py/numpy/host_calls.h"
#include "core/py/numpy/host_loops.h"
#include "core/py/signals.h"

enum {
    FEWEST_MASKED = 64, /* elements from which on the iterator pays, with a mask, */
    FEWEST = 2048       /* and without one */
};

/* Operands: inputs, outputs, the mask if there is one. */
typedef struct ufunc_walk {
    lw_ufunc_object *self;
    lw_loop *loop;
    lw_host_kernel *kernel;
    int nin, nout;
    bool masked;
    PyArrayObject *operands[LW_MAX_ARGS + 1]; /* NULL: an output to be made */
    PyArrayObject *made[LW_MAX_ARGS];         /* of numbers, owned */
    bool converts;                            /* some of: */
    lw_converter converters[LW_MAX_ARGS];     /* of inputs that are of narrower types */
} ufunc_walk;

/* ---- what the call is ---- */

static bool
read_output(ufunc_walk *c, int k, PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;

    if (object == Py_None)
        return true;
    if (!PyArray_CheckExact(object) || !lw_is_written_apart(array))
        return false;
    c->operands[c->nin + k] = array;
    return true;
}

/* given: NULL: there is a wrong number of outputs. */
static bool
read_outputs(ufunc_walk *c, PyObject *const *given, Py_ssize_t n)
{
    if (given == NULL)
        return false;
    for (int k = 0; k < n; k++)
        if (!read_output(c, k, given[k]))
            return false;
    return true;
}

/* false: there are keywords other than out= and where=, or out= beside positional outputs, or
 * where= without all outputs. */
static bool
read_keywords(ufunc_walk *c, PyObject *const *values, PyObject *kwnames, bool has_outputs)
{
    PyArrayObject *mask = NULL;

    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        if (PyUnicode_CompareWithASCIIString(name, "where") == 0) {
            mask = (PyArrayObject *)values[i];
            if (!PyArray_CheckExact(values[i]) || PyArray_TYPE(mask) != NPY_BOOL)
                return false;
        } else if (has_outputs || PyUnicode_CompareWithASCIIString(name, "out") != 0 ||
                   !read_outputs(c, lw_given_outputs(&values[i], c->nout), c->nout))
            return false;
    }
    c->masked = mask != NULL;
    c->operands[c->nin + c->nout] = mask;
    for (int k = 0; c->masked && k < c->nout; k++)
        if (c->operands[c->nin + k] == NULL)
            return false;
    return true;
}

/* Reads the arrays. Numbers are read when the loop is known. */
static bool
read_arrays(ufunc_walk *c, PyObject *const *args, Py_ssize_t n_args)
{
    for (int i = 0; i < c->nin; i++) {
        if (PyArray_CheckExact(args[i]))
            c->operands[i] = (PyArrayObject *)args[i];
        else if (lw_weak_kind(args[i]) == 0 && !PyArray_IsScalar(args[i], Generic))
            return false;
    }
    return read_outputs(c, args + c->nin, n_args - c->nin);
}

/* Whether no two given outputs share memory: NumPy writes to both, one after the other. */
static bool
outputs_are_apart(const ufunc_walk *c)
{
    for (int k = c->nin; k < c->nin + c->nout; k++)
        for (int i = c->nin; c->operands[k] != NULL && i < k; i++)
            if (c->operands[i] != NULL && lw_may_meet(c->operands[k], c->operands[i]))
                return false;
    return true;
}

/* ---- which loop ---- */

/* Inputs of narrower types are converted block by block. The iterator makes all other casts, by
 * copies of whole operands on one thread. For long operands, NumPy's own calls are faster, as
 * they cast block by block. With a mask, the iterator would also write back what is not
 * selected. false: NumPy's call is the better one. */
static bool
read_casts(ufunc_walk *c)
{
    for (int k = 0; k < c->nin + c->nout; k++) {
        PyArrayObject *array = c->operands[k];
        lw_dtype own = array ? lw_dtype_from_num(PyArray_TYPE(array)) : c->loop->types[k];
        if (array == NULL || (own == c->loop->types[k] && PyArray_ISBEHAVED_RO(array)))
            continue;
        if (k < c->nin && !c->masked && PyArray_ISBEHAVED_RO(array))
            c->converters[k] = lw_host_converter(own, c->loop->types[k]);
        c->converts |= c->converters[k] != NULL;
        if (c->converters[k] == NULL &&
            (c->masked || k >= c->nin || PyArray_SIZE(array) >= FEWEST))
            return false;
    }
    return true;
}

/* Whether parts of this input are transposed in a walk in C order. NULL: it is a number. */
static bool
lies_across(PyArrayObject *array)
{
    const int64_t *strides;
    lw_walk walk;

    if (array == NULL)
        return false;
    strides = PyArray_STRIDES(array);
    walk.n_operands = 1;
    walk.operands[0].by_value = false;
    return lw_walk_begin(&walk, PyArray_NDIM(array), PyArray_DIMS(array), &strides) &&
           walk.n > 0 && lw_walk_across(&walk, 0, (uint32_t)PyArray_ITEMSIZE(array)) != 0;
}

static bool
any_lies_across(const ufunc_walk *c)
{
    bool any = false;

    for (int k = 0; k < c->nin; k++)
        any |= lies_across(c->operands[k]);
    return any;
}

static bool
find_loop(ufunc_walk *c, PyObject *const *args, int64_t n)
{
    if (!lw_make_numbers(args, c->nin, NULL, c->operands, c->made) ||
        (c->loop = lw_loop_for_operands((lw_ufunc_head *)c->self, args, c->operands)) == NULL ||
        c->loop->uniforms.first != c->nin)
        return false;
    for (int k = 0; k < c->nin + c->nout; k++)
        if (lw_type_num(c->loop->types[k]) < 0)
            return false;
    c->kernel = atomic_load_explicit(&c->loop->host, memory_order_acquire);
    if (c->kernel == NULL)
        c->kernel = lw_ufunc_kernel(c->self->base.table, c->loop);
    return c->kernel != NULL && lw_host_may_walk(c->kernel, c->masked) &&
           (c->masked || lw_host_is_long(c->kernel, n) || any_lies_across(c)) &&
           lw_make_numbers(args, c->nin, c->loop->types, c->operands, c->made) && read_casts(c);
}

/* ---- running it ---- */

/* NULL with an exception, which NumPy words better. */
static NpyIter *
new_iterator(ufunc_walk *c)
{
    enum {
        ANY = NPY_ITER_ALIGNED | NPY_ITER_NBO | NPY_ITER_OVERLAP_ASSUME_ELEMENTWISE,
        INPUT = ANY | NPY_ITER_READONLY | NPY_ITER_COPY,
        OUTPUT = ANY | NPY_ITER_ALLOCATE | NPY_ITER_NO_BROADCAST | NPY_ITER_NO_SUBTYPE |
                 NPY_ITER_UPDATEIFCOPY
    };
    PyArray_Descr *dtypes[LW_MAX_ARGS + 1];
    npy_uint32 flags[LW_MAX_ARGS + 1];
    int n = c->nin + c->nout;
    NpyIter *iter;

    for (int k = 0; k < n; k++) {
        dtypes[k] = c->converters[k] != NULL
                        ? (PyArray_Descr *)Py_NewRef(PyArray_DESCR(c->operands[k]))
                        : PyArray_DescrFromType(lw_type_num(c->loop->types[k]));
        flags[k] = k < c->nin  ? INPUT
                   : c->masked ? OUTPUT | NPY_ITER_READWRITE
                               : OUTPUT | NPY_ITER_WRITEONLY;
    }
    dtypes[n] = PyArray_DescrFromType(NPY_BOOL);
    flags[n] = INPUT;
    iter =
        NpyIter_MultiNew(n + c->masked, c->operands,
                         NPY_ITER_MULTI_INDEX | NPY_ITER_ZEROSIZE_OK | NPY_ITER_COPY_IF_OVERLAP,
                         NPY_KEEPORDER, NPY_SAME_KIND_CASTING, flags, dtypes);
    for (int k = 0; k <= n; k++)
        Py_DECREF(dtypes[k]);
    return iter;
}

/* The number, in C order, of the element of the walk that raised. Elements of an output are
 * apart, so that the distance of this one from the first says where it is: along the dimension
 * of the largest stride first. */
static int64_t
number_in_c_order(const ufunc_walk *c, NpyIter *iter, const lw_walk *walk, int64_t element)
{
    const lw_walk_operand *out = &walk->operands[c->nin];
    npy_intp shape[LW_WALK_DIMS] = {0}, strides[LW_WALK_DIMS] = {0}, at[LW_WALK_DIMS] = {0};
    int64_t index[LW_WALK_DIMS] = {0}, distance = 0, number = 0;
    int ndim = NpyIter_GetNDim(iter);

    if (NpyIter_GetShape(iter, shape) == NPY_FAIL)
        return element;
    lw_walk_place(walk, element, index);
    for (int d = 0; d < walk->ndim; d++)
        distance += index[d] * out->strides[d];
    for (int d = 0; d < ndim; d++) {
        strides[d] = NpyIter_GetAxisStrideArray(iter, d)[c->nin];
        if (strides[d] < 0) /* from its lowest address */
            distance -= strides[d] * (shape[d] - 1);
    }
    for (int done = 0; done < ndim; done++) {
        int next = -1;
        for (int d = 0; d < ndim; d++)
            if (shape[d] > 1 && at[d] == 0 &&
                (next < 0 || lw_magnitude(strides[d]) > lw_magnitude(strides[next])))
                next = d;
        if (next < 0)
            break;
        at[next] = distance / lw_magnitude(strides[next]) + 1;
        distance %= lw_magnitude(strides[next]);
    }
    for (int d = 0; d < ndim; d++) {
        int64_t i = at[d] > 0 ? at[d] - 1 : 0;
        number = number * shape[d] + (strides[d] < 0 ? shape[d] - 1 - i : i);
    }
    return number;
}

/* -1 with an exception. */
static int
run(const ufunc_walk *c, NpyIter *iter)
{
    lw_stop stop = {.ask = lw_signal_raised_anyhow};
    lw_host_failure failure = {0};
    PyThreadState *saved;
    lw_walk walk;
    int failed = 0;

    if (lw_walk_of_iterator(iter, NpyIter_GetNDim(iter), c->nin + c->nout + c->masked, c->nin,
                            c->nout, &walk) < 0 ||
        (lw_host_walk_lacks_strided(c->kernel, &walk) &&
         lw_ufunc_add_strided(c->self->base.table, c->loop, c->kernel) < 0))
        return -1;
    saved = lw_direct_begin(INT64_MAX);
    lw_host_run_walk(c->kernel, &walk, c->masked, c->converts ? c->converters : NULL, &stop,
                     &failure);
    if (lw_host_loop_stopped(&stop, 0))
        failed = -1;
    else if (failure.row != 0) {
        lw_raise_place place = {.kind = LW_AT_ELEMENT,
                                .index = {number_in_c_order(c, iter, &walk, failure.element)}};
        failed = lw_host_loop_raise(c->loop->scalar, failure.row, failure.words, &place);
    }
    return lw_direct_end((const lw_loop_head *)c->loop, c->self->base.table->numpy_name, saved,
                         failed);
}

static PyObject *
run_iterator(const ufunc_walk *c, NpyIter *iter)
{
    PyObject *result =
        run(c, iter) < 0 ? NULL : lw_results_of_iterator(iter, c->operands, c->nin, c->nout);

    if (NpyIter_Deallocate(iter) == NPY_FAIL)
        Py_CLEAR(result);
    return result;
}

bool
lw_ufunc_call_walk(lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                   PyObject *kwnames, PyObject **result)
{
    ufunc_walk c = {.self = self, .nin = self->base.nin, .nout = self->base.nout};
    NpyIter *iter = NULL;
    npy_intp shape[LW_WALK_DIMS];
    int ndim;
    int64_t n;

    if (n_args < c.nin || n_args > c.nin + c.nout || c.nin + c.nout >= LW_MAX_ARGS ||
        c.nout == 0 || !read_arrays(&c, args, n_args) ||
        !read_keywords(&c, args + n_args, kwnames, n_args > c.nin) || !outputs_are_apart(&c))
        return false;
    n = lw_broadcast(c.operands, c.nin + c.nout + 1, LW_WALK_DIMS, &ndim, shape);
    if (n < (c.masked ? FEWEST_MASKED : FEWEST))
        return false;
    if (find_loop(&c, args, n))
        iter = new_iterator(&c);
    *result = iter != NULL ? run_iterator(&c, iter) : NULL;
    for (int i = 0; i < c.nin; i++)
        Py_XDECREF((PyObject *)c.made[i]);
    return iter != NULL || !lw_left_to_numpy();
}
