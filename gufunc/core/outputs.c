#include "gufunc/core/outputs.h"

#include <assert.h>

enum { MOST_STORES = 256 };

typedef struct search {
    const lw_tree *tree;
    uint32_t var;
    bool indexes, returns;
    uint32_t rebound; /* node */
    lw_typed *typed;  /* NULL: the tree alone decides */
    lw_type stored[MOST_STORES];
    uint32_t n_stored;
} search;

static const char *const args_of[LW_N_NODE_KINDS] = {
#define NODE(name, text, args, doc) [LW_NODE_##name] = args,
#include "core/tables/nodes.def"
};

static void visit(search *s, uint32_t at);

static bool
is_var(const search *s, uint32_t at)
{
    const lw_node *node = &s->tree->nodes.data[at];

    return node->kind == LW_NODE_NAME && node->a == s->var;
}

static bool
is_element(const search *s, uint32_t at)
{
    const lw_node *node = &s->tree->nodes.data[at];

    return node->kind == LW_NODE_SUBSCRIPT && is_var(s, node->a);
}

/* ---- what is stored ---- */

static const lw_typed_node *
typed_node(const search *s, uint32_t at)
{
    return lw_typed_in(&s->typed->instances.data[1].nodes, at);
}

static void
note_type(search *s, lw_type type)
{
    lw_type_kind kind = lw_type_kind_of(&s->typed->types, type);

    if ((kind == LW_TK_SCALAR || kind == LW_TK_WEAK || kind == LW_TK_LITERAL) &&
        s->n_stored < MOST_STORES)
        s->stored[s->n_stored++] = type;
    else if (kind == LW_TK_ARRAY || kind == LW_TK_ELEMENTWISE) /* out[:] = row, row + 1 */
        note_type(s, lw_type_get(&s->typed->types, type)->elements[0]);
}

/* The type of item i of what is unpacked to n targets; BOTTOM: it is not known. */
static lw_type
unpacked(const search *s, lw_type type, uint32_t i, uint32_t n)
{
    const lw_type_row *row = lw_type_get(&s->typed->types, type);

    if (row != NULL && row->kind == LW_TK_ARRAY)
        return row->elements[0];
    return row != NULL && row->kind == LW_TK_TUPLE && row->n == n ? row->elements[i]
                                                                  : LW_T_BOTTOM;
}

/* a, out[0] = x, y, or = f(x); value: the node, 0: it is a part of one. */
static void
note_target(search *s, uint32_t target, uint32_t value, lw_type type)
{
    const lw_node *to = &s->tree->nodes.data[target], *from = &s->tree->nodes.data[value];
    const uint32_t *lists = s->tree->lists.data;
    bool apart = value != 0 && from->kind == LW_NODE_TUPLE && to->c == from->c;

    if (is_element(s, target))
        note_type(s, type);
    else if (to->kind == LW_NODE_TUPLE)
        for (uint32_t i = 0; i < to->c; i++) {
            uint32_t part = apart ? lists[from->b + i] : 0;
            note_target(s, lists[to->b + i], part,
                        part ? typed_node(s, part)->type : unpacked(s, type, i, to->c));
        }
}

static void
note_stores(search *s, uint32_t at)
{
    const lw_node *node = &s->tree->nodes.data[at];

    if (node->kind == LW_NODE_ASSIGN)
        for (uint32_t i = 0; i < node->c; i++)
            note_target(s, s->tree->lists.data[node->b + i], node->a,
                        typed_node(s, node->a)->type);
    if (node->kind == LW_NODE_AUGASSIGN &&
        (is_element(s, node->a) || is_var(s, node->a))) { /* the value that is added */
        note_type(s, typed_node(s, node->b)->type);
        if (node->op == LW_PY_DIV)
            note_type(s, LW_T_PYFLOAT);
    }
}

/* ---- walking ---- */

static void
visit_blocks(search *s, const lw_node *node)
{
    switch (node->kind) {
    case LW_NODE_IF:
    case LW_NODE_WHILE:
        visit(s, node->b);
        visit(s, node->c);
        return;
    case LW_NODE_FOR:
    case LW_NODE_CASE: visit(s, node->c); return;
    case LW_NODE_TRY: visit(s, node->a); return;
    case LW_NODE_HANDLER: visit(s, node->b); return;
    case LW_NODE_TRY_BODY:
        visit(s, node->a);
        visit(s, node->b);
        visit(s, node->c);
        return;
    case LW_NODE_LOOP_BODY:
        visit(s, node->a);
        visit(s, node->b);
        return;
    default: return;
    }
}

static void
look_at(search *s, uint32_t at)
{
    const lw_node *node = &s->tree->nodes.data[at];

    s->indexes |= is_element(s, at);
    s->returns |= node->kind == LW_NODE_RETURN && node->a != 0;
    if (is_var(s, at) && (node->flags & LW_NODE_STORE) && s->rebound == 0)
        s->rebound = at;
    if (s->typed != NULL)
        note_stores(s, at);
}

/* out += x stores into the elements of out. */
static bool
is_written_in_place(const search *s, const lw_node *node)
{
    return node->kind == LW_NODE_AUGASSIGN && is_var(s, node->a);
}

static void
visit(search *s, uint32_t at)
{
    const lw_node *node = &s->tree->nodes.data[at];
    const char *args = args_of[node->kind];

    if (at == 0 || (s->typed != NULL && typed_node(s, at)->dead))
        return;
    look_at(s, at);
    if (args[0] == 'n' && !is_written_in_place(s, node))
        visit(s, node->a);
    if (args[1] == 'L')
        for (uint32_t i = 0; i < node->c; i++)
            visit(s, s->tree->lists.data[node->b + i]);
    if (args[1] == 'n')
        visit(s, node->b);
    if (args[2] == 'n')
        visit(s, node->c);
    visit_blocks(s, node);
}

static search
search_for(const lw_tree *tree, lw_typed *typed, uint32_t var)
{
    search s = {.tree = tree, .typed = typed, .var = var};

    assert(tree->fns.n > 1);
    visit(&s, tree->fns.data[1].body);
    return s;
}

bool
lw_body_indexes(const lw_tree *tree, uint32_t var)
{
    return search_for(tree, NULL, var).indexes;
}

uint32_t
lw_body_rebinds(const lw_tree *tree, uint32_t var)
{
    return search_for(tree, NULL, var).rebound;
}

bool
lw_body_returns(const lw_tree *tree)
{
    return search_for(tree, NULL, UINT32_MAX).returns;
}

lw_dtype
lw_body_stores(lw_typed *typed, uint32_t var)
{
    search s = search_for(typed->tree, typed, var);
    const char *problem = NULL;
    lw_type all;

    if (s.n_stored == 0)
        return LW_DT_void;
    all = lw_join(&typed->types, typed->options.typing, s.stored, s.n_stored, &problem);
    return all == LW_T_BOTTOM ? LW_DT_void : lw_type_stored(&typed->types, all);
}
