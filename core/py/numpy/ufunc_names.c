#include "core/py/numpy/ufunc_names.h"

#include "core/py/numpy/ufunc_inner.h"
#include "core/py/keyword.h"
#include "core/py/text_py.h"

#include <stdarg.h>
#include <string.h>

static const char *const words[] = {"out",    "where", "order",     "casting",
                                    "dtype",  "subok", "signature", "sig",
                                    "stream", "axes",  "axis",      "keepdims"};

enum {
    N_WORDS = sizeof words / sizeof *words,
    N_OF_ITEMS = 3 /* the last ones, which gufuncs alone take */
};

bool
lw_ufunc_names_keyword(PyObject *name)
{
    for (size_t i = 0; i < N_WORDS; i++)
        if (PyUnicode_CompareWithASCIIString(name, words[i]) == 0)
            return true;
    return false;
}

static const lw_fn *
function_of(const lw_ufunc_head *self)
{
    return &self->tree->fns.data[1];
}

static int
n_positional(const lw_ufunc_head *self)
{
    uint32_t n = lw_fn_positional(function_of(self));

    return (int)(n < LW_PLACED_MAX ? n : LW_PLACED_MAX);
}

int
lw_ufunc_n_named(const lw_ufunc_head *self)
{
    const lw_fn *fn = function_of(self);
    uint32_t n = 0;

    while (n < fn->params.n && n < LW_PLACED_MAX && fn->params.data[n].kind != LW_PARAM_VARARG)
        n++;
    return (int)n;
}

static PyObject *
plain_function(PyObject *function)
{
    return PyMethod_Check(function) ? PyMethod_GET_FUNCTION(function) : function;
}

/* A TypeError that begins with the name; always -1. */
static int
refuse(const lw_ufunc_head *self, const char *format, ...)
{
    PyObject *name = lw_ufunc_shown_name(self), *text;
    va_list values;

    va_start(values, format);
    text = PyUnicode_FromFormatV(format, values);
    va_end(values);
    if (name != NULL && text != NULL)
        PyErr_Format(PyExc_TypeError, "%U() %U", name, text);
    Py_XDECREF(text);
    Py_XDECREF(name);
    return -1;
}

/* The default of a parameter as it is now (new reference); NULL: it has none. */
static PyObject *
default_of(const lw_ufunc_head *self, int param)
{
    PyObject *function = plain_function(self->py_func), *defaults = NULL, *value = NULL;
    int first = n_positional(self);
    Py_ssize_t at;

    if (param >= first) {
        if (PyFunction_Check(function) && param < lw_ufunc_n_named(self))
            defaults = PyObject_GetAttrString(function, "__kwdefaults__");
        if (defaults != NULL && PyDict_Check(defaults))
            value = Py_XNewRef(
                PyDict_GetItemString(defaults, function_of(self)->params.data[param].name));
    } else {
        if (PyFunction_Check(function))
            defaults = PyObject_GetAttrString(function, "__defaults__");
        at = defaults && PyTuple_Check(defaults) ? PyTuple_GET_SIZE(defaults) - (first - param)
                                                 : -1;
        if (at >= 0)
            value = Py_NewRef(PyTuple_GET_ITEM(defaults, at));
    }
    PyErr_Clear();
    Py_XDECREF(defaults);
    return value;
}

/* A parameter that the call has a value for, or that is no operand: it has a default, or it is
 * an output. */
static int
refuse_param(const lw_ufunc_head *self, int param)
{
    const char *name = function_of(self)->params.data[param].name;
    PyObject *value = param < self->nin ? NULL : default_of(self, param);

    Py_XDECREF(value);
    if (param < self->nin)
        return refuse(self, "got multiple values for argument '%s'", name);
    if (value != NULL)
        return refuse(self,
                      "got '%s', which has a default and is no operand of the layout, so that "
                      "it has this value in all calls: name it in static=, or leave out the "
                      "default and give it a place in the layout, as ()",
                      name);
    return refuse(self, "got the output '%s' by name: pass it by out=", name);
}

int
lw_ufunc_names_refuse(const lw_ufunc_head *self, PyObject *name)
{
    const char *known[N_WORDS + LW_PLACED_MAX];
    int n = lw_ufunc_n_named(self), n_words = N_WORDS;

    if (self->table->numpy_layout == NULL)
        n_words -= N_OF_ITEMS;
    memcpy(known, words, sizeof words);
    for (int i = 0; i < n; i++)
        if (function_of(self)->params.data[i].unnamed &&
            lw_text_is(name, function_of(self)->params.data[i].name))
            return lw_keyword_refuse_unnamed(self->table->name, name);
    for (int i = 0; self->numpys == NULL && i < n; i++)
        if (lw_text_is(name, function_of(self)->params.data[i].name))
            return refuse_param(self, i);
    for (int i = 0; i < n; i++)
        known[n_words + i] = function_of(self)->params.data[i].name;
    return lw_keyword_refuse(self->table->name, name, known, (size_t)n_words + (size_t)n);
}

static int
param_of(const lw_ufunc_head *self, PyObject *name, int n_params)
{
    const lw_fn *fn = function_of(self);

    for (int i = 0; i < n_params && !lw_ufunc_names_keyword(name); i++)
        if (!fn->params.data[i].unnamed && lw_text_is(name, fn->params.data[i].name))
            return i;
    return -1;
}

int
lw_ufunc_names_given(const lw_ufunc_head *self, Py_ssize_t n_args, PyObject *kwnames,
                     int n_params)
{
    int first = n_positional(self), most = n_params < first ? n_params : first;
    int given = n_args < most ? (int)n_args : most;

    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++) {
        int param = param_of(self, PyTuple_GET_ITEM(kwnames, i), n_params);
        if (param >= given)
            given = param + 1;
    }
    return given;
}

int
lw_ufunc_names_missing(const lw_ufunc_head *self, int param, PyObject *const *others,
                       Py_ssize_t n_others)
{
    for (Py_ssize_t i = 0; i < n_others; i++)
        if (!lw_ufunc_names_keyword(others[i]))
            return lw_ufunc_names_refuse(self, others[i]);
    return refuse(self, "missing a required argument: '%s'",
                  function_of(self)->params.data[param].name);
}

static int
fill_default(const lw_ufunc_head *self, int param, PyObject *others, lw_placed *out)
{
    PyObject *value = default_of(self, param);
    int failed;

    if (value == NULL)
        return lw_ufunc_names_missing(self, param, PySequence_Fast_ITEMS(others),
                                      PyList_GET_SIZE(others));
    if (out->owned == NULL)
        out->owned = PyList_New(0);
    failed = out->owned == NULL || PyList_Append(out->owned, value) < 0;
    out->args[param] = value;
    Py_DECREF(value); /* the list holds it */
    return failed ? -1 : 0;
}

/* Keywords that name operands go to their places, the others behind the positional ones. */
static int
place_keywords(const lw_ufunc_head *self, PyObject *const *values, PyObject *kwnames, int nin,
               PyObject *others, lw_placed *out)
{
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        int param = param_of(self, name, nin);
        if (param < 0) {
            if (PyList_Append(others, name) < 0)
                return -1;
            out->args[out->n_args + PyList_GET_SIZE(others) - 1] = values[i];
        } else if (out->args[param] != NULL) {
            return refuse(self, "got multiple values for argument '%.200U'", name);
        } else {
            out->args[param] = values[i];
        }
    }
    return 0;
}

bool
lw_ufunc_names_any(const lw_ufunc_head *self, Py_ssize_t n_args, PyObject *kwnames)
{
    PyObject *value;

    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++)
        if (param_of(self, PyTuple_GET_ITEM(kwnames, i), self->nin) >= 0)
            return true;
    value = n_args < self->nin ? default_of(self, (int)n_args) : NULL;
    Py_XDECREF(value);
    return value != NULL;
}

int
lw_ufunc_names_place(const lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args,
                     PyObject *kwnames, int nin, lw_placed *out)
{
    Py_ssize_t n_names = kwnames != NULL ? PyTuple_GET_SIZE(kwnames) : 0;
    Py_ssize_t first = n_positional(self) < nin ? n_positional(self) : nin;
    PyObject *others;
    int failed;

    if (n_args < first)
        first = n_args;
    *out = (lw_placed){.n_args = nin + (n_args - first)};
    if (out->n_args + n_names > LW_PLACED_MAX) {
        return refuse(self, "got %zd arguments", n_args + n_names);
    }
    memcpy(out->args, args, (size_t)first * sizeof *args);
    memcpy(out->args + nin, args + first,
           (size_t)(n_args - first) * sizeof *args); /* outputs */
    others = PyList_New(0);
    failed =
        others == NULL || place_keywords(self, args + n_args, kwnames, nin, others, out) < 0;
    for (int i = 0; !failed && i < nin; i++)
        failed = out->args[i] == NULL && fill_default(self, i, others, out) < 0;
    if (!failed && PyList_GET_SIZE(others) > 0)
        failed = (out->kwnames = PyList_AsTuple(others)) == NULL;
    Py_XDECREF(others);
    return failed ? -1 : 0;
}

void
lw_placed_drop(lw_placed *placed)
{
    Py_CLEAR(placed->kwnames);
    Py_CLEAR(placed->owned);
}

static int
show_one(const lw_ufunc_head *self, int i, bool named, PyObject *defaults, lw_text *out)
{
    const char *name = named ? function_of(self)->params.data[i].name : NULL;
    PyObject *text = name ? PyUnicode_FromString(name) : NULL, *value = NULL;

    if (name == NULL) {
        lw_text_addf(out, "_%d, ", i + 1);
        return 0;
    }
    if (text == NULL)
        return -1;
    lw_text_addf(out, lw_ufunc_names_keyword(text) ? "%s_" : "%s", name);
    Py_DECREF(text);
    value = default_of(self, i);
    if (value != NULL)
        lw_text_addf(out, "=_defaults[%zd]", PyList_GET_SIZE(defaults));
    lw_text_add(out, ", ");
    if (value != NULL && PyList_Append(defaults, value) < 0) {
        Py_DECREF(value);
        return -1;
    }
    Py_XDECREF(value);
    return 0;
}

int
lw_ufunc_names_show(const lw_ufunc_head *self, bool all, PyObject *defaults, lw_text *out)
{
    int n_named = lw_ufunc_n_named(self), first = n_positional(self);
    int n = all && n_named > self->nin ? n_named : self->nin, i = 0;

    for (; i < n && (i < first || i >= n_named); i++)
        if (show_one(self, i, i < n_named, defaults, out) < 0)
            return -1;
    lw_text_add(out, n > n_named ? "/, *, out=None, " : "*, out=None, ");
    for (; i < n; i++)
        if (show_one(self, i, true, defaults, out) < 0)
            return -1;
    return 0;
}

PyObject *
lw_function_without_defaults(PyObject *function)
{
    PyObject *plain = plain_function(function), *closure = PyFunction_GetClosure(plain), *copy;
    PyObject *qualified = PyObject_GetAttrString(plain, "__qualname__"), *result;

    if (qualified == NULL)
        return NULL;
    copy = PyFunction_NewWithQualName(PyFunction_GET_CODE(plain), PyFunction_GET_GLOBALS(plain),
                                      qualified);
    Py_DECREF(qualified);
    if (copy == NULL)
        return NULL;
    if ((closure != NULL && PyFunction_SetClosure(copy, closure) < 0) ||
        PyObject_SetAttrString(copy, LW_ALL_OPERANDS, Py_True) < 0) {
        Py_DECREF(copy);
        return NULL;
    }
    if (!PyMethod_Check(function))
        return copy;
    result = PyMethod_New(copy, PyMethod_GET_SELF(function));
    Py_DECREF(copy);
    return result;
}
