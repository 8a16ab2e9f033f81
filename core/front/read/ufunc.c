/* NumPy's ufuncs with an output, `np.sin(x, out)`: they become calls of
 * lanewise/_array_ufuncs.py, whose functions loop over the elements of the output and take the
 * ufunc as their first argument. */
#include "core/front/read/read_internal.h"

#include "core/front/read/services.h"

#include <string.h>

enum { MOST_IN = 2 };

/* The number of its inputs if it has one output of which each element depends on one element of
 * each input; else 0. */
static long
inputs_of(lw_reader *r, PyObject *object)
{
    PyObject *n_in = NULL, *n_out = NULL, *signature = NULL;
    long result = 0;

    if (object == NULL || (!lw_read_is_numpy(r, object, "ufunc") &&
                           strcmp(Py_TYPE(object)->tp_name, "lanewise.Ufunc") != 0))
        return 0;
    n_in = PyObject_GetAttrString(object, "nin");
    n_out = n_in ? PyObject_GetAttrString(object, "nout") : NULL;
    signature = n_out ? PyObject_GetAttrString(object, "signature") : NULL;
    if (signature == Py_None && PyLong_AsLong(n_out) == 1) /* np.matmul has "(n?,k),…" */
        result = PyLong_AsLong(n_in);
    Py_XDECREF(n_in);
    Py_XDECREF(n_out);
    Py_XDECREF(signature);
    lw_read_clear();
    return result > 0 && result <= MOST_IN ? result : 0;
}

/* Replace the keyword argument `out=value` by its value. */
static bool
take_out(lw_reader *r, uint32_t *item)
{
    const lw_node *node = &r->tree->nodes.data[*item];
    const char *name;

    if (node->kind == LW_NODE_STAR)
        return false;
    if (node->kind != LW_NODE_ARG_KEYWORD)
        return true;
    name = r->tree->constants.data[node->a].text;
    if (name == NULL || strcmp(name, "out") != 0)
        return false;
    *item = node->b;
    return true;
}

bool
lw_read_array_ufunc(lw_reader *r, uint32_t *callee, lw_read_items *items)
{
    static const char *const names[MOST_IN + 1] = {"", "unary", "binary"};
    long n_in = inputs_of(r, lw_read_object(r, *callee));
    PyObject *helper;
    uint32_t node;

    if (n_in == 0 || items->n != (uint32_t)n_in + 1 || !take_out(r, &items->data[n_in]))
        return true;
    for (long i = 0; i < n_in; i++) {
        lw_node_kind kind = r->tree->nodes.data[items->data[i]].kind;
        if (kind == LW_NODE_ARG_KEYWORD || kind == LW_NODE_STAR)
            return true;
    }
    helper = lw_service_find(LW_SERVICE_ARRAY_UFUNCS, names[n_in]);
    if (helper == NULL)
        return lw_read_failed(r), false;
    node = lw_read_constant_node(r, helper, r->tree->nodes.data[*callee].loc);
    Py_DECREF(helper);
    if (node == 0 || !lw_read_item(r, items, *callee))
        return false;
    memmove(items->data + 1, items->data, (items->n - 1) * sizeof *items->data);
    items->data[0] = *callee;
    *callee = node;
    return true;
}
