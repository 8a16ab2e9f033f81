#include "core/py/compiled/link_callbacks.h"

#include "core/base/memory.h"
#include "core/front/read/critical.h"
#include "core/py/raise.h"

typedef struct record { /* of one module and one code */
    PyObject *code;
    CUmodule handle;
    bool ready; /* set up without an exception */
} record;

static bool
is_of(const void *context, const void *code)
{
    return ((const record *)context)->code == code;
}

/* NULL without an exception: there is none. New reference. */
static PyObject *
callback_of(PyObject *code, const char *name)
{
    PyObject *callback = PyObject_GetAttrString(code, name);

    if (callback == Py_None)
        Py_CLEAR(callback);
    return callback;
}

static int
call_with(PyObject *callback, CUmodule handle)
{
    PyObject *number = PyLong_FromVoidPtr(handle);
    PyObject *result = number ? PyObject_CallOneArg(callback, number) : NULL;

    Py_XDECREF(number);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* Before the module goes, in whatever thread drops it last. Nobody can be told of an exception:
 * it is written out as those of finalisers are. */
static void
unloading(void *context)
{
    record *r = context;
    PyGILState_STATE state;
    PyObject *callback, *type, *value, *trace;

    if (!Py_IsInitialized())
        return;
    state = PyGILState_Ensure();
    PyErr_Fetch(&type, &value, &trace); /* of whoever drops it */
    callback = r->ready ? callback_of(r->code, "_teardown_callback") : NULL;
    if (callback != NULL)
        call_with(callback, r->handle);
    if (PyErr_Occurred())
        PyErr_WriteUnraisable(r->code);
    Py_XDECREF(callback);
    Py_DECREF(r->code);
    PyErr_Restore(type, value, trace);
    PyGILState_Release(state);
    lw_free(r);
}

static int
watch(lw_image *image, PyObject *code, record **out)
{
    record *r = lw_alloc_zero(1, sizeof *r);
    lw_error err = {0};

    if (r == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    r->code = Py_NewRef(code);
    if (lw_image_handle(image, &r->handle, &err) != LW_OK ||
        lw_image_at_unload(image, unloading, r, &err) != LW_OK) {
        Py_DECREF(code);
        lw_free(r);
        lw_py_raise(&err);
        return -1;
    }
    *out = r;
    return 0;
}

static int
set_up(PyObject *code, lw_image *image)
{
    PyObject *setup = callback_of(code, "_setup_callback"), *teardown = NULL;
    record *r = NULL;
    int result = 0;

    if (!PyErr_Occurred())
        teardown = callback_of(code, "_teardown_callback");
    Py_BEGIN_CRITICAL_SECTION(code); /* once for each module */
    if (PyErr_Occurred())
        result = -1;
    else if ((setup != NULL || teardown != NULL) &&
             lw_image_unload_context(image, unloading, is_of, code) == NULL)
        result = watch(image, code, &r);
    Py_END_CRITICAL_SECTION();
    if (r != NULL && setup != NULL)
        result = call_with(setup, r->handle);
    if (r != NULL)
        r->ready = result == 0;
    Py_XDECREF(setup);
    Py_XDECREF(teardown);
    return result;
}

int
lw_link_loaded(const lw_link_set *set, lw_image *image)
{
    Py_ssize_t n = set->objects ? PyTuple_GET_SIZE(set->objects) : 0;

    for (Py_ssize_t i = 0; i < n; i++)
        if (set_up(PyTuple_GET_ITEM(set->objects, i), image) < 0)
            return -1;
    return 0;
}
