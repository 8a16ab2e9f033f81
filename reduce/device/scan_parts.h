/* What the files that emit the kernel of a scan share: its state, arithmetic in i64,
 * accumulators, shuffles. Included by these alone. */
#ifndef LW_REDUCE_DEVICE_SCAN_PARTS_H
#define LW_REDUCE_DEVICE_SCAN_PARTS_H

#include "core/block/shuffle.h"
#include "core/tables/kernel_ops.h"
#include "reduce/device/kernel_parts.h"
#include "reduce/device/scan_kernel.h"

#include <string.h>

enum { WARP = 32, MOST_ITEMS = 64, MOST_LOADED = 64, LW_SCAN_MOST_VECTOR = 4 };

typedef struct lw_scan_maker {
    lw_reduce_maker k;
    lw_ref rows, inner, elements, tiles, strips;
    lw_ref operand[LW_REDUCE_MOST], outer_step[LW_REDUCE_MOST], inner_step[LW_REDUCE_MOST];
    lw_ref step[LW_REDUCE_MOST], out[LW_REDUCE_MOST], seed[LW_REDUCE_PARTS];
    lw_ref keys, key_step, keys_out, n_runs; /* with key->keyed */
    lw_ref counter, state;
    uint32_t n_loaded;
    int64_t lanes, results, items, threads, pad; /* of the block; pad: items and a gap */
    int64_t warp_lanes;                          /* lanes of a row in one warp */
    /* shared memory: elements, and for each thread, warp or row what is there so far */
    lw_ref item_at[LW_REDUCE_PARTS], thread_at[LW_REDUCE_PARTS], warp_at[LW_REDUCE_PARTS];
    lw_ref sum_at[LW_REDUCE_PARTS], drawn;
    lw_ref share_at[LW_REDUCE_PARTS]; /* of columns: sums of some tiles, of some groups */
    lw_ref seen_at[LW_REDUCE_PARTS];  /* what is before a group, then the sums of warps */
    lw_ref slot[LW_REDUCE_PARTS], other[LW_REDUCE_PARTS], before[LW_REDUCE_PARTS];
    lw_ref joined[LW_REDUCE_PARTS], word[2 * LW_REDUCE_PARTS];
    lw_ref rest_word[2 * LW_REDUCE_PARTS];
    lw_ref tid, lane, in_block, place, number, tile, strip, is_valid; /* place: by row, lane */
    lw_ref first, count, row_out; /* of the tile: its first element, how many; results */
    lw_ref is_full, is_led;       /* is_led: something comes before the tile */
} lw_scan_maker;

static inline lw_ref
i64(lw_scan_maker *m, int64_t value)
{
    return lw_ir_int(&m->k.b, LW_DT_i64, value);
}

static inline lw_ref
i32(lw_scan_maker *m, int64_t value)
{
    return lw_ir_int(&m->k.b, LW_DT_i32, value);
}

static inline lw_ref
add(lw_scan_maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_add(&m->k.b, x, y);
}

static inline lw_ref
times(lw_scan_maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_mul(&m->k.b, x, y);
}

static inline lw_ref
is_less(lw_scan_maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_compare(&m->k.b, LW_OP_LT, x, y);
}

static inline lw_ref
is_equal(lw_scan_maker *m, lw_ref x, int64_t y)
{
    return lw_ir_compare(&m->k.b, LW_OP_EQ, x, i64(m, y));
}

static inline lw_ref
is_above(lw_scan_maker *m, lw_ref x, int64_t y)
{
    return lw_ir_compare(&m->k.b, LW_OP_GT, x, i64(m, y));
}

static inline lw_ref
both(lw_scan_maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_and(&m->k.b, x, y);
}

/* x % y and x / y of a value that is not negative, y a power of two. */
static inline lw_ref
low(lw_scan_maker *m, lw_ref x, int64_t y)
{
    return lw_ir_and(&m->k.b, x, i64(m, y - 1));
}

static inline lw_ref
high(lw_scan_maker *m, lw_ref x, int64_t y)
{
    int64_t log = 0;

    while (INT64_C(1) << log < y)
        log++;
    return lw_ir_shr(&m->k.b, x, i64(m, log));
}

/* ---- accumulators ---- */

/* y alone where a run begins in it. */
static inline void
combine_runs(lw_scan_maker *m, const lw_ref *x, const lw_ref *y, lw_ref *out)
{
    uint32_t runs = m->k.n_parts - 1;
    lw_ref made[LW_REDUCE_PARTS] = {0}, sum = add(m, x[runs], y[runs]);

    set(&m->k, m->joined, y);
    lw_ir_if(&m->k.b, is_equal(m, y[runs], 0));
    lw_reduce_emit_combine(&m->k.b, &m->k.body, x, y, made);
    made[runs] = sum;
    set(&m->k, m->joined, made);
    lw_ir_end(&m->k.b);
    get(&m->k, m->joined, out);
    out[runs] = sum;
}

static inline void
combine(lw_scan_maker *m, const lw_ref *x, const lw_ref *y, lw_ref *out)
{
    if (m->k.key->keyed)
        combine_runs(m, x, y, out);
    else
        lw_reduce_emit_combine(&m->k.b, &m->k.body, x, y, out);
}

/* slot = x . slot */
static inline void
combine_before(lw_scan_maker *m, const lw_ref *x, const lw_ref *slot)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0};

    get(&m->k, slot, acc);
    combine(m, x, acc, acc);
    set(&m->k, slot, acc);
}

/* ---- shuffles ---- */

static inline void
shuffle(lw_scan_maker *m, uint32_t row, const lw_ref *acc, lw_ref lane, lw_ref *out)
{
    for (uint32_t i = 0; i < m->k.n_parts; i++)
        out[i] = lw_warp_shuffle(&m->k.b, row, acc[i], lane);
}

/* m->slot of `width` lanes, `apart` from one another, becomes that of all up to it. at: the
 * lane's place among them. is_active false: it has nothing, nor have those behind it. */
static inline void
scan_warp(lw_scan_maker *m, lw_ref at, int64_t width, int64_t apart, lw_ref is_active)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0}, x[LW_REDUCE_PARTS] = {0};

    for (int64_t delta = 1; delta < width; delta *= 2) {
        get(&m->k, m->slot, acc);
        shuffle(m, LW_KOP_shfl_up, acc, i32(m, delta * apart), x);
        lw_ir_if(&m->k.b,
                 both(m, is_active, lw_ir_compare(&m->k.b, LW_OP_GE, at, i64(m, delta))));
        combine_before(m, x, m->slot);
        lw_ir_end(&m->k.b);
    }
}

/* reduce/device/scan_kernel.c: where an element of the tile is in each operand, what map takes
 * of it, what it gives; where results are, by number in the row; an element's results */
void lw_scan_find(lw_scan_maker *m, lw_ref element, lw_ref *address);
void lw_scan_load(lw_scan_maker *m, lw_ref element, const lw_ref *address, lw_ref *values);
void lw_scan_find_result(lw_scan_maker *m, lw_ref number, lw_ref *address);
void lw_scan_store(lw_scan_maker *m, const lw_ref *address, const lw_ref *acc);
void lw_scan_map(lw_scan_maker *m, lw_ref element, const lw_ref *values, lw_ref *acc);
void lw_scan_put(lw_scan_maker *m, lw_ref element, const lw_ref *acc);
/* reduce/device/scan_columns.c, where key->columns: the thread's items, scanned, its sum to
 * m->slot; from what is before them in m->slot (is_led or m->lane > 0) to results. */
void lw_scan_take_columns(lw_scan_maker *m);
void lw_scan_put_columns(lw_scan_maker *m);
/* reduce/device/scan_vectors.c, where key->vector, for full tiles: elements to shared memory
 * (values: for MOST_ITEMS of them); the thread's items there, its sum to m->slot; results. */
void lw_scan_take_vectors(lw_scan_maker *m, lw_ref (*values)[LW_REDUCE_PARTS]);
void lw_scan_vectors(lw_scan_maker *m);
void lw_scan_put_vectors(lw_scan_maker *m);
/* reduce/device/scan_look_back.c: the tile's sum, which this thread has, for the blocks behind
 * it */
void lw_scan_leave_sum(lw_scan_maker *m, const lw_ref *sum);
/* What is before the thread's row in front of the tile goes to m->before, where there is
 * something (is_led). m->slot is lost; the tile's own sums are in sum_at. */
void lw_scan_look_back(lw_scan_maker *m);
/* Words of device memory that an accumulator takes there. */
uint32_t lw_scan_state_words(const lw_dtype *part, uint32_t n_parts);

#endif
