/* Shared by module.c, launch.c, and what connects an image: print_buffer.c, heap.c. */
#ifndef LW_DEVICE_MODULE_INTERNAL_H
#define LW_DEVICE_MODULE_INTERNAL_H

#include "core/device/launch.h"

/* One answer of the occupancy calculation, kept in its kernel. */
typedef struct lw_occupancy {
    uint32_t shared_bytes;
    uint32_t block; /* as asked for: the size, or the limit when `best` */
    bool best;
    lw_launch_config config;
    struct lw_occupancy *next;
} lw_occupancy;

/* Whether kernels of the image use the heap, which is then prepared before it is loaded; sets
 * the image's variable. */
bool lw_heap_is_used_(const void *bytes, size_t n_bytes);
lw_status lw_heap_connect_(lw_image *image, lw_context *context, lw_error *err);

#endif
