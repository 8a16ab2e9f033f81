/* What the files that emit the kernel of reductions and slices share: accesses to elements, and
 * which lane takes which of them. Only these include it. */
#ifndef LW_REDUCE_DEVICE_DEVICE_INTERNAL_H
#define LW_REDUCE_DEVICE_DEVICE_INTERNAL_H

#include "reduce/device/kernel_internal.h"

enum {
    UNROLL = LW_REDUCE_UNROLL,
    MOST_ROWS = 8,            /* rows of a thread, one access each, where rows are short */
    MOST_ACCESSES = MOST_ROWS /* loaded at a time: those of two iterations */
};

/* The number of neighbouring results of a thread. */
static inline uint32_t
n_results(const maker *m)
{
    return m->key->columns ? m->key->vector : 1;
}

/* ---- elements ---- */

/* What an access has loaded. values[v]: the scalars that map takes of its element v. */
typedef struct access {
    acc_parts values[MOST_VECTOR];
    lw_ref mask[MOST_VECTOR];
} access;

/* Loads access number `item`, of `vector` elements, from all operands. */
void lw_reduce_load_access(maker *m, lw_ref item, uint32_t vector, access *out);
/* Where an operand's access of key->vector elements begins. */
lw_ref lw_reduce_address(maker *m, uint32_t which, lw_ref item);
/* An element of a vector that was loaded; a bool is a byte in memory. */
lw_ref lw_reduce_lane_of_access(maker *m, lw_dtype dtype, lw_ref all, uint32_t lane);
/* The elements of an access that was loaded as one vector; their scalars are values[v][place],
 * and on. */
void lw_reduce_spread_access(maker *m, uint32_t which, lw_ref all, uint32_t place, access *out);
/* Sets the indices of the elements, where map takes them. */
void lw_reduce_set_index(maker *m, lw_ref item, uint32_t vector, access *out);
/* The accumulator that map makes of element v of an access. */
void lw_reduce_map_element(maker *m, const access *from, uint32_t v, lw_ref *acc);

/* ---- which lane takes what ---- */

/* Integers of one type. */
typedef struct lane_range {
    lw_ref first, last, step;
    lw_ref next;    /* from UNROLL of them, which are taken together, to the next ones */
    lw_ref n, each; /* lane k has an element where k * each < n */
} lane_range;

static inline lw_ref
has_element(maker *m, const lane_range *range, lw_ref lane)
{
    lane = lw_ir_cast(&m->b, lw_ir_type(&m->b, range->n), lane);
    return is_less(m, times(m, lane, range->each), range->n);
}

/* The lane's share of `begin` … `end` - 1, counted in the type of these. Where together is 0,
 * neighbouring elements go to neighbouring lanes; else a lane takes contiguous ones, a multiple
 * of `together`. */
lane_range lw_reduce_lane_of(maker *m, lw_ref begin, lw_ref end, int64_t together);
/* The lane's share of the block's accesses. Where the order of elements does not matter, the
 * blocks of a result take turns, an iteration of UNROLL accesses of each lane at a time: so all
 * of them read neighbouring memory at the same time, and none has more than an iteration to do
 * when the others have ended (up to 7 % less time than contiguous accesses: H200, CUDA 13.0,
 * 1 December 2026). Else each block takes contiguous accesses. */
lane_range lw_reduce_lane_of_block(maker *m, bool in_order);
/* Combines the lane's elements into its slots (device_take.c, device_narrow.c). Gives which
 * lanes have elements. */
lane_range lw_reduce_take(maker *m, access *from);
lane_range lw_reduce_take_narrow(maker *m, access *from);
/* The same where the best element is looked for (device_best.c). Without key->columns the slots
 * of a result's first lane stand for all its lanes then. */
lane_range lw_reduce_take_best(maker *m, access *from);
/* The same for key->piece (device_transpose.c). */
lane_range lw_reduce_take_in_order(maker *m, access *from);
/* Takes the elements behind the last whole access, and before the first, in that lane of the
 * last block for which `takes` is true. */
void lw_reduce_take_rest(maker *m, lw_ref takes, access *from);
/* Combines the slots of a result's lanes into those of its first lane (device_join.c). */
void lw_reduce_join_lanes(maker *m, const lane_range *range);
/* Stores the block's accumulators in device memory. All of the `splits` blocks of a result but
 * the last to arrive then break out of the open loop. Each lane of the last block combines what
 * some neighbouring blocks have stored, in their order, into its slots. Gives which lanes have
 * some. */
lane_range lw_reduce_meet(maker *m, lw_ref splits);
/* Emits the whole kernel for short rows (device_rows.c). */
void lw_reduce_short_rows(maker *m, access *from);
/* The offset of item `number`, where rows have `row` items that are `step` bytes apart, and
 * begin row_step bytes apart. */
lw_ref lw_reduce_bytes_of(maker *m, lw_ref number, lw_ref row, lw_ref row_step, lw_ref step);
/* The address of a result's first element in an operand. */
lw_ref lw_reduce_begin_of(maker *m, uint32_t operand, lw_ref result);
/* Finishes an accumulator and stores it as result number `result`; acc is lost. */
void lw_reduce_store_result(maker *m, lw_ref *acc, lw_ref result);
/* Whether this thread holds the final accumulators, and of results that exist. */
lw_ref lw_reduce_is_first_lane(maker *m);

#endif
