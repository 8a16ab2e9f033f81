/* The kernel of short rows. A group of `lanes` neighbouring threads computes `rows` results at
 * a time, with one access to each row under way. The groups of a warp take neighbouring rows,
 * then the rows behind them, so that the accesses of a warp cover one piece of memory.
 * Afterwards the lanes of a group exchange halves of their accumulators: from eight rows each
 * lane keeps four, then two, then one. That takes fewer combinations and shuffles than eight
 * trees, and elements are combined in the same order. The results of a warp are neighbours. */
#include "core/block/shuffle.h"
#include "reduce/device/device_internal.h"

enum { WARP_LOG2 = 5 };

typedef acc_parts row_values[MOST_ROWS];
typedef lw_ref row_places[MOST_ROWS][LW_REDUCE_MOST + 1];

/* Loads access `item` of each row. */
static void
load_rows(maker *m, lw_ref item, row_places base, access *from)
{
    for (uint32_t r = 0; r < m->key->rows; r++) {
        memcpy(m->operand, base[r], sizeof base[r]);
        lw_reduce_load_access(m, item, m->key->vector, &from[r]);
    }
}

/* Combines the elements of an access, neighbours first. */
static void
join_access(maker *m, const access *from, lw_ref *out)
{
    acc_parts x[MOST_VECTOR] = {0};

    for (uint32_t v = 0; v < m->key->vector; v++)
        lw_reduce_map_element(m, from, v, x[v]);
    lw_reduce_combine_tree(m, m->key->vector, x);
    memcpy(out, x[0], sizeof x[0]);
}

/* Two lanes that are `apart` combine their accumulators of n rows, and each keeps half of the
 * rows. Gives how many these are. */
static uint32_t
halve_rows(maker *m, row_values acc, uint32_t n, uint32_t apart)
{
    lw_builder *b = &m->b;
    lw_ref odd = lw_ir_compare(b, LW_OP_NE, lw_ir_and(b, m->lane, i64(m, apart)), i64(m, 0));
    acc_parts x = {0}, y = {0};

    for (uint32_t r = 0; r < n; r += 2) {
        bool two = r + 1 < n;
        for (uint32_t i = 0; i < m->n_parts; i++) {
            lw_ref even_row = acc[r][i], odd_row = acc[two ? r + 1 : r][i];
            lw_ref kept = two ? lw_ir_select(b, odd, odd_row, even_row) : even_row;
            lw_ref got = lw_warp_shuffle(
                &m->b, LW_KOP_shfl_xor,
                two ? lw_ir_select(b, odd, even_row, odd_row) : even_row, i32(m, apart));
            x[i] = lw_ir_select(b, odd, got, kept);
            y[i] = lw_ir_select(b, odd, kept, got);
        }
        lw_reduce_combine(m, x, y, acc[r / 2]);
    }
    return (n + 1) / 2;
}

/* Takes the next access of each row. Lanes behind its end load the last access again and do not
 * use it. */
static void
go_on_with_rows(maker *m, lw_ref item, row_places base, row_values slot, access *from)
{
    lw_builder *b = &m->b;
    lw_ref is_one = is_less(m, item, m->items);
    acc_parts x = {0}, now = {0};

    load_rows(m, smaller(m, item, minus(m, m->items, i64(m, 1))), base, from);
    for (uint32_t r = 0; r < m->key->rows; r++) {
        join_access(m, &from[r], x);
        get(m, slot[r], now);
        lw_reduce_combine(m, now, x, x);
        for (uint32_t p = 0; p < m->n_parts; p++)
            x[p] = lw_ir_select(b, is_one, x[p], now[p]);
        set(m, slot[r], x);
    }
}

/* Takes all accesses of the lane to its rows, of which there is at least one. */
static void
take_rows(maker *m, row_places base, access *from, row_values acc)
{
    lw_builder *b = &m->b;
    lw_ref lanes = i64(m, INT64_C(1) << m->key->lanes_log2);
    row_values slot = {{0}};
    lw_for loop;

    load_rows(m, m->lane, base, from);
    for (uint32_t r = 0; r < m->key->rows; r++) {
        join_access(m, &from[r], acc[r]);
        new_slots(m, slot[r]);
        set(m, slot[r], acc[r]);
    }
    loop = lw_ir_for(b, lanes, m->items, lanes, LW_LOOP_NO_UNROLL | LW_LOOP_NO_VECTORIZE);
    go_on_with_rows(m, add(m, loop.i, m->lane), base, slot, from);
    lw_ir_for_end(b, &loop);
    for (uint32_t r = 0; r < m->key->rows; r++)
        get(m, slot[r], acc[r]);
}

/* Finds where the rows of the thread begin. Gives the number of the first one; the next is
 * `groups` rows behind it. */
static lw_ref
find_rows(maker *m, uint32_t groups, row_places base)
{
    lw_builder *b = &m->b;
    uint32_t lanes_log2 = m->key->lanes_log2, rows = m->key->rows;
    int64_t warps = INT64_C(1) << (lanes_log2 + m->key->results_log2 - WARP_LOG2);
    lw_ref tid = register_of(m, LW_SREG_TID_X), last = minus(m, m->results, i64(m, 1));
    lw_ref warp = add(m, times(m, register_of(m, LW_SREG_CTAID_X), i64(m, warps)),
                      lw_ir_shr(b, tid, i64(m, WARP_LOG2)));
    lw_ref group = lw_ir_shr(b, both(m, tid, i64(m, WARP - 1)), i64(m, lanes_log2));
    lw_ref first = add(m, times(m, warp, i64(m, groups * rows)), group);

    m->lane = both(m, tid, i64(m, (INT64_C(1) << lanes_log2) - 1));
    for (uint32_t r = 0; r < rows; r++) {
        lw_ref row = smaller(m, add(m, first, i64(m, r * groups)), last);
        for (uint32_t i = 0; i < m->r->n_in; i++)
            base[r][i] = lw_reduce_begin_of(m, i, row);
    }
    return first;
}

/* Stores the results. Accumulator k of a lane belongs to row lane % rows + k * lanes of its
 * group. */
static void
deliver_rows(maker *m, row_values acc, uint32_t n, lw_ref first, uint32_t groups)
{
    lw_builder *b = &m->b;
    uint32_t rows = m->key->rows, lanes = 1u << m->key->lanes_log2;
    lw_ref mine = both(m, m->lane, i64(m, (rows < lanes ? rows : lanes) - 1));

    for (uint32_t k = 0; k < n; k++) {
        lw_ref at = times(m, add(m, mine, i64(m, k * lanes)), i64(m, groups));
        lw_ref row = add(m, first, at);
        lw_ref stores = is_less(m, row, m->results);
        if (rows < lanes)
            stores = both(m, stores, is_less(m, m->lane, i64(m, rows)));
        lw_ir_if(b, stores);
        lw_reduce_store_result(m, acc[k], row);
        lw_ir_end(b);
    }
}

void
lw_reduce_short_rows(maker *m, access *from)
{
    uint32_t lanes = 1u << m->key->lanes_log2, groups = WARP / lanes, n = m->key->rows;
    row_places base = {{0}};
    row_values acc = {{0}};
    lw_ref first = find_rows(m, groups, base);

    assert(n > 0 && n <= MOST_ROWS && lanes <= WARP && m->r->commutative && !m->key->masked);
    take_rows(m, base, from, acc);
    for (uint32_t apart = 1; apart < lanes; apart *= 2)
        n = halve_rows(m, acc, n, apart);
    deliver_rows(m, acc, n, first, groups);
}
