/* What the files that emit the kernel of a reduction share: its state, accumulators, accesses
 * to elements. Included by these alone. */
#ifndef LW_REDUCE_DEVICE_DEVICE_KERNEL_PARTS_H
#define LW_REDUCE_DEVICE_DEVICE_KERNEL_PARTS_H

#include "core/tables/kernel_ops.h"
#include "reduce/device/kernel_parts.h"

#include <string.h>

enum {
    WARP = 32,
    UNROLL = LW_REDUCE_UNROLL,
    MOST_ROWS = 8,            /* of a thread, where rows are short: an access of each */
    MOST_VECTOR = 16,         /* elements of an access */
    MOST_ACCESSES = MOST_ROWS /* in hand: two iterations */
};

typedef struct maker {
    lw_reduce_maker k;
    lw_ref results, items, elements, per_block, splits;
    /* [n_in]: the mask */
    lw_ref operand[LW_REDUCE_MOST + 1], kept_step[LW_REDUCE_MOST + 1], step[LW_REDUCE_MOST + 1];
    lw_ref n_slices, inner, slices, inner_step[LW_REDUCE_MOST + 1]; /* of slices */
    lw_ref row, row_step[LW_REDUCE_MOST + 1];                       /* folded */
    lw_ref partial[LW_REDUCE_PARTS], counters, out[LW_REDUCE_MOST], initial[LW_REDUCE_PARTS];
    lw_ref shared[LW_REDUCE_PARTS], flag; /* shared memory: a place for each thread's slots */
    lw_ref slot[MOST_VECTOR][LW_REDUCE_PARTS]; /* the accumulators of the thread's results */
    lw_ref joined[LW_REDUCE_PARTS];            /* masked: what combine made */
    lw_ref tid, lane, result, place, split, is_valid;
} maker;

static inline lw_ref
i64(maker *m, int64_t value)
{
    return lw_ir_int(&m->k.b, LW_DT_i64, value);
}

static inline lw_ref
i32(maker *m, int64_t value)
{
    return lw_ir_int(&m->k.b, LW_DT_i32, value);
}

/* Results of a thread, side by side. */
static inline uint32_t
n_results(const maker *m)
{
    return m->k.key->columns ? m->k.key->vector : 1;
}

/* ---- accumulators ---- */

static inline lw_ref
is_set(maker *m, lw_ref flag)
{
    return lw_ir_compare(&m->k.b, LW_OP_NE, flag, lw_ir_int(&m->k.b, LW_DT_i32, 0));
}

/* Combines two accumulators of which either may be none: combine never sees one that is. */
static inline void
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

static inline void
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

/* Access number `item` to all operands, of `vector` elements. */
void lw_reduce_load_access(maker *m, lw_ref item, uint32_t vector, access *out);
/* The accumulator of its element v. */
void lw_reduce_map_element(maker *m, const access *from, uint32_t v, lw_ref *acc);

/* ---- which lane takes what ---- */

typedef struct lane_range {
    lw_ref first, last, step;
    lw_ref n, each; /* lane k has an element if k * each < n */
} lane_range;

static inline lw_ref
has_element(maker *m, const lane_range *range, lw_ref lane)
{
    return lw_ir_compare(&m->k.b, LW_OP_LT, lw_ir_mul(&m->k.b, lane, range->each), range->n);
}

/* The lane's part of `begin` to `end`: neighbouring elements go to neighbouring lanes, or,
 * where order matters, to one lane. */
lane_range lw_reduce_lane_of(maker *m, lw_ref begin, lw_ref end, bool in_order);
/* The block's elements of this lane into its slots (device_take.c, device_narrow.c). Gives
 * which lanes have one. */
lane_range lw_reduce_take(maker *m, access *from);
lane_range lw_reduce_take_narrow(maker *m, access *from);
/* Elements behind the last whole access, by one lane of the last block. */
void lw_reduce_take_rest(maker *m, access *from);
/* The slots of a result's lanes into those of the first (device_join.c). */
void lw_reduce_join_lanes(maker *m, const lane_range *range);
/* Opens an IF in which the last block to come has what all blocks of its results made; the
 * others are done. */
void lw_reduce_join_blocks(maker *m);
/* All of the kernel for short rows (device_rows.c). */
void lw_reduce_short_rows(maker *m, access *from);
/* Of item `number` where `row` of them lie `step` apart, and rows of them row_step. */
lw_ref lw_reduce_bytes_of(maker *m, lw_ref number, lw_ref row, lw_ref row_step, lw_ref step);
/* Where the elements of a result begin in an operand. */
lw_ref lw_reduce_begin_of(maker *m, uint32_t operand, lw_ref result);
/* An accumulator as result number `result`; acc is lost. */
void lw_reduce_store_result(maker *m, lw_ref *acc, lw_ref result);
/* This thread has the slots of results that are there. */
lw_ref lw_reduce_is_first_lane(maker *m);

#endif
