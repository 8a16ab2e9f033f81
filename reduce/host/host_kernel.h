/* The loops of a reduction over host memory, as compiled code. Pure C; needs no GIL.
 *
 * Every loop takes in `args` the addresses of its operands, of which the index is the last one,
 * of int64, where map takes it, and then the addresses of accumulators: one contiguous array
 * for each number of them. */
#ifndef LW_REDUCE_HOST_HOST_KERNEL_H
#define LW_REDUCE_HOST_HOST_KERNEL_H

#include "core/link/build.h"
#include "reduce/function/reduction.h"

/* seed: acc[j] = map(x[j]) for n columns; columns: acc[j] = combine(acc[j], map(x[j])). */
typedef void (*lw_reduce_columns_code)(char **args, int64_t n, const int64_t *strides);
/* Combines acc[j] with column j of four rows, neighbours first; row_strides: bytes between
 * rows. */
typedef void (*lw_reduce_rows_code)(char **args, int64_t n, const int64_t *strides,
                                    const int64_t *row_strides);
/* Columns of four rows for `count` groups of n columns, one after the other. The operands of a
 * group begin 4 n columns after those of the group before. Its accumulators are the next n of
 * the lanes, and after the last lanes the first ones again: n divides their number, unless
 * `count` is 1. */
typedef void (*lw_reduce_fours_code)(char **args, int64_t n, const int64_t *strides,
                                     const int64_t *row_strides, int64_t count);
/* acc[0] = combine(… combine(acc[0], map(x[0])) …, map(x[n - 1])), strictly in order. */
typedef void (*lw_reduce_fold_code)(char **args, int64_t n, const int64_t *strides);
/* Combines acc[j] with column j of n rows of `width` contiguous elements. */
typedef void (*lw_reduce_lanes_code)(char **args, int64_t n);
/* Reduces `count` chunks of n contiguous elements to one accumulator each, in blocks of `block`
 * elements, as lw_reduce_chunk does. strides: bytes from chunk to chunk, by operand. */
typedef void (*lw_reduce_chunks_code)(char **args, int64_t n, const int64_t *strides,
                                      int64_t block, int64_t count);
/* left[j] = combine(left[j], right[j]). args: the addresses of the left accumulators, then of
 * the right ones. */
typedef void (*lw_reduce_merge_code)(char **args, int64_t n);
/* Finishes n accumulators. args: the addresses of accumulators, then of results, all
 * contiguous. */
typedef void (*lw_reduce_finish_code)(char **args, int64_t n);
/* Scans a row in order. args: operands, accumulator, results; strides: in bytes, of operands
 * and results. seeded 0: element 0 makes the accumulator. before 1: results do not include
 * their own element. */
typedef void (*lw_reduce_scan_code)(char **args, int64_t n, const int64_t *strides,
                                    int64_t seeded, int64_t before);

/* Four segments of n elements, `apart` elements from one to the next. Element 0 has the index
 * `first`; the operands do not include the index. totals: reduces each segment to its
 * accumulator. segments: scans each, from what its accumulator holds. */
typedef void (*lw_reduce_totals_code)(char **args, int64_t n, const int64_t *strides,
                                      int64_t apart, int64_t first);
typedef void (*lw_reduce_segments_code)(char **args, int64_t n, const int64_t *strides,
                                        int64_t apart, int64_t first, int64_t before);
/* Reduces short slices of one row to an accumulator each. slices: begin and count (> 0) of
 * each. */
typedef void (*lw_reduce_slices_code)(char **args, int64_t n, const int64_t *strides,
                                      const int64_t *slices);

/* Loops for a combine that gives the better of its operands (lw_reduction.best). The
 * operands do not include the index: element 0 is number `first`. best: the best value of n
 * elements, four rows of lanes at least, goes to lane[0]; lane: room of LW_REDUCE_BEST_BYTES.
 * judge: args are two values and an int64, which becomes 1 where the first value is better, 2
 * where it is NaN, else 0.
 * find: *out becomes the number of the first element that equals the best, or n. */
enum { LW_REDUCE_BEST_BYTES = 64 };
typedef void (*lw_reduce_best_code)(char **args, int64_t n, void *lane, int64_t first);
typedef void (*lw_reduce_judge_code)(char **args, int64_t n);
typedef void (*lw_reduce_find_code)(char **args, int64_t n, int64_t *out, const void *best,
                                    int64_t first);
/* *out becomes the number of the best of n contiguous elements, n > 0; -1: one is NaN, and the
 * operator does not prefer NaN. */
typedef void (*lw_reduce_pick_code)(char **args, int64_t n, int64_t *out);

/* The loops of scans and slices. They are a module of their own, made when one is first called,
 * as they take as long to compile as all the others. */
typedef struct lw_reduce_scan_loops_code {
    lw_code *code; /* NULL: not compiled yet */
    lw_reduce_scan_code scan;
    lw_reduce_slices_code slices;
    lw_reduce_totals_code totals;
    lw_reduce_segments_code segments;
} lw_reduce_scan_loops_code;

/* Work on elements that costs each time about the same. */
typedef enum lw_reduce_way {
    LW_REDUCE_ROWS,    /* elements of a result, one after the other */
    LW_REDUCE_COLUMNS, /* of neighbouring results, side by side */
    LW_REDUCE_JOINED,  /* accumulators of chunks of these */
    LW_REDUCE_SLICES,
    LW_REDUCE_IN_ORDER,     /* a scan of a row */
    LW_REDUCE_SIDE_BY_SIDE, /* of neighbouring rows */
    LW_REDUCE_TOTALS,       /* the two halves of a scan by segments */
    LW_REDUCE_SEGMENTS,
    LW_REDUCE_WAYS
} lw_reduce_way;

typedef struct lw_reduce_code {
    lw_code *code;
    lw_reduce_scan_loops_code scans;
    lw_reduce_columns_code seed, columns; /* contiguous operands */
    lw_reduce_columns_code seed_strided,
        columns_strided; /* operands of any strides, contiguous accumulators */
    lw_reduce_rows_code rows, rows_strided; /* the same two cases */
    lw_reduce_fours_code fours; /* in code that is compiled soon, in place of `rows` and
                                   `lanes`; else NULL */
    lw_reduce_fold_code fold;   /* may be NULL where the order does not matter */
    lw_reduce_lanes_code lanes;
    /* NULL: the order matters, or the index does, or `best` is faster */
    lw_reduce_chunks_code chunks;
    lw_reduce_merge_code merge;
    lw_reduce_finish_code finish;
    lw_extreme extreme;
    lw_reduce_best_code best; /* NULL, like the next two: combine is no such operator, or
                                 there is `pick` */
    lw_reduce_judge_code judge;
    lw_reduce_find_code find;
    lw_reduce_pick_code pick; /* NULL: no such operator, or the deciding value is no element */
    bool costly;              /* an element may take long: functions have loops, or much code */
    bool same_in_vectors;     /* no bits depend on whether vectors are computed */
    uint32_t value_size;      /* bytes of the deciding value */
    uint32_t n_operands;      /* including the index */
    uint32_t width;           /* number of lanes, a power of two */
    uint32_t together;        /* lanes that go through memory together */
    int64_t block;            /* elements of a block */
    _Atomic uint32_t cost_ps[LW_REDUCE_WAYS]; /* of an element, learnt; 0: not known */
} lw_reduce_code;

/* Makes the IR of all loops, for inspection. */
lw_status lw_reduce_host_module(const lw_reduction *r, lw_module **out, lw_error *err);
/* Which loops are compiled, and how. */
typedef enum lw_reduce_loops {
    LW_REDUCE_LOOPS, /* all but those of scans */
    LW_REDUCE_QUICK, /* as few as can be, soon: in a tenth of the time, and some times slower.
                        Those for contiguous operands are those for any strides, `fours` is in
                        place of `rows` and `lanes`, and `chunks` and those that search for the
                        best element are NULL, `pick` apart */
    LW_REDUCE_QUICK_SCANS,      /* the same, and those of scans */
    LW_REDUCE_QUICK_SCANS_ALONE /* those of scans, and `merge`, which rows in parts need */
} lw_reduce_loops;

enum { LW_REDUCE_QUICK_KINDS = LW_REDUCE_QUICK_SCANS_ALONE - LW_REDUCE_QUICK + 1 };

/* Whether the loops that are compiled soon give the same bits. precise: as lw_build_options. */
bool lw_reduce_host_may_be_quick(const lw_reduction *r, bool precise);
/* Compiles loops or takes them from the cache; those of scans alone: the next one. */
lw_status lw_reduce_host_build(const lw_reduction *r, lw_reduce_loops which,
                               const lw_build_options *options, lw_reduce_code *out,
                               lw_build_report *report, lw_error *err);
lw_status lw_reduce_host_build_scans(const lw_reduction *r, const lw_build_options *options,
                                     lw_reduce_scan_loops_code *out, lw_build_report *report,
                                     lw_error *err);
void lw_reduce_host_drop(lw_reduce_code *code);

#endif
