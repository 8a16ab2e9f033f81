/* How a GPU computes a scan of a given shape: the kernel's key, its grid and its parameters.
 * Pure C. */
#ifndef LW_REDUCE_DEVICE_SCAN_PLAN_H
#define LW_REDUCE_DEVICE_SCAN_PLAN_H

#include "reduce/device/scan_kernel.h"
#include "reduce/host/host_run.h"

/* An array of outer × elements × inner, scanned along `elements`. Results are in C order. */
typedef struct lw_reduce_scan {
    const lw_reduction *reduction;
    int64_t outer, elements, inner;
    const char *operand[LW_REDUCE_MOST];
    int64_t outer_step[LW_REDUCE_MOST], step[LW_REDUCE_MOST], inner_step[LW_REDUCE_MOST];
    char *out[LW_REDUCE_MOST];
    const lw_reduce_item *seed; /* comes before the first element; or NULL */
    bool before;                /* results do not include their own element; needs a seed */
    const char *keys; /* one for each element, whose runs of equal keys are scanned separately;
                         or NULL */
    int64_t key_step;
    lw_dtype key_dtype;
    char *keys_out, *n_runs;
    uint32_t max_threads; /* of a block; 0: no limit */
    uint32_t max_items;   /* of a thread; 0: no limit. For tests, which use small tiles */
} lw_reduce_scan;

enum { LW_SCAN_MOST_PARAMS = 12 + 5 * LW_REDUCE_MOST + 4 * LW_REDUCE_MOST + 1 };

typedef struct lw_reduce_scan_plan {
    lw_reduce_key key;
    int64_t tiles, strips; /* the grid has a block for each pair of a tile and a strip */
    int64_t distance;      /* key.prefetch: from a block's tile to the one that it brings */
    uint32_t threads;      /* of a block */
    size_t bytes;          /* device memory that has to be cleared before; 0: none */
} lw_reduce_scan_plan;

/* Merges an operand's axes in front of `axis` into one, and those behind it. False: its strides
 * do not allow that; copy it to C order. */
bool lw_reduce_scan_operand(lw_reduce_scan *scan, uint32_t which, int ndim, int axis,
                            const int64_t *shape, const int64_t *strides);
/* There must be elements and rows. */
void lw_reduce_scan_plan_of(const lw_reduce_scan *scan, lw_reduce_scan_plan *out);
/* Sets a word for each parameter of the kernel and gives how many. memory: plan->bytes of
 * device memory. */
uint32_t lw_reduce_scan_words(const lw_reduce_scan *scan, const lw_reduce_scan_plan *plan,
                              uint64_t memory, uint64_t words[LW_SCAN_MOST_PARAMS]);

#endif
