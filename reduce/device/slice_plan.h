/* Slices of one axis -> the key, the grid and the parameters of reduce/device/device_kernel.h.
 * Pure C. Results are in C order: outer × slices × inner. */
#ifndef LW_REDUCE_DEVICE_SLICE_PLAN_H
#define LW_REDUCE_DEVICE_SLICE_PLAN_H

#include "reduce/device/scan_plan.h"

typedef struct lw_reduce_slice {
    int64_t begin, count; /* count > 0 */
} lw_reduce_slice;

/* As numpy.ufunc.reduceat has it: up to the next index, or one element. */
void lw_reduce_slices_of(const int64_t *index, int64_t n, int64_t elements,
                         lw_reduce_slice *out);

typedef struct lw_reduce_slice_plan {
    lw_reduce_key key;
    int64_t results, tiles; /* tiles: the grid */
    uint32_t threads;
} lw_reduce_slice_plan;

/* n_slices > 0, and there are rows and elements. */
void lw_reduce_slice_plan_of(const lw_reduce_scan *scan, int64_t n_slices,
                             lw_reduce_slice_plan *out);
/* slices: their address where the kernel runs. */
uint32_t lw_reduce_slice_words(const lw_reduce_scan *scan, const lw_reduce_slice_plan *plan,
                               int64_t n_slices, uint64_t slices,
                               uint64_t words[LW_SCAN_MOST_PARAMS]);

#endif
