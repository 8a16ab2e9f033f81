/* The Reduction type and the decorator that makes it. */
#include "core/py/numpy_api.h"

#include "reduce/reduce_py.h"

#include "core/front/read/critical.h"
#include "core/front/read/services.h"
#include "core/py/array/device_array.h"
#include "core/py/compiled/decorate.h"
#include "core/py/compiled/entry.h"
#include "core/py/numpy/object_operands.h"
#include "core/py/method_table.h"
#include "core/py/raise.h"
#include "reduce/device_py.h"
#include "reduce/form_py.h"
#include "reduce/inspect_py.h"
#include "reduce/key_py.h"
#include "reduce/recall_py.h"
#include "reduce/short_py.h"
#include "reduce/reduce_parts_py.h"
#include "reduce/scan_py.h"
#include "reduce/slice_py.h"
#include "reduce/stage_py.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h>

static const lw_compiled_door door;

static PyObject *reducer_call(PyObject *self, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames);

/* ---- what the decorator was given ---- */

static bool
is_function(PyObject *object)
{
    return lw_is_function(object) && !PyCFunction_Check(object);
}

/* NULL is good. */
static int
check_function(const char *role, PyObject *function)
{
    if (function == NULL || is_function(function))
        return 0;
    PyErr_Format(PyExc_TypeError, "%s= must be a Python function, not %.100s %.200R%s%s", role,
                 Py_TYPE(function)->tp_name, function,
                 PyCallable_Check(function) ? ", which has no Python source to compile: " : "",
                 PyCallable_Check(function) ? lw_call_hint(function) : "");
    return -1;
}

static int
check_given(const lw_request *request, const lw_door_arguments *given)
{
    if (given->identity != Py_None && lw_reduce_check_identity(given->identity) < 0)
        return -1;
    return check_function("map", given->map) < 0 ||
                   check_function("combine", request->function) < 0 ||
                   check_function("finish", given->finish) < 0
               ? -1
               : 0;
}

static int
check(const lw_request *request)
{
    lw_door_options options;
    lw_door_arguments given;

    if (lw_door_read(LW_DOOR_REDUCE, NULL, request->keywords, &options, &given) < 0)
        return -1;
    return check_given(request, &given);
}

/* ---- building ---- */

static int
check_params(const lw_tree *tree, const char *role)
{
    const lw_fn *fn = &tree->fns.data[1];

    for (uint32_t i = 0; i < fn->params.n; i++)
        if (fn->params.data[i].kind != LW_PARAM_POSITIONAL) {
            PyErr_Format(
                PyExc_TypeError,
                "%s=: `%s` must not have parameters with * or **, or keyword-only ones", role,
                fn->name);
            return -1;
        }
    return 0;
}

static int
check_combine(const lw_tree *tree)
{
    const lw_fn *fn = &tree->fns.data[1];
    uint32_t n = fn->params.n;

    if (check_params(tree, "combine") < 0)
        return -1;
    if (n > 0 && n % 2 == 0)
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "reduce: combine function `%s` takes %u parameter%s; expected two, or two for "
                 "each number of an accumulator",
                 fn->name, (unsigned)n, n == 1 ? "" : "s");
    return -1;
}

/* Reads map or finish, if there is one. -1 with an exception. */
static int
read_role(PyObject *function, const char *role, lw_captures *captures, lw_tree **tree)
{
    lw_captures *own = NULL;
    lw_error err = {0};

    if (function == NULL)
        return 0;
    if (lw_read_function(function, NULL, tree, &own, &err) != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    lw_captures_join(captures, own);
    return check_params(*tree, role);
}

/* Takes the tree. Without the GIL other threads may still read the old one. */
static void
replace(lw_tree **place, lw_tree *tree)
{
#ifdef Py_GIL_DISABLED
    if (tree != NULL)
        tree->older = *place;
#else
    lw_tree_free(*place);
#endif
    *place = tree;
}

static int
read_more(lw_compiled *head, lw_captures *captures)
{
    lw_reducer *self = (lw_reducer *)head;
    lw_tree *map = NULL, *finish = NULL;

    if (read_role(self->map, "map", captures, &map) < 0 ||
        read_role(self->finish, "finish", captures, &finish) < 0) {
        lw_tree_free(map);
        lw_tree_free(finish);
        return -1;
    }
    replace(&self->map_tree, map);
    replace(&self->finish_tree, finish);
    return 0;
}

/* The function behind map= or finish=, which the object is made with again, too. */
static int
take_function(lw_reducer *self, const char *role, PyObject *given, PyObject **out)
{
    if (given == NULL)
        return 0;
    *out = lw_python_function(given);
    return *out ? PyDict_SetItemString(self->keywords, role, *out) : -1;
}

static PyObject *
reducer_new(PyTypeObject *type, const lw_request *request)
{
    lw_reducer *self = lw_compiled_alloc(type, &door, reducer_call);
    lw_door_arguments given;

    if (self == NULL)
        return NULL;
    if (check(request) < 0 || lw_compiled_init((lw_compiled *)self, request, &given) < 0)
        goto fail;
    self->commutative = given.commutative;
    self->identity = given.identity == Py_None ? NULL : Py_NewRef(given.identity);
    if (PyMapping_HasKeyString(self->keywords, "target")) {
        self->cpu_only = self->options.target == LW_CHOOSE_CPU;
        self->cuda_only = self->options.target == LW_CHOOSE_CUDA;
    }
    if (take_function(self, "map", given.map, &self->map) < 0 ||
        take_function(self, "finish", given.finish, &self->finish) < 0 ||
        lw_compiled_read((lw_compiled *)self) < 0 || check_combine(self->tree) < 0)
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

    Py_VISIT(self->map);
    Py_VISIT(self->finish);
    Py_VISIT(self->identity);
    Py_VISIT(self->stages);
    Py_VISIT(self->whole);
    return lw_compiled_traverse((lw_compiled *)self, visit, arg);
}

static int
reducer_clear(PyObject *object)
{
    lw_reducer *self = (lw_reducer *)object;

    lw_compiled_clear((lw_compiled *)self);
    Py_CLEAR(self->map);
    Py_CLEAR(self->finish);
    Py_CLEAR(self->identity);
    Py_CLEAR(self->stages);
    Py_CLEAR(self->whole);
    return 0;
}

static void
drop(lw_compiled *head)
{
    lw_reducer *self = (lw_reducer *)head;

    for (int i = 0; i < LW_N_RECALLS; i++)
        lw_reduce_recalls_free(self->recalled[i]);
    lw_reducer_drop_specialisations(self);
    lw_tree_free(self->map_tree);
    lw_tree_free(self->finish_tree);
}

static PyObject *
reducer_repr(PyObject *object)
{
    return PyUnicode_FromFormat("<lanewise.Reduction '%s'>",
                                lw_reducer_name((lw_reducer *)object));
}

/* ---- calls ---- */

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

/* A stage belongs to the captured values with which it was asked for: lanewise/_partials.py
 * asks for every call. New reference. */
static lw_reducer *
current(PyObject *object)
{
    if (((lw_reducer *)object)->stage != LW_REDUCE_WHOLE)
        return (lw_reducer *)Py_NewRef(object);
    return (lw_reducer *)lw_compiled_current((lw_compiled *)object);
}

static PyObject *
call_current(PyObject *object, int which, long_way call, PyObject *const *args,
             Py_ssize_t n_args, PyObject *kwnames)
{
    const char *name = which == LW_RECALL_CALL ? "reduce" : "accumulate";
    lw_collection collection =
        lw_brings_collection(args, n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
    lw_reducer *self;
    PyObject *result = NULL;

    if (collection != LW_NO_COLLECTION)
        return lw_call_of_collection(collection, name, object, args, n_args, kwnames);
    if (atomic_load_explicit(&((lw_compiled *)object)->objects, memory_order_relaxed) ||
        lw_brings_objects((lw_compiled *)object, args, n_args))
        return lw_call_of_objects(name, object, args, n_args, kwnames);
    self = current(object);
    if (self != NULL &&
        !(!lw_on_python() && lw_reduce_short(self, which, args, n_args, kwnames, &result)) &&
        !lw_reduce_recall(self, which, args, n_args, kwnames, &result))
        result = go_the_long_way(self, call, args, n_args, kwnames);
    Py_XDECREF((PyObject *)self);
    if (result == NULL && lw_gives_objects((lw_compiled *)object))
        return lw_call_of_objects(name, object, args, n_args, kwnames);
    return result;
}

/* A call of a stage, or of accumulate, which a profile measures. Those of Dask arrays are
 * measured block by block, those of labelled ones by their elements. */
static PyObject *
call_measured(PyObject *self, int which, PyObject *const *args, Py_ssize_t n_args,
              PyObject *kwnames)
{
    Py_ssize_t n_all = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *whole = ((lw_reducer *)self)->whole;
    const char *stage = lw_reduce_stage_name(((lw_reducer *)self)->stage);
    long_way call = which == LW_RECALL_CALL ? lw_reducer_call : lw_reducer_accumulate;
    lw_profile_frame frame;
    bool measured = lw_profiling() && !lw_brings_collection(args, n_all) &&
                    lw_profile_call_begin(&frame, (lw_compiled *)(whole ? whole : self),
                                          stage ? stage : "accumulate", args, n_all);
    PyObject *result = call_current(self, which, call, args, n_args, kwnames);

    if (measured)
        lw_profile_call_end(&frame, result);
    return result;
}

static PyObject *
reducer_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Py_ssize_t n_args = PyVectorcall_NARGS(nargsf);
    PyObject *result;

    if (((lw_reducer *)self)->stage != LW_REDUCE_WHOLE)
        return call_measured(self, LW_RECALL_CALL, args, n_args, kwnames);
    if (lw_calls_go_round() && !lw_brings_collection(args, n_args) &&
        lw_went_round(&(lw_entry_call){"reduce", reducer_call, (lw_compiled *)self, self, args,
                                       nargsf, kwnames},
                      &result))
        return result;
    return call_current(self, LW_RECALL_CALL, lw_reducer_call, args, n_args, kwnames);
}

static PyObject *
reducer_accumulate(PyObject *self, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    return call_measured(self, LW_RECALL_ACCUMULATE, args, n_args, kwnames);
}

bool
lw_is_reducer(PyObject *object)
{
    return PyVectorcall_Function(object) == reducer_call;
}

PyObject *
lw_reducer_do(PyObject *self, int which, PyObject *const *args, Py_ssize_t n_args,
              PyObject *kwnames)
{
    if (which == LW_RECALL_ACCUMULATE)
        return reducer_accumulate(self, args, n_args, kwnames);
    return reducer_call(self, args, (size_t)n_args, kwnames);
}

/* The same with a tuple and a dictionary. */
static PyObject *
call_tuple(PyObject *object, const char *name, PyCFunctionWithKeywords call, PyObject *args,
           PyObject *kwargs)
{
    lw_reducer *self;
    PyObject *result;

    if (atomic_load_explicit(&((lw_compiled *)object)->objects, memory_order_relaxed) ||
        lw_brings_objects((lw_compiled *)object, PySequence_Fast_ITEMS(args),
                          PyTuple_GET_SIZE(args)))
        return lw_call_of_objects_by(name, object, args, kwargs);
    self = current(object);
    result = self ? call((PyObject *)self, args, kwargs) : NULL;
    Py_XDECREF((PyObject *)self);
    if (result == NULL && lw_gives_objects((lw_compiled *)object))
        return lw_call_of_objects_by(name, object, args, kwargs);
    return result;
}

static PyObject *
reducer_reduceat(PyObject *self, PyObject *args, PyObject *kwargs)
{
    lw_profile_frame frame;
    bool measured = lw_profiling() &&
                    lw_profile_call_begin(&frame, (lw_compiled *)self, "reduceat",
                                          PySequence_Fast_ITEMS(args), PyTuple_GET_SIZE(args));
    PyObject *result = call_tuple(self, "reduceat", lw_reducer_reduceat, args, kwargs);

    if (measured)
        lw_profile_call_end(&frame, result);
    return result;
}

/* The other calls, each on the object that takes it. */
#define OF_CURRENT(name)                                                                       \
    LW_OF_CURRENT(reducer_##name, lw_compiled_current((lw_compiled *)object), lw_reducer_##name)
OF_CURRENT(simulate)
OF_CURRENT(simulate_scan)
OF_CURRENT(simulate_slices)
OF_CURRENT(simulate_by_key)
OF_CURRENT(staged)
#undef OF_CURRENT

/* ---- attributes and methods ---- */

/* Whether combine is seen, or said, to let elements of this dtype change places. Then it is
 * associative too. */
static PyObject *
reducer_reorders(PyObject *self, PyObject *dtype)
{
    PyArray_Descr *descr = NULL;
    lw_reduce_specialisation *specialisation;
    lw_reduce_operand found = {0};

    if (!PyArray_DescrConverter(dtype, &descr))
        return NULL;
    found.dtype = lw_dtype_of_descr(descr);
    Py_DECREF(descr);
    if (found.dtype == LW_DT_void)
        Py_RETURN_FALSE;
    specialisation = lw_reducer_specialisation((lw_reducer *)self, &found, 1, found.dtype);
    return specialisation ? PyBool_FromLong(specialisation->reduction->commutative) : NULL;
}

/* Keys that are equal and neighbours: lanewise/_reduce.py finds where they begin. */
static PyObject *
by_key_on_host(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return lw_service_call_by(LW_SERVICE_REDUCE, "by_key", self, args, kwargs);
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
by_key(PyObject *self, PyObject *args, PyObject *kwargs)
{
    uint32_t n = lw_reducer_n_arrays((lw_reducer *)self);
    PyObject *result;
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
    if (!on_device)
        return by_key_on_host(self, args, kwargs);
    Py_BEGIN_CRITICAL_SECTION(self); /* of kernels and their counters */
    result = lw_reducer_by_key_on_device(self, args, kwargs);
    Py_END_CRITICAL_SECTION();
    return result;
}

static PyObject *
reducer_by_key(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *named = kwargs ? PyDict_Copy(kwargs) : NULL, *all = NULL, *result = NULL;

    if (named != NULL || kwargs == NULL)
        all = keys_and_values(args, named);
    if (all != NULL)
        result = call_tuple(self, "by_key", by_key, all, named);
    Py_XDECREF(all);
    Py_XDECREF(named);
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
     PyDoc_STR("the signatures that have been compiled: ['float64(float32)']"), NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef reducer_members[] = {
    {"map", T_OBJECT, offsetof(lw_reducer, map), READONLY,
     PyDoc_STR("the function that turns an element into an accumulator, or None")},
    {"identity", T_OBJECT, offsetof(lw_reducer, identity), READONLY,
     PyDoc_STR("the value given as identity=, or None")},
    {NULL, 0, 0, 0, NULL}};

static const PyMethodDef methods_head[] = {
    {"accumulate", (PyCFunction)(void (*)(void))reducer_accumulate,
     METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR(
         "accumulate($self, a, /, *args, **kwargs)\n--\n\n"
         "accumulate(a, axis=0, exclusive=False, *, dtype=None, out=None): return all partial "
         "results, as numpy.ufunc.accumulate does. With exclusive=True, each result leaves out "
         "the element at its own position.\n\n"
         ">>> total = lw.reduce(lambda a, b: a + b)\n"
         ">>> total.accumulate(np.arange(5))\n"
         "array([ 0,  1,  3,  6, 10])\n"
         ">>> total.accumulate(np.arange(5), exclusive=True)\n"
         "array([0, 0, 1, 3, 6])")},
    {"reduceat", LW_KEYWORDS(reducer_reduceat),
     PyDoc_STR(
         "reduceat($self, a, /, *args, **kwargs)\n--\n\n"
         "reduceat(a, indices, axis=0, *, dtype=None, out=None): reduce slices of one axis, as "
         "numpy.ufunc.reduceat does.\n\n"
         ">>> lw.reduce(lambda a, b: a + b).reduceat(np.arange(8), [0, 4])\n"
         "array([ 6, 22])")},
    {"by_key", LW_KEYWORDS(reducer_by_key),
     PyDoc_STR(
         "by_key($self, keys, /, *values, stream=0)\n--\n\n"
         "Reduce the values of each run of equal consecutive keys, and return (keys, results). "
         "To get one result for each key, sort by key first.\n\n"
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
    {"partial", LW_KEYWORDS(lw_reducer_partial),
     PyDoc_STR(
         "partial($self, a, /, *more, axis=None, dtype=None, keepdims=False, where=True, "
         "offset=None)\n"
         "--\n\n"
         "Return the accumulators of these elements, for merge() and finish(), as an array of "
         "records\nof the numbers `f0`, `f1`, ….\n"
         "offset: the index of the first element in the whole array, for a map with a "
         "parameter `index`.\n\n"
         ">>> mean = lw.reduce(map=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], "
         "a[1] + b[1]),\n"
         "...                  finish=lambda s, n: s / n)\n"
         ">>> p, q = mean.partial(np.arange(3.0)), mean.partial(np.arange(3.0, 5.0))\n"
         ">>> p.tolist(), q.tolist()\n"
         "((3.0, 3), (7.0, 2))\n"
         ">>> mean.finish(mean.merge(p, q))\n"
         "np.float64(2.0)")},
    {"merge", LW_KEYWORDS(lw_reducer_merge),
     PyDoc_STR("merge($self, p, /, *more)\n--\n\n"
               "Combine the accumulators of several parts, in the order of their elements, as "
               "if they were one part.\n\n"
               ">>> total = lw.reduce(lambda a, b: a + b)\n"
               ">>> total.merge(*map(total.partial, ([1, 2], [3], [4, 5])))[\"f0\"]\n"
               "array(15)")},
    {"finish", LW_KEYWORDS(lw_reducer_finish),
     PyDoc_STR("finish($self, p, /, *, initial=...)\n--\n\n"
               "Return the results of accumulators, such as partial() returns.\n\n"
               ">>> total = lw.reduce(lambda a, b: a + b)\n"
               ">>> total.finish(total.partial([[1, 2], [3, 4]], axis=0))\n"
               "array([4, 6])")},
    {"_staged", LW_KEYWORDS(reducer_staged),
     PyDoc_STR("_staged($self, stage, dtypes, dtype, /)\n--\n\n"
               "What makes accumulators of arrays of these dtypes (\"partial\"), merges them "
               "(\"merge\") or makes\nresults of them (\"finish\"), the dtypes of an "
               "accumulator's numbers, whether elements may\nchange places, whether map takes "
               "the index, the dtypes of the results, and whether there is an identity.")},
    {"_reorders", reducer_reorders, METH_O,
     PyDoc_STR("_reorders(dtype): may elements of this dtype change places?")},
};

enum { N_HEAD = sizeof methods_head / sizeof *methods_head };

static PyMethodDef reducer_methods[N_HEAD + LW_REDUCE_INSPECTIONS + 1]; /* filled at import */

PyDoc_STRVAR(reducer_doc, "A reduction, made by lanewise.reduce.\n"
                          "\n"
                          "It is called as r(a, *more, axis=None, dtype=None, out=None,\n"
                          "keepdims=False, initial=..., where=True, stream=0).\n"
                          "\n"
                          ">>> total = lw.reduce(lambda a, b: a + b)\n"
                          ">>> total(np.arange(6).reshape(2, 3), axis=1)\n"
                          "array([ 3, 12])");

static PyType_Slot reducer_slots[] = {
    {Py_tp_doc, (void *)reducer_doc},   {Py_tp_dealloc, lw_compiled_dealloc},
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

static PyObject *
declared(lw_compiled *Py_UNUSED(self))
{
    return Py_NewRef(Py_None);
}

static const lw_compiled_door door = {.id = LW_DOOR_REDUCE,
                                      .path = "reduce",
                                      .check = check,
                                      .make = reducer_new,
                                      .declared = declared,
                                      .read_more = read_more,
                                      .drop = drop};

static PyObject *
reduce(PyObject *module, PyObject *args, PyObject *kwargs)
{
    PyObject *keywords = kwargs ? PyDict_Copy(kwargs) : PyDict_New();
    PyObject *combine, *result = NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(args);

    if (keywords == NULL)
        return NULL;
    combine = Py_XNewRef(PyDict_GetItemString(keywords, "combine"));
    if (combine != NULL && PyDict_DelItemString(keywords, "combine") < 0)
        goto done;
    if (combine == Py_None)
        Py_CLEAR(combine);
    if (n > 1)
        PyErr_Format(PyExc_TypeError,
                     "reduce() takes one positional argument, the function that combines, not "
                     "%zd",
                     n);
    else if (n == 1 && combine != NULL)
        PyErr_SetString(PyExc_TypeError,
                        "reduce() got the function that combines twice: as the first argument "
                        "and as combine=");
    else
        result = lw_decorate(&door, module,
                             &(lw_request){.function = n ? PyTuple_GET_ITEM(args, 0) : combine,
                                           .keywords = keywords});
done:
    Py_XDECREF(combine);
    Py_DECREF(keywords);
    return result;
}

PyDoc_STRVAR(
    reduce_doc,
    "Make a reduction, like np.sum, from a function that combines two values: f, or combine.\n"
    "\n"
    "map turns each element into an accumulator, which is a number, a tuple or a record; f "
    "combines two\n"
    "accumulators into one; finish turns the last accumulator into the result. map and finish "
    "may be\n"
    "left out. f must be associative, because parts of the array are reduced at the same "
    "time.\n"
    "\n"
    ">>> largest = lw.reduce(lambda a, b: max(a, b))\n"
    ">>> largest(np.array([[3, 9], [5, 2]]), axis=1)\n"
    "array([9, 5])\n"
    ">>> mean = lw.reduce(map=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + "
    "b[1]),\n"
    "...                  finish=lambda s, n: s / n)\n"
    ">>> float(mean(np.arange(5.0)))\n"
    "2.0");

static PyMethodDef decorator[] = {
    {"reduce", LW_KEYWORDS(reduce), NULL},
    {NULL, NULL, 0, NULL},
};

int
lw_reduce_register(PyObject *module)
{
    memcpy(reducer_methods, methods_head, sizeof methods_head);
    memcpy(reducer_methods + N_HEAD, lw_reducer_inspections, sizeof lw_reducer_inspections);
    if (lw_compiled_type(module, LW_DOOR_REDUCE, &reducer_spec, NULL) == NULL ||
        lw_reduction_function_register(module) < 0)
        return -1;
    return lw_door_add(module, module, decorator, LW_DOOR_REDUCE, "f=None, /, *", reduce_doc);
}
