/* Copies between host and device and on it, and filling. All are given to a stream; `wait`
 * makes the host wait until the stream has done it. Without `wait`, host memory must stay as it
 * is until then, unless it is pageable: the driver has copied pageable sources before it
 * returns. n_bytes
 * == 0 does nothing. Also the host memory that a device can reach. */
#ifndef LW_DEVICE_COPY_H
#define LW_DEVICE_COPY_H

#include "core/device/context.h"

lw_status lw_copy_to_device(lw_device *device, CUdeviceptr to, const void *from, size_t n_bytes,
                            CUstream stream, bool wait, lw_error *err);
lw_status lw_copy_to_host(lw_device *device, void *to, CUdeviceptr from, size_t n_bytes,
                          CUstream stream, bool wait, lw_error *err);
lw_status lw_copy_on_device(lw_device *device, CUdeviceptr to, CUdeviceptr from, size_t n_bytes,
                            CUstream stream, bool wait, lw_error *err);
/* stream: of `from_device`. Works without peer access too (the driver stages it). */
lw_status lw_copy_between(lw_device *to_device, CUdeviceptr to, lw_device *from_device,
                          CUdeviceptr from, size_t n_bytes, CUstream stream, bool wait,
                          lw_error *err);
/* n items of item_bytes (1, 2 or 4), each set to the low bytes of value; `to` is aligned to the
 * item. */
lw_status lw_fill(lw_device *device, CUdeviceptr to, uint32_t value, size_t item_bytes,
                  size_t n, CUstream stream, bool wait, lw_error *err);

typedef enum lw_host_kind {
    LW_HOST_PINNED,         /* page-locked, from cuMemHostAlloc */
    LW_HOST_MAPPED,         /* and with a device address */
    LW_HOST_WRITE_COMBINED, /* mapped, fast to write, slow to read on the host */
    LW_HOST_MANAGED,        /* migrates between host and device */
    LW_HOST_REGISTERED,     /* the caller's memory, page-locked while this lives */
} lw_host_kind;

typedef struct lw_host_block {
    void *host;
    CUdeviceptr address; /* the device's view; 0 for LW_HOST_PINNED */
    size_t size_bytes;
    lw_host_kind kind;
    lw_device *device;   /* borrowed */
    lw_context *context; /* held */
} lw_host_block;

/* memory: for LW_HOST_REGISTERED, else NULL. size_bytes > 0. */
lw_status lw_host_block_new(lw_device *device, lw_host_kind kind, void *memory,
                            size_t size_bytes, lw_host_block **out, lw_error *err);
/* NULL is allowed. The driver waits for copies under way. */
void lw_host_block_free(lw_host_block *block);

#endif
