/* match statements: inference has compared what is known when the function is compiled (truth);
 * what is left is tested case by case, and a pattern that holds binds its names. */
#include "core/front/lower/lower_internal.h"

static lw_ref pattern_holds(lw_lower_frame *f, uint32_t pattern, lw_lower_value subject);

/* How many elements the pattern's i-th item takes: one, or for a star all that are left. */
static uint32_t
items_taken(lw_lower_frame *f, const lw_node *n, uint32_t i, uint32_t n_items)
{
    bool star = lw_node_at(f, lw_list_at(f, n->b + i))->kind == LW_NODE_STAR;

    return star ? n_items + 1 - n->c : 1;
}

/* Inference has compared the lengths: a tuple that cannot match has truth 0. */
static lw_ref
sequence_holds(lw_lower_frame *f, const lw_node *n, lw_lower_value subject)
{
    lw_ref all = lw_ir_int(&f->b, LW_DT_b1, 1);
    uint32_t at = 0, n_items;

    if (!lw_value_is_tuple(&subject, f))
        return lw_ir_int(&f->b, LW_DT_b1, 0);
    n_items = lw_type_get(f->l->types, subject.type)->n;
    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t item = lw_list_at(f, n->b + i);
        if (lw_node_at(f, item)->kind != LW_NODE_STAR) {
            lw_lower_value element = lw_value_element(f, subject, at);
            all = lw_ir_and(&f->b, all, pattern_holds(f, item, element));
        }
        at += items_taken(f, n, i, n_items);
    }
    return all;
}

static lw_ref
pattern_holds(lw_lower_frame *f, uint32_t pattern, lw_lower_value subject)
{
    const lw_node *n = lw_node_at(f, pattern);
    const lw_typed_node *t = lw_typed_at(f, pattern);
    lw_ref any;

    if (t->truth >= 0)
        return lw_ir_int(&f->b, LW_DT_b1, t->truth);
    switch (n->kind) {
    case LW_NODE_PATTERN_VALUE:
        return lw_lower_compare(f, LW_PY_EQ, subject, lw_lower_expression(f, n->a), t->operand);
    case LW_NODE_PATTERN_OR:
        any = lw_ir_int(&f->b, LW_DT_b1, 0);
        for (uint32_t i = 0; i < n->c; i++)
            any = lw_ir_or(&f->b, any, pattern_holds(f, lw_list_at(f, n->b + i), subject));
        return any;
    case LW_NODE_PATTERN_AS:
        return n->a ? pattern_holds(f, n->a, subject) : lw_ir_int(&f->b, LW_DT_b1, 1);
    case LW_NODE_PATTERN_SEQ: return sequence_holds(f, n, subject);
    default: lw_lower_fail(f, pattern, "a pattern"); return 0;
    }
}

static bool
captures(lw_lower_frame *f, uint32_t pattern)
{
    const lw_node *n = lw_node_at(f, pattern);

    if (n->kind == LW_NODE_STAR)
        return n->a != 0;
    if (n->kind == LW_NODE_PATTERN_AS)
        return n->b != 0 || (n->a != 0 && captures(f, n->a));
    if (n->kind != LW_NODE_PATTERN_OR && n->kind != LW_NODE_PATTERN_SEQ)
        return false;
    for (uint32_t i = 0; i < n->c; i++)
        if (captures(f, lw_list_at(f, n->b + i)))
            return true;
    return false;
}

static void bind_pattern(lw_lower_frame *f, uint32_t pattern, lw_lower_value subject);

/* The first alternative that matches binds its names. */
static void
bind_alternatives(lw_lower_frame *f, const lw_node *n, uint32_t i, lw_lower_value subject)
{
    uint32_t pattern = lw_list_at(f, n->b + i);

    if (i + 1 == n->c) {
        bind_pattern(f, pattern, subject);
        return;
    }
    lw_ir_if(&f->b, pattern_holds(f, pattern, subject));
    bind_pattern(f, pattern, subject);
    lw_ir_else(&f->b);
    bind_alternatives(f, n, i + 1, subject);
    lw_ir_end(&f->b);
}

static void
bind_sequence(lw_lower_frame *f, const lw_node *n, lw_lower_value subject)
{
    uint32_t n_items = lw_type_get(f->l->types, subject.type)->n, at = 0;

    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t item = lw_list_at(f, n->b + i), taken = items_taken(f, n, i, n_items);
        if (lw_node_at(f, item)->kind == LW_NODE_STAR)
            lw_lower_assign_rest(f, lw_node_at(f, item)->a, subject, at, taken);
        else
            bind_pattern(f, item, lw_value_element(f, subject, at));
        at += taken;
    }
}

static void
bind_pattern(lw_lower_frame *f, uint32_t pattern, lw_lower_value subject)
{
    const lw_node *n = lw_node_at(f, pattern);

    if (!captures(f, pattern) || lw_typed_at(f, pattern)->truth == 0)
        return;
    if (n->kind == LW_NODE_PATTERN_OR) {
        bind_alternatives(f, n, 0, subject);
    } else if (n->kind == LW_NODE_PATTERN_SEQ) {
        bind_sequence(f, n, subject);
    } else {
        if (n->a)
            bind_pattern(f, n->a, subject);
        if (n->b)
            lw_lower_assign(f, n->b, subject);
    }
}

static void
run_case(lw_lower_frame *f, const lw_node *c, lw_lower_value subject, uint32_t done)
{
    bind_pattern(f, c->a, subject);
    if (c->b)
        lw_ir_if(&f->b, lw_lower_condition(f, c->b));
    lw_lower_body(f, c->c);
    if (!lw_ir_ended(&f->b))
        lw_block_leave(f, done);
    if (c->b)
        lw_ir_end(&f->b);
}

void
lw_lower_match(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    lw_lower_value subject = lw_lower_expression(f, n->a);
    uint32_t done = lw_lower_region_open(f, false);

    for (uint32_t i = 0; i < n->c && !lw_ir_ended(&f->b); i++) {
        uint32_t number = lw_list_at(f, n->b + i);
        const lw_node *c = lw_node_at(f, number);
        int8_t known = lw_typed_at(f, c->a)->truth;
        if (lw_typed_at(f, number)->dead || known == 0)
            continue;
        lw_lower_set_loc(f, number);
        if (known != 1)
            lw_ir_if(&f->b, pattern_holds(f, c->a, subject));
        run_case(f, c, subject, done);
        if (known != 1)
            lw_ir_end(&f->b);
    }
    lw_lower_region_close(f);
}
