/* Functions that were made with signatures; calls of them convert their arguments to these.
 * Objects of ours give their signatures by an attribute: a list of texts, or None if they
 * accept any types. */
#include "core/front/read/read_internal.h"

#include "core/front/signature.h"

/* The signatures of an object: a new list, or NULL when it has none. */
static PyObject *
signatures_of(PyObject *object)
{
    PyObject *list = PyFunction_Check(object) || PyMethod_Check(object)
                         ? NULL
                         : PyObject_GetAttrString(object, "_declared_signatures");

    lw_read_clear();
    if (list != NULL && (!PyList_CheckExact(list) || PyList_GET_SIZE(list) == 0))
        Py_CLEAR(list);
    return list;
}

static bool
parse(lw_reader *r, PyObject *text, lw_signature *out)
{
    const char *utf8 = PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;

    if (utf8 == NULL || (utf8 = lw_read_str(r, text)) == NULL)
        return r->status == LW_OK ? lw_read_failed(r) : false;
    r->status = lw_signature_parse(utf8, &r->tree->arena, out, r->err);
    return r->status == LW_OK;
}

static bool
set_declared(lw_reader *r, uint32_t fn, PyObject *list)
{
    uint32_t n = (uint32_t)PyList_GET_SIZE(list);
    lw_signature *all = lw_arena_take(&r->tree->arena, n * sizeof *all);

    if (all == NULL)
        return lw_read_no_memory(r);
    for (uint32_t i = 0; i < n; i++)
        if (!parse(r, PyList_GET_ITEM(list, i), &all[i]))
            return false;
    r->tree->fns.data[fn].declared = all;
    r->tree->fns.data[fn].n_declared = n;
    return true;
}

/* Among objects with signatures, only ufuncs have a number of inputs. */
static bool
is_ufunc(PyObject *object)
{
    bool is = PyObject_HasAttrString(object, "nin");

    lw_read_clear();
    return is;
}

uint32_t
lw_read_declared(lw_reader *r, PyObject *object, PyObject *function, PyObject *self)
{
    PyObject *list = signatures_of(object);
    uint32_t fn = lw_read_function_constant(r, function, self, list ? object : NULL);

    /* functions of lanewise itself follow NumPy's rules, whatever loops they have */
    if (fn != 0 && list != NULL && !r->tree->fns.data[fn].of_package) {
        if (!set_declared(r, fn, list))
            fn = 0;
        else
            r->tree->fns.data[fn].declared_safe = is_ufunc(object);
    }
    Py_XDECREF(list);
    return fn;
}
