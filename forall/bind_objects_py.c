/* Binding of what has items: tuples, short lists, and objects of the user's classes. */
#include "forall/bind_py_internal.h"

#include "core/py/object_shape.h"
#include "forall/bind_key.h"
#include "forall/kernel_py.h"
#include "core/py/array/args.h"
#include "core/py/array/convert.h"

#include <string.h>

enum { MOST_DEPTH = 8 }; /* of tuples in tuples */

int
lw_bind_tuple(lw_binder *r, PyObject *tuple)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    PyTypeObject *type = Py_TYPE(tuple);
    uint8_t key[2 + sizeof type] = {LW_KEY_TUPLE, (uint8_t)n};
    uint32_t n_key = 2;

    if (n > UINT8_MAX || r->depth == MOST_DEPTH)
        return lw_bind_refuse_layout(r, n > UINT8_MAX ? "a tuple of more than 255 items"
                                                      : "tuples nested more than 8 deep");
    if (type != &PyTuple_Type && PyObject_HasAttrString((PyObject *)type, "_fields")) {
        key[0] = LW_KEY_NAMED;
        memcpy(key + 2, &type, sizeof type);
        n_key = sizeof key;
    }
    if (lw_bind_key(r->bound, key, n_key) < 0)
        return -1;
    r->depth++;
    for (Py_ssize_t i = 0; i < n; i++)
        if (lw_bind_any(r, PyTuple_GET_ITEM(tuple, i)) < 0)
            return -1;
    r->depth--;
    return 0;
}

int
lw_bind_hold(lw_bound *bound, PyObject *value)
{
    if (PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyBool_Check(value))
        return 0;
    if (bound->held == NULL && (bound->held = PyList_New(0)) == NULL)
        return -1;
    return PyList_Append(bound->held, value);
}

static int
put_items(lw_binder *r, PyObject *items)
{
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    const uint8_t key[] = {LW_KEY_LIST, (uint8_t)n};
    int result =
        lw_bind_hold(r->bound, items) < 0 ? -1 : lw_bind_key(r->bound, key, sizeof key);

    r->depth++;
    for (Py_ssize_t i = 0; result == 0 && i < n; i++)
        result = lw_bind_any(r, PyTuple_GET_ITEM(items, i));
    r->depth--;
    return result;
}

int
lw_bind_list(lw_binder *r, PyObject *list)
{
    PyObject *items = PyList_AsTuple(list);
    int result;

    if (items == NULL)
        return -1;
    result =
        PyTuple_GET_SIZE(items) > LW_MAX_UNROLL ? lw_bind_refuse(r, list) : put_items(r, items);
    Py_DECREF(items);
    return result;
}

bool
lw_bind_is_short_list(const lw_binder *r, PyObject *object)
{
    return PyList_Check(object) && r->self->gives_value && r->depth < MOST_DEPTH &&
           PyList_GET_SIZE(object) <= LW_MAX_UNROLL;
}

/* An integer that the type holds. */
static bool
read_integer(PyObject *value, lw_dtype to, lw_value *out)
{
    uint32_t unused = 64 - lw_dtypes[to].bits;
    PyObject *index = PyIndex_Check(value) ? PyNumber_Index(value) : NULL;
    lw_value wide = {0};
    bool fits = false;

    if (index != NULL && lw_is_signed(to)) {
        wide.i64 = PyLong_AsLongLong(index);
        fits = !PyErr_Occurred() && wide.i64 >= INT64_MIN >> unused &&
               wide.i64 <= INT64_MAX >> unused;
        lw_value_cast(&wide, LW_DT_i64, out, to);
    } else if (index != NULL) {
        wide.u64 = PyLong_AsUnsignedLongLong(index);
        fits = !PyErr_Occurred() && wide.u64 <= UINT64_MAX >> unused;
        lw_value_cast(&wide, LW_DT_u64, out, to);
    }
    Py_XDECREF(index);
    return fits;
}

static bool
read_number(PyObject *value, lw_dtype to, lw_value *out)
{
    lw_value wide = {0};

    if (to == LW_DT_b1) {
        out->bytes[0] = PyObject_IsTrue(value) == 1;
        return PyBool_Check(value) || PyArray_IsScalar(value, Bool);
    }
    if (lw_is_integer(to))
        return read_integer(value, to, out);
    if (lw_is_complex(to)) {
        Py_complex number = PyComplex_AsCComplex(value);
        wide.c128[0] = number.real;
        wide.c128[1] = number.imag;
        lw_value_cast(&wide, LW_DT_c128, out, to);
    } else {
        wide.f64 = PyFloat_AsDouble(value);
        lw_value_cast(&wide, LW_DT_f64, out, to);
    }
    return !PyErr_Occurred();
}

/* A field of a registered type. */
static int
put_registered(lw_binder *r, const lw_object_shape *shape, Py_ssize_t i, PyObject *value)
{
    lw_value number = {0};
    bool fits = read_number(value, shape->dtypes[i], &number);

    PyErr_Clear();
    return fits ? lw_bind_number(r, LW_KEY_SCALAR, shape->dtypes[i], &number)
                : lw_bind_refuse_registered(r, shape, i, value);
}

static int
put_field(lw_binder *r, PyObject *object, const lw_object_shape *shape, Py_ssize_t i)
{
    PyObject *value = lw_object_field(object, shape, i), *outer = r->field;
    int result = -1;

    if (value == NULL)
        return -1;
    r->field = PyTuple_GET_ITEM(shape->names, i);
    if (shape->is_container && value == Py_None)
        result = lw_bind_refuse_untyped(r, shape);
    else if (shape->dtypes[i] != LW_DT_void)
        result = put_registered(r, shape, i, value);
    else if (lw_bind_hold(r->bound, value) == 0)
        result = lw_bind_any(r, value);
    r->field = outer;
    Py_DECREF(value);
    return result;
}

int
lw_bind_object(lw_binder *r, PyObject *object, const lw_object_shape *shape)
{
    uint8_t key[1 + sizeof shape] = {LW_KEY_OBJECT};
    Py_ssize_t n = PyTuple_GET_SIZE(shape->names);

    if (r->depth == MOST_DEPTH)
        return lw_bind_refuse_layout(r, "objects nested more than 8 deep");
    memcpy(key + 1, &shape, sizeof shape);
    if (lw_bind_key(r->bound, key, sizeof key) < 0)
        return -1;
    r->bound->has_container |= shape->is_container;
    r->depth++;
    for (Py_ssize_t i = 0; i < n; i++)
        if (put_field(r, object, shape, i) < 0)
            return -1;
    r->depth--;
    return 0;
}
