/* Captured numbers that are operands of the code (core/front/varying.h): which names these are,
 * and the numbers that they are bound to now. A guard whose number has become an operand does
 * not count as changed if the operand can take the new one; the check of each call passes it
 * on. */
#include "core/front/read/captures/captures_internal.h"

#include <string.h>

static bool
is_number(PyObject *object)
{
    return object != NULL &&
           (PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
            PyComplex_CheckExact(object) || lw_is_numpy_number(object));
}

/* The number in the bytes of a NumPy scalar. */
static bool
from_bytes(const void *bytes, lw_constant *k)
{
    const lw_dtype_row *row = &lw_dtypes[k->dtype];
    float single[2];
    double two[2];
    unsigned spare = 64u - row->bits;

    switch (row->kind) {
    case LW_KIND_BOOL:
    case LW_KIND_INT:
    case LW_KIND_UINT:
        memcpy(&k->u, bytes, row->size_bytes);
        if (row->kind == LW_KIND_INT)
            k->i = (int64_t)(k->u << spare) >> spare;
        return true;
    case LW_KIND_FLOAT:
    case LW_KIND_COMPLEX:
        if (row->parts == LW_DT_f32)
            memcpy(single, bytes, row->size_bytes);
        else if (row->parts == LW_DT_f64)
            memcpy(two, bytes, row->size_bytes);
        else
            return false;
        k->d = row->parts == LW_DT_f32 ? (double)single[0] : two[0];
        if (row->kind == LW_KIND_COMPLEX)
            k->im = row->parts == LW_DT_f32 ? (double)single[1] : two[1];
        return true;
    default: return false;
    }
}

static bool
from_scalar(PyObject *object, lw_constant *k)
{
    Py_buffer view;
    bool known = false;

    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) == 0) {
        known =
            view.len == (Py_ssize_t)lw_dtypes[k->dtype].size_bytes && from_bytes(view.buf, k);
        PyBuffer_Release(&view);
    } else {
        lw_read_clear();
    }
    if (!known && lw_is_float(k->dtype)) { /* of 16 bits */
        k->d = PyFloat_AsDouble(object);
        known = k->d != -1.0 || !PyErr_Occurred();
        if (!known)
            lw_read_clear();
    }
    return known;
}

/* The number as a constant of the same kind as the one that was captured. */
static bool
number_of(const guard *g, PyObject *now, lw_constant *k)
{
    Py_complex both;
    int overflow = 0;

    *k = lw_varying_like(g->varying);
    if (Py_TYPE(now) != Py_TYPE(g->value))
        return false;
    switch (k->kind) {
    case LW_K_BOOL: k->i = now == Py_True; return true;
    case LW_K_INT: k->i = PyLong_AsLongLongAndOverflow(now, &overflow); return overflow == 0;
    case LW_K_FLOAT: k->d = PyFloat_AS_DOUBLE(now); return true;
    case LW_K_COMPLEX:
        both = PyComplex_AsCComplex(now);
        k->d = both.real;
        k->im = both.imag;
        return true;
    default: return from_scalar(now, k);
    }
}

bool
lw_guard_takes(const guard *g, PyObject *now)
{
    lw_constant value;

    return now != NULL && number_of(g, now, &value) && lw_varying_set(g->varying, &value);
}

/* While objects are made anew: dict (id of the space, name or None) -> space. */
static _Thread_local PyObject *operands;

PyObject *
lw_captures_operands(PyObject *names)
{
    PyObject *outer = operands;

    operands = names;
    return outer;
}

static PyObject *
operand_key(PyObject *space, PyObject *name)
{
    return Py_BuildValue("(nO)", (Py_ssize_t)space, name ? name : Py_None);
}

bool
lw_captures_is_operand(PyObject *space, PyObject *name, PyObject *value)
{
    PyObject *key;
    int is;

    if (operands == NULL || !is_number(value))
        return false;
    key = operand_key(space, name);
    is = key ? PyDict_Contains(operands, key) : -1;
    Py_XDECREF(key);
    if (is < 0)
        lw_read_clear();
    return is == 1;
}

static guard *
guard_of(lw_captures *captures, PyObject *space, PyObject *name)
{
    for (uint32_t i = 0; i < captures->guards.n; i++) {
        guard *g = &captures->guards.data[i];
        bool has_name = g->kind == GUARD_DICT || g->kind == GUARD_ATTRIBUTE;
        if (g->space == space &&
            (name == NULL ? g->kind == GUARD_CELL
                          : has_name && PyObject_RichCompareBool(g->name, name, Py_EQ) == 1))
            return g;
    }
    return NULL;
}

uint32_t
lw_captures_operand(lw_captures *captures, PyObject *space, PyObject *name)
{
    const guard *g = guard_of(captures, space, name);

    return g && g->varying ? g->constant : 0;
}

void
lw_captures_set_operand(lw_captures *captures, PyObject *space, PyObject *name,
                        lw_varying *varying, uint32_t constant)
{
    guard *g = guard_of(captures, space, name);

    if (g != NULL) {
        g->varying = varying;
        g->constant = constant;
    }
}

/* Adds the name of a guard to a dict as above; 1 if it is new. */
static int
add_operand(const guard *g, PyObject *names)
{
    PyObject *key = operand_key(g->space, g->kind == GUARD_CELL ? NULL : g->name);
    int known = key ? PyDict_Contains(names, key) : -1;

    if (known == 0 && PyDict_SetItem(names, key, g->space) < 0)
        known = -1;
    Py_XDECREF(key);
    return known < 0 ? -1 : !known;
}

static bool
is_of_operand(guard *g, bool pinned)
{
    PyObject *now;
    bool is;

    if (pinned)
        return g->varying != NULL && lw_varying_is_pinned(g->varying);
    if (g->kind != GUARD_DICT && g->kind != GUARD_CELL && g->kind != GUARD_ATTRIBUTE)
        return false;
    if (!is_number(g->value) || !lw_guard_has_changed(g))
        return false;
    now = lw_guard_value(g);
    is = is_number(now);
    Py_XDECREF(now);
    return is;
}

/* What a message calls it. */
static PyObject *
text_of_guard(const guard *g)
{
    return g->name && PyUnicode_Check(g->name) ? Py_NewRef(g->name)
                                               : PyUnicode_FromString("a variable");
}

int
lw_captures_find_operands(lw_captures *captures, bool pinned, PyObject *without,
                          PyObject *names, PyObject **first)
{
    for (; captures != NULL; captures = lw_captures_after(captures))
        for (uint32_t i = 0; i < captures->guards.n; i++) {
            guard *g = &captures->guards.data[i];
            PyObject *key = NULL;
            int skip = 0, added;
            if (!is_of_operand(g, pinned))
                continue;
            if (without != NULL) {
                key = operand_key(g->space, g->kind == GUARD_CELL ? NULL : g->name);
                skip = key ? PyDict_Contains(without, key) : -1;
                Py_XDECREF(key);
            }
            added = skip == 0 ? add_operand(g, names) : skip < 0 ? -1 : 0;
            if (added < 0)
                return -1;
            if (added == 1 && *first == NULL && (*first = text_of_guard(g)) == NULL)
                return -1;
        }
    return 0;
}
