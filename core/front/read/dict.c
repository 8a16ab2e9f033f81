/* Dicts from outside of a function, where a key is known only when the function runs: `D[key]`
 * and `D.get(key, default)` are calls of the functions of lanewise/_dicts.py, which compare the
 * key with those of the dict one by one, and `key in D` looks into the tuple of its keys. All
 * items are constants, and the captures compare them in each call. Items whose keys are known
 * to the reader are folded instead (fold_static.c), and captured alone. */
#include "core/front/read/read_internal.h"
#include "core/front/read/services.h"

#include "core/front/typed.h"

#include <string.h>

/* A tuple of the list's items, which is released; NULL: one of them is none that can be chosen,
 * or, with an exception, there is no memory. */
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

/* The nodes of the tuples of its keys and of its values (NULL: they are not wanted). false: it
 * is no such dict, or, as the reader's status says, something failed. */
static bool
read_items(lw_reader *r, PyObject *dict, uint32_t loc, uint32_t *keys, uint32_t *values)
{
    PyObject *copy, *all_keys = NULL, *all_values = NULL;
    bool known = dict != NULL && PyDict_CheckExact(dict);
    Py_ssize_t n = known ? PyDict_GET_SIZE(dict) : 0;

    if (n == 0 || n > LW_MAX_UNROLL)
        return false;
    copy = PyDict_Copy(dict); /* another thread may change it */
    all_keys = copy ? items_of(PyDict_Keys(copy)) : NULL;
    all_values = all_keys && values ? items_of(PyDict_Values(copy)) : NULL;
    known = all_keys != NULL && (values == NULL || all_values != NULL);
    if (PyErr_Occurred() || (known && lw_captures_add_dict(r->captures, dict, copy) < 0)) {
        lw_read_failed(r);
        known = false;
    }
    Py_XDECREF(copy);
    if (!known) {
        Py_XDECREF(all_keys);
        Py_XDECREF(all_values);
        return false;
    }
    *keys = lw_read_folded(r, all_keys, loc);
    if (values != NULL)
        *values = lw_read_folded(r, all_values, loc);
    return *keys != 0 && (values == NULL || *values != 0);
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

    if (lw_read_object(r, key) != NULL || !read_items(r, dict, loc, &args[0], &args[1]))
        return 0;
    return call_of(r, are_shown(r, args[0]) ? "item" : "item_of", args, 3, loc);
}

uint32_t
lw_read_dict_keys(lw_reader *r, PyObject *dict, uint32_t loc)
{
    uint32_t keys = 0;

    return read_items(r, dict, loc, &keys, NULL) ? keys : 0;
}

uint32_t
lw_read_dict_get(lw_reader *r, uint32_t callee, const lw_read_items *items, uint32_t loc)
{
    PyObject *get = lw_read_object(r, callee);
    PyObject *dict = get && PyCFunction_Check(get) ? PyCFunction_GET_SELF(get) : NULL;
    uint32_t args[4] = {0}, n = 3;

    if (dict == NULL || !PyDict_CheckExact(dict) || items->n == 0 || items->n > 2 ||
        strcmp(((PyCFunctionObject *)get)->m_ml->ml_name, "get") != 0)
        return 0;
    for (uint32_t i = 0; i < items->n; i++) {
        uint8_t kind = (uint8_t)r->tree->nodes.data[items->data[i]].kind;
        if (kind == LW_NODE_STAR || kind == LW_NODE_ARG_KEYWORD)
            return 0;
        args[2 + i] = items->data[i];
    }
    if (!read_items(r, dict, loc, &args[0], &args[1]))
        return 0;
    n = 2 + items->n;
    return call_of(r, n == 3 ? "get" : "get_or", args, n, loc);
}
