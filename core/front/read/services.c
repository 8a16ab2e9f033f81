#include "core/front/read/services.h"

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
