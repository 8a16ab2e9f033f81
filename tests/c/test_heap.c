/* The heap of kernels against the fake driver: its size, its state, which images know it, and
 * statistics, which the test writes as the text of core/emit/gpu_memory.c would. */
#include "core/device/heap.h"
#include "core/base/memory.h"
#include "core/device/module.h"
#include "core/ir/counted.h"
#include "tests/c/fake_driver.h"

static lw_device *device;

static void
heap_image(fake_image *out, int variant)
{
    static const char strings[] = "\0add\0" LW_HEAP_VARIABLE;

    fake_image_with(out, variant, strings, sizeof strings);
}

static lw_image *
load(int variant)
{
    fake_image image;
    lw_image *loaded = NULL;

    heap_image(&image, variant);
    GOOD(lw_device_get(0, &device, err));
    GOOD(lw_image_load(device, &image, sizeof image, &loaded, err));
    return loaded;
}

static uint64_t *
state_of(lw_image *image)
{
    return fake_address_in(image, LW_HEAP_VARIABLE);
}

static void
test_state(void)
{
    lw_image *a = load(1), *b = load(2), *c;
    uint64_t *state = state_of(a), warps = state[LW_HEAP_WARPS_AT / 8];
    size_t heap_bytes = lw_heap_bytes(device);

    CHECK(state != NULL && state == state_of(b)); /* one for the context */
    CHECK(warps == (uint64_t)device->n_sms * (uint64_t)device->max_threads_per_sm / 32);
    CHECK(state[LW_HEAP_SM_WARPS_AT / 8] == (uint64_t)device->max_threads_per_sm / 32);
    CHECK(heap_bytes == device->total_bytes / 16 || heap_bytes == (size_t)1 << 30);
    CHECK(state[LW_HEAP_KEPT_AT / 8] <= heap_bytes / 2 / warps / 32);
    CHECK(state[LW_HEAP_SHARED_AT / 8] * 32 <= heap_bytes / 256);
    for (uint64_t i = 0; i < warps * LW_HEAP_WARP_BYTES / 8; i++)
        CHECK(state[LW_HEAP_HEADER / 8 + i] == 0);
    lw_image_drop(a);
    lw_image_drop(b);
    c = load(3); /* what is kept in slots is not lost with the last image */
    CHECK(state_of(c) == state);
    lw_image_drop(c);
    lw_driver_close();
    CHECK(fake.live("") == 0);
}

static void
test_statistics(void)
{
    lw_heap_stats stats = {9, 9, 9, 9};
    lw_image *image;
    uint64_t *state;

    GOOD(lw_heap_read(&stats, err));
    CHECK(stats.allocated == 0 && !lw_heap_counts());
    GOOD(lw_heap_count(true, err)); /* of contexts to come */
    image = load(1);
    state = state_of(image);
    CHECK(lw_heap_counts() && state[LW_HEAP_COUNTS_AT / 8] == 1);
    state[LW_HEAP_ALLOCATED_AT / 8] = 5;
    state[LW_HEAP_FREED_AT / 8] = 4;
    state[LW_HEAP_MADE_AT / 8] = 3;
    state[LW_HEAP_DESTROYED_AT / 8] = 2;
    GOOD(lw_heap_read(&stats, err));
    CHECK(stats.allocated == 5 && stats.freed == 4 && stats.made == 3 && stats.destroyed == 2);
    GOOD(lw_heap_count(false, err)); /* and of those that are there */
    CHECK(state[LW_HEAP_COUNTS_AT / 8] == 0);
    GOOD(lw_heap_read(&stats, err));
    CHECK(stats.allocated == 5);
    GOOD(lw_heap_forget(err));
    GOOD(lw_heap_read(&stats, err));
    CHECK(stats.allocated == 0 && stats.destroyed == 0);
    fake.fail("cuCtxSynchronize", 1, 700);
    BAD(lw_heap_read(&stats, err), LW_ERR_DRIVER, "cuCtxSynchronize");
    fake.fail("", 0, 0);
    lw_image_drop(image);
    GOOD(lw_device_reset(device, err)); /* the state goes with its context */
    GOOD(lw_heap_read(&stats, err));
    image = load(1);
    CHECK(lw_heap_bytes(device) > 0);
    lw_image_drop(image);
    lw_driver_close();
    CHECK(fake.live("") == 0);
}

static void
test_sizes(void)
{
    lw_image *image;

    CHECK(lw_env_set(LW_ENV_nrt_heap_mb, "3000"));
    image = load(1);
    CHECK(lw_heap_bytes(device) == (size_t)3000 << 20);
    lw_image_drop(image);
    lw_driver_close();
    CHECK(lw_env_set(LW_ENV_nrt_heap_mb, "8"));
    image = load(1); /* the fake keeps its limit: a heap is not made smaller */
    CHECK(lw_heap_bytes(device) == (size_t)3000 << 20);
    lw_image_drop(image);
    lw_driver_close();
    CHECK(lw_env_set(LW_ENV_nrt_heap_mb, "5000"));
    fake.fail("cuCtxSetLimit", 1, 1); /* another library's kernels have used the heap */
    image = load(1);
    CHECK(fake.failed());
    CHECK(lw_heap_bytes(device) == (size_t)3000 << 20);
    fake.fail("", 0, 0);
    lw_image_drop(image);
    lw_driver_close();
    CHECK(fake.live("") == 0);
    CHECK(lw_env_set(LW_ENV_nrt_heap_mb, "0"));
}

/* Every driver call of loading fails once. */
static void
test_faults(void)
{
    for (int nth = 1; nth < 80; nth++) {
        fake_image bytes;
        lw_image *image = NULL;
        lw_error error = {0};
        heap_image(&bytes, 3);
        GOOD(lw_device_get(0, &device, err));
        GOOD(lw_device_enter(device, err));
        fake.fail("", nth, 2);
        lw_status status = lw_image_load(device, &bytes, sizeof bytes, &image, &error);
        int failed = fake.failed();
        fake.fail("", 0, 0);
        CHECK(status == LW_OK || failed);
        if (status == LW_OK) {
            CHECK(state_of(image) != NULL);
            lw_image_drop(image);
        }
        lw_error_reset(&error);
        lw_driver_close();
        CHECK(fake.live("") == 0);
        if (!failed)
            return;
    }
    CHECK(!"the sweep ends");
}

int
main(int argc, char **argv)
{
    fake_open(argc, argv);
    test_state();
    test_statistics();
    test_sizes();
    test_faults();
    return n_failures != 0;
}
