/* The shape of a scan -> the kernel's key, the grid, and its parameters. Pure C. */
#ifndef LW_REDUCE_DEVICE_SCAN_PLAN_H
#define LW_REDUCE_DEVICE_SCAN_PLAN_H

#include "reduce/device/scan_kernel.h"
#include "reduce/host/host_run.h"

/* outer × elements × inner, scanned along the elements. Results are in C order. */
typedef struct lw_reduce_scan {
    const lw_reduction *reduction;
    int64_t outer, elements, inner;
    const char *operand[LW_REDUCE_MOST];
    int64_t outer_step[LW_REDUCE_MOST], step[LW_REDUCE_MOST], inner_step[LW_REDUCE_MOST];
    char *out[LW_REDUCE_MOST];
    const lw_reduce_item *seed; /* in front of the first element, or NULL */
    bool before;                /* results without the element's own; with a seed */
    const char *keys; /* one for each element: scanned by runs of equal ones; NULL: none */
    int64_t key_step;
    lw_dtype key_dtype;
    char *keys_out, *n_runs;
    uint32_t max_threads; /* of a block; 0: no limit */
    uint32_t max_items;   /* of a thread; 0: no limit. Tests have small tiles */
} lw_reduce_scan;

enum { LW_SCAN_MOST_PARAMS = 12 + 5 * LW_REDUCE_MOST + 4 * LW_REDUCE_MOST };

typedef struct lw_reduce_scan_plan {
    lw_reduce_key key;
    int64_t tiles, strips; /* a block for each of their pairs */
    uint32_t threads;      /* of a block */
    size_t bytes;          /* device memory, of zeros; 0: none */
} lw_reduce_scan_plan;

/* One operand's axes in front of `axis` and behind it become one each. False where its strides
 * forbid that: copy it to C order. */
bool lw_reduce_scan_operand(lw_reduce_scan *scan, uint32_t which, int ndim, int axis,
                            const int64_t *shape, const int64_t *strides);
/* needs: elements and rows. */
void lw_reduce_scan_plan_of(const lw_reduce_scan *scan, lw_reduce_scan_plan *out);
/* One word for each of the kernel's parameters; gives how many. memory: of plan->bytes. */
uint32_t lw_reduce_scan_words(const lw_reduce_scan *scan, const lw_reduce_scan_plan *plan,
                              uint64_t memory, uint64_t words[LW_SCAN_MOST_PARAMS]);

#endif
