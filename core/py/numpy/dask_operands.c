#include "core/py/numpy_api.h"

#include "core/py/numpy/dask_operands.h"

#include "core/front/read/services.h"

#include <string.h>

/* A class of dask.array: its module says so, without an import. */
static bool
is_of_dask(PyTypeObject *type)
{
    PyObject *module = PyObject_GetAttrString((PyObject *)type, "__module__");
    const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    bool is = name != NULL && strncmp(name, "dask.array", strlen("dask.array")) == 0;

    Py_XDECREF(module);
    PyErr_Clear();
    return is;
}

bool
lw_is_dask(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *name;
    bool found;

    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || PyArray_Check(object))
        return false;
    name = PyUnicode_InternFromString("__dask_graph__");
    found = name != NULL && _PyType_Lookup(type, name) != NULL;
    Py_XDECREF(name);
    PyErr_Clear();
    return found && is_of_dask(type);
}

bool
lw_brings_dask(PyObject *const *args, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (lw_is_dask(args[i]))
            return true;
    return false;
}

PyObject *
lw_call_of_dask(const char *name, PyObject *object, PyObject *const *args, Py_ssize_t n_args,
                PyObject *kwnames)
{
    return lw_service_call(LW_SERVICE_DASK, name, object, args, n_args, kwnames);
}
