#include "core/front/read/lazy_import.h"

#include "core/front/read/python.h"

bool
lw_is_lazy_import(PyObject *value)
{
    PyObject *types = PyImport_ImportModule("types");
    PyObject *type = types ? PyObject_GetAttrString(types, "LazyImportType") : NULL;
    bool result = (PyObject *)Py_TYPE(value) == type;

    if (type == NULL)
        PyErr_Clear(); /* before 3.15 */
    Py_XDECREF(types);
    Py_XDECREF(type);
    return result;
}

/* Another thread may have bound the name meanwhile; then its object is the one. */
PyObject *
lw_import_now(PyObject *globals, PyObject *name, PyObject *lazy)
{
    PyObject *value = PyObject_CallMethod(lazy, "resolve", NULL), *now = NULL;

    if (value != NULL)
        now = lw_dict_item(globals, name);
    if (now == lazy && PyDict_SetItem(globals, name, value) < 0)
        Py_CLEAR(value);
    else if (now != NULL && now != lazy)
        Py_SETREF(value, Py_NewRef(now));
    Py_XDECREF(now);
    Py_DECREF(lazy);
    return value;
}
