/* Full tiles whose elements lie side by side, for the kernel of a scan: accesses of 16 bytes to
 * device memory and to shared memory, key->vector elements each. */
#include "reduce/device/scan_parts.h"

typedef lw_scan_maker maker;

enum { MOST_VECTOR = LW_SCAN_MOST_VECTOR };

static uint32_t
align_of(uint32_t size, uint32_t vector)
{
    return size * vector < 16 ? size * vector : 16;
}

/* The first of neighbouring elements that this thread reads and stores: its number in the tile,
 * the thread that scans it, where among that one's items, and where in shared memory. */
typedef struct spot {
    lw_ref element, owner, k, place;
} spot;

static spot
spot_of(maker *m, int64_t k)
{
    int64_t vector = m->k.key->vector, side = m->lanes * vector;
    lw_ref own = times(m, m->lane, i64(m, vector));
    spot s;

    s.element = add(m, own, i64(m, k * side));
    s.owner = side < m->items ? high(m, s.element, m->items)
                              : add(m, high(m, own, m->items), i64(m, k * (side / m->items)));
    s.owner = add(m, times(m, m->in_block, i64(m, m->lanes)), s.owner);
    s.k = low(m, side < m->items ? s.element : own, m->items);
    s.place = add(m, times(m, s.owner, i64(m, m->pad)), s.k);
    return s;
}

/* values[v]: what map takes of each element. */
static void
load_vector(maker *m, lw_ref element, lw_ref (*values)[LW_REDUCE_PARTS])
{
    uint32_t flags = m->k.key->simulated ? 0 : LW_MEM_INVARIANT, vector = m->k.key->vector;
    lw_ref number = add(m, m->first, element);
    uint32_t n_in = m->k.r->n_in;

    for (uint32_t i = 0; i < n_in; i++) {
        lw_dtype dtype = m->k.r->loaded[i];
        uint32_t size = lw_dtypes[dtype].size_bytes;
        lw_ref address = lw_ir_offset(&m->k.b, m->operand[i], times(m, number, i64(m, size)));
        lw_ref all = lw_ir_load(&m->k.b, dtype, vector, address, align_of(size, vector),
                                flags | LW_MEM_STREAMING);
        for (uint32_t v = 0; v < vector; v++)
            values[v][i] = lw_ir_lane(&m->k.b, all, v);
    }
    for (uint32_t v = 0; v < vector && m->k.r->indexed; v++)
        values[v][n_in] = add(m, number, i64(m, v));
}

static lw_ref
place_address(maker *m, uint32_t part, lw_ref place)
{
    return at_part(&m->k, m->item_at, part, place);
}

static void
store_items(maker *m, lw_ref place, lw_ref (*acc)[LW_REDUCE_PARTS])
{
    uint32_t vector = m->k.key->vector;

    for (uint32_t i = 0; i < m->k.n_parts; i++) {
        lw_dtype type = m->k.part[i];
        lw_ref of[MOST_VECTOR];
        for (uint32_t v = 0; v < vector; v++)
            of[v] = acc[v][i];
        lw_ir_store(&m->k.b, place_address(m, i, place), lw_ir_pack(&m->k.b, type, of, vector),
                    align_of(lw_dtypes[type].size_bytes, vector), 0);
    }
}

static void
load_items(maker *m, lw_ref place, lw_ref (*acc)[LW_REDUCE_PARTS])
{
    uint32_t vector = m->k.key->vector;

    for (uint32_t i = 0; i < m->k.n_parts; i++) {
        lw_dtype type = m->k.part[i];
        lw_ref all = lw_ir_load(&m->k.b, type, vector, place_address(m, i, place),
                                align_of(lw_dtypes[type].size_bytes, vector), 0);
        for (uint32_t v = 0; v < vector; v++)
            acc[v][i] = lw_ir_lane(&m->k.b, all, v);
    }
}

/* Loads of a batch are all asked for before the first is used. */
void
lw_scan_take_vectors(maker *m, lw_ref (*values)[LW_REDUCE_PARTS])
{
    int64_t vector = m->k.key->vector, n = m->items / vector, batch = n;
    lw_ref acc[MOST_VECTOR][LW_REDUCE_PARTS] = {{0}};

    while (batch > 1 && batch * vector * m->n_loaded > MOST_LOADED)
        batch /= 2;
    for (int64_t from = 0; from < n; from += batch) {
        for (int64_t k = 0; k < batch; k++)
            load_vector(m, spot_of(m, from + k).element, values + k * vector);
        for (int64_t k = 0; k < batch; k++) {
            for (int64_t v = 0; v < vector; v++)
                lw_reduce_emit_map(&m->k.b, &m->k.body, values[k * vector + v], acc[v]);
            store_items(m, spot_of(m, from + k).place, acc);
        }
    }
}

void
lw_scan_vectors(maker *m)
{
    int64_t vector = m->k.key->vector;
    lw_ref acc[MOST_VECTOR][LW_REDUCE_PARTS] = {{0}}, last[LW_REDUCE_PARTS] = {0};
    lw_ref own = times(m, m->place, i64(m, m->pad));

    for (int64_t k = 0; k < m->items; k += vector) {
        lw_ref place = add(m, own, i64(m, k));
        load_items(m, place, acc);
        if (k > 0)
            combine(m, last, acc[0], acc[0]);
        for (int64_t v = 1; v < vector; v++)
            combine(m, acc[v - 1], acc[v], acc[v]);
        memcpy(last, acc[vector - 1], sizeof last);
        store_items(m, place, acc);
    }
    set(&m->k, m->slot, last);
}

static void
store_results(maker *m, lw_ref element, lw_ref (*acc)[LW_REDUCE_PARTS])
{
    uint32_t vector = m->k.key->vector;
    lw_ref made[MOST_VECTOR][LW_REDUCE_PARTS] = {{0}}, of[MOST_VECTOR];
    lw_ref number = add(m, m->row_out, add(m, m->first, element));

    for (uint32_t v = 0; v < vector; v++)
        lw_reduce_emit_finish(&m->k.b, &m->k.body, acc[v], made[v]);
    for (uint32_t i = 0; i < m->k.r->n_out; i++) {
        lw_dtype dtype = m->k.r->out[i];
        uint32_t size = lw_dtypes[dtype].size_bytes;
        lw_ref address = lw_ir_offset(&m->k.b, m->out[i], times(m, number, i64(m, size)));
        for (uint32_t v = 0; v < vector; v++)
            of[v] = made[v][i];
        lw_ir_store(&m->k.b, address, lw_ir_pack(&m->k.b, dtype, of, vector),
                    align_of(size, vector), LW_MEM_STREAMING);
    }
}

/* The items in front of `at` one by one, from shared memory: for results without their own. */
static void
shift_items(maker *m, const spot *at, lw_ref (*acc)[LW_REDUCE_PARTS])
{
    lw_builder *b = &m->k.b;
    lw_ref is_first = is_equal(m, at->k, 0), place;

    for (uint32_t v = m->k.key->vector - 1; v > 0; v--)
        memcpy(acc[v], acc[v - 1], sizeof acc[v]);
    place = lw_ir_select(b, is_first, at->place, lw_ir_sub(b, at->place, i64(m, 1)));
    load_parts(&m->k, m->item_at, place, acc[0]);
}

/* sum[v], variables, of the vector's elements. */
static void
sum_up(maker *m, const spot *at, lw_ref (*sum)[LW_REDUCE_PARTS])
{
    lw_builder *b = &m->k.b;
    uint32_t vector = m->k.key->vector;
    lw_ref acc[MOST_VECTOR][LW_REDUCE_PARTS] = {{0}}, before[LW_REDUCE_PARTS] = {0};
    lw_ref is_led = m->k.key->before
                        ? is_above(m, at->k, 0)
                        : lw_ir_compare(b, LW_OP_GE, at->element, i64(m, m->items));

    load_parts(&m->k, m->thread_at, at->owner, before);
    load_items(m, at->place, acc);
    if (m->k.key->before)
        shift_items(m, at, acc);
    for (uint32_t v = 0; v < vector; v++)
        set(&m->k, sum[v], m->k.key->before && v == 0 ? before : acc[v]);
    if (!m->k.key->before)
        is_led = lw_ir_or(b, m->is_led, is_led);
    for (uint32_t v = 0; v < vector; v++) {
        bool is_sure = m->k.key->before && v > 0;
        if (!is_sure)
            lw_ir_if(b, is_led);
        combine(m, before, acc[v], acc[v]);
        set(&m->k, sum[v], acc[v]);
        if (!is_sure)
            lw_ir_end(b);
    }
}

static void
put_vector(maker *m, const spot *at, lw_ref (*sum)[LW_REDUCE_PARTS])
{
    lw_ref acc[MOST_VECTOR][LW_REDUCE_PARTS] = {{0}};

    sum_up(m, at, sum);
    for (uint32_t v = 0; v < m->k.key->vector; v++)
        get(&m->k, sum[v], acc[v]);
    store_results(m, at->element, acc);
}

void
lw_scan_put_vectors(maker *m)
{
    int64_t n = m->items / m->k.key->vector;
    lw_ref sum[MOST_VECTOR][LW_REDUCE_PARTS] = {{0}};

    for (uint32_t v = 0; v < m->k.key->vector; v++)
        for (uint32_t i = 0; i < m->k.n_parts; i++)
            sum[v][i] = lw_ir_slot(&m->k.b, m->k.part[i]);
    for (int64_t k = 0; k < n; k++) {
        spot at = spot_of(m, k);
        put_vector(m, &at, sum);
    }
}
