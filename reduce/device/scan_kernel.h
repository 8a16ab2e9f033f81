/* The kernel of a prefix sum, by any operator, on a GPU: each element is read once. Pure C.
 *
 * Rows are cut into tiles of lanes × items elements. A block takes one tile of a strip, which
 * has 2^results_log2 neighbouring rows. Each thread scans its elements in shared memory, lanes
 * are scanned by shuffles, and the sum of what comes before the tile comes from other blocks,
 * by way of device memory, as words that carry a mark (reduce/device/scan_look_back.c). Where a
 * block has one row,
 *
 *   before a tile = up to the end of the last group but one . the earlier tiles behind that
 *
 * with groups of half as many tiles as the block has threads: each thread takes the sum of one
 * tile, and the last tile of a group leaves the sum of all up to its end. So a tile waits for
 * nothing but the sums of tiles that are under way at the same time. Where a block has several
 * rows, that many words for each of them would be as many as elements, and
 *
 *   before a tile = before its super-group . the earlier groups of that . the earlier tiles of
 *                   its group
 *
 * with groups of 32 tiles and super-groups of 32 groups. The last tile of a group leaves the
 * group's sum, the last tile of a super-group the sum of all up to its end.
 *
 * What is combined with what depends on the shape alone, and everything is combined in the
 * order of elements, so that the bits are the same in every run. (The look-back of D. Merrill
 * and M. Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016, takes the
 * nearest sum that happens to be complete.)
 *
 * Blocks draw their tile from a counter, so that earlier tiles are under way or done.
 *
 * With keys (key->keyed) an accumulator has one more part, the number of runs of equal keys
 * that begin in it; what comes before a run is not combined with it. The last element of a run
 * stores the run's results, at the run's number. */
#ifndef LW_REDUCE_DEVICE_SCAN_KERNEL_H
#define LW_REDUCE_DEVICE_SCAN_KERNEL_H

#include "reduce/device/device_kernel.h"

/* Makes the kernel. Its parameters, in order (8 bytes each where simulated):
 *   rows, inner (rows whose results are neighbours), elements, tiles of a row, strips: i64;
 *   for each operand its address and the bytes to the next outer row, inner row and element;
 *   the addresses of the results (in C order: outer, element, inner); the parts of the seed, if
 *   any; with keys their address and step, the address of the runs' keys and of their number;
 *   where tiles wait for others, the addresses of the counter and of the sums. */
lw_status lw_reduce_scan_module(const lw_reduction *r, const lw_reduce_key *key,
                                const char *symbol, int max_registers, lw_module **out,
                                lw_error *err);

/* How many tiles a group has, and how many groups a super-group. */
int64_t lw_reduce_scan_group(const lw_reduce_key *key);
/* Bytes of device memory for an accumulator that another block reads. */
uint32_t lw_reduce_scan_state_bytes(const lw_reduction *r, const lw_reduce_key *key);
/* The most accumulators that a block of so many threads keeps in shared memory. */
uint32_t lw_reduce_scan_places(const lw_reduction *r, const lw_reduce_key *key,
                               uint32_t threads_log2);

#endif
