/* sum, mean, argmax and the like: lanewise.reductions' functions as methods. numpy.sum(a) calls
 * a.sum; lanewise/_array_protocol.py has NumPy's functions that are no methods (NEP 18).
 *
 * With no arguments, or axis= alone, a method calls the Reduction that the function would, or
 * its accumulate. */
#include "core/py/array/device_array_internal.h"

#include "core/front/read/services.h"

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
    bool has_dtype; /* takes dtype= */
    bool is_scan;   /* cum… */
} method;

#define METHODS(X)                                                                             \
    X(sum, "_sum", as_it_is, true, false)                                                      \
    X(prod, "_prod", as_it_is, true, false)                                                    \
    X(min, "_min", as_it_is, false, false)                                                     \
    X(max, "_max", as_it_is, false, false)                                                     \
    X(mean, "_mean", as_inexact, true, false)                                                  \
    X(argmin, "_argmin", as_real, false, false)                                                \
    X(argmax, "_argmax", as_real, false, false)                                                \
    X(any, "_any", as_bool, false, false)                                                      \
    X(all, "_all", as_bool, false, false)                                                      \
    X(var, NULL, NULL, false, false)                                                           \
    X(std, NULL, NULL, false, false)                                                           \
    X(cumsum, "_sum", as_it_is, true, true)                                                    \
    X(cumprod, "_prod", as_it_is, true, true)

#define PLACE(name, reduction, rule, has_dtype, is_scan) METHOD_##name,
#define ENTRY(name, reduction, rule, has_dtype, is_scan)                                       \
    {#name, reduction, rule, has_dtype, is_scan},

enum { METHODS(PLACE) N_METHODS };
static const method methods[N_METHODS] = {METHODS(ENTRY)};
_Static_assert((int)N_METHODS == LW_STATE_METHODS, "a place for each");

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

    if (m->reduction == NULL || !m->is_direct((lw_dtype)array->dtype, &computed) ||
        !read_axis(m, args, n_args, kwnames, &axis))
        return call_function(m, self, args, n_args, kwnames);
    if (!m->is_scan)
        return call_reduction(m, self, axis, computed);
    axis = axis == Py_None ? NULL : axis;
    if (axis != NULL || array->ndim == 1)
        return call_accumulate(m, self, axis);
    return call_function(m, self, args, n_args, kwnames);
}

#define DEFINE(name, reduction, rule, has_dtype, is_scan)                                      \
    static PyObject *method_##name(PyObject *self, PyObject *const *args, Py_ssize_t n_args,   \
                                   PyObject *kwnames)                                          \
    {                                                                                          \
        return forward(&methods[METHOD_##name], self, args, n_args, kwnames);                  \
    }

METHODS(DEFINE)

/* ---- NEP 18 ---- */

/* The method that NumPy's function would call of one array, and its axis; NULL: it may do more.
 */
static const method *
method_of(PyObject *function, PyObject *args, PyObject *kwargs)
{
    if (PyTuple_GET_SIZE(args) < 1 || PyTuple_GET_SIZE(args) > 2 ||
        PyDict_GET_SIZE(kwargs) > 0 || !lw_is_device_array(PyTuple_GET_ITEM(args, 0)))
        return NULL;
    for (int i = 0; i < N_METHODS; i++)
        if (methods[i].reduction != NULL && lw_found_of(&lw_core->found.numpy_functions[i],
                                                        "numpy", methods[i].name) == function)
            return &methods[i];
    return NULL;
}

/* (function, types, args, kwargs): where there is more to it, lanewise/_array_protocol.py. */
static PyObject *
method_array_function(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    const method *m;

    if (n_args != 4 || !PyTuple_Check(args[2]) || !PyDict_Check(args[3])) {
        PyErr_SetString(PyExc_TypeError,
                        "__array_function__(function, types, args, kwargs): a tuple and a "
                        "dict are expected at the end");
        return NULL;
    }
    m = method_of(args[0], args[2], args[3]);
    if (m != NULL)
        return forward(m, PyTuple_GET_ITEM(args[2], 0), &PyTuple_GET_ITEM(args[2], 1),
                       PyTuple_GET_SIZE(args[2]) - 1, NULL);
    if (PyErr_Occurred())
        return NULL;
    return lw_service_call(LW_SERVICE_ARRAY_PROTOCOL, "array_function", self, args, n_args,
                           NULL);
}

#define ROW(name, reduction, rule, has_dtype, is_scan)                                         \
    {#name, (PyCFunction)(void (*)(void))method_##name, METH_FASTCALL | METH_KEYWORDS,         \
     "as numpy.ndarray." #name "; the result stays on the device"},

PyMethodDef lw_array_reduce_methods[] = {
    METHODS(ROW){"__array_function__", (PyCFunction)(void (*)(void))method_array_function,
                 METH_FASTCALL, "NumPy's functions of device arrays (NEP 18)"},
    {NULL, NULL, 0, NULL}};
