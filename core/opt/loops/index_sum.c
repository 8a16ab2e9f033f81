/* Indices as polynomials: a sum of terms, each a constant times values that the
 * iterations share (extents, counters of inner loops) and, perhaps, the iteration's number.
 * Whatever is not of that form is one factor of its own. */
#include "core/opt/loops/dependence_internal.h"

#include "core/ir/operands.h"

#include <stdlib.h>
#include <string.h>

/* Whether the variable has one value at both GETs, of one iteration of all loops around. */
static bool
is_same_get(const lw_parallel_loop *p, lw_ref x, lw_ref y)
{
    lw_ref first = x < y ? x : y, last = x < y ? y : x, slot = lw_loop_inst(p, x)->a;

    if (slot != lw_loop_inst(p, y)->a)
        return false;
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_loop_inst(p, i);
        bool between = i > first && i < last;
        if (between && inst->op == LW_OP_SET && inst->a == slot)
            return false;
        if (inst->op == LW_OP_LOOP && (i < first && p->s.regions.ends[i] > first) !=
                                          (i < last && p->s.regions.ends[i] > last))
            return false;
    }
    return true;
}

static bool
is_same(const lw_parallel_loop *p, lw_ref x, lw_ref y, uint32_t depth)
{
    const lw_inst *u = lw_loop_inst(p, x), *v = lw_loop_inst(p, y);
    uint32_t at = 0, beside = 0;
    lw_ref a, b;

    if (x == y || (lw_loop_is_counter(p, x) && lw_loop_is_counter(p, y)))
        return true;
    if (depth == 0 || u->op != v->op || u->type != v->type || u->lanes != v->lanes)
        return false;
    if (u->op == LW_OP_CONST)
        return p->s.func->constants.data[u->a].bits == p->s.func->constants.data[v->a].bits;
    if (u->op == LW_OP_GET)
        return is_same_get(p, x, y);
    if (u->op == LW_OP_PARAM)
        return u->a == v->a;
    if ((lw_ops[u->op].class != LW_CLASS_PURE && u->op != LW_OP_LOAD) ||
        u->op == LW_OP_RESULT || u->op == LW_OP_LANE || u->op == LW_OP_INTRINSIC ||
        u->op == LW_OP_SLOT)
        return false;
    while (lw_ir_next_operand(p->s.func, u, &at, &a))
        if (!lw_ir_next_operand(p->s.func, v, &beside, &b) || !is_same(p, a, b, depth - 1))
            return false;
    return true;
}

bool
lw_parallel_same(const lw_parallel_loop *p, lw_ref x, lw_ref y)
{
    return is_same(p, x, y, LW_INDEX_DEPTH);
}

bool
lw_index_same_factors(const lw_parallel_loop *p, const lw_index_term *x, const lw_index_term *y)
{
    uint32_t taken = 0;

    if (x->n != y->n)
        return false;
    for (uint32_t i = 0; i < x->n; i++) {
        uint32_t k = 0;
        while (k < y->n &&
               ((taken >> k & 1) || !is_same(p, x->factors[i], y->factors[k], LW_INDEX_DEPTH)))
            k++;
        if (k == y->n)
            return false;
        taken |= 1u << k;
    }
    return true;
}

/* So that products and sums of two stay far from the largest number. */
static bool
is_small(int64_t scale)
{
    return scale >= -LW_INDEX_MOST_SCALE && scale <= LW_INDEX_MOST_SCALE;
}

bool
lw_index_add_term(const lw_parallel_loop *p, lw_index_sum *s, const lw_index_term *more,
                  int64_t scale)
{
    if (!is_small(more->scale) || !is_small(scale))
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        if (lw_index_same_factors(p, &s->terms[i], more)) {
            if (!is_small(s->terms[i].scale))
                return false;
            s->terms[i].scale += more->scale * scale;
            if (s->terms[i].scale == 0)
                s->terms[i] = s->terms[--s->n];
            return true;
        }
    if (s->n == LW_INDEX_TERMS)
        return false;
    s->terms[s->n] = *more;
    s->terms[s->n++].scale *= scale;
    return true;
}

bool
lw_index_add(const lw_parallel_loop *p, lw_index_sum *s, const lw_index_sum *more,
             int64_t scale)
{
    s->by_hand |= more->by_hand;
    for (uint32_t i = 0; i < more->n; i++)
        if (!lw_index_add_term(p, s, &more->terms[i], scale))
            return false;
    return true;
}

bool
lw_index_multiply(const lw_parallel_loop *p, const lw_index_sum *x, const lw_index_sum *y,
                  lw_index_sum *out)
{
    *out = (lw_index_sum){.by_hand = x->by_hand || y->by_hand};
    for (uint32_t i = 0; i < x->n; i++)
        for (uint32_t k = 0; k < y->n; k++) {
            lw_index_term one = x->terms[i];
            if (one.n + y->terms[k].n > LW_INDEX_FACTORS ||
                llabs(one.scale) > LW_INDEX_MOST_SCALE)
                return false;
            memcpy(one.factors + one.n, y->terms[k].factors,
                   y->terms[k].n * sizeof *one.factors);
            one.n += y->terms[k].n;
            if (!lw_index_add_term(p, out, &one, y->terms[k].scale))
                return false;
        }
    return true;
}

/* i < 0, or x < y where i is x - y. */
static bool
asks_for_sign(const lw_parallel_loop *p, const lw_inst *test, lw_ref i)
{
    const lw_inst *number = lw_loop_inst(p, i);

    if (test->op != LW_OP_LT)
        return false;
    if (lw_loop_is_zero(p, test->b) && is_same(p, test->a, i, LW_INDEX_DEPTH))
        return true;
    if (number->op == LW_OP_CAST)
        number = lw_loop_inst(p, number->a);
    return number->op == LW_OP_SUB && number->a == test->a && number->b == test->b;
}

/* `i + n if i < 0 else i`: an index that may count from the end. 0: it is none. */
static lw_ref
unwrapped(const lw_parallel_loop *p, const lw_inst *inst)
{
    const lw_inst *wrapped = lw_loop_inst(p, inst->b);

    return asks_for_sign(p, lw_loop_inst(p, inst->a), inst->c) && wrapped->op == LW_OP_ADD &&
                   (wrapped->a == inst->c || wrapped->b == inst->c)
               ? inst->c
               : 0;
}

bool
lw_index_is_wide_cast(const lw_parallel_loop *p, const lw_inst *inst)
{
    lw_dtype from = (lw_dtype)lw_loop_inst(p, inst->a)->type;

    return lw_is_integer(from) && (lw_dtypes[inst->type].bits >= 32 ||
                                   lw_dtypes[inst->type].bits >= lw_dtypes[from].bits);
}

static bool
is_constant_sum(const lw_index_sum *s)
{
    return s->n == 0 || (s->n == 1 && s->terms[0].n == 0);
}

static bool
sum_within(const lw_parallel_loop *p, lw_ref value, uint32_t depth, lw_index_sum *out)
{
    const lw_inst *inst = lw_loop_inst(p, value);
    lw_index_sum x, y;

    *out = (lw_index_sum){0};
    if (depth == 0 || !lw_is_integer((lw_dtype)inst->type) || inst->lanes > 1)
        return false;
    switch (inst->op) {
    case LW_OP_CONST: {
        lw_index_term one = {.scale = (int64_t)p->s.func->constants.data[inst->a].bits};
        return one.scale == 0 || lw_index_add_term(p, out, &one, 1);
    }
    case LW_OP_CAST:
        if (lw_index_is_wide_cast(p, inst))
            return sum_within(p, inst->a, depth - 1, out);
        break;
    case LW_OP_SELECT:
        if (unwrapped(p, inst) != 0)
            return sum_within(p, unwrapped(p, inst), depth - 1, out);
        break;
    case LW_OP_ADD:
    case LW_OP_SUB:
        return sum_within(p, inst->a, depth - 1, out) &&
               sum_within(p, inst->b, depth - 1, &x) &&
               lw_index_add(p, out, &x, inst->op == LW_OP_ADD ? 1 : -1);
    case LW_OP_MUL:
        if (!sum_within(p, inst->a, depth - 1, &x) || !sum_within(p, inst->b, depth - 1, &y) ||
            !lw_index_multiply(p, &x, &y, out))
            return false;
        out->by_hand |=
            !(inst->flags & LW_NO_WRAP) && !is_constant_sum(&x) && !is_constant_sum(&y);
        return true;
    default: break;
    }
    return lw_index_add_term(p, out, &(lw_index_term){.scale = 1, .n = 1, .factors = {value}},
                             1);
}

bool
lw_index_sum_of(const lw_parallel_loop *p, lw_ref value, lw_index_sum *out)
{
    return sum_within(p, value, LW_INDEX_DEPTH, out);
}

bool
lw_index_step(const lw_parallel_loop *p, const lw_index_sum *s, lw_index_sum *step)
{
    *step = (lw_index_sum){0};
    for (uint32_t i = 0; i < s->n; i++) {
        lw_index_term one = s->terms[i];
        uint32_t n = 0, counters = 0;
        for (uint32_t k = 0; k < one.n; k++)
            if (lw_loop_is_counter(p, one.factors[k]))
                counters++;
            else
                one.factors[n++] = one.factors[k];
        one.n = n;
        if (counters > 1 || (counters == 1 && !lw_index_add_term(p, step, &one, 1)))
            return false;
    }
    return step->n > 0;
}
