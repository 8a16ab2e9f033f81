/* Finds the best element of a short row in one call, where combine gives the better of its
 * operands and the value that decides is a loaded element itself: in vectors that stay in
 * registers, where the loops of host_extreme_kernel.c, which take any map, keep their lanes in
 * memory between calls. */
#include "reduce/host/host_kernel_parts.h"

#include <assert.h>

enum { VECTORS = 4 };

typedef struct picker {
    maker *m;
    lw_ref base; /* of the operand whose elements decide */
    lw_dtype type;
    unsigned lanes;
    lw_ref nans; /* slot: for each lane whether it has seen a NaN; 0: of integers */
} picker;

/* Whether vectors have the elements of this type. */
static bool
is_picked(lw_dtype type)
{
    return lw_is_integer(type) || type == LW_DT_f32 || type == LW_DT_f64;
}

static lw_ref
load_at(picker *p, lw_ref at, unsigned lanes)
{
    lw_builder *b = &p->m->b;
    lw_ref bytes = lw_ir_mul(b, at, i64(p->m, lw_dtypes[p->type].size_bytes));

    return lw_ir_load(b, p->type, lanes, lw_ir_offset(b, p->base, bytes), 0, 0);
}

static lw_ref
better(picker *p, lw_ref x, lw_ref y)
{
    lw_op op = p->m->extreme.kind == LW_LARGEST ? LW_OP_GT : LW_OP_LT;

    return lw_ir_select(&p->m->b, lw_ir_compare(&p->m->b, op, x, y), x, y);
}

static void
note_nans(picker *p, const lw_ref *x, unsigned n)
{
    lw_builder *b = &p->m->b;
    lw_ref nan = 0;

    if (p->nans == 0)
        return;
    for (unsigned k = 0; k < n; k++) {
        lw_ref one = lw_ir_compare(b, LW_OP_NE, x[k], x[k]);
        nan = nan ? lw_ir_or(b, nan, one) : one;
    }
    lw_ir_set(b, p->nans, lw_ir_or(b, lw_ir_get(b, p->nans), nan));
}

/* The best of the elements, of which there are at least `vectors` vectors: those of the last
 * vectors are taken twice, which changes nothing. Sets the slot `best`, a number. */
static void
best_in_vectors(picker *p, unsigned vectors, lw_ref best)
{
    maker *m = p->m;
    lw_builder *b = &m->b;
    int64_t step = (int64_t)vectors * p->lanes;
    lw_ref acc[VECTORS] = {0}, x[VECTORS] = {0}, number[LW_MOST_PICKED] = {0}, last;
    lw_for loop;

    last = lw_ir_sub(b, m->n, i64(m, step));
    for (unsigned k = 0; k < vectors; k++) {
        acc[k] = lw_ir_vector_slot(b, p->type, p->lanes);
        x[k] = load_at(p, lw_ir_add(b, last, i64(m, (int64_t)k * p->lanes)), p->lanes);
        lw_ir_set(b, acc[k], x[k]);
    }
    note_nans(p, x, vectors);
    loop =
        lw_ir_for(b, i64(m, 0), last, i64(m, step), LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    for (unsigned k = 0; k < vectors; k++) {
        x[k] = load_at(p, lw_ir_add(b, loop.i, i64(m, (int64_t)k * p->lanes)), p->lanes);
        lw_ir_set(b, acc[k], better(p, x[k], lw_ir_get(b, acc[k])));
    }
    note_nans(p, x, vectors);
    lw_ir_for_end(b, &loop);
    for (unsigned k = 0; k < vectors; k++)
        x[k] = lw_ir_get(b, acc[k]);
    for (unsigned n = vectors / 2; n > 0; n /= 2)
        for (unsigned k = 0; k < n; k++)
            x[k] = better(p, x[k], x[k + n]);
    for (unsigned k = 0; k < p->lanes; k++)
        number[k] = lw_ir_lane(b, x[0], k);
    for (unsigned n = p->lanes / 2; n > 0; n /= 2)
        for (unsigned k = 0; k < n; k++)
            number[k] = better(p, number[k], number[k + n]);
    lw_ir_set(b, best, number[0]);
}

static void
best_of_few(picker *p, lw_ref best, lw_ref any_nan)
{
    maker *m = p->m;
    lw_builder *b = &m->b;
    lw_for loop;
    lw_ref x;

    lw_ir_set(b, best, load_at(p, i64(m, 0), 1));
    loop = lw_ir_for(b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    x = load_at(p, loop.i, 1);
    if (any_nan != 0)
        lw_ir_set(b, any_nan,
                  lw_ir_or(b, lw_ir_get(b, any_nan), lw_ir_compare(b, LW_OP_NE, x, x)));
    lw_ir_set(b, best, better(p, x, lw_ir_get(b, best)));
    lw_ir_for_end(b, &loop);
}

/* Which of the elements from `at` on are the best, or NaN where there is NaN. */
static lw_ref
hits(picker *p, lw_ref at, unsigned lanes, lw_ref best, lw_ref any_nan)
{
    lw_builder *b = &p->m->b;
    lw_ref x = load_at(p, at, lanes), equal, nan;

    if (lanes > 1) {
        best = lw_ir_splat(b, best, lanes);
        any_nan = any_nan ? lw_ir_splat(b, any_nan, lanes) : 0;
    }
    equal = lw_ir_compare(b, LW_OP_EQ, x, best);
    if (any_nan == 0)
        return equal;
    nan = lw_ir_compare(b, LW_OP_NE, x, x);
    return lw_ir_select(b, any_nan, nan, equal);
}

/* Which elements of `vectors` vectors, or a single one, from `at` on are hits; of vectors:
 * whether the lanes of any of them are. */
static lw_ref
hits_from(picker *p, unsigned vectors, lw_ref at, lw_ref best, lw_ref any_nan)
{
    lw_builder *b = &p->m->b;
    lw_ref found = 0;

    if (vectors == 0)
        return hits(p, at, 1, best, any_nan);
    for (unsigned k = 0; k < vectors; k++) {
        lw_ref from = lw_ir_add(b, at, i64(p->m, (int64_t)k * p->lanes));
        lw_ref one = hits(p, from, p->lanes, best, any_nan);
        found = found ? lw_ir_or(b, found, one) : one;
    }
    return found;
}

/* Moves the slot `at` on by `vectors` vectors at a time, as long as these have no hit and are
 * there; 0: by single elements. */
static void
skip(picker *p, unsigned vectors, lw_ref at, lw_ref best, lw_ref any_nan)
{
    maker *m = p->m;
    lw_builder *b = &m->b;
    int64_t step = vectors ? (int64_t)vectors * p->lanes : 1;
    lw_ref found, i;

    lw_ir_loop(b, LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    i = lw_ir_get(b, at);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_GT, lw_ir_add(b, i, i64(m, step)), m->n));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    found = hits_from(p, vectors, i, best, any_nan);
    lw_ir_if(b, vectors ? lw_ir_any(b, found) : found);
    lw_ir_break(b, 0);
    lw_ir_end(b);
    lw_ir_latch(b);
    lw_ir_set(b, at, lw_ir_add(b, lw_ir_get(b, at), i64(m, step)));
    lw_ir_end(b);
}

/* Sets the slot `at`, before which there is no hit, to the first one. There are as many
 * elements as a vector has lanes: those of the last vector are looked at from its first lane
 * on, as the lanes in front of `at` are no hits. */
static void
first_in_vectors(picker *p, lw_ref at, lw_ref best, lw_ref any_nan)
{
    lw_builder *b = &p->m->b;
    lw_ref last = lw_ir_sub(b, p->m->n, i64(p->m, p->lanes)), from;

    skip(p, VECTORS, at, best, any_nan);
    skip(p, 1, at, best, any_nan);
    from = lw_ir_get(b, at);
    from = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, from, last), from, last);
    lw_ir_set(b, at, lw_ir_add(b, from, lw_ir_first(b, hits_from(p, 1, from, best, any_nan))));
}

lw_status
lw_reduce_pick_loop(maker *m, lw_error *err)
{
    lw_builder *b = &m->b;
    int operand = lw_reduce_deciding_operand(m->r);
    picker p = {.m = m, .type = m->value};
    lw_ref out, best, at, any_nan = 0, value, nan = 0;

    if (operand < 0 || !is_picked(m->value))
        return LW_OK;
    p.lanes = LW_REDUCE_BEST_BYTES / lw_dtypes[m->value].size_bytes;
    if (p.lanes > LW_MOST_PICKED)
        p.lanes = LW_MOST_PICKED;
    start(m, "lw_pick", false);
    out = lw_ir_param_add(b, LW_DT_ptr, LW_PARAM_NOALIAS, "out");
    p.base = pointer(m, (uint32_t)operand);
    best = lw_ir_slot(b, m->value);
    at = lw_ir_slot(b, LW_DT_i64);
    lw_ir_set(b, at, i64(m, 0));
    if (lw_is_float(m->value)) {
        any_nan = lw_ir_slot(b, LW_DT_b1);
        lw_ir_set(b, any_nan, lw_ir_zero(b, LW_DT_b1));
        p.nans = lw_ir_vector_slot(b, LW_DT_b1, p.lanes);
        lw_ir_set(b, p.nans, lw_ir_splat(b, lw_ir_zero(b, LW_DT_b1), p.lanes));
    }
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, m->n, i64(m, p.lanes)));
    best_of_few(&p, best, any_nan);
    lw_ir_else(b);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, m->n, i64(m, (int64_t)VECTORS * p.lanes)));
    best_in_vectors(&p, 1, best);
    lw_ir_else(b);
    best_in_vectors(&p, VECTORS, best);
    lw_ir_end(b);
    if (any_nan != 0)
        lw_ir_set(b, any_nan, lw_ir_any(b, lw_ir_get(b, p.nans)));
    lw_ir_end(b);
    if (any_nan != 0)
        nan = lw_ir_get(b, any_nan);
    if (any_nan != 0 && !m->extreme.nan_first) {
        lw_ir_if(b, nan);
        lw_ir_store(b, out, i64(m, -1), 8, 0);
        lw_ir_return(b, NULL, 0);
        lw_ir_end(b);
        nan = 0;
    }
    value = lw_ir_get(b, best);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, m->n, i64(m, p.lanes)));
    skip(&p, 0, at, value, nan);
    lw_ir_else(b);
    first_in_vectors(&p, at, value, nan);
    lw_ir_end(b);
    lw_ir_store(b, out, lw_ir_get(b, at), 8, 0);
    return end(m, err);
}
