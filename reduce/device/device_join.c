#include "core/block/shuffle.h"
#include "reduce/device/device_kernel_parts.h"

static void
fence(maker *m)
{
    lw_ir_kernel_call(&m->k.b, LW_KOP_fence_order, LW_DT_void, NULL, 0);
}

/* ---- lanes into one ---- */

/* The slots of `n` neighbouring lanes of a warp, which are of `many` lanes each, into that of
 * the first. */
static void
join_warp(maker *m, int64_t n, lw_ref lane, int64_t many, const lane_range *range)
{
    lw_builder *b = &m->k.b;
    lw_ref acc[LW_REDUCE_PARTS] = {0}, other[LW_REDUCE_PARTS] = {0};

    for (int64_t apart = 1; apart < n; apart *= 2) {
        get(&m->k, m->slot[0], acc);
        for (uint32_t i = 0; i < m->k.n_parts; i++)
            other[i] = lw_warp_shuffle(&m->k.b, LW_KOP_shfl_xor, acc[i], i32(m, apart));
        /* what the other lanes make is not used */
        lw_ir_if(b, has_element(m, range,
                                lw_ir_mul(b, lw_ir_add(b, lane, i64(m, apart)), i64(m, many))));
        combine(m, acc, other, acc);
        set(&m->k, m->slot[0], acc);
        lw_ir_end(b);
    }
}

/* Lanes that are neighbouring threads: warps by shuffles, then what they made. */
static void
join_neighbours(maker *m, const lane_range *range)
{
    lw_builder *b = &m->k.b;
    int64_t lanes = INT64_C(1) << m->k.key->lanes_log2, warps = lanes / 32;
    lw_ref acc[LW_REDUCE_PARTS] = {0}, lane = lw_ir_and(b, m->lane, i64(m, 31)), at;

    join_warp(m, lanes < 32 ? lanes : 32, m->lane, 1, range);
    if (warps <= 1)
        return;
    lw_ir_if(b, lw_ir_compare(b, LW_OP_EQ, lane, i64(m, 0)));
    get(&m->k, m->slot[0], acc);
    store_parts(&m->k, m->shared, lw_ir_shr(b, m->tid, i64(m, 5)), acc);
    lw_ir_end(b);
    barrier(&m->k);
    at = lw_ir_shr(b, lw_ir_sub(b, m->tid, m->lane), i64(m, 5));
    at = lw_ir_add(b, at, smaller(&m->k, lane, i64(m, warps - 1)));
    load_parts(&m->k, m->shared, at, acc);
    set(&m->k, m->slot[0], acc);
    join_warp(m, warps, lane, 32, range);
}

void
lw_reduce_join_lanes(maker *m, const lane_range *range)
{
    lw_builder *b = &m->k.b;
    uint32_t threads = 1u << (m->k.key->lanes_log2 + m->k.key->results_log2);
    lw_ref acc[LW_REDUCE_PARTS] = {0}, other[LW_REDUCE_PARTS] = {0}, reads;

    if (m->k.key->lanes_log2 == 0)
        return;
    if (!m->k.key->columns) {
        join_neighbours(m, range);
        return;
    }
    for (uint32_t v = 0; v < n_results(m); v++) {
        get(&m->k, m->slot[v], acc);
        store_parts(&m->k, m->shared, lw_ir_add(b, m->place, i64(m, v * threads)), acc);
    }
    for (int64_t apart = 1; apart < INT64_C(1) << m->k.key->lanes_log2; apart *= 2) {
        barrier(&m->k);
        reads =
            lw_ir_compare(b, LW_OP_EQ, lw_ir_and(b, m->lane, i64(m, 2 * apart - 1)), i64(m, 0));
        reads =
            lw_ir_and(b, reads, has_element(m, range, lw_ir_add(b, m->lane, i64(m, apart))));
        lw_ir_if(b, reads);
        for (uint32_t v = 0; v < n_results(m); v++) {
            lw_ref place = lw_ir_add(b, m->place, i64(m, v * threads));
            int64_t far = apart << m->k.key->results_log2;
            load_parts(&m->k, m->shared, lw_ir_add(b, place, i64(m, far)), other);
            get(&m->k, m->slot[v], acc);
            combine(m, acc, other, acc);
            set(&m->k, m->slot[v], acc);
            store_parts(&m->k, m->shared, place, acc);
        }
        lw_ir_end(b);
    }
}

lw_ref
lw_reduce_is_first_lane(maker *m)
{
    return lw_ir_and(&m->k.b, m->is_valid,
                     lw_ir_compare(&m->k.b, LW_OP_EQ, m->lane, i64(m, 0)));
}

/* ---- blocks into one ---- */

/* Where block `split` of a result leaves what it made: neighbouring results lie side by side.
 */
static lw_ref
partial_at(maker *m, lw_ref split, uint32_t v)
{
    lw_builder *b = &m->k.b;

    return lw_ir_add(b, lw_ir_mul(b, split, m->results), lw_ir_add(b, m->result, i64(m, v)));
}

/* Every block but the last to come is done; that one goes on inside the IF that this opens. The
 * first thread fences for all: barriers are between it and the others. */
static void
meet(maker *m)
{
    lw_builder *b = &m->k.b;
    lw_ref acc[LW_REDUCE_PARTS] = {0}, limit, old, counter;

    lw_ir_if(b, lw_reduce_is_first_lane(m));
    for (uint32_t v = 0; v < n_results(m); v++) {
        get(&m->k, m->slot[v], acc);
        store_parts(&m->k, m->partial, partial_at(m, m->split, v), acc);
    }
    lw_ir_end(b);
    if (m->k.key->results_log2 > 0) /* others than the first store, too */
        barrier(&m->k);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_EQ, m->tid, i64(m, 0)));
    fence(m);
    limit = lw_ir_cast(b, LW_DT_u32, lw_ir_sub(b, m->splits, i64(m, 1)));
    counter = lw_ir_offset(b, m->counters,
                           lw_ir_mul(b, register_of(&m->k, LW_SREG_CTAID_X), i64(m, 4)));
    old = lw_ir_atomic(b, LW_ATOMIC_INC, counter, &limit, 1);
    fence(m);
    lw_ir_store(b, m->flag,
                lw_ir_select(b, lw_ir_compare(b, LW_OP_EQ, old, limit),
                             lw_ir_int(b, LW_DT_i32, 1), lw_ir_int(b, LW_DT_i32, 0)),
                0, 0);
    lw_ir_end(b);
    barrier(&m->k);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_NE, lw_ir_load(b, LW_DT_i32, 1, m->flag, 0, 0),
                              lw_ir_int(b, LW_DT_i32, 0)));
}

/* `count` numbers that blocks left, from `at` on: all are asked for before the first is used.
 */
static void
take_partials(maker *m, uint32_t v, lw_ref at, lw_ref last)
{
    enum { COUNT = 4 };
    lw_builder *b = &m->k.b;
    lw_ref acc[LW_REDUCE_PARTS] = {0}, x[COUNT][LW_REDUCE_PARTS], k;

    for (uint32_t i = 0; i < COUNT; i++) {
        k = smaller(&m->k, lw_ir_add(b, at, i64(m, i)), lw_ir_sub(b, last, i64(m, 1)));
        load_parts(&m->k, m->partial, partial_at(m, k, v), x[i]);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        k = lw_ir_compare(b, LW_OP_LT, lw_ir_add(b, at, i64(m, i)), last);
        get(&m->k, m->slot[v], acc);
        combine(m, acc, x[i], x[i]);
        for (uint32_t p = 0; p < m->k.n_parts; p++)
            lw_ir_set(b, m->slot[v][p], lw_ir_select(b, k, x[i][p], acc[p]));
    }
}

/* What the blocks of a result made, in their order. */
void
lw_reduce_join_blocks(maker *m)
{
    lw_builder *b = &m->k.b;
    lw_ref x[LW_REDUCE_PARTS] = {0};
    lane_range range;
    lw_for loop;

    meet(m);
    range = lw_reduce_lane_of(m, i64(m, 0), m->splits, true);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, range.first, range.last));
    for (uint32_t v = 0; v < n_results(m); v++) {
        load_parts(&m->k, m->partial, partial_at(m, range.first, v), x);
        set(&m->k, m->slot[v], x);
    }
    loop = lw_ir_for(b, lw_ir_add(b, range.first, i64(m, 1)), range.last, i64(m, 4),
                     LW_LOOP_NO_UNROLL, 0);
    for (uint32_t v = 0; v < n_results(m); v++)
        take_partials(m, v, loop.i, range.last);
    lw_ir_for_end(b, &loop);
    lw_ir_end(b);
    lw_reduce_join_lanes(m, &range);
}
