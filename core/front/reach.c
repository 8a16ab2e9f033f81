/* A walk over the statements of the user's function, in order, as far as every element is
 * certain to come. Types say what is an array and what is an index; parts that were pruned or
 * folded are not looked into, as they are not executed. */
#include "core/front/reach.h"

#include <assert.h>

enum { FAR = 1 << 30, MOST_DEPTH = 64 };

typedef LW_ARRAY(lw_reach) reach_list;

typedef struct walker {
    const lw_typed *typed;
    const lw_tree *tree;
    const lw_instance *instance;
    const lw_fn *fn;
    uint32_t n_index;
    lw_arena *arena;
    reach_list *found;
    LW_ARRAY(lw_reach_update) updates;
    bool ended, failed; /* nothing behind this is certain; no memory */
    int depth;
} walker;

static const lw_node *
node_at(const walker *w, uint32_t node)
{
    return &w->tree->nodes.data[node];
}

static const lw_typed_node *
typed_at(const walker *w, uint32_t node)
{
    return lw_typed_in(&w->instance->nodes, node);
}

static uint32_t
item(const walker *w, const lw_node *list, uint32_t i)
{
    return w->tree->lists.data[list->b + i];
}

/* The parameter that the name stands for, where that has not been assigned; -1: none. */
static int
parameter(const walker *w, uint32_t node)
{
    const lw_node *n = node_at(w, node);
    uint32_t web = typed_at(w, node)->web;

    if (n->kind != LW_NODE_NAME || (n->flags & LW_NODE_STORE) || web == 0 ||
        !w->instance->webs.data[web].single || !w->instance->webs.data[web].is_param)
        return -1;
    for (uint32_t i = 0; i < w->fn->params.n; i++)
        if (w->fn->params.data[i].var == n->a)
            return (int)i;
    return -1;
}

/* ---- indices ---- */

typedef struct affine {
    int index;
    int64_t offset;
} affine;

static bool
constant_of(const walker *w, uint32_t node, int64_t *out)
{
    const lw_node *n = node_at(w, node);
    uint32_t constant = typed_at(w, node)->constant;
    __int128 value;

    if (constant == 0 && n->kind == LW_NODE_CONSTANT)
        constant = n->a;
    if (constant == 0 ||
        !lw_constant_int_value(lw_typed_constant(w->typed, constant), &value) || value < -FAR ||
        value > FAR)
        return false;
    *out = (int64_t)value;
    return true;
}

/* i, i + 1, 1 + i, i - 1, 3 */
static bool
read_affine(const walker *w, uint32_t node, affine *out)
{
    const lw_node *n = node_at(w, node);
    int64_t offset;
    uint32_t base;

    *out = (affine){LW_REACH_CONSTANT, 0};
    if (constant_of(w, node, &out->offset))
        return true;
    if (n->kind == LW_NODE_NAME) {
        out->index = parameter(w, node);
        return out->index >= 0 && out->index < (int)w->n_index;
    }
    if (n->kind != LW_NODE_BINARY || (n->op != LW_PY_ADD && n->op != LW_PY_SUB) ||
        typed_at(w, node)->call != LW_CALL_NONE)
        return false;
    base = n->a;
    if (!constant_of(w, n->b, &offset)) {
        if (n->op != LW_PY_ADD || !constant_of(w, n->a, &offset))
            return false;
        base = n->b;
    }
    if (node_at(w, base)->kind != LW_NODE_NAME || !read_affine(w, base, out) ||
        out->index == LW_REACH_CONSTANT)
        return false;
    out->offset = n->op == LW_PY_ADD ? offset : -offset;
    return true;
}

/* Whether the item of an index takes one axis: an integer, or a slice. */
static bool
takes_axis(const walker *w, uint32_t node)
{
    lw_type type = typed_at(w, node)->type;
    int64_t value;

    if (node_at(w, node)->kind == LW_NODE_SLICE || constant_of(w, node, &value))
        return true;
    if (lw_type_kind_of(&w->typed->types, type) == LW_TK_LITERAL || type == LW_T_INDEX)
        return true;
    return lw_type_kind_of(&w->typed->types, type) == LW_TK_SCALAR &&
           (lw_dtypes[type].kind == LW_KIND_INT || lw_dtypes[type].kind == LW_KIND_UINT);
}

static void
note(walker *w, uint32_t arg, uint32_t axis, uint32_t node, uint32_t loc)
{
    lw_reach *reach;
    affine index;

    if (node_at(w, node)->kind == LW_NODE_SLICE || !read_affine(w, node, &index))
        return;
    reach = lw_array_push(w->found, w->arena);
    if (reach == NULL) {
        w->failed = true;
        return;
    }
    *reach = (lw_reach){.arg = arg,
                        .axis = (uint8_t)axis,
                        .index = (int8_t)index.index,
                        .offset = index.offset,
                        .loc = loc};
}

/* The argument of which a subscript selects elements, with the axes; -1: none. */
static int
array_of(const walker *w, uint32_t node, uint32_t *ndim)
{
    const lw_node *n = node_at(w, node);
    int at = parameter(w, n->a);
    const lw_type_row *row;

    if (at < (int)w->n_index || typed_at(w, node)->call != LW_CALL_NONE)
        return -1;
    row = lw_type_get_kind(&w->typed->types, typed_at(w, n->a)->type, LW_TK_ARRAY);
    if (row == NULL || row->endless || row->ndim == 0)
        return -1;
    *ndim = row->ndim;
    return at - (int)w->n_index;
}

static void
note_subscript(walker *w, uint32_t node)
{
    const lw_node *n = node_at(w, node);
    bool is_tuple = node_at(w, n->b)->kind == LW_NODE_TUPLE && node_at(w, n->b)->a == 0;
    const lw_node *items = node_at(w, n->b);
    uint32_t count = is_tuple ? items->c : 1, ndim;
    int arg = array_of(w, node, &ndim);

    if (arg < 0 || count > ndim)
        return;
    for (uint32_t i = 0; i < count; i++)
        if (!takes_axis(w, is_tuple ? item(w, items, i) : n->b))
            return;
    for (uint32_t i = 0; i < count; i++)
        note(w, (uint32_t)arg, i, is_tuple ? item(w, items, i) : n->b, n->loc);
}

/* ---- expressions ---- */

static void walk(walker *w, uint32_t node);

static void
walk_list(walker *w, const lw_node *n)
{
    for (uint32_t i = 0; i < n->c; i++)
        walk(w, item(w, n, i));
}

static void
walk_call(walker *w, const lw_node *n, const lw_typed_node *t)
{
    walk(w, n->a);
    walk_list(w, n);
    if (t->call == LW_CALL_INSTANCE && w->typed->instances.data[t->target].can_raise)
        w->ended = true;
}

static void
walk_arm(walker *w, const lw_node *n)
{
    int truth = typed_at(w, n->a)->truth;

    walk(w, n->a);
    if (truth >= 0)
        walk(w, truth ? n->b : n->c);
}

static void
walk_expression(walker *w, uint32_t node)
{
    const lw_node *n = node_at(w, node);
    const lw_typed_node *t = typed_at(w, node);

    switch (n->kind) {
    case LW_NODE_UNARY:
    case LW_NODE_STAR:
    case LW_NODE_LINK:
    case LW_NODE_ATTRIBUTE: walk(w, n->a); break;
    case LW_NODE_BINARY:
        walk(w, n->a);
        walk(w, n->b);
        break;
    case LW_NODE_ARG_KEYWORD:
    case LW_NODE_WALRUS: walk(w, n->b); break;
    case LW_NODE_BOOLOP: walk(w, item(w, n, 0)); break;
    case LW_NODE_COMPARE:
        walk(w, n->a);
        walk(w, item(w, n, 0));
        break;
    case LW_NODE_IFEXP: walk_arm(w, n); break;
    case LW_NODE_CALL: walk_call(w, n, t); break;
    case LW_NODE_SUBSCRIPT:
        walk(w, n->a);
        walk(w, n->b);
        if (!w->ended)
            note_subscript(w, node);
        break;
    case LW_NODE_SLICE:
        walk(w, n->a);
        walk(w, n->b);
        walk(w, n->c);
        break;
    case LW_NODE_TUPLE: walk_list(w, n); break;
    case LW_NODE_NAME: w->ended |= t->unbound; break;
    default: break; /* constants, and what is evaluated elsewhere or not at all */
    }
}

/* ---- statements ---- */

static bool may_leave(const walker *w, uint32_t node, bool in_loop);

static bool
list_may_leave(const walker *w, const lw_node *n, bool in_loop)
{
    bool may = false;

    for (uint32_t i = 0; i < n->c && !may; i++)
        may = may_leave(w, item(w, n, i), in_loop);
    return may;
}

/* Whether statements may end the function, or the iteration of the loop around them. Loops that
 * do not end are not thought of, as a program that has one does not end either. */
static bool
may_leave(const walker *w, uint32_t node, bool in_loop)
{
    const lw_node *n = node_at(w, node);

    if (node == 0 || typed_at(w, node)->dead)
        return false;
    switch (n->kind) {
    case LW_NODE_BODY: return list_may_leave(w, n, in_loop);
    case LW_NODE_IF: return may_leave(w, n->b, in_loop) || may_leave(w, n->c, in_loop);
    case LW_NODE_WHILE: return may_leave(w, n->b, true) || may_leave(w, n->c, in_loop);
    case LW_NODE_FOR: return may_leave(w, n->c, true);
    case LW_NODE_LOOP_BODY: return may_leave(w, n->a, true) || may_leave(w, n->b, in_loop);
    case LW_NODE_BREAK:
    case LW_NODE_CONTINUE: return !in_loop;
    case LW_NODE_ASSIGN:
    case LW_NODE_AUGASSIGN:
    case LW_NODE_ANNASSIGN:
    case LW_NODE_EXPR:
    case LW_NODE_PASS: return w->instance->can_raise;
    default: return true;
    }
}

/* What a body does by itself. */
static void
walk_apart(walker *w, uint32_t body, reach_list *into)
{
    reach_list *outer = w->found;

    w->found = into;
    walk(w, body);
    w->found = outer;
    w->ended = false;
}

static bool
does(const reach_list *list, const lw_reach *one)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (list->data[i].arg == one->arg && list->data[i].axis == one->axis &&
            list->data[i].index == one->index && list->data[i].offset == one->offset)
            return true;
    return false;
}

static void
walk_if(walker *w, const lw_node *n)
{
    int truth = typed_at(w, n->a)->truth;
    reach_list yes = {0}, no = {0};

    walk(w, n->a);
    if (truth >= 0) {
        walk(w, truth ? n->b : n->c);
        return;
    }
    if (w->ended)
        return;
    walk_apart(w, n->b, &yes);
    walk_apart(w, n->c, &no);
    for (uint32_t i = 0; i < yes.n && !w->failed; i++) {
        lw_reach *both;
        if (!does(&no, &yes.data[i]))
            continue;
        both = lw_array_push(w->found, w->arena);
        if (both == NULL)
            w->failed = true;
        else
            *both = yes.data[i];
    }
    w->ended = may_leave(w, n->b, false) || may_leave(w, n->c, false);
}

static void
walk_statement(walker *w, uint32_t node)
{
    const lw_node *n = node_at(w, node);

    switch (n->kind) {
    case LW_NODE_BODY:
        for (uint32_t i = 0; i < n->c && !w->ended && !w->failed; i++)
            walk(w, item(w, n, i));
        break;
    case LW_NODE_ASSIGN:
        walk(w, n->a);
        walk_list(w, n);
        break;
    case LW_NODE_AUGASSIGN:
        walk(w, n->a);
        walk(w, n->b);
        break;
    case LW_NODE_ANNASSIGN: walk(w, n->c); break;
    case LW_NODE_EXPR: walk(w, n->a); break;
    case LW_NODE_IF: walk_if(w, n); break;
    case LW_NODE_FOR:
        walk(w, n->b);
        w->ended |= may_leave(w, n->c, true);
        break;
    case LW_NODE_WHILE: /* its condition is evaluated once at least */
        walk(w, n->a);
        w->ended |= may_leave(w, n->b, true) || may_leave(w, n->c, false);
        break;
    case LW_NODE_PASS: break;
    case LW_NODE_RETURN:
        if (n->a != 0)
            walk(w, n->a);
        w->ended = true;
        break;
    case LW_NODE_ASSERT:
        walk(w, n->a);
        w->ended = true;
        break;
    default: w->ended = true; break;
    }
}

static void
walk(walker *w, uint32_t node)
{
    const lw_typed_node *t = typed_at(w, node);

    if (node == 0 || w->ended || w->failed || t->dead || t->constant != 0)
        return;
    if (++w->depth > MOST_DEPTH)
        w->ended = true;
    else if (node_at(w, node)->kind >= LW_NODE_ASSIGN)
        walk_statement(w, node);
    else
        walk_expression(w, node);
    w->depth--;
}

/* ---- updates ---- */

static void find_updates(walker *w, uint32_t node);

static void
find_updates_in(walker *w, const lw_node *n)
{
    for (uint32_t i = 0; i < n->c; i++)
        find_updates(w, item(w, n, i));
}

/* A statement that assigns to this target. */
static void
note_update(walker *w, const lw_node *n, uint32_t target)
{
    lw_reach_update *update;
    uint32_t ndim;
    int arg = node_at(w, target)->kind == LW_NODE_SUBSCRIPT ? array_of(w, target, &ndim) : -1;

    if (arg < 0)
        return;
    update = lw_array_push(&w->updates, w->arena);
    if (update == NULL)
        w->failed = true;
    else
        *update = (lw_reach_update){(uint32_t)arg, n->loc};
}

/* Wherever they are in the function. */
static void
find_updates(walker *w, uint32_t node)
{
    const lw_node *n = node_at(w, node);

    if (node == 0 || typed_at(w, node)->dead)
        return;
    switch (n->kind) {
    case LW_NODE_BODY: find_updates_in(w, n); break;
    case LW_NODE_IF:
        find_updates(w, n->b);
        find_updates(w, n->c);
        break;
    case LW_NODE_WHILE:
        find_updates(w, n->b);
        find_updates(w, n->c);
        break;
    case LW_NODE_FOR: find_updates(w, n->c); break;
    case LW_NODE_LOOP_BODY:
        find_updates(w, n->a);
        find_updates(w, n->b);
        break;
    case LW_NODE_TRY:
        find_updates(w, n->a);
        find_updates_in(w, n);
        break;
    case LW_NODE_HANDLER: find_updates(w, n->b); break;
    case LW_NODE_TRY_BODY:
        find_updates(w, n->a);
        find_updates(w, n->b);
        find_updates(w, n->c);
        break;
    case LW_NODE_AUGASSIGN: note_update(w, n, n->a); break;
    case LW_NODE_ASSIGN:
        for (uint32_t i = 0; i < n->c; i++)
            note_update(w, n, w->tree->lists.data[n->b + i]);
        break;
    default: break;
    }
}

lw_status
lw_find_reaches(const lw_typed *typed, uint32_t n_index, lw_arena *arena, lw_reaches *out,
                lw_error *err)
{
    reach_list found = {0};
    walker w = {.typed = typed,
                .tree = typed->tree,
                .instance = &typed->instances.data[1],
                .fn = &typed->tree->fns.data[1],
                .n_index = n_index,
                .arena = arena,
                .found = &found};

    walk(&w, w.fn->body);
    find_updates(&w, w.fn->body);
    if (w.failed)
        return lw_fail_memory(err);
    *out = (lw_reaches){found.data, found.n, w.updates.data, w.updates.n};
    return LW_OK;
}
