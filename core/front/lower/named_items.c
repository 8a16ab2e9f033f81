/* Named functions of any number of operands, or of the items of one tuple. They are unrolled,
 * in the order in which Python takes the items. */
#include "core/front/lower/lower_internal.h"

#include "core/front/numeric/integers.h"
#include "core/front/named.h"

static lw_lower_value
smaller_or_larger(const lw_named_call *c, lw_lower_value x, lw_lower_value y)
{
    lw_ref first =
        lw_lower_compare(c->f, c->impl == LW_IMPL_MIN ? LW_PY_LT : LW_PY_GT, y, x, c->type);

    return lw_value_select(c->f, first, y, x);
}

/* The i-th item that min, max, sum, any and all take: an argument, or an element of the one
 * tuple. */
static uint32_t
count_items(const lw_named_call *c, lw_lower_value *tuple)
{
    if (c->n_args != 1 && c->impl != LW_IMPL_SUM)
        return c->n_args;
    *tuple = lw_lower_argument(c->f, c->node, 0);
    if (!lw_value_is_tuple(tuple, c->f))
        return 1;
    return lw_type_get(c->f->l->types, tuple->type)->n;
}

static lw_lower_value
item(const lw_named_call *c, const lw_lower_value *tuple, uint32_t i)
{
    if (tuple->type == LW_T_BOTTOM)
        return lw_lower_argument(c->f, c->node, i);
    return lw_value_is_tuple(tuple, c->f) ? lw_value_element(c->f, *tuple, i) : *tuple;
}

lw_lower_value
lw_named_min_max(const lw_named_call *c)
{
    lw_lower_value tuple = {.type = LW_T_BOTTOM}, best;
    uint32_t n = count_items(c, &tuple);
    bool direct = tuple.type == LW_T_BOTTOM;

    if (n == 0)
        return lw_named_fail(c);
    best = direct ? lw_lower_argument_as(c->f, c->node, 0, c->type)
                  : lw_value_convert(c->f, item(c, &tuple, 0), c->type);
    for (uint32_t i = 1; i < n; i++) {
        lw_lower_value next = direct ? lw_lower_argument_as(c->f, c->node, i, c->type)
                                     : lw_value_convert(c->f, item(c, &tuple, i), c->type);
        best = smaller_or_larger(c, best, next);
    }
    return best;
}

lw_lower_value
lw_named_sum(const lw_named_call *c)
{
    lw_lower_value tuple = {.type = LW_T_BOTTOM}, total;
    uint32_t n = count_items(c, &tuple);

    total = lw_named_given(c, 1) ? lw_lower_argument_as(c->f, c->node, 1, c->type)
                                 : lw_value_zero(c->f, c->type);
    for (uint32_t i = 0; i < n; i++) {
        lw_lower_value next = lw_value_convert(c->f, item(c, &tuple, i), c->type);
        bool first = i == 0 && !lw_named_given(c, 1) &&
                     !lw_is_float(lw_type_stored(c->f->l->types, c->type));
        total = first && next.n == 1 ? next
                                     : lw_lower_binary(c->f, LW_PY_ADD, total, next, c->type);
    }
    return total;
}

lw_lower_value
lw_named_any_all(const lw_named_call *c)
{
    lw_lower_value tuple = {.type = LW_T_BOTTOM};
    uint32_t n = count_items(c, &tuple);
    bool any = c->impl == LW_IMPL_ANY;
    lw_ref so_far = lw_ir_int(c->b, LW_DT_b1, !any);

    for (uint32_t i = 0; i < n; i++) {
        lw_ref truth = lw_value_truth(c->f, item(c, &tuple, i));
        so_far = any ? lw_ir_or(c->b, so_far, truth) : lw_ir_and(c->b, so_far, truth);
    }
    return lw_named_result(c, so_far);
}

lw_lower_value
lw_named_gcd_lcm(const lw_named_call *c)
{
    bool gcd = c->impl == LW_IMPL_GCD;
    lw_ref value;

    if (c->n_args == 0)
        return lw_named_result(c, lw_ir_int(c->b, LW_DT_i64, !gcd));
    value = lw_named_scalar(c, 0);
    if (c->n_args == 1)
        value = lw_int_abs(c->b, value);
    for (uint32_t i = 1; i < c->n_args; i++) {
        lw_ref next = lw_named_scalar(c, i);
        value = gcd ? lw_int_gcd(c->b, value, next) : lw_int_lcm(c->b, value, next);
    }
    return lw_named_result(c, value);
}

lw_lower_value
lw_named_written_out(const lw_named_call *c)
{
    lw_iterator it = lw_iterator_of(c->f, c->node, LW_T_BOTTOM);
    uint32_t n = lw_parts_of(c->f->l->types, c->type), at = 0;
    lw_ref *parts = lw_arena_take(c->f->l->arena, (n + 1) * sizeof *parts);

    if (!it.fixed || it.count)
        return lw_named_fail(c);
    for (uint32_t i = 0; parts && i < it.n_fixed; i++) {
        lw_lower_value value = lw_iterator_item(c->f, &it, lw_ir_int(c->b, LW_DT_u64, i), i);
        for (uint32_t j = 0; j < value.n && at < n; j++)
            parts[at++] = value.parts[j];
    }
    return (lw_lower_value){.type = c->type, .n = parts ? at : 0, .parts = parts};
}

/* The length of an array; other lengths were folded. */
lw_lower_value
lw_named_len(const lw_named_call *c)
{
    lw_lower_value array = lw_lower_argument(c->f, c->node, 0);

    if (lw_type_is_text(c->f->l->types, array.type))
        return lw_value_convert(
            c->f, lw_value_scalar(c->f, LW_DT_i64, lw_lower_text_length(c->f, array)), c->type);
    if (array.iterator != NULL)
        return lw_value_scalar(
            c->f, c->type,
            lw_ir_cast(&c->f->b, LW_DT_i64, lw_iterator_count(c->f, array.iterator)));
    if (lw_type_kind_of(c->f->l->types, array.type) != LW_TK_ARRAY)
        return lw_named_fail(c);
    return lw_value_scalar(c->f, c->type, lw_array_extent(c->f, array, 0));
}
