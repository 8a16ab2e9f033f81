/* Attributes of frozen objects, and which objects may annotate. */
#include "core/front/read/read_internal.h"

#include <string.h>

/* Modules whose contents do not change under a program: no guard, for speed. */
static bool
is_stable_module(PyObject *module)
{
    static const char *const names[] = {"math",           "cmath",        "numpy",
                                        "builtins",       "operator",     "lanewise",
                                        "lanewise.types", "lanewise.cuda"};
    const char *name = PyModule_GetName(module);

    if (name == NULL)
        lw_read_clear();
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int
found_or_missing(PyObject *value)
{
    if (value != NULL)
        return 1;
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    lw_read_clear();
    return 2;
}

static int
guarded_attribute(lw_reader *r, PyObject *object, PyObject *name, PyObject *value)
{
    int result = 0;

    if (PyModule_Check(object)) {
        if (!is_stable_module(object))
            result = lw_captures_add_name(r->captures, PyModule_GetDict(object), name, value);
    } else if (!PyCFunction_Check(value) && !PyMethod_Check(value) &&
               strcmp(Py_TYPE(object)->tp_name, "lanewise._core.IntrinsicGroup") != 0) {
        result = lw_captures_add_attribute(r->captures, object, name, value);
    }
    return result;
}

/* What attributes of a value are known when reading: the parts of a number, its methods that
 * are folded, the fields of a namedtuple, the shape of a table. The rest is left to inference.
 */
static bool
is_value_attribute(lw_reader *r, PyObject *object, PyObject *name)
{
    static const char *const table_names[] = {"shape", "ndim",     "size",
                                              "dtype", "itemsize", "nbytes"};
    const char *text = PyUnicode_AsUTF8(name);
    PyObject *fields;
    int has;

    if (text == NULL)
        return false;
    if (PyLong_Check(object) || PyFloat_CheckExact(object) || PyComplex_CheckExact(object))
        return strcmp(text, "real") == 0 || strcmp(text, "imag") == 0 ||
               strcmp(text, "value") == 0 || strcmp(text, "name") == 0 ||
               lw_fold_is_method(object, text);
    fields = lw_read_field_names((PyObject *)Py_TYPE(object));
    if (fields != NULL) {
        has = PySequence_Contains(fields, name);
        Py_DECREF(fields);
        return has == 1;
    }
    if (lw_read_is_numpy(r, object, "ndarray") || lw_read_is_numpy(r, object, "generic"))
        for (size_t i = 0; i < sizeof table_names / sizeof *table_names; i++)
            if (strcmp(text, table_names[i]) == 0)
                return true;
    return false;
}

static bool
is_value(lw_reader *r, PyObject *object)
{
    return object == Py_None || PyLong_Check(object) || PyFloat_Check(object) ||
           PyComplex_Check(object) || PyUnicode_Check(object) || PyTuple_Check(object) ||
           PyList_Check(object) || lw_read_is_numpy(r, object, "ndarray") ||
           lw_read_is_numpy(r, object, "generic");
}

/* A property runs code of its own at each read: nothing to freeze. */
static bool
is_property(PyObject *object, PyObject *name)
{
    PyObject *raw = PyType_Check(object) ? NULL : _PyType_Lookup(Py_TYPE(object), name);

    return raw != NULL && PyObject_TypeCheck(raw, &PyProperty_Type);
}

int
lw_read_attribute(lw_reader *r, PyObject *object, PyObject *name, PyObject **out)
{
    int result;

    *out = NULL;
    if (lw_read_is_limits(r, object)) {
        *out = PyObject_GetAttr(object, name);
        return found_or_missing(*out);
    }
    if (is_value(r, object)) {
        if (!is_value_attribute(r, object, name))
            return 0;
        *out = PyObject_GetAttr(object, name);
        return found_or_missing(*out) == 2 ? 0 : 1;
    }
    if (is_property(object, name) &&
        !PyObject_HasAttrString((PyObject *)Py_TYPE(object), "_member_map_"))
        return 0;
    *out = PyObject_GetAttr(object, name);
    result = found_or_missing(*out);
    if (result == 1 && guarded_attribute(r, object, name, *out) < 0)
        result = -1;
    if (result < 0) {
        Py_CLEAR(*out);
        lw_read_failed(r);
    }
    return result;
}

/* ---- annotations ---- */

static bool
is_type_konst(const lw_reader *r, uint32_t konst)
{
    const lw_konst *k = &r->tree->konsts.data[konst];

    if (k->kind == LW_K_DTYPE || k->kind == LW_K_PYTYPE || k->kind == LW_K_NONE)
        return true;
    if (k->kind != LW_K_TUPLE || k->n == 0)
        return false;
    for (uint32_t i = 0; i < k->n; i++)
        if (!is_type_konst(r, k->items[i]))
            return false;
    return true;
}

uint32_t
lw_read_annotation(lw_reader *r, PyObject *annotation)
{
    uint32_t konst;

    if (PyUnicode_Check(annotation) || PyFunction_Check(annotation))
        return 0;
    konst = lw_read_konst(r, annotation);
    return konst && is_type_konst(r, konst) ? konst : 0;
}
