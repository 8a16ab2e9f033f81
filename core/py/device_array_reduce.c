/* sum, mean, argmax and the like: lanewise.reductions' functions as methods. numpy.sum(a) calls
 * a.sum; of NumPy's functions that have no method __array_function__ (NEP 18) knows the rest.
 *
 * With no arguments, or axis= alone, a method calls the Reduction that the function would. */
#include "core/py/device_array_internal.h"

typedef bool (*dtype_rule)(lw_dtype dtype);

static bool
any_dtype(lw_dtype dtype)
{
    return dtype != LW_DT_void;
}

/* Means of integers are computed in float64: the function asks for that. */
static bool
no_integer(lw_dtype dtype)
{
    return dtype != LW_DT_void && dtype != LW_DT_b1 && !lw_is_integer(dtype);
}

/* Of complex numbers another operator is asked. */
static bool
no_complex(lw_dtype dtype)
{
    return dtype != LW_DT_void && !lw_is_complex(dtype);
}

typedef struct method {
    const char *name;
    const char *reduction; /* in lanewise.reductions, or NULL: the function does more */
    dtype_rule is_direct;  /* for which arrays it does no more than call that */
    bool has_dtype;        /* takes dtype= */
    PyObject *kept_function, *kept_reduction; /* found at the first use */
} method;

#define METHODS(X)                                                                             \
    X(sum, "_sum", any_dtype, true)                                                            \
    X(prod, "_prod", any_dtype, true)                                                          \
    X(min, "_min", any_dtype, false)                                                           \
    X(max, "_max", any_dtype, false)                                                           \
    X(mean, "_mean", no_integer, true)                                                         \
    X(argmin, "_argmin", no_complex, false)                                                    \
    X(argmax, "_argmax", no_complex, false)                                                    \
    X(any, NULL, NULL, false)                                                                  \
    X(all, NULL, NULL, false)                                                                  \
    X(var, NULL, NULL, false)                                                                  \
    X(std, NULL, NULL, false)                                                                  \
    X(cumsum, NULL, NULL, false)                                                               \
    X(cumprod, NULL, NULL, false)

/* Borrowed, from *kept after the first time. */
static PyObject *
find(const char *name, PyObject **kept)
{
    PyObject *module = *kept ? NULL : PyImport_ImportModule("lanewise.reductions");

    if (module != NULL)
        Py_XSETREF(*kept, PyObject_GetAttrString(module, name));
    Py_XDECREF(module);
    return *kept;
}

/* ---- straight to the Reduction ---- */

/* False: there is more to it. *axis: borrowed, or NULL. */
static bool
read_axis(const method *m, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames,
          PyObject **axis)
{
    Py_ssize_t n_keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;

    *axis = n_args == 1 ? args[0] : NULL;
    if (n_args > 1)
        return false;
    for (Py_ssize_t i = 0; i < n_keywords; i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i), *value = args[n_args + i];
        if (n_args == 0 && PyUnicode_CompareWithASCIIString(name, "axis") == 0)
            *axis = value;
        else if (value != Py_None ||
                 (PyUnicode_CompareWithASCIIString(name, "out") != 0 &&
                  !(m->has_dtype && PyUnicode_CompareWithASCIIString(name, "dtype") == 0)))
            return false;
    }
    return *axis == NULL || *axis == Py_None || PyLong_CheckExact(*axis);
}

static PyObject *
call_reduction(method *m, PyObject *self, PyObject *axis)
{
    static PyObject *names; /* ("axis",) */
    PyObject *reduction = find(m->reduction, &m->kept_reduction), *args[] = {self, axis};

    if (reduction != NULL && names == NULL)
        names = Py_BuildValue("(s)", "axis");
    if (reduction == NULL || names == NULL)
        return NULL;
    return PyObject_Vectorcall(reduction, args, 1, axis ? names : NULL);
}

/* ---- the function ---- */

static PyObject *
call_function(method *m, PyObject *self, PyObject *const *args, Py_ssize_t n_args,
              PyObject *kwnames)
{
    enum { FEW = 15 }; /* more than any of them takes */
    PyObject *function = find(m->name, &m->kept_function), *all[FEW + 1];
    Py_ssize_t n = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);

    if (function == NULL)
        return NULL;
    if (n > FEW) {
        PyErr_Format(PyExc_TypeError, "%s() takes fewer arguments than %zd", m->name, n);
        return NULL;
    }
    all[0] = self;
    for (Py_ssize_t i = 0; i < n; i++)
        all[i + 1] = args[i];
    return PyObject_Vectorcall(function, all, (size_t)n_args + 1, kwnames);
}

static PyObject *
forward(method *m, PyObject *self, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    const lw_device_array *array = (const lw_device_array *)self;
    PyObject *axis;

    if (m->reduction != NULL && m->is_direct((lw_dtype)array->dtype) &&
        read_axis(m, args, n_args, kwnames, &axis))
        return call_reduction(m, self, axis);
    return call_function(m, self, args, n_args, kwnames);
}

#define DEFINE(name, reduction, rule, has_dtype)                                               \
    static PyObject *method_##name(PyObject *self, PyObject *const *args, Py_ssize_t n_args,   \
                                   PyObject *kwnames)                                          \
    {                                                                                          \
        static method m = {#name, reduction, rule, has_dtype, NULL, NULL};                     \
        return forward(&m, self, args, n_args, kwnames);                                       \
    }

METHODS(DEFINE)

/* ---- NEP 18 ---- */

static bool
is_count_nonzero(PyObject *function)
{
    static PyObject *kept;
    PyObject *numpy = kept ? NULL : PyImport_ImportModule("numpy");

    if (numpy != NULL)
        Py_XSETREF(kept, PyObject_GetAttrString(numpy, "count_nonzero"));
    Py_XDECREF(numpy);
    return kept != NULL && function == kept;
}

/* (function, types, args, kwargs): most of NumPy's functions call methods, as on any other
 * object. */
static PyObject *
method_array_function(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t n_args)
{
    static PyObject *count_nonzero;
    PyObject *function, *result;

    if (n_args != 4 || !PyTuple_Check(args[2]) || !PyDict_Check(args[3])) {
        PyErr_SetString(PyExc_TypeError,
                        "__array_function__(function, types, args, kwargs): a tuple and a "
                        "dict are expected at the end");
        return NULL;
    }
    if (is_count_nonzero(args[0]))
        function = Py_XNewRef(find("count_nonzero", &count_nonzero));
    else
        function = PyErr_Occurred() ? NULL : PyObject_GetAttrString(args[0], "_implementation");
    if (function == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        Py_RETURN_NOTIMPLEMENTED;
    }
    result = function ? PyObject_Call(function, args[2], args[3]) : NULL;
    Py_XDECREF(function);
    return result;
}

#define ROW(name, reduction, rule, has_dtype)                                                  \
    {#name, (PyCFunction)(void (*)(void))method_##name, METH_FASTCALL | METH_KEYWORDS,         \
     "as numpy.ndarray." #name "; the result stays on the device"},

PyMethodDef lw_array_reduce_methods[] = {
    METHODS(ROW){"__array_function__", (PyCFunction)(void (*)(void))method_array_function,
                 METH_FASTCALL, "NumPy's functions of device arrays (NEP 18)"},
    {NULL, NULL, 0, NULL}};
