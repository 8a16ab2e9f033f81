/* Operators and printing. A device array has no arithmetic of its own: `a + b` is numpy.add's
 * lanewise counterpart, found through the hook that the ufuncs register, and numpy.add(a, b)
 * arrives at the same place by __array_ufunc__ (NEP 13). */
#include "core/py/array/device_array_internal.h"

#include <string.h>

static const char *const op_names[] = {
#define DEVICE_OPERATOR(name) #name,
#include "core/tables/device_operators.def"
};

/* ---- calling a ufunc ---- */

/* numpy.<name>, looked up once (borrowed). */
static PyObject *
numpy_ufunc(lw_device_operator which)
{
    return lw_found_in_numpy(&lw_core->found.operators[which], op_names[which]);
}

/* Ours for NumPy's (borrowed); NULL without an exception when there is none. */
static PyObject *
counterpart(PyObject *ufunc)
{
    return lw_device_array_hooks.ufunc != NULL ? lw_device_array_hooks.ufunc(ufunc) : NULL;
}

static bool
is_plain(PyObject *object)
{
    return lw_is_device_array(object) || PyFloat_CheckExact(object) ||
           PyLong_CheckExact(object) || PyComplex_CheckExact(object) || PyBool_Check(object) ||
           PyArray_CheckExact(object) || PyArray_CheckScalar(object);
}

/* NEP 13: `__array_ufunc__ = None` on the other operand asks us to stand back. */
static bool
stands_aside(PyObject *other)
{
    PyObject *attribute = PyObject_GetAttrString((PyObject *)Py_TYPE(other), "__array_ufunc__");
    bool aside = attribute == Py_None;

    if (attribute == NULL)
        PyErr_Clear();
    Py_XDECREF(attribute);
    return aside;
}

static PyObject *
call_with(lw_device_operator which, PyObject *const *args, size_t n, PyObject *kwnames)
{
    PyObject *ufunc = numpy_ufunc(which), *ours;
    bool plain = true;

    if (ufunc == NULL)
        return NULL;
    for (size_t i = 0; i < n && plain; i++)
        plain = is_plain(args[i]);
    for (size_t i = 0; i < n && !plain; i++)
        if (!lw_is_device_array(args[i]) && stands_aside(args[i]))
            Py_RETURN_NOTIMPLEMENTED;
    ours = plain ? counterpart(ufunc) : NULL;
    if (ours == NULL && PyErr_Occurred())
        return NULL;
    return PyObject_Vectorcall(ours != NULL ? ours : ufunc, args, n, kwnames);
}

static PyObject *
call(lw_device_operator which, PyObject *const *args, size_t n)
{
    return call_with(which, args, n, NULL);
}

#define BINARY(name)                                                                           \
    static PyObject *nb_##name(PyObject *a, PyObject *b)                                       \
    {                                                                                          \
        PyObject *args[] = {a, b};                                                             \
        return call(LW_OPERATOR_##name, args, 2);                                              \
    }
#define IN_PLACE(name)                                                                         \
    static PyObject *nb_inplace_##name(PyObject *a, PyObject *b)                               \
    {                                                                                          \
        PyObject *args[] = {a, b, a};                                                          \
        return call(LW_OPERATOR_##name, args, 3);                                              \
    }
#define UNARY(name)                                                                            \
    static PyObject *nb_##name(PyObject *a)                                                    \
    {                                                                                          \
        return call(LW_OPERATOR_##name, &a, 1);                                                \
    }
#define BOTH(name) BINARY(name) IN_PLACE(name)

/* clang-format off */
BOTH(add) BOTH(subtract) BOTH(multiply) BOTH(divide) BOTH(floor_divide) BOTH(remainder)
BOTH(left_shift) BOTH(right_shift) BOTH(bitwise_and) BOTH(bitwise_or) BOTH(bitwise_xor)
BINARY(divmod) BINARY(matmul) UNARY(negative) UNARY(positive) UNARY(absolute) UNARY(invert)
    /* clang-format on */

    /* ndarray's own short cuts: an exact square where the exponent is a Python number.
       LW_N_DEVICE_OPERATORS: none. */
    static lw_device_operator power_short_cut(PyObject *base, PyObject *exponent)
{
    lw_dtype dtype;
    double value;

    if (!lw_is_device_array(base) ||
        !(PyFloat_CheckExact(exponent) || PyLong_CheckExact(exponent)))
        return LW_N_DEVICE_OPERATORS;
    dtype = (lw_dtype)((lw_device_array *)base)->dtype;
    if (lw_is_integer(dtype) || dtype == LW_DT_b1 || dtype == LW_DT_void)
        return LW_N_DEVICE_OPERATORS;
    value = PyFloat_AsDouble(exponent);
    PyErr_Clear(); /* an int too large for a double is none of these */
    return value == 2.0    ? LW_OPERATOR_square
           : value == 1.0  ? LW_OPERATOR_positive
           : value == 0.5  ? LW_OPERATOR_sqrt
           : value == -1.0 ? LW_OPERATOR_reciprocal
                           : LW_N_DEVICE_OPERATORS;
}

static PyObject *
nb_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    PyObject *args[] = {a, b};
    lw_device_operator short_cut;

    if (modulus != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    short_cut = power_short_cut(a, b);
    return short_cut == LW_N_DEVICE_OPERATORS ? call(LW_OPERATOR_power, args, 2)
                                              : call(short_cut, args, 1);
}

static PyObject *
nb_inplace_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    PyObject *args[] = {a, b, a};

    PyObject *short_args[] = {a, a};
    lw_device_operator short_cut;

    if (modulus != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    short_cut = power_short_cut(a, b);
    return short_cut == LW_N_DEVICE_OPERATORS ? call(LW_OPERATOR_power, args, 3)
                                              : call(short_cut, short_args, 2);
}

/* As ndarray's: the result must have the shape of `a`, so that `b` is never a vector. */
static PyObject *
nb_inplace_matmul(PyObject *a, PyObject *b)
{
    bool vector = lw_is_device_array(a) && ((lw_device_array *)a)->ndim == 1;
    PyObject *axes = vector ? Py_BuildValue("[(i)(ii)(i)]", -1, -2, -1, -1)
                            : Py_BuildValue("[(ii)(ii)(ii)]", -2, -1, -2, -1, -2, -1);
    PyObject *names = Py_BuildValue("(s)", "axes"), *args[] = {a, b, a, axes}, *result = NULL;

    if (axes != NULL && names != NULL)
        result = call_with(LW_OPERATOR_matmul, args, 3, names);
    Py_XDECREF(axes);
    Py_XDECREF(names);
    return result;
}

/* After a TypeError of == or !=: elements of types that have no common one are not equal, as in
 * NumPy. */
static PyObject *
without_common_type(PyObject *a, PyObject *b, bool equal)
{
    PyObject *type, *value, *trace, *result;

    PyErr_Fetch(&type, &value, &trace);
    result = lw_array_without_common_type(a, b, equal);
    if (result == Py_None) {
        Py_DECREF(result);
        PyErr_Restore(type, value, trace);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return result;
}

static PyObject *
compare(PyObject *a, PyObject *b, int how)
{
    static const lw_device_operator ops[] = {
        [Py_LT] = LW_OPERATOR_less,    [Py_LE] = LW_OPERATOR_less_equal,
        [Py_EQ] = LW_OPERATOR_equal,   [Py_NE] = LW_OPERATOR_not_equal,
        [Py_GT] = LW_OPERATOR_greater, [Py_GE] = LW_OPERATOR_greater_equal};
    PyObject *args[] = {a, b}, *result;

    /* the slot's array is a */
    if ((how == Py_EQ || how == Py_NE) &&
        (b == Py_None || PyUnicode_Check(b) || PyBytes_Check(b)))
        return lw_array_unlike(a, b, how == Py_EQ);
    result = call(ops[how], args, 2);
    if (result == NULL && (how == Py_EQ || how == Py_NE) &&
        PyErr_ExceptionMatches(PyExc_TypeError))
        return without_common_type(a, b, how == Py_EQ);
    return result;
}

/* ---- one element as a number ---- */

static PyObject *
only_item(PyObject *self, const char *what)
{
    lw_device_array *array = (lw_device_array *)self;
    PyObject *host, *item;

    if (array->size != 1) {
        PyErr_Format(PyExc_TypeError, "only device arrays of size 1 can be converted to %s",
                     what);
        return NULL;
    }
    host = lw_device_array_to_host(array, lw_device_array_stream(array));
    item = host != NULL ? PyObject_CallMethod(host, "item", NULL) : NULL;
    Py_XDECREF(host);
    return item;
}

static int
nb_bool(PyObject *self)
{
    lw_device_array *array = (lw_device_array *)self;
    PyObject *item;
    int truth;

    if (array->size != 1) {
        PyErr_SetString(PyExc_ValueError,
                        array->size == 0
                            ? "the truth value of an empty array is ambiguous"
                            : "the truth value of an array with more than one element is "
                              "ambiguous");
        return -1;
    }
    item = only_item(self, "a truth value");
    truth = item != NULL ? PyObject_IsTrue(item) : -1;
    Py_XDECREF(item);
    return truth;
}

static PyObject *
nb_float(PyObject *self)
{
    PyObject *item = only_item(self, "a float");
    PyObject *result = item != NULL ? PyNumber_Float(item) : NULL;

    Py_XDECREF(item);
    return result;
}

static PyObject *
nb_int(PyObject *self)
{
    PyObject *item = only_item(self, "an int");
    PyObject *result = item != NULL ? PyNumber_Long(item) : NULL;

    Py_XDECREF(item);
    return result;
}

static PyObject *
nb_index(PyObject *self)
{
    lw_device_array *array = (lw_device_array *)self;

    if (array->ndim == 0 && lw_is_integer((lw_dtype)array->dtype))
        return nb_int(self);
    PyErr_SetString(PyExc_TypeError,
                    "only 0-dimensional device arrays of integers can be used as an index");
    return NULL;
}

static PyObject *
method_complex(PyObject *self, PyObject *Py_UNUSED(unused))
{
    PyObject *item = only_item(self, "a complex");
    PyObject *result;

    if (item == NULL)
        return NULL;
    result = PyObject_CallFunctionObjArgs((PyObject *)&PyComplex_Type, item, NULL);
    Py_DECREF(item);
    return result;
}

/* ---- NEP 13 ---- */

static PyObject *
refuse(PyObject *ufunc)
{
    PyObject *name = PyObject_GetAttrString(ufunc, "__name__");

    if (name != NULL)
        PyErr_Format(PyExc_TypeError,
                     "numpy.%.200U has no lanewise counterpart for device arrays: "
                     "call copy_to_host() first",
                     name);
    Py_XDECREF(name);
    return NULL;
}

/* The inputs stand behind the first two of args. */
static PyObject *
call_it(PyObject *ours, PyObject *args, PyObject *kwargs)
{
    return PyObject_VectorcallDict(ours, &PyTuple_GET_ITEM(args, 2),
                                   (size_t)PyTuple_GET_SIZE(args) - 2, kwargs);
}

static PyObject *
call_method(PyObject *ours, PyObject *name, PyObject *args, PyObject *kwargs)
{
    PyObject *method = PyObject_GetAttr(ours, name);
    PyObject *result = method ? call_it(method, args, kwargs) : NULL;

    Py_XDECREF(method);
    return result;
}

static PyObject *
method_array_ufunc(PyObject *Py_UNUSED(self), PyObject *args, PyObject *kwargs)
{
    PyObject *ufunc, *ours, *name, *result;

    if (PyTuple_GET_SIZE(args) < 2 || !PyUnicode_Check(PyTuple_GET_ITEM(args, 1))) {
        PyErr_SetString(PyExc_TypeError,
                        "__array_ufunc__: expected a ufunc, a method name and the inputs");
        return NULL;
    }
    ufunc = PyTuple_GET_ITEM(args, 0);
    if (!PyObject_TypeCheck(ufunc, &PyUFunc_Type))
        Py_RETURN_NOTIMPLEMENTED; /* lanewise's own know device arrays without asking */
    ours = counterpart(ufunc);
    if (ours == NULL)
        return PyErr_Occurred() ? NULL : refuse(ufunc);
    name = PyTuple_GET_ITEM(args, 1);
    if (PyUnicode_CompareWithASCIIString(name, "__call__") == 0)
        return call_it(ours, args, kwargs);
    result = lw_array_reduce_by(ufunc, name, args, kwargs);
    if (result != NULL || PyErr_Occurred())
        return result;
    return call_method(ours, name, args, kwargs);
}

/* ---- printing ---- */

/* Fetch only what NumPy prints of a long array: its edges. Axes longer than 2 * edge + 1 shrink
 * to that, and the element in the middle, which is never shown, stays 0. */
static int
copy_edges(lw_device_array *array, PyArrayObject *host, int64_t edge, int axis)
{
    lw_array_layout layout = {.ndim = array->ndim};
    npy_intp shape[LW_MAX_DIMS], strides[LW_MAX_DIMS];
    lw_device_array *piece;
    PyArrayObject *target;
    int result = 0;

    while (axis < array->ndim && array->shape[axis] <= 2 * edge + 1)
        axis++;
    if (axis == array->ndim) {
        PyObject *part = lw_device_array_to_host(array, lw_device_array_stream(array));
        result = part != NULL ? PyArray_CopyInto(host, (PyArrayObject *)part) : -1;
        Py_XDECREF(part);
        return result;
    }
    for (int side = 0; side < 2 && result == 0; side++) {
        for (int i = 0; i < array->ndim; i++) {
            layout.shape[i] = array->shape[i];
            layout.strides[i] = array->strides[i];
            shape[i] = PyArray_DIM(host, i);
            strides[i] = PyArray_STRIDE(host, i);
        }
        layout.offset = side ? (array->shape[axis] - edge) * array->strides[axis] : 0;
        layout.shape[axis] = shape[axis] = edge;
        Py_INCREF(PyArray_DESCR(host));
        target = (PyArrayObject *)PyArray_NewFromDescr(
            &PyArray_Type, PyArray_DESCR(host), array->ndim, shape, strides,
            PyArray_BYTES(host) + (side ? (edge + 1) * PyArray_STRIDE(host, axis) : 0),
            NPY_ARRAY_WRITEABLE, NULL);
        piece = target != NULL ? lw_array_view_layout(array, &layout) : NULL;
        result = piece != NULL ? copy_edges(piece, target, edge, axis + 1) : -1;
        Py_XDECREF(piece);
        Py_XDECREF(target);
    }
    return result;
}

static int64_t
print_option(PyObject *options, const char *name)
{
    PyObject *value = PyDict_GetItemString(options, name);        /* borrowed */
    double number = value != NULL ? PyFloat_AsDouble(value) : -1; /* may be infinite */

    if (number == -1 && PyErr_Occurred())
        PyErr_Clear();
    return number >= 0 && number < 1e18 ? (int64_t)number : INT64_MAX / 4;
}

/* A host array that prints as the device array does; *short_form: it holds edges only. */
static PyObject *
printable(lw_device_array *array, PyObject *options, bool *short_form)
{
    int64_t edge = print_option(options, "edgeitems");
    npy_intp shape[LW_MAX_DIMS];
    PyObject *host;

    *short_form = array->size > print_option(options, "threshold");
    if (!*short_form)
        return lw_device_array_to_host(array, lw_device_array_stream(array));
    for (int i = 0; i < array->ndim; i++)
        shape[i] = array->shape[i] <= 2 * edge + 1 ? array->shape[i] : 2 * edge + 1;
    Py_INCREF(array->descr);
    host = PyArray_Zeros(array->ndim, shape, array->descr, 0);
    if (host != NULL && copy_edges(array, (PyArrayObject *)host, edge, 0) < 0)
        Py_CLEAR(host);
    return host;
}

static PyObject *
print(lw_device_array *array, const char *separator, const char *prefix)
{
    PyObject *numpy = PyImport_ImportModule("numpy"), *options = NULL, *host = NULL;
    PyObject *function = NULL, *args = NULL, *kwargs = NULL, *text = NULL;
    bool short_form = false;

    if (numpy != NULL)
        options = PyObject_CallMethod(numpy, "get_printoptions", NULL);
    if (options != NULL)
        host = printable(array, options, &short_form);
    if (host != NULL)
        function = PyObject_GetAttrString(numpy, "array2string");
    if (function != NULL)
        args = PyTuple_Pack(1, host);
    if (args != NULL)
        kwargs = Py_BuildValue("{s:s,s:s,s:s}", "separator", separator, "prefix", prefix,
                               "suffix", prefix[0] ? ")" : "");
    if (kwargs != NULL && short_form) {
        PyObject *zero = PyLong_FromLong(0);
        if (zero == NULL || PyDict_SetItemString(kwargs, "threshold", zero) < 0)
            Py_CLEAR(kwargs);
        Py_XDECREF(zero);
    }
    if (kwargs != NULL)
        text = PyObject_Call(function, args, kwargs);
    Py_XDECREF(numpy);
    Py_XDECREF(options);
    Py_XDECREF(host);
    Py_XDECREF(function);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    return text;
}

static PyObject *
dtype_name(lw_device_array *array)
{
    if (array->dtype != LW_DT_void)
        return PyUnicode_FromString(lw_dtypes[array->dtype].public_name);
    return PyObject_Str((PyObject *)array->descr);
}

PyObject *
lw_array_repr(PyObject *self)
{
    lw_device_array *array = (lw_device_array *)self;
    PyObject *text = print(array, ", ", "DeviceArray("), *dtype = dtype_name(array);
    PyObject *shape = NULL, *result = NULL;

    if (text == NULL || dtype == NULL)
        goto done;
    if (array->size == 0 && !(array->ndim == 1)) {
        shape = PyObject_GetAttrString(self, "shape");
        if (shape != NULL)
            result = PyUnicode_FromFormat("DeviceArray([], shape=%R, dtype=%U, device=%d)",
                                          shape, dtype, array->device->ordinal);
        Py_XDECREF(shape);
    } else {
        result = PyUnicode_FromFormat("DeviceArray(%U, dtype=%U, device=%d)", text, dtype,
                                      array->device->ordinal);
    }
done:
    Py_XDECREF(text);
    Py_XDECREF(dtype);
    return result;
}

PyObject *
lw_array_str(PyObject *self)
{
    return print((lw_device_array *)self, " ", "");
}

PyMethodDef lw_array_ops_methods[] = {
    {"__array_ufunc__", (PyCFunction)(void (*)(void))method_array_ufunc,
     METH_VARARGS | METH_KEYWORDS, "NEP 13: numpy's ufuncs run as lanewise's on the device"},
    {"__complex__", method_complex, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

PyType_Slot lw_array_ops_slots[] = {{Py_tp_richcompare, compare},
                                    {Py_nb_add, nb_add},
                                    {Py_nb_subtract, nb_subtract},
                                    {Py_nb_multiply, nb_multiply},
                                    {Py_nb_true_divide, nb_divide},
                                    {Py_nb_floor_divide, nb_floor_divide},
                                    {Py_nb_remainder, nb_remainder},
                                    {Py_nb_divmod, nb_divmod},
                                    {Py_nb_power, nb_power},
                                    {Py_nb_lshift, nb_left_shift},
                                    {Py_nb_rshift, nb_right_shift},
                                    {Py_nb_and, nb_bitwise_and},
                                    {Py_nb_or, nb_bitwise_or},
                                    {Py_nb_xor, nb_bitwise_xor},
                                    {Py_nb_matrix_multiply, nb_matmul},
                                    {Py_nb_inplace_matrix_multiply, nb_inplace_matmul},
                                    {Py_nb_negative, nb_negative},
                                    {Py_nb_positive, nb_positive},
                                    {Py_nb_absolute, nb_absolute},
                                    {Py_nb_invert, nb_invert},
                                    {Py_nb_bool, nb_bool},
                                    {Py_nb_float, nb_float},
                                    {Py_nb_int, nb_int},
                                    {Py_nb_index, nb_index},
                                    {Py_nb_inplace_add, nb_inplace_add},
                                    {Py_nb_inplace_subtract, nb_inplace_subtract},
                                    {Py_nb_inplace_multiply, nb_inplace_multiply},
                                    {Py_nb_inplace_true_divide, nb_inplace_divide},
                                    {Py_nb_inplace_floor_divide, nb_inplace_floor_divide},
                                    {Py_nb_inplace_remainder, nb_inplace_remainder},
                                    {Py_nb_inplace_power, nb_inplace_power},
                                    {Py_nb_inplace_lshift, nb_inplace_left_shift},
                                    {Py_nb_inplace_rshift, nb_inplace_right_shift},
                                    {Py_nb_inplace_and, nb_inplace_bitwise_and},
                                    {Py_nb_inplace_or, nb_inplace_bitwise_or},
                                    {Py_nb_inplace_xor, nb_inplace_bitwise_xor},
                                    {0, NULL}};
