/* Finds the best of contiguous elements in one call, where combine gives the better of its
 * operands and the value that decides is a loaded element itself; the loops of
 * host_extreme_kernel.c take any map. Elements are read once: each block gives its best value,
 * and only the first block that has the best of all is searched for it, from a cache. Instead
 * of floats of 16 bits, whose comparisons few processors have, integers are compared that have
 * the same order: their magnitudes with their signs. */
#include "reduce/host/host_kernel_parts.h"

#include <assert.h>

enum {
    VECTORS = 4, /* that are taken together at most */
    /* Of a block: the search of a longer one takes longer. 16 kB of float32 took 0.30 µs in
     * all, with blocks of 8 kB 0.34 and of 16 kB 0.41; blocks that grow with the array gained
     * nothing. */
    BLOCK_BYTES = 4096,
    QUICK_BYTES = 1024 /* where it is searched element by element, for less code */
};

typedef struct picker {
    maker *m;
    lw_ref base;             /* of the operand whose elements decide */
    lw_dtype type;           /* that is compared */
    int64_t infinity;        /* in that type; 0: it is the elements' own */
    unsigned lanes, vectors; /* of a vector; of these, that are taken together */
    int64_t block;           /* elements */
    lw_ref nans;             /* slot: for each lane whether it has seen a NaN; 0: of integers */
    lw_ref best;             /* slot: the best value so far, … */
    lw_ref at; /* … and where to look for it: no element before this one is as good */
} picker;

/* Whether vectors have the elements of this type. */
static bool
is_picked(lw_dtype type)
{
    return lw_is_integer(type) || lw_is_float(type);
}

static bool
is_short_float(lw_dtype type)
{
    return type == LW_DT_f16 || type == LW_DT_bf16;
}

static lw_ref
number(picker *p, int64_t value, unsigned lanes)
{
    lw_ref one = lw_ir_int(&p->m->b, p->type, value);

    return lanes > 1 ? lw_ir_splat(&p->m->b, one, lanes) : one;
}

static lw_ref
load_at(picker *p, lw_ref at, unsigned lanes)
{
    lw_builder *b = &p->m->b;
    lw_ref bytes = lw_ir_mul(b, at, i64(p->m, lw_dtypes[p->type].size_bytes)), sign;
    lw_ref x = lw_ir_load(b, p->type, lanes, lw_ir_offset(b, p->base, bytes), 0, 0);

    if (p->m->r->acc[p->m->extreme.part] == LW_DT_b1) /* any byte but 0 is true */
        return lw_ir_smaller(b, x, number(p, 1, lanes));
    if (p->infinity == 0)
        return x;
    sign = lw_ir_shr(b, x, number(p, 15, lanes)); /* all bits of it */
    x = lw_ir_and(b, x, number(p, INT16_MAX, lanes));
    return lw_ir_sub(b, lw_ir_xor(b, x, sign), sign);
}

static lw_ref
is_nan(picker *p, lw_ref x, unsigned lanes)
{
    lw_builder *b = &p->m->b;

    if (p->infinity == 0)
        return lw_ir_compare(b, LW_OP_NE, x, x);
    return lw_ir_or(b, lw_ir_compare(b, LW_OP_GT, x, number(p, p->infinity, lanes)),
                    lw_ir_compare(b, LW_OP_LT, x, number(p, -p->infinity, lanes)));
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
        lw_ref one = is_nan(p, x[k], p->lanes);
        nan = nan ? lw_ir_or(b, nan, one) : one;
    }
    lw_ir_set(b, p->nans, lw_ir_or(b, lw_ir_get(b, p->nans), nan));
}

static void
load_vectors(picker *p, unsigned vectors, lw_ref at, lw_ref *x)
{
    for (unsigned k = 0; k < vectors; k++)
        x[k] = load_at(p, lw_ir_add(&p->m->b, at, i64(p->m, (int64_t)k * p->lanes)), p->lanes);
    note_nans(p, x, vectors);
}

/* The best of the elements begin … end - 1, lane by lane, read from front to back, as
 * prefetchers expect. There are as many elements before `end` as `vectors` vectors have: some
 * of the last of these are taken twice, or belong to the block before, which changes nothing.
 */
static lw_ref
best_in_vectors(picker *p, unsigned vectors, lw_ref begin, lw_ref end)
{
    maker *m = p->m;
    lw_builder *b = &m->b;
    lw_ref acc[VECTORS] = {0}, x[VECTORS] = {0}, step, last, at, i;

    step = i64(m, (int64_t)vectors * p->lanes);
    last = lw_ir_sub(b, end, step);
    load_vectors(p, vectors, lw_ir_smaller(&p->m->b, begin, last), x);
    for (unsigned k = 0; k < vectors; k++) {
        acc[k] = lw_ir_vector_slot(b, p->type, p->lanes);
        lw_ir_set(b, acc[k], x[k]);
    }
    at = lw_ir_slot(b, LW_DT_i64);
    lw_ir_set(b, at, lw_ir_add(b, begin, step));
    i = lw_ir_while(b, at, end);
    load_vectors(p, vectors, lw_ir_smaller(&p->m->b, i, last), x);
    for (unsigned k = 0; k < vectors; k++)
        lw_ir_set(b, acc[k], better(p, x[k], lw_ir_get(b, acc[k])));
    lw_ir_latch(b);
    lw_ir_while_end(b, at, step);
    for (unsigned k = 0; k < vectors; k++)
        x[k] = lw_ir_get(b, acc[k]);
    for (unsigned n = vectors / 2; n > 0; n /= 2)
        for (unsigned k = 0; k < n; k++)
            x[k] = better(p, x[k], x[k + n]);
    return x[0];
}

static lw_ref
best_lane(picker *p, lw_ref x)
{
    lw_ref lane[LW_MOST_PICKED] = {0};

    for (unsigned k = 0; k < p->lanes; k++)
        lane[k] = lw_ir_lane(&p->m->b, x, k);
    for (unsigned n = p->lanes / 2; n > 0; n /= 2)
        for (unsigned k = 0; k < n; k++)
            lane[k] = better(p, lane[k], lane[k + n]);
    return lane[0];
}

static lw_ref
any_nan(picker *p)
{
    return lw_ir_any(&p->m->b, lw_ir_get(&p->m->b, p->nans));
}

/* Sets `best` and `at`, block by block, of which each has as many elements as `vectors` vectors
 * before its end. Ends behind the first block with a NaN, whose first element `at` is then. */
static void
best_of_blocks(picker *p)
{
    maker *m = p->m;
    lw_builder *b = &m->b;
    lw_ref begin = lw_ir_slot(b, LW_DT_i64), first, end, x, wins;
    lw_op op = m->extreme.kind == LW_LARGEST ? LW_OP_GT : LW_OP_LT;

    lw_ir_set(b, begin, i64(m, 0));
    lw_ir_loop(b, LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    first = lw_ir_get(b, begin);
    end = lw_ir_add(b, first, i64(m, p->block));
    end = lw_ir_smaller(&p->m->b, end, m->n);
    x = best_in_vectors(p, p->vectors, first, end);
    wins =
        lw_ir_any(b, lw_ir_compare(b, op, x, lw_ir_splat(b, lw_ir_get(b, p->best), p->lanes)));
    wins = lw_ir_or(b, wins, lw_ir_compare(b, LW_OP_EQ, first, i64(m, 0)));
    lw_ir_if(b, wins);
    lw_ir_set(b, p->best, best_lane(p, x));
    lw_ir_set(b, p->at, first);
    if (m->r->acc[m->extreme.part] == LW_DT_b1) { /* nothing is better than that */
        lw_ir_if(b, lw_ir_compare(b, LW_OP_EQ, lw_ir_get(b, p->best),
                                  lw_ir_int(b, p->type, m->extreme.kind == LW_LARGEST)));
        lw_ir_break(b, 0);
        lw_ir_end(b);
    }
    lw_ir_end(b);
    if (p->nans != 0) {
        lw_ir_if(b, any_nan(p));
        lw_ir_set(b, p->at, first);
        lw_ir_break(b, 0);
        lw_ir_end(b);
    }
    lw_ir_if(b, lw_ir_compare(b, LW_OP_GE, end, m->n));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    lw_ir_latch(b);
    lw_ir_set(b, begin, lw_ir_add(b, lw_ir_get(b, begin), i64(m, p->block)));
    lw_ir_end(b);
}

static void
best_of_few(picker *p, lw_ref nan)
{
    maker *m = p->m;
    lw_builder *b = &m->b;
    lw_for loop;
    lw_ref x;

    loop = lw_ir_for(b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    x = load_at(p, loop.i, 1);
    if (nan != 0)
        lw_ir_set(b, nan, lw_ir_or(b, lw_ir_get(b, nan), is_nan(p, x, 1)));
    lw_ir_set(b, p->best, better(p, x, lw_ir_get(b, p->best)));
    lw_ir_for_end(b, &loop);
}

/* The same of as many elements as a vector has lanes, or more. */
static void
best_of_many(picker *p, lw_ref nan)
{
    maker *m = p->m;
    lw_builder *b = &m->b;

    if (nan != 0) {
        p->nans = lw_ir_vector_slot(b, LW_DT_b1, p->lanes);
        lw_ir_set(b, p->nans, lw_ir_splat(b, lw_ir_zero(b, LW_DT_b1), p->lanes));
    }
    if (p->vectors > 1) { /* short rows, which would take a fifth longer as blocks */
        lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, m->n, i64(m, (int64_t)p->vectors * p->lanes)));
        lw_ir_set(b, p->best, best_lane(p, best_in_vectors(p, 1, i64(m, 0), m->n)));
        lw_ir_else(b);
        lw_ir_if(b, lw_ir_compare(b, LW_OP_LE, m->n, i64(m, p->block)));
        lw_ir_set(b, p->best, best_lane(p, best_in_vectors(p, p->vectors, i64(m, 0), m->n)));
        lw_ir_else(b);
    }
    best_of_blocks(p);
    if (p->vectors > 1) {
        lw_ir_end(b);
        lw_ir_end(b);
    }
    if (nan != 0)
        lw_ir_set(b, nan, any_nan(p));
}

/* Which of the elements from `at` on are the best, or of `nans` NaN. */
static lw_ref
hits(picker *p, lw_ref at, unsigned lanes, bool nans)
{
    lw_builder *b = &p->m->b;
    lw_ref x = load_at(p, at, lanes), best;

    if (nans)
        return is_nan(p, x, lanes);
    best = lw_ir_get(b, p->best);
    return lw_ir_compare(b, LW_OP_EQ, x, lanes > 1 ? lw_ir_splat(b, best, lanes) : best);
}

/* Which elements of `vectors` vectors, or a single one, from `at` on are hits; of vectors:
 * whether the lanes of any of them are. */
static lw_ref
hits_from(picker *p, unsigned vectors, lw_ref at, bool nans)
{
    lw_builder *b = &p->m->b;
    lw_ref found = 0;

    if (vectors == 0)
        return hits(p, at, 1, nans);
    for (unsigned k = 0; k < vectors; k++) {
        lw_ref from = lw_ir_add(b, at, i64(p->m, (int64_t)k * p->lanes));
        lw_ref one = hits(p, from, p->lanes, nans);
        found = found ? lw_ir_or(b, found, one) : one;
    }
    return found;
}

/* Moves `at` on by `vectors` vectors at a time, as long as these have no hit and are there; 0:
 * by single elements. */
static void
skip(picker *p, unsigned vectors, bool nans)
{
    maker *m = p->m;
    lw_builder *b = &m->b;
    int64_t step = vectors ? (int64_t)vectors * p->lanes : 1;
    lw_ref found, i;

    lw_ir_loop(b, LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    i = lw_ir_get(b, p->at);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_GT, lw_ir_add(b, i, i64(m, step)), m->n));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    found = hits_from(p, vectors, i, nans);
    lw_ir_if(b, vectors ? lw_ir_any(b, found) : found);
    lw_ir_break(b, 0);
    lw_ir_end(b);
    lw_ir_latch(b);
    lw_ir_set(b, p->at, lw_ir_add(b, lw_ir_get(b, p->at), i64(m, step)));
    lw_ir_end(b);
}

/* Sets `at`, before which there is no hit, to the first one. There are as many elements as a
 * vector has lanes: those of the last vector are looked at from its first lane on, as the lanes
 * in front of `at` are no hits. */
static void
first_in_vectors(picker *p, bool nans)
{
    lw_builder *b = &p->m->b;
    lw_ref last = lw_ir_sub(b, p->m->n, i64(p->m, p->lanes)), from;

    if (!nans) /* which are rare */
        skip(p, p->vectors, nans);
    skip(p, 1, nans);
    from = lw_ir_get(b, p->at);
    from = lw_ir_smaller(&p->m->b, from, last);
    lw_ir_set(b, p->at, lw_ir_add(b, from, lw_ir_first(b, hits_from(p, 1, from, nans))));
}

/* Sets `at` to the first hit; few: element by element. nan: whether there is NaN, or 0. */
static void
first_hit(picker *p, bool few, lw_ref nan)
{
    maker *m = p->m;
    lw_builder *b = &m->b;

    if (nan != 0) {
        lw_ir_if(b, lw_ir_get(b, nan));
        if (!m->extreme.nan_first)
            lw_ir_set(b, p->at, i64(m, -1));
        else if (few)
            skip(p, 0, true);
        else
            first_in_vectors(p, true);
        lw_ir_else(b);
    }
    if (few)
        skip(p, 0, false);
    else
        first_in_vectors(p, false);
    if (nan != 0)
        lw_ir_end(b);
}

bool
lw_reduce_may_pick(const maker *m)
{
    return m->extreme.kind != LW_NO_EXTREME && is_picked(m->value) &&
           lw_reduce_deciding_operand(m->r) >= 0;
}

lw_status
lw_reduce_pick_loop(maker *m, bool quick, lw_error *err)
{
    lw_builder *b = &m->b;
    uint32_t operand = (uint32_t)lw_reduce_deciding_operand(m->r);
    picker p = {.m = m, .type = m->value, .vectors = quick ? 1 : VECTORS};
    lw_ref out, nan = 0;

    assert(lw_reduce_may_pick(m));
    if (is_short_float(m->r->loaded[operand])) {
        p.type = LW_DT_i16;
        p.infinity = m->r->loaded[operand] == LW_DT_f16 ? 0x7c00 : 0x7f80;
    }
    p.lanes = LW_REDUCE_BEST_BYTES / lw_dtypes[p.type].size_bytes;
    if (p.lanes > LW_MOST_PICKED)
        p.lanes = LW_MOST_PICKED;
    p.block = (quick ? QUICK_BYTES : BLOCK_BYTES) / lw_dtypes[p.type].size_bytes;
    start(m, "lw_pick", false);
    out = lw_ir_param_add(b, LW_DT_ptr, LW_PARAM_NOALIAS, "out");
    p.base = pointer(m, operand);
    p.best = lw_ir_slot(b, p.type);
    p.at = lw_ir_slot(b, LW_DT_i64);
    lw_ir_set(b, p.best, load_at(&p, i64(m, 0), 1));
    lw_ir_set(b, p.at, i64(m, 0));
    if (lw_is_float(m->value)) {
        nan = lw_ir_slot(b, LW_DT_b1);
        lw_ir_set(b, nan, lw_ir_zero(b, LW_DT_b1));
    }
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, m->n, i64(m, p.lanes)));
    best_of_few(&p, nan);
    if (!quick)
        first_hit(&p, true, nan);
    lw_ir_else(b);
    best_of_many(&p, nan);
    if (!quick)
        first_hit(&p, false, nan);
    lw_ir_end(b);
    if (quick)
        first_hit(&p, true, nan);
    lw_ir_store(b, out, lw_ir_get(b, p.at), 8, 0);
    return end(m, err);
}
