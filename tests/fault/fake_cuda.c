/* A CUDA driver for tests on machines without one: the calls that lanewise makes, over host
 * memory filled with 0xA5. Kernels are not run but recorded. Everything happens at once, in the
 * order of the calls. Handles are checked: a dead or foreign one is an error, never a crash.
 * The controls are in fake_cuda.h. Written from the public description of the CUDA driver API.
 */
#define _GNU_SOURCE
#include "tests/fault/fake_cuda.h"

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    PEER_ALREADY_ENABLED = 704,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    CONTEXT_IS_DESTROYED = 709,
    NOT_SUPPORTED = 801,
    CAPTURE_UNSUPPORTED = 900,
};

#define MAX_DEVICES 16
#define FILL_LIMIT                                                                             \
    ((size_t)16 << 20) /* larger blocks are only filled so far: no real memory                 \
                        */

typedef enum kind {
    MEMORY,
    HOST,
    STREAM,
    EVENT,
    MODULE,
    CONTEXT,
    POOL,
    FUNCTION, /* not counted: it lives in its module */
    N_KINDS
} kind;

static const char *const kind_names[N_KINDS] = {"memory",  "host",     "streams", "events",
                                                "modules", "contexts", "pools",   "functions"};

/* Everything with a handle: the handle is the object's address, or its memory's. */
typedef struct object {
    struct object *next;
    kind kind;
    int ordinal;
    uintptr_t handle;
    size_t n_bytes;
    int registered, pooled, n_opened, timing, recorded, capturing, busy, is_library;
    struct object *owner; /* of a function: its module */
    char *name;
    unsigned char *image;
} object;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#define N_BUCKETS 4096
static object *buckets[N_BUCKETS];
static int live[N_KINDS];
static long long used_bytes[MAX_DEVICES];
static object *primary[MAX_DEVICES];
static int retained[MAX_DEVICES]; /* outlives a reset, which does not release */
static int peers[MAX_DEVICES][MAX_DEVICES];
static _Thread_local void *chosen;    /* the thread's context, which may be dead */
static _Thread_local object *current; /* the same, or NULL; found anew by every call */
static int initialized;

static long long n_devices = 1, version = 13000, cc = 90, has_pools = 1, get_proc = 1;
static long long memory_bytes = 16LL << 30;
static char absent[4096];
static char fail_name[128];
static int fail_in, fail_code, fail_done;
static char failed_name[128];
static FILE *log_file;
static char log_text[65536];
static size_t log_n;
static int null_capturing, null_busy;

#define N_NAMES 256
static struct {
    char name[64];
    int n;
} counts[N_NAMES];
static int n_calls;

static int n_launches;
static fake_launch last_launch;

/* ---- counting, logging, failing ------------------------------------------------------------
 */

static void
count(const char *name)
{
    int i;

    n_calls++;
    for (i = 0; i < N_NAMES && counts[i].name[0] != 0; i++)
        if (strcmp(counts[i].name, name) == 0)
            break;
    if (i == N_NAMES)
        abort();
    snprintf(counts[i].name, sizeof counts[i].name, "%s", name);
    counts[i].n++;
    if (log_file != NULL)
        fprintf(log_file, "%s\n", name);
    if (log_n + strlen(name) + 2 < sizeof log_text)
        log_n += (size_t)snprintf(log_text + log_n, sizeof log_text - log_n, "%s\n", name);
}

static object *find(kind wanted, uintptr_t handle);

/* The code that this call must give, 0 for none. */
static int
enter(const char *name)
{
    pthread_mutex_lock(&mutex);
    current = chosen ? find(CONTEXT, (uintptr_t)chosen) : NULL;
    count(name);
    if (fail_in > 0 && (fail_name[0] == 0 || strcmp(fail_name, name) == 0) && --fail_in == 0) {
        fail_done = 1;
        snprintf(failed_name, sizeof failed_name, "%s", name);
        return fail_code;
    }
    return SUCCESS;
}

static int
leave(int code)
{
    pthread_mutex_unlock(&mutex);
    return code;
}

/* Every call runs between these two, under the mutex. A call that takes down goes on after an
 * injected failure, and gives that code at the end. */
#define BEGIN(name)                                                                            \
    int code = enter(name);                                                                    \
    if (code != SUCCESS)                                                                       \
    return leave(code)
#define BEGIN_DOWN(name) int injected = enter(name), code = SUCCESS
#define FAIL(error)                                                                            \
    do {                                                                                       \
        code = (error);                                                                        \
        goto done;                                                                             \
    } while (0)
#define NEED(condition, error)                                                                 \
    do {                                                                                       \
        if (!(condition))                                                                      \
            FAIL(error);                                                                       \
    } while (0)

/* ---- objects
 * --------------------------------------------------------------------------------- */

static object **
bucket_of(uintptr_t handle)
{
    return &buckets[(handle >> 4) * 2654435761u % N_BUCKETS];
}

static object *
find(kind wanted, uintptr_t handle)
{
    object *item = *bucket_of(handle);

    while (item != NULL && (item->handle != handle || item->kind != wanted))
        item = item->next;
    return item;
}

static object *
make(kind wanted, int ordinal)
{
    object *item = calloc(1, sizeof *item);

    if (item == NULL)
        abort();
    item->kind = wanted;
    item->ordinal = ordinal;
    item->handle = (uintptr_t)item;
    live[wanted]++;
    return item;
}

static object *
publish(object *item)
{
    object **head = bucket_of(item->handle);

    item->next = *head;
    *head = item;
    return item;
}

static void
take_down(object *item)
{
    object **link = bucket_of(item->handle);

    while (*link != item)
        link = &(*link)->next;
    *link = item->next;
    live[item->kind]--;
    free(item->name);
    free(item->image);
    free(item);
}

static void *
host_pages(size_t n_bytes)
{
    void *memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    memset(memory, 0xA5, n_bytes < FILL_LIMIT ? n_bytes : FILL_LIMIT);
    return memory;
}

static int
new_memory(kind wanted, int ordinal, size_t n_bytes, uintptr_t *out)
{
    void *memory;
    object *item;

    if (n_bytes == 0)
        return INVALID_VALUE;
    if (wanted == MEMORY && (n_bytes > (size_t)memory_bytes ||
                             used_bytes[ordinal] + (long long)n_bytes > memory_bytes))
        return OUT_OF_MEMORY;
    memory = host_pages(n_bytes);
    if (memory == NULL)
        return OUT_OF_MEMORY;
    item = make(wanted, ordinal);
    item->handle = (uintptr_t)memory;
    item->n_bytes = n_bytes;
    publish(item);
    if (wanted == MEMORY)
        used_bytes[ordinal] += (long long)n_bytes;
    *out = item->handle;
    return SUCCESS;
}

static void
free_memory(object *item)
{
    if (item->kind == MEMORY)
        used_bytes[item->ordinal] -= (long long)item->n_bytes;
    if (!item->registered)
        munmap((void *)item->handle, item->n_bytes);
    take_down(item);
}

/* The memory that holds this range; walks all, which is enough for tests. */
static object *
holder(uintptr_t address, size_t n_bytes)
{
    int i;

    for (i = 0; i < N_BUCKETS; i++) {
        object *item;
        for (item = buckets[i]; item != NULL; item = item->next)
            if ((item->kind == MEMORY || item->kind == HOST) && address >= item->handle &&
                address - item->handle + n_bytes <= item->n_bytes)
                return item;
    }
    return NULL;
}

static object null_stream;

/* 0, 1 and 2 are the default streams. */
static object *
stream_of(void *handle)
{
    if ((uintptr_t)handle <= 2) {
        null_stream.capturing = null_capturing;
        null_stream.busy = null_busy;
        null_stream.ordinal = current ? current->ordinal : 0;
        return &null_stream;
    }
    return find(STREAM, (uintptr_t)handle);
}

/* What a call that works on a stream in the current context begins with. */
static int
usable(void *stream)
{
    if (!initialized)
        return NOT_INITIALIZED;
    if (current == NULL)
        return chosen ? CONTEXT_IS_DESTROYED : INVALID_CONTEXT;
    return stream_of(stream) == NULL ? INVALID_HANDLE : SUCCESS;
}

/* ---- start, devices
 * --------------------------------------------------------------------------- */

static long long
number(const char *variable, long long fallback)
{
    const char *text = getenv(variable);

    return text != NULL && text[0] != 0 ? strtoll(text, NULL, 0) : fallback;
}

static void
read_failure(const char *text)
{
    char name[128];
    int nth, code;

    if (text != NULL && sscanf(text, "%127[^:]:%d:%d", name, &nth, &code) == 3)
        fake_cuda_fail(strcmp(name, "*") == 0 ? "" : name, nth, code);
}

__attribute__((constructor)) static void
read_environment(void)
{
    const char *path = getenv("FAKE_CUDA_LOG");

    n_devices = number("FAKE_CUDA_DEVICES", n_devices);
    version = number("FAKE_CUDA_VERSION", version);
    cc = number("FAKE_CUDA_CC", cc);
    memory_bytes = number("FAKE_CUDA_MEMORY", memory_bytes);
    has_pools = number("FAKE_CUDA_POOLS", has_pools);
    get_proc = number("FAKE_CUDA_GETPROC", get_proc);
    if (getenv("FAKE_CUDA_ABSENT") != NULL)
        fake_cuda_absent(getenv("FAKE_CUDA_ABSENT"));
    read_failure(getenv("FAKE_CUDA_FAIL"));
    if (path != NULL && path[0] != 0)
        log_file = strcmp(path, "-") == 0 ? stderr : fopen(path, "w");
}

__attribute__((destructor)) static void
report(void)
{
    int i;

    if (number("FAKE_CUDA_REPORT", 0) != 0)
        for (i = 0; i < N_KINDS - 1; i++)
            fprintf(stderr, "fake_cuda: %d %s live\n", live[i], kind_names[i]);
    if (log_file != NULL && log_file != stderr)
        fclose(log_file);
}

int
cuInit(unsigned flags)
{
    BEGIN("cuInit");
    NEED(flags == 0, INVALID_VALUE);
    NEED(n_devices > 0, NO_DEVICE);
    initialized = 1;
done:
    return leave(code);
}

int
cuDriverGetVersion(int *out)
{
    BEGIN("cuDriverGetVersion");
    *out = (int)version;
    return leave(code);
}

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
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
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

/* These two neither count nor fail: they are asked about failures. */
int
cuGetErrorName(int code, const char **out)
{
    size_t i;

    for (i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code) {
            *out = errors[i].name;
            return SUCCESS;
        }
    *out = NULL;
    return INVALID_VALUE;
}

int
cuGetErrorString(int code, const char **out)
{
    size_t i;

    for (i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code) {
            *out = errors[i].text;
            return SUCCESS;
        }
    *out = NULL;
    return INVALID_VALUE;
}

int
cuDeviceGetCount(int *out)
{
    BEGIN("cuDeviceGetCount");
    NEED(initialized, NOT_INITIALIZED);
    *out = (int)n_devices;
done:
    return leave(code);
}

int
cuDeviceGet(int *out, int ordinal)
{
    BEGIN("cuDeviceGet");
    NEED(initialized, NOT_INITIALIZED);
    NEED(ordinal >= 0 && ordinal < n_devices, INVALID_DEVICE);
    *out = ordinal;
done:
    return leave(code);
}

int
cuDeviceGetName(char *name, int n_bytes, int device)
{
    BEGIN("cuDeviceGetName");
    NEED(device >= 0 && device < n_devices, INVALID_DEVICE);
    snprintf(name, (size_t)n_bytes, "Fake GPU %d", device);
done:
    return leave(code);
}

int
cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    BEGIN("cuDeviceGetUuid_v2");
    NEED(device >= 0 && device < n_devices, INVALID_DEVICE);
    memset(uuid, 0x10 + device, 16);
done:
    return leave(code);
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
        return which == 75 ? (int)cc / 10 : (int)cc % 10;
    if (which == 115)
        return (int)has_pools;
    for (i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i][0] == which)
            return table[i][1];
    return -1;
}

int
cuDeviceGetAttribute(int *out, int which, int device)
{
    BEGIN("cuDeviceGetAttribute");
    NEED(device >= 0 && device < n_devices, INVALID_DEVICE);
    *out = attribute(which);
    NEED(*out >= 0, INVALID_VALUE);
done:
    return leave(code);
}

int
cuDeviceTotalMem_v2(size_t *out, int device)
{
    BEGIN("cuDeviceTotalMem_v2");
    NEED(device >= 0 && device < n_devices, INVALID_DEVICE);
    *out = (size_t)memory_bytes;
done:
    return leave(code);
}

int
cuDeviceCanAccessPeer(int *out, int device, int peer)
{
    BEGIN("cuDeviceCanAccessPeer");
    NEED(device >= 0 && device < n_devices && peer >= 0 && peer < n_devices, INVALID_DEVICE);
    *out = device != peer;
done:
    return leave(code);
}

/* ---- contexts
 * ----------------------------------------------------------------------------------- */

int
cuDevicePrimaryCtxRetain(void **out, int device)
{
    BEGIN("cuDevicePrimaryCtxRetain");
    NEED(initialized, NOT_INITIALIZED);
    NEED(device >= 0 && device < n_devices, INVALID_DEVICE);
    if (primary[device] == NULL)
        primary[device] = publish(make(CONTEXT, device));
    retained[device]++;
    *out = primary[device];
done:
    return leave(code);
}

static object *
held_by_context(int device)
{
    int i;

    for (i = 0; i < N_BUCKETS; i++) {
        object *item;
        for (item = buckets[i]; item != NULL; item = item->next)
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
    object *item;

    while ((item = held_by_context(device)) != NULL) {
        if (item->kind == MEMORY)
            free_memory(item);
        else
            take_down(item);
    }
    take_down(primary[device]);
    primary[device] = NULL;
}

int
cuDevicePrimaryCtxRelease_v2(int device)
{
    BEGIN_DOWN("cuDevicePrimaryCtxRelease_v2");
    NEED(device >= 0 && device < n_devices, INVALID_DEVICE);
    NEED(retained[device] > 0, INVALID_CONTEXT);
    if (--retained[device] == 0 && primary[device] != NULL)
        destroy_context(device);
done:
    return leave(injected ? injected : code);
}

int
cuDevicePrimaryCtxReset_v2(int device)
{
    BEGIN_DOWN("cuDevicePrimaryCtxReset_v2");
    NEED(device >= 0 && device < n_devices, INVALID_DEVICE);
    if (primary[device] != NULL)
        destroy_context(device);
done:
    return leave(injected ? injected : code);
}

int
cuCtxGetCurrent(void **out)
{
    BEGIN("cuCtxGetCurrent");
    NEED(initialized, NOT_INITIALIZED);
    *out = chosen;
done:
    return leave(code);
}

int
cuCtxSetCurrent(void *context)
{
    BEGIN("cuCtxSetCurrent");
    NEED(initialized, NOT_INITIALIZED);
    NEED(context == NULL || find(CONTEXT, (uintptr_t)context) != NULL, INVALID_CONTEXT);
    chosen = context;
done:
    return leave(code);
}

/* A context of its own, as another library might make: for tests of foreign contexts. */
int
cuCtxCreate_v2(void **out, unsigned flags, int device)
{
    BEGIN("cuCtxCreate_v2");
    (void)flags;
    NEED(device >= 0 && device < n_devices, INVALID_DEVICE);
    chosen = *out = publish(make(CONTEXT, device));
done:
    return leave(code);
}

int
cuCtxDestroy_v2(void *context)
{
    BEGIN_DOWN("cuCtxDestroy_v2");
    NEED(find(CONTEXT, (uintptr_t)context) != NULL, INVALID_CONTEXT);
    if (chosen == context)
        chosen = NULL;
    take_down(context);
done:
    return leave(injected ? injected : code);
}

int
cuCtxGetDevice(int *out)
{
    BEGIN("cuCtxGetDevice");
    NEED(current != NULL, INVALID_CONTEXT);
    *out = current->ordinal;
done:
    return leave(code);
}

int
cuCtxSynchronize(void)
{
    BEGIN("cuCtxSynchronize");
    code = usable(NULL);
    return leave(code);
}

int
cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    BEGIN("cuCtxGetStreamPriorityRange");
    NEED(current != NULL, INVALID_CONTEXT);
    *least = 0;
    *greatest = -5;
done:
    return leave(code);
}

int
cuCtxEnablePeerAccess(void *peer, unsigned flags)
{
    object *other;
    BEGIN("cuCtxEnablePeerAccess");
    (void)flags;
    NEED(current != NULL, INVALID_CONTEXT);
    other = find(CONTEXT, (uintptr_t)peer);
    NEED(other != NULL && other->ordinal != current->ordinal, INVALID_CONTEXT);
    NEED(!peers[current->ordinal][other->ordinal], PEER_ALREADY_ENABLED);
    peers[current->ordinal][other->ordinal] = 1;
done:
    return leave(code);
}

/* ---- memory
 * ----------------------------------------------------------------------------------------- */

int
cuMemAlloc_v2(unsigned long long *out, size_t n_bytes)
{
    uintptr_t address = 0;
    BEGIN("cuMemAlloc_v2");
    code = usable(NULL);
    if (code == SUCCESS)
        code = new_memory(MEMORY, current->ordinal, n_bytes, &address);
    *out = address;
    return leave(code);
}

int
cuMemAllocManaged(unsigned long long *out, size_t n_bytes, unsigned flags)
{
    uintptr_t address = 0;
    BEGIN("cuMemAllocManaged");
    code = flags == 1 || flags == 2 ? usable(NULL) : INVALID_VALUE;
    if (code == SUCCESS)
        code = new_memory(MEMORY, current->ordinal, n_bytes, &address);
    *out = address;
    return leave(code);
}

int
cuMemFree_v2(unsigned long long address)
{
    object *item;
    BEGIN_DOWN("cuMemFree_v2");
    item = find(MEMORY, (uintptr_t)address);
    NEED(item != NULL, INVALID_VALUE);
    free_memory(item);
done:
    return leave(injected ? injected : code);
}

int
cuMemGetInfo_v2(size_t *n_free, size_t *n_total)
{
    BEGIN("cuMemGetInfo_v2");
    NEED(current != NULL, INVALID_CONTEXT);
    *n_free = (size_t)(memory_bytes - used_bytes[current->ordinal]);
    *n_total = (size_t)memory_bytes;
done:
    return leave(code);
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
    BEGIN("cuMemPoolCreate");
    NEED(has_pools, NOT_SUPPORTED);
    NEED(props->alloc_type == 1 && props->handle_types == 0 && props->location_type == 1 &&
             props->location_id >= 0 && props->location_id < n_devices,
         INVALID_VALUE);
    NEED(memcmp(props->reserved, zeros, sizeof zeros) == 0, INVALID_VALUE);
    *out = publish(make(POOL, props->location_id));
done:
    return leave(code);
}

int
cuMemPoolDestroy(void *pool)
{
    object *item;
    BEGIN_DOWN("cuMemPoolDestroy");
    item = find(POOL, (uintptr_t)pool);
    NEED(item != NULL, INVALID_VALUE);
    take_down(item);
done:
    return leave(injected ? injected : code);
}

int
cuMemPoolSetAttribute(void *pool, int which, void *value)
{
    BEGIN("cuMemPoolSetAttribute");
    NEED(find(POOL, (uintptr_t)pool) != NULL && which == 4 && value != NULL, INVALID_VALUE);
done:
    return leave(code);
}

int
cuMemPoolSetAccess(void *pool, const void *access, size_t n)
{
    BEGIN("cuMemPoolSetAccess");
    NEED(find(POOL, (uintptr_t)pool) != NULL && access != NULL && n > 0, INVALID_VALUE);
done:
    return leave(code);
}

int
cuMemPoolTrimTo(void *pool, size_t keep)
{
    BEGIN("cuMemPoolTrimTo");
    (void)keep;
    NEED(find(POOL, (uintptr_t)pool) != NULL, INVALID_VALUE);
done:
    return leave(code);
}

int
cuMemAllocFromPoolAsync(unsigned long long *out, size_t n_bytes, void *pool, void *stream)
{
    uintptr_t address = 0;
    object *item;
    BEGIN("cuMemAllocFromPoolAsync");
    *out = 0;
    code = usable(stream);
    NEED(code == SUCCESS, code);
    item = find(POOL, (uintptr_t)pool);
    NEED(item != NULL, INVALID_VALUE);
    NEED(!stream_of(stream)->capturing, CAPTURE_UNSUPPORTED);
    code = new_memory(MEMORY, item->ordinal, n_bytes, &address);
    if (code == SUCCESS)
        find(MEMORY, address)->pooled = 1;
    *out = address;
done:
    return leave(code);
}

int
cuMemFreeAsync(unsigned long long address, void *stream)
{
    object *item;
    BEGIN_DOWN("cuMemFreeAsync");
    code = usable(stream);
    NEED(code == SUCCESS, code);
    NEED(!stream_of(stream)->capturing, CAPTURE_UNSUPPORTED);
    item = find(MEMORY, (uintptr_t)address);
    NEED(item != NULL, INVALID_VALUE);
    free_memory(item);
done:
    return leave(injected ? injected : code);
}

int
cuMemHostAlloc(void **out, size_t n_bytes, unsigned flags)
{
    uintptr_t address = 0;
    BEGIN("cuMemHostAlloc");
    code = flags <= 7 ? usable(NULL) : INVALID_VALUE;
    if (code == SUCCESS)
        code = new_memory(HOST, current->ordinal, n_bytes, &address);
    *out = (void *)address;
    return leave(code);
}

int
cuMemFreeHost(void *address)
{
    object *item;
    BEGIN_DOWN("cuMemFreeHost");
    item = find(HOST, (uintptr_t)address);
    NEED(item != NULL && !item->registered, INVALID_VALUE);
    free_memory(item);
done:
    return leave(injected ? injected : code);
}

int
cuMemHostGetDevicePointer_v2(unsigned long long *out, void *address, unsigned flags)
{
    BEGIN("cuMemHostGetDevicePointer_v2");
    (void)flags;
    NEED(find(HOST, (uintptr_t)address) != NULL, INVALID_VALUE);
    *out = (uintptr_t)address;
done:
    return leave(code);
}

int
cuMemHostRegister_v2(void *address, size_t n_bytes, unsigned flags)
{
    object *item;
    BEGIN("cuMemHostRegister_v2");
    (void)flags;
    code = usable(NULL);
    NEED(code == SUCCESS, code);
    NEED(n_bytes > 0 && find(HOST, (uintptr_t)address) == NULL, INVALID_VALUE);
    item = make(HOST, current->ordinal);
    item->handle = (uintptr_t)address;
    item->n_bytes = n_bytes;
    item->registered = 1;
    publish(item);
done:
    return leave(code);
}

int
cuMemHostUnregister(void *address)
{
    object *item;
    BEGIN_DOWN("cuMemHostUnregister");
    item = find(HOST, (uintptr_t)address);
    NEED(item != NULL && item->registered, INVALID_VALUE);
    take_down(item);
done:
    return leave(injected ? injected : code);
}

/* Handles hold the address: they are good in the process that made them, where the real driver
 * refuses them. */
typedef struct ipc_handle {
    unsigned char bytes[64];
} ipc_handle;

int
cuIpcGetMemHandle(ipc_handle *out, unsigned long long address)
{
    object *item;
    BEGIN("cuIpcGetMemHandle");
    item = find(MEMORY, (uintptr_t)address);
    NEED(item != NULL && !item->pooled, INVALID_VALUE);
    memset(out, 0x5a, sizeof *out);
    memcpy(out->bytes, &item->handle, sizeof item->handle);
done:
    return leave(code);
}

int
cuIpcOpenMemHandle_v2(unsigned long long *out, ipc_handle handle, unsigned flags)
{
    object *item;
    uintptr_t address;
    BEGIN("cuIpcOpenMemHandle_v2");
    code = flags == 1 ? usable(NULL) : INVALID_VALUE;
    NEED(code == SUCCESS, code);
    memcpy(&address, handle.bytes, sizeof address);
    item = find(MEMORY, address);
    NEED(item != NULL && handle.bytes[63] == 0x5a, INVALID_VALUE);
    item->n_opened++;
    *out = address;
done:
    return leave(code);
}

int
cuIpcCloseMemHandle(unsigned long long address)
{
    object *item;
    BEGIN_DOWN("cuIpcCloseMemHandle");
    item = find(MEMORY, (uintptr_t)address);
    NEED(item != NULL && item->n_opened > 0, INVALID_VALUE);
    item->n_opened--;
done:
    return leave(injected ? injected : code);
}

int
cuPointerGetAttribute(void *out, int which, unsigned long long address)
{
    object *item;
    BEGIN("cuPointerGetAttribute");
    item = holder((uintptr_t)address, 1);
    NEED(item != NULL, INVALID_VALUE);
    switch (which) {
    case 1: *(void **)out = primary[item->ordinal]; break;
    case 2: *(unsigned *)out = item->kind == MEMORY ? 2 : 1; break;
    case 3:
    case 4: *(unsigned long long *)out = address; break;
    case 9: *(int *)out = item->ordinal; break;
    case 11: *(unsigned long long *)out = item->handle; break;
    case 12: *(size_t *)out = item->n_bytes; break;
    default: code = INVALID_VALUE; break;
    }
done:
    return leave(code);
}

/* ---- copies
 * ---------------------------------------------------------------------------------------------
 */

/* on_device: bit 0 the target, bit 1 the source must be memory of ours. */
static int
copy(void *to, const void *from, size_t n_bytes, int on_device, void *stream)
{
    int code = usable(stream);

    if (code != SUCCESS)
        return code;
    if (((on_device & 1) && holder((uintptr_t)to, n_bytes) == NULL) ||
        ((on_device & 2) && holder((uintptr_t)from, n_bytes) == NULL) || to == NULL ||
        from == NULL)
        return INVALID_VALUE;
    memmove(to, from, n_bytes);
    return SUCCESS;
}

int
cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t n_bytes, void *stream)
{
    BEGIN("cuMemcpyHtoDAsync_v2");
    code = copy((void *)(uintptr_t)to, from, n_bytes, 1, stream);
    return leave(code);
}

int
cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t n_bytes, void *stream)
{
    BEGIN("cuMemcpyDtoHAsync_v2");
    code = copy(to, (void *)(uintptr_t)from, n_bytes, 2, stream);
    return leave(code);
}

int
cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t n_bytes,
                     void *stream)
{
    BEGIN("cuMemcpyDtoDAsync_v2");
    code = copy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n_bytes, 3, stream);
    return leave(code);
}

int
cuMemcpyPeerAsync(unsigned long long to, void *to_context, unsigned long long from,
                  void *from_context, size_t n_bytes, void *stream)
{
    BEGIN("cuMemcpyPeerAsync");
    NEED(find(CONTEXT, (uintptr_t)to_context) && find(CONTEXT, (uintptr_t)from_context),
         INVALID_CONTEXT);
    code = copy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n_bytes, 3, stream);
done:
    return leave(code);
}

static int
set(unsigned long long to, const void *item, size_t item_bytes, size_t n, void *stream)
{
    int code = usable(stream);
    size_t i;

    if (code != SUCCESS)
        return code;
    if (to % item_bytes != 0 || holder((uintptr_t)to, n * item_bytes) == NULL)
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
    return leave(code);
}

int
cuMemsetD16Async(unsigned long long to, unsigned short value, size_t n, void *stream)
{
    BEGIN("cuMemsetD16Async");
    code = set(to, &value, 2, n, stream);
    return leave(code);
}

int
cuMemsetD32Async(unsigned long long to, unsigned value, size_t n, void *stream)
{
    BEGIN("cuMemsetD32Async");
    code = set(to, &value, 4, n, stream);
    return leave(code);
}

/* ---- streams and events
 * ------------------------------------------------------------------------------------ */

int
cuStreamCreateWithPriority(void **out, unsigned flags, int priority)
{
    BEGIN("cuStreamCreateWithPriority");
    (void)priority;
    code = flags <= 1 ? usable(NULL) : INVALID_VALUE;
    if (code == SUCCESS)
        *out = publish(make(STREAM, current->ordinal));
    return leave(code);
}

int
cuStreamDestroy_v2(void *stream)
{
    object *item;
    BEGIN_DOWN("cuStreamDestroy_v2");
    item = find(STREAM, (uintptr_t)stream);
    NEED(item != NULL, INVALID_HANDLE);
    take_down(item);
done:
    return leave(injected ? injected : code);
}

int
cuStreamSynchronize(void *stream)
{
    BEGIN("cuStreamSynchronize");
    code = usable(stream);
    if (code == SUCCESS && stream_of(stream)->capturing)
        code = CAPTURE_UNSUPPORTED;
    return leave(code);
}

int
cuStreamQuery(void *stream)
{
    BEGIN("cuStreamQuery");
    code = usable(stream);
    if (code == SUCCESS && stream_of(stream)->busy)
        code = NOT_READY;
    return leave(code);
}

int
cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    BEGIN("cuStreamWaitEvent");
    code = flags == 0 ? usable(stream) : INVALID_VALUE;
    if (code == SUCCESS && find(EVENT, (uintptr_t)event) == NULL)
        code = INVALID_HANDLE;
    return leave(code);
}

int
cuStreamIsCapturing(void *stream, int *out)
{
    BEGIN("cuStreamIsCapturing");
    code = usable(stream);
    *out = code == SUCCESS && stream_of(stream)->capturing;
    return leave(code);
}

int
cuThreadExchangeStreamCaptureMode(int *mode)
{
    static _Thread_local int now;
    int old = now;
    BEGIN("cuThreadExchangeStreamCaptureMode");
    NEED(*mode >= 0 && *mode <= 2, INVALID_VALUE);
    now = *mode;
    *mode = old;
done:
    return leave(code);
}

int
cuEventCreate(void **out, unsigned flags)
{
    BEGIN("cuEventCreate");
    code = flags <= 7 ? usable(NULL) : INVALID_VALUE;
    if (code == SUCCESS) {
        *out = publish(make(EVENT, current->ordinal));
        ((object *)*out)->timing = (flags & 2) == 0;
    }
    return leave(code);
}

int
cuEventDestroy_v2(void *event)
{
    object *item;
    BEGIN_DOWN("cuEventDestroy_v2");
    item = find(EVENT, (uintptr_t)event);
    NEED(item != NULL, INVALID_HANDLE);
    take_down(item);
done:
    return leave(injected ? injected : code);
}

int
cuEventRecord(void *event, void *stream)
{
    object *item;
    BEGIN("cuEventRecord");
    code = usable(stream);
    NEED(code == SUCCESS, code);
    item = find(EVENT, (uintptr_t)event);
    NEED(item != NULL && item->ordinal == stream_of(stream)->ordinal, INVALID_HANDLE);
    item->recorded = 1;
    item->busy = stream_of(stream)->busy;
done:
    return leave(code);
}

int
cuEventSynchronize(void *event)
{
    BEGIN("cuEventSynchronize");
    NEED(find(EVENT, (uintptr_t)event) != NULL, INVALID_HANDLE);
done:
    return leave(code);
}

int
cuEventQuery(void *event)
{
    object *item;
    BEGIN("cuEventQuery");
    item = find(EVENT, (uintptr_t)event);
    NEED(item != NULL, INVALID_HANDLE);
    NEED(!item->busy, NOT_READY);
done:
    return leave(code);
}

int
cuEventElapsedTime(float *ms, void *from, void *to)
{
    object *first, *second;
    BEGIN("cuEventElapsedTime");
    first = find(EVENT, (uintptr_t)from);
    second = find(EVENT, (uintptr_t)to);
    NEED(first && second && first->recorded && second->recorded && first->timing &&
             second->timing,
         INVALID_HANDLE);
    *ms = 1.5f;
done:
    return leave(code);
}

/* ---- images
 * --------------------------------------------------------------------------------------------------
 */

static size_t
image_bytes(const unsigned char *image)
{
    Elf64_Ehdr header;

    memcpy(&header, image, sizeof header);
    return header.e_shoff + (size_t)header.e_shentsize * header.e_shnum;
}

static Elf64_Shdr
section(const unsigned char *image, unsigned i)
{
    Elf64_Ehdr header;
    Elf64_Shdr found = {0};

    memcpy(&header, image, sizeof header);
    if (i < header.e_shnum)
        memcpy(&found, image + header.e_shoff + i * (size_t)header.e_shentsize, sizeof found);
    return found;
}

static unsigned
n_sections(const unsigned char *image)
{
    Elf64_Ehdr header;

    memcpy(&header, image, sizeof header);
    return header.e_shnum;
}

/* A named symbol of this type (STT_FUNC, STT_OBJECT); its size, or -1. */
static long long
find_symbol(const unsigned char *image, const char *name, int type)
{
    unsigned i;

    for (i = 0; i < n_sections(image); i++) {
        Elf64_Shdr symbols = section(image, i), names;
        size_t k;
        if (symbols.sh_type != SHT_SYMTAB && symbols.sh_type != SHT_DYNSYM)
            continue;
        names = section(image, symbols.sh_link);
        for (k = 0; k < symbols.sh_size / sizeof(Elf64_Sym); k++) {
            Elf64_Sym symbol;
            memcpy(&symbol, image + symbols.sh_offset + k * sizeof symbol, sizeof symbol);
            if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == type &&
                strcmp((const char *)image + names.sh_offset + symbol.st_name, name) == 0)
                return (long long)symbol.st_size;
        }
    }
    return -1;
}

static Elf64_Shdr
find_section(const unsigned char *image, const char *name)
{
    Elf64_Ehdr header;
    Elf64_Shdr names, none = {0};
    unsigned i;

    memcpy(&header, image, sizeof header);
    names = section(image, header.e_shstrndx);
    for (i = 1; i < header.e_shnum; i++) {
        Elf64_Shdr one = section(image, i);
        if (strcmp((const char *)image + names.sh_offset + one.sh_name, name) == 0)
            return one;
    }
    return none;
}

/* The kernel's parameters, from its .nv.info: records of (format, attribute, size or value),
 * where KPARAM_INFO (0x17) is { u32 index; u16 ordinal, offset; u32 with the size in bits 18..
 * }. */
static void
read_params(const unsigned char *image, const char *kernel, fake_launch *out)
{
    char name[300];
    Elf64_Shdr info;
    size_t at = 0;

    snprintf(name, sizeof name, ".nv.info.%s", kernel);
    info = find_section(image, name);
    out->n_params = info.sh_size == 0 ? -1 : 0;
    while (at + 4 <= info.sh_size) {
        const unsigned char *record = image + info.sh_offset + at;
        uint16_t size = (uint16_t)(record[2] | record[3] << 8), ordinal, offset;
        uint32_t word;
        at += 4;
        if (record[0] != 4) /* only format 4 has a payload */
            continue;
        at += size;
        if (record[1] != 0x17 || size < 12)
            continue;
        memcpy(&ordinal, record + 8, 2);
        memcpy(&offset, record + 10, 2);
        memcpy(&word, record + 12, 4);
        if (ordinal < 64) {
            out->offsets[ordinal] = offset;
            out->sizes[ordinal] = word >> 18;
        }
        out->n_params++;
    }
}

static int
load(const void *image, int is_library, void **out)
{
    object *item;
    size_t n_bytes;

    if (current == NULL && !is_library)
        return INVALID_CONTEXT;
    if (image == NULL)
        return INVALID_VALUE;
    if (memcmp(image, ELFMAG, SELFMAG) != 0)
        return INVALID_IMAGE;
    n_bytes = image_bytes(image);
    item = make(MODULE, current ? current->ordinal : 0);
    item->is_library = is_library;
    item->image = malloc(n_bytes);
    if (item->image == NULL)
        abort();
    memcpy(item->image, image, n_bytes);
    *out = publish(item);
    return SUCCESS;
}

static int
unload(void *module, int is_library)
{
    object *item = find(MODULE, (uintptr_t)module);
    int i;

    if (item == NULL || item->is_library != is_library)
        return INVALID_HANDLE;
    for (i = 0; i < N_BUCKETS; i++) {
        object *one, *next;
        for (one = buckets[i]; one != NULL; one = next) {
            next = one->next;
            if (one->owner != item)
                continue;
            if (one->kind == MEMORY)
                free_memory(one);
            else
                take_down(one);
        }
    }
    take_down(item);
    return SUCCESS;
}

static int
get_function(void *module, int is_library, const char *name, void **out)
{
    object *item = find(MODULE, (uintptr_t)module), *function;
    int i;

    if (item == NULL || item->is_library != is_library)
        return INVALID_HANDLE;
    if (find_symbol(item->image, name, STT_FUNC) < 0)
        return NOT_FOUND;
    for (i = 0; i < N_BUCKETS; i++)
        for (function = buckets[i]; function != NULL; function = function->next)
            if (function->owner == item && function->kind == FUNCTION &&
                strcmp(function->name, name) == 0) {
                *out = function;
                return SUCCESS;
            }
    function = make(FUNCTION, item->ordinal);
    function->owner = item;
    function->name = strdup(name);
    *out = publish(function);
    return SUCCESS;
}

static int
get_global(void *module, int is_library, const char *name, unsigned long long *address,
           size_t *n_bytes)
{
    object *item = find(MODULE, (uintptr_t)module);
    uintptr_t made;
    long long size;
    int code, i;

    if (item == NULL || item->is_library != is_library)
        return INVALID_HANDLE;
    size = find_symbol(item->image, name, STT_OBJECT);
    if (size < 0)
        return NOT_FOUND;
    *n_bytes = (size_t)size;
    for (i = 0; i < N_BUCKETS; i++) {
        object *one;
        for (one = buckets[i]; one != NULL; one = one->next)
            if (one->owner == item && one->kind == MEMORY && strcmp(one->name, name) == 0) {
                *address = one->handle;
                return SUCCESS;
            }
    }
    code = new_memory(MEMORY, item->ordinal, size ? (size_t)size : 1, &made);
    if (code != SUCCESS)
        return code;
    find(MEMORY, made)->owner = item;
    find(MEMORY, made)->name = strdup(name);
    *address = made;
    return SUCCESS;
}

int
cuLibraryLoadData(void **out, const void *image, void *jit, void **jit_values, unsigned n_jit,
                  void *options, void **values, unsigned n_options)
{
    BEGIN("cuLibraryLoadData");
    (void)jit, (void)jit_values, (void)options, (void)values;
    NEED(n_jit == 0 && n_options == 0, INVALID_VALUE);
    code = load(image, 1, out);
done:
    return leave(code);
}

int
cuLibraryUnload(void *library)
{
    BEGIN_DOWN("cuLibraryUnload");
    code = unload(library, 1);
    return leave(injected ? injected : code);
}

int
cuLibraryGetKernel(void **out, void *library, const char *name)
{
    BEGIN("cuLibraryGetKernel");
    code = get_function(library, 1, name, out);
    return leave(code);
}

int
cuLibraryGetModule(void **out, void *library)
{
    BEGIN("cuLibraryGetModule");
    NEED(find(MODULE, (uintptr_t)library) != NULL, INVALID_HANDLE);
    *out = library;
done:
    return leave(code);
}

int
cuLibraryGetGlobal(unsigned long long *address, size_t *n_bytes, void *library,
                   const char *name)
{
    BEGIN("cuLibraryGetGlobal");
    code = get_global(library, 1, name, address, n_bytes);
    return leave(code);
}

int
cuKernelGetFunction(void **out, void *kernel)
{
    BEGIN("cuKernelGetFunction");
    NEED(find(FUNCTION, (uintptr_t)kernel) != NULL, INVALID_HANDLE);
    NEED(current != NULL, INVALID_CONTEXT);
    *out = kernel;
done:
    return leave(code);
}

int
cuModuleLoadData(void **out, const void *image)
{
    BEGIN("cuModuleLoadData");
    code = load(image, 0, out);
    return leave(code);
}

int
cuModuleUnload(void *module)
{
    BEGIN_DOWN("cuModuleUnload");
    code = unload(module, 0);
    return leave(injected ? injected : code);
}

int
cuModuleGetFunction(void **out, void *module, const char *name)
{
    BEGIN("cuModuleGetFunction");
    code = get_function(module, 0, name, out);
    return leave(code);
}

int
cuModuleGetGlobal_v2(unsigned long long *address, size_t *n_bytes, void *module,
                     const char *name)
{
    BEGIN("cuModuleGetGlobal_v2");
    code = get_global(module, 0, name, address, n_bytes);
    return leave(code);
}

int
cuFuncLoad(void *function)
{
    BEGIN("cuFuncLoad");
    NEED(find(FUNCTION, (uintptr_t)function) != NULL, INVALID_HANDLE);
done:
    return leave(code);
}

int
cuFuncGetAttribute(int *out, int which, void *function)
{
    static const int values[] = {1024, 0, 64, 0, 32, 80, 90, 0, 49152};
    BEGIN("cuFuncGetAttribute");
    NEED(find(FUNCTION, (uintptr_t)function) != NULL, INVALID_HANDLE);
    NEED(which >= 0 && which < (int)(sizeof values / sizeof *values), INVALID_VALUE);
    *out = which == 6 ? (int)cc : values[which];
done:
    return leave(code);
}

int
cuFuncSetAttribute(void *function, int which, int value)
{
    BEGIN("cuFuncSetAttribute");
    NEED(find(FUNCTION, (uintptr_t)function) != NULL, INVALID_HANDLE);
    NEED(which != 8 || (value >= 0 && value <= 232448), INVALID_VALUE);
done:
    return leave(code);
}

int
cuOccupancyMaxPotentialBlockSize(int *min_grid, int *block, void *function, void *callback,
                                 size_t shared_bytes, int limit)
{
    BEGIN("cuOccupancyMaxPotentialBlockSize");
    (void)shared_bytes;
    NEED(find(FUNCTION, (uintptr_t)function) != NULL && callback == NULL, INVALID_VALUE);
    *block = limit > 0 && limit < 1024 ? (limit >= 32 ? limit / 32 * 32 : limit) : 1024;
    *min_grid = 132 * 2;
done:
    return leave(code);
}

int
cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, void *function, int block,
                                            size_t shared_bytes)
{
    BEGIN("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    NEED(find(FUNCTION, (uintptr_t)function) != NULL && block > 0, INVALID_VALUE);
    *out = 2048 / block < 32 ? 2048 / block : 32;
    if (shared_bytes != 0 && (int)(233472 / shared_bytes) < *out)
        *out = (int)(233472 / shared_bytes);
done:
    return leave(code);
}

/* ---- launches
 * ---------------------------------------------------------------------------------------------------
 */

typedef struct attribute_value {
    int id;
    char pad[4];
    union {
        char pad[64];
        int flag;
    } value;
} attribute_value;

typedef struct launch_config {
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    attribute_value *attributes;
    unsigned n_attributes;
} launch_config;

static int
shape_is_good(const launch_config *config)
{
    const unsigned *grid = config->grid, *block = config->block;

    return grid[0] > 0 && grid[0] <= 2147483647u && grid[1] > 0 && grid[1] <= 65535 &&
           grid[2] > 0 && grid[2] <= 65535 && block[0] > 0 && block[1] > 0 && block[2] > 0 &&
           block[0] <= 1024 && block[1] <= 1024 && block[2] <= 64 &&
           block[0] * block[1] * block[2] <= 1024 && config->shared_bytes <= 232448;
}

static void
record(const object *function, const launch_config *config, void **params, int early)
{
    fake_launch *out = &last_launch;
    int i;

    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", function->name);
    memcpy(out->grid, config->grid, sizeof out->grid);
    memcpy(out->block, config->block, sizeof out->block);
    out->shared_bytes = config->shared_bytes;
    out->stream = config->stream;
    out->early = early;
    read_params(function->owner->image, function->name, out);
    for (i = 0; i < out->n_params && i < 64; i++) {
        size_t end = (size_t)out->offsets[i] + out->sizes[i];
        if (end > sizeof out->values || params == NULL)
            continue;
        memcpy(out->values + out->offsets[i], params[i], out->sizes[i]);
        if (end > out->n_bytes)
            out->n_bytes = (unsigned)end;
    }
    n_launches++;
    if (log_file != NULL)
        fprintf(log_file, "  launch %s grid %u,%u,%u block %u,%u,%u shared %u params %d\n",
                out->name, out->grid[0], out->grid[1], out->grid[2], out->block[0],
                out->block[1], out->block[2], out->shared_bytes, out->n_params);
}

static int
launch(const launch_config *config, void *function, void **params)
{
    object *item = find(FUNCTION, (uintptr_t)function);
    int code = usable(config->stream), early = 0;
    unsigned i;

    if (code != SUCCESS)
        return code;
    if (item == NULL)
        return INVALID_HANDLE;
    if (!shape_is_good(config))
        return INVALID_VALUE;
    for (i = 0; i < config->n_attributes; i++)
        if (config->attributes[i].id == 6)
            early = config->attributes[i].value.flag;
    record(item, config, params, early);
    return SUCCESS;
}

int
cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
               void *stream, void **params, void **extra)
{
    launch_config config = {
        {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream, NULL, 0};
    BEGIN("cuLaunchKernel");
    code = extra == NULL ? launch(&config, function, params) : INVALID_VALUE;
    return leave(code);
}

int
cuLaunchKernelEx(const launch_config *config, void *function, void **params, void **extra)
{
    BEGIN("cuLaunchKernelEx");
    code = extra == NULL ? launch(config, function, params) : INVALID_VALUE;
    return leave(code);
}

int
cuLaunchHostFunc(void *stream, void (*function)(void *context), void *context)
{
    BEGIN("cuLaunchHostFunc");
    code = usable(stream);
    leave(code);
    if (code == SUCCESS)
        function(context);
    return code;
}

int
cuProfilerStart(void)
{
    BEGIN("cuProfilerStart");
    return leave(code);
}

int
cuProfilerStop(void)
{
    BEGIN("cuProfilerStop");
    return leave(code);
}

/* ---- asking for calls by name
 * ------------------------------------------------------------------------------------- */

static int
is_absent(const char *name)
{
    size_t n = strlen(name);
    const char *at = absent;

    while ((at = strstr(at, name)) != NULL) {
        if ((at == absent || at[-1] == ',') && (at[n] == ',' || at[n] == 0))
            return 1;
        at += n;
    }
    return 0;
}

int
cuGetProcAddress_v2(const char *name, void **out, int asked_version, uint64_t flags, int *found)
{
    static const char *const suffixes[] = {"_v3", "_v2", ""};
    char symbol[128];
    Dl_info self;
    void *library;
    size_t i;

    if (!get_proc)
        return NOT_SUPPORTED;
    if (flags != 1 || asked_version < 2000)
        return INVALID_VALUE;
    *out = NULL;
    if (!is_absent(name) && dladdr((void *)(uintptr_t)cuInit, &self) != 0) {
        library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
        for (i = 0; library != NULL && i < 3 && *out == NULL; i++) {
            snprintf(symbol, sizeof symbol, "%s%s", name, suffixes[i]);
            *out = dlsym(library, symbol);
        }
        if (library != NULL)
            dlclose(library);
    }
    *found = *out == NULL ? 1 : 0;
    return SUCCESS;
}

/* ---- controls
 * --------------------------------------------------------------------------------------------------------
 */

void
fake_cuda_fail(const char *name, int nth, int code)
{
    pthread_mutex_lock(&mutex);
    snprintf(fail_name, sizeof fail_name, "%s", name ? name : "");
    fail_in = nth;
    fail_code = code;
    fail_done = 0;
    failed_name[0] = 0;
    pthread_mutex_unlock(&mutex);
}

int
fake_cuda_failed(void)
{
    return fail_done;
}

const char *
fake_cuda_failed_name(void)
{
    return failed_name;
}

void
fake_cuda_absent(const char *names)
{
    snprintf(absent, sizeof absent, "%s", names ? names : "");
}

void
fake_cuda_set(const char *what, long long value)
{
    static const struct {
        const char *name;
        long long *slot;
    } rows[] = {{"devices", &n_devices},   {"version", &version}, {"cc", &cc},
                {"memory", &memory_bytes}, {"pools", &has_pools}, {"getproc", &get_proc}};
    size_t i;

    pthread_mutex_lock(&mutex);
    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, what) == 0)
            *rows[i].slot = value;
    pthread_mutex_unlock(&mutex);
}

int
fake_cuda_live(const char *wanted)
{
    int i, n = 0;

    pthread_mutex_lock(&mutex);
    for (i = 0; i < FUNCTION; i++)
        if (wanted == NULL || wanted[0] == 0 || strcmp(wanted, kind_names[i]) == 0)
            n += live[i];
    pthread_mutex_unlock(&mutex);
    return n;
}

long long
fake_cuda_used_bytes(int ordinal)
{
    return used_bytes[ordinal];
}

int
fake_cuda_calls(const char *name)
{
    int i, n = 0;

    pthread_mutex_lock(&mutex);
    if (name == NULL || name[0] == 0)
        n = n_calls;
    for (i = 0; n == 0 && name != NULL && i < N_NAMES; i++)
        if (strcmp(counts[i].name, name) == 0)
            n = counts[i].n;
    pthread_mutex_unlock(&mutex);
    return n;
}

void
fake_cuda_reset_calls(void)
{
    pthread_mutex_lock(&mutex);
    memset(counts, 0, sizeof counts);
    n_calls = 0;
    log_n = 0;
    log_text[0] = 0;
    pthread_mutex_unlock(&mutex);
}

int
fake_cuda_n_launches(void)
{
    return n_launches;
}

int
fake_cuda_last_launch(fake_launch *out)
{
    pthread_mutex_lock(&mutex);
    *out = last_launch;
    pthread_mutex_unlock(&mutex);
    return n_launches != 0;
}

void
fake_cuda_set_capturing(void *stream, int capturing)
{
    pthread_mutex_lock(&mutex);
    if ((uintptr_t)stream <= 2)
        null_capturing = capturing;
    else if (find(STREAM, (uintptr_t)stream) != NULL)
        find(STREAM, (uintptr_t)stream)->capturing = capturing;
    pthread_mutex_unlock(&mutex);
}

void
fake_cuda_set_busy(void *stream, int busy)
{
    pthread_mutex_lock(&mutex);
    if ((uintptr_t)stream <= 2)
        null_busy = busy;
    else if (find(STREAM, (uintptr_t)stream) != NULL)
        find(STREAM, (uintptr_t)stream)->busy = busy;
    pthread_mutex_unlock(&mutex);
}

const char *
fake_cuda_log(void)
{
    return log_text;
}
