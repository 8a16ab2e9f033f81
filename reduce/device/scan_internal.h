/* What the files that emit the kernel of a scan share. Only these include it. */
#ifndef LW_REDUCE_DEVICE_SCAN_INTERNAL_H
#define LW_REDUCE_DEVICE_SCAN_INTERNAL_H

#include "reduce/device/kernel_internal.h"
#include "reduce/device/scan_kernel.h"

enum {
    MOST_ITEMS = 64,     /* elements of a thread */
    MOST_LOADED = 64,    /* scalars that are loaded before the first is used */
    MOST_SCAN_VECTOR = 4 /* elements of an access */
};

/* How many accesses of `vector` elements a thread issues before it uses the first: `most`, or
 * fewer where these load more than MOST_LOADED scalars. */
static inline int64_t
batch_of(const maker *m, int64_t most, int64_t vector)
{
    while (most > 1 && most * vector * m->n_loaded > MOST_LOADED)
        most /= 2;
    return most;
}

/* ---- scan_kernel.c ---- */

/* An inclusive prefix sum of m->sum over `width` lanes of a warp that are `apart` lanes from
 * one another. at: the lane's place among them. is_active: whether it has a sum; lanes behind
 * one that has none have none either. */
void lw_scan_warp(maker *m, lw_ref at, int64_t width, int64_t apart, lw_ref is_active);
/* An element of the tile, by number: its addresses in the operands, the scalars that map takes
 * of it, its accumulator. Addresses of results, by number in the row; an accumulator's results;
 * the same for an element. */
void lw_scan_find(maker *m, lw_ref element, lw_ref *address);
void lw_scan_load(maker *m, lw_ref element, const lw_ref *address, lw_ref *values);
void lw_scan_map(maker *m, lw_ref element, const lw_ref *values, lw_ref *acc);
void lw_scan_find_result(maker *m, lw_ref number, lw_ref *address);
void lw_scan_store(maker *m, const lw_ref *address, const lw_ref *acc);
void lw_scan_put(maker *m, lw_ref element, const lw_ref *acc);

/* ---- scan_columns.c, where key->columns ---- */

/* Loads the thread's elements and scans them into shared memory; their sum goes to m->sum. */
void lw_scan_take_columns(maker *m);
/* Stores the results. m->sum holds what comes before the thread's elements, if is_led or
 * m->lane > 0. */
void lw_scan_put_columns(maker *m);

/* ---- scan_vectors.c, where key->vector, for full tiles ---- */

/* Loads elements into shared memory; values: room for MOST_ITEMS of them. */
void lw_scan_take_vectors(maker *m, acc_parts *values);
/* Scans the thread's elements there; their sum goes to m->sum. */
void lw_scan_vectors(maker *m);
void lw_scan_put_vectors(maker *m);

/* ---- scan_look_back.c ---- */

/* Leaves the tile's sum, which this thread has, for the blocks of later tiles. */
void lw_scan_leave_sum(maker *m, const lw_ref *sum);
/* Sets m->before to the sum of all that comes before the tile in the thread's row, if there is
 * something (is_led). m->sum is lost; sum_at holds the tile's own sums. */
void lw_scan_look_back(maker *m);
/* Words of device memory that an accumulator takes. */
uint32_t lw_scan_state_words(const lw_dtype *part, uint32_t n_parts);

#endif
