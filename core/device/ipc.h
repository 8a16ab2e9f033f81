/* Device memory shared with other processes of the same machine, by the driver's handles. */
#ifndef LW_DEVICE_IPC_H
#define LW_DEVICE_IPC_H

#include "core/device/context.h"

/* A handle of the allocation that holds the address, and the address's offset in it. Memory of
 * a stream-ordered pool has none: the text of that error says what to do. */
lw_status lw_ipc_export(lw_device *device, CUdeviceptr address, CUipcMemHandle *out,
                        size_t *offset, lw_error *err);

typedef struct lw_ipc_memory {
    CUdeviceptr address; /* of the allocation's first byte, in this process */
    lw_device *device;   /* borrowed */
    lw_context *context; /* held */
} lw_ipc_memory;

/* Open another process's handle on this device; peer access is switched on where the memory is
 * another device's. */
lw_status lw_ipc_open(lw_device *device, const CUipcMemHandle *handle, lw_ipc_memory **out,
                      lw_error *err);
/* NULL is allowed. No work given so far may use the memory any more: it waits for the device.
 */
void lw_ipc_close(lw_ipc_memory *memory);

#endif
