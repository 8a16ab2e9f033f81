/* A reduction -> one kernel for a GPU. Pure C.
 *
 * A block of threads makes some neighbouring results: `lanes` threads each. Every lane combines
 * its elements, the lanes of a result are joined in a tree of neighbours in shared memory.
 * Where results are few, the elements of each are split over several blocks: what they make
 * goes to device memory, and the last block to come (it knows by a counter) joins that in the
 * order of the blocks. So the bits follow from the shape and the grid alone. */
#ifndef LW_REDUCE_DEVICE_DEVICE_KERNEL_H
#define LW_REDUCE_DEVICE_DEVICE_KERNEL_H

#include "reduce/function/reduction.h"

enum { LW_REDUCE_THREADS = 256, LW_REDUCE_UNROLL = 4 /* accesses of a lane under way */ };

/* Compared as bytes: make it with = {0} or a designated initialiser. */
typedef struct lw_reduce_key {
    uint8_t lanes_log2;   /* threads of a result */
    uint8_t results_log2; /* results of a block */
    uint8_t columns;      /* neighbouring threads: neighbouring results; else elements */
    uint8_t vector;       /* elements that one access takes, contiguous in all operands: of one
                             result, or with columns the same ones of neighbouring results */
    uint8_t initial;      /* the result begins with the values of the last parameters */
    uint8_t masked; /* where=: behind the operands comes a mask; see lw_reduce_device_parts */
    uint8_t simulated;  /* for core/host/simulator.h: lw_sim_single */
    uint8_t nested;     /* results lie in rows */
    uint8_t folded;     /* elements of a result lie in rows */
    uint8_t slices;     /* results are of slices: reduce/device/slice_plan.h */
    uint8_t scan;       /* reduce/device/scan_kernel.h; only it has … */
    uint8_t items_log2; /* elements of a thread */
    uint8_t waits;      /* tiles that come after others */
    uint8_t before;     /* results without the element's own */
    uint8_t dense;      /* elements side by side in all operands, results, too */
    uint8_t keyed;      /* results are those of runs of equal keys … */
    uint8_t key_dtype;  /* … of this lw_dtype */
    uint8_t narrow;     /* the largest or smallest of integers of one or two bytes */
    uint8_t rows;       /* not 0: rows are short, and a thread works on so many at a time */
} lw_reduce_key;

/* Parts of the accumulator as lw_reduce_acc_parts; with a mask a last one, i32, that says
 * whether there was an element at all. */
uint32_t lw_reduce_device_parts(const lw_reduction *r, bool masked, lw_dtype *parts);
/* The kernel's parameters, in order (8 bytes each where simulated):
 *   results, items (elements / vector), elements, items of a block, blocks of a result: i64;
 *   nested: the results of a row (inner): i64; folded: the items of a row: i64;
 *   with slices their number, the results side by side in each (inner): i64, and the address of
 *   (first element, how many) of each, two i64;
 *   with either every operand has a fourth word, the bytes from one of the inner results to the
 *   next, and its second one leads from outer to outer;
 *   folded: a last one, the bytes from one row of elements to the next;
 *   of each operand (and the mask) its address, and the bytes from result to result and element
 *   to element; of each part of the accumulator the address of the split results; the counters'
 *   address; the results' addresses; the parts of `initial` or, where masked without one, of
 *   what nothing gives. */
lw_status lw_reduce_device_module(const lw_reduction *r, const lw_reduce_key *key,
                                  const char *symbol, lw_module **out, lw_error *err);

#endif
