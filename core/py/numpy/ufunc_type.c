#include "core/py/numpy/ufunc_type.h"

#include "core/front/read/critical.h"
#include "core/front/read/python.h"
#include "core/py/compiled/entry.h"
#include "core/py/numpy/family.h"
#include "core/py/numpy/loop_rows.h"
#include "core/py/numpy/ufunc_names.h"

#include <stddef.h>
#include <string.h>

const char *const lw_ufunc_method_names[LW_N_METHODS] = {[LW_METHOD_reduce] = "reduce",
                                                         [LW_METHOD_accumulate] = "accumulate",
                                                         [LW_METHOD_reduceat] = "reduceat",
                                                         [LW_METHOD_outer] = "outer",
                                                         [LW_METHOD_at] = "at",
                                                         [LW_METHOD_resolve_dtypes] =
                                                             "resolve_dtypes"};

/* ---- who it is ---- */

static lw_ufunc_head *
head_of(PyObject *object)
{
    return (lw_ufunc_head *)object;
}

int
lw_ufunc_shown_inputs(const lw_ufunc_head *self)
{
    return self->member ? self->member->n_operands : self->nin;
}

PyObject *
lw_ufunc_head_face(const lw_ufunc_head *self)
{
    return self->origin ? self->origin : (PyObject *)self;
}

PyObject *
lw_ufunc_stale(lw_ufunc_head *self)
{
    PyObject *current = lw_compiled_stale((lw_compiled *)self);

    if (current == NULL || current == (PyObject *)self)
        return current;
    Py_BEGIN_CRITICAL_SECTION(current);
    if (((lw_ufunc_head *)current)->origin == NULL)
        ((lw_ufunc_head *)current)->origin = Py_NewRef(self);
    Py_END_CRITICAL_SECTION();
    return current;
}

PyObject *
lw_ufunc_current(PyObject *self)
{
    return lw_ufunc_is_stale(head_of(self)) ? lw_ufunc_stale(head_of(self)) : Py_NewRef(self);
}

const char *
lw_ufunc_text(const lw_ufunc_head *self, const char *name)
{
    PyObject *value = self->dict ? PyDict_GetItemString(self->dict, name) : NULL;
    const char *text = value && PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : NULL;

    PyErr_Clear();
    return text ? text : "";
}

PyObject *
lw_ufunc_shown_name(const lw_ufunc_head *self)
{
    PyObject *key = PyUnicode_FromString("__name__");
    PyObject *name = key && self->dict ? lw_dict_item(self->dict, key) : NULL;

    Py_XDECREF(key);
    PyErr_Clear();
    if (name != NULL && PyUnicode_Check(name))
        return name;
    Py_XDECREF(name);
    return PyUnicode_FromString("");
}

/* ---- attributes ---- */

static PyObject *
get_nargs(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromLong(head_of(self)->nin + head_of(self)->nout);
}

static uint32_t
n_loops(const lw_ufunc_head *self)
{
    uint32_t n = 0;

    for (; self != NULL; self = lw_ufunc_other(self))
        n += self->kind->n_loops(self);
    return n;
}

static PyObject *
get_ntypes(PyObject *self, void *Py_UNUSED(closure))
{
    if (head_of(self)->numpys != NULL)
        return PyObject_GetAttrString(head_of(self)->numpys, "ntypes");
    return PyLong_FromUnsignedLong(n_loops(head_of(self)));
}

/* As a user counts them: those of calls that gave a parameter with a default a value, too. */
static PyObject *
list_of_loops(PyObject *object, PyObject *(*text)(const void *loop))
{
    PyObject *list = PyList_New(0);

    for (lw_ufunc_head *self = head_of(object); self != NULL; self = lw_ufunc_other(self))
        for (uint32_t i = 0; list != NULL && i < self->kind->n_loops(self); i++) {
            PyObject *item = text(self->kind->loop_at(self, i));
            if (item == NULL || PyList_Append(list, item) < 0)
                Py_CLEAR(list);
            Py_XDECREF(item);
        }
    return list;
}

static PyObject *
get_types(PyObject *self, void *Py_UNUSED(closure))
{
    if (head_of(self)->numpys != NULL)
        return PyObject_GetAttrString(head_of(self)->numpys, "types");
    return list_of_loops(self, head_of(self)->kind->types_text);
}

static PyObject *
get_signatures(PyObject *self, void *Py_UNUSED(closure))
{
    return list_of_loops(self, head_of(self)->kind->signature_text);
}

/* For the reader: what it was made for, or None where it compiles for any dtypes. */
static PyObject *
get_declared(PyObject *self, void *closure)
{
    return head_of(self)->lazy || head_of(self)->family ? Py_NewRef(Py_None)
                                                        : get_signatures(self, closure);
}

PyObject *
lw_ufunc_declared(lw_compiled *head)
{
    lw_ufunc_head *self = (lw_ufunc_head *)head;

    if (self->family != NULL && self->family->signatures != NULL)
        return Py_NewRef(self->family->signatures);
    return get_declared((PyObject *)self, NULL);
}

static PyObject *
get_identity(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *identity = head_of(object)->identity;

    return Py_NewRef(PyUnicode_Check(identity) ? Py_None : identity);
}

/* For the reader: a value, None, or "reorderable". */
static PyObject *
get_given_identity(PyObject *object, void *Py_UNUSED(closure))
{
    return Py_NewRef(head_of(object)->identity);
}

static bool
has_cores(const char *layout)
{
    return layout[strspn(layout, "()-> ,\t\n\r")] != '\0';
}

static PyObject *
get_signature(PyObject *object, void *Py_UNUSED(closure))
{
    const char *layout = head_of(object)->kind->layout(head_of(object));

    if (layout != NULL && !has_cores(layout)) /* as NumPy has it */
        Py_RETURN_NONE;
    return layout ? PyUnicode_FromString(layout) : Py_NewRef(Py_None);
}

/* For the reader, and for plain Python: the layout as it was given, or None. */
static PyObject *
get_layout(PyObject *object, void *Py_UNUSED(closure))
{
    const char *layout = head_of(object)->kind->layout(head_of(object));

    return layout ? PyUnicode_FromString(layout) : Py_NewRef(Py_None);
}

void
lw_ufunc_stats_add(lw_ufunc_stats *sum, lw_ufunc_stats one)
{
    sum->compiled += one.compiled;
    sum->from_memory += one.from_memory;
    sum->from_disk += one.from_disk;
    sum->made += one.made;
    sum->failed += one.failed;
    sum->cuda += one.cuda;
    sum->seconds += one.seconds;
}

static PyObject *
get_stats(PyObject *object, void *Py_UNUSED(closure))
{
    lw_ufunc_stats s = {0};

    for (lw_ufunc_head *self = head_of(object); self != NULL; self = lw_ufunc_other(self))
        lw_ufunc_stats_add(&s, self->kind->stats(self));
    return Py_BuildValue("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:d}", "loops", n_loops(head_of(object)),
                         "compiled", s.compiled, "from_memory", s.from_memory, "from_disk",
                         s.from_disk, "made", s.made, "failed", s.failed, "cuda", s.cuda,
                         "seconds", s.seconds);
}

/* Operands by the user's names, then the keywords of every call. */
static PyObject *
get_text_signature(PyObject *object, void *Py_UNUSED(closure))
{
    const lw_ufunc_head *self = head_of(object);
    PyObject *inspect = NULL, *namespace = NULL, *function = NULL, *result = NULL;
    PyObject *defaults = PyList_New(0);
    lw_text text = {0};

    if (self->numpys != NULL &&
        (result = PyObject_GetAttrString(self->numpys, "__signature__")) != NULL)
        goto done;
    PyErr_Clear(); /* NumPy before 2.4 has none */
    lw_text_add(&text, "lambda ");
    if (self->kind->parameters != NULL)
        self->kind->parameters(self, &text);
    else if (defaults == NULL ||
             lw_ufunc_names_show(self, self->lazy && self->kind->layout(self) == NULL, defaults,
                                 &text) < 0)
        goto done;
    lw_text_addf(&text, "%s: None", self->kind->keywords);
    inspect = PyImport_ImportModule("inspect");
    namespace = PyDict_New();
    if (inspect != NULL && namespace != NULL && !text.failed &&
        PyDict_SetItemString(namespace, "_defaults", defaults) == 0)
        function = PyRun_String(lw_text_get(&text), Py_eval_input, namespace, namespace);
    if (function != NULL)
        result = PyObject_CallMethod(inspect, "signature", "O", function);
done:
    Py_XDECREF(function);
    Py_XDECREF(namespace);
    Py_XDECREF(inspect);
    Py_XDECREF(defaults);
    lw_text_reset(&text);
    return result;
}

PyObject *
lw_ufunc_getattro(PyObject *object, PyObject *name)
{
    const lw_ufunc_head *self = head_of(object);
    PyObject *doc;

    if (PyUnicode_CompareWithASCIIString(name, "__doc__") != 0 || self->py_func == NULL)
        return PyObject_GenericGetAttr(object, name);
    doc = self->dict ? lw_dict_item(self->dict, name) : NULL;
    if (doc != NULL || PyErr_Occurred())
        return doc;
    return PyObject_GetAttr(self->py_func, name);
}

/* ---- numba's names ---- */

static PyObject *
get_frozen(PyObject *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(!head_of(self)->lazy);
}

static int
set_frozen(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    int truth = value ? PyObject_IsTrue(value) : 0;

    if (truth < 0)
        return -1;
    if (truth)
        return lw_ufunc_freeze(head_of(self));
    if (head_of(self)->lazy)
        return 0;
    PyErr_SetString(PyExc_ValueError, "what compiles nothing more stays so");
    return -1;
}

static PyObject *
get_dynamic(PyObject *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(head_of(self)->lazy);
}

static PyObject *
get_itself(PyObject *self, void *Py_UNUSED(closure))
{
    return Py_NewRef(self);
}

/* None, or what excluded= and static= say of the parameters. */
static PyObject *
get_roles(PyObject *self, void *Py_UNUSED(closure))
{
    const lw_ufunc_head *head = head_of(self);

    return head->family ? lw_family_roles(head) : Py_NewRef(Py_None);
}

PyGetSetDef lw_ufunc_type_getset[] = {
    {"_roles", get_roles, NULL, NULL, NULL},
    {"nargs", get_nargs, NULL, PyDoc_STR("the number of inputs and outputs together"), NULL},
    {"ntypes", get_ntypes, NULL,
     PyDoc_STR("the number of compiled loops, one for each combination of types"), NULL},
    {"types", get_types, NULL,
     PyDoc_STR("the types that have been compiled, from narrow to wide, as NumPy writes them: "
               "['ff->f', 'dd->d']"),
     NULL},
    {"signatures", get_signatures, NULL,
     PyDoc_STR("the signatures that have been compiled: ['float32(float32, float32)']"), NULL},
    {"_layout", get_layout, NULL, NULL, NULL},
    {"_declared_signatures", get_declared, NULL, NULL, NULL},
    {"_identity", get_given_identity, NULL, NULL, NULL},
    {"identity", get_identity, NULL,
     PyDoc_STR("the value from which a reduction starts, or None"), NULL},
    {"signature", get_signature, NULL,
     PyDoc_STR("the layout of core dimensions, '(m,n),(n)->(m)', or None"), NULL},
    {"is_dynamic", get_dynamic, NULL,
     PyDoc_STR("whether a call with new dtypes compiles the function for them"), NULL},
    {"_frozen", get_frozen, set_frozen, NULL, NULL},
    {"_sigs", get_signatures, NULL, NULL, NULL},
    {"ufunc", get_itself, NULL, PyDoc_STR("the object itself, under a name that numba uses"),
     NULL},
    {"gufunc_builder", get_itself, NULL,
     PyDoc_STR("the object itself, under a name that numba uses"), NULL},
    {"stats", get_stats, NULL,
     PyDoc_STR("how often code was compiled or found in a cache, and how long that took"),
     NULL},
    {"__signature__", get_text_signature, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyMemberDef lw_ufunc_type_members[] = {
    {"nin", T_INT, offsetof(lw_ufunc_head, nin), READONLY, PyDoc_STR("the number of inputs")},
    {"nout", T_INT, offsetof(lw_ufunc_head, nout), READONLY,
     PyDoc_STR("the number of outputs")},
    {NULL, 0, 0, 0, NULL}};

/* ---- methods ---- */

static PyObject *
method_add(PyObject *object, PyObject *signatures)
{
    PyObject *types, *made = NULL, *keywords;

    if (head_of(object)->kind->add(head_of(object), signatures) < 0)
        return NULL;
    types = PyImport_ImportModule("types");
    keywords = Py_BuildValue("{s:O,s:O}", "signature", signatures, "objectmode", Py_False);
    if (types != NULL && keywords != NULL) {
        PyObject *namespace = PyObject_GetAttrString(types, "SimpleNamespace");
        PyObject *none = namespace ? PyTuple_New(0) : NULL;
        made = none ? PyObject_Call(namespace, none, keywords) : NULL;
        Py_XDECREF(none);
        Py_XDECREF(namespace);
    }
    Py_XDECREF(keywords);
    Py_XDECREF(types);
    return made;
}

static PyObject *
method_build_ufunc(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return Py_NewRef(self);
}

static PyObject *
method_disable_compile(PyObject *self, PyObject *Py_UNUSED(unused))
{
    if (lw_ufunc_freeze(head_of(self)) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* For pickles: the loops that the object had. */
static PyObject *
method_load_loops(PyObject *object, PyObject *signatures)
{
    lw_ufunc_head *self = head_of(object);
    PyObject *fast = PySequence_Fast(signatures, "a sequence of signatures");
    bool good = fast != NULL;

    for (Py_ssize_t i = 0; good && i < PySequence_Fast_GET_SIZE(fast); i++)
        good = self->kind->loop_of(self, PySequence_Fast_GET_ITEM(fast, i)) != NULL;
    Py_XDECREF(fast);
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
method_bind(PyObject *object, PyObject *args)
{
    const lw_ufunc_head *self = head_of(object);
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    PyObject *functools, *partial, *self_tuple, *all = NULL, *result = NULL, *name;
    int most = self->kind->most_positional ? self->kind->most_positional(self)
                                           : self->nin + self->nout;

    if (n < self->nin || n > most) {
        name = lw_ufunc_shown_name(self);
        if (name != NULL)
            PyErr_Format(
                PyExc_TypeError,
                "bind: `%.100U` takes %d inputs and up to %d outputs, not %zd arguments", name,
                self->nin, self->nout, n);
        Py_XDECREF(name);
        return NULL;
    }
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
call_method(lw_ufunc_head *self, lw_ufunc_method id, PyObject *const *args, Py_ssize_t n_args,
            PyObject *kwnames)
{
    Py_ssize_t n_all = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    lw_profile_frame frame;
    bool measured = lw_profiling() && id != LW_METHOD_resolve_dtypes &&
                    lw_profile_call_begin(&frame, (lw_compiled *)self,
                                          lw_ufunc_method_names[id], args, n_all);
    PyObject *result = self->kind->call_method(self, id, args, n_args, kwnames);

    if (measured)
        lw_profile_call_end(&frame, result);
    return result;
}

/* The methods that numpy.ufunc has. */
#define METHOD(name)                                                                           \
    static PyObject *method_##name(PyObject *self, PyObject *const *args, Py_ssize_t n_args,   \
                                   PyObject *kwnames)                                          \
    {                                                                                          \
        return call_method(head_of(self), LW_METHOD_##name, args, n_args, kwnames);            \
    }
METHOD(reduce)
METHOD(accumulate)
METHOD(reduceat)
METHOD(outer)
METHOD(at)
METHOD(resolve_dtypes)
#undef METHOD

#define OF_NUMPY(name)                                                                         \
#name, (PyCFunction)(void (*)(void))method_##name, METH_FASTCALL | METH_KEYWORDS

static const PyMethodDef methods_head[] = {
    {OF_NUMPY(reduce),
     PyDoc_STR("reduce(array, axis=0, dtype=None, out=None, keepdims=False, initial=<none>, "
               "where=True)\n\nReduce one or more axes, as numpy.ufunc.reduce does.\n\n"
               ">>> total = lw.vectorize(lambda a, b: a + b)\n"
               ">>> total.reduce(np.arange(4)).item()\n6")},
    {OF_NUMPY(accumulate),
     PyDoc_STR(
         "accumulate(array, axis=0, dtype=None, out=None)\n\nReturn all partial results of a "
         "reduction, as numpy.ufunc.accumulate does.\n\n>>> total.accumulate(np.arange(4))\n"
         "array([0, 1, 3, 6])")},
    {OF_NUMPY(reduceat),
     PyDoc_STR(
         "reduceat(array, indices, axis=0, dtype=None, out=None)\n\nReduce slices of one axis, "
         "as numpy.ufunc.reduceat does.\n\n>>> total.reduceat(np.arange(4), [0, 2])\n"
         "array([1, 5])")},
    {OF_NUMPY(outer),
     PyDoc_STR(
         "outer(A, B, /, **kwargs)\n\nApply the function to each pair of an element of A and "
         "an element of B, as numpy.ufunc.outer does.\n\n>>> total.outer([0, 10], [1, 2])\n"
         "array([[ 1,  2],\n       [11, 12]])")},
    {OF_NUMPY(at),
     PyDoc_STR("at(a, indices, b=None, /)\n\nApply the function to the elements a[indices], in "
               "place, as numpy.ufunc.at does: an index that is repeated counts each "
               "time.\n\n>>> x = np.zeros(2, int); total.at(x, [0, 0, 1], 1); x\n"
               "array([2, 1])")},
    {OF_NUMPY(resolve_dtypes),
     PyDoc_STR(
         "resolve_dtypes(dtypes, *, signature=None, casting=None, reduction=False)\n\n"
         "Return the dtypes that a call would use, as numpy.ufunc.resolve_dtypes does.\n\n"
         ">>> total.resolve_dtypes((np.dtype('f4'), float, None))\n"
         "(dtype('float32'), dtype('float32'), dtype('float32'))")},
    {"add", method_add, METH_O,
     PyDoc_STR("add($self, sig, /)\n--\n\nCompile the function for one more signature.\n\n"
               ">>> f.add('float32(float32)').objectmode\nFalse")},
    {"build_ufunc", method_build_ufunc, METH_NOARGS,
     PyDoc_STR("build_ufunc($self, /)\n--\n\nReturn the object itself, for programs that use "
               "numba's builders of ufuncs.\n\n>>> f.build_ufunc() is f\nTrue")},
    {"disable_compile", method_disable_compile, METH_NOARGS,
     PyDoc_STR("disable_compile($self, /)\n--\n\nFrom now on, compile for no further dtypes. "
               "Calls convert their arguments to types that have\nbeen compiled, as if "
               "signatures had been given.\n\n"
               ">>> g = lw.vectorize(lambda x: x + 1); _ = g(1.0); g.disable_compile()\n"
               ">>> g(1)\nnp.float64(2.0)")},
    {"_load_loops", method_load_loops, METH_O, NULL},
    {"_stand_for", lw_ufunc_stand_for, METH_O, NULL},
    {"_resolve_dtypes_and_context", (PyCFunction)(void (*)(void))lw_ufunc_resolve_with_context,
     METH_FASTCALL | METH_KEYWORDS, NULL},
    {"_get_strided_loop", (PyCFunction)(void (*)(void))lw_ufunc_strided_loop,
     METH_FASTCALL | METH_KEYWORDS, NULL},
    {"bind", method_bind, METH_VARARGS,
     PyDoc_STR("bind($self, /, *args)\n--\n\nReturn a callable "
               "that repeats the call f(*args) on the same arrays.\n\n"
               ">>> step = f.bind(np.arange(3)); step()\n"
               "array([1, 2, 3])")},
};

enum { N_HEAD = sizeof methods_head / sizeof *methods_head };

PyMethodDef *
lw_ufunc_type_methods(void)
{
    static PyMethodDef methods[N_HEAD + LW_N_UFUNC_INSPECTIONS + 1];

    memcpy(methods, methods_head, sizeof methods_head);
    memcpy(methods + N_HEAD, lw_ufunc_inspections, sizeof lw_ufunc_inspections);
    return methods;
}
