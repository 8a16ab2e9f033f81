/* What all calls of the fake driver go through: counting, failing, the objects behind handles,
 * and the controls of fake_cuda.h. Its calls stand in fake_device.c, fake_memory.c,
 * fake_stream.c and fake_image.c.
 */
#define _GNU_SOURCE
#include "tests/fault/fake_internal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FILL_LIMIT ((size_t)16 << 20) /* larger blocks are filled so far: no real memory */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int live[N_KINDS];
static long long get_proc = 1;
static char absent[4096];
static char fail_name[128];
static int fail_in, fail_code, fail_done;
static char failed_name[128];
static char log_text[65536];
static size_t log_n;
static char order_text[65536];
static size_t order_n;
static int null_capturing, null_busy;

#define N_NAMES 256
static struct {
    char name[64];
    int n;
} counts[N_NAMES];
static int n_calls;

fake_state fake = {.n_devices = 1,
                   .version = 13000,
                   .cc = 90,
                   .has_pools = 1,
                   .has_peers = 1,
                   .memory_bytes = 16LL << 30};
_Thread_local void *fake_chosen;
_Thread_local fake_object *fake_current;

static const char *const kind_names[N_KINDS] = {"memory",  "host",     "streams", "events",
                                                "modules", "contexts", "pools",   "functions"};

/* ---- counting, logging, failing ---- */

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
    if (fake.log_file != NULL)
        fprintf(fake.log_file, "%s\n", name);
    if (log_n + strlen(name) + 2 < sizeof log_text)
        log_n += (size_t)snprintf(log_text + log_n, sizeof log_text - log_n, "%s\n", name);
}

void
fake_note(const char *what, const void *stream, const void *event)
{
    enum { LONGEST = 64 }; /* of a line */

    if (order_n + LONGEST < sizeof order_text)
        order_n += (size_t)snprintf(
            order_text + order_n, sizeof order_text - order_n, "%s %llx %llx\n", what,
            (unsigned long long)(uintptr_t)stream, (unsigned long long)(uintptr_t)event);
}

/* The code that this call must give, 0 for none. */
int
fake_enter(const char *name)
{
    pthread_mutex_lock(&mutex);
    fake_current = fake_chosen ? fake_find(CONTEXT, (uintptr_t)fake_chosen) : NULL;
    count(name);
    if (fail_in > 0 && (fail_name[0] == 0 || strcmp(fail_name, name) == 0) && --fail_in == 0) {
        fail_done = 1;
        snprintf(failed_name, sizeof failed_name, "%s", name);
        return fail_code;
    }
    return SUCCESS;
}

int
fake_leave(int code)
{
    pthread_mutex_unlock(&mutex);
    return code;
}

/* ---- objects ---- */

static fake_object **
bucket_of(uintptr_t handle)
{
    return &fake.buckets[(handle >> 4) * 2654435761u % N_BUCKETS];
}

fake_object *
fake_find(fake_kind wanted, uintptr_t handle)
{
    fake_object *item = *bucket_of(handle);

    while (item != NULL && (item->handle != handle || item->kind != wanted))
        item = item->next;
    return item;
}

fake_object *
fake_make(fake_kind wanted, int ordinal)
{
    fake_object *item = calloc(1, sizeof *item);

    if (item == NULL)
        abort();
    item->kind = wanted;
    item->ordinal = ordinal;
    item->handle = (uintptr_t)item;
    live[wanted]++;
    return item;
}

fake_object *
fake_publish(fake_object *item)
{
    fake_object **head = bucket_of(item->handle);

    item->next = *head;
    *head = item;
    return item;
}

void
fake_take_down(fake_object *item)
{
    fake_object **link = bucket_of(item->handle);

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

int
fake_new_memory(fake_kind wanted, int ordinal, size_t n_bytes, uintptr_t *out)
{
    void *memory;
    fake_object *item;

    if (n_bytes == 0)
        return INVALID_VALUE;
    if (wanted == MEMORY && (n_bytes > (size_t)fake.memory_bytes ||
                             fake.used_bytes[ordinal] + (long long)n_bytes > fake.memory_bytes))
        return OUT_OF_MEMORY;
    memory = host_pages(n_bytes);
    if (memory == NULL)
        return OUT_OF_MEMORY;
    item = fake_make(wanted, ordinal);
    item->handle = (uintptr_t)memory;
    item->n_bytes = n_bytes;
    fake_publish(item);
    if (wanted == MEMORY)
        fake.used_bytes[ordinal] += (long long)n_bytes;
    *out = item->handle;
    return SUCCESS;
}

void
fake_free_memory(fake_object *item)
{
    if (item->kind == MEMORY)
        fake.used_bytes[item->ordinal] -= (long long)item->n_bytes;
    if (!item->registered)
        munmap((void *)item->handle, item->n_bytes);
    fake_take_down(item);
}

/* The memory that holds this range; walks all, which is enough for tests. */
fake_object *
fake_holder(uintptr_t address, size_t n_bytes)
{
    int i;

    for (i = 0; i < N_BUCKETS; i++) {
        fake_object *item;
        for (item = fake.buckets[i]; item != NULL; item = item->next)
            if ((item->kind == MEMORY || item->kind == HOST) && address >= item->handle &&
                address - item->handle + n_bytes <= item->n_bytes)
                return item;
    }
    return NULL;
}

int
fake_reaches(uintptr_t address, size_t n_bytes)
{
    fake_object *item = fake_holder(address, n_bytes);

    return item != NULL &&
           (item->kind == HOST || item->everywhere || item->ordinal == fake_current->ordinal);
}

static fake_object null_stream;

/* 0, 1 and 2 are the default streams. */
fake_object *
fake_stream_of(void *handle)
{
    if ((uintptr_t)handle <= 2) {
        null_stream.capturing = null_capturing;
        null_stream.busy = null_busy;
        null_stream.ordinal = fake_current ? fake_current->ordinal : 0;
        return &null_stream;
    }
    return fake_find(STREAM, (uintptr_t)handle);
}

/* What a call that works on a stream in the current context begins with. */
int
fake_usable(void *stream)
{
    if (!fake.initialized)
        return NOT_INITIALIZED;
    if (fake_current == NULL)
        return fake_chosen ? CONTEXT_IS_DESTROYED : INVALID_CONTEXT;
    return fake_stream_of(stream) == NULL ||
                   fake_stream_of(stream)->ordinal != fake_current->ordinal
               ? INVALID_HANDLE
               : SUCCESS;
}

/* ---- the environment ---- */

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

    fake.n_devices = number("FAKE_CUDA_DEVICES", fake.n_devices);
    fake.version = number("FAKE_CUDA_VERSION", fake.version);
    fake.cc = number("FAKE_CUDA_CC", fake.cc);
    fake.memory_bytes = number("FAKE_CUDA_MEMORY", fake.memory_bytes);
    fake.has_pools = number("FAKE_CUDA_POOLS", fake.has_pools);
    fake.has_peers = number("FAKE_CUDA_PEERS", fake.has_peers);
    get_proc = number("FAKE_CUDA_GETPROC", get_proc);
    if (getenv("FAKE_CUDA_ABSENT") != NULL)
        fake_cuda_absent(getenv("FAKE_CUDA_ABSENT"));
    read_failure(getenv("FAKE_CUDA_FAIL"));
    if (path != NULL && path[0] != 0)
        fake.log_file = strcmp(path, "-") == 0 ? stderr : fopen(path, "w");
}

__attribute__((destructor)) static void
report(void)
{
    int i;

    if (number("FAKE_CUDA_REPORT", 0) != 0)
        for (i = 0; i < N_KINDS - 1; i++)
            fprintf(stderr, "fake_cuda: %d %s live\n", live[i], kind_names[i]);
    if (fake.log_file != NULL && fake.log_file != stderr)
        fclose(fake.log_file);
}

/* ---- asking for calls by name ---- */

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
    if (!is_absent(name) && dladdr((void *)(uintptr_t)cuGetProcAddress_v2, &self) != 0) {
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

/* ---- controls ---- */

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
    } rows[] = {
        {"devices", &fake.n_devices},   {"version", &fake.version}, {"cc", &fake.cc},
        {"memory", &fake.memory_bytes}, {"pools", &fake.has_pools}, {"peers", &fake.has_peers},
        {"getproc", &get_proc}};
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
    return fake.used_bytes[ordinal];
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
    order_n = 0;
    order_text[0] = 0;
    pthread_mutex_unlock(&mutex);
}

int
fake_cuda_n_launches(void)
{
    return fake.n_launches;
}

int
fake_cuda_n_launches_on(int ordinal)
{
    return fake.n_launches_on[ordinal];
}

int
fake_cuda_last_launch(fake_launch *out)
{
    pthread_mutex_lock(&mutex);
    *out = fake.last_launch;
    pthread_mutex_unlock(&mutex);
    return fake.n_launches != 0;
}

void
fake_cuda_set_capturing(void *stream, int capturing)
{
    pthread_mutex_lock(&mutex);
    if ((uintptr_t)stream <= 2)
        null_capturing = capturing;
    else if (fake_find(STREAM, (uintptr_t)stream) != NULL)
        fake_find(STREAM, (uintptr_t)stream)->capturing = capturing;
    pthread_mutex_unlock(&mutex);
}

void
fake_cuda_set_busy(void *stream, int busy)
{
    pthread_mutex_lock(&mutex);
    if ((uintptr_t)stream <= 2)
        null_busy = busy;
    else if (fake_find(STREAM, (uintptr_t)stream) != NULL)
        fake_find(STREAM, (uintptr_t)stream)->busy = busy;
    pthread_mutex_unlock(&mutex);
}

const char *
fake_cuda_log(void)
{
    return log_text;
}

const char *
fake_cuda_order(void)
{
    return order_text;
}
