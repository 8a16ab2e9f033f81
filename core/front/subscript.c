#include "core/front/subscript.h"

#include "core/front/varying.h"

#include <assert.h>
#include <string.h>

typedef struct subscript_reader {
    const lw_typed *typed;
    const lw_typed_nodes *nodes;
    lw_index *out;
    uint32_t n_ellipses, ellipsis; /* the item that is filled next */
} subscript_reader;

static const lw_constant *
constant_at(const subscript_reader *r, uint32_t constant)
{
    return constant ? lw_typed_constant(r->typed, constant) : NULL;
}

static void
add(subscript_reader *r, lw_index_item item)
{
    assert(r->out->n <= LW_MAX_INDEX);
    lw_index *out = r->out;

    if (item.kind != LW_INDEX_ARRAY)
        item.axes = item.kind != LW_INDEX_NEW;
    out->n_named += item.axes;
    if (out->n == LW_MAX_INDEX) {
        out->n_named = LW_MAX_INDEX; /* more than any array has */
        return;
    }
    out->items[out->n++] = item;
}

/* What the items of lists in an index are, together. */
typedef struct list_items {
    bool are_bool, are_integers; /* integers: or bool */
} list_items;

/* Look at the items of a list, or of an array, and of the lists in it; returns how deep they
 * are nested. */
static uint32_t
look_into(const subscript_reader *r, lw_type type, list_items *items)
{
    const lw_type_row *row = lw_type_get(&r->typed->types, type);
    uint32_t depth = 0, n;
    lw_dtype stored;

    if (row && (row->kind == LW_TK_TUPLE || row->kind == LW_TK_ARRAY)) {
        n = row->kind == LW_TK_TUPLE ? row->n : 1;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t below = look_into(r, row->elements[i], items);
            depth = below > depth ? below : depth;
        }
        return depth + (row->kind == LW_TK_TUPLE ? 1 : row->ndim);
    }
    stored = row && (row->kind == LW_TK_MEMBER || row->kind == LW_TK_TEXT)
                 ? LW_DT_void
                 : lw_type_stored(&r->typed->types, type);
    items->are_bool &= stored == LW_DT_b1;
    items->are_integers &= stored == LW_DT_b1 || lw_is_integer(stored);
    return 0;
}

/* Whether a value of this type selects several elements, along how many axes: arrays, lists,
 * and tuples in the tuple that is the index, of integers along one, those of bool along as many
 * as they have. */
static bool
is_index_array(const subscript_reader *r, lw_type type, uint32_t *axes)
{
    const lw_type_row *row = lw_type_get(&r->typed->types, type);
    list_items items = {true, true};
    uint32_t depth;

    if (row == NULL || !((row->kind == LW_TK_ARRAY && row->ndim > 0) ||
                         (row->kind == LW_TK_TUPLE && row->user_class == NULL)))
        return false;
    depth = look_into(r, type, &items);
    items.are_bool &= row->kind == LW_TK_ARRAY || row->n > 0; /* `x[[]]` selects nothing */
    *axes = items.are_bool ? depth : 1;
    return items.are_integers;
}

/* Whether the slice is slice(None), `:`. */
static bool
keeps_axis(const subscript_reader *r, lw_type slice)
{
    const lw_type_row *row = lw_type_get(&r->typed->types, slice);
    bool keeps = true;

    for (uint32_t i = 0; i < row->n; i++)
        keeps &= row->elements[i] == LW_T_NONE;
    return keeps;
}

static void
add_value(subscript_reader *r, uint32_t node, uint32_t element, lw_type type, uint32_t constant)
{
    const lw_constant *k = constant_at(r, constant);
    lw_index_item item = {.kind = LW_INDEX_AT,
                          .type = type,
                          .node = node,
                          .element = element,
                          .constant = constant};

    if (k && k->kind == LW_K_ELLIPSIS) {
        r->ellipsis = r->out->n;
        r->n_ellipses++;
        return;
    }
    if (type == LW_T_BOTTOM)
        r->out->is_known = false;
    if (type == LW_T_NONE || (k && k->kind == LW_K_NONE))
        item.kind = LW_INDEX_NEW;
    if (lw_type_is_slice(&r->typed->types, type))
        item.kind = keeps_axis(r, type) ? LW_INDEX_ALL : LW_INDEX_SLICE;
    if (is_index_array(r, type, &item.axes)) {
        item.kind = LW_INDEX_ARRAY;
        r->out->n_arrays++;
    }
    add(r, item);
}

/* A value that is a tuple provides one index for each of its elements. */
static void
add_tuple(subscript_reader *r, uint32_t node, const lw_type_row *row)
{
    const lw_constant *k = constant_at(r, lw_typed_in(r->nodes, node)->constant);

    for (uint32_t i = 0; i < row->n; i++) {
        const lw_type_row *item =
            lw_type_get_kind(&r->typed->types, row->elements[i], LW_TK_STATIC);
        uint32_t constant = k && k->kind == LW_K_TUPLE && i < k->n ? k->items[i] : 0;

        add_value(r, node, i + 1, row->elements[i],
                  constant == 0 && item != NULL ? item->fn : constant);
    }
}

static void
add_node(subscript_reader *r, uint32_t node)
{
    assert(node != 0 && node < r->typed->tree->nodes.n);
    const lw_node *n = &r->typed->tree->nodes.data[node];
    const lw_type_row *row;

    if (n->kind == LW_NODE_SLICE) {
        bool all = n->a == 0 && n->b == 0 && n->c == 0;
        add(r, (lw_index_item){.kind = all ? LW_INDEX_ALL : LW_INDEX_SLICE, .node = node});
        return;
    }
    if (n->kind == LW_NODE_STAR) {
        row =
            lw_type_get_kind(&r->typed->types, lw_typed_in(r->nodes, n->a)->type, LW_TK_TUPLE);
        if (row)
            add_tuple(r, n->a, row);
        r->out->is_known &= row != NULL;
        return;
    }
    add_value(r, node, 0, lw_typed_in(r->nodes, node)->type,
              lw_typed_in(r->nodes, node)->constant);
}

/* Fill the axes that `...` stands for, and those that are not named at the end. */
static void
add_rest(subscript_reader *r, uint32_t ndim)
{
    lw_index *out = r->out;
    uint32_t n = out->n_named < ndim ? ndim - out->n_named : 0;
    uint32_t at = r->n_ellipses ? r->ellipsis : out->n;

    if (out->n + n > LW_MAX_INDEX)
        n = LW_MAX_INDEX - out->n;
    memmove(out->items + at + n, out->items + at, (out->n - at) * sizeof *out->items);
    for (uint32_t i = 0; i < n; i++)
        out->items[at + i] = (lw_index_item){.kind = LW_INDEX_ALL, .axes = 1};
    out->n += n;
}

static bool
is_one(const lw_constant *k)
{
    return k && k->kind == LW_K_INT && lw_varying_fix(k)->i == 1;
}

bool
lw_index_steps_by_one(const lw_typed *typed, const lw_typed_nodes *nodes,
                      const lw_index_item *item)
{
    assert(item->kind == LW_INDEX_SLICE);
    const lw_type_row *row = lw_type_get(&typed->types, item->type);
    const lw_constant *k = item->constant ? lw_typed_constant(typed, item->constant) : NULL;
    uint32_t step;

    if (row != NULL) {
        const lw_type_row *known =
            lw_type_get_kind(&typed->types, row->elements[2], LW_TK_LITERAL);
        return row->elements[2] == LW_T_NONE ||
               (k != NULL && is_one(lw_typed_constant(typed, k->items[2]))) ||
               (known != NULL && known->lo == 1 && known->hi == 1);
    }
    step = typed->tree->nodes.data[item->node].c;
    return step == 0 || lw_typed_in(nodes, step)->type == LW_T_NONE ||
           (lw_typed_in(nodes, step)->constant &&
            is_one(lw_typed_constant(typed, lw_typed_in(nodes, step)->constant)));
}

void
lw_index_read(const lw_typed *typed, const lw_typed_nodes *nodes, uint32_t node, uint32_t ndim,
              lw_index *out)
{
    assert(node != 0 && node < typed->tree->nodes.n);
    const lw_node *n = &typed->tree->nodes.data[node];
    subscript_reader r = {.typed = typed, .nodes = nodes, .out = out};
    const lw_type_row *row =
        lw_type_get_kind(&typed->types, lw_typed_in(nodes, node)->type, LW_TK_TUPLE);

    memset(out, 0, offsetof(lw_index, items));
    out->is_known = true;
    if (n->kind == LW_NODE_TUPLE && n->a == 0 && !(n->flags & LW_NODE_LIST))
        for (uint32_t i = 0; i < n->c; i++)
            add_node(&r, typed->tree->lists.data[n->b + i]);
    else if (row && !row->is_list &&
             !lw_type_is_slice(&typed->types, lw_typed_in(nodes, node)->type))
        add_tuple(&r, node, row);
    else
        add_node(&r, node);
    out->is_ambiguous = r.n_ellipses > 1;
    add_rest(&r, ndim);
    out->is_element = r.n_ellipses == 0;
    for (uint32_t i = 0; i < out->n; i++) {
        if (out->items[i].kind == LW_INDEX_ARRAY)
            out->n_kept += out->items[i].axes;
        else
            out->n_kept += out->items[i].kind != LW_INDEX_AT;
        out->is_element &= out->items[i].kind == LW_INDEX_AT;
    }
}
