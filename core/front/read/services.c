#include "core/front/read/services.h"

#include "core/base/memory.h"

#include <stdbool.h>
#include <string.h>

static const char *const words[LW_N_SERVICES] = {
#define SERVICE(name, word, what) [LW_SERVICE_##name] = word,
#include "core/tables/services.def"
};

/* Names of modules: set once, before any function of the package can be called, and kept. */
enum { MOST_LETTERS = 64 };
static bool registered;
static char texts[LW_N_SERVICES][MOST_LETTERS];

PyObject *
lw_service_module(lw_service service)
{
    if (registered)
        return PyImport_ImportModule(texts[service]);
    PyErr_Format(PyExc_SystemError, "no module is registered for \"%s\"", words[service]);
    return NULL;
}

PyObject *
lw_service_find(lw_service service, const char *name)
{
    PyObject *module = lw_service_module(service);
    PyObject *found = module ? PyObject_GetAttrString(module, name) : NULL;

    Py_XDECREF(module);
    return found;
}

PyObject *
lw_service_call(lw_service service, const char *name, PyObject *object, PyObject *const *args,
                Py_ssize_t n_args, PyObject *kwnames)
{
    Py_ssize_t n = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *function = lw_service_find(service, name), *result = NULL;
    PyObject **values = function ? lw_alloc((size_t)(n + 1) * sizeof *values) : NULL;

    if (function != NULL && values == NULL)
        PyErr_NoMemory();
    if (values != NULL) {
        values[0] = object;
        if (n > 0)
            memcpy(values + 1, args, (size_t)n * sizeof *values);
        result = PyObject_Vectorcall(function, values, (size_t)n_args + 1, kwnames);
    }
    lw_free(values);
    Py_XDECREF(function);
    return result;
}

PyObject *
lw_service_call_by(lw_service service, const char *name, PyObject *object, PyObject *args,
                   PyObject *kwargs)
{
    PyObject *function = lw_service_find(service, name), *result = NULL;
    PyObject *own = function ? PyTuple_Pack(1, object) : NULL;
    PyObject *all = own ? PySequence_Concat(own, args) : NULL;

    if (all != NULL)
        result = PyObject_Call(function, all, kwargs);
    Py_XDECREF(all);
    Py_XDECREF(own);
    Py_XDECREF(function);
    return result;
}

const char *
lw_service_name(lw_service service)
{
    return registered ? texts[service] : NULL;
}

static int
set_text(int service, PyObject *given)
{
    PyObject *name = PyDict_GetItemString(given, words[service]); /* borrowed */
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;

    if (text != NULL && strlen(text) < MOST_LETTERS) {
        strcpy(texts[service], text);
        return 0;
    }
    PyErr_Clear();
    PyErr_Format(PyExc_KeyError, "no module for \"%s\"", words[service]);
    return -1;
}

static PyObject *
set_services(PyObject *Py_UNUSED(module), PyObject *given)
{
    if (!PyDict_Check(given) || registered)
        return PyErr_Format(PyExc_RuntimeError,
                            "the package registers its modules, once, in a dict");
    for (int i = 0; i < LW_N_SERVICES; i++)
        if (set_text(i, given) < 0)
            return NULL;
    registered = true;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"_services", set_services, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int
lw_services_register(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
