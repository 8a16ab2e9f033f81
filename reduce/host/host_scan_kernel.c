/* The loops of scans over host memory. */
#include "reduce/host/host_kernel_parts.h"

/* Stores the accumulator's result as element `at` of the results. */
static void
put_result(maker *m, const slots *kept, const arrays *to, lw_ref at)
{
    lw_ref acc[LW_REDUCE_PARTS], results[LW_REDUCE_PARTS];

    slots_get(m, kept, acc);
    lw_reduce_emit_finish(&m->b, &m->body, acc, results);
    store(m, to, at, results);
}

/* kept = seeded or i > 0 ? combine(kept, map(x[i])) : map(x[i]) */
static void
scan_step(maker *m, const slots *kept, const arrays *in, lw_ref i, lw_ref seeded)
{
    lw_ref x[LW_REDUCE_PARTS];

    map_at(m, in, i, x);
    lw_ir_if(&m->b, lw_ir_compare(&m->b, LW_OP_NE, lw_ir_or(&m->b, i, seeded), i64(m, 0)));
    slots_combine(m, kept, x);
    lw_ir_else(&m->b);
    slots_set(m, kept, x);
    lw_ir_end(&m->b);
}

/* What a scan of a row goes over. */
typedef struct row_scan {
    arrays in, out;
    slots kept;
    lw_ref seeded, before; /* before: a condition */
} row_scan;

static void
one_element(maker *m, const row_scan *s, lw_ref i)
{
    lw_ir_if(&m->b, s->before);
    put_result(m, &s->kept, &s->out, i);
    lw_ir_end(&m->b);
    scan_step(m, &s->kept, &s->in, i, s->seeded);
    lw_ir_if(&m->b, lw_ir_not(&m->b, s->before));
    put_result(m, &s->kept, &s->out, i);
    lw_ir_end(&m->b);
}

/* Moves `at` on by several elements at a time, as long as they are there; results include their
 * own element, and `at` is not the first. Code that is compiled soon keeps numbers in registers
 * only where it does not branch: element by element it took ten times as long. */
static void
elements_together(maker *m, const row_scan *s, lw_ref at)
{
    enum { TOGETHER = 8 };
    lw_ref acc[LW_REDUCE_PARTS], x[LW_REDUCE_PARTS], results[LW_REDUCE_PARTS], i;

    i = lw_ir_while(&m->b, at, lw_ir_sub(&m->b, m->n, i64(m, TOGETHER - 1)));
    slots_get(m, &s->kept, acc);
    for (int k = 0; k < TOGETHER; k++) {
        lw_ref place = lw_ir_add(&m->b, i, i64(m, k));
        map_at(m, &s->in, place, x);
        lw_reduce_emit_combine(&m->b, &m->body, acc, x, acc);
        lw_reduce_emit_finish(&m->b, &m->body, acc, results);
        store(m, &s->out, place, results);
    }
    slots_set(m, &s->kept, acc);
    lw_ir_latch(&m->b);
    lw_ir_while_end(&m->b, at, i64(m, TOGETHER));
}

static void
soon_over_row(maker *m, const row_scan *s)
{
    lw_builder *b = &m->b;
    lw_ref at = lw_ir_slot(b, LW_DT_i64), i;

    lw_ir_set(b, at, i64(m, 0));
    lw_ir_loop(b, LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    i = lw_ir_get(b, at);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_GE, i, m->n));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    one_element(m, s, i);
    lw_ir_set(b, at, lw_ir_add(b, i, i64(m, 1)));
    lw_ir_if(b, lw_ir_not(b, s->before));
    elements_together(m, s, at);
    lw_ir_end(b);
    lw_ir_latch(b);
    lw_ir_end(b);
}

static lw_status
scan(maker *m, bool quick, lw_error *err)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0}, before;
    uint32_t first = m->n_operands + m->r->n_acc;
    row_scan s;
    arrays kept_in;
    lw_for loop;

    start(m, "lw_scan", true);
    s.seeded = lw_ir_param_add(&m->b, LW_DT_i64, 0, "seeded");
    before = lw_ir_param_add(&m->b, LW_DT_i64, 0, "before");
    s.before = lw_ir_compare(&m->b, LW_OP_NE, before, i64(m, 0));
    s.in = operands(m);
    kept_in = accumulators(m);
    s.out = strided(m, m->r->out, m->r->n_out, first, m->n_operands);
    s.kept = slots_new(m);
    load(m, &kept_in, i64(m, 0), acc);
    slots_set(m, &s.kept, acc);
    if (quick)
        soon_over_row(m, &s);
    else {
        loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_NO_VECTORIZE);
        one_element(m, &s, loop.i);
        lw_ir_for_end(&m->b, &loop);
    }
    slots_get(m, &s.kept, acc);
    store(m, &kept_in, i64(m, 0), acc);
    return end(m, err);
}

/* ---- four segments of a row at once, whose chains of combinations overlap ---- */

typedef struct segments {
    arrays in, to;
    slots kept[4];
    lw_ref apart, first;
} segments;

static segments
segments_start(maker *m, const char *name)
{
    segments g;

    start(m, name, true);
    g.apart = lw_ir_param_add(&m->b, LW_DT_i64, 0, "apart");
    g.first = lw_ir_param_add(&m->b, LW_DT_i64, 0, "first");
    return g;
}

static void
segments_open(maker *m, segments *g)
{
    g->in = strided(m, m->operand, m->r->n_in, 0, 0);
    g->to = accumulators(m);
    for (int k = 0; k < 4; k++)
        g->kept[k] = slots_new(m);
}

static lw_ref
in_segment(maker *m, const segments *g, lw_ref i, int k)
{
    return lw_ir_add(&m->b, i, lw_ir_mul(&m->b, g->apart, i64(m, k)));
}

/* kept[k] = combine(kept[k], element i of segment k) */
static void
segment_step(maker *m, const segments *g, lw_ref i, int k)
{
    lw_ref x[LW_REDUCE_PARTS], at = in_segment(m, g, i, k);

    map_indexed(m, &g->in, at, lw_ir_add(&m->b, g->first, at), x);
    slots_combine(m, &g->kept[k], x);
}

static lw_status
totals(maker *m, lw_error *err)
{
    segments g = segments_start(m, "lw_totals");
    lw_ref x[LW_REDUCE_PARTS];
    lw_for loop;

    segments_open(m, &g);
    for (int k = 0; k < 4; k++) {
        lw_ref at = in_segment(m, &g, i64(m, 0), k);
        map_indexed(m, &g.in, at, lw_ir_add(&m->b, g.first, at), x);
        slots_set(m, &g.kept[k], x);
    }
    loop = lw_ir_for(&m->b, i64(m, 1), m->n, i64(m, 1), LW_LOOP_NO_VECTORIZE);
    for (int k = 0; k < 4; k++)
        segment_step(m, &g, loop.i, k);
    lw_ir_for_end(&m->b, &loop);
    for (int k = 0; k < 4; k++) {
        slots_get(m, &g.kept[k], x);
        store(m, &g.to, i64(m, k), x);
    }
    return end(m, err);
}

static lw_status
scan_segments(maker *m, lw_error *err)
{
    segments g = segments_start(m, "lw_scan_segments");
    lw_ref x[LW_REDUCE_PARTS] = {0}, before;
    arrays out;
    lw_for loop;

    before = lw_ir_param_add(&m->b, LW_DT_i64, 0, "before");
    before = lw_ir_compare(&m->b, LW_OP_NE, before, i64(m, 0));
    segments_open(m, &g);
    out = strided(m, m->r->out, m->r->n_out, m->n_operands + m->r->n_acc, m->n_operands);
    for (int k = 0; k < 4; k++) {
        load(m, &g.to, i64(m, k), x);
        slots_set(m, &g.kept[k], x);
    }
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_NO_VECTORIZE);
    lw_ir_if(&m->b, before);
    for (int k = 0; k < 4; k++)
        put_result(m, &g.kept[k], &out, in_segment(m, &g, loop.i, k));
    lw_ir_end(&m->b);
    for (int k = 0; k < 4; k++)
        segment_step(m, &g, loop.i, k);
    lw_ir_if(&m->b, lw_ir_not(&m->b, before));
    for (int k = 0; k < 4; k++)
        put_result(m, &g.kept[k], &out, in_segment(m, &g, loop.i, k));
    lw_ir_end(&m->b);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

lw_status
lw_reduce_scan_loops(maker *m, bool quick, lw_error *err)
{
    lw_status status;

    LW_TRY(scan(m, quick, err));
    LW_TRY(totals(m, err));
    LW_TRY(scan_segments(m, err));
fail:
    return status;
}
