/* Functions of lanewise.ufuncs stand for NumPy's. Where they have no loop for a host call
 * (object, long double, strings, dtypes of others), NumPy's own ufunc answers, with its loops
 * and its errors. Device arrays never come here: NumPy would send them back. */
#include "core/py/numpy/call_kinds.h"
#include "core/py/numpy/object_operands.h"
#include "core/py/numpy/ufunc_inner.h"
#include "core/py/numpy/ufunc_type.h"

#include "core/front/read/services.h"

#include <string.h>

PyObject *
lw_ufunc_stand_for(PyObject *self, PyObject *numpy_ufunc)
{
    Py_XSETREF(((lw_ufunc_head *)self)->numpys, Py_NewRef(numpy_ufunc));
    Py_RETURN_NONE;
}

bool
lw_says_no_loop(void)
{
    PyObject *raised = PyErr_Occurred(), *compile_error; /* raised: borrowed */
    PyObject *type, *value, *trace;
    bool result;

    if (strstr(((PyTypeObject *)raised)->tp_name, "UFunc") != NULL)
        return true;
    if (!PyErr_GivenExceptionMatches(raised, PyExc_TypeError))
        return false;
    PyErr_Fetch(&type, &value, &trace);
    compile_error = lw_service_find(LW_SERVICE_ERRORS, "CompileError");
    result = compile_error != NULL && PyErr_GivenExceptionMatches(type, compile_error);
    Py_XDECREF(compile_error);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return result;
}

PyObject *
lw_ufunc_ask_numpys(PyObject *numpys, const char *method, PyObject *const *args,
                    Py_ssize_t n_args, PyObject *kwnames)
{
    PyObject *function = PyObject_GetAttrString(numpys, method), *result = NULL;

    if (function != NULL)
        result = PyObject_Vectorcall(function, args, (size_t)n_args, kwnames);
    Py_XDECREF(function);
    return result;
}

/* Whether Dask or xarray has been asked for the call, which raised an exception: NumPy's ufunc
 * would ask them for an answer of their own, and the blocks have asked NumPy already. */
static bool
is_of_collection(PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    PyObject *type, *value, *trace;
    bool is;

    PyErr_Fetch(&type, &value, &trace); /* looking for one clears exceptions */
    is = lw_brings_collection(args, n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
    PyErr_Restore(type, value, trace);
    return is;
}

PyObject *
lw_ufunc_numpys_answer(const lw_ufunc_head *self, const char *method, PyObject *const *args,
                       Py_ssize_t n_args, PyObject *kwnames)
{
    lw_seen s;

    if (self->numpys == NULL || is_of_collection(args, n_args, kwnames) || !lw_says_no_loop())
        return NULL;
    s = lw_look(args, n_args, kwnames, true);
    if ((s.kinds & LW_CALL_KIND_DEVICE) || s.stream >= 0)
        return NULL;
    PyErr_Clear();
    return lw_ufunc_ask_numpys(self->numpys, method, args, n_args, kwnames);
}

/* The functions of numpy.ufunc that give its loops to other programs: of ours, as they are. */
#define FORWARD(function, name)                                                                \
    PyObject *function(PyObject *self, PyObject *const *args, Py_ssize_t n_args,               \
                       PyObject *kwnames)                                                      \
    {                                                                                          \
        return lw_ufunc_ask_numpys(lw_inner_now((lw_ufunc_head *)self), name, args, n_args,    \
                                   kwnames);                                                   \
    }
FORWARD(lw_ufunc_resolve_with_context, "_resolve_dtypes_and_context")
FORWARD(lw_ufunc_strided_loop, "_get_strided_loop")
#undef FORWARD
