/* A scan -> one kernel for a GPU: results on the way, each element read once. Pure C.
 *
 * Rows are cut into tiles of lanes × items elements; a block makes one tile of 2^results_log2
 * neighbouring rows (a strip). Each thread scans its items, which lie in shared memory, lanes
 * are scanned by shuffles, and what lies before the tile comes from other blocks, through
 * device memory, as words that carry a mark (reduce/device/scan_look_back.c). Where a block has
 * one row:
 *
 *   before a tile = what is up to the last group but one . the 32s of tiles from there on
 *
 * with groups of half as many tiles as the block has threads: each thread takes the sum of one
 * tile, and the last tile of a group leaves what is up to it. So a tile waits for nothing but
 * the sums of tiles that are under way beside it. Where a block has rows side by side, that
 * many words for each of them would be as many as elements:
 *
 *   before a tile = what is before its super-group . the groups before its own . the tiles
 *                   before it in its group
 *
 * with groups of 32 tiles and super-groups of 32 groups. The last tile of a group leaves the
 * group's sum, the last of a super-group that of everything up to there.
 *
 * What is combined with what depends on the shape alone, all in the order of elements: the bits
 * are those of every other run. (Look-back as D. Merrill and M. Garland, "Single-pass parallel
 * prefix scan with decoupled look-back", 2016, takes the nearest sum that happens to be
 * complete.)
 *
 * Blocks draw their tile from a counter, so that those before it are under way or done.
 *
 * With keys (key->keyed) an accumulator has a last part, how many runs of equal keys began in
 * it; what is before a beginning is not combined with what is behind it. The last element of a
 * run stores its results, at the run's number. */
#ifndef LW_REDUCE_DEVICE_SCAN_KERNEL_H
#define LW_REDUCE_DEVICE_SCAN_KERNEL_H

#include "reduce/device/device_kernel.h"

/* The kernel's parameters, in order (8 bytes each where simulated):
 *   rows, inner (of these: rows whose results are neighbours), elements, tiles of a row,
 * strips: i64; of each operand its address and the bytes to the next outer row, inner row,
 * element; the results' addresses (C order: outer, element, inner); the parts of the seed, if
 * any; with tiles to wait for: the addresses of the counter and of the sums.
 */
lw_status lw_reduce_scan_module(const lw_reduction *r, const lw_reduce_key *key,
                                const char *symbol, lw_module **out, lw_error *err);

/* Parts of an accumulator as kept here. */
uint32_t lw_reduce_scan_parts(const lw_reduction *r, const lw_reduce_key *key, lw_dtype *parts);
/* Tiles of a group, and groups of a super-group. */
int64_t lw_reduce_scan_group(const lw_reduce_key *key);
/* Bytes of device memory for an accumulator that another block takes. */
uint32_t lw_reduce_scan_state_bytes(const lw_reduction *r, const lw_reduce_key *key);
/* The most accumulators that a block of so many threads keeps in shared memory, wherever
 * elements begin. */
uint32_t lw_reduce_scan_places(const lw_reduction *r, const lw_reduce_key *key,
                               uint32_t threads_log2);

#endif
