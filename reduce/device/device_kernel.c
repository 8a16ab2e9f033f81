#include "reduce/device/device_internal.h"

/* ---- parameters ---- */

static void
add_params(maker *m)
{
    const lw_reduce_key *key = m->key;
    uint32_t own = m->n_parts - key->masked; /* parts without the flag */

    assert(!key->slices || !(key->nested || key->folded || key->masked || key->initial));
    m->results = size_param(m, "results");
    m->items = size_param(m, "items");
    m->elements = size_param(m, "elements");
    m->per_block = size_param(m, "per_block");
    m->splits = size_param(m, "splits");
    if (key->head)
        m->head = size_param(m, "head");
    if (key->nested)
        m->inner = size_param(m, "inner");
    if (key->folded)
        m->row = size_param(m, "row");
    if (key->slices) {
        m->n_slices = size_param(m, "n_slices");
        m->inner = size_param(m, "inner");
        m->slices = input_param(m, "slices");
    }
    for (uint32_t i = 0; i < m->r->n_in + key->masked; i++) {
        m->operand[i] = input_param(m, "operand");
        m->kept_step[i] = size_param(m, "kept_step");
        m->step[i] = size_param(m, "step");
        if (key->slices || key->nested)
            m->inner_step[i] = size_param(m, "inner_step");
        if (key->folded)
            m->row_step[i] = size_param(m, "row_step");
    }
    for (uint32_t i = 0; i < m->n_parts; i++)
        m->partial[i] = lw_reduce_param(m, LW_DT_ptr, 0, "partial");
    m->counters = lw_reduce_param(m, LW_DT_ptr, 0, "counters");
    for (uint32_t i = 0; i < m->r->n_out; i++)
        m->out[i] = lw_reduce_param(m, LW_DT_ptr, LW_PARAM_NOALIAS, "out");
    for (uint32_t i = 0; i < own && (key->initial || key->masked); i++)
        m->initial[i] = lw_reduce_param(m, m->part[i], 0, "initial");
    if (key->masked)
        m->initial[own] = i32(m, 1);
}

/* ---- where the thread works ---- */

/* Results are outer × slices × inner; the elements of one begin and end where its slice does.
 */
static void
find_slice(maker *m)
{
    lw_builder *b = &m->b;
    lw_ref rest = lw_ir_div(b, m->result, m->inner), outer = lw_ir_div(b, rest, m->n_slices);
    lw_ref inner = minus(m, m->result, times(m, rest, m->inner));
    lw_ref slice = minus(m, rest, times(m, outer, m->n_slices)), at, begin;

    at = lw_ir_offset(b, m->slices, times(m, slice, i64(m, 16)));
    begin = lw_ir_load(b, LW_DT_i64, 1, at, 0, 0);
    m->elements = lw_ir_load(b, LW_DT_i64, 1, lw_ir_offset(b, at, i64(m, 8)), 0, 0);
    m->items = m->per_block = m->elements;
    for (uint32_t i = 0; i < m->r->n_in; i++) {
        lw_ref bytes =
            add(m, times(m, outer, m->kept_step[i]), times(m, inner, m->inner_step[i]));
        bytes = add(m, bytes, times(m, begin, m->step[i]));
        m->operand[i] = lw_ir_offset(b, m->operand[i], bytes);
    }
}

lw_ref
lw_reduce_bytes_of(maker *m, lw_ref number, lw_ref row, lw_ref row_step, lw_ref step)
{
    lw_builder *b = &m->b;
    lw_ref at = lw_ir_div(b, lw_ir_cast(b, LW_DT_u32, number), lw_ir_cast(b, LW_DT_u32, row));
    lw_ref within;

    at = lw_ir_cast(b, LW_DT_i64, at);
    within = minus(m, number, times(m, at, row));
    return add(m, times(m, at, row_step), times(m, within, step));
}

lw_ref
lw_reduce_begin_of(maker *m, uint32_t operand, lw_ref result)
{
    lw_ref bytes = m->key->nested
                       ? lw_reduce_bytes_of(m, result, m->inner, m->kept_step[operand],
                                            m->inner_step[operand])
                       : times(m, result, m->kept_step[operand]);

    return lw_ir_offset(&m->b, m->operand[operand], bytes);
}

/* Which lane of which result this thread is. */
static void
find_place(maker *m)
{
    lw_builder *b = &m->b;
    uint32_t lanes = m->key->lanes_log2, results = m->key->results_log2;
    uint32_t first_log2 = m->key->columns ? results : lanes; /* neighbours of the same kind */
    lw_ref first, rest;

    m->place = m->lane = m->tid = register_of(m, LW_SREG_TID_X);
    m->split = register_of(m, LW_SREG_CTAID_Y);
    m->result = register_of(m, LW_SREG_CTAID_X);
    if (results > 0) {
        first = low(m, m->tid, INT64_C(1) << first_log2);
        rest = lw_ir_shr(b, m->tid, i64(m, first_log2));
        m->lane = m->key->columns ? rest : first;
        m->result = lw_ir_shl(b, m->result, i64(m, results));
        m->result = add(m, m->result, m->key->columns ? first : rest);
    }
    m->is_valid = lw_ir_int(b, LW_DT_b1, 1);
    if (n_results(m) > 1)
        m->result = times(m, m->result, i64(m, n_results(m)));
    if (results > 0) { /* the others work on the last results, and store nothing */
        m->is_valid = is_less(m, m->result, m->results);
        m->result = smaller(m, m->result, minus(m, m->results, i64(m, n_results(m))));
    }
    if (m->key->slices) {
        find_slice(m);
        return;
    }
    for (uint32_t i = 0; i < m->r->n_in + m->key->masked; i++)
        m->operand[i] = lw_reduce_begin_of(m, i, m->result);
}

/* ---- results ---- */

void
lw_reduce_store_result(maker *m, lw_ref *acc, lw_ref result)
{
    acc_parts results = {0};
    uint32_t at = 0;

    if (m->key->initial)
        lw_reduce_combine(m, m->initial, acc, acc);
    else if (m->key->masked)
        for (uint32_t i = 0; i < m->n_parts - 1; i++)
            acc[i] = lw_ir_select(&m->b, is_set(m, acc[m->n_parts - 1]), acc[i], m->initial[i]);
    lw_reduce_emit_finish(&m->b, &m->body, acc, results);
    for (uint32_t i = 0; i < m->r->n_out; i++) {
        lw_dtype dtype = m->r->out[i];
        lw_ref bytes = times(m, result, i64(m, lw_dtypes[dtype].size_bytes));
        lw_ir_store_parts(&m->b, dtype, lw_ir_offset(&m->b, m->out[i], bytes), results + at);
        at += lw_dtype_n_parts(dtype);
    }
}

static void
deliver(maker *m)
{
    acc_parts acc = {0};

    lw_ir_if(&m->b, lw_reduce_is_first_lane(m));
    for (uint32_t v = 0; v < n_results(m); v++) {
        get(m, m->slot[v], acc);
        lw_reduce_store_result(m, acc, add(m, m->result, i64(m, v)));
    }
    lw_ir_end(&m->b);
}

/* ---- the kernel ---- */

static void
add_memory(maker *m)
{
    uint32_t threads = 1u << (m->key->lanes_log2 + m->key->results_log2);

    for (uint32_t i = 0; i < m->n_parts; i++) {
        uint32_t size = lw_dtypes[m->part[i]].size_bytes;
        m->shared[i] = lw_ir_shared(&m->b, n_results(m) * threads * size, 16);
        for (uint32_t v = 0; v < n_results(m); v++) {
            m->slot[v][i] = lw_ir_slot(&m->b, m->part[i]);
            lw_ir_set(&m->b, m->slot[v][i], lw_ir_zero(&m->b, m->part[i]));
        }
        if (m->key->masked)
            m->joined[i] = lw_ir_slot(&m->b, m->part[i]);
    }
}

/* Combines the lanes of each block, and then, in the last of a result's `splits` blocks, what
 * all of them have left. That takes at most two iterations of one loop, as two texts would take
 * twice as long to compile. */
static void
join(maker *m, lane_range range)
{
    lw_builder *b = &m->b;
    lw_dtype type = lw_ir_type(b, range.n);
    lw_ref n = lw_ir_slot(b, type), each = lw_ir_slot(b, type);
    lw_ref blocks = lw_ir_slot(b, LW_DT_i32), splits; /* that are not yet combined */
    bool skips = m->key->best && !m->key->columns;    /* the lanes are combined already */

    lw_ir_set(b, blocks, lw_ir_cast(b, LW_DT_i32, m->splits));
    lw_ir_set(b, n, skips ? lw_ir_zero(b, type) : range.n);
    lw_ir_set(b, each, range.each);
    lw_ir_loop(b, LW_LOOP_NO_UNROLL | LW_LOOP_NO_VECTORIZE);
    range.n = lw_ir_get(b, n);
    range.each = lw_ir_get(b, each);
    if (skips)
        lw_ir_if(b, lw_ir_compare(b, LW_OP_GT, range.n, lw_ir_zero(b, type)));
    lw_reduce_join_lanes(m, &range);
    if (skips)
        lw_ir_end(b);
    splits = lw_ir_get(b, blocks);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_EQ, splits, i32(m, 1)));
    deliver(m);
    lw_ir_break(b, 0);
    lw_ir_end(b);
    range = lw_reduce_meet(m, splits);
    lw_ir_set(b, n, lw_ir_cast(b, type, range.n));
    lw_ir_set(b, each, lw_ir_cast(b, type, range.each));
    lw_ir_set(b, blocks, i32(m, 1));
    lw_ir_latch(b);
    lw_ir_end(b);
}

static void
reduce_block(maker *m, access *from)
{
    lane_range range;

    add_memory(m);
    find_place(m);
    range = m->key->narrow  ? lw_reduce_take_narrow(m, from)
            : m->key->best  ? lw_reduce_take_best(m, from)
            : m->key->piece ? lw_reduce_take_in_order(m, from)
                            : lw_reduce_take(m, from);
    join(m, range);
}

static void
emit_kernel(maker *m)
{
    access *from = lw_arena_take(&m->module->arena, MOST_ACCESSES * sizeof *from);

    if (from == NULL) /* some 20 KB; lw_ir_finish tells of it */
        return;
    add_params(m);
    if (m->key->rows)
        lw_reduce_short_rows(m, from);
    else
        reduce_block(m, from);
}

lw_status
lw_reduce_device_module(const lw_reduction *r, const lw_reduce_key *key, const char *symbol,
                        int max_registers, lw_module **out, lw_error *err)
{
    assert(!key->scan);
    return lw_reduce_make_kernel(r, key, symbol, max_registers, emit_kernel, out, err);
}
