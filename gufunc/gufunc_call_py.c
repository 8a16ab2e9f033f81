/* The call: look at the operands once, then go to NumPy's inner gufunc, to the device, or to
 * whoever overrides. */
#include "gufunc/gufunc_parts_py.h"

#include "core/py/args.h"
#include "core/py/host_cuda.h"
#include "core/py/raise.h"
#include "core/py/ufunc_names.h"

#include <string.h>

enum { PLAIN = LW_SORT_PLAIN, DEVICE = LW_SORT_DEVICE, OTHER = LW_SORT_OTHER };

static bool
is_plain(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    return type == &PyArray_Type || type == &PyFloat_Type || type == &PyLong_Type ||
           type == &PyDoubleArrType_Type || type == &PyFloatArrType_Type ||
           type == Py_TYPE(Py_None) || type == &PyBool_Type || type == &PyComplex_Type;
}

static int
sort_of(PyObject *object)
{
    if (is_plain(object))
        return PLAIN;
    if (lw_is_device_array(object)) /* its own override leads back here */
        return DEVICE;
    if (lw_is_device_operand(object))
        return lw_is_known_library(object) || !lw_has_override(object) ? DEVICE
                                                                       : DEVICE | OTHER;
    return lw_has_override(object) ? OTHER : PLAIN;
}

static int
sort_of_out(PyObject *out)
{
    int seen = PLAIN;

    if (!PyTuple_CheckExact(out))
        return sort_of(out);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out); i++)
        seen |= sort_of(PyTuple_GET_ITEM(out, i));
    return seen;
}

typedef struct seen {
    int sorts;
    Py_ssize_t stream; /* where stream= stands among args, or -1 */
} seen;

static seen
look(PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    seen s = {.sorts = PLAIN, .stream = -1};

    for (Py_ssize_t i = 0; i < n_args; i++)
        if (!is_plain(args[i]))
            s.sorts |= sort_of_out(args[i]);
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i), *value = args[n_args + i];
        if (PyUnicode_CompareWithASCIIString(name, "stream") == 0)
            s.stream = n_args + i;
        else if (!is_plain(value) && PyUnicode_CompareWithASCIIString(name, "out") == 0)
            s.sorts |= sort_of_out(value);
    }
    return s;
}

/* ---- host calls ---- */

enum { MOST_ARGUMENTS = LW_MAX_OPERANDS + 16 };

PyObject *
lw_gufunc_call_numpy(lw_gufunc_object *self, PyObject *const *args, size_t nargsf,
                     PyObject *kwnames)
{
    Py_ssize_t n_args = PyVectorcall_NARGS(nargsf), n = n_args;
    int nin = self->base.nin;
    PyObject *values[MOST_ARGUMENTS], *result;

    n += kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (!self->base.layout.has_broadcast || n_args < nin || n > MOST_ARGUMENTS)
        return lw_inner_call((lw_ufunc_head *)self, args, nargsf, kwnames);
    if (lw_gufunc_stretch(&self->base, args, n_args, kwnames, values) < 0)
        return NULL;
    memcpy(values + nin, args + nin, (size_t)(n - nin) * sizeof *values);
    result = lw_inner_call((lw_ufunc_head *)self, values, (size_t)n_args, kwnames);
    for (int k = 0; k < nin; k++)
        Py_DECREF(values[k]);
    return result;
}

static PyObject *
call_sized(lw_gufunc_object *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (lw_gufunc_makes_outputs(self, kwnames))
        return lw_gufunc_call_made(self, args, PyVectorcall_NARGS(nargsf), kwnames);
    return lw_gufunc_call_numpy(self, args, nargsf, kwnames);
}

/* stream= means nothing to host memory: None and 0 say so too and are taken out. */
static PyObject *
without_stream(lw_gufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
               PyObject *kwnames, Py_ssize_t stream)
{
    Py_ssize_t n = PyTuple_GET_SIZE(kwnames), at = stream - n_args;
    PyObject *values[MOST_ARGUMENTS], *names, *result;

    if (!lw_stream_says_nothing(args[stream]))
        return PyErr_Format(
            PyExc_TypeError,
            "stream= is for device arrays; `%s` was called with host operands only",
            self->table->name);
    if (n_args + n > MOST_ARGUMENTS)
        return PyErr_Format(PyExc_TypeError, "`%s` got %zd arguments", self->table->name,
                            n_args + n);
    names = PyTuple_New(n - 1);
    if (names == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        if (i != at)
            PyTuple_SET_ITEM(names, i - (i > at), Py_NewRef(PyTuple_GET_ITEM(kwnames, i)));
    memcpy(values, args, (size_t)stream * sizeof *values);
    memcpy(values + stream, args + stream + 1, (size_t)(n - at - 1) * sizeof *values);
    result = call_sized(self, values, (size_t)n_args, names);
    Py_DECREF(names);
    return result;
}

PyObject *
lw_gufunc_call_host(lw_gufunc_object *self, PyObject *const *args, size_t nargsf,
                    PyObject *kwnames, Py_ssize_t stream)
{
    lw_gufunc_items_reset();
    if (stream >= 0)
        return without_stream(self, args, PyVectorcall_NARGS(nargsf), kwnames, stream);
    return call_sized(self, args, nargsf, kwnames);
}

/* ---- device calls ---- */

PyObject *
lw_gufunc_call_device(lw_gufunc_object *self, PyObject *const *args, size_t nargsf,
                      PyObject *kwnames, lw_extra_arrays *extra)
{
    lw_error err = {0};

    if (lw_gufunc_device.call != NULL)
        return lw_gufunc_device.call(&self->base, args, nargsf, kwnames, extra);
    lw_fail(&err, LW_ERR_UNSUPPORTED, "`%s`: this build runs guvectorize on host arrays only",
            self->table->name);
    return lw_py_raise(&err);
}

PyObject *
lw_gufunc_refuse_device(const lw_gufunc_object *self)
{
    return PyErr_Format(
        PyExc_TypeError,
        "`%s` was made with target=\"cpu\" and got a device array: use target=\"auto\", "
        "or copy the array to the host",
        self->table->name);
}

static int
ask_overrides(lw_gufunc_object *self, const char *method, PyObject *const *args,
              Py_ssize_t n_args, PyObject *kwnames, int nin, PyObject **result)
{
    const lw_overridden face = {.object = lw_ufunc_head_face((lw_ufunc_head *)self),
                                .face = lw_ufunc_head_face((lw_ufunc_head *)self),
                                .name = self->table->name,
                                .nin = nin,
                                .has_layout = true,
                                .inputs_by_name = self->base.family != NULL,
                                .nout = self->base.nout};

    return lw_override(&face, method, args, n_args, kwnames, result);
}

static PyObject *call_now(PyObject *object, PyObject *const *args, size_t nargsf,
                          PyObject *kwnames);

int
lw_gufunc_ask(lw_gufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
              PyObject *kwnames, int nin, PyObject **result)
{
    return ask_overrides(self, "__call__", args, n_args, kwnames, nin, result);
}

int
lw_gufunc_sorts(PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    Py_ssize_t n = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    int sorts = LW_SORT_PLAIN;

    for (Py_ssize_t i = 0; i < n; i++)
        if (!is_plain(args[i]))
            sorts |= sort_of_out(args[i]);
    return sorts;
}

static PyObject *
call_by_names(lw_gufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
              PyObject *kwnames)
{
    PyObject *result = NULL;
    lw_placed call;

    if (lw_ufunc_names_place((lw_ufunc_head *)self, args, n_args, kwnames, self->base.nin,
                             &call) == 0)
        result = call_now((PyObject *)self, call.args, (size_t)call.n_args, call.kwnames);
    lw_placed_drop(&call);
    return result;
}

static PyObject *
call_now(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    lw_gufunc_object *self = (lw_gufunc_object *)object;
    lw_target_choice target = self->base.options.target;
    seen s = look(args, PyVectorcall_NARGS(nargsf), kwnames);
    PyObject *result;

    if (self->base.family != NULL)
        return lw_family_call((lw_ufunc_head *)self, args, PyVectorcall_NARGS(nargsf), kwnames);
    if (PyVectorcall_NARGS(nargsf) < self->base.nin &&
        lw_ufunc_names_any((lw_ufunc_head *)self, PyVectorcall_NARGS(nargsf), kwnames))
        return call_by_names(self, args, PyVectorcall_NARGS(nargsf), kwnames);
    if ((s.sorts & OTHER) && ask_overrides(self, "__call__", args, PyVectorcall_NARGS(nargsf),
                                           kwnames, self->base.nin, &result))
        return result;
    if ((s.sorts & DEVICE) && target == LW_CHOOSE_CPU)
        return lw_gufunc_refuse_device(self);
    if ((s.sorts & DEVICE) || target == LW_CHOOSE_CUDA)
        return lw_gufunc_call_device(self, args, nargsf, kwnames, NULL);
    return lw_gufunc_call_host(self, args, nargsf, kwnames, s.stream);
}

PyObject *
lw_gufunc_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *current = lw_gufunc_current((lw_ufunc_head *)object), *result = NULL;

    if (current != NULL)
        result = call_now(current, args, nargsf, kwnames);
    Py_XDECREF(current);
    return result;
}

/* ---- methods: NumPy says what a generalized ufunc has not ---- */

PyObject *
lw_gufunc_call_method(lw_ufunc_head *head, lw_ufunc_method id, PyObject *const *args,
                      Py_ssize_t n_args, PyObject *kwnames)
{
    lw_gufunc_object *self = (lw_gufunc_object *)lw_gufunc_current(head);
    uint32_t n_loops = self ? self->base.loops.n : 0;
    PyObject *bound, *result = NULL;

    bound = self ? PyObject_GetAttrString(self->base.inner, lw_ufunc_method_names[id]) : NULL;
    if (bound != NULL)
        result = PyObject_Vectorcall(bound, args, (size_t)n_args, kwnames);
    if (bound != NULL && result == NULL &&
        lw_inner_should_ask_again((lw_ufunc_head *)self, n_loops))
        result = PyObject_Vectorcall(bound, args, (size_t)n_args, kwnames);
    Py_XDECREF(bound);
    Py_XDECREF((PyObject *)self);
    return result;
}
