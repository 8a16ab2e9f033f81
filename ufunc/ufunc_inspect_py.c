/* Looking into a Ufunc: the text and binary forms of its loops, for the host and, without a
 * GPU, for any compute capability. */
#include "core/device/context.h"
#include "ufunc/ufunc_parts.h"

#include "core/py/raise.h"
#include "core/py/target_read.h"
#include "core/py/text_py.h"
#include "ufunc/device_table_py.h"

#include <string.h>

lw_ufunc_device_hooks lw_ufunc_device;

/* ---- arguments ---- */

/* The loop a sig means, made where the Ufunc compiles for any dtypes. */
static lw_loop *
loop_of(lw_ufunc_object *self, PyObject *sig)
{
    lw_dtype in[LW_MAX_ARGS];

    if (lw_signature_inputs(self, sig, in) < 0)
        return NULL;
    return lw_ufunc_loop(&self->base, in);
}

/* ---- modules ---- */

static lw_status
module_for(lw_ufunc_object *self, lw_loop *loop, int cc, lw_module **out, lw_error *err)
{
    if (cc == 0)
        return lw_host_module(loop, self->base.options.front.precise, out, err);
    if (lw_ufunc_device.module == NULL)
        return lw_fail(err, LW_ERR_UNSUPPORTED, "this build has no GPU side");
    return lw_ufunc_device.module(&self->base, loop, out, err);
}

/* One form of one loop. NULL with an exception. */
static PyObject *
form_of(lw_ufunc_object *self, lw_loop *loop, int cc, const char *form, bool as_bytes)
{
    lw_build_options options = lw_build_options_of(&self->base);
    lw_module *module = NULL;
    lw_error err = {0};
    lw_bytes bytes = {0};
    lw_status status;
    PyObject *result = NULL;

    options.name = self->table->name;
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

typedef PyObject *(*form_function)(lw_ufunc_object *self, lw_loop *loop, int cc,
                                   const char *form);

static PyObject *
form_text(lw_ufunc_object *self, lw_loop *loop, int cc, const char *form)
{
    return form_of(self, loop, cc, form, false);
}

static PyObject *
types_text(lw_ufunc_object *self, lw_loop *loop, int Py_UNUSED(cc), const char *Py_UNUSED(form))
{
    return lw_typed_take_text(lw_ufunc_infer(self, loop->types));
}

/* Without sig: all loops, one after the other. */
static PyObject *
of_all(lw_ufunc_object *self, int cc, const char *form, form_function one)
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
    lw_ufunc_object *self = (lw_ufunc_object *)object;
    PyObject *sig = Py_None, *target = Py_None;
    lw_loop *loop;
    int cc;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", names, &sig, &target))
        return NULL;
    cc = lw_target_read(target, fallback, true);
    if (cc < 0)
        return NULL;
    if (sig == Py_None)
        return of_all(self, cc, form, one);
    loop = loop_of(self, sig);
    return loop ? one(self, loop, cc, form) : NULL;
}

PyObject *
lw_ufunc_inspect_types(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return inspect(self, args, kwargs, 0, "types", types_text);
}

PyObject *
lw_ufunc_inspect_llvm(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return inspect(self, args, kwargs, 0, "llvm", form_text);
}

PyObject *
lw_ufunc_inspect_nvvm(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return inspect(self, args, kwargs, 90, "nvvm", form_text);
}

PyObject *
lw_ufunc_inspect_ptx(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return inspect(self, args, kwargs, 90, "ptx", form_text);
}

PyObject *
lw_ufunc_inspect_sass(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return inspect(self, args, kwargs, 90, "sass", form_text);
}

PyObject *
lw_ufunc_inspect_asm(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return inspect(self, args, kwargs, 0, "asm", form_text);
}

/* ---- resources, compile, export ---- */

static PyObject *
host_resources(lw_ufunc_object *self, lw_loop *loop)
{
    lw_host_kernel *kernel = lw_ufunc_kernel(self->table, loop);

    if (kernel == NULL)
        return NULL;
    return Py_BuildValue("{s:s,s:n,s:i}", "target", "cpu", "code_bytes",
                         (Py_ssize_t)lw_host_kernel_code_size(kernel), "vector_bits",
                         lw_host_vector_bits());
}

static PyObject *
no_device_side(const char *what)
{
    lw_error err = {0};

    lw_fail(&err, LW_ERR_UNSUPPORTED, "%s for a GPU is not part of this build", what);
    return lw_py_raise(&err);
}

/* What resources() means without target=: the GPU where there is one or the
 * decorator named it, else the host. */
static int
default_cc(const lw_ufunc_object *self)
{
    lw_error err = {0};
    lw_device *device;

    if (self->base.options.target == LW_CHOOSE_CPU)
        return 0;
    if (lw_driver_available() && lw_device_current(&device, &err) == LW_OK)
        return device->cc_major * 10 + device->cc_minor;
    lw_error_reset(&err);
    return self->base.options.target == LW_CHOOSE_CUDA ? 90 : 0;
}

PyObject *
lw_ufunc_resources(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"sig", "target", NULL};
    lw_ufunc_object *self = (lw_ufunc_object *)object;
    int cc;
    PyObject *sig, *target = Py_None;
    lw_loop *loop;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O", names, &sig, &target))
        return NULL;
    cc = lw_target_read(target, default_cc(self), true);
    loop = cc < 0 ? NULL : loop_of(self, sig);
    if (loop == NULL)
        return NULL;
    if (cc == 0)
        return host_resources(self, loop);
    return lw_ufunc_device.resources ? lw_ufunc_device.resources(&self->base, loop, cc)
                                     : no_device_side("resources()");
}

static bool
names_no_cc(PyObject *target)
{
    return target == Py_None ||
           (PyUnicode_Check(target) && PyUnicode_CompareWithASCIIString(target, "cuda") == 0);
}

PyObject *
lw_ufunc_compile(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"sig", "target", NULL};
    lw_ufunc_object *self = (lw_ufunc_object *)object;
    int fallback = self->base.options.target == LW_CHOOSE_CUDA ? 90 : 0, cc;
    PyObject *sig, *target = Py_None;
    lw_loop *loop;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O", names, &sig, &target))
        return NULL;
    cc = lw_target_read(target, fallback, true);
    loop = cc < 0 ? NULL : loop_of(self, sig);
    if (loop == NULL)
        return NULL;
    if (cc == 0) {
        if (lw_ufunc_kernel(self->table, loop) == NULL)
            return NULL;
    } else if (lw_ufunc_device.compile == NULL) {
        return no_device_side("compile()");
    } else if (lw_ufunc_device.compile(&self->base, loop, names_no_cc(target) ? 0 : cc) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static int
export_one(lw_ufunc_object *self, PyObject *sig, PyObject *arch, PyObject *into)
{
    lw_loop *loop = loop_of(self, sig);
    int cc = loop ? lw_target_read(arch, 0, true) : -1, result = -1;
    PyObject *types, *key = NULL, *code = NULL;

    if (cc < 0)
        return -1;
    types = lw_types_text(loop);
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

PyObject *
lw_ufunc_export(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"sigs", "archs", NULL};
    lw_ufunc_object *self = (lw_ufunc_object *)object;
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
