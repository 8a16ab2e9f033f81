/* GPUs that reach each other's memory: what a copy between two of them needs to go from memory
 * to memory. Peer access of contexts is for memory of cuMemAlloc; pools have access of their
 * own. All of it is best effort, for the driver copies by way of the host where there is none.
 */
#include "core/device/device_internal.h"

/* CUmemAccessDesc */
typedef struct access {
    CUmemLocation location;
    int flags;
} access;

_Static_assert(sizeof(access) == 12, "as the driver has it");

static bool
can_reach(const lw_device *from, const lw_device *to)
{
    int can = 0;

    return LW_CUDA(DeviceCanAccessPeer, (&can, from->handle, to->handle), from->ordinal,
                   NULL) == LW_OK &&
           can != 0;
}

void
lw_peer_prepare_(lw_context *from, lw_context *to)
{
    const access both = {{1 /* DEVICE */, from->device->handle}, 3 /* READWRITE */};
    CUcontext before = NULL;

    if (atomic_load_explicit(&from->peers[to->device->ordinal], memory_order_acquire) == to)
        return;
    if (can_reach(from->device, to->device) && lw_context_visit(from, &before)) {
        /* an error says that somebody has enabled it already, or that there are too many */
        (void)LW_CUDA(CtxEnablePeerAccess, (to->handle, 0), from->device->ordinal, NULL);
        if (to->pool.handle != NULL)
            (void)LW_CUDA(MemPoolSetAccess, (to->pool.handle, &both, 1), to->device->ordinal,
                          NULL);
        lw_device_leave(before);
    }
    atomic_store_explicit(&from->peers[to->device->ordinal], to, memory_order_release);
}
