/* The Gufunc type and the decorator that makes it. */
#include "gufunc/gufunc_parts_py.h"

#include "core/base/memory.h"
#include "core/py/compiled/door_function.h"
#include "core/py/method_table.h"
#include "core/py/raise.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h>

const char *
lw_gufunc_name(const lw_gufunc *self)
{
    return ((const lw_gufunc_object *)self)->table->name;
}

/* ---- building ---- */

static int
read_layout(lw_gufunc_object *self, PyObject *layout)
{
    const char *text = PyUnicode_AsUTF8(layout);

    if (text == NULL)
        return -1;
    self->table = lw_gufunc_table_new(self, lw_ufunc_text((lw_ufunc_head *)self, "__name__"),
                                      lw_ufunc_text((lw_ufunc_head *)self, "__doc__"), text);
    if (self->table == NULL)
        return -1;
    self->base.layout = self->table->layout;
    self->base.nin = (int)self->table->layout.nin;
    self->base.nout = (int)self->table->layout.nout;
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

    if (items == NULL || items == Py_None)
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

static int
declare(lw_gufunc_object *self, const lw_signature *signature)
{
    lw_gufunc_types types;
    lw_error err = {0};
    bool any = false;

    if (lw_gufunc_read_signature(self, signature, &types) < 0)
        return -1;
    if (lw_gufunc_find(self, types.in) != NULL) {
        lw_fail(&err, LW_ERR_SIGNATURE, "E182: `%s` has a loop for the inputs of `%s` already",
                self->table->name, signature->text);
        lw_py_raise(&err);
        return -1;
    }
    for (int k = 0; k < self->base.nout; k++)
        any |= types.out[k] != LW_DT_void;
    return lw_gufunc_make(self, types.in, any ? types.out : NULL,
                          types.has_arrays ? types.arrays : NULL, true)
               ? 0
               : -1;
}

static int
read_signatures(lw_gufunc_object *self, const lw_door_arguments *arguments, lw_arena *arena,
                lw_signature_list *list)
{
    lw_error err = {0};

    if (lw_signatures_read(arguments->signatures, false, arena, list) < 0)
        return -1;
    if (lw_signatures_sort(list->data, list->n, arguments->keep_order, &err) != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    self->base.lazy = list->n == 0;
    return 0;
}

/* No loops: its members have them. */
static int
build_family(lw_gufunc_object *self, const lw_door_arguments *arguments, PyObject *layout,
             PyObject *writable)
{
    self->base.kind = lw_gufunc_families();
    if (read_layout(self, layout) < 0 ||
        lw_family_build((lw_ufunc_head *)self, &lw_gufunc_family_door, self->options,
                        arguments) < 0)
        return -1;
    lw_gufunc_place(self);
    if (read_writable(self, writable) < 0 ||
        (self->base.sizes != NULL && lw_gufunc_check_sizes(&self->base, self->base.sizes) < 0))
        return -1;
    for (int k = 0; k < self->base.nin; k++)
        if (self->writable[k])
            self->base.family->writes |= UINT64_C(1) << self->params[k];
    self->base.inner = lw_gufunc_inner_new(self);
    return self->base.inner ? 0 : -1;
}

static int
build(lw_gufunc_object *self, const lw_door_arguments *arguments, PyObject *layout,
      PyObject *writable, lw_arena *arena)
{
    lw_signature_list signatures = {0};
    lw_error err = {0};

    if (lw_read_function(self->base.py_func, self->source_option, &self->base.tree,
                         &self->captures, &err) != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    if (lw_link_set_read(&self->base.links, self->base.link,
                         lw_captures_linked(self->captures)) < 0)
        return -1;
    if (arguments->excluded != NULL || arguments->constants != NULL)
        return build_family(self, arguments, layout, writable);
    if (read_layout(self, layout) < 0 || lw_gufunc_forms(self) < 0 ||
        read_writable(self, writable) < 0 ||
        (self->base.sizes != NULL &&
         lw_gufunc_check_sizes(&self->base, self->base.sizes) < 0) ||
        read_signatures(self, arguments, arena, &signatures) < 0)
        return -1;
    self->base.inner = lw_gufunc_inner_new(self);
    for (uint32_t i = 0; self->base.inner != NULL && i < signatures.n; i++)
        if (declare(self, &signatures.data[i]) < 0)
            return -1;
    return self->base.inner ? lw_loops_warn_ambiguous((lw_ufunc_head *)self) : -1;
}

/* The keywords of this door alone are taken out of the dict: new references, or NULL. */
static int
take_own(PyObject *keywords, PyObject **sizes, PyObject **writable)
{
    static const char *const names[] = {"sizes", "writable_args"};
    PyObject **const values[] = {sizes, writable};

    for (int i = 0; i < 2; i++) {
        *values[i] = Py_XNewRef(PyDict_GetItemString(keywords, names[i]));
        if (*values[i] != NULL && PyDict_DelItemString(keywords, names[i]) < 0)
            return -1;
        if (*values[i] == Py_None)
            Py_CLEAR(*values[i]);
    }
    return 0;
}

static int
prepare(lw_gufunc_object *self, PyObject *function, PyObject *signatures, PyObject *keywords,
        lw_door_arguments *arguments)
{
    self->base.vectorcall = lw_gufunc_call;
    self->base.kind = &lw_ufunc_of_cores;
    self->base.failures = PyDict_New();
    self->base.py_func = PyMethod_Check(function) ? Py_NewRef(function) /* with its self */
                                                  : lw_python_function(function);
    if (self->base.failures == NULL || self->base.py_func == NULL ||
        lw_door_read(LW_DOOR_GUVECTORIZE, signatures, keywords, &self->base.options,
                     arguments) < 0 ||
        (self->base.dict = lw_wrapper_dict(self->base.py_func)) == NULL)
        return -1;
    self->base.identity = Py_NewRef(arguments->identity);
    self->source_option = Py_XNewRef(arguments->source);
    self->base.source = Py_XNewRef(arguments->source);
    self->base.link = Py_XNewRef(arguments->link);
    return 0;
}

PyObject *
lw_gufunc_new(PyTypeObject *type, PyObject *function, PyObject *signatures, PyObject *layout,
              PyObject *keywords, lw_member *member)
{
    lw_gufunc_object *self = (lw_gufunc_object *)type->tp_alloc(type, 0);
    PyObject *plain = PyDict_Copy(keywords), *writable = NULL;
    lw_door_arguments arguments;
    lw_arena arena;
    int failed = -1;

    lw_arena_init(&arena);
    if (self == NULL)
        lw_free(member);
    else
        self->base.member = member;
    if (self != NULL && plain != NULL) {
        self->options = Py_NewRef(keywords);
        if (take_own(plain, &self->base.sizes, &writable) == 0 &&
            prepare(self, function, signatures, plain, &arguments) == 0)
            failed = build(self, &arguments, layout, writable, &arena);
    }
    lw_arena_reset(&arena);
    Py_XDECREF(writable);
    Py_XDECREF(plain);
    if (failed)
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* ---- life ---- */

static int
gufunc_traverse(PyObject *object, visitproc visit, void *arg)
{
    lw_gufunc_object *self = (lw_gufunc_object *)object;

    lw_ufunc_head_traverse((lw_ufunc_head *)object, visit, arg);
    Py_VISIT(self->base.sizes);
    Py_VISIT(self->base.large);
    Py_VISIT(self->source_option);
    Py_VISIT(self->options);
    if (lw_renewal_traverse(&self->renewal, visit, arg))
        return 1;
    if (self->base.family != NULL && lw_family_traverse(self->base.family, visit, arg))
        return -1;
    return self->captures ? lw_captures_traverse(self->captures, visit, arg) : 0;
}

static int
gufunc_clear(PyObject *object)
{
    lw_gufunc_object *self = (lw_gufunc_object *)object;
    lw_captures *captures = self->captures;
    lw_family *family = self->base.family;

    self->base.family = NULL;
    if (self->table != NULL) /* finalizers below may still call the inner numpy.ufunc */
        self->table->owner = NULL;
    self->captures = NULL;
    lw_captures_free(captures);
    lw_family_free(family);
    lw_ufunc_head_clear((lw_ufunc_head *)object);
    Py_CLEAR(self->base.sizes);
    Py_CLEAR(self->base.large);
    Py_CLEAR(self->source_option);
    Py_CLEAR(self->options);
    lw_renewal_clear(&self->renewal);
    return 0;
}

static void
gufunc_dealloc(PyObject *object)
{
    lw_gufunc_object *self = (lw_gufunc_object *)object;
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    if (self->base.weakrefs != NULL)
        PyObject_ClearWeakRefs(object);
    gufunc_clear(object);
    lw_recall_free(self->base.recalled);
    lw_resolved_free(&self->base.plans);
    lw_ufunc_head_drop((lw_ufunc_head *)object);
    lw_gufunc_table_drop(self->table); /* the loops go with the last numpy.ufunc */
    lw_array_free(&self->base.loops);
    lw_free(self->base.member);
    lw_tree_free(self->base.tree);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *
gufunc_repr(PyObject *object)
{
    lw_gufunc_object *self = (lw_gufunc_object *)object;

    return PyUnicode_FromFormat("<lanewise.Gufunc '%s' %s>",
                                lw_ufunc_text((lw_ufunc_head *)self, "__name__"),
                                self->base.layout.text);
}

/* ---- adding loops ---- */

/* NumPy keeps what it once chose for dtypes: a new numpy.ufunc asks anew. */
static int
renew_inner(lw_gufunc_object *self)
{
    PyObject *inner = lw_gufunc_inner_new(self);

    if (inner == NULL)
        return -1;
    Py_SETREF(self->base.inner, inner);
    lw_resolved_forget(&self->base.plans);
    lw_recall_forget(self->base.recalled);
    return 0;
}

int
lw_gufunc_add(lw_ufunc_head *head, PyObject *signatures)
{
    lw_gufunc_object *self = (lw_gufunc_object *)head;
    lw_signature_list list = {0};
    lw_arena arena;
    int failed;

    lw_arena_init(&arena);
    failed = lw_signatures_read(signatures, false, &arena, &list);
    for (uint32_t i = 0; !failed && i < list.n; i++)
        failed = declare(self, &list.data[i]);
    lw_arena_reset(&arena);
    return failed ? -1 : renew_inner(self);
}

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
                                     {Py_tp_dealloc, gufunc_dealloc},
                                     {Py_tp_traverse, gufunc_traverse},
                                     {Py_tp_clear, gufunc_clear},
                                     {Py_tp_repr, gufunc_repr},
                                     {Py_tp_call, PyVectorcall_Call},
                                     {Py_tp_members, lw_ufunc_type_members},
                                     {0, NULL}};

/* A lanewise.Ufunc: its methods find what is theirs through the kind, never behind the head.
 * The size is no less than Ufunc's, as Python wants it of a subclass. */
static PyObject *
type_new(PyObject *module, PyObject *base)
{
    int base_size = (int)((PyTypeObject *)base)->tp_basicsize, own = sizeof(lw_gufunc_object);
    PyType_Spec spec = {.name = "lanewise.Gufunc",
                        .basicsize = own > base_size ? own : base_size,
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                 Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                        .slots = gufunc_slots};

    return PyType_FromModuleAndSpec(module, &spec, base);
}

/* ---- the decorator ---- */

/* state: (module, signatures, layout, keywords) */
static PyObject *
decorate(PyObject *state, PyObject *function)
{
    PyObject *type = PyObject_GetAttrString(PyTuple_GET_ITEM(state, 0), "Gufunc"), *result;

    if (type == NULL)
        return NULL;
    result = lw_gufunc_new((PyTypeObject *)type, function, PyTuple_GET_ITEM(state, 1),
                           PyTuple_GET_ITEM(state, 2), PyTuple_GET_ITEM(state, 3), NULL);
    Py_DECREF(type);
    return result;
}

static PyMethodDef decorate_def = {"guvectorize", decorate, METH_O,
                                   PyDoc_STR("makes a Gufunc of a function")};

/* A bad layout, keywords and signatures are told now, not when the function comes. */
static int
check_early(PyObject *signatures, PyObject *layout, PyObject *keywords)
{
    PyObject *plain = PyDict_Copy(keywords), *sizes = NULL, *writable = NULL;
    const char *text = PyUnicode_AsUTF8(layout);
    lw_core_layout parsed;
    lw_door_options options;
    lw_door_arguments arguments;
    lw_signature_list list = {0};
    lw_error err = {0};
    lw_arena arena;
    int failed = -1;

    lw_arena_init(&arena);
    if (plain == NULL || text == NULL || take_own(plain, &sizes, &writable) < 0)
        goto done;
    failed = lw_door_read(LW_DOOR_GUVECTORIZE, signatures, plain, &options, &arguments);
    if (!failed)
        failed = lw_signatures_read(signatures, false, &arena, &list);
    if (!failed && lw_core_layout_parse(text, &arena, &parsed, &err) != LW_OK) {
        lw_py_raise(&err);
        failed = -1;
    }
done:
    lw_arena_reset(&arena);
    Py_XDECREF(sizes);
    Py_XDECREF(writable);
    Py_XDECREF(plain);
    return failed;
}

static PyObject *
make_decorator(PyObject *module, PyObject *signatures, PyObject *layout, PyObject *keywords)
{
    PyObject *state, *result;

    if (check_early(signatures, layout, keywords) < 0)
        return NULL;
    state = PyTuple_Pack(4, module, signatures ? signatures : Py_None, layout, keywords);
    if (state == NULL)
        return NULL;
    result = PyCFunction_New(&decorate_def, state);
    Py_DECREF(state);
    return result;
}

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

/* alone: it is the one argument. */
static int
check_kind(PyObject *layout, bool alone)
{
    if (layout != NULL && alone && lw_is_function(layout))
        PyErr_SetString(PyExc_TypeError,
                        "guvectorize() needs a layout before the function: "
                        "@guvectorize(\"(n)->()\") for a function of a row and its result");
    else if (layout != NULL && alone && is_signatures(layout))
        PyErr_Format(PyExc_TypeError,
                     "guvectorize() needs a layout behind the signatures, as in "
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
             check_kind(layout, alone) == 0)
        result = make_decorator(module, signatures, layout, keywords);
    Py_XDECREF(signatures);
    Py_XDECREF(layout);
    Py_DECREF(keywords);
    return result;
}

PyDoc_STRVAR(
    guvectorize_doc,
    "guvectorize(signatures=None, layout=None, *, sizes=None, writable_args=(), "
    "**options)\n--\n\n"
    "Make a Gufunc of a Python function of small arrays.\n\n"
    "layout names the core dimensions of each operand, '(m,n),(n)->(m)'; alone it may be the "
    "first\n"
    "argument. The function fills its output arguments, or returns outputs that are numbers.\n"
    "Without signatures it compiles for each new tuple of input dtypes. options are those of "
    "vectorize.\n\n"
    ">>> @lw.guvectorize(['void(float64[:], float64[:])'], '(n)->(n)')\n"
    "... def total(x, out):\n"
    "...     acc = 0.0\n"
    "...     for i in range(x.shape[0]):\n"
    "...         acc += x[i]\n"
    "...         out[i] = acc\n"
    ">>> total(np.arange(4.))\n"
    "array([0., 1., 3., 6.])");

static PyMethodDef functions[] = {
    {"guvectorize", LW_KEYWORDS(guvectorize), guvectorize_doc},
    {"_use_library", lw_gufunc_use_library, METH_VARARGS, NULL},
    {"_make_gufunc_outputs", lw_gufunc_make_outputs_always, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int
lw_gufunc_register(PyObject *module)
{
    PyObject *base = PyObject_GetAttrString(module, "Ufunc");
    PyObject *type = base ? type_new(module, base) : NULL;
    int failed = type ? PyModule_AddObjectRef(module, "Gufunc", type) : -1;

    Py_XDECREF(type);
    Py_XDECREF(base);
    return failed < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
