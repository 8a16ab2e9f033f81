#include "reduce/device/device_kernel_parts.h"

/* ---- parameters ---- */

static void
add_params(maker *m)
{
    const lw_reduction *r = m->k.r;

    m->results = param(&m->k, LW_DT_i64, 0, "results");
    m->items = param(&m->k, LW_DT_i64, 0, "items");
    m->elements = param(&m->k, LW_DT_i64, 0, "elements");
    m->per_block = param(&m->k, LW_DT_i64, 0, "per_block");
    m->splits = param(&m->k, LW_DT_i64, 0, "splits");
    if (m->k.key->nested)
        m->inner = param(&m->k, LW_DT_i64, 0, "inner");
    if (m->k.key->folded)
        m->row = param(&m->k, LW_DT_i64, 0, "row");
    if (m->k.key->slices) {
        m->n_slices = param(&m->k, LW_DT_i64, 0, "n_slices");
        m->inner = param(&m->k, LW_DT_i64, 0, "inner");
        m->slices = param(&m->k, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "slices");
    }
    for (uint32_t i = 0; i < r->n_in + m->k.key->masked; i++) {
        m->operand[i] =
            param(&m->k, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "operand");
        m->kept_step[i] = param(&m->k, LW_DT_i64, 0, "kept_step");
        m->step[i] = param(&m->k, LW_DT_i64, 0, "step");
        if (m->k.key->slices || m->k.key->nested)
            m->inner_step[i] = param(&m->k, LW_DT_i64, 0, "inner_step");
        if (m->k.key->folded)
            m->row_step[i] = param(&m->k, LW_DT_i64, 0, "row_step");
    }
    for (uint32_t i = 0; i < m->k.n_parts; i++)
        m->partial[i] = param(&m->k, LW_DT_ptr, 0, "partial");
    m->counters = param(&m->k, LW_DT_ptr, 0, "counters");
    for (uint32_t i = 0; i < r->n_out; i++)
        m->out[i] = param(&m->k, LW_DT_ptr, LW_PARAM_NOALIAS, "out");
    for (uint32_t i = 0;
         i < m->k.n_parts - m->k.key->masked && (m->k.key->initial || m->k.key->masked); i++)
        m->initial[i] = param(&m->k, m->k.part[i], 0, "initial");
    if (m->k.key->masked)
        m->initial[m->k.n_parts - 1] = lw_ir_int(&m->k.b, LW_DT_i32, 1);
}

/* Results are outer × slices × inner; the elements of one begin and end where its slice does.
 */
static void
find_slice(maker *m)
{
    lw_builder *b = &m->k.b;
    lw_ref rest = lw_ir_div(b, m->result, m->inner), outer = lw_ir_div(b, rest, m->n_slices);
    lw_ref inner = lw_ir_sub(b, m->result, lw_ir_mul(b, rest, m->inner));
    lw_ref slice = lw_ir_sub(b, rest, lw_ir_mul(b, outer, m->n_slices)), at, begin;

    at = lw_ir_offset(b, m->slices, lw_ir_mul(b, slice, i64(m, 16)));
    begin = lw_ir_load(b, LW_DT_i64, 1, at, 0, 0);
    m->elements = lw_ir_load(b, LW_DT_i64, 1, lw_ir_offset(b, at, i64(m, 8)), 0, 0);
    m->items = m->per_block = m->elements;
    for (uint32_t i = 0; i < m->k.r->n_in; i++) {
        lw_ref bytes = lw_ir_add(b, lw_ir_mul(b, outer, m->kept_step[i]),
                                 lw_ir_mul(b, inner, m->inner_step[i]));
        bytes = lw_ir_add(b, bytes, lw_ir_mul(b, begin, m->step[i]));
        m->operand[i] = lw_ir_offset(b, m->operand[i], bytes);
    }
}

lw_ref
lw_reduce_bytes_of(maker *m, lw_ref number, lw_ref row, lw_ref row_step, lw_ref step)
{
    lw_builder *b = &m->k.b;
    lw_ref at = lw_ir_div(b, lw_ir_cast(b, LW_DT_u32, number), lw_ir_cast(b, LW_DT_u32, row));
    lw_ref within;

    at = lw_ir_cast(b, LW_DT_i64, at);
    within = lw_ir_sub(b, number, lw_ir_mul(b, at, row));
    return lw_ir_add(b, lw_ir_mul(b, at, row_step), lw_ir_mul(b, within, step));
}

lw_ref
lw_reduce_begin_of(maker *m, uint32_t operand, lw_ref result)
{
    lw_ref bytes = m->k.key->nested
                       ? lw_reduce_bytes_of(m, result, m->inner, m->kept_step[operand],
                                            m->inner_step[operand])
                       : lw_ir_mul(&m->k.b, result, m->kept_step[operand]);

    return lw_ir_offset(&m->k.b, m->operand[operand], bytes);
}

/* Which lane of which result this thread is. */
static void
find_place(maker *m)
{
    lw_builder *b = &m->k.b;
    uint32_t lanes = m->k.key->lanes_log2, results = m->k.key->results_log2;
    lw_ref low = i64(m, m->k.key->columns ? results : lanes), in_block, first;

    m->tid = register_of(&m->k, LW_SREG_TID_X);
    first =
        lw_ir_and(b, m->tid, i64(m, (INT64_C(1) << (m->k.key->columns ? results : lanes)) - 1));
    m->lane = m->k.key->columns ? lw_ir_shr(b, m->tid, low) : first;
    in_block = m->k.key->columns ? first : lw_ir_shr(b, m->tid, low);
    m->place = m->tid;
    m->split = register_of(&m->k, LW_SREG_CTAID_Y);
    m->result = lw_ir_add(b, lw_ir_shl(b, register_of(&m->k, LW_SREG_CTAID_X), i64(m, results)),
                          in_block);
    if (n_results(m) > 1)
        m->result = lw_ir_mul(b, m->result, i64(m, n_results(m)));
    m->is_valid = lw_ir_compare(b, LW_OP_LT, m->result, m->results);
    /* the others work on the last results, and store nothing */
    m->result = smaller(&m->k, m->result, lw_ir_sub(b, m->results, i64(m, n_results(m))));
    if (m->k.key->slices) {
        find_slice(m);
        return;
    }
    for (uint32_t i = 0; i < m->k.r->n_in + m->k.key->masked; i++)
        m->operand[i] = lw_reduce_begin_of(m, i, m->result);
}

/* An accumulator as result number `result`. */
void
lw_reduce_store_result(maker *m, lw_ref *acc, lw_ref result)
{
    lw_ref results[LW_REDUCE_PARTS] = {0};
    uint32_t at = 0;

    if (m->k.key->initial)
        combine(m, m->initial, acc, acc);
    else if (m->k.key->masked)
        for (uint32_t i = 0; i < m->k.n_parts - 1; i++)
            acc[i] =
                lw_ir_select(&m->k.b, is_set(m, acc[m->k.n_parts - 1]), acc[i], m->initial[i]);
    lw_reduce_emit_finish(&m->k.b, &m->k.body, acc, results);
    for (uint32_t i = 0; i < m->k.r->n_out; i++) {
        lw_dtype dtype = m->k.r->out[i];
        lw_ref address =
            lw_ir_offset(&m->k.b, m->out[i],
                         lw_ir_mul(&m->k.b, result, i64(m, lw_dtypes[dtype].size_bytes)));
        lw_reduce_emit_store(&m->k.b, dtype, address, results + at);
        at += (uint32_t)lw_reduce_parts(dtype);
    }
}

static void
deliver(maker *m)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0};

    lw_ir_if(&m->k.b, lw_reduce_is_first_lane(m));
    for (uint32_t v = 0; v < n_results(m); v++) {
        get(&m->k, m->slot[v], acc);
        lw_reduce_store_result(m, acc, lw_ir_add(&m->k.b, m->result, i64(m, v)));
    }
    lw_ir_end(&m->k.b);
}

/* ---- the kernel ---- */

uint32_t
lw_reduce_device_parts(const lw_reduction *r, bool masked, lw_dtype *parts)
{
    uint32_t n = lw_reduce_acc_parts(r, parts);

    if (masked)
        parts[n++] = LW_DT_i32;
    return n;
}

static void
start(maker *m, const char *symbol)
{
    if (!begin(&m->k, symbol))
        return;
    m->k.n_parts = lw_reduce_device_parts(m->k.r, m->k.key->masked, m->k.part);
    if (!m->k.key->simulated)
        m->k.b.func->max_threads = 1u << (m->k.key->lanes_log2 + m->k.key->results_log2);
    add_params(m);
}

static void
add_memory(maker *m)
{
    uint32_t threads = 1u << (m->k.key->lanes_log2 + m->k.key->results_log2);

    for (uint32_t i = 0; i < m->k.n_parts; i++) {
        uint32_t size = lw_dtypes[m->k.part[i]].size_bytes;
        m->shared[i] = lw_ir_shared(&m->k.b, n_results(m) * threads * size, 16);
        for (uint32_t v = 0; v < n_results(m); v++) {
            m->slot[v][i] = lw_ir_slot(&m->k.b, m->k.part[i]);
            lw_ir_set(&m->k.b, m->slot[v][i], lw_ir_zero(&m->k.b, m->k.part[i]));
        }
        if (m->k.key->masked)
            m->joined[i] = lw_ir_slot(&m->k.b, m->k.part[i]);
    }
    m->flag = lw_ir_shared(&m->k.b, 4, 4);
}

static lw_status
kernel(maker *m, const char *symbol, lw_error *err)
{
    access *from =
        lw_arena_take(&m->k.module->arena, MOST_ACCESSES * sizeof *from); /* some 20 KB */
    lane_range range;

    if (from == NULL)
        return lw_fail_memory(err);
    start(m, symbol);
    if (m->k.b.func == NULL)
        return lw_fail_memory(err);
    if (m->k.key->rows) {
        lw_reduce_short_rows(m, from);
        return finish_kernel(&m->k, err);
    }
    add_memory(m);
    find_place(m);
    range = m->k.key->narrow ? lw_reduce_take_narrow(m, from) : lw_reduce_take(m, from);
    lw_reduce_join_lanes(m, &range);
    lw_ir_if(&m->k.b, lw_ir_compare(&m->k.b, LW_OP_EQ, m->splits, i64(m, 1)));
    deliver(m);
    lw_ir_else(&m->k.b);
    lw_reduce_join_blocks(m);
    deliver(m);
    lw_ir_end(&m->k.b);
    lw_ir_end(&m->k.b);
    return finish_kernel(&m->k, err);
}

lw_status
lw_reduce_device_module(const lw_reduction *r, const lw_reduce_key *key, const char *symbol,
                        lw_module **out, lw_error *err)
{
    maker m = {.k = {.r = r, .key = key, .body.reduction = r}};
    lw_status status;

    LW_TRY(lw_reduction_module(r, &m.k.module, m.k.body.funcs, err));
    LW_TRY(kernel(&m, symbol, err));
    *out = m.k.module;
    return LW_OK;
fail:
    lw_module_free(m.k.module);
    return status;
}
