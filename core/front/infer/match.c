/* match: the cases are tried in order, like a chain of ifs. A pattern's truth is 1, 0 or -1 as
 * that of a condition; cases that can never match, and those after one that always does, are
 * dead and are not typed. Patterns of sequences match tuples only, whose length is known. */
#include "core/front/infer/infer_internal.h"

#include <assert.h>
#include <string.h>

static lw_status infer_pattern(lw_infer_frame *f, uint32_t pattern, lw_infer_operand subject,
                               int *truth);

/* None, True and False match by identity: 1 does not match True. */
static lw_status
match_singleton(lw_infer_frame *f, uint32_t pattern, lw_infer_operand subject,
                lw_infer_value wanted, int *truth)
{
    const lw_node *n = lw_node_of(f, pattern);

    lw_type given = lw_type_without_none(lw_types_of(f), subject.value.type);

    *truth = wanted.type == LW_T_NONE && subject.value.type == LW_T_NONE;
    if (wanted.type == LW_T_NONE && given != subject.value.type)
        return lw_infer_compare(f, pattern, LW_PY_IS, subject, (lw_infer_operand){n->a, wanted},
                                truth);
    if (wanted.type != LW_DT_b1 || given != LW_DT_b1)
        return LW_OK;
    return lw_infer_compare(f, pattern, LW_PY_EQ, subject, (lw_infer_operand){n->a, wanted},
                            truth);
}

static lw_status
match_value(lw_infer_frame *f, uint32_t pattern, lw_infer_operand subject, int *truth)
{
    const lw_node *n = lw_node_of(f, pattern);
    lw_infer_value wanted;
    lw_status status;

    LW_TRY(lw_infer_expr(f, n->a, &wanted));
    if (subject.value.type == LW_T_BOTTOM || wanted.type == LW_T_BOTTOM)
        return LW_OK;
    if (n->op == LW_PY_IS)
        return match_singleton(f, pattern, subject, wanted, truth);
    LW_TRY(lw_infer_compare(f, pattern, LW_PY_EQ, subject, (lw_infer_operand){n->a, wanted},
                            truth));
fail:
    return status;
}

static lw_status
match_or(lw_infer_frame *f, uint32_t pattern, lw_infer_operand subject, int *truth)
{
    const lw_node *n = lw_node_of(f, pattern);
    lw_flow before = {0}, after = {0};
    lw_status status = LW_OK;
    int one;

    if (!lw_flow_take(f, &before) || !lw_flow_take(f, &after))
        return lw_out_of_memory(f);
    after.live = false;
    *truth = 0;
    for (uint32_t i = 0; i < n->c; i++) {
        lw_flow_set(f, &before);
        LW_TRY(infer_pattern(f, f->run->tree->lists.data[n->b + i], subject, &one));
        if (one != 0)
            lw_flow_merge(f, &after, &f->now);
        *truth = *truth == 1 || one == 1 ? 1 : *truth < 0 || one < 0 ? -1 : 0;
    }
    lw_flow_set(f, after.live ? &after : &before);
fail:
    lw_flow_put(f, &before);
    lw_flow_put(f, &after);
    return status;
}

static lw_status
match_as(lw_infer_frame *f, uint32_t pattern, lw_infer_operand subject, int *truth)
{
    const lw_node *n = lw_node_of(f, pattern);
    lw_status status = LW_OK;

    *truth = 1;
    if (n->a)
        LW_TRY(infer_pattern(f, n->a, subject, truth));
    if (n->b)
        LW_TRY(lw_assign(f, n->b, subject.value));
fail:
    return status;
}

/* The items that `*rest` matches, as a list. */
static lw_status
match_star(lw_infer_frame *f, uint32_t star, lw_infer_value subject, uint32_t from,
           uint32_t count)
{
    assert(lw_tuple_row(f, subject.type) != NULL &&
           from + count <= lw_tuple_row(f, subject.type)->n); /* match_sequence */
    uint32_t name = lw_node_of(f, star)->a;
    lw_type *types = lw_arena_take(f->run->arena, (count + 1) * sizeof *types), rest;

    if (types == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < count; i++)
        types[i] = lw_element(f, subject, from + i).type;
    if (name == 0)
        return LW_OK;
    rest = lw_type_tuple(lw_types_of(f), types, count, NULL);
    return lw_assign(f, name,
                     (lw_infer_value){lw_type_tuple_listed(lw_types_of(f), rest, true), 0});
}

static lw_status
match_sequence(lw_infer_frame *f, uint32_t pattern, lw_infer_operand subject, int *truth)
{
    const lw_node *n = lw_node_of(f, pattern);
    const uint32_t *items = f->run->tree->lists.data + n->b;
    const lw_type_row *row = lw_tuple_row(f, subject.value.type);
    uint32_t n_items = row ? row->n : 0, at = 0, n_star = 0;
    lw_status status = LW_OK;
    int one;

    for (uint32_t i = 0; i < n->c; i++)
        n_star += lw_node_of(f, items[i])->kind == LW_NODE_STAR;
    *truth = subject.value.type == LW_T_BOTTOM ? -1 : 0;
    if (lw_tuple_row(f, lw_type_given(lw_types_of(f), subject.value.type)))
        return lw_complain(
            f, n->loc, "E120",
            lw_format_text(f, "the value is %s", lw_describe_type(f, subject.value.type)),
            "test first whether it is None, with `is None`",
            "a pattern of items and a value that may be None");
    if (row == NULL || (n_star ? n_items + 1 < n->c : n_items != n->c))
        return LW_OK;
    *truth = 1;
    for (uint32_t i = 0; i < n->c; i++) {
        if (lw_node_of(f, items[i])->kind == LW_NODE_STAR) {
            uint32_t count = n_items + 1 - n->c;
            LW_TRY(match_star(f, items[i], subject.value, at, count));
            at += count;
            continue;
        }
        LW_TRY(infer_pattern(
            f, items[i], (lw_infer_operand){subject.node, lw_element(f, subject.value, at++)},
            &one));
        *truth = *truth == 0 || one == 0 ? 0 : *truth < 0 || one < 0 ? -1 : 1;
    }
fail:
    return status;
}

static lw_status
infer_pattern(lw_infer_frame *f, uint32_t pattern, lw_infer_operand subject, int *truth)
{
    const lw_node *n = lw_node_of(f, pattern);
    lw_status status;

    *truth = -1;
    LW_TRY(lw_enter(f, pattern));
    switch ((lw_node_kind)n->kind) {
    case LW_NODE_PATTERN_VALUE: status = match_value(f, pattern, subject, truth); break;
    case LW_NODE_PATTERN_OR: status = match_or(f, pattern, subject, truth); break;
    case LW_NODE_PATTERN_AS: status = match_as(f, pattern, subject, truth); break;
    case LW_NODE_PATTERN_SEQ: status = match_sequence(f, pattern, subject, truth); break;
    case LW_NODE_ERROR: status = lw_complain_kept(f, n->a); break;
    default:
        status = lw_complain(f, n->loc, "E101", NULL, NULL, "this pattern cannot be compiled");
    }
    assert(f->run->depth > 0); /* lw_enter */
    f->run->depth--;
    lw_typed_in(&f->nodes, pattern)->truth = (int8_t)*truth;
fail:
    return status;
}

/* One case. `now` is the state in which it is tried and, on return, the state in which the next
 * one is tried. *after collects the states that follow the match. */
static lw_status
infer_case(lw_infer_frame *f, uint32_t match, uint32_t node, lw_infer_operand subject,
           lw_flow *after, bool *taken)
{
    const lw_node *n = lw_node_of(f, node);
    uint32_t outer = f->region;
    lw_flow rest = {0}, yes = {0};
    lw_status status = LW_OK;
    int truth, guard = 1;

    if (n->kind != LW_NODE_CASE)
        return lw_complain(f, n->loc, "E101", NULL, NULL, "only cases are allowed here");
    if (!lw_flow_take(f, &rest))
        return lw_out_of_memory(f);
    lw_region_open(f, match, false);
    LW_TRY(infer_pattern(f, n->a, subject, &truth));
    if (n->b && truth != 0) {
        status = lw_infer_condition(f, n->b, &guard, &yes, NULL);
        if (truth < 0 && lw_caught_stop(f, n->b, &status)) {
            guard = lw_typed_in(&f->nodes, n->b)->truth = -1;
            if (!lw_flow_take(f, &yes))
                return lw_out_of_memory(f);
            yes.live = false;
        }
        LW_TRY(status);
        lw_flow_merge(f, &rest, &f->now);
        lw_flow_set(f, &yes);
    } else if (truth < 0) {
        lw_flow_merge(f, &rest, &f->now);
    }
    truth = truth == 0 || guard == 0 ? 0 : truth < 0 || guard < 0 ? -1 : 1;
    lw_typed_in(&f->nodes, node)->truth = (int8_t)truth;
    lw_typed_in(&f->nodes, node)->dead = truth == 0;
    lw_typed_in(&f->nodes, n->c)->dead = truth == 0;
    if (truth != 0) {
        LW_TRY(lw_infer_body(f, n->c));
        lw_flow_merge(f, after, &f->now);
    }
    *taken = truth == 1;
    lw_flow_set(f, &rest);
fail:
    f->region = outer;
    lw_flow_put(f, &rest);
    lw_flow_put(f, &yes);
    return status;
}

lw_status
lw_infer_match(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);
    lw_flow after = {0};
    lw_infer_operand subject = {.node = n->a};
    lw_status status;
    bool taken = false;

    f->wants_optional = f->wants_items = true;
    LW_TRY(lw_infer_expr(f, n->a, &subject.value));
    if (!lw_flow_take(f, &after))
        return lw_out_of_memory(f);
    after.live = false;
    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t one = f->run->tree->lists.data[n->b + i];

        lw_typed_in(&f->nodes, one)->dead = taken;
        if (!taken)
            LW_TRY(infer_case(f, node, one, subject, &after, &taken));
    }
    if (!taken)
        lw_flow_merge(f, &after, &f->now);
    lw_flow_set(f, &after);
fail:
    lw_flow_put(f, &after);
    return status;
}
