/* The Gufunc type and the decorator that makes it. */
#include "gufunc/gufunc_parts_py.h"

#include "core/py/compiled/decorate.h"
#include "gufunc/core/outputs.h"
#include "core/py/method_table.h"
#include "core/py/raise.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h>

const char *
lw_gufunc_name(const lw_gufunc *self)
{
    return self->table->name;
}

/* ---- building ---- */

/* Counts what excluded= or static= names, unless it has a default. */
typedef struct named_count {
    const lw_fn *fn;
    uint32_t n;
} named_count;

static int
count_named(void *context, PyObject *name)
{
    named_count *count = context;
    long at = PyLong_Check(name) ? PyLong_AsLong(name) : -1;

    PyErr_Clear();
    for (uint32_t i = 0; i < count->fn->params.n; i++) {
        const lw_fn_param *param = &count->fn->params.data[i];
        if (param->default_constant == 0 &&
            (i == at || (PyUnicode_Check(name) &&
                         PyUnicode_CompareWithASCIIString(name, param->name) == 0)))
            count->n++;
    }
    return 0;
}

/* How many parameters are operands. */
static uint32_t
count_operands(const lw_gufunc_object *self, const lw_door_arguments *arguments)
{
    const lw_fn *fn = &self->base.tree->fns.data[1];
    named_count named = {.fn = fn};
    uint32_t n = 0;

    for (uint32_t i = 0; i < fn->params.n; i++)
        n += fn->params.data[i].default_constant == 0;
    if (lw_door_each_name(arguments->excluded, count_named, &named) < 0 ||
        lw_door_each_name(arguments->constants, count_named, &named) < 0)
        PyErr_Clear(); /* lw_family_build says it */
    return n - named.n;
}

/* Whether the function is a method, and its layout counts only the operands behind `self`. */
static bool
omits_self(const lw_gufunc_object *self, const lw_door_arguments *arguments,
           const lw_core_layout *layout)
{
    uint32_t n, nin = layout->nin, nout = layout->nout;

    if (!lw_compiled_is_method((const lw_compiled *)self))
        return false;
    n = count_operands(self, arguments);
    if (n != nin + 1 && n != nin + nout + 1)
        return false;
    if (nin == 0 || layout->operands[0].n != 0)
        return true; /* `self` is one object */
    if (n == nin + nout)
        return lw_body_returns(self->base.tree); /* "()->()" of `self` and x, or of x alone */
    return n != nin;
}

/* The layout with `()` for `self`: a new reference. */
static PyObject *
with_self(lw_gufunc_object *self, const lw_door_arguments *arguments, PyObject *layout)
{
    const char *text = PyUnicode_AsUTF8(layout);
    lw_core_layout parsed;
    lw_error err = {0};
    lw_arena arena;
    PyObject *result = NULL;

    lw_arena_init(&arena);
    if (text != NULL && lw_core_layout_parse(text, &arena, &parsed, &err) != LW_OK)
        lw_py_raise(&err);
    else if (text != NULL && omits_self(self, arguments, &parsed))
        result = PyUnicode_FromFormat("()%s%U", parsed.nin ? "," : "", layout);
    else if (text != NULL)
        result = Py_NewRef(layout);
    lw_arena_reset(&arena);
    return result;
}

static int
read_layout(lw_gufunc_object *self, const lw_door_arguments *arguments, PyObject *given)
{
    PyObject *layout = with_self(self, arguments, given);
    const char *text = layout ? PyUnicode_AsUTF8(layout) : NULL;
    int failed = text == NULL || lw_gufunc_make_table(self, text) < 0;

    Py_XDECREF(layout);
    if (failed)
        return -1;
    self->base.layout = lw_gufunc_table_of(self)->layout;
    self->base.nin = (int)self->base.layout.nin;
    self->base.nout = (int)self->base.layout.nout;
    return 0;
}

static int
position_of(const lw_gufunc_object *self, PyObject *item)
{
    const lw_fn *fn = &self->base.tree->fns.data[1];
    long at = PyLong_Check(item) && !PyBool_Check(item) ? PyLong_AsLong(item) : -1;

    PyErr_Clear();
    if (PyUnicode_Check(item))
        for (int k = 0; k < self->base.nin; k++)
            if (self->params[k] != LW_NO_PARAM &&
                PyUnicode_CompareWithASCIIString(item, fn->params.data[self->params[k]].name) ==
                    0)
                at = k;
    if (at >= 0 && at < self->base.nin)
        return (int)at;
    PyErr_Format(
        PyExc_ValueError,
        "writable_args=: %.200R is neither the number (0 to %d) nor the name of an input", item,
        self->base.nin - 1);
    return -1;
}

static int
read_writable(lw_gufunc_object *self, PyObject *items)
{
    PyObject *list;
    int at = 0;

    if (items == NULL)
        return 0;
    if (!PyTuple_Check(items) && !PyList_Check(items)) {
        PyErr_Format(PyExc_TypeError,
                     "writable_args= must be a tuple of numbers or names of inputs, not %.100s",
                     Py_TYPE(items)->tp_name);
        return -1;
    }
    list = PySequence_Fast(items, "writable_args");
    for (Py_ssize_t i = 0; at >= 0 && i < PySequence_Fast_GET_SIZE(list); i++) {
        at = position_of(self, PySequence_Fast_GET_ITEM(list, i));
        if (at >= 0)
            self->writable[at] = true;
    }
    for (int k = 0; at >= 0 && k < self->base.nin; k++)
        if (self->writable[k] && self->base.layout.operands[k].n == 0 && !self->indexed[k]) {
            PyErr_Format(
                PyExc_ValueError,
                "writable_args=: input %d is a number, `()`: write to arrays, or index "
                "it as `x[0]`",
                k);
            at = -1;
        }
    Py_XDECREF(list);
    return at < 0 ? -1 : 0;
}

int
lw_gufunc_declare(lw_ufunc_head *head, const lw_signature *signature)
{
    lw_gufunc_object *self = (lw_gufunc_object *)head;
    lw_gufunc_types types;
    lw_error err = {0};
    bool any = false;

    if (lw_gufunc_read_signature(self, signature, &types) < 0)
        return -1;
    if (lw_rows_find(head, types.in) != NULL) {
        lw_fail(&err, LW_ERR_SIGNATURE, "E182: `%s` has a loop for the inputs of `%s` already",
                head->table->name, signature->text);
        lw_py_raise(&err);
        return -1;
    }
    for (int k = 0; k < head->nout; k++)
        any |= types.out[k] != LW_DT_void;
    return lw_gufunc_make(self, types.in, any ? types.out : NULL,
                          types.has_arrays ? types.arrays : NULL, true)
               ? 0
               : -1;
}

/* No loops: its members have them. */
static int
build_family(lw_gufunc_object *self, const lw_door_arguments *arguments, PyObject *layout)
{
    self->base.kind = lw_gufunc_families();
    if (read_layout(self, arguments, layout) < 0 ||
        lw_family_build((lw_ufunc_head *)self, &lw_gufunc_family_door, arguments) < 0)
        return -1;
    lw_gufunc_place(self);
    if (read_writable(self, arguments->writable) < 0 ||
        (self->base.sizes != NULL && lw_gufunc_check_sizes(&self->base, self->base.sizes) < 0))
        return -1;
    for (int k = 0; k < self->base.nin; k++)
        if (self->writable[k])
            self->base.family->writes |= UINT64_C(1) << self->params[k];
    return lw_inner_make((lw_ufunc_head *)self);
}

int
lw_gufunc_build(lw_ufunc_head *head, const lw_door_arguments *arguments, PyObject *layout,
                lw_arena *arena)
{
    lw_gufunc_object *self = (lw_gufunc_object *)head;
    lw_signature_list signatures = {0};

    self->base.sizes = Py_XNewRef(arguments->sizes);
    if (lw_compiled_read((lw_compiled *)self) < 0)
        return -1;
    if (arguments->excluded != NULL || arguments->constants != NULL)
        return build_family(self, arguments, layout);
    if (read_layout(self, arguments, layout) < 0 || lw_gufunc_forms(self) < 0 ||
        read_writable(self, arguments->writable) < 0 ||
        (self->base.sizes != NULL &&
         lw_gufunc_check_sizes(&self->base, self->base.sizes) < 0) ||
        lw_ufunc_read_signatures(head, arguments, arena, &signatures) < 0 ||
        lw_inner_make(head) < 0)
        return -1;
    return lw_ufunc_declare_all(head, &signatures);
}

static const lw_compiled_door door;

PyObject *
lw_gufunc_new(PyTypeObject *type, const lw_request *request, lw_member *member)
{
    return lw_ufunc_make_object(type, &door, &lw_ufunc_of_cores, request, member);
}

static PyObject *
new_for_user(PyTypeObject *type, const lw_request *request)
{
    return lw_gufunc_new(type, request, NULL);
}

/* ---- life ---- */

static int
gufunc_traverse(PyObject *object, visitproc visit, void *arg)
{
    lw_gufunc_object *self = (lw_gufunc_object *)object;

    Py_VISIT(self->base.sizes);
    Py_VISIT(self->base.large);
    Py_VISIT(self->by_outputs);
    return lw_ufunc_head_traverse((lw_ufunc_head *)object, visit, arg);
}

static int
gufunc_clear(PyObject *object)
{
    lw_gufunc_object *self = (lw_gufunc_object *)object;

    lw_ufunc_head_clear((lw_ufunc_head *)object);
    Py_CLEAR(self->base.sizes);
    Py_CLEAR(self->base.large);
    Py_CLEAR(self->by_outputs);
    return 0;
}

static PyObject *
gufunc_repr(PyObject *object)
{
    lw_gufunc_object *self = (lw_gufunc_object *)object;

    return PyUnicode_FromFormat("<lanewise.Gufunc '%s' %s>",
                                lw_ufunc_text((lw_ufunc_head *)self, "__name__"),
                                self->base.layout.text);
}

/* ---- for compiled functions that call it: lanewise/_gufunc_calls.py ---- */

static PyObject *
get_fills(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(((lw_gufunc_object *)object)->fills);
}

static PyObject *
get_indexed(PyObject *object, void *Py_UNUSED(closure))
{
    const lw_gufunc_object *self = (const lw_gufunc_object *)object;
    int n = self->base.nin + self->base.nout;
    PyObject *result = PyTuple_New(n);

    for (int k = 0; result != NULL && k < n; k++)
        PyTuple_SET_ITEM(result, k, PyBool_FromLong(self->indexed[k]));
    return result;
}

static PyObject *
member_for(PyObject *object, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    lw_gufunc_object *self = (lw_gufunc_object *)object;

    if (self->base.family != NULL)
        return lw_family_member((lw_ufunc_head *)self, args, n_args, kwnames);
    PyErr_SetString(PyExc_TypeError, "it has neither excluded= nor static=");
    return NULL;
}

static PyMethodDef gufunc_methods[] = {
    {"_member", (PyCFunction)(void (*)(void))member_for, METH_FASTCALL | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef gufunc_getset[] = {{"_fills", get_fills, NULL, NULL, NULL},
                                      {"_indexed", get_indexed, NULL, NULL, NULL},
                                      {NULL, NULL, NULL, NULL, NULL}};

/* ---- the type ---- */

PyDoc_STRVAR(gufunc_doc,
             "A function of small arrays that works on whole stacks of them.\n\n"
             "Made by guvectorize. It has the attributes and methods of a generalized "
             "numpy.ufunc.\n\n"
             ">>> import numpy as np, lanewise as lw\n"
             ">>> @lw.guvectorize('(n)->()')\n"
             "... def g(x):\n"
             "...     total = 0.0\n"
             "...     for i in range(x.shape[0]):\n"
             "...         total += x[i]\n"
             "...     return total\n"
             ">>> g(np.ones((2, 3)))\n"
             "array([3., 3.])");

static PyType_Slot gufunc_slots[] = {{Py_tp_doc, (void *)gufunc_doc},
                                     {Py_tp_dealloc, lw_compiled_dealloc},
                                     {Py_tp_traverse, gufunc_traverse},
                                     {Py_tp_clear, gufunc_clear},
                                     {Py_tp_repr, gufunc_repr},
                                     {Py_tp_getset, gufunc_getset},
                                     {Py_tp_methods, gufunc_methods},
                                     {Py_tp_call, PyVectorcall_Call},
                                     {0, NULL}};

/* A lanewise.Ufunc: its methods find what is theirs through the kind, never behind the head.
 * The size is no less than Ufunc's, as Python wants it of a subclass. */
static PyTypeObject *
make_type(PyObject *module)
{
    PyObject *base = PyObject_GetAttrString(module, "Ufunc");
    int own = sizeof(lw_gufunc_object);
    int base_size = base ? (int)((PyTypeObject *)base)->tp_basicsize : 0;
    PyType_Spec spec = {.name = "lanewise.Gufunc",
                        .basicsize = own > base_size ? own : base_size,
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                 Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                        .slots = gufunc_slots};

    Py_XDECREF(base);
    return base ? lw_compiled_type(module, LW_DOOR_GUVECTORIZE, &spec, "Ufunc") : NULL;
}

/* ---- the decorator ---- */

static int
check(const lw_request *request)
{
    const char *text = PyUnicode_AsUTF8(request->layout);
    lw_core_layout parsed;
    lw_error err = {0};
    lw_arena arena;
    lw_status status;

    if (text == NULL || lw_ufunc_check(LW_DOOR_GUVECTORIZE, request, true) < 0)
        return -1;
    lw_arena_init(&arena);
    status = lw_core_layout_parse(text, &arena, &parsed, &err);
    lw_arena_reset(&arena);
    if (status == LW_OK)
        return 0;
    lw_py_raise(&err);
    return -1;
}

static const char *
layout_of(const lw_compiled *self)
{
    return ((const lw_gufunc *)self)->layout.text;
}

static const lw_compiled_door door = {.id = LW_DOOR_GUVECTORIZE,
                                      .binding = LW_BINDS_OPERAND,
                                      .path = "guvectorize",
                                      .check = check,
                                      .make = new_for_user,
                                      .declared = lw_ufunc_declared,
                                      .layout = layout_of,
                                      .changed = lw_family_changed,
                                      .drop = lw_ufunc_drop};

/* An argument by place or by name; taken out of the dict. */
static int
take_argument(PyObject *args, Py_ssize_t at, PyObject *keywords, const char *name,
              PyObject **out)
{
    PyObject *named = PyDict_GetItemString(keywords, name); /* borrowed */

    if (PyTuple_GET_SIZE(args) > at && named != NULL) {
        PyErr_Format(PyExc_TypeError, "guvectorize() got two values for %s", name);
        return -1;
    }
    *out = Py_XNewRef(PyTuple_GET_SIZE(args) > at ? PyTuple_GET_ITEM(args, at) : named);
    return named ? PyDict_DelItemString(keywords, name) : 0;
}

/* Signatures in the layout's place: a list of them, or one as a text. */
static bool
is_signatures(PyObject *layout)
{
    const char *text = PyUnicode_Check(layout) ? PyUnicode_AsUTF8(layout) : NULL;

    PyErr_Clear();
    return PyList_Check(layout) || PyTuple_Check(layout) ||
           (text != NULL && isalpha((unsigned char)text[0]) && strstr(text, "->") == NULL);
}

/* A layout in the signatures' place. */
static bool
is_layout(PyObject *signatures)
{
    const char *text =
        signatures != NULL && PyUnicode_Check(signatures) ? PyUnicode_AsUTF8(signatures) : NULL;

    PyErr_Clear();
    return text != NULL && text[0] == '(' && strstr(text, "->") != NULL;
}

/* alone: layout is the one argument. signatures: NULL where there are none. */
static int
check_kind(PyObject *signatures, PyObject *layout, bool alone)
{
    if (layout != NULL && is_layout(signatures) && is_signatures(layout))
        PyErr_Format(PyExc_TypeError,
                     "guvectorize() takes the signatures first, then the layout: "
                     "guvectorize(%.80R, %.80R)",
                     layout, signatures);
    else if (layout != NULL && alone && lw_is_function(layout))
        PyErr_SetString(PyExc_TypeError,
                        "guvectorize() needs a layout before the function: "
                        "@guvectorize(\"(n)->()\") for a function of a row and its result");
    else if (layout != NULL && alone && is_signatures(layout))
        PyErr_Format(PyExc_TypeError,
                     "guvectorize() needs a layout after the signatures, as in "
                     "guvectorize(%.80R, \"(n)->()\")",
                     layout);
    else if (layout == NULL)
        PyErr_SetString(PyExc_TypeError,
                        "guvectorize() needs a layout: guvectorize(\"(n)->()\"), or "
                        "guvectorize(signatures, \"(n)->()\")");
    else if (!PyUnicode_Check(layout))
        PyErr_Format(PyExc_TypeError, "guvectorize(): layout must be a str, not %.100s",
                     Py_TYPE(layout)->tp_name);
    else
        return 0;
    return -1;
}

static PyObject *
guvectorize(PyObject *module, PyObject *args, PyObject *kwargs)
{
    PyObject *keywords = kwargs ? PyDict_Copy(kwargs) : PyDict_New();
    PyObject *signatures = NULL, *layout = NULL, *result = NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    bool alone;

    if (keywords == NULL)
        return NULL;
    /* guvectorize("(n)->()"): the layout alone */
    alone = n == 1 && PyDict_GetItemString(keywords, "layout") == NULL;
    if (n > 2)
        PyErr_Format(PyExc_TypeError,
                     "guvectorize() takes at most two positional arguments (signatures and "
                     "layout), not %zd",
                     n);
    else if (take_argument(args, alone ? 1 : 0, keywords, "signatures", &signatures) == 0 &&
             take_argument(args, alone ? 0 : 1, keywords, "layout", &layout) == 0 &&
             check_kind(signatures, layout, alone) == 0)
        result = lw_decorate(
            &door, module,
            &(lw_request){.signatures = signatures, .layout = layout, .keywords = keywords});
    Py_XDECREF(signatures);
    Py_XDECREF(layout);
    Py_DECREF(keywords);
    return result;
}

PyDoc_STRVAR(guvectorize_doc,
             "Turn a function of rows or small matrices into a function of stacks of them, "
             "like np.matmul.\n"
             "\n"
             "The layout gives the dimensions that one call of the decorated function works "
             "on: with '(m,n),(n)->(m)',\n"
             "it receives a matrix, a vector, and the result to fill. The compiled function "
             "loops over all dimensions\n"
             "in front of these, and broadcasts them. If all outputs are numbers, '()', the "
             "decorated function may\n"
             "return them instead of having parameters for them.\n"
             "\n"
             "Signatures are optional, and so the layout may be the first argument. Without "
             "signatures, the function\n"
             "is compiled at the first call with each new combination of input dtypes.\n"
             "\n"
             "Indices are not checked, unless check={'bounds'} is given, or "
             "LANEWISE_CHECK=bounds is set in "
             "the environment.\n"
             "\n"
             ">>> @lw.guvectorize('(n)->(n)')\n"
             "... def total(x, out):\n"
             "...     acc = 0.0\n"
             "...     for i in range(x.shape[0]):\n"
             "...         acc += x[i]\n"
             "...         out[i] = acc\n"
             ">>> total(np.arange(4.))\n"
             "array([0., 1., 3., 6.])");

static PyMethodDef decorator[] = {
    {"guvectorize", LW_KEYWORDS(guvectorize), NULL},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef functions[] = {
    {"_use_library", lw_gufunc_use_library, METH_VARARGS, NULL},
    {"_make_gufunc_outputs", lw_gufunc_make_outputs_always, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int
lw_gufunc_register(PyObject *module)
{
    if (make_type(module) == NULL || PyModule_AddFunctions(module, functions) < 0)
        return -1;
    return lw_door_add(module, module, decorator, LW_DOOR_GUVECTORIZE,
                       "signatures=None, layout=None, *", guvectorize_doc);
}
