/* Without signatures, outputs that are given choose what a function fills: int64 for the sums
 * of int8, where the call brings int64. For outputs of other dtypes than those that follow from
 * the inputs the call goes to another Gufunc of the same function, whose outputs have these. */
#include "core/py/numpy_api.h"

#include "gufunc/gufunc_parts_py.h"

#include "core/py/raise.h"

#include <string.h>

typedef struct given {
    lw_dtype dtypes[LW_MAX_OPERANDS]; /* inputs, then outputs; void: not given */
    char weak[LW_MAX_OPERANDS];
    bool any;
} given;

static lw_dtype
dtype_of(PyObject *object)
{
    PyObject *descr;
    lw_dtype dtype = LW_DT_void;

    if (PyArray_Check(object))
        return lw_dtype_from_num(PyArray_TYPE((PyArrayObject *)object));
    descr = PyObject_GetAttrString(object, "dtype");
    if (descr != NULL && PyArray_DescrCheck(descr))
        dtype = lw_dtype_from_num(((PyArray_Descr *)descr)->type_num);
    Py_XDECREF(descr);
    PyErr_Clear();
    return dtype;
}

static lw_dtype
dtype_of_input(PyObject *object)
{
    PyObject *array;
    lw_dtype dtype = dtype_of(object);

    if (dtype != LW_DT_void)
        return dtype;
    array = PyArray_FROM_O(object); /* a number, or a list */
    if (array != NULL)
        dtype = lw_dtype_from_num(PyArray_TYPE((PyArrayObject *)array));
    Py_XDECREF(array);
    PyErr_Clear();
    return dtype;
}

/* false: it is no such call, or NumPy has something to say about it. */
static bool
read_out(const lw_gufunc_object *self, PyObject *out, given *g)
{
    int nin = self->base.nin, nout = self->base.nout;

    if (!PyTuple_Check(out)) {
        if (nout != 1 || out == Py_None || out == Py_Ellipsis)
            return false;
        g->dtypes[nin] = dtype_of(out);
        g->any = g->dtypes[nin] != LW_DT_void;
        return g->any;
    }
    if (PyTuple_GET_SIZE(out) != nout)
        return false;
    for (int k = 0; k < nout; k++) {
        PyObject *item = PyTuple_GET_ITEM(out, k);
        g->dtypes[nin + k] = item == Py_None ? LW_DT_void : dtype_of(item);
        g->any |= g->dtypes[nin + k] != LW_DT_void;
    }
    return g->any;
}

static bool
read_call(const lw_gufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
          PyObject *kwnames, given *g)
{
    static const char *const others[] = {"signature", "sig", "dtype", "casting"};
    int nin = self->base.nin, n = nin + self->base.nout;

    memset(g, 0, sizeof *g);
    if (n_args < nin || n_args > n)
        return false;
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            if (PyUnicode_CompareWithASCIIString(name, others[k]) == 0)
                return false;
        if (PyUnicode_CompareWithASCIIString(name, "out") == 0 &&
            (n_args > nin || !read_out(self, args[n_args + i], g)))
            return false;
    }
    for (Py_ssize_t k = nin; k < n_args; k++) {
        g->dtypes[k] = args[k] == Py_None ? LW_DT_void : dtype_of(args[k]);
        g->any |= g->dtypes[k] != LW_DT_void;
    }
    for (int k = 0; g->any && k < nin; k++) {
        g->dtypes[k] = dtype_of_input(args[k]);
        g->weak[k] = lw_weak_kind(args[k]);
        g->any = g->dtypes[k] != LW_DT_void;
    }
    return g->any;
}

/* ---- the other Gufunc ---- */

/* Its loop for the same inputs, or NULL with an exception. */
static lw_gufunc_object *
make_other(lw_gufunc_object *self, const lw_dtype *in, const lw_dtype *out)
{
    PyObject *layout = PyUnicode_FromString(self->base.layout.text);
    lw_gufunc_object *made = NULL;

    if (layout != NULL)
        made = (lw_gufunc_object *)lw_gufunc_new(Py_TYPE(self),
                                                 &(lw_request){.function = self->base.py_func,
                                                               .layout = layout,
                                                               .keywords = self->base.keywords},
                                                 NULL);
    Py_XDECREF(layout);
    if (made == NULL)
        return NULL;
    memcpy(made->fixed_out, out, (size_t)self->base.nout * sizeof *out);
    made->has_fixed_out = true;
    if (lw_gufunc_make(made, in, NULL, NULL, false) == NULL)
        Py_CLEAR(made);
    return made;
}

/* What follows from the inputs alone; its dtypes, also of the inputs, in `types`. */
static bool
usual_types(lw_gufunc_object *self, const given *g, lw_dtype *types)
{
    const lw_call_rules rules = {NULL, NULL, NULL};
    lw_dtype dtypes[LW_MAX_OPERANDS] = {0};
    const lw_gufunc_loop *loop;
    int n = self->base.nin + self->base.nout;

    memcpy(dtypes, g->dtypes, (size_t)self->base.nin * sizeof *dtypes);
    loop = lw_loops_of_call((lw_ufunc_head *)self, dtypes, g->weak, &rules);
    PyErr_Clear();
    if (loop != NULL)
        memcpy(types, loop->types, (size_t)n * sizeof *types);
    return loop != NULL;
}

/* New reference: the other Gufunc, or None: the usual loop serves, and the function cannot
 * fill outputs of these dtypes itself. NULL with an exception. */
static PyObject *
choose(lw_gufunc_object *self, const given *g)
{
    int nin = self->base.nin;
    lw_dtype types[LW_MAX_OPERANDS], *out = types + nin;
    lw_gufunc_object *made;
    bool differ = false;

    if (!usual_types(self, g, types))
        return Py_NewRef(Py_None);
    for (int k = 0; k < self->base.nout; k++) {
        lw_dtype wanted = g->dtypes[nin + k];
        differ |= wanted != LW_DT_void && wanted != out[k];
        out[k] = wanted == LW_DT_void ? out[k] : wanted;
    }
    if (!differ)
        return Py_NewRef(Py_None);
    made = make_other(self, types, out);
    if (made == NULL && !lw_py_refused())
        return NULL;
    PyErr_Clear();
    return made ? (PyObject *)made : Py_NewRef(Py_None);
}

PyObject *
lw_gufunc_for_outputs(lw_gufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                      PyObject *kwnames)
{
    PyObject *key, *found = NULL;
    given g;

    if (!self->base.lazy || !self->fills || self->base.nout == 0 || self->has_fixed_out ||
        self->base.family != NULL || !read_call(self, args, n_args, kwnames, &g))
        return NULL;
    if (self->by_outputs == NULL && (self->by_outputs = PyDict_New()) == NULL)
        return NULL;
    key = PyBytes_FromStringAndSize((const char *)&g, sizeof g);
    if (key != NULL)
        found = lw_dict_item(self->by_outputs, key);
    if (key != NULL && found == NULL && !PyErr_Occurred()) {
        found = choose(self, &g);
        if (found != NULL && PyDict_SetItem(self->by_outputs, key, found) < 0)
            Py_CLEAR(found);
    }
    Py_XDECREF(key);
    if (found == Py_None)
        Py_CLEAR(found);
    return found;
}
