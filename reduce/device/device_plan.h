/* The shape of a job -> the kernel's key, the grid, and its parameters. Pure C. */
#ifndef LW_REDUCE_DEVICE_DEVICE_PLAN_H
#define LW_REDUCE_DEVICE_DEVICE_PLAN_H

#include "reduce/device/device_kernel.h"
#include "reduce/host/host_run.h"

enum { LW_REDUCE_MOST_PARAMS = 20 + 5 * LW_REDUCE_MOST + LW_REDUCE_MOST + 4 * LW_REDUCE_MOST };

typedef struct lw_reduce_plan {
    lw_reduce_key key;
    int64_t results, items, elements, per_block, splits;
    int64_t inner, row; /* results, elements side by side: all, or those of a row of them */
    int64_t tiles;      /* blocks side by side: the grid's x; splits are its y */
    uint32_t threads;
    size_t partial_bytes; /* of the split results, the counters behind them; 0: none */
    size_t counters_at;   /* where these begin */
} lw_reduce_plan;

/* Rearranges the job's spaces, to at most two kept dimensions and two reduced. False: one too
 * many, or steps that do not suit; copy the operands, results first, and come again. n_blocks:
 * how many the device can use at a time. */
bool lw_reduce_plan_of(lw_reduce_job *job, int64_t n_blocks, lw_reduce_plan *out);
/* One word for each of the kernel's parameters; gives how many. memory: partial_bytes of it;
 * counters: of each tile one, 0, as the launch leaves them. */
uint32_t lw_reduce_plan_words(const lw_reduce_job *job, const lw_reduce_plan *plan,
                              uint64_t memory, uint64_t counters,
                              uint64_t words[LW_REDUCE_MOST_PARAMS]);

#endif
