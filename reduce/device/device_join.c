/* How partial accumulators become results. The lanes of a result are combined in a tree of
 * neighbours, by shuffles or in shared memory. Where the elements of a result are split over
 * blocks, each block leaves its accumulator in device memory, and the last block to arrive
 * combines them in the order of the blocks. */
#include "core/base/divider.h"
#include "core/block/shuffle.h"
#include "reduce/device/device_internal.h"

enum {
    MOST_LOADED = 4,       /* numbers of blocks' accumulators that are loaded at a time, … */
    MOST_LOADED_BYTES = 64 /* … and bytes of these, where a thread has several results */
};

static void
fence(maker *m)
{
    lw_ir_kernel_call(&m->b, LW_KOP_fence_order, LW_DT_void, NULL, 0);
}

/* ---- lanes ---- */

/* Combines the slots of `n` neighbouring lanes of a warp into that of the first, where `has`
 * tells for each lane of the warp whether its slot has an element. */
static void
join_warp(maker *m, int64_t n, lw_ref has)
{
    lw_builder *b = &m->b;
    lw_ref within = lw_ir_cast(b, LW_DT_i32, low(m, m->tid, WARP)), others;
    acc_parts acc = {0}, other = {0};

    assert(n >= 1 && n <= WARP);
    others = lw_ir_kernel_call(b, LW_KOP_ballot, LW_DT_i32, (lw_ref[]){i32(m, -1), has}, 2);
    others = lw_ir_shr(b, others, within); /* bit k: lane `within` + k */
    for (int64_t apart = 1; apart < n; apart *= 2) {
        get(m, m->slot[0], acc);
        for (uint32_t i = 0; i < m->n_parts; i++)
            other[i] = lw_warp_shuffle(&m->b, LW_KOP_shfl_xor, acc[i], i32(m, apart));
        /* only the first lane's accumulator is used in the end */
        lw_ir_if(b, is_set(m, lw_ir_and(b, others, i32(m, INT64_C(1) << apart))));
        lw_reduce_combine(m, acc, other, acc);
        set(m, m->slot[0], acc);
        lw_ir_end(b);
    }
}

/* The lanes of a result are neighbouring threads: those of a warp are combined by shuffles,
 * then the warps' accumulators are, by way of shared memory. */
static void
join_neighbours(maker *m, const lane_range *range)
{
    lw_builder *b = &m->b;
    int64_t lanes = INT64_C(1) << m->key->lanes_log2, warps = lanes / WARP;
    acc_parts acc = {0};
    lw_ref lane = low(m, m->lane, WARP), at;

    wait_for_warp(m); /* without it ptxas takes lanes for diverged, and shuffles get long */
    join_warp(m, lanes < WARP ? lanes : WARP, has_element(m, range, m->lane));
    if (warps <= 1)
        return;
    lw_ir_if(b, is_equal(m, lane, 0));
    get(m, m->slot[0], acc);
    store_parts(m, m->shared, lw_ir_shr(b, m->tid, i64(m, 5)), acc);
    lw_ir_end(b);
    lw_ir_barrier(&m->b);
    at = lw_ir_shr(b, minus(m, m->tid, m->lane), i64(m, 5));
    at = add(m, at, smaller(m, lane, i64(m, warps - 1)));
    load_parts(m, m->shared, at, acc);
    set(m, m->slot[0], acc);
    join_warp(m, warps, has_element(m, range, times(m, lane, i64(m, WARP))));
}

void
lw_reduce_join_lanes(maker *m, const lane_range *range)
{
    lw_builder *b = &m->b;
    uint32_t threads = 1u << (m->key->lanes_log2 + m->key->results_log2);
    acc_parts acc = {0}, other = {0};
    lw_ref reads;

    if (m->key->lanes_log2 == 0)
        return;
    if (!m->key->columns) {
        join_neighbours(m, range);
        return;
    }
    for (uint32_t v = 0; v < n_results(m); v++) {
        get(m, m->slot[v], acc);
        store_parts(m, m->shared, add(m, m->place, i64(m, v * threads)), acc);
    }
    for (int64_t apart = 1; apart < INT64_C(1) << m->key->lanes_log2; apart *= 2) {
        lw_ir_barrier(&m->b);
        reads =
            lw_ir_compare(b, LW_OP_EQ, lw_ir_and(b, m->lane, i64(m, 2 * apart - 1)), i64(m, 0));
        reads = both(m, reads, has_element(m, range, add(m, m->lane, i64(m, apart))));
        lw_ir_if(b, reads);
        for (uint32_t v = 0; v < n_results(m); v++) {
            lw_ref place = add(m, m->place, i64(m, v * threads));
            int64_t far = apart << m->key->results_log2;
            load_parts(m, m->shared, add(m, place, i64(m, far)), other);
            get(m, m->slot[v], acc);
            lw_reduce_combine(m, acc, other, acc);
            set(m, m->slot[v], acc);
            store_parts(m, m->shared, place, acc);
        }
        lw_ir_end(b);
    }
}

lw_ref
lw_reduce_is_first_lane(maker *m)
{
    return both(m, m->is_valid, is_equal(m, m->lane, 0));
}

/* ---- blocks ---- */

/* The number of the accumulator that block `split` leaves for the thread's result v: those of
 * neighbouring results are neighbours in memory. It is computed in 32 bits, which suffice: see
 * choose_splits. */
static lw_ref
partial_at(maker *m, lw_ref split, uint32_t v)
{
    lw_builder *b = &m->b;
    lw_ref at = lw_ir_mul_no_wrap(b, split, lw_ir_cast(b, LW_DT_i32, m->results));

    at = lw_ir_add_no_wrap(b, at, lw_ir_cast(b, LW_DT_i32, m->result));
    return lw_ir_cast(b, LW_DT_i64, lw_ir_add_no_wrap(b, at, i32(m, v)));
}

/* Stores the block's accumulators in device memory, and breaks out of the open loop unless this
 * is the last block to arrive. The first thread of a block fences for all of them, as barriers
 * lie between its fences and what the others do. */
static void
leave_partials(maker *m, lw_ref splits)
{
    lw_builder *b = &m->b;
    acc_parts acc = {0};
    lw_ref is_last = lw_ir_slot(b, LW_DT_b1), limit, old, counter, arrived;

    lw_ir_if(b, lw_reduce_is_first_lane(m));
    for (uint32_t v = 0; v < n_results(m); v++) {
        get(m, m->slot[v], acc);
        store_parts(m, m->partial, partial_at(m, lw_ir_cast(b, LW_DT_i32, m->split), v), acc);
    }
    lw_ir_end(b);
    if (m->key->results_log2 > 0) /* threads other than the first have stored, too */
        lw_ir_barrier(&m->b);
    lw_ir_set(b, is_last, lw_ir_int(b, LW_DT_b1, 0));
    lw_ir_if(b, is_equal(m, m->tid, 0));
    fence(m);
    limit = lw_ir_bitcast(b, LW_DT_u32, lw_ir_sub(b, splits, i32(m, 1)));
    counter =
        lw_ir_offset(b, m->counters, times(m, register_of(m, LW_SREG_CTAID_X), i64(m, 4)));
    old = lw_ir_atomic(b, LW_ATOMIC_INC, counter, &limit, 1);
    fence(m);
    lw_ir_set(b, is_last, lw_ir_compare(b, LW_OP_EQ, old, limit));
    lw_ir_end(b);
    arrived = lw_ir_get(b, is_last);
    arrived = lw_ir_kernel_call(b, LW_KOP_barrier_or, LW_DT_i32, &arrived, 1);
    lw_ir_if(b, lw_ir_not(b, is_set(m, arrived)));
    lw_ir_break(b, 0);
    lw_ir_end(b);
}

/* How many blocks' accumulators are loaded at a time, so that their waits overlap. Those of
 * several numbers take long to combine, and a lane has few of them, so that combinations of
 * what lies behind the last one would cost more than waiting for loads; and they may take no
 * more registers than the rest of the kernel. */
static uint32_t
n_partials(const maker *m)
{
    uint32_t most = MOST_LOADED / m->n_parts;

    if (n_results(m) > 1)
        most = lw_least(most, MOST_LOADED_BYTES /
                                  (n_results(m) * lw_reduce_device_bytes(m->r, m->key)));
    return most > 1 ? most : 1;
}

/* Loads what block `split` has left for the thread's results: one number each as vectors, since
 * those of neighbouring results are neighbours. */
static void
load_partials(maker *m, lw_ref split, acc_parts *x)
{
    uint32_t n = n_results(m), size = lw_dtypes[m->part[0]].size_bytes;
    uint32_t width = n * size < 16 ? n : 16 / size;

    if (m->n_parts > 1 || n == 1) {
        for (uint32_t v = 0; v < n; v++)
            load_parts(m, m->partial, partial_at(m, split, v), x[v]);
        return;
    }
    for (uint32_t v = 0; v < n; v += width) {
        lw_ref address = at_part(m, m->partial, 0, partial_at(m, split, v));
        lw_ref all = lw_ir_load(&m->b, lw_dtype_memory_part(m->part[0]), width, address,
                                width * size, 0);
        for (uint32_t k = 0; k < width; k++)
            x[v + k][0] = lw_reduce_lane_of_access(m, m->part[0], all, k);
    }
}

/* Combines the accumulators of some blocks, from block `at` on, into the results. All loads
 * come before the first use. */
static void
take_partials(maker *m, lw_ref at, lw_ref last)
{
    lw_builder *b = &m->b;
    uint32_t count = n_partials(m);
    acc_parts acc = {0}, x[MOST_LOADED][MOST_VECTOR] = {{{0}}};
    lw_ref k;

    for (uint32_t i = 0; i < count; i++) {
        k = smaller(m, lw_ir_add(b, at, i32(m, i)), lw_ir_sub(b, last, i32(m, 1)));
        load_partials(m, k, x[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        k = is_less(m, lw_ir_add(b, at, i32(m, i)), last);
        for (uint32_t v = 0; v < n_results(m); v++) {
            get(m, m->slot[v], acc);
            lw_reduce_combine(m, acc, x[i][v], x[i][v]);
            for (uint32_t p = 0; p < m->n_parts; p++)
                lw_ir_set(b, m->slot[v][p], lw_ir_select(b, k, x[i][v][p], acc[p]));
        }
    }
}

lane_range
lw_reduce_meet(maker *m, lw_ref splits)
{
    lw_builder *b = &m->b;
    acc_parts x[MOST_VECTOR] = {{0}};
    lane_range range;
    lw_ref at = lw_ir_slot(b, LW_DT_i32);

    leave_partials(m, splits);
    range = lw_reduce_lane_of(m, i32(m, 0), splits, 1);
    lw_ir_if(b, is_less(m, range.first, range.last));
    load_partials(m, range.first, x);
    for (uint32_t v = 0; v < n_results(m); v++)
        set(m, m->slot[v], x[v]);
    lw_ir_set(b, at, lw_ir_add(b, range.first, i32(m, 1)));
    take_partials(m, lw_ir_while(b, at, range.last), range.last);
    lw_ir_latch(b);
    lw_ir_while_end(b, at, i32(m, n_partials(m)));
    lw_ir_end(b);
    return range;
}
