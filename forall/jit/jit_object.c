/* The Kernel type and the decorators that make it: lw.jit and cuda.jit. */
#include "forall/jit/jit_py_internal.h"

#include "core/front/read/critical.h"
#include "core/front/read/services.h"
#include "core/py/compiled/decorate.h"
#include "core/py/compiled/in_python.h"
#include "core/py/method_table.h"
#include "core/py/numpy/object_operands.h"
#include "core/py/raise.h"
#include "core/py/text_py.h"
#include "core/py/types/signature_read.h"
#include "forall/jit/jit_py.h"
#include "forall/specialisation_py_internal.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h>

static const lw_compiled_door door, cuda_door;

/* ---- calling ---- */

PyObject *
lw_jit_needs_shape(const lw_jit *self)
{
    const char *name = lw_function_name(&self->base);
    lw_error err = {0};

    lw_fail(&err, LW_ERR_LAUNCH,
            "launch configuration was not specified: a kernel needs the shape of its launch: "
            "%s[grid, block](...) or %s.forall(n)(...); device=True makes a function to call",
            name, name);
    return lw_py_raise(&err);
}

static PyObject *
call_kernel(PyObject *object, PyObject *const *Py_UNUSED(args), size_t Py_UNUSED(nargsf),
            PyObject *Py_UNUSED(kwnames))
{
    return lw_jit_needs_shape((lw_jit *)object);
}

/* Called on the host, a device function is the Python function. */
static PyObject *
call_device(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    return PyObject_Vectorcall(((lw_function *)object)->py_func, args,
                               (size_t)PyVectorcall_NARGS(nargsf), kwnames);
}

/* ---- building ---- */

/* Reports errors in the function now. */
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

/* A device function has no code of its own: its signatures are only checked and listed. */
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

static bool
has_signatures(const lw_request *request)
{
    return request->signatures != NULL && request->signatures != Py_None;
}

int
lw_jit_refuse_varargs(const lw_jit *self)
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

/* The list is in the keywords as well, so that it goes with the kernel when that is compiled
 * again or pickled. */
static PyObject *
get_extensions(PyObject *object, void *Py_UNUSED(closure))
{
    lw_jit *self = (lw_jit *)object;
    PyObject *given, *list = NULL;

    Py_BEGIN_CRITICAL_SECTION(object);
    if (self->extensions == NULL) {
        given = PyDict_GetItemString(self->base.keywords, "extensions");
        if (given != NULL && given != Py_None)
            list = PyList_Check(given) ? Py_NewRef(given) : PySequence_List(given);
        else
            list = PyList_New(0);
        if (list != NULL && PyDict_SetItemString(self->base.keywords, "extensions", list) == 0)
            self->extensions = Py_NewRef(list);
    }
    Py_END_CRITICAL_SECTION();
    Py_XDECREF(list);
    return Py_XNewRef(self->extensions);
}

static int
init(lw_jit *self, const lw_request *request)
{
    PyObject *keywords = request->keywords, *extensions;

    self->target_given = keywords && PyDict_GetItemString(keywords, "target") != NULL;
    if (lw_function_init(&self->base, request) < 0)
        return -1;
    self->n_positional = (Py_ssize_t)lw_fn_positional(&self->base.tree->fns.data[1]);
    self->declared = PyList_New(0);
    if (self->declared == NULL)
        return -1;
    extensions = keywords ? PyDict_GetItemString(keywords, "extensions") : NULL;
    if (extensions == NULL || extensions == Py_None || PySequence_Size(extensions) == 0)
        return 0;
    extensions = get_extensions((PyObject *)self, NULL);
    Py_XDECREF(extensions);
    return extensions ? 0 : -1;
}

static int
build(lw_jit *self, const lw_request *request)
{
    bool leaves;
    int gives = 0;

    if (init(self, request) < 0)
        return -1;
    if (self->base.options.device)
        return declare_device(self, request->signatures);
    if (!self->from_cuda)
        gives = lw_jit_signatures_give(request->signatures);
    if (gives < 0 ||
        ((self->from_cuda || has_signatures(request)) && lw_jit_refuse_varargs(self) < 0))
        return -1;
    self->signatures = Py_XNewRef(request->signatures);
    if (gives)
        return lw_jit_declare_value(self);
    leaves = !self->from_cuda && lw_jit_leaves_results(request->signatures);
    if (lw_function_declare(&self->base, request->signatures) == 0)
        return lw_jit_compile_declared(self);
    if (!leaves || !lw_jit_error_is("E183"))
        return -1;
    PyErr_Clear(); /* it is no kernel, because it returns something: "(float64,)" of numba's jit
                    */
    return lw_jit_declare_value(self);
}

/* The keyword parallel=; NULL: not given. */
static const PyObject *
given_parallel(const lw_jit *self)
{
    PyObject *keywords = self->base.keywords;

    return keywords != NULL ? PyDict_GetItemString(keywords, "parallel") : NULL;
}

/* Whether prange is range: by parallel=False, for debuggers, and where checks of each addition
 * make an order of a sum. */
static bool
is_serial(const lw_jit *self)
{
    const lw_front_options *front = &self->base.options.front;

    return given_parallel(self) == Py_False || front->variables ||
           (front->checks & (LW_CHECK_OVERFLOW | LW_CHECK_NAN)) != 0;
}

lw_jit *
lw_jit_new_value(lw_jit *self)
{
    lw_jit *made = lw_compiled_alloc(Py_TYPE(self), &door, call_kernel);
    lw_request request = {.function = self->base.py_func, .keywords = self->base.keywords};

    if (made == NULL || init(made, &request) < 0) {
        Py_XDECREF((PyObject *)made);
        return NULL;
    }
    made->base.gives_value = true;
    made->base.options.front.procedure = made->base.options.front.threads = false;
    made->base.options.front.returns_arrays = true;
    made->base.options.front.objects = made->base.options.front.guards = true;
    made->base.options.front.on_host = true;
    made->base.options.front.parallel = !is_serial(self);
    made->base.options.front.parallel_arrays =
        !is_serial(self) && given_parallel(self) == Py_True;
    return made;
}

static PyObject *
new_by(PyTypeObject *type, const lw_compiled_door *by, const lw_request *request)
{
    lw_jit *self = lw_compiled_alloc(type, by, call_kernel);

    if (self == NULL)
        return NULL;
    self->from_cuda = by == &cuda_door;
    if (build(self, request) < 0) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    if (self->base.options.device)
        self->base.vectorcall = call_device;
    else if (!self->from_cuda)
        self->base.vectorcall = lw_jit_call_value;
    return (PyObject *)self;
}

static PyObject *
jit_new(PyTypeObject *type, const lw_request *request)
{
    return new_by(type, &door, request);
}

static PyObject *
cuda_new(PyTypeObject *type, const lw_request *request)
{
    return new_by(type, &cuda_door, request);
}

/* ---- life ---- */

static int
kernel_traverse(PyObject *object, visitproc visit, void *arg)
{
    lw_jit *self = (lw_jit *)object;

    Py_VISIT(self->declared);
    Py_VISIT(self->signatures);
    Py_VISIT(self->extensions);
    Py_VISIT(self->specializations);
    Py_VISIT((PyObject *)atomic_load_explicit(&self->value, memory_order_relaxed));
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
    Py_CLEAR(self->extensions);
    Py_CLEAR(self->specializations);
    Py_XDECREF((PyObject *)atomic_exchange(&self->value, NULL));
    lw_compiled_clear((lw_compiled *)self);
    return 0;
}

static void
drop(lw_compiled *self)
{
    Py_CLEAR(((lw_jit *)self)->declared);
    lw_function_drop(self);
}

static PyObject *
kernel_repr(PyObject *object)
{
    const lw_jit *self = (lw_jit *)object;

    return PyUnicode_FromFormat("<lanewise.Kernel '%s'%s>", lw_function_name(&self->base),
                                self->base.options.device ? " (device function)" : "");
}

/* ---- attributes ---- */

/* Adds the signatures, newest first. */
static int
list_signatures(const lw_function *function, PyObject *list)
{
    for (lw_specialisation *at = lw_grown_first(&function->specialisations); at != NULL;
         at = lw_grown_next(at)) {
        PyObject *text;
        int failed;
        if (at->target != at || at->origin != NULL)
            continue;
        text = lw_specialisation_signature(at);
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
    lw_jit *value = atomic_load_explicit(&self->value, memory_order_acquire);
    PyObject *list;

    if (self->base.options.device)
        return PyList_GetSlice(self->declared, 0, PyList_GET_SIZE(self->declared));
    list = PyList_New(0);
    if (list == NULL || list_signatures(&self->base, list) < 0 ||
        (value != NULL && list_signatures(&value->base, list) < 0) ||
        PyList_Reverse(list) < 0) /* oldest first */
        Py_CLEAR(list);
    return list;
}

/* Whether it is called on the host and takes no types but declared ones. */
static bool
gives_declared(const lw_jit *self)
{
    const lw_jit *value = atomic_load_explicit(&self->value, memory_order_acquire);

    return value != NULL && !value->base.lazy;
}

/* For the reader: the signatures for which it was made, or None where it compiles for any
 * types. */
static PyObject *
get_declared(PyObject *object, void *closure)
{
    const lw_jit *self = (lw_jit *)object;
    bool declared = self->base.options.device || !self->base.lazy || gives_declared(self);

    return declared ? get_signatures(object, closure) : Py_NewRef(Py_None);
}

static PyObject *
declared(lw_compiled *self)
{
    return get_declared((PyObject *)self, NULL);
}

/* The companion was read when it was made, for calls on the host: it says what is stale. */
static lw_compiled *
asked(lw_compiled *self)
{
    lw_jit *value = ((lw_jit *)self)->value;

    return value ? (lw_compiled *)value : self;
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

    return PyBool_FromLong(!self->base.lazy || gives_declared(self));
}

static PyObject *
get_device(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(((lw_function *)object)->options.device);
}

/* As a function of C's: lanewise/_c_functions.py. closure: the attribute's name. */
static PyObject *
get_c_attribute(PyObject *object, void *closure)
{
    PyObject *name = PyUnicode_FromString(closure), *result;

    if (name == NULL)
        return NULL;
    result = lw_service_call(LW_SERVICE_C_FUNCTIONS, "attribute", object, &name, 1, NULL);
    Py_DECREF(name);
    return result;
}

/* What to write instead of an attribute of numba's functions. */
static PyObject *
kernel_getattro(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GenericGetAttr(object, name), *find, *text;

    if (value != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return value;
    PyErr_Clear();
    find = lw_service_find(LW_SERVICE_NUMBA_NAMES, "attribute_hint");
    text = find ? PyObject_CallFunction(find, "sO", Py_TYPE(object)->tp_name, name) : NULL;
    Py_XDECREF(find);
    if (text != NULL && text != Py_None)
        PyErr_SetObject(PyExc_AttributeError, text);
    else if (text != NULL)
        (void)PyObject_GenericGetAttr(object, name); /* Python's own error */
    Py_XDECREF(text);
    return NULL;
}

/* What numba's programs read of it: func.targetoptions["fastmath"]. */
static PyObject *
get_target_options(PyObject *self, void *Py_UNUSED(unused))
{
    PyObject *given = ((lw_jit *)self)->base.keywords;
    PyObject *all = Py_BuildValue("{s:O,s:O,s:O,s:O}", "nopython", Py_True, "fastmath",
                                  Py_False, "debug", Py_False, "opt", Py_True);

    if (all != NULL && given != NULL && PyDict_Check(given) && PyDict_Update(all, given) < 0)
        Py_CLEAR(all);
    return all;
}

static PyGetSetDef kernel_getset[] = {
    {"address", get_c_attribute, NULL,
     PyDoc_STR(
         "the address of the C function that it was compiled to, if it has a single signature"),
     (void *)"address"},
    {"ctypes", get_c_attribute, NULL, PyDoc_STR("the C function, for ctypes"),
     (void *)"ctypes"},
    {"cffi", get_c_attribute, NULL, PyDoc_STR("the C function, for cffi"), (void *)"cffi"},
    {"native_name", get_c_attribute, NULL,
     PyDoc_STR("the name of the C function in the compiled code"), (void *)"native_name"},
    {"signatures", get_signatures, NULL,
     PyDoc_STR("the signatures that have been compiled: ['void(float32[::1], int64)']"), NULL},
    {"nopython_signatures", get_signatures, NULL,
     PyDoc_STR("the same as signatures, under a name that numba uses"), NULL},
    {"_declared_signatures", get_declared, NULL, NULL, NULL},
    {"overloads", get_overloads, NULL,
     PyDoc_STR(
         "a mapping from the compiled signatures to objects that describe the code for each"),
     NULL},
    {"definitions", get_overloads, NULL,
     PyDoc_STR("the same as overloads, under an older name that numba uses"), NULL},
    {"specialized", get_specialized, NULL,
     PyDoc_STR("whether signatures were given, so that nothing else is compiled"), NULL},
    {"specializations", lw_jit_specializations, NULL,
     PyDoc_STR("the kernels that specialize() has made, a dict whose keys are signatures"),
     NULL},
    {"extensions", get_extensions, NULL,
     PyDoc_STR(
         "a list of objects with a method prepare_args(type, value, stream, retr), which is "
         "called for each argument and returns its replacement (type, value); functions that "
         "it appends to the list retr are called after the launch"),
     NULL},
    {"targetoptions", get_target_options, NULL,
     PyDoc_STR("a dict with the keywords of the decorator, under the name that numba uses"),
     NULL},
    {"is_device", get_device, NULL, PyDoc_STR("whether the function was made with device=True"),
     NULL},
    {"__signature__", get_text_signature, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

/* ---- methods ---- */

/* numba's other spelling of kernel[...]. */
static PyObject *
kernel_configure(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"griddim", "blockdim", "stream", "sharedmem", "cluster", NULL};
    PyObject *grid, *block, *stream = NULL, *shared = NULL, *cluster = NULL;
    PyObject *zero, *key, *result = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OOO:configure", names, &grid, &block,
                                     &stream, &shared, &cluster))
        return NULL;
    zero = PyLong_FromLong(0);
    key = zero ? PyTuple_Pack(5, grid, block, stream ? stream : zero, shared ? shared : zero,
                              cluster ? cluster : zero)
               : NULL;
    if (key != NULL)
        result = lw_jit_configure(self, key);
    Py_XDECREF(key);
    Py_XDECREF(zero);
    return result;
}

/* From now on what has been compiled is declared, and nothing else is. */
static void
freeze(lw_function *self)
{
    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    for (lw_specialisation *at = lw_grown_first(&self->specialisations); at != NULL;
         at = lw_grown_next(at))
        at->declared = at->target == at;
    self->lazy = false;
    Py_END_CRITICAL_SECTION();
}

static PyObject *
kernel_disable_compile(PyObject *object, PyObject *Py_UNUSED(unused))
{
    lw_jit *self = (lw_jit *)object, *value = NULL;

    if (!self->from_cuda && !self->base.options.device) { /* also before the first call */
        value = lw_jit_companion(self);
        if (value == NULL)
            return NULL;
        freeze(&value->base);
    }
    freeze(&self->base);
    Py_RETURN_NONE;
}

static PyMethodDef kernel_methods_head[] = {
    {"disable_compile", kernel_disable_compile, METH_NOARGS,
     PyDoc_STR("disable_compile($self, /)\n--\n\nFrom now on, compile for no further types: "
               "calls with types for which nothing has been compiled raise\nTypeError, as if "
               "the others were the signatures of the decorator.\n\n"
               ">>> f = lw.njit(lambda x: x + 1); _ = f(1); f.disable_compile()\n"
               ">>> f(2)\n3")},
    {"configure", LW_KEYWORDS(kernel_configure),
     PyDoc_STR(
         "configure($self, /, griddim, blockdim, stream=0, sharedmem=0, cluster=0)\n--\n\n"
         "Return the kernel with this launch configuration, as "
         "kernel[griddim, blockdim, stream, sharedmem, cluster] does.\n\n"
         ">>> k.configure(1, 32) is k[1, 32]\n"
         "True")},
    {"forall", LW_KEYWORDS(lw_jit_forall),
     PyDoc_STR(
         "forall($self, /, ntasks, tpb=0, stream=0, sharedmem=0)\n--\n\n"
         "Return the kernel with a launch configuration of at least ntasks threads, in blocks "
         "of tpb threads; with 0, in blocks of the size with the best occupancy.\n\n"
         ">>> k.forall(5)(np.arange(5.0))")},
    {"specialize", lw_jit_specialize, METH_VARARGS,
     PyDoc_STR("specialize($self, /, *args)\n--\n\n"
               "Return a kernel for only the types of these arguments, which may also be "
               "types. Called again with the same types, it returns the same kernel.\n\n"
               ">>> k.specialize(np.arange(5.0)).signatures\n"
               "['void(float64[::1])']\n"
               ">>> k.specialize(lw.float64[::1]) is k.specialize(np.arange(5.0))\n"
               "True")},
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
                                     {Py_tp_dealloc, lw_compiled_dealloc},
                                     {Py_tp_traverse, kernel_traverse},
                                     {Py_tp_clear, kernel_clear},
                                     {Py_tp_repr, kernel_repr},
                                     {Py_tp_call, PyVectorcall_Call},
                                     {Py_mp_subscript, lw_jit_configure},
                                     {Py_tp_getset, kernel_getset},
                                     {Py_tp_methods, kernel_methods},
                                     {Py_tp_getattro, kernel_getattro},
                                     {0, NULL}};

static PyType_Spec kernel_spec = {
    .name = "lanewise.Kernel",
    .basicsize = sizeof(lw_jit),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = kernel_slots};

/* ---- the decorators ---- */

static int
check_device_signatures(PyObject *signatures)
{
    lw_signature_list list = {0};
    lw_arena arena;
    int failed;

    lw_arena_init(&arena);
    failed = lw_signatures_read(signatures, false, &arena, &list);
    lw_arena_reset(&arena);
    return failed;
}

static int
check_of(const lw_request *request, bool from_cuda)
{
    lw_door_arguments arguments;
    lw_door_options options;
    int gives = 0;

    if (lw_door_read(LW_DOOR_JIT, request->signatures, request->keywords, &options,
                     &arguments) < 0)
        return -1;
    if (options.device)
        return check_device_signatures(request->signatures);
    if (!from_cuda)
        gives = lw_jit_signatures_give(request->signatures);
    if (gives != 0)
        return gives < 0 ? -1 : 0;
    return check_kernel_signatures(request->signatures);
}

static int
check(const lw_request *request)
{
    return check_of(request, false);
}

static int
cuda_check(const lw_request *request)
{
    return check_of(request, true);
}

static const lw_compiled_door door = {.id = LW_DOOR_JIT,
                                      .path = "jit",
                                      .binding = LW_BINDS_CALL,
                                      .check = check,
                                      .make = jit_new,
                                      .declared = declared,
                                      .asked = asked,
                                      .changed = lw_function_statics_changed,
                                      .drop = drop};
static const lw_compiled_door cuda_door = {.id = LW_DOOR_JIT,
                                           .path = "cuda.jit",
                                           .check = cuda_check,
                                           .make = cuda_new,
                                           .declared = declared,
                                           .asked = asked,
                                           .changed = lw_function_statics_changed,
                                           .drop = drop};

static PyObject *
jit_anywhere(PyObject *module, PyObject *args, PyObject *kwargs)
{
    return lw_decorate_either(&door, module, "func_or_sig", args, kwargs);
}

static PyObject *
jit_cuda(PyObject *module, PyObject *args, PyObject *kwargs)
{
    return lw_decorate_either(&cuda_door, module, "func_or_sig", args, kwargs);
}

PyDoc_STRVAR(
    jit_doc,
    "Compile a function that is called like any other, or a kernel that many threads run.\n"
    "\n"
    "A function that does not ask for thread indices, barriers or shared memory is called like "
    "a Python\n"
    "function. It runs on the CPU and returns its result; loops over lanewise.prange use all "
    "cores.\n"
    "\n"
    "A function that does ask for these is a kernel. It is launched as kernel[blocks, "
    "threads](...), and runs\n"
    "where its arrays are: on their GPU, or on the CPU if they are NumPy arrays. With "
    "device=True, the function\n"
    "is one that kernels call.\n"
    "\n"
    "Indices of arrays are not checked, unless check={'bounds'} is given, or "
    "LANEWISE_CHECK=bounds is set in the\n"
    "environment: an index outside of an array may end the process.\n"
    "\n"
    ">>> @lw.jit\n"
    "... def total(x):\n"
    "...     s = 0.0\n"
    "...     for v in x:\n"
    "...         s += v\n"
    "...     return s\n"
    ">>> total(np.arange(4.0))\n"
    "6.0\n"
    ">>> @lw.jit('void(float64[:])')\n"
    "... def halve(x):\n"
    "...     i = lw.cuda.grid(1)\n"
    "...     if i < x.size:\n"
    "...         x[i] /= 2\n"
    ">>> x = np.ones(3)\n"
    ">>> halve[1, 32](x)\n"
    ">>> x\n"
    "array([0.5, 0.5, 0.5])");
PyDoc_STRVAR(jit_cuda_doc, "Compile a kernel for a GPU, as numba's cuda.jit does. It is "
                           "launched as kernel[blocks, threads](...).\n"
                           "\n"
                           "NumPy arrays among the arguments are copied to the GPU and back. "
                           "With target='cpu', or if the setting\n"
                           "target is \"cpu\" (lanewise.config.target, LANEWISE_TARGET), the "
                           "kernel runs on the CPU instead.\n"
                           "\n"
                           ">>> @cuda.jit(target='cpu')\n"
                           "... def halve(x):\n"
                           "...     x[cuda.grid(1)] /= 2\n"
                           ">>> x = np.ones(3)\n"
                           ">>> halve[1, 3](x)\n"
                           ">>> x\n"
                           "array([0.5, 0.5, 0.5])");

static PyMethodDef decorator[] = {
    {"jit", LW_KEYWORDS(jit_anywhere), NULL},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef cuda_decorator[] = {
    {"jit", LW_KEYWORDS(jit_cuda), NULL},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef functions[] = {
    {"_compile_device", lw_jit_compile_device, METH_VARARGS, NULL},
    {"_linked", lw_jit_linked, METH_VARARGS, NULL},
    {"_c_function", lw_jit_c_function, METH_VARARGS, NULL},
    {"_c_function_form", lw_jit_c_function_form, METH_VARARGS, NULL},
    {"_fields_of_object", lw_fields_of_object, METH_O, NULL},
    {"_has_code", lw_has_code, METH_O, NULL},
    {"_takes_as_object", lw_takes_as_object, METH_VARARGS, NULL},
    {"_call_with_loop", lw_call_with_loop, METH_VARARGS, NULL},
    {"_form_of_call", (PyCFunction)(void (*)(void))lw_jit_form, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static int
add_functions(PyObject *module)
{
    PyObject *cuda = PyObject_GetAttrString(module, "cuda");
    const char *first = "func_or_sig=None, *";
    int failed =
        cuda == NULL ||
        lw_door_add(module, cuda, cuda_decorator, LW_DOOR_JIT, first, jit_cuda_doc) < 0 ||
        lw_door_add(module, module, decorator, LW_DOOR_JIT, first, jit_doc) < 0 ||
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
    lw_jit_c_register();
    type = (PyObject *)lw_compiled_type(module, LW_DOOR_JIT, &kernel_spec, NULL);
    lw_core->jit_type = (PyTypeObject *)Py_XNewRef(type);
    if (type == NULL || lw_jit_launcher_register(module) < 0 ||
        lw_jit_wrap_register(module) < 0)
        return -1;
    return add_functions(module);
}
