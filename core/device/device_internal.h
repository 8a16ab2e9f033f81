/* Shared inside core/device only. */
#ifndef LW_DEVICE_INTERNAL_H
#define LW_DEVICE_INTERNAL_H

#include "core/base/lock.h"
#include "core/device/context.h"
#include "core/device/pool.h"

#include <stdatomic.h>

#define LW_MOST_DEVICES 128

typedef struct lw_bin lw_bin;

/* The free lists of one context. Lives as long as the lw_context struct. */
typedef struct lw_pool {
    lw_lock lock;
    lw_context *context;
    lw_device *device;
    CUmemoryPool handle; /* NULL: cuMemAlloc and cuMemFree are used */
    /* our own, made when first needed: for memory outside captures and of destroyed streams */
    CUstream side;
    bool closed;               /* puts free at once, takes use the device's next context */
    bool open;                 /* its handle and streams were made */
    struct lw_stream *streams; /* that we made; all others belong to somebody else */
    lw_bin **table; /* chained; capacity is a power of two; NULL until the first block */
    uint32_t n_bins, capacity;
    size_t cache_limit_bytes;
    lw_pool_stats stats;
} lw_pool;

/* core/device/heap.c */
typedef struct lw_heap {
    lw_context *context;
    _Atomic CUdeviceptr state; /* 0: it was not prepared */
    size_t n_bytes;
    struct lw_heap *next; /* under the heaps' lock */
} lw_heap;

struct lw_context {
    CUcontext handle;
    lw_device *device;
    lw_pool pool;
    /* under the devices' lock; the device itself counts as a user until it is closed */
    int64_t n_users;
    lw_heap heap;
    atomic_bool dead; /* the handle is invalid: nothing in it may be destroyed */
    /* by ordinals: whose memory this device has been allowed to reach, where it can */
    _Atomic(const lw_context *) peers[LW_MOST_DEVICES];
    lw_context *next; /* earlier contexts of the device, kept until lw_driver_close */
};

/* Adds to the text of the error that was just set. */
void lw_driver_note(lw_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Moves `from` into err, unless err holds an earlier error; `from` is empty afterwards in
 * either case. */
void lw_driver_pass(lw_error *err, lw_error *from);

lw_status lw_pool_open_(lw_pool *pool, lw_context *context, lw_error *err);
void lw_pool_shut_(lw_pool *pool); /* ends caching; cached blocks are given back */
/* destroys its handle and streams: the context's last user is gone */
void lw_pool_destroy_(lw_pool *pool);
void lw_pool_free_(lw_pool *pool); /* frees the structs */
/* A stream of ours begins; it is in the pool's list until lw_pool_lose_. */
void lw_pool_know_(lw_pool *pool, struct lw_stream *stream);
void lw_pool_lose_(lw_pool *pool, struct lw_stream *stream);
/* Before the stream, which is ours, is destroyed. */
void lw_pool_forget_(lw_pool *pool, CUstream stream);

lw_status lw_heap_prepare_(lw_context *context, lw_error *err); /* which is current */
void lw_heap_destroy_(lw_heap *heap);                           /* with its context */

/* Before copies: lets the device of `from` write to the memory of `to` by itself, where the
 * machine connects them; where it does not, the driver copies by way of the host. Asked once.
 */
void lw_peer_prepare_(lw_context *from, lw_context *to);

void lw_devices_close_(void); /* all devices, all structs */
/* Makes `later` wait for the work that `earlier` has now; both contexts are usable. */
lw_status lw_stream_order_(CUstream later, CUstream earlier, int ordinal, lw_error *err);

#endif
