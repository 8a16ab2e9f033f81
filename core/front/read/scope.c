/* Names as Python resolves them: a name that is bound anywhere in a function is local to all of
 * it; then come the enclosing functions; then the closure cells, module globals and builtins of
 * the outermost function, whose values are frozen. */
#include "core/front/read/critical.h"
#include "core/front/read/code.h"
#include "core/front/read/read_internal.h"

#include <string.h>

#include "core/front/diagnose.h"

#include <assert.h>

int
lw_scope_init(lw_reader *r, lw_scope *scope, lw_scope *parent, uint32_t fn)
{
    *scope = (lw_scope){.parent = parent, .fn = fn};
    r->tree->fns.data[fn].first_node = r->tree->nodes.n;
    scope->vars = PyDict_New();
    scope->globals = PySet_New(NULL);
    scope->nonlocals = PySet_New(NULL);
    if (!scope->vars || !scope->globals || !scope->nonlocals) {
        lw_read_failed(r);
        return -1;
    }
    return 0;
}

void
lw_scope_reset(lw_reader *r, lw_scope *scope)
{
    lw_fn *fn = &r->tree->fns.data[scope->fn];

    fn->n_nodes = r->tree->nodes.n - fn->first_node;
    Py_CLEAR(scope->vars);
    Py_CLEAR(scope->globals);
    Py_CLEAR(scope->nonlocals);
}

/* 0: it is no variable of this scope. */
static uint32_t
scope_get(const lw_scope *scope, PyObject *name)
{
    PyObject *number = PyDict_GetItemWithError(scope->vars, name);

    return number ? (uint32_t)PyLong_AsUnsignedLong(number) : 0;
}

uint32_t
lw_scope_add(lw_reader *r, lw_scope *scope, PyObject *name)
{
    assert(scope->fn != 0 && scope->fn < r->tree->fns.n && PyUnicode_Check(name));
    lw_fn *fn = &r->tree->fns.data[scope->fn];
    uint32_t var = scope_get(scope, name);
    PyObject *number;
    lw_var *slot;

    if (var != 0)
        return var;
    if (fn->vars.n == 0) {
        slot = lw_array_push(&fn->vars, &r->tree->arena); /* [0] means none */
        if (slot == NULL)
            return lw_read_no_memory(r);
    }
    slot = lw_array_push(&fn->vars, &r->tree->arena);
    if (slot == NULL)
        return lw_read_no_memory(r);
    var = fn->vars.n - 1;
    slot->name = lw_read_str(r, name);
    number = PyLong_FromUnsignedLong(var);
    if (number == NULL || PyDict_SetItem(scope->vars, name, number) < 0) {
        Py_XDECREF(number);
        return lw_read_failed(r);
    }
    Py_DECREF(number);
    return slot->name ? var : 0;
}

/* ---- which names a function binds ---- */

static int
add_name(lw_reader *r, lw_scope *scope, PyObject *name)
{
    if (name == NULL || !PyUnicode_Check(name))
        return 0;
    if (PySet_Contains(scope->globals, name) || PySet_Contains(scope->nonlocals, name))
        return 0;
    return lw_scope_add(r, scope, name) ? 0 : -1;
}

static int
scan_field(lw_reader *r, lw_scope *scope, PyObject *node, PyObject *field)
{
    PyObject *child = lw_ast_get(node, field);

    return child ? lw_scope_scan(r, scope, child) : 0;
}

static int
scan_fields(lw_reader *r, lw_scope *scope, PyObject *node)
{
    PyObject *fields = lw_ast_get((PyObject *)Py_TYPE(node), r->ast._fields);

    for (Py_ssize_t i = 0; fields && i < PyTuple_GET_SIZE(fields); i++)
        if (scan_field(r, scope, node, PyTuple_GET_ITEM(fields, i)) < 0)
            return -1;
    return 0;
}

/* A def or lambda binds its name here; only its decorators and defaults are evaluated in this
 * scope. */
static int
scan_function(lw_reader *r, lw_scope *scope, PyObject *node)
{
    PyObject *args = lw_ast_get(node, r->ast.args);

    if (add_name(r, scope, lw_ast_get(node, r->ast.name)) < 0 ||
        scan_field(r, scope, node, r->ast.decorator_list) < 0)
        return -1;
    if (args == NULL)
        return 0;
    return scan_field(r, scope, args, r->ast.defaults) < 0 ||
                   scan_field(r, scope, args, r->ast.kw_defaults) < 0
               ? -1
               : 0;
}

static int
scan_import(lw_reader *r, lw_scope *scope, PyObject *node)
{
    PyObject *names;
    Py_ssize_t n = lw_ast_list(node, r->ast.names, &names);

    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *alias = PyList_GET_ITEM(names, i);
        PyObject *name = lw_ast_get(alias, r->ast.asname);
        if (add_name(r, scope, name ? name : lw_ast_get(alias, r->ast.name)) < 0)
            return -1;
    }
    return 0;
}

/* Global and nonlocal declarations precede every use, so one walk in source order is enough. */
static int
scan_declaration(lw_reader *r, PyObject *set, PyObject *node)
{
    PyObject *names;
    Py_ssize_t n = lw_ast_list(node, r->ast.names, &names);

    for (Py_ssize_t i = 0; i < n; i++) {
        if (PySet_Add(set, PyList_GET_ITEM(names, i)) < 0) {
            lw_read_failed(r);
            return -1;
        }
    }
    return 0;
}

static int
scan_node(lw_reader *r, lw_scope *scope, PyObject *node)
{
    PyObject *context;

    switch (lw_ast_kind_of(&r->ast, node)) {
    case LW_AST_Name:
        context = lw_ast_get(node, r->ast.ctx);
        if (context == NULL || (lw_ast_kind_of(&r->ast, context) != LW_AST_Store &&
                                lw_ast_kind_of(&r->ast, context) != LW_AST_Del))
            return 0;
        return add_name(r, scope, lw_ast_get(node, r->ast.id));
    case LW_AST_Constant: return 0;
    case LW_AST_FunctionDef:
    case LW_AST_AsyncFunctionDef:
    case LW_AST_Lambda: return scan_function(r, scope, node);
    case LW_AST_ClassDef: return add_name(r, scope, lw_ast_get(node, r->ast.name));
    case LW_AST_Import:
    case LW_AST_ImportFrom: return scan_import(r, scope, node);
    case LW_AST_Global: return scan_declaration(r, scope->globals, node);
    case LW_AST_Nonlocal: return scan_declaration(r, scope->nonlocals, node);
    case LW_AST_ListComp: /* their variables belong to them, and they are not compiled */
    case LW_AST_SetComp:
    case LW_AST_DictComp:
    case LW_AST_GeneratorExp: return 0;
    case LW_AST_MatchAs:
    case LW_AST_MatchStar:
    case LW_AST_ExceptHandler:
        if (add_name(r, scope, lw_ast_get(node, r->ast.name)) < 0)
            return -1;
        return scan_fields(r, scope, node);
    default: return scan_fields(r, scope, node);
    }
}

int
lw_scope_scan(lw_reader *r, lw_scope *scope, PyObject *node)
{
    int result = 0;

    if (PyList_CheckExact(node)) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(node) && result == 0; i++)
            result = lw_scope_scan(r, scope, PyList_GET_ITEM(node, i));
        return result;
    }
    if (!PyObject_TypeCheck(node, (PyTypeObject *)r->ast.base))
        return 0;
    if (Py_EnterRecursiveCall(" while reading a function")) {
        lw_read_failed(r);
        return -1;
    }
    result = scan_node(r, scope, node);
    Py_LeaveRecursiveCall();
    return result;
}

/* ---- what a name means ---- */

/* The variable of `scope` for `name`, captured from an enclosing function if it is bound there;
 * 0: neither, or stop. */
static uint32_t
variable(lw_reader *r, lw_scope *scope, PyObject *name)
{
    assert(scope == NULL || scope->fn < r->tree->fns.n);
    uint32_t var, parent_var;
    lw_fn_capture *capture;

    if (scope == NULL || PySet_Contains(scope->globals, name) == 1)
        return 0;
    var = scope_get(scope, name);
    if (var != 0)
        return var;
    parent_var = variable(r, scope->parent, name);
    if (parent_var == 0)
        return 0;
    var = lw_scope_add(r, scope, name);
    if (var == 0)
        return 0;
    capture = lw_array_push(&r->tree->fns.data[scope->fn].captures, &r->tree->arena);
    if (capture == NULL)
        return lw_read_no_memory(r);
    *capture = (lw_fn_capture){.var = var, .parent_var = parent_var};
    return var;
}

/* The cell of a free variable of the function (borrowed); NULL: it has none of this name. */
static PyObject *
cell_of(lw_reader *r, PyObject *name)
{
    assert(r->function != NULL && PyFunction_Check(r->function));
    PyObject *cells = PyFunction_GET_CLOSURE(r->function);
    PyObject *names;
    Py_ssize_t i;

    if (cells == NULL)
        return NULL;
    names = PyObject_GetAttrString(PyFunction_GET_CODE(r->function), "co_freevars");
    i = names ? PySequence_Index(names, name) : -1;
    Py_XDECREF(names);
    lw_read_clear();
    return i < 0 || i >= PyTuple_GET_SIZE(cells) ? NULL : PyTuple_GET_ITEM(cells, i);
}

/* 1 with *out (new reference, NULL: an empty cell), 0: no free variable of this name. */
static int
closure_value(lw_reader *r, PyObject *name, PyObject **out)
{
    PyObject *cell = cell_of(r, name);

    *out = NULL;
    if (cell == NULL)
        return 0;
    if (lw_captures_add_cell(r->captures, cell, name) < 0) {
        lw_read_failed(r);
        return 0;
    }
    *out = PyCell_Get(cell);
    return 1;
}

/* What the name is bound to in the module: new reference; NULL: to nothing, or stop. What a
 * lazy import loads may have named functions, so that their list is made anew. */
static PyObject *
bound_value(lw_reader *r, PyObject *name)
{
    PyObject *value = lw_dict_item(r->globals, name);

    if (value == NULL || !lw_is_lazy_import(value))
        return value;
    Py_CLEAR(r->named);
    Py_CLEAR(r->named_kept);
    value = lw_import_now(r->globals, name, value);
    if (value == NULL)
        lw_read_failed(r);
    return value;
}

/* New reference; NULL: no such name, or stop. Both the module and what could shadow the name
 * are guarded, unless nobody changes the module. */
static PyObject *
global_value(lw_reader *r, PyObject *name)
{
    PyObject *value = bound_value(r, name);

    if (value == NULL && r->status != LW_OK)
        return NULL;
    if (!r->is_settled && lw_captures_add_name(r->captures, r->globals, name, value) < 0)
        lw_read_failed(r);
    if (value == NULL && r->builtins != NULL)
        value = lw_dict_item(r->builtins, name);
    return value;
}

/* All names that are visible, for "did you mean". */
static int
add_keys_now(lw_read_items *starts, lw_text *pool, PyObject *dict)
{
    PyObject *key;
    Py_ssize_t position = 0;

    while (PyDict_Next(dict, &position, &key, NULL)) {
        const char *text = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
        uint32_t *start;
        if (text == NULL) {
            lw_read_clear();
            continue;
        }
        start = lw_array_push(starts, NULL);
        if (start == NULL)
            return -1;
        *start = (uint32_t)pool->n;
        lw_text_add_n(pool, text, strlen(text) + 1);
    }
    return 0;
}

static int
add_keys(lw_read_items *starts, lw_text *pool, PyObject *dict)
{
    int result;

    if (dict == NULL)
        return 0;
    Py_BEGIN_CRITICAL_SECTION(dict);
    result = add_keys_now(starts, pool, dict);
    Py_END_CRITICAL_SECTION();
    return result;
}

static const char *
nearest_in(lw_reader *r, const char *word, const lw_read_items *starts, const lw_text *pool)
{
    const char **names = lw_alloc(starts->n * sizeof *names + 1);
    const char *best = NULL;
    char help[160];

    if (names != NULL && !pool->failed) {
        for (uint32_t i = 0; i < starts->n; i++)
            names[i] = pool->data + starts->data[i];
        best = lw_nearest(word, names, starts->n);
        if (best != NULL) {
            snprintf(help, sizeof help, "did you mean `%.100s`?", best);
            best = lw_read_text(r, help);
        }
    }
    lw_free(names);
    return best;
}

/* "did you mean `sqrt`?", or NULL. */
static const char *
did_you_mean(lw_reader *r, PyObject *name)
{
    const char *word = PyUnicode_AsUTF8(name), *help = NULL;
    lw_read_items starts = {0};
    lw_text pool;
    int failed = 0;

    lw_text_init(&pool);
    for (lw_scope *scope = r->scope; scope != NULL; scope = scope->parent)
        failed |= add_keys(&starts, &pool, scope->vars);
    failed |= add_keys(&starts, &pool, r->globals);
    failed |= add_keys(&starts, &pool, r->builtins);
    if (!failed && word != NULL)
        help = nearest_in(r, word, &starts, &pool);
    lw_array_free(&starts);
    lw_text_reset(&pool);
    return help;
}

static uint32_t
undefined(lw_reader *r, PyObject *ast_node, PyObject *name, bool is_empty_cell)
{
    const char *help = is_empty_cell ? "the enclosing function assigns it only after this one "
                                       "was compiled"
                                     : did_you_mean(r, name);
    const char *text = lw_read_str(r, name);
    uint32_t constant = text ? lw_read_constant_text(r, LW_K_UNDEFINED, text, help) : 0;

    if (constant == 0)
        return 0;
    return lw_read_node(
        r, (lw_node){LW_NODE_CONSTANT, .loc = lw_read_loc(r, ast_node), .a = constant});
}

/* The function that is read, if it has this name, to which nothing is bound: its decorator is
 * at work. New reference, or NULL. */
static PyObject *
itself(lw_reader *r, PyObject *name)
{
    PyObject *cell = cell_of(r, name);
    PyObject *own = ((PyFunctionObject *)r->function)->func_name;

    if (PyUnicode_Compare(own, name) != 0)
        return NULL;
    lw_captures_is_own(r->captures, cell ? cell : r->globals, name, r->function);
    return Py_NewRef(r->function);
}

/* A caught exception, which is no value in compiled code. */
static uint32_t
refuse_caught(lw_reader *r, PyObject *ast_node, PyObject *name)
{
    const char *text = lw_read_str(r, name);

    if (text == NULL)
        return 0;
    return lw_read_error(
        r, ast_node,
        (lw_fault){LW_ERR_UNSUPPORTED, "E101",
                   .label = "compiled code knows the class of an exception, and has no object",
                   .help =
                       "raise it again, `raise` or `raise ... from e`, or write an `except` "
                       "for each class; handle what needs the message in the Python "
                       "function that calls this one"},
        "the exception `%s` can only be raised again", text);
}

uint32_t
lw_read_name(lw_reader *r, PyObject *ast_node, PyObject *name)
{
    assert(r->scope != NULL);
    uint32_t var = variable(r, r->scope, name), constant;
    PyObject *value = NULL;
    int is_free = 0;

    if (r->status != LW_OK)
        return 0;
    if (lw_read_names_caught(r, name))
        return refuse_caught(r, ast_node, name);
    if (var != 0)
        return lw_read_node(r,
                            (lw_node){LW_NODE_NAME, .loc = lw_read_loc(r, ast_node), .a = var});
    if (r->self_name != NULL && PyUnicode_CompareWithASCIIString(name, r->self_name) == 0) {
        value = r->self;
        Py_INCREF(value);
    } else {
        is_free = closure_value(r, name, &value);
        if (!is_free)
            value = global_value(r, name);
    }
    if (r->status != LW_OK) {
        Py_XDECREF(value);
        return 0;
    }
    if (value == NULL)
        value = itself(r, name);
    if (value == NULL)
        return undefined(r, ast_node, name, is_free);
    if (is_free)
        constant = lw_read_captured(r, cell_of(r, name), NULL, value);
    else
        constant = lw_read_captured(r, r->globals, name, value);
    Py_DECREF(value);
    return constant ? lw_read_node(r, (lw_node){LW_NODE_CONSTANT,
                                                .loc = lw_read_loc(r, ast_node), .a = constant})
                    : 0;
}

uint32_t
lw_read_name_store(lw_reader *r, PyObject *ast_node, PyObject *name)
{
    assert(r->scope != NULL);
    bool is_global = PySet_Contains(r->scope->globals, name) == 1;
    bool is_nonlocal = PySet_Contains(r->scope->nonlocals, name) == 1;
    uint32_t var, node;

    if (is_global || is_nonlocal)
        return lw_read_error(
            r, ast_node,
            (lw_fault){LW_ERR_UNSUPPORTED, "E101",
                       .label = is_global
                                    ? "this name is global: compiled code reads globals as "
                                      "constants and cannot change them"
                                    : "this name belongs to the enclosing function",
                       .help = "return the new value instead"},
            "assignment to a %s name", is_global ? "global" : "nonlocal");
    if (lw_read_names_caught(r, name))
        return refuse_caught(r, ast_node, name);
    var = lw_scope_add(r, r->scope, name);
    if (var == 0)
        return 0;
    node = lw_read_node(r, (lw_node){LW_NODE_NAME, .loc = lw_read_loc(r, ast_node), .a = var});
    if (node != 0)
        r->tree->nodes.data[node].flags |= LW_NODE_STORE;
    return node;
}
