#include "core/py/ctypes_address.h"

#include <stdbool.h>
#include <string.h>

static bool
is_of_ctypes(PyObject *object, const char *base)
{
    for (PyTypeObject *type = Py_TYPE(object); type != NULL; type = type->tp_base)
        if (strcmp(type->tp_name, base) == 0)
            return true;
    return false;
}

/* What ctypes.cast(object, ctypes.c_void_p) holds. */
static PyObject *
pointed_to(PyObject *object)
{
    PyObject *ctypes = PyImport_ImportModule("ctypes"), *type = NULL, *address = NULL;

    if (ctypes != NULL)
        type = PyObject_GetAttrString(ctypes, "c_void_p");
    if (type != NULL)
        address = PyObject_CallMethod(ctypes, "cast", "OO", object, type);
    Py_XDECREF(type);
    Py_XDECREF(ctypes);
    return address;
}

/* The value of a simple object of ctypes, which is stolen: NULL is None there. */
static PyObject *
value_of(PyObject *simple)
{
    PyObject *value = simple ? PyObject_GetAttrString(simple, "value") : NULL;

    Py_XDECREF(simple);
    if (value == Py_None)
        Py_SETREF(value, PyLong_FromLong(0));
    if (value != NULL && !PyLong_CheckExact(value))
        Py_CLEAR(value);
    return value;
}

PyObject *
lw_address_of(PyObject *object)
{
    PyObject *given = PyObject_GetAttrString(object, "_as_parameter_"), *address = NULL;

    if (given == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return NULL;
        PyErr_Clear();
        given = Py_NewRef(object);
    }
    if (is_of_ctypes(given, "_ctypes._SimpleCData"))
        address = value_of(Py_NewRef(given));
    else if (is_of_ctypes(given, "_ctypes._Pointer"))
        address = value_of(pointed_to(given));
    else if (given != object && PyLong_CheckExact(given))
        address = Py_NewRef(given);
    Py_DECREF(given);
    return address;
}
