#include "core/py/numpy_api.h"

#include "ufunc/numpy_names_py.h"

#include "core/front/read/services.h"
#include "core/py/array/device_array.h"

/* NumPy's ufuncs that were asked for, and ours; both are owned. Whose place is taken is asked
 * again. */
enum { PLACES = 64 };
static struct {
    PyObject *numpy, *ours;
} known[PLACES];

static size_t
place_of(PyObject *numpy_ufunc)
{
    return ((uintptr_t)numpy_ufunc >> 4) * 0x9e3779b97f4a7c15u >> 58;
}

static void
keep(PyObject *numpy_ufunc, PyObject *ours)
{
    size_t at = place_of(numpy_ufunc);

    Py_XSETREF(known[at].numpy, Py_NewRef(numpy_ufunc));
    Py_XSETREF(known[at].ours, Py_NewRef(ours));
}

/* Borrowed: lanewise.ufuncs keeps what it made. */
static PyObject *
ask(PyObject *numpy_ufunc)
{
    PyObject *module = lw_service_module(LW_SERVICE_UFUNCS), *found = NULL;

    if (module != NULL)
        found = PyObject_CallMethod(module, "_for_numpy", "O", numpy_ufunc);
    Py_XDECREF(module);
    if (found == NULL)
        return NULL;
    Py_DECREF(found); /* the module's dict holds it */
    if (found == Py_None)
        return NULL;
    keep(numpy_ufunc, found);
    return found;
}

static PyObject *
for_numpy(PyObject *numpy_ufunc)
{
    size_t at = place_of(numpy_ufunc);

    return known[at].numpy == numpy_ufunc ? known[at].ours : ask(numpy_ufunc);
}

void
lw_numpy_names_register(void)
{
    lw_device_array_hooks.ufunc = for_numpy;
}
