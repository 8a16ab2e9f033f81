#include "core/py/numpy_api.h"

#include "ufunc/ufunc_aot_py.h"

#include "core/py/target_read.h"
#include "ufunc/ufunc_device_py.h"
#include "ufunc/ufunc_parts.h"

#include <string.h>

PyDoc_STRVAR(
    compile_doc,
    "compile(f, sig, target='sm_90', output='cubin')\n--\n\n"
    "Compile a function ahead of time. This needs no GPU.\n"
    "\n"
    "f: a Python function, or one that a decorator compiled. A Python function is compiled\n"
    "as a kernel of jit if its signature has arrays, and otherwise as by vectorize.\n"
    "sig: one signature, as the decorator takes it.\n"
    "target: 'sm_75' … 'sm_121' for a GPU, or 'cpu' for this CPU.\n"
    "output: one of ir, llvm, nvvm, ptx, ltoir, cubin, sass for a GPU, and one of ir, llvm,\n"
    "object, asm for the CPU. A Kernel, Forall or Reduction has those outputs for which it "
    "has\n"
    "an inspect_ method.\n"
    "\n"
    "The result is bytes for cubin, ltoir and object, and otherwise a str. The parameters of\n"
    "the kernel of a Ufunc are the number of elements (int64), and a pointer for each input "
    "and\n"
    "output, to contiguous arrays that are aligned to 16 bytes. The object for the CPU "
    "exports\n"
    "lw_loop_contiguous(char **args, int64 n).\n"
    "\n"
    "Raises CompileError for a function that cannot be compiled, ValueError for an unknown\n"
    "target or output, and CompilerNotFound if the compiler that is needed was not found.\n"
    "\n"
    ">>> import lanewise as lw\n"
    ">>> 'define' in lw.compile(lambda x: x + 1, 'f4(f4)', target='cpu', output='llvm')\n"
    "True\n");

static int
is_one_of(PyObject *module, PyObject *f, const char *class_name)
{
    PyObject *type = PyObject_GetAttrString(module, class_name);
    int is = type ? PyObject_IsInstance(f, type) : -1;

    Py_XDECREF(type);
    return is;
}

/* f itself when it is a Ufunc of any kind, else one made of it with this signature. */
static lw_ufunc_head *
ufunc_of(PyObject *module, PyObject *f, PyObject *sig)
{
    PyObject *vectorize, *decorator, *made = NULL;
    int is_ufunc = is_one_of(module, f, "Ufunc");

    if (is_ufunc < 0)
        return NULL;
    if (is_ufunc)
        return (lw_ufunc_head *)Py_NewRef(f);
    vectorize = PyObject_GetAttrString(module, "vectorize");
    decorator = vectorize ? PyObject_CallOneArg(vectorize, sig) : NULL;
    if (decorator != NULL)
        made = PyObject_CallOneArg(decorator, f);
    Py_XDECREF(vectorize);
    Py_XDECREF(decorator);
    return (lw_ufunc_head *)made;
}

/* Kernels make their own code: k.inspect_cubin(sig, target). */
static PyObject *
compile_kernel(PyObject *f, PyObject *sig, int cc, const char *output)
{
    bool host_cubin = !cc && strcmp(output, "cubin") == 0;
    char method[40], target[16] = "cpu";

    if (sig == Py_None) {
        PyErr_SetString(PyExc_TypeError, "sig must be a signature, not None");
        return NULL;
    }

    if (cc)
        snprintf(target, sizeof target, "sm_%d", cc);
    snprintf(method, sizeof method, "inspect_%.20s",
             !cc && strcmp(output, "object") == 0 ? "cubin" : output);
    if (host_cubin || strcmp(output, "types") == 0 || !PyObject_HasAttrString(f, method)) {
        PyErr_Format(PyExc_ValueError,
                     "output must be what a %s has an inspect_ method for, not '%.100s'",
                     strrchr(Py_TYPE(f)->tp_name, '.') + 1, output);
        return NULL;
    }
    return PyObject_CallMethod(f, method, "Os", sig, target);
}

/* Whether a `[` stands behind the first `(`. -1: an exception. */
static int
takes_arrays(PyObject *sig)
{
    PyObject *text = PyObject_Str(sig);
    Py_ssize_t n, at;

    if (text == NULL)
        return -1;
    n = PyUnicode_GET_LENGTH(text);
    at = PyUnicode_FindChar(text, '(', 0, n, 1);
    if (at >= 0)
        at = PyUnicode_FindChar(text, '[', at, n, 1);
    Py_DECREF(text);
    return at >= 0 ? 1 : at == -1 ? 0 : -1;
}

int
lw_kernel_of_arrays(PyObject *module, PyObject *f, PyObject *sig, PyObject **kernel)
{
    int arrays = PyFunction_Check(f) && !PyList_Check(sig) ? takes_arrays(sig) : 0;
    PyObject *jit;

    if (arrays <= 0)
        return arrays;
    jit = PyObject_GetAttrString(module, "jit");
    *kernel = jit ? PyObject_CallOneArg(jit, f) : NULL;
    Py_XDECREF(jit);
    return *kernel ? 1 : -1;
}

/* The str as UTF-8; NULL with an exception that names the argument. */
static const char *
text_argument(const char *name, PyObject *value)
{
    Py_ssize_t n;
    const char *text;

    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be a str, not %.100s", name,
                     Py_TYPE(value)->tp_name);
        return NULL;
    }
    text = PyUnicode_AsUTF8AndSize(value, &n);
    if (text != NULL && strlen(text) == (size_t)n)
        return text;
    if (text != NULL)
        PyErr_Format(PyExc_ValueError, "%s must not hold a null character", name);
    return NULL;
}

static PyObject *
aot_compile(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"f", "sig", "target", "output", NULL};
    const char *output = NULL;
    PyObject *f, *sig, *target_given = NULL, *output_given = Py_None, *kernel = NULL,
                       *result = NULL;
    lw_ufunc_head *self, *given;
    void *loop;
    int cc, is_kernel, is_forall, is_reduction, has_arrays;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO:compile", names, &f, &sig,
                                     &target_given, &output_given) ||
        (target_given && text_argument("target", target_given) == NULL) ||
        (output_given != Py_None && (output = text_argument("output", output_given)) == NULL) ||
        (cc = lw_target_read(target_given, 90, true)) < 0 ||
        (is_kernel = is_one_of(module, f, "Kernel")) < 0 ||
        (is_forall = is_one_of(module, f, "Forall")) < 0 ||
        (is_reduction = is_one_of(module, f, "Reduction")) < 0)
        return NULL;
    if (output == NULL)
        output = cc ? "cubin" : "object";
    if (is_kernel || is_forall || is_reduction)
        return compile_kernel(f, sig, cc, output);
    has_arrays = lw_kernel_of_arrays(module, f, sig, &kernel);
    if (has_arrays != 0) {
        result = has_arrays > 0 ? compile_kernel(kernel, sig, cc, output) : NULL;
        Py_XDECREF(kernel);
        return result;
    }
    given = ufunc_of(module, f, sig);
    self = given ? (lw_ufunc_head *)lw_ufunc_current((PyObject *)given) : NULL;
    Py_XDECREF((PyObject *)given);
    if (self == NULL)
        return NULL;
    loop = self->kind->loop_of(self, sig);
    if (loop != NULL)
        result = lw_ufunc_form(self, loop, cc, output);
    Py_DECREF(self);
    return result;
}

static PyMethodDef methods[] = {
    {"compile", (PyCFunction)(void (*)(void))aot_compile, METH_VARARGS | METH_KEYWORDS,
     compile_doc},
    {"_time_launch", (PyCFunction)(void (*)(void))lw_ufunc_time_launch, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

int
lw_aot_register(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
