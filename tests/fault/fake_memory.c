/* The fake driver: memory of devices and hosts, pools, memory of other processes, copies. */
#include "tests/fault/fake_internal.h"

#include <string.h>

/* ---- memory ---- */

int
cuMemAlloc_v2(unsigned long long *out, size_t n_bytes)
{
    uintptr_t address = 0;
    BEGIN_MAKING("cuMemAlloc_v2", out);
    code = fake_usable(NULL);
    if (code == SUCCESS)
        code = fake_new_memory(MEMORY, fake_current->ordinal, n_bytes, &address);
    *out = address;
    return fake_leave(code);
}

int
cuMemAllocManaged(unsigned long long *out, size_t n_bytes, unsigned flags)
{
    uintptr_t address = 0;
    BEGIN_MAKING("cuMemAllocManaged", out);
    code = flags == 1 || flags == 2 ? fake_usable(NULL) : INVALID_VALUE;
    if (code == SUCCESS)
        code = fake_new_memory(MEMORY, fake_current->ordinal, n_bytes, &address);
    if (code == SUCCESS)
        fake_find(MEMORY, address)->everywhere = 1;
    *out = address;
    return fake_leave(code);
}

int
cuMemFree_v2(unsigned long long address)
{
    fake_object *item;
    BEGIN_DOWN("cuMemFree_v2");
    item = fake_find(MEMORY, (uintptr_t)address);
    NEED(item != NULL, INVALID_VALUE);
    fake_free_memory(item);
done:
    return fake_leave(injected ? injected : code);
}

int
cuMemGetInfo_v2(size_t *n_free, size_t *n_total)
{
    BEGIN("cuMemGetInfo_v2");
    NEED(fake_current != NULL, INVALID_CONTEXT);
    *n_free = (size_t)(fake.memory_bytes - fake.used_bytes[fake_current->ordinal]);
    *n_total = (size_t)fake.memory_bytes;
done:
    return fake_leave(code);
}

typedef struct pool_props {
    int alloc_type, handle_types, location_type, location_id;
    void *security;
    size_t max_bytes;
    unsigned short usage;
    unsigned char reserved[54];
} pool_props;

int
cuMemPoolCreate(void **out, const pool_props *props)
{
    static const unsigned char zeros[54];
    BEGIN_MAKING("cuMemPoolCreate", out);
    NEED(fake.has_pools, NOT_SUPPORTED);
    NEED(props->alloc_type == 1 && props->handle_types == 0 && props->location_type == 1 &&
             props->location_id >= 0 && props->location_id < fake.n_devices,
         INVALID_VALUE);
    NEED(memcmp(props->reserved, zeros, sizeof zeros) == 0, INVALID_VALUE);
    *out = fake_publish(fake_make(POOL, props->location_id));
done:
    return fake_leave(code);
}

int
cuMemPoolDestroy(void *pool)
{
    fake_object *item;
    BEGIN_DOWN("cuMemPoolDestroy");
    item = fake_find(POOL, (uintptr_t)pool);
    NEED(item != NULL, INVALID_VALUE);
    fake_take_down(item);
done:
    return fake_leave(injected ? injected : code);
}

int
cuMemPoolSetAttribute(void *pool, int which, void *value)
{
    BEGIN("cuMemPoolSetAttribute");
    NEED(fake_find(POOL, (uintptr_t)pool) != NULL && which == 4 && value != NULL,
         INVALID_VALUE);
done:
    return fake_leave(code);
}

int
cuMemPoolSetAccess(void *pool, const int *access, size_t n)
{
    fake_object *item;
    BEGIN("cuMemPoolSetAccess");
    item = fake_find(POOL, (uintptr_t)pool);
    NEED(item != NULL && n == 1 && access[0] == 1 && access[2] == 3, INVALID_VALUE);
    NEED(access[1] >= 0 && access[1] < fake.n_devices, INVALID_DEVICE);
    item->peers |= 1u << access[1];
done:
    return fake_leave(code);
}

int
cuMemPoolTrimTo(void *pool, size_t keep)
{
    BEGIN("cuMemPoolTrimTo");
    (void)keep;
    NEED(fake_find(POOL, (uintptr_t)pool) != NULL, INVALID_VALUE);
done:
    return fake_leave(code);
}

int
cuMemAllocFromPoolAsync(unsigned long long *out, size_t n_bytes, void *pool, void *stream)
{
    uintptr_t address = 0;
    fake_object *item;
    BEGIN_MAKING("cuMemAllocFromPoolAsync", out);
    *out = 0;
    code = fake_usable(stream);
    NEED(code == SUCCESS, code);
    item = fake_find(POOL, (uintptr_t)pool);
    NEED(item != NULL && item->ordinal == fake_current->ordinal, INVALID_VALUE);
    NEED(!fake_stream_of(stream)->capturing, CAPTURE_UNSUPPORTED);
    code = fake_new_memory(MEMORY, item->ordinal, n_bytes, &address);
    if (code == SUCCESS)
        fake_find(MEMORY, address)->pooled = 1;
    *out = address;
done:
    return fake_leave(code);
}

int
cuMemFreeAsync(unsigned long long address, void *stream)
{
    fake_object *item;
    BEGIN_DOWN("cuMemFreeAsync");
    code = fake_usable(stream);
    NEED(code == SUCCESS, code);
    NEED(!fake_stream_of(stream)->capturing, CAPTURE_UNSUPPORTED);
    item = fake_find(MEMORY, (uintptr_t)address);
    NEED(item != NULL, INVALID_VALUE);
    fake_free_memory(item);
done:
    return fake_leave(injected ? injected : code);
}

int
cuMemHostAlloc(void **out, size_t n_bytes, unsigned flags)
{
    uintptr_t address = 0;
    BEGIN_MAKING("cuMemHostAlloc", out);
    code = flags <= 7 ? fake_usable(NULL) : INVALID_VALUE;
    if (code == SUCCESS)
        code = fake_new_memory(HOST, fake_current->ordinal, n_bytes, &address);
    *out = (void *)address;
    return fake_leave(code);
}

int
cuMemFreeHost(void *address)
{
    fake_object *item;
    BEGIN_DOWN("cuMemFreeHost");
    item = fake_find(HOST, (uintptr_t)address);
    NEED(item != NULL && !item->registered, INVALID_VALUE);
    fake_free_memory(item);
done:
    return fake_leave(injected ? injected : code);
}

int
cuMemHostGetDevicePointer_v2(unsigned long long *out, void *address, unsigned flags)
{
    BEGIN_MAKING("cuMemHostGetDevicePointer_v2", out);
    (void)flags;
    NEED(fake_find(HOST, (uintptr_t)address) != NULL, INVALID_VALUE);
    *out = (uintptr_t)address;
done:
    return fake_leave(code);
}

int
cuMemHostRegister_v2(void *address, size_t n_bytes, unsigned flags)
{
    fake_object *item;
    BEGIN("cuMemHostRegister_v2");
    (void)flags;
    code = fake_usable(NULL);
    NEED(code == SUCCESS, code);
    NEED(n_bytes > 0 && fake_find(HOST, (uintptr_t)address) == NULL, INVALID_VALUE);
    item = fake_make(HOST, fake_current->ordinal);
    item->handle = (uintptr_t)address;
    item->n_bytes = n_bytes;
    item->registered = 1;
    fake_publish(item);
done:
    return fake_leave(code);
}

int
cuMemHostUnregister(void *address)
{
    fake_object *item;
    BEGIN_DOWN("cuMemHostUnregister");
    item = fake_find(HOST, (uintptr_t)address);
    NEED(item != NULL && item->registered, INVALID_VALUE);
    fake_take_down(item);
done:
    return fake_leave(injected ? injected : code);
}

/* Handles hold the address: they are good in the process that made them, where the real driver
 * refuses them. */
typedef struct ipc_handle {
    unsigned char bytes[64];
} ipc_handle;

int
cuIpcGetMemHandle(ipc_handle *out, unsigned long long address)
{
    fake_object *item;
    BEGIN("cuIpcGetMemHandle");
    item = fake_find(MEMORY, (uintptr_t)address);
    NEED(item != NULL && !item->pooled, INVALID_VALUE);
    memset(out, 0x5a, sizeof *out);
    memcpy(out->bytes, &item->handle, sizeof item->handle);
done:
    return fake_leave(code);
}

int
cuIpcOpenMemHandle_v2(unsigned long long *out, ipc_handle handle, unsigned flags)
{
    fake_object *item;
    uintptr_t address;
    BEGIN_MAKING("cuIpcOpenMemHandle_v2", out);
    code = flags == 1 ? fake_usable(NULL) : INVALID_VALUE;
    NEED(code == SUCCESS, code);
    memcpy(&address, handle.bytes, sizeof address);
    item = fake_find(MEMORY, address);
    NEED(item != NULL && handle.bytes[63] == 0x5a, INVALID_VALUE);
    item->n_opened++;
    *out = address;
done:
    return fake_leave(code);
}

int
cuIpcCloseMemHandle(unsigned long long address)
{
    fake_object *item;
    BEGIN_DOWN("cuIpcCloseMemHandle");
    item = fake_find(MEMORY, (uintptr_t)address);
    NEED(item != NULL && item->n_opened > 0, INVALID_VALUE);
    item->n_opened--;
done:
    return fake_leave(injected ? injected : code);
}

int
cuPointerGetAttribute(void *out, int which, unsigned long long address)
{
    fake_object *item;
    BEGIN("cuPointerGetAttribute");
    item = fake_holder((uintptr_t)address, 1);
    NEED(item != NULL, INVALID_VALUE);
    switch (which) {
    case 1: *(void **)out = fake.primary[item->ordinal]; break;
    case 2: *(unsigned *)out = item->kind == MEMORY ? 2 : 1; break;
    case 3:
    case 4: *(unsigned long long *)out = address; break;
    case 9: *(int *)out = item->ordinal; break;
    case 11: *(unsigned long long *)out = item->handle; break;
    case 12: *(size_t *)out = item->n_bytes; break;
    default: code = INVALID_VALUE; break;
    }
done:
    return fake_leave(code);
}

/* ---- copies ---- */

/* on_device: bit 0 the target, bit 1 the source must be memory of ours. */
static int
copy(void *to, const void *from, size_t n_bytes, int on_device, void *stream)
{
    int code = fake_usable(stream);

    if (code != SUCCESS)
        return code;
    if (((on_device & 1) && !fake_reaches((uintptr_t)to, n_bytes)) ||
        ((on_device & 2) && !fake_reaches((uintptr_t)from, n_bytes)) || to == NULL ||
        from == NULL)
        return INVALID_VALUE;
    memmove(to, from, n_bytes);
    fake_note("copy", stream, NULL);
    return SUCCESS;
}

int
cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t n_bytes, void *stream)
{
    BEGIN("cuMemcpyHtoDAsync_v2");
    code = copy((void *)(uintptr_t)to, from, n_bytes, 1, stream);
    return fake_leave(code);
}

int
cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t n_bytes, void *stream)
{
    BEGIN("cuMemcpyDtoHAsync_v2");
    code = copy(to, (void *)(uintptr_t)from, n_bytes, 2, stream);
    return fake_leave(code);
}

int
cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t n_bytes,
                     void *stream)
{
    BEGIN("cuMemcpyDtoDAsync_v2");
    code = copy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n_bytes, 3, stream);
    return fake_leave(code);
}

int
cuMemcpyPeerAsync(unsigned long long to, void *to_context, unsigned long long from,
                  void *from_context, size_t n_bytes, void *stream)
{
    fake_object *holder[2], *context[2];
    BEGIN("cuMemcpyPeerAsync");
    context[0] = fake_find(CONTEXT, (uintptr_t)to_context);
    context[1] = fake_find(CONTEXT, (uintptr_t)from_context);
    NEED(context[0] != NULL && context[1] != NULL, INVALID_CONTEXT);
    holder[0] = fake_holder((uintptr_t)to, n_bytes);
    holder[1] = fake_holder((uintptr_t)from, n_bytes);
    for (int i = 0; i < 2; i++)
        NEED(holder[i] != NULL && holder[i]->ordinal == context[i]->ordinal, INVALID_VALUE);
    code = copy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n_bytes, 0, stream);
done:
    return fake_leave(code);
}

static int
set(unsigned long long to, const void *item, size_t item_bytes, size_t n, void *stream)
{
    int code = fake_usable(stream);
    size_t i;

    if (code != SUCCESS)
        return code;
    if (to % item_bytes != 0 || !fake_reaches((uintptr_t)to, n * item_bytes))
        return INVALID_VALUE;
    for (i = 0; i < n; i++)
        memcpy((char *)(uintptr_t)to + i * item_bytes, item, item_bytes);
    return SUCCESS;
}

int
cuMemsetD8Async(unsigned long long to, unsigned char value, size_t n, void *stream)
{
    BEGIN("cuMemsetD8Async");
    code = set(to, &value, 1, n, stream);
    return fake_leave(code);
}

int
cuMemsetD16Async(unsigned long long to, unsigned short value, size_t n, void *stream)
{
    BEGIN("cuMemsetD16Async");
    code = set(to, &value, 2, n, stream);
    return fake_leave(code);
}

int
cuMemsetD32Async(unsigned long long to, unsigned value, size_t n, void *stream)
{
    BEGIN("cuMemsetD32Async");
    code = set(to, &value, 4, n, stream);
    return fake_leave(code);
}
