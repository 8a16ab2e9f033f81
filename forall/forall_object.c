/* The Forall type and the decorator that makes it. */
#include "forall/forall_py.h"

#include "core/py/compiled/door_function.h"
#include "core/py/method_table.h"
#include "core/front/fast_index.h"
#include "forall/forall_parts_py.h"
#include <stddef.h>
#include <string.h>
#include <structmember.h>

/* ---- building ---- */

static PyObject *
forall_new(PyTypeObject *type, PyObject *function, PyObject *signatures, PyObject *keywords,
           uint32_t ndim)
{
    lw_forall *self = (lw_forall *)type->tp_alloc(type, 0);

    if (self == NULL)
        return NULL;
    self->base.vectorcall = lw_forall_call;
    if (lw_function_init(&self->base, LW_DOOR_FORALL, ndim, function, keywords) < 0)
        goto fail;
    self->fast = (uint8_t)lw_fast_index(self->base.tree, ndim);
    if (lw_function_declare(&self->base, signatures) < 0)
        goto fail;
    return (PyObject *)self;
fail:
    Py_DECREF(self);
    return NULL;
}

/* ---- life ---- */

static int
forall_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    return lw_function_traverse(&((lw_forall *)object)->base, visit, arg);
}

static int
forall_clear(PyObject *object)
{
    lw_function_clear(&((lw_forall *)object)->base);
    return 0;
}

static void
forall_dealloc(PyObject *object)
{
    lw_forall *self = (lw_forall *)object;
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    if (self->base.weakrefs != NULL)
        PyObject_ClearWeakRefs(object);
    forall_clear(object);
    lw_function_reset(&self->base);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *
forall_repr(PyObject *object)
{
    const lw_function *self = &((lw_forall *)object)->base;

    return PyUnicode_FromFormat("<lanewise.Forall '%s' (ndim=%u)>", lw_function_name(self),
                                (unsigned)self->n_index);
}

/* ---- attributes ---- */

/* As a signature that is read back. */
static PyObject *
text_of(const lw_special *special)
{
    PyObject *types = lw_special_text(special);
    PyObject *text = types ? PyUnicode_FromFormat("(%U)", types) : NULL;

    Py_XDECREF(types);
    return text;
}

static PyObject *
get_signatures(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *list = PyList_New(0);

    for (lw_special *at = ((lw_function *)object)->specials; list && at; at = at->next) {
        bool own = at->target == at && at->origin == NULL;
        PyObject *text = own ? text_of(at) : NULL;
        int known = text ? PySequence_Contains(list, text) : -own;
        if (known < 0 || (own && !known && PyList_Insert(list, 0, text) < 0))
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

static PyObject *
get_ndim(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLong(((lw_function *)object)->n_index);
}

static PyObject *
get_stats(PyObject *object, void *Py_UNUSED(closure))
{
    return lw_function_stats((lw_function *)object);
}

static PyObject *
get_state(PyObject *object, PyObject *Py_UNUSED(unused))
{
    lw_function *self = (lw_function *)object;
    PyObject *signatures = self->lazy ? Py_NewRef(Py_None) : get_signatures(object, NULL);

    if (signatures == NULL)
        return NULL;
    return Py_BuildValue("{s:N,s:O,s:O,s:I}", "signatures", signatures, "options",
                         self->keywords, "source", self->source ? self->source : Py_None,
                         "ndim", self->n_index);
}

static PyGetSetDef forall_getset[] = {
    {"signatures", get_signatures, NULL,
     PyDoc_STR("the argument types it is compiled for: ['(float, float64[::1])']"), NULL},
    {"specialisations", get_signatures, NULL, PyDoc_STR("the same as signatures"), NULL},
    {"ndim", get_ndim, NULL, PyDoc_STR("dimensions of the index space"), NULL},
    {"stats", get_stats, NULL, PyDoc_STR("what was compiled, from where, and how long it took"),
     NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef forall_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(lw_function, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(lw_function, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(lw_function, weakrefs), READONLY, NULL},
    {"py_func", T_OBJECT, offsetof(lw_function, py_func), READONLY,
     PyDoc_STR("the Python function it was made from")},
    {"__wrapped__", T_OBJECT, offsetof(lw_function, py_func), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

/* ---- methods ---- */

static PyObject *
forall_itself(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return Py_NewRef(self);
}

static PyObject *
forall_reduce(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return lw_reduce_by_source(self, "reduce_forall");
}

static PyMethodDef forall_methods_head[] = {
    {"bind", (PyCFunction)(void (*)(void))lw_forall_bind, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("bind($self, space, /, *args, stream=0, tpb=0, sharedmem=0)\n--\n\n"
               "A callable that repeats this call with the least overhead.\n\n"
               ">>> @lw.forall\n"
               "... def twice(i, x):\n"
               "...     x[i] *= 2\n"
               ">>> x = np.ones(3); step = twice.bind(3, x); step(); step(); x\n"
               "array([4., 4., 4.])")},
    {"_state", get_state, METH_NOARGS, PyDoc_STR("what pickling needs")},
    {"__reduce__", forall_reduce, METH_NOARGS, NULL},
    {"__copy__", forall_itself, METH_NOARGS, NULL},
    {"__deepcopy__", forall_itself, METH_O, NULL},
};

enum { N_HEAD = sizeof forall_methods_head / sizeof *forall_methods_head, MOST_INSPECT = 16 };

static PyMethodDef forall_methods[N_HEAD + MOST_INSPECT + 1]; /* filled once, at import */

PyDoc_STRVAR(forall_doc,
             "A function of an element's index, run for every index of a space: on the CPU's "
             "cores or on a GPU.\n\n"
             "Made by forall.\n\n"
             ">>> import numpy as np, lanewise as lw\n"
             ">>> @lw.forall\n"
             "... def square(i, x, out):\n"
             "...     out[i] = x[i] * x[i]\n"
             ">>> x = np.arange(4.0); square(x.size, x, x); x\n"
             "array([0., 1., 4., 9.])");

static PyType_Slot forall_slots[] = {
    {Py_tp_doc, (void *)forall_doc},   {Py_tp_dealloc, forall_dealloc},
    {Py_tp_traverse, forall_traverse}, {Py_tp_clear, forall_clear},
    {Py_tp_repr, forall_repr},         {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getset, forall_getset},     {Py_tp_members, forall_members},
    {Py_tp_methods, forall_methods},   {0, NULL}};

static PyType_Spec forall_spec = {
    .name = "lanewise.Forall",
    .basicsize = sizeof(lw_forall),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = forall_slots};

/* ---- the decorator ---- */

/* Takes ndim= out of the keywords. 0 with an exception. */
static uint32_t
take_ndim(PyObject *keywords)
{
    PyObject *value = PyDict_GetItemString(keywords, "ndim"); /* borrowed */
    long ndim = 1;

    if (value == NULL)
        return 1;
    ndim = PyLong_Check(value) && !PyBool_Check(value) ? PyLong_AsLong(value) : 0;
    PyErr_Clear();
    if (ndim < 1 || ndim > LW_MAX_INDEX) {
        PyErr_Format(PyLong_Check(value) ? PyExc_ValueError : PyExc_TypeError,
                     "ndim= must be 1, 2 or 3, not %.100R", value);
        return 0;
    }
    return PyDict_DelItemString(keywords, "ndim") < 0 ? 0 : (uint32_t)ndim;
}

static PyObject *
make(PyObject *module, PyObject *function, PyObject *signatures, PyObject *keywords,
     uint32_t ndim)
{
    PyObject *type = PyObject_GetAttrString(module, "Forall"), *result;

    if (type == NULL)
        return NULL;
    result = forall_new((PyTypeObject *)type, function, signatures, keywords, ndim);
    Py_DECREF(type);
    return result;
}

/* state: (module, signatures, keywords, ndim) */
static PyObject *
decorate(PyObject *state, PyObject *function)
{
    return make(PyTuple_GET_ITEM(state, 0), function, PyTuple_GET_ITEM(state, 1),
                PyTuple_GET_ITEM(state, 2),
                (uint32_t)PyLong_AsLong(PyTuple_GET_ITEM(state, 3)));
}

static PyMethodDef decorate_def = {"forall", decorate, METH_O,
                                   PyDoc_STR("makes a Forall of a function")};

/* Bad keywords and signatures are told now, not when the function comes. */
static int
check_early(PyObject *signatures, PyObject *keywords)
{
    lw_door_options options;
    lw_door_arguments arguments;
    lw_signature_list list = {0};
    lw_arena arena;
    int failed;

    if (lw_door_read(LW_DOOR_FORALL, signatures, keywords, &options, &arguments) < 0)
        return -1;
    lw_arena_init(&arena);
    failed = lw_signatures_read(signatures, false, &arena, &list);
    lw_arena_reset(&arena);
    return failed;
}

static PyObject *
make_decorator(PyObject *module, PyObject *signatures, PyObject *keywords, uint32_t ndim)
{
    PyObject *state, *result, *number;

    if (check_early(signatures, keywords) < 0)
        return NULL;
    number = PyLong_FromUnsignedLong(ndim);
    state = number
                ? PyTuple_Pack(4, module, signatures ? signatures : Py_None, keywords, number)
                : NULL;
    Py_XDECREF(number);
    if (state == NULL)
        return NULL;
    result = PyCFunction_New(&decorate_def, state);
    Py_DECREF(state);
    return result;
}

static PyObject *
forall(PyObject *module, PyObject *args, PyObject *kwargs)
{
    PyObject *first, *keywords, *result = NULL;
    uint32_t ndim;

    if (lw_decorator_arguments("forall", "signatures", args, kwargs, &first, &keywords) < 0)
        return NULL;
    ndim = take_ndim(keywords);
    if (ndim != 0 && PyTuple_GET_SIZE(args) == 1 && lw_is_function(first))
        result = make(module, first, NULL, keywords, ndim);
    else if (ndim != 0)
        result = make_decorator(module, first, keywords, ndim);
    Py_XDECREF(first);
    Py_DECREF(keywords);
    return result;
}

PyDoc_STRVAR(
    forall_function_doc,
    "forall(signatures=None, *, ndim=1, target='auto', typing='weak', fastmath=False,\n"
    "       cache=True, link=(), debug=False, lineinfo=True, opt=True, fma=True,\n"
    "       precise=False, max_registers=None, max_blocksize=None, static=(),\n"
    "       errors='raise', check=(), source=None, warn=True, nopython=True)\n--\n\n"
    "Make a Forall of a Python function whose first parameter is an element's index (with\n"
    "ndim=2: the first two).\n\n"
    ">>> @lw.forall\n"
    "... def saxpy(i, a, x, y, out):\n"
    "...     out[i] = a * x[i] + y[i]\n"
    ">>> x = np.arange(3.0); out = np.zeros(3)\n"
    ">>> saxpy(3, 2.0, x, x, out); out\n"
    "array([0., 3., 6.])");

static PyMethodDef functions[] = {
    {"forall", LW_KEYWORDS(forall), forall_function_doc},
    {NULL, NULL, 0, NULL},
};

static void
fill_methods(void)
{
    memcpy(forall_methods, forall_methods_head, sizeof forall_methods_head);
    for (int i = 0; i < MOST_INSPECT && lw_forall_inspect_methods[i].ml_name; i++)
        forall_methods[N_HEAD + i] = lw_forall_inspect_methods[i];
}

int
lw_forall_register(PyObject *module)
{
    PyObject *type;
    int failed;

    fill_methods();
    type = PyType_FromModuleAndSpec(module, &forall_spec, NULL);
    if (type == NULL)
        return -1;
    failed = PyModule_AddObjectRef(module, "Forall", type);
    Py_DECREF(type);
    if (failed < 0 || lw_forall_bind_register(module) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
