/* Full tiles of contiguous elements, for the kernel of a scan: accesses of up to 16 bytes,
 * key->vector elements each, to device memory and to shared memory. */
#include "reduce/device/scan_internal.h"

static uint32_t
align_of(uint32_t size, uint32_t vector)
{
    return size * vector < 16 ? size * vector : 16;
}

/* The first of the neighbouring elements of an access: its number in the tile, the thread that
 * scans it, its place among that thread's elements, and its place in shared memory. */
typedef struct spot {
    lw_ref element, owner, k, place;
} spot;

static spot
spot_of(maker *m, int64_t k)
{
    int64_t vector = m->key->vector, side = m->lanes * vector;
    lw_ref own = times(m, m->lane, i64(m, vector));
    spot s;

    s.element = add(m, own, i64(m, k * side));
    s.owner = side < m->thread_items
                  ? high(m, s.element, m->thread_items)
                  : add(m, high(m, own, m->thread_items), i64(m, k * (side / m->thread_items)));
    s.owner = add(m, times(m, m->in_block, i64(m, m->lanes)), s.owner);
    s.k = low(m, side < m->thread_items ? s.element : own, m->thread_items);
    s.place = add(m, times(m, s.owner, i64(m, m->pad)), s.k);
    return s;
}

/* Loads an access; values[v]: the scalars that map takes of its element v. */
static void
load_vector(maker *m, lw_ref element, acc_parts *values)
{
    uint32_t flags = operand_flags(m), vector = m->key->vector;
    lw_ref number = add(m, m->first, element);
    uint32_t n_in = m->r->n_in;

    for (uint32_t i = 0; i < n_in; i++) {
        lw_dtype dtype = m->r->loaded[i];
        uint32_t size = lw_dtypes[dtype].size_bytes;
        lw_ref address = lw_ir_offset(&m->b, m->operand[i], times(m, number, i64(m, size)));
        lw_ref all = lw_ir_load(&m->b, dtype, vector, address, align_of(size, vector), flags);
        for (uint32_t v = 0; v < vector; v++)
            values[v][i] = lw_ir_lane(&m->b, all, v);
    }
    for (uint32_t v = 0; v < vector && m->r->indexed; v++)
        values[v][n_in] = add(m, number, i64(m, v));
}

static void
store_items(maker *m, lw_ref place, acc_parts *acc)
{
    uint32_t vector = m->key->vector;

    for (uint32_t i = 0; i < m->n_parts; i++) {
        lw_dtype type = m->part[i];
        lw_ref of[MOST_SCAN_VECTOR];
        for (uint32_t v = 0; v < vector; v++)
            of[v] = acc[v][i];
        lw_ir_store(&m->b, at_part(m, m->item_at, i, place),
                    lw_ir_pack(&m->b, type, of, vector),
                    align_of(lw_dtypes[type].size_bytes, vector), 0);
    }
}

static void
load_items(maker *m, lw_ref place, acc_parts *acc)
{
    uint32_t vector = m->key->vector;

    for (uint32_t i = 0; i < m->n_parts; i++) {
        lw_dtype type = m->part[i];
        lw_ref all = lw_ir_load(&m->b, type, vector, at_part(m, m->item_at, i, place),
                                align_of(lw_dtypes[type].size_bytes, vector), 0);
        for (uint32_t v = 0; v < vector; v++)
            acc[v][i] = lw_ir_lane(&m->b, all, v);
    }
}

/* All loads of a batch come before the first use. */
void
lw_scan_take_vectors(maker *m, acc_parts *values)
{
    int64_t vector = m->key->vector, n = m->thread_items / vector;
    int64_t batch = batch_of(m, n, vector);
    acc_parts acc[MOST_SCAN_VECTOR] = {{0}};

    assert(n * vector == m->thread_items && n % batch == 0);
    for (int64_t from = 0; from < n; from += batch) {
        for (int64_t k = 0; k < batch; k++)
            load_vector(m, spot_of(m, from + k).element, values + k * vector);
        for (int64_t k = 0; k < batch; k++) {
            for (int64_t v = 0; v < vector; v++)
                lw_reduce_emit_map(&m->b, &m->body, values[k * vector + v], acc[v]);
            store_items(m, spot_of(m, from + k).place, acc);
        }
    }
}

void
lw_scan_vectors(maker *m)
{
    int64_t vector = m->key->vector;
    acc_parts acc[MOST_SCAN_VECTOR] = {{0}}, last = {0};
    lw_ref own = times(m, m->place, i64(m, m->pad));

    for (int64_t k = 0; k < m->thread_items; k += vector) {
        lw_ref place = add(m, own, i64(m, k));
        load_items(m, place, acc);
        if (k > 0)
            lw_reduce_combine(m, last, acc[0], acc[0]);
        for (int64_t v = 1; v < vector; v++)
            lw_reduce_combine(m, acc[v - 1], acc[v], acc[v]);
        memcpy(last, acc[vector - 1], sizeof last);
        store_items(m, place, acc);
    }
    set(m, m->sum, last);
}

static void
store_results(maker *m, lw_ref element, acc_parts *acc)
{
    uint32_t vector = m->key->vector;
    acc_parts made[MOST_SCAN_VECTOR] = {{0}};
    lw_ref of[MOST_SCAN_VECTOR];
    lw_ref number = add(m, m->row_out, add(m, m->first, element));

    for (uint32_t v = 0; v < vector; v++)
        lw_reduce_emit_finish(&m->b, &m->body, acc[v], made[v]);
    for (uint32_t i = 0; i < m->r->n_out; i++) {
        lw_dtype dtype = m->r->out[i];
        uint32_t size = lw_dtypes[dtype].size_bytes;
        lw_ref address = lw_ir_offset(&m->b, m->out[i], times(m, number, i64(m, size)));
        for (uint32_t v = 0; v < vector; v++)
            of[v] = made[v][i];
        lw_ir_store(&m->b, address, lw_ir_pack(&m->b, dtype, of, vector),
                    align_of(size, vector), 0);
    }
}

/* For results without their own element: acc[v] becomes the prefix sum in front of it; that in
 * front of the first is loaded. */
static void
shift_items(maker *m, const spot *at, acc_parts *acc)
{
    lw_builder *b = &m->b;
    lw_ref is_first = is_equal(m, at->k, 0), place;

    for (uint32_t v = m->key->vector - 1; v > 0; v--)
        memcpy(acc[v], acc[v - 1], sizeof acc[v]);
    place = lw_ir_select(b, is_first, at->place, minus(m, at->place, i64(m, 1)));
    load_parts(m, m->item_at, place, acc[0]);
}

/* Sets the slots sum[v] to the sums that are the results of the access's elements. */
static void
sum_up(maker *m, const spot *at, acc_parts *sum)
{
    lw_builder *b = &m->b;
    uint32_t vector = m->key->vector;
    acc_parts acc[MOST_SCAN_VECTOR] = {{0}}, before = {0};
    lw_ref is_led = m->key->before
                        ? is_above(m, at->k, 0)
                        : lw_ir_compare(b, LW_OP_GE, at->element, i64(m, m->thread_items));

    load_parts(m, m->thread_at, at->owner, before);
    load_items(m, at->place, acc);
    if (m->key->before)
        shift_items(m, at, acc);
    for (uint32_t v = 0; v < vector; v++)
        set(m, sum[v], m->key->before && v == 0 ? before : acc[v]);
    if (!m->key->before)
        is_led = lw_ir_or(b, m->is_led, is_led);
    for (uint32_t v = 0; v < vector; v++) {
        bool is_sure = m->key->before && v > 0;
        if (!is_sure)
            lw_ir_if(b, is_led);
        lw_reduce_combine(m, before, acc[v], acc[v]);
        set(m, sum[v], acc[v]);
        if (!is_sure)
            lw_ir_end(b);
    }
}

static void
put_vector(maker *m, const spot *at, acc_parts *sum)
{
    acc_parts acc[MOST_SCAN_VECTOR] = {{0}};

    sum_up(m, at, sum);
    for (uint32_t v = 0; v < m->key->vector; v++)
        get(m, sum[v], acc[v]);
    store_results(m, at->element, acc);
}

void
lw_scan_put_vectors(maker *m)
{
    int64_t n = m->thread_items / m->key->vector;
    acc_parts sum[MOST_SCAN_VECTOR] = {{0}};

    for (uint32_t v = 0; v < m->key->vector; v++)
        new_slots(m, sum[v]);
    for (int64_t k = 0; k < n; k++) {
        spot at = spot_of(m, k);
        put_vector(m, &at, sum);
    }
}
