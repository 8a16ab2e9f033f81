/* Devices and their primary contexts. A lw_device exists once per ordinal, until
 * lw_driver_close(); its primary context is retained at the first lw_device_enter. Everything
 * made in a context (streams, events, modules, blocks) holds that context, so that closing a
 * device never destroys it while an array still uses it: it is released with its last user. */
#ifndef LW_DEVICE_CONTEXT_H
#define LW_DEVICE_CONTEXT_H

#include "core/device/driver.h"

#include <stdatomic.h>

typedef struct lw_context lw_context; /* opaque: the retained primary context and its pool */

typedef struct lw_device {
    int ordinal;
    CUdevice handle;
    char name[128];
    uint8_t uuid[16];
    int cc_major, cc_minor;
    int n_sms, warp_size;
    int max_threads_per_block, max_threads_per_sm, max_blocks_per_sm;
    int max_block[3], max_grid[3];
    int registers_per_block, registers_per_sm;
    int shared_per_block, shared_per_block_optin, shared_per_sm; /* bytes */
    /* what the driver reserves of a block's shared memory and counts as the kernel's */
    int shared_reserved;
    int constant_bytes, l2_bytes;
    int clock_khz, memory_clock_khz, memory_bus_bits;
    int pci_domain, pci_bus, pci_device;
    int integrated, managed, concurrent_managed, has_pools;
    size_t total_bytes;
    _Atomic(lw_context *) context; /* internal; NULL until entered, and again after close */
} lw_device;

lw_status lw_device_count(int *out, lw_error *err);
/* LW_ERR_DRIVER that says how many there are when the ordinal is not one of them. */
/* borrowed; it is never freed */
lw_status lw_device_get(int ordinal, lw_device **out, lw_error *err);

/* Makes sure that the calling thread works on this device: its primary context becomes current,
 * unless a context of the same device already is (then that one stays). Takes some 10 ns when
 * nothing changes. */
lw_status lw_device_enter(lw_device *device, lw_error *err);
/* The same for the time until lw_device_leave, which restores the thread's former current
 * context if there was another. Every function that takes a device does this by itself, except
 * lw_launch. *before is what leave needs (NULL: there is nothing to undo); it is set on failure
 * too. */
lw_status lw_device_visit(lw_device *device, CUcontext *before, lw_error *err);
void lw_device_leave(CUcontext before);
/* The calling thread's device: that of its current context, else the one it selected, else 0.
 */
lw_status lw_device_current(lw_device **out, lw_error *err);
/* From now on the calling thread works on this device. */
lw_status lw_device_select(int ordinal, lw_device **out, lw_error *err);

/* Waits for everything on the device. */
lw_status lw_device_synchronize(lw_device *device, lw_error *err);
lw_status lw_device_memory(lw_device *device, size_t *n_free, size_t *n_total, lw_error *err);
/* The device that an address belongs to; LW_ERR_VALUE when it belongs to none. */
lw_status lw_device_of_address(CUdeviceptr address, lw_device **out, lw_error *err);
/* Releases the primary context: cached memory is given back now, the context itself with the
 * last array, stream or module. The next use retains it again. */
lw_status lw_device_close(lw_device *device, lw_error *err);
/* Closes the device, and resets it for the whole process: everybody's memory, streams and
 * modules become invalid. Ours notice it, and are freed without driver calls. */
lw_status lw_device_reset(lw_device *device, lw_error *err);
/* Whether any device has been reset in this process; only then is it checked whether blocks are
 * still valid. */
extern atomic_bool lw_some_device_was_reset;

/* For owners of things in the primary context. hold opens the context if it is not open; it
 * does not make it current. */
lw_status lw_context_hold(lw_device *device, lw_context **out, lw_error *err);
void lw_context_drop(lw_context *context); /* NULL is allowed */
/* False when the context is gone (reset, fork): nothing in it may be used any more. */
bool lw_context_is_alive(const lw_context *context);
/* False when the context is gone (reset, fork, end of the process), and with it everything in
 * it. True: it is now current, so that its handles can be destroyed; lw_device_leave(*before)
 * ends that. */
bool lw_context_visit(lw_context *context, CUcontext *before);

#endif
