/* Parameters of a function with their defaults and annotations, and the types of `locals=`.
 * Defaults of live functions are frozen objects with a guard; an annotation counts if it names
 * a type of ours or NumPy's, and may be a text that is looked up in the function's module. */
#include "core/front/read/read_internal.h"

#include <assert.h>
#include <string.h>

static bool
add_param(lw_reader *r, PyObject *arg, lw_param_kind kind)
{
    PyObject *name = lw_ast_get(arg, r->ast.arg);
    uint32_t var = lw_scope_add(r, r->scope, name);
    lw_fn *fn = &r->tree->fns.data[r->scope->fn];
    lw_fn_param *param = var ? lw_array_push(&fn->params, &r->tree->arena) : NULL;

    if (param == NULL) {
        lw_read_no_memory(r);
        return false;
    }
    *param = (lw_fn_param){.name = fn->vars.data[var].name, .var = var, .kind = kind};
    return true;
}

static bool
add_params(lw_reader *r, PyObject *args, PyObject *field, lw_param_kind kind, Py_ssize_t skip)
{
    assert(skip >= 0);
    PyObject *list;
    Py_ssize_t n = lw_ast_list(args, field, &list);

    for (Py_ssize_t i = skip; i < n; i++)
        if (!add_param(r, PyList_GET_ITEM(list, i), kind))
            return false;
    return true;
}

/* Parameters in Python's order: positional-only, positional, *args, keyword-only. The self of a
 * bound method is not a parameter: its name stands for the object. */
bool
lw_read_params(lw_reader *r, PyObject *args)
{
    PyObject *list, *vararg = lw_ast_get(args, r->ast.vararg),
                    *kwarg = lw_ast_get(args, r->ast.kwarg);
    Py_ssize_t n_posonly = lw_ast_list(args, r->ast.posonlyargs, &list), skip = 0;

    if (r->self != NULL && r->scope->parent == NULL) {
        PyObject *first;
        if (n_posonly == 0)
            lw_ast_list(args, r->ast.args, &list);
        first = list && PyList_GET_SIZE(list) ? lw_ast_get(PyList_GET_ITEM(list, 0), r->ast.arg)
                                              : NULL;
        r->self_name = first ? lw_read_str(r, first) : NULL;
        skip = first != NULL;
    }
    if (!add_params(r, args, r->ast.posonlyargs, LW_PARAM_POSITIONAL, n_posonly ? skip : 0))
        return false;
    for (uint32_t i = 0; i < r->tree->fns.data[r->scope->fn].params.n; i++)
        r->tree->fns.data[r->scope->fn].params.data[i].unnamed = true;
    if (!add_params(r, args, r->ast.args, LW_PARAM_POSITIONAL, n_posonly ? 0 : skip))
        return false;
    if (vararg != NULL && !add_param(r, vararg, LW_PARAM_VARARG))
        return false;
    if (!add_params(r, args, r->ast.kwonlyargs, LW_PARAM_KEYWORD_ONLY, 0))
        return false;
    if (kwarg != NULL)
        r->tree->fns.data[r->scope->fn].problem =
            lw_read_diag(r, lw_read_loc(r, kwarg),
                         (lw_fault){LW_ERR_UNSUPPORTED, "E101",
                                    .label = "compiled functions have named parameters",
                                    .help = "name each parameter"},
                         "a `**` parameter cannot be compiled");
    return r->status == LW_OK;
}

static lw_fn_param *
param_named(lw_reader *r, uint32_t fn, const char *name)
{
    lw_fn *f = &r->tree->fns.data[fn];

    for (uint32_t i = 0; name && i < f->params.n; i++)
        if (strcmp(f->params.data[i].name, name) == 0)
            return &f->params.data[i];
    return NULL;
}

static bool
read_defaults(lw_reader *r, uint32_t fn, PyObject *defaults)
{
    Py_ssize_t n = defaults && PyTuple_Check(defaults) ? PyTuple_GET_SIZE(defaults) : 0;
    uint32_t n_positional = lw_fn_positional(&r->tree->fns.data[fn]);

    for (Py_ssize_t i = 0; i < n && i < (Py_ssize_t)n_positional; i++) {
        uint32_t constant = lw_read_constant(r, PyTuple_GET_ITEM(defaults, n - 1 - i));
        if (constant == 0)
            return false;
        r->tree->fns.data[fn].params.data[n_positional - 1 - (uint32_t)i].default_constant =
            constant;
    }
    return true;
}

/* now: a copy of kwdefaults, which other threads may change. */
static bool
read_kwdefaults(lw_reader *r, uint32_t fn, PyObject *kwdefaults, PyObject *now)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;

    while (PyDict_Next(now, &position, &key, &value)) {
        uint32_t constant = lw_read_constant(r, value);
        if (constant != 0 && lw_captures_add_name(r->captures, kwdefaults, key, value) < 0)
            return lw_read_failed(r);
        lw_fn_param *param = constant ? param_named(r, fn, PyUnicode_AsUTF8(key)) : NULL;
        if (constant == 0)
            return false;
        if (param != NULL)
            param->default_constant = constant;
    }
    return true;
}

/* The defaults of a live function: its __defaults__ and __kwdefaults__, as they are now. */
bool
lw_read_live_defaults(lw_reader *r, uint32_t fn)
{
    PyObject *defaults = PyObject_GetAttrString(r->function, "__defaults__");
    PyObject *kwdefaults = PyObject_GetAttrString(r->function, "__kwdefaults__");
    PyObject *now = kwdefaults && PyDict_Check(kwdefaults) ? PyDict_Copy(kwdefaults) : NULL;
    bool ok;

    lw_read_clear();
    ok = read_defaults(r, fn, defaults) &&
         (now == NULL || read_kwdefaults(r, fn, kwdefaults, now));
    Py_XDECREF(now);
    Py_XDECREF(kwdefaults);
    Py_XDECREF(defaults);
    return ok;
}

/* The defaults of a nested def are evaluated where the def is executed, so that only constants
 * are supported. */
static bool
read_nested_default(lw_reader *r, uint32_t fn, uint32_t param, PyObject *node)
{
    uint32_t value = lw_read_expr(r, node);

    if (value == 0)
        return false;
    if (r->tree->nodes.data[value].kind == LW_NODE_CONSTANT)
        r->tree->fns.data[fn].params.data[param].default_constant =
            r->tree->nodes.data[value].a;
    else if (r->tree->nodes.data[value].kind == LW_NODE_ERROR)
        r->tree->fns.data[fn].problem = r->tree->nodes.data[value].a;
    else
        r->tree->fns.data[fn].problem =
            lw_read_diag(r, lw_read_loc(r, node),
                         (lw_fault){LW_ERR_UNSUPPORTED, "E101",
                                    .label = "this default is known only at run time",
                                    .help = "pass it as an argument"},
                         "defaults of nested functions must be constants");
    return r->status == LW_OK;
}

bool
lw_read_nested_defaults(lw_reader *r, uint32_t fn, PyObject *args)
{
    PyObject *list;
    Py_ssize_t n = lw_ast_list(args, r->ast.defaults, &list);
    uint32_t n_positional = lw_fn_positional(&r->tree->fns.data[fn]), n_params;

    for (Py_ssize_t i = 0; i < n; i++)
        if (!read_nested_default(r, fn, n_positional - (uint32_t)(n - i),
                                 PyList_GET_ITEM(list, i)))
            return false;
    n = lw_ast_list(args, r->ast.kw_defaults, &list);
    n_params = r->tree->fns.data[fn].params.n;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *node = PyList_GET_ITEM(list, i);
        if (node != Py_None && !read_nested_default(r, fn, n_params - (uint32_t)(n - i), node))
            return false;
    }
    return true;
}

/* ---- parameters of a function without a text ---- */

static bool
add_named(lw_reader *r, PyObject *names, Py_ssize_t at, lw_param_kind kind, bool unnamed)
{
    uint32_t var = lw_scope_add(r, r->scope, PyTuple_GET_ITEM(names, at));
    lw_fn *fn = &r->tree->fns.data[r->scope->fn];
    lw_fn_param *param = var ? lw_array_push(&fn->params, &r->tree->arena) : NULL;

    if (param == NULL)
        return var ? lw_read_no_memory(r) : false;
    *param = (lw_fn_param){
        .name = fn->vars.data[var].name, .var = var, .kind = kind, .unnamed = unnamed};
    return true;
}

bool
lw_read_params_of_code(lw_reader *r, PyCodeObject *code)
{
    PyObject *names = PyObject_GetAttrString((PyObject *)code, "co_varnames");
    Py_ssize_t n = code->co_argcount, n_named = code->co_kwonlyargcount;
    bool ok = true;

    if (names == NULL)
        return lw_read_failed(r);
    for (Py_ssize_t i = r->self != NULL; ok && i < n; i++)
        ok = add_named(r, names, i, LW_PARAM_POSITIONAL, i < code->co_posonlyargcount);
    if (ok && (code->co_flags & CO_VARARGS))
        ok = add_named(r, names, n + n_named, LW_PARAM_VARARG, false);
    for (Py_ssize_t i = 0; ok && i < n_named; i++)
        ok = add_named(r, names, n + i, LW_PARAM_KEYWORD_ONLY, false);
    Py_XDECREF(names);
    return ok;
}

/* ---- annotations ---- */

/* The constant of an annotation that is a text, "float32": an expression in the function's
 * module. */
static uint32_t
annotation_from_text(lw_reader *r, PyObject *text)
{
    const char *utf8 = PyUnicode_AsUTF8(text);
    PyObject *tree = NULL, *body;
    uint32_t constant = 0;

    if (utf8 != NULL)
        tree = lw_ast_parse(utf8, "<annotation>", Py_eval_input, 0);
    lw_read_clear();
    if (tree == NULL)
        return 0;
    body = lw_ast_get(tree, r->ast.body);
    if (body != NULL) /* it may be a text again: quoted, and with `from __future__ import
                         annotations` */
        constant = lw_read_annotation_expr(r, body);
    if (constant == 0 && r->status == LW_OK && body != NULL &&
        lw_ast_kind_of(&r->ast, body) == LW_AST_Call)
        constant = lw_read_type_text(r, utf8); /* "Tuple(float32, int64)" */
    Py_DECREF(tree);
    return constant;
}

/* Whether it is tuple or typing.Tuple. */
static bool
is_tuple_type(PyObject *object)
{
    PyObject *origin = PyObject_GetAttrString(object, "__origin__");
    bool is_tuple = object == (PyObject *)&PyTuple_Type || origin == (PyObject *)&PyTuple_Type;

    lw_read_clear();
    Py_XDECREF(origin);
    return is_tuple;
}

/* tuple[float32, int64] in a text, or in code that does not evaluate it. 0 and status OK: it is
 * something else, or an item is no type. */
static uint32_t
annotation_of_tuple(lw_reader *r, PyObject *node)
{
    uint32_t of = lw_read_expr(r, lw_ast_get(node, r->ast.value)), items[LW_READ_MOST_ITEMS];
    PyObject *origin = lw_read_object(r, of), *slice = lw_ast_get(node, r->ast.slice), *list;
    Py_ssize_t n = 1;

    if (slice == NULL || origin == NULL || !is_tuple_type(origin))
        return 0;
    if (lw_ast_kind_of(&r->ast, slice) != LW_AST_Tuple)
        list = NULL;
    else if ((n = lw_ast_list(slice, r->ast.elts, &list)) < 1 || n > LW_READ_MOST_ITEMS)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        items[i] = lw_read_annotation_expr(r, list ? PyList_GET_ITEM(list, i) : slice);
        if (items[i] == 0)
            return 0;
    }
    return lw_read_tuple_type(r, items, (uint32_t)n);
}

/* 0 and status OK: it is no type. Only names, attributes and tuples of them can be one. */
uint32_t
lw_read_annotation_expr(lw_reader *r, PyObject *node)
{
    lw_ast_kind kind = node ? lw_ast_kind_of(&r->ast, node) : LW_AST_UNKNOWN;
    PyObject *object;
    uint32_t expr;

    if (kind == LW_AST_Constant) {
        object = lw_ast_get(node, r->ast.value);
        return object && PyUnicode_Check(object) ? annotation_from_text(r, object) : 0;
    }
    if (kind == LW_AST_Subscript)
        return annotation_of_tuple(r, node);
    if (kind != LW_AST_Name && kind != LW_AST_Attribute && kind != LW_AST_Tuple)
        return 0;
    expr = lw_read_expr(r, node);
    object = lw_read_object(r, expr);
    return object ? lw_read_annotation(r, object) : 0;
}

/* The constant of a text that has no meaning in the function's module: a name that is visible
 * where the decorator is applied, as in a function that makes functions, or the name of one of
 * our types that was not imported. */
static uint32_t
annotation_from_enclosing(lw_reader *r, PyObject *text)
{
    PyObject *locals = PyEval_GetLocals();
    PyObject *object = locals && PyDict_Check(locals) ? lw_dict_item(locals, text) : NULL;
    const char *utf8 = PyUnicode_AsUTF8(text);
    uint32_t constant = 0;

    lw_read_clear();
    if (object == NULL)
        return utf8 ? lw_read_type_text(r, utf8) : 0;
    if (!PyUnicode_Check(object))
        constant = lw_read_annotation(r, object);
    Py_DECREF(object);
    return constant;
}

static bool
set_annotation(lw_reader *r, uint32_t fn, PyObject *key, PyObject *value)
{
    const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
    uint32_t constant =
        PyUnicode_Check(value) ? annotation_from_text(r, value) : lw_read_annotation(r, value);
    lw_fn_param *param = param_named(r, fn, name);

    if (constant == 0 && r->status == LW_OK && PyUnicode_Check(value))
        constant = annotation_from_enclosing(r, value);
    if (r->status != LW_OK)
        return false;
    if (param != NULL)
        param->annotation = constant;
    else if (name != NULL && strcmp(name, "return") == 0)
        r->tree->fns.data[fn].return_annotation = constant;
    return true;
}

/* From 3.14 on, reading the attribute evaluates the annotations: if that raises, there are
 * none. */
bool
lw_read_live_annotations(lw_reader *r, uint32_t fn)
{
    PyObject *annotations = PyObject_GetAttrString(r->function, "__annotations__");
    PyObject *now = annotations && PyDict_Check(annotations) ? PyDict_Copy(annotations) : NULL;
    PyObject *key, *value;
    Py_ssize_t position = 0;
    bool ok = true;

    lw_read_clear();
    while (now != NULL && ok && PyDict_Next(now, &position, &key, &value))
        ok = set_annotation(r, fn, key, value);
    Py_XDECREF(now);
    Py_XDECREF(annotations);
    return ok;
}

/* ---- `locals=` ---- */

/* A name that is no variable has no effect, as in numba; lanewise/_local_types.py warns of it.
 */
static bool
set_local_type(lw_reader *r, uint32_t fn, PyObject *key, PyObject *value)
{
    const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
    uint32_t constant = lw_read_annotation(r, value);
    lw_fn_param *param = param_named(r, fn, name);
    lw_fn *f = &r->tree->fns.data[fn];

    if (r->status != LW_OK || name == NULL)
        return r->status == LW_OK;
    if (param != NULL && param->annotation == 0)
        param->annotation = constant;
    for (uint32_t i = 1; i < f->vars.n; i++)
        if (strcmp(f->vars.data[i].name, name) == 0)
            f->vars.data[i].annotation = constant;
    return true;
}

bool
lw_read_local_types(lw_reader *r, uint32_t fn)
{
    PyObject *types = PyObject_GetAttrString(r->function, LW_LOCAL_TYPES), *key, *value;
    Py_ssize_t position = 0;
    bool ok = true;

    lw_read_clear();
    while (types != NULL && ok && PyDict_Next(types, &position, &key, &value))
        ok = set_local_type(r, fn, key, value);
    Py_XDECREF(types);
    return ok;
}
