#include "reduce/device/scan_kernel.h"

#include "core/block/shuffle.h"
#include "reduce/device/scan_internal.h"

enum {
    FEW_WARPS = 7,
    LINE = 128, /* bytes of a cache line */
    MOST_BLOCKS = 5,
    SMALL_BLOCK = 64, /* threads */
    MOST_SMALL_BLOCKS = 10,
    SHARED_OF_ALL = 227 * 1024, /* bytes that a multiprocessor of compute capability 9.0 has */
    SHARED_OF_BLOCK = 1024      /* bytes of these that the driver takes for each block */
};

/* ---- parameters ---- */

static void
add_params(maker *m)
{
    const lw_reduction *r = m->r;
    const lw_reduce_key *key = m->key;

    m->rows = size_param(m, "rows");
    m->inner = size_param(m, "inner");
    m->elements = size_param(m, "elements");
    m->tiles = size_param(m, "tiles");
    m->strips = size_param(m, "strips");
    for (uint32_t i = 0; i < r->n_in; i++) {
        m->operand[i] = input_param(m, "operand");
        m->outer_step[i] = size_param(m, "outer_step");
        m->inner_step[i] = size_param(m, "inner_step");
        m->step[i] = size_param(m, "step");
        if (key->dense)
            m->step[i] = i64(m, lw_dtypes[r->loaded[i]].size_bytes);
    }
    if (key->dense)
        m->inner = i64(m, 1);
    for (uint32_t i = 0; i < r->n_out; i++)
        m->out[i] = lw_reduce_param(m, LW_DT_ptr, LW_PARAM_NOALIAS, "out");
    for (uint32_t i = 0; i < m->n_parts && key->initial; i++)
        m->seed[i] = lw_reduce_param(m, m->part[i], 0, "seed");
    if (key->keyed) {
        m->keys = input_param(m, "keys");
        m->key_step = size_param(m, "key_step");
        m->keys_out = lw_reduce_param(m, LW_DT_ptr, LW_PARAM_NOALIAS, "keys_out");
        m->n_runs = lw_reduce_param(m, LW_DT_ptr, LW_PARAM_NOALIAS, "n_runs");
    }
    if (!key->waits)
        return;
    m->counter = lw_reduce_param(m, LW_DT_ptr, 0, "counter");
    m->state = lw_reduce_param(m, LW_DT_ptr, 0, "state");
    if (key->prefetch)
        m->distance = size_param(m, "distance");
}

/* ---- where the thread works ---- */

/* The block's number. Where tiles wait for others, blocks are numbered in the order in which
 * they start. */
static lw_ref
draw_number(maker *m)
{
    lw_builder *b = &m->b;
    lw_ref one = lw_ir_int(b, LW_DT_u32, 1), drawn;

    if (!m->key->waits)
        return register_of(m, LW_SREG_CTAID_X);
    lw_ir_if(b, is_equal(m, m->tid, 0));
    drawn = lw_ir_atomic(b, LW_ATOMIC_ADD, m->counter, &one, 1);
    lw_ir_store(b, m->drawn, drawn, 0, 0);
    lw_ir_end(b);
    lw_ir_barrier(&m->b);
    return lw_ir_cast(b, LW_DT_i64, lw_ir_load(b, LW_DT_u32, 1, m->drawn, 0, 0));
}

static void
find_row(maker *m)
{
    lw_builder *b = &m->b;
    lw_ref row = add(m, times(m, m->strip, i64(m, m->strip_rows)), m->in_block), outer, inner;

    m->is_valid = is_less(m, row, m->rows);
    /* threads without a row work on the last one, and store nothing */
    row = smaller(m, row, minus(m, m->rows, i64(m, 1)));
    outer = m->key->dense ? row : lw_ir_div(b, row, m->inner);
    inner = m->key->dense ? i64(m, 0) : minus(m, row, times(m, outer, m->inner));
    for (uint32_t i = 0; i < m->r->n_in; i++) {
        m->operand[i] = lw_ir_offset(b, m->operand[i], times(m, outer, m->outer_step[i]));
        m->operand[i] = lw_ir_offset(b, m->operand[i], times(m, inner, m->inner_step[i]));
    }
    m->row_out = add(m, times(m, times(m, outer, m->elements), m->inner), inner);
}

/* Has the elements of a later tile of operand i brought into the second-level cache. row: that
 * of the tile. */
static void
prefetch_tile(maker *m, uint32_t i, lw_ref tile, lw_ref row)
{
    lw_builder *b = &m->b;
    int64_t size = lw_dtypes[m->r->loaded[i]].size_bytes;
    int64_t bytes = m->lanes * m->thread_items * size, n = (bytes - 1) / LINE + 1;
    lw_ref at = lw_ir_offset(b, m->operand[i], times(m, row, m->outer_step[i]));

    at = lw_ir_offset(b, at, times(m, tile, i64(m, bytes)));
    for (int64_t from = 0; from < n; from += m->threads) {
        lw_ref line = smaller(m, add(m, m->tid, i64(m, from)), i64(m, n - 1));
        lw_ir_prefetch(b, lw_ir_offset(b, at, times(m, line, i64(m, LINE))));
    }
}

/* A tile waits for the slowest of the tiles before it. Loads from the second-level cache take
 * less time than loads from memory, and less different times. So each block brings the tile of
 * a block that starts a little later. There are fewer than 2^31 tiles in all rows. */
static void
prefetch_later(maker *m)
{
    lw_builder *b = &m->b;
    lw_ref later = add(m, m->number, m->distance), tile, end;

    assert(m->key->vector && m->strip_rows == 1);
    lw_ir_if(b, is_less(m, later, times(m, m->tiles, m->strips)));
    tile = lw_ir_div(b, lw_ir_cast(b, LW_DT_u32, later), lw_ir_cast(b, LW_DT_u32, m->strips));
    tile = lw_ir_cast(b, LW_DT_i64, tile);
    end = times(m, add(m, tile, i64(m, 1)), i64(m, m->lanes * m->thread_items));
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LE, end, m->elements));
    for (uint32_t i = 0; i < m->r->n_in; i++)
        prefetch_tile(m, i, tile, minus(m, later, times(m, tile, m->strips)));
    lw_ir_end(b);
    lw_ir_end(b);
}

static void
find_place(maker *m)
{
    lw_builder *b = &m->b;
    int64_t tile = m->lanes * m->thread_items;

    m->tid = register_of(m, LW_SREG_TID_X);
    m->in_block = m->key->columns ? low(m, m->tid, m->strip_rows) : high(m, m->tid, m->lanes);
    m->lane = m->key->columns ? high(m, m->tid, m->strip_rows) : low(m, m->tid, m->lanes);
    m->number = draw_number(m);
    if (m->key->prefetch)
        prefetch_later(m);
    m->tile = m->key->waits ? lw_ir_div(b, m->number, m->strips) : i64(m, 0);
    m->strip = m->key->waits ? minus(m, m->number, times(m, m->tile, m->strips)) : m->number;
    find_row(m);
    m->first = times(m, m->tile, i64(m, tile));
    m->count = smaller(m, minus(m, m->elements, m->first), i64(m, tile));
    m->is_full = is_equal(m, m->count, tile);
    m->is_led = m->key->initial ? lw_ir_int(b, LW_DT_b1, 1) : is_above(m, m->tile, 0);
    m->place =
        m->key->columns ? m->tid : add(m, times(m, m->in_block, i64(m, m->lanes)), m->lane);
}

/* ---- elements: neighbouring threads load neighbours, shared memory holds thread after thread
 * ---- */

static lw_ref
place_of(maker *m, lw_ref owner, lw_ref k)
{
    return add(m, times(m, owner, i64(m, m->pad)), k);
}

/* An element that this thread loads, and whose result it stores: its number in the tile, the
 * thread that scans it, its place among that thread's elements, and its place in shared
 * memory. */
typedef struct spot {
    lw_ref element, owner, k, place;
} spot;

/* The k-th element of the thread. If there are at least as many lanes as elements of a thread,
 * only the owner depends on k. */
static spot
spot_of(maker *m, lw_ref k)
{
    lw_ref row = times(m, m->in_block, i64(m, m->lanes));
    spot s;

    s.element = add(m, times(m, k, i64(m, m->lanes)), m->lane);
    s.owner = m->lanes < m->thread_items ? high(m, s.element, m->thread_items)
                                         : add(m, high(m, m->lane, m->thread_items),
                                               times(m, k, i64(m, m->lanes / m->thread_items)));
    s.owner = add(m, row, s.owner);
    s.k = low(m, m->lanes < m->thread_items ? s.element : m->lane, m->thread_items);
    s.place = place_of(m, s.owner, s.k);
    return s;
}

void
lw_scan_load(maker *m, lw_ref element, const lw_ref *address, lw_ref *values)
{
    lw_ref number = add(m, m->first, element);
    uint32_t at = 0;

    for (uint32_t i = 0; i < m->r->n_in; i++) {
        lw_ir_load_parts(&m->b, m->r->loaded[i], address[i], operand_flags(m), values + at);
        at += lw_dtype_n_parts(m->r->loaded[i]);
    }
    if (m->r->indexed)
        values[at] = number;
}

/* Loads the one or two scalars of a key. */
static void
load_key(maker *m, lw_ref number, lw_ref *parts)
{
    lw_ir_load_parts(&m->b, (lw_dtype)m->key->key_dtype,
                     lw_ir_offset(&m->b, m->keys, times(m, number, m->key_step)),
                     operand_flags(m), parts);
}

/* Whether the keys of two elements differ. */
static lw_ref
keys_differ(maker *m, lw_ref x, lw_ref y)
{
    lw_ref left[2] = {0}, right[2] = {0}, differ;

    load_key(m, x, left);
    load_key(m, y, right);
    differ = lw_ir_compare(&m->b, LW_OP_NE, left[0], right[0]);
    if (lw_dtype_n_parts((lw_dtype)m->key->key_dtype) > 1)
        differ = lw_ir_or(&m->b, differ, lw_ir_compare(&m->b, LW_OP_NE, left[1], right[1]));
    return differ;
}

/* 1 where the element begins a run of equal keys, else 0. */
static lw_ref
runs_of(maker *m, lw_ref number)
{
    lw_ref is_first = is_equal(m, number, 0), before;

    before = lw_ir_select(&m->b, is_first, number, minus(m, number, i64(m, 1)));
    return lw_ir_select(&m->b, lw_ir_or(&m->b, is_first, keys_differ(m, number, before)),
                        i64(m, 1), i64(m, 0));
}

void
lw_scan_find(maker *m, lw_ref element, lw_ref *address)
{
    lw_ref number = add(m, m->first, element);

    for (uint32_t i = 0; i < m->r->n_in; i++)
        address[i] = lw_ir_offset(&m->b, m->operand[i], times(m, number, m->step[i]));
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
    lw_reduce_emit_map(&m->b, &m->body, values, acc);
    if (m->key->keyed)
        acc[m->n_parts - 1] = runs_of(m, add(m, m->first, element));
}

static void
keep_element(maker *m, const spot *at, const lw_ref *values)
{
    acc_parts acc = {0};

    lw_scan_map(m, at->element, values, acc);
    store_parts(m, m->item_at, at->place, acc);
}

/* Loads the elements of a full tile: all loads of a batch come before the first use. */
static void
take_full(maker *m, acc_parts *values)
{
    int64_t batch = batch_of(m, m->thread_items, 1);
    spot at;

    for (int64_t from = 0; from < m->thread_items; from += batch) {
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
    lw_builder *b = &m->b;
    lw_for loop =
        lw_ir_for(b, i64(m, 0), i64(m, m->thread_items), i64(m, 1), LW_LOOP_NO_UNROLL);
    spot at = spot_of(m, loop.i);

    lw_ir_if(b, is_less(m, at.element, m->count));
    load_element(m, at.element, values);
    keep_element(m, &at, values);
    lw_ir_end(b);
    lw_ir_for_end(b, &loop);
}

static void
take_elements(maker *m, acc_parts *values)
{
    lw_ir_if(&m->b, m->is_full);
    (m->key->vector ? lw_scan_take_vectors : take_full)(m, values);
    lw_ir_else(&m->b);
    take_some(m, values[0]);
    lw_ir_end(&m->b);
    lw_ir_barrier(&m->b);
}

/* ---- the thread's items, then the lanes ---- */

static void
scan_until(maker *m, lw_ref end, uint32_t flags)
{
    lw_builder *b = &m->b;
    acc_parts acc = {0}, x = {0};
    lw_for loop = lw_ir_for(b, i64(m, 1), end, i64(m, 1), flags);
    lw_ref place = place_of(m, m->place, loop.i);

    load_parts(m, m->item_at, place, x);
    get(m, m->sum, acc);
    lw_reduce_combine(m, acc, x, acc);
    set(m, m->sum, acc);
    store_parts(m, m->item_at, place, acc);
    lw_ir_for_end(b, &loop);
}

/* Scans the thread's elements; their sum goes to m->sum. Gives whether it has an element. */
static lw_ref
scan_items(maker *m)
{
    lw_builder *b = &m->b;
    acc_parts x = {0};
    lw_ref begin = times(m, m->lane, i64(m, m->thread_items));
    lw_ref is_active = is_less(m, begin, m->count);

    lw_ir_if(b, is_active);
    load_parts(m, m->item_at, place_of(m, m->place, i64(m, 0)), x);
    set(m, m->sum, x);
    lw_ir_if(b, m->is_full);
    if (m->key->vector)
        lw_scan_vectors(m);
    else
        scan_until(m, i64(m, m->thread_items), LW_LOOP_UNROLL_FULL);
    lw_ir_else(b);
    scan_until(m, smaller(m, minus(m, m->count, begin), i64(m, m->thread_items)),
               LW_LOOP_NO_UNROLL);
    lw_ir_end(b);
    lw_ir_end(b);
    return is_active;
}

/* The accumulator of another lane of the warp, as `op` selects it. */
static void
shuffle(maker *m, lw_kernel_op op, const lw_ref *acc, lw_ref lane, lw_ref *out)
{
    for (uint32_t i = 0; i < m->n_parts; i++)
        out[i] = lw_warp_shuffle(&m->b, op, acc[i], lane);
}

void
lw_scan_warp(maker *m, lw_ref at, int64_t width, int64_t apart, lw_ref is_active)
{
    lw_builder *b = &m->b;
    acc_parts acc = {0}, x = {0};

    assert(width == 1 || width * apart <= WARP);
    for (int64_t delta = 1; delta < width; delta *= 2) {
        get(m, m->sum, acc);
        shuffle(m, LW_KOP_shfl_up, acc, i32(m, delta * apart), x);
        lw_ir_if(b, both(m, is_active, lw_ir_compare(b, LW_OP_GE, at, i64(m, delta))));
        lw_reduce_combine_before(m, x, m->sum);
        lw_ir_end(b);
    }
}

static void
load_warp(maker *m, lw_ref warp, lw_ref *x)
{
    load_parts(m, m->warp_at, add(m, times(m, warp, i64(m, m->strip_rows)), m->in_block), x);
}

/* The same as sum_of_warps for few small sums: all are loaded before the first is used. */
static void
sum_of_few_warps(maker *m, lw_ref warp, int64_t n)
{
    acc_parts x[FEW_WARPS] = {{0}};

    assert(n <= FEW_WARPS);
    for (int64_t i = 0; i < n; i++)
        load_warp(m, i64(m, i), x[i]);
    set(m, m->other, x[0]);
    for (int64_t i = 1; i < n; i++) {
        lw_ir_if(&m->b, is_above(m, warp, i));
        lw_reduce_combine_after(m, m->other, x[i]);
        lw_ir_end(&m->b);
    }
}

/* Sets m->other to the sum of the row's warps before the thread's own. */
static void
sum_of_warps(maker *m, lw_ref warp)
{
    lw_builder *b = &m->b;
    acc_parts x = {0};
    int64_t n = m->lanes / m->warp_lanes - 1;
    lw_for loop;

    if (n <= FEW_WARPS && m->n_parts <= 2) {
        sum_of_few_warps(m, warp, n);
        return;
    }
    load_parts(m, m->warp_at, m->in_block, x);
    set(m, m->other, x);
    loop = lw_ir_for(b, i64(m, 1), warp, i64(m, 1), LW_LOOP_NO_UNROLL);
    load_warp(m, loop.i, x);
    lw_reduce_combine_after(m, m->other, x);
    lw_ir_for_end(b, &loop);
}

/* The last lane of a row keeps the tile's sum, and leaves it for other blocks. */
static void
keep_sum(maker *m)
{
    acc_parts acc = {0};

    if (!m->key->waits)
        return;
    lw_ir_if(&m->b, is_equal(m, m->lane, m->lanes - 1));
    get(m, m->sum, acc);
    store_parts(m, m->sum_at, m->in_block, acc);
    lw_scan_leave_sum(m, acc);
    lw_ir_end(&m->b);
}

/* An exclusive prefix sum over the lanes of a row: m->sum, the thread's own sum, becomes that
 * of all lanes before it (anything for the first lane). */
static void
scan_lanes(maker *m, lw_ref is_active)
{
    lw_builder *b = &m->b;
    int64_t width = m->warp_lanes, apart = m->key->columns ? m->strip_rows : 1;
    lw_ref at = low(m, m->lane, width), warp = high(m, m->lane, width);
    acc_parts acc = {0}, x = {0};

    lw_scan_warp(m, at, width, apart, is_active);
    get(m, m->sum, acc);
    if (width == m->lanes) {
        keep_sum(m);
        if (width > 1)
            shuffle(m, LW_KOP_shfl_up, acc, i32(m, apart), acc);
        set(m, m->sum, acc);
        return;
    }
    lw_ir_if(b, is_equal(m, at, width - 1));
    store_parts(m, m->warp_at, add(m, times(m, warp, i64(m, m->strip_rows)), m->in_block), acc);
    lw_ir_end(b);
    lw_ir_barrier(&m->b);
    if (width > 1)
        shuffle(m, LW_KOP_shfl_up, acc, i32(m, apart), x);
    else
        memcpy(x, acc, sizeof x); /* not used: `at` is 0 */
    lw_ir_if(b, both(m, is_above(m, warp, 0), is_active));
    sum_of_warps(m, warp);
    get(m, m->other, acc);
    lw_reduce_combine_before(m, acc, m->sum);
    lw_ir_end(b);
    keep_sum(m);
    set(m, m->sum, x);
    lw_ir_if(b, both(m, is_above(m, warp, 0), is_active));
    lw_ir_if(b, is_above(m, at, 0));
    get(m, m->other, acc);
    lw_reduce_combine_before(m, acc, m->sum);
    lw_ir_else(b);
    copy_slots(m, m->sum, m->other);
    lw_ir_end(b);
    lw_ir_end(b);
}

/* ---- results ---- */

/* Puts what comes before each thread's first element where all threads can read it. */
static void
keep_before(maker *m)
{
    lw_builder *b = &m->b;
    acc_parts x = {0}, acc = {0};

    lw_ir_if(b, m->is_led);
    if (m->key->waits)
        get(m, m->before, x);
    else
        memcpy(x, m->seed, sizeof x);
    if (m->key->waits || m->key->initial)
        lw_reduce_put_before(m, x, m->sum, is_above(m, m->lane, 0));
    lw_ir_end(b);
    if (m->key->columns)
        return;
    get(m, m->sum, acc);
    store_parts(m, m->thread_at, m->place, acc);
    lw_ir_barrier(&m->b);
}

void
lw_scan_find_result(maker *m, lw_ref number, lw_ref *address)
{
    number = add(m, m->row_out, times(m, number, m->inner));
    for (uint32_t i = 0; i < m->r->n_out; i++) {
        lw_ref size = i64(m, lw_dtypes[m->r->out[i]].size_bytes);
        address[i] = lw_ir_offset(&m->b, m->out[i], times(m, number, size));
    }
}

void
lw_scan_store(maker *m, const lw_ref *address, const lw_ref *acc)
{
    acc_parts results = {0};
    uint32_t at = 0;

    lw_reduce_emit_finish(&m->b, &m->body, acc, results);
    for (uint32_t i = 0; i < m->r->n_out; i++) {
        lw_ir_store_parts(&m->b, m->r->out[i], address[i], results + at);
        at += lw_dtype_n_parts(m->r->out[i]);
    }
}

static void
put_result(maker *m, lw_ref number, const lw_ref *acc)
{
    lw_ref address[LW_REDUCE_MOST] = {0};

    lw_scan_find_result(m, number, address);
    lw_scan_store(m, address, acc);
}

/* If the element is the last of a run, stores the run's results and its key, and behind the
 * last run how many runs there are. */
static void
put_run(maker *m, lw_ref number, const lw_ref *acc)
{
    lw_builder *b = &m->b;
    lw_ref run = minus(m, acc[m->n_parts - 1], i64(m, 1)), key[2] = {0}, is_last, next;
    lw_dtype dtype = (lw_dtype)m->key->key_dtype;

    next = smaller(m, add(m, number, i64(m, 1)), minus(m, m->elements, i64(m, 1)));
    is_last = lw_ir_compare(b, LW_OP_EQ, next, number);
    lw_ir_if(b, lw_ir_or(b, is_last, keys_differ(m, number, next)));
    put_result(m, run, acc);
    lw_ir_if(b, is_equal(m, m->row_out, 0));
    load_key(m, number, key);
    lw_ir_store_parts(
        b, dtype,
        lw_ir_offset(b, m->keys_out, times(m, run, i64(m, lw_dtypes[dtype].size_bytes))), key);
    lw_ir_if(b, is_last);
    lw_ir_store(b, m->n_runs, acc[m->n_parts - 1], 0, 0);
    lw_ir_end(b);
    lw_ir_end(b);
    lw_ir_end(b);
}

void
lw_scan_put(maker *m, lw_ref element, const lw_ref *acc)
{
    (m->key->keyed ? put_run : put_result)(m, add(m, m->first, element), acc);
}

/* Sets m->sum to the sum up to the element, without it if key->before. */
static void
sum_up_to(maker *m, const spot *at)
{
    lw_builder *b = &m->b;
    acc_parts before = {0}, x = {0};
    lw_ref is_led;

    load_parts(m, m->thread_at, at->owner, before);
    if (m->key->before) {
        set(m, m->sum, before);
        lw_ir_if(b, is_above(m, at->k, 0));
        load_parts(m, m->item_at, place_of(m, at->owner, minus(m, at->k, i64(m, 1))), x);
    } else {
        load_parts(m, m->item_at, at->place, x);
        set(m, m->sum, x);
        is_led = lw_ir_compare(b, LW_OP_GE, at->element, i64(m, m->thread_items));
        lw_ir_if(b, lw_ir_or(b, m->is_led, is_led));
    }
    lw_reduce_combine(m, before, x, x);
    set(m, m->sum, x);
    lw_ir_end(b);
}

static void
put_one(maker *m, const spot *at)
{
    acc_parts acc = {0};

    sum_up_to(m, at);
    get(m, m->sum, acc);
    lw_scan_put(m, at->element, acc);
}

static void
put_results(maker *m)
{
    lw_builder *b = &m->b;
    lw_ref end = i64(m, m->thread_items);
    lw_for loop;
    spot at;

    lw_ir_if(b, both(m, m->is_full, m->is_valid));
    if (m->key->vector) {
        lw_scan_put_vectors(m);
    } else {
        loop = lw_ir_for(b, i64(m, 0), end, i64(m, 1), LW_LOOP_UNROLL_FULL);
        at = spot_of(m, loop.i);
        put_one(m, &at);
        lw_ir_for_end(b, &loop);
    }
    lw_ir_else(b);
    loop = lw_ir_for(b, i64(m, 0), end, i64(m, 1), LW_LOOP_NO_UNROLL);
    at = spot_of(m, loop.i);
    lw_ir_if(b, both(m, m->is_valid, is_less(m, at.element, m->count)));
    put_one(m, &at);
    lw_ir_end(b);
    lw_ir_for_end(b, &loop);
    lw_ir_end(b);
}

/* ---- the kernel ---- */

/* Elements of shared memory that lie unused between those of two threads, so that these are in
 * different banks; more with vectors, whose accesses have 16 bytes. */
static uint32_t
gap_of(const lw_reduction *r, const lw_reduce_key *key, bool has_vectors)
{
    lw_dtype part[LW_REDUCE_PARTS];
    uint32_t n = lw_reduce_device_parts(r, key, part), size = 8;

    if (key->columns || key->items_log2 == 0)
        return 0;
    if (!has_vectors)
        return 1;
    for (uint32_t i = 0; i < n; i++)
        size = lw_dtypes[part[i]].size_bytes < size ? lw_dtypes[part[i]].size_bytes : size;
    return size == 8 ? 2 : 4;
}

/* Blocks of a multiprocessor. As the kernel needs few registers (48 to 102), shared memory
 * limits their number; the more tiles are under way, the better the wait for earlier tiles is
 * hidden. */
static uint32_t
blocks_of(const maker *m)
{
    uint32_t bytes = lw_reduce_device_bytes(m->r, m->key), n, most;
    uint32_t threads_log2 = m->key->lanes_log2 + m->key->results_log2;

    if (m->threads <= SMALL_BLOCK)
        return MOST_SMALL_BLOCKS; /* allows 102 registers; shared memory holds fewer blocks */
    bytes *= lw_reduce_scan_places(m->r, m->key, threads_log2);
    n = SHARED_OF_ALL / (bytes + SHARED_OF_BLOCK);
    most = m->threads < LW_REDUCE_THREADS ? MOST_BLOCKS + 1 : MOST_BLOCKS;
    return n > most ? most : n;
}

/* Sets the sizes of a block, which follow from the key. */
static void
set_sizes(maker *m)
{
    const lw_reduce_key *key = m->key;

    m->n_loaded = lw_reduce_count_parts(m->r->loaded, m->r->n_in);
    m->lanes = INT64_C(1) << key->lanes_log2;
    m->strip_rows = INT64_C(1) << key->results_log2;
    m->thread_items = INT64_C(1) << key->items_log2;
    m->threads = m->lanes * m->strip_rows;
    m->pad = m->thread_items + gap_of(m->r, key, key->vector > 0);
    m->warp_lanes = m->lanes;
    while (m->warp_lanes > 1 && m->warp_lanes * (key->columns ? m->strip_rows : 1) > WARP)
        m->warp_lanes /= 2;
    assert(m->thread_items <= MOST_ITEMS && key->vector <= MOST_SCAN_VECTOR);
    if (!key->simulated && m->threads >= SMALL_BLOCK && m->n_parts <= 2)
        m->b.func->min_blocks = blocks_of(m);
}

static lw_ref
shared(maker *m, int64_t n, uint32_t size)
{
    return lw_ir_shared(&m->b, (uint32_t)n * size, 16);
}

static void
add_memory(maker *m)
{
    lw_builder *b = &m->b;

    for (uint32_t i = 0; i < m->n_parts; i++) {
        uint32_t size = lw_dtypes[m->part[i]].size_bytes;
        lw_ref *slots[] = {&m->sum[i], &m->other[i], &m->before[i], &m->joined[i]};
        m->item_at[i] = shared(m, m->threads * m->pad, size);
        if (!m->key->columns)
            m->thread_at[i] = shared(m, m->threads, size);
        if (m->warp_lanes < m->lanes)
            m->warp_at[i] = shared(m, m->threads / m->warp_lanes, size);
        if (m->key->waits) {
            if (m->key->columns)
                m->share_at[i] = shared(m, m->lanes > 1 ? m->threads : 2 * m->threads, size);
            m->sum_at[i] = shared(m, m->strip_rows, size);
            m->seen_at[i] =
                shared(m, m->key->columns ? m->strip_rows : m->threads / WARP + 1, size);
        }
        for (int k = 0; k < 4; k++)
            *slots[k] = lw_ir_slot(b, m->part[i]);
        for (int k = 0; k < 3; k++) /* joined is set before it is read */
            lw_ir_set(b, *slots[k], lw_ir_zero(b, m->part[i]));
    }
    if (!m->key->waits)
        return;
    m->drawn = lw_ir_shared(b, 4, 4);
    for (uint32_t i = 0; i < lw_scan_state_words(m->part, m->n_parts); i++) {
        m->word[i] = lw_ir_slot(b, LW_DT_u64);
        m->rest_word[i] = lw_ir_slot(b, LW_DT_u64);
    }
}

uint32_t
lw_reduce_scan_places(const lw_reduction *r, const lw_reduce_key *key, uint32_t threads_log2)
{
    uint32_t threads = 1u << threads_log2;
    uint32_t items = 1u << key->items_log2;

    if (key->columns) /* and a warp's width of rows, where tiles wait for others */
        return threads * (items + 2) + 2 * WARP;
    return threads * (items + gap_of(r, key, !key->keyed) + 1) + 2 * (threads / WARP) + 2;
}

static void
emit_kernel(maker *m)
{
    acc_parts *values = lw_arena_take(&m->module->arena, MOST_ITEMS * sizeof *values);
    lw_ref is_active;

    if (values == NULL) /* lw_ir_finish tells of it */
        return;
    set_sizes(m);
    add_params(m);
    add_memory(m);
    find_place(m);
    if (m->key->columns) {
        lw_scan_take_columns(m);
        is_active = lw_ir_int(&m->b, LW_DT_b1, 1);
    } else {
        take_elements(m, values);
        is_active = scan_items(m);
    }
    scan_lanes(m, is_active);
    if (m->key->waits) {
        copy_slots(m, m->other, m->sum); /* lw_scan_look_back uses m->sum */
        lw_scan_look_back(m);
        copy_slots(m, m->sum, m->other);
    }
    keep_before(m);
    (m->key->columns ? lw_scan_put_columns : put_results)(m);
}

lw_status
lw_reduce_scan_module(const lw_reduction *r, const lw_reduce_key *key, const char *symbol,
                      int max_registers, lw_module **out, lw_error *err)
{
    assert(key->scan);
    return lw_reduce_make_kernel(r, key, symbol, max_registers, emit_kernel, out, err);
}
