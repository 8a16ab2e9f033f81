/* How a GPU computes a reduction of a given shape: the kernel's key, its grid and its
 * parameters. Pure C. */
#ifndef LW_REDUCE_DEVICE_DEVICE_PLAN_H
#define LW_REDUCE_DEVICE_DEVICE_PLAN_H

#include "reduce/device/device_kernel.h"
#include "reduce/host/host_run.h"

enum { LW_REDUCE_MOST_PARAMS = 20 + 5 * LW_REDUCE_MOST + LW_REDUCE_MOST + 4 * LW_REDUCE_MOST };

typedef struct lw_reduce_plan {
    lw_reduce_key key;
    int64_t results, items, elements, splits;
    int64_t per_block;  /* where the order of elements matters: accesses of a block;
                           0: blocks take turns */
    int64_t head;       /* with key.head: elements before the first access; elements, items and
                           addresses are those behind them */
    int64_t inner, row; /* neighbouring results and elements: all, or those of one row */
    int64_t tiles;      /* the grid's x; splits are its y */
    uint32_t threads;
    size_t partial_bytes; /* device memory for split results and the counters behind them; 0:
                             none */
    size_t counters_at;   /* where the counters begin in it */
} lw_reduce_plan;

/* Rearranges the job's spaces into at most two kept and two reduced dimensions. False: that is
 * not possible, or the strides do not suit; then copy the operands, kept dimensions outermost,
 * and plan again. n_blocks: how many blocks keep the device busy. */
bool lw_reduce_plan_of(lw_reduce_job *job, int64_t n_blocks, lw_reduce_plan *out);
/* Sets a word for each parameter of the kernel and gives how many. memory: partial_bytes of
 * device memory. counters: one for each tile, all 0, as the launch leaves them. */
uint32_t lw_reduce_plan_words(const lw_reduce_job *job, const lw_reduce_plan *plan,
                              uint64_t memory, uint64_t counters,
                              uint64_t words[LW_REDUCE_MOST_PARAMS]);

#endif
