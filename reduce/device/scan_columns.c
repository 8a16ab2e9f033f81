/* Rows side by side, for the kernel of a scan: a thread's items, scanned, wait in shared memory
 * for what is before them. Where a tile has fewer elements, threads work on the last one in
 * place of those that are missing: what they make is stored nowhere and comes before nothing
 * that is. */
#include "reduce/device/scan_parts.h"

typedef lw_scan_maker maker;

enum { MOST_BATCH = 16 };

static lw_ref
element_of(maker *m, int64_t k)
{
    return add(m, times(m, m->lane, i64(m, m->items)), i64(m, k));
}

/* To the next item, or, in a tile that is not full, not beyond the last one. */
static void
step_on(maker *m, bool is_full, lw_ref last, lw_ref *element, lw_ref *address)
{
    lw_ref next = add(m, *element, i64(m, 1)), goes_on = is_less(m, *element, last);

    for (uint32_t i = 0; i < m->k.r->n_in; i++) {
        lw_ref step = m->step[i];
        if (!is_full)
            step = lw_ir_select(&m->k.b, goes_on, step, i64(m, 0));
        address[i] = lw_ir_offset(&m->k.b, address[i], step);
    }
    *element = is_full ? next : lw_ir_select(&m->k.b, goes_on, next, *element);
}

static lw_ref
place_of(maker *m, int64_t k)
{
    return add(m, m->tid, i64(m, k * m->threads));
}

/* A batch is asked for before the first of it is used; acc is the sum up to there. */
static void
take_batch(maker *m, bool is_full, int64_t from, int64_t to, lw_ref *element, lw_ref *address,
           lw_ref *acc)
{
    lw_ref values[MOST_ITEMS][LW_REDUCE_PARTS] = {{0}}, x[LW_REDUCE_PARTS] = {0};
    lw_ref last = lw_ir_sub(&m->k.b, m->count, i64(m, 1)), number[MOST_ITEMS] = {0};

    for (int64_t k = from; k < to; k++) {
        lw_scan_load(m, *element, address, values[k]);
        number[k] = *element;
        step_on(m, is_full, last, element, address);
    }
    for (int64_t k = from; k < to; k++) {
        lw_scan_map(m, number[k], values[k], x);
        if (k > 0)
            combine(m, acc, x, acc);
        else
            memcpy(acc, x, sizeof x);
        store_parts(&m->k, m->item_at, place_of(m, k), acc);
    }
}

static void
take_all(maker *m, bool is_full)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0}, address[LW_REDUCE_MOST] = {0},
           element = element_of(m, 0);
    int64_t batch = m->items < MOST_BATCH ? m->items : MOST_BATCH;

    while (batch > 1 && batch * m->n_loaded > MOST_LOADED)
        batch /= 2;
    if (!is_full)
        element = smaller(&m->k, element, lw_ir_sub(&m->k.b, m->count, i64(m, 1)));
    lw_scan_find(m, element, address);
    for (int64_t from = 0; from < m->items; from += batch)
        take_batch(m, is_full, from, from + batch, &element, address, acc);
    set(&m->k, m->slot, acc);
}

void
lw_scan_take_columns(maker *m)
{
    lw_ir_if(&m->k.b, m->is_full);
    take_all(m, true);
    lw_ir_else(&m->k.b);
    take_all(m, false);
    lw_ir_end(&m->k.b);
}

/* The result of the k-th item: what is up to it, or in front of it. m->slot is before the first
 * one, if is_led. */
static void
put_item(maker *m, int64_t k, lw_ref is_led, lw_ref element, const lw_ref *address)
{
    lw_builder *b = &m->k.b;
    lw_ref before[LW_REDUCE_PARTS] = {0}, acc[LW_REDUCE_PARTS] = {0};
    int64_t from = m->k.key->before ? k - 1 : k;

    get(&m->k, m->slot, before);
    if (from < 0) {
        set(&m->k, m->other, before);
    } else {
        load_parts(&m->k, m->item_at, place_of(m, from), acc);
        set(&m->k, m->other, acc);
        lw_ir_if(b, is_led);
        combine(m, before, acc, acc);
        set(&m->k, m->other, acc);
        lw_ir_end(b);
    }
    get(&m->k, m->other, acc);
    if (m->k.key->keyed)
        lw_scan_put(m, element, acc);
    else
        lw_scan_store(m, address, acc);
}

/* Results, an item further each time. */
static void
put_all(maker *m, bool is_full)
{
    lw_builder *b = &m->k.b;
    lw_ref address[LW_REDUCE_MOST] = {0},
           is_led = lw_ir_or(b, m->is_led, is_above(m, m->lane, 0));

    lw_scan_find_result(m, add(m, m->first, element_of(m, 0)), address);
    for (int64_t k = 0; k < m->items; k++) {
        lw_ref element = element_of(m, k);
        if (!is_full)
            lw_ir_if(b, is_less(m, element, m->count));
        put_item(m, k, is_led, element, address);
        if (!is_full)
            lw_ir_end(b);
        for (uint32_t i = 0; i < m->k.r->n_out; i++) {
            lw_ref size = i64(m, lw_dtypes[m->k.r->out[i]].size_bytes);
            address[i] = lw_ir_offset(b, address[i], times(m, m->inner, size));
        }
    }
}

void
lw_scan_put_columns(maker *m)
{
    lw_builder *b = &m->k.b;

    lw_ir_if(b, m->is_valid);
    lw_ir_if(b, m->is_full);
    put_all(m, true);
    lw_ir_else(b);
    put_all(m, false);
    lw_ir_end(b);
    lw_ir_end(b);
}
