/* The Gufunc type and the decorator that makes it. */
#include "gufunc/gufunc_parts_py.h"

#include "core/base/memory.h"
#include "core/py/raise.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

const char *
lw_gufunc_name(const lw_gufunc *self)
{
    return ((const lw_gufunc_object *)self)->table->name;
}

/* ---- building ---- */

/* As functools.wraps does, into our own dict. */
static int
take_names(lw_gufunc_object *self)
{
    static const char *const names[] = {"__module__", "__name__", "__qualname__", "__doc__"};
    PyObject *own = PyObject_GetAttrString(self->base.py_func, "__dict__");
    int result = 0;

    self->base.dict = own && PyDict_Check(own) ? PyDict_Copy(own) : PyDict_New();
    Py_XDECREF(own);
    PyErr_Clear();
    if (self->base.dict == NULL)
        return -1;
    for (int i = 0; i < 4 && result == 0; i++) {
        PyObject *value = PyObject_GetAttrString(self->base.py_func, names[i]);
        if (value == NULL)
            return -1;
        result = PyDict_SetItemString(self->base.dict, names[i], value);
        Py_DECREF(value);
    }
    return result;
}

static const char *
text_of(lw_gufunc_object *self, const char *name)
{
    PyObject *value = self->base.dict ? PyDict_GetItemString(self->base.dict, name) : NULL;
    const char *text = value && PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : NULL;

    PyErr_Clear();
    return text ? text : "";
}

static int
read_layout(lw_gufunc_object *self, PyObject *layout)
{
    const char *text = PyUnicode_AsUTF8(layout);

    if (text == NULL)
        return -1;
    self->table =
        lw_gufunc_table_new(self, text_of(self, "__name__"), text_of(self, "__doc__"), text);
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
        for (uint32_t i = 0; i < fn->params.n; i++)
            if (PyUnicode_CompareWithASCIIString(item, fn->params.data[i].name) == 0)
                at = (long)i;
    if (at >= 0 && at < self->base.nin)
        return (int)at;
    PyErr_Format(PyExc_ValueError,
                 "writable_args=: %R is neither the number (0 to %d) nor the name of an input",
                 item, self->base.nin - 1);
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
    self->lazy = list->n == 0;
    return 0;
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
    return self->base.inner ? lw_gufunc_warn_ambiguous(self) : -1;
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
    self->failures = PyDict_New();
    self->base.py_func = PyMethod_Check(function) ? Py_NewRef(function) /* with its self */
                                                  : lw_python_function(function);
    if (self->failures == NULL || self->base.py_func == NULL ||
        lw_door_read(LW_DOOR_GUVECTORIZE, signatures, keywords, &self->base.options,
                     arguments) < 0 ||
        take_names(self) < 0)
        return -1;
    self->identity = Py_NewRef(arguments->identity);
    self->source_option = Py_XNewRef(arguments->source);
    self->base.source = Py_XNewRef(arguments->source);
    return 0;
}

static PyObject *
gufunc_new(PyTypeObject *type, PyObject *function, PyObject *signatures, PyObject *layout,
           PyObject *keywords)
{
    lw_gufunc_object *self = (lw_gufunc_object *)type->tp_alloc(type, 0);
    PyObject *plain = PyDict_Copy(keywords), *writable = NULL;
    lw_door_arguments arguments;
    lw_arena arena;
    int failed = -1;

    lw_arena_init(&arena);
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

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->base.inner);
    Py_VISIT(self->base.py_func);
    Py_VISIT(self->base.dict);
    Py_VISIT(self->base.source);
    Py_VISIT(self->base.sizes);
    Py_VISIT(self->identity);
    Py_VISIT(self->source_option);
    Py_VISIT(self->failures);
    Py_VISIT(self->options);
    return self->captures ? lw_captures_traverse(self->captures, visit, arg) : 0;
}

static int
gufunc_clear(PyObject *object)
{
    lw_gufunc_object *self = (lw_gufunc_object *)object;
    lw_captures *captures = self->captures;

    if (self->table != NULL) /* finalizers below may still call the inner numpy.ufunc */
        self->table->owner = NULL;
    self->captures = NULL;
    lw_captures_free(captures);
    Py_CLEAR(self->base.py_func);
    Py_CLEAR(self->base.dict);
    Py_CLEAR(self->base.source);
    Py_CLEAR(self->base.sizes);
    Py_CLEAR(self->source_option);
    Py_CLEAR(self->failures);
    Py_CLEAR(self->options);
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
    if (lw_gufunc_device.free_plans != NULL)
        lw_gufunc_device.free_plans(self->base.plans);
    Py_CLEAR(self->base.inner);
    Py_CLEAR(self->identity);
    lw_gufunc_table_drop(self->table); /* the loops go with the last numpy.ufunc */
    lw_array_free(&self->base.loops);
    lw_tree_free(self->base.tree);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *
gufunc_repr(PyObject *object)
{
    lw_gufunc_object *self = (lw_gufunc_object *)object;

    return PyUnicode_FromFormat("<lanewise.Gufunc '%s' %s>", text_of(self, "__name__"),
                                self->base.layout.text);
}

/* ---- attributes ---- */

static PyObject *
get_nargs(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromLong(((lw_gufunc *)self)->nin + ((lw_gufunc *)self)->nout);
}

static PyObject *
get_ntypes(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLong(((lw_gufunc *)self)->loops.n);
}

static PyObject *
list_of_loops(PyObject *object, PyObject *(*text)(const lw_gufunc_loop *loop))
{
    lw_gufunc *self = (lw_gufunc *)object;
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list != NULL && i < self->loops.n; i++) {
        PyObject *item = text(self->loops.data[i]);
        if (item == NULL || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *
get_types(PyObject *self, void *Py_UNUSED(closure))
{
    return list_of_loops(self, lw_gufunc_types_text);
}

static PyObject *
get_signatures(PyObject *self, void *Py_UNUSED(closure))
{
    return list_of_loops(self, lw_gufunc_loop_text);
}

static PyObject *
get_identity(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *identity = ((lw_gufunc_object *)object)->identity;

    return Py_NewRef(PyUnicode_Check(identity) ? Py_None : identity);
}

static PyObject *
get_layout(PyObject *self, void *Py_UNUSED(closure))
{
    return PyUnicode_FromString(((lw_gufunc *)self)->layout.text);
}

static PyObject *
get_stats(PyObject *object, void *Py_UNUSED(closure))
{
    lw_gufunc_object *self = (lw_gufunc_object *)object;
    lw_gufunc_stats s;

    lw_lock_take(&self->table->lock);
    s = self->table->stats;
    lw_lock_give(&self->table->lock);
    return Py_BuildValue("{s:I,s:I,s:I,s:I,s:I,s:I,s:d}", "loops", self->base.loops.n,
                         "compiled", s.compiled, "from_memory", s.from_memory, "from_disk",
                         s.from_disk, "made", s.made, "failed", s.failed, "seconds", s.seconds);
}

/* Positional-only operands by the user's names, then the keywords of every call. */
static PyObject *
get_text_signature(PyObject *object, void *Py_UNUSED(closure))
{
    lw_gufunc *self = (lw_gufunc *)object;
    const lw_fn *fn = &self->tree->fns.data[1];
    PyObject *inspect = NULL, *namespace = NULL, *function = NULL, *result = NULL;
    lw_text text = {0};

    lw_text_add(&text, "lambda ");
    for (int i = 0; i < self->nin; i++)
        lw_text_addf(&text, "%s, ", fn->params.data[i].name);
    lw_text_addf(&text,
                 "%sout=None, *, axes=None, axis=None, keepdims=False, casting='same_kind', "
                 "order='K', dtype=None, subok=True, signature=None, stream=None: None",
                 self->nin ? "/, " : "");
    inspect = PyImport_ImportModule("inspect");
    namespace = PyDict_New();
    if (inspect != NULL && namespace != NULL && !text.failed)
        function = PyRun_String(lw_text_get(&text), Py_eval_input, namespace, namespace);
    if (function != NULL)
        result = PyObject_CallMethod(inspect, "signature", "O", function);
    Py_XDECREF(function);
    Py_XDECREF(namespace);
    Py_XDECREF(inspect);
    lw_text_reset(&text);
    return result;
}

static PyObject *
get_state(PyObject *object, PyObject *Py_UNUSED(unused))
{
    lw_gufunc_object *self = (lw_gufunc_object *)object;
    PyObject *signatures = self->lazy ? Py_NewRef(Py_None) : get_signatures(object, NULL);
    PyObject *source = self->base.source;

    if (signatures == NULL)
        return NULL;
    return Py_BuildValue("{s:N,s:s,s:O,s:O}", "signatures", signatures, "layout",
                         self->base.layout.text, "options", self->options, "source",
                         source ? source : Py_None);
}

static PyGetSetDef gufunc_getset[] = {
    {"nargs", get_nargs, NULL, PyDoc_STR("inputs and outputs together"), NULL},
    {"ntypes", get_ntypes, NULL, PyDoc_STR("how many loops there are"), NULL},
    {"types", get_types, NULL,
     PyDoc_STR("the loops, narrow to wide, as NumPy writes them: ['ff->f', 'dd->d']"), NULL},
    {"signatures", get_signatures, NULL,
     PyDoc_STR("the loops as signatures: ['void(float32[:], float32[:])']"), NULL},
    {"identity", get_identity, NULL, PyDoc_STR("the identity that was given, or None"), NULL},
    {"signature", get_layout, NULL, PyDoc_STR("the layout: '(m,n),(n)->(m)'"), NULL},
    {"stats", get_stats, NULL, PyDoc_STR("what was compiled, from where, and how long it took"),
     NULL},
    {"__signature__", get_text_signature, NULL, NULL, NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef gufunc_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(lw_gufunc, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(lw_gufunc, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(lw_gufunc, weakrefs), READONLY, NULL},
    {"nin", T_INT, offsetof(lw_gufunc, nin), READONLY, PyDoc_STR("number of inputs")},
    {"nout", T_INT, offsetof(lw_gufunc, nout), READONLY, PyDoc_STR("number of outputs")},
    {"py_func", T_OBJECT, offsetof(lw_gufunc, py_func), READONLY,
     PyDoc_STR("the Python function it was made from")},
    {"__wrapped__", T_OBJECT, offsetof(lw_gufunc, py_func), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

/* ---- methods ---- */

/* NumPy keeps what it once chose for dtypes: a new numpy.ufunc asks anew. */
static int
renew_inner(lw_gufunc_object *self)
{
    PyObject *inner = lw_gufunc_inner_new(self);

    if (inner == NULL)
        return -1;
    Py_SETREF(self->base.inner, inner);
    if (lw_gufunc_device.forget_plans != NULL)
        lw_gufunc_device.forget_plans(self->base.plans);
    return 0;
}

static PyObject *
gufunc_add(PyObject *object, PyObject *argument)
{
    lw_gufunc_object *self = (lw_gufunc_object *)object;
    lw_signature_list list = {0};
    lw_arena arena;
    int failed;

    lw_arena_init(&arena);
    failed = lw_signatures_read(argument, false, &arena, &list);
    for (uint32_t i = 0; !failed && i < list.n; i++)
        failed = declare(self, &list.data[i]);
    lw_arena_reset(&arena);
    if (failed || renew_inner(self) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
gufunc_bind(PyObject *object, PyObject *args)
{
    const lw_gufunc_object *self = (lw_gufunc_object *)object;
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    PyObject *functools, *partial, *self_tuple, *all = NULL, *result = NULL;

    if (n < self->base.nin || n > self->base.nin + self->base.nout)
        return PyErr_Format(
            PyExc_TypeError,
            "bind: `%.100s` takes %d inputs and up to %d outputs, not %zd arguments",
            self->table->name, self->base.nin, self->base.nout, n);
    functools = PyImport_ImportModule("functools");
    partial = functools ? PyObject_GetAttrString(functools, "partial") : NULL;
    self_tuple = PyTuple_Pack(1, object);
    if (partial != NULL && self_tuple != NULL)
        all = PySequence_Concat(self_tuple, args);
    if (all != NULL)
        result = PyObject_CallObject(partial, all);
    Py_XDECREF(all);
    Py_XDECREF(self_tuple);
    Py_XDECREF(partial);
    Py_XDECREF(functools);
    return result;
}

static PyObject *
gufunc_itself(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return Py_NewRef(self);
}

/* lanewise/_pickling.py knows how to carry a function's text to another process. */
static PyObject *
gufunc_reduce_by_source(PyObject *self, PyObject *Py_UNUSED(unused))
{
    PyObject *module = PyImport_ImportModule("lanewise._pickling"), *result;

    if (module == NULL)
        return NULL;
    result = PyObject_CallMethod(module, "reduce_gufunc", "O", self);
    Py_DECREF(module);
    return result;
}

#define WITH_KEYWORDS(function)                                                                \
    ((PyCFunction)(void (*)(void))(function)), METH_VARARGS | METH_KEYWORDS

static PyMethodDef gufunc_methods_head[] = {
    {"add", gufunc_add, METH_O,
     PyDoc_STR("add($self, sig, /)\n--\n\nCompile for one more signature.\n\n"
               ">>> g.add('void(float32[:], float32[:])')")},
    {"bind", gufunc_bind, METH_VARARGS,
     PyDoc_STR("bind($self, /, *args)\n--\n\nA callable that repeats this call.\n\n"
               ">>> step = g.bind(np.arange(3.)); step().item()\n"
               "3.0")},
    {"_state", get_state, METH_NOARGS, PyDoc_STR("what pickling needs")},
    {"__reduce__", gufunc_reduce_by_source, METH_NOARGS, NULL},
    {"__copy__", gufunc_itself, METH_NOARGS, NULL},
    {"__deepcopy__", gufunc_itself, METH_O, NULL},
};

enum { N_HEAD = sizeof gufunc_methods_head / sizeof *gufunc_methods_head };

/* filled once, by lw_gufunc_register */
static PyMethodDef gufunc_methods[N_HEAD + LW_N_GUFUNC_METHODS + LW_N_GUFUNC_INSPECTIONS + 1];

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

static PyType_Slot gufunc_slots[] = {
    {Py_tp_doc, (void *)gufunc_doc},   {Py_tp_dealloc, gufunc_dealloc},
    {Py_tp_traverse, gufunc_traverse}, {Py_tp_clear, gufunc_clear},
    {Py_tp_repr, gufunc_repr},         {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getset, gufunc_getset},     {Py_tp_members, gufunc_members},
    {Py_tp_methods, gufunc_methods},   {0, NULL}};

static PyType_Spec gufunc_spec = {
    .name = "lanewise.Gufunc",
    .basicsize = sizeof(lw_gufunc_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = gufunc_slots};

/* ---- the decorator ---- */

/* state: (module, signatures, layout, keywords) */
static PyObject *
decorate(PyObject *state, PyObject *function)
{
    PyObject *type = PyObject_GetAttrString(PyTuple_GET_ITEM(state, 0), "Gufunc"), *result;

    if (type == NULL)
        return NULL;
    result = gufunc_new((PyTypeObject *)type, function, PyTuple_GET_ITEM(state, 1),
                        PyTuple_GET_ITEM(state, 2), PyTuple_GET_ITEM(state, 3));
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

static int
check_kind(PyObject *layout)
{
    if (layout == NULL)
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
             check_kind(layout) == 0)
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
    {"guvectorize", WITH_KEYWORDS(guvectorize), guvectorize_doc},
    {NULL, NULL, 0, NULL},
};

static void
fill_methods(void)
{
    PyMethodDef *at = gufunc_methods;

    memcpy(at, gufunc_methods_head, sizeof gufunc_methods_head);
    memcpy(at + N_HEAD, lw_gufunc_forwarded, sizeof lw_gufunc_forwarded);
    memcpy(at + N_HEAD + LW_N_GUFUNC_METHODS, lw_gufunc_inspections,
           LW_N_GUFUNC_INSPECTIONS * sizeof *at);
}

int
lw_gufunc_register(PyObject *module)
{
    PyObject *type;
    int failed;

    fill_methods();
    type = PyType_FromModuleAndSpec(module, &gufunc_spec, NULL);
    if (type == NULL)
        return -1;
    failed = PyModule_AddObjectRef(module, "Gufunc", type);
    Py_DECREF(type);
    return failed < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
