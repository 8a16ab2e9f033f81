#include "reduce/host/host_kernel_parts.h"
#include "core/base/divider.h"
#include "reduce/host/host_run.h"

#include <assert.h>

/* ---- the loops ---- */

/* The loop over a row: its elements make the accumulators of their columns, if the row is the
 * first, or are combined with them. */
static lw_status
one_row(maker *m, const char *name, bool is_first, bool any_strides, lw_error *err)
{
    lw_ref x[LW_REDUCE_PARTS];
    arrays in, to;
    lw_for loop;

    start(m, name, true);
    if (!any_strides)
        m->strides = 0;
    in = operands(m);
    to = accumulators(m);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_VECTORIZE);
    map_at(m, &in, loop.i, x);
    if (is_first)
        store(m, &to, loop.i, x);
    else
        combine_into(m, &to, loop.i, x);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

/* How many lanes go through memory together: a cache line of the accumulator's largest
 * number. */
static uint32_t
run_of_lanes(const lw_reduction *r)
{
    uint32_t size = 1, n;

    for (uint32_t i = 0; i < r->n_acc; i++)
        if (lw_dtypes[r->acc[i]].size_bytes > size)
            size = lw_dtypes[r->acc[i]].size_bytes;
    n = 64 / size;
    assert(n * size == 64);
    return n < 16 ? 16 : n;
}

/* Prefetches n elements, from `at` on, of what is read later. Contiguous elements are not
 * prefetched: processors do that by themselves, and instructions for it take a part of the
 * accesses that a core can have open. */
static void
ask_for(maker *m, const arrays *in, lw_ref at, uint32_t n)
{
    enum { LINE = 64 };

    for (uint32_t i = 0; i < m->r->n_in; i++) {
        int64_t size = lw_dtypes[in->dtype[i]].size_bytes;
        lw_ref address =
            lw_ir_offset(&m->b, in->address[i], lw_ir_mul(&m->b, at, i64(m, size)));
        for (int64_t k = 0; k < n * size; k += LINE)
            lw_ir_prefetch(&m->b, lw_ir_offset(&m->b, address, i64(m, k)));
    }
}

/* Combines four elements in a tree, and the result with an accumulator: that means fewer
 * accesses to it, and shorter chains of roundings. */
static void
combine_four(maker *m, const arrays *to, lw_ref at, lw_ref (*x)[LW_REDUCE_PARTS])
{
    lw_reduce_emit_combine(&m->b, &m->body, x[0], x[1], x[0]);
    lw_reduce_emit_combine(&m->b, &m->body, x[2], x[3], x[2]);
    lw_reduce_emit_combine(&m->b, &m->body, x[0], x[2], x[0]);
    combine_into(m, to, at, x[0]);
}

/* Takes column `at` of four rows. */
static void
four_of_column(maker *m, const arrays *in, const arrays *to, lw_ref at)
{
    lw_ref x[4][LW_REDUCE_PARTS];

    for (uint32_t k = 0; k < 4; k++)
        map_at(m, &in[k], at, x[k]);
    combine_four(m, to, at, x);
}

/* Takes whole groups of columns of four rows, and prefetches what lies `ahead` of them. Gives
 * where the rest begins. */
static lw_ref
groups_of_columns(maker *m, const arrays *in, const arrays *ahead, const arrays *to)
{
    uint32_t together = run_of_lanes(m->r);
    lw_ref whole = lw_ir_and(&m->b, m->n, i64(m, -(int64_t)together));
    lw_for group = lw_ir_for(&m->b, i64(m, 0), whole, i64(m, together),
                             LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    lw_for loop;

    for (uint32_t k = 0; k < 4; k++)
        ask_for(m, &ahead[k], group.i, together);
    loop = lw_ir_for(&m->b, i64(m, 0), i64(m, together), i64(m, 1),
                     LW_LOOP_VECTORIZE | LW_LOOP_NO_UNROLL);
    four_of_column(m, in, to, lw_ir_add(&m->b, group.i, loop.i));
    lw_ir_for_end(&m->b, &loop);
    lw_ir_for_end(&m->b, &group);
    return whole;
}

/* Bytes from a row of operand i to the next. */
static lw_ref
row_stride(maker *m, lw_ref row_strides, uint32_t i)
{
    return lw_ir_load(&m->b, LW_DT_i64, 1, lw_ir_offset(&m->b, row_strides, i64(m, 8 * i)), 8,
                      LW_MEM_INVARIANT);
}

/* The four rows in[0 … 3]. The first is there. */
static void
rows_below(maker *m, lw_ref row_strides, arrays *in)
{
    for (uint32_t k = 1; k < 4; k++) {
        in[k] = in[0];
        for (uint32_t i = 0; i < m->n_operands; i++)
            in[k].address[i] =
                lw_ir_offset(&m->b, in[0].address[i],
                             lw_ir_mul(&m->b, row_stride(m, row_strides, i), i64(m, k)));
    }
}

/* What is prefetched while in[0 … 3] are read: processors prefetch less by themselves for
 * several rows side by side than for one. If rows are short, it is the four rows below;
 * otherwise, it is what lies some cache lines further on in the same rows. Long rows below
 * would come too early: sums of 1000^2 float64, in the third-level cache, took 1.4 times as
 * long (AMD EPYC, one thread, 2026-12-01). */
static void
rows_ahead(maker *m, lw_ref row_strides, const arrays *in, arrays *ahead)
{
    enum { SHORT = 1024, LINES = 512 }; /* bytes */
    lw_builder *b = &m->b;

    for (uint32_t k = 0; k < 4; k++)
        ahead[k] = in[k];
    for (uint32_t i = 0; i < m->n_operands; i++) {
        lw_ref stride = row_stride(m, row_strides, i);
        lw_ref is_short = lw_ir_compare(b, LW_OP_LE, stride, i64(m, SHORT));
        lw_ref bytes =
            lw_ir_select(b, is_short, lw_ir_mul(b, stride, i64(m, 4)), i64(m, LINES));
        for (uint32_t k = 0; k < 4; k++)
            ahead[k].address[i] = lw_ir_offset(b, in[k].address[i], bytes);
    }
}

static lw_ref
row_strides(maker *m)
{
    return lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY,
                           "row_strides");
}

static lw_status
four_rows(maker *m, bool any_strides, lw_error *err)
{
    lw_ref distances, first;
    arrays in[4], ahead[4], to;
    lw_for loop;

    start(m, any_strides ? "lw_rows_strided" : "lw_rows", true);
    distances = row_strides(m);
    if (!any_strides)
        m->strides = 0;
    in[0] = operands(m);
    if (m->r->indexed)
        in[0].step[m->r->n_in] = i64(m, 0); /* that of the row, for all columns */
    rows_below(m, distances, in);
    to = accumulators(m);
    if (any_strides) {
        first = i64(m, 0);
    } else {
        rows_ahead(m, distances, in, ahead);
        first = groups_of_columns(m, in, ahead, &to);
    }
    loop = lw_ir_for(&m->b, first, m->n, i64(m, 1), LW_LOOP_VECTORIZE);
    four_of_column(m, in, &to, loop.i);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

static lw_status
groups_of_four(maker *m, lw_error *err)
{
    lw_ref x[4][LW_REDUCE_PARTS], distances, count, from, acc;
    arrays in[4], to;
    lw_for group, loop;

    start(m, "lw_fours", true);
    distances = row_strides(m);
    count = lw_ir_param_add(&m->b, LW_DT_i64, 0, "count");
    in[0] = operands(m);
    rows_below(m, distances, in);
    to = accumulators(m);
    group =
        lw_ir_for(&m->b, i64(m, 0), count, i64(m, 1), LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    acc = lw_ir_mul(&m->b, group.i, m->n);
    from = lw_ir_mul(&m->b, acc, i64(m, 4));
    acc = lw_ir_and(&m->b, acc, i64(m, width_of(m->r) - 1));
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_VECTORIZE);
    for (uint32_t k = 0; k < 4; k++)
        map_at(m, &in[k], lw_ir_add(&m->b, from, loop.i), x[k]);
    combine_four(m, &to, lw_ir_add(&m->b, acc, loop.i), x);
    lw_ir_for_end(&m->b, &loop);
    lw_ir_for_end(&m->b, &group);
    return end(m, err);
}

arrays
lw_reduce_moved(maker *m, const arrays *a, lw_ref by)
{
    arrays b = *a;

    for (uint32_t i = 0; i < a->n; i++)
        b.address[i] = lw_ir_offset(&m->b, a->address[i], lw_ir_mul(&m->b, by, a->step[i]));
    return b;
}

bool
lw_reduce_lanes_in_registers(const lw_reduction *r)
{
    for (uint32_t i = 0; i < r->n_acc; i++)
        if (r->acc[i] == LW_DT_b1)
            return false;
    return true;
}

/* Whether elements are added or multiplied as they are loaded, which takes less time than
 * loading them. */
static bool
is_light(const lw_reduction *r)
{
    return r->map == NULL && r->n_acc == 1 && r->loaded[0] == r->acc[0] && r->has_identity &&
           lw_is_float(r->acc[0]);
}

/* How many of the lanes that go through memory together fit into a vector; all of them where
 * lanes are not in registers. */
static uint32_t
vector_of_lanes(const lw_reduction *r)
{
    int64_t bits = is_light(r) ? lw_host_light_vector_bits() : lw_host_vector_bits(), size = 1;
    lw_dtype parts[LW_REDUCE_PARTS];

    if (!lw_reduce_lanes_in_registers(r))
        return run_of_lanes(r);
    for (uint32_t i = lw_reduce_acc_parts(r, parts); i-- > 0;)
        if (lw_dtypes[parts[i]].size_bytes > size)
            size = lw_dtypes[parts[i]].size_bytes;
    return (uint32_t)lw_least(bits / (8 * size), run_of_lanes(r));
}

lw_reduce_all_lanes
lw_reduce_all_lanes_begin(maker *m, uint32_t loop_flags)
{
    lw_builder *b = &m->b;
    uint32_t width = width_of(m->r), together = run_of_lanes(m->r), n = vector_of_lanes(m->r);
    lw_reduce_all_lanes l;

    assert(width % together == 0 && together % n == 0);
    loop_flags |= LW_LOOP_NO_VECTORIZE;
    l.runs = lw_ir_for(b, i64(m, 0), i64(m, width), i64(m, together), loop_flags);
    l.vectors = lw_ir_for(b, i64(m, 0), i64(m, together), i64(m, n), loop_flags);
    l.first = lw_ir_add(b, l.runs.i, l.vectors.i);
    l.lanes =
        lw_ir_for(b, i64(m, 0), i64(m, n), i64(m, 1), LW_LOOP_VECTORIZE | LW_LOOP_NO_UNROLL);
    return l;
}

void
lw_reduce_all_lanes_end(maker *m, const lw_reduce_all_lanes *l)
{
    lw_ir_for_end(&m->b, &l->lanes);
    lw_ir_for_end(&m->b, &l->vectors);
    lw_ir_for_end(&m->b, &l->runs);
}

/* Each run of lanes takes four neighbouring runs of elements, so that memory is read from
 * front to back, as the prefetchers of processors expect. */
void
lw_reduce_four_rows(maker *m, const arrays *in, const arrays *to, lw_ref start,
                    uint32_t loop_flags)
{
    lw_ref x[4][LW_REDUCE_PARTS], at;
    lw_reduce_all_lanes l = lw_reduce_all_lanes_begin(m, loop_flags);
    arrays row, lanes = lw_reduce_moved(m, to, l.first);

    at = lw_ir_add(&m->b, lw_ir_mul(&m->b, l.runs.i, i64(m, 4)), l.vectors.i);
    at = lw_ir_add(&m->b, start, at);
    for (uint32_t k = 0; k < 4; k++) {
        row = lw_reduce_moved(m, in, lw_ir_add(&m->b, at, i64(m, k * run_of_lanes(m->r))));
        map_at(m, &row, l.lanes.i, x[k]);
    }
    combine_four(m, &lanes, l.lanes.i, x);
    lw_reduce_all_lanes_end(m, &l);
}

static void
row_of_lanes(maker *m, const arrays *in, const arrays *to, lw_ref row)
{
    uint32_t width = width_of(m->r);
    lw_for loop = lw_ir_for(&m->b, i64(m, 0), i64(m, width), i64(m, 1),
                            LW_LOOP_VECTORIZE | LW_LOOP_NO_UNROLL);
    lw_ref x[LW_REDUCE_PARTS];

    map_at(m, in, lw_ir_add(&m->b, lw_ir_mul(&m->b, row, i64(m, width)), loop.i), x);
    combine_into(m, to, loop.i, x);
    lw_ir_for_end(&m->b, &loop);
}

static lw_status
lanes(maker *m, lw_error *err)
{
    arrays in, to;
    lw_ref whole;
    lw_for loop;

    start(m, "lw_lanes", false);
    in = operands(m);
    to = accumulators(m);
    whole = lw_ir_and(&m->b, m->n, i64(m, -4));
    loop =
        lw_ir_for(&m->b, i64(m, 0), whole, i64(m, 4), LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    lw_reduce_four_rows(m, &in, &to, lw_ir_mul(&m->b, loop.i, i64(m, width_of(m->r))),
                        LW_LOOP_NO_UNROLL);
    lw_ir_for_end(&m->b, &loop);
    loop = lw_ir_for(&m->b, whole, m->n, i64(m, 1), LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    row_of_lanes(m, &in, &to, loop.i);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

static lw_status
fold(maker *m, lw_error *err)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0}, x[LW_REDUCE_PARTS];
    arrays in, to;
    slots kept;
    lw_for loop;

    start(m, "lw_fold", true);
    in = operands(m);
    to = accumulators(m);
    kept = slots_new(m);
    load(m, &to, i64(m, 0), acc);
    slots_set(m, &kept, acc);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_NO_VECTORIZE);
    map_at(m, &in, loop.i, x);
    slots_combine(m, &kept, x);
    lw_ir_for_end(&m->b, &loop);
    slots_get(m, &kept, acc);
    store(m, &to, i64(m, 0), acc);
    return end(m, err);
}

/* For a commutative operator and slices that are long enough: several chains of combinations
 * side by side, which end in `kept`. Sets `rest` to where the remaining elements begin. */
static void
slice_chains(maker *m, const arrays *in, lw_ref begin, lw_ref count, const slots *kept,
             lw_ref rest)
{
    lw_ref acc[8][LW_REDUCE_PARTS], x[LW_REDUCE_PARTS], whole;
    uint32_t n = m->r->n_acc == 1 ? 8 : 4;
    slots chain[8];
    lw_for loop;

    lw_ir_if(&m->b, lw_ir_compare(&m->b, LW_OP_GE, count, i64(m, 2 * n)));
    whole = lw_ir_and(&m->b, count, i64(m, -(int64_t)n));
    lw_ir_set(&m->b, rest, whole);
    for (uint32_t k = 0; k < n; k++) {
        chain[k] = k ? slots_new(m) : *kept;
        map_indexed(m, in, lw_ir_add(&m->b, begin, i64(m, k)), i64(m, k), x);
        slots_set(m, &chain[k], x);
    }
    loop = lw_ir_for(&m->b, i64(m, n), whole, i64(m, n), LW_LOOP_NO_VECTORIZE);
    for (uint32_t k = 0; k < n; k++) {
        lw_ref at = lw_ir_add(&m->b, loop.i, i64(m, k));
        map_indexed(m, in, lw_ir_add(&m->b, begin, at), at, x);
        slots_combine(m, &chain[k], x);
    }
    lw_ir_for_end(&m->b, &loop);
    for (uint32_t k = 0; k < n; k++)
        slots_get(m, &chain[k], acc[k]);
    for (; n > 1; n /= 2)
        for (uint32_t k = 0; k < n / 2; k++)
            lw_reduce_emit_combine(&m->b, &m->body, acc[k], acc[k + n / 2], acc[k]);
    slots_set(m, kept, acc[0]);
    lw_ir_end(&m->b);
}

/* Reduces a slice, of which `entry` holds begin and count, into `kept`. */
static void
one_slice(maker *m, const arrays *in, lw_ref entry, const slots *kept)
{
    lw_ref x[LW_REDUCE_PARTS], begin, count, rest;
    lw_for loop;

    begin = lw_ir_load(&m->b, LW_DT_i64, 1, entry, 8, LW_MEM_INVARIANT);
    count = lw_ir_load(&m->b, LW_DT_i64, 1, lw_ir_offset(&m->b, entry, i64(m, 8)), 8,
                       LW_MEM_INVARIANT);
    map_indexed(m, in, begin, i64(m, 0), x);
    slots_set(m, kept, x);
    rest = lw_ir_slot(&m->b, LW_DT_i64);
    lw_ir_set(&m->b, rest, i64(m, 1));
    if (m->r->commutative)
        slice_chains(m, in, begin, count, kept, rest);
    loop = lw_ir_for(&m->b, lw_ir_get(&m->b, rest), count, i64(m, 1), LW_LOOP_NO_VECTORIZE);
    map_indexed(m, in, lw_ir_add(&m->b, begin, loop.i), loop.i, x);
    slots_combine(m, kept, x);
    lw_ir_for_end(&m->b, &loop);
}

/* Reduces short slices of one row in one call, since a call for each would cost more than their
 * elements. */
static lw_status
slices(maker *m, lw_error *err)
{
    lw_ref acc[LW_REDUCE_PARTS], list;
    arrays in, to;
    slots kept;
    lw_for loop;

    start(m, "lw_slices", true);
    list = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "slices");
    in = strided(m, m->operand, m->r->n_in, 0, 0);
    to = accumulators(m);
    kept = slots_new(m);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_NO_VECTORIZE);
    one_slice(m, &in, lw_ir_offset(&m->b, list, lw_ir_mul(&m->b, loop.i, i64(m, 16))), &kept);
    slots_get(m, &kept, acc);
    store(m, &to, loop.i, acc);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

void
lw_reduce_combine_all(maker *m, const arrays *left, const arrays *right, const arrays *to,
                      lw_ref n, uint32_t flags)
{
    lw_ref x[LW_REDUCE_PARTS], y[LW_REDUCE_PARTS];
    lw_for loop = lw_ir_for(&m->b, i64(m, 0), n, i64(m, 1), flags);

    load(m, left, loop.i, x);
    load(m, right, loop.i, y);
    lw_reduce_emit_combine(&m->b, &m->body, x, y, x);
    store(m, to, loop.i, x);
    lw_ir_for_end(&m->b, &loop);
}

static lw_status
merge(maker *m, lw_error *err)
{
    arrays left, right;

    start(m, "lw_merge", false);
    left = contiguous(m, m->r->acc, m->r->n_acc, 0);
    right = contiguous(m, m->r->acc, m->r->n_acc, m->r->n_acc);
    lw_reduce_combine_all(m, &left, &right, &left, m->n, LW_LOOP_VECTORIZE);
    return end(m, err);
}

static lw_status
finish(maker *m, lw_error *err)
{
    lw_ref acc[LW_REDUCE_PARTS], results[LW_REDUCE_PARTS];
    arrays from, to;
    lw_for loop;

    start(m, "lw_finish", false);
    from = contiguous(m, m->r->acc, m->r->n_acc, 0);
    to = contiguous(m, m->r->out, m->r->n_out, m->r->n_acc);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_VECTORIZE);
    load(m, &from, loop.i, acc);
    lw_reduce_emit_finish(&m->b, &m->body, acc, results);
    store(m, &to, loop.i, results);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

/* ---- modules ---- */

static lw_status
scan_loops(maker *m, bool quick, lw_error *err)
{
    lw_status status;

    LW_TRY(slices(m, err));
    LW_TRY(lw_reduce_scan_loops(m, quick, err));
fail:
    return status;
}

static lw_status
quick_loops(maker *m, lw_error *err)
{
    lw_status status;

    LW_TRY(one_row(m, "lw_seed_strided", true, true, err));
    LW_TRY(one_row(m, "lw_columns_strided", false, true, err));
    LW_TRY(groups_of_four(m, err));
    if (!m->r->commutative)
        LW_TRY(fold(m, err));
    LW_TRY(merge(m, err));
    LW_TRY(finish(m, err));
    LW_TRY(lw_reduce_extreme_loops(m, true, err));
fail:
    return status;
}

static lw_status
other_loops(maker *m, lw_error *err)
{
    lw_status status;

    LW_TRY(one_row(m, "lw_seed", true, false, err));
    LW_TRY(one_row(m, "lw_columns", false, false, err));
    LW_TRY(lanes(m, err));
    LW_TRY(fold(m, err));
    LW_TRY(merge(m, err));
    LW_TRY(finish(m, err));
    LW_TRY(one_row(m, "lw_seed_strided", true, true, err));
    LW_TRY(one_row(m, "lw_columns_strided", false, true, err));
    LW_TRY(four_rows(m, false, err));
    LW_TRY(four_rows(m, true, err));
    LW_TRY(lw_reduce_extreme_loops(m, false, err));
    LW_TRY(lw_reduce_chunk_loops(m, err));
fail:
    return status;
}

/* Beside the loops of scans. SCAN_OTHERS: what they need where a row is scanned in parts. */
typedef enum loops { NO_OTHERS, SCAN_OTHERS, QUICK_OTHERS, ALL_OTHERS } loops;

static lw_status
add_others(maker *m, loops others, lw_error *err)
{
    switch (others) {
    case NO_OTHERS: return LW_OK;
    case SCAN_OTHERS: return merge(m, err);
    case QUICK_OTHERS: return quick_loops(m, err);
    default: return other_loops(m, err);
    }
}

static lw_status
make_module(const lw_reduction *r, loops others, bool scans, lw_module **out, lw_error *err)
{
    maker m = {.r = r, .body.reduction = r, .n_operands = r->n_in + r->indexed};
    lw_status status;

    memcpy(m.operand, r->loaded, r->n_in * sizeof *r->loaded);
    m.operand[r->n_in] = LW_DT_i64;
    LW_TRY(lw_reduction_module(r, &m.module, m.body.funcs, err));
    LW_TRY(add_others(&m, others, err));
    if (scans)
        LW_TRY(scan_loops(&m, others == SCAN_OTHERS || others == QUICK_OTHERS, err));
    *out = m.module;
    return LW_OK;
fail:
    lw_module_free(m.module);
    return status;
}

lw_status
lw_reduce_host_module(const lw_reduction *r, lw_module **out, lw_error *err)
{
    return make_module(r, ALL_OTHERS, true, out, err);
}

typedef struct loop_place {
    const char *name;
    void *place;
    bool may_lack;
} loop_place;

static lw_status
find_loops(const lw_code *code, const loop_place *found, size_t n, lw_error *err)
{
    for (size_t i = 0; i < n; i++) {
        void *address = lw_code_symbol(code, found[i].name);
        if (address == NULL && !found[i].may_lack)
            return lw_fail(err, LW_ERR_INTERNAL, "compiled code lacks a loop of a reduction");
        memcpy(found[i].place, &address, sizeof address);
    }
    return LW_OK;
}

static lw_status
find_other_loops(lw_reduce_code *out, bool quick, lw_error *err)
{
    const loop_place found[] = {
        {quick ? "lw_seed_strided" : "lw_seed", &out->seed, false},
        {"lw_seed_strided", &out->seed_strided, false},
        {quick ? "lw_columns_strided" : "lw_columns", &out->columns, false},
        {"lw_columns_strided", &out->columns_strided, false},
        {"lw_rows", &out->rows, quick},
        {"lw_rows_strided", &out->rows_strided, quick},
        {"lw_fours", &out->fours, !quick},
        {"lw_lanes", &out->lanes, quick},
        {"lw_fold", &out->fold, quick},
        {"lw_merge", &out->merge, false},
        {"lw_finish", &out->finish, false},
        {"lw_chunks", &out->chunks, true},
        {"lw_best", &out->best, true},
        {"lw_judge", &out->judge, true},
        {"lw_find", &out->find, true},
        {"lw_pick", &out->pick, true}};

    return find_loops(out->code, found, sizeof found / sizeof *found, err);
}

static lw_status
find_merge(lw_reduce_code *out, lw_error *err)
{
    const loop_place found = {"lw_merge", &out->merge, false};

    return find_loops(out->code, &found, 1, err);
}

static lw_status
find_scans(const lw_code *code, lw_reduce_scan_loops_code *out, lw_error *err)
{
    const loop_place found[] = {{"lw_scan", &out->scan, false},
                                {"lw_totals", &out->totals, false},
                                {"lw_scan_segments", &out->segments, false},
                                {"lw_slices", &out->slices, false}};

    return find_loops(code, found, sizeof found / sizeof *found, err);
}

/* Whether a function has a loop, or so much code that the clock should be looked at more
 * often. */
static bool
may_take_long(const lw_scalar *function)
{
    enum { MANY = 1000 };
    uint32_t n = 0;

    for (uint32_t f = 0; function != NULL && f < function->module->funcs.n; f++)
        n += function->module->funcs.data[f]->insts.n;
    return n > MANY || (n > 0 && lw_ir_repeats(function->module));
}

static bool
is_costly(const lw_reduction *r)
{
    return may_take_long(r->map) || may_take_long(r->combine) || may_take_long(r->finish);
}

/* Whether the last bits of what `inst` computes depend on whether vectors of it are computed:
 * not where core/emit writes the function out itself, as its exp and log of f64, nor where all
 * functions are scalar libm's. */
static bool
varies(const lw_inst *inst, bool precise)
{
    const lw_intrinsic_row *row;

    if (inst->op != LW_OP_INTRINSIC)
        return false;
    row = &lw_intrinsics[inst->a];
    if (row->ulp_host_f64 == 0 && row->ulp_host_f32 == 0)
        return false;
    return !precise && !lw_host_is_own((lw_intrinsic)inst->a, (lw_dtype)inst->type);
}

static bool
is_inexact(const lw_scalar *function, bool precise)
{
    for (uint32_t f = 0; function != NULL && f < function->module->funcs.n; f++) {
        const lw_func *func = function->module->funcs.data[f];
        for (uint32_t i = 0; i < func->insts.n; i++)
            if (varies(&func->insts.data[i], precise))
                return true;
    }
    return false;
}

static bool
is_same_in_vectors(const lw_reduction *r, bool precise)
{
    return !is_inexact(r->map, precise) && !is_inexact(r->combine, precise) &&
           !is_inexact(r->finish, precise);
}

bool
lw_reduce_host_may_be_quick(const lw_reduction *r, bool precise)
{
    return !is_costly(r) && is_same_in_vectors(r, precise);
}

static void
begin_code(const lw_reduction *r, bool precise, lw_reduce_code *out)
{
    memset(out, 0, sizeof *out);
    out->n_operands = r->n_in + r->indexed;
    out->width = width_of(r);
    out->together = run_of_lanes(r);
    out->block = lw_reduce_block_of(r, out->width);
    out->costly = is_costly(r);
    out->same_in_vectors = is_same_in_vectors(r, precise);
    out->extreme = r->best;
    if (out->extreme.kind != LW_NO_EXTREME)
        out->value_size = lw_dtypes[r->acc[out->extreme.part]].size_bytes;
}

lw_status
lw_reduce_host_build(const lw_reduction *r, lw_reduce_loops which,
                     const lw_build_options *options, lw_reduce_code *out,
                     lw_build_report *report, lw_error *err)
{
    bool alone = which == LW_REDUCE_QUICK_SCANS_ALONE;
    bool scans = alone || which == LW_REDUCE_QUICK_SCANS;
    bool quick = which != LW_REDUCE_LOOPS;
    lw_build_options build = *options;
    lw_module *module = NULL;
    lw_status status;

    build.quick |= quick;
    begin_code(r, options->precise, out);
    LW_TRY(make_module(r,
                       alone   ? SCAN_OTHERS
                       : quick ? QUICK_OTHERS
                               : ALL_OTHERS,
                       scans, &module, err));
    LW_TRY(lw_build_host(module, &build, &out->code, report, err));
    status = alone ? find_merge(out, err) : find_other_loops(out, quick, err);
    if (status == LW_OK && scans)
        status = find_scans(out->code, &out->scans, err);
    if (status != LW_OK)
        lw_reduce_host_drop(out);
fail:
    lw_module_free(module);
    return status;
}

lw_status
lw_reduce_host_build_scans(const lw_reduction *r, const lw_build_options *options,
                           lw_reduce_scan_loops_code *out, lw_build_report *report,
                           lw_error *err)
{
    lw_module *module = NULL;
    lw_status status;

    memset(out, 0, sizeof *out);
    LW_TRY(make_module(r, NO_OTHERS, true, &module, err));
    LW_TRY(lw_build_host(module, options, &out->code, report, err));
    status = find_scans(out->code, out, err);
    if (status != LW_OK) {
        lw_code_free(out->code);
        out->code = NULL;
    }
fail:
    lw_module_free(module);
    return status;
}

void
lw_reduce_host_drop(lw_reduce_code *code)
{
    lw_code_free(code->code);
    lw_code_free(code->scans.code);
    memset(code, 0, sizeof *code);
}
