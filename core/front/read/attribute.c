/* Attributes of frozen objects: which of them are constants of the program, and which need a
 * guard. Also which objects are accepted as annotations. */
#include "core/front/read/read_internal.h"
#include "core/front/signature.h"

#include <string.h>

/* Modules whose contents programs do not change: reading their attributes needs no guard, which
 * saves time in each call. */
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

/* Which attributes of a value are known when it is read: the parts of a number, its methods
 * that are folded, the fields of a namedtuple, the shape of a table. Inference handles the
 * others. */
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
    if (PyUnicode_Check(object))
        return lw_fold_is_method(object, text);
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

/* A property runs code of its own at each access, so that there is nothing to freeze. */
static bool
is_property(PyObject *object, PyObject *name)
{
    PyObject *raw = PyType_Check(object) ? NULL : _PyType_Lookup(Py_TYPE(object), name);

    return raw != NULL && PyObject_TypeCheck(raw, &PyProperty_Type);
}

int
lw_read_attribute(lw_reader *r, PyObject *object, PyObject *name, PyObject **out)
{
    bool is_own;
    int result;

    *out = NULL;
    if (lw_read_is_limits(r, object)) {
        *out = PyObject_GetAttr(object, name);
        return found_or_missing(*out);
    }
    is_own = is_value(r, object) && is_value_attribute(r, object, name);
    if (is_own || (is_value(r, object) && !lw_fold_is_member(object))) {
        if (!is_own)
            return 0;
        *out = PyObject_GetAttr(object, name);
        return found_or_missing(*out) == 2 ? 0 : 1;
    }
    if ((is_property(object, name) && !lw_fold_is_member(object)) ||
        lw_read_is_struct(r, object))
        return 0;
    *out = PyObject_GetAttr(object, name);
    result = found_or_missing(*out);
    if (result == 2 && lw_read_is_overloaded_name(r, name))
        return 0;
    if (result == 1 && guarded_attribute(r, object, name, *out) < 0)
        result = -1;
    if (result < 0) {
        Py_CLEAR(*out);
        lw_read_failed(r);
    }
    return result;
}

/* ---- annotations ---- */

/* A name that only newer versions of Python have; NULL: none. */
static const char *
newer_name(const char *module, const char *word)
{
    if (strcmp(module, "math") == 0 && strcmp(word, "fma") == 0)
        return "Python has `math.fma` from 3.13 on; `lanewise.cuda.fma(x, y, z)` is the same "
               "function, on CPUs and GPUs";
    return NULL;
}

uint32_t
lw_read_missing_attribute(lw_reader *r, PyObject *node, PyObject *object, PyObject *name)
{
    PyObject *keys = PyObject_Dir(object);
    Py_ssize_t n = keys ? PyList_GET_SIZE(keys) : 0;
    const char **names = lw_alloc(((size_t)n + 1) * sizeof *names), *near = NULL;
    const char *word = PyUnicode_AsUTF8(name);
    const char *owner = PyModule_Check(object) ? PyModule_GetName(object) : NULL;
    bool group = strcmp(Py_TYPE(object)->tp_name, "lanewise._core.IntrinsicGroup") == 0;
    PyObject *path = group ? PyObject_GetAttrString(object, "__qualname__") : NULL;
    uint32_t n_names = 0, result;
    const char *near_help = NULL;
    char help[160], group_name[80];

    for (Py_ssize_t i = 0; names && i < n; i++) {
        const char *text = PyUnicode_AsUTF8(PyList_GET_ITEM(keys, i));
        if (text != NULL)
            names[n_names++] = text;
    }
    lw_read_clear();
    if (names != NULL && word != NULL)
        near = lw_nearest(word, names, n_names);
    if (near == NULL && owner != NULL && word != NULL)
        near_help = newer_name(owner, word);
    snprintf(help, sizeof help, "did you mean `%.100s`?", near ? near : "");
    if (path != NULL) {
        snprintf(group_name, sizeof group_name, "cuda.%.60s", PyUnicode_AsUTF8(path));
        owner = group_name;
    }
    if (owner == NULL || group)
        lw_read_clear();
    result = lw_read_error(r, node,
                           (lw_fault){LW_ERR_TYPING, "E150", .help = near ? help : near_help},
                           "%s`%.100s` has no attribute `%.100s`",
                           group   ? ""
                           : owner ? "module "
                                   : "type ",
                           owner ? owner : Py_TYPE(object)->tp_name, word ? word : "?");
    Py_XDECREF(path);
    lw_free(names);
    Py_XDECREF(keys);
    return result;
}

static bool
is_type_constant(const lw_reader *r, uint32_t constant)
{
    const lw_constant *k = &r->tree->constants.data[constant];

    if (k->kind == LW_K_DTYPE || k->kind == LW_K_PYTYPE || k->kind == LW_K_NONE)
        return true;
    if (k->kind != LW_K_TUPLE || k->n == 0)
        return false;
    for (uint32_t i = 0; i < k->n; i++)
        if (!is_type_constant(r, k->items[i]))
            return false;
    return true;
}

uint32_t
lw_read_tuple_type(lw_reader *r, const uint32_t *types, uint32_t n)
{
    uint32_t *items = lw_arena_take(&r->tree->arena, (n + 1) * sizeof *items);

    if (items == NULL)
        return lw_read_no_memory(r);
    memcpy(items, types, n * sizeof *items);
    return lw_read_push(r, NULL, (lw_constant){.kind = LW_K_TUPLE, .n = n, .items = items});
}

/* A type, from what the parser of signatures has read; 0 and status OK: it is neither a number
 * nor a tuple of numbers. */
static uint32_t
constant_of_type(lw_reader *r, const lw_sig_type *type)
{
    uint32_t items[LW_READ_MOST_ITEMS], n = 0;

    if (type->kind == LW_SIG_SCALAR)
        return lw_read_push_dtype(r, NULL, type->dtype);
    if (type->kind != LW_SIG_TUPLE || type->n == 0 || type->n > LW_READ_MOST_ITEMS)
        return 0;
    for (; n < type->n; n++) {
        items[n] = constant_of_type(r, &type->items[n]);
        if (items[n] == 0)
            return 0;
    }
    return lw_read_tuple_type(r, items, n);
}

uint32_t
lw_read_type_text(lw_reader *r, const char *text)
{
    lw_sig_type type;
    lw_error err = {0};
    lw_arena arena;
    uint32_t constant = 0;

    lw_arena_init(&arena);
    if (lw_signature_parse_type(text, &arena, &type, &err) == LW_OK)
        constant = constant_of_type(r, &type);
    lw_arena_reset(&arena);
    return constant;
}

/* tuple[float32, int64], typing.Tuple of them, and a type object of ours that is not a number,
 * as types.Tuple makes them. 0 and status OK: none of these. */
static uint32_t
from_generic(lw_reader *r, PyObject *annotation)
{
    PyObject *origin = PyObject_GetAttrString(annotation, "__origin__");
    PyObject *args = origin == (PyObject *)&PyTuple_Type
                         ? PyObject_GetAttrString(annotation, "__args__")
                         : NULL;
    PyObject *text = strcmp(Py_TYPE(annotation)->tp_name, "lanewise._core.CoreType") == 0
                         ? PyObject_Str(annotation)
                         : NULL;
    const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
    uint32_t constant = 0;

    lw_read_clear();
    if (args != NULL && PyTuple_Check(args))
        constant = lw_read_constant(r, args);
    else if (utf8 != NULL)
        constant = lw_read_type_text(r, utf8);
    Py_XDECREF(origin);
    Py_XDECREF(args);
    Py_XDECREF(text);
    return constant;
}

uint32_t
lw_read_annotation(lw_reader *r, PyObject *annotation)
{
    uint32_t constant;

    if (PyUnicode_Check(annotation) || PyFunction_Check(annotation))
        return 0;
    constant = from_generic(r, annotation);
    if (constant == 0 && r->status == LW_OK)
        constant = lw_read_constant(r, annotation);
    return constant && is_type_constant(r, constant) ? constant : 0;
}
