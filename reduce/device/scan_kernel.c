#include "reduce/device/scan_kernel.h"

#include "reduce/device/scan_parts.h"

typedef lw_scan_maker maker;

enum {
    FEW_WARPS = 7,
    MOST_BLOCKS = 5,
    SMALL_BLOCK = 64, /* threads */
    MOST_SMALL_BLOCKS = 10,
    SHARED_OF_ALL = 227 * 1024, /* bytes of a multiprocessor of compute capability 9.0 */
    SHARED_OF_BLOCK = 1024      /* that the driver takes of it for each block */
};

/* ---- parameters ---- */

static void
add_params(maker *m)
{
    const lw_reduction *r = m->k.r;

    m->rows = param(&m->k, LW_DT_i64, 0, "rows");
    m->inner = param(&m->k, LW_DT_i64, 0, "inner");
    m->elements = param(&m->k, LW_DT_i64, 0, "elements");
    m->tiles = param(&m->k, LW_DT_i64, 0, "tiles");
    m->strips = param(&m->k, LW_DT_i64, 0, "strips");
    for (uint32_t i = 0; i < r->n_in; i++) {
        m->operand[i] =
            param(&m->k, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "operand");
        m->outer_step[i] = param(&m->k, LW_DT_i64, 0, "outer_step");
        m->inner_step[i] = param(&m->k, LW_DT_i64, 0, "inner_step");
        m->step[i] = param(&m->k, LW_DT_i64, 0, "step");
        if (m->k.key->dense)
            m->step[i] = i64(m, lw_dtypes[r->loaded[i]].size_bytes);
    }
    if (m->k.key->dense)
        m->inner = i64(m, 1);
    for (uint32_t i = 0; i < r->n_out; i++)
        m->out[i] = param(&m->k, LW_DT_ptr, LW_PARAM_NOALIAS, "out");
    for (uint32_t i = 0; i < m->k.n_parts && m->k.key->initial; i++)
        m->seed[i] = param(&m->k, m->k.part[i], 0, "seed");
    if (m->k.key->keyed) {
        m->keys = param(&m->k, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "keys");
        m->key_step = param(&m->k, LW_DT_i64, 0, "key_step");
        m->keys_out = param(&m->k, LW_DT_ptr, LW_PARAM_NOALIAS, "keys_out");
        m->n_runs = param(&m->k, LW_DT_ptr, LW_PARAM_NOALIAS, "n_runs");
    }
    if (!m->k.key->waits)
        return;
    m->counter = param(&m->k, LW_DT_ptr, 0, "counter");
    m->state = param(&m->k, LW_DT_ptr, 0, "state");
}

/* ---- where the thread works ---- */

/* The block's number; with tiles to wait for, blocks are numbered as they come. */
static lw_ref
draw_number(maker *m)
{
    lw_builder *b = &m->k.b;
    lw_ref one = lw_ir_int(b, LW_DT_u32, 1), drawn;

    if (!m->k.key->waits)
        return register_of(&m->k, LW_SREG_CTAID_X);
    lw_ir_if(b, is_equal(m, m->tid, 0));
    drawn = lw_ir_atomic(b, LW_ATOMIC_ADD, m->counter, &one, 1);
    lw_ir_store(b, m->drawn, drawn, 0, 0);
    lw_ir_end(b);
    barrier(&m->k);
    return lw_ir_cast(b, LW_DT_i64, lw_ir_load(b, LW_DT_u32, 1, m->drawn, 0, 0));
}

static void
find_row(maker *m)
{
    lw_builder *b = &m->k.b;
    lw_ref row = add(m, times(m, m->strip, i64(m, m->results)), m->in_block), outer, inner;

    m->is_valid = is_less(m, row, m->rows);
    /* the others work on the last row, and store nothing */
    row = smaller(&m->k, row, lw_ir_sub(b, m->rows, i64(m, 1)));
    outer = m->k.key->dense ? row : lw_ir_div(b, row, m->inner);
    inner = m->k.key->dense ? i64(m, 0) : lw_ir_sub(b, row, times(m, outer, m->inner));
    for (uint32_t i = 0; i < m->k.r->n_in; i++) {
        m->operand[i] = lw_ir_offset(b, m->operand[i], times(m, outer, m->outer_step[i]));
        m->operand[i] = lw_ir_offset(b, m->operand[i], times(m, inner, m->inner_step[i]));
    }
    m->row_out = add(m, times(m, times(m, outer, m->elements), m->inner), inner);
}

static void
find_place(maker *m)
{
    lw_builder *b = &m->k.b;
    int64_t tile = m->lanes * m->items;

    m->tid = register_of(&m->k, LW_SREG_TID_X);
    m->in_block = m->k.key->columns ? low(m, m->tid, m->results) : high(m, m->tid, m->lanes);
    m->lane = m->k.key->columns ? high(m, m->tid, m->results) : low(m, m->tid, m->lanes);
    m->number = draw_number(m);
    m->tile = m->k.key->waits ? lw_ir_div(b, m->number, m->strips) : i64(m, 0);
    m->strip =
        m->k.key->waits ? lw_ir_sub(b, m->number, times(m, m->tile, m->strips)) : m->number;
    find_row(m);
    m->first = times(m, m->tile, i64(m, tile));
    m->count = smaller(&m->k, lw_ir_sub(b, m->elements, m->first), i64(m, tile));
    m->is_full = is_equal(m, m->count, tile);
    m->is_led = m->k.key->initial ? lw_ir_int(b, LW_DT_b1, 1) : is_above(m, m->tile, 0);
}

/* ---- elements: read side by side, kept item after item of a thread ---- */

static lw_ref
place_of(maker *m, lw_ref owner, lw_ref k)
{
    return add(m, times(m, owner, i64(m, m->pad)), k);
}

/* An element that this thread reads and stores: its number in the tile, the thread that scans
 * it, where among that one's items, and where that is in shared memory. */
typedef struct spot {
    lw_ref element, owner, k, place;
} spot;

/* The k-th one. Where lanes are as many as items at least, the owner alone follows k. */
static spot
spot_of(maker *m, lw_ref k)
{
    lw_ref row = times(m, m->in_block, i64(m, m->lanes));
    spot s;

    s.element = add(m, times(m, k, i64(m, m->lanes)), m->lane);
    s.owner = m->lanes < m->items ? high(m, s.element, m->items)
                                  : add(m, high(m, m->lane, m->items),
                                        times(m, k, i64(m, m->lanes / m->items)));
    s.owner = add(m, row, s.owner);
    s.k = low(m, m->lanes < m->items ? s.element : m->lane, m->items);
    s.place = place_of(m, s.owner, s.k);
    return s;
}

void
lw_scan_load(maker *m, lw_ref element, const lw_ref *address, lw_ref *values)
{
    uint32_t flags = m->k.key->simulated ? 0 : LW_MEM_INVARIANT, at = 0;
    lw_ref number = add(m, m->first, element);

    for (uint32_t i = 0; i < m->k.r->n_in; i++) {
        lw_reduce_emit_load(&m->k.b, m->k.r->loaded[i], address[i], flags, values + at);
        at += (uint32_t)lw_reduce_parts(m->k.r->loaded[i]);
    }
    if (m->k.r->indexed)
        values[at] = number;
}

/* A key's one or two parts. */
static void
load_key(maker *m, lw_ref number, lw_ref *parts)
{
    lw_reduce_emit_load(&m->k.b, (lw_dtype)m->k.key->key_dtype,
                        lw_ir_offset(&m->k.b, m->keys, times(m, number, m->key_step)),
                        m->k.key->simulated ? 0 : LW_MEM_INVARIANT, parts);
}

/* Whether the keys of two elements differ. */
static lw_ref
keys_differ(maker *m, lw_ref x, lw_ref y)
{
    lw_ref left[2] = {0}, right[2] = {0}, differ;

    load_key(m, x, left);
    load_key(m, y, right);
    differ = lw_ir_compare(&m->k.b, LW_OP_NE, left[0], right[0]);
    if (lw_reduce_parts((lw_dtype)m->k.key->key_dtype) > 1)
        differ = lw_ir_or(&m->k.b, differ, lw_ir_compare(&m->k.b, LW_OP_NE, left[1], right[1]));
    return differ;
}

/* 1 where a run begins with the element. */
static lw_ref
runs_of(maker *m, lw_ref number)
{
    lw_ref is_first = is_equal(m, number, 0), before;

    before = lw_ir_select(&m->k.b, is_first, number, lw_ir_sub(&m->k.b, number, i64(m, 1)));
    return lw_ir_select(&m->k.b, lw_ir_or(&m->k.b, is_first, keys_differ(m, number, before)),
                        i64(m, 1), i64(m, 0));
}

void
lw_scan_find(maker *m, lw_ref element, lw_ref *address)
{
    lw_ref number = add(m, m->first, element);

    for (uint32_t i = 0; i < m->k.r->n_in; i++)
        address[i] = lw_ir_offset(&m->k.b, m->operand[i], times(m, number, m->step[i]));
}

static void
load_element(maker *m, lw_ref element, lw_ref *values)
{
    lw_ref address[LW_REDUCE_MOST] = {0};

    lw_scan_find(m, element, address);
    lw_scan_load(m, element, address, values);
}

void
lw_scan_map(maker *m, lw_ref element, const lw_ref *values, lw_ref *acc)
{
    lw_reduce_emit_map(&m->k.b, &m->k.body, values, acc);
    if (m->k.key->keyed)
        acc[m->k.n_parts - 1] = runs_of(m, add(m, m->first, element));
}

static void
keep_element(maker *m, const spot *at, const lw_ref *values)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0};

    lw_scan_map(m, at->element, values, acc);
    store_parts(&m->k, m->item_at, at->place, acc);
}

/* All are asked for before the first is used. */
static void
take_full(maker *m, lw_ref (*values)[LW_REDUCE_PARTS])
{
    int64_t batch = m->items;
    spot at;

    while (batch > 1 && batch * m->n_loaded > MOST_LOADED)
        batch /= 2;
    for (int64_t from = 0; from < m->items; from += batch) {
        for (int64_t k = 0; k < batch; k++) {
            at = spot_of(m, i64(m, from + k));
            load_element(m, at.element, values[k]);
        }
        for (int64_t k = 0; k < batch; k++) {
            at = spot_of(m, i64(m, from + k));
            keep_element(m, &at, values[k]);
        }
    }
}

static void
take_some(maker *m, lw_ref *values)
{
    lw_builder *b = &m->k.b;
    lw_for loop = lw_ir_for(b, i64(m, 0), i64(m, m->items), i64(m, 1), LW_LOOP_NO_UNROLL, 0);
    spot at = spot_of(m, loop.i);

    lw_ir_if(b, is_less(m, at.element, m->count));
    load_element(m, at.element, values);
    keep_element(m, &at, values);
    lw_ir_end(b);
    lw_ir_for_end(b, &loop);
}

static void
take_elements(maker *m, lw_ref (*values)[LW_REDUCE_PARTS])
{
    lw_ir_if(&m->k.b, m->is_full);
    (m->k.key->vector ? lw_scan_take_vectors : take_full)(m, values);
    lw_ir_else(&m->k.b);
    take_some(m, values[0]);
    lw_ir_end(&m->k.b);
    barrier(&m->k);
}

/* ---- the thread's items, then the lanes ---- */

static void
scan_until(maker *m, lw_ref end, uint32_t flags)
{
    lw_builder *b = &m->k.b;
    lw_ref acc[LW_REDUCE_PARTS] = {0}, x[LW_REDUCE_PARTS] = {0}, place;
    lw_for loop = lw_ir_for(b, i64(m, 1), end, i64(m, 1), flags, 0);

    place = place_of(m, m->place, loop.i);
    load_parts(&m->k, m->item_at, place, x);
    get(&m->k, m->slot, acc);
    combine(m, acc, x, acc);
    set(&m->k, m->slot, acc);
    store_parts(&m->k, m->item_at, place, acc);
    lw_ir_for_end(b, &loop);
}

/* The thread's sum goes to m->slot. Gives whether it has an element. */
static lw_ref
scan_items(maker *m)
{
    lw_builder *b = &m->k.b;
    lw_ref begin = times(m, m->lane, i64(m, m->items)), x[LW_REDUCE_PARTS] = {0};
    lw_ref is_active = is_less(m, begin, m->count);

    lw_ir_if(b, is_active);
    load_parts(&m->k, m->item_at, place_of(m, m->place, i64(m, 0)), x);
    set(&m->k, m->slot, x);
    lw_ir_if(b, m->is_full);
    if (m->k.key->vector)
        lw_scan_vectors(m);
    else
        scan_until(m, i64(m, m->items), LW_LOOP_UNROLL_FULL);
    lw_ir_else(b);
    scan_until(m, smaller(&m->k, lw_ir_sub(b, m->count, begin), i64(m, m->items)),
               LW_LOOP_NO_UNROLL);
    lw_ir_end(b);
    lw_ir_end(b);
    return is_active;
}

static void
load_warp(maker *m, lw_ref warp, lw_ref *x)
{
    load_parts(&m->k, m->warp_at, add(m, times(m, warp, i64(m, m->results)), m->in_block), x);
}

/* The same for few small ones: all are read before the first is used. */
static void
sum_of_few_warps(maker *m, lw_ref warp, int64_t n)
{
    lw_ref x[FEW_WARPS][LW_REDUCE_PARTS] = {{0}}, acc[LW_REDUCE_PARTS] = {0};

    for (int64_t i = 0; i < n; i++)
        load_warp(m, i64(m, i), x[i]);
    set(&m->k, m->other, x[0]);
    for (int64_t i = 1; i < n; i++) {
        lw_ir_if(&m->k.b, is_above(m, warp, i));
        get(&m->k, m->other, acc);
        combine(m, acc, x[i], acc);
        set(&m->k, m->other, acc);
        lw_ir_end(&m->k.b);
    }
}

/* The sums of a row's warps before the thread's own one, into m->other. */
static void
sum_of_warps(maker *m, lw_ref warp)
{
    lw_builder *b = &m->k.b;
    lw_ref acc[LW_REDUCE_PARTS] = {0}, x[LW_REDUCE_PARTS] = {0};
    int64_t n = m->lanes / m->warp_lanes - 1;
    lw_for loop;

    if (n <= FEW_WARPS && m->k.n_parts <= 2) {
        sum_of_few_warps(m, warp, n);
        return;
    }
    load_parts(&m->k, m->warp_at, m->in_block, x);
    set(&m->k, m->other, x);
    loop = lw_ir_for(b, i64(m, 1), warp, i64(m, 1), LW_LOOP_NO_UNROLL, 0);
    load_warp(m, loop.i, x);
    get(&m->k, m->other, acc);
    combine(m, acc, x, acc);
    set(&m->k, m->other, acc);
    lw_ir_for_end(b, &loop);
}

/* The last lane of a row has the tile's sum. */
static void
keep_sum(maker *m)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0};

    if (!m->k.key->waits)
        return;
    lw_ir_if(&m->k.b, is_equal(m, m->lane, m->lanes - 1));
    get(&m->k, m->slot, acc);
    store_parts(&m->k, m->sum_at, m->in_block, acc);
    lw_scan_leave_sum(m, acc);
    lw_ir_end(&m->k.b);
}

/* Turns the thread's sum in m->slot into that of all lanes before it there (nothing for the
 * first). */
static void
scan_lanes(maker *m, lw_ref is_active)
{
    lw_builder *b = &m->k.b;
    int64_t width = m->warp_lanes, apart = m->k.key->columns ? m->results : 1;
    lw_ref at = low(m, m->lane, width), warp = high(m, m->lane, width);
    lw_ref acc[LW_REDUCE_PARTS] = {0}, x[LW_REDUCE_PARTS] = {0};

    scan_warp(m, at, width, apart, is_active);
    get(&m->k, m->slot, acc);
    if (width == m->lanes) {
        keep_sum(m);
        if (width > 1)
            shuffle(m, LW_KOP_shfl_up, acc, i32(m, apart), acc);
        set(&m->k, m->slot, acc);
        return;
    }
    lw_ir_if(b, is_equal(m, at, width - 1));
    store_parts(&m->k, m->warp_at, add(m, times(m, warp, i64(m, m->results)), m->in_block),
                acc);
    lw_ir_end(b);
    barrier(&m->k);
    if (width > 1)
        shuffle(m, LW_KOP_shfl_up, acc, i32(m, apart), x);
    else
        memcpy(x, acc, sizeof x); /* of nobody: `at` is 0 */
    lw_ir_if(b, both(m, is_above(m, warp, 0), is_active));
    sum_of_warps(m, warp);
    get(&m->k, m->other, acc);
    combine_before(m, acc, m->slot);
    lw_ir_end(b);
    keep_sum(m);
    set(&m->k, m->slot, x);
    lw_ir_if(b, both(m, is_above(m, warp, 0), is_active));
    lw_ir_if(b, is_above(m, at, 0));
    get(&m->k, m->other, acc);
    combine_before(m, acc, m->slot);
    lw_ir_else(b);
    get(&m->k, m->other, acc);
    set(&m->k, m->slot, acc);
    lw_ir_end(b);
    lw_ir_end(b);
}

/* ---- results ---- */

/* What is before the thread's first item, where all threads see it. */
static void
keep_before(maker *m)
{
    lw_builder *b = &m->k.b;
    lw_ref x[LW_REDUCE_PARTS] = {0}, acc[LW_REDUCE_PARTS] = {0};

    lw_ir_if(b, m->is_led);
    if (m->k.key->waits)
        get(&m->k, m->before, x);
    else
        memcpy(x, m->seed, sizeof x);
    if (m->k.key->waits || m->k.key->initial) {
        lw_ir_if(b, is_above(m, m->lane, 0));
        combine_before(m, x, m->slot);
        lw_ir_else(b);
        set(&m->k, m->slot, x);
        lw_ir_end(b);
    }
    lw_ir_end(b);
    if (m->k.key->columns)
        return;
    get(&m->k, m->slot, acc);
    store_parts(&m->k, m->thread_at, m->place, acc);
    barrier(&m->k);
}

void
lw_scan_find_result(maker *m, lw_ref number, lw_ref *address)
{
    number = add(m, m->row_out, times(m, number, m->inner));
    for (uint32_t i = 0; i < m->k.r->n_out; i++) {
        lw_ref size = i64(m, lw_dtypes[m->k.r->out[i]].size_bytes);
        address[i] = lw_ir_offset(&m->k.b, m->out[i], times(m, number, size));
    }
}

void
lw_scan_store(maker *m, const lw_ref *address, const lw_ref *acc)
{
    lw_ref results[LW_REDUCE_PARTS] = {0};
    uint32_t at = 0;

    lw_reduce_emit_finish(&m->k.b, &m->k.body, acc, results);
    for (uint32_t i = 0; i < m->k.r->n_out; i++) {
        lw_reduce_emit_store(&m->k.b, m->k.r->out[i], address[i], results + at);
        at += (uint32_t)lw_reduce_parts(m->k.r->out[i]);
    }
}

static void
put_result(maker *m, lw_ref number, const lw_ref *acc)
{
    lw_ref address[LW_REDUCE_MOST] = {0};

    lw_scan_find_result(m, number, address);
    lw_scan_store(m, address, acc);
}

/* The last element of a run: the run's results, its key, and, at the end, how many there are.
 */
static void
put_run(maker *m, lw_ref number, const lw_ref *acc)
{
    lw_builder *b = &m->k.b;
    lw_ref run = lw_ir_sub(b, acc[m->k.n_parts - 1], i64(m, 1)), key[2] = {0}, is_last, next;
    lw_dtype dtype = (lw_dtype)m->k.key->key_dtype;

    next = smaller(&m->k, add(m, number, i64(m, 1)), lw_ir_sub(b, m->elements, i64(m, 1)));
    is_last = lw_ir_compare(b, LW_OP_EQ, next, number);
    lw_ir_if(b, lw_ir_or(b, is_last, keys_differ(m, number, next)));
    put_result(m, run, acc);
    lw_ir_if(b, is_equal(m, m->row_out, 0));
    load_key(m, number, key);
    lw_reduce_emit_store(
        b, dtype,
        lw_ir_offset(b, m->keys_out, times(m, run, i64(m, lw_dtypes[dtype].size_bytes))), key);
    lw_ir_if(b, is_last);
    lw_ir_store(b, m->n_runs, acc[m->k.n_parts - 1], 0, 0);
    lw_ir_end(b);
    lw_ir_end(b);
    lw_ir_end(b);
}

void
lw_scan_put(maker *m, lw_ref element, const lw_ref *acc)
{
    (m->k.key->keyed ? put_run : put_result)(m, add(m, m->first, element), acc);
}

/* m->slot = what is up to the element, or, with key->before, in front of it. */
static void
sum_up_to(maker *m, const spot *at)
{
    lw_builder *b = &m->k.b;
    lw_ref before[LW_REDUCE_PARTS] = {0}, x[LW_REDUCE_PARTS] = {0}, is_led;

    load_parts(&m->k, m->thread_at, at->owner, before);
    if (m->k.key->before) {
        set(&m->k, m->slot, before);
        lw_ir_if(b, is_above(m, at->k, 0));
        load_parts(&m->k, m->item_at, place_of(m, at->owner, lw_ir_sub(b, at->k, i64(m, 1))),
                   x);
    } else {
        load_parts(&m->k, m->item_at, at->place, x);
        set(&m->k, m->slot, x);
        is_led = lw_ir_compare(b, LW_OP_GE, at->element, i64(m, m->items));
        lw_ir_if(b, lw_ir_or(b, m->is_led, is_led));
    }
    combine(m, before, x, x);
    set(&m->k, m->slot, x);
    lw_ir_end(b);
}

static void
put_one(maker *m, const spot *at)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0};

    sum_up_to(m, at);
    get(&m->k, m->slot, acc);
    lw_scan_put(m, at->element, acc);
}

static void
put_results(maker *m)
{
    lw_builder *b = &m->k.b;
    lw_ref end = i64(m, m->items);
    lw_for loop;
    spot at;

    lw_ir_if(b, both(m, m->is_full, m->is_valid));
    if (m->k.key->vector) {
        lw_scan_put_vectors(m);
    } else {
        loop = lw_ir_for(b, i64(m, 0), end, i64(m, 1), LW_LOOP_UNROLL_FULL, 0);
        at = spot_of(m, loop.i);
        put_one(m, &at);
        lw_ir_for_end(b, &loop);
    }
    lw_ir_else(b);
    loop = lw_ir_for(b, i64(m, 0), end, i64(m, 1), LW_LOOP_NO_UNROLL, 0);
    at = spot_of(m, loop.i);
    lw_ir_if(b, both(m, m->is_valid, is_less(m, at.element, m->count)));
    put_one(m, &at);
    lw_ir_end(b);
    lw_ir_for_end(b, &loop);
    lw_ir_end(b);
}

/* ---- the kernel ---- */

/* Items of shared memory between those of two threads, so that they lie in other banks: with
 * vectors, whose accesses are of 16 bytes. */
static uint32_t
gap_of(const lw_reduction *r, const lw_reduce_key *key, bool has_vectors)
{
    lw_dtype part[LW_REDUCE_PARTS];
    uint32_t n = lw_reduce_scan_parts(r, key, part), size = 8;

    if (key->columns || key->items_log2 == 0)
        return 0;
    if (!has_vectors)
        return 1;
    for (uint32_t i = 0; i < n; i++)
        size = lw_dtypes[part[i]].size_bytes < size ? lw_dtypes[part[i]].size_bytes : size;
    return size == 8 ? 2 : 4;
}

/* With so few registers (48 to 102) shared memory says how many blocks are on a
 * multiprocessor: tiles under way hide the wait for those before. */
static uint32_t
blocks_of(const maker *m)
{
    uint32_t bytes = 0, n, most, threads_log2 = m->k.key->lanes_log2 + m->k.key->results_log2;

    for (uint32_t i = 0; i < m->k.n_parts; i++)
        bytes += lw_dtypes[m->k.part[i]].size_bytes;
    if (m->threads <= SMALL_BLOCK)
        return MOST_SMALL_BLOCKS; /* 102 registers; shared memory holds fewer blocks */
    bytes *= lw_reduce_scan_places(m->k.r, m->k.key, threads_log2);
    n = SHARED_OF_ALL / (bytes + SHARED_OF_BLOCK);
    most = m->threads < LW_REDUCE_THREADS ? MOST_BLOCKS + 1 : MOST_BLOCKS;
    return n > most ? most : n;
}

static void
start(maker *m, const char *symbol)
{
    const lw_reduce_key *key = m->k.key;

    if (!begin(&m->k, symbol))
        return;
    m->k.n_parts = lw_reduce_scan_parts(m->k.r, key, m->k.part);
    for (uint32_t i = 0; i < m->k.r->n_in; i++)
        m->n_loaded += (uint32_t)lw_reduce_parts(m->k.r->loaded[i]);
    m->lanes = INT64_C(1) << key->lanes_log2;
    m->results = INT64_C(1) << key->results_log2;
    m->items = INT64_C(1) << key->items_log2;
    m->threads = m->lanes * m->results;
    m->pad = m->items + gap_of(m->k.r, key, key->vector > 0);
    m->warp_lanes = m->lanes;
    while (m->warp_lanes > 1 && m->warp_lanes * (key->columns ? m->results : 1) > WARP)
        m->warp_lanes /= 2;
    if (!key->simulated) {
        m->k.b.func->max_threads = (uint32_t)m->threads;
        if (m->threads >= SMALL_BLOCK && m->k.n_parts <= 2)
            m->k.b.func->min_blocks = blocks_of(m);
    }
    add_params(m);
}

static lw_ref
shared(maker *m, int64_t n, uint32_t size)
{
    return lw_ir_shared(&m->k.b, (uint32_t)n * size, 16);
}

static void
add_memory(maker *m)
{
    for (uint32_t i = 0; i < m->k.n_parts; i++) {
        uint32_t size = lw_dtypes[m->k.part[i]].size_bytes;
        m->item_at[i] = shared(m, m->threads * m->pad, size);
        if (!m->k.key->columns)
            m->thread_at[i] = shared(m, m->threads, size);
        if (m->warp_lanes < m->lanes)
            m->warp_at[i] = shared(m, m->threads / m->warp_lanes, size);
        if (m->k.key->waits) {
            if (m->k.key->columns)
                m->share_at[i] = shared(m, m->lanes > 1 ? m->threads : 2 * m->threads, size);
            m->sum_at[i] = shared(m, m->results, size);
            m->seen_at[i] =
                shared(m, m->k.key->columns ? m->results : m->threads / WARP + 1, size);
        }
        m->slot[i] = lw_ir_slot(&m->k.b, m->k.part[i]);
        m->other[i] = lw_ir_slot(&m->k.b, m->k.part[i]);
        m->before[i] = lw_ir_slot(&m->k.b, m->k.part[i]);
        m->joined[i] = lw_ir_slot(&m->k.b, m->k.part[i]);
        lw_ir_set(&m->k.b, m->slot[i], lw_ir_zero(&m->k.b, m->k.part[i]));
        lw_ir_set(&m->k.b, m->other[i], lw_ir_zero(&m->k.b, m->k.part[i]));
        lw_ir_set(&m->k.b, m->before[i], lw_ir_zero(&m->k.b, m->k.part[i]));
    }
    if (!m->k.key->waits)
        return;
    m->drawn = lw_ir_shared(&m->k.b, 4, 4);
    for (uint32_t i = 0; i < lw_scan_state_words(m->k.part, m->k.n_parts); i++) {
        m->word[i] = lw_ir_slot(&m->k.b, LW_DT_u64);
        m->rest_word[i] = lw_ir_slot(&m->k.b, LW_DT_u64);
    }
}

uint32_t
lw_reduce_scan_parts(const lw_reduction *r, const lw_reduce_key *key, lw_dtype *parts)
{
    uint32_t n = lw_reduce_acc_parts(r, parts);

    if (key->keyed)
        parts[n++] = LW_DT_i64;
    return n;
}

uint32_t
lw_reduce_scan_places(const lw_reduction *r, const lw_reduce_key *key, uint32_t threads_log2)
{
    uint32_t threads = 1u << threads_log2;
    uint32_t items = 1u << key->items_log2;

    if (key->columns) /* a warp's width of rows where there is something to wait for */
        return threads * (items + 2) + 2 * WARP;
    return threads * (items + gap_of(r, key, !key->keyed) + 1) + 2 * (threads / WARP) + 2;
}

static lw_status
kernel(maker *m, const char *symbol, lw_error *err)
{
    lw_ref(*values)[LW_REDUCE_PARTS] =
        lw_arena_take(&m->k.module->arena, MOST_ITEMS * sizeof *values);
    lw_ref is_active, acc[LW_REDUCE_PARTS] = {0};

    if (values == NULL)
        return lw_fail_memory(err);
    start(m, symbol);
    if (m->k.b.func == NULL)
        return lw_fail_memory(err);
    add_memory(m);
    find_place(m);
    m->place =
        m->k.key->columns ? m->tid : add(m, times(m, m->in_block, i64(m, m->lanes)), m->lane);
    if (m->k.key->columns) {
        lw_scan_take_columns(m);
        is_active = lw_ir_int(&m->k.b, LW_DT_b1, 1);
    } else {
        take_elements(m, values);
        is_active = scan_items(m);
    }
    scan_lanes(m, is_active);
    if (m->k.key->waits) {
        get(&m->k, m->slot, acc); /* looking back uses m->slot */
        set(&m->k, m->other, acc);
        lw_scan_look_back(m);
        get(&m->k, m->other, acc);
        set(&m->k, m->slot, acc);
    }
    keep_before(m);
    (m->k.key->columns ? lw_scan_put_columns : put_results)(m);
    return finish_kernel(&m->k, err);
}

lw_status
lw_reduce_scan_module(const lw_reduction *r, const lw_reduce_key *key, const char *symbol,
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
