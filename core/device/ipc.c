#include "core/device/ipc.h"

#include "core/base/memory.h"
#include "core/device/device_internal.h"

enum { RANGE_START = 11, LAZY_PEER_ACCESS = 1 };

lw_status
lw_ipc_export(lw_device *device, CUdeviceptr address, CUipcMemHandle *out, size_t *offset,
              lw_error *err)
{
    CUcontext before = NULL;
    CUdeviceptr start = 0;
    lw_error why = {0};
    lw_status status;

    LW_TRY(lw_device_visit(device, &before, err));
    LW_TRY(LW_CUDA(PointerGetAttribute, (&start, RANGE_START, address), device->ordinal, err));
    status = LW_CUDA(IpcGetMemHandle, (out, start), device->ordinal, &why);
    if (status != LW_OK) {
        if (why.vendor_code == LW_CUDA_INVALID_VALUE)
            lw_driver_note(&why, "; memory of stream-ordered pools cannot be shared: set "
                                 "LANEWISE_IPC=1 before a device is first used");
        lw_driver_pass(err, &why);
    }
    *offset = (size_t)(address - start);
fail:
    lw_device_leave(before);
    return status;
}

lw_status
lw_ipc_open(lw_device *device, const CUipcMemHandle *handle, lw_ipc_memory **out, lw_error *err)
{
    lw_ipc_memory *memory = lw_alloc_zero(1, sizeof *memory);
    CUcontext before = NULL;
    lw_status status;

    if (memory == NULL)
        return lw_fail_memory(err);
    memory->device = device;
    LW_TRY(lw_context_hold(device, &memory->context, err));
    LW_TRY(lw_device_visit(device, &before, err));
    LW_TRY(LW_CUDA(IpcOpenMemHandle, (&memory->address, *handle, LAZY_PEER_ACCESS),
                   device->ordinal, err));
    lw_device_leave(before);
    *out = memory;
    return LW_OK;
fail:
    lw_device_leave(before);
    lw_context_drop(memory->context);
    lw_free(memory);
    return status;
}

void
lw_ipc_close(lw_ipc_memory *memory)
{
    CUcontext before = NULL;

    if (memory == NULL)
        return;
    if (lw_context_visit(memory->context, &before)) {
        (void)LW_CUDA(CtxSynchronize, (), memory->device->ordinal, NULL);
        (void)LW_CUDA(IpcCloseMemHandle, (memory->address), memory->device->ordinal, NULL);
    }
    lw_device_leave(before);
    lw_context_drop(memory->context);
    lw_free(memory);
}
