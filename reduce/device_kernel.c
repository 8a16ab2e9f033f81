#include "reduce/device_kernel.h"

#include "core/tables/kernel_ops.h"
#include "reduce/kernel_parts.h"

#include <string.h>

enum { UNROLL = 4, MOST_VECTOR = 16 }; /* accesses under way; elements of one */

typedef struct maker {
    lw_reduce_maker k;
    lw_ref results, items, elements, per_block, splits;
    /* [n_in]: the mask */
    lw_ref operand[LW_REDUCE_MOST + 1], kept_step[LW_REDUCE_MOST + 1], step[LW_REDUCE_MOST + 1];
    lw_ref n_slices, inner, slices, inner_step[LW_REDUCE_MOST + 1]; /* of slices */
    lw_ref partial[LW_REDUCE_PARTS], counters, out[LW_REDUCE_MOST], initial[LW_REDUCE_PARTS];
    lw_ref shared[LW_REDUCE_PARTS], flag; /* shared memory: a place for each thread */
    lw_ref slot[LW_REDUCE_PARTS];         /* the thread's accumulator */
    lw_ref joined[LW_REDUCE_PARTS];       /* masked: what combine made */
    lw_ref tid, lane, result, place, split, is_valid;
} maker;

static lw_ref
i64(maker *m, int64_t value)
{
    return lw_ir_int(&m->k.b, LW_DT_i64, value);
}

/* ceil(x / y) of values that are not negative. */
static lw_ref
ceil_divide(maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_div(&m->k.b, lw_ir_add(&m->k.b, x, lw_ir_sub(&m->k.b, y, i64(m, 1))), y);
}

static void
fence(maker *m)
{
    lw_ir_kernel_call(&m->k.b, LW_KOP_fence_device, LW_DT_void, NULL, 0);
}

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
        if (m->k.key->slices)
            m->inner_step[i] = param(&m->k, LW_DT_i64, 0, "inner_step");
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
    m->place = lw_ir_add(b, lw_ir_shl(b, in_block, i64(m, lanes)), m->lane);
    m->split = register_of(&m->k, LW_SREG_CTAID_Y);
    m->result = lw_ir_add(b, lw_ir_shl(b, register_of(&m->k, LW_SREG_CTAID_X), i64(m, results)),
                          in_block);
    m->is_valid = lw_ir_compare(b, LW_OP_LT, m->result, m->results);
    /* the others work on the last result, and store nothing */
    m->result = smaller(&m->k, m->result, lw_ir_sub(b, m->results, i64(m, 1)));
    if (m->k.key->slices) {
        find_slice(m);
        return;
    }
    for (uint32_t i = 0; i < m->k.r->n_in + m->k.key->masked; i++)
        m->operand[i] =
            lw_ir_offset(b, m->operand[i], lw_ir_mul(b, m->result, m->kept_step[i]));
}

/* ---- accumulators ---- */

static lw_ref
is_set(maker *m, lw_ref flag)
{
    return lw_ir_compare(&m->k.b, LW_OP_NE, flag, lw_ir_int(&m->k.b, LW_DT_i32, 0));
}

/* Of two accumulators of which either may be none: combine never sees one that is. */
static void
combine_masked(maker *m, const lw_ref *x, const lw_ref *y, lw_ref *out)
{
    lw_builder *b = &m->k.b;
    uint32_t has = m->k.n_parts - 1;
    lw_ref left = is_set(m, x[has]), any = lw_ir_or(b, x[has], y[has]), both[LW_REDUCE_PARTS];

    for (uint32_t i = 0; i < has; i++)
        lw_ir_set(b, m->joined[i], lw_ir_select(b, left, x[i], y[i]));
    lw_ir_if(b, is_set(m, lw_ir_and(b, x[has], y[has])));
    lw_reduce_emit_combine(b, &m->k.body, x, y, both);
    for (uint32_t i = 0; i < has; i++)
        lw_ir_set(b, m->joined[i], both[i]);
    lw_ir_end(b);
    for (uint32_t i = 0; i < has; i++)
        out[i] = lw_ir_get(b, m->joined[i]);
    out[has] = any;
}

static void
combine(maker *m, const lw_ref *x, const lw_ref *y, lw_ref *out)
{
    if (m->k.key->masked)
        combine_masked(m, x, y, out);
    else
        lw_reduce_emit_combine(&m->k.b, &m->k.body, x, y, out);
}

/* ---- elements ---- */

/* values[v]: what map takes of element v of an access. */
typedef struct access {
    lw_ref values[MOST_VECTOR][LW_REDUCE_PARTS];
    lw_ref mask[MOST_VECTOR];
} access;

static void
load_operand(maker *m, uint32_t which, lw_ref item, uint32_t place, uint32_t vector,
             access *out)
{
    lw_dtype dtype = m->k.r->loaded[which];
    uint32_t size = lw_dtypes[dtype].size_bytes;
    lw_ref step = vector > 1 ? i64(m, (int64_t)size * vector) : m->step[which];
    lw_ref address = lw_ir_offset(&m->k.b, m->operand[which], lw_ir_mul(&m->k.b, item, step)),
           all;
    uint32_t flags = m->k.key->simulated ? 0 : LW_MEM_INVARIANT;

    if (vector == 1) {
        lw_reduce_emit_load(&m->k.b, dtype, address, flags, &out->values[0][place]);
        return;
    }
    all = lw_ir_load(&m->k.b, dtype, vector, address, size * vector, flags);
    for (uint32_t v = 0; v < vector; v++)
        out->values[v][place] = lw_ir_lane(&m->k.b, all, v);
}

/* The mask's bytes, as i32 0 or 1. */
static void
load_mask(maker *m, lw_ref item, uint32_t vector, access *out)
{
    lw_builder *b = &m->k.b;
    uint32_t at = m->k.r->n_in, flags = m->k.key->simulated ? 0 : LW_MEM_INVARIANT;
    lw_ref step = vector > 1 ? i64(m, vector) : m->step[at];
    lw_ref address = lw_ir_offset(b, m->operand[at], lw_ir_mul(b, item, step));
    lw_ref all = lw_ir_load(b, LW_DT_i8, vector, address, vector, flags);

    for (uint32_t v = 0; v < vector; v++)
        out->mask[v] =
            lw_ir_select(b,
                         lw_ir_compare(b, LW_OP_NE, vector > 1 ? lw_ir_lane(b, all, v) : all,
                                       lw_ir_int(b, LW_DT_i8, 0)),
                         lw_ir_int(b, LW_DT_i32, 1), lw_ir_int(b, LW_DT_i32, 0));
}

static void
load_access(maker *m, lw_ref item, uint32_t vector, access *out)
{
    uint32_t place = 0;

    for (uint32_t i = 0; i < m->k.r->n_in; i++) {
        load_operand(m, i, item, place, vector, out);
        place += (uint32_t)lw_reduce_parts(m->k.r->loaded[i]);
    }
    for (uint32_t v = 0; v < vector && m->k.r->indexed; v++)
        out->values[v][place] =
            lw_ir_add(&m->k.b, lw_ir_mul(&m->k.b, item, i64(m, vector)), i64(m, v));
    if (m->k.key->masked)
        load_mask(m, item, vector, out);
}

static void
map(maker *m, const access *from, uint32_t v, lw_ref *acc)
{
    lw_reduce_emit_map(&m->k.b, &m->k.body, from->values[v], acc);
    if (m->k.key->masked)
        acc[m->k.n_parts - 1] = from->mask[v];
}

/* ---- what a lane does ---- */

typedef struct lane_range {
    lw_ref first, last, step, active; /* active: lanes that have an element at all */
} lane_range;

/* Neighbouring elements to neighbouring lanes, or, where order matters, to one lane. */
static lane_range
lane_of(maker *m, lw_ref begin, lw_ref end, bool in_order)
{
    lw_builder *b = &m->k.b;
    lw_ref lanes = i64(m, INT64_C(1) << m->k.key->lanes_log2);
    lw_ref n = lw_ir_sub(b, end, begin), each;
    lane_range range;

    if (!in_order) {
        range.first = lw_ir_add(b, begin, m->lane);
        range.last = end;
        range.step = lanes;
        range.active = smaller(&m->k, lanes, n);
        return range;
    }
    each = ceil_divide(m, n, lanes);
    range.first = lw_ir_add(b, begin, lw_ir_mul(b, m->lane, each));
    range.last = smaller(&m->k, end, lw_ir_add(b, range.first, each));
    range.step = i64(m, 1);
    range.active = ceil_divide(m, n, each);
    return range;
}

/* Slots of each element of an access: independent chains. */
typedef struct chains {
    lw_ref slot[MOST_VECTOR][LW_REDUCE_PARTS];
} chains;

static void
chain_step(maker *m, const chains *c, uint32_t v, const lw_ref *x)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0};

    for (uint32_t i = 0; i < m->k.n_parts; i++)
        acc[i] = lw_ir_get(&m->k.b, c->slot[v][i]);
    combine(m, acc, x, acc);
    for (uint32_t i = 0; i < m->k.n_parts; i++)
        lw_ir_set(&m->k.b, c->slot[v][i], acc[i]);
}

/* `count` accesses from `item` on: all are asked for before the first is used. */
static void
round_of(maker *m, const chains *c, lw_ref item, lw_ref step, uint32_t count, access *from)
{
    uint32_t vector = m->k.key->vector;
    lw_ref x[UNROLL][LW_REDUCE_PARTS];

    for (uint32_t k = 0; k < count; k++)
        load_access(m, lw_ir_add(&m->k.b, item, lw_ir_mul(&m->k.b, step, i64(m, k))), vector,
                    &from[k]);
    for (uint32_t v = 0; v < vector; v++) {
        for (uint32_t k = 0; k < count; k++)
            map(m, &from[k], v, x[k]);
        if (count == UNROLL) { /* neighbours first: in order, and fewer roundings in a row */
            combine(m, x[0], x[1], x[0]);
            combine(m, x[2], x[3], x[2]);
            combine(m, x[0], x[2], x[0]);
        }
        chain_step(m, c, v, x[0]);
    }
}

/* The slot `at` goes on by `count` steps while it is below `end`. */
static void
rounds_until(maker *m, const chains *c, lw_ref at, lw_ref end, lw_ref step, uint32_t count,
             access *from)
{
    lw_builder *b = &m->k.b;
    lw_ref i;

    lw_ir_loop(b, LW_LOOP_NO_UNROLL | LW_LOOP_NO_VECTORIZE, 0);
    i = lw_ir_get(b, at);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_GE, i, end));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    round_of(m, c, i, step, count, from);
    lw_ir_latch(b);
    lw_ir_set(b, at, lw_ir_add(b, lw_ir_get(b, at), lw_ir_mul(b, step, i64(m, count))));
    lw_ir_end(b);
}

static void
seed_chains(maker *m, const chains *c, lw_ref item, access *from)
{
    lw_ref x[LW_REDUCE_PARTS] = {0};

    load_access(m, item, m->k.key->vector, from);
    for (uint32_t v = 0; v < m->k.key->vector; v++) {
        map(m, from, v, x);
        for (uint32_t i = 0; i < m->k.n_parts; i++)
            lw_ir_set(&m->k.b, c->slot[v][i], x[i]);
    }
}

/* The chains of an access into the first, which is the thread's accumulator. */
static void
join_chains(maker *m, const chains *c)
{
    lw_ref x[LW_REDUCE_PARTS] = {0};

    for (uint32_t apart = 1; apart < m->k.key->vector; apart *= 2)
        for (uint32_t v = 0; v + apart < m->k.key->vector; v += 2 * apart) {
            for (uint32_t i = 0; i < m->k.n_parts; i++)
                x[i] = lw_ir_get(&m->k.b, c->slot[v + apart][i]);
            chain_step(m, c, v, x);
        }
}

/* Elements behind the last whole access, by one lane of the last block. */
static void
take_rest(maker *m, access *from)
{
    lw_builder *b = &m->k.b;
    lw_ref last = lw_ir_compare(b, LW_OP_EQ, m->split, lw_ir_sub(b, m->splits, i64(m, 1)));
    lw_ref x[LW_REDUCE_PARTS] = {0}, acc[LW_REDUCE_PARTS] = {0};
    lw_for loop;

    if (m->k.key->vector == 1)
        return;
    lw_ir_if(b, lw_ir_and(b, last, lw_ir_compare(b, LW_OP_EQ, m->lane, i64(m, 0))));
    loop = lw_ir_for(b, lw_ir_mul(b, m->items, i64(m, m->k.key->vector)), m->elements,
                     i64(m, 1), LW_LOOP_NO_UNROLL, 0);
    load_access(m, loop.i, 1, from);
    map(m, from, 0, x);
    get(&m->k, m->slot, acc);
    combine(m, acc, x, acc);
    set(&m->k, m->slot, acc);
    lw_ir_for_end(b, &loop);
    lw_ir_end(b);
}

/* The block's elements of this lane into its accumulator. Gives how many lanes have one. */
static lw_ref
take_elements(maker *m, access *from)
{
    lw_builder *b = &m->k.b;
    lw_ref begin = lw_ir_mul(b, m->split, m->per_block);
    lw_ref end = smaller(&m->k, m->items, lw_ir_add(b, begin, m->per_block));
    lane_range range = lane_of(m, begin, end, !m->k.r->commutative);
    lw_ref many = lw_ir_mul(b, range.step, i64(m, UNROLL)), behind, at;
    chains c = {0};

    for (uint32_t v = 0; v < m->k.key->vector; v++)
        for (uint32_t i = 0; i < m->k.n_parts; i++)
            c.slot[v][i] = v == 0 ? m->slot[i] : lw_ir_slot(b, m->k.part[i]);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, range.first, range.last));
    seed_chains(m, &c, range.first, from);
    at = lw_ir_slot(b, LW_DT_i64);
    lw_ir_set(b, at, lw_ir_add(b, range.first, range.step));
    behind = lw_ir_sub(b, range.last, lw_ir_sub(b, many, range.step));
    rounds_until(m, &c, at, behind, range.step, UNROLL, from);
    rounds_until(m, &c, at, range.last, range.step, 1, from);
    join_chains(m, &c);
    take_rest(m, from);
    lw_ir_end(b);
    return range.active;
}

/* ---- lanes into one ---- */

static void
join_lanes(maker *m, lw_ref active)
{
    lw_builder *b = &m->k.b;
    lw_ref acc[LW_REDUCE_PARTS] = {0}, other[LW_REDUCE_PARTS] = {0}, reads;

    get(&m->k, m->slot, acc);
    store_parts(&m->k, m->shared, m->place, acc);
    for (int64_t apart = 1; apart < INT64_C(1) << m->k.key->lanes_log2; apart *= 2) {
        barrier(&m->k);
        reads =
            lw_ir_compare(b, LW_OP_EQ, lw_ir_and(b, m->lane, i64(m, 2 * apart - 1)), i64(m, 0));
        reads = lw_ir_and(
            b, reads, lw_ir_compare(b, LW_OP_LT, lw_ir_add(b, m->lane, i64(m, apart)), active));
        lw_ir_if(b, reads);
        load_parts(&m->k, m->shared, lw_ir_add(b, m->place, i64(m, apart)), other);
        get(&m->k, m->slot, acc);
        combine(m, acc, other, acc);
        set(&m->k, m->slot, acc);
        store_parts(&m->k, m->shared, m->place, acc);
        lw_ir_end(b);
    }
}

static lw_ref
is_first_lane(maker *m)
{
    return lw_ir_and(&m->k.b, m->is_valid,
                     lw_ir_compare(&m->k.b, LW_OP_EQ, m->lane, i64(m, 0)));
}

static void
deliver(maker *m)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0}, results[LW_REDUCE_PARTS] = {0};
    uint32_t at = 0;

    lw_ir_if(&m->k.b, is_first_lane(m));
    get(&m->k, m->slot, acc);
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
                         lw_ir_mul(&m->k.b, m->result, i64(m, lw_dtypes[dtype].size_bytes)));
        lw_reduce_emit_store(&m->k.b, dtype, address, results + at);
        at += (uint32_t)lw_reduce_parts(dtype);
    }
    lw_ir_end(&m->k.b);
}

/* ---- blocks into one ---- */

/* Every block but the last to come is done; that one goes on inside the IF that this opens. */
static void
meet(maker *m)
{
    lw_builder *b = &m->k.b;
    lw_ref acc[LW_REDUCE_PARTS] = {0}, limit, old, counter;

    lw_ir_if(b, is_first_lane(m));
    get(&m->k, m->slot, acc);
    store_parts(&m->k, m->partial, lw_ir_add(b, lw_ir_mul(b, m->result, m->splits), m->split),
                acc);
    fence(m);
    lw_ir_end(b);
    barrier(&m->k);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_EQ, m->tid, i64(m, 0)));
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
    fence(m);
}

/* What the blocks of a result made, in their order. */
static void
join_blocks(maker *m)
{
    lw_builder *b = &m->k.b;
    lw_ref acc[LW_REDUCE_PARTS] = {0}, x[LW_REDUCE_PARTS] = {0};
    lw_ref base = lw_ir_mul(b, m->result, m->splits);
    lane_range range = lane_of(m, i64(m, 0), m->splits, true);
    lw_for loop;

    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, range.first, range.last));
    load_parts(&m->k, m->partial, lw_ir_add(b, base, range.first), x);
    set(&m->k, m->slot, x);
    loop = lw_ir_for(b, lw_ir_add(b, range.first, i64(m, 1)), range.last, i64(m, 1),
                     LW_LOOP_NO_UNROLL, 0);
    load_parts(&m->k, m->partial, lw_ir_add(b, base, loop.i), x);
    get(&m->k, m->slot, acc);
    combine(m, acc, x, acc);
    set(&m->k, m->slot, acc);
    lw_ir_for_end(b, &loop);
    lw_ir_end(b);
    join_lanes(m, range.active);
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
        m->shared[i] = lw_ir_shared(&m->k.b, threads * size, 16);
        m->slot[i] = lw_ir_slot(&m->k.b, m->k.part[i]);
        lw_ir_set(&m->k.b, m->slot[i], lw_ir_zero(&m->k.b, m->k.part[i]));
        if (m->k.key->masked)
            m->joined[i] = lw_ir_slot(&m->k.b, m->k.part[i]);
    }
    m->flag = lw_ir_shared(&m->k.b, 4, 4);
}

static lw_status
kernel(maker *m, const char *symbol, lw_error *err)
{
    access *from = lw_arena_take(&m->k.module->arena, UNROLL * sizeof *from); /* some 10 KB */

    if (from == NULL)
        return lw_fail_memory(err);
    start(m, symbol);
    if (m->k.b.func == NULL)
        return lw_fail_memory(err);
    add_memory(m);
    find_place(m);
    join_lanes(m, take_elements(m, from));
    lw_ir_if(&m->k.b, lw_ir_compare(&m->k.b, LW_OP_EQ, m->splits, i64(m, 1)));
    deliver(m);
    lw_ir_else(&m->k.b);
    meet(m);
    join_blocks(m);
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
