/* The elements of neighbouring rows, for the kernel of a scan. A thread scans its elements as
 * it loads them, and keeps their prefix sums in shared memory until what comes before them is
 * known. In a tile that is not full, threads take the last element in place of the missing
 * ones: what they compute is not stored, and comes before nothing that is. */
#include "reduce/device/scan_internal.h"

enum { MOST_BATCH = 32 };

static lw_ref
element_of(maker *m, int64_t k)
{
    return add(m, times(m, m->lane, i64(m, m->thread_items)), i64(m, k));
}

/* An element of the tile, and where it lies in each operand. */
typedef struct cursor {
    lw_ref element, address[LW_REDUCE_MOST];
} cursor;

/* To the next element; in a tile that is not full, not beyond the last one. */
static void
step_on(maker *m, bool is_full, lw_ref last, cursor *c)
{
    lw_ref next = add(m, c->element, i64(m, 1)), goes_on = is_less(m, c->element, last);

    for (uint32_t i = 0; i < m->r->n_in; i++) {
        lw_ref step = m->step[i];
        if (!is_full)
            step = lw_ir_select(&m->b, goes_on, step, i64(m, 0));
        c->address[i] = lw_ir_offset(&m->b, c->address[i], step);
    }
    c->element = is_full ? next : lw_ir_select(&m->b, goes_on, next, c->element);
}

static lw_ref
place_of(maker *m, int64_t k)
{
    return add(m, m->tid, i64(m, k * m->threads));
}

/* Takes elements from … to - 1 of the thread: all are loaded before the first is used. acc: the
 * sum up to there, in and out. */
static void
take_batch(maker *m, bool is_full, int64_t from, int64_t to, cursor *c, lw_ref *acc)
{
    acc_parts values[MOST_ITEMS] = {{0}}, x = {0};
    lw_ref last = minus(m, m->count, i64(m, 1)), number[MOST_ITEMS] = {0};

    for (int64_t k = from; k < to; k++) {
        lw_scan_load(m, c->element, c->address, values[k]);
        number[k] = c->element;
        step_on(m, is_full, last, c);
    }
    for (int64_t k = from; k < to; k++) {
        lw_scan_map(m, number[k], values[k], x);
        if (k > 0)
            lw_reduce_combine(m, acc, x, acc);
        else
            memcpy(acc, x, sizeof x);
        store_parts(m, m->item_at, place_of(m, k), acc);
    }
}

static void
take_all(maker *m, bool is_full)
{
    acc_parts acc = {0};
    cursor c = {.element = element_of(m, 0)};
    int64_t n = m->thread_items, batch = batch_of(m, n < MOST_BATCH ? n : MOST_BATCH, 1);

    if (!is_full)
        c.element = smaller(m, c.element, minus(m, m->count, i64(m, 1)));
    lw_scan_find(m, c.element, c.address);
    assert(n % batch == 0);
    for (int64_t from = 0; from < n; from += batch)
        take_batch(m, is_full, from, from + batch, &c, acc);
    set(m, m->sum, acc);
}

void
lw_scan_take_columns(maker *m)
{
    lw_ir_if(&m->b, m->is_full);
    take_all(m, true);
    lw_ir_else(&m->b);
    take_all(m, false);
    lw_ir_end(&m->b);
}

/* Stores the result of the thread's k-th element: the sum up to it, or without it. If is_led,
 * m->sum comes before the first element. */
static void
put_item(maker *m, int64_t k, lw_ref is_led, lw_ref element, const lw_ref *address)
{
    lw_builder *b = &m->b;
    acc_parts before = {0}, acc = {0};
    int64_t from = m->key->before ? k - 1 : k;

    get(m, m->sum, before);
    if (from < 0) {
        set(m, m->other, before);
    } else {
        load_parts(m, m->item_at, place_of(m, from), acc);
        set(m, m->other, acc);
        lw_ir_if(b, is_led);
        lw_reduce_combine(m, before, acc, acc);
        set(m, m->other, acc);
        lw_ir_end(b);
    }
    get(m, m->other, acc);
    if (m->key->keyed)
        lw_scan_put(m, element, acc);
    else
        lw_scan_store(m, address, acc);
}

/* Stores the results of the thread's elements, moving the addresses on. */
static void
put_all(maker *m, bool is_full)
{
    lw_builder *b = &m->b;
    lw_ref address[LW_REDUCE_MOST] = {0},
           is_led = lw_ir_or(b, m->is_led, is_above(m, m->lane, 0));

    lw_scan_find_result(m, add(m, m->first, element_of(m, 0)), address);
    for (int64_t k = 0; k < m->thread_items; k++) {
        lw_ref element = element_of(m, k);
        if (!is_full)
            lw_ir_if(b, is_less(m, element, m->count));
        put_item(m, k, is_led, element, address);
        if (!is_full)
            lw_ir_end(b);
        for (uint32_t i = 0; i < m->r->n_out; i++) {
            lw_ref size = i64(m, lw_dtypes[m->r->out[i]].size_bytes);
            address[i] = lw_ir_offset(b, address[i], times(m, m->inner, size));
        }
    }
}

void
lw_scan_put_columns(maker *m)
{
    lw_builder *b = &m->b;

    lw_ir_if(b, m->is_valid);
    lw_ir_if(b, m->is_full);
    put_all(m, true);
    lw_ir_else(b);
    put_all(m, false);
    lw_ir_end(b);
    lw_ir_end(b);
}
