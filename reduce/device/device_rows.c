#include "core/block/shuffle.h"
#include "reduce/device/device_kernel_parts.h"

/* Short rows. A group of `lanes` neighbouring threads makes `rows` results at a time: an access
 * of each is under way. The groups of a warp take neighbouring rows, then those behind them, so
 * that an access of a warp lies in one piece. Then lanes exchange halves of what they have: of
 * eight rows each lane goes on with four, then two, then one, which are fewer combines and
 * shuffles than eight trees; elements meet in the same order. The results of a warp lie side by
 * side. */

enum { WARP_LOG2 = 5 };

typedef lw_ref row_values[MOST_ROWS][LW_REDUCE_PARTS];
typedef lw_ref row_places[MOST_ROWS][LW_REDUCE_MOST + 1];

/* An access of each row. */
static void
load_rows(maker *m, lw_ref item, row_places base, access *from)
{
    for (uint32_t r = 0; r < m->k.key->rows; r++) {
        memcpy(m->operand, base[r], sizeof base[r]);
        lw_reduce_load_access(m, item, m->k.key->vector, &from[r]);
    }
}

/* What the elements of an access give, neighbours first. */
static void
join_access(maker *m, const access *from, lw_ref *out)
{
    lw_ref x[MOST_VECTOR][LW_REDUCE_PARTS] = {0};

    for (uint32_t v = 0; v < m->k.key->vector; v++)
        lw_reduce_map_element(m, from, v, x[v]);
    for (uint32_t apart = 1; apart < m->k.key->vector; apart *= 2)
        for (uint32_t v = 0; v + apart < m->k.key->vector; v += 2 * apart)
            combine(m, x[v], x[v + apart], x[v]);
    memcpy(out, x[0], sizeof x[0]);
}

/* Lanes `apart` from one another join what they have: of n rows each goes on with every second.
 */
static uint32_t
halve_rows(maker *m, row_values acc, uint32_t n, uint32_t apart)
{
    lw_builder *b = &m->k.b;
    lw_ref odd = lw_ir_compare(b, LW_OP_NE, lw_ir_and(b, m->lane, i64(m, apart)), i64(m, 0));
    lw_ref x[LW_REDUCE_PARTS] = {0}, y[LW_REDUCE_PARTS] = {0};

    for (uint32_t r = 0; r < n; r += 2) {
        bool two = r + 1 < n;
        for (uint32_t i = 0; i < m->k.n_parts; i++) {
            lw_ref even_row = acc[r][i], odd_row = acc[two ? r + 1 : r][i];
            lw_ref kept = two ? lw_ir_select(b, odd, odd_row, even_row) : even_row;
            lw_ref got = lw_warp_shuffle(
                &m->k.b, LW_KOP_shfl_xor,
                two ? lw_ir_select(b, odd, even_row, odd_row) : even_row, i32(m, apart));
            x[i] = lw_ir_select(b, odd, got, kept);
            y[i] = lw_ir_select(b, odd, kept, got);
        }
        combine(m, x, y, acc[r / 2]);
    }
    return (n + 1) / 2;
}

/* The next access of each row; lanes behind the end take the last one, and do not use it. */
static void
go_on_with_rows(maker *m, lw_ref item, row_places base, row_values slot, access *from)
{
    lw_builder *b = &m->k.b;
    lw_ref is_one = lw_ir_compare(b, LW_OP_LT, item, m->items);
    lw_ref x[LW_REDUCE_PARTS] = {0}, now[LW_REDUCE_PARTS] = {0};

    load_rows(m, smaller(&m->k, item, lw_ir_sub(b, m->items, i64(m, 1))), base, from);
    for (uint32_t r = 0; r < m->k.key->rows; r++) {
        join_access(m, &from[r], x);
        get(&m->k, slot[r], now);
        combine(m, now, x, x);
        for (uint32_t p = 0; p < m->k.n_parts; p++)
            x[p] = lw_ir_select(b, is_one, x[p], now[p]);
        set(&m->k, slot[r], x);
    }
}

/* The lane's accesses to its rows; it has the first of them at least. */
static void
take_rows(maker *m, row_places base, access *from, row_values acc)
{
    lw_builder *b = &m->k.b;
    lw_ref lanes = i64(m, INT64_C(1) << m->k.key->lanes_log2);
    row_values slot = {{0}};
    lw_for loop;

    load_rows(m, m->lane, base, from);
    for (uint32_t r = 0; r < m->k.key->rows; r++) {
        join_access(m, &from[r], acc[r]);
        for (uint32_t p = 0; p < m->k.n_parts; p++)
            slot[r][p] = lw_ir_slot(b, m->k.part[p]);
        set(&m->k, slot[r], acc[r]);
    }
    loop = lw_ir_for(b, lanes, m->items, lanes, LW_LOOP_NO_UNROLL | LW_LOOP_NO_VECTORIZE, 0);
    go_on_with_rows(m, lw_ir_add(b, loop.i, m->lane), base, slot, from);
    lw_ir_for_end(b, &loop);
    for (uint32_t r = 0; r < m->k.key->rows; r++)
        get(&m->k, slot[r], acc[r]);
}

/* Where the thread's rows begin; gives the number of the first, `groups` before the next. */
static lw_ref
find_rows(maker *m, uint32_t groups, row_places base)
{
    lw_builder *b = &m->k.b;
    uint32_t lanes_log2 = m->k.key->lanes_log2, rows = m->k.key->rows;
    int64_t warps = INT64_C(1) << (lanes_log2 + m->k.key->results_log2 - WARP_LOG2);
    lw_ref tid = register_of(&m->k, LW_SREG_TID_X), last = lw_ir_sub(b, m->results, i64(m, 1));
    lw_ref warp = lw_ir_add(b, lw_ir_mul(b, register_of(&m->k, LW_SREG_CTAID_X), i64(m, warps)),
                            lw_ir_shr(b, tid, i64(m, WARP_LOG2)));
    lw_ref group = lw_ir_shr(b, lw_ir_and(b, tid, i64(m, WARP - 1)), i64(m, lanes_log2));
    lw_ref first = lw_ir_add(b, lw_ir_mul(b, warp, i64(m, groups * rows)), group);

    m->lane = lw_ir_and(b, tid, i64(m, (INT64_C(1) << lanes_log2) - 1));
    for (uint32_t r = 0; r < rows; r++) {
        lw_ref row = smaller(&m->k, lw_ir_add(b, first, i64(m, r * groups)), last);
        for (uint32_t i = 0; i < m->k.r->n_in; i++)
            base[r][i] = lw_reduce_begin_of(m, i, row);
    }
    return first;
}

/* Of the n accumulators that a lane ends with, number k is of row lane % rows + k lanes. */
static void
deliver_rows(maker *m, row_values acc, uint32_t n, lw_ref first, uint32_t groups)
{
    lw_builder *b = &m->k.b;
    uint32_t rows = m->k.key->rows, lanes = 1u << m->k.key->lanes_log2;
    lw_ref mine = lw_ir_and(b, m->lane, i64(m, (rows < lanes ? rows : lanes) - 1));

    for (uint32_t k = 0; k < n; k++) {
        lw_ref at = lw_ir_mul(b, lw_ir_add(b, mine, i64(m, k * lanes)), i64(m, groups));
        lw_ref row = lw_ir_add(b, first, at);
        lw_ref stores = lw_ir_compare(b, LW_OP_LT, row, m->results);
        if (rows < lanes)
            stores = lw_ir_and(b, stores, lw_ir_compare(b, LW_OP_LT, m->lane, i64(m, rows)));
        lw_ir_if(b, stores);
        lw_reduce_store_result(m, acc[k], row);
        lw_ir_end(b);
    }
}

void
lw_reduce_short_rows(maker *m, access *from)
{
    uint32_t lanes = 1u << m->k.key->lanes_log2, groups = WARP / lanes, n = m->k.key->rows;
    row_places base = {{0}};
    row_values acc = {{0}};
    lw_ref first = find_rows(m, groups, base);

    take_rows(m, base, from, acc);
    for (uint32_t apart = 1; apart < lanes; apart *= 2)
        n = halve_rows(m, acc, n, apart);
    deliver_rows(m, acc, n, first, groups);
}
