/* Device memory shared with other processes of the same machine, by the driver's handles. */
#ifndef LW_DEVICE_IPC_H
#define LW_DEVICE_IPC_H

#include "core/device/context.h"

/* The handle of the allocation that contains the address, and the address's offset in it.
 * Memory of a stream-ordered pool has no handle: the text of that error says what to do. */
lw_status lw_ipc_export(lw_device *device, CUdeviceptr address, CUipcMemHandle *out,
                        size_t *offset, lw_error *err);

typedef struct lw_ipc_memory {
    CUdeviceptr address; /* of the allocation's first byte, in this process */
    lw_device *device;   /* borrowed */
    lw_context *context; /* held */
} lw_ipc_memory;

/* Opens another process's handle on this device; where the memory belongs to another device,
 * peer access is enabled. */
lw_status lw_ipc_open(lw_device *device, const CUipcMemHandle *handle, lw_ipc_memory **out,
                      lw_error *err);
/* NULL is allowed. Work that was queued so far is waited for; nothing may use the memory any
 * more. */
void lw_ipc_close(lw_ipc_memory *memory);

#endif
