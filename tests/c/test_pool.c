/* The stream-ordered pool against the fake driver: hits without driver calls, classes, order
 * between streams, streams that end, memory that is out, capture, external sources, threads. */
#include "core/base/memory.h"
#include "core/device/pool.h"
#include "core/device/stream.h"
#include "tests/c/fake_driver.h"

#include <pthread.h>
#include <time.h>

static lw_device *device;

static lw_block *
take(size_t size_bytes, CUstream stream)
{
    lw_block *block = NULL;

    GOOD(lw_pool_take(device, size_bytes, stream, &block, err));
    if (block == NULL)
        exit(1);
    CHECK(block->size_bytes == size_bytes && block->device == device);
    CHECK((block->address == 0) == (size_bytes == 0) && block->address % 256 == 0);
    return block;
}

static lw_pool_stats
statistics(void)
{
    lw_pool_stats stats;

    lw_pool_statistics(device, &stats);
    return stats;
}

static void
open_device(void)
{
    GOOD(lw_device_get(0, &device, err));
    CHECK(statistics().n_misses == 0);
    GOOD(lw_device_enter(device, err));
    fake.reset_calls();
}

static void
close_device(void)
{
    lw_driver_close();
    CHECK(fake.live("") == 0);
    CHECK(fake.used_bytes(0) == 0);
}

static void
test_hits(void)
{
    lw_block *a, *b, *c;
    CUdeviceptr address;

    open_device();
    a = take(1000, NULL);
    address = a->address;
    CHECK(statistics().used_bytes == 1024 && statistics().n_misses == 1);
    lw_pool_put(a);
    CHECK(statistics().used_bytes == 0 && statistics().cached_bytes == 1024);
    fake.reset_calls();
    a = take(900, NULL); /* the same class */
    CHECK(a->address == address);
    lw_pool_put(a);
    a = take(1024, LW_STREAM_LEGACY); /* the same stream */
    CHECK(a->address == address);
    CHECK(fake.calls("") == 0); /* a hit is not the driver's business */
    CHECK(statistics().n_hits == 2 && statistics().peak_used_bytes == 1024);
    b = take(1024, NULL);
    c = take(1025, NULL);
    CHECK(b->address != address && c->address != address);
    lw_pool_put(a);
    lw_pool_put(b);
    a = take(1024, NULL); /* the newest first: it is in the caches */
    b = take(1024, NULL);
    CHECK(b->address == address);
    lw_pool_put(NULL);
    lw_pool_put(a);
    lw_pool_put(b);
    lw_pool_put(c);
    fake.reset_calls();
    a = take(0, NULL);
    lw_pool_put(a);
    CHECK(fake.calls("") == 0);
    GOOD(lw_pool_trim(device, err));
    CHECK(fake.live("memory") == 0 && statistics().cached_bytes == 0 &&
          statistics().n_cached == 0);
    CHECK(fake.calls("cuMemPoolTrimTo") == 1);
    close_device();
}

/* No class wastes more than an eighth, and none is smaller than what was asked for. */
static void
test_classes(void)
{
    size_t size_bytes;

    open_device();
    for (size_bytes = 1; size_bytes < (size_t)1 << 30; size_bytes += size_bytes / 3 + 1) {
        lw_block *block = take(size_bytes, NULL);
        size_t used = statistics().used_bytes;
        CHECK(used >= size_bytes && used % 512 == 0);
        CHECK(size_bytes < 4096 ? used < size_bytes + 512
                                : used <= size_bytes + size_bytes / 8);
        lw_pool_put(block);
    }
    close_device();
}

static void
test_streams(void)
{
    lw_stream *one = NULL, *two = NULL;
    lw_block *a, *b;
    CUdeviceptr address;

    open_device();
    GOOD(lw_stream_new(device, false, 0, &one, err));
    GOOD(lw_stream_new(device, false, 0, &two, err));
    a = take(512, one->handle);
    address = a->address;
    lw_pool_put(a);
    b = take(512, two->handle); /* one's memory may still be at work */
    CHECK(b->address != address);
    a = take(512, one->handle);
    CHECK(a->address == address);
    fake.reset_calls();
    GOOD(lw_pool_also_on(a, one->handle, err)); /* its own: nothing to order */
    GOOD(lw_pool_also_on(a, two->handle, err));
    GOOD(lw_pool_also_on(a, two->handle, err));
    lw_pool_put(a);
    CHECK(strstr(fake.log(), "cuEventCreate\ncuEventRecord\ncuStreamWaitEvent\n"
                             "cuEventDestroy_v2\n") != NULL);
    CHECK(fake.calls("cuEventRecord") == 1); /* once, and no waiting */
    CHECK(fake.calls("cuStreamSynchronize") == 0 && fake.calls("cuCtxSynchronize") == 0);
    /* a stream ends: its cache goes, what is in use stays good and is freed behind it */
    a = take(512, one->handle);
    lw_pool_put(take(4096, one->handle));
    CHECK(fake.live("memory") == 3);
    fake.reset_calls();
    lw_stream_free(one);
    CHECK(fake.live("memory") == 2 && fake.calls("cuMemFreeAsync") == 1);
    CHECK(fake.calls("cuEventRecord") == 1 && fake.calls("cuStreamSynchronize") == 0);
    GOOD(lw_pool_also_on(a, two->handle, err));
    lw_pool_put(a);
    CHECK(fake.live("memory") == 1 && fake.calls("cuMemFreeAsync") == 2);
    CHECK(fake.calls("cuMemFree_v2") == 0 && fake.calls("cuCtxSynchronize") == 0);
    lw_pool_put(b);
    lw_stream_free(two);
    close_device();
}

/* Streams that others destroy without a word: cached memory of theirs is freed, but the driver,
 * which may crash on such a handle, never sees it again. */
static void
test_foreign_streams(void)
{
    CUstream foreign = NULL;
    lw_block *a, *b;
    CUdeviceptr address;

    open_device();
    CHECK(lw_cuda.StreamCreateWithPriority(&foreign, 1, 0) == 0);
    a = take(512, foreign);
    b = take(512, foreign);
    address = a->address;
    lw_pool_put(a);
    a = take(512, foreign); /* cached as any other */
    CHECK(a->address == address && fake.live("memory") == 2);
    lw_pool_put(a);
    CHECK(lw_cuda.StreamDestroy(foreign) == 0);
    fake.reset_calls();
    GOOD(lw_pool_trim(device, err));
    CHECK(fake.live("memory") == 1);
    CHECK(fake.calls("cuStreamIsCapturing") == 0 && fake.calls("cuMemFreeAsync") == 0);
    lw_pool_put(b);
    b = take(4096, LW_STREAM_PER_THREAD);
    fake.reset_calls();
    GOOD(lw_device_close(device, err)); /* gives back what is cached */
    CHECK(fake.live("memory") == 1 && fake.calls("cuMemFree_v2") == 1);
    CHECK(fake.calls("cuStreamIsCapturing") == 0 && fake.calls("cuMemFreeAsync") == 0);
    lw_pool_put(b);
    CHECK(fake.live("memory") == 0 && fake.calls("cuMemFreeAsync") == 1);
    close_device();
}

static void
test_out_of_memory(void)
{
    lw_block *blocks[4] = {NULL}, *more = NULL;
    size_t mb = 1 << 20;
    lw_error why = {0};
    int i;

    fake.set("memory", 64 << 20);
    open_device();
    for (i = 0; i < 4; i++)
        blocks[i] = take(8 * mb, NULL);
    for (i = 0; i < 4; i++)
        lw_pool_put(blocks[i]);
    CHECK(fake.live("memory") == 4);
    blocks[0] = take(40 * mb, NULL); /* the cache makes room */
    CHECK(fake.live("memory") == 1 && statistics().n_trims == 1);
    CHECK(lw_pool_take(device, 30 * mb, NULL, &more, &why) == LW_ERR_DRIVER && more == NULL);
    CHECK(why.vendor_code == 2 &&
          strcmp(lw_error_vendor_name(&why), "CUDA_ERROR_OUT_OF_MEMORY") == 0);
    CHECK(strstr(lw_error_text(&why), "31457280 bytes were asked for, 25165824 of 67108864 are "
                                      "free, 41943040 are held") != NULL);
    lw_error_reset(&why);
    BAD(lw_pool_take(device, SIZE_MAX - 5, NULL, &more, err), LW_ERR_DRIVER, "OUT_OF_MEMORY");
    more = take(20 * mb, NULL);
    lw_pool_put(more);
    lw_pool_put(blocks[0]);
    CHECK(statistics().used_bytes == 0 && statistics().n_used == 0);
    close_device();
    /* half of the device is the cache's limit */
    open_device();
    for (i = 0; i < 4; i++)
        blocks[i] = take(12 * mb, NULL);
    for (i = 0; i < 4; i++)
        lw_pool_put(blocks[i]);
    CHECK(statistics().cached_bytes <= 32 * mb && fake.used_bytes(0) <= (long long)(32 * mb));
    CHECK(fake.calls("cuCtxSynchronize") == 0);
    close_device();
    fake.set("memory", 16LL << 30);
}

static void
test_failures(void)
{
    lw_block *block = NULL;

    open_device();
    fake.fail("cuMemAllocFromPoolAsync", 1, 700);
    BAD(lw_pool_take(device, 512, NULL, &block, err), LW_ERR_DRIVER,
        "cuMemAllocFromPoolAsync failed on device 0: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    CHECK(block == NULL && statistics().n_used == 0 && fake.live("memory") == 0);
    fake.fail("cuMemAllocFromPoolAsync", 1, 2); /* once: the second try has it */
    block = take(512, NULL);
    lw_pool_put(block);
    close_device();
    fake.fail("cuMemPoolCreate", 1, 999);
    GOOD(lw_device_get(0, &device, err));
    BAD(lw_pool_take(device, 512, NULL, &block, err), LW_ERR_DRIVER, "cuMemPoolCreate failed");
    CHECK(fake.live("") == 0);
    block = take(512, NULL);
    lw_pool_put(block);
    close_device();
}

/* Without memory pools: cuMemAlloc, and still no driver call on a hit. */
static void
test_plain(void)
{
    lw_block *block;
    int i;

    fake.set("pools", 0);
    for (i = 0; i < 2; i++) {
        open_device();
        block = take(5000, NULL);
        CHECK(fake.calls("cuMemAlloc_v2") == 1 && fake.live("pools") == 0);
        lw_pool_put(block);
        fake.reset_calls();
        block = take(5000, NULL);
        lw_pool_put(block);
        CHECK(fake.calls("") == 0);
        GOOD(lw_pool_trim(device, err));
        CHECK(fake.live("memory") == 0 && fake.calls("cuMemFree_v2") == 1);
        close_device();
        fake.set("pools", 1); /* the second time: there, but refused */
        fake.fail("cuMemPoolCreate", 1, 801);
    }
    fake.fail("", 0, 0);
}

static void
test_capture(void)
{
    lw_stream *stream = NULL;
    lw_block *a, *b, *c;

    open_device();
    GOOD(lw_stream_new(device, false, 0, &stream, err));
    a = take(512, stream->handle);
    b = take(512, stream->handle);
    lw_pool_put(a);
    fake.set_capturing(stream->handle, 1);
    fake.reset_calls();
    a = take(512, stream->handle); /* a hit: nothing is captured */
    CHECK(fake.calls("") == 0);
    c = take(100000, stream->handle); /* a miss: from outside */
    CHECK(fake.calls("cuThreadExchangeStreamCaptureMode") == 2);
    CHECK(fake.calls("cuMemAllocFromPoolAsync") == 1 && fake.calls("cuStreamSynchronize") == 1);
    lw_pool_put(a);
    lw_pool_put(c);
    fake.reset_calls();
    GOOD(lw_pool_trim(device, err)); /* nothing goes through the capturing stream */
    CHECK(fake.calls("cuMemFreeAsync") == 0 && statistics().n_cached == 2);
    fake.set_capturing(stream->handle, 0);
    GOOD(lw_pool_trim(device, err));
    CHECK(fake.calls("cuMemFreeAsync") == 2 && statistics().n_cached == 0);
    lw_pool_put(b);
    lw_stream_free(stream);
    close_device();
}

/* ---- an external allocator --------------------------------------------------------------- */

typedef struct counter {
    int n_taken, n_put;
    bool full;
} counter;

static lw_status
source_take(void *context, lw_device *of, size_t size_bytes, CUstream stream, CUdeviceptr *out,
            void **keeper, lw_error *err)
{
    counter *seen = context;

    CHECK(of == device && stream == NULL && size_bytes == 777);
    if (seen->full)
        return lw_fail(err, LW_ERR_OUT_OF_MEMORY, "the source is empty");
    *out = 0x1000u + 0x1000u * (unsigned)++seen->n_taken;
    *keeper = (void *)(uintptr_t)*out;
    return LW_OK;
}

static void
source_put(void *context, lw_device *of, CUdeviceptr address, size_t size_bytes,
           CUstream stream, void *keeper)
{
    counter *seen = context;

    CHECK(of == device && address >= 0x2000 && size_bytes == 777 && stream == NULL);
    CHECK(keeper == (void *)(uintptr_t)address);
    seen->n_put++;
}

static void
test_source(void)
{
    counter seen = {0, 0, false};
    lw_pool_source source = {source_take, source_put, &seen};
    lw_block *before, *a, *b, *none = NULL;

    open_device();
    before = take(777, NULL);
    GOOD(lw_pool_set_source(&source, err));
    a = take(777, NULL);
    b = take(777, NULL);
    CHECK(seen.n_taken == 2 && a->address != b->address);
    lw_pool_put(before);
    CHECK(seen.n_put == 0); /* that one was ours */
    lw_pool_put(a);
    CHECK(seen.n_put == 1);
    seen.full = true;
    BAD(lw_pool_take(device, 777, NULL, &none, err), LW_ERR_OUT_OF_MEMORY, "source is empty");
    GOOD(lw_pool_set_source(NULL, err));
    a = take(777, NULL);
    lw_pool_put(b); /* back to where it came from */
    CHECK(seen.n_put == 2);
    lw_pool_put(a);
    close_device();
}

/* ---- threads --------------------------------------------------------------------------------
 */

static void *
churn(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    lw_block *held[16] = {NULL};
    int i, k;

    for (i = 0; i < 20000; i++) {
        seed = seed * 1664525u + 1013904223u;
        k = (int)(seed >> 16) % 16;
        lw_pool_put(held[k]);
        held[k] = NULL;
        GOOD(lw_pool_take(device, (seed >> 8) % 5000 + 1,
                          seed % 3 == 0 ? LW_STREAM_PER_THREAD : NULL, &held[k], err));
        if (i % 5000 == 0)
            GOOD(lw_pool_trim(device, err));
    }
    for (k = 0; k < 15; k++)
        lw_pool_put(held[k]);
    return held[15]; /* another thread puts it */
}

static void
test_threads(void)
{
    pthread_t threads[4];
    void *last;
    uintptr_t i;

    open_device();
    for (i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
    for (i = 0; i < 4; i++) {
        pthread_join(threads[i], &last);
        lw_pool_put(last);
    }
    CHECK(statistics().n_used == 0 && statistics().used_bytes == 0);
    GOOD(lw_pool_trim(device, err));
    CHECK(fake.live("memory") == 0);
    close_device();
}

/* One thread's own stream is not the other's, though the handles are equal. */
static void *
put_and_take(void *argument)
{
    lw_block **block = argument;

    lw_pool_put(*block);
    CHECK(fake.live("memory") == 0); /* given back, not cached here */
    *block = take(512, LW_STREAM_PER_THREAD);
    lw_pool_put(*block);
    return NULL;
}

static void
test_per_thread(void)
{
    lw_block *block;
    pthread_t thread;

    open_device();
    block = take(512, LW_STREAM_PER_THREAD);
    CHECK(pthread_create(&thread, NULL, put_and_take, &block) == 0);
    pthread_join(thread, NULL);
    fake.reset_calls();
    block = take(512, LW_STREAM_PER_THREAD);
    CHECK(fake.calls("cuMemAllocFromPoolAsync") == 1); /* the other's is not ours */
    lw_pool_put(block);
    close_device();
}

/* Not a verdict, only a figure. */
static void
show_speed(void)
{
    struct timespec from, to;
    const int n = 1000000;
    lw_block *block = NULL;
    int i;

    open_device();
    lw_pool_put(take(1000, NULL));
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (i = 0; i < n; i++) {
        (void)lw_pool_take(device, 1000, NULL, &block, NULL);
        lw_pool_put(block);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("take + put, hit: %.1f ns\n",
           ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / n);
    close_device();
}

int
main(int argc, char **argv)
{
    int64_t heap;

    fake_open(argc, argv);
    heap = lw_memory_live();
    test_hits();
    test_classes();
    test_streams();
    test_foreign_streams();
    test_out_of_memory();
    test_failures();
    test_plain();
    test_capture();
    test_source();
    test_per_thread();
    test_threads();
    show_speed();
    CHECK(lw_memory_live() == heap);
    if (n_failures != 0)
        fprintf(stderr, "%d failures\n", n_failures);
    return n_failures != 0;
}
