/* Who holds an object. In compiled code an object is its fields, by value: assigning to a field
 * of it makes another value, which the variable holds from then on. That is what Python does as
 * long as nobody else holds the object, because only another name for it would show the change.
 * So the walk carries for each variable what may have been lost: whether something else may
 * hold the object (OUTER), or one of the objects in its fields (INNER). Reading a variable as a
 * whole loses it, unless the reader only borrows the object: operands, arguments of functions
 * that do not keep them, the object of a method. Where it is lost, changing it is E165.
 *
 * What an expression gives is fresh if nothing else holds it: 2 with all objects in it, 1 the
 * object alone, 0 not. */
#include "core/front/infer/infer_internal.h"
#include "core/front/records.h"

#include <string.h>

/* ---- types ---- */

/* A typed list or dict whose type is known, or the items of a list of such values: its
 * fields are never assigned again, and what changes is memory that all its holders share. */
static bool
is_shared(const lw_type_row *row)
{
    const lw_class *class = row->user_class;
    bool is = class != NULL && (class->is_typed || class->items != LW_ITEMS_NONE);

    for (uint32_t i = 0; i < row->n && is; i++)
        is = row->elements[i] != LW_T_NONE;
    return is;
}

bool
lw_holds_objects(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);

    if (row == NULL || (row->kind != LW_TK_TUPLE && row->kind != LW_TK_FUNCTION) ||
        is_shared(row))
        return false;
    if (row->user_class != NULL && !row->user_class->is_namedtuple)
        return true;
    for (uint32_t i = 0; i < row->n; i++)
        if (lw_holds_objects(f, row->elements[i]))
            return true;
    return false;
}

/* ---- what is lost ---- */

uint64_t *
lw_lost(lw_infer_frame *f, uint32_t var)
{
    assert(var < f->fn->vars.n);
    return &f->now.reach[f->fn->vars.n + var];
}

/* Whether the argument is an object from Python whose fields are assigned when the call ends:
 * in functions called on the host, unless it is a constant, such as a default. */
static bool
is_written_back(const lw_infer_frame *f, uint32_t param)
{
    return f->run->typed->options.returns_arrays && f->params[param].constant == 0;
}

static uint64_t
lost_at_entry(const lw_infer_frame *f, uint32_t param)
{
    if (param < f->fn->params.n && (f->caller != NULL || is_written_back(f, param)))
        return LW_HOLDS_PARAM;
    if (f->caller == NULL)
        return LW_LOST_OUTER | LW_LOST_INNER | LW_HOLDS_ENTRY;
    return LW_LOST_OUTER | LW_LOST_INNER | LW_HOLDS_CAPTURE;
}

/* The parameter or capture whose variable this is; UINT32_MAX: none. */
static uint32_t
param_of(const lw_infer_frame *f, uint32_t var)
{
    for (uint32_t i = 0; i < f->n_params; i++)
        if (lw_param_var(f, i) == var)
            return i;
    return UINT32_MAX;
}

static void
keep_param(lw_infer_frame *f, uint32_t var)
{
    uint32_t param =
        *lw_lost(f, var) & (LW_HOLDS_PARAM | LW_HOLDS_CAPTURE) ? param_of(f, var) : UINT32_MAX;

    if (param == UINT32_MAX || f->keeps[param])
        return;
    f->keeps[param] = true;
    f->changed = true;
}

void
lw_lose(lw_infer_frame *f, uint32_t var, uint64_t bits, uint32_t loc)
{
    if (var == 0)
        return;
    if ((*lw_lost(f, var) & bits) != bits)
        f->lost_at[var] = loc;
    *lw_lost(f, var) |= bits;
    keep_param(f, var);
}

/* ---- expressions ---- */

uint32_t
lw_variable_of(lw_infer_frame *f, uint32_t node, bool *is_whole)
{
    *is_whole = true;
    while (node && lw_node_of(f, node)->kind == LW_NODE_ATTRIBUTE) {
        uint32_t of = lw_node_of(f, node)->a;
        if (lw_typed_in(&f->nodes, node)->call == LW_CALL_INSTANCE ||
            lw_type_get_kind(lw_types_of(f), lw_typed_in(&f->nodes, of)->type, LW_TK_TUPLE) ==
                NULL)
            return 0;
        node = of;
        *is_whole = false;
    }
    return node && lw_node_of(f, node)->kind == LW_NODE_NAME ? lw_node_of(f, node)->a : 0;
}

static uint8_t
fresh_of_variable(uint64_t lost)
{
    if (lost & (LW_LOST_OUTER | LW_HOLDS_PARAM))
        return 0;
    return lost & LW_LOST_INNER ? 1 : 2;
}

/* An attribute that is an object, of what `of` gives. */
static uint8_t
fresh_of_field(lw_infer_frame *f, uint32_t root, uint32_t of)
{
    uint64_t lost = root ? *lw_lost(f, root) : 0;

    if (root != 0)
        return lost & (LW_LOST_OUTER | LW_LOST_INNER | LW_HOLDS_PARAM) ? 0 : 2;
    return lw_note_at(f, of)->fresh == 2 ? 2 : 0;
}

bool
lw_is_copied(const lw_infer_frame *f, uint32_t node)
{
    return f->notes != NULL && node != 0 && lw_note_at(f, node)->copied;
}

lw_status
lw_complain_copied(lw_infer_frame *f, uint32_t node)
{
    const lw_class *class = lw_class_of(f, lw_typed_in(&f->nodes, node)->type);

    return lw_complain(f, lw_node_of(f, node)->loc, "E165",
                       "on some paths this is an object in an array, on others it is not",
                       lw_format_text(f, "make a new object of its fields: `%s(...)`",
                                      class ? class->name : "C"),
                       "it is not known whether an array would show a change of this object");
}

void
lw_note_store(lw_infer_frame *f)
{
    f->stores = f->acts = true;
    for (uint32_t i = 0; f->notes && i < f->fn->vars.n; i++)
        *lw_lost(f, i) |= LW_IS_STALE;
}

bool
lw_stores_begin(lw_infer_frame *f)
{
    bool before = f->stores;

    f->stores = false;
    return before;
}

lw_status
lw_infer_before_stores(lw_infer_frame *f, uint32_t node, lw_infer_value *value)
{
    return lw_type_kind_of(lw_types_of(f), value->type) == LW_TK_ELEMENTWISE
               ? lw_infer_made_array(f, node, value)
               : LW_OK;
}

lw_status
lw_stores_end(lw_infer_frame *f, bool before, uint32_t node, lw_infer_value *value)
{
    bool writes = f->stores;

    f->stores |= before;
    return writes ? lw_infer_before_stores(f, node, value) : LW_OK;
}

bool
lw_mixes_records(lw_infer_frame *f, const lw_type *types, uint32_t n, lw_type joined)
{
    bool mixes = false;

    for (uint32_t i = 0; i < n; i++)
        mixes |= lw_record_row(lw_types_of(f), types[i]) != NULL;
    return mixes && lw_class_by_value(f, joined);
}

lw_status
lw_note_value(lw_infer_frame *f, uint32_t node, lw_type type, bool borrowed)
{
    const lw_node *n = lw_node_of(f, node);
    uint32_t root;
    bool is_whole;

    if (f->notes == NULL ||
        (n->kind != LW_NODE_NAME && (n->kind != LW_NODE_ATTRIBUTE ||
                                     lw_typed_in(&f->nodes, node)->call == LW_CALL_INSTANCE)) ||
        !lw_holds_objects(f, type))
        return LW_OK;
    if (n->kind == LW_NODE_NAME)
        lw_note_at(f, node)->copied = f->copied;
    if (lw_note_at(f, node)->copied && !borrowed)
        return lw_complain_copied(f, node);
    root = lw_variable_of(f, node, &is_whole);
    lw_note_at(f, node)->fresh =
        root && is_whole ? fresh_of_variable(*lw_lost(f, root)) : fresh_of_field(f, root, n->a);
    if (borrowed || root == 0)
        return LW_OK;
    if (is_whole && *lw_lost(f, root) == LW_HOLDS_PARAM)
        lw_note_at(f, node)->param = param_of(f, root) + 1;
    lw_lose(f, root, is_whole ? LW_LOST_OUTER | LW_LOST_INNER : LW_LOST_INNER, n->loc);
    lw_note_at(f, node)->fresh = 0;
    return LW_OK;
}

lw_status
lw_infer_borrowed(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    f->borrowed = true;
    return lw_infer_operand_expr(f, node, out);
}

/* What borrows keeps it after all. */
void
lw_lose_node(lw_infer_frame *f, uint32_t node)
{
    bool is_whole;
    uint32_t root = f->notes ? lw_variable_of(f, node, &is_whole) : 0;

    if (root != 0 && lw_holds_objects(f, lw_typed_in(&f->nodes, node)->type))
        lw_lose(f, root, is_whole ? LW_LOST_OUTER | LW_LOST_INNER : LW_LOST_INNER,
                lw_node_of(f, node)->loc);
}

uint32_t
lw_hold(lw_infer_frame *f, uint32_t node)
{
    bool is_whole;
    uint32_t root = f->notes && node ? lw_variable_of(f, node, &is_whole) : 0;

    if (root == 0 || !lw_holds_objects(f, lw_typed_in(&f->nodes, node)->type))
        return 0;
    f->held[root]++;
    return root;
}

void
lw_unhold(lw_infer_frame *f, uint32_t root)
{
    if (root != 0)
        f->held[root]--;
}

/* ---- variables ---- */

void
lw_take(lw_infer_frame *f, uint32_t var, lw_type type, const lw_note *note)
{
    static const uint64_t lost_by_fresh[] = {LW_LOST_OUTER | LW_LOST_INNER, LW_LOST_INNER, 0};

    if (f->notes == NULL || type == LW_T_BOTTOM)
        return;
    if (note->alias == var && !note->is_field) { /* p = p.moved(1), which returns p itself */
        *lw_lost(f, var) = note->before;
        f->returned_of = 0;
        return;
    }
    *lw_lost(f, var) = lost_by_fresh[note->fresh] | LW_IS_REBOUND;
    if (note->copied)
        *lw_lost(f, var) |= LW_IS_COPIED;
    if (note->fresh < 2)
        f->lost_at[var] = f->source ? lw_node_of(f, f->source)->loc : f->lost_at[var];
}

void
lw_note_alias(lw_infer_frame *f, lw_note *note, uint32_t var, bool is_field, uint32_t loc)
{
    lw_settle_alias(f);
    *note = (lw_note){.alias = var,
                      .is_field = is_field,
                      .before = *lw_lost(f, var),
                      .constant = note->constant};
    *lw_lost(f, var) |= is_field ? LW_LOST_INNER : LW_LOST_OUTER | LW_LOST_INNER;
    f->lost_at[var] = loc;
    f->returned_of = var;
}

void
lw_settle_alias(lw_infer_frame *f)
{
    if (f->returned_of != 0)
        keep_param(f, f->returned_of);
    f->returned_of = 0;
}

/* p.moved(1), as a statement: the object is given up with the value. */
void
lw_drop_value(lw_infer_frame *f, uint32_t node)
{
    const lw_note *note = f->notes ? lw_note_at(f, node) : NULL;

    if (note == NULL || note->alias == 0)
        return;
    *lw_lost(f, note->alias) = note->before;
    f->returned_of = 0;
}

/* ---- results ---- */

/* The parameter, from 1, whose object the variable surely holds; 0: none. */
static uint32_t
returned_param(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);
    uint64_t lost;

    if (n->kind != LW_NODE_NAME || !f->notes)
        return 0;
    lost = *lw_lost(f, n->a);
    return (lost & LW_HOLDS_PARAM) && !(lost & LW_IS_REBOUND) ? param_of(f, n->a) + 1 : 0;
}

lw_status
lw_infer_moved(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    lw_status status;
    uint8_t fresh;

    f->moves = n->kind == LW_NODE_TUPLE;
    if (n->kind != LW_NODE_NAME || f->notes == NULL)
        return lw_infer_expr(f, node, out);
    f->borrowed = true;
    LW_TRY(lw_infer_expr(f, node, out));
    if (lw_holds_objects(f, out->type)) {
        fresh = lw_note_at(f, node)->fresh;
        lw_lose(f, n->a, LW_LOST_OUTER | LW_LOST_INNER, n->loc); /* it can be moved once */
        lw_note_at(f, node)->fresh = fresh;
    }
fail:
    return status;
}

/* return p.moved(1): what the variable held is what is returned. The parameter that this is, or
 * 0. */
static uint32_t
take_alias(lw_infer_frame *f, uint32_t node)
{
    lw_note *note = lw_note_at(f, node);
    uint32_t param = 0;

    if (note->alias == 0 || note->is_field)
        return 0;
    note->fresh = fresh_of_variable(note->before);
    if ((note->before & LW_HOLDS_PARAM) && !(note->before & LW_IS_REBOUND)) {
        param = param_of(f, note->alias) + 1;
        f->returned[param - 1] = true;
        f->returned_of = 0;
        *lw_lost(f, note->alias) = note->before;
    }
    return param;
}

lw_status
lw_infer_returned(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    uint32_t param = returned_param(f, node);
    lw_status status;

    if (param != 0) {
        f->borrowed = true;
        LW_TRY(lw_infer_expr(f, node, out));
        f->returned[param - 1] = true;
        if (f->finallies != NULL) /* which must not change the result any more */
            lw_lose_node(f, node);
    } else {
        LW_TRY(lw_infer_moved(f, node, out));
    }
    if (f->notes == NULL || !lw_holds_objects(f, out->type))
        return LW_OK;
    if (f->caller != NULL && lw_is_copied(f, node))
        return lw_complain_copied(f, node);
    if (param == 0)
        param = take_alias(f, node);
    if (f->n_results++ == 0) {
        f->result_fresh = lw_note_at(f, node)->fresh;
        f->result_param = param;
    }
    if (lw_note_at(f, node)->fresh < f->result_fresh)
        f->result_fresh = lw_note_at(f, node)->fresh;
    if (param != f->result_param)
        f->result_param = 0;
fail:
    return status;
}

void
lw_settle_results(lw_infer_frame *f)
{
    for (uint32_t i = 0; f->notes && i < f->n_params; i++)
        f->keeps[i] |= f->returned[i] && f->result_param != i + 1;
}

/* What calls of a function in itself do: the facts that are found so far, which only grow. The
 * walks are repeated until they no longer do (lw_infer_changes_again). */
static lw_ownership
so_far(const lw_infer_frame *f)
{
    return (lw_ownership){.keeps = f->keeps,
                          .changes = f->changes,
                          .inside = f->changed_inside,
                          .moves = f->moved,
                          .fresh = 2,
                          .stores = true};
}

/* ---- one walk ---- */

bool
lw_ownership_init(lw_infer_frame *f)
{
    const lw_tree *tree = f->run->tree;
    lw_arena *arena = f->run->arena;
    bool has_classes = false;

    for (uint32_t i = 1; i < tree->constants.n && !has_classes; i++)
        has_classes = tree->constants.data[i].kind == LW_K_CLASS;
    f->changes = lw_arena_take(arena, f->n_params + 1);
    f->keeps = lw_arena_take(arena, f->n_params + 1);
    f->returned = lw_arena_take(arena, f->n_params + 1);
    f->changed_inside = lw_arena_take(arena, f->n_params + 1);
    f->moved = lw_arena_take(arena, f->n_params + 1);
    f->held = lw_arena_take(arena, (f->fn->vars.n + 1) * sizeof *f->held);
    f->lost_at = lw_arena_take(arena, (f->fn->vars.n + 1) * sizeof *f->lost_at);
    if (has_classes)
        f->notes = lw_arena_take(arena, (f->nodes.n + 1) * sizeof *f->notes);
    f->run->memos.data[f->memo].ownership = so_far(f);
    return !arena->failed;
}

void
lw_ownership_begin(lw_infer_frame *f)
{
    memset(f->held, 0, (f->fn->vars.n + 1) * sizeof *f->held);
    f->n_results = f->result_param = f->result_fresh = 0;
    f->borrowed = f->moves = f->stores = f->copied = false;
    f->returned_of = 0;
    f->changed_values.n = 0;
    f->incoming = (lw_note){0};
    for (uint32_t i = 0; i < f->n_params; i++)
        *lw_lost(f, lw_param_var(f, i)) = lost_at_entry(f, i);
}
