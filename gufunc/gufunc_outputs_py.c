/* sizes= on a NumPy that does not ask for sizes (before 2.1): outputs are made here, with the
 * shapes and dtypes that NumPy would give them, and handed to it as `out`. */
#include "core/front/read/python.h"
#include "gufunc/gufunc_parts_py.h"

#include "core/py/raise.h"
#include "core/py/text_py.h"
#include "gufunc/core/core_shape.h"

#include <string.h>

static bool always; /* for tests on newer versions */

enum { API_OF_2_1 = 0x13, MOST_VALUES = LW_MAX_OPERANDS + 16 };

typedef struct call {
    lw_gufunc_object *self;
    PyObject *inputs[LW_MAX_OPERANDS]; /* owned arrays */
    PyObject *outputs[LW_MAX_OPERANDS];
    lw_core_view views[LW_MAX_OPERANDS];
    lw_dtype dtypes[LW_MAX_OPERANDS];
    char weak[LW_MAX_OPERANDS];
    bool made[LW_MAX_OPERANDS]; /* of the outputs: here */
    bool names_out;
    PyObject *out, *signature, *dtype, *casting, *order; /* borrowed */
    lw_core_shape shape;
} call;

bool
lw_gufunc_makes_outputs(const lw_gufunc_object *self, PyObject *kwnames)
{
    static const char *const words[] = {"axes", "axis"};

    if (self->base.sizes == NULL ||
        (!always && PyArray_GetNDArrayCFeatureVersion() >= API_OF_2_1))
        return false;
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++)
        if (lw_text_is_among(PyTuple_GET_ITEM(kwnames, i), words, 2))
            return false;
    return true;
}

static void
read_keywords(call *c, PyObject *const *values, PyObject *kwnames)
{
    const struct {
        const char *name;
        PyObject **to;
    } fields[] = {{"out", &c->out},     {"signature", &c->signature}, {"sig", &c->signature},
                  {"dtype", &c->dtype}, {"casting", &c->casting},     {"order", &c->order}};

    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++)
        c->names_out |=
            PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "out") == 0;
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++)
        for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
            if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i),
                                                 fields[k].name) == 0 &&
                values[i] != Py_None)
                *fields[k].to = values[i];
}

static int
read_inputs(call *c, PyObject *const *args)
{
    for (int i = 0; i < c->self->base.nin; i++) {
        PyArrayObject *array = (PyArrayObject *)PyArray_FROM_O(args[i]);
        if (array == NULL)
            return -1;
        c->inputs[i] = (PyObject *)array;
        c->views[i] = (lw_core_view){.present = true,
                                     .ndim = PyArray_NDIM(array),
                                     .shape = (const int64_t *)PyArray_DIMS(array),
                                     .strides = (const int64_t *)PyArray_STRIDES(array)};
        c->weak[i] = lw_weak_kind(args[i]);
        c->dtypes[i] = lw_dtype_from_num(PyArray_TYPE(array));
        if (c->dtypes[i] == LW_DT_void) {
            PyErr_Format(PyExc_TypeError,
                         "%s(): argument %d has a dtype it cannot take: %.200R",
                         c->self->base.table->name, i + 1, (PyObject *)PyArray_DESCR(array));
            return -1;
        }
    }
    return 0;
}

/* The output that the call gives, borrowed; NULL: none. */
static PyObject *
given_output(const call *c, PyObject *const *args, Py_ssize_t n_args, int which)
{
    PyObject *object = NULL;

    if (n_args > c->self->base.nin + which)
        object = args[c->self->base.nin + which];
    else if (c->out != NULL && !PyTuple_Check(c->out))
        object = which == 0 ? c->out : NULL;
    else if (c->out != NULL && which < PyTuple_GET_SIZE(c->out))
        object = PyTuple_GET_ITEM(c->out, which);
    return object == Py_None ? NULL : object;
}

/* false: NumPy says what is wrong with them. */
static bool
read_outputs(call *c, PyObject *const *args, Py_ssize_t n_args)
{
    int nin = c->self->base.nin, nout = c->self->base.nout;

    if (n_args < nin || n_args > nin + nout || (n_args > nin && c->out != NULL) ||
        (c->out && PyTuple_Check(c->out) ? PyTuple_GET_SIZE(c->out) != nout
                                         : c->out && nout > 1))
        return false;
    for (int i = 0; i < nout; i++) {
        PyObject *object = given_output(c, args, n_args, i);
        PyArrayObject *array = (PyArrayObject *)object;
        if (object == NULL)
            continue;
        if (!PyArray_Check(object))
            return false;
        c->outputs[i] = Py_NewRef(object);
        c->views[nin + i] = (lw_core_view){.present = true,
                                           .ndim = PyArray_NDIM(array),
                                           .shape = (const int64_t *)PyArray_DIMS(array),
                                           .strides = (const int64_t *)PyArray_STRIDES(array)};
    }
    return true;
}

static int
match_shapes(call *c)
{
    lw_error err = {0};
    lw_status status;

    LW_TRY(
        lw_core_shape_init(&c->shape, &c->self->base.layout, c->self->base.table->name, &err));
    LW_TRY(lw_core_shape_dims(&c->shape, c->views, false, &err));
    LW_TRY(lw_core_shape_sizes(&c->shape, c->views, &err));
    if (lw_gufunc_fill_sizes(&c->self->base, c->shape.sizes) < 0)
        return -1;
    LW_TRY(lw_core_shape_loop(&c->shape, c->views, &err));
    return 0;
fail:
    lw_py_raise(&err);
    lw_gufunc_show_names(c->self);
    return -1;
}

static bool
wants_fortran(const call *c)
{
    const char *order =
        c->order && PyUnicode_Check(c->order) ? PyUnicode_AsUTF8(c->order) : NULL;

    PyErr_Clear();
    return order != NULL && (order[0] == 'F' || order[0] == 'f');
}

static int
make_outputs(call *c)
{
    int nin = c->self->base.nin;
    const lw_call_rules rules = {c->signature, c->dtype, c->casting};
    const lw_gufunc_loop *loop =
        lw_loops_of_call((lw_ufunc_head *)c->self, c->dtypes, c->weak, &rules);

    for (int i = 0; loop != NULL && i < c->self->base.nout; i++) {
        int64_t shape[LW_SHAPE_DIMS];
        int ndim;
        if (c->outputs[i] != NULL)
            continue;
        ndim = lw_core_shape_result(&c->shape, nin + i, shape);
        c->outputs[i] = PyArray_EMPTY(ndim, (npy_intp *)shape,
                                      lw_type_num(loop->types[nin + i]), wants_fortran(c));
        if (c->outputs[i] == NULL)
            return -1;
        c->made[i] = true;
    }
    return loop ? 0 : -1;
}

/* As NumPy gives what it has made: an array of no dimensions is a scalar. */
static PyObject *
as_result(const call *c, int which, PyObject *result)
{
    Py_INCREF(result);
    return c->made[which] && PyArray_Check(result) ? PyArray_Return((PyArrayObject *)result)
                                                   : result;
}

static PyObject *
as_results(const call *c, PyObject *result)
{
    PyObject *tuple;

    if (result == NULL || !PyTuple_CheckExact(result))
        return result ? as_result(c, 0, result) : NULL;
    tuple = PyTuple_New(PyTuple_GET_SIZE(result));
    for (Py_ssize_t i = 0; tuple != NULL && i < PyTuple_GET_SIZE(result); i++)
        lw_tuple_put(&tuple, i, as_result(c, (int)i, PyTuple_GET_ITEM(result, i)));
    return tuple;
}

/* The same call with all outputs given by position. */
static PyObject *
call_filled(const call *c, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    int nin = c->self->base.nin, nout = c->self->base.nout;
    Py_ssize_t n_words = kwnames ? PyTuple_GET_SIZE(kwnames) : 0, n = nin + nout, k = 0;
    PyObject *values[MOST_VALUES], *names = PyTuple_New(n_words - c->names_out);
    PyObject *result = NULL, *shown = NULL;

    if (names == NULL)
        return NULL;
    memcpy(values, args, (size_t)nin * sizeof *values);
    memcpy(values + nin, c->outputs, (size_t)nout * sizeof *values);
    for (Py_ssize_t i = 0; i < n_words; i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "out") == 0)
            continue;
        values[n + k] = args[n_args + i];
        PyTuple_SET_ITEM(names, k++, Py_NewRef(PyTuple_GET_ITEM(kwnames, i)));
    }
    result = lw_gufunc_call_numpy(c->self, values, (size_t)n, names);
    shown = as_results(c, result);
    Py_XDECREF(result);
    Py_DECREF(names);
    return shown;
}

PyObject *
lw_gufunc_call_made(lw_gufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                    PyObject *kwnames)
{
    int n = self->base.nin + self->base.nout;
    PyObject *result = NULL;
    call c;

    memset(&c, 0, offsetof(call, shape));
    c.self = self;
    read_keywords(&c, args + n_args, kwnames);
    if (n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0) > MOST_VALUES ||
        !read_outputs(&c, args, n_args))
        result = lw_gufunc_call_numpy(self, args, (size_t)n_args, kwnames);
    else if (read_inputs(&c, args) == 0 && match_shapes(&c) == 0 && make_outputs(&c) == 0)
        result = call_filled(&c, args, n_args, kwnames);
    for (int i = 0; i < self->base.nin; i++)
        Py_XDECREF(c.inputs[i]);
    for (int i = 0; i < self->base.nout; i++)
        Py_XDECREF(c.outputs[i]);
    return result;
}

PyObject *
lw_gufunc_make_outputs_always(PyObject *Py_UNUSED(module), PyObject *on)
{
    int truth = PyObject_IsTrue(on);

    if (truth < 0)
        return NULL;
    always = truth;
    Py_RETURN_NONE;
}
