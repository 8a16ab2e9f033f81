/* NumPy's and Python's functions of whole arrays, `np.sum(row)`, `max(row)`, `row.mean()`: they
 * become calls of lanewise/_array_functions.py, whose functions loop over the elements.
 * Functions of scipy.special become calls of lanewise/_special.py. NumPy's ufuncs with an
 * output, `np.sin(x, out)`, become calls of lanewise/_array_ufuncs.py, which take the ufunc as
 * their first argument. */
#include "core/front/read/read_internal.h"

#include "core/front/read/services.h"

#include <assert.h>
#include <string.h>

typedef enum array_owner {
    NUMPY,
    BOTH,
    METHOD,
    ATTRIBUTE,
    LINALG,
    STRIDES,
    MATH,
    PYTHON,
    OPERATOR,
    SPECIAL,
    RANDOM,
    PY_RANDOM,
    LISTS,
} array_owner;

typedef struct array_function {
    array_owner owner;
    lw_service service;
    const char *name, *helper, *takes;
} array_function;

static const array_function rows[] = {
#define ARRAY_FUNCTION(owner, name, module, helper, takes)                                     \
    {owner, LW_SERVICE_##module, name, helper, takes},
#include "core/tables/array_functions.def"
};

static bool
is_of(array_owner found, array_owner wanted)
{
    return found == wanted || (found == BOTH && (wanted == NUMPY || wanted == METHOD));
}

static const array_function *
find(array_owner owner, const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_of(rows[i].owner, owner) && strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

/* The fn of the row's helper; 0: stop. shown: the name by which the user calls it. */
static uint32_t
helper_of(lw_reader *r, const array_function *row, const char *shown)
{
    PyObject *helper = lw_service_find(row->service, row->helper);
    uint32_t fn = helper ? lw_read_function_constant(r, helper, NULL, NULL) : lw_read_failed(r);

    Py_XDECREF(helper);
    if (fn == 0 || (shown = lw_read_text(r, shown)) == NULL)
        return 0;
    r->tree->fns.data[fn].implements = shown;
    r->tree->fns.data[fn].takes = row->takes;
    return fn;
}

/* Whether it may be a function of NumPy itself: no object of another library to which
 * functools.update_wrapper has given NumPy's names, and no compiled function of the user. */
static bool
may_be_numpys(PyObject *object)
{
    return PyType_Check(object) || PyFunction_Check(object) || PyCFunction_Check(object) ||
           lw_comes_from((PyObject *)Py_TYPE(object), "numpy");
}

static bool
is_from(PyObject *object, const char *name)
{
    PyObject *module = lw_module_of(object);
    bool is = module && PyUnicode_CompareWithASCIIString(module, name) == 0;

    Py_XDECREF(module);
    return is;
}

/* The modules of which functions of whole arrays are. */
static const struct {
    const char *module;
    array_owner owner;
} modules[] = {
    {"numpy", NUMPY},   {"numpy.linalg", LINALG}, {"numpy.lib.stride_tricks", STRIDES},
    {"math", MATH},     {"_heapq", LISTS},        {"heapq", LISTS},
    {"_bisect", LISTS}, {"bisect", LISTS},        {"builtins", LISTS}};

/* ---- scipy.special, numpy.random and random ---- */

static const char special_module[] = "scipy.special", random_module[] = "numpy.random",
                  python_random_module[] = "random";

/* The name by which the module has the object, a new reference; NULL: it is not one of its
 * functions. SciPy's ufuncs do not say where they are from, and methods of other states than
 * the one for the whole process say that they are from numpy.random, or random. */
static PyObject *
name_in(const char *module_name, PyObject *object)
{
    PyObject *loaded, *key, *module, *name, *found;

    if (PyType_Check(object) || PyModule_Check(object))
        return NULL;
    loaded = PyImport_GetModuleDict(); /* if it is not loaded, nobody holds its functions */
    key = loaded ? PyUnicode_FromString(module_name) : NULL;
    module = key ? lw_dict_item(loaded, key) : NULL;
    name = module ? PyObject_GetAttrString(object, "__name__") : NULL;
    found = name && PyUnicode_Check(name) ? PyObject_GetAttr(module, name) : NULL;
    lw_read_clear();
    if (found != object)
        Py_CLEAR(name);
    Py_XDECREF(key);
    Py_XDECREF(module);
    Py_XDECREF(found);
    return name;
}

/* The fn of a function of the module; 0 and status OK: it is none, or not known. */
static uint32_t
read_member(lw_reader *r, const char *module, array_owner owner, PyObject *object)
{
    PyObject *name = name_in(module, object);
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
    const array_function *row = text ? find(owner, text) : NULL;
    char shown[48];

    lw_read_clear();
    Py_XDECREF(name);
    if (row == NULL)
        return 0;
    PyOS_snprintf(shown, sizeof shown, "%s.%s", module, row->name);
    return helper_of(r, row, shown);
}

bool
lw_read_is_special(PyObject *object)
{
    PyObject *name = name_in(special_module, object);

    Py_XDECREF(name);
    return name != NULL;
}

const char *
lw_read_special_takes(const char *name)
{
    const array_function *row = name[0] == '_' ? NULL : find(SPECIAL, name);

    return row ? row->takes : NULL;
}

const char *
lw_read_special_hint(lw_reader *r, PyObject *object)
{
    PyObject *name = name_in(special_module, object);
    PyObject *near = name ? lw_service_find(LW_SERVICE_SPECIAL, "_hint") : NULL;
    PyObject *text = near ? PyObject_CallOneArg(near, name) : NULL;
    const char *hint = text ? lw_read_str(r, text) : NULL;

    if (name != NULL && hint == NULL)
        lw_read_failed(r);
    Py_XDECREF(name);
    Py_XDECREF(near);
    Py_XDECREF(text);
    return hint;
}

/* Whether it is a method of a generator of Python's module random. */
static bool
is_drawn_from_python(PyObject *object)
{
    PyObject *self = PyObject_GetAttrString(object, "__self__");
    bool is = lw_is_random(self);

    Py_XDECREF(self);
    lw_read_clear();
    return is;
}

uint32_t
lw_read_array_function(lw_reader *r, PyObject *object)
{
    PyObject *name;
    const char *text;
    const array_function *row = NULL;
    char shown[48];

    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (!is_from(object, modules[i].module) || !may_be_numpys(object))
            continue;
        name = PyObject_GetAttrString(object, "__name__");
        text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
        row = text ? find(modules[i].owner, text) : NULL;
        lw_read_clear();
        Py_XDECREF(name);
        if (row == NULL)
            return 0;
        PyOS_snprintf(shown, sizeof shown, "%s.%s", modules[i].module, row->name);
        return helper_of(r, row, shown);
    }
    if (is_from(object, random_module))
        return read_member(r, random_module, RANDOM, object);
    if (is_drawn_from_python(object))
        return read_member(r, python_random_module, PY_RANDOM, object);
    return read_member(r, special_module, SPECIAL, object);
}

/* Whether the argument may turn out to be an array when types are known. */
static bool
may_be_array(const lw_reader *r, const lw_read_items *items)
{
    lw_node_kind kind = items->n ? r->tree->nodes.data[items->data[0]].kind : LW_NODE_NONE;

    return kind != LW_NODE_NONE && kind != LW_NODE_ERROR && kind != LW_NODE_TUPLE &&
           kind != LW_NODE_STAR && kind != LW_NODE_ARG_KEYWORD;
}

/* What inference finds the function by. */
static const char *
key_of(const array_function *row)
{
    return row->owner == PYTHON ? row->helper : row->name;
}

static bool
keep_array_function(lw_reader *r, const array_function *row)
{
    uint32_t fn = helper_of(r, row, row->name);
    lw_array_function *kept;

    if (fn == 0)
        return false;
    for (uint32_t i = 0; i < r->tree->array_functions.n; i++)
        if (strcmp(r->tree->array_functions.data[i].name, key_of(row)) == 0)
            return true;
    kept = lw_array_push(&r->tree->array_functions, &r->tree->arena);
    if (kept == NULL)
        return lw_read_no_memory(r), false;
    *kept = (lw_array_function){key_of(row), fn};
    return true;
}

static bool
is_where(PyObject *object)
{
    PyObject *name = is_from(object, "numpy") && may_be_numpys(object)
                         ? PyObject_GetAttrString(object, "__name__")
                         : NULL;
    bool is =
        name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "where") == 0;

    lw_read_clear();
    Py_XDECREF(name);
    return is;
}

/* np.where(condition) is np.nonzero(condition). */
static bool
replace_where(lw_reader *r, uint32_t *callee)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *nonzero = numpy ? PyObject_GetAttrString(numpy, "nonzero") : NULL;
    uint32_t node = nonzero
                        ? lw_read_constant_node(r, nonzero, r->tree->nodes.data[*callee].loc)
                        : lw_read_failed(r);

    Py_XDECREF(numpy);
    Py_XDECREF(nonzero);
    *callee = node;
    return node != 0;
}

bool
lw_read_maybe_array_function(lw_reader *r, uint32_t *at, const lw_read_items *items)
{
    uint32_t callee = *at;
    const lw_node *node = &r->tree->nodes.data[callee];
    PyObject *object = lw_read_object(r, callee);
    const array_function *row = NULL;

    if (node->kind == LW_NODE_ATTRIBUTE) {
        row = find(METHOD, r->tree->constants.data[node->b].text);
        return row == NULL || keep_array_function(r, row);
    }
    if (object != NULL && items->n == 1 && is_where(object))
        return replace_where(r, at);
    if (object == NULL || !may_be_array(r, items) || !is_from(object, "builtins") ||
        !PyCFunction_Check(object))
        return true;
    row = find(PYTHON, ((PyCFunctionObject *)object)->m_ml->ml_name);
    if (row == NULL || (items->n > 1 && strcmp(row->name, "sum") != 0))
        return true;
    return keep_array_function(r, row);
}

uint32_t
lw_read_own_function(lw_reader *r, const char *name)
{
    const array_function *row = find(OPERATOR, name);

    row = row ? row : find(ATTRIBUTE, name);
    assert(row != NULL); /* inference asks for rows of the table alone */
    return helper_of(r, row, row->name);
}

/* ---- generator expressions ---- */

/* The name of a function that has a form for generators: "sum" for builtins.sum, "prod" for
 * math.prod, "array" for np.array and np.asarray; NULL: it has none. */
static const char *
name_of_consumer(PyObject *callee)
{
    const char *name;

    if (callee == NULL || !PyCFunction_Check(callee))
        return NULL;
    name = ((PyCFunctionObject *)callee)->m_ml->ml_name;
    if (is_from(callee, "builtins"))
        return find(PYTHON, name) || strcmp(name, "next") == 0 ? name : NULL;
    if (is_from(callee, "numpy") &&
        (strcmp(name, "array") == 0 || strcmp(name, "asarray") == 0))
        return "array";
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

/* A call of the function that loops over what the call or comprehension contains; 0 and status
 * OK: there is none. */
static uint32_t
read_loop(lw_reader *r, const char *name, PyObject *call, uint32_t loc)
{
    PyObject *def = loop_of(name, call);
    uint32_t fn, lambda;

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

/* Whether it is `iter(...)` of the built-in function. */
static bool
is_iter(lw_reader *r, PyObject *call)
{
    uint32_t callee = lw_read_field(r, call, r->ast.func);
    PyObject *object = callee ? lw_read_object(r, callee) : NULL;

    return object != NULL && PyCFunction_Check(object) && is_from(object, "builtins") &&
           strcmp(((PyCFunctionObject *)object)->m_ml->ml_name, "iter") == 0;
}

uint32_t
lw_read_generator(lw_reader *r, PyObject *call, uint32_t callee, uint32_t loc)
{
    const char *name = name_of_consumer(lw_read_object(r, callee));
    PyObject *args;
    lw_ast_kind kind;

    if (name == NULL || lw_ast_list(call, r->ast.args, &args) <= 0)
        return 0;
    kind = lw_ast_kind_of(&r->ast, PyList_GET_ITEM(args, 0));
    if (kind != LW_AST_GeneratorExp && kind != LW_AST_ListComp &&
        !(kind == LW_AST_Call && strcmp(name, "next") == 0 &&
          is_iter(r, PyList_GET_ITEM(args, 0))) &&
        !(kind == LW_AST_BinOp && strcmp(name, "array") == 0)) /* np.array([x] * n) */
        return 0;
    return read_loop(r, name, call, loc);
}

uint32_t
lw_read_list_comprehension(lw_reader *r, PyObject *comprehension, uint32_t loc)
{
    return read_loop(r, "list", comprehension, loc);
}

/* ---- ufuncs with an output ---- */

enum { MOST_IN = 2 };

/* The number of its inputs if it has one output of which each element depends on one element of
 * each input; else 0. */
static long
inputs_of(lw_reader *r, PyObject *object)
{
    PyObject *n_in = NULL, *n_out = NULL, *signature = NULL;
    long result = 0;

    if (!lw_read_is_ufunc(r, object))
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

/* Whether a Ufunc of ours takes n values by position before its outputs: `def f(x, n=2)`, and
 * excluded= and static= parameters, which are no inputs. */
static bool
takes_values(PyObject *object, long n)
{
    static const char *const path[] = {"py_func", "__code__", "co_argcount"};
    PyObject *found = Py_NewRef(object);
    bool result;

    for (size_t i = 0; found != NULL && i < sizeof path / sizeof *path; i++)
        Py_SETREF(found, PyObject_GetAttrString(found, path[i]));
    result = found != NULL && PyLong_Check(found) && PyLong_AsLong(found) >= n;
    Py_XDECREF(found);
    lw_read_clear();
    return result;
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

/* The place of the output among the arguments of a Ufunc of ours that takes more values than
 * its inputs: `out=`, or what follows all parameters. items->n: there is none. */
static uint32_t
place_of_out(lw_reader *r, PyObject *object, const lw_read_items *items)
{
    uint32_t place = items->n;
    bool by_position = true;

    for (uint32_t i = 0; i < items->n; i++) {
        const lw_node *node = &r->tree->nodes.data[items->data[i]];
        const char *name =
            node->kind == LW_NODE_ARG_KEYWORD ? r->tree->constants.data[node->a].text : NULL;

        if (name != NULL && strcmp(name, "out") == 0)
            place = i;
        by_position = by_position && name == NULL && node->kind != LW_NODE_STAR;
    }
    if (by_position && items->n > 1 && takes_values(object, (long)items->n - 1) &&
        !takes_values(object, (long)items->n))
        place = items->n - 1;
    return place;
}

/* The node of a function of lanewise/_array_ufuncs.py; 0: stop. */
static uint32_t
loop_node(lw_reader *r, const char *name, uint32_t loc)
{
    PyObject *helper = lw_service_find(LW_SERVICE_ARRAY_UFUNCS, name);
    uint32_t node = helper ? lw_read_constant_node(r, helper, loc) : lw_read_failed(r);

    Py_XDECREF(helper);
    return node;
}

/* `m(x, table, out=o)` becomes `given(m(x, table), o)`. */
static bool
read_given(lw_reader *r, uint32_t *callee, lw_read_items *items)
{
    uint32_t loc = r->tree->nodes.data[*callee].loc, n = items->n - 1, out, inner;
    uint32_t place = place_of_out(r, lw_read_object(r, *callee), items);

    if (place > n)
        return true;
    out = items->data[place];
    if (!take_out(r, &out))
        return true;
    memmove(items->data + place, items->data + place + 1, (n - place) * sizeof *items->data);
    inner =
        lw_read_list_node(r, (lw_node){LW_NODE_CALL, .loc = loc, .a = *callee}, items->data, n);
    *callee = inner ? loop_node(r, "given", loc) : 0;
    items->n = 0;
    return *callee != 0 && lw_read_item(r, items, inner) && lw_read_item(r, items, out);
}

bool
lw_read_array_ufunc(lw_reader *r, uint32_t *callee, lw_read_items *items)
{
    static const char *const names[MOST_IN + 1] = {"", "unary", "binary"};
    PyObject *object = lw_read_object(r, *callee);
    long n_in = inputs_of(r, object);
    uint32_t node;

    if (n_in != 0 && items->n > 0 && takes_values(object, n_in + 1) &&
        (items->n != (uint32_t)n_in + 1 ||
         r->tree->nodes.data[items->data[n_in]].kind != LW_NODE_ARG_KEYWORD))
        return read_given(r, callee, items);
    if (n_in == 0 || items->n != (uint32_t)n_in + 1)
        return true;
    if (!take_out(r, &items->data[n_in]))
        return true;
    for (long i = 0; i < n_in; i++) {
        lw_node_kind kind = r->tree->nodes.data[items->data[i]].kind;
        if (kind == LW_NODE_ARG_KEYWORD || kind == LW_NODE_STAR)
            return true;
    }
    node = loop_node(r, names[n_in], r->tree->nodes.data[*callee].loc);
    if (node == 0 || !lw_read_item(r, items, *callee))
        return false;
    memmove(items->data + 1, items->data, (items->n - 1) * sizeof *items->data);
    items->data[0] = *callee;
    *callee = node;
    return true;
}
