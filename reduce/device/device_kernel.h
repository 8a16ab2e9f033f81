/* The kernel that reduces arrays on a GPU. Pure C.
 *
 * A block computes some neighbouring results, with `lanes` threads each. Every lane combines
 * its elements; then the lanes of a result are combined in a tree of neighbours. Where results
 * are few, the elements of each are split over several blocks, which leave their accumulators
 * in device memory; the last block to arrive (a counter tells) combines these in the order of
 * the blocks. So the bits of a result follow from the shape and the grid alone. */
#ifndef LW_REDUCE_DEVICE_DEVICE_KERNEL_H
#define LW_REDUCE_DEVICE_DEVICE_KERNEL_H

#include "reduce/function/reduction.h"

enum {
    LW_REDUCE_THREADS = 256,
    LW_REDUCE_UNROLL = 4,    /* accesses of a lane that are under way */
    LW_REDUCE_MOST_PIECE = 8 /* the most that key.piece may be */
};

/* Compared as bytes: make it with = {0} or a designated initialiser. */
typedef struct lw_reduce_key {
    uint8_t lanes_log2;   /* log2 of the threads of a result */
    uint8_t results_log2; /* log2 of the results of a block (with vector: of the accesses) */
    uint8_t columns;      /* neighbouring threads take neighbouring results; else neighbouring
                             elements */
    uint8_t vector; /* elements of an access, contiguous in all operands: of one result, or with
                       columns one of each neighbouring result */
    uint8_t initial;    /* results begin with the accumulator that the last parameters hold */
    uint8_t masked;     /* where=: a mask follows the operands; see lw_reduce_device_parts */
    uint8_t simulated;  /* for the simulator (lw_sim_single of core/host/simulator.h) */
    uint8_t nested;     /* results have two dimensions */
    uint8_t folded;     /* the elements of a result have two dimensions */
    uint8_t slices;     /* results are those of slices (reduce/device/slice_plan.h) */
    uint8_t scan;       /* a scan (reduce/device/scan_kernel.h), which alone has … */
    uint8_t items_log2; /* log2 of the elements of a thread */
    uint8_t waits;      /* there are tiles that wait for earlier ones */
    uint8_t before;     /* results do not include their own element */
    uint8_t dense;      /* elements are contiguous in all operands and in results */
    uint8_t keyed;      /* runs of equal keys are scanned, … */
    uint8_t key_dtype;  /* … which have this lw_dtype */
    uint8_t narrow; /* the largest or smallest of bools or of integers of one or two bytes */
    uint8_t piece;  /* a lane takes a multiple of so many neighbouring accesses, which its warp
                       reads together; 0: it reads its own */
    uint8_t head;   /* some elements come before the first access */
    uint8_t best;   /* looks for the best element by its deciding value */
    uint8_t prefetch; /* of a scan: blocks bring elements of later tiles into the cache */
    uint8_t rows; /* rows are short, and a thread works on so many at a time; 0: they are not */
} lw_reduce_key;

/* The parts (scalars) of an accumulator as in lw_reduce_acc_parts. Behind them follows, with
 * key->masked, an i32 that says whether there was an element at all, and with key->keyed an
 * i64, the number of runs that begin in it. Gives how many parts there are. */
uint32_t lw_reduce_device_parts(const lw_reduction *r, const lw_reduce_key *key,
                                lw_dtype *parts);
/* The bytes of all these parts. */
uint32_t lw_reduce_device_bytes(const lw_reduction *r, const lw_reduce_key *key);
/* Sets a word for each part of an accumulator, which is given number by number; gives how many
 * parts there are, without those of the key. */
uint32_t lw_reduce_item_words(const lw_reduction *r, const lw_reduce_item *items,
                              uint64_t *words);
/* Makes the kernel. Its parameters, in order (each of 8 bytes where simulated):
 *   results, items (accesses: elements / vector), elements, items of a block, blocks of a
 *   result: i64; with head, the number of elements before those; if nested, the results of a
 * row (inner); if folded, the items of a row; with slices their number, the neighbouring
 * results of each (inner), and the address of two i64 for each, its first element and how many
 * it has; for each operand, and the mask: its address, the bytes from one result to the next
 * (nested or with slices: from one outer result), the bytes from one element to the next, if
 * nested or with slices the bytes from one inner result to the next, and if folded the bytes
 * from one row of elements to the next; for each part of the accumulator the address of the
 * split results; the counters' address; the addresses of the results; the parts of `initial`
 * or, masked without one, of the result of no elements. */
lw_status lw_reduce_device_module(const lw_reduction *r, const lw_reduce_key *key,
                                  const char *symbol, int max_registers, lw_module **out,
                                  lw_error *err);

#endif
