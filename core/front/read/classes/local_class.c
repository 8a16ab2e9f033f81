/* The classes by number. The dict holds no references: what raises a class holds it. */
#include "core/front/read/classes/local_class.h"

#include "core/front/read/read_internal.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static PyObject *classes; /* weakref.WeakValueDictionary, of the process; or NULL */
static unsigned long long n_given;

static bool
make_classes(void)
{
    PyObject *module = classes ? NULL : PyImport_ImportModule("weakref");
    PyObject *made = module ? PyObject_CallMethod(module, "WeakValueDictionary", NULL) : NULL;

    if (classes == NULL)
        classes = made;
    else
        Py_XDECREF(made); /* another thread was faster */
    Py_XDECREF(module);
    return classes != NULL;
}

/* The number that the class has: a new reference, or NULL. */
static PyObject *
number_of(PyObject *class)
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
    PyObject *number = make_classes() ? number_of(class) : NULL, *name = NULL;

    if (number == NULL && !PyErr_Occurred()) {
        number = PyLong_FromUnsignedLongLong(++n_given);
        if (number != NULL && PyObject_SetItem(classes, number, class) < 0)
            Py_CLEAR(number);
    }
    if (number != NULL)
        name = PyUnicode_FromFormat("%S:%S#%S", module, qualname, number);
    Py_XDECREF(number);
    return name;
}

PyObject *
lw_local_class_find(const char *name)
{
    const char *mark = strrchr(name, '#');
    PyObject *number = NULL, *class = NULL;

    if (mark != NULL && classes != NULL)
        number = PyLong_FromUnsignedLongLong(strtoull(mark + 1, NULL, 10));
    if (number != NULL)
        class = PyObject_GetItem(classes, number);
    if (class == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyError))
        PyErr_Clear();
    Py_XDECREF(number);
    return class;
}
