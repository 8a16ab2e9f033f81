#include "core/front/tree.h"

#include "core/front/named.h"
#include "core/front/varying.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const lw_pyop_text[LW_N_PYOPS] = {
    [LW_PY_NONE] = "",         [LW_PY_ADD] = "+",     [LW_PY_SUB] = "-",
    [LW_PY_MUL] = "*",         [LW_PY_DIV] = "/",     [LW_PY_FLOORDIV] = "//",
    [LW_PY_MOD] = "%",         [LW_PY_POW] = "**",    [LW_PY_MATMUL] = "@",
    [LW_PY_LSHIFT] = "<<",     [LW_PY_RSHIFT] = ">>", [LW_PY_BITAND] = "&",
    [LW_PY_BITOR] = "|",       [LW_PY_BITXOR] = "^",  [LW_PY_NEG] = "-",
    [LW_PY_POS] = "+",         [LW_PY_INVERT] = "~",  [LW_PY_NOT] = "not",
    [LW_PY_AND] = "and",       [LW_PY_OR] = "or",     [LW_PY_EQ] = "==",
    [LW_PY_NE] = "!=",         [LW_PY_LT] = "<",      [LW_PY_LE] = "<=",
    [LW_PY_GT] = ">",          [LW_PY_GE] = ">=",     [LW_PY_IS] = "is",
    [LW_PY_IS_NOT] = "is not", [LW_PY_IN] = "in",     [LW_PY_NOT_IN] = "not in",
};

const char *const lw_pyop_method[LW_N_PYOPS] = {
    [LW_PY_ADD] = "__add__",
    [LW_PY_SUB] = "__sub__",
    [LW_PY_MUL] = "__mul__",
    [LW_PY_DIV] = "__truediv__",
    [LW_PY_FLOORDIV] = "__floordiv__",
    [LW_PY_MOD] = "__mod__",
    [LW_PY_POW] = "__pow__",
    [LW_PY_MATMUL] = "__matmul__",
    [LW_PY_LSHIFT] = "__lshift__",
    [LW_PY_RSHIFT] = "__rshift__",
    [LW_PY_BITAND] = "__and__",
    [LW_PY_BITOR] = "__or__",
    [LW_PY_BITXOR] = "__xor__",
    [LW_PY_EQ] = "__eq__",
    [LW_PY_NE] = "__ne__",
    [LW_PY_LT] = "__lt__",
    [LW_PY_LE] = "__le__",
    [LW_PY_GT] = "__gt__",
    [LW_PY_GE] = "__ge__",
    [LW_PY_NEG] = "__neg__",
    [LW_PY_POS] = "__pos__",
    [LW_PY_INVERT] = "__invert__",
    [LW_PY_IN] = "__contains__",
    [LW_PY_NOT_IN] = "__contains__",
};

const char *const lw_node_text[LW_N_NODE_KINDS] = {
    [LW_NODE_NONE] = "none",
#define NODE(name, text, args, doc) [LW_NODE_##name] = text,
#include "core/tables/nodes.def"
};

/* Entry 0 of each table means "none". */
#define RESERVE_NONE(table)                                                                    \
    do {                                                                                       \
        void *none = lw_array_push(&tree->table, &tree->arena);                                \
        if (none == NULL)                                                                      \
            goto fail;                                                                         \
    } while (0)

static uint32_t
place_of(const lw_class *class, const char *name)
{
    uint32_t i = 0;

    while (i < class->n_order && strcmp(class->order[i], name) != 0)
        i++;
    return i;
}

bool
lw_class_orders(const lw_class *class, const char *x, const char *y)
{
    uint32_t a = place_of(class, x), b = place_of(class, y);

    return a != b ? a < b : strcmp(x, y) < 0;
}

const lw_constant *
lw_class_constant(const lw_tree *tree, const lw_class *class, const char *name)
{
    for (uint32_t i = 0; tree && class && i < class->n_members; i++)
        if (strcmp(class->members[i].name, name) == 0)
            return class->members[i].kind == LW_MEMBER_CONSTANT
                       ? &tree->constants.data[class->members[i].index]
                       : NULL;
    return NULL;
}

const lw_class *
lw_tree_class(const lw_tree *tree, const void *id)
{
    for (uint32_t i = 1; tree && id && i < tree->constants.n; i++)
        if (tree->constants.data[i].kind == LW_K_CLASS &&
            tree->constants.data[i].user_class->id == id)
            return tree->constants.data[i].user_class;
    return NULL;
}

lw_status
lw_tree_new(lw_tree **out, lw_error *err)
{
    lw_tree *tree = lw_alloc_zero(1, sizeof *tree);

    if (tree == NULL)
        return lw_fail_memory(err);
    lw_arena_init(&tree->arena);
    RESERVE_NONE(nodes);
    RESERVE_NONE(lists);
    RESERVE_NONE(constants);
    RESERVE_NONE(locs);
    RESERVE_NONE(fns);
    RESERVE_NONE(diags);
    RESERVE_NONE(files);
    tree->constants.data[0].kind = LW_K_NONE;
    *out = tree;
    return LW_OK;
fail:
    lw_tree_free(tree);
    return lw_fail_memory(err);
}

static void
free_one(lw_tree *tree)
{
    if (tree->reading != NULL)
        tree->forget(tree->reading);
    lw_varyings_free(tree->varyings);
    lw_arena_reset(&tree->arena);
    lw_free(tree);
}

void
lw_tree_free(lw_tree *tree)
{
    while (tree != NULL) {
        lw_tree *older = tree->older, *extended = atomic_load(&tree->latest);

        while (extended != NULL) {
            lw_tree *before = extended->before != tree ? extended->before : NULL;
            free_one(extended);
            extended = before;
        }
        free_one(tree);
        tree = older;
    }
}

/* ---- trees that extend others ---- */

#define COPY(table)                                                                            \
    do {                                                                                       \
        if (!lw_array_reserve(&made->table, tree->table.n, &made->arena))                      \
            goto fail;                                                                         \
        if (tree->table.n != 0)                                                                \
            memcpy(made->table.data, tree->table.data,                                         \
                   tree->table.n * sizeof *tree->table.data);                                  \
        made->table.n = tree->table.n;                                                         \
    } while (0)

lw_status
lw_tree_extend(lw_tree *tree, lw_tree **out, lw_error *err)
{
    lw_tree *made = lw_alloc_zero(1, sizeof *made);

    if (made == NULL)
        return lw_fail_memory(err);
    lw_arena_init(&made->arena);
    made->base = tree->base ? tree->base : tree;
    made->before = tree;
    COPY(nodes);
    COPY(lists);
    COPY(constants);
    COPY(locs);
    COPY(fns);
    COPY(diags);
    COPY(files);
    COPY(array_functions);
    COPY(given);
    COPY(enums);
    COPY(overloaded);
    COPY(answers);
    *out = made;
    return LW_OK;
fail:
    lw_tree_free(made);
    return lw_fail_memory(err);
}

bool
lw_tree_publish(lw_tree *extended)
{
    lw_tree *expected = extended->before == extended->base ? NULL : extended->before;

    return atomic_compare_exchange_strong(&extended->base->latest, &expected, extended);
}

lw_tree *
lw_tree_latest(const lw_tree *base)
{
    lw_tree *latest = atomic_load(&base->latest);

    return latest != NULL ? latest : (lw_tree *)base;
}

/* Whether the node is an attribute of this name. */
static bool
is_attribute(const lw_tree *tree, uint32_t node, const char *name)
{
    const lw_node *n = &tree->nodes.data[node];

    return n->kind == LW_NODE_ATTRIBUTE && n->b < tree->constants.n &&
           tree->constants.data[n->b].kind == LW_K_STR &&
           strcmp(tree->constants.data[n->b].text, name) == 0;
}

bool
lw_tree_is_address(const lw_tree *tree, uint32_t node)
{
    return is_attribute(tree, node, "data") &&
           is_attribute(tree, tree->nodes.data[node].a, "ctypes");
}

/* The shortest digits that read back as the same double. */
static void
print_double(double d, lw_text *out)
{
    char digits[40];

    if (isnan(d) || isinf(d)) {
        lw_text_add(out, isnan(d) ? "nan" : d < 0 ? "-inf" : "inf");
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        double back = 0;
        snprintf(digits, sizeof digits, "%.*g", precision, d);
        if (sscanf(digits, "%lf", &back) == 1 && back == d)
            break;
    }
    lw_text_add(out, digits);
    if (strpbrk(digits, ".e") == NULL)
        lw_text_add(out, ".0");
}

static void
print_complex(double re, double im, lw_text *out)
{
    lw_text_add(out, "(");
    print_double(re, out);
    lw_text_add(out, ", ");
    print_double(im, out);
    lw_text_add(out, ")");
}

static void
print_quoted(const char *text, lw_text *out)
{
    lw_text_add(out, "'");
    for (const char *p = text ? text : ""; *p; p++) {
        if (*p == '\n')
            lw_text_add(out, "\\n");
        else if ((unsigned char)*p < ' ')
            lw_text_addf(out, "\\x%02x", (unsigned char)*p);
        else
            lw_text_add_n(out, p, 1);
    }
    lw_text_add(out, "'");
}

static void
print_scalar(const lw_constant *constant, lw_text *out)
{
    lw_text_addf(out, "%s(", lw_dtypes[constant->dtype].public_name);
    switch (lw_dtypes[constant->dtype].kind) {
    case LW_KIND_BOOL: lw_text_add(out, constant->i ? "True" : "False"); break;
    case LW_KIND_INT: lw_text_addf(out, "%" PRId64, constant->i); break;
    case LW_KIND_UINT: lw_text_addf(out, "%" PRIu64, constant->u); break;
    case LW_KIND_FLOAT: print_double(constant->d, out); break;
    default: print_complex(constant->d, constant->im, out); break;
    }
    lw_text_add(out, ")");
}

static void print_constant(const lw_tree *tree, uint32_t index, uint32_t depth, lw_text *out);

static void
print_tuple(const lw_tree *tree, const lw_constant *constant, uint32_t depth, lw_text *out)
{
    lw_text_addf(out, "%s(", constant->text ? constant->text : "");
    for (uint32_t i = 0; i < constant->n; i++) {
        lw_text_add(out, i ? ", " : "");
        if (constant->names)
            lw_text_addf(out, "%s=", constant->names[i]);
        print_constant(tree, constant->items[i], depth + 1, out);
    }
    lw_text_add(out, constant->n == 1 && constant->names == NULL ? ",)" : ")");
}

static void
print_array(const lw_constant *constant, lw_text *out)
{
    lw_text_addf(out, "array %s[",
                 constant->record ? "of records" : lw_dtypes[constant->dtype].public_name);
    for (uint32_t i = 0; i < constant->n; i++)
        lw_text_addf(out, "%s%" PRId64, i ? ", " : "",
                     constant->live ? constant->live->shape[i] : (int64_t)constant->items[i]);
    lw_text_add(out, constant->live ? "] where it lies" : "]");
}

static void
print_constant(const lw_tree *tree, uint32_t index, uint32_t depth, lw_text *out)
{
    const lw_constant now = lw_varying_now(&tree->constants.data[index]), *constant = &now;
    static const char *const pytypes[] = {"int", "float", "bool", "complex"};

    if (depth > 8) { /* tables of tables are cut short: this much is enough to recognise them */
        lw_text_add(out, "…");
        return;
    }
    switch (constant->kind) {
    case LW_K_UNDEFINED:
        lw_text_addf(out, "undefined %s%s%s", constant->text, constant->help ? ": " : "",
                     constant->help ? constant->help : "");
        break;
    case LW_K_NONE: lw_text_add(out, "None"); break;
    case LW_K_BOOL: lw_text_add(out, constant->i ? "True" : "False"); break;
    case LW_K_INT: lw_text_addf(out, "%" PRId64, constant->i); break;
    case LW_K_UINT: lw_text_addf(out, "%" PRIu64, constant->u); break;
    case LW_K_BIGINT: lw_text_add(out, constant->text); break;
    case LW_K_FLOAT: print_double(constant->d, out); break;
    case LW_K_COMPLEX:
        lw_text_add(out, "complex");
        print_complex(constant->d, constant->im, out);
        break;
    case LW_K_STR: print_quoted(constant->text, out); break;
    case LW_K_BYTES: lw_text_add(out, constant->text); break;
    case LW_K_TUPLE: print_tuple(tree, constant, depth, out); break;
    case LW_K_SCALAR: print_scalar(constant, out); break;
    case LW_K_DTYPE: lw_text_addf(out, "type %s", constant->text); break;
    case LW_K_PYTYPE: lw_text_addf(out, "type %s", pytypes[constant->u & 3]); break;
    case LW_K_NAMED: lw_text_addf(out, "named %s", constant->text); break;
    case LW_K_FUNCTION:
        lw_text_addf(out, "function %s #%" PRIu64, tree->fns.data[constant->u].name,
                     constant->u);
        break;
    case LW_K_EXTERNAL: lw_text_addf(out, "external %s", constant->text); break;
    case LW_K_MODULE: lw_text_addf(out, "module %s", constant->text); break;
    case LW_K_RECORD: lw_text_addf(out, "type %s", constant->text); break;
    case LW_K_ARRAY: print_array(constant, out); break;
    case LW_K_CLASS: lw_text_addf(out, "class %s", constant->text); break;
    case LW_K_ELLIPSIS: lw_text_add(out, "..."); break;
    case LW_K_EXCEPTION:
        lw_text_addf(out, "exception %s", constant->text);
        if (constant->help) {
            lw_text_add(out, " ");
            print_quoted(constant->help, out);
        }
        break;
    case LW_K_OBJECT: lw_text_addf(out, "object %s", constant->text); break;
    }
}

const lw_enum *
lw_tree_enum(const lw_tree *tree, const void *id)
{
    for (uint32_t i = 0; i < tree->enums.n; i++)
        if (tree->enums.data[i]->id == id)
            return tree->enums.data[i];
    return NULL;
}

const lw_enum *
lw_constant_enum(const lw_constant *constant)
{
    return constant->kind == LW_K_OBJECT && constant->n == 2 ? constant->bytes : NULL;
}

void
lw_constant_print(const lw_tree *tree, uint32_t constant, lw_text *out)
{
    print_constant(tree, constant, 0, out);
}

/* ---- parameters ---- */

uint32_t
lw_fn_positional(const lw_fn *fn)
{
    uint32_t n = 0;

    while (n < fn->params.n && fn->params.data[n].kind == LW_PARAM_POSITIONAL)
        n++;
    return n;
}

/* ---- items that are lent ---- */

/* The methods of lists and dicts that neither return the list, or what reads it later, nor
 * call functions of the user's, as `sort(key=f)` does. */
static bool
is_method(const char *name)
{
    static const char *const names[] = {"append", "pop",   "insert", "get",   "extend",
                                        "clear",  "count", "index",  "remove"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool are_simple(const lw_tree *tree, uint32_t first, uint32_t n);

/* Whether the expression calls nothing but methods `__…` of what it is made of. */
static bool
is_simple(const lw_tree *tree, uint32_t node)
{
    const lw_node *n = &tree->nodes.data[node];

    switch (n->kind) {
    case LW_NODE_NONE:
    case LW_NODE_CONSTANT:
    case LW_NODE_NAME: return true;
    case LW_NODE_UNARY: return is_simple(tree, n->a);
    case LW_NODE_BINARY:
    case LW_NODE_SUBSCRIPT: return is_simple(tree, n->a) && is_simple(tree, n->b);
    case LW_NODE_SLICE:
        return is_simple(tree, n->a) && is_simple(tree, n->b) && is_simple(tree, n->c);
    case LW_NODE_TUPLE: return are_simple(tree, n->b, n->c);
    default: return false;
    }
}

static bool
are_simple(const lw_tree *tree, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!is_simple(tree, tree->lists.data[first + i]))
            return false;
    return true;
}

static void
lend(lw_tree *tree, uint32_t node)
{
    lw_node *n = &tree->nodes.data[node];

    if (n->kind == LW_NODE_SUBSCRIPT && tree->nodes.data[n->b].kind != LW_NODE_SLICE)
        n->flags |= LW_NODE_LENT;
}

static bool
is_len(const lw_tree *tree, const lw_node *callee)
{
    const lw_constant *k =
        callee->kind == LW_NODE_CONSTANT ? &tree->constants.data[callee->a] : NULL;

    return k != NULL && k->kind == LW_K_NAMED && k->u == LW_NAME_builtins_len;
}

static void
lend_to_call(lw_tree *tree, const lw_node *call)
{
    const lw_node *callee = &tree->nodes.data[call->a];

    if (callee->kind == LW_NODE_ATTRIBUTE && are_simple(tree, call->b, call->c) &&
        is_method(tree->constants.data[callee->b].text))
        lend(tree, callee->a);
    else if (is_len(tree, callee) && call->c == 1)
        lend(tree, tree->lists.data[call->b]);
}

/* v in x[i] */
static void
lend_to_comparison(lw_tree *tree, const lw_node *compare)
{
    const lw_node *link =
        compare->c == 1 ? &tree->nodes.data[tree->lists.data[compare->b]] : NULL;

    if (link != NULL && (link->op == LW_PY_IN || link->op == LW_PY_NOT_IN))
        lend(tree, link->a);
}

/* x[i][k] += v: v is evaluated between. */
static void
take_back(lw_tree *tree, const lw_node *augmented)
{
    const lw_node *target = &tree->nodes.data[augmented->a];

    if (target->kind == LW_NODE_SUBSCRIPT && !is_simple(tree, augmented->b))
        tree->nodes.data[target->a].flags &= (uint8_t)~LW_NODE_LENT;
}

void
lw_mark_lent(lw_tree *tree, const lw_node *node)
{
    switch (node->kind) {
    case LW_NODE_SUBSCRIPT:
        if (is_simple(tree, node->b))
            lend(tree, node->a);
        break;
    case LW_NODE_CALL: lend_to_call(tree, node); break;
    case LW_NODE_COMPARE: lend_to_comparison(tree, node); break;
    case LW_NODE_AUGASSIGN: take_back(tree, node); break;
    case LW_NODE_UNARY:
        if (node->op == LW_PY_NOT)
            lend(tree, node->a);
        break;
    case LW_NODE_IF:
    case LW_NODE_WHILE:
    case LW_NODE_IFEXP: lend(tree, node->a); break;
    default: break;
    }
}

void
lw_mark_lent_to(lw_tree *tree, const lw_fn *fn, uint32_t assign)
{
    const lw_node *n = &tree->nodes.data[assign];
    const lw_node *target = &tree->nodes.data[tree->lists.data[n->b]];

    if (target->kind == LW_NODE_NAME &&
        strncmp(fn->vars.data[target->a].name, ".lent", strlen(".lent")) == 0)
        lend(tree, n->a);
}

/* The variable of which the expression is an item at any depth; 0: it is another expression. */
static uint32_t
root_of(const lw_tree *tree, uint32_t node)
{
    const lw_node *n = &tree->nodes.data[node];

    while (n->kind == LW_NODE_SUBSCRIPT)
        n = &tree->nodes.data[n->a];
    return n->kind == LW_NODE_NAME ? n->a : 0;
}

/* Whether it is a function such as len, min or a type. */
static bool
is_named(const lw_tree *tree, const lw_node *callee)
{
    const lw_constant *k =
        callee->kind == LW_NODE_CONSTANT ? &tree->constants.data[callee->a] : NULL;

    return k != NULL &&
           (k->kind == LW_K_NAMED || k->kind == LW_K_PYTYPE || k->kind == LW_K_DTYPE);
}

/* Whether the node may be in the body of a loop over items of this variable. *n_attributes: of
 * which none is called so far. */
static bool
may_be_in_loop(const lw_tree *tree, const lw_node *n, uint32_t root, int *n_attributes)
{
    const lw_node *callee = &tree->nodes.data[n->kind == LW_NODE_CALL ? n->a : 0];

    switch (n->kind) {
    case LW_NODE_NAME: return !(n->flags & LW_NODE_STORE) || n->a != root;
    case LW_NODE_ATTRIBUTE:
        (*n_attributes)++;
        return is_method(tree->constants.data[n->b].text) && root_of(tree, n->a) != root;
    case LW_NODE_CALL:
        *n_attributes -= callee->kind == LW_NODE_ATTRIBUTE;
        return callee->kind == LW_NODE_ATTRIBUTE || is_named(tree, callee);
    case LW_NODE_CONSTANT:
    case LW_NODE_UNARY:
    case LW_NODE_BINARY:
    case LW_NODE_BOOLOP:
    case LW_NODE_COMPARE:
    case LW_NODE_LINK:
    case LW_NODE_IFEXP:
    case LW_NODE_SUBSCRIPT:
    case LW_NODE_TUPLE:
    case LW_NODE_ASSIGN:
    case LW_NODE_AUGASSIGN:
    case LW_NODE_IF:
    case LW_NODE_WHILE:
    case LW_NODE_FOR:
    case LW_NODE_LOOP_BODY:
    case LW_NODE_BODY:
    case LW_NODE_BREAK:
    case LW_NODE_CONTINUE:
    case LW_NODE_RETURN:
    case LW_NODE_EXPR:
    case LW_NODE_PASS: return true;
    default: return false;
    }
}

void
lw_mark_lent_loop(lw_tree *tree, uint32_t loop)
{
    uint32_t over = tree->nodes.data[loop].b, root = root_of(tree, over);
    bool may = root != 0;
    int n_attributes = 0;

    for (uint32_t i = over + 1; may && i < loop; i++)
        may = may_be_in_loop(tree, &tree->nodes.data[i], root, &n_attributes);
    if (may && n_attributes == 0)
        tree->nodes.data[loop].flags |= LW_NODE_LENT;
}
