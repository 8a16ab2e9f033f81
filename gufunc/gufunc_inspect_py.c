/* Looking into a Gufunc: the text and binary forms of its loops, for the host and, without a
 * GPU, for any compute capability. */
#include "gufunc/gufunc_parts_py.h"

#include "core/device/context.h"
#include "core/py/raise.h"
#include "core/py/target_read.h"

lw_gufunc_device_hooks lw_gufunc_device;

static lw_status
module_for(lw_gufunc_object *self, lw_gufunc_loop *loop, int cc, lw_module **out, lw_error *err)
{
    if (cc == 0)
        return lw_gufunc_host_module(loop, LW_CODE_DENSE, NULL, out, err);
    if (lw_gufunc_device.module == NULL)
        return lw_fail(err, LW_ERR_UNSUPPORTED, "this build runs guvectorize on the host only");
    return lw_gufunc_device.module(&self->base, loop, out, err);
}

/* One form of one loop. NULL with an exception. */
static PyObject *
form_of(lw_gufunc_object *self, lw_gufunc_loop *loop, int cc, const char *form, bool as_bytes)
{
    lw_build_options options = lw_door_build_options(&self->base.options, self->table->name);
    lw_module *module = NULL;
    lw_error err = {0};
    lw_bytes bytes = {0};
    lw_status status;
    PyObject *result = NULL;

    Py_BEGIN_ALLOW_THREADS
    status = module_for(self, loop, cc, &module, &err);
    if (status == LW_OK)
        status = lw_build_output(module, cc, form, &options, &bytes, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        lw_py_raise(&err);
    else if (as_bytes)
        result = PyBytes_FromStringAndSize((const char *)bytes.data, (Py_ssize_t)bytes.n);
    else
        result = PyUnicode_DecodeUTF8((const char *)bytes.data, (Py_ssize_t)bytes.n, "replace");
    lw_bytes_reset(&bytes);
    lw_module_free(module);
    return result;
}

/* ---- inspect_* ---- */

typedef PyObject *(*form_function)(lw_gufunc_object *self, lw_gufunc_loop *loop, int cc,
                                   const char *form);

static PyObject *
form_text(lw_gufunc_object *self, lw_gufunc_loop *loop, int cc, const char *form)
{
    return form_of(self, loop, cc, form, false);
}

static PyObject *
types_text(lw_gufunc_object *self, lw_gufunc_loop *loop, int Py_UNUSED(cc),
           const char *Py_UNUSED(form))
{
    lw_typed *typed = lw_gufunc_infer(self, loop);
    lw_text text = {0};
    PyObject *result;

    if (typed == NULL)
        return NULL;
    lw_typed_print(typed, &text);
    lw_typed_free(typed);
    result = text.failed ? PyErr_NoMemory() : PyUnicode_FromString(lw_text_get(&text));
    lw_text_reset(&text);
    return result;
}

/* Without sig: all loops, one after the other. */
static PyObject *
of_all(lw_gufunc_object *self, int cc, const char *form, form_function one)
{
    PyObject *all = PyUnicode_FromString("");

    for (uint32_t i = 0; all != NULL && i < self->base.loops.n; i++) {
        PyObject *text = one(self, self->base.loops.data[i], cc, form), *joined = NULL;
        if (text != NULL)
            joined = PyUnicode_FromFormat("%U%s%U", all, i ? "\n" : "", text);
        Py_XDECREF(text);
        Py_SETREF(all, joined);
    }
    return all;
}

static PyObject *
inspect(PyObject *object, PyObject *args, PyObject *kwargs, int fallback, const char *form,
        form_function one)
{
    static char *names[] = {"sig", "target", NULL};
    lw_gufunc_object *self = (lw_gufunc_object *)object;
    PyObject *sig = Py_None, *target = Py_None;
    lw_gufunc_loop *loop;
    int cc;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", names, &sig, &target))
        return NULL;
    cc = lw_target_read(target, fallback, true);
    if (cc < 0)
        return NULL;
    if (sig == Py_None)
        return of_all(self, cc, form, one);
    loop = lw_gufunc_loop_of(self, sig);
    return loop ? one(self, loop, cc, form) : NULL;
}

#define INSPECT(name, fallback, form, one)                                                     \
    static PyObject *inspect_##name(PyObject *self, PyObject *args, PyObject *kwargs)          \
    {                                                                                          \
        return inspect(self, args, kwargs, fallback, form, one);                               \
    }
INSPECT(types, 0, "types", types_text)
INSPECT(llvm, 0, "llvm", form_text)
INSPECT(nvvm, 90, "nvvm", form_text)
INSPECT(ptx, 90, "ptx", form_text)
INSPECT(sass, 90, "sass", form_text)
INSPECT(asm, 0, "asm", form_text)
#undef INSPECT

/* ---- resources, compile, export ---- */

/* Machine code for dense cores, made when it is not there. */
static int
compile_host(lw_gufunc_object *self, lw_gufunc_loop *loop)
{
    int64_t dims[1 + 256] = {1}, steps[LW_MOST_STEPS] = {0};

    for (uint32_t d = 0; d < loop->layout->n_dims;
         d++) /* all 1: these strides count as dense */
        dims[1 + d] = 1;
    return lw_gufunc_code_for(self->table, loop, dims, steps) ? 0 : -1;
}

static PyObject *
host_resources(lw_gufunc_object *self, lw_gufunc_loop *loop)
{
    if (compile_host(self, loop) < 0)
        return NULL;
    return Py_BuildValue("{s:s,s:n,s:i}", "target", "cpu", "code_bytes",
                         (Py_ssize_t)lw_gufunc_host_code_size(loop->host), "vector_bits",
                         lw_host_vector_bits());
}

static PyObject *
no_device_side(const char *what)
{
    lw_error err = {0};

    lw_fail(&err, LW_ERR_UNSUPPORTED, "%s for a GPU is not part of this build", what);
    return lw_py_raise(&err);
}

/* The GPU where there is one or the decorator named it, else the host. */
static int
default_cc(const lw_gufunc_object *self)
{
    lw_error err = {0};
    lw_device *device;

    if (self->base.options.target == LW_CHOOSE_CPU || lw_gufunc_device.resources == NULL)
        return 0;
    if (lw_driver_available() && lw_device_current(&device, &err) == LW_OK)
        return device->cc_major * 10 + device->cc_minor;
    lw_error_reset(&err);
    return self->base.options.target == LW_CHOOSE_CUDA ? 90 : 0;
}

static PyObject *
gufunc_resources(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"sig", "target", NULL};
    lw_gufunc_object *self = (lw_gufunc_object *)object;
    PyObject *sig, *target = Py_None;
    lw_gufunc_loop *loop;
    int cc;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O", names, &sig, &target))
        return NULL;
    cc = lw_target_read(target, default_cc(self), true);
    loop = cc < 0 ? NULL : lw_gufunc_loop_of(self, sig);
    if (loop == NULL)
        return NULL;
    if (cc == 0)
        return host_resources(self, loop);
    return lw_gufunc_device.resources ? lw_gufunc_device.resources(&self->base, loop, cc)
                                      : no_device_side("resources()");
}

static bool
names_no_cc(PyObject *target)
{
    return target == Py_None ||
           (PyUnicode_Check(target) && PyUnicode_CompareWithASCIIString(target, "cuda") == 0);
}

static PyObject *
gufunc_compile(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"sig", "target", NULL};
    lw_gufunc_object *self = (lw_gufunc_object *)object;
    int fallback = self->base.options.target == LW_CHOOSE_CUDA ? 90 : 0, cc, failed;
    PyObject *sig, *target = Py_None;
    lw_gufunc_loop *loop;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O", names, &sig, &target))
        return NULL;
    cc = lw_target_read(target, fallback, true);
    loop = cc < 0 ? NULL : lw_gufunc_loop_of(self, sig);
    if (loop == NULL)
        return NULL;
    if (cc != 0 && lw_gufunc_device.compile == NULL)
        return no_device_side("compile()");
    failed = cc == 0
                 ? compile_host(self, loop)
                 : lw_gufunc_device.compile(&self->base, loop, names_no_cc(target) ? 0 : cc);
    if (failed < 0)
        return NULL;
    Py_RETURN_NONE;
}

static int
export_one(lw_gufunc_object *self, PyObject *sig, PyObject *arch, PyObject *into)
{
    lw_gufunc_loop *loop = lw_gufunc_loop_of(self, sig);
    int cc = loop ? lw_target_read(arch, 0, true) : -1, result = -1;
    PyObject *types, *key = NULL, *code = NULL;

    if (cc < 0)
        return -1;
    types = lw_gufunc_types_text(loop);
    if (types != NULL)
        key = PyTuple_Pack(2, types, arch);
    if (key != NULL)
        code = form_of(self, loop, cc, cc ? "cubin" : "object", true);
    if (code != NULL)
        result = PyDict_SetItem(into, key, code);
    Py_XDECREF(types);
    Py_XDECREF(key);
    Py_XDECREF(code);
    return result;
}

static PyObject *
as_sequence(PyObject *object, const char *name)
{
    if (PyList_Check(object) || PyTuple_Check(object))
        return PySequence_Fast(object, name);
    return PyTuple_Pack(1, object);
}

static PyObject *
gufunc_export(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"sigs", "archs", NULL};
    lw_gufunc_object *self = (lw_gufunc_object *)object;
    PyObject *sigs, *archs, *all_sigs, *all_archs = NULL, *result = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO", names, &sigs, &archs))
        return NULL;
    all_sigs = as_sequence(sigs, "sigs");
    if (all_sigs != NULL)
        all_archs = as_sequence(archs, "archs");
    if (all_archs != NULL)
        result = PyDict_New();
    for (Py_ssize_t i = 0; result && i < PySequence_Fast_GET_SIZE(all_sigs); i++)
        for (Py_ssize_t k = 0; result && k < PySequence_Fast_GET_SIZE(all_archs); k++)
            if (export_one(self, PySequence_Fast_GET_ITEM(all_sigs, i),
                           PySequence_Fast_GET_ITEM(all_archs, k), result) < 0)
                Py_CLEAR(result);
    Py_XDECREF(all_sigs);
    Py_XDECREF(all_archs);
    return result;
}

#define WITH_KEYWORDS(function)                                                                \
    ((PyCFunction)(void (*)(void))(function)), METH_VARARGS | METH_KEYWORDS

PyMethodDef lw_gufunc_inspections[LW_N_GUFUNC_INSPECTIONS] = {
    {"compile", WITH_KEYWORDS(gufunc_compile),
     PyDoc_STR("compile($self, /, sig, target=None)\n--\n\n"
               "Make the machine code now instead of at the first call.\n\n"
               ">>> g.compile('void(float32[:], float32[:])', 'cpu')")},
    {"inspect_types", WITH_KEYWORDS(inspect_types),
     PyDoc_STR("inspect_types($self, /, sig=None)\n--\n\n"
               "Each expression with its type, as text.\n\n"
               ">>> 'float32' in g.inspect_types('f->f')\n"
               "True")},
    {"inspect_llvm", WITH_KEYWORDS(inspect_llvm),
     PyDoc_STR("inspect_llvm($self, /, sig=None, target='cpu')\n--\n\n"
               "LLVM text of the host loop over dense cores, or of the kernel for 'sm_90'.\n\n"
               ">>> 'lw_items' in g.inspect_llvm('f->f')\n"
               "True")},
    {"inspect_nvvm", WITH_KEYWORDS(inspect_nvvm),
     PyDoc_STR("inspect_nvvm($self, /, sig=None, target='sm_90')\n--\n\n"
               "NVVM IR of the kernel.")},
    {"inspect_ptx", WITH_KEYWORDS(inspect_ptx),
     PyDoc_STR("inspect_ptx($self, /, sig=None, target='sm_90')\n--\n\n"
               "PTX of the kernel.")},
    {"inspect_sass", WITH_KEYWORDS(inspect_sass),
     PyDoc_STR("inspect_sass($self, /, sig=None, target='sm_90')\n--\n\n"
               "The GPU's instructions.")},
    {"inspect_asm", WITH_KEYWORDS(inspect_asm),
     PyDoc_STR("inspect_asm($self, /, sig=None)\n--\n\n"
               "This CPU's instructions.\n\n"
               ">>> 'ret' in g.inspect_asm('f->f')\n"
               "True")},
    {"resources", WITH_KEYWORDS(gufunc_resources),
     PyDoc_STR("resources($self, /, sig, target=None)\n--\n\n"
               "What the code needs, as a dict.\n\n"
               ">>> g.resources('f->f', 'cpu')['code_bytes'] > 0\n"
               "True")},
    {"export", WITH_KEYWORDS(gufunc_export),
     PyDoc_STR("export($self, /, sigs, archs)\n--\n\n"
               "Object code and cubins ahead of time: {(types, arch): bytes}.\n\n"
               ">>> sorted(g.export(['f->f', 'd->d'], ['host']))\n"
               "[('d->d', 'host'), ('f->f', 'host')]")},
};
