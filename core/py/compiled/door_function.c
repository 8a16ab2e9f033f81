#include "core/py/compiled/door_function.h"

#include "core/front/read/services.h"

bool
lw_is_function(PyObject *object)
{
    if (PyFunction_Check(object) || PyMethod_Check(object) || PyCFunction_Check(object))
        return true;
    if (PyType_Check(object) || PyUnicode_Check(object))
        return false;
    return PyObject_HasAttrString(object, "py_func") ||
           PyObject_HasAttrString(object, "__wrapped__");
}

int
lw_decorator_arguments(const char *door, const char *name, PyObject *args, PyObject *kwargs,
                       PyObject **first, PyObject **keywords)
{
    PyObject *own = kwargs ? PyDict_Copy(kwargs) : PyDict_New(), *given;
    Py_ssize_t n = PyTuple_GET_SIZE(args);

    *first = *keywords = NULL;
    if (own == NULL)
        return -1;
    given = PyDict_GetItemString(own, name); /* borrowed */
    if (n + (given != NULL) > 1) {
        PyErr_Format(PyExc_TypeError,
                     "%s() takes one positional argument (a function or signatures), not %zd",
                     door, n + (given != NULL));
        goto fail;
    }
    *first = Py_XNewRef(n ? PyTuple_GET_ITEM(args, 0) : given);
    if (given != NULL && PyDict_DelItemString(own, name) < 0)
        goto fail;
    *keywords = own;
    return 0;
fail:
    Py_CLEAR(*first);
    Py_DECREF(own);
    return -1;
}

static int
copy_names(PyObject *function, PyObject *dict)
{
    static const char *const names[] = {"__module__", "__name__", "__qualname__", "__doc__"};
    int result = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names && result == 0; i++) {
        PyObject *value = PyObject_GetAttrString(function, names[i]);
        if (value == NULL)
            return -1;
        result = PyDict_SetItemString(dict, names[i], value);
        Py_DECREF(value);
    }
    return result;
}

PyObject *
lw_wrapper_dict(PyObject *function)
{
    PyObject *own = PyObject_GetAttrString(function, "__dict__"), *dict;

    PyErr_Clear(); /* built-in functions have none */
    dict = own && PyDict_Check(own) ? PyDict_Copy(own) : PyDict_New();
    Py_XDECREF(own);
    if (dict != NULL && copy_names(function, dict) < 0)
        Py_CLEAR(dict);
    return dict;
}

PyObject *
lw_reduce_by_source(PyObject *object, const char *how)
{
    PyObject *module = lw_service_module(LW_SERVICE_PICKLING), *result;

    if (module == NULL)
        return NULL;
    result = PyObject_CallMethod(module, how, "O", object);
    Py_DECREF(module);
    return result;
}
