/* NEP 13, as numpy/_core/src/umath/override.c does it for real ufuncs, but with our object in
 * the call: operands that define `__array_ufunc__` are asked before anything else happens.
 * Device arrays are operands of ours, so their own `__array_ufunc__` (made for numpy.ufunc) is
 * not asked, nor is that of the host arrays that stand for them. */
#include "core/py/numpy_api.h"

#include "core/py/numpy/override.h"

#include "core/base/text.h"
#include "core/front/read/services.h"
#include "core/py/array/args.h"
#include "core/py/array/host_view.h"
#include "core/py/keyword.h"
#include "core/py/numpy/object_operands.h"
#include "core/py/text_py.h"

#include <string.h>

enum { MOST = 64 + 2 }; /* operands, out= entries counted among them, where= */

typedef struct overrides {
    int n;
    PyObject *objects[MOST]; /* borrowed */
    PyObject *methods[MOST]; /* owned: the types' __array_ufunc__ */
} overrides;

/* ---- finding them ---- */

static bool
never_overrides(PyTypeObject *type)
{
    return type == &PyArray_Type || type == &PyFloat_Type || type == &PyLong_Type ||
           type == &PyBool_Type || type == &PyComplex_Type || type == &PyList_Type ||
           type == &PyTuple_Type || type == Py_TYPE(Py_None) || type == &PyUnicode_Type ||
           type == Py_TYPE(Py_Ellipsis) ||
           (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
            PyType_IsSubtype(type, &PyGenericArrType_Type));
}

/* Whether arrays of the type stand for device arrays on the CPU: operands of ours as well. */
static bool
stands_in(PyTypeObject *type)
{
    return PyType_IsSubtype(type, &PyArray_Type) && lw_args_type_has(type, "__lanewise_live__");
}

/* New reference, or NULL without an exception: nothing of its own. */
static PyObject *
override_of(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *name, *method, *default_method;

    if (never_overrides(type))
        return NULL;
    name = PyUnicode_InternFromString("__array_ufunc__");
    if (name == NULL) {
        PyErr_Clear();
        return NULL;
    }
    method = _PyType_Lookup(type, name); /* borrowed; no exception */
    default_method = method ? _PyType_Lookup(&PyArray_Type, name) : NULL;
    Py_DECREF(name);
    if (method == NULL || method == default_method || stands_in(type))
        return NULL;
    return Py_NewRef(method);
}

bool
lw_has_override(PyObject *object)
{
    PyObject *method = override_of(object);

    Py_XDECREF(method);
    return method != NULL;
}

bool
lw_wraps_results(PyObject *object)
{
    PyObject *name;
    bool found;

    if (never_overrides(Py_TYPE(object)) || PyArray_Check(object))
        return false;
    name = PyUnicode_InternFromString("__array_wrap__");
    found = name != NULL && _PyType_Lookup(Py_TYPE(object), name) != NULL;
    Py_XDECREF(name);
    PyErr_Clear();
    return found;
}

/* at: the position of an operand, -1 for where=. */
static int
refuse_missing(PyObject *object, Py_ssize_t at)
{
    char what[32] = "where=";

    if (at >= 0)
        PyOS_snprintf(what, sizeof what, "argument %zd", at + 1);
    return lw_refuse_container(object, false, what);
}

static int
look(overrides *o, const lw_overridden *self, PyObject *object, Py_ssize_t at)
{
    PyObject *method;

    if (object == NULL || never_overrides(Py_TYPE(object)))
        return 0;
    /* pandas computes with what lies behind missing values, and says afterwards that these
     * elements of the result are missing: right for each element by itself, not for items. */
    if (self->has_items && !PyArray_Check(object) && !lw_is_device_operand(object) &&
        refuse_missing(object, at) < 0)
        return -1;
    for (int i = 0; i < o->n; i++)
        if (Py_TYPE(o->objects[i]) == Py_TYPE(object))
            return 0;
    method = override_of(object);
    if (method == NULL) /* NumPy would make NaN of nulls in silence */
        return lw_has_arrow_memory(object) ? refuse_missing(object, at) : 0;
    if (method == Py_None) {
        PyErr_Format(PyExc_TypeError,
                     "operand '%.200s' does not support ufuncs (__array_ufunc__=None); `%s` "
                     "cannot take it",
                     Py_TYPE(object)->tp_name, self->name);
        Py_DECREF(method);
        return -1;
    }
    if (lw_is_device_operand(object) || o->n == MOST) {
        Py_DECREF(method);
        return 0;
    }
    o->objects[o->n] = object;
    o->methods[o->n++] = method;
    return 0;
}

static int
look_at_out(overrides *o, const lw_overridden *self, PyObject *out, Py_ssize_t at)
{
    if (!PyTuple_CheckExact(out))
        return look(o, self, out, at);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out); i++)
        if (look(o, self, PyTuple_GET_ITEM(out, i), at + i) < 0)
            return -1;
    return 0;
}

/* Inputs, then outputs, then where: positional ones are already in that order. */
static int
find(overrides *o, const lw_overridden *self, PyObject *const *args, Py_ssize_t n_args,
     PyObject *kwnames)
{
    Py_ssize_t n_keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    PyObject *out = NULL, *where = NULL;

    for (Py_ssize_t i = 0; i < n_args; i++)
        if (look_at_out(o, self, args[i], i) < 0)
            return -1;
    for (Py_ssize_t i = 0; i < n_keywords; i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        if (PyUnicode_CompareWithASCIIString(name, "out") == 0)
            out = args[n_args + i];
        else if (PyUnicode_CompareWithASCIIString(name, "where") == 0)
            where = args[n_args + i];
        else if (self->inputs_by_name && look(o, self, args[n_args + i], n_args + i) < 0)
            return -1;
    }
    if (out != NULL && look_at_out(o, self, out, self->nin) < 0)
        return -1;
    return where != NULL ? look(o, self, where, -1) : 0;
}

/* ---- arguments as __array_ufunc__ wants them ---- */

/* The names of a method's positional parameters after its operands; NULL ends them. */
typedef struct shape {
    const char *method;
    int n_operands;          /* -1: the ufunc's inputs */
    const char *const *rest; /* what further positionals are called */
    int least, most;         /* of positional arguments, where they are not checked before */
} shape;

static const char *const rest_of_reduce[] = {"axis",    "dtype", "out", "keepdims",
                                             "initial", "where", NULL};
static const char *const rest_of_accumulate[] = {"axis", "dtype", "out", NULL};
static const char *const rest_of_nothing[] = {NULL};

static const shape shapes[] = {
    {"__call__", -1, rest_of_nothing, 0, MOST},  {"reduce", 1, rest_of_reduce, 1, 7},
    {"accumulate", 1, rest_of_accumulate, 1, 4}, {"reduceat", 2, rest_of_accumulate, 2, 5},
    {"outer", 2, rest_of_nothing, 2, 2},         {"at", 3, rest_of_nothing, 2, 3},
};

static const shape *
shape_of(const char *method)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(shapes[i].method, method) == 0)
            return &shapes[i];
    return &shapes[0];
}

/* out=x and out=(x,) are one thing to the receiver; all None is no out. */
static int
set_out(PyObject *kwargs, PyObject *out)
{
    PyObject *tuple = PyTuple_CheckExact(out) ? Py_NewRef(out) : PyTuple_Pack(1, out);
    bool any = false;
    int result = 0;

    if (tuple == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
        any |=
            PyTuple_GET_ITEM(tuple, i) != Py_None && PyTuple_GET_ITEM(tuple, i) != Py_Ellipsis;
    if (any)
        result = PyDict_SetItemString(kwargs, "out", tuple);
    Py_DECREF(tuple);
    return result;
}

/* numpy._NoValue: as if it were not given. */
static bool
says_nothing(PyObject *value)
{
    return strcmp(Py_TYPE(value)->tp_name, "_NoValueType") == 0;
}

static int
set_keyword(PyObject *kwargs, PyObject *name, PyObject *value)
{
    if (PyUnicode_CompareWithASCIIString(name, "out") == 0)
        return set_out(kwargs, value);
    if (PyUnicode_CompareWithASCIIString(name, "sig") == 0)
        return PyDict_SetItemString(kwargs, "signature", value);
    if (PyUnicode_CompareWithASCIIString(name, "initial") == 0 && says_nothing(value))
        return 0;
    return PyDict_SetItem(kwargs, name, value);
}

static int
set_positional_out(PyObject *kwargs, PyObject *const *args, Py_ssize_t n, int nout)
{
    PyObject *tuple = PyTuple_New(nout);
    int result;

    if (tuple == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < nout; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(i < n ? args[i] : Py_None));
    result = set_out(kwargs, tuple);
    Py_DECREF(tuple);
    return result;
}

static int
too_many(const lw_overridden *self, const char *method, Py_ssize_t n_args)
{
    PyErr_Format(PyExc_TypeError, "`%s`.%s() got %zd positional arguments", self->name, method,
                 n_args);
    return -1;
}

static PyObject *
keyword_of(PyObject *const *values, PyObject *kwnames, const char *name)
{
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), name) == 0)
            return values[i];
    return NULL;
}

static int
check_pairs(PyObject *const *values, PyObject *kwnames)
{
    static const char *const pairs[][2] = {
        {"sig", "signature"}, {"signature", "dtype"}, {"sig", "dtype"}, {"axis", "axes"}};

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        PyObject *a = keyword_of(values, kwnames, pairs[i][0]),
                 *b = keyword_of(values, kwnames, pairs[i][1]);
        if (a == NULL || b == NULL)
            continue;
        PyErr_Format(PyExc_TypeError, "cannot specify both '%s' and '%s'",
                     i == 2 ? "signature" : pairs[i][0], pairs[i][1]);
        return -1;
    }
    return 0;
}

/* A method's argument by position and by name, and the outputs of one that has one output. */
static int
check_method(const shape *form, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    if (check_pairs(args + n_args, kwnames) < 0)
        return -1;
    for (Py_ssize_t k = 0; kwnames != NULL && k < PyTuple_GET_SIZE(kwnames); k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k), *value = args[n_args + k];
        for (Py_ssize_t i = form->n_operands; i < n_args; i++)
            if (PyUnicode_CompareWithASCIIString(name, form->rest[i - form->n_operands]) == 0) {
                PyErr_Format(PyExc_TypeError,
                             "argument for %s() given by name ('%U') and position (%zd)",
                             form->method, name, i);
                return -1;
            }
        if (PyUnicode_CompareWithASCIIString(name, "out") == 0 && PyTuple_CheckExact(value) &&
            PyTuple_GET_SIZE(value) != 1) {
            PyErr_SetString(PyExc_ValueError, "The 'out' tuple must have exactly one entry");
            return -1;
        }
    }
    return 0;
}

/* The keywords of the call; *n_operands of args stay positional. NULL with an exception. */
static PyObject *
keywords_of(const lw_overridden *self, const shape *form, PyObject *const *args,
            Py_ssize_t n_args, PyObject *kwnames, Py_ssize_t *n_operands)
{
    PyObject *kwargs = PyDict_New();
    Py_ssize_t n = form->n_operands < 0 ? self->nin : form->n_operands;
    int failed = 0;

    if (kwargs == NULL)
        return NULL;
    if (n_args < form->least || n_args > form->most) {
        Py_DECREF(kwargs);
        PyErr_Format(PyExc_TypeError, "%s() takes %d or %d positional arguments, not %zd",
                     form->method, form->least, form->most, n_args);
        return NULL;
    }
    *n_operands = n_args < n ? n_args : n;
    if (form->n_operands < 0 && n_args > n + self->nout)
        failed = too_many(self, form->method, n_args);
    else if (form->n_operands < 0 && n_args > n)
        failed = set_positional_out(kwargs, args + n, n_args - n, self->nout);
    for (Py_ssize_t i = n; form->n_operands >= 0 && !failed && i < n_args; i++) {
        const char *name = form->rest[i - n];
        if (name == NULL)
            failed = too_many(self, form->method, n_args);
        else if (strcmp(name, "out") == 0)
            failed = set_out(kwargs, args[i]);
        else if (!says_nothing(args[i]))
            failed = PyDict_SetItemString(kwargs, name, args[i]);
        if (name == NULL)
            break;
    }
    if (!failed && (form->n_operands >= 0 || strcmp(form->method, "outer") == 0))
        failed = check_method(form, args, n_args, kwnames);
    for (Py_ssize_t i = 0; !failed && kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
        failed = set_keyword(kwargs, PyTuple_GET_ITEM(kwnames, i), args[n_args + i]);
    if (failed)
        Py_CLEAR(kwargs);
    return kwargs;
}

static PyObject *
positional_of(const lw_overridden *self, const char *method, PyObject *const *args,
              Py_ssize_t n)
{
    PyObject *tuple = PyTuple_New(n + 3), *name = PyUnicode_FromString(method);

    if (tuple == NULL || name == NULL) {
        Py_XDECREF(tuple);
        Py_XDECREF(name);
        return NULL;
    }
    PyTuple_SET_ITEM(tuple, 0, Py_NewRef(Py_None)); /* the receiver comes here */
    PyTuple_SET_ITEM(tuple, 1, Py_NewRef(self->face));
    PyTuple_SET_ITEM(tuple, 2, name);
    for (Py_ssize_t i = 0; i < n; i++)
        PyTuple_SET_ITEM(tuple, i + 3, Py_NewRef(args[i]));
    return tuple;
}

/* ---- what NumPy checks of a call before it asks ---- */

static const char *const names_of_any[] = {"out",   "casting",   "order", "dtype",
                                           "subok", "signature", "sig",   "stream"};
/* allow_rechunk: of Dask's. */
static const char *const names_of_layouts[] = {"axes", "axis", "keepdims", "allow_rechunk"};

static bool
is_keyword(const lw_overridden *self, PyObject *name)
{
    if (lw_text_is_among(name, names_of_any, sizeof names_of_any / sizeof *names_of_any))
        return true;
    return self->has_layout
               ? lw_text_is_among(name, names_of_layouts,
                                  sizeof names_of_layouts / sizeof *names_of_layouts)
               : PyUnicode_CompareWithASCIIString(name, "where") == 0;
}

static int
check_outputs(const lw_overridden *self, PyObject *out, Py_ssize_t n_args)
{
    if (out != NULL && n_args > self->nin) {
        PyErr_SetString(PyExc_TypeError,
                        "cannot specify 'out' as both a positional and keyword argument");
        return -1;
    }
    if (out != NULL && !PyTuple_CheckExact(out) && self->nout > 1) {
        PyErr_SetString(PyExc_TypeError, "'out' must be a tuple of arrays");
        return -1;
    }
    if (out != NULL && PyTuple_CheckExact(out) && PyTuple_GET_SIZE(out) != self->nout) {
        PyErr_SetString(PyExc_ValueError,
                        "The 'out' tuple must have exactly one entry per ufunc output");
        return -1;
    }
    return 0;
}

/* Counts and names, but no values. */
static int
check_call(const lw_overridden *self, PyObject *const *args, Py_ssize_t n_args,
           PyObject *kwnames)
{
    if (n_args < self->nin || n_args > self->nin + self->nout) {
        PyErr_Format(PyExc_TypeError,
                     "%s() takes from %d to %d positional arguments but %zd %s given",
                     self->name, self->nin, self->nin + self->nout, n_args,
                     n_args == 1 ? "was" : "were");
        return -1;
    }
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++)
        if (!is_keyword(self, PyTuple_GET_ITEM(kwnames, i)))
            return lw_keyword_refuse(self->name, PyTuple_GET_ITEM(kwnames, i), names_of_any,
                                     sizeof names_of_any / sizeof *names_of_any);
    if (check_pairs(args + n_args, kwnames) < 0)
        return -1;
    return check_outputs(self, keyword_of(args + n_args, kwnames, "out"), n_args);
}

/* ---- asking ---- */

/* The next one to ask: the leftmost that no remaining one is a subclass of. */
static int
next_override(const overrides *o, const bool *asked)
{
    for (int i = 0; i < o->n; i++) {
        bool later = false;
        for (int k = 0; !asked[i] && k < o->n; k++)
            if (k != i && !asked[k] &&
                PyType_IsSubtype(Py_TYPE(o->objects[k]), Py_TYPE(o->objects[i])) &&
                Py_TYPE(o->objects[k]) != Py_TYPE(o->objects[i]))
                later = true;
        if (!asked[i] && !later)
            return i;
    }
    return -1;
}

/* Dask refuses ufuncs of several outputs, where= and outer(), and xarray gufuncs and methods:
 * lanewise/_dask.py and lanewise/_labelled.py answer in their places. */
static PyObject *
ask_for_collection(lw_collection collection, PyObject *called, PyObject *object,
                   PyObject *positional, PyObject *kwargs)
{
    PyObject *args = PyTuple_GetSlice(positional, 1, PyTuple_GET_SIZE(positional));
    PyObject *result = NULL;

    if (args != NULL) {
        Py_SETREF(PyTuple_GET_ITEM(args, 0), Py_NewRef(called));
        result = lw_call_of_collection_by(collection, "array_ufunc", object, args, kwargs);
    }
    Py_XDECREF(args);
    return result;
}

static PyObject *
ask(PyObject *method, PyObject *object, PyObject *positional, PyObject *kwargs)
{
    PyObject *args = PyTuple_GetSlice(positional, 0, PyTuple_GET_SIZE(positional));
    PyObject *result, *own;

    if (args == positional) { /* a slice of the whole may be the tuple itself */
        Py_DECREF(args);
        args = PyTuple_New(PyTuple_GET_SIZE(positional));
        for (Py_ssize_t i = 0; args != NULL && i < PyTuple_GET_SIZE(positional); i++)
            PyTuple_SET_ITEM(args, i, Py_NewRef(PyTuple_GET_ITEM(positional, i)));
    }
    own = PyDict_Copy(kwargs);
    if (args == NULL || own == NULL) {
        Py_XDECREF(args);
        Py_XDECREF(own);
        return NULL;
    }
    Py_SETREF(PyTuple_GET_ITEM(args, 0), Py_NewRef(object));
    result = PyObject_Call(method, args, own);
    Py_DECREF(args);
    Py_DECREF(own);
    return result;
}

/* "a, b, out=(c,)": the arguments behind the method's name. */
static PyObject *
shown_arguments(PyObject *positional, PyObject *kwargs)
{
    PyObject *text = PyUnicode_FromString(""), *name, *value;
    const char *separator = "";
    Py_ssize_t at = 0;

    for (Py_ssize_t i = 3; text != NULL && i < PyTuple_GET_SIZE(positional); i++) {
        Py_SETREF(text, PyUnicode_FromFormat("%U%s%.200R", text, separator,
                                             PyTuple_GET_ITEM(positional, i)));
        separator = ", ";
    }
    while (text != NULL && PyDict_Next(kwargs, &at, &name, &value)) {
        Py_SETREF(text, PyUnicode_FromFormat("%U%s%U=%.200R", text, separator, name, value));
        separator = ", ";
    }
    return text;
}

static PyObject *
nobody_knew(const lw_overridden *self, const char *method, PyObject *positional,
            PyObject *kwargs)
{
    PyObject *out = PyDict_GetItemString(kwargs, "out"), *shown; /* out: borrowed, a tuple */
    lw_text text = {0};

    for (Py_ssize_t i = 3; i < PyTuple_GET_SIZE(positional); i++)
        lw_text_addf(&text, "%s'%s'", i > 3 ? ", " : "",
                     Py_TYPE(PyTuple_GET_ITEM(positional, i))->tp_name);
    for (Py_ssize_t i = 0; out != NULL && i < PyTuple_GET_SIZE(out); i++)
        lw_text_addf(&text, ", '%s'", Py_TYPE(PyTuple_GET_ITEM(out, i))->tp_name);
    shown = shown_arguments(positional, kwargs);
    if (shown != NULL)
        PyErr_Format(PyExc_TypeError,
                     "operand type(s) all returned NotImplemented from __array_ufunc__(%.200R, "
                     "'%s', %.500U): %s",
                     self->object, method, shown, lw_text_get(&text));
    Py_XDECREF(shown);
    lw_text_reset(&text);
    return NULL;
}

static PyObject *
ask_all(const overrides *o, const lw_overridden *self, PyObject *called, const char *method,
        PyObject *positional, PyObject *kwargs)
{
    bool asked[MOST] = {false};
    int at;

    while ((at = next_override(o, asked)) >= 0) {
        PyObject *object = o->objects[at];
        lw_collection collection = lw_collection_of(object);
        PyObject *result =
            collection ? ask_for_collection(collection, called, object, positional, kwargs)
                       : ask(o->methods[at], object, positional, kwargs);
        asked[at] = true;
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    return nobody_knew(self, method, positional, kwargs);
}

/* Whether the type is one of pandas or xarray, which pass their operands to the function that
 * was called, whatever other arguments the call has. */
static bool
knows_operands_alone(PyObject *object)
{
    PyObject *module = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__module__");
    const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    bool is = name != NULL &&
              (strncmp(name, "pandas", 6) == 0 || strncmp(name, "xarray", 6) == 0) &&
              (name[6] == '.' || name[6] == 0);

    Py_XDECREF(module);
    PyErr_Clear();
    return is;
}

/* A DataFrame takes a function that is called with one operand and no keyword for one of
 * elements and gives it the transposed blocks of its columns. With a keyword, whose value is
 * the default here, it passes its elements as an array, as it does of several operands. */
static int
pass_frame_whole(const overrides *o, const lw_overridden *self, PyObject *kwargs)
{
    PyObject *casting;
    int result;

    if (!self->has_items || self->nin != 1 || o->n != 1 || PyDict_GET_SIZE(kwargs) > 0 ||
        !knows_operands_alone(o->objects[0]) ||
        !PyObject_HasAttrString(o->objects[0], "columns"))
        return 0;
    casting = PyUnicode_FromString("same_kind");
    result = casting ? PyDict_SetItemString(kwargs, "casting", casting) : -1;
    Py_XDECREF(casting);
    return result;
}

/* pandas takes ufuncs of some names for its own operators, so these are passed under another
 * name. */
static int
name_as_face(const lw_overridden *self, PyObject *of_operands)
{
    PyObject *name = PyObject_GetAttrString(self->face, "__name__");
    int result = name ? PyObject_SetAttrString(of_operands, "__name__", name) : -1;

    Py_XDECREF(name);
    return result;
}

/* Of a call with excluded or static arguments: the function of its operands, which these
 * libraries know alone, and the operands. Others are called with all arguments. -1 with an
 * exception. */
static int
keep_operands(const overrides *o, const lw_overridden *self, PyObject **called,
              PyObject **positional, PyObject **kwargs)
{
    PyObject *args, *made, *name, *of_operands, *operands, *rest;
    int result = -1;

    for (int i = 0; i < o->n; i++)
        if (!knows_operands_alone(o->objects[i]))
            return 0;
    args = PyTuple_GetSlice(*positional, 3, PyTuple_GET_SIZE(*positional));
    made = args ? lw_service_call_by(LW_SERVICE_FAMILIES, "of_operands", self->called, args,
                                     *kwargs)
                : NULL;
    if (made != NULL && PyArg_ParseTuple(made, "OO!O!", &of_operands, &PyTuple_Type, &operands,
                                         &PyDict_Type, &rest)) {
        name = PyTuple_GET_ITEM(*positional, 2);
        Py_SETREF(args, Py_BuildValue("(OOO)", Py_None, of_operands, name));
        Py_XSETREF(*positional, args ? PySequence_Concat(args, operands) : NULL);
        Py_SETREF(*kwargs, Py_NewRef(rest));
        Py_SETREF(*called, Py_NewRef(of_operands));
        result = *positional ? name_as_face(self, of_operands) : -1;
    }
    Py_XDECREF(made);
    Py_XDECREF(args);
    return result;
}

int
lw_override(const lw_overridden *self, const char *method, PyObject *const *args,
            Py_ssize_t n_args, PyObject *kwnames, PyObject **result)
{
    overrides o = {0};
    PyObject *kwargs = NULL, *positional = NULL, *called = Py_NewRef(self->called);
    Py_ssize_t n_operands = 0;
    int found = 1;

    *result = NULL;
    if (find(&o, self, args, n_args, kwnames) < 0)
        goto done;
    if (o.n == 0) {
        found = 0;
        goto done;
    }
    if (strcmp(method, "__call__") == 0 && !self->inputs_by_name &&
        check_call(self, args, n_args, kwnames) < 0)
        goto done;
    kwargs = keywords_of(self, shape_of(method), args, n_args, kwnames, &n_operands);
    positional = kwargs ? positional_of(self, method, args, n_operands) : NULL;
    if (positional != NULL && self->inputs_by_name && strcmp(method, "__call__") == 0 &&
        keep_operands(&o, self, &called, &positional, &kwargs) < 0)
        goto done;
    if (positional != NULL && pass_frame_whole(&o, self, kwargs) == 0)
        *result = ask_all(&o, self, called, method, positional, kwargs);
done:
    for (int i = 0; i < o.n; i++)
        Py_DECREF(o.methods[i]);
    Py_XDECREF(kwargs);
    Py_XDECREF(positional);
    Py_DECREF(called);
    return found;
}
