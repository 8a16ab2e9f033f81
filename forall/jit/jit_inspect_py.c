/* Inspection of a Kernel: text and binary forms of its specialisations, and the resources that
 * they need. */
#include "core/front/read/python.h"
#include "forall/jit/jit_py_internal.h"

#include "core/py/compiled/resources.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/method_table.h"
#include "core/host/thread_pool.h"
#include "core/py/raise.h"
#include "core/py/target_read.h"
#include "core/py/text_py.h"
#include "forall/specialisation_py_internal.h"

#include <assert.h>
#include <string.h>

/* ---- which one, for what ---- */

/* The object that has the specialisations: for a function that was called on the host, the
 * companion. */
static lw_function *
holder(lw_jit *self)
{
    bool called = self->value != NULL && lw_grown_first(&self->base.specialisations) == NULL;

    return called ? &self->value->base : &self->base;
}

/* Whether `key`, a new reference or NULL, equals what was asked for: -1 with an exception. */
static int
equals(PyObject *key, PyObject *asked)
{
    int same = key ? PyObject_RichCompareBool(key, asked, Py_EQ) : -1;

    Py_XDECREF(key);
    return same;
}

/* The specialisation there is whose key, by this function, is `asked`; NULL: none, or an
 * exception. */
static lw_specialisation *
find_by(lw_jit *self, PyObject *(*key_of)(const lw_specialisation *specialisation),
        PyObject *asked)
{
    int same = 0;

    for (lw_specialisation *at = lw_grown_first(&holder(self)->specialisations);
         same == 0 && at != NULL; at = lw_grown_next(at)) {
        if (at->target != at || at->origin != NULL)
            continue;
        same = equals(key_of(at), asked);
        if (same == 1)
            return at;
    }
    return NULL;
}

/* One of the specialisations that calls have made: a text names it as `signatures` does, and a
 * signature of types names a Python number by the type that it is stored in. */
static lw_specialisation *
find_called(lw_jit *self, PyObject *sig)
{
    PyObject *text = PyObject_Str(sig), *args = NULL;
    lw_specialisation *found = text ? find_by(self, lw_specialisation_signature, text) : NULL;

    Py_XDECREF(text);
    if (found != NULL || PyErr_Occurred() || PyUnicode_Check(sig))
        return found;
    args = PyTuple_Check(sig) ? Py_NewRef(sig) : PyObject_GetAttrString(sig, "args");
    if (args == NULL) {
        PyErr_Clear();
        return NULL;
    }
    found = find_by(self, lw_specialisation_types, args);
    Py_DECREF(args);
    return found;
}

/* Whether the exception says what only a function can do that is called on the host: return a
 * value (E183), draw numbers or hold strings (E163). */
static bool
is_for_host(void)
{
    PyObject *type, *value, *trace, *code;
    const char *text;
    bool is;

    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    code = value ? PyObject_GetAttrString(value, "code") : NULL;
    text = code && PyUnicode_Check(code) ? PyUnicode_AsUTF8(code) : NULL;
    is = text != NULL && (strcmp(text, "E183") == 0 || strcmp(text, "E163") == 0);
    PyErr_Clear();
    Py_XDECREF(code);
    PyErr_Restore(type, value, trace);
    return is;
}

/* The specialisation for a signature, compiled if the kernel is lazy. A function of lw.jit that
 * has not been called yet is one that is called on the host, if it can be no kernel. */
static lw_specialisation *
specialisation_of(lw_jit *self, PyObject *sig)
{
    lw_specialisation *specialisation;
    lw_error err = {0};
    lw_jit *called;

    if (self->base.options.device) {
        lw_fail(&err, LW_ERR_LAUNCH,
                "`%s` was made with device=True: its code is part of the kernels that call it. "
                "Cannot inspect SASS of a device function, or any other code of it alone",
                lw_function_name(&self->base));
        lw_py_raise(&err);
        return NULL;
    }
    specialisation = find_called(self, sig);
    if (specialisation == NULL && !PyErr_Occurred())
        specialisation = lw_specialisation_of(holder(self), sig);
    if (specialisation == NULL && !self->from_cuda && self->value == NULL && is_for_host()) {
        PyErr_Clear();
        called = lw_jit_companion(self);
        specialisation = called ? lw_specialisation_of(&called->base, sig) : NULL;
    }
    return specialisation ? specialisation->target : NULL;
}

/* The compute capability of the current device, or 90 where there is none. */
static int
default_cc(void)
{
    lw_error err = {0};
    lw_device *device;

    if (lw_driver_available() && lw_device_current(&device, &err) == LW_OK)
        return device->cc_major * 10 + device->cc_minor;
    lw_error_reset(&err);
    return 90;
}

static void
key_for(const lw_specialisation *specialisation, int cc, lw_entry_key *key)
{
    if (specialisation->function->gives_value)
        *key = (lw_entry_key){.form = LW_ENTRY_VALUE};
    else if (cc == 0)
        lw_jit_host_key(specialisation, key);
    else
        lw_jit_device_key(true, key);
}

/* Finds out, before a target is chosen, whether a function that has not been called yet is one
 * that is called on the host. */
static int
settle(lw_jit *self, PyObject *sig)
{
    bool is_known = self->base.options.device || self->from_cuda || self->value != NULL;

    return is_known || sig == Py_None || specialisation_of(self, sig) != NULL ? 0 : -1;
}

/* ---- forms ---- */

/* One form of one specialisation. NULL with an exception. */
static PyObject *
form_of(const lw_specialisation *specialisation, int cc, const char *form)
{
    lw_entry_key key;

    assert(form != NULL);
    key_for(specialisation, cc, &key);
    return lw_specialisation_form(specialisation, &key, cc, form);
}

static PyObject *
types_of(const lw_specialisation *specialisation, int Py_UNUSED(cc),
         const char *Py_UNUSED(form))
{
    return lw_typed_take_text(lw_specialisation_infer(specialisation));
}

typedef PyObject *(*of_specialisation)(const lw_specialisation *specialisation, int cc,
                                       const char *form);

/* The dict {key_of(specialisation): one(specialisation)} of all specialisations. */
static PyObject *
of_all(lw_jit *self, int cc, const char *form, of_specialisation one,
       PyObject *(*key_of)(const lw_specialisation *specialisation))
{
    PyObject *all = PyDict_New();

    for (lw_specialisation *at = lw_grown_first(&holder(self)->specialisations);
         all != NULL && at != NULL; at = lw_grown_next(at)) {
        PyObject *key, *value;
        if (at->target != at || at->origin != NULL)
            continue;
        key = key_of(at);
        value = key ? one(at, cc, form) : NULL;
        if (value == NULL || PyDict_SetItem(all, key, value) < 0)
            Py_CLEAR(all);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return all;
}

static PyObject *
of_signature(lw_jit *self, PyObject *sig, int cc, const char *form, of_specialisation one)
{
    lw_specialisation *specialisation;

    if (sig == Py_None)
        return of_all(self, cc, form, one, lw_specialisation_signature);
    specialisation = specialisation_of(self, sig);
    return specialisation ? one(specialisation, cc, form) : NULL;
}

/* A function that returns numbers is compiled for the CPU only, where it is called. */
static int
check_there(lw_jit *self, int cc, const char *host_form)
{
    if (!holder(self)->gives_value || (cc == 0 && host_form != NULL))
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "`%s` returns a value: on a GPU, its code is part of the kernels that call "
                 "it; only for the CPU is it compiled by itself (target='cpu')",
                 lw_function_name(&self->base));
    return -1;
}

/* A device function as C calls it, which is what other code that is linked sees of it. */
static PyObject *
device_form(PyObject *self, PyObject *sig, int cc, const char *form)
{
    const char *name = lw_function_name(&((lw_jit *)self)->base);
    PyObject *args = Py_BuildValue("(OOiss)", self, sig, cc, form,
                                   strcmp(name, "<lambda>") == 0 ? "lambda" : name);
    PyObject *both = args ? lw_jit_compile_device(NULL, args) : NULL, *code;

    Py_XDECREF(args);
    if (both == NULL)
        return NULL;
    code = Py_NewRef(PyTuple_GET_ITEM(both, 0));
    Py_DECREF(both);
    return code;
}

/* The dict {signature: code} of all signatures that it was made with. */
static PyObject *
device_forms(PyObject *self, int cc, const char *form)
{
    const lw_jit *function = (lw_jit *)self;
    PyObject *all = PyDict_New();

    for (Py_ssize_t i = 0; all != NULL && i < PyList_GET_SIZE(function->declared); i++) {
        PyObject *sig = PyList_GET_ITEM(function->declared, i);
        PyObject *code = device_form(self, sig, cc, form);
        if (code == NULL || PyDict_SetItem(all, sig, code) < 0)
            Py_CLEAR(all);
        Py_XDECREF(code);
    }
    return all;
}

/* (signature=None, target=None) */
static PyObject *
inspect(PyObject *self, PyObject *args, PyObject *kwargs, const char *form,
        const char *host_form, of_specialisation one)
{
    static char *names[] = {"signature", "target", NULL};
    PyObject *sig = Py_None, *target = Py_None;
    int cc;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", names, &sig, &target) ||
        settle((lw_jit *)self, sig) < 0)
        return NULL;
    cc = lw_target_read(target, holder((lw_jit *)self)->gives_value ? 0 : default_cc(),
                        host_form != NULL);
    if (cc < 0 || check_there((lw_jit *)self, cc, host_form) < 0)
        return NULL;
    if (((lw_jit *)self)->base.options.device && cc != 0 &&
        (strcmp(form, "ptx") == 0 || strcmp(form, "ltoir") == 0))
        return sig == Py_None ? device_forms(self, cc, form) : device_form(self, sig, cc, form);
    return of_signature((lw_jit *)self, sig, cc, cc ? form : host_form, one);
}

#define INSPECT(name, form, host_form)                                                         \
    static PyObject *inspect_##name(PyObject *self, PyObject *args, PyObject *kwargs)          \
    {                                                                                          \
        return inspect(self, args, kwargs, form, host_form, form_of);                          \
    }
INSPECT(ir, "ir", "ir")
INSPECT(llvm, "llvm", "llvm")
INSPECT(nvvm, "nvvm", NULL)
INSPECT(ptx, "ptx", NULL)
INSPECT(asm, "ptx", "asm")
INSPECT(sass, "sass", NULL)
INSPECT(cubin, "cubin", "object")
INSPECT(ltoir, "ltoir", NULL)
#undef INSPECT

static PyObject *
write_to(PyObject *file, PyObject *text)
{
    PyObject *result = PyObject_CallMethod(file, "write", "O", text);

    Py_XDECREF(result);
    return result ? Py_NewRef(Py_None) : NULL;
}

/* Joins all texts, one after the other. */
static PyObject *
joined(PyObject *all)
{
    PyObject *values = PyDict_Values(all), *text = lw_joined("\n", values);

    Py_XDECREF(values);
    return text;
}

static PyObject *
inspect_types(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"file", "signature", NULL};
    PyObject *file = Py_None, *sig = Py_None, *text, *result;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:inspect_types", names, &file, &sig))
        return NULL;
    if (sig == Py_None && file != Py_None && !PyObject_HasAttrString(file, "write")) {
        sig = file; /* as for functions of the other decorators */
        file = Py_None;
    }
    text = of_signature((lw_jit *)self, sig, 0, "types", types_of);
    if (text != NULL && PyDict_Check(text))
        Py_SETREF(text, joined(text));
    if (text == NULL || file == Py_None)
        return text;
    result = write_to(file, text);
    Py_DECREF(text);
    return result;
}

/* ---- what it takes ---- */

static int
read_info(const lw_specialisation *specialisation, int cc, lw_cubin_info *info)
{
    lw_entry_key key;

    lw_jit_device_key(true, &key);
    return lw_specialisation_info(specialisation, &key, cc, info);
}

/* Registers are granted to warps in units of 256; a block has 65536. */
static int
most_threads(const lw_specialisation *specialisation, const lw_cubin_info *info)
{
    int bound = (int)specialisation->function->limits.max_threads;
    int warp = (info->registers + 7) / 8 * 8 * 32;
    int most = warp ? 65536 / warp * 32 : 1024;

    most = most < 1024 ? most : 1024;
    return bound && bound < most ? bound : most;
}

static PyObject *
host_resources(const lw_specialisation *specialisation)
{
    lw_entry_key key;
    lw_host_entry *entry;

    key_for(specialisation, 0, &key);
    entry = lw_specialisation_host((lw_specialisation *)specialisation, &key);
    if (entry == NULL)
        return NULL;
    return Py_BuildValue("{s:s,s:I,s:O}", "target", "cpu", "shared_bytes", entry->shared_bytes,
                         "collective", key.form == LW_ENTRY_SINGLE ? Py_True : Py_False);
}

/* The resources needed with blocks of this many threads; 0: the most threads that fit. */
static PyObject *
resources_of(const lw_specialisation *specialisation, int cc, int block)
{
    lw_cubin_info info = {0};
    int most;

    if (cc == 0)
        return host_resources(specialisation);
    if (read_info(specialisation, cc, &info) < 0)
        return NULL;
    most = most_threads(specialisation, &info);
    block = block ? block : most;
    return lw_resources_dict(NULL, &info, cc,
                             Py_BuildValue("{s:i,s:d}", "max_threads_per_block", most,
                                           "occupancy", lw_occupancy_of(&info, cc, block)));
}

static PyObject *
resources(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"signature", "target", "block", NULL};
    PyObject *sig, *target = Py_None, *block = Py_None;
    lw_specialisation *specialisation;
    int64_t threads = 0;
    int cc;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO:resources", names, &sig, &target,
                                     &block) ||
        (block != Py_None &&
         lw_jit_count_read(block, "resources: block", 1024, &threads) < 0) ||
        settle((lw_jit *)object, sig) < 0)
        return NULL;
    cc = lw_target_read(target, holder((lw_jit *)object)->gives_value ? 0 : default_cc(), true);
    specialisation = cc < 0 || check_there((lw_jit *)object, cc, "") < 0
                         ? NULL
                         : specialisation_of((lw_jit *)object, sig);
    return specialisation ? resources_of(specialisation, cc, (int)threads) : NULL;
}

/* ---- numba's questions ---- */

static PyObject *
number_of(const lw_specialisation *specialisation, int cc, const char *which)
{
    lw_cubin_info info = {0};

    if (read_info(specialisation, cc, &info) < 0)
        return NULL;
    switch (*which) {
    case 'r': return PyLong_FromLong(info.registers);
    case 'c': return PyLong_FromLong(info.constant_bytes);
    case 's': return PyLong_FromLong(info.shared_bytes);
    case 'l': return PyLong_FromLong(info.local_bytes);
    default: return PyLong_FromLong(most_threads(specialisation, &info));
    }
}

/* Of a kernel that was declared for one signature (numba: specialized); else NULL. */
static const lw_specialisation *
the_only_one(lw_jit *self)
{
    const lw_specialisation *first = lw_grown_first(&holder(self)->specialisations);

    if (self->base.lazy || first == NULL)
        return NULL;
    for (const lw_specialisation *at = first; at != NULL; at = lw_grown_next(at))
        if (at->target == at && at->origin == NULL && at != first)
            return NULL;
    return first;
}

static PyObject *
ask_number(PyObject *self, PyObject *args, PyObject *kwargs, const char *which)
{
    static char *names[] = {"signature", NULL};
    PyObject *sig = Py_None;
    const lw_specialisation *only;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", names, &sig) ||
        check_there((lw_jit *)self, 1, NULL) < 0)
        return NULL;
    if (sig != Py_None)
        return of_signature((lw_jit *)self, sig, default_cc(), which, number_of);
    only = the_only_one((lw_jit *)self);
    if (only != NULL)
        return number_of(only, default_cc(), which);
    return of_all((lw_jit *)self, default_cc(), which, number_of, lw_specialisation_types);
}

static PyObject *
types_of_arguments(const lw_specialisation *specialisation, int Py_UNUSED(cc),
                   const char *Py_UNUSED(form))
{
    return lw_specialisation_types(specialisation);
}

static PyObject *
argument_types(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return of_all((lw_jit *)self, 0, NULL, types_of_arguments, lw_specialisation_signature);
}

#define NUMBER(name, which)                                                                    \
    static PyObject *name(PyObject *self, PyObject *args, PyObject *kwargs)                    \
    {                                                                                          \
        return ask_number(self, args, kwargs, which);                                          \
    }
NUMBER(get_regs_per_thread, "registers")
NUMBER(get_const_mem_size, "constant")
NUMBER(get_shared_mem_per_block, "shared")
NUMBER(get_local_mem_per_thread, "local")
NUMBER(get_max_threads_per_block, "threads")
#undef NUMBER

static PyObject *
max_cooperative_grid_blocks(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"blockdim", "dynsmemsize", "signature", NULL};
    PyObject *block, *shared = NULL, *sig = Py_None, *key, *stream;
    lw_jit *self = (lw_jit *)object;
    int64_t n_shared = 0;
    lw_launch_shape shape;
    lw_launch_config found = {0};
    lw_specialisation *specialisation;
    lw_device_entry *entry;
    lw_entry_key entry_key;
    lw_device *device;
    lw_error err = {0};
    int bad;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO:max_cooperative_grid_blocks", names,
                                     &block, &shared, &sig) ||
        (shared && lw_jit_count_read(shared, "dynsmemsize", INT32_MAX, &n_shared) < 0))
        return NULL;
    key = Py_BuildValue("(iO)", 1, block);
    bad = key == NULL || lw_jit_config_read(key, &shape, &stream) < 0;
    Py_XDECREF(key);
    if (bad)
        return NULL;
    specialisation = sig == Py_None ? lw_grown_first(&self->base.specialisations)
                                    : specialisation_of(self, sig);
    if (specialisation == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError,
                        "signature= is needed: nothing has been compiled yet");
    if (specialisation != NULL && lw_jit_target(self) != LW_CHOOSE_CUDA)
        return PyLong_FromLong(lw_host_threads()); /* one block for each core */
    device = specialisation ? lw_current_device() : NULL;
    lw_jit_device_key(true, &entry_key);
    entry =
        device ? lw_specialisation_device(specialisation->target, device, &entry_key) : NULL;
    if (entry == NULL)
        return NULL;
    if (lw_launch_config_of(entry->kernel, shape.block[0] * shape.block[1] * shape.block[2],
                            (uint32_t)n_shared, &found, &err) != LW_OK)
        return lw_py_raise(&err);
    return PyLong_FromUnsignedLong(found.full_grid);
}

/* Whether the blocks of a launch wait for each other. */
static PyObject *
is_cooperative(PyObject *object, PyObject *sig)
{
    lw_jit *self = (lw_jit *)object;
    lw_specialisation *specialisation = specialisation_of(self, sig);
    lw_module *module = NULL;
    lw_error err = {0};
    lw_entry_key key;
    bool together;

    if (specialisation == NULL)
        return NULL;
    lw_jit_device_key(true, &key);
    if (lw_specialisation_module(specialisation, &key, &module, &err) != LW_OK)
        return lw_py_raise(&err);
    together = self->base.options.cooperative || lw_ir_syncs_grid(module);
    lw_module_free(module);
    return PyBool_FromLong(together);
}

static PyObject *
variable_types(PyObject *object, PyObject *sig)
{
    lw_specialisation *specialisation = specialisation_of((lw_jit *)object, sig);

    return specialisation ? lw_specialisation_variables(specialisation) : NULL;
}

/* ---- compile, specialize ---- */

static PyObject *
kernel_compile(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"signature", "target", NULL};
    PyObject *sig, *target = Py_None;
    lw_jit *self = (lw_jit *)object;
    lw_specialisation *specialisation;
    lw_device *device;
    lw_entry_key key;
    int cc;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:compile", names, &sig, &target))
        return NULL;
    cc = target == Py_None ? (lw_jit_target(self) == LW_CHOOSE_CUDA ? 90 : 0)
                           : lw_target_read(target, 90, true);
    specialisation =
        cc < 0 || check_there(self, cc, "") < 0 ? NULL : specialisation_of(self, sig);
    if (specialisation == NULL)
        return NULL;
    key_for(specialisation, cc, &key);
    if (cc == 0) {
        if (lw_specialisation_host(specialisation, &key) == NULL)
            return NULL;
    } else {
        device = lw_current_device();
        if (device == NULL || lw_specialisation_device(specialisation, device, &key) == NULL)
            return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- the list ---- */

static PyObject *
current_of(lw_jit *self)
{
    bool called = self->value != NULL && lw_function_is_stale(&self->value->base);

    return called ? lw_compiled_renewed((lw_compiled *)self)
                  : (PyObject *)lw_function_current(&self->base);
}

/* These give the code that a call would run now. */
#define OF_CURRENT(name) LW_OF_CURRENT(current_##name, current_of((lw_jit *)object), name)
OF_CURRENT(kernel_compile)
OF_CURRENT(inspect_types)
OF_CURRENT(inspect_ir)
OF_CURRENT(inspect_llvm)
OF_CURRENT(inspect_nvvm)
OF_CURRENT(inspect_ptx)
OF_CURRENT(inspect_asm)
OF_CURRENT(inspect_sass)
OF_CURRENT(inspect_cubin)
OF_CURRENT(inspect_ltoir)
OF_CURRENT(resources)
OF_CURRENT(get_regs_per_thread)
OF_CURRENT(get_const_mem_size)
OF_CURRENT(get_shared_mem_per_block)
OF_CURRENT(get_local_mem_per_thread)
OF_CURRENT(get_max_threads_per_block)
OF_CURRENT(max_cooperative_grid_blocks)
#undef OF_CURRENT

#define ONE_OR_ALL "\n\nWithout a signature, return a dict with the code for each signature."
#define NUMBERS                                                                                \
    "\n\nWithout a signature, the result is one number if the kernel was declared for one "    \
    "signature, and otherwise a dict whose keys are tuples of argument types."

PyMethodDef lw_jit_inspect_methods[] = {
    {"compile", LW_KEYWORDS(current_kernel_compile),
     PyDoc_STR("compile($self, /, signature, target=None)\n--\n\n"
               "Compile the machine code now instead of at the first launch.\n\n"
               ">>> k.compile('void(float64[:])', 'cpu')")},
    {"_explain", lw_function_explain, METH_O, NULL},
    {"_argument_types", argument_types, METH_NOARGS, NULL}, /* by signature */
    {"_is_cooperative", is_cooperative, METH_O, NULL},
    {"_variable_types", variable_types, METH_O, NULL},
    {"inspect_types", LW_KEYWORDS(current_inspect_types),
     PyDoc_STR(
         "inspect_types($self, /, file=None, signature=None)\n--\n\n"
         "Return a string that shows each expression with its type, or write it to a file.\n\n"
         ">>> 'float64' in k.inspect_types('void(float64[:])')\n"
         "True")},
    {"inspect_ir", LW_KEYWORDS(current_inspect_ir),
     PyDoc_STR(
         "inspect_ir($self, /, signature=None, target=None)\n--\n\n"
         "Return lanewise's intermediate representation, from which LLVM IR is made." ONE_OR_ALL
         "\n\n"
         ">>> 'func kernel' in k.inspect_ir('void(float64[:])')\n"
         "True")},
    {"inspect_llvm", LW_KEYWORDS(current_inspect_llvm),
     PyDoc_STR("inspect_llvm($self, /, signature=None, target=None)\n--\n\n"
               "Return the LLVM IR for the current GPU or a target such as 'sm_90', or with "
               "target='cpu' for the CPU." ONE_OR_ALL "\n\n"
               ">>> 'define' in k.inspect_llvm('void(float64[:])', 'cpu')\n"
               "True")},
    {"inspect_nvvm", LW_KEYWORDS(current_inspect_nvvm),
     PyDoc_STR("inspect_nvvm($self, /, signature=None, target=None)\n--\n\n"
               "Return the NVVM IR of the kernel." ONE_OR_ALL "\n\n"
               ">>> 'nvvm.annotations' in k.inspect_nvvm('void(float64[:])')\n"
               "True")},
    {"inspect_ptx", LW_KEYWORDS(current_inspect_ptx),
     PyDoc_STR("inspect_ptx($self, /, signature=None, target=None)\n--\n\n"
               "Return the PTX of the kernel." ONE_OR_ALL "\n\n"
               ">>> '.entry' in k.inspect_ptx('void(float64[:])')\n"
               "True")},
    {"inspect_lto_ptx", LW_KEYWORDS(current_inspect_ptx),
     PyDoc_STR("inspect_lto_ptx($self, /, signature=None, target=None)\n--\n\n"
               "Return the same PTX as inspect_ptx. In numba, this is the PTX after link-time "
               "optimisation, which all code here has." ONE_OR_ALL "\n\n"
               ">>> '.entry' in k.inspect_lto_ptx('void(float64[:])')\n"
               "True")},
    {"inspect_asm", LW_KEYWORDS(current_inspect_asm),
     PyDoc_STR("inspect_asm($self, /, signature=None, target=None)\n--\n\n"
               "Return the PTX, or with target='cpu' the instructions for this CPU." ONE_OR_ALL
               "\n\n"
               ">>> 'ret' in k.inspect_asm('void(float64[:])', 'cpu')\n"
               "True")},
    {"inspect_sass", LW_KEYWORDS(current_inspect_sass),
     PyDoc_STR("inspect_sass($self, /, signature=None, target=None)\n--\n\n"
               "Return the instructions for the GPU (SASS)." ONE_OR_ALL "\n\n"
               ">>> 'EXIT' in k.inspect_sass('void(float64[:])')\n"
               "True")},
    {"inspect_cubin", LW_KEYWORDS(current_inspect_cubin),
     PyDoc_STR("inspect_cubin($self, /, signature=None, target=None)\n--\n\n"
               "Return the machine code as bytes." ONE_OR_ALL "\n\n"
               ">>> k.inspect_cubin('void(float64[:])', 'cpu')[1:4]\n"
               "b'ELF'")},
    {"inspect_ltoir", LW_KEYWORDS(current_inspect_ltoir),
     PyDoc_STR("inspect_ltoir($self, /, signature=None, target=None)\n--\n\n"
               "Return the LTO-IR as bytes." ONE_OR_ALL)},
    {"resources", LW_KEYWORDS(current_resources),
     PyDoc_STR("resources($self, /, signature, target=None, block=None)\n--\n\n"
               "Return what the code needs (registers, memory and so on) as a dict; the "
               "occupancy is that of blocks of `block` threads.\n\n"
               ">>> k.resources('void(float64[:])', 'sm_90')['shared_bytes']\n"
               "0")},
    {"get_regs_per_thread", LW_KEYWORDS(current_get_regs_per_thread),
     PyDoc_STR("get_regs_per_thread($self, /, signature=None)\n--\n\nReturn the number of "
               "registers of a thread." NUMBERS)},
    {"get_const_mem_size", LW_KEYWORDS(current_get_const_mem_size),
     PyDoc_STR("get_const_mem_size($self, /, signature=None)\n--\n\n"
               "Return the bytes of constant memory, including the arguments." NUMBERS)},
    {"get_shared_mem_per_block", LW_KEYWORDS(current_get_shared_mem_per_block),
     PyDoc_STR("get_shared_mem_per_block($self, /, signature=None)\n--\n\n"
               "Return the bytes of static shared memory." NUMBERS)},
    {"get_local_mem_per_thread", LW_KEYWORDS(current_get_local_mem_per_thread),
     PyDoc_STR("get_local_mem_per_thread($self, /, signature=None)\n--\n\n"
               "Return the bytes of local memory, including spilled registers." NUMBERS)},
    {"get_max_threads_per_block", LW_KEYWORDS(current_get_max_threads_per_block),
     PyDoc_STR("get_max_threads_per_block($self, /, signature=None)\n--\n\n"
               "Return how many threads a block can have." NUMBERS)},
    {"max_cooperative_grid_blocks", LW_KEYWORDS(current_max_cooperative_grid_blocks),
     PyDoc_STR("max_cooperative_grid_blocks($self, /, blockdim, dynsmemsize=0, "
               "signature=None)\n--\n\n"
               "Return how many blocks the current GPU can run at the same time.")},
};

const size_t lw_jit_n_inspect_methods =
    sizeof lw_jit_inspect_methods / sizeof *lw_jit_inspect_methods;
