#include "reduce/scan_kernel.h"

#include "core/tables/kernel_ops.h"
#include "reduce/body_ir.h"

#include <string.h>

enum { WARP = 32, MOST_ITEMS = 16, MOST_LOADED = 64, NAP_NS = 40 };

typedef struct maker {
    lw_builder b;
    lw_module *module;
    const lw_reduction *r;
    const lw_reduce_key *key;
    lw_reduce_body body;
    lw_ref words; /* simulated: where the parameters are */
    uint32_t n_params;
    lw_ref rows, inner, elements, tiles, strips;
    lw_ref operand[LW_REDUCE_MOST], outer_step[LW_REDUCE_MOST], inner_step[LW_REDUCE_MOST];
    lw_ref step[LW_REDUCE_MOST], out[LW_REDUCE_MOST], seed[LW_REDUCE_PARTS];
    lw_ref keys, key_step, keys_out, n_runs; /* with key->keyed */
    lw_ref counter, flags, state[LW_REDUCE_PARTS];
    uint32_t n_parts, n_loaded;
    lw_dtype part[LW_REDUCE_PARTS];
    int64_t lanes, results, items, threads, pad; /* of the block; pad: items and a gap */
    int64_t warp_lanes;                          /* lanes of a row in one warp */
    /* shared memory: elements, and for each thread, warp or row what is there so far */
    lw_ref item_at[LW_REDUCE_PARTS], thread_at[LW_REDUCE_PARTS], warp_at[LW_REDUCE_PARTS];
    lw_ref sum_at[LW_REDUCE_PARTS], before_at[LW_REDUCE_PARTS], drawn;
    lw_ref slot[LW_REDUCE_PARTS], other[LW_REDUCE_PARTS], before[LW_REDUCE_PARTS];
    lw_ref joined[LW_REDUCE_PARTS];
    lw_ref tid, lane, in_block, place, number, tile, strip, is_valid; /* place: by row, lane */
    lw_ref first, count, row_out; /* of the tile: its first element, how many; results */
    lw_ref is_full, is_led;       /* is_led: something comes before the tile */
} maker;

static lw_ref
i64(maker *m, int64_t value)
{
    return lw_ir_int(&m->b, LW_DT_i64, value);
}

static lw_ref
i32(maker *m, int64_t value)
{
    return lw_ir_int(&m->b, LW_DT_i32, value);
}

static lw_ref
add(maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_add(&m->b, x, y);
}

static lw_ref
times(maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_mul(&m->b, x, y);
}

static lw_ref
is_less(maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_compare(&m->b, LW_OP_LT, x, y);
}

static lw_ref
is_equal(maker *m, lw_ref x, int64_t y)
{
    return lw_ir_compare(&m->b, LW_OP_EQ, x, i64(m, y));
}

static lw_ref
is_above(maker *m, lw_ref x, int64_t y)
{
    return lw_ir_compare(&m->b, LW_OP_GT, x, i64(m, y));
}

static lw_ref
both(maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_and(&m->b, x, y);
}

static lw_ref
smaller(maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_select(&m->b, is_less(m, x, y), x, y);
}

/* x % y and x / y of a value that is not negative, y a power of two. */
static lw_ref
low(maker *m, lw_ref x, int64_t y)
{
    return lw_ir_and(&m->b, x, i64(m, y - 1));
}

static lw_ref
high(maker *m, lw_ref x, int64_t y)
{
    int64_t log = 0;

    while (INT64_C(1) << log < y)
        log++;
    return lw_ir_shr(&m->b, x, i64(m, log));
}

static lw_ref
register_of(maker *m, lw_sreg which)
{
    return lw_ir_cast(&m->b, LW_DT_i64,
                      lw_ir_bitcast(&m->b, LW_DT_u32, lw_ir_sreg(&m->b, which)));
}

static void
barrier(maker *m)
{
    lw_ir_emit(&m->b, LW_OP_BARRIER, LW_DT_void, 0, 0, 0);
}

/* ---- parameters ---- */

static lw_ref
param(maker *m, lw_dtype type, uint32_t flags, const char *name)
{
    if (!m->key->simulated)
        return lw_ir_param_add(&m->b, type, flags, name);
    return lw_ir_load(&m->b, type, 1,
                      lw_ir_offset(&m->b, m->words, i64(m, 8 * (int64_t)m->n_params++)), 8, 0);
}

static void
add_params(maker *m)
{
    const lw_reduction *r = m->r;

    m->rows = param(m, LW_DT_i64, 0, "rows");
    m->inner = param(m, LW_DT_i64, 0, "inner");
    m->elements = param(m, LW_DT_i64, 0, "elements");
    m->tiles = param(m, LW_DT_i64, 0, "tiles");
    m->strips = param(m, LW_DT_i64, 0, "strips");
    for (uint32_t i = 0; i < r->n_in; i++) {
        m->operand[i] = param(m, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "operand");
        m->outer_step[i] = param(m, LW_DT_i64, 0, "outer_step");
        m->inner_step[i] = param(m, LW_DT_i64, 0, "inner_step");
        m->step[i] = param(m, LW_DT_i64, 0, "step");
        if (m->key->dense)
            m->step[i] = i64(m, lw_dtypes[r->loaded[i]].size_bytes);
    }
    if (m->key->dense)
        m->inner = i64(m, 1);
    for (uint32_t i = 0; i < r->n_out; i++)
        m->out[i] = param(m, LW_DT_ptr, LW_PARAM_NOALIAS, "out");
    for (uint32_t i = 0; i < m->n_parts && m->key->initial; i++)
        m->seed[i] = param(m, m->part[i], 0, "seed");
    if (m->key->keyed) {
        m->keys = param(m, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "keys");
        m->key_step = param(m, LW_DT_i64, 0, "key_step");
        m->keys_out = param(m, LW_DT_ptr, LW_PARAM_NOALIAS, "keys_out");
        m->n_runs = param(m, LW_DT_ptr, LW_PARAM_NOALIAS, "n_runs");
    }
    if (!m->key->waits)
        return;
    m->counter = param(m, LW_DT_ptr, 0, "counter");
    m->flags = param(m, LW_DT_ptr, 0, "flags");
    for (uint32_t i = 0; i < m->n_parts; i++)
        m->state[i] = param(m, LW_DT_ptr, 0, "state");
}

/* ---- where the thread works ---- */

/* The block's number; with tiles to wait for, blocks are numbered as they come. */
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
    barrier(m);
    return lw_ir_cast(b, LW_DT_i64, lw_ir_load(b, LW_DT_u32, 1, m->drawn, 0, 0));
}

static void
find_row(maker *m)
{
    lw_builder *b = &m->b;
    lw_ref row = add(m, times(m, m->strip, i64(m, m->results)), m->in_block), outer, inner;

    m->is_valid = is_less(m, row, m->rows);
    /* the others work on the last row, and store nothing */
    row = smaller(m, row, lw_ir_sub(b, m->rows, i64(m, 1)));
    outer = m->key->dense ? row : lw_ir_div(b, row, m->inner);
    inner = m->key->dense ? i64(m, 0) : lw_ir_sub(b, row, times(m, outer, m->inner));
    for (uint32_t i = 0; i < m->r->n_in; i++) {
        m->operand[i] = lw_ir_offset(b, m->operand[i], times(m, outer, m->outer_step[i]));
        m->operand[i] = lw_ir_offset(b, m->operand[i], times(m, inner, m->inner_step[i]));
    }
    m->row_out = add(m, times(m, times(m, outer, m->elements), m->inner), inner);
}

static void
find_place(maker *m)
{
    lw_builder *b = &m->b;
    int64_t tile = m->lanes * m->items;

    m->tid = register_of(m, LW_SREG_TID_X);
    m->in_block = m->key->columns ? low(m, m->tid, m->results) : high(m, m->tid, m->lanes);
    m->lane = m->key->columns ? high(m, m->tid, m->results) : low(m, m->tid, m->lanes);
    m->number = draw_number(m);
    m->tile = m->key->waits ? lw_ir_div(b, m->number, m->strips) : i64(m, 0);
    m->strip =
        m->key->waits ? lw_ir_sub(b, m->number, times(m, m->tile, m->strips)) : m->number;
    find_row(m);
    m->first = times(m, m->tile, i64(m, tile));
    m->count = smaller(m, lw_ir_sub(b, m->elements, m->first), i64(m, tile));
    m->is_full = is_equal(m, m->count, tile);
    m->is_led = m->key->initial ? lw_ir_int(b, LW_DT_b1, 1) : is_above(m, m->tile, 0);
}

/* ---- accumulators ---- */

static void
get(maker *m, const lw_ref *slot, lw_ref *acc)
{
    for (uint32_t i = 0; i < m->n_parts; i++)
        acc[i] = lw_ir_get(&m->b, slot[i]);
}

static void
set(maker *m, const lw_ref *slot, const lw_ref *acc)
{
    for (uint32_t i = 0; i < m->n_parts; i++)
        lw_ir_set(&m->b, slot[i], acc[i]);
}

/* y alone where a run begins in it. */
static void
combine_runs(maker *m, const lw_ref *x, const lw_ref *y, lw_ref *out)
{
    uint32_t runs = m->n_parts - 1;
    lw_ref made[LW_REDUCE_PARTS] = {0}, sum = add(m, x[runs], y[runs]);

    set(m, m->joined, y);
    lw_ir_if(&m->b, is_equal(m, y[runs], 0));
    lw_reduce_emit_combine(&m->b, &m->body, x, y, made);
    made[runs] = sum;
    set(m, m->joined, made);
    lw_ir_end(&m->b);
    get(m, m->joined, out);
    out[runs] = sum;
}

static void
combine(maker *m, const lw_ref *x, const lw_ref *y, lw_ref *out)
{
    if (m->key->keyed)
        combine_runs(m, x, y, out);
    else
        lw_reduce_emit_combine(&m->b, &m->body, x, y, out);
}

static lw_ref
at_part(maker *m, const lw_ref *base, uint32_t part, lw_ref number)
{
    return lw_ir_offset(&m->b, base[part],
                        times(m, number, i64(m, lw_dtypes[m->part[part]].size_bytes)));
}

static void
load_parts(maker *m, const lw_ref *base, lw_ref number, lw_ref *acc)
{
    for (uint32_t i = 0; i < m->n_parts; i++)
        acc[i] = lw_ir_load(&m->b, m->part[i], 1, at_part(m, base, i, number), 0, 0);
}

static void
store_parts(maker *m, const lw_ref *base, lw_ref number, const lw_ref *acc)
{
    for (uint32_t i = 0; i < m->n_parts; i++)
        lw_ir_store(&m->b, at_part(m, base, i, number), acc[i], 0, 0);
}

/* slot = x . slot */
static void
combine_before(maker *m, const lw_ref *x, const lw_ref *slot)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0};

    get(m, slot, acc);
    combine(m, x, acc, acc);
    set(m, slot, acc);
}

/* ---- shuffles ---- */

static lw_ref
shuffle_word(maker *m, uint32_t row, lw_ref word, lw_ref lane)
{
    lw_ref args[] = {i32(m, -1), word, lane, i32(m, row == LW_KOP_shfl_up ? 0 : WARP - 1)};

    return lw_ir_kernel_call(&m->b, row, LW_DT_i32, args, 4);
}

static lw_ref
shuffle_wide(maker *m, uint32_t row, lw_ref value, lw_ref lane)
{
    lw_builder *b = &m->b;
    lw_ref bits = lw_ir_bitcast(b, LW_DT_u64, value), halves[2];
    lw_ref far = lw_ir_int(b, LW_DT_u64, 32);

    for (int i = 0; i < 2; i++) {
        lw_ref half = lw_ir_cast(b, LW_DT_u32, i ? lw_ir_shr(b, bits, far) : bits);
        half = shuffle_word(m, row, lw_ir_bitcast(b, LW_DT_i32, half), lane);
        halves[i] = lw_ir_cast(b, LW_DT_u64, lw_ir_bitcast(b, LW_DT_u32, half));
    }
    bits = lw_ir_or(b, lw_ir_shl(b, halves[1], far), halves[0]);
    return lw_ir_bitcast(b, lw_ir_type(b, value), bits);
}

static lw_ref
shuffle_value(maker *m, uint32_t row, lw_ref value, lw_ref lane)
{
    lw_builder *b = &m->b;
    lw_dtype type = lw_ir_type(b, value);
    uint32_t size = lw_dtypes[type].size_bytes;

    if (size == 8)
        return shuffle_wide(m, row, value, lane);
    if (size == 4)
        return lw_ir_bitcast(b, type,
                             shuffle_word(m, row, lw_ir_bitcast(b, LW_DT_i32, value), lane));
    if (type == LW_DT_b1) {
        value = shuffle_word(m, row, lw_ir_select(b, value, i32(m, 1), i32(m, 0)), lane);
        return lw_ir_compare(b, LW_OP_NE, value, i32(m, 0));
    }
    value = lw_ir_bitcast(b, size == 1 ? LW_DT_u8 : LW_DT_u16, value);
    value = shuffle_word(m, row, lw_ir_cast(b, LW_DT_i32, value), lane);
    return lw_ir_bitcast(b, type, lw_ir_cast(b, size == 1 ? LW_DT_u8 : LW_DT_u16, value));
}

static void
shuffle(maker *m, uint32_t row, const lw_ref *acc, lw_ref lane, lw_ref *out)
{
    for (uint32_t i = 0; i < m->n_parts; i++)
        out[i] = shuffle_value(m, row, acc[i], lane);
}

/* m->slot of `width` lanes, `apart` from one another, becomes that of all up to it. at: the
 * lane's place among them. is_active false: it has nothing, nor have those behind it. */
static void
scan_warp(maker *m, lw_ref at, int64_t width, int64_t apart, lw_ref is_active)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0}, x[LW_REDUCE_PARTS] = {0};

    for (int64_t delta = 1; delta < width; delta *= 2) {
        get(m, m->slot, acc);
        shuffle(m, LW_KOP_shfl_up, acc, i32(m, delta * apart), x);
        lw_ir_if(&m->b, both(m, is_active, lw_ir_compare(&m->b, LW_OP_GE, at, i64(m, delta))));
        combine_before(m, x, m->slot);
        lw_ir_end(&m->b);
    }
}

/* ---- elements: read side by side, kept item after item of a thread ---- */

static lw_ref
place_of(maker *m, lw_ref owner, lw_ref k)
{
    if (m->key->columns)
        return add(m, times(m, k, i64(m, m->threads)), owner);
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

    if (m->key->columns) {
        s.element = add(m, times(m, m->lane, i64(m, m->items)), k);
        s.owner = m->tid;
        s.k = k;
    } else {
        s.element = add(m, times(m, k, i64(m, m->lanes)), m->lane);
        s.owner = m->lanes < m->items ? high(m, s.element, m->items)
                                      : add(m, high(m, m->lane, m->items),
                                            times(m, k, i64(m, m->lanes / m->items)));
        s.owner = add(m, row, s.owner);
        s.k = low(m, m->lanes < m->items ? s.element : m->lane, m->items);
    }
    s.place = place_of(m, s.owner, s.k);
    return s;
}

static void
load_element(maker *m, lw_ref element, lw_ref *values)
{
    uint32_t flags = m->key->simulated ? 0 : LW_MEM_INVARIANT, at = 0;
    lw_ref number = add(m, m->first, element);

    for (uint32_t i = 0; i < m->r->n_in; i++) {
        lw_ref address = lw_ir_offset(&m->b, m->operand[i], times(m, number, m->step[i]));
        lw_reduce_emit_load(&m->b, m->r->loaded[i], address, flags, values + at);
        at += (uint32_t)lw_reduce_parts(m->r->loaded[i]);
    }
    if (m->r->indexed)
        values[at] = number;
}

/* A key's one or two parts. */
static void
load_key(maker *m, lw_ref number, lw_ref *parts)
{
    lw_reduce_emit_load(&m->b, (lw_dtype)m->key->key_dtype,
                        lw_ir_offset(&m->b, m->keys, times(m, number, m->key_step)),
                        m->key->simulated ? 0 : LW_MEM_INVARIANT, parts);
}

/* Whether the keys of two elements differ. */
static lw_ref
keys_differ(maker *m, lw_ref x, lw_ref y)
{
    lw_ref left[2] = {0}, right[2] = {0}, differ;

    load_key(m, x, left);
    load_key(m, y, right);
    differ = lw_ir_compare(&m->b, LW_OP_NE, left[0], right[0]);
    if (lw_reduce_parts((lw_dtype)m->key->key_dtype) > 1)
        differ = lw_ir_or(&m->b, differ, lw_ir_compare(&m->b, LW_OP_NE, left[1], right[1]));
    return differ;
}

/* 1 where a run begins with the element. */
static lw_ref
runs_of(maker *m, lw_ref number)
{
    lw_ref is_first = is_equal(m, number, 0), before;

    before = lw_ir_select(&m->b, is_first, number, lw_ir_sub(&m->b, number, i64(m, 1)));
    return lw_ir_select(&m->b, lw_ir_or(&m->b, is_first, keys_differ(m, number, before)),
                        i64(m, 1), i64(m, 0));
}

static void
keep_element(maker *m, const spot *at, const lw_ref *values)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0};

    lw_reduce_emit_map(&m->b, &m->body, values, acc);
    if (m->key->keyed)
        acc[m->n_parts - 1] = runs_of(m, add(m, m->first, at->element));
    store_parts(m, m->item_at, at->place, acc);
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
    lw_builder *b = &m->b;
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
    lw_ir_if(&m->b, m->is_full);
    take_full(m, values);
    lw_ir_else(&m->b);
    take_some(m, values[0]);
    lw_ir_end(&m->b);
    if (!m->key->columns)
        barrier(m);
}

/* ---- the thread's items, then the lanes ---- */

static void
scan_until(maker *m, lw_ref end, uint32_t flags)
{
    lw_builder *b = &m->b;
    lw_ref acc[LW_REDUCE_PARTS] = {0}, x[LW_REDUCE_PARTS] = {0}, place;
    lw_for loop = lw_ir_for(b, i64(m, 1), end, i64(m, 1), flags, 0);

    place = place_of(m, m->place, loop.i);
    load_parts(m, m->item_at, place, x);
    get(m, m->slot, acc);
    combine(m, acc, x, acc);
    set(m, m->slot, acc);
    store_parts(m, m->item_at, place, acc);
    lw_ir_for_end(b, &loop);
}

/* The thread's sum goes to m->slot. Gives whether it has an element. */
static lw_ref
scan_items(maker *m)
{
    lw_builder *b = &m->b;
    lw_ref begin = times(m, m->lane, i64(m, m->items)), x[LW_REDUCE_PARTS] = {0};
    lw_ref is_active = is_less(m, begin, m->count);

    lw_ir_if(b, is_active);
    load_parts(m, m->item_at, place_of(m, m->place, i64(m, 0)), x);
    set(m, m->slot, x);
    lw_ir_if(b, m->is_full);
    scan_until(m, i64(m, m->items), LW_LOOP_UNROLL_FULL);
    lw_ir_else(b);
    scan_until(m, smaller(m, lw_ir_sub(b, m->count, begin), i64(m, m->items)),
               LW_LOOP_NO_UNROLL);
    lw_ir_end(b);
    lw_ir_end(b);
    return is_active;
}

/* The sums of a row's warps before the thread's own one, into m->other. */
static void
sum_of_warps(maker *m, lw_ref warp)
{
    lw_builder *b = &m->b;
    lw_ref acc[LW_REDUCE_PARTS] = {0}, x[LW_REDUCE_PARTS] = {0};
    lw_for loop;

    load_parts(m, m->warp_at, m->in_block, x);
    set(m, m->other, x);
    loop = lw_ir_for(b, i64(m, 1), warp, i64(m, 1), LW_LOOP_NO_UNROLL, 0);
    load_parts(m, m->warp_at, add(m, times(m, loop.i, i64(m, m->results)), m->in_block), x);
    get(m, m->other, acc);
    combine(m, acc, x, acc);
    set(m, m->other, acc);
    lw_ir_for_end(b, &loop);
}

/* The last lane of a row has the tile's sum. */
static void
keep_sum(maker *m)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0};

    if (!m->key->waits)
        return;
    lw_ir_if(&m->b, is_equal(m, m->lane, m->lanes - 1));
    get(m, m->slot, acc);
    store_parts(m, m->sum_at, m->in_block, acc);
    store_parts(m, m->state, add(m, times(m, m->number, i64(m, m->results)), m->in_block), acc);
    lw_ir_end(&m->b);
}

/* From the thread's sum in m->slot to that of all lanes before it there (nothing for the
 * first). */
static void
scan_lanes(maker *m, lw_ref is_active)
{
    lw_builder *b = &m->b;
    int64_t width = m->warp_lanes, apart = m->key->columns ? m->results : 1;
    lw_ref at = low(m, m->lane, width), warp = high(m, m->lane, width);
    lw_ref acc[LW_REDUCE_PARTS] = {0}, x[LW_REDUCE_PARTS] = {0};

    scan_warp(m, at, width, apart, is_active);
    get(m, m->slot, acc);
    if (width == m->lanes) {
        keep_sum(m);
        if (width > 1)
            shuffle(m, LW_KOP_shfl_up, acc, i32(m, apart), acc);
        set(m, m->slot, acc);
        return;
    }
    lw_ir_if(b, is_equal(m, at, width - 1));
    store_parts(m, m->warp_at, add(m, times(m, warp, i64(m, m->results)), m->in_block), acc);
    lw_ir_end(b);
    barrier(m);
    if (width > 1)
        shuffle(m, LW_KOP_shfl_up, acc, i32(m, apart), x);
    else
        memcpy(x, acc, sizeof x); /* of nobody: `at` is 0 */
    lw_ir_if(b, both(m, is_above(m, warp, 0), is_active));
    sum_of_warps(m, warp);
    get(m, m->other, acc);
    combine_before(m, acc, m->slot);
    lw_ir_end(b);
    keep_sum(m);
    set(m, m->slot, x);
    lw_ir_if(b, both(m, is_above(m, warp, 0), is_active));
    lw_ir_if(b, is_above(m, at, 0));
    get(m, m->other, acc);
    combine_before(m, acc, m->slot);
    lw_ir_else(b);
    get(m, m->other, acc);
    set(m, m->slot, acc);
    lw_ir_end(b);
    lw_ir_end(b);
}

/* ---- other blocks ---- */

static void
raise_flag(maker *m, lw_ref condition, lw_ref number)
{
    lw_builder *b = &m->b;
    lw_ref args[2];

    lw_ir_if(b, both(m, condition, is_equal(m, m->tid, 0)));
    args[0] = lw_ir_offset(b, m->flags, times(m, number, i64(m, 4)));
    args[1] = i32(m, 1);
    lw_ir_kernel_call(b, LW_KOP_store_release, LW_DT_void, args, 2);
    lw_ir_end(b);
}

static void
wait_for(maker *m, lw_ref number)
{
    lw_builder *b = &m->b;
    lw_ref flag = lw_ir_offset(b, m->flags, times(m, number, i64(m, 4))), nap = i32(m, NAP_NS);

    lw_ir_loop(b, LW_LOOP_NO_UNROLL | LW_LOOP_NO_VECTORIZE, 0);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_NE,
                              lw_ir_kernel_call(b, LW_KOP_load_acquire, LW_DT_i32, &flag, 1),
                              i32(m, 0)));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    lw_ir_kernel_call(b, LW_KOP_nanosleep, LW_DT_void, &nap, 1);
    lw_ir_latch(b);
    lw_ir_end(b);
}

/* The sums of `count` (1 to 31) tiles or groups from `first` on; all lanes get it in x. row: in
 * the strip. base: where this kind of sums begins. */
static void
fold(maker *m, lw_ref base, lw_ref first, lw_ref count, lw_ref row, lw_ref *x)
{
    lw_builder *b = &m->b;
    lw_ref at = low(m, m->tid, WARP), is_active = is_less(m, at, count), number;

    lw_ir_if(b, is_active);
    number = add(m, add(m, base, m->strip), times(m, add(m, first, at), m->strips));
    wait_for(m, number);
    load_parts(m, m->state, add(m, times(m, number, i64(m, m->results)), row), x);
    set(m, m->slot, x);
    lw_ir_end(b);
    scan_warp(m, at, WARP, 1, is_active);
    get(m, m->slot, x);
    shuffle(m, LW_KOP_shfl_idx, x, lw_ir_cast(b, LW_DT_i32, lw_ir_sub(b, count, i64(m, 1))), x);
}

/* What a tile sees of those before it: numbers of tiles, groups, super-groups. */
typedef struct view {
    lw_ref tiles, group, groups, super; /* tiles: before it in the group, … */
    lw_ref group_base, super_base;      /* where their sums begin */
    lw_ref ends_group, ends_super;      /* and another one follows */
} view;

static view
view_of(maker *m)
{
    int64_t size = 1 << LW_SCAN_GROUP_LOG2;
    lw_ref follows = is_less(m, add(m, m->tile, i64(m, 1)), m->tiles), n_groups;
    view v;

    v.tiles = low(m, m->tile, size);
    v.group = high(m, m->tile, size);
    v.groups = low(m, v.group, size);
    v.super = high(m, v.group, size);
    n_groups = high(m, add(m, m->tiles, i64(m, size - 1)), size);
    v.group_base = times(m, m->tiles, m->strips);
    v.super_base = add(m, v.group_base, times(m, n_groups, m->strips));
    v.ends_group = both(m, follows, is_equal(m, v.tiles, size - 1));
    v.ends_super = both(m, v.ends_group, is_equal(m, v.groups, size - 1));
    return v;
}

static lw_ref
number_of(maker *m, lw_ref base, lw_ref which)
{
    return add(m, add(m, base, m->strip), times(m, which, m->strips));
}

/* A warp takes every so-manieth row of the strip. */
static lw_for
for_rows(maker *m)
{
    return lw_ir_for(&m->b, high(m, m->tid, WARP), i64(m, m->results),
                     i64(m, m->threads / WARP), LW_LOOP_NO_UNROLL, 0);
}

/* before = sum . the tile's own, to `number`, by one lane. */
static void
leave(maker *m, lw_ref condition, const lw_ref *before, lw_ref row, lw_ref number)
{
    lw_ref x[LW_REDUCE_PARTS] = {0};

    lw_ir_if(&m->b, both(m, condition, is_equal(m, low(m, m->tid, WARP), 0)));
    load_parts(m, m->sum_at, row, x);
    combine(m, before, x, x);
    store_parts(m, m->state, add(m, times(m, number, i64(m, m->results)), row), x);
    lw_ir_end(&m->b);
}

static void
store_by_one(maker *m, const lw_ref *base, lw_ref row, const lw_ref *x)
{
    lw_ir_if(&m->b, is_equal(m, low(m, m->tid, WARP), 0));
    store_parts(m, base, row, x);
    lw_ir_end(&m->b);
}

static void
sync_warp(maker *m)
{
    lw_ref all = i32(m, -1);

    lw_ir_kernel_call(&m->b, LW_KOP_syncwarp, LW_DT_void, &all, 1);
}

/* The tiles before this one in its group, by row, to before_at. */
static void
look_at_tiles(maker *m, const view *v)
{
    lw_ref x[LW_REDUCE_PARTS] = {0};
    lw_for loop;

    lw_ir_if(&m->b, is_above(m, v->tiles, 0));
    loop = for_rows(m);
    fold(m, i64(m, 0), lw_ir_sub(&m->b, m->tile, v->tiles), v->tiles, loop.i, x);
    store_by_one(m, m->before_at, loop.i, x);
    leave(m, v->ends_group, x, loop.i, number_of(m, v->group_base, v->group));
    lw_ir_for_end(&m->b, &loop);
    lw_ir_end(&m->b);
}

/* m->before = x . m->before, or x where nothing is there yet. */
static void
put_before(maker *m, lw_ref is_there, const lw_ref *x)
{
    lw_ir_if(&m->b, is_there);
    combine_before(m, x, m->before);
    lw_ir_else(&m->b);
    set(m, m->before, x);
    lw_ir_end(&m->b);
}

/* The groups before the tile's own, then all super-groups, or the seed. */
static void
look_at_groups(maker *m, const view *v, lw_ref row)
{
    lw_builder *b = &m->b;
    lw_ref x[LW_REDUCE_PARTS] = {0}, has_tiles = is_above(m, v->tiles, 0), number;
    lw_ref has_some = is_above(m, low(m, m->tile, INT64_C(1) << 2 * LW_SCAN_GROUP_LOG2), 0);

    sync_warp(m);
    lw_ir_if(b, has_tiles);
    load_parts(m, m->before_at, row, x);
    set(m, m->before, x);
    lw_ir_end(b);
    lw_ir_if(b, is_above(m, v->groups, 0));
    fold(m, v->group_base, lw_ir_sub(b, v->group, v->groups), v->groups, row, x);
    put_before(m, has_tiles, x);
    lw_ir_end(b);
    lw_ir_if(b, is_above(m, v->super, 0));
    number = number_of(m, v->super_base, lw_ir_sub(b, v->super, i64(m, 1)));
    wait_for(m, number);
    load_parts(m, m->state, add(m, times(m, number, i64(m, m->results)), row), x);
    put_before(m, has_some, x);
    if (m->key->initial) {
        lw_ir_else(b);
        put_before(m, has_some, m->seed);
    }
    lw_ir_end(b);
    sync_warp(m);
    get(m, m->before, x);
    store_by_one(m, m->before_at, row, x);
    leave(m, v->ends_super, x, row, number_of(m, v->super_base, v->super));
}

/* What is before the tile, by row, goes to before_at. */
static void
look_back(maker *m)
{
    lw_builder *b = &m->b;
    view v = view_of(m);
    lw_for loop;

    barrier(m);
    raise_flag(m, is_less(m, add(m, m->tile, i64(m, 1)), m->tiles), m->number);
    look_at_tiles(m, &v);
    lw_ir_if(b, v.ends_group);
    barrier(m);
    raise_flag(m, lw_ir_int(b, LW_DT_b1, 1), number_of(m, v.group_base, v.group));
    lw_ir_end(b);
    lw_ir_if(b, m->is_led);
    loop = for_rows(m);
    look_at_groups(m, &v, loop.i);
    lw_ir_for_end(b, &loop);
    lw_ir_end(b);
    barrier(m);
    raise_flag(m, v.ends_super, number_of(m, v.super_base, v.super));
}

/* ---- results ---- */

/* What is before the thread's first item, where all threads see it. */
static void
keep_before(maker *m)
{
    lw_builder *b = &m->b;
    lw_ref x[LW_REDUCE_PARTS] = {0}, acc[LW_REDUCE_PARTS] = {0};

    lw_ir_if(b, m->is_led);
    if (m->key->waits)
        load_parts(m, m->before_at, m->in_block, x);
    else
        memcpy(x, m->seed, sizeof x);
    if (m->key->waits || m->key->initial) {
        lw_ir_if(b, is_above(m, m->lane, 0));
        combine_before(m, x, m->slot);
        lw_ir_else(b);
        set(m, m->slot, x);
        lw_ir_end(b);
    }
    lw_ir_end(b);
    get(m, m->slot, acc);
    store_parts(m, m->thread_at, m->place, acc);
    if (!m->key->columns)
        barrier(m);
}

static void
put_result(maker *m, lw_ref number, const lw_ref *acc)
{
    lw_ref results[LW_REDUCE_PARTS] = {0};
    uint32_t at = 0;

    number = add(m, m->row_out, times(m, number, m->inner));
    lw_reduce_emit_finish(&m->b, &m->body, acc, results);
    for (uint32_t i = 0; i < m->r->n_out; i++) {
        lw_dtype dtype = m->r->out[i];
        lw_ref address = lw_ir_offset(&m->b, m->out[i],
                                      times(m, number, i64(m, lw_dtypes[dtype].size_bytes)));
        lw_reduce_emit_store(&m->b, dtype, address, results + at);
        at += (uint32_t)lw_reduce_parts(dtype);
    }
}

/* The last element of a run: the run's results, its key, and, at the end, how many there are.
 */
static void
put_run(maker *m, lw_ref number, const lw_ref *acc)
{
    lw_builder *b = &m->b;
    lw_ref run = lw_ir_sub(b, acc[m->n_parts - 1], i64(m, 1)), key[2] = {0}, is_last, next;
    lw_dtype dtype = (lw_dtype)m->key->key_dtype;

    next = smaller(m, add(m, number, i64(m, 1)), lw_ir_sub(b, m->elements, i64(m, 1)));
    is_last = lw_ir_compare(b, LW_OP_EQ, next, number);
    lw_ir_if(b, lw_ir_or(b, is_last, keys_differ(m, number, next)));
    put_result(m, run, acc);
    lw_ir_if(b, is_equal(m, m->row_out, 0));
    load_key(m, number, key);
    lw_reduce_emit_store(
        b, dtype,
        lw_ir_offset(b, m->keys_out, times(m, run, i64(m, lw_dtypes[dtype].size_bytes))), key);
    lw_ir_if(b, is_last);
    lw_ir_store(b, m->n_runs, acc[m->n_parts - 1], 0, 0);
    lw_ir_end(b);
    lw_ir_end(b);
    lw_ir_end(b);
}

/* m->slot = what is up to the element, or, with key->before, in front of it. */
static void
sum_up_to(maker *m, const spot *at)
{
    lw_builder *b = &m->b;
    lw_ref before[LW_REDUCE_PARTS] = {0}, x[LW_REDUCE_PARTS] = {0}, is_led;

    load_parts(m, m->thread_at, at->owner, before);
    if (m->key->before) {
        set(m, m->slot, before);
        lw_ir_if(b, is_above(m, at->k, 0));
        load_parts(m, m->item_at, place_of(m, at->owner, lw_ir_sub(b, at->k, i64(m, 1))), x);
    } else {
        load_parts(m, m->item_at, at->place, x);
        set(m, m->slot, x);
        is_led = lw_ir_compare(b, LW_OP_GE, at->element, i64(m, m->items));
        lw_ir_if(b, lw_ir_or(b, m->is_led, is_led));
    }
    combine(m, before, x, x);
    set(m, m->slot, x);
    lw_ir_end(b);
}

static void
put_one(maker *m, const spot *at)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0};

    sum_up_to(m, at);
    get(m, m->slot, acc);
    (m->key->keyed ? put_run : put_result)(m, add(m, m->first, at->element), acc);
}

static void
put_results(maker *m)
{
    lw_builder *b = &m->b;
    lw_ref end = i64(m, m->items);
    lw_for loop;
    spot at;

    lw_ir_if(b, both(m, m->is_full, m->is_valid));
    loop = lw_ir_for(b, i64(m, 0), end, i64(m, 1), LW_LOOP_UNROLL_FULL, 0);
    at = spot_of(m, loop.i);
    put_one(m, &at);
    lw_ir_for_end(b, &loop);
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

static void
start(maker *m, const char *symbol)
{
    const lw_reduce_key *key = m->key;

    lw_builder_start(&m->b, m->module, symbol);
    if (m->b.func == NULL)
        return;
    m->b.func->linkage = key->simulated ? LW_EXPORTED : LW_KERNEL;
    m->n_parts = lw_reduce_scan_parts(m->r, key, m->part);
    for (uint32_t i = 0; i < m->r->n_in; i++)
        m->n_loaded += (uint32_t)lw_reduce_parts(m->r->loaded[i]);
    m->lanes = INT64_C(1) << key->lanes_log2;
    m->results = INT64_C(1) << key->results_log2;
    m->items = INT64_C(1) << key->items_log2;
    m->threads = m->lanes * m->results;
    m->pad = m->items > 1 ? m->items + 1 : 1;
    m->warp_lanes = m->lanes;
    while (m->warp_lanes > 1 && m->warp_lanes * (key->columns ? m->results : 1) > WARP)
        m->warp_lanes /= 2;
    if (key->simulated) {
        m->words = lw_ir_param_add(&m->b, LW_DT_ptr, 0, "words");
        lw_ir_result_add(&m->b, LW_DT_i32);
    } else {
        m->b.func->max_threads = (uint32_t)m->threads;
        if (m->threads == LW_REDUCE_THREADS && m->n_parts == 1)
            /* at most 42 or 64 registers, so that more loads are under way */
            m->b.func->min_blocks = lw_dtypes[m->part[0]].size_bytes > 4 ? 4 : 6;
    }
    add_params(m);
}

static lw_ref
shared(maker *m, int64_t n, uint32_t size)
{
    return lw_ir_shared(&m->b, (uint32_t)n * size, 16);
}

static void
add_memory(maker *m)
{
    for (uint32_t i = 0; i < m->n_parts; i++) {
        uint32_t size = lw_dtypes[m->part[i]].size_bytes;
        m->item_at[i] = shared(m, m->threads * m->pad, size);
        m->thread_at[i] = shared(m, m->threads, size);
        m->warp_at[i] = shared(m, m->threads / m->warp_lanes, size);
        if (m->key->waits) {
            m->sum_at[i] = shared(m, m->results, size);
            m->before_at[i] = shared(m, m->results, size);
        }
        m->slot[i] = lw_ir_slot(&m->b, m->part[i]);
        m->other[i] = lw_ir_slot(&m->b, m->part[i]);
        m->before[i] = lw_ir_slot(&m->b, m->part[i]);
        m->joined[i] = lw_ir_slot(&m->b, m->part[i]);
        lw_ir_set(&m->b, m->slot[i], lw_ir_zero(&m->b, m->part[i]));
        lw_ir_set(&m->b, m->other[i], lw_ir_zero(&m->b, m->part[i]));
        lw_ir_set(&m->b, m->before[i], lw_ir_zero(&m->b, m->part[i]));
    }
    if (m->key->waits)
        m->drawn = lw_ir_shared(&m->b, 4, 4);
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
lw_reduce_scan_places(const lw_reduce_key *key)
{
    uint32_t threads = 1u << (key->lanes_log2 + key->results_log2);
    uint32_t items = 1u << key->items_log2;

    return threads * (items > 1 ? items + 1 : 1) + 2 * threads + (2u << key->results_log2);
}

static lw_status
kernel(maker *m, const char *symbol, lw_error *err)
{
    lw_ref(*values)[LW_REDUCE_PARTS] =
        lw_arena_take(&m->module->arena, MOST_ITEMS * sizeof *values);
    lw_ref zero, is_active, acc[LW_REDUCE_PARTS] = {0};

    if (values == NULL)
        return lw_fail_memory(err);
    start(m, symbol);
    if (m->b.func == NULL)
        return lw_fail_memory(err);
    add_memory(m);
    find_place(m);
    m->place =
        m->key->columns ? m->tid : add(m, times(m, m->in_block, i64(m, m->lanes)), m->lane);
    take_elements(m, values);
    is_active = scan_items(m);
    scan_lanes(m, is_active);
    if (m->key->waits) {
        get(m, m->slot, acc); /* looking back uses m->slot */
        set(m, m->other, acc);
        look_back(m);
        get(m, m->other, acc);
        set(m, m->slot, acc);
    }
    keep_before(m);
    put_results(m);
    zero = lw_ir_int(&m->b, LW_DT_i32, 0);
    lw_ir_return(&m->b, &zero, m->key->simulated ? 1 : 0);
    return lw_ir_finish(&m->b, err);
}

lw_status
lw_reduce_scan_module(const lw_reduction *r, const lw_reduce_key *key, const char *symbol,
                      lw_module **out, lw_error *err)
{
    maker m = {.r = r, .key = key, .body.reduction = r};
    lw_status status;

    LW_TRY(lw_reduction_module(r, &m.module, m.body.funcs, err));
    LW_TRY(kernel(&m, symbol, err));
    *out = m.module;
    return LW_OK;
fail:
    lw_module_free(m.module);
    return status;
}
