/* The heap of a context's kernels, from which compiled code takes the memory of arrays: its
 * size, and its state (core/ir/counted.h), which all images of the context share. The state
 * lives as long as the context, because it keeps memory of the heap. */
#ifndef LW_DEVICE_HEAP_H
#define LW_DEVICE_HEAP_H

#include "core/device/context.h"

/* Sizes the heap of the device's context (LANEWISE_NRT_HEAP_MB) and makes its state, unless
 * that was done. To be called before an image is loaded whose kernels use the heap. */
lw_status lw_heap_prepare(lw_device *device, lw_error *err);
/* How many bytes the heap has; 0: it was not prepared. */
size_t lw_heap_bytes(lw_device *device);

/* What kernels have allocated and freed while that was counted, in all contexts together. */
typedef struct lw_heap_stats {
    uint64_t allocated, freed, made, destroyed; /* memory; headers of counted memory */
} lw_heap_stats;

/* Whether contexts count, those that are there and those to come. Waits for the devices. */
lw_status lw_heap_count(bool counts, lw_error *err);
bool lw_heap_counts(void);
/* Waits for the devices. */
lw_status lw_heap_read(lw_heap_stats *out, lw_error *err);
/* Sets the numbers to 0. */
lw_status lw_heap_forget(lw_error *err);

#endif
