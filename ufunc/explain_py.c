#include "core/py/numpy_api.h"

#include "ufunc/explain_py.h"

#include "core/front/typed.h"
#include "core/py/raise.h"
#include "ufunc/ufunc_aot_py.h"
#include "ufunc/ufunc_parts.h"

/* The input types of one signature. -1 with an exception. */
static int
read_types(PyObject *sig, const lw_tree *tree, lw_arg_spec *specs, uint32_t *n)
{
    lw_signature_list list = {0};
    lw_dtype in[LW_MAX_ARGS], out[LW_MAX_ARGS];
    uint32_t n_out, wanted = tree->fns.data[1].params.n;
    lw_arena arena;
    int result = -1;

    lw_arena_init(&arena);
    if (lw_signatures_read(sig, true, &arena, &list) < 0)
        goto done;
    if (list.n != 1 || list.data[0].n_args != wanted) {
        PyErr_Format(PyExc_TypeError, "explain() takes one signature with %u argument types",
                     (unsigned)wanted);
        goto done;
    }
    if (lw_signature_dtypes(&list.data[0], in, out, &n_out) < 0)
        goto done;
    *n = wanted;
    for (uint32_t i = 0; i < wanted; i++)
        specs[i] = (lw_arg_spec){.kind = LW_ARGK_SCALAR, .dtype = in[i]};
    result = 0;
done:
    lw_arena_reset(&arena);
    return result;
}

static PyObject *
explain_numbers(PyObject *f, PyObject *sig)
{
    const lw_front_options options = {.typing = LW_TYPING_WEAK};
    PyObject *result = NULL;
    lw_arg_spec specs[LW_MAX_ARGS];
    lw_error err = {0};
    lw_tree *tree = NULL;
    lw_text text = {0};
    uint32_t n = 0;

    if (lw_read_function(f, NULL, &tree, NULL, &err) != LW_OK)
        return lw_py_raise(&err);
    if (read_types(sig, tree, specs, &n) < 0)
        goto done;
    if (lw_explain(tree, &options, specs, n, &text, &err) != LW_OK)
        lw_py_raise(&err);
    else if (text.failed)
        PyErr_NoMemory();
    else
        result = PyUnicode_DecodeUTF8(lw_text_get(&text), (Py_ssize_t)text.n, "replace");
done:
    lw_text_reset(&text);
    lw_tree_free(tree);
    return result;
}

/* As lw_kernel_of_arrays; what a Gufunc was made of counts too. */
static int
kernel_of(PyObject *module, PyObject *f, PyObject *sig, PyObject **kernel)
{
    PyObject *function =
        PyFunction_Check(f) ? Py_NewRef(f) : PyObject_GetAttrString(f, "py_func");
    int arrays;

    if (function == NULL) {
        PyErr_Clear();
        return 0;
    }
    arrays = lw_kernel_of_arrays(module, function, sig, kernel);
    Py_DECREF(function);
    return arrays;
}

/* _explain(f, sig) -> text, for lanewise/_explain.py. Kernels explain themselves. */
static PyObject *
explain(PyObject *module, PyObject *args)
{
    PyObject *f, *sig, *kernel = NULL, *result;
    int arrays;

    if (!PyArg_ParseTuple(args, "OO:_explain", &f, &sig))
        return NULL;
    if (PyObject_HasAttrString(f, "_explain"))
        return PyObject_CallMethod(f, "_explain", "(O)", sig);
    arrays = kernel_of(module, f, sig, &kernel);
    if (arrays < 0)
        return NULL;
    result =
        arrays ? PyObject_CallMethod(kernel, "_explain", "(O)", sig) : explain_numbers(f, sig);
    Py_XDECREF(kernel);
    return result;
}

static PyMethodDef methods[] = {
    {"_explain", explain, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int
lw_explain_register(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
