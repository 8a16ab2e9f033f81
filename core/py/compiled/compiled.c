#include "core/py/compiled/compiled.h"

#include "core/front/read/critical.h"
#include "core/front/read/services.h"
#include "core/py/compiled/decorate.h"
#include "core/py/compiled/in_python.h"
#include "core/py/compiled/link_ask.h"
#include "core/py/compiled/renew.h"
#include "core/py/raise.h"

#include <stddef.h>
#include <structmember.h>

static lw_compiled *
head_of(PyObject *object)
{
    return (lw_compiled *)object;
}

/* ---- building ---- */

void *
lw_compiled_alloc(PyTypeObject *type, const lw_compiled_door *door, vectorcallfunc call)
{
    lw_compiled *self = (lw_compiled *)type->tp_alloc(type, 0);

    if (self != NULL) {
        self->door = door;
        self->vectorcall = call;
    }
    return self;
}

/* The object that this thread makes anew. */
static _Thread_local const lw_compiled *made_anew;

const lw_compiled *
lw_compiled_anew(const lw_compiled *object)
{
    const lw_compiled *outer = made_anew;

    made_anew = object;
    return outer;
}

/* The setting `target` is read when a user's function is decorated, so an object that is made
 * anew keeps what its first one read. The package's own functions are decorated when something
 * first needs them, whatever the setting is then: they run where their arrays are. */
static void
choose_target(lw_compiled *self)
{
    if (made_anew != NULL && made_anew->py_func == self->py_func)
        self->options.target = made_anew->options.target;
    else if (lw_is_of_package(self->py_func) &&
             PyDict_GetItemString(self->keywords, "target") == NULL)
        self->options.target = LW_CHOOSE_AUTO;
}

int
lw_compiled_init(lw_compiled *self, const lw_request *request, lw_door_arguments *arguments)
{
    PyObject *function;

    self->lazy = true;
    self->keywords = request->keywords ? PyDict_Copy(request->keywords) : PyDict_New();
    function = self->keywords ? lw_python_method(request->function) : NULL;
    if (function == NULL)
        return -1;
    self->py_func = PyMethod_Check(function) ? Py_NewRef(function) /* with its self */
                                             : lw_python_function(function);
    Py_DECREF(function);
    if (self->py_func == NULL || lw_door_read(self->door->id, request->signatures,
                                              self->keywords, &self->options, arguments) < 0)
        return -1;
    choose_target(self);
    self->source = Py_XNewRef(arguments->source);
    self->link = Py_XNewRef(arguments->link);
    self->dict = lw_wrapper_dict(self->py_func);
    return self->dict ? 0 : -1;
}

int
lw_compiled_read(lw_compiled *self)
{
    lw_error err = {0};

    lw_status status =
        self->door->id == LW_DOOR_JIT
            ? lw_read_function_later(self->py_func, self->source, &self->tree, &self->captures,
                                     &err)
            : lw_read_function(self->py_func, self->source, &self->tree, &self->captures, &err);

    if (status != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    if (self->door->read_more != NULL && self->door->read_more(self, self->captures) < 0)
        return -1;
    return lw_link_set_read(&self->links, self->link, NULL);
}

const char *
lw_compiled_name(const lw_compiled *self)
{
    return self->tree != NULL && self->tree->fns.n > 1 ? self->tree->fns.data[1].name
                                                       : "kernel";
}

lw_build_options
lw_compiled_build_options(const lw_compiled *self, const char *name)
{
    lw_build_options options = lw_door_build_options(&self->options, name);

    options.links = self->links.items;
    options.n_links = self->links.n;
    return options;
}

void
lw_compiled_count(lw_compiled *self, const lw_build_report *report)
{
    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    self->counts.compiled++;
    self->counts.from_memory += report->origin == LW_CACHE_MEMORY;
    self->counts.from_disk += report->origin == LW_CACHE_DISK;
    self->counts.cuda += report->cuda;
    self->counts.seconds += report->seconds;
    Py_END_CRITICAL_SECTION();
}

/* ---- life ---- */

int
lw_compiled_traverse(lw_compiled *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->py_func);
    Py_VISIT(self->dict);
    Py_VISIT(self->keywords);
    Py_VISIT(self->source);
    Py_VISIT(self->link);
    Py_VISIT(self->links.objects);
    for (int i = 0; i < LW_RENEWED_KEPT; i++)
        Py_VISIT(self->renewal.kept[i]);
    Py_VISIT(self->renewal.operands);
    Py_VISIT(self->renewal.constants);
    if (lw_link_sets_traverse(self, visit, arg))
        return 1;
    return lw_captures_traverse(self->captures, visit, arg);
}

void
lw_compiled_clear(lw_compiled *self)
{
    lw_captures *captures = self->captures;

    self->captures = NULL;
    lw_captures_free(captures);
    Py_CLEAR(self->py_func);
    Py_CLEAR(self->dict);
    Py_CLEAR(self->keywords);
    Py_CLEAR(self->source);
    Py_CLEAR(self->link);
    lw_link_set_reset(&self->links);
    lw_link_sets_free(self);
    for (int i = 0; i < LW_RENEWED_KEPT; i++)
        Py_CLEAR(self->renewal.kept[i]);
    Py_CLEAR(self->renewal.operands);
    Py_CLEAR(self->renewal.constants);
}

void
lw_compiled_dealloc(PyObject *object)
{
    lw_compiled *self = head_of(object);
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    if (self->weakrefs != NULL)
        PyObject_ClearWeakRefs(object);
    type->tp_clear(object);
    if (self->door->drop != NULL)
        self->door->drop(self);
    lw_tree_free(self->tree);
    type->tp_free(object);
    Py_DECREF(type);
}

/* ---- the type ---- */

static PyObject *
get_stats(PyObject *object, void *Py_UNUSED(closure))
{
    lw_compiled *self = head_of(object), *other;
    lw_compiled_counts counts = self->counts;
    PyObject *stats, *result;

    other = self->door->asked ? self->door->asked(self) : self;
    if (other != self) { /* it takes some of the calls */
        counts.specialisations += other->counts.specialisations;
        counts.compiled += other->counts.compiled;
        counts.from_memory += other->counts.from_memory;
        counts.from_disk += other->counts.from_disk;
        counts.cuda += other->counts.cuda;
        counts.seconds += other->counts.seconds;
    }
    stats = Py_BuildValue("{s:I,s:I,s:I,s:I,s:I,s:d}", "specialisations",
                          counts.specialisations, "compiled", counts.compiled, "from_memory",
                          counts.from_memory, "from_disk", counts.from_disk, "cuda",
                          counts.cuda, "seconds", counts.seconds);
    result =
        stats ? lw_service_call(LW_SERVICE_NUMBA_NAMES, "Stats", stats, NULL, 0, NULL) : NULL;
    Py_XDECREF(stats);
    return result;
}

static PyObject *
get_link(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *link = head_of(object)->link;

    return link ? Py_NewRef(link) : PyTuple_New(0);
}

/* pdb's `break name` looks for it. */
static PyObject *
get_code(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *function = head_of(object)->py_func;

    return function ? PyObject_GetAttrString(function, "__code__") : Py_NewRef(Py_None);
}

/* The keywords, typing= among them: the setting of that name may be another one where an object
 * is made of them. New reference. */
static PyObject *
state_options(lw_compiled *self)
{
    const char *typing = self->options.front.typing == LW_TYPING_NUMBA ? "numba" : "weak";
    PyObject *options = PyDict_Copy(self->keywords);

    if (options != NULL && lw_keywords_set_typing(options, typing) < 0)
        Py_CLEAR(options);
    return options;
}

/* For lanewise/_pickling.py. */
static PyObject *
get_state(PyObject *object, PyObject *Py_UNUSED(unused))
{
    lw_compiled *self = head_of(object);
    PyObject *signatures = self->door->declared(self);
    PyObject *options = signatures ? state_options(self) : NULL;

    if (options == NULL) {
        Py_XDECREF(signatures);
        return NULL;
    }
    return Py_BuildValue(
        "{s:s,s:N,s:z,s:N}", "door", self->door->path, "signatures", signatures, "layout",
        self->door->layout ? self->door->layout(self) : NULL, "options", options);
}

static PyObject *
reduce_by_source(PyObject *self, PyObject *Py_UNUSED(unused))
{
    PyObject *how = lw_service_find(LW_SERVICE_PICKLING, "reduce"), *result;

    result = how ? PyObject_CallOneArg(how, self) : NULL;
    Py_XDECREF(how);
    return result;
}

/* dask.base.tokenize: what the function does, from its source and what it captured. */
static PyObject *
get_token(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return lw_service_call(LW_SERVICE_PICKLING, "token", self, NULL, 0, NULL);
}

static PyObject *
itself(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return Py_NewRef(self);
}

static PyObject *
repr_html(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return lw_service_call(LW_SERVICE_HTML, "compiled", self, NULL, 0, NULL);
}

static PyMethodDef methods[] = {
    {"_repr_html_", repr_html, METH_NOARGS,
     PyDoc_STR("what notebooks show: types, targets, what was compiled and how long it took")},
    {"_state", get_state, METH_NOARGS, PyDoc_STR("what pickling needs")},
    {"__reduce__", reduce_by_source, METH_NOARGS, NULL},
    {"__dask_tokenize__", get_token, METH_NOARGS, NULL},
    {"__copy__", itself, METH_NOARGS, NULL},
    {"__deepcopy__", itself, METH_O, NULL},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS,
     PyDoc_STR("Ufunc[float]: for type checkers, what the Python function returns")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"stats", get_stats, NULL,
     PyDoc_STR("how often code was compiled or found in a cache, and how long that took"),
     NULL},
    {"__lanewise_link__", get_link, NULL, PyDoc_STR("link=: code that calls it needs it too"),
     NULL},
    {"__code__", get_code, NULL, PyDoc_STR("of py_func"), NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(lw_compiled, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(lw_compiled, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(lw_compiled, weakrefs), READONLY, NULL},
    {"py_func", T_OBJECT, offsetof(lw_compiled, py_func), READONLY,
     PyDoc_STR("the Python function it was made from")},
    {"__wrapped__", T_OBJECT, offsetof(lw_compiled, py_func), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static int
traverse(PyObject *self, visitproc visit, void *arg)
{
    return lw_compiled_traverse(head_of(self), visit, arg);
}

static int
clear(PyObject *self)
{
    lw_compiled_clear(head_of(self));
    return 0;
}

/* ---- methods ---- */

/* Whether the function's text says that it is a method: its first parameter is `self`, and it
 * was defined in a class. As NumPy's and numba's ufuncs, others in a class are not bound. */
bool
lw_compiled_is_method(const lw_compiled *self)
{
    PyObject *function = self->py_func, *code, *names, *first, *qualname;
    Py_ssize_t dot, length;
    bool result;

    if (function == NULL || !PyFunction_Check(function))
        return false;
    code = PyFunction_GET_CODE(function);
    if (((PyCodeObject *)code)->co_argcount == 0)
        return false;
    names = PyObject_GetAttrString(code, "co_varnames"); /* PyCode_GetVarnames came with 3.11 */
    if (names == NULL)
        PyErr_Clear();
    first = names && PyTuple_GET_SIZE(names) > 0 ? PyTuple_GET_ITEM(names, 0) : NULL;
    result = first != NULL && PyUnicode_CompareWithASCIIString(first, "self") == 0;
    Py_XDECREF(names);
    qualname = result ? ((PyFunctionObject *)function)->func_qualname : NULL; /* borrowed */
    length = qualname ? PyUnicode_GET_LENGTH(qualname) : 0;
    dot = length ? PyUnicode_FindChar(qualname, '.', 0, length, -1) : -1;
    /* "Class.name", but no "outer.<locals>.name" */
    return result && dot > 0 && PyUnicode_READ_CHAR(qualname, dot - 1) != '>';
}

/* Of instances the method; of a class, which classmethod() asks with as an instance, too. */
static PyObject *
bind(PyObject *object, PyObject *instance, PyObject *Py_UNUSED(type))
{
    const lw_compiled *self = head_of(object);
    lw_binding binding = self->door->binding;

    if (instance == NULL || instance == Py_None)
        return Py_NewRef(object);
    if (PyType_Check(instance))
        return PyMethod_New(object, instance);
    if (binding == LW_BINDS_NOT || !lw_compiled_is_method(self))
        return Py_NewRef(object);
    return binding == LW_BINDS_OPERAND
               ? lw_service_call(LW_SERVICE_METHODS, "BoundUfunc", object, &instance, 1, NULL)
               : PyMethod_New(object, instance);
}

static PyType_Slot slots[] = {{Py_tp_dealloc, lw_compiled_dealloc},
                              {Py_tp_descr_get, bind},
                              {Py_tp_traverse, traverse},
                              {Py_tp_clear, clear},
                              {Py_tp_call, PyVectorcall_Call},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, getset},
                              {Py_tp_members, members},
                              {0, NULL}};

static PyType_Spec spec = {
    .name = "lanewise._Compiled",
    .basicsize = sizeof(lw_compiled),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_BASETYPE,
    .slots = slots};

int
lw_compiled_register(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    int failed = type ? PyModule_AddObjectRef(module, "_Compiled", type) : -1;

    Py_XDECREF(type);
    lw_renew_register();
    return failed;
}

PyTypeObject *
lw_compiled_type(PyObject *module, lw_door door, PyType_Spec *of, const char *base)
{
    PyObject *parent = PyObject_GetAttrString(module, base ? base : "_Compiled");
    PyObject *type = parent ? PyType_FromModuleAndSpec(module, of, parent) : NULL;

    if (type != NULL && PyModule_AddObjectRef(module, lw_door_type(door), type) < 0)
        Py_CLEAR(type);
    else
        Py_XDECREF(type); /* the module has it */
    Py_XDECREF(parent);
    return (PyTypeObject *)type;
}
