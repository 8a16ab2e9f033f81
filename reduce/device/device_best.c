/* The best element, where combine gives the better of its operands (lw_reduction.best): argmax
 * and the like, whose accumulators hold a value and what map makes of the index or of other
 * operands.
 *
 * A lane compares only the values that decide: it takes the maximum of some accesses' values
 * and compares it with its best value so far, beside which it keeps the first of those
 * accesses. When the lanes have been compared with each other, the accesses of the best one are
 * read once more, and the user's function combines their elements: so it finds the element and
 * what goes with it. An element costs about as much as in a plain maximum, and of operands that
 * do not decide, only those accesses are read.
 *
 * With key->columns a lane has one element of each result in an access, and every lane would
 * read its best accesses of each result again, which lie far apart: a third of all that it
 * reads. So it keeps which access the best value is from, and its value if that is all that map
 * takes. */
#include "core/block/shuffle.h"
#include "reduce/device/device_internal.h"

#include "core/tables/intrinsics.h"

#include <math.h>

typedef struct best {
    lw_extreme extreme;
    lw_dtype value;
    lw_op op;
    lw_ref step, next; /* between two accesses of a lane, and from UNROLL to the next ones */
    lw_ref value_slot[MOST_VECTOR], from[MOST_VECTOR]; /* for each result of the thread */
    lw_ref number[MOST_VECTOR]; /* with key->columns, i32: which of the accesses from there */
    bool is_element;            /* with key->columns: the value is all that map takes */
    lw_ref top;                 /* slot of the best value of all lanes */
} best;

/* ---- comparing ---- */

static lw_ref
is_nan(maker *m, lw_ref x)
{
    return lw_ir_compare(&m->b, LW_OP_NE, x, x);
}

/* The better of two; the other one where one is NaN. */
static lw_ref
better_number(maker *m, const best *w, lw_ref x, lw_ref y)
{
    lw_ref both_of[] = {x, y};

    if (lw_is_float(w->value))
        return lw_ir_intrinsic(&m->b, w->extreme.kind == LW_LARGEST ? LW_IN_fmax : LW_IN_fmin,
                               w->value, both_of, 2);
    return lw_ir_select(&m->b, lw_ir_compare(&m->b, w->op, x, y), x, y);
}

/* The deciding value of element v of an access. */
static lw_ref
deciding(maker *m, const best *w, const access *from, uint32_t v)
{
    acc_parts acc = {0};

    lw_reduce_map_element(m, from, v, acc);
    return w->value == LW_DT_u8 && m->part[w->extreme.part] == LW_DT_b1
               ? lw_ir_cast(&m->b, LW_DT_u8, acc[w->extreme.part])
               : acc[w->extreme.part];
}

/* Whether one of n values is NaN: a test takes two of them. */
static lw_ref
any_nan(maker *m, const lw_ref *x, uint32_t n)
{
    lw_ref any = 0;

    for (uint32_t i = 0; i < n; i += 2) {
        lw_ref pair = is_nan(m, x[i]);
        if (i + 1 < n)
            pair = lw_ir_or(&m->b, pair, is_nan(m, x[i + 1]));
        any = i == 0 ? pair : lw_ir_or(&m->b, any, pair);
    }
    return any;
}

/* The best of n values, or NaN where one of them is NaN. x is overwritten. */
static lw_ref
best_of(maker *m, const best *w, lw_ref *x, uint32_t n)
{
    lw_builder *b = &m->b;
    bool is_float = lw_is_float(w->value);
    lw_ref nan = is_float ? any_nan(m, x, n) : 0;

    assert(n > 0);
    for (uint32_t apart = 1; apart < n; apart *= 2)
        for (uint32_t i = 0; i + apart < n; i += 2 * apart)
            x[i] = better_number(m, w, x[i], x[i + apart]);
    return is_float ? lw_ir_select(b, nan, lw_ir_float(b, w->value, (double)NAN), x[0]) : x[0];
}

/* Whether x is better than y: larger, say, or NaN where y is not. */
static lw_ref
is_better(maker *m, const best *w, lw_ref x, lw_ref y)
{
    lw_builder *b = &m->b;
    lw_op reverse = w->op == LW_OP_GT ? LW_OP_LE : LW_OP_GE;

    if (!lw_is_float(w->value))
        return lw_ir_compare(b, w->op, x, y);
    return both(m, lw_ir_not(b, lw_ir_compare(b, reverse, x, y)),
                lw_ir_compare(b, LW_OP_EQ, y, y));
}

/* ---- the lane's accesses ---- */

/* Compares a result's elements of `count` accesses, from access `item` on, with the best so
 * far. */
static void
compare(maker *m, const best *w, uint32_t result, lw_ref item, uint32_t count,
        const access *from)
{
    lw_builder *b = &m->b;
    lw_ref x[MOST_VECTOR * UNROLL] = {0}, now = lw_ir_get(b, w->value_slot[result]), wins;
    uint32_t together = m->key->vector;

    for (uint32_t k = 0; k < count; k++)
        for (uint32_t v = 0; v < together; v++)
            x[k * together + v] = deciding(m, w, &from[k], v);
    x[0] = best_of(m, w, x, count * together);
    wins = is_better(m, w, x[0], now);
    lw_ir_set(b, w->value_slot[result], lw_ir_select(b, wins, x[0], now));
    lw_ir_set(b, w->from[result], lw_ir_select(b, wins, item, lw_ir_get(b, w->from[result])));
}

/* The same with key->columns, for one element of each access, whose number is kept. */
static void
compare_each(maker *m, const best *w, uint32_t result, lw_ref item, uint32_t count,
             const access *from)
{
    lw_builder *b = &m->b;
    lw_ref x[UNROLL] = {0}, number[UNROLL] = {0}, now = lw_ir_get(b, w->value_slot[result]);
    lw_ref wins;

    for (uint32_t k = 0; k < count; k++) {
        x[k] = deciding(m, w, &from[k], result);
        number[k] = i32(m, k);
    }
    for (uint32_t apart = 1; apart < count; apart *= 2)
        for (uint32_t k = 0; k + apart < count; k += 2 * apart) {
            wins = is_better(m, w, x[k + apart], x[k]);
            x[k] = lw_ir_select(b, wins, x[k + apart], x[k]);
            number[k] = lw_ir_select(b, wins, number[k + apart], number[k]);
        }
    wins = is_better(m, w, x[0], now);
    lw_ir_set(b, w->value_slot[result], lw_ir_select(b, wins, x[0], now));
    lw_ir_set(b, w->from[result], lw_ir_select(b, wins, item, lw_ir_get(b, w->from[result])));
    lw_ir_set(b, w->number[result],
              lw_ir_select(b, wins, number[0], lw_ir_get(b, w->number[result])));
}

/* Compares the elements of `count` accesses, from access `item` on, with the best so far. */
static void
take_accesses(maker *m, const best *w, lw_ref item, uint32_t count, access *from)
{
    for (uint32_t k = 0; k < count; k++)
        lw_reduce_load_access(m, add(m, item, times(m, w->step, i64(m, k))), m->key->vector,
                              &from[k]);
    for (uint32_t result = 0; result < n_results(m); result++)
        if (m->key->columns)
            compare_each(m, w, result, item, count, from);
        else
            compare(m, w, result, item, count, from);
}

/* A loop that takes `count` accesses in each iteration while the slot `at` is below `end`. */
static void
take_until(maker *m, const best *w, lw_ref at, lw_ref end, uint32_t count, access *from)
{
    lw_ref i = lw_ir_while(&m->b, at, end);

    take_accesses(m, w, i, count, from);
    lw_ir_latch(&m->b);
    lw_ir_while_end(&m->b, at, count == UNROLL ? w->next : w->step);
}

/* ---- what goes with the best value ---- */

/* Combines the elements of access `item`; the result is the first slot's. */
static void
take_whole(maker *m, lw_ref item, access *from)
{
    acc_parts x[MOST_VECTOR];

    lw_reduce_load_access(m, item, m->key->vector, from);
    for (uint32_t v = 0; v < m->key->vector; v++)
        lw_reduce_map_element(m, from, v, x[v]);
    lw_reduce_combine_tree(m, m->key->vector, x);
    set(m, m->slot[0], x[0]);
}

/* Begins a loop over the accesses among which the lane's best element is; the lane has those
 * below `last`. */
static lw_for
among_accesses(maker *m, const best *w, lw_ref last)
{
    lw_ref item = lw_ir_get(&m->b, w->from[0]);
    lw_ref end = smaller(m, last, add(m, item, times(m, w->step, i64(m, UNROLL))));

    return lw_ir_for(&m->b, item, end, w->step, LW_LOOP_NO_UNROLL);
}

/* With key->columns: what goes with the lane's best element of a result. */
static void
find_of_lane(maker *m, const best *w, uint32_t result, access *from)
{
    lw_ref number = lw_ir_cast(&m->b, LW_DT_i64, lw_ir_get(&m->b, w->number[result]));
    lw_ref item = add(m, lw_ir_get(&m->b, w->from[result]), times(m, w->step, number));
    acc_parts x = {0};

    if (w->is_element) {
        from->values[result][0] = lw_ir_get(&m->b, w->value_slot[result]);
        lw_reduce_set_index(m, item, m->key->vector, from);
    } else {
        lw_reduce_load_access(m, item, m->key->vector, from);
    }
    lw_reduce_map_element(m, from, result, x);
    set(m, m->slot[result], x);
}

/* ---- lanes of one result ---- */

/* Writes each warp's value to shared memory; then lane k reads that of warp k of the result,
 * counted modulo their number. */
static void
spread(maker *m, lw_ref slot, lw_ref memory)
{
    lw_builder *b = &m->b;
    lw_ref value = lw_ir_get(b, slot), lane = low(m, m->lane, WARP), at;
    lw_dtype type = lw_ir_type(b, value);
    int64_t warps = (INT64_C(1) << m->key->lanes_log2) / WARP;
    lw_ref size = i64(m, lw_dtypes[type].size_bytes);

    at = times(m, lw_ir_shr(b, m->tid, i64(m, 5)), size);
    lw_ir_if(b, is_equal(m, lane, 0));
    lw_ir_store(b, lw_ir_offset(b, memory, at), value, 0, 0);
    lw_ir_end(b);
    lw_ir_barrier(b);
    at = add(m, lw_ir_shr(b, minus(m, m->tid, m->lane), i64(m, 5)), low(m, lane, warps));
    at = lw_ir_offset(b, memory, times(m, at, size));
    lw_ir_set(b, slot, lw_ir_load(b, type, 1, at, 0, 0));
}

/* Gives each of n neighbouring lanes the best of their values, or, where the slot is not that
 * of the best value, the earliest of their accesses. */
static void
join_warp(maker *m, const best *w, int64_t n, lw_ref slot)
{
    lw_builder *b = &m->b;

    for (int64_t apart = 1; apart < n; apart *= 2) {
        lw_ref mine = lw_ir_get(b, slot);
        lw_ref other = lw_warp_shuffle(b, LW_KOP_shfl_xor, mine, i32(m, apart));
        lw_ref wins = slot == w->top ? is_better(m, w, other, mine) : is_less(m, other, mine);
        lw_ir_set(b, slot, lw_ir_select(b, wins, other, mine));
    }
}

static void
join_lanes(maker *m, const best *w, lw_ref slot, uint32_t size)
{
    int64_t lanes = INT64_C(1) << m->key->lanes_log2;

    join_warp(m, w, lanes < WARP ? lanes : WARP, slot);
    if (lanes <= WARP)
        return;
    spread(m, slot, lw_ir_shared(&m->b, LW_REDUCE_THREADS / WARP * size, 16));
    join_warp(m, w, lanes / WARP, slot);
}

/* Whether x is as good as the best value of all lanes. */
static lw_ref
is_top(maker *m, const best *w, lw_ref x)
{
    return lw_ir_not(&m->b, is_better(m, w, lw_ir_get(&m->b, w->top), x));
}

/* Leaves the first access of the lane with an element that is as good as the best in `from`;
 * INT64_MAX: it has none. */
static void
find_access(maker *m, const best *w, lw_ref last, access *from)
{
    lw_builder *b = &m->b;
    lw_ref found = lw_ir_slot(b, LW_DT_i64), x[MOST_VECTOR], hit, so_far;
    lw_for loop;

    lw_ir_set(b, found, i64(m, INT64_MAX));
    lw_ir_if(b, both(m, is_top(m, w, lw_ir_get(b, w->value_slot[0])),
                     is_less(m, lw_ir_get(b, w->from[0]), last)));
    loop = among_accesses(m, w, last);
    lw_reduce_load_access(m, loop.i, m->key->vector, from);
    for (uint32_t v = 0; v < m->key->vector; v++)
        x[v] = deciding(m, w, from, v);
    hit = is_top(m, w, best_of(m, w, x, m->key->vector));
    so_far = lw_ir_get(b, found);
    lw_ir_set(b, found,
              lw_ir_select(b, both(m, hit, is_less(m, loop.i, so_far)), loop.i, so_far));
    lw_ir_for_end(b, &loop);
    lw_ir_end(b);
    lw_ir_set(b, w->from[0], lw_ir_get(b, found));
}

/* Leaves the best element of all lanes in the first one's slot. */
static void
find_of_lanes(maker *m, const best *w, lw_ref last, access *from)
{
    lw_builder *b = &m->b;

    lw_ir_set(b, w->top, lw_ir_get(b, w->value_slot[0]));
    join_lanes(m, w, w->top, lw_dtypes[w->value].size_bytes);
    find_access(m, w, last, from);
    join_lanes(m, w, w->from[0], 8);
    lw_ir_if(b, is_equal(m, m->lane, 0));
    take_whole(m, lw_ir_get(b, w->from[0]), from);
    lw_ir_end(b);
}

/* ---- the whole ---- */

/* The value that no other is worse than. */
static lw_ref
worst(maker *m, const best *w)
{
    bool largest = w->extreme.kind == LW_LARGEST;
    unsigned bits = 8u * lw_dtypes[w->value].size_bytes;
    int64_t least = INT64_MIN >> (64 - bits);

    if (lw_is_float(w->value))
        return lw_ir_float(&m->b, w->value, largest ? -(double)INFINITY : (double)INFINITY);
    if (lw_dtypes[w->value].kind == LW_KIND_UINT)
        return lw_ir_int(&m->b, w->value, largest ? 0 : (int64_t)(UINT64_MAX >> (64 - bits)));
    return lw_ir_int(&m->b, w->value, largest ? least : ~least);
}

/* New slots, without an element. */
static best
start(maker *m, const lane_range *range)
{
    lw_builder *b = &m->b;
    best w = {.extreme = m->r->best, .step = range->step, .next = range->next};

    assert(w.extreme.kind != LW_NO_EXTREME);
    w.value = m->part[w.extreme.part];
    if (w.value == LW_DT_b1)
        w.value = LW_DT_u8;
    w.op = w.extreme.kind == LW_LARGEST ? LW_OP_GT : LW_OP_LT;
    w.top = lw_ir_slot(b, w.value);
    w.is_element =
        m->r->n_in == 1 && lw_reduce_deciding_operand(m->r) == 0 && m->r->loaded[0] == w.value;
    for (uint32_t i = 0; i < n_results(m); i++) {
        w.value_slot[i] = lw_ir_slot(b, w.value);
        w.from[i] = lw_ir_slot(b, LW_DT_i64);
        lw_ir_set(b, w.value_slot[i], worst(m, &w));
        lw_ir_set(b, w.from[i], i64(m, INT64_MAX));
        if (m->key->columns) {
            w.number[i] = lw_ir_slot(b, LW_DT_i32);
            lw_ir_set(b, w.number[i], i32(m, 0));
        }
    }
    return w;
}

lane_range
lw_reduce_take_best(maker *m, access *from)
{
    lw_builder *b = &m->b;
    bool columns = m->key->columns;
    lane_range range = lw_reduce_lane_of_block(m, columns && !m->r->commutative);
    lw_ref ahead = times(m, range.step, i64(m, UNROLL - 1)), at = lw_ir_slot(b, LW_DT_i64);
    best w = start(m, &range);

    lw_ir_if(b, is_less(m, range.first, range.last));
    for (uint32_t i = 0; i < n_results(m); i++)
        lw_ir_set(b, w.from[i], range.first);
    lw_ir_set(b, at, range.first);
    take_until(m, &w, at, minus(m, range.last, ahead), UNROLL, from);
    take_until(m, &w, at, range.last, 1, from);
    for (uint32_t i = 0; i < n_results(m) && columns; i++)
        find_of_lane(m, &w, i, from);
    lw_ir_end(b);
    if (columns)
        return range;
    find_of_lanes(m, &w, range.last, from);
    lw_reduce_take_rest(m, is_equal(m, m->lane, 0), from);
    return range;
}
