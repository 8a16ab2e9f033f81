/* The arguments of a call as the user wrote them -> one row in the order of the parameters. */
#include "core/py/numpy_api.h"

#include "forall/kernel_py.h"

#include "core/py/keyword.h"
#include "core/py/text_py.h"

#include <string.h>

static const lw_fn *
function_of(const lw_function *self)
{
    return &self->tree->fns.data[1];
}

static Py_ssize_t
too_many(const lw_function *self, uint32_t most, Py_ssize_t given)
{
    PyErr_Format(PyExc_TypeError, "%s() takes %u positional argument%s%s but %zd %s given",
                 lw_function_name(self), most, most == 1 ? "" : "s",
                 self->n_index ? " behind the index" : "", given, given == 1 ? "was" : "were");
    return -1;
}

/* The candidates for a similar keyword are the parameters and the options of a call. */
static int
refuse_keyword(const lw_function *self, PyObject *name)
{
    const lw_fn *fn = function_of(self);
    const char *names[LW_MOST_ARRANGED + 3];
    size_t n = 0;

    for (uint32_t i = self->n_index; i < fn->params.n && n < LW_MOST_ARRANGED; i++)
        names[n++] = fn->params.data[i].name;
    if (self->n_index > 0) { /* forall */
        names[n++] = "stream";
        names[n++] = "tpb";
        names[n++] = "sharedmem";
    }
    return lw_keyword_refuse(lw_function_name(self), name, names, n);
}

/* out: the row from the first parameter after the index on. */
static int
place_keyword(const lw_function *self, PyObject *name, PyObject *value, PyObject **out)
{
    const lw_fn *fn = function_of(self);

    for (uint32_t i = self->n_index; i < fn->params.n; i++) {
        if (fn->params.data[i].kind == LW_PARAM_VARARG ||
            !lw_text_is(name, fn->params.data[i].name))
            continue;
        if (fn->params.data[i].unnamed)
            return lw_keyword_refuse_unnamed(lw_function_name(self), name);
        if (out[i - self->n_index] != NULL) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%.200U'",
                         lw_function_name(self), name);
            return -1;
        }
        out[i - self->n_index] = value;
        return 0;
    }
    return refuse_keyword(self, name);
}

/* The default of a parameter that was left out before one that was given (borrowed: the
 * function keeps it); of `*args` the empty tuple, of which Python has one for good. NULL with
 * an exception. */
static PyObject *
default_of(const lw_function *self, uint32_t at)
{
    const lw_fn *fn = function_of(self);
    const lw_fn_param *param = &fn->params.data[at];
    bool by_name = param->kind == LW_PARAM_KEYWORD_ONLY;
    PyObject *all, *value = NULL;

    if (param->kind == LW_PARAM_VARARG) {
        value = PyTuple_New(0);
        Py_XDECREF(value);
        return value;
    }
    all = PyObject_GetAttrString(self->py_func, by_name ? "__kwdefaults__" : "__defaults__");
    if (all == NULL)
        return NULL;
    if (by_name && PyDict_Check(all))
        value = PyDict_GetItemString(all, param->name);
    else if (!by_name && PyTuple_Check(all)) {
        Py_ssize_t k =
            (Py_ssize_t)at - ((Py_ssize_t)lw_fn_positional(fn) - PyTuple_GET_SIZE(all));
        value = k >= 0 && k < PyTuple_GET_SIZE(all) ? PyTuple_GET_ITEM(all, k) : NULL;
    }
    Py_DECREF(all);
    if (value == NULL && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s() missing a required argument: '%s'",
                     lw_function_name(self), param->name);
    return value;
}

Py_ssize_t
lw_function_arrange(const lw_function *self, PyObject *const *args, Py_ssize_t n_args,
                    PyObject *kwnames, bool (*is_option)(PyObject *name), PyObject **out)
{
    const lw_fn *fn = function_of(self);
    Py_ssize_t n_keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0, n = n_args;
    uint32_t most = lw_fn_positional(fn) - self->n_index, all = fn->params.n - self->n_index;

    if (n_args > (Py_ssize_t)most)
        return too_many(self, most, n_args);
    if (all > LW_MOST_ARRANGED) {
        PyErr_Format(PyExc_TypeError, "%s() has %u parameters; expected at most %d",
                     lw_function_name(self), (unsigned)all, LW_MOST_ARRANGED);
        return -1;
    }
    memcpy(out, args, (size_t)n_args * sizeof *out);
    if (n_args == (Py_ssize_t)all && n_keywords == 0)
        return n_args;
    memset(out + n_args, 0, (all - (size_t)n_args) * sizeof *out);
    for (Py_ssize_t i = 0; i < n_keywords; i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        if (!(is_option && is_option(name)) &&
            place_keyword(self, name, args[n_args + i], out) < 0)
            return -1;
    }
    for (uint32_t i = (uint32_t)n_args; i < all; i++)
        if (out[i] != NULL || fn->params.data[self->n_index + i].default_constant == 0)
            n = i + 1;
    for (Py_ssize_t i = n_args; i < n; i++)
        if (out[i] == NULL && (out[i] = default_of(self, self->n_index + (uint32_t)i)) == NULL)
            return -1;
    return n;
}
