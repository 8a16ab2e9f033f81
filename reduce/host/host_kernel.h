/* A reduction -> loops over host memory. Pure C; needs no GIL.
 *
 * Every loop takes the addresses of its operands (the index, where map wants it, is one more
 * operand of int64) and then those of the accumulators: an array for each number of them,
 * element after element. */
#ifndef LW_REDUCE_HOST_HOST_KERNEL_H
#define LW_REDUCE_HOST_HOST_KERNEL_H

#include "core/link/build.h"
#include "reduce/function/reduction.h"

/* acc[j] = map(x[j]), and acc[j] = combine(acc[j], map(x[j])), for n columns. */
typedef void (*lw_reduce_columns_code)(char **args, int64_t n, const int64_t *strides);
/* Four rows at once, row_strides (bytes) apart: acc[j] with the four, neighbours first. */
typedef void (*lw_reduce_rows_code)(char **args, int64_t n, const int64_t *strides,
                                    const int64_t *row_strides);
/* acc[0] = combine(…combine(acc[0], map(x[0]))…, map(x[n - 1])), strictly in order. */
typedef void (*lw_reduce_fold_code)(char **args, int64_t n, const int64_t *strides);
/* Rows of `width` contiguous elements: acc[j] combined with column j of n rows. */
typedef void (*lw_reduce_lanes_code)(char **args, int64_t n);
/* Chunks of n contiguous elements each, strides (bytes) of the operands apart, to one
 * accumulator each: in blocks of `block` elements, as lw_reduce_chunk does it. */
typedef void (*lw_reduce_chunks_code)(char **args, int64_t n, const int64_t *strides,
                                      int64_t block, int64_t count);
/* left[j] = combine(left[j], right[j]): the addresses of the left ones, then the right ones. */
typedef void (*lw_reduce_merge_code)(char **args, int64_t n);
/* The addresses of accumulators, then of results, all contiguous. */
typedef void (*lw_reduce_finish_code)(char **args, int64_t n);
/* In order, every result on the way: operands, accumulator, results; strides (bytes) of
 * operands and results. seeded 0: element 0 makes the accumulator. before 1: results do not
 * hold their own element yet. */
typedef void (*lw_reduce_scan_code)(char **args, int64_t n, const int64_t *strides,
                                    int64_t seeded, int64_t before);

/* Four segments of n elements, `apart` elements from one to the next; element 0 has the index
 * `first`, the operands go without. totals: each into its accumulator. scan_segments: results
 * on the way, from what the accumulators hold. */
typedef void (*lw_reduce_totals_code)(char **args, int64_t n, const int64_t *strides,
                                      int64_t apart, int64_t first);
typedef void (*lw_reduce_segments_code)(char **args, int64_t n, const int64_t *strides,
                                        int64_t apart, int64_t first, int64_t before);
/* Short slices of one row, each to its accumulator. slices: begin and count (> 0) of each.
 */
typedef void (*lw_reduce_slices_code)(char **args, int64_t n, const int64_t *strides,
                                      const int64_t *slices);

/* Where combine takes one of its operands (lw_reduce_extreme). The operands go without index:
 * element 0 is number `first`.
 * best: of n elements, four rows of lanes at least, to lane[0]; lane: LW_REDUCE_BEST_BYTES.
 * judge: args are two values and an int64: 1 where the first is better, 2 where it is NaN.
 * find: the first element that is the best, or n, to *out. */
enum { LW_REDUCE_BEST_BYTES = 64 };
typedef void (*lw_reduce_best_code)(char **args, int64_t n, void *lane, int64_t first);
typedef void (*lw_reduce_judge_code)(char **args, int64_t n);
typedef void (*lw_reduce_find_code)(char **args, int64_t n, int64_t *out, const void *best,
                                    int64_t first);

/* The loops of scans and slices: a module of their own, made when the first is called, as they
 * take as long to compile as all the others. */
typedef struct lw_reduce_scan_loops_code {
    lw_code *code; /* NULL: not made yet */
    lw_reduce_scan_code scan;
    lw_reduce_slices_code slices;
    lw_reduce_totals_code totals;
    lw_reduce_segments_code segments;
} lw_reduce_scan_loops_code;

typedef struct lw_reduce_code {
    lw_code *code;
    lw_reduce_scan_loops_code scans;
    lw_reduce_columns_code seed, columns;                 /* contiguous operands */
    lw_reduce_columns_code seed_strided, columns_strided; /* any, the accumulators not */
    lw_reduce_rows_code rows, rows_strided;               /* as columns */
    lw_reduce_fold_code fold;
    lw_reduce_lanes_code lanes;
    lw_reduce_chunks_code
        chunks; /* NULL: order matters, or the index does, or `best` is better */
    lw_reduce_merge_code merge;
    lw_reduce_finish_code finish;
    lw_reduce_extreme extreme;
    lw_reduce_best_code best; /* NULL, as the next two: combine is something else */
    lw_reduce_judge_code judge;
    lw_reduce_find_code find;
    bool costly;         /* an element may take long: there are loops, or much code */
    uint32_t value_size; /* of the value that decides */
    uint32_t n_operands; /* with the index */
    uint32_t width;      /* of `lanes`: a power of two */
} lw_reduce_code;

/* The IR of them all, to look at. */
lw_status lw_reduce_host_module(const lw_reduction *r, lw_module **out, lw_error *err);
/* Compile, or take from the cache: all but scans, scans alone. */
lw_status lw_reduce_host_build(const lw_reduction *r, const lw_build_options *options,
                               lw_reduce_code *out, lw_build_report *report, lw_error *err);
lw_status lw_reduce_host_build_scans(const lw_reduction *r, const lw_build_options *options,
                                     lw_reduce_scan_loops_code *out, lw_build_report *report,
                                     lw_error *err);
void lw_reduce_host_drop(lw_reduce_code *code);

#endif
