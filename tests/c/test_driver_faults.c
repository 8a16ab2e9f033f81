/* The driver layer with every call of the driver failing in turn, absent in turn, and every
 * allocation of ours failing in turn; from many threads, and around fork. */
#include "tests/c/fake_driver.h"

#include "core/base/memory.h"
#include "core/device/copy.h"
#include "core/device/launch.h"
#include "core/device/pool.h"
#include "core/device/stream.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* 600 bytes to the other device. */
static lw_status
copy_to_peer(lw_device *device, CUdeviceptr from, lw_error *err)
{
    lw_device *peer = NULL;
    lw_block *block = NULL;
    lw_status status;

    LW_TRY(lw_device_get(1, &peer, err));
    LW_TRY(lw_pool_take(peer, 600, NULL, &block, err));
    LW_TRY(lw_stream_after_on(device, NULL, peer, NULL, err));
    LW_TRY(lw_copy_between(&(lw_copy_queue){device, NULL, false}, peer, block->address, from,
                           600, err));
    LW_TRY(lw_stream_after_on(peer, NULL, device, NULL, err));
fail:
    lw_pool_put(block);
    return status;
}

/* Uses each part once; whatever fails, it gives back all that it got. */
static lw_status
scenario(lw_error *err)
{
    fake_image image;
    lw_device *device = NULL;
    lw_stream *stream = NULL;
    lw_event *event = NULL;
    lw_block *a = NULL, *b = NULL;
    lw_host_block *pinned = NULL;
    lw_image *loaded = NULL;
    lw_kernel *add = NULL;
    lw_launch_config config;
    unsigned char host[600] = {0};
    CUdeviceptr address;
    size_t n_bytes, n_total;
    unsigned long long pointer = 0;
    int n = 3;
    void *params[] = {&pointer, &n};
    lw_status status;

    fake_image_make(&image, 1);
    LW_TRY(lw_device_get(0, &device, err));
    LW_TRY(lw_device_enter(device, err));
    LW_TRY(lw_device_memory(device, &n_bytes, &n_total, err));
    LW_TRY(lw_stream_new(device, false, 0, &stream, err));
    LW_TRY(lw_event_new(device, true, &event, err));
    LW_TRY(lw_pool_take(device, 600, stream->handle, &a, err));
    LW_TRY(lw_pool_take(device, 600, NULL, &b, err));
    LW_TRY(lw_pool_also_on(a, NULL, err));
    LW_TRY(lw_host_block_new(device, LW_HOST_MAPPED, NULL, 100, &pinned, err));
    LW_TRY(lw_copy_to_device(&(lw_copy_queue){device, stream->handle, true}, a->address, host,
                             600, err));
    LW_TRY(
        lw_fill(&(lw_copy_queue){device, stream->handle, false}, a->address, 7, 4, 150, err));
    LW_TRY(lw_stream_after(device, NULL, stream->handle, err));
    LW_TRY(lw_copy_on_device(&(lw_copy_queue){device, NULL, false}, b->address, a->address, 600,
                             err));
    LW_TRY(copy_to_peer(device, b->address, err));
    LW_TRY(lw_image_load(device, &image, sizeof image, &loaded, err));
    LW_TRY(lw_image_kernel(loaded, "add", &add, err));
    LW_TRY(lw_image_global(loaded, "table", &address, &n_bytes, err));
    LW_TRY(lw_launch_config_best(add, 0, 0, &config, err));
    LW_TRY(lw_launch(add,
                     &(lw_launch_shape){{3, 1, 1}, {config.block, 1, 1}, {0, 0, 0}, 0, NULL},
                     params, err));
    LW_TRY(lw_launch_together(
        add, &(lw_launch_shape){{3, 1, 1}, {config.block, 1, 1}, {0, 0, 0}, 0, NULL}, params,
        err));
    LW_TRY(lw_event_record(event, NULL, err));
    LW_TRY(lw_event_synchronize(event, err));
    LW_TRY(lw_copy_to_host(&(lw_copy_queue){device, NULL, true}, host, b->address, 600, err));
    status = host[0] == 7 && host[596] == 7 ? LW_OK : lw_fail(err, LW_ERR_INTERNAL, "contents");
fail:
    lw_image_drop(loaded);
    lw_pool_put(a);
    lw_pool_put(b);
    lw_host_block_free(pinned);
    lw_event_free(event);
    lw_stream_free(stream);
    return status;
}

static bool
takes_down(const char *name)
{
    static const char *const words[] = {"Free", "Destroy", "Release", "Unload"};
    size_t i;

    for (i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i]) != NULL)
            return true;
    return false;
}

/* Calls whose failure the layer makes good by itself. */
static bool
absorbed(const char *name, int code)
{
    static const char *const names[] = {
        "cuStreamIsCapturing",   /* then the block is made outside any capture */
        "cuMemPoolSetAttribute", /* only slower */
        "cuEventCreate",         /* ordering at put: the context is waited for instead */
        "cuEventRecord",         /* the same */
        "cuStreamWaitEvent",     /* the same */
        "cuCtxGetDevice",        /* then the primary context is made current */
        "cuCtxSynchronize",      /* in trimming */
        "cuDeviceCanAccessPeer", /* then the driver copies by way of the host */
        "cuCtxEnablePeerAccess", /* the same */
        "cuMemPoolSetAccess",    /* the same */
    };
    size_t i;

    if (code == 400 || code == 201) /* the context-free handle is launched instead */
        if (strncmp(name, "cuLaunchKernel", 14) == 0)
            return true;
    if (code == 2 && strcmp(name, "cuMemAllocFromPoolAsync") == 0)
        return true; /* tried again after trimming */
    if (code == 801 && strcmp(name, "cuMemPoolCreate") == 0)
        return true; /* cuMemAlloc instead */
    for (i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    /* optional attributes; a context that cannot be asked for is not cleaned up through */
    return takes_down(name) || strcmp(name, "cuDeviceGetAttribute") == 0 ||
           strcmp(name, "cuCtxGetCurrent") == 0 || strcmp(name, "cuCtxSetCurrent") == 0;
}

static void
complain(int n, const char *name, int code, const char *what, const lw_error *first)
{
    fprintf(stderr, "call %d, %s, failing with %d: %s: status %d, vendor %d, %s\n", n, name,
            code, what, first->status, first->vendor_code, lw_error_text(first));
    n_failures++;
}

/* Is this the right outcome of a scenario in which `name` failed with the code? */
static const char *
judge(const char *name, int code, const lw_error *first)
{
    if (first->status == LW_OK)
        return absorbed(name, code) ? NULL : "nobody said so";
    if (code == 500 && first->status == LW_ERR_LINK)
        return NULL; /* no such kernel */
    if (first->status != LW_ERR_DRIVER || first->vendor_code != code ||
        lw_error_vendor_name(first)[0] == 0 || strstr(lw_error_text(first), " failed") == NULL)
        return "not the driver's error";
    return NULL;
}

/* One code: fail call 1, 2, ... until the scenario is through without meeting the failure. */
static int
sweep(int code)
{
    int64_t heap = lw_memory_live();
    int n;

    for (n = 1; n < 2000; n++) {
        lw_error first = {0};
        const char *fault;
        char name[128];
        fake.fail("", n, code);
        (void)scenario(&first);
        snprintf(name, sizeof name, "%s", fake.failed_name());
        fake.fail("", 0, 0);
        if (name[0] == 0) {
            CHECK(first.status == LW_OK);
            check_nothing_left(heap);
            return n - 1;
        }
        fault = judge(name, code, &first);
        if (fault != NULL)
            complain(n, name, code, fault, &first);
        GOOD(scenario(err)); /* the same again, without the fault */
        lw_driver_close();
        if (fake.live("") != 0)
            complain(n, name, code, "something of the driver is left", &first);
        lw_error_reset(&first);
        if (fake.live("") != 0 || lw_memory_live() != heap)
            break;
    }
    CHECK(lw_memory_live() == heap && n == 0); /* not reached */
    return n;
}

static void
test_sweep(void)
{
    static const int codes[] = {1, 2, 201, 400, 500, 700, 801, 999};
    int n_points = 0;
    size_t i;

    for (i = 0; i < sizeof codes / sizeof *codes; i++)
        n_points += sweep(codes[i]);
    printf("%d failures of driver calls\n", n_points);
    CHECK(n_points > 500);
}

/* The same with our own allocations. */
static void
test_memory_sweep(void)
{
    int64_t heap = lw_memory_live();
    lw_status status = LW_ERR_OUT_OF_MEMORY;
    int n;

    for (n = 0; status != LW_OK && n < 500; n++) {
        lw_error first = {0};
        lw_memory_fail_at(n);
        status = scenario(&first);
        lw_memory_fail_at(-1);
        lw_error_reset(&first);
        CHECK(status == LW_OK || status == LW_ERR_OUT_OF_MEMORY || status == LW_ERR_DRIVER);
        GOOD(scenario(err));
        lw_driver_close();
        CHECK(fake.live("") == 0 && lw_memory_live() == heap);
    }
    CHECK(n > 10 && n < 500);
}

/* A driver without one call: a named error or success by another way, never a crash. */
static void
without(const char *symbol)
{
    int64_t heap = lw_memory_live();
    int before = fake.live("");
    lw_error first = {0};
    lw_status status;
    char name[64];

    snprintf(name, sizeof name, "%s", symbol);
    if (strstr(name, "_v") != NULL)
        *strstr(name, "_v") = 0;
    fake.absent(name);
    status = scenario(&first);
    CHECK(status == LW_OK || status == LW_ERR_DRIVER);
    if (status != LW_OK && strstr(lw_error_text(&first), name) == NULL) {
        fprintf(stderr, "%s absent: %s\n", name, lw_error_text(&first));
        n_failures++;
    }
    lw_error_reset(&first);
    lw_driver_close();
    CHECK(lw_memory_live() == heap);
    if (fake.live("") != before && !takes_down(name)) { /* those cannot be freed without */
        fprintf(stderr, "%s absent: %d things are left\n", name, fake.live("") - before);
        n_failures++;
    }
}

/* In a child, for what cannot be freed stays in the fake. */
static inline void
test_absent_sweep(void)
{
    static const char *const symbols[] = {
#define CUDA(name, symbol, version, arguments) symbol,
#include "core/tables/cuda_driver.def"
    };
    int how = 0;
    size_t i;
    pid_t child = fork();

    if (child == 0) {
        n_failures = 0;
        for (i = 0; i < sizeof symbols / sizeof *symbols; i++)
            without(symbols[i]);
        fake.absent("");
        GOOD(scenario(err));
        _exit(n_failures != 0);
    }
    CHECK(child > 0 && waitpid(child, &how, 0) == child && how == 0);
}

/* ---- threads and processes ---- */

static void *
many_scenarios(void *unused)
{
    int i;

    (void)unused;
    for (i = 0; i < 50; i++)
        GOOD(scenario(err));
    return NULL;
}

static void
test_threads(void)
{
    int64_t heap = lw_memory_live();
    pthread_t threads[4];
    int i;

    for (i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, many_scenarios, NULL) == 0);
    for (i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    check_nothing_left(heap);
}

static inline void
test_fork(void)
{
    lw_device *device = device_0();
    lw_stream *stream = NULL;
    lw_block *block = NULL;
    int how = 0;
    pid_t child;

    GOOD(lw_stream_new(device, false, 0, &stream, err));
    GOOD(lw_pool_take(device, 100, NULL, &block, err));
    child = fork();
    if (child == 0) {
        lw_block *mine = NULL;
        n_failures = 0;
        fake.reset_calls();
        BAD(lw_pool_take(device, 100, NULL, &mine, err), LW_ERR_DRIVER,
            "CUDA initialized before forking; use spawn");
        BAD(lw_device_synchronize(device, err), LW_ERR_DRIVER, "before fork");
        BAD(lw_driver_need(err), LW_ERR_DRIVER, "before fork");
        CHECK(lw_driver_forked() && !lw_driver_available());
        lw_pool_put(block); /* what it inherited goes quietly */
        lw_stream_free(stream);
        CHECK(fake.calls("") == 0);
        _exit(n_failures != 0);
    }
    CHECK(child > 0 && waitpid(child, &how, 0) == child && how == 0);
    GOOD(lw_device_synchronize(device, err)); /* the parent goes on */
    lw_pool_put(block);
    lw_stream_free(stream);
    lw_driver_close();
    child = fork(); /* a parent that has not used CUDA may fork users of it */
    if (child == 0) {
        n_failures = 0;
        GOOD(scenario(err));
        lw_driver_close();
        _exit(n_failures != 0);
    }
    CHECK(child > 0 && waitpid(child, &how, 0) == child && how == 0);
}

int
main(int argc, char **argv)
{
    int64_t heap;

    fake_open(argc, argv);
    fake.set("devices", 2);
    heap = lw_memory_live();
    test_sweep();
    test_memory_sweep();
    test_threads();
#ifndef __SANITIZE_THREAD__ /* its shadow memory cannot be forked everywhere */
    test_absent_sweep();
    test_fork();
#endif
    check_nothing_left(heap);
    if (n_failures != 0)
        fprintf(stderr, "%d failures\n", n_failures);
    return n_failures != 0;
}
