#include "core/front/read/services.h"

static const char *const words[LW_N_SERVICES] = {
#define SERVICE(name, word, what) [LW_SERVICE_##name] = word,
#include "core/tables/services.def"
};

/* Strings of the registered dict, which is never dropped: it is registered once. */
static PyObject *names;
static const char *texts[LW_N_SERVICES];

PyObject *
lw_service_module(lw_service service)
{
    if (texts[service] != NULL)
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
    return texts[service];
}

static PyObject *
set_services(PyObject *Py_UNUSED(module), PyObject *given)
{
    PyObject *dict = PyDict_Check(given) && names == NULL ? PyDict_Copy(given) : NULL;

    if (dict == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError,
                        "the package registers its modules, once, in a dict");
    for (int i = 0; dict != NULL && i < LW_N_SERVICES; i++) {
        PyObject *name = PyDict_GetItemString(dict, words[i]); /* borrowed */
        texts[i] = name ? PyUnicode_AsUTF8(name) : NULL;
        if (texts[i] == NULL) {
            PyErr_Clear();
            PyErr_Format(PyExc_KeyError, "no module for \"%s\"", words[i]);
            Py_CLEAR(dict);
        }
    }
    if (dict == NULL)
        return NULL;
    names = dict;
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
