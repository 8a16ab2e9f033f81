/* How a GPU reduces slices of one axis: the key, the grid and the parameters of the kernel of
 * device_kernel.h. Results are in C order: outer × slices × inner. Pure C. */
#ifndef LW_REDUCE_DEVICE_SLICE_PLAN_H
#define LW_REDUCE_DEVICE_SLICE_PLAN_H

#include "reduce/device/scan_plan.h"

typedef struct lw_reduce_slice {
    int64_t begin, count; /* count > 0 */
} lw_reduce_slice;

/* The slices of numpy.ufunc.reduceat: each reaches to the next index, or has one element. */
void lw_reduce_slices_of(const int64_t *index, int64_t n, int64_t elements,
                         lw_reduce_slice *out);

typedef struct lw_reduce_slice_plan {
    lw_reduce_key key;
    int64_t results, tiles; /* tiles: blocks of the grid */
    uint32_t threads;
} lw_reduce_slice_plan;

/* There must be slices, rows and elements. */
void lw_reduce_slice_plan_of(const lw_reduce_scan *scan, int64_t n_slices,
                             lw_reduce_slice_plan *out);
/* Sets a word for each parameter and gives how many. slices: their address for the kernel. */
uint32_t lw_reduce_slice_words(const lw_reduce_scan *scan, const lw_reduce_slice_plan *plan,
                               int64_t n_slices, uint64_t slices,
                               uint64_t words[LW_SCAN_MOST_PARAMS]);

#endif
