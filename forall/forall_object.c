/* The Forall type and the decorator that makes it. */
#include "forall/forall_py.h"

#include "core/py/compiled/decorate.h"
#include "core/py/method_table.h"
#include "core/front/fast_index.h"
#include "forall/forall_py_internal.h"
#include <stddef.h>
#include <string.h>
#include <structmember.h>

static const lw_compiled_door door;

/* ---- building ---- */

static PyObject *
forall_new(PyTypeObject *type, const lw_request *request)
{
    lw_forall *self = lw_compiled_alloc(type, &door, lw_forall_call);

    if (self == NULL || lw_function_init(&self->base, request) < 0)
        goto fail;
    self->fast = (uint8_t)lw_fast_index(self->base.tree, self->base.n_index);
    if (lw_function_declare(&self->base, request->signatures) < 0)
        goto fail;
    return (PyObject *)self;
fail:
    Py_XDECREF((PyObject *)self);
    return NULL;
}

/* ---- life ---- */

static int
forall_traverse(PyObject *object, visitproc visit, void *arg)
{
    return lw_function_traverse((lw_function *)object, visit, arg);
}

static int
forall_clear(PyObject *object)
{
    lw_compiled_clear((lw_compiled *)object);
    return 0;
}

static PyObject *
forall_repr(PyObject *object)
{
    const lw_function *self = &((lw_forall *)object)->base;

    return PyUnicode_FromFormat("<lanewise.Forall '%s' (ndim=%u)>", lw_function_name(self),
                                (unsigned)self->n_index);
}

/* ---- attributes ---- */

/* Writes a signature that can be read back. */
static PyObject *
text_of(const lw_specialisation *specialisation)
{
    PyObject *types = lw_specialisation_text(specialisation);
    PyObject *text = types ? PyUnicode_FromFormat("(%U)", types) : NULL;

    Py_XDECREF(types);
    return text;
}

static PyObject *
get_signatures(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *list = PyList_New(0);

    for (lw_specialisation *at = lw_grown_first(&((lw_function *)object)->specialisations);
         list && at; at = lw_grown_next(at)) {
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
declared(lw_compiled *self)
{
    return self->lazy ? Py_NewRef(Py_None) : get_signatures((PyObject *)self, NULL);
}

static PyGetSetDef forall_getset[] = {
    {"signatures", get_signatures, NULL,
     PyDoc_STR("the argument types for which it has been compiled: ['(float, float64[::1])']"),
     NULL},
    {"specialisations", get_signatures, NULL, PyDoc_STR("the same as signatures"), NULL},
    {"ndim", get_ndim, NULL, PyDoc_STR("the number of dimensions of the index space"), NULL},
    {NULL, NULL, NULL, NULL, NULL}};

/* ---- methods ---- */

static PyMethodDef forall_methods_head[] = {
    {"bind", (PyCFunction)(void (*)(void))lw_forall_bind, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("bind($self, space, /, *args, stream=0, tpb=0, sharedmem=0)\n--\n\n"
               "Return a callable that repeats the call f(space, *args) on the same arrays, "
               "with less overhead.\n\n"
               ">>> @lw.forall\n"
               "... def twice(i, x):\n"
               "...     x[i] *= 2\n"
               ">>> x = np.ones(3); step = twice.bind(3, x); step(); step(); x\n"
               "array([4., 4., 4.])")},
    {"_call_with_halos", (PyCFunction)(void (*)(void))lw_forall_call_with_halos, METH_FASTCALL,
     PyDoc_STR("_call_with_halos($self, space, /, *args)\n--\n\n"
               "Call where arrays go on behind their shapes, as in map_blocks().")},
};

enum { N_HEAD = sizeof forall_methods_head / sizeof *forall_methods_head, MOST_INSPECT = 16 };

static PyMethodDef forall_methods[N_HEAD + MOST_INSPECT + 1]; /* filled once, at import */

PyDoc_STRVAR(forall_doc, "A function that runs once for each index, on all CPU cores or on a "
                         "GPU, made by lanewise.forall.\n"
                         "\n"
                         ">>> import numpy as np, lanewise as lw\n"
                         ">>> @lw.forall\n"
                         "... def square(i, x, out):\n"
                         "...     out[i] = x[i] * x[i]\n"
                         ">>> x = np.arange(4.0); square(x.size, x, x); x\n"
                         "array([0., 1., 4., 9.])");

static PyType_Slot forall_slots[] = {{Py_tp_doc, (void *)forall_doc},
                                     {Py_tp_dealloc, lw_compiled_dealloc},
                                     {Py_tp_traverse, forall_traverse},
                                     {Py_tp_clear, forall_clear},
                                     {Py_tp_repr, forall_repr},
                                     {Py_tp_call, PyVectorcall_Call},
                                     {Py_tp_getset, forall_getset},
                                     {Py_tp_methods, forall_methods},
                                     {0, NULL}};

static PyType_Spec forall_spec = {
    .name = "lanewise.Forall",
    .basicsize = sizeof(lw_forall),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = forall_slots};

/* ---- the decorator ---- */

static int
check(const lw_request *request)
{
    lw_door_options options;
    lw_door_arguments arguments;
    lw_signature_list list = {0};
    lw_arena arena;
    int failed;

    if (lw_door_read(LW_DOOR_FORALL, request->signatures, request->keywords, &options,
                     &arguments) < 0)
        return -1;
    lw_arena_init(&arena);
    failed = lw_signatures_read(request->signatures, false, &arena, &list);
    lw_arena_reset(&arena);
    return failed;
}

static const lw_compiled_door door = {.id = LW_DOOR_FORALL,
                                      .path = "forall",
                                      .check = check,
                                      .make = forall_new,
                                      .declared = declared,
                                      .changed = lw_function_statics_changed,
                                      .drop = lw_function_drop};

static PyObject *
forall(PyObject *module, PyObject *args, PyObject *kwargs)
{
    return lw_decorate_either(&door, module, "signatures", args, kwargs);
}

PyDoc_STRVAR(
    forall_function_doc,
    "Run a function once for each index, on all CPU cores or on a GPU.\n"
    "\n"
    "The first parameter of the decorated function is the index (with ndim=2, the "
    "first two are). The\n"
    "function reads and writes the arrays that it is given, at any position, and "
    "returns nothing. A call\n"
    "passes the number of indices first. The calls for different indices run in any "
    "order, so none of them\n"
    "may read or write what another one writes.\n"
    "\n"
    "Indices of arrays are not checked while the function runs; an index that every call "
    "uses, such as x[i + 1],\n"
    "is an IndexError before that. check={'bounds'}, or LANEWISE_CHECK=bounds in the "
    "environment, checks all.\n"
    "\n"
    ">>> @lw.forall\n"
    "... def saxpy(i, a, x, y, out):\n"
    "...     out[i] = a * x[i] + y[i]\n"
    ">>> x = np.arange(3.0); out = np.zeros(3)\n"
    ">>> saxpy(3, 2.0, x, x, out); out\n"
    "array([0., 3., 6.])");

static PyMethodDef decorator[] = {
    {"forall", LW_KEYWORDS(forall), NULL},
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
    fill_methods();
    if (lw_compiled_type(module, LW_DOOR_FORALL, &forall_spec, NULL) == NULL ||
        lw_forall_bind_register(module) < 0)
        return -1;
    return lw_door_add(module, module, decorator, LW_DOOR_FORALL, "signatures=None, *",
                       forall_function_doc);
}
