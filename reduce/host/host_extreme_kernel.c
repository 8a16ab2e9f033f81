/* The loops that look for the best element, where combine gives the better of its operands
 * (lw_reduction.best). */
#include "reduce/host/host_kernel_parts.h"

#include <assert.h>
#include <math.h>

/* The deciding value of element `at`; element 0 of the operands has the index `first`. */
static lw_ref
value_at(maker *m, const arrays *in, lw_ref at, lw_ref first)
{
    lw_ref acc[LW_REDUCE_PARTS];
    lw_ref value;

    map_indexed(m, in, at, lw_ir_add(&m->b, first, at), acc);
    value = acc[m->extreme.part];
    return m->r->acc[m->extreme.part] == LW_DT_b1 ? lw_ir_cast(&m->b, LW_DT_u8, value) : value;
}

static lw_ref
plain_best(maker *m, lw_ref x, lw_ref y)
{
    lw_op op = m->extreme.kind == LW_LARGEST ? LW_OP_GT : LW_OP_LT;

    return lw_ir_select(&m->b, lw_ir_compare(&m->b, op, x, y), x, y);
}

/* The better of two, or NaN if one is NaN. Which of two zeros it is does not matter, as they
 * are equal when they are searched for. */
static lw_ref
better_of(maker *m, lw_ref x, lw_ref y)
{
    lw_ref best = plain_best(m, x, y);

    if (!lw_is_float(m->value))
        return best;
    return lw_ir_select(&m->b, lw_ir_compare(&m->b, LW_OP_NE, x, x), x, best);
}

/* The best of four, and of y if it is given, by plain maxima, which are one instruction each,
 * and one test whether any of the four is NaN. The last comparison keeps y where y is NaN. */
static lw_ref
best_of_four(maker *m, const lw_ref *x, lw_ref y)
{
    lw_ref best = plain_best(m, plain_best(m, x[0], x[1]), plain_best(m, x[2], x[3])), nan;

    if (y != 0)
        best = plain_best(m, best, y);
    if (!lw_is_float(m->value))
        return best;
    nan = lw_ir_compare(&m->b, LW_OP_NE, x[0], x[0]);
    for (int k = 1; k < 4; k++)
        nan = lw_ir_or(&m->b, nan, lw_ir_compare(&m->b, LW_OP_NE, x[k], x[k]));
    return lw_ir_select(&m->b, nan, lw_ir_float(&m->b, m->value, NAN), best);
}

static lw_ref
value_address(maker *m, lw_ref base, lw_ref at)
{
    return lw_ir_offset(&m->b, base,
                        lw_ir_mul(&m->b, at, i64(m, lw_dtypes[m->value].size_bytes)));
}

/* Takes four rows of lanes from element `at` on into the best of each lane. fresh: they are the
 * first. */
static void
best_of_rows(maker *m, const arrays *in, lw_ref at, lw_ref first, lw_ref lane, bool fresh)
{
    uint32_t width = LW_REDUCE_BEST_BYTES / lw_dtypes[m->value].size_bytes;
    lw_for loop = lw_ir_for(&m->b, i64(m, 0), i64(m, width), i64(m, 1),
                            LW_LOOP_VECTORIZE | LW_LOOP_NO_UNROLL);
    lw_ref x[4], address = value_address(m, lane, loop.i);

    for (uint32_t k = 0; k < 4; k++)
        x[k] = value_at(
            m, in, lw_ir_add(&m->b, at, lw_ir_add(&m->b, loop.i, i64(m, (int64_t)k * width))),
            first);
    x[0] = best_of_four(m, x, fresh ? 0 : lw_ir_load(&m->b, m->value, 1, address, 0, 0));
    lw_ir_store(&m->b, address, x[0], 0, 0);
    lw_ir_for_end(&m->b, &loop);
}

static lw_status
best_of_block(maker *m, lw_error *err)
{
    uint32_t width = LW_REDUCE_BEST_BYTES / lw_dtypes[m->value].size_bytes;
    lw_ref lane, first, last;
    arrays in;
    lw_for loop;

    start(m, "lw_best", false);
    lane = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS, "lane");
    first = lw_ir_param_add(&m->b, LW_DT_i64, 0, "first");
    in = strided(m, m->operand, m->r->n_in, 0, 0);
    last = lw_ir_sub(&m->b, m->n, i64(m, 4 * (int64_t)width));
    best_of_rows(m, &in, last, first, lane,
                 true); /* takes some elements twice, which does not change the best */
    loop = lw_ir_for(&m->b, i64(m, 0), last, i64(m, 4 * (int64_t)width),
                     LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    best_of_rows(m, &in, loop.i, first, lane, false);
    lw_ir_for_end(&m->b, &loop);
    for (uint32_t half = width / 2; half > 0; half /= 2) {
        lw_ref place, x, y;
        loop = lw_ir_for(&m->b, i64(m, 0), i64(m, half), i64(m, 1), LW_LOOP_VECTORIZE);
        place = value_address(m, lane, loop.i);
        x = lw_ir_load(&m->b, m->value, 1, place, 0, 0);
        y = lw_ir_load(&m->b, m->value, 1,
                       value_address(m, lane, lw_ir_add(&m->b, loop.i, i64(m, half))), 0, 0);
        lw_ir_store(&m->b, place, better_of(m, x, y), 0, 0);
        lw_ir_for_end(&m->b, &loop);
    }
    return end(m, err);
}

/* Compares lane[0] with the best so far: 1 where it is better, 2 where it is NaN, else 0. */
static lw_status
judge(maker *m, lw_error *err)
{
    lw_ref x, y, out, code;

    start(m, "lw_judge", false); /* args: lane, so far, and where the answer goes */
    x = lw_ir_load(&m->b, m->value, 1, pointer(m, 0), 0, 0);
    y = lw_ir_load(&m->b, m->value, 1, pointer(m, 1), 0, 0);
    out = pointer(m, 2);
    code = lw_ir_compare(&m->b, m->extreme.kind == LW_LARGEST ? LW_OP_GT : LW_OP_LT, x, y);
    code = lw_ir_select(&m->b, code, i64(m, 1), i64(m, 0));
    if (lw_is_float(m->value))
        code = lw_ir_select(&m->b, lw_ir_compare(&m->b, LW_OP_NE, x, x), i64(m, 2), code);
    lw_ir_store(&m->b, out, code, 0, 0);
    return end(m, err);
}

/* Unsigned numbers as wide as the value, so that vectors of both have the same lanes. */
static lw_dtype
flag_type(const maker *m)
{
    switch (lw_dtypes[m->value].size_bytes) {
    case 1: return LW_DT_u8;
    case 2: return LW_DT_u16;
    case 4: return LW_DT_u32;
    default: return LW_DT_u64;
    }
}

typedef struct search {
    arrays in;
    lw_ref best, first; /* the value that is looked for; the index of element 0 */
} search;

/* Whether element `at` equals the best, or is NaN where that is NaN. */
static lw_ref
is_hit(maker *m, const search *s, lw_ref at)
{
    lw_ref x = value_at(m, &s->in, at, s->first), nan;
    lw_ref hit = lw_ir_compare(&m->b, LW_OP_EQ, x, s->best);

    if (!lw_is_float(m->value))
        return hit;
    nan = lw_ir_compare(&m->b, LW_OP_NE, s->best, s->best);
    return lw_ir_or(&m->b, hit, lw_ir_and(&m->b, nan, lw_ir_compare(&m->b, LW_OP_NE, x, x)));
}

/* Whether any of the elements begin … end - 1 is one. */
static lw_ref
any_hit(maker *m, const search *s, lw_ref begin, lw_ref end)
{
    lw_builder *b = &m->b;
    lw_dtype type = flag_type(m);
    lw_ref any = lw_ir_slot(b, type), hit;
    lw_for loop;

    lw_ir_set(b, any, lw_ir_int(b, type, 0));
    loop = lw_ir_for(b, begin, end, i64(m, 1), LW_LOOP_VECTORIZE);
    hit = lw_ir_select(b, is_hit(m, s, loop.i), lw_ir_int(b, type, 1), lw_ir_int(b, type, 0));
    lw_ir_set(b, any, lw_ir_or(b, lw_ir_get(b, any), hit));
    lw_ir_for_end(b, &loop);
    return lw_ir_compare(b, LW_OP_NE, lw_ir_get(b, any), lw_ir_int(b, type, 0));
}

/* Sets `at` to the first of them, of which there is one. */
static void
first_hit(maker *m, const search *s, lw_ref begin, lw_ref end, lw_ref at)
{
    lw_builder *b = &m->b;
    lw_for loop = lw_ir_for(b, begin, end, i64(m, 1), LW_LOOP_VECTORIZE);
    lw_ref i = lw_ir_select(b, is_hit(m, s, loop.i), loop.i, m->n), before = lw_ir_get(b, at);

    lw_ir_set(b, at, lw_ir_smaller(b, i, before));
    lw_ir_for_end(b, &loop);
}

/* Finds the first of n elements that equals the best, or is NaN where that is NaN; n: there is
 * none. The index is looked for in the first piece that has such an element: its comparisons
 * take several times as long. */
static lw_status
find(maker *m, lw_error *err)
{
    enum { PIECE = 512 };
    lw_builder *b = &m->b;
    lw_ref best, at, out, last;
    search s;
    lw_for pieces;

    start(m, "lw_find", false);
    out = lw_ir_param_add(b, LW_DT_ptr, LW_PARAM_NOALIAS, "out");
    best = lw_ir_param_add(b, LW_DT_ptr, LW_PARAM_NOALIAS, "best");
    s.first = lw_ir_param_add(b, LW_DT_i64, 0, "first");
    s.best = lw_ir_load(b, m->value, 1, best, 0, 0);
    s.in = strided(m, m->operand, m->r->n_in, 0, 0);
    at = lw_ir_slot(b, LW_DT_i64);
    lw_ir_set(b, at, m->n);
    pieces =
        lw_ir_for(b, i64(m, 0), m->n, i64(m, PIECE), LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    last = lw_ir_add(b, pieces.i, i64(m, PIECE));
    last = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, last, m->n), last, m->n);
    lw_ir_if(b, any_hit(m, &s, pieces.i, last));
    first_hit(m, &s, pieces.i, last, at);
    lw_ir_break(b, 0);
    lw_ir_end(b);
    lw_ir_for_end(b, &pieces);
    lw_ir_store(b, out, lw_ir_get(b, at), 0, 0);
    return end(m, err);
}

lw_status
lw_reduce_extreme_loops(maker *m, bool quick, lw_error *err)
{
    lw_status status;

    m->extreme = m->r->best;
    if (m->extreme.kind == LW_NO_EXTREME)
        return LW_OK;
    m->value = m->r->acc[m->extreme.part];
    if (m->value == LW_DT_b1)
        m->value = LW_DT_u8;
    assert(LW_REDUCE_BEST_BYTES % lw_dtypes[m->value].size_bytes == 0);
    if (lw_reduce_may_pick(m))
        return lw_reduce_pick_loop(m, quick, err);
    if (quick) /* these are slow where the compiler makes no vectors */
        return LW_OK;
    LW_TRY(best_of_block(m, err));
    LW_TRY(judge(m, err));
    LW_TRY(find(m, err));
fail:
    return status;
}
