/* sum, mean, argmax and the like: lanewise.reductions' functions as methods. numpy.sum(a) calls
 * a.sum; of NumPy's functions that have no method __array_function__ (NEP 18) knows the rest.
 *
 * With no arguments, or axis= alone, a method calls the Reduction that the function would. */
#include "core/py/device_array_internal.h"

/* Does the function do no more, for arrays of this dtype, than call its Reduction? *computed:
 * the dtype= that it gives, where it gives one. */
typedef bool (*direct_rule)(lw_dtype dtype, lw_dtype *computed);

static bool
as_it_is(lw_dtype dtype, lw_dtype *Py_UNUSED(computed))
{
    return dtype != LW_DT_void;
}

static bool
as_bool(lw_dtype dtype, lw_dtype *computed)
{
    *computed = LW_DT_b1;
    return dtype != LW_DT_void;
}

/* Means of integers are computed in float64. */
static bool
as_inexact(lw_dtype dtype, lw_dtype *computed)
{
    if (dtype == LW_DT_b1 || lw_is_integer(dtype))
        *computed = LW_DT_f64;
    return dtype != LW_DT_void;
}

/* Complex numbers have another operator. */
static bool
as_real(lw_dtype dtype, lw_dtype *Py_UNUSED(computed))
{
    return dtype != LW_DT_void && !lw_is_complex(dtype);
}

typedef struct method {
    const char *name;
    const char *reduction; /* in lanewise.reductions, or NULL: the function does more */
    direct_rule is_direct;
    bool has_dtype;                           /* takes dtype= */
    PyObject *kept_function, *kept_reduction; /* found at the first use */
} method;

#define METHODS(X)                                                                             \
    X(sum, "_sum", as_it_is, true)                                                             \
    X(prod, "_prod", as_it_is, true)                                                           \
    X(min, "_min", as_it_is, false)                                                            \
    X(max, "_max", as_it_is, false)                                                            \
    X(mean, "_mean", as_inexact, true)                                                         \
    X(argmin, "_argmin", as_real, false)                                                       \
    X(argmax, "_argmax", as_real, false)                                                       \
    X(any, "_any", as_bool, false)                                                             \
    X(all, "_all", as_bool, false)                                                             \
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

/* ("axis",), ("dtype",) or ("axis", "dtype"), borrowed; without either NULL, and no exception.
 */
static PyObject *
names_of(bool axis, bool dtype)
{
    static PyObject *names[4];
    PyObject **found = &names[2 * axis + dtype];

    if (*found == NULL && axis && dtype)
        *found = Py_BuildValue("(ss)", "axis", "dtype");
    else if (*found == NULL && (axis || dtype))
        *found = Py_BuildValue("(s)", axis ? "axis" : "dtype");
    return *found;
}

static PyObject *
call_reduction(method *m, PyObject *self, PyObject *axis, lw_dtype computed)
{
    bool has_dtype = computed != LW_DT_void;
    PyObject *descr = has_dtype ? (PyObject *)lw_descr_of(computed) : NULL;
    PyObject *reduction = find(m->reduction, &m->kept_reduction);
    PyObject *names = names_of(axis != NULL, has_dtype), *args[3] = {self};

    if (reduction == NULL || PyErr_Occurred())
        return NULL;
    args[1] = axis ? axis : descr;
    args[2] = descr;
    return PyObject_Vectorcall(reduction, args, 1, names);
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
    lw_dtype computed = LW_DT_void;
    PyObject *axis;

    if (m->reduction != NULL && m->is_direct((lw_dtype)array->dtype, &computed) &&
        read_axis(m, args, n_args, kwnames, &axis))
        return call_reduction(m, self, axis, computed);
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
