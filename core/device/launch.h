/* Launching kernels, and the launch shape that the driver's occupancy calculation advises. */
#ifndef LW_DEVICE_LAUNCH_H
#define LW_DEVICE_LAUNCH_H

#include "core/device/module.h"

typedef struct lw_launch_config {
    uint32_t block;         /* threads a block, a multiple of the warp */
    uint32_t blocks_per_sm; /* of that size that fit on one SM at a time */
    uint32_t full_grid;     /* blocks_per_sm * n_sms: one full wave */
} lw_launch_config;

/* The hot path: one driver call, nothing else. The device must have been entered by this thread
 * (lw_device_enter or _visit). params: one pointer per parameter, to its value, copied by the
 * call. */
lw_status lw_launch(lw_kernel *kernel, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
                    uint32_t block_x, uint32_t block_y, uint32_t block_z, uint32_t shared_bytes,
                    CUstream stream, void **params, lw_error *err);
/* The same; all blocks run at one time, or the launch fails: kernels that wait for the grid. */
lw_status lw_launch_together(lw_kernel *kernel, uint32_t grid_x, uint32_t grid_y,
                             uint32_t grid_z, uint32_t block_x, uint32_t block_y,
                             uint32_t block_z, uint32_t shared_bytes, CUstream stream,
                             void **params, lw_error *err);

/* The block of best occupancy, at most block_limit threads (0: no limit) with this much dynamic
 * shared memory. The driver is asked once per kernel and pair; afterwards a list look-up. */
lw_status lw_launch_config_best(lw_kernel *kernel, uint32_t shared_bytes, uint32_t block_limit,
                                lw_launch_config *out, lw_error *err);
/* The same for a given block size. LW_ERR_VALUE when the kernel cannot run with it. */
lw_status lw_launch_config_of(lw_kernel *kernel, uint32_t block, uint32_t shared_bytes,
                              lw_launch_config *out, lw_error *err);

#endif
