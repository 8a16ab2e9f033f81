/* Methods of ufuncs, `np.maximum.reduce(x)`, `vec.at(x, i, v)`: they become calls of
 * lanewise/_array_ufunc_methods.py, which take the ufunc and what lanewise/_ufunc_calls.py
 * knows of it as their first arguments. */
#include "core/front/read/read_internal.h"

#include "core/front/read/services.h"

#include <string.h>

bool
lw_read_is_ufunc(lw_reader *r, PyObject *object)
{
    return object != NULL && (lw_read_is_numpy(r, object, "ufunc") ||
                              strcmp(Py_TYPE(object)->tp_name, "lanewise.Ufunc") == 0);
}

static bool
is_method(lw_reader *r, PyObject *object)
{
    return object != NULL && PyCFunction_Check(object) &&
           lw_read_is_ufunc(r, PyCFunction_GET_SELF(object));
}

/* The tuple of a function and the first arguments of its call, a new reference, or None. */
static PyObject *
implementation_of(PyObject *method)
{
    PyObject *find = lw_service_find(LW_SERVICE_UFUNC_CALLS, "implementation");
    PyObject *found = find ? PyObject_CallOneArg(find, method) : NULL;

    Py_XDECREF(find);
    return found;
}

/* found: the function, what it takes (array_functions.def), the name by which errors speak of
 * it, and constants. Its node; 0: stop. */
static uint32_t
callee_of(lw_reader *r, PyObject *found, uint32_t loc)
{
    PyObject *helper = PyTuple_GET_ITEM(found, 0);
    uint32_t node = lw_read_constant_node(r, helper, loc);
    uint32_t fn = node ? lw_read_function_constant(r, helper, NULL, NULL) : 0;
    const char *takes = fn ? lw_read_str(r, PyTuple_GET_ITEM(found, 1)) : NULL;
    const char *shown = takes ? lw_read_str(r, PyTuple_GET_ITEM(found, 2)) : NULL;

    if (shown == NULL)
        return 0;
    r->tree->fns.data[fn].implements = shown;
    r->tree->fns.data[fn].takes = takes;
    return node;
}

enum { N_OF_FUNCTION = 3 };

/* Puts the constants of the tuple in front of the arguments. */
static bool
put_in_front(lw_reader *r, PyObject *found, lw_read_items *items, uint32_t loc)
{
    uint32_t n = (uint32_t)PyTuple_GET_SIZE(found) - N_OF_FUNCTION, given = items->n;

    for (uint32_t i = 0; i < n; i++)
        if (!lw_read_item(r, items, loc)) /* makes room */
            return false;
    memmove(items->data + n, items->data, given * sizeof *items->data);
    for (uint32_t i = 0; i < n; i++)
        if (!(items->data[i] =
                  lw_read_constant_node(r, PyTuple_GET_ITEM(found, N_OF_FUNCTION + i), loc)))
            return false;
    return true;
}

bool
lw_read_ufunc_method(lw_reader *r, uint32_t *callee, lw_read_items *items)
{
    PyObject *method = lw_read_object(r, *callee), *found;
    uint32_t loc = r->tree->nodes.data[*callee].loc;
    bool good = true;

    if (!is_method(r, method))
        return true;
    found = implementation_of(method);
    if (found == NULL)
        return lw_read_failed(r), false;
    if (found != Py_None) {
        *callee = callee_of(r, found, loc);
        good = *callee != 0 && put_in_front(r, found, items, loc);
    }
    Py_DECREF(found);
    return good;
}
