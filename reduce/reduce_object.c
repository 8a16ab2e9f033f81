/* The Reduction type and the decorator that makes it. */
#include "core/py/numpy_api.h"

#include "reduce/reduce_py.h"

#include "core/front/read/services.h"
#include "core/py/array/device_array.h"
#include "core/py/compiled/door_function.h"
#include "core/py/method_table.h"
#include "core/py/raise.h"
#include "reduce/device_py.h"
#include "reduce/form_py.h"
#include "reduce/inspect_py.h"
#include "reduce/key_py.h"
#include "reduce/recall_py.h"
#include "reduce/reduce_parts_py.h"
#include "reduce/scan_py.h"
#include "reduce/slice_py.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

static const char *const role_names[LW_N_ROLES] = {"map", "combine", "finish"};

static PyObject *reducer_call(PyObject *self, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames);

/* ---- building ---- */

static int
read_role(lw_reducer *self, int role, PyObject *function, PyObject *source)
{
    lw_error err = {0};
    uint32_t n;

    self->function[role] = lw_python_function(function);
    if (self->function[role] == NULL)
        return -1;
    if (lw_read_function(self->function[role], source, &self->tree[role], &self->captures[role],
                         &err) != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    for (uint32_t i = 0; i < self->tree[role]->fns.data[1].params.n; i++)
        if (self->tree[role]->fns.data[1].params.data[i].kind != LW_PARAM_POSITIONAL) {
            PyErr_Format(PyExc_TypeError,
                         "%s=: parameters of `%s` must be plain ones, without * or **",
                         role_names[role], self->tree[role]->fns.data[1].name);
            return -1;
        }
    n = self->tree[role]->fns.data[1].params.n;
    if (role == LW_ROLE_COMBINE && (n == 0 || n % 2 == 1)) {
        PyErr_Format(PyExc_TypeError,
                     "reduce: combine function `%s` takes %u parameter%s; expected two, or two "
                     "for each number of an accumulator",
                     self->tree[role]->fns.data[1].name, (unsigned)n, n == 1 ? "" : "s");
        return -1;
    }
    return 0;
}

/* As functools.wraps does, into our own dict. */
static int
take_names(lw_reducer *self)
{
    static const char *const names[] = {"__module__", "__name__", "__qualname__", "__doc__"};

    self->dict = PyDict_New();
    for (int i = 0; i < 4 && self->dict != NULL; i++) {
        PyObject *value = PyObject_GetAttrString(self->function[LW_ROLE_COMBINE], names[i]);
        int failed = value ? PyDict_SetItemString(self->dict, names[i], value) : -1;
        Py_XDECREF(value);
        if (failed < 0)
            return -1;
    }
    return self->dict ? 0 : -1;
}

/* What a call of reduce() gave, taken apart; references are borrowed. */
typedef struct request {
    PyObject *role[LW_N_ROLES];
    PyObject *identity;
    int commutative;
    PyObject *rest; /* owned: the keywords of code generation */
} request;

static PyObject *
reducer_new(PyTypeObject *type, const request *r)
{
    lw_reducer *self = (lw_reducer *)type->tp_alloc(type, 0);
    lw_door_arguments arguments;

    if (self == NULL)
        return NULL;
    self->vectorcall = reducer_call;
    self->commutative = r->commutative;
    self->identity = Py_XNewRef(r->identity);
    self->keywords = Py_NewRef(r->rest);
    if (lw_door_read(LW_DOOR_REDUCE, NULL, r->rest, &self->options, &arguments) < 0)
        goto fail;
    self->source = Py_XNewRef(arguments.source);
    if (PyMapping_HasKeyString(r->rest, "target")) {
        self->cpu_only = self->options.target == LW_CHOOSE_CPU;
        self->cuda_only = self->options.target == LW_CHOOSE_CUDA;
    }
    for (int i = 0; i < LW_N_ROLES; i++)
        if (r->role[i] != NULL &&
            read_role(self, i, r->role[i], i == LW_ROLE_COMBINE ? self->source : NULL) < 0)
            goto fail;
    if (take_names(self) < 0)
        goto fail;
    return (PyObject *)self;
fail:
    Py_DECREF(self);
    return NULL;
}

/* ---- life ---- */

static int
reducer_traverse(PyObject *object, visitproc visit, void *arg)
{
    lw_reducer *self = (lw_reducer *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->dict);
    Py_VISIT(self->keywords);
    Py_VISIT(self->identity);
    Py_VISIT(self->source);
    if (lw_renewal_traverse(&self->renewal, visit, arg))
        return 1;
    for (int i = 0; i < LW_N_ROLES; i++) {
        Py_VISIT(self->function[i]);
        if (self->captures[i] != NULL) {
            int result = lw_captures_traverse(self->captures[i], visit, arg);
            if (result)
                return result;
        }
    }
    return 0;
}

static int
reducer_clear(PyObject *object)
{
    lw_reducer *self = (lw_reducer *)object;

    for (int i = 0; i < LW_N_ROLES; i++) {
        lw_captures *captures = self->captures[i];
        self->captures[i] = NULL;
        lw_captures_free(captures);
        Py_CLEAR(self->function[i]);
    }
    Py_CLEAR(self->dict);
    Py_CLEAR(self->keywords);
    Py_CLEAR(self->identity);
    Py_CLEAR(self->source);
    lw_renewal_clear(&self->renewal);
    return 0;
}

static void
reducer_dealloc(PyObject *object)
{
    lw_reducer *self = (lw_reducer *)object;
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    if (self->weakrefs != NULL)
        PyObject_ClearWeakRefs(object);
    reducer_clear(object);
    for (int i = 0; i < LW_N_RECALLS; i++)
        lw_reduce_recalls_free(self->recalled[i]);
    lw_reducer_drop_specials(self);
    for (int i = 0; i < LW_N_ROLES; i++)
        lw_tree_free(self->tree[i]);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *
reducer_repr(PyObject *object)
{
    return PyUnicode_FromFormat("<lanewise.Reduction '%s'>",
                                lw_reducer_name((lw_reducer *)object));
}

/* ---- what its functions captured ---- */

static bool
is_stale(PyObject *object)
{
    const lw_reducer *self = (lw_reducer *)object;
    bool stale = false;

    for (int i = 0; i < LW_N_ROLES; i++) /* all: each counts its calls */
        stale |= self->captures[i] != NULL && lw_captures_changed(self->captures[i]);
    return stale;
}

/* 1 where a warning has been given, -1 with an exception. */
static int
tell_frozen(lw_reducer *self)
{
    int told = 0;

    for (int i = 0; i < LW_N_ROLES && told >= 0; i++) {
        int result = lw_tell_frozen(self->captures[i], &self->options, lw_reducer_name(self));
        told = result < 0 ? -1 : told | result;
    }
    return told;
}

static int
serves(PyObject *object)
{
    lw_reducer *self = (lw_reducer *)object;
    int told = 0;

    if (lw_door_checks_changed(&self->options))
        return 0;
    if (!is_stale(object))
        return 1;
    if (self->specials != NULL) /* before that it is read again */
        told = tell_frozen(self);
    return told > 0 ? !is_stale(object) : told;
}

lw_reducer *
lw_reducer_current(lw_reducer *self)
{
    bool looks = self->specials != NULL || lw_door_checks_changed(&self->options);
    int serving = looks ? serves((PyObject *)self) : 1;

    if (serving != 0)
        return serving < 0 ? NULL : (lw_reducer *)Py_NewRef((PyObject *)self);
    return (lw_reducer *)lw_renewed((PyObject *)self, &self->renewal, serves, &self->options,
                                    lw_reducer_name(self));
}

typedef PyObject *(*long_way)(PyObject *self, PyObject *args, PyObject *kwargs);

static PyObject *
go_the_long_way(lw_reducer *self, long_way call, PyObject *const *args, Py_ssize_t n_args,
                PyObject *kwnames)
{
    PyObject *tuple = PyTuple_New(n_args), *dict = kwnames ? PyDict_New() : NULL;
    PyObject *result = NULL;
    bool good = tuple != NULL && (dict != NULL || kwnames == NULL);

    for (Py_ssize_t i = 0; good && i < n_args; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; good && dict != NULL && i < PyTuple_GET_SIZE(kwnames); i++)
        good = PyDict_SetItem(dict, PyTuple_GET_ITEM(kwnames, i), args[n_args + i]) == 0;
    if (good)
        result = call((PyObject *)self, tuple, dict);
    Py_XDECREF(tuple);
    Py_XDECREF(dict);
    return result;
}

static PyObject *
call_current(PyObject *object, int which, long_way call, PyObject *const *args,
             Py_ssize_t n_args, PyObject *kwnames)
{
    lw_reducer *self = lw_reducer_current((lw_reducer *)object);
    PyObject *result = NULL;

    if (self != NULL && !lw_reduce_recall(self, which, args, n_args, kwnames, &result))
        result = go_the_long_way(self, call, args, n_args, kwnames);
    Py_XDECREF((PyObject *)self);
    return result;
}

static PyObject *
reducer_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    return call_current(self, LW_RECALL_CALL, lw_reducer_call, args, PyVectorcall_NARGS(nargsf),
                        kwnames);
}

static PyObject *
reducer_accumulate(PyObject *self, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    return call_current(self, LW_RECALL_ACCUMULATE, lw_reducer_accumulate, args, n_args,
                        kwnames);
}

/* The other calls, each on the object that takes it. */
#define OF_CURRENT(name)                                                                       \
    LW_OF_CURRENT(reducer_##name, lw_reducer_current((lw_reducer *)object), lw_reducer_##name)
OF_CURRENT(reduceat)
OF_CURRENT(simulate)
OF_CURRENT(simulate_scan)
OF_CURRENT(simulate_slices)
OF_CURRENT(simulate_by_key)
#undef OF_CURRENT

/* ---- attributes and methods ---- */

static PyObject *
get_stats(PyObject *object, void *Py_UNUSED(closure))
{
    const lw_reducer *self = (lw_reducer *)object;

    return Py_BuildValue("{s:I,s:I,s:I,s:I,s:d}", "specialisations", self->n_specials,
                         "compiled", self->compiled, "from_memory", self->from_memory,
                         "from_disk", self->from_disk, "seconds", self->seconds);
}

static PyObject *
get_state(PyObject *object, PyObject *Py_UNUSED(unused))
{
    lw_reducer *self = (lw_reducer *)object;
    PyObject *state = PyDict_New();
    PyObject *commutative = self->commutative < 0 ? Py_None
                            : self->commutative   ? Py_True
                                                  : Py_False;
    bool good = state != NULL && PyDict_SetItemString(state, "options", self->keywords) == 0 &&
                PyDict_SetItemString(state, "commutative", commutative) == 0;

    for (int i = 0; good && i < LW_N_ROLES; i++)
        if (self->function[i] != NULL)
            good = PyDict_SetItemString(state, role_names[i], self->function[i]) == 0;
    if (good && self->identity != NULL)
        good = PyDict_SetItemString(state, "identity", self->identity) == 0;
    if (!good)
        Py_CLEAR(state);
    return state;
}

static PyObject *
reducer_reduce(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return lw_reduce_by_source(self, "reduce_reduction");
}

static PyObject *
reducer_itself(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return Py_NewRef(self);
}

/* Whether combine is seen, or said, to let elements of this dtype change places. Then it is
 * associative too. */
static PyObject *
reducer_reorders(PyObject *self, PyObject *dtype)
{
    PyArray_Descr *descr = NULL;
    lw_reduce_special *special;
    lw_reduce_operand found = {0};

    if (!PyArray_DescrConverter(dtype, &descr))
        return NULL;
    found.dtype = lw_dtype_of_descr(descr);
    Py_DECREF(descr);
    if (found.dtype == LW_DT_void)
        Py_RETURN_FALSE;
    special = lw_reducer_special((lw_reducer *)self, &found, 1, found.dtype);
    return special ? PyBool_FromLong(special->reduction->commutative) : NULL;
}

/* Keys that are equal and neighbours: lanewise/_reduce.py finds where they begin. */
static PyObject *
by_key_on_host(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *function = lw_service_find(LW_SERVICE_REDUCE, "by_key"), *result = NULL;
    PyObject *own = function ? PyTuple_Pack(1, self) : NULL;
    PyObject *all = own ? PySequence_Concat(own, args) : NULL;

    if (all != NULL)
        result = PyObject_Call(function, all, kwargs);
    Py_XDECREF(all);
    Py_XDECREF(own);
    Py_XDECREF(function);
    return result;
}

/* by_key(keys=, values=): takes them out of *kwargs, and puts them behind *args. New tuple. */
static PyObject *
keys_and_values(PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"keys", "values"};
    PyObject *all = PySequence_List(args), *value, *result;

    for (int i = 0; i < 2 && all != NULL && kwargs != NULL; i++) {
        value = PyDict_GetItemString(kwargs, names[i]);
        if (value != NULL && i < PyTuple_GET_SIZE(args)) {
            PyErr_Format(PyExc_TypeError, "by_key() got multiple values for argument '%s'",
                         names[i]);
            Py_CLEAR(all);
        } else if (value != NULL && (PyList_Append(all, value) < 0 ||
                                     PyDict_DelItemString(kwargs, names[i]) < 0))
            Py_CLEAR(all);
    }
    result = all ? PyList_AsTuple(all) : NULL;
    Py_XDECREF(all);
    return result;
}

static PyObject *
by_key(lw_reducer *self, PyObject *args, PyObject *kwargs)
{
    uint32_t n = lw_reducer_n_arrays(self);
    bool on_device = false;

    n = n ? n : 1;
    if (PyTuple_GET_SIZE(args) != (Py_ssize_t)n + 1) {
        PyErr_Format(PyExc_TypeError, "by_key() takes keys and %u array%s of values, not %zd",
                     (unsigned)n, n == 1 ? "" : "s",
                     PyTuple_GET_SIZE(args) ? PyTuple_GET_SIZE(args) - 1 : 0);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        on_device |= lw_is_device_operand(PyTuple_GET_ITEM(args, i));
    return (on_device ? lw_reducer_by_key_on_device : by_key_on_host)((PyObject *)self, args,
                                                                      kwargs);
}

static PyObject *
reducer_by_key(PyObject *self, PyObject *args, PyObject *kwargs)
{
    lw_reducer *current = lw_reducer_current((lw_reducer *)self);
    PyObject *named = kwargs ? PyDict_Copy(kwargs) : NULL, *all = NULL, *result = NULL;

    if (current != NULL && (named != NULL || kwargs == NULL))
        all = keys_and_values(args, named);
    if (all != NULL)
        result = by_key(current, all, named);
    Py_XDECREF(all);
    Py_XDECREF(named);
    Py_XDECREF(current);
    return result;
}

/* Of the call; __wrapped__ is the operator. */
static PyObject *
get_text_signature(PyObject *Py_UNUSED(self), void *Py_UNUSED(closure))
{
    PyObject *module = lw_service_module(LW_SERVICE_REDUCE);
    PyObject *result = module ? PyObject_CallMethod(module, "signature", NULL) : NULL;

    Py_XDECREF(module);
    return result;
}

static PyGetSetDef reducer_getset[] = {
    {"__signature__", get_text_signature, NULL, NULL, NULL},
    {"signatures", lw_reducer_signatures, NULL,
     PyDoc_STR("what it is compiled for: ['float64(float32)']"), NULL},
    {"stats", get_stats, NULL, PyDoc_STR("what was compiled, from where, and how long it took"),
     NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

#define ROLE(role) (offsetof(lw_reducer, function) + (role) * sizeof(PyObject *))

static PyMemberDef reducer_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(lw_reducer, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(lw_reducer, weakrefs), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(lw_reducer, vectorcall), READONLY, NULL},
    {"py_func", T_OBJECT, ROLE(LW_ROLE_COMBINE), READONLY,
     PyDoc_STR("the Python function that combines two accumulators")},
    {"__wrapped__", T_OBJECT, ROLE(LW_ROLE_COMBINE), READONLY, NULL},
    {"map", T_OBJECT, ROLE(LW_ROLE_MAP), READONLY,
     PyDoc_STR("the function that makes an accumulator of an element, or None")},
    {"finish", T_OBJECT, ROLE(LW_ROLE_FINISH), READONLY,
     PyDoc_STR("the function that makes the result of the last accumulator, or None")},
    {"identity", T_OBJECT, offsetof(lw_reducer, identity), READONLY,
     PyDoc_STR("what was given as identity=, or None")},
    {NULL, 0, 0, 0, NULL}};

static const PyMethodDef methods_head[] = {
    {"accumulate", (PyCFunction)(void (*)(void))reducer_accumulate,
     METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("accumulate($self, a, /, *args, **kwargs)\n--\n\n"
               "accumulate(a, axis=0, exclusive=False, *, dtype=None, out=None): every result "
               "on the way.\n\n"
               ">>> total = lw.reduce(lambda a, b: a + b)\n"
               ">>> total.accumulate(np.arange(5))\n"
               "array([ 0,  1,  3,  6, 10])\n"
               ">>> total.accumulate(np.arange(5), exclusive=True)\n"
               "array([0, 0, 1, 3, 6])")},
    {"reduceat", LW_KEYWORDS(reducer_reduceat),
     PyDoc_STR("reduceat($self, a, /, *args, **kwargs)\n--\n\n"
               "reduceat(a, indices, axis=0, *, dtype=None, out=None): slices of one axis, as "
               "numpy.ufunc.reduceat.\n\n"
               ">>> lw.reduce(lambda a, b: a + b).reduceat(np.arange(8), [0, 4])\n"
               "array([ 6, 22])")},
    {"by_key", LW_KEYWORDS(reducer_by_key),
     PyDoc_STR("by_key($self, keys, /, *values, stream=0)\n--\n\n"
               "Of neighbouring values with equal keys: (keys, results).\n\n"
               ">>> lw.reduce(lambda a, b: a + b).by_key([1, 1, 2], [10, 20, 30])\n"
               "(array([1, 2]), array([30, 30]))")},
    {"_simulate", LW_KEYWORDS(reducer_simulate),
     PyDoc_STR("_simulate($self, a, /, *args, **kwargs)\n--\n\n"
               "The GPU's kernel on the simulator, for tests; size= is the grid's.")},
    {"_simulate_scan", LW_KEYWORDS(reducer_simulate_scan),
     PyDoc_STR("_simulate_scan($self, a, /, *args, **kwargs)\n--\n\n"
               "The same for accumulate; size= makes tiles of 32 threads with so many items.")},
    {"_simulate_slices", LW_KEYWORDS(reducer_simulate_slices),
     PyDoc_STR("_simulate_slices($self, a, /, *args, **kwargs)\n--\n\n"
               "The same for reduceat; the indices come last.")},
    {"_simulate_by_key", LW_KEYWORDS(reducer_simulate_by_key),
     PyDoc_STR("_simulate_by_key($self, keys, /, *args, **kwargs)\n--\n\n"
               "The same for by_key; size= as for _simulate_scan.")},
    {"_reorders", reducer_reorders, METH_O,
     PyDoc_STR("_reorders(dtype): may elements of this dtype change places?")},
    {"_state", get_state, METH_NOARGS, PyDoc_STR("what pickling needs")},
    {"__reduce__", reducer_reduce, METH_NOARGS, NULL},
    {"__copy__", reducer_itself, METH_NOARGS, NULL},
    {"__deepcopy__", reducer_itself, METH_O, NULL},
};

enum { N_HEAD = sizeof methods_head / sizeof *methods_head };

static PyMethodDef reducer_methods[N_HEAD + LW_REDUCE_INSPECTIONS + 1]; /* filled at import */

PyDoc_STRVAR(reducer_doc,
             "A reduction: elements mapped, combined two by two, and finished.\n\n"
             "Made by reduce. Called as r(a, *more, axis=None, dtype=None, out=None,\n"
             "keepdims=False, initial=..., where=True, stream=0).\n\n"
             ">>> total = lw.reduce(lambda a, b: a + b)\n"
             ">>> total(np.arange(6).reshape(2, 3), axis=1)\n"
             "array([ 3, 12])");

static PyType_Slot reducer_slots[] = {
    {Py_tp_doc, (void *)reducer_doc},   {Py_tp_dealloc, reducer_dealloc},
    {Py_tp_traverse, reducer_traverse}, {Py_tp_clear, reducer_clear},
    {Py_tp_repr, reducer_repr},         {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getset, reducer_getset},     {Py_tp_members, reducer_members},
    {Py_tp_methods, reducer_methods},   {0, NULL}};

static PyType_Spec reducer_spec = {
    .name = "lanewise.Reduction",
    .basicsize = sizeof(lw_reducer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = reducer_slots};

/* ---- the decorator ---- */

static bool
is_function(PyObject *object)
{
    return !PyType_Check(object) && !PyUnicode_Check(object) &&
           (PyFunction_Check(object) || PyMethod_Check(object) ||
            PyObject_HasAttrString(object, "py_func") ||
            PyObject_HasAttrString(object, "__wrapped__"));
}

/* Takes a keyword out of the rest; borrowed from `keywords`, which outlives the request. */
static int
take(request *r, PyObject *keywords, const char *name, PyObject **out)
{
    PyObject *key = PyUnicode_FromString(name), *value;
    int failed = 0;

    *out = NULL;
    if (key == NULL)
        return -1;
    value = PyDict_GetItemWithError(keywords, key); /* borrowed */
    *out = value == Py_None ? NULL : value;
    if (value != NULL)
        failed = PyDict_DelItem(r->rest, key);
    else if (PyErr_Occurred())
        failed = -1;
    Py_DECREF(key);
    return failed;
}

static int
read_request(request *r, PyObject *args, PyObject *keywords)
{
    PyObject *commutative;

    if (PyTuple_GET_SIZE(args) > 1) {
        PyErr_Format(PyExc_TypeError,
                     "reduce() takes one positional argument, the function that combines, not "
                     "%zd",
                     PyTuple_GET_SIZE(args));
        return -1;
    }
    for (int i = 0; i < LW_N_ROLES; i++)
        if (take(r, keywords, role_names[i], &r->role[i]) < 0)
            return -1;
    if (take(r, keywords, "identity", &r->identity) < 0 ||
        take(r, keywords, "commutative", &commutative) < 0)
        return -1;
    if (r->identity != NULL && lw_reduce_check_numbers(r->identity, "identity") < 0)
        return -1;
    if (commutative != NULL && !PyBool_Check(commutative)) {
        PyErr_Format(PyExc_TypeError,
                     "commutative= must be True, False or None, not %.100s %.200R",
                     Py_TYPE(commutative)->tp_name, commutative);
        return -1;
    }
    r->commutative = commutative ? commutative == Py_True : -1;
    if (PyTuple_GET_SIZE(args) == 1) {
        if (r->role[LW_ROLE_COMBINE] != NULL) {
            PyErr_SetString(PyExc_TypeError,
                            "reduce() got the function that combines twice: as the first "
                            "argument and as combine=");
            return -1;
        }
        r->role[LW_ROLE_COMBINE] = PyTuple_GET_ITEM(args, 0);
    }
    for (int i = 0; i < LW_N_ROLES; i++)
        if (r->role[i] != NULL && !is_function(r->role[i])) {
            PyErr_Format(PyExc_TypeError, "%s= must be a Python function, not %.100s %.200R%s",
                         role_names[i], Py_TYPE(r->role[i])->tp_name, r->role[i],
                         PyCallable_Check(r->role[i])
                             ? ", which has no Python source to compile: call it in one of "
                               "yours, as in `lambda x: math.erf(x)`"
                             : "");
            return -1;
        }
    return 0;
}

static PyObject *reduce(PyObject *module, PyObject *args, PyObject *kwargs);

/* state: (module, keywords) */
static PyObject *
decorate(PyObject *state, PyObject *function)
{
    PyObject *args = PyTuple_Pack(1, function), *result;

    if (args == NULL)
        return NULL;
    result = reduce(PyTuple_GET_ITEM(state, 0), args, PyTuple_GET_ITEM(state, 1));
    Py_DECREF(args);
    return result;
}

static PyMethodDef decorate_def = {"reduce", decorate, METH_O,
                                   PyDoc_STR("makes a Reduction of a function")};

static PyObject *
make_decorator(PyObject *module, PyObject *keywords, const request *r)
{
    lw_door_options options;
    lw_door_arguments arguments;
    PyObject *state, *result;

    if (lw_door_read(LW_DOOR_REDUCE, NULL, r->rest, &options, &arguments) < 0)
        return NULL; /* bad keywords are told now, not when the function comes */
    state = PyTuple_Pack(2, module, keywords);
    if (state == NULL)
        return NULL;
    result = PyCFunction_New(&decorate_def, state);
    Py_DECREF(state);
    return result;
}

static PyObject *
reduce(PyObject *module, PyObject *args, PyObject *kwargs)
{
    PyObject *keywords = kwargs ? PyDict_Copy(kwargs) : PyDict_New();
    PyObject *type = NULL, *result = NULL;
    request r = {.rest = keywords ? PyDict_Copy(keywords) : NULL};

    if (r.rest != NULL && read_request(&r, args, keywords) == 0)
        type = PyObject_GetAttrString(module, "Reduction");
    if (type != NULL)
        result = r.role[LW_ROLE_COMBINE] ? reducer_new((PyTypeObject *)type, &r)
                                         : make_decorator(module, keywords, &r);
    Py_XDECREF(type);
    Py_XDECREF(r.rest);
    Py_XDECREF(keywords);
    return result;
}

PyDoc_STRVAR(
    reduce_doc,
    "reduce(f=None, /, *, identity=None, map=None, combine=None, finish=None, "
    "commutative=None,\n"
    "       target='auto', typing='weak', fastmath=False, cache=True, link=(), debug=False,\n"
    "       lineinfo=True, opt=True, fma=True, precise=False, max_registers=None,\n"
    "       max_blocksize=None, static=(), errors='raise', check=(), source=None, warn=True,\n"
    "       nopython=True)\n--\n\n"
    "Make a Reduction: f (or combine) makes one accumulator of two, map an accumulator of an\n"
    "element, finish the result of the last accumulator.\n\n"
    ">>> mean = lw.reduce(map=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + "
    "b[1]),\n"
    "...                  finish=lambda s, n: s / n)\n"
    ">>> float(mean(np.arange(5.0)))\n"
    "2.0");

static PyMethodDef functions[] = {
    {"reduce", LW_KEYWORDS(reduce), reduce_doc},
    {NULL, NULL, 0, NULL},
};

int
lw_reduce_register(PyObject *module)
{
    PyObject *type;
    int failed;

    memcpy(reducer_methods, methods_head, sizeof methods_head);
    memcpy(reducer_methods + N_HEAD, lw_reducer_inspections, sizeof lw_reducer_inspections);
    type = PyType_FromModuleAndSpec(module, &reducer_spec, NULL);
    if (type == NULL)
        return -1;
    failed = PyModule_AddObjectRef(module, "Reduction", type);
    Py_DECREF(type);
    return failed < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
