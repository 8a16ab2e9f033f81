/* `for` over items that no variable can hold at run time: texts, members of enum classes,
 * functions, classes. The body is read once for each item, behind an assignment of the item:
 *
 *     for m in (A, B): body           m = A; body; m = B; body
 *     with `break`                    while True: m = A; body; m = B; body; else-part; break
 *     with `continue`                 m = A; while True: body; break
 *                                     m = B; while True: body; break
 *     with both                       m = A; for once in (0,): body
 *                                     else: m = B; for once in (0,): body
 *                                     else: else-part
 *
 * In the second form, `continue` is `break`. In the last one, it ends the one iteration, so
 * that the else-part runs, in which the following item stands; `break` skips it.
 *
 * Loops over literal_unroll whose items are known later, and lists that grow, are written in
 * another way by lanewise/_rewriting.py, before the function is read. */
#include "core/front/read/read_internal.h"

#include "core/front/read/services.h"

/* Items of one loop, as of tuples whose items have several types; and bodies that nested loops
 * of a tree may become together. */
enum { MOST_ITEMS = 64, MOST_COPIES = 4096 };

/* ---- the items ---- */

/* of_class: the members of an enum.IntEnum among them come from its class, not from a tuple,
 * over which a loop at run time can go. */
static bool
has_static_item(lw_reader *r, PyObject *items, bool of_class)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
        PyObject *x = PyTuple_GET_ITEM(items, i);
        bool is_int = PyLong_CheckExact(x) || PyBool_Check(x) || (PyLong_Check(x) && !of_class);
        bool number = is_int || PyFloat_Check(x) || PyComplex_Check(x) ||
                      lw_read_is_numpy(r, x, "generic") || lw_read_is_numpy(r, x, "ndarray");
        if (PyTuple_Check(x) ? has_static_item(r, x, of_class) : !number)
            return true;
    }
    return false;
}

/* zip(…) and enumerate(…) of constants: a new reference; NULL: it is neither. */
static PyObject *
zipped(lw_reader *r, uint32_t iterable)
{
    const lw_node *node = &r->tree->nodes.data[iterable];
    PyObject *callee = node->kind == LW_NODE_CALL ? lw_read_object(r, node->a) : NULL;
    PyObject *args = callee == (PyObject *)&PyZip_Type || callee == (PyObject *)&PyEnum_Type
                         ? PyTuple_New(node->c)
                         : NULL;
    PyObject *result = NULL;

    for (uint32_t i = 0; args && i < node->c; i++) {
        PyObject *arg = lw_read_object(r, r->tree->lists.data[node->b + i]);
        if (arg == NULL || !(PyTuple_Check(arg) || PyUnicode_Check(arg) ||
                             (PyLong_Check(arg) && i > 0) || lw_fold_is_enum(arg)))
            Py_CLEAR(args);
        else
            PyTuple_SET_ITEM(args, i, Py_NewRef(arg));
    }
    if (args != NULL)
        result = PyObject_CallObject(callee, args);
    Py_XDECREF(args);
    return result;
}

/* literal_unroll(items): the node of the items; 0: it is none. */
static uint32_t
asked_for(lw_reader *r, uint32_t iterable)
{
    const lw_node *node = &r->tree->nodes.data[iterable];
    PyObject *callee =
        node->kind == LW_NODE_CALL && node->c == 1 ? lw_read_object(r, node->a) : NULL;
    bool asked = callee && PyFunction_Check(callee) &&
                 PyObject_HasAttrString(callee, "__lanewise_unroll__");

    return asked ? r->tree->lists.data[node->b] : 0;
}

PyObject *
lw_read_static_items(lw_reader *r, uint32_t iterable)
{
    uint32_t asked = asked_for(r, iterable);
    PyObject *object = lw_read_object(r, asked ? asked : iterable), *items = NULL;
    PyObject *pairs = object ? NULL : zipped(r, iterable);
    bool of_class = pairs || (object && lw_fold_is_enum(object));

    if (pairs != NULL)
        object = pairs;
    if (object && (pairs || PyTuple_Check(object) || PyList_CheckExact(object) ||
                   PyUnicode_Check(object) || of_class))
        items = PySequence_Tuple(object);
    Py_XDECREF(pairs);
    if (PyErr_Occurred())
        lw_read_clear();
    if (items && (PyTuple_GET_SIZE(items) > MOST_ITEMS ||
                  !(asked || has_static_item(r, items, of_class))))
        Py_CLEAR(items);
    return items;
}

/* ---- the jumps ---- */

static bool jumps_in(lw_reader *r, PyObject *node, PyObject *field, lw_ast_kind kind);

/* Whether the statement leaves or continues the loop around it. */
static bool
jumps(lw_reader *r, PyObject *node, lw_ast_kind kind)
{
    switch (lw_ast_kind_of(&r->ast, node)) {
    case LW_AST_Break:
    case LW_AST_Continue: return lw_ast_kind_of(&r->ast, node) == kind;
    case LW_AST_For:
    case LW_AST_While: return jumps_in(r, node, r->ast.orelse, kind);
    case LW_AST_FunctionDef: return false;
    default:
        return jumps_in(r, node, r->ast.body, kind) || jumps_in(r, node, r->ast.orelse, kind) ||
               jumps_in(r, node, r->ast.cases, kind) ||
               jumps_in(r, node, r->ast.handlers, kind) ||
               jumps_in(r, node, r->ast.finalbody, kind);
    }
}

static bool
jumps_in(lw_reader *r, PyObject *node, PyObject *field, lw_ast_kind kind)
{
    PyObject *list;
    Py_ssize_t n;

    if (!PyObject_HasAttr(node, field) || !PyList_Check(lw_ast_get(node, field)))
        return false;
    n = lw_ast_list(node, field, &list);
    for (Py_ssize_t i = 0; i < n; i++)
        if (jumps(r, PyList_GET_ITEM(list, i), kind))
            return true;
    return false;
}

bool
lw_read_can_unroll(lw_reader *r, PyObject *node)
{
    bool breaks = jumps_in(r, node, r->ast.body, LW_AST_Break);
    bool continues = jumps_in(r, node, r->ast.body, LW_AST_Continue);
    bool leaves = jumps_in(r, node, r->ast.orelse, LW_AST_Break) ||
                  jumps_in(r, node, r->ast.orelse, LW_AST_Continue);

    return (!breaks || continues || !leaves) && r->n_copies < MOST_COPIES;
}

/* ---- the statements ---- */

/* `while True` around the statements, which are left at their end. */
static bool
run_once(lw_reader *r, lw_read_items *statements, uint32_t loc, lw_read_items *out)
{
    uint32_t test = lw_read_constant_node(r, Py_True, loc), body;

    if (test == 0 ||
        !lw_read_item(r, statements, lw_read_node(r, (lw_node){LW_NODE_BREAK, .loc = loc})))
        return false;
    body = lw_read_list_node(r, (lw_node){LW_NODE_BODY, .loc = loc}, statements->data,
                             statements->n);
    return body && lw_read_item(r, out,
                                lw_read_node(r, (lw_node){LW_NODE_WHILE, .loc = loc, .a = test,
                                                          .b = body}));
}

/* The target and the item that it becomes. *known: whether it is a target. false: stop. */
static bool
read_item(lw_reader *r, PyObject *node, uint32_t loc, PyObject *item, lw_read_items *out,
          bool *known)
{
    uint32_t target = lw_read_target(r, lw_ast_get(node, r->ast.target));
    uint32_t value = target ? lw_read_constant_node(r, item, loc) : 0;

    r->n_copies++;
    *known = value != 0 && !lw_read_is_error(r, target);
    if (!*known)
        return lw_read_item(r, out, value ? target : 0);
    return lw_read_item(
        r, out,
        lw_read_list_node(r, (lw_node){LW_NODE_ASSIGN, .loc = loc, .a = value}, &target, 1));
}

/* One iteration. */
static bool
read_copy(lw_reader *r, PyObject *node, uint32_t loc, PyObject *item, lw_read_items *out)
{
    bool before = r->continue_is_break, ok, known;
    lw_read_items body = {0};

    ok = read_item(r, node, loc, item, out, &known);
    if (!ok || !known)
        return ok;
    r->continue_is_break = jumps_in(r, node, r->ast.body, LW_AST_Continue);
    if (r->continue_is_break)
        ok = lw_read_into(r, node, r->ast.body, &body) && run_once(r, &body, loc, out);
    else
        ok = lw_read_into(r, node, r->ast.body, out);
    r->continue_is_break = before;
    lw_array_free(&body);
    return ok;
}

/* ---- loops with both jumps ---- */

static uint32_t
body_node(lw_reader *r, const lw_read_items *statements, uint32_t loc)
{
    return lw_read_list_node(r, (lw_node){LW_NODE_BODY, .loc = loc}, statements->data,
                             statements->n);
}

/* `for once in (0,)` with these parts, of which the second may be empty. */
static bool
loop_once(lw_reader *r, const lw_read_items *body, const lw_read_items *other, uint32_t loc,
          lw_read_items *out)
{
    PyObject *name = PyUnicode_FromString(".once"), *items = Py_BuildValue("(i)", 0);
    uint32_t var = name && items ? lw_scope_add(r, r->scope, name) : lw_read_failed(r);
    uint32_t iterable = var ? lw_read_constant_node(r, items, loc) : 0, target, parts[2], both;

    Py_XDECREF(name);
    Py_XDECREF(items);
    if (iterable == 0)
        return false;
    target =
        lw_read_node(r, (lw_node){LW_NODE_NAME, .flags = LW_NODE_STORE, .loc = loc, .a = var});
    parts[0] = target ? body_node(r, body, loc) : 0;
    parts[1] = parts[0] && other->n ? body_node(r, other, loc) : 0;
    if (parts[0] == 0 || r->status != LW_OK)
        return false;
    both =
        lw_read_node(r, (lw_node){LW_NODE_LOOP_BODY, .loc = loc, .a = parts[0], .b = parts[1]});
    return both && lw_read_item(r, out,
                                lw_read_node(r, (lw_node){LW_NODE_FOR, .loc = loc, .a = target,
                                                          .b = iterable, .c = both}));
}

/* The items from the i-th on, and the else-part behind them. */
static bool
read_chain(lw_reader *r, PyObject *node, uint32_t loc, PyObject *items, Py_ssize_t i,
           lw_read_items *out)
{
    lw_read_items body = {0}, rest = {0};
    bool before = r->continue_is_break, ok, known;

    if (i == PyTuple_GET_SIZE(items))
        return lw_read_into(r, node, r->ast.orelse, out);
    ok = read_item(r, node, loc, PyTuple_GET_ITEM(items, i), out, &known);
    if (!ok || !known)
        return ok;
    r->continue_is_break = false;
    ok = lw_read_into(r, node, r->ast.body, &body);
    r->continue_is_break = before;
    ok = ok && read_chain(r, node, loc, items, i + 1, &rest) &&
         loop_once(r, &body, &rest, loc, out);
    lw_array_free(&body);
    lw_array_free(&rest);
    return ok;
}

bool
lw_read_unrolled(lw_reader *r, PyObject *node, uint32_t loc, PyObject *items,
                 lw_read_items *out)
{
    bool breaks = jumps_in(r, node, r->ast.body, LW_AST_Break), ok = true;
    lw_read_items all = {0};

    if (breaks && jumps_in(r, node, r->ast.body, LW_AST_Continue))
        return read_chain(r, node, loc, items, 0, out);
    for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(items); i++)
        ok = read_copy(r, node, loc, PyTuple_GET_ITEM(items, i), breaks ? &all : out);
    ok = ok && lw_read_into(r, node, r->ast.orelse, breaks ? &all : out) &&
         (!breaks || run_once(r, &all, loc, out));
    lw_array_free(&all);
    return ok;
}

/* ---- functions that lanewise/_rewriting.py writes in another way ---- */

/* Whether it is a name, or an attribute, of these. */
static bool
is_any_of(PyObject *text, const char *const *names)
{
    bool found = false;

    if (text == NULL || !PyUnicode_Check(text))
        return false;
    for (; !found && *names; names++)
        found = PyUnicode_CompareWithASCIIString(text, *names) == 0;
    return found;
}

static lw_ast_kind
kind_at(const lw_ast *ast, PyObject *node, PyObject *field)
{
    PyObject *child = lw_ast_get(node, field);

    return child ? lw_ast_kind_of(ast, child) : LW_AST_UNKNOWN;
}

/* `x += x`, and `x += f(y)` and `x += (v for v in y)`, which may iterate over y. */
static bool
adds_items(const lw_ast *ast, PyObject *node)
{
    PyObject *target = lw_ast_get(node, ast->target), *value = lw_ast_get(node, ast->value);
    PyObject *name = target ? lw_ast_get(target, ast->id) : NULL, *other;

    if (name == NULL || value == NULL)
        return false;
    switch (lw_ast_kind_of(ast, value)) {
    case LW_AST_GeneratorExp: return true;
    case LW_AST_Call: return kind_at(ast, value, ast->func) == LW_AST_Name;
    case LW_AST_Name:
        other = lw_ast_get(value, ast->id);
        return other != NULL && PyUnicode_Compare(name, other) == 0;
    default: return false;
    }
}

/* Whether a variable to which this is assigned may hold a range. */
static bool
holds_range(const lw_ast *ast, PyObject *value)
{
    static const char *const range[] = {"range", NULL};
    PyObject *callee = value ? lw_ast_get(value, ast->func) : NULL;
    PyObject *name = callee ? lw_ast_get(callee, ast->id) : NULL;

    return value != NULL && (lw_ast_kind_of(ast, value) == LW_AST_IfExp ||
                             (name != NULL && is_any_of(name, range)));
}

/* `"text"`, an operand of `"text" % x` or `"text" + x`. */
static bool
is_text(const lw_ast *ast, PyObject *node, PyObject *field)
{
    PyObject *operand = lw_ast_get(node, field);
    PyObject *value = operand ? lw_ast_get(operand, ast->value) : NULL;

    return kind_at(ast, node, field) == LW_AST_Constant && value && PyUnicode_Check(value);
}

/* `f(x, key=d.get)`. */
static bool
has_key(const lw_ast *ast, PyObject *call)
{
    PyObject *keywords = lw_ast_get(call, ast->keywords);
    bool found = false;

    for (Py_ssize_t i = 0; keywords && !found && i < PyList_GET_SIZE(keywords); i++)
        found = kind_at(ast, PyList_GET_ITEM(keywords, i), ast->value) == LW_AST_Attribute;
    return found;
}

/* Whether a function with this node may have to be rewritten. */
static bool
may_be_rewritten(const lw_ast *ast, PyObject *node)
{
    static const char *const functions[] = {"list",           "sorted", "dict",   "set",
                                            "literal_unroll", "map",    "filter", "str",
                                            "reduce",         NULL};
    static const char *const methods[] = {"append",         "extend", "insert", "setdefault",
                                          "literal_unroll", "format", "reduce", NULL};

    switch (lw_ast_kind_of(ast, node)) {
    case LW_AST_List:
    case LW_AST_ListComp:
    case LW_AST_Dict:
    case LW_AST_DictComp:
    case LW_AST_Set:
    case LW_AST_SetComp:
    case LW_AST_GeneratorExp:
    case LW_AST_Delete: return true;
    case LW_AST_Name: return is_any_of(lw_ast_get(node, ast->id), functions);
    case LW_AST_Attribute: return is_any_of(lw_ast_get(node, ast->attr), methods);
    case LW_AST_For:
        return kind_at(ast, node, ast->iter) == LW_AST_Name ||
               kind_at(ast, node, ast->iter) == LW_AST_IfExp;
    case LW_AST_Assign: return holds_range(ast, lw_ast_get(node, ast->value));
    case LW_AST_AugAssign: return adds_items(ast, node);
    case LW_AST_BinOp: return is_text(ast, node, ast->left) || is_text(ast, node, ast->right);
    case LW_AST_Call: return has_key(ast, node);
    default: return false;
    }
}

PyObject *
lw_read_rewritten(lw_reader *r, PyObject *node)
{
    PyObject *module, *made;
    int found = lw_ast_any(&r->ast, node, may_be_rewritten);

    if (found <= 0)
        return found < 0 ? NULL : Py_NewRef(node);
    module = lw_service_module(LW_SERVICE_REWRITING);
    made = module ? PyObject_CallMethod(module, "rewritten", "OO", node, r->function) : NULL;
    Py_XDECREF(module);
    return made;
}
