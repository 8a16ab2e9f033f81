#include "core/py/numpy_api.h"

#include "ufunc/numpy_names_py.h"

#include "core/front/read/services.h"
#include "core/py/array/device_array.h"

/* NumPy's ufuncs that were asked for, and ours, in lw_core->found.ufuncs. A pair stands at the
 * place of its address or within a few places behind it; it stays. A pair that finds no place
 * is asked for each time. */
enum { PLACES = LW_STATE_UFUNCS, NEAR = 8 };

static size_t
place_of(PyObject *numpy_ufunc)
{
    _Static_assert(PLACES == 256, "8 bits of the hash");
    return ((uintptr_t)numpy_ufunc >> 4) * 0x9e3779b97f4a7c15u >> 56;
}

/* Whoever sets `ours` has the place. */
static void
keep(PyObject *numpy_ufunc, PyObject *ours)
{
    size_t first = place_of(numpy_ufunc);

    for (size_t i = 0; i < NEAR; i++) {
        lw_found_pair *pair = &lw_core->found.ufuncs[(first + i) % PLACES];
        PyObject *nobody = NULL;
        if (!atomic_compare_exchange_strong(&pair->ours, &nobody, ours))
            continue;
        Py_INCREF(ours);
        atomic_store_explicit(&pair->numpy, Py_NewRef(numpy_ufunc), memory_order_release);
        return;
    }
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
    size_t first = place_of(numpy_ufunc);

    for (size_t i = 0; i < NEAR; i++) {
        lw_found_pair *pair = &lw_core->found.ufuncs[(first + i) % PLACES];
        PyObject *numpy = lw_found_get(&pair->numpy);
        if (numpy == numpy_ufunc)
            return lw_found_get(&pair->ours);
        if (numpy == NULL)
            break;
    }
    return ask(numpy_ufunc);
}

void
lw_numpy_names_register(void)
{
    lw_device_array_hooks.ufunc = for_numpy;
}
