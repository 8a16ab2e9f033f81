/* Folding of what has no value at run time: members of enum classes, texts, items of dicts. All
 * is computed with Python's own objects, as fold.c does with numbers. */
#include "core/front/read/read_internal.h"

#include <string.h>

/* Characters that one field of a format may ask for: "{:>1000000000}" would be a constant of a
 * gigabyte. */
enum { MAX_WIDTH = 4096 };

/* ---- members ---- */

bool
lw_fold_is_enum(PyObject *x)
{
    PyObject *members = PyType_Check(x) ? PyObject_GetAttrString(x, "_member_map_") : NULL;
    bool result = members != NULL && PyDict_Check(members) && PyDict_GET_SIZE(members) > 0;

    Py_XDECREF(members);
    if (PyErr_Occurred())
        lw_read_clear();
    return result;
}

bool
lw_fold_is_member(PyObject *x)
{
    return !PyLong_CheckExact(x) && !PyFloat_CheckExact(x) && !PyUnicode_CheckExact(x) &&
           !PyTuple_CheckExact(x) && lw_fold_is_enum((PyObject *)Py_TYPE(x));
}

PyObject *
lw_fold_isinstance(PyObject *x, PyObject *classes)
{
    bool is_static = x == Py_None || PyUnicode_Check(x) || lw_fold_is_member(x);
    int result = is_static ? PyObject_IsInstance(x, classes) : -1;

    if (result < 0 && PyErr_Occurred())
        lw_read_clear();
    return result < 0 ? NULL : PyBool_FromLong(result);
}

/* ---- texts ---- */

bool
lw_fold_is_text_method(const char *name)
{
    static const char *const methods[] = {
        "capitalize", "casefold", "count",   "endswith", "find",         "format",
        "index",      "isalnum",  "isalpha", "isascii",  "isdecimal",    "isdigit",
        "islower",    "isspace",  "isupper", "lower",    "lstrip",       "removeprefix",
        "replace",    "rfind",    "rindex",  "rstrip",   "removesuffix", "startswith",
        "strip",      "swapcase", "title",   "upper"};

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(name, methods[i]) == 0)
            return true;
    return false;
}

/* Widths that are arguments themselves are not folded: "%*d", "{:{}}". */
bool
lw_fold_fits_format(PyObject *format, PyObject *argument)
{
    const char *text = PyUnicode_AsUTF8(format);
    bool open = false, nested = text == NULL || strstr(text, "*") != NULL;

    lw_read_clear();
    for (; !nested && *text; text++) {
        bool twice = open && text[-1] == '{'; /* a brace of the text itself */
        nested = open && *text == '{' && !twice;
        open = *text == '{' ? !twice : open && *text != '}';
    }
    return argument != NULL && lw_fold_is_basic(argument) && !nested &&
           lw_fold_width(format) <= MAX_WIDTH;
}

static PyObject *
bound_of(lw_reader *r, uint32_t node)
{
    return node ? lw_read_object(r, node) : Py_None;
}

PyObject *
lw_fold_text_slice(lw_reader *r, PyObject *text, uint32_t slice)
{
    const lw_node *node = &r->tree->nodes.data[slice];
    PyObject *lower, *upper, *step, *key, *result;

    if (text == NULL || !PyUnicode_Check(text) || node->kind != LW_NODE_SLICE)
        return NULL;
    lower = bound_of(r, node->a);
    upper = bound_of(r, node->b);
    step = bound_of(r, node->c);
    if (lower == NULL || upper == NULL || step == NULL)
        return NULL;
    key = PySlice_New(lower, upper, step);
    result = key ? PyObject_GetItem(text, key) : NULL;
    Py_XDECREF(key);
    if (result == NULL)
        lw_read_clear();
    return result;
}

/* ---- dicts ---- */

/* The item of a captured dict may be replaced, removed or added later, so that it is guarded
 * like a name. 1: found, 0: absent, -1: stop, or the key is not constant. */
static int
guarded_item(lw_reader *r, PyObject *dict, PyObject *key, PyObject **out)
{
    *out = lw_fold_is_basic(key) ? lw_dict_item(dict, key) : NULL;
    if (!lw_fold_is_basic(key) || PyErr_Occurred()) {
        lw_read_clear();
        return -1;
    }
    if (lw_captures_add_name(r->captures, dict, key, *out) < 0) {
        Py_CLEAR(*out);
        lw_read_failed(r);
        return -1;
    }
    return *out != NULL;
}

PyObject *
lw_fold_item(lw_reader *r, PyObject *object, PyObject *index)
{
    PyObject *item = NULL;

    if (object == NULL || index == NULL || !PyDict_CheckExact(object))
        return lw_fold_subscript(object, index);
    return guarded_item(r, object, index, &item) == 1 ? item : NULL;
}

PyObject *
lw_fold_in_dict(lw_reader *r, PyObject *key, PyObject *dict)
{
    PyObject *item = NULL;
    int found = key && dict && PyDict_CheckExact(dict) ? guarded_item(r, dict, key, &item) : -1;

    Py_XDECREF(item);
    return found < 0 ? NULL : PyBool_FromLong(found);
}

PyObject *
lw_fold_get(lw_reader *r, PyObject *callee, PyObject *const *args, uint32_t n)
{
    PyObject *dict = PyCFunction_Check(callee) ? PyCFunction_GET_SELF(callee) : NULL;
    PyObject *item = NULL;
    int found = -1;

    if (dict != NULL && PyDict_CheckExact(dict) && (n == 1 || n == 2) &&
        strcmp(((PyCFunctionObject *)callee)->m_ml->ml_name, "get") == 0)
        found = guarded_item(r, dict, args[0], &item);
    if (found == 0)
        item = Py_NewRef(n == 2 ? args[1] : Py_None);
    return item;
}
