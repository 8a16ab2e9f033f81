/* Launching kernels, and the block sizes that the driver's occupancy calculation recommends. */
#ifndef LW_DEVICE_LAUNCH_H
#define LW_DEVICE_LAUNCH_H

#include "core/device/module.h"

typedef struct lw_launch_config {
    uint32_t block;         /* threads a block, a multiple of the warp */
    uint32_t blocks_per_sm; /* of that size that fit on one SM at the same time */
    uint32_t full_grid;     /* blocks_per_sm * n_sms: one full wave */
} lw_launch_config;

/* How often a kernel runs, and on which stream. */
typedef struct lw_launch_shape {
    uint32_t grid[3],
        block[3];          /* blocks of the grid, threads of a block: x, y, z; at least 1 */
    uint32_t cluster[3];   /* blocks of a cluster: x, y, z; 0: there are no clusters */
    uint32_t shared_bytes; /* dynamic shared memory of a block */
    CUstream stream;
} lw_launch_shape;

/* The hot path: one driver call, nothing else. The device must have been entered by this thread
 * (lw_device_enter or _visit). params: one pointer per parameter, to its value, copied by the
 * call. */
lw_status lw_launch(lw_kernel *kernel, const lw_launch_shape *shape, void **params,
                    lw_error *err);
/* The same for kernels that wait for the whole grid: all blocks run at one time, or the launch
 * fails. */
lw_status lw_launch_together(lw_kernel *kernel, const lw_launch_shape *shape, void **params,
                             lw_error *err);

/* The block size of best occupancy, at most block_limit threads (0: no limit), with this much
 * dynamic shared memory. The driver is asked once per kernel and pair; after that it is a list
 * look-up. */
lw_status lw_launch_config_best(lw_kernel *kernel, uint32_t shared_bytes, uint32_t block_limit,
                                lw_launch_config *out, lw_error *err);
/* The same for a given block size. LW_ERR_VALUE when the kernel cannot run with it. */
lw_status lw_launch_config_of(lw_kernel *kernel, uint32_t block, uint32_t shared_bytes,
                              lw_launch_config *out, lw_error *err);

#endif
