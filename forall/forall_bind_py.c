/* A call that is prepared once with its arguments: calling it again checks whether what the
 * function captured is unchanged, launches, and does nothing else. */
#include "forall/forall_py_internal.h"

#include "core/base/memory.h"
#include "core/py/compiled/entry.h"

#include <stddef.h>
#include <structmember.h>

typedef struct bound_call {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function, *args, *stream, *weakrefs; /* stream: or NULL */
    lw_prepared *prepared;
} bound_call;

/* Whether what the function captured has changed, or its machine code is not the one to run any
 * more: after cuda.close(), say. */
static bool
is_stale(const bound_call *self)
{
    const lw_device_entry *entry = self->prepared->entry;

    return lw_function_is_stale((lw_function *)self->function) ||
           (entry != NULL && !lw_image_is_ready(entry->image));
}

/* Called then: the call is made as any other, perhaps by another object. */
static PyObject *
call_anew(bound_call *self)
{
    PyObject *keywords = NULL, *result = NULL;

    if (self->stream == NULL || (keywords = Py_BuildValue("{sO}", "stream", self->stream)))
        result = PyObject_Call(self->function, self->args, keywords);
    Py_XDECREF(keywords);
    return result;
}

static PyObject *
run(bound_call *self)
{
    return is_stale(self) ? call_anew(self) : lw_forall_fire(self->prepared);
}

/* While a profile is open. */
static PyObject *
call_measured(bound_call *self)
{
    lw_profile_frame frame;
    bool measured =
        lw_profile_call_begin(&frame, (lw_compiled *)self->function, NULL,
                              PySequence_Fast_ITEMS(self->args), PyTuple_GET_SIZE(self->args));
    PyObject *result = run(self);

    if (measured)
        lw_profile_call_end(&frame, result);
    return result;
}

static PyObject *
call(PyObject *object, PyObject *const *Py_UNUSED(args), size_t nargsf, PyObject *kwnames)
{
    bound_call *self = (bound_call *)object;

    if (PyVectorcall_NARGS(nargsf) != 0 || (kwnames && PyTuple_GET_SIZE(kwnames) != 0)) {
        PyErr_SetString(PyExc_TypeError, "a bound call takes no arguments: bind() has them");
        return NULL;
    }
    return lw_profiling() ? call_measured(self) : run(self);
}

/* Not prepared: it cannot be called. NULL with an exception. */
static bound_call *
bound_new(PyObject *function, PyObject *const *args, Py_ssize_t n_args, PyObject *stream)
{
    PyTypeObject *type = lw_state_class(lw_core->bound_forall_type);
    bound_call *bound = type ? PyObject_GC_New(bound_call, type) : NULL;

    if (bound == NULL)
        return NULL;
    bound->vectorcall = call;
    bound->function = Py_NewRef(function);
    bound->weakrefs = NULL;
    bound->args = PyTuple_New(n_args);
    bound->stream = Py_XNewRef(stream);
    bound->prepared = NULL;
    PyObject_GC_Track(bound);
    if (bound->args == NULL) {
        Py_DECREF(bound);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n_args; i++)
        PyTuple_SET_ITEM(bound->args, i, Py_NewRef(args[i]));
    return bound;
}

static int
prepare(bound_call *bound, PyObject *const *args, Py_ssize_t n_args,
        const lw_forall_keywords *keywords)
{
    bound->prepared = lw_alloc_zero(1, sizeof *bound->prepared);
    if (bound->prepared == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (lw_forall_prepare((lw_forall *)bound->function, args, n_args, keywords,
                          bound->prepared) < 0) {
        lw_free(bound->prepared);
        bound->prepared = NULL;
        return -1;
    }
    if (bound->prepared->bound.n_copies == 0)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "%s.bind: an array is not aligned, or not in native byte order, and would be "
                 "copied at each call; pass a copy",
                 lw_function_name(&bound->prepared->self->base));
    return -1;
}

static PyObject *
bind(PyObject *object, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    lw_forall *self = (lw_forall *)object;
    PyObject *row[1 + LW_MOST_ARRANGED];
    lw_forall_keywords keywords = {0};
    bound_call *bound;

    if (kwnames && lw_forall_keywords_read(self, &args, &n_args, kwnames, row, &keywords) < 0)
        return NULL;
    if (keywords.progress != NULL) {
        PyErr_Format(PyExc_TypeError, "%s.bind() takes no progress=: it is for calls",
                     lw_function_name(&self->base));
        return NULL;
    }
    bound = bound_new(object, args, n_args, keywords.stream);
    if (bound != NULL && prepare(bound, args, n_args, &keywords) < 0)
        Py_CLEAR(bound);
    return (PyObject *)bound;
}

PyObject *
lw_forall_bind(PyObject *object, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    PyObject *current = (PyObject *)lw_function_current((lw_function *)object);
    PyObject *result = current ? bind(current, args, n_args, kwnames) : NULL;

    Py_XDECREF(current);
    return result;
}

static int
traverse(PyObject *object, visitproc visit, void *arg)
{
    bound_call *self = (bound_call *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->function);
    Py_VISIT(self->args);
    Py_VISIT(self->stream);
    return 0;
}

static void
dealloc(PyObject *object)
{
    bound_call *self = (bound_call *)object;
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    if (self->weakrefs != NULL)
        PyObject_ClearWeakRefs(object);
    if (self->prepared != NULL)
        lw_forall_release(self->prepared);
    lw_free(self->prepared);
    Py_CLEAR(self->args);
    Py_CLEAR(self->stream);
    Py_CLEAR(self->function);
    type->tp_free(object);
    Py_DECREF(type);
}

/* The arguments are not cleared, because the call contains their addresses. A cycle through
 * them is broken by another object of the cycle. */
static PyObject *
repr(PyObject *object)
{
    return PyUnicode_FromFormat("<bound call of %R>", ((bound_call *)object)->function);
}

/* Pickles with copies of its arrays, and without a stream, which belongs to this process. */
static PyObject *
reduce(PyObject *object, PyObject *Py_UNUSED(unused))
{
    const bound_call *self = (bound_call *)object;
    PyObject *how = PyObject_GetAttrString(self->function, "bind");

    return how ? Py_BuildValue("(NO)", how, self->args) : NULL;
}

static PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(bound_call, vectorcall), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(bound_call, weakrefs), READONLY, NULL},
    {"function", T_OBJECT, offsetof(bound_call, function), READONLY,
     PyDoc_STR("whose call it is")},
    {"args", T_OBJECT, offsetof(bound_call, args), READONLY,
     PyDoc_STR("what it is called with")},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, (void *)PyDoc_STR("A call made ready once.")},
                              {Py_tp_dealloc, dealloc},
                              {Py_tp_traverse, traverse},
                              {Py_tp_repr, repr},
                              {Py_tp_call, PyVectorcall_Call},
                              {Py_tp_methods, methods},
                              {Py_tp_members, members},
                              {0, NULL}};

static PyType_Spec spec = {
    .name = "lanewise.BoundForall",
    .basicsize = sizeof(bound_call),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots};

int
lw_forall_bind_register(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);

    lw_core->bound_forall_type = (PyTypeObject *)type;
    return type ? PyModule_AddObjectRef(module, "BoundForall", type) : -1;
}
