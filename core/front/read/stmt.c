/* Statements and the patterns of `match`. Branches whose condition is known are pruned here, so
 * that names and syntax in a dead branch do not count. */
#include "core/front/read/read_internal.h"

#include <assert.h>
#include <string.h>

/* Each reader appends the nodes it made to `out`; false: stop. */
static bool read_statement(lw_reader *r, PyObject *node, lw_read_items *out);

static bool
is_docstring(const lw_reader *r, PyObject *statement)
{
    PyObject *value;

    if (lw_ast_kind_of(&r->ast, statement) != LW_AST_Expr)
        return false;
    value = lw_ast_get(statement, r->ast.value);
    return value && lw_ast_kind_of(&r->ast, value) == LW_AST_Constant;
}

uint32_t
lw_read_body(lw_reader *r, PyObject *statements, bool drop_docstring)
{
    lw_read_items items = {0};
    Py_ssize_t n = statements ? PyList_GET_SIZE(statements) : 0;
    uint32_t result = 0, loc = 0;

    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *statement = PyList_GET_ITEM(statements, i);
        if (i == 0)
            loc = lw_read_loc(r, statement);
        if (i == 0 && drop_docstring && is_docstring(r, statement))
            continue;
        if (!read_statement(r, statement, &items))
            goto done;
    }
    result = lw_read_list_node(r, (lw_node){LW_NODE_BODY, .loc = loc}, items.data, items.n);
done:
    lw_array_free(&items);
    return result;
}

uint32_t
lw_read_block(lw_reader *r, PyObject *node, PyObject *field)
{
    PyObject *statements;

    lw_ast_list(node, field, &statements);
    return lw_read_body(r, statements, false);
}

/* The body of a loop, to which `continue` belongs. */
static uint32_t
read_loop_body(lw_reader *r, PyObject *node)
{
    bool before = r->continue_is_break;
    uint32_t body;

    r->continue_is_break = false;
    body = lw_read_block(r, node, r->ast.body);
    r->continue_is_break = before;
    return body;
}

/* 0 and status OK: there is no else. */
static uint32_t
read_else(lw_reader *r, PyObject *node)
{
    PyObject *statements;

    return lw_ast_list(node, r->ast.orelse, &statements) ? lw_read_body(r, statements, false)
                                                         : 0;
}

/* ---- assignments ---- */

static uint32_t
read_assign(lw_reader *r, PyObject *node, uint32_t loc)
{
    PyObject *source = lw_ast_get(node, r->ast.value);
    uint32_t value = source ? lw_read_list_value(r, source) : 0, result = 0;
    lw_read_items items = {0};
    PyObject *targets;
    Py_ssize_t n = lw_ast_list(node, r->ast.targets, &targets);

    for (Py_ssize_t i = 0; value && i < n; i++) {
        uint32_t target = lw_read_target(r, PyList_GET_ITEM(targets, i));
        if (lw_read_is_error(r, target)) {
            result = target;
            goto done;
        }
        if (!lw_read_item(r, &items, target))
            goto done;
    }
    if (value != 0)
        result = lw_read_list_node(r, (lw_node){LW_NODE_ASSIGN, .loc = loc, .a = value},
                                   items.data, items.n);
    if (result != 0)
        lw_mark_lent_to(r->tree, &r->tree->fns.data[r->scope->fn], result);
done:
    lw_array_free(&items);
    return result;
}

/* The same expression once more, if it is a variable or a field at any depth of one, as a
 * value; 0: it is something else. */
static uint32_t
read_again(lw_reader *r, uint32_t node)
{
    lw_node again = r->tree->nodes.data[node];

    again.flags &= (uint8_t)~LW_NODE_STORE;
    if (again.kind == LW_NODE_ATTRIBUTE)
        again.a = read_again(r, again.a);
    else if (again.kind != LW_NODE_NAME)
        return 0;
    return again.a ? lw_read_node(r, again) : 0;
}

/* p.x = p.x + v for p.x += v. 0 and status OK: p may be another object behind v, or is
 * evaluated with effects. */
static uint32_t
read_in_full(lw_reader *r, lw_pyop op, uint32_t loc, uint32_t target, uint32_t value)
{
    uint32_t before, result;

    if (r->tree->nodes.data[target].kind != LW_NODE_ATTRIBUTE)
        return 0;
    for (uint32_t i = target; i <= value; i++)
        if (r->tree->nodes.data[i].kind == LW_NODE_WALRUS)
            return 0;
    before = read_again(r, target);
    result = before ? lw_read_node(r, (lw_node){LW_NODE_BINARY, .op = op, .loc = loc,
                                                .a = before, .b = value})
                    : 0;
    return result ? lw_read_list_node(r, (lw_node){LW_NODE_ASSIGN, .loc = loc, .a = result},
                                      &target, 1)
                  : 0;
}

static uint32_t
read_augassign(lw_reader *r, PyObject *node, uint32_t loc)
{
    lw_pyop op = lw_read_operator(r, lw_ast_get(node, r->ast.op));
    uint32_t target = lw_read_target(r, lw_ast_get(node, r->ast.target));
    uint32_t value, in_full;

    if (lw_read_is_error(r, target))
        return target;
    value = target ? lw_read_field(r, node, r->ast.value) : 0;
    in_full = value ? read_in_full(r, op, loc, target, value) : 0;
    return value ? lw_read_node(r, (lw_node){LW_NODE_AUGASSIGN, .op = op, .loc = loc,
                                             .a = target, .b = value, .c = in_full})
                 : 0;
}

/* Only a type of ours fixes the type of its variable; any other annotation is documentation, as
 * in Python. */
static bool
read_annassign(lw_reader *r, PyObject *node, uint32_t loc, lw_read_items *out)
{
    PyObject *target_node = lw_ast_get(node, r->ast.target);
    bool is_name = lw_ast_kind_of(&r->ast, target_node) == LW_AST_Name;
    uint32_t constant = lw_read_annotation_expr(r, lw_ast_get(node, r->ast.annotation)), target;
    uint32_t value = r->status == LW_OK ? lw_read_field(r, node, r->ast.value) : 0;

    if (r->status != LW_OK)
        return false;
    if (value == 0 && (constant == 0 || !is_name))
        return true;
    target = lw_read_target(r, target_node);
    if (target == 0 || lw_read_is_error(r, target))
        return lw_read_item(r, out, target);
    if (constant == 0 || r->tree->nodes.data[target].kind != LW_NODE_NAME)
        return lw_read_item(r, out,
                            lw_read_list_node(r,
                                              (lw_node){LW_NODE_ASSIGN, .loc = loc, .a = value},
                                              &target, 1));
    return lw_read_item(r, out,
                        lw_read_node(r, (lw_node){LW_NODE_ANNASSIGN, .loc = loc, .a = target,
                                                  .b = constant, .c = value}));
}

/* ---- control flow ---- */

/* The statements of a branch that is surely taken join the statements around it. */
bool
lw_read_into(lw_reader *r, PyObject *node, PyObject *field, lw_read_items *out)
{
    PyObject *statements;
    Py_ssize_t n = lw_ast_list(node, field, &statements);

    for (Py_ssize_t i = 0; i < n; i++)
        if (!read_statement(r, PyList_GET_ITEM(statements, i), out))
            return false;
    return true;
}

static bool
read_if(lw_reader *r, PyObject *node, uint32_t loc, lw_read_items *out)
{
    uint32_t test = lw_read_field(r, node, r->ast.test), body, other;
    int truth = test ? lw_fold_truth(lw_read_object(r, test)) : -1;

    if (test == 0)
        return false;
    if (truth >= 0)
        return lw_read_into(r, node, truth ? r->ast.body : r->ast.orelse, out);
    body = lw_read_block(r, node, r->ast.body);
    other = body ? read_else(r, node) : 0;
    if (body == 0 || r->status != LW_OK)
        return false;
    return lw_read_item(
        r, out,
        lw_read_node(r, (lw_node){LW_NODE_IF, .loc = loc, .a = test, .b = body, .c = other}));
}

static bool
read_while(lw_reader *r, PyObject *node, uint32_t loc, lw_read_items *out)
{
    uint32_t test = lw_read_field(r, node, r->ast.test), body, other;

    if (test == 0)
        return false;
    if (lw_fold_truth(lw_read_object(r, test)) == 0)
        return lw_read_into(r, node, r->ast.orelse, out);
    body = read_loop_body(r, node);
    other = body ? read_else(r, node) : 0;
    if (body == 0 || r->status != LW_OK)
        return false;
    return lw_read_item(r, out,
                        lw_read_node(r, (lw_node){LW_NODE_WHILE, .loc = loc, .a = test,
                                                  .b = body, .c = other}));
}

static uint32_t
read_loop(lw_reader *r, PyObject *node, uint32_t loc, uint32_t iterable)
{
    uint32_t target = lw_read_target(r, lw_ast_get(node, r->ast.target));
    uint32_t body, other, both;

    if (lw_read_is_error(r, target))
        return target;
    body = target ? read_loop_body(r, node) : 0;
    other = body ? read_else(r, node) : 0;
    if (body == 0 || r->status != LW_OK)
        return 0;
    both = lw_read_node(r, (lw_node){LW_NODE_LOOP_BODY, .loc = loc, .a = body, .b = other});
    if (both != 0)
        both = lw_read_node(
            r, (lw_node){LW_NODE_FOR, .loc = loc, .a = target, .b = iterable, .c = both});
    if (both != 0)
        lw_mark_lent_loop(r->tree, both);
    return both;
}

static bool
read_for(lw_reader *r, PyObject *node, uint32_t loc, lw_read_items *out)
{
    uint32_t iterable = lw_read_iterable(r, lw_ast_get(node, r->ast.iter));
    uint32_t keys = iterable ? lw_read_dict_keys(r, lw_read_object(r, iterable), loc) : 0;
    PyObject *items;
    bool ok;

    if (iterable == 0 || r->status != LW_OK)
        return false;
    iterable = keys ? keys : iterable;
    items = lw_read_static_items(r, iterable);
    if (items != NULL && lw_read_can_unroll(r, node))
        ok = lw_read_unrolled(r, node, loc, items, out);
    else
        ok = lw_read_item(r, out, read_loop(r, node, loc, iterable));
    Py_XDECREF(items);
    return ok;
}

/* `__lentiter__`: of lists of the package (core/front/infer/list.c). */
static bool
is_iterator(const char *name)
{
    return strcmp(name, "__iter__") == 0 || strcmp(name, "__lentiter__") == 0;
}

/* In `__iter__`: the x of `iter(x)`; NULL: the value is no such call. */
static PyObject *
iterated(lw_reader *r, PyObject *value)
{
    lw_fn *fn = &r->tree->fns.data[r->scope->fn];
    PyObject *args, *iter, *callee;

    if (value == NULL || r->scope->parent != NULL || !is_iterator(fn->name) ||
        lw_ast_kind_of(&r->ast, value) != LW_AST_Call ||
        lw_ast_list(value, r->ast.args, &args) != 1)
        return NULL;
    callee = lw_ast_get(value, r->ast.func);
    iter = r->builtins ? PyDict_GetItemString(r->builtins, "iter") : NULL;
    if (iter == NULL || lw_ast_kind_of(&r->ast, callee) != LW_AST_Name ||
        lw_read_object(r, lw_read_expr(r, callee)) != iter)
        return NULL;
    r->tree->fns.data[r->scope->fn].iterates = true;
    return PyList_GET_ITEM(args, 0);
}

static uint32_t
read_return(lw_reader *r, PyObject *node, uint32_t loc)
{
    PyObject *items = iterated(r, lw_ast_get(node, r->ast.value));
    uint32_t value = items ? lw_read_iterable(r, items) : lw_read_field(r, node, r->ast.value);

    if (r->status != LW_OK)
        return 0;
    return lw_read_node(r, (lw_node){LW_NODE_RETURN, .loc = loc, .a = value});
}

/* ---- match ---- */

static uint32_t read_pattern(lw_reader *r, PyObject *node);

static uint32_t
read_patterns(lw_reader *r, PyObject *node, lw_node_kind kind)
{
    assert(kind == LW_NODE_PATTERN_SEQ || kind == LW_NODE_PATTERN_OR);
    lw_read_items items = {0};
    uint32_t result, loc = lw_read_loc(r, node);

    if (lw_read_each(r, node, r->ast.patterns, read_pattern, &items, &result))
        result = lw_read_list_node(r, (lw_node){kind, .loc = loc}, items.data, items.n);
    lw_array_free(&items);
    return result;
}

static uint32_t
read_pattern_as(lw_reader *r, PyObject *node)
{
    PyObject *inner = lw_ast_get(node, r->ast.pattern), *name = lw_ast_get(node, r->ast.name);
    uint32_t pattern = inner ? read_pattern(r, inner) : 0;
    uint32_t target = name && r->status == LW_OK ? lw_read_name_store(r, node, name) : 0;

    if (r->status != LW_OK)
        return 0;
    if (lw_read_is_error(r, pattern) || lw_read_is_error(r, target))
        return lw_read_is_error(r, pattern) ? pattern : target;
    return lw_read_node(r, (lw_node){LW_NODE_PATTERN_AS, .loc = lw_read_loc(r, node),
                                     .a = pattern, .b = target});
}

static uint32_t
read_pattern_value(lw_reader *r, PyObject *node, bool is_singleton)
{
    PyObject *value = PyObject_GetAttr(node, r->ast.value);
    uint32_t loc = lw_read_loc(r, node), expr = 0;

    if (value == NULL)
        return lw_read_failed(r);
    expr = is_singleton ? lw_read_constant_node(r, value, loc) : lw_read_expr(r, value);
    Py_DECREF(value); /* the pattern owns it */
    if (expr == 0)
        return 0;
    return lw_read_node(r, (lw_node){LW_NODE_PATTERN_VALUE,
                                     .op = is_singleton ? LW_PY_IS : LW_PY_NONE, .loc = loc,
                                     .a = expr});
}

static uint32_t
read_pattern(lw_reader *r, PyObject *node)
{
    switch (lw_ast_kind_of(&r->ast, node)) {
    case LW_AST_MatchValue: return read_pattern_value(r, node, false);
    case LW_AST_MatchSingleton: return read_pattern_value(r, node, true);
    case LW_AST_MatchSequence: return read_patterns(r, node, LW_NODE_PATTERN_SEQ);
    case LW_AST_MatchOr: return read_patterns(r, node, LW_NODE_PATTERN_OR);
    case LW_AST_MatchAs: return read_pattern_as(r, node);
    default:
        return lw_read_error(
            r, node,
            (lw_fault){
                LW_ERR_UNSUPPORTED, "E101",
                .label = "class, mapping and star patterns look at objects that compiled code "
                         "does not have",
                .help = "constants, names, `_`, `|`, guards and tuples can be matched"},
            "this pattern cannot be compiled");
    }
}

static uint32_t
read_case(lw_reader *r, PyObject *node)
{
    PyObject *guard_node = lw_ast_get(node, r->ast.guard), *pattern_node;
    uint32_t pattern, guard, body;

    pattern_node = lw_ast_get(node, r->ast.pattern);
    pattern = pattern_node ? read_pattern(r, pattern_node) : 0;
    if (lw_read_is_error(r, pattern))
        return pattern;
    guard = pattern && guard_node ? lw_read_expr(r, guard_node) : 0;
    body = pattern && r->status == LW_OK ? lw_read_block(r, node, r->ast.body) : 0;
    if (body == 0)
        return 0;
    return lw_read_node(r, (lw_node){LW_NODE_CASE, .loc = lw_read_loc(r, pattern_node),
                                     .a = pattern, .b = guard, .c = body});
}

static uint32_t
read_match(lw_reader *r, PyObject *node, uint32_t loc)
{
    uint32_t subject = lw_read_field(r, node, r->ast.subject), result = 0;
    lw_read_items items = {0};
    PyObject *cases;
    Py_ssize_t n = lw_ast_list(node, r->ast.cases, &cases);

    if (subject == 0)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        uint32_t one = read_case(r, PyList_GET_ITEM(cases, i));
        if (lw_read_is_error(
                r, one)) { /* of its pattern: the whole statement cannot be compiled */
            result = one;
            goto done;
        }
        if (!lw_read_item(r, &items, one))
            goto done;
    }
    result = lw_read_list_node(r, (lw_node){LW_NODE_MATCH, .loc = loc, .a = subject},
                               items.data, items.n);
done:
    lw_array_free(&items);
    return result;
}

/* ---- definitions and what cannot be compiled ---- */

/* Errors show a caret range below the keyword alone, because the statement may be a hundred
 * lines. */
static uint32_t
keyword_error(lw_reader *r, PyObject *node, const char *keyword, const char *label,
              const char *help)
{
    uint32_t loc = lw_read_loc(r, node), diag, error;
    lw_loc *where = &r->tree->locs.data[loc];

    if (loc == 0)
        return 0;
    where->end_line = where->line;
    where->end_col = where->col + (uint32_t)strlen(keyword);
    diag = lw_read_diag(r, loc,
                        (lw_fault){LW_ERR_UNSUPPORTED, "E101", .label = label, .help = help},
                        "`%s` cannot be compiled", keyword);
    error = diag ? lw_read_node(r, (lw_node){LW_NODE_ERROR, .loc = loc, .a = diag}) : 0;
    return error;
}

static uint32_t
read_def(lw_reader *r, PyObject *node, uint32_t loc)
{
    PyObject *decorators, *name = lw_ast_get(node, r->ast.name);
    uint32_t fn, value, target;

    if (lw_ast_list(node, r->ast.decorator_list, &decorators) > 0)
        return lw_read_error(
            r, PyList_GET_ITEM(decorators, 0),
            (lw_fault){LW_ERR_UNSUPPORTED, "E101",
                       .label =
                           "decorators run when the function is defined, which compiled code "
                           "cannot do",
                       .help = "define the decorated function outside"},
            "a nested function with decorators cannot be compiled");
    target = lw_read_name_store(r, node, name);
    if (target == 0 || lw_read_is_error(r, target))
        return target;
    fn = lw_read_nested(r, node);
    value = fn ? lw_read_node(r, (lw_node){LW_NODE_LAMBDA, .loc = loc, .a = fn}) : 0;
    return value ? lw_read_list_node(r, (lw_node){LW_NODE_ASSIGN, .loc = loc, .a = value},
                                     &target, 1)
                 : 0;
}

/* `with objmode(y="float64"):`, under whichever name of a module: numba's part in Python. */
static bool
is_object_mode(lw_reader *r, PyObject *node)
{
    PyObject *items = PyObject_GetAttrString(node, "items"), *call = NULL, *callee = NULL;
    PyObject *name = NULL;
    bool is;

    if (items != NULL && PyList_Check(items) && PyList_GET_SIZE(items) > 0)
        call = PyObject_GetAttrString(PyList_GET_ITEM(items, 0), "context_expr");
    if (call != NULL && lw_ast_kind_of(&r->ast, call) == LW_AST_Call)
        callee = PyObject_GetAttrString(call, "func");
    if (callee != NULL)
        name = lw_attribute_text(
            callee, lw_ast_kind_of(&r->ast, callee) == LW_AST_Name ? "id" : "attr");
    is = name != NULL && PyUnicode_CompareWithASCIIString(name, "objmode") == 0;
    Py_XDECREF(name);
    Py_XDECREF(callee);
    Py_XDECREF(call);
    Py_XDECREF(items);
    PyErr_Clear();
    return is;
}

static uint32_t
read_unsupported(lw_reader *r, PyObject *node)
{
    switch (lw_ast_kind_of(&r->ast, node)) {
    case LW_AST_TryStar:
        return keyword_error(r, node, "try", "compiled code has no groups of exceptions",
                             "use `except` without the star");
    case LW_AST_With:
        if (is_object_mode(r, node))
            return keyword_error(
                r, node, "with", "there is no object mode",
                "end the compiled function here: call it from a Python function, which does "
                "this with its results, and calls a second compiled function for the rest");
        /* fallthrough */
    case LW_AST_AsyncWith:
        return keyword_error(
            r, node, "with", "compiled code has no context managers",
            "move the statement to the Python function that calls the compiled one");
    case LW_AST_Delete:
        return keyword_error(r, node, "del", "variables live until the function returns",
                             "remove this line");
    case LW_AST_Import:
    case LW_AST_ImportFrom:
        return keyword_error(r, node,
                             lw_ast_kind_of(&r->ast, node) == LW_AST_Import ? "import" : "from",
                             "modules are read when the function is compiled",
                             "import at the top of the module; for debuggers, "
                             "LANEWISE_TARGET=python runs functions as plain Python");
    case LW_AST_ClassDef:
        return keyword_error(r, node, "class", "classes exist only outside of compiled code",
                             NULL);
    case LW_AST_AsyncFor:
    case LW_AST_AsyncFunctionDef:
        return keyword_error(r, node, "async", "compiled functions run to their end in one go",
                             NULL);
    default:
        return lw_read_error(r, node, (lw_fault){.status = LW_ERR_UNSUPPORTED, .code = "E101"},
                             "this statement (%.100s) cannot be compiled",
                             Py_TYPE(node)->tp_name);
    }
}

static bool
read_expression_statement(lw_reader *r, PyObject *node, uint32_t loc, lw_read_items *out)
{
    uint32_t value, assignment;

    if (is_docstring(r, node)) /* a bare constant: a comment, `...` */
        return true;
    value = lw_read_field(r, node, r->ast.value);
    if (value == 0)
        return false;
    assignment = lw_read_setattr(r, value, loc);
    if (assignment != 0 || r->status != LW_OK)
        return lw_read_item(r, out, assignment);
    return lw_read_item(r, out,
                        lw_read_node(r, (lw_node){LW_NODE_EXPR, .loc = loc, .a = value}));
}

static uint32_t
read_simple(lw_reader *r, PyObject *node, uint32_t loc)
{
    switch (lw_ast_kind_of(&r->ast, node)) {
    case LW_AST_Assign: return read_assign(r, node, loc);
    case LW_AST_AugAssign: return read_augassign(r, node, loc);
    case LW_AST_Return: return read_return(r, node, loc);
    case LW_AST_Break: return lw_read_node(r, (lw_node){LW_NODE_BREAK, .loc = loc});
    case LW_AST_Continue:
        return lw_read_node(
            r, (lw_node){r->continue_is_break ? LW_NODE_BREAK : LW_NODE_CONTINUE, .loc = loc});
    case LW_AST_Pass: return lw_read_node(r, (lw_node){LW_NODE_PASS, .loc = loc});
    case LW_AST_Assert: return lw_read_assert(r, node, loc);
    case LW_AST_Raise: return lw_read_raise(r, node, loc);
    case LW_AST_Try: return lw_read_try(r, node, loc);
    case LW_AST_Match: return read_match(r, node, loc);
    case LW_AST_FunctionDef: return read_def(r, node, loc);
    default: return read_unsupported(r, node);
    }
}

static bool
read_statement(lw_reader *r, PyObject *node, lw_read_items *out)
{
    uint32_t loc = lw_read_loc(r, node);
    bool ok;

    if (loc == 0)
        return false;
    if (Py_EnterRecursiveCall(" while reading a function")) {
        lw_read_failed(r);
        return false;
    }
    switch (lw_ast_kind_of(&r->ast, node)) {
    case LW_AST_Expr: ok = read_expression_statement(r, node, loc, out); break;
    case LW_AST_AnnAssign: ok = read_annassign(r, node, loc, out); break;
    case LW_AST_If: ok = read_if(r, node, loc, out); break;
    case LW_AST_For: ok = read_for(r, node, loc, out); break;
    case LW_AST_While: ok = read_while(r, node, loc, out); break;
    case LW_AST_Global: /* declarations: scope.c has handled them */
    case LW_AST_Nonlocal: ok = true; break;
    default: ok = lw_read_item(r, out, read_simple(r, node, loc)); break;
    }
    Py_LeaveRecursiveCall();
    return ok;
}
