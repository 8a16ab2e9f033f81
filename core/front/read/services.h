/* The package's Python modules, which the extension module finds by what they do, through
 * core/tables/services.def. The package decides which module provides a service. */
#ifndef LW_FRONT_READ_SERVICES_H
#define LW_FRONT_READ_SERVICES_H

#include <Python.h>

typedef enum lw_service {
#define SERVICE(name, word, what) LW_SERVICE_##name,
#include "core/tables/services.def"
    LW_N_SERVICES
} lw_service;

/* Imports the module: a new reference, or NULL with an exception. */
PyObject *lw_service_module(lw_service service);
/* The module's attribute: a new reference, or NULL with an exception. */
PyObject *lw_service_find(lw_service service, const char *name);
/* name(object, *args) with these keywords, by the vectorcall protocol; NULL with an exception.
 */
PyObject *lw_service_call(lw_service service, const char *name, PyObject *object,
                          PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames);
/* The same with a tuple and a dict, or NULL. */
PyObject *lw_service_call_by(lw_service service, const char *name, PyObject *object,
                             PyObject *args, PyObject *kwargs);
/* The module's name; NULL: the package has not registered it. */
const char *lw_service_name(lw_service service);
/* Add _services(dict) to the extension module: it maps each service to the name of a module. */
int lw_services_register(PyObject *module);

#endif
