/* NumPy's and Python's functions of whole arrays, `np.sum(row)`, `max(row)`, `row.mean()`: they
 * become calls of lanewise/_array_functions.py, whose functions loop over the elements. */
#include "core/front/read/read_internal.h"

#include "core/front/read/services.h"

#include <string.h>

typedef struct whole {
    const char *name, *helper;
    uint32_t n_arrays, max_axes;
    bool is_method;
} array_function;

enum { ANY_AXES = 255 };

/* Functions of NumPy. */
static const array_function numpy_functions[] = {
    {"sum", "sum", 1, ANY_AXES, true},
    {"prod", "prod", 1, ANY_AXES, true},
    {"mean", "mean", 1, ANY_AXES, true},
    {"var", "var", 1, ANY_AXES, true},
    {"std", "std", 1, ANY_AXES, true},
    {"min", "min", 1, ANY_AXES, true},
    {"max", "max", 1, ANY_AXES, true},
    {"amin", "min", 1, ANY_AXES, false},
    {"amax", "max", 1, ANY_AXES, false},
    {"ptp", "ptp", 1, ANY_AXES, false},
    {"any", "any", 1, ANY_AXES, true},
    {"all", "all", 1, ANY_AXES, true},
    {"count_nonzero", "count_nonzero", 1, ANY_AXES, false},
    {"argmin", "argmin", 1, ANY_AXES, true},
    {"argmax", "argmax", 1, ANY_AXES, true},
    {"dot", "dot", 2, 1, true},
    {"array_equal", "array_equal", 2, ANY_AXES, false},
    {"isclose", "isclose", 0, 0, false},
    {"nan_to_num", "nan_to_num", 0, 0, false},
    {"polyval", "polyval", 0, 0, false},
    {"interp", "interp", 0, 0, false},
    {"searchsorted", "searchsorted", 0, 0, true},
};

/* Functions of NumPy that make arrays: lanewise/_new_arrays.py. */
static const array_function makers[] = {
    {"zeros", "zeros", 0, 0, false},
    {"ones", "ones", 0, 0, false},
    {"full", "full", 0, 0, false},
    {"arange", "arange", 0, 0, false},
    {"linspace", "linspace", 0, 0, false},
    {"eye", "eye", 0, 0, false},
    {"identity", "identity", 0, 0, false},
    {"array", "array", 0, 0, false},
    {"empty_like", "empty_like", 1, ANY_AXES, false},
    {"zeros_like", "zeros_like", 1, ANY_AXES, false},
    {"ones_like", "ones_like", 1, ANY_AXES, false},
    {"full_like", "full_like", 1, ANY_AXES, false},
    {"copy", "copy", 1, ANY_AXES, true},
    {"astype", "astype", 1, ANY_AXES, true},
    {"reshape", "reshape", 1, ANY_AXES, true},
    {"ravel", "ravel", 1, ANY_AXES, true},
    {"cumsum", "cumsum", 1, ANY_AXES, true},
    {"cumprod", "cumprod", 1, ANY_AXES, true},
    {"diff", "diff", 1, 1, false},
    {"sort", "sorted_copy", 1, 1, false},
    {"argsort", "argsort", 1, 1, true},
    {"flip", "flip", 1, 1, false},
    {"concatenate", "concatenate", 0, 0, false},
    {"stack", "stack", 0, 0, false},
    {"repeat", "repeat", 1, ANY_AXES, true},
    {"outer", "outer", 2, ANY_AXES, false},
    {"nonzero", "nonzero", 1, 1, true},
    {"flatnonzero", "flatnonzero", 1, ANY_AXES, false},
};

/* Methods of theirs that NumPy has no function of. */
static const array_function methods_of_makers[] = {
    {"flatten", "flatten", 1, ANY_AXES, true},
    {"fill", "fill", 1, ANY_AXES, true},
};

/* What the leading parameters of NumPy's functions without n_arrays are, as in lw_fn. */
static const struct {
    const char *name, *takes;
} mixed[] = {
    {"isclose", "ss"}, {"nan_to_num", "s"},    {"polyval", "ps"},
    {"interp", "srr"}, {"searchsorted", "rs"},
};

static const char *
takes_of(const array_function *row)
{
    for (size_t i = 0; i < sizeof mixed / sizeof *mixed; i++)
        if (strcmp(mixed[i].name, row->name) == 0)
            return mixed[i].takes;
    return NULL;
}

/* Methods of arrays that work in place; NumPy's functions of these names return new arrays. */
static const array_function methods_in_place[] = {
    {"sort", "sort", 1, 1, true},
};

/* Functions of math, which accept rows and tuples of numbers. */
static const array_function math_functions[] = {
    {"prod", "math_prod", 0, 0, false},
    {"sumprod", "math_sumprod", 0, 0, false},
    {"dist", "math_dist", 0, 0, false},
};

/* Functions of Python, which accept tuples and numbers, too. */
static const array_function python_functions[] = {
    {"sum", "sum_", 1, 1, false}, {"min", "min_", 1, 1, false}, {"max", "max_", 1, 1, false},
    {"any", "any_", 1, 1, false}, {"all", "all_", 1, 1, false},
};

static const array_function *
find(const array_function *rows, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

#define IN(rows, row) ((row) >= (rows) && (row) < (rows) + sizeof(rows) / sizeof *(rows))

static bool
is_maker(const array_function *row)
{
    return IN(makers, row) || IN(methods_of_makers, row);
}

#define FIND(rows, name) find(rows, sizeof(rows) / sizeof *(rows), name)

/* The fn of the row's helper; 0: stop. shown: the name by which the user calls it. */
static uint32_t
helper_of(lw_reader *r, const array_function *row, const char *shown)
{
    PyObject *helper = lw_service_find(
        is_maker(row) ? LW_SERVICE_NEW_ARRAYS : LW_SERVICE_ARRAY_FUNCTIONS, row->helper);
    uint32_t fn = helper ? lw_read_function_constant(r, helper, NULL, NULL) : lw_read_failed(r);

    Py_XDECREF(helper);
    if (fn == 0 || (shown = lw_read_text(r, shown)) == NULL)
        return 0;
    r->tree->fns.data[fn].implements = shown;
    r->tree->fns.data[fn].n_arrays = row->n_arrays;
    r->tree->fns.data[fn].max_axes = row->max_axes;
    r->tree->fns.data[fn].takes = takes_of(row);
    return fn;
}

static bool
is_from(PyObject *object, const char *name)
{
    PyObject *module = PyObject_GetAttrString(object, "__module__");
    bool is = module && PyUnicode_Check(module) &&
              PyUnicode_CompareWithASCIIString(module, name) == 0;

    Py_XDECREF(module);
    lw_read_clear();
    return is;
}

static const array_function *
row_of(PyObject *object)
{
    bool is_numpy = is_from(object, "numpy"), is_math = !is_numpy && is_from(object, "math");
    PyObject *name = is_numpy || is_math ? PyObject_GetAttrString(object, "__name__") : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    const array_function *row = text == NULL ? NULL
                                : is_numpy   ? FIND(numpy_functions, text)
                                             : FIND(math_functions, text);

    if (row == NULL && text != NULL && is_numpy)
        row = FIND(makers, text);

    Py_XDECREF(name);
    lw_read_clear();
    return row;
}

uint32_t
lw_read_array_function(lw_reader *r, PyObject *object)
{
    const array_function *row = row_of(object);
    char shown[32];

    if (row == NULL)
        return 0;
    PyOS_snprintf(shown, sizeof shown, "%s.%s", IN(math_functions, row) ? "math" : "numpy",
                  row->name);
    return helper_of(r, row, shown);
}

/* Whether the argument may turn out to be an array when types are known. */
static bool
may_be_array(const lw_reader *r, const lw_read_items *items)
{
    lw_node_kind kind = items->n ? r->tree->nodes.data[items->data[0]].kind : LW_NODE_NONE;

    return kind != LW_NODE_NONE && kind != LW_NODE_ERROR && kind != LW_NODE_TUPLE &&
           kind != LW_NODE_STAR && kind != LW_NODE_ARG_KEYWORD;
}

static bool
keep_array_function(lw_reader *r, const array_function *row, const char *shown)
{
    uint32_t fn = helper_of(r, row, shown);
    lw_array_function *kept;

    if (fn == 0)
        return false;
    for (uint32_t i = 0; i < r->tree->array_functions.n; i++)
        if (r->tree->array_functions.data[i].fn == fn)
            return true;
    kept = lw_array_push(&r->tree->array_functions, &r->tree->arena);
    if (kept == NULL)
        return lw_read_no_memory(r), false;
    *kept = (lw_array_function){row->helper, fn};
    return true;
}

bool
lw_read_maybe_array_function(lw_reader *r, uint32_t callee, const lw_read_items *items)
{
    const lw_node *node = &r->tree->nodes.data[callee];
    PyObject *object = lw_read_object(r, callee);
    const array_function *row = NULL;

    if (node->kind == LW_NODE_ATTRIBUTE) {
        const char *name = r->tree->constants.data[node->b].text;
        row = FIND(numpy_functions, name);
        row = row ? row : FIND(methods_in_place, name);
        row = row ? row : FIND(makers, name);
        row = row ? row : FIND(methods_of_makers, name);
        return row == NULL || !row->is_method || keep_array_function(r, row, row->name);
    }
    if (object == NULL || !may_be_array(r, items) || !is_from(object, "builtins") ||
        !PyCFunction_Check(object))
        return true;
    row = FIND(python_functions, ((PyCFunctionObject *)object)->m_ml->ml_name);
    if (row == NULL || (items->n > 1 && strcmp(row->name, "sum") != 0))
        return true;
    return keep_array_function(r, row, row->name);
}

/* ---- generator expressions ---- */

/* The name of a function that has a form for generators: "sum" for builtins.sum, "prod" for
 * math.prod; NULL: it has none. */
static const char *
name_of_consumer(PyObject *callee)
{
    const char *name;

    if (callee == NULL || !PyCFunction_Check(callee))
        return NULL;
    name = ((PyCFunctionObject *)callee)->m_ml->ml_name;
    if (is_from(callee, "builtins"))
        return FIND(python_functions, name) ? name : NULL;
    return strcmp(name, "prod") == 0 && is_from(callee, "math") ? name : NULL;
}

/* The function that loops over a generator, a new reference; NULL without exception: there is
 * none. */
static PyObject *
loop_of(const char *name, PyObject *call)
{
    PyObject *module = lw_service_module(LW_SERVICE_GENERATORS);
    PyObject *def = module ? PyObject_CallMethod(module, "loop", "sO", name, call) : NULL;

    Py_XDECREF(module);
    if (def == Py_None)
        Py_CLEAR(def);
    return def;
}

uint32_t
lw_read_generator(lw_reader *r, PyObject *call, uint32_t callee, uint32_t loc)
{
    const char *name = name_of_consumer(lw_read_object(r, callee));
    PyObject *args, *def;
    lw_ast_kind kind = LW_AST_Call;
    uint32_t fn, lambda;

    if (name != NULL && lw_ast_list(call, r->ast.args, &args) > 0)
        kind = lw_ast_kind_of(&r->ast, PyList_GET_ITEM(args, 0));
    if (kind != LW_AST_GeneratorExp && kind != LW_AST_ListComp)
        return 0;
    def = loop_of(name, call);
    if (def == NULL)
        return PyErr_Occurred() ? lw_read_failed(r) : 0;
    fn = lw_read_nested(r, def);
    Py_DECREF(def);
    if (fn != 0)
        r->tree->fns.data[fn].inlined = true;
    lambda = fn ? lw_read_node(r, (lw_node){LW_NODE_LAMBDA, .loc = loc, .a = fn}) : 0;
    return lambda
               ? lw_read_list_node(r, (lw_node){LW_NODE_CALL, .loc = loc, .a = lambda}, NULL, 0)
               : 0;
}
