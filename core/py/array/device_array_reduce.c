/* sum, mean, argmax and the like: lanewise.reductions' functions as methods. numpy.sum(a) calls
 * a.sum; lanewise/_array_protocol.py has NumPy's functions that are no methods (NEP 18).
 *
 * With no arguments, or axis= alone, a method calls the Reduction that the function would, or
 * its accumulate. */
#include "core/py/array/device_array_internal.h"

#include "core/front/read/services.h"
#include "core/py/array/array_function.h"

#include <string.h>

/* Whether the function does no more, for arrays of this dtype, than call its Reduction.
 * *computed: the dtype= that it gives, where it gives one. */
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

/* Complex numbers have another operator. */
static bool
as_real(lw_dtype dtype, lw_dtype *Py_UNUSED(computed))
{
    return dtype != LW_DT_void && !lw_is_complex(dtype);
}

/* The same; integers are computed in float64. */
static bool
as_inexact_real(lw_dtype dtype, lw_dtype *computed)
{
    if (dtype == LW_DT_b1 || lw_is_integer(dtype))
        *computed = LW_DT_f64;
    return as_real(dtype, computed);
}

typedef struct method {
    const char *name;
    const char *reduction; /* in lanewise.reductions */
    direct_rule is_direct;
    bool has_dtype; /* takes dtype= */
    bool is_scan;   /* cum… */
} method;

static const method methods[] = {
#define DEVICE_METHOD(name, reduction, rule, has_dtype, is_scan)                               \
    {#name, reduction, rule, has_dtype, is_scan},
#include "core/tables/device_methods.def"
};

/* Borrowed. */
static PyObject *
find(const char *name, lw_found *place)
{
    PyObject *found = lw_found_get(place);

    return found ? found : lw_found_set(place, lw_service_find(LW_SERVICE_REDUCTIONS, name));
}

static PyObject *
function_of(const method *m)
{
    return find(m->name, &lw_core->found.functions[m - methods]);
}

static PyObject *
reduction_of(const method *m)
{
    return find(m->reduction, &lw_core->found.reductions[m - methods]);
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
    lw_found *place = &lw_core->found.keyword_names[2 * axis + dtype];
    PyObject *names = lw_found_get(place);

    if (names != NULL || !(axis || dtype))
        return names;
    return lw_found_set(place, axis && dtype ? Py_BuildValue("(ss)", "axis", "dtype")
                                             : Py_BuildValue("(s)", axis ? "axis" : "dtype"));
}

static PyObject *
call_reduction(const method *m, PyObject *self, PyObject *axis, lw_dtype computed)
{
    bool has_dtype = computed != LW_DT_void;
    PyObject *descr = has_dtype ? (PyObject *)lw_descr_of(computed) : NULL;
    PyObject *reduction = reduction_of(m);
    PyObject *names = names_of(axis != NULL, has_dtype), *args[3] = {self};

    if (reduction == NULL || PyErr_Occurred())
        return NULL;
    args[1] = axis ? axis : descr;
    args[2] = descr;
    return PyObject_Vectorcall(reduction, args, 1, names);
}

/* Along the only axis there is, or that one. */
static PyObject *
call_accumulate(const method *m, PyObject *self, PyObject *axis)
{
    lw_found *place = &lw_core->found.accumulate;
    PyObject *reduction = reduction_of(m), *args[] = {NULL, self, axis};
    PyObject *name = lw_found_get(place);

    if (name == NULL)
        name = lw_found_set(place, PyUnicode_InternFromString("accumulate"));
    if (reduction == NULL || name == NULL)
        return NULL;
    args[0] = reduction;
    return PyObject_VectorcallMethod(name, args, axis ? 3 : 2, NULL);
}

/* ---- the function ---- */

static PyObject *
call_function(const method *m, PyObject *self, PyObject *const *args, Py_ssize_t n_args,
              PyObject *kwnames)
{
    enum { FEW = 15 }; /* more than any of them takes */
    PyObject *function = function_of(m), *all[FEW + 1];
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
forward(const method *m, PyObject *self, PyObject *const *args, Py_ssize_t n_args,
        PyObject *kwnames)
{
    const lw_device_array *array = (const lw_device_array *)self;
    lw_dtype computed = LW_DT_void;
    PyObject *axis;

    if (!m->is_direct((lw_dtype)array->dtype, &computed) ||
        !read_axis(m, args, n_args, kwnames, &axis) ||
        (array->ndim == 0 && axis != NULL && axis != Py_None))
        return call_function(m, self, args, n_args, kwnames);
    if (!m->is_scan)
        return call_reduction(m, self, axis, computed);
    axis = axis == Py_None ? NULL : axis;
    if (axis != NULL || array->ndim == 1)
        return call_accumulate(m, self, axis);
    return call_function(m, self, args, n_args, kwnames);
}

#define DEVICE_METHOD(name, reduction, rule, has_dtype, is_scan)                               \
    static PyObject *method_##name(PyObject *self, PyObject *const *args, Py_ssize_t n_args,   \
                                   PyObject *kwnames)                                          \
    {                                                                                          \
        return forward(&methods[LW_DEVICE_METHOD_##name], self, args, n_args, kwnames);        \
    }
#include "core/tables/device_methods.def"

/* ---- numpy.add.reduce and the like (NEP 13) ---- */

static const struct {
    const char *ufunc;
    int reduce, accumulate; /* methods; LW_N_DEVICE_METHODS: none */
} ufuncs[] = {
    {"add", LW_DEVICE_METHOD_sum, LW_DEVICE_METHOD_cumsum},
    {"multiply", LW_DEVICE_METHOD_prod, LW_DEVICE_METHOD_cumprod},
    {"minimum", LW_DEVICE_METHOD_min, LW_N_DEVICE_METHODS},
    {"maximum", LW_DEVICE_METHOD_max, LW_N_DEVICE_METHODS},
    {"logical_and", LW_DEVICE_METHOD_all, LW_N_DEVICE_METHODS},
    {"logical_or", LW_DEVICE_METHOD_any, LW_N_DEVICE_METHODS},
};

enum { N_UFUNCS = sizeof ufuncs / sizeof *ufuncs };
_Static_assert((int)N_UFUNCS == LW_STATE_REDUCING_UFUNCS, "a place for each");

/* LW_N_DEVICE_METHODS: none, or an exception. */
static int
method_of_ufunc(PyObject *ufunc, PyObject *name)
{
    bool reduces = PyUnicode_CompareWithASCIIString(name, "reduce") == 0;

    if (!reduces && PyUnicode_CompareWithASCIIString(name, "accumulate") != 0)
        return LW_N_DEVICE_METHODS;
    for (int i = 0; i < N_UFUNCS; i++)
        if (lw_found_in_numpy(&lw_core->found.reducing_ufuncs[i], ufuncs[i].ufunc) == ufunc)
            return reduces ? ufuncs[i].reduce : ufuncs[i].accumulate;
    return LW_N_DEVICE_METHODS;
}

PyObject *
lw_array_reduce_by(PyObject *ufunc, PyObject *name, PyObject *args, PyObject *kwargs)
{
    PyObject *array, *axis = NULL, *zero, *result;
    Py_ssize_t n_keywords = kwargs ? PyDict_GET_SIZE(kwargs) : 0;
    int which;

    if (PyTuple_GET_SIZE(args) != 3 || n_keywords > 1)
        return NULL;
    array = PyTuple_GET_ITEM(args, 2);
    if (n_keywords == 1)
        axis = PyDict_GetItemString(kwargs, "axis");
    if (!lw_is_device_array(array) || ((lw_device_array *)array)->size == 0 ||
        ((lw_device_array *)array)->ndim == 0 ||
        (n_keywords == 1 && (axis == NULL || !PyLong_CheckExact(axis))))
        return NULL;
    which = method_of_ufunc(ufunc, name);
    zero = which < LW_N_DEVICE_METHODS ? PyLong_FromLong(0) : NULL;
    if (zero == NULL)
        return NULL;
    result = forward(&methods[which], array, axis ? &axis : &zero, 1, NULL);
    Py_DECREF(zero);
    return result;
}

/* ---- NEP 18 ---- */

/* The method that NumPy's function would call of one array, and its axis; NULL: it may do more.
 */
static const method *
method_of(PyObject *function, PyObject *args)
{
    if (PyTuple_GET_SIZE(args) < 1 || PyTuple_GET_SIZE(args) > 2 ||
        !lw_is_device_array(PyTuple_GET_ITEM(args, 0)))
        return NULL;
    for (int i = 0; i < LW_N_DEVICE_METHODS; i++)
        if (lw_found_in_numpy(&lw_core->found.numpy_functions[i], methods[i].name) == function)
            return &methods[i];
    return NULL;
}

/* Calls it with the keywords that NumPy's function passes on. NULL without an exception: there
 * are others. */
static PyObject *
call_by_keywords(const method *m, PyObject *args, PyObject *kwargs)
{
    static const char *const known[] = {"axis", "dtype", "out", "keepdims"};
    enum { N_KNOWN = sizeof known / sizeof *known };
    PyObject *all[2 + N_KNOWN], *name, *value, *names = NULL, *result = NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(args), n_names = PyDict_GET_SIZE(kwargs), at = 0, k = 0;

    if (n_names > N_KNOWN || (names = n_names ? PyTuple_New(n_names) : NULL) == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        all[i] = PyTuple_GET_ITEM(args, i);
    while (PyDict_Next(kwargs, &at, &name, &value)) {
        int i = 0;
        while (i < N_KNOWN && PyUnicode_CompareWithASCIIString(name, known[i]) != 0)
            i++;
        if (i == N_KNOWN || (i == 1 && !m->has_dtype) ||
            strcmp(Py_TYPE(value)->tp_name, "_NoValueType") == 0)
            goto done;
        PyTuple_SET_ITEM(names, k, Py_NewRef(name));
        all[n + k++] = value;
    }
    result = forward(m, all[0], all + 1, n - 1, names);
done:
    Py_DECREF(names);
    return result;
}

/* (function, types, args, kwargs): where there is more to it, lanewise/_array_protocol.py. */
static PyObject *
method_array_function(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    const method *m;
    PyObject *result;

    if (n_args != 4 || !PyTuple_Check(args[2]) || !PyDict_Check(args[3])) {
        PyErr_SetString(PyExc_TypeError,
                        "__array_function__(function, types, args, kwargs): a tuple and a "
                        "dict are expected at the end");
        return NULL;
    }
    m = method_of(args[0], args[2]);
    if (m != NULL && PyDict_GET_SIZE(args[3]) == 0)
        return forward(m, PyTuple_GET_ITEM(args[2], 0), &PyTuple_GET_ITEM(args[2], 1),
                       PyTuple_GET_SIZE(args[2]) - 1, NULL);
    result = m != NULL          ? call_by_keywords(m, args[2], args[3])
             : PyErr_Occurred() ? NULL
                                : lw_array_function(args[0], args[2], args[3]);
    if (result != NULL || PyErr_Occurred())
        return result;
    return lw_service_call(LW_SERVICE_ARRAY_PROTOCOL, "array_function", self, args, n_args,
                           NULL);
}

PyMethodDef lw_array_reduce_methods[] = {
#define DEVICE_METHOD(name, reduction, rule, has_dtype, is_scan)                               \
    {#name, (PyCFunction)(void (*)(void))method_##name, METH_FASTCALL | METH_KEYWORDS,         \
     #name "(...): as numpy.ndarray." #name ", with the result on the device"},
#include "core/tables/device_methods.def"
    {"__array_function__", (PyCFunction)(void (*)(void))method_array_function, METH_FASTCALL,
     "NumPy's functions of device arrays (NEP 18)"},
    {NULL, NULL, 0, NULL}};
