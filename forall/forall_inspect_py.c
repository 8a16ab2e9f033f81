/* inspect_*, resources: the code of one specialisation, for any target. */
#include "forall/forall_parts_py.h"

#include "core/py/raise.h"
#include "forall/special_parts_py.h"

#include <string.h>

/* "cpu" 0, "sm_90" 90, None: fallback. -1 with an exception. */
static int
read_target(PyObject *target, int fallback)
{
    const char *text = PyUnicode_Check(target) ? PyUnicode_AsUTF8(target) : NULL;
    char *end;
    long cc;

    if (target == Py_None)
        return fallback;
    if (text != NULL && (strcmp(text, "cpu") == 0 || strcmp(text, "host") == 0))
        return 0;
    if (text != NULL && strcmp(text, "cuda") == 0)
        return fallback ? fallback : 90;
    if (text != NULL && strncmp(text, "sm_", 3) == 0) {
        cc = strtol(text + 3, &end, 10);
        if (*end == 0 && cc >= 50 && cc < 1000)
            return (int)cc;
    }
    PyErr_Format(text ? PyExc_ValueError : PyExc_TypeError,
                 "target must be \"cpu\", \"cuda\" or one like \"sm_90\", not %.100R", target);
    return -1;
}

static PyObject *
form_of(lw_special *special, int cc, const char *form)
{
    const lw_forall *self = (lw_forall *)special->function;
    lw_build_options options =
        lw_door_build_options(&self->base.options, lw_function_name(&self->base));
    lw_module *module = NULL;
    lw_error err = {0};
    lw_bytes bytes = {0};
    lw_entry_key key;
    lw_status status;
    PyObject *result = NULL;

    lw_forall_common_key(self, cc != 0, &key);
    Py_BEGIN_ALLOW_THREADS
    status = lw_special_module(special, &key, &module, &err);
    if (status == LW_OK)
        status = lw_build_output(module, cc, form, &options, &bytes, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        lw_py_raise(&err);
    else
        result = PyUnicode_DecodeUTF8((const char *)bytes.data, (Py_ssize_t)bytes.n, "replace");
    lw_bytes_reset(&bytes);
    lw_module_free(module);
    return result;
}

static PyObject *
inspect(PyObject *object, PyObject *args, PyObject *kwargs, int fallback, const char *form)
{
    static char *names[] = {"sig", "target", NULL};
    PyObject *sig = Py_None, *target = Py_None;
    lw_special *special;
    int cc;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", names, &sig, &target))
        return NULL;
    cc = read_target(target, fallback);
    if (cc < 0)
        return NULL;
    special = lw_special_of((lw_function *)object, sig);
    if (special != NULL) /* what a common call runs there */
        special = lw_special_twin(special, cc != 0, false);
    return special ? form_of(special, cc, form) : NULL;
}

static PyObject *
inspect_types(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"sig", NULL};
    PyObject *sig = Py_None, *result;
    lw_text text = {0};
    lw_special *special;
    lw_typed *typed;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", names, &sig))
        return NULL;
    special = lw_special_of((lw_function *)object, sig);
    typed = special ? lw_special_infer(special) : NULL;
    if (typed == NULL)
        return NULL;
    lw_typed_print(typed, &text);
    lw_typed_free(typed);
    result = text.failed ? PyErr_NoMemory() : PyUnicode_FromString(lw_text_get(&text));
    lw_text_reset(&text);
    return result;
}

#define INSPECT(name, fallback)                                                                \
    static PyObject *inspect_##name(PyObject *self, PyObject *args, PyObject *kwargs)          \
    {                                                                                          \
        return inspect(self, args, kwargs, fallback, #name);                                   \
    }
INSPECT(ir, 0)
INSPECT(llvm, 0)
INSPECT(asm, 0)
INSPECT(nvvm, 90)
INSPECT(ptx, 90)
INSPECT(sass, 90)
#undef INSPECT

#define WITH_KEYWORDS(function)                                                                \
    ((PyCFunction)(void (*)(void))(function)), METH_VARARGS | METH_KEYWORDS

PyMethodDef lw_forall_inspect_methods[] = {
    {"inspect_types", WITH_KEYWORDS(inspect_types),
     PyDoc_STR("inspect_types($self, /, sig=None)\n--\n\n"
               "Each expression with its type, as text.")},
    {"inspect_ir", WITH_KEYWORDS(inspect_ir),
     PyDoc_STR("inspect_ir($self, /, sig=None, target='cpu')\n--\n\n"
               "Our own intermediate form of the kernel.")},
    {"inspect_llvm", WITH_KEYWORDS(inspect_llvm),
     PyDoc_STR("inspect_llvm($self, /, sig=None, target='cpu')\n--\n\n"
               "LLVM text of the host loop, or of the kernel for 'sm_90'.")},
    {"inspect_nvvm", WITH_KEYWORDS(inspect_nvvm),
     PyDoc_STR("inspect_nvvm($self, /, sig=None, target='sm_90')\n--\n\n"
               "NVVM IR of the kernel.")},
    {"inspect_ptx", WITH_KEYWORDS(inspect_ptx),
     PyDoc_STR("inspect_ptx($self, /, sig=None, target='sm_90')\n--\n\nPTX of the kernel.")},
    {"inspect_sass", WITH_KEYWORDS(inspect_sass),
     PyDoc_STR("inspect_sass($self, /, sig=None, target='sm_90')\n--\n\n"
               "The GPU's instructions.")},
    {"inspect_asm", WITH_KEYWORDS(inspect_asm),
     PyDoc_STR("inspect_asm($self, /, sig=None)\n--\n\nThis CPU's instructions.")},
    {NULL, NULL, 0, NULL},
};
