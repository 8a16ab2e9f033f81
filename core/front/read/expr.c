/* Expressions. An expression whose value is known when it is read becomes a CONSTANT node;
 * other expressions keep their Python structure. */
#include "core/front/read/read_internal.h"

#include "core/front/diagnose.h"
#include "core/front/named.h"
#include "core/front/read/services.h"

#include <assert.h>
#include <string.h>

lw_pyop
lw_read_operator(const lw_reader *r, PyObject *ast_operator)
{
    switch (lw_ast_kind_of(&r->ast, ast_operator)) {
    case LW_AST_Add: return LW_PY_ADD;
    case LW_AST_Sub: return LW_PY_SUB;
    case LW_AST_Mult: return LW_PY_MUL;
    case LW_AST_Div: return LW_PY_DIV;
    case LW_AST_FloorDiv: return LW_PY_FLOORDIV;
    case LW_AST_Mod: return LW_PY_MOD;
    case LW_AST_Pow: return LW_PY_POW;
    case LW_AST_MatMult: return LW_PY_MATMUL;
    case LW_AST_LShift: return LW_PY_LSHIFT;
    case LW_AST_RShift: return LW_PY_RSHIFT;
    case LW_AST_BitAnd: return LW_PY_BITAND;
    case LW_AST_BitOr: return LW_PY_BITOR;
    case LW_AST_BitXor: return LW_PY_BITXOR;
    case LW_AST_USub: return LW_PY_NEG;
    case LW_AST_UAdd: return LW_PY_POS;
    case LW_AST_Invert: return LW_PY_INVERT;
    case LW_AST_Not: return LW_PY_NOT;
    case LW_AST_And: return LW_PY_AND;
    case LW_AST_Or: return LW_PY_OR;
    case LW_AST_Eq: return LW_PY_EQ;
    case LW_AST_NotEq: return LW_PY_NE;
    case LW_AST_Lt: return LW_PY_LT;
    case LW_AST_LtE: return LW_PY_LE;
    case LW_AST_Gt: return LW_PY_GT;
    case LW_AST_GtE: return LW_PY_GE;
    case LW_AST_Is: return LW_PY_IS;
    case LW_AST_IsNot: return LW_PY_IS_NOT;
    case LW_AST_In: return LW_PY_IN;
    case LW_AST_NotIn: return LW_PY_NOT_IN;
    default: return LW_PY_NONE;
    }
}

uint32_t
lw_read_folded(lw_reader *r, PyObject *value, uint32_t loc)
{
    uint32_t node = value ? lw_read_constant_node(r, value, loc) : 0;

    Py_XDECREF(value);
    return node;
}

uint32_t
lw_read_field(lw_reader *r, PyObject *node, PyObject *field)
{
    PyObject *child = lw_ast_get(node, field);

    return child ? lw_read_expr(r, child) : 0;
}

/* A field that may contain a list: an operand, or an arm of `if`. */
static uint32_t
read_list_field(lw_reader *r, PyObject *node, PyObject *field)
{
    PyObject *child = lw_ast_get(node, field);

    return child ? lw_read_list_value(r, child) : 0;
}

/* ---- operators ---- */

static uint32_t
read_unary(lw_reader *r, PyObject *node, uint32_t loc)
{
    lw_pyop op = lw_read_operator(r, lw_ast_get(node, r->ast.op));
    uint32_t a = lw_read_field(r, node, r->ast.operand), folded;

    if (a == 0)
        return 0;
    folded = lw_read_folded(r, lw_fold_unary(op, lw_read_object(r, a)), loc);
    if (folded || r->status != LW_OK)
        return folded;
    return lw_read_node(r, (lw_node){LW_NODE_UNARY, .op = op, .loc = loc, .a = a});
}

static uint32_t
read_binary(lw_reader *r, PyObject *node, uint32_t loc)
{
    lw_pyop op = lw_read_operator(r, lw_ast_get(node, r->ast.op));
    uint32_t a = read_list_field(r, node, r->ast.left);
    uint32_t b = a ? read_list_field(r, node, r->ast.right) : 0, folded;
    PyObject *x = lw_read_object(r, a), *y = lw_read_object(r, b);

    if (b == 0)
        return 0;
    if (lw_fold_too_large(op, x, y))
        return lw_fold_refuse(r, node);
    folded = lw_read_folded(r, lw_fold_binary(op, x, y), loc);
    if (folded || r->status != LW_OK)
        return folded;
    return lw_read_node(r, (lw_node){LW_NODE_BINARY, .op = op, .loc = loc, .a = a, .b = b});
}

/* Operands that decide nothing are dropped; operands after one that decides are never read. */
static uint32_t
read_boolop(lw_reader *r, PyObject *node, uint32_t loc)
{
    lw_pyop op = lw_read_operator(r, lw_ast_get(node, r->ast.op));
    lw_read_items items = {0};
    PyObject *values;
    Py_ssize_t n = lw_ast_list(node, r->ast.values, &values);
    uint32_t result = 0;

    for (Py_ssize_t i = 0; i < n; i++) {
        uint32_t item = lw_read_expr(r, PyList_GET_ITEM(values, i));
        int truth = item ? lw_fold_truth(lw_read_object(r, item)) : -1;
        if (truth == (op == LW_PY_AND) && i + 1 < n)
            continue;
        if (!lw_read_item(r, &items, item))
            goto done;
        if (truth == (op != LW_PY_AND))
            break;
    }
    result = items.n == 1
                 ? items.data[0]
                 : lw_read_list_node(r, (lw_node){LW_NODE_BOOLOP, .op = op, .loc = loc},
                                     items.data, items.n);
done:
    lw_array_free(&items);
    return result;
}

static PyObject *
fold_link(lw_reader *r, lw_pyop op, PyObject *x, PyObject *y)
{
    PyObject *found, *result;

    if ((op != LW_PY_IN && op != LW_PY_NOT_IN) || y == NULL || !PyDict_CheckExact(y))
        return lw_fold_compare(op, x, y);
    found = lw_fold_in_dict(r, x, y);
    if (found == NULL || op == LW_PY_IN)
        return found;
    result = PyBool_FromLong(found == Py_False);
    Py_DECREF(found);
    return result;
}

/* The result of a chain of comparisons: True when every link holds, False when one surely
 * fails; new reference, or NULL when it is not known. */
static PyObject *
fold_chain(lw_reader *r, uint32_t left, const lw_read_items *links)
{
    PyObject *x = lw_read_object(r, left), *result = NULL;

    for (uint32_t i = 0; i < links->n; i++) {
        const lw_node *link = &r->tree->nodes.data[links->data[i]];
        PyObject *y = lw_read_object(r, link->a);
        Py_XSETREF(result, fold_link(r, (lw_pyop)link->op, x, y));
        if (result == NULL || result == Py_False)
            return result;
        x = y;
    }
    return result;
}

static uint32_t read_sequence(lw_reader *r, PyObject *node, uint32_t loc, bool lists);
static uint32_t read_owner(lw_reader *r, PyObject *node);

static bool
is_display(const lw_reader *r, PyObject *node)
{
    lw_ast_kind kind = lw_ast_kind_of(&r->ast, node);

    return kind == LW_AST_List || kind == LW_AST_Set;
}

/* A list that is only examined, as in `x in [1, 2]`, `for v in [a, b]` and `[a, b][i]`, is read
 * as a tuple. */
uint32_t
lw_read_iterable(lw_reader *r, PyObject *node)
{
    if (is_display(r, node))
        return read_sequence(r, node, lw_read_loc(r, node), true);
    return lw_read_expr(r, node);
}

/* A list that is an argument, the value of a variable, an index or an operand is read as a
 * tuple whose type says that it is a list, as are the lists in it. Compiled code does not
 * change it. */
uint32_t
lw_read_list_value(lw_reader *r, PyObject *node)
{
    lw_ast_kind kind = lw_ast_kind_of(&r->ast, node);

    if (kind == LW_AST_List || kind == LW_AST_Tuple)
        return read_sequence(r, node, lw_read_loc(r, node), true);
    return lw_read_expr(r, node);
}

/* `key in D`, where the key is not known: the tuple of the keys stands for the dict. */
static void
look_into_keys(lw_reader *r, const lw_read_items *links)
{
    for (uint32_t i = 0; i < links->n; i++) {
        const lw_node link = r->tree->nodes.data[links->data[i]];
        uint32_t keys = 0;

        if (link.op == LW_PY_IN || link.op == LW_PY_NOT_IN)
            keys = lw_read_dict_keys(r, lw_read_object(r, link.a), link.loc);
        if (keys != 0)
            r->tree->nodes.data[links->data[i]].a = keys;
    }
}

static uint32_t
read_compare(lw_reader *r, PyObject *node, uint32_t loc)
{
    uint32_t left = read_list_field(r, node, r->ast.left), result = 0;
    lw_read_items links = {0};
    PyObject *ops, *rights;
    Py_ssize_t n = lw_ast_list(node, r->ast.ops, &ops);

    if (left == 0 || lw_ast_list(node, r->ast.comparators, &rights) != n)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        lw_pyop op = lw_read_operator(r, PyList_GET_ITEM(ops, i));
        PyObject *right = PyList_GET_ITEM(rights, i);
        bool looks_into = op == LW_PY_IN || op == LW_PY_NOT_IN;
        uint32_t value = looks_into ? lw_read_iterable(r, right) : lw_read_list_value(r, right);
        PyObject *class = value && looks_into ? lw_read_object(r, value) : NULL;
        if (class != NULL && lw_fold_is_enum(class) && lw_read_enum_class(r, class) == NULL)
            goto done;
        uint32_t link =
            value ? lw_read_node(r, (lw_node){LW_NODE_LINK, .op = op,
                                              .loc = lw_read_loc(r, right), .a = value})
                  : 0;
        if (!lw_read_item(r, &links, link))
            goto done;
    }
    result = lw_read_folded(r, fold_chain(r, left, &links), loc);
    if (result == 0 && r->status == LW_OK)
        look_into_keys(r, &links);
    if (result == 0 && r->status == LW_OK)
        result = lw_read_list_node(r, (lw_node){LW_NODE_COMPARE, .loc = loc, .a = left},
                                   links.data, links.n);
done:
    lw_array_free(&links);
    return result;
}

static uint32_t
read_ifexp(lw_reader *r, PyObject *node, uint32_t loc)
{
    uint32_t test = lw_read_field(r, node, r->ast.test), b, c;
    int truth = test ? lw_fold_truth(lw_read_object(r, test)) : -1;

    if (test == 0)
        return 0;
    if (truth >= 0)
        return read_list_field(r, node, truth ? r->ast.body : r->ast.orelse);
    b = read_list_field(r, node, r->ast.body);
    c = b ? read_list_field(r, node, r->ast.orelse) : 0;
    return c ? lw_read_node(r, (lw_node){LW_NODE_IFEXP, .loc = loc, .a = test, .b = b, .c = c})
             : 0;
}

/* ---- tuples, names, attributes, subscripts ---- */

/* A name such as cuda.threadIdx.x, which stands for a value of each thread. */
static bool
is_register(const lw_reader *r, uint32_t at)
{
    const lw_node *node = &r->tree->nodes.data[at];
    const lw_constant *constant;

    if (node->kind != LW_NODE_CONSTANT)
        return false;
    constant = &r->tree->constants.data[node->a];
    return constant->kind == LW_K_NAMED && lw_names[constant->u].rule == LW_RULE_SREG;
}

/* A tuple of constants is one constant. */
static uint32_t
fold_tuple(lw_reader *r, const lw_read_items *items, bool is_list, uint32_t loc)
{
    PyObject *tuple = NULL;
    uint32_t node;

    for (uint32_t i = 0; i < items->n; i++)
        if (lw_read_object(r, items->data[i]) == NULL || is_register(r, items->data[i]))
            return 0;
    tuple = PyTuple_New(items->n);
    if (tuple == NULL)
        return lw_read_failed(r);
    for (uint32_t i = 0; i < items->n; i++) {
        PyObject *item = lw_read_object(r, items->data[i]);
        Py_INCREF(item);
        PyTuple_SET_ITEM(tuple, i, item);
    }
    if (is_list)
        Py_SETREF(tuple, PySequence_List(tuple));
    node = tuple ? lw_read_constant_node(r, tuple, loc) : lw_read_failed(r);
    Py_XDECREF(tuple);
    return node;
}

/* lists: whether lists in it are read as tuples, too. */
static uint32_t
read_sequence(lw_reader *r, PyObject *node, uint32_t loc, bool lists)
{
    lw_read_items items = {0};
    PyObject *elements;
    Py_ssize_t n = lw_ast_list(node, r->ast.elts, &elements);
    bool is_list = lw_ast_kind_of(&r->ast, node) == LW_AST_List;
    uint32_t result = 0;

    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *element = PyList_GET_ITEM(elements, i);
        if (!lw_read_item(r, &items,
                          lists ? lw_read_list_value(r, element) : lw_read_expr(r, element)))
            goto done;
    }
    result = fold_tuple(r, &items, is_list, loc);
    if (result == 0 && r->status == LW_OK)
        result = lw_read_list_node(
            r, (lw_node){LW_NODE_TUPLE, .loc = loc, .flags = is_list ? LW_NODE_LIST : 0},
            items.data, items.n);
done:
    lw_array_free(&items);
    return result;
}

/* What the guard of an attribute names. */
static PyObject *
object_space(PyObject *object)
{
    return PyModule_Check(object) ? PyModule_GetDict(object) : object;
}

static uint32_t
read_attribute(lw_reader *r, PyObject *node, uint32_t loc)
{
    PyObject *name = lw_ast_get(node, r->ast.attr), *value, *object;
    PyObject *owner = lw_ast_get(node, r->ast.value);
    uint32_t a = owner ? read_owner(r, owner) : 0, constant;
    int found;

    object = lw_read_object(r, a);

    if (a == 0 || name == NULL)
        return 0;
    found = object ? lw_read_attribute(r, object, name, &value) : 0;
    if (found < 0)
        return 0;
    if (found == 1) {
        if (lw_captures_is_operand(object_space(object), name, value))
            constant = lw_read_captured(r, object_space(object), name, value);
        else
            constant = lw_read_linked_attribute(r, object, value);
        Py_DECREF(value);
        return constant
                   ? lw_read_node(r, (lw_node){LW_NODE_CONSTANT, .loc = loc, .a = constant})
                   : 0;
    }
    if (found == 2)
        return lw_read_missing_attribute(r, node, object, name);
    if (lw_captures_watch(r->captures, name) < 0)
        return lw_read_failed(r);
    constant = lw_read_constant(r, name);
    return constant ? lw_read_node(
                          r, (lw_node){LW_NODE_ATTRIBUTE, .loc = loc, .a = a, .b = constant})
                    : 0;
}

static uint32_t
read_slice(lw_reader *r, PyObject *node, uint32_t loc)
{
    uint32_t lower = lw_read_field(r, node, r->ast.lower);
    uint32_t upper = r->status == LW_OK ? lw_read_field(r, node, r->ast.upper) : 0;
    uint32_t step = r->status == LW_OK ? lw_read_field(r, node, r->ast.step) : 0;

    return r->status == LW_OK ? lw_read_node(r, (lw_node){LW_NODE_SLICE, .loc = loc, .a = lower,
                                                          .b = upper, .c = step})
                              : 0;
}

static uint32_t
read_index(lw_reader *r, PyObject *index)
{
    lw_read_items items = {0};
    PyObject *elements;
    Py_ssize_t n;
    uint32_t result = 0;

    if (index == NULL || lw_ast_kind_of(&r->ast, index) != LW_AST_Tuple)
        return index ? lw_read_list_value(r, index) : 0;
    n = lw_ast_list(index, r->ast.elts, &elements);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!lw_read_item(r, &items, lw_read_list_value(r, PyList_GET_ITEM(elements, i))))
            goto done;
    result = fold_tuple(r, &items, false, lw_read_loc(r, index));
    if (result == 0 && r->status == LW_OK)
        result = lw_read_list_node(r, (lw_node){LW_NODE_TUPLE, .loc = lw_read_loc(r, index)},
                                   items.data, items.n);
done:
    lw_array_free(&items);
    return result;
}

static uint32_t
read_subscript(lw_reader *r, PyObject *node, uint32_t loc)
{
    PyObject *value = lw_ast_get(node, r->ast.value);
    uint32_t a = value ? lw_read_iterable(r, value) : 0;
    uint32_t b = a ? read_index(r, lw_ast_get(node, r->ast.slice)) : 0, folded;
    PyObject *item;

    if (b == 0)
        return 0;
    item = lw_fold_text_slice(r, lw_read_object(r, a), b);
    if (item == NULL)
        item = lw_fold_item(r, lw_read_object(r, a), lw_read_object(r, b));
    folded = lw_read_folded(r, item, loc);
    if (folded == 0 && r->status == LW_OK)
        folded = lw_read_dict_item(r, lw_read_object(r, a), b, loc);
    if (folded || r->status != LW_OK)
        return folded;
    return lw_read_node(r, (lw_node){LW_NODE_SUBSCRIPT, .loc = loc, .a = a, .b = b});
}

/* ---- the rest ---- */

static uint32_t
read_constant(lw_reader *r, PyObject *node, uint32_t loc)
{
    PyObject *value = PyObject_GetAttr(node, r->ast.value);
    uint32_t result;

    if (value == NULL)
        return lw_read_failed(r);
    result = lw_read_constant_node(r, value, loc);
    Py_DECREF(value);
    return result;
}

static uint32_t
read_walrus(lw_reader *r, PyObject *node, uint32_t loc)
{
    uint32_t value = lw_read_field(r, node, r->ast.value);
    uint32_t target = value ? lw_read_target(r, lw_ast_get(node, r->ast.target)) : 0;

    if (lw_read_is_error(r, target))
        return target;
    return target
               ? lw_read_node(r, (lw_node){LW_NODE_WALRUS, .loc = loc, .a = target, .b = value})
               : 0;
}

static uint32_t
read_star(lw_reader *r, PyObject *node, uint32_t loc)
{
    uint32_t value = lw_read_field(r, node, r->ast.value);

    return value ? lw_read_node(r, (lw_node){LW_NODE_STAR, .loc = loc, .a = value}) : 0;
}

static uint32_t
read_lambda(lw_reader *r, PyObject *node, uint32_t loc)
{
    uint32_t fn = lw_read_nested(r, node);

    return fn ? lw_read_node(r, (lw_node){LW_NODE_LAMBDA, .loc = loc, .a = fn}) : 0;
}

/* E103 */
static uint32_t
refuse_items(lw_reader *r, PyObject *node, const char *what, const char *label,
             const char *help)
{
    return lw_read_error(r, node,
                         (lw_fault){LW_ERR_UNSUPPORTED, "E103", .label = label, .help = help},
                         "%s cannot be compiled", what);
}

/* Whether the comprehension contains `:=`; -1 with an exception. */
static int
has_walrus(PyObject *node)
{
    PyObject *module = lw_service_module(LW_SERVICE_GENERATORS);
    PyObject *found = module ? PyObject_CallMethod(module, "has_walrus", "O", node) : NULL;
    int result = found ? PyObject_IsTrue(found) : -1;

    Py_XDECREF(module);
    Py_XDECREF(found);
    return result;
}

static uint32_t
refuse_walrus(lw_reader *r, PyObject *node, lw_ast_kind kind)
{
    return lw_read_error(
        r, node,
        (lw_fault){LW_ERR_UNSUPPORTED, "E103",
                   .label = "`:=` in it assigns a variable of the function around it",
                   .help = "write the value twice, `f(v) for v in x if f(v) > 0`, or "
                           "a loop with an assignment"},
        "`:=` in %s cannot be compiled",
        kind == LW_AST_ListComp ? "a list comprehension" : "a generator expression");
}

static uint32_t
refuse_suspension(lw_reader *r, PyObject *node, bool awaits)
{
    return lw_read_error(
        r, node,
        (lw_fault){LW_ERR_UNSUPPORTED, "E101",
                   .label = "compiled functions run to their end in one go",
                   .help = awaits ? NULL
                                  : "return a list or an array of the values, or call a "
                                    "function with each of them"},
        "`%s` cannot be compiled", awaits ? "await" : "yield");
}

static uint32_t
read_unsupported(lw_reader *r, PyObject *node)
{
    static const char small[] =
        "write `np.array([x, y])`, a tuple, `(x, y)`, or fill a small array of this call, "
        "`lw.local(shape, dtype)`";
    static const char iterated[] =
        "make a list, `[f(v) for v in x]`, or write a loop, or the items of a tuple one by "
        "one, `(f(x[0]), f(x[1]))`; it can be compiled as the argument of `sum`, `min`, `max`, "
        "`any`, `all`, `next`, `list`, `sorted` and `math.prod`";
    lw_ast_kind kind = lw_ast_kind_of(&r->ast, node);
    int walrus = 0;

    if (kind == LW_AST_ListComp || kind == LW_AST_GeneratorExp)
        walrus = has_walrus(node);
    if (walrus < 0)
        return lw_read_failed(r);
    if (walrus > 0)
        return refuse_walrus(r, node, kind);
    switch (kind) {
    case LW_AST_ListComp:
        return refuse_items(r, node, "a list comprehension",
                            "this is not a loop that puts numbers into a list", iterated);
    case LW_AST_GeneratorExp:
        return refuse_items(r, node, "a generator expression",
                            "compiled code has no generators that are kept or passed on",
                            iterated);
    case LW_AST_List:
        return refuse_items(r, node, "a list", "its items are not constants", small);
    case LW_AST_Dict:
        return lw_read_error(
            r, node,
            (lw_fault){LW_ERR_UNSUPPORTED, "E103", .help = "write `d | e`, or `d.update(e)`"},
            "`**` in a dict cannot be compiled");
    case LW_AST_TemplateStr:
        return lw_read_error(
            r, node,
            (lw_fault){LW_ERR_UNSUPPORTED, "E104",
                       .label = "the string would be made at run time",
                       .help = "use a constant string; `raise E(\"text\", x)` reports values"},
            "a t-string cannot be compiled");
    case LW_AST_Await:
    case LW_AST_Yield:
    case LW_AST_YieldFrom: return refuse_suspension(r, node, kind == LW_AST_Await);
    default:
        return lw_read_error(r, node, (lw_fault){.status = LW_ERR_UNSUPPORTED, .code = "E101"},
                             "this syntax (%.100s) cannot be compiled", Py_TYPE(node)->tp_name);
    }
}

/* A list that contains only constants reads as a tuple; other lists would need memory. */
static uint32_t
read_list(lw_reader *r, PyObject *node, uint32_t loc)
{
    uint32_t sequence = read_sequence(r, node, loc, false);

    if (sequence == 0 || lw_read_object(r, sequence) != NULL)
        return sequence;
    return read_unsupported(r, node);
}

static uint32_t
read_list_comprehension(lw_reader *r, PyObject *node, uint32_t loc)
{
    uint32_t made = lw_read_list_comprehension(r, node, loc);

    return made || r->status != LW_OK || PyErr_Occurred() ? made : read_unsupported(r, node);
}

static uint32_t
read_expr(lw_reader *r, PyObject *node)
{
    uint32_t loc = lw_read_loc(r, node);

    if (loc == 0)
        return 0;
    switch (lw_ast_kind_of(&r->ast, node)) {
    case LW_AST_Constant: return read_constant(r, node, loc);
    case LW_AST_Name: return lw_read_name(r, node, lw_ast_get(node, r->ast.id));
    case LW_AST_UnaryOp: return read_unary(r, node, loc);
    case LW_AST_BinOp: return read_binary(r, node, loc);
    case LW_AST_BoolOp: return read_boolop(r, node, loc);
    case LW_AST_Compare: return read_compare(r, node, loc);
    case LW_AST_IfExp: return read_ifexp(r, node, loc);
    case LW_AST_Call: return lw_read_call(r, node, loc);
    case LW_AST_Attribute: return read_attribute(r, node, loc);
    case LW_AST_Subscript: return read_subscript(r, node, loc);
    case LW_AST_Slice: return read_slice(r, node, loc);
    case LW_AST_Tuple: return read_sequence(r, node, loc, false);
    case LW_AST_List: return read_list(r, node, loc);
    case LW_AST_ListComp: return read_list_comprehension(r, node, loc);
    case LW_AST_NamedExpr: return read_walrus(r, node, loc);
    case LW_AST_Starred: return read_star(r, node, loc);
    case LW_AST_Lambda: return read_lambda(r, node, loc);
    case LW_AST_JoinedStr: return lw_read_fstring(r, node, loc);
    default: return read_unsupported(r, node);
    }
}

/* cuda.threadIdx and the like where they are values, `print(cuda.threadIdx)`: a tuple with the
 * names x, y and z. Other nodes are returned as they are. */
static uint32_t
read_triple(lw_reader *r, uint32_t at)
{
    static const char *const axes[] = {"x", "y", "z"};
    static const uint32_t nones[3];
    PyObject *object = at ? lw_read_object(r, at) : NULL;
    uint32_t items[3] = {0}, names, loc;

    if (object == NULL ||
        strcmp(Py_TYPE(object)->tp_name, "lanewise._core.IntrinsicGroup") != 0)
        return at;
    loc = r->tree->nodes.data[at].loc;
    for (int i = 0; i < 3; i++) {
        PyObject *value = PyObject_GetAttrString(object, axes[i]);
        items[i] = value ? lw_read_constant_node(r, value, loc) : 0;
        Py_XDECREF(value);
        lw_read_clear();
        if (items[i] == 0)
            return r->status == LW_OK ? at : 0;
    }
    names = lw_read_push(
        r, NULL, (lw_constant){.kind = LW_K_TUPLE, .n = 3, .items = nones, .names = axes});
    return names ? lw_read_list_node(r, (lw_node){LW_NODE_TUPLE, .loc = loc, .a = names}, items,
                                     3)
                 : 0;
}

/* An expression of which an attribute is read: cuda.threadIdx is the group of names there. */
static uint32_t
read_owner(lw_reader *r, PyObject *node)
{
    uint32_t result;

    if (Py_EnterRecursiveCall(" while reading a function"))
        return lw_read_failed(r);
    result = read_expr(r, node);
    Py_LeaveRecursiveCall();
    if (result == 0 && r->status == LW_OK) /* a field that every parser fills was absent */
        return lw_read_error(r, node, (lw_fault){.status = LW_ERR_UNSUPPORTED, .code = "E101"},
                             "this syntax (%.100s) cannot be compiled", Py_TYPE(node)->tp_name);
    return result;
}

uint32_t
lw_read_expr(lw_reader *r, PyObject *node)
{
    return read_triple(r, read_owner(r, node));
}

/* ---- targets ---- */

static uint32_t
marked_store(lw_reader *r, uint32_t node)
{
    assert(node < r->tree->nodes.n);
    if (node != 0 && r->tree->nodes.data[node].kind != LW_NODE_ERROR)
        r->tree->nodes.data[node].flags |= LW_NODE_STORE;
    return node;
}

static uint32_t
read_target_tuple(lw_reader *r, PyObject *node)
{
    lw_read_items items = {0};
    uint32_t result, loc = lw_read_loc(r, node);

    if (lw_read_each(r, node, r->ast.elts, lw_read_target, &items, &result))
        result =
            lw_read_list_node(r, (lw_node){LW_NODE_TUPLE, .loc = loc}, items.data, items.n);
    lw_array_free(&items);
    return marked_store(r, result);
}

static uint32_t
refuse_store(lw_reader *r, PyObject *node, const char *what, const char *help)
{
    return lw_read_error(
        r, node,
        (lw_fault){
            LW_ERR_UNSUPPORTED, "E162",
            .label =
                "captured from an enclosing scope: its value was fixed when this was compiled",
            .help = help},
        "%s", what);
}

/* In x[i] = … the container is looked up, but never folded to one of its elements. */
static uint32_t
read_target_subscript(lw_reader *r, PyObject *node)
{
    uint32_t a = lw_read_field(r, node, r->ast.value);
    uint32_t b = a ? read_index(r, lw_ast_get(node, r->ast.slice)) : 0;

    if (b == 0)
        return 0;
    if (lw_read_object(r, a) != NULL)
        return refuse_store(r, node, "assignment into a constant", "pass it as an argument");
    return marked_store(
        r, lw_read_node(
               r, (lw_node){LW_NODE_SUBSCRIPT, .loc = lw_read_loc(r, node), .a = a, .b = b}));
}

static uint32_t
read_target_attribute(lw_reader *r, PyObject *node)
{
    PyObject *name = lw_ast_get(node, r->ast.attr), *owner = lw_ast_get(node, r->ast.value);
    uint32_t a = owner ? read_owner(r, owner) : 0;
    uint32_t constant = a && name ? lw_read_constant(r, name) : 0;

    if (constant == 0)
        return 0;
    if (lw_read_object(r, a) != NULL)
        return refuse_store(r, node, "assignment to an attribute of a constant",
                            "return the value instead");
    return marked_store(
        r, lw_read_node(r, (lw_node){LW_NODE_ATTRIBUTE, .loc = lw_read_loc(r, node), .a = a,
                                     .b = constant}));
}

/* An ERROR node stands for the whole statement, so that nothing above has to look for it. */
uint32_t
lw_read_target(lw_reader *r, PyObject *node)
{
    assert(node != NULL);
    uint32_t value;

    switch (lw_ast_kind_of(&r->ast, node)) {
    case LW_AST_Name: return lw_read_name_store(r, node, lw_ast_get(node, r->ast.id));
    case LW_AST_Tuple:
    case LW_AST_List: return read_target_tuple(r, node);
    case LW_AST_Subscript: return read_target_subscript(r, node);
    case LW_AST_Attribute: return read_target_attribute(r, node);
    case LW_AST_Starred:
        value = lw_read_target(r, lw_ast_get(node, r->ast.value));
        if (value == 0)
            return 0;
        return marked_store(
            r,
            lw_read_node(r, (lw_node){LW_NODE_STAR, .loc = lw_read_loc(r, node), .a = value}));
    default: return read_unsupported(r, node);
    }
}
