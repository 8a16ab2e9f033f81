#include "reduce/host/host_kernel_parts.h"

/* ---- the loops ---- */

static lw_status
seed(maker *m, bool any_strides, lw_error *err)
{
    lw_ref acc[LW_REDUCE_PARTS];
    arrays in, to;
    lw_for loop;

    start(m, any_strides ? "lw_seed_strided" : "lw_seed", true);
    if (!any_strides)
        m->strides = 0;
    in = operands(m);
    to = accumulators(m);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_VECTORIZE, 0);
    map_at(m, &in, loop.i, acc);
    store(m, &to, loop.i, acc);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

static lw_status
columns(maker *m, bool any_strides, lw_error *err)
{
    lw_ref acc[LW_REDUCE_PARTS], x[LW_REDUCE_PARTS];
    arrays in, to;
    lw_for loop;

    start(m, any_strides ? "lw_columns_strided" : "lw_columns", true);
    if (!any_strides)
        m->strides = 0;
    in = operands(m);
    to = accumulators(m);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_VECTORIZE, 0);
    map_at(m, &in, loop.i, x);
    load(m, &to, loop.i, acc);
    lw_reduce_emit_combine(&m->b, &m->body, acc, x, acc);
    store(m, &to, loop.i, acc);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

/* Lanes that go through memory together: a cache line of the accumulator's numbers. */
static uint32_t
run_of_lanes(const lw_reduction *r)
{
    uint32_t size = 1, n;

    for (uint32_t i = 0; i < r->n_acc; i++)
        if (lw_dtypes[r->acc[i]].size_bytes > size)
            size = lw_dtypes[r->acc[i]].size_bytes;
    n = 64 / size;
    return n < 16 ? 16 : n;
}

void
lw_reduce_ask_for(maker *m, const arrays *in, lw_ref at, uint32_t n, int64_t ahead)
{
    enum { LINE = 64 };

    for (uint32_t i = 0; i < m->r->n_in; i++) {
        int64_t size = lw_dtypes[in->dtype[i]].size_bytes;
        lw_ref address =
            lw_ir_offset(&m->b, in->address[i], lw_ir_mul(&m->b, at, i64(m, size)));
        for (int64_t k = 0; k < n * size; k += LINE)
            lw_ir_prefetch(&m->b, lw_ir_offset(&m->b, address, i64(m, ahead + k)));
    }
}

/* Column `at` of four rows in a tree, then with its accumulator. */
static void
four_of_column(maker *m, const arrays *in, const arrays *to, lw_ref at)
{
    lw_ref acc[LW_REDUCE_PARTS], x[4][LW_REDUCE_PARTS];

    for (uint32_t k = 0; k < 4; k++)
        map_at(m, &in[k], at, x[k]);
    lw_reduce_emit_combine(&m->b, &m->body, x[0], x[1], x[0]);
    lw_reduce_emit_combine(&m->b, &m->body, x[2], x[3], x[2]);
    lw_reduce_emit_combine(&m->b, &m->body, x[0], x[2], x[0]);
    load(m, to, at, acc);
    lw_reduce_emit_combine(&m->b, &m->body, acc, x[0], acc);
    store(m, to, at, acc);
}

/* Where there are whole groups of columns: these, with the four rows behind them asked for.
 * Gives where the rest begins. */
static lw_ref
groups_of_columns(maker *m, const arrays *in, const arrays *next, const arrays *to)
{
    uint32_t together = run_of_lanes(m->r);
    lw_ref whole = lw_ir_and(&m->b, m->n, i64(m, -(int64_t)together));
    lw_for group = lw_ir_for(&m->b, i64(m, 0), whole, i64(m, together),
                             LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL, 0);
    lw_for loop;

    for (uint32_t k = 0; k < 4; k++)
        lw_reduce_ask_for(m, &next[k], group.i, together, 0);
    loop = lw_ir_for(&m->b, i64(m, 0), i64(m, together), i64(m, 1),
                     LW_LOOP_VECTORIZE | LW_LOOP_NO_UNROLL, 0);
    four_of_column(m, in, to, lw_ir_add(&m->b, group.i, loop.i));
    lw_ir_for_end(&m->b, &loop);
    lw_ir_for_end(&m->b, &group);
    return whole;
}

static lw_status
four_rows(maker *m, bool any_strides, lw_error *err)
{
    lw_ref row_strides, apart, first;
    arrays in[8], to;
    lw_for loop;

    start(m, any_strides ? "lw_rows_strided" : "lw_rows", true);
    row_strides =
        lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "row_strides");
    if (!any_strides)
        m->strides = 0;
    in[0] = operands(m);
    if (m->r->indexed)
        in[0].step[m->r->n_in] = i64(m, 0); /* of the row: one for all columns */
    for (uint32_t k = 1; k < 8; k++) {
        in[k] = in[0];
        for (uint32_t i = 0; i < m->n_operands; i++) {
            apart =
                lw_ir_load(&m->b, LW_DT_i64, 1, lw_ir_offset(&m->b, row_strides, i64(m, 8 * i)),
                           8, LW_MEM_INVARIANT);
            in[k].address[i] =
                lw_ir_offset(&m->b, in[0].address[i], lw_ir_mul(&m->b, apart, i64(m, k)));
        }
    }
    to = accumulators(m);
    first = any_strides ? i64(m, 0) : groups_of_columns(m, in, in + 4, &to);
    loop = lw_ir_for(&m->b, first, m->n, i64(m, 1), LW_LOOP_VECTORIZE, 0);
    four_of_column(m, in, &to, loop.i);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

/* Four groups of elements in a tree, then with the accumulators of their lanes: fewer trips to
 * the accumulators, and shorter chains of roundings. */
static void
lanes_round(maker *m, const arrays *in, const arrays *to, const lw_ref *from, uint32_t n,
            lw_ref lane)
{
    lw_ref x[4][LW_REDUCE_PARTS], acc[LW_REDUCE_PARTS];

    for (uint32_t k = 0; k < n; k++)
        map_at(m, in, from[k], x[k]);
    if (n == 4) {
        lw_reduce_emit_combine(&m->b, &m->body, x[0], x[1], x[0]);
        lw_reduce_emit_combine(&m->b, &m->body, x[2], x[3], x[2]);
        lw_reduce_emit_combine(&m->b, &m->body, x[0], x[2], x[0]);
    }
    load(m, to, lane, acc);
    lw_reduce_emit_combine(&m->b, &m->body, acc, x[0], acc);
    store(m, to, lane, acc);
}

/* Four rows from element `start` on. Each run of lanes takes four neighbouring runs of
 * elements, so that memory is read from front to back: processors fetch ahead of that. */
void
lw_reduce_four_rows(maker *m, const arrays *in, const arrays *to, lw_ref start,
                    uint32_t loop_flags)
{
    uint32_t width = width_of(m->r), together = run_of_lanes(m->r);
    lw_ref from[4], at;
    lw_for group = lw_ir_for(&m->b, i64(m, 0), i64(m, width), i64(m, together),
                             LW_LOOP_NO_VECTORIZE | loop_flags, 0);
    lw_for loop;

    at = lw_ir_add(&m->b, start, lw_ir_mul(&m->b, group.i, i64(m, 4)));
    lw_reduce_ask_for(m, in, at, 4 * together, AHEAD);
    loop = lw_ir_for(&m->b, i64(m, 0), i64(m, together), i64(m, 1),
                     LW_LOOP_VECTORIZE | LW_LOOP_NO_UNROLL, 0);
    for (uint32_t k = 0; k < 4; k++)
        from[k] = lw_ir_add(&m->b, lw_ir_add(&m->b, at, i64(m, k * together)), loop.i);
    lanes_round(m, in, to, from, 4, lw_ir_add(&m->b, group.i, loop.i));
    lw_ir_for_end(&m->b, &loop);
    lw_ir_for_end(&m->b, &group);
}

static void
row_of_lanes(maker *m, const arrays *in, const arrays *to, lw_ref row)
{
    uint32_t width = width_of(m->r);
    lw_for loop = lw_ir_for(&m->b, i64(m, 0), i64(m, width), i64(m, 1),
                            LW_LOOP_VECTORIZE | LW_LOOP_NO_UNROLL, 0);
    lw_ref from = lw_ir_add(&m->b, lw_ir_mul(&m->b, row, i64(m, width)), loop.i);

    lanes_round(m, in, to, &from, 1, loop.i);
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
    loop = lw_ir_for(&m->b, i64(m, 0), whole, i64(m, 4),
                     LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL, 0);
    lw_reduce_four_rows(m, &in, &to, lw_ir_mul(&m->b, loop.i, i64(m, width_of(m->r))),
                        LW_LOOP_NO_UNROLL);
    lw_ir_for_end(&m->b, &loop);
    loop =
        lw_ir_for(&m->b, whole, m->n, i64(m, 1), LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL, 0);
    row_of_lanes(m, &in, &to, loop.i);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

static lw_status
fold(maker *m, lw_error *err)
{
    lw_ref acc[LW_REDUCE_PARTS], x[LW_REDUCE_PARTS];
    arrays in, to;
    slots kept;
    lw_for loop;

    start(m, "lw_fold", true);
    in = operands(m);
    to = accumulators(m);
    kept = slots_new(m);
    load(m, &to, i64(m, 0), acc);
    slots_set(m, &kept, acc);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_NO_VECTORIZE, 0);
    map_at(m, &in, loop.i, x);
    slots_get(m, &kept, acc);
    lw_reduce_emit_combine(&m->b, &m->body, acc, x, acc);
    slots_set(m, &kept, acc);
    lw_ir_for_end(&m->b, &loop);
    slots_get(m, &kept, acc);
    store(m, &to, i64(m, 0), acc);
    return end(m, err);
}

/* Of an operator whose elements may change places, where there are enough of them: chains side
 * by side, which go to the first accumulator. Gives where the rest begins. */
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
    loop = lw_ir_for(&m->b, i64(m, n), whole, i64(m, n), LW_LOOP_NO_VECTORIZE, 0);
    for (uint32_t k = 0; k < n; k++) {
        lw_ref at = lw_ir_add(&m->b, loop.i, i64(m, k));
        map_indexed(m, in, lw_ir_add(&m->b, begin, at), at, x);
        slots_get(m, &chain[k], acc[k]);
        lw_reduce_emit_combine(&m->b, &m->body, acc[k], x, acc[k]);
        slots_set(m, &chain[k], acc[k]);
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

/* One slice, begin and count from the list: its accumulator goes to kept. */
static void
one_slice(maker *m, const arrays *in, lw_ref entry, const slots *kept)
{
    lw_ref acc[LW_REDUCE_PARTS], x[LW_REDUCE_PARTS], begin, count, rest;
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
    loop = lw_ir_for(&m->b, lw_ir_get(&m->b, rest), count, i64(m, 1), LW_LOOP_NO_VECTORIZE, 0);
    map_indexed(m, in, lw_ir_add(&m->b, begin, loop.i), loop.i, x);
    slots_get(m, kept, acc);
    lw_reduce_emit_combine(&m->b, &m->body, acc, x, acc);
    slots_set(m, kept, acc);
    lw_ir_for_end(&m->b, &loop);
}

/* Short slices of one row: what a call for each would cost is more than they are. */
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
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_NO_VECTORIZE, 0);
    one_slice(m, &in, lw_ir_offset(&m->b, list, lw_ir_mul(&m->b, loop.i, i64(m, 16))), &kept);
    slots_get(m, &kept, acc);
    store(m, &to, loop.i, acc);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

static lw_status
merge(maker *m, lw_error *err)
{
    lw_ref x[LW_REDUCE_PARTS], y[LW_REDUCE_PARTS];
    arrays left, right;
    lw_for loop;

    start(m, "lw_merge", false);
    left = contiguous(m, m->r->acc, m->r->n_acc, 0);
    right = contiguous(m, m->r->acc, m->r->n_acc, m->r->n_acc);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_VECTORIZE, 0);
    load(m, &left, loop.i, x);
    load(m, &right, loop.i, y);
    lw_reduce_emit_combine(&m->b, &m->body, x, y, x);
    store(m, &left, loop.i, x);
    lw_ir_for_end(&m->b, &loop);
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
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_VECTORIZE, 0);
    load(m, &from, loop.i, acc);
    lw_reduce_emit_finish(&m->b, &m->body, acc, results);
    store(m, &to, loop.i, results);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

/* ---- all of them ---- */

static lw_status
scan_loops(maker *m, lw_error *err)
{
    lw_status status;

    LW_TRY(slices(m, err));
    LW_TRY(lw_reduce_scan_loops(m, err));
fail:
    return status;
}

static lw_status
other_loops(maker *m, lw_error *err)
{
    lw_status status;

    LW_TRY(seed(m, false, err));
    LW_TRY(seed(m, true, err));
    LW_TRY(columns(m, false, err));
    LW_TRY(columns(m, true, err));
    LW_TRY(four_rows(m, false, err));
    LW_TRY(four_rows(m, true, err));
    LW_TRY(lanes(m, err));
    LW_TRY(fold(m, err));
    LW_TRY(merge(m, err));
    LW_TRY(finish(m, err));
    LW_TRY(lw_reduce_extreme_loops(m, err));
    LW_TRY(lw_reduce_chunk_loops(m, err));
fail:
    return status;
}

static lw_status
make_module(const lw_reduction *r, bool others, bool scans, lw_module **out, lw_error *err)
{
    maker m = {.r = r, .body.reduction = r, .n_operands = r->n_in + r->indexed};
    lw_status status;

    memcpy(m.operand, r->loaded, r->n_in * sizeof *r->loaded);
    m.operand[r->n_in] = LW_DT_i64;
    LW_TRY(lw_reduction_module(r, &m.module, m.body.funcs, err));
    if (others)
        LW_TRY(other_loops(&m, err));
    if (scans)
        LW_TRY(scan_loops(&m, err));
    *out = m.module;
    return LW_OK;
fail:
    lw_module_free(m.module);
    return status;
}

lw_status
lw_reduce_host_module(const lw_reduction *r, lw_module **out, lw_error *err)
{
    return make_module(r, true, true, out, err);
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
find_other_loops(lw_reduce_code *out, lw_error *err)
{
    const loop_place found[] = {{"lw_seed", &out->seed, false},
                                {"lw_seed_strided", &out->seed_strided, false},
                                {"lw_columns", &out->columns, false},
                                {"lw_columns_strided", &out->columns_strided, false},
                                {"lw_rows", &out->rows, false},
                                {"lw_rows_strided", &out->rows_strided, false},
                                {"lw_lanes", &out->lanes, false},
                                {"lw_fold", &out->fold, false},
                                {"lw_merge", &out->merge, false},
                                {"lw_finish", &out->finish, false},
                                {"lw_chunks", &out->chunks, true},
                                {"lw_best", &out->best, true},
                                {"lw_judge", &out->judge, true},
                                {"lw_find", &out->find, true}};

    return find_loops(out->code, found, sizeof found / sizeof *found, err);
}

/* A loop, or more code than what is read between two looks at the clock should have. */
static bool
may_take_long(const lw_scalar *function)
{
    enum { MANY = 1000 };
    uint32_t n = 0;

    for (uint32_t f = 0; function != NULL && f < function->module->funcs.n; f++) {
        const lw_func *func = function->module->funcs.data[f];
        n += func->insts.n;
        for (uint32_t i = 1; i < func->insts.n; i++)
            if (func->insts.data[i].op == LW_OP_LOOP)
                return true;
    }
    return n > MANY;
}

lw_status
lw_reduce_host_build(const lw_reduction *r, const lw_build_options *options,
                     lw_reduce_code *out, lw_build_report *report, lw_error *err)
{
    lw_module *module = NULL;
    lw_status status;

    memset(out, 0, sizeof *out);
    out->n_operands = r->n_in + r->indexed;
    out->width = width_of(r);
    out->costly =
        may_take_long(r->map) || may_take_long(r->combine) || may_take_long(r->finish);
    out->extreme = lw_reduce_extreme_of(r);
    if (out->extreme.kind != LW_REDUCE_NO_EXTREME)
        out->value_size = lw_dtypes[r->acc[out->extreme.part]].size_bytes;
    LW_TRY(make_module(r, true, false, &module, err));
    LW_TRY(lw_build_host(module, options, &out->code, report, err));
    status = find_other_loops(out, err);
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
    const loop_place found[] = {{"lw_scan", &out->scan, false},
                                {"lw_totals", &out->totals, false},
                                {"lw_scan_segments", &out->segments, false},
                                {"lw_slices", &out->slices, false}};
    lw_module *module = NULL;
    lw_status status;

    memset(out, 0, sizeof *out);
    LW_TRY(make_module(r, false, true, &module, err));
    LW_TRY(lw_build_host(module, options, &out->code, report, err));
    status = find_loops(out->code, found, sizeof found / sizeof *found, err);
    if (status != LW_OK) {
        lw_code_unref(out->code);
        out->code = NULL;
    }
fail:
    lw_module_free(module);
    return status;
}

void
lw_reduce_host_drop(lw_reduce_code *code)
{
    lw_code_unref(code->code);
    lw_code_unref(code->scans.code);
    memset(code, 0, sizeof *code);
}
