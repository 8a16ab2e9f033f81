#include "core/device/context.h"

#include "core/base/memory.h"
#include "core/device/device_internal.h"

#include <assert.h>

/* What a thread without a current context goes back to. */
#define NO_CONTEXT ((CUcontext)(uintptr_t)1)

typedef struct attribute_row {
    size_t offset;
    int attribute; /* CUdevice_attribute */
    bool optional; /* absent from old drivers, where it counts as 0 */
} attribute_row;

#define ROW(number, field)                                                                     \
    {                                                                                          \
        offsetof(lw_device, field), number, false                                              \
    }
static const attribute_row attributes[] = {
    ROW(75, cc_major),
    ROW(76, cc_minor),
    ROW(16, n_sms),
    ROW(10, warp_size),
    ROW(1, max_threads_per_block),
    ROW(39, max_threads_per_sm),
    ROW(106, max_blocks_per_sm),
    ROW(2, max_block[0]),
    ROW(3, max_block[1]),
    ROW(4, max_block[2]),
    ROW(5, max_grid[0]),
    ROW(6, max_grid[1]),
    ROW(7, max_grid[2]),
    ROW(12, registers_per_block),
    ROW(82, registers_per_sm),
    ROW(8, shared_per_block),
    ROW(97, shared_per_block_optin),
    ROW(81, shared_per_sm),
    ROW(9, constant_bytes),
    ROW(38, l2_bytes),
    ROW(37, memory_bus_bits),
    ROW(50, pci_domain),
    ROW(33, pci_bus),
    ROW(34, pci_device),
    ROW(18, integrated),
    ROW(83, managed),
    ROW(89, concurrent_managed),
    ROW(115, has_pools),
    {offsetof(lw_device, shared_reserved), 111, true}, /* CUDA 11.0 */
    {offsetof(lw_device, clock_khz), 13, true},
    {offsetof(lw_device, memory_clock_khz), 36, true},
};
#undef ROW

static lw_lock lock = LW_LOCK_INIT; /* the list, contexts and their users */
static _Atomic(lw_device *) devices[LW_MOST_DEVICES];
/* all contexts that the device has had, newest first */
static lw_context *contexts[LW_MOST_DEVICES];
/* ordinal of the device of a thread that has no current context */
static _Thread_local int selected;

lw_status
lw_device_count(int *out, lw_error *err)
{
    lw_status status = lw_driver_need(err);

    if (status == LW_OK)
        status = LW_CUDA(DeviceGetCount, (out), -1, err);
    if (status == LW_OK && *out > LW_MOST_DEVICES)
        *out = LW_MOST_DEVICES;
    return status;
}

static lw_status
read_attributes(lw_device *device, lw_error *err)
{
    size_t i;

    for (i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        int *slot = (int *)((char *)device + attributes[i].offset);
        bool optional = attributes[i].optional;
        lw_status status =
            LW_CUDA(DeviceGetAttribute, (slot, attributes[i].attribute, device->handle),
                    device->ordinal, optional ? NULL : err);
        if (status != LW_OK && !optional)
            return status;
    }
    return LW_OK;
}

static lw_status
device_new(int ordinal, lw_device **out, lw_error *err)
{
    lw_status status;
    lw_device *device = lw_alloc_zero(1, sizeof *device);

    if (device == NULL)
        return lw_fail_memory(err);
    device->ordinal = ordinal;
    LW_TRY(LW_CUDA(DeviceGet, (&device->handle, ordinal), ordinal, err));
    LW_TRY(LW_CUDA(DeviceGetName, (device->name, sizeof device->name, device->handle), ordinal,
                   err));
    LW_TRY(LW_CUDA(DeviceGetUuid, (device->uuid, device->handle), ordinal, err));
    LW_TRY(LW_CUDA(DeviceTotalMem, (&device->total_bytes, device->handle), ordinal, err));
    LW_TRY(read_attributes(device, err));
    *out = device;
    return LW_OK;
fail:
    lw_free(device);
    return status;
}

lw_status
lw_device_get(int ordinal, lw_device **out, lw_error *err)
{
    lw_device *device = NULL;
    lw_status status;
    int n = 0;

    LW_TRY(lw_driver_need(err));
    if (ordinal >= 0 && ordinal < LW_MOST_DEVICES &&
        (device = atomic_load(&devices[ordinal]))) {
        *out = device;
        return LW_OK;
    }
    LW_TRY(lw_device_count(&n, err));
    if (n == 0)
        return lw_fail(
            err, LW_ERR_DRIVER,
            "the CUDA driver %s finds no device; LANEWISE_TARGET=cpu runs the program "
            "on the CPU",
            lw_driver_path());
    if (ordinal < 0 || ordinal >= n)
        return lw_fail(err, LW_ERR_DRIVER,
                       "there is no CUDA device %d: this machine has %d, numbered from 0",
                       ordinal, n);
    lw_lock_take(&lock);
    device = atomic_load(&devices[ordinal]);
    status = device == NULL ? device_new(ordinal, &device, err) : LW_OK;
    atomic_store(&devices[ordinal], device);
    lw_lock_give(&lock);
    *out = device;
fail:
    return status;
}

/* Called before a context is destroyed: a thread must not keep it as its current one. */
static void
forget_current(const lw_context *context)
{
    CUcontext current = NULL;

    if (LW_CUDA(CtxGetCurrent, (&current), context->device->ordinal, NULL) == LW_OK &&
        current == context->handle)
        (void)LW_CUDA(CtxSetCurrent, (NULL), context->device->ordinal, NULL);
}

/* Called when the last user of a context is gone. needs: not the lock, because the driver may
 * wait. */
static void
release(lw_context *context)
{
    if (lw_driver_forked())
        return;
    lw_heap_destroy_(&context->heap);
    lw_pool_destroy_(&context->pool);
    atomic_store(&context->dead, true);
    forget_current(context);
    (void)LW_CUDA(DevicePrimaryCtxRelease, (context->device->handle), context->device->ordinal,
                  NULL);
}

/* Makes a context current again, or none. Tried twice: a call may report what went wrong before
 * it. */
static void
put_back(CUcontext context)
{
    if (LW_CUDA(CtxSetCurrent, (context), -1, NULL) != LW_OK)
        (void)LW_CUDA(CtxSetCurrent, (context), -1, NULL);
}

static lw_status
context_new(lw_device *device, lw_context **out, lw_error *err)
{
    lw_status status;
    CUcontext before = NULL;
    lw_context *context = lw_alloc_zero(1, sizeof *context);

    if (context == NULL)
        return lw_fail_memory(err);
    context->device = device;
    context->n_users = 1;
    status = LW_CUDA(DevicePrimaryCtxRetain, (&context->handle, device->handle),
                     device->ordinal, err);
    if (status != LW_OK) {
        lw_free(context);
        return status;
    }
    LW_TRY(LW_CUDA(CtxGetCurrent, (&before), device->ordinal, err));
    LW_TRY(LW_CUDA(CtxSetCurrent, (context->handle), device->ordinal, err));
    status = lw_pool_open_(&context->pool, context, err);
    put_back(before);
    if (status == LW_OK) {
        *out = context;
        return LW_OK;
    }
fail:
    lw_pool_destroy_(&context->pool);
    (void)LW_CUDA(DevicePrimaryCtxRelease, (device->handle), device->ordinal, NULL);
    lw_free(context);
    return status;
}

/* The device's open context, which is made if there is none. needs: the lock. */
static lw_status
open_context(lw_device *device, lw_context **out, lw_error *err)
{
    lw_context *context = atomic_load(&device->context);
    lw_status status = LW_OK;

    if (context == NULL) {
        status = context_new(device, &context, err);
        if (status == LW_OK) {
            context->next = contexts[device->ordinal];
            contexts[device->ordinal] = context;
            atomic_store(&device->context, context);
        }
    }
    *out = context;
    return status;
}

static lw_status
need_context(lw_device *device, lw_context **out, lw_error *err)
{
    lw_status status = lw_driver_need(err);

    if (status != LW_OK)
        return status;
    *out = atomic_load_explicit(&device->context, memory_order_acquire);
    if (*out != NULL)
        return LW_OK;
    lw_lock_take(&lock);
    status = open_context(device, out, err);
    lw_lock_give(&lock);
    return status;
}

/* Called when another context is current: it is kept if it belongs to the same device. A thread
 * without one gets that of the device it has selected for good, and any other for the visit. */
static lw_status
change(lw_device *device, CUcontext wanted, CUcontext current, CUcontext *before, lw_error *err)
{
    CUdevice of = -1;

    if (current != NULL && LW_CUDA(CtxGetDevice, (&of), device->ordinal, NULL) == LW_OK &&
        of == device->handle)
        return LW_OK;
    *before = current == NULL && device->ordinal != selected ? NO_CONTEXT : current;
    return LW_CUDA(CtxSetCurrent, (wanted), device->ordinal, err);
}

lw_status
lw_device_visit(lw_device *device, CUcontext *before, lw_error *err)
{
    lw_context *context = NULL;
    CUcontext current = NULL;
    lw_status status;

    *before = NULL;
    LW_TRY(need_context(device, &context, err));
    LW_TRY(LW_CUDA(CtxGetCurrent, (&current), device->ordinal, err));
    if (current == context->handle)
        return LW_OK;
    return change(device, context->handle, current, before, err);
fail:
    return status;
}

void
lw_device_leave(CUcontext before)
{
    if (before != NULL)
        put_back(before == NO_CONTEXT ? NULL : before);
}

lw_status
lw_device_enter(lw_device *device, lw_error *err)
{
    CUcontext before;

    return lw_device_visit(device, &before, err);
}

lw_status
lw_device_current(lw_device **out, lw_error *err)
{
    CUcontext current = NULL;
    CUdevice handle = 0;
    lw_status status;
    int ordinal, n = 0;

    LW_TRY(lw_driver_need(err));
    LW_TRY(LW_CUDA(CtxGetCurrent, (&current), -1, err));
    if (current == NULL || LW_CUDA(CtxGetDevice, (&handle), -1, NULL) != LW_OK)
        return lw_device_get(selected, out, err); /* there is none, or it was destroyed */
    LW_TRY(lw_device_count(&n, err));
    for (ordinal = 0; ordinal < n; ordinal++) {
        LW_TRY(lw_device_get(ordinal, out, err));
        if ((*out)->handle == handle)
            return LW_OK;
    }
    status = lw_fail(err, LW_ERR_DRIVER,
                     "the current CUDA context does not belong to a visible device");
fail:
    return status;
}

lw_status
lw_device_select(int ordinal, lw_device **out, lw_error *err)
{
    lw_device *device = NULL;
    lw_status status;

    LW_TRY(lw_device_get(ordinal, &device, err));
    assert(device != NULL);
    LW_TRY(lw_device_enter(device, err));
    selected = ordinal;
    if (out != NULL)
        *out = device;
fail:
    return status;
}

lw_status
lw_device_synchronize(lw_device *device, lw_error *err)
{
    CUcontext before;
    lw_status status = lw_device_visit(device, &before, err);

    if (status == LW_OK)
        status = LW_CUDA(CtxSynchronize, (), device->ordinal, err);
    lw_device_leave(before);
    return status;
}

lw_status
lw_device_memory(lw_device *device, size_t *n_free, size_t *n_total, lw_error *err)
{
    CUcontext before;
    lw_status status = lw_device_visit(device, &before, err);

    if (status == LW_OK)
        status = LW_CUDA(MemGetInfo, (n_free, n_total), device->ordinal, err);
    lw_device_leave(before);
    return status;
}

lw_status
lw_device_of_address(CUdeviceptr address, lw_device **out, lw_error *err)
{
    lw_status status;
    lw_error why = {0};
    int ordinal = -1;

    LW_TRY(lw_driver_need(err));
    status =
        LW_CUDA(PointerGetAttribute, (&ordinal, 9 /* DEVICE_ORDINAL */, address), -1, &why);
    if (status == LW_OK)
        return lw_device_get(ordinal, out, err);
    if (why.vendor_code == LW_CUDA_INVALID_VALUE)
        status = lw_fail(err, LW_ERR_VALUE,
                         "the address 0x%llx does not belong to the memory of a CUDA device",
                         address);
    else
        lw_driver_pass(err, &why);
    lw_error_reset(&why);
fail:
    return status;
}

/* Separates the context from the device; its users keep it alive. */
static lw_context *
detach(lw_device *device)
{
    lw_context *context;

    lw_lock_take(&lock);
    context = atomic_exchange(&device->context, NULL);
    lw_lock_give(&lock);
    return context;
}

lw_status
lw_device_close(lw_device *device, lw_error *err)
{
    lw_status status = lw_driver_forked() ? lw_driver_need(err) : LW_OK;
    lw_context *context;

    if (status != LW_OK)
        return status;
    context = detach(device);
    if (context == NULL)
        return LW_OK;
    lw_pool_shut_(&context->pool);
    forget_current(context);
    lw_context_drop(context);
    return LW_OK;
}

atomic_bool lw_some_device_was_reset;

lw_status
lw_device_reset(lw_device *device, lw_error *err)
{
    lw_status status;
    lw_context *context, *open;

    LW_TRY(lw_driver_need(err));
    open = detach(device);
    if (open != NULL)
        lw_pool_shut_(&open->pool);
    lw_lock_take(&lock);
    for (context = contexts[device->ordinal]; context != NULL; context = context->next) {
        lw_heap_destroy_(&context->heap);
        lw_pool_destroy_(&context->pool);
        atomic_store(&context->dead, true);
    }
    lw_lock_give(&lock);
    atomic_store(&lw_some_device_was_reset, true);
    if (open != NULL) {
        forget_current(open);
        lw_context_drop(open);
    }
    status = LW_CUDA(DevicePrimaryCtxReset, (device->handle), device->ordinal, err);
fail:
    return status;
}

lw_status
lw_context_hold(lw_device *device, lw_context **out, lw_error *err)
{
    lw_status status = lw_driver_need(err);

    if (status != LW_OK)
        return status;
    lw_lock_take(&lock);
    status = open_context(device, out, err);
    if (status == LW_OK)
        (*out)->n_users++;
    lw_lock_give(&lock);
    return status;
}

void
lw_context_drop(lw_context *context)
{
    bool last;

    if (context == NULL || lw_driver_forked())
        return;
    lw_lock_take(&lock);
    last = --context->n_users == 0;
    lw_lock_give(&lock);
    if (last)
        release(context);
}

bool
lw_context_is_alive(const lw_context *context)
{
    return !lw_driver_forked() && !atomic_load_explicit(&context->dead, memory_order_relaxed);
}

/* Cleaning up must continue after a failure that a working context reports late, so the current
 * context is not queried, and the change is tried twice. */
bool
lw_context_visit(lw_context *context, CUcontext *before)
{
    CUcontext current = NULL;
    int ordinal = context->device->ordinal;

    *before = NULL;
    if (!lw_context_is_alive(context))
        return false;
    (void)LW_CUDA(CtxGetCurrent, (&current), ordinal, NULL);
    if (current == context->handle)
        return true;
    *before = current == NULL && ordinal != selected ? NO_CONTEXT : current;
    return LW_CUDA(CtxSetCurrent, (context->handle), ordinal, NULL) == LW_OK ||
           LW_CUDA(CtxSetCurrent, (context->handle), ordinal, NULL) == LW_OK;
}

void
lw_devices_close_(void)
{
    int ordinal;

    for (ordinal = 0; ordinal < LW_MOST_DEVICES; ordinal++) {
        lw_device *device = atomic_load(&devices[ordinal]);
        if (device == NULL)
            continue;
        (void)lw_device_close(device, NULL);
        while (contexts[ordinal] != NULL) {
            lw_context *context = contexts[ordinal];
            contexts[ordinal] = context->next;
            if (context->n_users > 0) /* something was not given back */
                release(context);
            lw_pool_free_(&context->pool);
            lw_free(context);
        }
        atomic_store(&devices[ordinal], NULL);
        lw_free(device);
    }
    selected = 0;
}
