/* Runs a kernel of numba.cuda's kind on the CPU: a grid of blocks of threads, with the semantics
 * that PTX gives them (barriers, shared memory, warps of 32 threads, atomics), as compiled code.
 *
 * Blocks are spread over the thread pool; the threads of one block run on one pool thread. A kernel
 * in which threads never wait for each other runs as one call a block (`whole`): a loop over the
 * block's threads in compiled code. Otherwise each thread is a fiber with its own stack (`single`):
 * at a barrier or a warp operation it gives way to the next. The threads of a block run in the order
 * of their index between two such places, so results do not depend on chance, except for atomics
 * between blocks.
 *
 * What real hardware leaves undefined is reported where it is seen, as LW_ERR_KERNEL naming block
 * and thread: threads of one block that wait at different barriers for ever, a warp operation whose
 * mask names a lane that waits elsewhere or has ended.
 * Shared memory starts filled with 0xcd bytes under `checks`, so that reads before writes show. */
#ifndef LW_HOST_SIMULATOR_H
#define LW_HOST_SIMULATOR_H

#include "core/base/error.h"
#include "core/ir/kernel_context.h"

/* 0, or the nonzero status of the body (index of a raise row + 1). */
typedef int32_t (*lw_sim_single)(lw_kernel_context *context, const uint64_t *values);
/* Runs all threads of the block; writes tid into the context. On a nonzero status it has stopped at
 * the thread that context->sregs names. */
typedef int32_t (*lw_sim_whole)(lw_kernel_context *context, const uint64_t *values);

typedef struct lw_sim_launch {
    uint32_t grid[3], block[3]; /* x, y, z; at least 1; at most 1024 threads a block */
    uint32_t static_bytes, dynamic_bytes; /* of shared memory a block */
    lw_sim_single single; /* with collective code; else NULL */
    lw_sim_whole whole;   /* without; else NULL */
    const uint64_t *values; /* handed to the code: the arguments, one each 8 bytes */
    bool checks;
} lw_sim_launch;

typedef struct lw_sim_result {
    int32_t status; /* of the thread that raised first (lowest block, then thread); 0: none */
    uint32_t block[3], thread[3]; /* of it */
} lw_sim_result;

/* LW_ERR_KERNEL for faults of the kernel's synchronisation, LW_ERR_VALUE for an impossible shape.
 * Blocks after the first one that raised need not run. The caller does not hold the GIL. */
lw_status lw_simulate(const lw_sim_launch *launch, lw_sim_result *result, lw_error *err);

/* The functions of kernel_ops.def, by name, for the loader of compiled code. */
void lw_simulator_register(void);

#endif
