#include "core/py/raise_row.h"

#include <string.h>

/* Follow "Outer.Bad" from an object (stolen); new reference, NULL: not to be found. */
static PyObject *
follow(PyObject *object, const char *path)
{
    while (object != NULL && *path) {
        size_t n = strcspn(path, ".");
        PyObject *name = PyUnicode_FromStringAndSize(path, (Py_ssize_t)n);
        PyObject *next = name ? PyObject_GetAttr(object, name) : NULL;
        Py_XDECREF(name);
        Py_SETREF(object, next);
        path += n + (path[n] == '.');
    }
    return object;
}

/* "ValueError", or "module:Outer.Bad" for a class of the user's; new reference. A class inside
 * a function has no name to find it by: RuntimeError stands for it. */
static PyObject *
class_named(const char *exception)
{
    const char *colon = strchr(exception, ':');
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    PyObject *name = colon ? PyUnicode_FromStringAndSize(exception, colon - exception)
                           : PyUnicode_FromString("builtins");
    PyObject *module = name && modules ? PyDict_GetItemWithError(modules, name) : NULL;
    PyObject *class = NULL;

    if (module != NULL)
        class = follow(Py_NewRef(module), colon ? colon + 1 : exception);
    PyErr_Clear();
    Py_XDECREF(name);
    if (class == NULL || !PyExceptionClass_Check(class))
        Py_XSETREF(class, Py_NewRef(PyExc_RuntimeError));
    return class;
}

int
lw_raise_from_row(const lw_raise_row *row, int64_t element)
{
    const char *message = row->message ? row->message : "";
    PyObject *class = class_named(row->exception);

    PyErr_Format(class, "%s%s(raised in `%s` at %s:%u, element %lld)", message,
                 *message ? " " : "", row->function, row->file, (unsigned)row->line,
                 (long long)element);
    Py_DECREF(class);
    return -1;
}
