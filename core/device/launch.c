#include "core/device/launch.h"

#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/base/profile.h"
#include "core/device/device_internal.h"
#include "core/device/launch_times.h"
#include "core/device/module_internal.h"

#include <assert.h>
#include <string.h>

enum { COOPERATIVE = 2, CLUSTER_DIMENSION = 4 }; /* CUlaunchAttributeID */
enum { PORTABLE_CLUSTER = 8, NON_PORTABLE_ALLOWED = 14 /* CUfunction_attribute */ };

/* A function belongs to the context in which it was loaded. When another context of the device
 * is current, the kernel's context-free handle works (the driver accepts it as a function). */
static bool
wrong_context(CUresult code)
{
    return code == LW_CUDA_INVALID_HANDLE || code == LW_CUDA_INVALID_CONTEXT;
}

static lw_status
explain(CUresult code, lw_driver_call call, const lw_kernel *kernel,
        const lw_launch_shape *shape, lw_error *err)
{
    const uint32_t *grid = shape->grid, *block = shape->block;

    lw_driver_check(code, call, kernel->device->ordinal, err);
    lw_driver_note(
        err,
        " (kernel \"%s\", grid %u x %u x %u, block %u x %u x %u, %u bytes of dynamic "
        "shared memory)",
        kernel->name, grid[0], grid[1], grid[2], block[0], block[1], block[2],
        shape->shared_bytes);
    return LW_ERR_DRIVER;
}

static inline CUresult
launch(CUfunction function, const lw_launch_shape *shape, void **params)
{
    return lw_cuda.LaunchKernel(function, shape->grid[0], shape->grid[1], shape->grid[2],
                                shape->block[0], shape->block[1], shape->block[2],
                                shape->shared_bytes, shape->stream, params, NULL);
}

/* Launches with attributes. */
static lw_status
launch_with(CUlaunchAttribute *attributes, uint32_t n, lw_kernel *kernel,
            const lw_launch_shape *shape, void **params, lw_error *err)
{
    CUlaunchConfig config = {
        shape->grid[0],  shape->grid[1],      shape->grid[2], shape->block[0], shape->block[1],
        shape->block[2], shape->shared_bytes, shape->stream,  attributes,      n};
    CUresult code;

    if (lw_cuda.LaunchKernelEx == NULL)
        return lw_fail(err, LW_ERR_DRIVER,
                       "this driver has no cuLaunchKernelEx (CUDA 11.6), which cooperative "
                       "launches and clusters need");
    code = lw_cuda.LaunchKernelEx(&config, kernel->function, params, NULL);
    if (wrong_context(code) && kernel->handle != NULL)
        code =
            lw_cuda.LaunchKernelEx(&config, (CUfunction)(void *)kernel->handle, params, NULL);
    if (code == LW_CUDA_SUCCESS)
        return LW_OK;
    return explain(code, LW_CALL_LaunchKernelEx, kernel, shape, err);
}

/* Clusters of more than eight blocks are allowed where the device has room for them. */
static lw_status
check_clusters(lw_kernel *kernel, const lw_launch_shape *shape, lw_error *err)
{
    const lw_device *device = kernel->device;
    uint32_t n = shape->cluster[0] * shape->cluster[1] * shape->cluster[2];

    if (device->cc_major < 9)
        return lw_fail(err, LW_ERR_UNSUPPORTED,
                       "a launch with clusters needs a GPU of compute capability 9.0; this one "
                       "has %d.%d",
                       device->cc_major, device->cc_minor);
    return n <= PORTABLE_CLUSTER
               ? LW_OK
               : LW_CUDA(FuncSetAttribute, (kernel->function, NON_PORTABLE_ALLOWED, 1),
                         device->ordinal, err);
}

static lw_status
launch_clusters(bool together, lw_kernel *kernel, const lw_launch_shape *shape, void **params,
                lw_error *err)
{
    CUlaunchAttribute attributes[2] = {{.id = CLUSTER_DIMENSION},
                                       {.id = COOPERATIVE, .value.flag = 1}};
    lw_status status = check_clusters(kernel, shape, err);

    memcpy(attributes[0].value.dim, shape->cluster, sizeof attributes[0].value.dim);
    return status == LW_OK
               ? launch_with(attributes, together ? 2 : 1, kernel, shape, params, err)
               : status;
}

static lw_status
launch_one(lw_kernel *kernel, const lw_launch_shape *shape, void **params, lw_error *err)
{
    CUresult code;

    if (shape->cluster[0] != 0)
        return launch_clusters(false, kernel, shape, params, err);
    code = launch(kernel->function, shape, params);
    if (code == LW_CUDA_SUCCESS)
        return LW_OK;
    if (wrong_context(code) && kernel->handle != NULL)
        code = launch((CUfunction)(void *)kernel->handle, shape, params);
    if (code == LW_CUDA_SUCCESS)
        return LW_OK;
    return explain(code, LW_CALL_LaunchKernel, kernel, shape, err);
}

static lw_status
launch_together(lw_kernel *kernel, const lw_launch_shape *shape, void **params, lw_error *err)
{
    CUlaunchAttribute attribute = {.id = COOPERATIVE, .value.flag = 1};

    if (shape->cluster[0] != 0)
        return launch_clusters(true, kernel, shape, params, err);
    return launch_with(&attribute, 1, kernel, shape, params, err);
}

/* While a profile is open. */
static lw_status
launch_timed(bool together, lw_kernel *kernel, const lw_launch_shape *shape, void **params,
             lw_error *err)
{
    lw_timed_launch timed;
    lw_status status;

    lw_launch_time_begin(kernel->device, shape->stream, &timed);
    status = together ? launch_together(kernel, shape, params, err)
                      : launch_one(kernel, shape, params, err);
    lw_launch_time_end(kernel->device, shape->stream, &timed);
    return status;
}

/* Of kernels that take numbers after their parameters: the driver copies them now. */
static lw_status
launch_varying(bool together, lw_kernel *kernel, const lw_launch_shape *shape, void **params,
               lw_error *err)
{
    enum { ROOM = 512 };
    uint32_t n = kernel->n_params + kernel->n_varying;
    void *room[ROOM], **all = n <= ROOM ? room : lw_alloc(n * sizeof *all);
    lw_status status;

    if (all == NULL)
        return lw_fail_memory(err);
    if (kernel->n_params > 0)
        memcpy(all, params, kernel->n_params * sizeof *all);
    memcpy(all + kernel->n_params, kernel->varying, kernel->n_varying * sizeof *all);
    if (lw_profiling())
        status = launch_timed(together, kernel, shape, all, err);
    else
        status = together ? launch_together(kernel, shape, all, err)
                          : launch_one(kernel, shape, all, err);
    if (all != room)
        lw_free(all);
    return status;
}

lw_status
lw_launch(lw_kernel *kernel, const lw_launch_shape *shape, void **params, lw_error *err)
{
    assert(kernel->function != NULL && params != NULL);
    if (kernel->n_varying != 0)
        return launch_varying(false, kernel, shape, params, err);
    return lw_profiling() ? launch_timed(false, kernel, shape, params, err)
                          : launch_one(kernel, shape, params, err);
}

lw_status
lw_launch_together(lw_kernel *kernel, const lw_launch_shape *shape, void **params,
                   lw_error *err)
{
    if (kernel->n_varying != 0)
        return launch_varying(true, kernel, shape, params, err);
    return lw_profiling() ? launch_timed(true, kernel, shape, params, err)
                          : launch_together(kernel, shape, params, err);
}

/* ---- occupancy ------------------------------------------------------------------------------
 */

static lw_lock occupancy_lock = LW_LOCK_INIT;

static bool
find(const lw_kernel *kernel, const lw_occupancy *asked, lw_launch_config *out)
{
    const lw_occupancy *kept;

    lw_lock_take(&occupancy_lock);
    for (kept = kernel->occupancy; kept != NULL; kept = kept->next)
        if (kept->best == asked->best && kept->block == asked->block &&
            kept->shared_bytes == asked->shared_bytes)
            break;
    if (kept != NULL)
        *out = kept->config;
    lw_lock_give(&occupancy_lock);
    return kept != NULL;
}

/* Two threads may both have asked the driver: two equal entries do no harm. */
static void
keep(lw_kernel *kernel, const lw_occupancy *answer)
{
    lw_occupancy *kept = lw_alloc(sizeof *kept);

    if (kept == NULL)
        return; /* the driver is asked again next time */
    *kept = *answer;
    lw_lock_take(&occupancy_lock);
    kept->next = kernel->occupancy;
    kernel->occupancy = kept;
    lw_lock_give(&occupancy_lock);
}

static lw_status
ask_blocks(lw_kernel *kernel, uint32_t block, lw_occupancy *answer, lw_error *err)
{
    int n_blocks = 0;
    lw_status status = LW_CUDA(OccupancyMaxActiveBlocks,
                               (&n_blocks, kernel->function, (int)block, answer->shared_bytes),
                               kernel->device->ordinal, err);

    if (status != LW_OK)
        return status;
    if (n_blocks == 0)
        return lw_fail(
            err, LW_ERR_VALUE,
            "kernel \"%s\" cannot run with %u threads a block: it uses %d registers a "
            "thread and %u bytes of shared memory; at most %d threads are possible",
            kernel->name, block, kernel->info.registers,
            answer->shared_bytes + (uint32_t)kernel->info.shared_bytes,
            kernel->info.max_threads);
    answer->config.block = block;
    answer->config.blocks_per_sm = (uint32_t)n_blocks;
    answer->config.full_grid = (uint32_t)(n_blocks * kernel->device->n_sms);
    return LW_OK;
}

static lw_status
ask(lw_kernel *kernel, lw_occupancy *answer, lw_error *err)
{
    int min_grid = 0, block = (int)answer->block;
    CUcontext before;
    lw_status status = lw_device_visit(kernel->device, &before, err);

    if (status == LW_OK && answer->best)
        status = LW_CUDA(OccupancyMaxPotentialBlockSize,
                         (&min_grid, &block, kernel->function, NULL, answer->shared_bytes,
                          (int)answer->block),
                         kernel->device->ordinal, err);
    if (status == LW_OK)
        status = ask_blocks(kernel, (uint32_t)block, answer, err);
    lw_device_leave(before);
    return status;
}

static lw_status
config_get(lw_kernel *kernel, lw_occupancy *answer, lw_launch_config *out, lw_error *err)
{
    lw_status status = LW_OK;

    if (find(kernel, answer, out))
        return LW_OK;
    status = ask(kernel, answer, err);
    if (status != LW_OK)
        return status;
    keep(kernel, answer);
    *out = answer->config;
    return LW_OK;
}

lw_status
lw_launch_config_best(lw_kernel *kernel, uint32_t shared_bytes, uint32_t block_limit,
                      lw_launch_config *out, lw_error *err)
{
    lw_occupancy answer = {shared_bytes, block_limit, true, {0}, NULL};

    return config_get(kernel, &answer, out, err);
}

lw_status
lw_launch_config_of(lw_kernel *kernel, uint32_t block, uint32_t shared_bytes,
                    lw_launch_config *out, lw_error *err)
{
    lw_occupancy answer = {shared_bytes, block, false, {0}, NULL};

    if (block == 0 || block > (uint32_t)kernel->info.max_threads)
        return lw_fail(err, LW_ERR_VALUE,
                       "kernel \"%s\" runs with 1 to %d threads a block, got %u", kernel->name,
                       kernel->info.max_threads, block);
    return config_get(kernel, &answer, out, err);
}
