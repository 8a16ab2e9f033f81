/* Copies between host and device and on a device, and filling device memory; also the host
 * memory that a device can read and write. n_bytes == 0 does nothing. */
#ifndef LW_DEVICE_COPY_H
#define LW_DEVICE_COPY_H

#include "core/device/context.h"

/* The stream that a copy is queued on. With `wait` the call returns once the stream has done
 * it. Without, host memory must stay as it is until then, unless it is pageable and the source:
 * the driver has copied pageable sources before it returns. */
typedef struct lw_copy_queue {
    lw_device *device;
    CUstream stream;
    bool wait;
} lw_copy_queue;

lw_status lw_copy_to_device(const lw_copy_queue *queue, CUdeviceptr to, const void *from,
                            size_t n_bytes, lw_error *err);
lw_status lw_copy_to_host(const lw_copy_queue *queue, void *to, CUdeviceptr from,
                          size_t n_bytes, lw_error *err);
lw_status lw_copy_on_device(const lw_copy_queue *queue, CUdeviceptr to, CUdeviceptr from,
                            size_t n_bytes, lw_error *err);
/* From the queue's device to another one. Works without peer access too: the driver then stages
 * the copy. */
lw_status lw_copy_between(const lw_copy_queue *queue, lw_device *to_device, CUdeviceptr to,
                          CUdeviceptr from, size_t n_bytes, lw_error *err);
/* n items of item_bytes (1, 2 or 4), each set to the low bytes of value; `to` is aligned to the
 * item. */
lw_status lw_fill(const lw_copy_queue *queue, CUdeviceptr to, uint32_t value, size_t item_bytes,
                  size_t n, lw_error *err);

typedef enum lw_host_kind {
    LW_HOST_PINNED,          /* page-locked, from cuMemHostAlloc */
    LW_HOST_MAPPED,          /* page-locked, with a device address */
    LW_HOST_WRITE_COMBINED,  /* mapped, fast to write, slow to read on the host */
    LW_HOST_MANAGED,         /* migrates between host and device */
    LW_HOST_MANAGED_AT_HOST, /* the same, attached to the host alone: managed_array */
    LW_HOST_REGISTERED,      /* the caller's memory, page-locked while this lives */
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
