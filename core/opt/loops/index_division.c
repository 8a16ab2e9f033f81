/* Quotients and remainders among indices, `k // n` and `k % n`, in the forms that the front end
 * writes them in (lw_int_divmod), and which of them belong together, so that both tell k. */
#include "core/opt/loops/dependence_internal.h"

static bool
shift_of(const lw_parallel_loop *p, const lw_inst *inst, lw_index_division *out)
{
    const lw_inst *by = lw_loop_inst(p, inst->b);
    uint64_t value;

    if (by->op != LW_OP_CONST)
        return false;
    value = p->s.func->constants.data[by->a].bits;
    *out = (lw_index_division){
        .is_remainder = inst->op == LW_OP_AND, .is_shift = true, .floors = true, .a = inst->a};
    if (!out->is_remainder)
        out->bits = (int64_t)value;
    else if ((value & (value + 1)) != 0 || value == UINT64_MAX)
        return false;
    while (out->is_remainder && value >> out->bits != 0)
        out->bits++;
    return true;
}

/* Whether these are the results of one division of the processor. */
static bool
is_of_division(const lw_parallel_loop *p, const lw_inst *inst, const lw_index_division *d)
{
    return (inst->op == LW_OP_DIV || inst->op == LW_OP_REM) &&
           lw_parallel_same(p, inst->a, d->a) && lw_parallel_same(p, inst->b, d->b);
}

/* `r != 0 and (r ^ b) < 0`, where r is the remainder: whether rounding down differs. */
static bool
asks_for_rounding(const lw_parallel_loop *p, const lw_inst *test, const lw_index_division *d)
{
    const lw_inst *some = lw_loop_inst(p, test->a), *below, *signs;

    if (test->op != LW_OP_AND || some->op != LW_OP_NE || !lw_loop_is_zero(p, some->b))
        return false;
    below = lw_loop_inst(p, test->b);
    if (below->op != LW_OP_LT || !lw_loop_is_zero(p, below->b))
        return false;
    signs = lw_loop_inst(p, below->a);
    return signs->op == LW_OP_XOR && lw_parallel_same(p, signs->a, some->a) &&
           lw_parallel_same(p, signs->b, d->b) && lw_loop_inst(p, some->a)->op == LW_OP_REM &&
           is_of_division(p, lw_loop_inst(p, some->a), d);
}

/* Whether the SELECT rounds down what it selects from, as lw_int_divmod does. */
static bool
rounds_down(const lw_parallel_loop *p, const lw_inst *select, const lw_index_division *d)
{
    const lw_inst *moved = lw_loop_inst(p, select->b);

    return !d->is_shift && asks_for_rounding(p, lw_loop_inst(p, select->a), d) &&
           moved->op == (d->is_remainder ? LW_OP_ADD : LW_OP_SUB) &&
           lw_parallel_same(p, moved->a, select->c) &&
           (!d->is_remainder || lw_parallel_same(p, moved->b, d->b));
}

/* Whether the SELECT gives 0 where the divisor is 0. */
static bool
guards_zero(const lw_parallel_loop *p, const lw_inst *select, const lw_index_division *d)
{
    const lw_inst *test = lw_loop_inst(p, select->a), *safe;

    if (d->is_shift || test->op != LW_OP_EQ || !lw_loop_is_zero(p, test->b) ||
        !lw_loop_is_zero(p, select->b))
        return false;
    safe = lw_loop_inst(p, d->b);
    return lw_parallel_same(p, test->a, d->b) ||
           (safe->op == LW_OP_SELECT && lw_parallel_same(p, test->a, safe->c));
}

/* The division that makes this value. Of SELECTs, only those of lw_int_divmod belong to it:
 * 0 if x else k // 2 is the same in many iterations. */
static bool
division_within(const lw_parallel_loop *p, lw_ref value, uint32_t depth, lw_index_division *out)
{
    const lw_inst *inst = lw_loop_inst(p, value);

    if (depth == 0)
        return false;
    switch (inst->op) {
    case LW_OP_DIV:
    case LW_OP_REM:
        *out = (lw_index_division){.is_remainder = inst->op == LW_OP_REM,
                                   .floors = !lw_is_signed((lw_dtype)inst->type),
                                   .a = inst->a,
                                   .b = inst->b};
        return true;
    case LW_OP_SHR:
    case LW_OP_AND: return shift_of(p, inst, out);
    case LW_OP_SELECT:
        if (!division_within(p, inst->c, depth - 1, out))
            return false;
        if (!out->floors && rounds_down(p, inst, out))
            return out->floors = true;
        return guards_zero(p, inst, out);
    case LW_OP_CAST:
        return lw_index_is_wide_cast(p, inst) && division_within(p, inst->a, depth - 1, out);
    default: return false;
    }
}

bool
lw_index_division_of(const lw_parallel_loop *p, lw_ref value, lw_index_division *out)
{
    return division_within(p, value, LW_INDEX_DEPTH, out);
}

/* A divisor as a sum: behind the choice of 1 where it is 0. */
static bool
divisor_of(const lw_parallel_loop *p, lw_ref value, lw_index_sum *out)
{
    const lw_inst *inst = lw_loop_inst(p, value);

    if (inst->op == LW_OP_SELECT && lw_loop_inst(p, inst->b)->op == LW_OP_CONST)
        return divisor_of(p, inst->c, out);
    return lw_index_sum_of(p, value, out);
}

bool
lw_index_is_pair_of_axes(const lw_parallel_loop *p, const lw_index_division *x,
                         const lw_index_division *y)
{
    lw_index_division inner;
    lw_index_sum whole, b, c, product;

    return !x->is_remainder && y->is_remainder && !x->is_shift && !y->is_shift &&
           lw_index_division_of(p, y->a, &inner) && !inner.is_remainder && !inner.is_shift &&
           lw_parallel_same(p, x->a, inner.a) && divisor_of(p, x->b, &whole) &&
           divisor_of(p, y->b, &b) && divisor_of(p, inner.b, &c) &&
           lw_index_multiply(p, &b, &c, &product) && lw_index_add(p, &whole, &product, -1) &&
           whole.n == 0;
}

bool
lw_index_is_pair(const lw_parallel_loop *p, const lw_index_division *x,
                 const lw_index_division *y)
{
    if (x->is_remainder || !y->is_remainder || x->is_shift != y->is_shift ||
        !lw_parallel_same(p, x->a, y->a))
        return false;
    return x->is_shift ? x->bits == y->bits : lw_parallel_same(p, x->b, y->b);
}

bool
lw_index_divisor(const lw_parallel_loop *p, const lw_index_division *d, lw_index_sum *out)
{
    if (!d->is_shift)
        return divisor_of(p, d->b, out);
    *out = (lw_index_sum){0};
    return d->bits < 30 &&
           lw_index_add_term(p, out, &(lw_index_term){.scale = INT64_C(1) << d->bits}, 1);
}

int64_t
lw_index_constant_divisor(const lw_parallel_loop *p, const lw_index_division *d)
{
    lw_index_sum by;

    return lw_index_divisor(p, d, &by) && by.n == 1 && by.terms[0].n == 0 &&
                   by.terms[0].scale > 0
               ? by.terms[0].scale
               : 0;
}
