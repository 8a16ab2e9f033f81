/* The Kernel type and the decorators that make it: lw.jit and cuda.jit. */
#include "forall/jit_parts_py.h"

#include "core/front/read/services.h"
#include "core/py/compiled/door_function.h"
#include "core/py/method_table.h"
#include "core/py/raise.h"
#include "core/py/text_py.h"
#include "core/py/types/signature_read.h"
#include "forall/jit_py.h"
#include "forall/jit_wrap_py.h"
#include "forall/special_parts_py.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

PyTypeObject *lw_jit_type;

/* ---- calling ---- */

PyObject *
lw_jit_needs_shape(const lw_jit *self)
{
    const char *name = lw_function_name(&self->base);

    return PyErr_Format(PyExc_TypeError,
                        "a kernel needs the shape of its launch: %s[grid, block](...) or "
                        "%s.forall(n)(...); device=True makes a function to call",
                        name, name);
}

static PyObject *
call_kernel(PyObject *object, PyObject *const *Py_UNUSED(args), size_t Py_UNUSED(nargsf),
            PyObject *Py_UNUSED(kwnames))
{
    return lw_jit_needs_shape((lw_jit *)object);
}

/* A device function on the host is the Python function. */
static PyObject *
call_device(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    return PyObject_Vectorcall(((lw_function *)object)->py_func, args,
                               (size_t)PyVectorcall_NARGS(nargsf), kwnames);
}

/* ---- building ---- */

/* Errors in it are told now. */
static int
check_typed(lw_jit *self, const lw_signature *signature)
{
    lw_front_options options = self->base.options.front;
    lw_typed *typed;

    options.procedure = signature->result.kind == LW_SIG_VOID;
    typed = lw_function_infer(&self->base, signature, &options);
    lw_typed_free(typed);
    return typed ? 0 : -1;
}

static int
take_declared(lw_jit *self, const lw_signature *signature)
{
    lw_text text = {0};
    PyObject *str;
    int result = -1;

    if (check_typed(self, signature) < 0)
        return -1;
    lw_signature_print(signature, &text);
    str = lw_text_take(&text);
    if (str != NULL)
        result = PyList_Append(self->declared, str);
    Py_XDECREF(str);
    return result;
}

/* A device function has its code where it is called: its signatures are checked and listed. */
static int
declare_device(lw_jit *self, PyObject *signatures)
{
    lw_signature_list list = {0};
    lw_arena arena;
    int failed;

    lw_arena_init(&arena);
    failed = lw_signatures_read(signatures, false, &arena, &list) < 0;
    for (uint32_t i = 0; !failed && i < list.n; i++)
        failed = take_declared(self, &list.data[i]) < 0;
    lw_arena_reset(&arena);
    return failed ? -1 : 0;
}

static int
check_kernel_signatures(PyObject *signatures)
{
    lw_signature_list list = {0};
    lw_error err = {0};
    lw_arena arena;
    int failed;

    lw_arena_init(&arena);
    failed = lw_signatures_read(signatures, false, &arena, &list) < 0;
    for (uint32_t i = 0; !failed && i < list.n; i++) {
        failed = lw_signature_check_kernel(&list.data[i], &err) != LW_OK;
        if (failed)
            lw_py_raise(&err);
    }
    lw_arena_reset(&arena);
    return failed ? -1 : 0;
}

static void
count_positional(lw_jit *self)
{
    const lw_fn *fn = &self->base.tree->fns.data[1];

    while (self->n_positional < (Py_ssize_t)fn->params.n &&
           fn->params.data[self->n_positional].kind == LW_PARAM_POSITIONAL)
        self->n_positional++;
}

static int
refuse_varargs(const lw_jit *self)
{
    const lw_fn *fn = &self->base.tree->fns.data[1];
    lw_error err = {0};

    for (uint32_t i = 0; i < fn->params.n; i++) {
        if (fn->params.data[i].kind != LW_PARAM_VARARG)
            continue;
        lw_fail(&err, LW_ERR_UNSUPPORTED,
                "kernel `%s` takes `*%s`: name each parameter, or take one that is a tuple",
                lw_function_name(&self->base), fn->params.data[i].name);
        lw_py_raise(&err);
        return -1;
    }
    return 0;
}

static int
take_options(lw_jit *self, PyObject *keywords, bool from_cuda)
{
    if (self->own.bounds)
        self->base.options.front.checks |= LW_CHECK_BOUNDS;
    if (self->own.bound_threads)
        self->base.limits.max_threads = self->own.bound_threads;
    if (self->own.bound_blocks)
        self->base.limits.min_blocks = self->own.bound_blocks;
    self->from_cuda = from_cuda;
    self->target_given = keywords && PyDict_GetItemString(keywords, "target") != NULL;
    Py_XSETREF(self->base.keywords, keywords ? PyDict_Copy(keywords) : PyDict_New());
    return self->base.keywords ? 0 : -1;
}

static int
build(lw_jit *self, PyObject *function, PyObject *signatures, PyObject *keywords,
      bool from_cuda)
{
    PyObject *shared = lw_jit_options_read(keywords, &self->own);
    int gives = from_cuda || self->own.device ? 0 : lw_jit_signatures_give(signatures);
    int failed = shared == NULL || gives < 0 ||
                 lw_function_init(&self->base, LW_DOOR_JIT, 0, function, shared) < 0 ||
                 take_options(self, keywords, from_cuda) < 0;

    Py_XDECREF(shared);
    if (failed)
        return -1;
    count_positional(self);
    self->declared = PyList_New(0);
    if (self->declared == NULL)
        return -1;
    if (self->own.device)
        return declare_device(self, signatures);
    if (refuse_varargs(self) < 0)
        return -1;
    self->signatures = Py_XNewRef(signatures);
    if (gives)
        return lw_jit_declare_value(self);
    if (lw_function_declare(&self->base, signatures) < 0)
        return -1;
    return lw_jit_compile_declared(self);
}

lw_jit *
lw_jit_new_value(lw_jit *self)
{
    lw_jit *made = (lw_jit *)lw_jit_type->tp_alloc(lw_jit_type, 0);
    PyObject *shared;
    int failed;

    if (made == NULL)
        return NULL;
    made->base.vectorcall = call_kernel;
    shared = lw_jit_options_read(self->base.keywords, &made->own);
    failed = shared == NULL ||
             lw_function_init(&made->base, LW_DOOR_JIT, 0, self->base.py_func, shared) < 0 ||
             take_options(made, self->base.keywords, false) < 0;
    Py_XDECREF(shared);
    made->declared = failed ? NULL : PyList_New(0);
    if (made->declared == NULL) {
        Py_DECREF(made);
        return NULL;
    }
    count_positional(made);
    made->base.gives_value = true;
    made->base.options.front.procedure = made->base.options.front.threads = false;
    return made;
}

PyObject *
lw_jit_new(PyObject *function, PyObject *signatures, PyObject *keywords, bool from_cuda)
{
    lw_jit *self = (lw_jit *)lw_jit_type->tp_alloc(lw_jit_type, 0);

    if (self == NULL)
        return NULL;
    self->base.vectorcall = call_kernel;
    if (build(self, function, signatures, keywords, from_cuda) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    if (self->own.device)
        self->base.vectorcall = call_device;
    else if (!from_cuda)
        self->base.vectorcall = lw_jit_call_value;
    return (PyObject *)self;
}

/* ---- life ---- */

static int
kernel_traverse(PyObject *object, visitproc visit, void *arg)
{
    lw_jit *self = (lw_jit *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->declared);
    Py_VISIT(self->signatures);
    Py_VISIT(self->value);
    for (int i = 0; i < LW_JIT_KEPT; i++)
        Py_VISIT(self->kept[i]);
    return lw_function_traverse(&self->base, visit, arg);
}

static int
kernel_clear(PyObject *object)
{
    lw_jit *self = (lw_jit *)object;

    for (int i = 0; i < LW_JIT_KEPT; i++)
        Py_CLEAR(self->kept[i]);
    Py_CLEAR(self->signatures);
    self->base.on_host = NULL;
    Py_CLEAR(self->value);
    lw_function_clear(&self->base);
    return 0;
}

static void
kernel_dealloc(PyObject *object)
{
    lw_jit *self = (lw_jit *)object;
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    if (self->base.weakrefs != NULL)
        PyObject_ClearWeakRefs(object);
    kernel_clear(object);
    Py_CLEAR(self->declared);
    lw_function_reset(&self->base);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *
kernel_repr(PyObject *object)
{
    const lw_jit *self = (lw_jit *)object;

    return PyUnicode_FromFormat("<lanewise.Kernel '%s'%s>", lw_function_name(&self->base),
                                self->own.device ? " (device function)" : "");
}

/* ---- attributes ---- */

/* Newest first. */
static int
list_signatures(const lw_function *function, PyObject *list)
{
    for (lw_special *at = function->specials; at != NULL; at = at->next) {
        PyObject *text;
        int failed;
        if (at->target != at || at->origin != NULL)
            continue;
        text = lw_special_signature(at);
        failed = text == NULL || PyList_Append(list, text) < 0;
        Py_XDECREF(text);
        if (failed)
            return -1;
    }
    return 0;
}

static PyObject *
get_signatures(PyObject *object, void *Py_UNUSED(closure))
{
    lw_jit *self = (lw_jit *)object;
    PyObject *list;

    if (self->own.device)
        return PyList_GetSlice(self->declared, 0, PyList_GET_SIZE(self->declared));
    list = PyList_New(0);
    if (list == NULL || list_signatures(&self->base, list) < 0 ||
        (self->value != NULL && list_signatures(&self->value->base, list) < 0) ||
        PyList_Reverse(list) < 0) /* oldest first */
        Py_CLEAR(list);
    return list;
}

/* For the reader: what it was made for, or None where it compiles for any types. */
static PyObject *
get_declared(PyObject *object, void *closure)
{
    const lw_jit *self = (lw_jit *)object;
    bool declared = self->own.device || !self->base.lazy ||
                    (self->value != NULL && !self->value->base.lazy);

    return declared ? get_signatures(object, closure) : Py_NewRef(Py_None);
}

static PyObject *
get_overloads(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *module = lw_service_module(LW_SERVICE_OVERLOADS), *result;

    if (module == NULL)
        return NULL;
    result = PyObject_CallMethod(module, "Overloads", "O", object);
    Py_DECREF(module);
    return result;
}

static PyObject *
get_stats(PyObject *object, void *Py_UNUSED(closure))
{
    return lw_function_stats((lw_function *)object);
}

static PyObject *
get_text_signature(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *inspect = PyImport_ImportModule("inspect"), *result;

    if (inspect == NULL)
        return NULL;
    result = PyObject_CallMethod(inspect, "signature", "O", ((lw_function *)object)->py_func);
    Py_DECREF(inspect);
    return result;
}

static PyObject *
get_specialized(PyObject *object, void *Py_UNUSED(closure))
{
    const lw_jit *self = (lw_jit *)object;

    return PyBool_FromLong(!self->base.lazy ||
                           (self->value != NULL && !self->value->base.lazy));
}

static PyObject *
get_device(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(((lw_jit *)object)->own.device);
}

static PyObject *
get_link(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *link = ((lw_jit *)object)->base.link;

    return link ? Py_NewRef(link) : PyTuple_New(0);
}

static PyGetSetDef kernel_getset[] = {
    {"signatures", get_signatures, NULL,
     PyDoc_STR("what it is compiled for: ['void(float32[::1], int64)']"), NULL},
    {"_declared_signatures", get_declared, NULL, NULL, NULL},
    {"overloads", get_overloads, NULL,
     PyDoc_STR("what it is compiled for, a mapping from signatures to objects to ask"), NULL},
    {"specialized", get_specialized, NULL,
     PyDoc_STR("True when signatures were given: nothing else is compiled"), NULL},
    {"__lanewise_link__", get_link, NULL, PyDoc_STR("link=: kernels that call it need it too"),
     NULL},
    {"is_device", get_device, NULL, PyDoc_STR("made with device=True"), NULL},
    {"stats", get_stats, NULL, PyDoc_STR("what was compiled, from where, and how long it took"),
     NULL},
    {"__signature__", get_text_signature, NULL, NULL, NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(lw_function, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(lw_function, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(lw_function, weakrefs), READONLY, NULL},
    {"py_func", T_OBJECT, offsetof(lw_function, py_func), READONLY,
     PyDoc_STR("the Python function it was made from")},
    {"__wrapped__", T_OBJECT, offsetof(lw_function, py_func), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

/* ---- methods ---- */

static PyObject *
kernel_itself(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return Py_NewRef(self);
}

static PyObject *
kernel_reduce(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return lw_reduce_by_source(self, "reduce_kernel");
}

static PyObject *
kernel_state(PyObject *object, PyObject *Py_UNUSED(unused))
{
    lw_jit *self = (lw_jit *)object;
    PyObject *signatures = Py_None;

    if (self->own.device || !self->base.lazy)
        signatures = get_signatures(object, NULL);
    else if (self->value != NULL && !self->value->base.lazy)
        signatures = get_signatures(object, NULL);
    else
        Py_INCREF(signatures);
    if (signatures == NULL)
        return NULL;
    return Py_BuildValue("{s:N,s:O,s:O,s:O}", "signatures", signatures, "options",
                         self->base.keywords, "source",
                         self->base.source ? self->base.source : Py_None, "cuda",
                         self->from_cuda ? Py_True : Py_False);
}

/* numba's spelling of kernel[...]. */
static PyObject *
kernel_configure(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"griddim", "blockdim", "stream", "sharedmem", NULL};
    PyObject *grid, *block, *stream = NULL, *shared = NULL, *zero, *key, *result = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO:configure", names, &grid, &block,
                                     &stream, &shared))
        return NULL;
    zero = PyLong_FromLong(0);
    key = zero ? PyTuple_Pack(4, grid, block, stream ? stream : zero, shared ? shared : zero)
               : NULL;
    if (key != NULL)
        result = lw_jit_configure(self, key);
    Py_XDECREF(key);
    Py_XDECREF(zero);
    return result;
}

static PyMethodDef kernel_methods_head[] = {
    {"configure", LW_KEYWORDS(kernel_configure),
     PyDoc_STR("configure($self, /, griddim, blockdim, stream=0, sharedmem=0)\n--\n\n"
               "kernel[griddim, blockdim, stream, sharedmem].\n\n"
               ">>> k.configure(1, 32) is k[1, 32]\n"
               "True")},
    {"forall", LW_KEYWORDS(lw_jit_forall),
     PyDoc_STR("forall($self, /, ntasks, tpb=0, stream=0, sharedmem=0)\n--\n\n"
               "A launch of at least ntasks threads, in blocks of tpb or, with 0, of the best "
               "occupancy.\n\n"
               ">>> k.forall(5)(np.arange(5.0))")},
    {"specialize", lw_jit_specialize, METH_VARARGS,
     PyDoc_STR("specialize($self, /, *args)\n--\n\n"
               "A kernel for the types of these arguments alone.\n\n"
               ">>> k.specialize(np.arange(5.0)).signatures\n"
               "['void(float64[::1])']")},
    {"_state", kernel_state, METH_NOARGS, PyDoc_STR("what pickling needs")},
    {"__reduce__", kernel_reduce, METH_NOARGS, NULL},
    {"__copy__", kernel_itself, METH_NOARGS, NULL},
    {"__deepcopy__", kernel_itself, METH_O, NULL},
};

enum { N_HEAD = sizeof kernel_methods_head / sizeof *kernel_methods_head, MOST_INSPECT = 24 };

static PyMethodDef kernel_methods[N_HEAD + MOST_INSPECT]; /* filled once, by lw_jit_register */

PyDoc_STRVAR(kernel_doc,
             "A function that many threads run, on a GPU or simulated on the CPU.\n\n"
             "Made by lanewise.jit or cuda.jit; launched as kernel[grid, block](...).\n\n"
             ">>> import numpy as np\n"
             ">>> from lanewise import cuda\n"
             ">>> @cuda.jit(target='cpu')\n"
             "... def double(x):\n"
             "...     i = cuda.grid(1)\n"
             "...     if i < x.size:\n"
             "...         x[i] *= 2\n"
             ">>> x = np.arange(5)\n"
             ">>> double[1, 32](x)\n"
             ">>> x\n"
             "array([0, 2, 4, 6, 8])");

static PyType_Slot kernel_slots[] = {{Py_tp_doc, (void *)kernel_doc},
                                     {Py_tp_dealloc, kernel_dealloc},
                                     {Py_tp_traverse, kernel_traverse},
                                     {Py_tp_clear, kernel_clear},
                                     {Py_tp_repr, kernel_repr},
                                     {Py_tp_call, PyVectorcall_Call},
                                     {Py_mp_subscript, lw_jit_configure},
                                     {Py_tp_getset, kernel_getset},
                                     {Py_tp_members, kernel_members},
                                     {Py_tp_methods, kernel_methods},
                                     {0, NULL}};

static PyType_Spec kernel_spec = {
    .name = "lanewise.Kernel",
    .basicsize = sizeof(lw_jit),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = kernel_slots};

/* ---- the decorators ---- */

/* state: (signatures, keywords, from_cuda) */
static PyObject *
decorate(PyObject *state, PyObject *function)
{
    return lw_jit_new(function, PyTuple_GET_ITEM(state, 0), PyTuple_GET_ITEM(state, 1),
                      PyTuple_GET_ITEM(state, 2) == Py_True);
}

static PyMethodDef decorate_def = {"jit", decorate, METH_O,
                                   PyDoc_STR("makes a Kernel of a function")};

/* Bad keywords and signatures are told now, not when the function comes. */
static int
check_early(PyObject *signatures, PyObject *keywords, bool from_cuda)
{
    lw_door_arguments arguments;
    lw_door_options options;
    lw_jit_options own;
    lw_signature_list list = {0};
    PyObject *shared = lw_jit_options_read(keywords, &own);
    int gives, failed = shared == NULL ||
                        lw_door_read(LW_DOOR_JIT, signatures, shared, &options, &arguments) < 0;
    lw_arena arena;

    Py_XDECREF(shared);
    if (failed)
        return -1;
    gives = from_cuda || own.device ? 0 : lw_jit_signatures_give(signatures);
    if (gives != 0)
        return gives < 0 ? -1 : 0;
    if (!own.device)
        return check_kernel_signatures(signatures);
    lw_arena_init(&arena);
    failed = lw_signatures_read(signatures, false, &arena, &list);
    lw_arena_reset(&arena);
    return failed;
}

static PyObject *
make_decorator(PyObject *signatures, PyObject *keywords, bool from_cuda)
{
    PyObject *state, *result;

    if (check_early(signatures, keywords, from_cuda) < 0)
        return NULL;
    state = PyTuple_Pack(3, signatures ? signatures : Py_None, keywords,
                         from_cuda ? Py_True : Py_False);
    if (state == NULL)
        return NULL;
    result = PyCFunction_New(&decorate_def, state);
    Py_DECREF(state);
    return result;
}

static PyObject *
jit(PyObject *args, PyObject *kwargs, bool from_cuda)
{
    PyObject *first, *keywords, *result;

    if (lw_decorator_arguments("jit", "func_or_sig", args, kwargs, &first, &keywords) < 0)
        return NULL;
    if (first != NULL && lw_is_function(first))
        result = lw_jit_new(first, NULL, keywords, from_cuda);
    else
        result = make_decorator(first, keywords, from_cuda);
    Py_XDECREF(first);
    Py_DECREF(keywords);
    return result;
}

static PyObject *
jit_anywhere(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    return jit(args, kwargs, false);
}

static PyObject *
jit_cuda(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    return jit(args, kwargs, true);
}

#define JIT_SIGNATURE                                                                          \
    "jit(func_or_sig=None, *, device=False, inline='never', forceinline=False, link=(),\n"     \
    "    debug=False, opt=True, lineinfo=True, fastmath=False, max_registers=None,\n"          \
    "    launch_bounds=None, cache=True, cooperative=False, lto=None, extensions=(),\n"        \
    "    boundscheck=None, shared_memory_carveout=None, target='auto', typing='weak',\n"       \
    "    fma=True, precise=False, max_blocksize=None, static=(), errors='raise', check=(),\n"  \
    "    source=None, warn=True, nopython=True)\n--\n\n"

PyDoc_STRVAR(jit_doc,
             JIT_SIGNATURE "Make a Kernel of a function that threads run, or with device=True "
                           "a function for kernels to call.\n\n"
                           "It runs where its arrays are: on their GPU, or for NumPy arrays on "
                           "the CPU. A function that uses nothing of a thread can be called on "
                           "the host, for the numbers that it returns.\n\n"
                           ">>> @lw.jit('void(float64[:])')\n"
                           "... def halve(x):\n"
                           "...     i = lw.cuda.grid(1)\n"
                           "...     if i < x.size:\n"
                           "...         x[i] /= 2\n"
                           ">>> x = np.ones(3)\n"
                           ">>> halve[1, 32](x)\n"
                           ">>> x\n"
                           "array([0.5, 0.5, 0.5])");
PyDoc_STRVAR(jit_cuda_doc,
             JIT_SIGNATURE "numba's cuda.jit: a Kernel for a GPU, to which NumPy arrays are "
                           "copied and back.\n\n"
                           "With target='cpu' or lanewise.config.target 'cpu' (also in "
                           "LANEWISE_TARGET) it runs on the CPU.\n\n"
                           ">>> @cuda.jit(target='cpu')\n"
                           "... def halve(x):\n"
                           "...     x[cuda.grid(1)] /= 2\n"
                           ">>> x = np.ones(3)\n"
                           ">>> halve[1, 3](x)\n"
                           ">>> x\n"
                           "array([0.5, 0.5, 0.5])");

static PyMethodDef functions[] = {
    {"jit", LW_KEYWORDS(jit_anywhere), jit_doc},
    {"_compile_device", lw_jit_compile_device, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef cuda_functions[] = {
    {"jit", LW_KEYWORDS(jit_cuda), jit_cuda_doc},
    {NULL, NULL, 0, NULL},
};

static int
add_functions(PyObject *module)
{
    PyObject *cuda = PyObject_GetAttrString(module, "cuda");
    int failed = cuda == NULL || PyModule_AddFunctions(cuda, cuda_functions) < 0 ||
                 PyModule_AddFunctions(module, functions) < 0;

    Py_XDECREF(cuda);
    return failed ? -1 : 0;
}

int
lw_jit_register(PyObject *module)
{
    PyObject *type;

    memcpy(kernel_methods, kernel_methods_head, sizeof kernel_methods_head);
    memcpy(kernel_methods + N_HEAD, lw_jit_inspect_methods,
           lw_jit_n_inspect_methods * sizeof *kernel_methods);
    type = PyType_FromModuleAndSpec(module, &kernel_spec, NULL);
    lw_jit_type = (PyTypeObject *)type;
    if (type == NULL || PyModule_AddObjectRef(module, "Kernel", type) < 0 ||
        lw_jit_launcher_register(module) < 0 || lw_jit_wrap_register(module) < 0)
        return -1;
    return add_functions(module);
}
