/* Objects of the user's classes: which fields they have, in which order, and objects as
 * constants. One order holds for all objects of a class, wherever they were made: that of the
 * dataclass's fields, then of the names in `__init__` as the code object lists them, in those
 * of the base classes, then in the other methods. */
#include "core/front/read/classes/class_internal.h"

/* ---- the order of fields ---- */

static int
add_name(PyObject *order, PyObject *seen, PyObject *name)
{
    int known = PySet_Contains(seen, name);

    if (known != 0)
        return known < 0 ? -1 : 0;
    return PySet_Add(seen, name) < 0 ? -1 : PyList_Append(order, name);
}

static int
add_names_of(PyObject *order, PyObject *seen, PyObject *function)
{
    PyObject *names = PyObject_GetAttrString(PyFunction_GET_CODE(function), "co_names");
    int result = names ? 0 : -1;

    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(names); i++)
        result = add_name(order, seen, PyTuple_GET_ITEM(names, i));
    Py_XDECREF(names);
    return result;
}

/* Names that the functions of a class use; only_init: its `__init__` alone. */
static int
add_names_in(PyObject *order, PyObject *seen, PyTypeObject *type, bool only_init)
{
    PyObject *dict = lw_class_is_base(type) ? NULL : lw_class_dict(type);
    PyObject *items = dict ? PyDict_Items(dict) : NULL;
    lw_class_member_kind kind;
    int result = 0;

    for (Py_ssize_t i = 0; items && result == 0 && i < PyList_GET_SIZE(items); i++) {
        PyObject *name = PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 0);
        PyObject *raw = PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 1), *setter = NULL;
        PyObject *function = lw_class_code_in(raw, &kind);

        if (function == NULL || (only_init && !lw_class_text_is(name, "__init__")))
            continue;
        result = add_names_of(order, seen, function);
        if (kind == LW_MEMBER_PROPERTY)
            setter = PyObject_GetAttrString(raw, "fset");
        if (setter != NULL && PyFunction_Check(setter) && result == 0)
            result = add_names_of(order, seen, setter);
        Py_XDECREF(setter);
    }
    Py_XDECREF(items);
    Py_XDECREF(dict);
    return result;
}

static bool
is_field(PyObject *pair)
{
    PyObject *kind = PyObject_GetAttrString(PyTuple_GET_ITEM(pair, 1), "_field_type");
    PyObject *name = kind ? PyObject_GetAttrString(kind, "name") : NULL;
    bool is = lw_class_text_is(name, "_FIELD");

    Py_XDECREF(kind);
    Py_XDECREF(name);
    lw_read_clear();
    return is;
}

static int
add_dataclass_fields(PyObject *order, PyObject *seen, PyObject *object)
{
    PyObject *fields = lw_class_dataclass_fields(object);
    PyObject *items = fields ? PyDict_Items(fields) : NULL;
    int result = 0;

    for (Py_ssize_t i = 0; items && result == 0 && i < PyList_GET_SIZE(items); i++)
        if (is_field(PyList_GET_ITEM(items, i)))
            result = add_name(order, seen, PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 0));
    Py_XDECREF(fields);
    Py_XDECREF(items);
    return result;
}

PyObject *
lw_class_order(PyObject *object)
{
    PyObject *mro = ((PyTypeObject *)object)->tp_mro;
    PyObject *order = PyList_New(0), *seen = PySet_New(NULL);
    int result = order && seen ? add_dataclass_fields(order, seen, object) : -1;

    for (int pass = 0; pass < 2; pass++)
        for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(mro); i++)
            result =
                add_names_in(order, seen, (PyTypeObject *)PyTuple_GET_ITEM(mro, i), pass == 0);
    Py_XDECREF(seen);
    if (result < 0)
        Py_CLEAR(order);
    return order;
}

static bool
has_dict(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030B0000
    if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT)
        return true;
#endif
    return type->tp_dictoffset != 0;
}

PyObject *
lw_class_slots(PyObject *object)
{
    PyTypeObject *type = (PyTypeObject *)object;
    PyObject *slots;

    if (has_dict(type) || (slots = PyList_New(0)) == NULL)
        return NULL;
    for (Py_ssize_t i = 0; slots && i < PyTuple_GET_SIZE(type->tp_mro); i++) {
        PyTypeObject *one = (PyTypeObject *)PyTuple_GET_ITEM(type->tp_mro, i);
        PyObject *dict = lw_class_is_base(one) ? NULL : lw_class_dict(one);
        PyObject *items = dict ? PyDict_Items(dict) : NULL;

        for (Py_ssize_t k = 0; slots && items && k < PyList_GET_SIZE(items); k++) {
            PyObject *pair = PyList_GET_ITEM(items, k);
            if (Py_TYPE(PyTuple_GET_ITEM(pair, 1)) == &PyMemberDescr_Type &&
                PyList_Append(slots, PyTuple_GET_ITEM(pair, 0)) < 0)
                Py_CLEAR(slots);
        }
        if (items == NULL && !lw_class_is_base(one))
            Py_CLEAR(slots);
        Py_XDECREF(items);
        Py_XDECREF(dict);
    }
    return slots;
}

/* ---- the fields of an object ---- */

/* Whether an object of a class with `__slots__` has a value in this one. */
static bool
has_slot(PyObject *object, PyObject *name)
{
    PyObject *raw = _PyType_Lookup(Py_TYPE(object), name), *value = NULL;

    if (raw != NULL && Py_TYPE(raw) == &PyMemberDescr_Type)
        value = PyObject_GetAttr(object, name);
    lw_read_clear();
    Py_XDECREF(value);
    return value != NULL;
}

/* The names of the fields that the object has, in the order of its class (a new list). NULL: it
 * has others, which no method of the class names. */
static PyObject *
names_by_order(PyObject *object)
{
    PyObject *dict = PyObject_GenericGetDict(object, NULL), *result = PyList_New(0);
    PyObject *order;
    Py_ssize_t in_dict = 0;

    lw_read_clear();
    order = lw_class_order((PyObject *)Py_TYPE(object));
    for (Py_ssize_t i = 0; result && order && i < PyList_GET_SIZE(order); i++) {
        PyObject *name = PyList_GET_ITEM(order, i);
        bool is_in = dict && PyDict_Contains(dict, name) == 1;
        in_dict += is_in;
        if ((is_in || has_slot(object, name)) && PyList_Append(result, name) < 0)
            Py_CLEAR(result);
    }
    if (result && (order == NULL || (dict && in_dict != PyDict_GET_SIZE(dict))))
        Py_CLEAR(result);
    Py_XDECREF(dict);
    Py_XDECREF(order);
    lw_read_clear();
    return result;
}

/* The names of the dataclass's fields (a new list); compiled code knows no others. */
static PyObject *
names_by_fields(PyObject *object)
{
    PyObject *result = PyList_New(0), *seen = PySet_New(NULL);

    if (result && (seen == NULL || add_dataclass_fields(result, seen, object) < 0))
        Py_CLEAR(result);
    Py_XDECREF(seen);
    lw_read_clear();
    return result;
}

/* Whether objects have the fields of the dataclass, neither more nor fewer. */
static bool
has_fixed_fields(PyObject *type)
{
    PyObject *fields = lw_class_dataclass_fields(type);

    Py_XDECREF(fields);
    return fields != NULL && lw_class_written_init(type) == NULL &&
           !lw_class_defines(type, "__post_init__");
}

static PyObject *
names_of_object(PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object);

    return has_fixed_fields(type) ? names_by_fields(type) : names_by_order(object);
}

PyObject *
lw_read_object_fields(PyObject *object, bool *by_dict)
{
    PyObject *type = (PyObject *)Py_TYPE(object), *list, *names;

    if (!lw_class_is_readable(type) || lw_class_is_namedtuple(type))
        return NULL;
    list = names_of_object(object);
    names = list ? PyList_AsTuple(list) : NULL;
    *by_dict = !has_fixed_fields(type);
    Py_XDECREF(list);
    lw_read_clear();
    return names;
}

PyObject *
lw_read_unknown_field(PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object), *dict, *order, *found = NULL, *name;
    Py_ssize_t at = 0;

    if (!lw_class_is_readable(type))
        return NULL;
    dict = PyObject_GenericGetDict(object, NULL);
    order = dict ? lw_class_order(type) : NULL;
    while (order && !found && PyDict_Next(dict, &at, &name, NULL))
        if (PySequence_Contains(order, name) == 0)
            found = Py_NewRef(name);
    Py_XDECREF(order);
    Py_XDECREF(dict);
    lw_read_clear();
    return found;
}

/* ---- objects as constants ---- */

static bool
is_value(lw_reader *r, PyObject *object)
{
    return lw_fold_is_basic(object) || lw_read_is_numpy(r, object, "generic");
}

/* The values of the fields (a new tuple), or NULL: one of them is no number or text. */
static PyObject *
values_of_object(lw_reader *r, PyObject *object, PyObject *names)
{
    PyObject *values = PyTuple_New(PyList_GET_SIZE(names));
    bool ok = values != NULL;

    for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(names); i++) {
        PyObject *value = PyObject_GetAttr(object, PyList_GET_ITEM(names, i));
        ok = value != NULL && is_value(r, value);
        if (value != NULL)
            PyTuple_SET_ITEM(values, i, value);
    }
    lw_read_clear();
    if (!ok)
        Py_CLEAR(values);
    return values;
}

uint32_t
lw_read_user_object(lw_reader *r, PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object), *names, *values, *value;
    lw_constant constant = {.kind = LW_K_TUPLE};
    const char **texts;
    uint32_t *items, class;

    if (!lw_class_is_readable(type) || lw_class_is_namedtuple(type) ||
        (names = names_of_object(object)) == NULL)
        return 0;
    constant.n = (uint32_t)PyList_GET_SIZE(names);
    texts = lw_arena_take(&r->tree->arena, (constant.n + 1) * sizeof *texts);
    items = lw_arena_take(&r->tree->arena, (constant.n + 1) * sizeof *items);
    values = values_of_object(r, object, names);
    if (values == NULL) {
        Py_DECREF(names);
        return 0;
    }
    if (texts == NULL || items == NULL) {
        Py_DECREF(names);
        Py_DECREF(values);
        return lw_read_no_memory(r);
    }
    for (uint32_t i = 0; i < constant.n; i++) {
        PyObject *name = PyList_GET_ITEM(names, i);
        value = PyTuple_GET_ITEM(values, i);
        texts[i] = lw_read_str(r, name);
        if (lw_captures_add_attribute(r->captures, object, name, value) < 0)
            lw_read_failed(r);
        items[i] = lw_read_captured(r, object, name, value);
    }
    class = r->status == LW_OK ? lw_read_class_of_objects(r, type) : 0;
    Py_DECREF(names);
    Py_DECREF(values);
    if (class == 0 || r->tree->constants.data[class].kind != LW_K_CLASS)
        return 0;
    constant.items = items;
    constant.names = texts;
    constant.user_class = r->tree->constants.data[class].user_class;
    constant.text = constant.user_class->name;
    return lw_read_push(r, object, constant);
}
