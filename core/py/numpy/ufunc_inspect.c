/* The text and binary forms of a ufunc's loops, for the host and, without a GPU, for any
 * compute capability. */
#include "core/py/numpy/ufunc_type.h"

#include "core/device/context.h"
#include "core/py/compiled/link_ask.h"
#include "core/py/compiled/resources.h"
#include "core/py/method_table.h"
#include "core/py/numpy/device_call.h"
#include "core/py/numpy/ufunc_inner.h"
#include "core/py/raise.h"
#include "core/py/target_read.h"
#include "core/py/text_py.h"

/* Whose the loop is, borrowed. */
static lw_ufunc_head *
owner_of(lw_ufunc_head *self, const void *loop)
{
    return self->kind->owner ? self->kind->owner(self, loop) : self;
}

/* For the host, cc 0, or a device. Without the GIL. */
static lw_status
module_for(lw_ufunc_head *self, void *loop, int cc, lw_module **out, lw_error *err)
{
    return cc == 0 ? self->kind->host_module(self, loop, out, err)
                   : lw_device_usual_module(self, loop, out, err);
}

/* Adds what the loop's code is linked with on a GPU. -1 with an exception. */
static int
add_links(lw_ufunc_head *self, const lw_loop_head *loop, int cc, lw_build_options *options)
{
    const lw_link_set *links =
        lw_link_set_of((lw_compiled *)self, self->captures, loop->scalar, cc);

    if (links == NULL)
        return -1;
    *options = lw_link_options(*options, links);
    return 0;
}

PyObject *
lw_ufunc_form(lw_ufunc_head *self, void *loop, int cc, const char *form)
{
    lw_build_options options = self->kind->build_options(self);
    lw_module *module = NULL;
    lw_error err = {0};
    lw_bytes bytes = {0};
    lw_status status;

    if (cc != 0 && lw_link_is_output(form) && add_links(self, loop, cc, &options) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = module_for(self, loop, cc, &module, &err);
    if (status == LW_OK)
        status = lw_build_output(module, cc, form, &options, &bytes, &err);
    Py_END_ALLOW_THREADS
    lw_module_free(module);
    return lw_form_take(status, form, &bytes, &err);
}

int
lw_ufunc_info(lw_ufunc_head *self, void *loop, int cc, lw_cubin_info *out)
{
    lw_build_options options = self->kind->build_options(self);
    lw_module *module = NULL;
    lw_error err = {0};
    lw_status status;

    if (add_links(self, loop, cc, &options) < 0)
        return -1;
    Py_BEGIN_ALLOW_THREADS
    status = module_for(self, loop, cc, &module, &err);
    if (status == LW_OK)
        status = lw_build_info(module, cc, &options, out, &err);
    lw_module_free(module);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        lw_py_raise(&err);
    return status == LW_OK ? 0 : -1;
}

/* ---- inspect_* ---- */

typedef PyObject *(*form_function)(lw_ufunc_head *self, void *loop, int cc, const char *form);

static PyObject *
types_text(lw_ufunc_head *self, void *loop, int Py_UNUSED(cc), const char *Py_UNUSED(form))
{
    return lw_typed_take_text(self->kind->infer(self, loop));
}

/* all, which it takes, a line's end unless it is empty, and the loop's text. NULL is passed on.
 */
static PyObject *
and_loop(PyObject *all, PyObject *text)
{
    PyObject *joined = NULL;

    if (text != NULL)
        joined =
            PyUnicode_FromFormat("%U%s%U", all, PyUnicode_GET_LENGTH(all) ? "\n" : "", text);
    Py_XDECREF(text);
    Py_DECREF(all);
    return joined;
}

/* Without sig: all loops, one after the other, as `types` lists them. */
static PyObject *
of_all(lw_ufunc_head *self, int cc, const char *form, form_function one)
{
    PyObject *all = PyUnicode_FromString("");

    for (; self != NULL; self = lw_ufunc_other(self))
        for (uint32_t i = 0; all != NULL && i < self->kind->n_loops(self); i++) {
            void *loop = self->kind->loop_at(self, i);
            all = and_loop(all, one(owner_of(self, loop), loop, cc, form));
        }
    return all;
}

static PyObject *
inspect_one(PyObject *object, PyObject *args, PyObject *kwargs, int fallback, const char *form,
            form_function one)
{
    lw_ufunc_head *self = (lw_ufunc_head *)object;
    PyObject *sig;
    int cc = lw_target_arguments(args, kwargs, "|OO", fallback, &sig);
    void *loop;

    if (cc < 0)
        return NULL;
    if (sig == Py_None)
        return of_all(self, cc, form, one);
    loop = self->kind->loop_of(self, sig);
    return loop ? one(owner_of(self, loop), loop, cc, form) : NULL;
}

static PyObject *
inspect(PyObject *object, PyObject *args, PyObject *kwargs, int fallback, const char *form,
        form_function one)
{
    PyObject *current = lw_ufunc_current(object), *result = NULL;

    if (current != NULL)
        result = inspect_one(current, args, kwargs, fallback, form, one);
    Py_XDECREF(current);
    return result;
}

#define INSPECT(name, fallback, form, one)                                                     \
    static PyObject *inspect_##name(PyObject *self, PyObject *args, PyObject *kwargs)          \
    {                                                                                          \
        return inspect(self, args, kwargs, fallback, form, one);                               \
    }
INSPECT(types, 0, "types", types_text)
INSPECT(llvm, 0, "llvm", lw_ufunc_form)
INSPECT(nvvm, 90, "nvvm", lw_ufunc_form)
INSPECT(ptx, 90, "ptx", lw_ufunc_form)
INSPECT(sass, 90, "sass", lw_ufunc_form)
INSPECT(asm, 0, "asm", lw_ufunc_form)
#undef INSPECT

/* ---- resources, compile, export ---- */

static PyObject *
host_resources(lw_ufunc_head *self, void *loop)
{
    Py_ssize_t n_bytes = self->kind->compile_host(self, loop);

    return n_bytes < 0 ? NULL : lw_host_resources_dict((size_t)n_bytes);
}

/* The GPU where there is one or the decorator named it, else the host. */
static int
default_cc(const lw_ufunc_head *self)
{
    lw_error err = {0};
    lw_device *device;

    if (self->options.target == LW_CHOOSE_CPU)
        return 0;
    if (lw_driver_available() && lw_device_current(&device, &err) == LW_OK)
        return device->cc_major * 10 + device->cc_minor;
    lw_error_reset(&err);
    return self->options.target == LW_CHOOSE_CUDA ? 90 : 0;
}

/* The loop of a signature; without one the only loop. */
static void *
loop_or_only(lw_ufunc_head *self, const char *method, PyObject *sig)
{
    uint32_t n = self->kind->n_loops(self);
    lw_text text = {0};

    if (sig != Py_None)
        return self->kind->loop_of(self, sig);
    if (n == 1)
        return self->kind->loop_at(self, 0);
    lw_text_addf(&text, "%s() needs a signature: `%s` has ", method, self->table->name);
    lw_text_add(&text, n ? "loops for " : "no loops yet");
    for (uint32_t i = 0; i < n; i++) {
        PyObject *one = self->kind->signature_text(self->kind->loop_at(self, i));
        const char *utf8 = one ? PyUnicode_AsUTF8(one) : NULL;
        lw_text_addf(&text, "%s%s", i ? ", " : "", utf8 ? utf8 : "?");
        PyErr_Clear();
        Py_XDECREF(one);
    }
    PyErr_SetString(PyExc_TypeError, lw_text_get(&text));
    lw_text_reset(&text);
    return NULL;
}

static PyObject *
resources_now(PyObject *object, PyObject *args, PyObject *kwargs)
{
    lw_ufunc_head *self = (lw_ufunc_head *)object;
    PyObject *sig;
    int cc = lw_target_arguments(args, kwargs, "|OO:resources", default_cc(self), &sig);
    void *loop = cc < 0 ? NULL : loop_or_only(self, "resources", sig);

    if (loop == NULL)
        return NULL;
    self = owner_of(self, loop);
    return cc == 0 ? host_resources(self, loop) : lw_device_resources(self, loop, cc);
}

static bool
names_no_cc(PyObject *target)
{
    return target == Py_None ||
           (PyUnicode_Check(target) && PyUnicode_CompareWithASCIIString(target, "cuda") == 0);
}

/* The GPUs may be those of another machine; the code goes to the cache. */
static int
compile_ahead(lw_ufunc_head *self, void *loop, int cc)
{
    PyObject *code = lw_ufunc_form(self, loop, cc, "cubin");

    Py_XDECREF(code);
    return code ? 0 : -1;
}

static PyObject *
compile_now(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"sig", "target", NULL};
    lw_ufunc_head *self = (lw_ufunc_head *)object;
    int fallback = self->options.target == LW_CHOOSE_CUDA ? 90 : 0, cc, failed;
    PyObject *sig = Py_None, *target = Py_None;
    void *loop;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", names, &sig, &target))
        return NULL;
    cc = lw_target_read(target, fallback, true);
    loop = cc < 0 ? NULL : loop_or_only(self, "compile", sig);
    if (loop == NULL)
        return NULL;
    self = owner_of(self, loop);
    if (cc == 0)
        failed = self->kind->compile_host(self, loop) < 0;
    else if (names_no_cc(target) || lw_driver_available())
        failed = lw_device_compile(self, loop, names_no_cc(target) ? 0 : cc) < 0;
    else
        failed = compile_ahead(self, loop, cc) < 0;
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

static int
export_one(lw_ufunc_head *self, PyObject *sig, PyObject *arch, PyObject *into)
{
    void *loop = self->kind->loop_of(self, sig);
    int cc = loop ? lw_target_read(arch, 0, true) : -1, result = -1;
    PyObject *types, *key = NULL, *code = NULL;

    if (cc < 0)
        return -1;
    types = self->kind->types_text(loop);
    if (types != NULL)
        key = PyTuple_Pack(2, types, arch);
    if (key != NULL)
        code = lw_ufunc_form(self, loop, cc, cc ? "cubin" : "object");
    if (code != NULL)
        result = PyDict_SetItem(into, key, code);
    Py_XDECREF(types);
    Py_XDECREF(key);
    Py_XDECREF(code);
    return result;
}

static PyObject *
as_tuple(PyObject *object)
{
    if (PyList_Check(object) || PyTuple_Check(object))
        return PySequence_Tuple(object);
    return PyTuple_Pack(1, object);
}

static PyObject *
export_now(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"sigs", "archs", NULL};
    lw_ufunc_head *self = (lw_ufunc_head *)object;
    PyObject *sigs, *archs, *all_sigs, *all_archs = NULL, *result = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO", names, &sigs, &archs))
        return NULL;
    all_sigs = as_tuple(sigs);
    if (all_sigs != NULL)
        all_archs = as_tuple(archs);
    if (all_archs != NULL)
        result = PyDict_New();
    for (Py_ssize_t i = 0; result && i < PyTuple_GET_SIZE(all_sigs); i++)
        for (Py_ssize_t k = 0; result && k < PyTuple_GET_SIZE(all_archs); k++)
            if (export_one(self, PyTuple_GET_ITEM(all_sigs, i), PyTuple_GET_ITEM(all_archs, k),
                           result) < 0)
                Py_CLEAR(result);
    Py_XDECREF(all_sigs);
    Py_XDECREF(all_archs);
    return result;
}

#define OF_CURRENT(name) LW_OF_CURRENT(method_##name, lw_ufunc_current(object), name##_now)
OF_CURRENT(resources)
OF_CURRENT(compile)
OF_CURRENT(export)
#undef OF_CURRENT

PyMethodDef lw_ufunc_inspections[LW_N_UFUNC_INSPECTIONS] = {
    {"compile", LW_KEYWORDS(method_compile),
     PyDoc_STR("compile($self, /, sig=None, target=None)\n--\n\n"
               "Compile the machine code now instead of at the first call. sig may be left out "
               "if there is only one signature.\n\n"
               ">>> f.compile('float32(float32)', 'cpu')")},
    {"inspect_types", LW_KEYWORDS(inspect_types),
     PyDoc_STR("inspect_types($self, /, sig=None)\n--\n\n"
               "Return a string that shows each expression with its type.\n\n"
               ">>> 'float32' in f.inspect_types('f->f')\n"
               "True")},
    {"inspect_llvm", LW_KEYWORDS(inspect_llvm),
     PyDoc_STR("inspect_llvm($self, /, sig=None, target='cpu')\n--\n\n"
               "Return the LLVM IR of the loop for the CPU (for contiguous arrays), or of the "
               "kernel for a GPU such as 'sm_90'.\n\n"
               ">>> 'fadd' in f.inspect_llvm('f->f')\n"
               "True")},
    {"inspect_nvvm", LW_KEYWORDS(inspect_nvvm),
     PyDoc_STR("inspect_nvvm($self, /, sig=None, target='sm_90')\n--\n\n"
               "Return the NVVM IR of the kernel.\n\n"
               ">>> 'nvvm.annotations' in f.inspect_nvvm('f->f')\n"
               "True")},
    {"inspect_ptx", LW_KEYWORDS(inspect_ptx),
     PyDoc_STR("inspect_ptx($self, /, sig=None, target='sm_90')\n--\n\n"
               "Return the PTX of the kernel.\n\n"
               ">>> '.entry' in f.inspect_ptx('f->f')\n"
               "True")},
    {"inspect_sass", LW_KEYWORDS(inspect_sass),
     PyDoc_STR("inspect_sass($self, /, sig=None, target='sm_90')\n--\n\n"
               "Return the instructions for the GPU (SASS).\n\n"
               ">>> 'FADD' in f.inspect_sass('f->f')\n"
               "True")},
    {"inspect_asm", LW_KEYWORDS(inspect_asm),
     PyDoc_STR("inspect_asm($self, /, sig=None)\n--\n\n"
               "Return the instructions for this CPU.\n\n"
               ">>> 'ret' in f.inspect_asm('f->f')\n"
               "True")},
    {"resources", LW_KEYWORDS(method_resources),
     PyDoc_STR("resources($self, /, sig=None, target=None)\n--\n\n"
               "Return what the code needs (registers, memory and so on) as a dict. sig may be "
               "left out if there is only one signature.\n\n"
               ">>> f.resources('f->f', 'cpu')['code_bytes'] > 0\n"
               "True")},
    {"export", LW_KEYWORDS(method_export),
     PyDoc_STR("export($self, /, sigs, archs)\n--\n\n"
               "Compile object code or cubins ahead of time, and return them as a dict "
               "{(types, arch): bytes}.\n\n"
               ">>> sorted(f.export(['f->f', 'd->d'], ['host']))\n"
               "[('d->d', 'host'), ('f->f', 'host')]")},
};
