#include "core/front/read/classes/local_class.h"

#include "core/front/read/read_internal.h"
#include "core/front/read/services.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The classes by number (new reference): a mapping that holds no references to them. What
 * raises a class holds it. */
static PyObject *
classes_by_number(void)
{
    return lw_service_find(LW_SERVICE_ERRORS, "_local_classes");
}

/* The number that the class has: a new reference, or NULL. */
static PyObject *
number_of(PyObject *classes, PyObject *class)
{
    PyObject *items = PyMapping_Items(classes), *number = NULL;

    for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items); i++) {
        PyObject *pair = PyList_GET_ITEM(items, i);
        if (PyTuple_GET_ITEM(pair, 1) == class)
            Py_XSETREF(number, Py_NewRef(PyTuple_GET_ITEM(pair, 0)));
    }
    Py_XDECREF(items);
    return number;
}

PyObject *
lw_local_class_name(PyObject *class, PyObject *module, PyObject *qualname)
{
    static atomic_ullong n_given;
    PyObject *classes = classes_by_number(), *name = NULL;
    PyObject *number = classes ? number_of(classes, class) : NULL;

    if (number == NULL && !PyErr_Occurred()) {
        number = PyLong_FromUnsignedLongLong(atomic_fetch_add(&n_given, 1) + 1);
        if (number != NULL && PyObject_SetItem(classes, number, class) < 0)
            Py_CLEAR(number);
    }
    if (number != NULL)
        name = PyUnicode_FromFormat("%S:%S#%S", module, qualname, number);
    Py_XDECREF(number);
    Py_XDECREF(classes);
    return name;
}

PyObject *
lw_local_class_find(const char *name)
{
    const char *mark = strrchr(name, '#');
    PyObject *classes = mark ? classes_by_number() : NULL, *number = NULL, *class = NULL;

    if (classes != NULL)
        number = PyLong_FromUnsignedLongLong(strtoull(mark + 1, NULL, 10));
    if (number != NULL)
        class = PyObject_GetItem(classes, number);
    if (class == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyError))
        PyErr_Clear();
    Py_XDECREF(number);
    Py_XDECREF(classes);
    return class;
}
