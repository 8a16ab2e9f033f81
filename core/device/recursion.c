/* The stack of a GPU's thread has one size for all launches of a context. The driver reserves
 * it for as many threads as the device can run at once, so it is raised only where code with
 * recursion is loaded. A level of recursion takes no more than the largest frame in the image,
 * and what is called on the last level no more than all frames together. */
#include "core/device/recursion.h"

#include "core/base/env.h"
#include "core/device/copy.h"
#include "core/device/device_internal.h"
#include "core/device/stream.h"
#include "core/ir/recursion.h"
#include "core/link/cubin_info.h"

enum { LIMIT_OF_STACK = 0 /* CU_LIMIT_STACK_SIZE */ };
enum { RESERVE = 128 }; /* bytes for what the device itself keeps on a stack */

/* The stack is never made smaller. Where the driver refuses the change, because memory is out,
 * it stays as it is, and recursion ends sooner. */
static lw_status
raise_limit(lw_device *device, size_t *n_bytes, lw_error *err)
{
    size_t wanted = (size_t)lw_env_int(LW_ENV_stack_kb) << 10;
    lw_status status;

    LW_TRY(LW_CUDA(CtxGetLimit, (n_bytes, LIMIT_OF_STACK), device->ordinal, err));
    if (*n_bytes >= wanted || lw_cuda.CtxSetLimit == NULL)
        return LW_OK;
    (void)lw_cuda.CtxSetLimit(LIMIT_OF_STACK, wanted);
    LW_TRY(LW_CUDA(CtxGetLimit, (n_bytes, LIMIT_OF_STACK), device->ordinal, err));
fail:
    return status;
}

static int32_t
levels_of(const lw_cubin_frames *frames, size_t n_bytes)
{
    uint64_t largest = frames->largest < 16 ? 16 : frames->largest;
    uint64_t taken = RESERVE + frames->sum;
    uint64_t levels = n_bytes > taken ? (n_bytes - taken) / largest : 0;

    return levels < INT32_MAX ? (int32_t)levels : INT32_MAX;
}

static lw_status
set_variable(lw_image *image, int32_t levels, lw_error *err)
{
    lw_device *device = lw_image_device(image);
    lw_stream *stream = NULL;
    CUdeviceptr variable = 0;
    size_t size = 0;
    lw_status status;

    LW_TRY(lw_image_global(image, LW_RECURSION_VARIABLE, &variable, &size, err));
    LW_TRY(lw_stream_new(device, false, 0, &stream, err));
    LW_TRY(lw_copy_to_device(&(lw_copy_queue){device, stream->handle, true}, variable, &levels,
                             sizeof levels, err));
fail:
    lw_stream_free(stream);
    return status;
}

lw_status
lw_recursion_connect(lw_image *image, const void *bytes, size_t n_bytes, lw_error *err)
{
    lw_device *device = lw_image_device(image);
    lw_cubin_frames frames = {0};
    size_t stack_bytes = 0;
    CUcontext before = NULL;
    lw_status status;

    if (!lw_cubin_names(bytes, n_bytes, LW_RECURSION_VARIABLE) ||
        lw_cubin_frames_read(bytes, n_bytes, &frames, NULL) != LW_OK)
        return LW_OK;
    LW_TRY(lw_device_visit(device, &before, err));
    LW_TRY(raise_limit(device, &stack_bytes, err));
    LW_TRY(set_variable(image, levels_of(&frames, stack_bytes), err));
fail:
    lw_device_leave(before);
    return status;
}
