/* Shared by module.c and launch.c. */
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

#endif
