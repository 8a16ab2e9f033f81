/* sum, mean, argmax and the like: lanewise.reductions' functions as methods. numpy.sum(a) calls
 * a.sum; of NumPy's functions that have no method __array_function__ (NEP 18) knows the rest.
 */
#include "core/py/device_array_internal.h"

/* Borrowed: the module is imported at the first use and kept. */
static PyObject *
reductions(void)
{
    static PyObject *module;

    if (module == NULL)
        module = PyImport_ImportModule("lanewise.reductions");
    return module;
}

static PyObject *
forward(const char *name, PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *module = reductions(), *function = NULL, *own, *all = NULL, *result = NULL;

    if (module == NULL)
        return NULL;
    function = PyObject_GetAttrString(module, name);
    own = PyTuple_Pack(1, self);
    if (own != NULL)
        all = PySequence_Concat(own, args);
    if (function != NULL && all != NULL)
        result = PyObject_Call(function, all, kwargs);
    Py_XDECREF(all);
    Py_XDECREF(own);
    Py_XDECREF(function);
    return result;
}

#define METHODS(X)                                                                             \
    X(sum)                                                                                     \
    X(prod)                                                                                    \
    X(min) X(max) X(any) X(all) X(mean) X(var) X(std) X(argmin) X(argmax) X(cumsum) X(cumprod)

#define DEFINE(name)                                                                           \
    static PyObject *method_##name(PyObject *self, PyObject *args, PyObject *kwargs)           \
    {                                                                                          \
        return forward(#name, self, args, kwargs);                                             \
    }

METHODS(DEFINE)

/* (function, types, args, kwargs) */
static PyObject *
method_array_function(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *module = reductions(), *method, *result;

    if (module == NULL)
        return NULL;
    method = PyObject_GetAttrString(module, "_array_function");
    if (method == NULL)
        return NULL;
    result = PyObject_Call(method, args, NULL);
    Py_DECREF(method);
    return result;
}

#define ROW(name)                                                                              \
    {#name, (PyCFunction)(void (*)(void))method_##name, METH_VARARGS | METH_KEYWORDS,          \
     "as numpy.ndarray." #name "; the result stays on the device"},

PyMethodDef lw_array_reduce_methods[] = {
    METHODS(ROW){"__array_function__", method_array_function, METH_VARARGS,
                 "NumPy's functions of device arrays (NEP 18)"},
    {NULL, NULL, 0, NULL}};
