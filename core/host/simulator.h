/* Runs a kernel on the CPU as a GPU would: a grid of blocks of threads, with PTX's semantics of
 * barriers, shared memory, warps of 32 threads and atomics, as compiled code.
 *
 * Blocks are spread over the thread pool; the threads of one block run on one pool thread. A
 * kernel in which threads never wait for each other runs as one call per block (`whole`): a
 * loop over the block's threads in compiled code. Otherwise each thread is a fiber with its own
 * stack (`single`), which gives way to the next one at a barrier or a warp operation. Between
 * two such places the threads of a block run in the order of their index (a warp continues
 * while any of its lanes can), so results do not depend on chance, except for atomics between
 * blocks. A thread that spins until another one writes must call nanosleep or a fence in its
 * loop. Blocks run one after the other, so blocks that wait for each other by anything but
 * grid_sync may wait for ever.
 *
 * What real hardware leaves undefined is reported when it happens, as LW_ERR_KERNEL naming
 * block and thread, and what each thread waits at: threads of one block at different barriers,
 * or at barriers and warp operations that can never be complete; a warp operation whose mask
 * lacks the caller; a shuffle that reads a lane which does not take part. Barriers are
 * different if the lines differ that compiled code stores in its context (not the addresses of
 * the calls, since a compiler may copy one). Lanes that have ended, or that a block whose size
 * is no multiple of 32 never had, are not waited for ("all non-exited threads in membermask" in
 * PTX). activemask gives the lanes that reach the same line before any lane of the warp does
 * something else. grid_sync keeps all blocks of the grid: with more than LW_SIM_RESIDENT
 * threads it is LW_ERR_VALUE. The blocks of a cluster run on one pool thread, each until its
 * threads have ended or wait in cluster_sync, then all of them again; a block that has ended is
 * not waited for.
 *
 * Under `checks` shared memory starts filled with 0xcd bytes, so that reads before writes show.
 */
#ifndef LW_HOST_SIMULATOR_H
#define LW_HOST_SIMULATOR_H

#include "core/base/error.h"
#include "core/ir/kernel_context.h"

/* Returns 0, or the nonzero status of the body (index of a raise row + 1). */
typedef int32_t (*lw_sim_single)(lw_kernel_context *context, const uint64_t *values);
/* Runs all threads of the block; writes tid into the context. On a nonzero status it has
 * stopped at the thread that context->sregs names. */
typedef int32_t (*lw_sim_whole)(lw_kernel_context *context, const uint64_t *values);

typedef struct lw_sim_launch {
    uint32_t grid[3], block[3]; /* x, y, z; at least 1; at most 1024 threads a block */
    uint32_t cluster[3];        /* blocks of a cluster; 0: a block is alone */
    uint32_t static_bytes, dynamic_bytes; /* of shared memory a block */
    uint32_t local_bytes;   /* of a thread's local arrays, for which its stack is enlarged */
    lw_sim_single single;   /* of kernels with collective code; else NULL */
    lw_sim_whole whole;     /* of other kernels; else NULL */
    const uint64_t *values; /* the arguments, 8 bytes each, for the code */
    bool checks;
    bool in_order; /* blocks run one after the other, because the kernel prints */
    /* NULL, or called now and then by the calling thread between two blocks. If it returns
     * true, the launch ends with LW_ERR_PYTHON. */
    bool (*stop)(void *context);
    void *stop_context;
} lw_sim_launch;

typedef struct lw_sim_result {
    int32_t status; /* of the thread that raised first (lowest block, then thread); 0: none */
    uint32_t block[3], thread[3]; /* where that thread is */
    uint64_t words[2];            /* what its exception carries (core/host/raise_note.h) */
} lw_sim_result;

/* The most threads of a grid with grid_sync: each has a stack, which is two mappings. */
#define LW_SIM_RESIDENT 16384
/* The most blocks of a cluster. */
#define LW_SIM_CLUSTER 16

/* LW_ERR_KERNEL for faults of the kernel's synchronisation, LW_ERR_VALUE for an impossible
 * shape. Blocks after the first one that raised need not run. The caller does not hold the GIL.
 */
lw_status lw_simulate(const lw_sim_launch *launch, lw_sim_result *result, lw_error *err);

/* The functions of kernel_ops.def, by name, for the loader of compiled code. */
void lw_simulator_register(void);

/* ---- what compiled code calls; rows of kernel_ops.def, and `barrier` for the IR's own ---- */

void lw_sim_barrier(lw_kernel_context *context);
int32_t lw_sim_barrier_count(lw_kernel_context *context, int32_t predicate);
int32_t lw_sim_barrier_and(lw_kernel_context *context, int32_t predicate);
int32_t lw_sim_barrier_or(lw_kernel_context *context, int32_t predicate);
int64_t lw_sim_grid_workspace(lw_kernel_context *context);
void lw_sim_grid_sync(lw_kernel_context *context, void *counter);
void lw_sim_cluster_sync(lw_kernel_context *context);
int32_t lw_sim_cluster_rank(lw_kernel_context *context);
int32_t lw_sim_cluster_size(lw_kernel_context *context);
int64_t lw_sim_cluster_map(lw_kernel_context *context, const void *address, int32_t rank);

/* clamp: PTX's operand c, the bound of source lanes | segment mask << 8 */
int32_t lw_sim_shfl_idx(lw_kernel_context *context, int32_t mask, int32_t value, int32_t lane,
                        int32_t clamp);
int32_t lw_sim_shfl_up(lw_kernel_context *context, int32_t mask, int32_t value, int32_t delta,
                       int32_t clamp);
int32_t lw_sim_shfl_down(lw_kernel_context *context, int32_t mask, int32_t value, int32_t delta,
                         int32_t clamp);
int32_t lw_sim_shfl_xor(lw_kernel_context *context, int32_t mask, int32_t value, int32_t bits,
                        int32_t clamp);
void lw_sim_syncwarp(lw_kernel_context *context, int32_t mask);
int32_t lw_sim_vote_all(lw_kernel_context *context, int32_t mask, int32_t predicate);
int32_t lw_sim_vote_any(lw_kernel_context *context, int32_t mask, int32_t predicate);
int32_t lw_sim_vote_eq(lw_kernel_context *context, int32_t mask, int32_t predicate);
int32_t lw_sim_ballot(lw_kernel_context *context, int32_t mask, int32_t predicate);
int32_t lw_sim_match_any32(lw_kernel_context *context, int32_t mask, int32_t value);
int32_t lw_sim_match_any64(lw_kernel_context *context, int32_t mask, int64_t value);
int32_t lw_sim_match_all32(lw_kernel_context *context, int32_t mask, int32_t value);
int32_t lw_sim_match_all64(lw_kernel_context *context, int32_t mask, int64_t value);
int32_t lw_sim_activemask(lw_kernel_context *context);

int32_t lw_sim_lanemask_lt(lw_kernel_context *context);
void lw_sim_fence(lw_kernel_context *context);
int64_t lw_sim_load_relaxed(lw_kernel_context *context, const void *word);
void lw_sim_store_relaxed(lw_kernel_context *context, void *word, int64_t value);
void lw_sim_nanosleep(lw_kernel_context *context, int32_t nanoseconds);
int64_t lw_sim_clock(lw_kernel_context *context); /* nanoseconds: a clock of 1 GHz */

/* Code compiled with checks calls it in front of each load, store and atomic that may be of
 * shared memory, its line stored in the context; addresses elsewhere are passed over. The first
 * race of a block is LW_ERR_KERNEL: two threads, one of them writing, no barrier between them
 * (nor a syncwarp, for two lanes of a warp), naming both, their lines and the byte offset in
 * the block's memory (dynamic memory comes behind the static, at the next multiple of 16). */
typedef enum lw_sim_access_kind { LW_SIM_READ, LW_SIM_WRITE, LW_SIM_ATOMIC } lw_sim_access_kind;
void lw_sim_access(lw_kernel_context *context, const void *address, int32_t n_bytes,
                   int32_t kind);

#endif
