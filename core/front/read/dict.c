/* Dicts from outside of a function, where a key is known only when the function runs: `D[key]`
 * and `D.get(key, default)` are calls of the functions of lanewise/_dicts.py, which compare the
 * key with those of the dict one by one, and `key in D` looks into the tuple of its keys. For
 * loops and functions such as `len`, tuples of its keys, values and items stand for it. All
 * items are constants, and the captures compare them in each call. Items whose keys are known
 * to the reader are folded instead (fold_static.c), and captured alone. */
#include "core/front/read/read_internal.h"
#include "core/front/read/services.h"

#include "core/front/typed.h"

#include <string.h>

/* A tuple of the items of the list, which is released; NULL: an item is no value that can be
 * chosen at run time, or, with an exception, there is no memory. */
static PyObject *
items_of(PyObject *list)
{
    PyObject *items = list ? PyList_AsTuple(list) : NULL;

    Py_XDECREF(list);
    for (Py_ssize_t i = 0; items != NULL && i < PyTuple_GET_SIZE(items); i++)
        if (!lw_fold_is_basic(PyTuple_GET_ITEM(items, i)))
            Py_CLEAR(items);
    return items;
}

/* Where the nodes go of the constant tuples of a dict's keys, values and items; NULL: they are
 * not wanted. */
typedef struct parts {
    uint32_t *keys, *values, *pairs;
} parts;

/* Makes the node of a tuple, which is released. */
static bool
read_part(lw_reader *r, PyObject *items, uint32_t loc, uint32_t *node)
{
    if (items == NULL)
        return false;
    *node = lw_read_folded(r, items, loc);
    return *node != 0;
}

static bool
read_parts(lw_reader *r, PyObject *dict, PyObject *copy, uint32_t loc, const parts *wanted)
{
    PyObject *keys = items_of(PyDict_Keys(copy)), *pairs = NULL, *values = NULL;
    bool known = keys != NULL;

    if (known && wanted->values != NULL)
        known = (values = items_of(PyDict_Values(copy))) != NULL;
    if (known && wanted->pairs != NULL)
        known = (pairs = items_of(PyDict_Items(copy))) != NULL;
    if (PyErr_Occurred() || (known && lw_captures_add_dict(r->captures, dict, copy) < 0)) {
        lw_read_failed(r);
        known = false;
    }
    if (!known) {
        Py_XDECREF(keys);
        Py_XDECREF(values);
        Py_XDECREF(pairs);
        return false;
    }
    known = read_part(r, keys, loc, wanted->keys);
    if (values != NULL)
        known = read_part(r, values, loc, wanted->values) && known;
    if (pairs != NULL)
        known = read_part(r, pairs, loc, wanted->pairs) && known;
    return known;
}

/* false: it is no such dict, or, as the reader's status says, something failed. */
static bool
read_items(lw_reader *r, PyObject *dict, uint32_t loc, const parts *wanted)
{
    bool known = dict != NULL && PyDict_CheckExact(dict);
    Py_ssize_t n = known ? PyDict_GET_SIZE(dict) : 0;
    PyObject *copy;

    if (n == 0 || n > LW_MAX_UNROLL)
        return false;
    copy = PyDict_Copy(dict); /* another thread may change it */
    if (copy == NULL) {
        lw_read_failed(r);
        return false;
    }
    known = read_parts(r, dict, copy, loc, wanted);
    Py_DECREF(copy);
    return known;
}

/* A call of this function of lanewise/_dicts.py. */
static uint32_t
call_of(lw_reader *r, const char *name, const uint32_t *args, uint32_t n, uint32_t loc)
{
    PyObject *function = lw_service_find(LW_SERVICE_DICTS, name);
    uint32_t callee;

    if (function == NULL)
        return lw_read_failed(r);
    callee = lw_read_folded(r, function, loc);
    return callee
               ? lw_read_list_node(r, (lw_node){LW_NODE_CALL, .loc = loc, .a = callee}, args, n)
               : 0;
}

/* Whether a KeyError may show a key. */
static bool
are_shown(const lw_reader *r, uint32_t keys)
{
    const lw_constant *k = &r->tree->constants.data[r->tree->nodes.data[keys].a];
    bool are = true;

    for (uint32_t i = 0; are && i < k->n; i++) {
        lw_constant_kind kind = r->tree->constants.data[k->items[i]].kind;
        are = kind != LW_K_OBJECT && kind != LW_K_TUPLE;
    }
    return are;
}

uint32_t
lw_read_dict_item(lw_reader *r, PyObject *dict, uint32_t key, uint32_t loc)
{
    uint32_t args[3] = {0, 0, key};

    if (lw_read_object(r, key) != NULL ||
        !read_items(r, dict, loc, &(parts){&args[0], &args[1], NULL}))
        return 0;
    return call_of(r, are_shown(r, args[0]) ? "item" : "item_of", args, 3, loc);
}

uint32_t
lw_read_dict_keys(lw_reader *r, PyObject *dict, uint32_t loc)
{
    uint32_t keys = 0;

    return read_items(r, dict, loc, &(parts){&keys, NULL, NULL}) ? keys : 0;
}

/* The dict whose method a call is; NULL: it is another call. name: of the method. */
static PyObject *
dict_of_method(const lw_reader *r, uint32_t callee, const char **name)
{
    PyObject *method = lw_read_object(r, callee);
    PyObject *dict = method && PyCFunction_Check(method) ? PyCFunction_GET_SELF(method) : NULL;

    if (dict == NULL || !PyDict_CheckExact(dict))
        return NULL;
    *name = ((PyCFunctionObject *)method)->m_ml->ml_name;
    return dict;
}

uint32_t
lw_read_dict_view(lw_reader *r, uint32_t callee, const lw_read_items *items, uint32_t loc)
{
    const char *name = "";
    PyObject *dict = items->n == 0 ? dict_of_method(r, callee, &name) : NULL;
    uint32_t keys = 0, node = 0;
    parts wanted = {.keys = &keys};

    if (dict == NULL)
        return 0;
    if (strcmp(name, "values") == 0)
        wanted.values = &node;
    else if (strcmp(name, "items") == 0)
        wanted.pairs = &node;
    else if (strcmp(name, "keys") == 0)
        return lw_read_dict_keys(r, dict, loc);
    else
        return 0;
    return read_items(r, dict, loc, &wanted) ? node : 0;
}

/* Functions of Python's that iterate over what they are given, or count it. */
static bool
iterates(const lw_reader *r, PyObject *function)
{
    static const char *const names[] = {"len", "enumerate", "zip", "reversed", "tuple",
                                        "sum", "min",       "max", "any",      "all"};
    PyObject *module = PyFunction_Check(function) ? PyFunction_GetModule(function) : NULL;

    for (size_t i = 0; r->builtins != NULL && i < sizeof names / sizeof *names; i++)
        if (function == PyDict_GetItemString(r->builtins, names[i]))
            return true;
    return module != NULL && PyUnicode_Check(module) && /* list(x), sorted(x) */
           PyUnicode_CompareWithASCIIString(module, "lanewise._growing_lists") == 0;
}

void
lw_read_dict_arguments(lw_reader *r, uint32_t callee, lw_read_items *items, uint32_t loc)
{
    PyObject *function = lw_read_object(r, callee);

    if (function == NULL || !iterates(r, function))
        return;
    for (uint32_t i = 0; i < items->n; i++) {
        uint32_t keys = lw_read_dict_keys(r, lw_read_object(r, items->data[i]), loc);
        if (keys != 0)
            items->data[i] = keys;
    }
}

uint32_t
lw_read_dict_get(lw_reader *r, uint32_t callee, const lw_read_items *items, uint32_t loc)
{
    const char *name = "";
    PyObject *dict = dict_of_method(r, callee, &name);
    uint32_t args[4] = {0}, n = 3;

    if (dict == NULL || items->n == 0 || items->n > 2 || strcmp(name, "get") != 0)
        return 0;
    for (uint32_t i = 0; i < items->n; i++) {
        uint8_t kind = (uint8_t)r->tree->nodes.data[items->data[i]].kind;
        if (kind == LW_NODE_STAR || kind == LW_NODE_ARG_KEYWORD)
            return 0;
        args[2 + i] = items->data[i];
    }
    if (!read_items(r, dict, loc, &(parts){&args[0], &args[1], NULL}))
        return 0;
    n = 2 + items->n;
    return call_of(r, n == 3 ? "get" : "get_or", args, n, loc);
}

/* ---- max(x, key=f) ---- */

/* Whether a keyword argument has this name. */
static bool
has_keyword(const lw_reader *r, const lw_read_items *items, const char *name)
{
    for (uint32_t i = 0; i < items->n; i++) {
        const lw_node *arg = &r->tree->nodes.data[items->data[i]];
        if (arg->kind == LW_NODE_ARG_KEYWORD &&
            strcmp(r->tree->constants.data[arg->a].text, name) == 0)
            return true;
    }
    return false;
}

/* max(range(n), key=f): the bounds of the range take its place, since no parameter can be a
 * range. */
static bool
unfold_range(lw_reader *r, lw_read_items *items)
{
    const lw_node *range = items->n > 0 ? &r->tree->nodes.data[items->data[0]] : NULL;
    uint32_t first, n;

    if (range == NULL || range->kind != LW_NODE_CALL ||
        lw_read_object(r, range->a) != (PyObject *)&PyRange_Type ||
        (items->n > 1 && r->tree->nodes.data[items->data[1]].kind != LW_NODE_ARG_KEYWORD))
        return false;
    first = range->b;
    n = range->c;
    for (uint32_t i = 1; i < n; i++) /* room */
        if (!lw_read_item(r, items, items->data[0]))
            return false;
    if (n == 0)
        return false;
    memmove(items->data + n, items->data + 1, (items->n - n) * sizeof *items->data);
    for (uint32_t i = 0; i < n; i++)
        items->data[i] = r->tree->lists.data[first + i];
    return true;
}

bool
lw_read_extreme(lw_reader *r, uint32_t *callee, lw_read_items *items, uint32_t loc)
{
    static const char *const names[2][4] = {
        {"greatest", "greatest_or", "greatest_in_range", "greatest_in_range_or"},
        {"least", "least_or", "least_in_range", "least_in_range_or"}};
    PyObject *function = lw_read_object(r, *callee), *found;
    bool has_default = has_keyword(r, items, "default"), is_min;
    int which = has_default;

    if (function == NULL || r->builtins == NULL ||
        (!has_default && !has_keyword(r, items, "key")))
        return true;
    is_min = function == PyDict_GetItemString(r->builtins, "min");
    if (!is_min && function != PyDict_GetItemString(r->builtins, "max"))
        return true;
    which += unfold_range(r, items) ? 2 : 0;
    if (r->status != LW_OK)
        return false;
    found = lw_service_find(LW_SERVICE_GROWING_LISTS, names[is_min][which]);
    *callee = found ? lw_read_folded(r, found, loc) : lw_read_failed(r);
    return *callee != 0;
}
