#include "core/py/numpy_api.h"

#include "ufunc/numpy_names_py.h"

#include "core/py/device_array.h"

/* Borrowed: lanewise.ufuncs keeps what it made. */
static PyObject *
for_numpy(PyObject *numpy_ufunc)
{
    PyObject *module = PyImport_ImportModule("lanewise.ufuncs"), *found = NULL;

    if (module != NULL)
        found = PyObject_CallMethod(module, "_for_numpy", "O", numpy_ufunc);
    Py_XDECREF(module);
    if (found == NULL)
        return NULL;
    Py_DECREF(found); /* the module's dict holds it */
    return found == Py_None ? NULL : found;
}

void
lw_numpy_names_register(void)
{
    lw_device_array_hooks.ufunc = for_numpy;
}
