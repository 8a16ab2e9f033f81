/* Conditions: `and`, `or`, comparisons, `x if c else y`. Operands that are cheap are evaluated
 * whatever the operands before them say, and their results are selected; other operands are
 * evaluated behind a branch. */
#include "core/front/lower/lower_internal.h"

static lw_ref
constant_bool(lw_lower_frame *f, bool value)
{
    return lw_ir_int(&f->b, LW_DT_b1, value);
}

/* ---- and, or ---- */

static bool
reached(const lw_lower_frame *f, uint32_t node)
{
    return !lw_typed_at(f, node)->dead;
}

/* Whether all operands from index on may be evaluated whatever the operands before them say. */
static bool
rest_is_cheap(lw_lower_frame *f, uint32_t start, uint32_t n)
{
    uint32_t cost = 0;

    for (uint32_t i = 0; i < n && cost <= LW_COST_IF_CONVERSION; i++)
        if (reached(f, lw_list_at(f, start + i)))
            cost += lw_cost_expression(f, lw_list_at(f, start + i));
    return cost <= LW_COST_IF_CONVERSION / 2;
}

static lw_ref
condition_boolop(lw_lower_frame *f, lw_pyop op, uint32_t start, uint32_t n)
{
    lw_builder *b = &f->b;

    while (n > 1 && !reached(f, lw_list_at(f, start)))
        start++, n--;
    lw_ref first = lw_lower_condition(f, lw_list_at(f, start));
    uint32_t left = 0;
    for (uint32_t i = 1; i < n; i++)
        left += reached(f, lw_list_at(f, start + i));
    if (left == 0)
        return first;
    if (rest_is_cheap(f, start + 1, n - 1)) {
        lw_ref rest = condition_boolop(f, op, start + 1, n - 1);
        return op == LW_PY_AND ? lw_ir_and(b, first, rest) : lw_ir_or(b, first, rest);
    }
    lw_ref slot = lw_ir_slot(b, LW_DT_b1);
    lw_ir_set(b, slot, first);
    lw_ir_if(b, op == LW_PY_AND ? first : lw_ir_not(b, first));
    lw_ir_set(b, slot, condition_boolop(f, op, start + 1, n - 1));
    lw_ir_end(b);
    return lw_ir_get(b, slot);
}

/* The first operand that decides, or else the last one; all in the joined type. */
static lw_lower_value
value_boolop(lw_lower_frame *f, lw_pyop op, uint32_t start, uint32_t n, lw_type type)
{
    lw_builder *b = &f->b;

    while (n > 1 && !reached(f, lw_list_at(f, start)))
        start++, n--;
    uint32_t node = lw_list_at(f, start), left = 0;
    for (uint32_t i = 1; i < n; i++)
        left += reached(f, lw_list_at(f, start + i));
    if (left == 0)
        return lw_lower_as(f, node, type);
    int8_t known = lw_typed_at(f, node)->truth;
    if (known >= 0) { /* it cannot be the result, or the operands after it would be dead */
        lw_lower_condition(f, node);
        return value_boolop(f, op, start + 1, n - 1, type);
    }
    lw_lower_value own = lw_lower_expression(f, node);
    lw_ref truth = lw_value_truth(f, lw_lower_asked(f, node, own));
    lw_lower_value first = lw_value_convert(f, own, type);
    if (rest_is_cheap(f, start + 1, n - 1)) {
        lw_lower_value rest = value_boolop(f, op, start + 1, n - 1, type);
        return op == LW_PY_AND ? lw_value_select(f, truth, rest, first)
                               : lw_value_select(f, truth, first, rest);
    }
    const lw_ref *slots = lw_value_slots(f, type);
    lw_value_set(f, slots, first);
    lw_ir_if(b, op == LW_PY_AND ? truth : lw_ir_not(b, truth));
    lw_value_set(f, slots, value_boolop(f, op, start + 1, n - 1, type));
    lw_ir_end(b);
    return lw_value_get(f, slots, type);
}

lw_lower_value
lw_lower_boolop(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    const lw_typed_node *t = lw_typed_at(f, node);

    if (t->operand == LW_T_BOTTOM) {
        lw_ref truth = condition_boolop(f, (lw_pyop)n->op, n->b, n->c);
        return lw_value_convert(f, lw_value_scalar(f, LW_DT_b1, truth), t->type);
    }
    lw_lower_value value = value_boolop(f, (lw_pyop)n->op, n->b, n->c, t->operand);
    return lw_value_convert(f, value, t->type);
}

/* ---- comparison ---- */

/* Converts both sides to the operand's type if that is a float type, in which a literal is
 * exact. Integers are compared as they are. */
static lw_lower_value
compare_operand(lw_lower_frame *f, uint32_t node, lw_type operand)
{
    bool number = lw_parts_of(f->l->types, operand) > 0 &&
                  lw_type_kind_of(f->l->types, operand) != LW_TK_TUPLE &&
                  !lw_type_is_integer(f->l->types, operand);

    if (number && lw_typed_at(f, node)->constant)
        return lw_lower_as(f, node, operand);
    return lw_lower_by_value(f, lw_lower_asked(f, node, lw_lower_expression(f, node)));
}

/* The one type in which all items of the constant on the right of `in` are compared, if there
 * are so many that a table is better than one comparison each; else BOTTOM. */
static lw_type
type_of_long_constant(lw_lower_frame *f, uint32_t link)
{
    const lw_node *l = lw_node_at(f, link);
    const lw_constant *k = NULL;
    const lw_type_row *row = lw_type_get(f->l->types, lw_typed_at(f, link)->operand);
    const lw_type_row *items = lw_type_get(f->l->types, lw_typed_at(f, l->a)->type);
    lw_dtype stored;

    if ((l->op == LW_PY_IN || l->op == LW_PY_NOT_IN) && lw_typed_at(f, l->a)->constant)
        k = lw_typed_constant(f->l->typed, lw_typed_at(f, l->a)->constant);
    if (k == NULL || k->kind != LW_K_TUPLE || k->n <= LW_MAX_UNROLL || row == NULL ||
        row->kind != LW_TK_TUPLE || row->n != k->n || items == NULL ||
        lw_type_kind_of(f->l->types, row->elements[0]) == LW_TK_TUPLE ||
        lw_parts_of(f->l->types, row->elements[0]) == 0)
        return LW_T_BOTTOM;
    stored = lw_type_stored(f->l->types, row->elements[0]);
    for (uint32_t i = 0; i < row->n; i++)
        if (row->elements[i] != row->elements[0] ||
            (lw_type_kind_of(f->l->types, items->elements[i]) == LW_TK_LITERAL &&
             !lw_literal_fits(f->l->types, items->elements[i], stored)))
            return LW_T_BOTTOM;
    return row->elements[0];
}

/* Whether the table of a long constant contains x. */
static lw_ref
is_in_table(lw_lower_frame *f, lw_lower_value x, const lw_table *table)
{
    lw_builder *b = &f->b;
    lw_ref found = lw_ir_slot(b, LW_DT_b1), same;
    lw_for loop;

    lw_ir_set(b, found, constant_bool(f, false));
    loop = lw_ir_for(b, lw_ir_int(b, LW_DT_i64, 0), lw_ir_int(b, LW_DT_i64, table->n),
                     lw_ir_int(b, LW_DT_i64, 1), 0);
    same = lw_lower_compare(f, LW_PY_EQ, x, lw_table_item(f, table, loop.i), table->type);
    lw_ir_set(b, found, lw_ir_or(b, lw_ir_get(b, found), same));
    lw_ir_for_end(b, &loop);
    return lw_ir_get(b, found);
}

/* Links i … n-1, whose left side has been evaluated: a chain ends at the first false link. */
static lw_ref
compare_links(lw_lower_frame *f, lw_lower_value left, uint32_t start, uint32_t n)
{
    lw_builder *b = &f->b;
    uint32_t link = lw_list_at(f, start);
    const lw_node *l = lw_node_at(f, link);
    lw_type operand = lw_typed_at(f, link)->operand;
    int8_t known = lw_typed_at(f, link)->truth;
    lw_type as = known < 0 && n == 1 ? type_of_long_constant(f, link) : (lw_type)LW_T_BOTTOM;
    lw_table table;

    if (as != LW_T_BOTTOM &&
        lw_table_of_constant(f, lw_typed_at(f, l->a)->constant, as, &table)) {
        lw_lower_set_loc(f, link);
        lw_ref found = is_in_table(f, left, &table);
        return l->op == LW_PY_IN ? found : lw_ir_not(b, found);
    }
    lw_lower_value right = compare_operand(f, l->a, operand);
    if (lw_typed_at(f, l->a)->stops)
        return constant_bool(f, false);
    lw_lower_set_loc(f, link);
    lw_ref this = known >= 0 ? constant_bool(f, known)
                             : lw_lower_compare(f, (lw_pyop)l->op, left, right, operand);
    uint32_t cost = 0;

    if (n == 1)
        return this;
    for (uint32_t i = 1; i < n; i++)
        cost += lw_cost_expression(f, lw_node_at(f, lw_list_at(f, start + i))->a);
    if (cost <= LW_COST_IF_CONVERSION / 2)
        return lw_ir_and(b, this, compare_links(f, right, start + 1, n - 1));
    lw_ref slot = lw_ir_slot(b, LW_DT_b1);
    lw_ir_set(b, slot, this);
    lw_ir_if(b, this);
    lw_ir_set(b, slot, compare_links(f, right, start + 1, n - 1));
    lw_ir_end(b);
    return lw_ir_get(b, slot);
}

/* ---- chains in which methods are called ---- */

static bool
has_called_link(const lw_lower_frame *f, const lw_node *chain)
{
    for (uint32_t i = 0; chain->c > 1 && i < chain->c; i++)
        if (lw_lower_calls_method(f, lw_list_at(f, chain->b + i)))
            return true;
    return false;
}

/* The truth of the call that a link is, whose operands have been evaluated. */
static lw_ref
called_link(lw_lower_frame *f, uint32_t link, uint32_t left_node, lw_lower_value left,
            lw_lower_value right)
{
    lw_leaves operands = {.around = f->leaves, .n = 2};
    lw_lower_value value;

    operands.nodes[0] = left_node;
    operands.values[0] = left;
    operands.nodes[1] = lw_node_at(f, link)->a;
    operands.values[1] = right;
    f->leaves = &operands;
    value = lw_lower_method(f, link);
    f->leaves = operands.around;
    return lw_value_truth(f, value);
}

/* An operand that has been evaluated, as a comparison without a method takes it. */
static lw_lower_value
evaluated_operand(lw_lower_frame *f, uint32_t node, lw_lower_value value, lw_type operand)
{
    return lw_typed_at(f, node)->constant
               ? compare_operand(f, node, operand)
               : lw_lower_by_value(f, lw_lower_asked(f, node, value));
}

/* Links i … n-1, as compare_links, but operands keep the types that methods take. */
static lw_ref
called_links(lw_lower_frame *f, uint32_t left_node, lw_lower_value left, uint32_t start,
             uint32_t n)
{
    lw_builder *b = &f->b;
    uint32_t link = lw_list_at(f, start), right_node = lw_node_at(f, link)->a;
    const lw_typed_node *t = lw_typed_at(f, link);
    bool calls = lw_lower_calls_method(f, link) && !t->constant;
    lw_lower_value right = lw_lower_expression(f, right_node);
    lw_ref this = 0;

    if (lw_typed_at(f, right_node)->stops)
        return constant_bool(f, false);
    lw_lower_set_loc(f, link);
    if (calls)
        this = called_link(f, link, left_node, left, right);
    else if (t->truth < 0)
        this =
            lw_lower_compare(f, (lw_pyop)lw_node_at(f, link)->op,
                             evaluated_operand(f, left_node, left, t->operand),
                             evaluated_operand(f, right_node, right, t->operand), t->operand);
    if (t->truth >= 0)
        this = constant_bool(f, t->truth);
    if (n == 1)
        return this;
    lw_ref slot = lw_ir_slot(b, LW_DT_b1);
    lw_ir_set(b, slot, this);
    lw_ir_if(b, this);
    lw_ir_set(b, slot, called_links(f, right_node, right, start + 1, n - 1));
    lw_ir_end(b);
    return lw_ir_get(b, slot);
}

static lw_ref
condition_compare(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    lw_type operand = lw_typed_at(f, lw_list_at(f, n->b))->operand;

    if (has_called_link(f, n))
        return called_links(f, n->a, lw_lower_expression(f, n->a), n->b, n->c);
    return compare_links(f, compare_operand(f, n->a, operand), n->b, n->c);
}

lw_lower_value
lw_lower_compare_chain(lw_lower_frame *f, uint32_t node)
{
    lw_ref truth = condition_compare(f, node);

    return lw_value_convert(f, lw_value_scalar(f, LW_DT_b1, truth), lw_typed_at(f, node)->type);
}

/* ---- choice ---- */

lw_lower_value
lw_lower_ifexp(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    const lw_typed_node *t = lw_typed_at(f, node);
    lw_type type = t->unwraps ? t->operand /* one of them may be None */
                              : lw_lower_type_of(f, node);
    lw_builder *b = &f->b;
    bool only_b = lw_typed_at(f, n->c)->dead, only_c = lw_typed_at(f, n->b)->dead;

    if (only_b || only_c || lw_typed_at(f, n->a)->truth >= 0) {
        bool yes = only_b || (!only_c && lw_typed_at(f, n->a)->truth == 1);
        lw_lower_condition(f, n->a); /* for its side effects */
        return lw_lower_as(f, yes ? n->b : n->c, type);
    }
    uint32_t cost = lw_cost_expression(f, n->b) + lw_cost_expression(f, n->c);
    lw_ref condition = lw_lower_condition(f, n->a);
    if (cost <= LW_COST_IF_CONVERSION) {
        lw_lower_value yes = lw_lower_as(f, n->b, type), no = lw_lower_as(f, n->c, type);
        lw_lower_set_loc(f, node);
        return lw_value_select(f, condition, yes, no);
    }
    const lw_ref *slots = lw_value_slots(f, type);
    lw_ir_if(b, condition);
    lw_value_set(f, slots, lw_lower_as(f, n->b, type));
    lw_ir_else(b);
    lw_value_set(f, slots, lw_lower_as(f, n->c, type));
    lw_ir_end(b);
    return lw_value_get(f, slots, type);
}

/* ---- conditions ---- */

/* A condition whose truth is known may still assign or call, and these effects have to
 * happen. */
static bool
does_nothing(lw_lower_frame *f, uint32_t node)
{
    return (lw_typed_at(f, node)->constant && !lw_typed_at(f, node)->asks) ||
           lw_cost_expression(f, node) < LW_COST_NEVER;
}

lw_ref
lw_lower_condition(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    const lw_typed_node *t = lw_typed_at(f, node);
    uint32_t outer = f->node, loc = f->b.loc;
    lw_ref truth;

    if (t->truth >= 0) {
        if (!does_nothing(f, node))
            lw_lower_asked(f, node, lw_lower_expression(f, node));
        return constant_bool(f, t->truth);
    }
    lw_lower_set_loc(f, node);
    if (t->stops) {
        lw_lower_until_stop(f, node);
        truth = constant_bool(f, false);
    } else if (t->constant)
        truth = lw_value_truth(
            f, lw_lower_asked(f, node, lw_value_constant(f, t->constant, t->type)));
    else if (t->element != LW_T_BOTTOM) /* of arrays without axes */
        truth = lw_value_truth(f, lw_lower_expression(f, node));
    else if (n->kind == LW_NODE_UNARY && n->op == LW_PY_NOT)
        truth = lw_ir_not(&f->b, lw_lower_condition(f, n->a));
    else if (n->kind == LW_NODE_BOOLOP)
        truth = condition_boolop(f, (lw_pyop)n->op, n->b, n->c);
    else if (n->kind == LW_NODE_COMPARE && !lw_lower_calls_method(f, node))
        truth = condition_compare(f, node);
    else
        truth = lw_value_truth(f, lw_lower_asked(f, node, lw_lower_expression(f, node)));
    f->node = outer;
    f->b.loc = loc;
    return truth;
}
