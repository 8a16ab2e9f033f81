/* The fake driver: errors, devices, contexts. */
#include "tests/fault/fake_internal.h"

#include <stdlib.h>
#include <string.h>

static int retained[MAX_DEVICES]; /* outlives a reset, which does not release */
static int visible[MAX_DEVICES];  /* by ordinal: which of the machine's devices it is */
static int n_machine;             /* its devices; the others are hidden */

/* ---- start, devices ---- */

/* CUDA_VISIBLE_DEVICES, as far as Dask writes it: ordinals and UUIDs in a row. What is none
 * ends it. */
static void
choose_visible(void)
{
    const char *at = getenv("CUDA_VISIBLE_DEVICES");
    char *end;
    long which;

    n_machine = (int)fake.n_devices;
    for (int i = 0; i < MAX_DEVICES; i++)
        visible[i] = i;
    if (at == NULL)
        return;
    for (fake.n_devices = 0; *at != 0 && fake.n_devices < n_machine; fake.n_devices++) {
        if (strncmp(at, "GPU-", 4) == 0) /* the UUID has the same byte, 0x10 + i, 16 times */
            which = strtol((char[]){at[4], at[5], 0}, NULL, 16) - 0x10, end = (char *)at + 40;
        else
            which = strtol(at, &end, 10);
        if (end == at || which < 0 || which >= n_machine)
            return;
        visible[fake.n_devices] = (int)which;
        at = *end == ',' ? end + 1 : end;
    }
}

int
cuInit(unsigned flags)
{
    BEGIN("cuInit");
    NEED(flags == 0, INVALID_VALUE);
    if (!fake.initialized)
        choose_visible();
    NEED(fake.n_devices > 0, NO_DEVICE);
    fake.initialized = 1;
done:
    return fake_leave(code);
}

int
cuDriverGetVersion(int *out)
{
    BEGIN("cuDriverGetVersion");
    *out = (int)fake.version;
    return fake_leave(code);
}

typedef struct error_row {
    int code;
    const char *name, *text;
} error_row;

static const error_row errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static const error_row *
row_of(int code)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code)
            return &errors[i];
    return NULL;
}

/* These two neither count nor fail: they are asked about failures. */
int
cuGetErrorName(int code, const char **out)
{
    const error_row *row = row_of(code);

    *out = row ? row->name : NULL;
    return row ? SUCCESS : INVALID_VALUE;
}

int
cuGetErrorString(int code, const char **out)
{
    const error_row *row = row_of(code);

    *out = row ? row->text : NULL;
    return row ? SUCCESS : INVALID_VALUE;
}

int
cuDeviceGetCount(int *out)
{
    BEGIN("cuDeviceGetCount");
    NEED(fake.initialized, NOT_INITIALIZED);
    *out = (int)fake.n_devices;
done:
    return fake_leave(code);
}

int
cuDeviceGet(int *out, int ordinal)
{
    BEGIN("cuDeviceGet");
    NEED(fake.initialized, NOT_INITIALIZED);
    NEED(ordinal >= 0 && ordinal < fake.n_devices, INVALID_DEVICE);
    *out = ordinal;
done:
    return fake_leave(code);
}

int
cuDeviceGetName(char *name, int n_bytes, int device)
{
    BEGIN("cuDeviceGetName");
    NEED(device >= 0 && device < fake.n_devices, INVALID_DEVICE);
    snprintf(name, (size_t)n_bytes, "Fake GPU %d", visible[device]);
done:
    return fake_leave(code);
}

int
cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    BEGIN("cuDeviceGetUuid_v2");
    NEED(device >= 0 && device < fake.n_devices, INVALID_DEVICE);
    memset(uuid, 0x10 + visible[device], 16);
done:
    return fake_leave(code);
}

static int
attribute(int which)
{
    static const int table[][2] = {
        {1, 1024},   {2, 1024},      {3, 1024},  {4, 64},      {5, 2147483647}, {6, 65535},
        {7, 65535},  {8, 49152},     {9, 65536}, {10, 32},     {12, 65536},     {13, 1980000},
        {16, 132},   {18, 0},        {19, 1},    {33, 1},      {34, 0},         {36, 3201000},
        {37, 6144},  {38, 60 << 20}, {39, 2048}, {41, 1},      {50, 0},         {81, 233472},
        {82, 65536}, {83, 1},        {89, 1},    {97, 232448}, {106, 32},
    };
    size_t i;

    if (which == 75 || which == 76)
        return which == 75 ? (int)fake.cc / 10 : (int)fake.cc % 10;
    if (which == 115)
        return (int)fake.has_pools;
    for (i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i][0] == which)
            return table[i][1];
    return -1;
}

int
cuDeviceGetAttribute(int *out, int which, int device)
{
    BEGIN("cuDeviceGetAttribute");
    NEED(device >= 0 && device < fake.n_devices, INVALID_DEVICE);
    *out = attribute(which);
    NEED(*out >= 0, INVALID_VALUE);
done:
    return fake_leave(code);
}

int
cuDeviceTotalMem_v2(size_t *out, int device)
{
    BEGIN("cuDeviceTotalMem_v2");
    NEED(device >= 0 && device < fake.n_devices, INVALID_DEVICE);
    *out = (size_t)fake.memory_bytes;
done:
    return fake_leave(code);
}

/* ---- contexts ---- */

int
cuDevicePrimaryCtxRetain(void **out, int device)
{
    BEGIN_MAKING("cuDevicePrimaryCtxRetain", out);
    NEED(fake.initialized, NOT_INITIALIZED);
    NEED(device >= 0 && device < fake.n_devices, INVALID_DEVICE);
    if (fake.primary[device] == NULL)
        fake.primary[device] = fake_publish(fake_make(CONTEXT, device));
    retained[device]++;
    *out = fake.primary[device];
done:
    return fake_leave(code);
}

static fake_object *
held_by_context(int device)
{
    int i;

    for (i = 0; i < N_BUCKETS; i++) {
        fake_object *item;
        for (item = fake.buckets[i]; item != NULL; item = item->next)
            if (item->ordinal == device && item->kind != CONTEXT && item->kind != POOL &&
                item->kind != HOST)
                return item;
    }
    return NULL;
}

/* Whatever the context held is gone with it. */
static void
destroy_context(int device)
{
    fake_object *item;

    while ((item = held_by_context(device)) != NULL) {
        if (item->kind == MEMORY)
            fake_free_memory(item);
        else
            fake_take_down(item);
    }
    fake_take_down(fake.primary[device]);
    fake.primary[device] = NULL;
}

int
cuDevicePrimaryCtxRelease_v2(int device)
{
    BEGIN_DOWN("cuDevicePrimaryCtxRelease_v2");
    NEED(device >= 0 && device < fake.n_devices, INVALID_DEVICE);
    NEED(retained[device] > 0, INVALID_CONTEXT);
    if (--retained[device] == 0 && fake.primary[device] != NULL)
        destroy_context(device);
done:
    return fake_leave(injected ? injected : code);
}

int
cuDevicePrimaryCtxReset_v2(int device)
{
    BEGIN_DOWN("cuDevicePrimaryCtxReset_v2");
    NEED(device >= 0 && device < fake.n_devices, INVALID_DEVICE);
    if (fake.primary[device] != NULL)
        destroy_context(device);
done:
    return fake_leave(injected ? injected : code);
}

int
cuCtxGetCurrent(void **out)
{
    BEGIN("cuCtxGetCurrent");
    NEED(fake.initialized, NOT_INITIALIZED);
    *out = fake_chosen;
done:
    return fake_leave(code);
}

int
cuCtxSetCurrent(void *context)
{
    BEGIN("cuCtxSetCurrent");
    NEED(fake.initialized, NOT_INITIALIZED);
    NEED(context == NULL || fake_find(CONTEXT, (uintptr_t)context) != NULL, INVALID_CONTEXT);
    fake_chosen = context;
done:
    return fake_leave(code);
}

/* A context of its own, as another library might make: for tests of foreign contexts. */
int
cuCtxCreate_v2(void **out, unsigned flags, int device)
{
    BEGIN_MAKING("cuCtxCreate_v2", out);
    (void)flags;
    NEED(device >= 0 && device < fake.n_devices, INVALID_DEVICE);
    fake_chosen = *out = fake_publish(fake_make(CONTEXT, device));
done:
    return fake_leave(code);
}

int
cuCtxDestroy_v2(void *context)
{
    BEGIN_DOWN("cuCtxDestroy_v2");
    NEED(fake_find(CONTEXT, (uintptr_t)context) != NULL, INVALID_CONTEXT);
    if (fake_chosen == context)
        fake_chosen = NULL;
    fake_take_down(context);
done:
    return fake_leave(injected ? injected : code);
}

int
cuCtxGetDevice(int *out)
{
    BEGIN("cuCtxGetDevice");
    NEED(fake_current != NULL, INVALID_CONTEXT);
    *out = fake_current->ordinal;
done:
    return fake_leave(code);
}

static size_t limits[16];

int
cuCtxGetLimit(size_t *value, int limit)
{
    BEGIN("cuCtxGetLimit");
    NEED(fake_current != NULL, INVALID_CONTEXT);
    NEED(limit >= 0 && limit < 16, INVALID_VALUE);
    *value = limits[limit];
done:
    return fake_leave(code);
}

int
cuCtxSetLimit(int limit, size_t value)
{
    BEGIN("cuCtxSetLimit");
    NEED(fake_current != NULL, INVALID_CONTEXT);
    NEED(limit >= 0 && limit < 16, INVALID_VALUE);
    limits[limit] = value;
done:
    return fake_leave(code);
}

int
cuCtxSynchronize(void)
{
    BEGIN("cuCtxSynchronize");
    code = fake_usable(NULL);
    return fake_leave(code);
}

int
cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    BEGIN("cuCtxGetStreamPriorityRange");
    NEED(fake_current != NULL, INVALID_CONTEXT);
    *least = 0;
    *greatest = -5;
done:
    return fake_leave(code);
}

/* ---- memory of other devices ---- */

int
cuDeviceCanAccessPeer(int *out, int device, int peer)
{
    BEGIN("cuDeviceCanAccessPeer");
    NEED(device >= 0 && device < fake.n_devices && peer >= 0 && peer < fake.n_devices,
         INVALID_DEVICE);
    *out = device != peer && fake.has_peers;
done:
    return fake_leave(code);
}

int
cuCtxEnablePeerAccess(void *peer, unsigned flags)
{
    fake_object *item;
    BEGIN("cuCtxEnablePeerAccess");
    item = fake_find(CONTEXT, (uintptr_t)peer);
    NEED(fake_current != NULL && item != NULL && item != fake_current, INVALID_CONTEXT);
    NEED(flags == 0, INVALID_VALUE);
    NEED(fake.has_peers, PEER_ACCESS_UNSUPPORTED);
    NEED((fake_current->peers >> item->ordinal & 1) == 0, PEER_ACCESS_ALREADY_ENABLED);
    fake_current->peers |= 1u << item->ordinal;
done:
    return fake_leave(code);
}
