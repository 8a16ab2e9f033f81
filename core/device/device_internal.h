/* Shared inside core/device only. */
#ifndef LW_DEVICE_INTERNAL_H
#define LW_DEVICE_INTERNAL_H

#include "core/base/lock.h"
#include "core/device/context.h"
#include "core/device/pool.h"

#include <stdatomic.h>

typedef struct lw_bin lw_bin;

/* The free lists of one context. Lives as long as the lw_context struct. */
typedef struct lw_pool {
    lw_lock lock;
    lw_context *context;
    lw_device *device;
    CUmemoryPool handle; /* NULL: cuMemAlloc and cuMemFree */
    CUstream side;       /* our own, for memory outside captures and of dead streams; lazily */
    bool closed;         /* puts give back at once, takes look for the next context */
    bool open;           /* the driver's part was made */
    lw_bin **table;      /* chained; capacity is a power of two; NULL until the first block */
    uint32_t n_bins, capacity;
    size_t cache_limit_bytes;
    lw_pool_stats stats;
} lw_pool;

struct lw_context {
    CUcontext handle;
    lw_device *device;
    lw_pool pool;
    int64_t n_users;  /* under the devices lock; the device itself is one until close */
    atomic_bool dead; /* the handle is invalid: nothing of it may be destroyed */
    lw_context *next; /* earlier contexts of the device, kept until lw_driver_close */
};

/* Add to the text of the error that was just set. */
void lw_driver_note(lw_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Move `from` into err, unless err holds an earlier error; either way `from` is empty then. */
void lw_driver_pass(lw_error *err, lw_error *from);

lw_status lw_pool_open_(lw_pool *pool, lw_context *context, lw_error *err);
void lw_pool_shut_(lw_pool *pool);    /* no more caching; cached blocks are given back */
void lw_pool_destroy_(lw_pool *pool); /* the driver's part: the last user of the context went */
void lw_pool_free_(lw_pool *pool);    /* the structs */
void lw_pool_forget_(lw_pool *pool, CUstream stream);
/* lw_pool_take, never from a source; size_bytes > 0. */
lw_status lw_pool_take_ours_(lw_device *device, size_t size_bytes, CUstream stream,
                             lw_block **out, lw_error *err);

void lw_devices_close_(void); /* all devices, all structs */
/* `later` waits for what `earlier` holds now; both contexts are usable. */
lw_status lw_stream_order_(CUstream later, CUstream earlier, int ordinal, lw_error *err);

#endif
