#include "core/py/numpy_api.h"

#include "core/py/array/static_value.h"

#include "core/front/read/python.h"
#include "core/py/array/device_array.h"
#include "core/py/object_shape.h"

/* ---- keys ---- */

static PyObject *key_of(PyObject *value);

static PyObject *
key_of_tuple(PyObject *tuple)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    PyObject *key = PyTuple_New(n + 1);

    if (key == NULL)
        return NULL;
    PyTuple_SET_ITEM(key, 0, Py_NewRef((PyObject *)Py_TYPE(tuple)));
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = key_of(PyTuple_GET_ITEM(tuple, i));
        if (item == NULL) {
            Py_DECREF(key);
            return NULL;
        }
        PyTuple_SET_ITEM(key, i + 1, item);
    }
    return key;
}

/* By its bits, with its dtype: numbers that compare equal are not the same constant. */
static PyObject *
key_of(PyObject *value)
{
    PyObject *bits, *key = NULL;

    if (PyTuple_Check(value))
        return key_of_tuple(value);
    if (PyArray_IsScalar(value, Generic))
        bits = PyObject_CallMethod(value, "tobytes", NULL);
    else if (PyFloat_Check(value) || PyComplex_Check(value))
        bits = PyObject_Repr(value);
    else
        bits = PyObject_Hash(value) == -1 ? NULL : Py_NewRef(value);
    if (bits == NULL && PyCallable_Check(value) && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear(); /* functions of ctypes; whoever has the key keeps the value */
        bits = PyLong_FromVoidPtr(value);
    }
    if (bits != NULL)
        key = PyTuple_Pack(2, (PyObject *)Py_TYPE(value), bits);
    Py_XDECREF(bits);
    return key;
}

static bool
is_fielded(PyObject *value)
{
    bool is = lw_object_shape_of(value) != NULL;

    PyErr_Clear();
    return is;
}

PyObject *
lw_static_key(PyObject *value, const char *function, const char *parameter,
              const char *hint_for_arrays)
{
    PyObject *key = key_of(value);

    if (key == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        PyErr_Format(
            PyExc_TypeError,
            "%s: static argument `%s` must be hashable (a number, bool, str, None, a type, "
            "a function, or a tuple of these), not %.100s%s",
            function, parameter, Py_TYPE(value)->tp_name,
            PyArray_Check(value) || lw_is_device_array(value) ? hint_for_arrays
            : PyList_Check(value)                             ? "; make it a tuple"
            : is_fielded(value)
                ? "; make its class a dataclass with frozen=True, or take the parameter out of "
                  "static=, as an object may be an argument like a number"
                : "");
    }
    return key;
}

/* ---- the function ---- */

static int
copy_attributes(PyObject *from, PyObject *to, PyObject *values)
{
    PyObject *dict = PyObject_GetAttrString(from, "__dict__");
    PyObject *own = dict ? PyObject_GetAttrString(to, "__dict__") : NULL;
    PyObject *before = PyFunction_GET_KW_DEFAULTS(from);
    PyObject *defaults = before ? PyDict_Copy(before) : PyDict_New();
    int failed = own == NULL || defaults == NULL || PyDict_Update(own, dict) < 0 ||
                 PyDict_Update(defaults, values) < 0 ||
                 PyFunction_SetKwDefaults(to, defaults) < 0;

    if (!failed && PyFunction_GET_DEFAULTS(from) != NULL)
        failed = PyFunction_SetDefaults(to, PyFunction_GET_DEFAULTS(from)) < 0;
    if (!failed && PyFunction_GET_CLOSURE(from) != NULL)
        failed = PyFunction_SetClosure(to, PyFunction_GET_CLOSURE(from)) < 0;
    Py_XDECREF(dict);
    Py_XDECREF(own);
    Py_XDECREF(defaults);
    return failed ? -1 : 0;
}

PyObject *
lw_function_with_values(PyObject *object, PyObject *values)
{
    PyObject *self = PyMethod_Check(object) ? PyMethod_GET_SELF(object) : NULL;
    PyObject *function =
        self ? Py_NewRef(PyMethod_GET_FUNCTION(object)) : lw_python_function(object);
    PyObject *copy, *name, *result = NULL;

    if (function == NULL || !PyFunction_Check(function)) {
        if (function != NULL)
            PyErr_Format(PyExc_TypeError, "static= needs a Python function, not %.100s",
                         Py_TYPE(function)->tp_name);
        Py_XDECREF(function);
        return NULL;
    }
    name = ((PyFunctionObject *)function)->func_qualname;
    copy = PyFunction_NewWithQualName(PyFunction_GET_CODE(function),
                                      PyFunction_GET_GLOBALS(function), name);
    if (copy != NULL && copy_attributes(function, copy, values) == 0 &&
        PyObject_SetAttrString(copy, "__name__", ((PyFunctionObject *)function)->func_name) ==
            0 &&
        PyObject_SetAttrString(copy, "__doc__", ((PyFunctionObject *)function)->func_doc) == 0)
        result = self ? PyMethod_New(copy, self) : Py_NewRef(copy);
    Py_XDECREF(copy);
    Py_DECREF(function);
    return result;
}
