/* The driver layer against the fake driver: loading and its failures, devices, streams, events,
 * images, launches, copies. */
#include "core/base/memory.h"
#include "core/device/copy.h"
#include "core/device/launch.h"
#include "core/device/pool.h"
#include "core/device/stream.h"
#include "tests/c/fake_driver.h"

/* ---- loading ---- */

static void
test_no_driver(void)
{
    char *chosen = strdup(lw_env_text(LW_ENV_driver));
    lw_device *device;
    int n = 7;

    lw_env_set(LW_ENV_driver, "/nowhere/libcuda.so.1");
    BAD(lw_driver_need(err), LW_ERR_DRIVER, "/nowhere/libcuda.so.1");
    BAD(lw_driver_need(err), LW_ERR_DRIVER, "LANEWISE_CUDA_DRIVER");
    BAD(lw_device_get(0, &device, err), LW_ERR_DRIVER, "no CUDA driver was found");
    CHECK(!lw_driver_available());
    lw_env_set(LW_ENV_driver, chosen);
    lw_env_set(LW_ENV_no_cuda, "1");
    BAD(lw_device_count(&n, err), LW_ERR_DRIVER, "LANEWISE_NO_CUDA=1");
    lw_env_set(LW_ENV_no_cuda, "0");
    fake.set("version", 11080);
    BAD(lw_driver_need(err), LW_ERR_DRIVER, "supports CUDA 11.8, lanewise needs 12.0");
    fake.set("version", 13000);
    fake.fail("cuInit", 1, 999);
    BAD(lw_driver_need(err), LW_ERR_DRIVER, "cuInit failed: CUDA_ERROR_UNKNOWN (999)");
    fake.set("devices", 0);
    BAD(lw_driver_need(err), LW_ERR_DRIVER, "CUDA_ERROR_NO_DEVICE (100)");
    fake.set("devices", 1);
    CHECK(lw_driver_version() == 0 && lw_driver_path()[0] == 0);
    GOOD(lw_driver_need(err));
    CHECK(lw_driver_available());
    CHECK(lw_driver_version() == 13000);
    CHECK(strcmp(lw_driver_path(), chosen) == 0);
    free(chosen);
    lw_driver_close();
}

/* dlsym when cuGetProcAddress does not want to answer. */
static void
test_lookup(void)
{
    lw_device *device;

    fake.set("getproc", 0);
    device = device_0();
    CHECK(lw_cuda.MemAlloc != NULL && lw_cuda.LaunchKernelEx != NULL);
    GOOD(lw_device_enter(device, err));
    lw_driver_close();
    fake.set("getproc", 1);
}

static void
test_absent(void)
{
    lw_device *device;
    lw_stream *stream = NULL;
    lw_error first = {0};

    fake.absent("cuStreamCreateWithPriority,cuStreamQuery");
    device = device_0();
    CHECK(lw_cuda.StreamCreateWithPriority == NULL);
    CHECK(lw_stream_new(device, false, 0, &stream, &first) == LW_ERR_DRIVER);
    CHECK(strstr(lw_error_text(&first), "has no cuStreamCreateWithPriority") != NULL);
    CHECK(strcmp(lw_error_vendor_name(&first), "CUDA_ERROR_NOT_SUPPORTED") == 0 &&
          first.vendor_code == 801);
    lw_error_reset(&first);
    fake.absent("");
    lw_driver_close();
    device = device_0();
    GOOD(lw_stream_new(device, false, 0, &stream, err));
    lw_stream_free(stream);
    lw_driver_close();
}

static void
test_error_text(void)
{
    lw_device *device = device_0();
    lw_error first = {0};

    fake.fail("cuCtxSynchronize", 1, 700);
    CHECK(lw_device_synchronize(device, &first) == LW_ERR_DRIVER);
    CHECK(strcmp(lw_error_text(&first),
                 "cuCtxSynchronize failed on device 0: CUDA_ERROR_ILLEGAL_ADDRESS (700): an "
                 "illegal memory access was encountered") == 0);
    CHECK(first.vendor_code == 700 &&
          strcmp(lw_error_vendor_name(&first), "CUDA_ERROR_ILLEGAL_ADDRESS") == 0);
    lw_error_reset(&first);
    fake.fail("cuCtxSynchronize", 1, 12345); /* a code from the future */
    BAD(lw_device_synchronize(device, err), LW_ERR_DRIVER, "unknown CUDA error (12345)");
    GOOD(lw_device_synchronize(device, err));
    CHECK(strcmp(lw_driver_call_name(LW_CALL_MemAlloc), "cuMemAlloc") == 0);
    lw_driver_close();
}

/* ---- devices ---- */

static void
test_devices(void)
{
    lw_device *one = NULL, *two = NULL, *now = NULL;
    CUcontext before, current;
    int n = 0;

    fake.set("devices", 2);
    GOOD(lw_device_count(&n, err));
    CHECK(n == 2);
    GOOD(lw_device_get(1, &two, err));
    one = device_0();
    CHECK(one->cc_major == 9 && one->cc_minor == 0 && one->n_sms == 132 && one->l2_bytes > 0);
    CHECK(strcmp(one->name, "Fake GPU 0") == 0 && one->total_bytes == (size_t)16 << 30);
    CHECK(one->max_grid[0] == 2147483647 && one->max_block[2] == 64 && one->has_pools == 1);
    BAD(lw_device_get(2, &now, err), LW_ERR_DRIVER, "no CUDA device 2: this machine has 2");
    BAD(lw_device_get(-1, &now, err), LW_ERR_DRIVER, "no CUDA device -1");
    CHECK(fake.live("contexts") == 0); /* nothing was retained for a look */
    GOOD(lw_device_current(&now, err));
    CHECK(now == one);
    GOOD(lw_device_select(1, &now, err));
    CHECK(now == two && fake.live("contexts") == 1);
    GOOD(lw_device_current(&now, err));
    CHECK(now == two);
    GOOD(lw_device_visit(one, &before, err)); /* and back */
    CHECK(before != NULL);
    GOOD(lw_device_current(&now, err));
    CHECK(now == one);
    lw_device_leave(before);
    GOOD(lw_device_current(&now, err));
    CHECK(now == two);
    lw_cuda.CtxGetCurrent(&current);
    GOOD(lw_device_enter(two, err));
    fake.reset_calls();
    GOOD(lw_device_enter(two, err)); /* one question, no change */
    CHECK(fake.calls("") == 1 && fake.calls("cuCtxGetCurrent") == 1);
    GOOD(lw_device_close(one, err));
    GOOD(lw_device_close(two, err));
    CHECK(fake.live("") == 0);
    GOOD(lw_device_enter(two, err)); /* and again */
    CHECK(fake.live("contexts") == 1);
    lw_driver_close();
    fake.set("devices", 1);
}

/* Another library's context of the same device is left alone. */
static void
test_foreign_context(void)
{
    lw_device *device = device_0();
    void *foreign = NULL;
    CUcontext current = NULL;
    lw_stream *stream = NULL;

    GOOD(lw_device_enter(device, err));
    CHECK(fake.context_new(&foreign, 0, 0) == 0);
    GOOD(lw_device_enter(device, err));
    lw_cuda.CtxGetCurrent(&current);
    CHECK((void *)current == foreign);
    GOOD(lw_stream_new(device, false, 0, &stream, err));
    lw_stream_free(stream);
    lw_cuda.CtxGetCurrent(&current);
    CHECK((void *)current == foreign);
    fake.context_free(foreign);
    GOOD(lw_device_enter(device, err));
    lw_driver_close();
    CHECK(fake.live("") == 0);
}

/* What is alive keeps its context through a close; after a reset it lets go silently. */
static void
test_close_and_reset(void)
{
    lw_device *device = device_0();
    lw_stream *stream = NULL;
    lw_block *block = NULL;

    GOOD(lw_stream_new(device, false, 0, &stream, err));
    GOOD(lw_pool_take(device, 1000, stream->handle, &block, err));
    GOOD(lw_device_close(device, err));
    CHECK(fake.live("contexts") == 1 && fake.live("memory") == 1);
    lw_pool_put(block); /* freed, not cached: the device is closed */
    CHECK(fake.live("memory") == 0);
    lw_stream_free(stream);
    CHECK(fake.live("") == 0);

    GOOD(lw_stream_new(device, false, 0, &stream, err));
    GOOD(lw_pool_take(device, 1000, NULL, &block, err));
    GOOD(lw_device_reset(device, err));
    CHECK(fake.live("") == 0);
    GOOD(lw_device_enter(device, err)); /* works anew, with old things still held */
    fake.reset_calls();
    lw_stream_free(stream);
    lw_pool_put(block);
    CHECK(fake.calls("cuStreamDestroy_v2") == 0 && fake.calls("cuMemFreeAsync") == 0);
    lw_driver_close();
    CHECK(fake.live("") == 0);
}

static void
test_two_devices(void)
{
    lw_device *one, *two = NULL;
    lw_block *a = NULL, *b = NULL;
    char text[16] = "between";

    fake.set("devices", 2);
    one = device_0();
    GOOD(lw_device_get(1, &two, err));
    GOOD(lw_pool_take(one, 16, NULL, &a, err));
    GOOD(lw_pool_take(two, 16, NULL, &b, err));
    GOOD(lw_copy_to_device(&(lw_copy_queue){one, NULL, true}, a->address, text, sizeof text,
                           err));
    GOOD(lw_copy_between(&(lw_copy_queue){one, NULL, true}, two, b->address, a->address,
                         sizeof text, err));
    memset(text, 0, sizeof text);
    GOOD(
        lw_copy_to_host(&(lw_copy_queue){two, NULL, true}, text, b->address, sizeof text, err));
    CHECK(strcmp(text, "between") == 0);
    GOOD(lw_stream_after_on(one, NULL, two, NULL, err));
    lw_pool_put(a);
    lw_pool_put(b);
    lw_driver_close();
    CHECK(fake.live("") == 0);
    fake.set("devices", 1);
}

/* ---- streams, events, copies ---- */

static void
test_streams(void)
{
    lw_device *device = device_0();
    lw_stream *one = NULL, *two = NULL, *wrapped = NULL;
    lw_event *from = NULL, *to = NULL, *plain = NULL;
    bool done = false, capturing = true;
    float ms = 0;
    int n = 0;

    GOOD(lw_stream_new(device, false, -1, &one, err));
    GOOD(lw_stream_new(device, true, 99, &two, err));
    GOOD(lw_stream_wrap(device, one->handle, &wrapped, err));
    GOOD(lw_stream_synchronize(device, NULL, err));
    GOOD(lw_stream_synchronize(device, LW_STREAM_PER_THREAD, err));
    GOOD(lw_stream_query(device, one->handle, &done, err));
    CHECK(done);
    fake.set_busy(one->handle, 1);
    GOOD(lw_stream_query(device, one->handle, &done, err));
    CHECK(!done);
    GOOD(lw_stream_capturing(device, one->handle, &capturing, err));
    CHECK(!capturing);
    fake.reset_calls();
    GOOD(lw_stream_after(device, two->handle, one->handle, err));
    CHECK(strstr(fake.log(), "cuEventRecord\ncuStreamWaitEvent\ncuEventDestroy_v2\n") != NULL);
    CHECK(fake.calls("cuStreamSynchronize") == 0 && fake.live("events") == 0);
    GOOD(lw_event_new(device, true, &from, err));
    GOOD(lw_event_new(device, true, &to, err));
    GOOD(lw_event_new(device, false, &plain, err));
    GOOD(lw_event_record(from, one->handle, err));
    GOOD(lw_event_query(from, &done, err));
    CHECK(!done);
    GOOD(lw_event_record(to, two->handle, err));
    GOOD(lw_event_wait(from, device, two->handle, err));
    GOOD(lw_event_synchronize(to, err));
    GOOD(lw_event_elapsed(from, to, &ms, err));
    CHECK(ms == 1.5f);
    BAD(lw_event_elapsed(from, plain, &ms, err), LW_ERR_VALUE, "the second one");
    lw_event_free(from);
    lw_event_free(to);
    lw_event_free(plain);
    lw_stream_free(wrapped); /* not destroyed */
    CHECK(fake.live("streams") == 2);
    lw_stream_free(one);
    BAD(lw_stream_synchronize(device, (CUstream)(void *)&n, err), LW_ERR_DRIVER,
        "CUDA_ERROR_INVALID_HANDLE");
    lw_stream_free(two);
    lw_stream_free(NULL);
    lw_event_free(NULL);
    lw_driver_close();
    CHECK(fake.live("") == 0);
}

static void
test_copies(void)
{
    lw_device *device = device_0(), *of = NULL;
    unsigned char out[64], in[64];
    lw_block *a = NULL, *b = NULL;
    int i;

    for (i = 0; i < 64; i++)
        in[i] = (unsigned char)(3 * i);
    GOOD(lw_pool_take(device, 64, NULL, &a, err));
    GOOD(lw_pool_take(device, 64, NULL, &b, err));
    GOOD(lw_copy_to_host(&(lw_copy_queue){device, NULL, true}, out, a->address, 64, err));
    CHECK(out[0] == 0xA5 && out[63] == 0xA5);
    GOOD(lw_copy_to_device(&(lw_copy_queue){device, NULL, false}, a->address, in, 64, err));
    GOOD(lw_copy_on_device(&(lw_copy_queue){device, NULL, false}, b->address, a->address, 64,
                           err));
    GOOD(lw_fill(&(lw_copy_queue){device, NULL, false}, b->address, 0x11223344, 4, 2, err));
    GOOD(lw_fill(&(lw_copy_queue){device, NULL, false}, b->address + 8, 0x5566, 2, 1, err));
    GOOD(lw_fill(&(lw_copy_queue){device, NULL, false}, b->address + 10, 0x77, 1, 1, err));
    BAD(lw_fill(&(lw_copy_queue){device, NULL, false}, b->address, 0, 3, 1, err), LW_ERR_VALUE,
        "got 3");
    GOOD(lw_copy_to_host(&(lw_copy_queue){device, NULL, true}, out, b->address, 64, err));
    CHECK(memcmp(out, "\x44\x33\x22\x11\x44\x33\x22\x11\x66\x55\x77", 11) == 0);
    CHECK(memcmp(out + 11, in + 11, 53) == 0);
    GOOD(lw_copy_to_device(&(lw_copy_queue){device, NULL, true}, 0, NULL, 0,
                           err)); /* nothing: nothing happens */
    BAD(lw_copy_to_device(&(lw_copy_queue){device, NULL, true}, 64, in, 64, err), LW_ERR_DRIVER,
        "cuMemcpyHtoDAsync failed on device 0: CUDA_ERROR_INVALID_VALUE (1)");
    GOOD(lw_device_of_address(a->address, &of, err));
    CHECK(of == device);
    BAD(lw_device_of_address(64, &of, err), LW_ERR_VALUE,
        "0x40 does not belong to the memory of a CUDA device");
    lw_pool_put(a);
    lw_pool_put(b);
    lw_driver_close();
    CHECK(fake.live("") == 0);
}

static void
test_host_blocks(void)
{
    static const lw_host_kind kinds[] = {LW_HOST_PINNED, LW_HOST_MAPPED, LW_HOST_WRITE_COMBINED,
                                         LW_HOST_MANAGED, LW_HOST_REGISTERED};
    lw_device *device = device_0();
    static char mine[4096];
    size_t i;

    for (i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        lw_host_block *block = NULL;
        bool own = kinds[i] == LW_HOST_REGISTERED;
        GOOD(lw_host_block_new(device, kinds[i], own ? mine : NULL, sizeof mine, &block, err));
        CHECK(block->host != NULL && (block->host == mine) == own);
        CHECK((block->address != 0) == (kinds[i] != LW_HOST_PINNED));
        memset(block->host, 1, sizeof mine);
        lw_host_block_free(block);
        CHECK(fake.live("host") == 0 && fake.live("memory") == 0);
    }
    fake.fail("cuMemHostGetDevicePointer_v2", 1, 801);
    {
        lw_host_block *block = NULL;
        BAD(lw_host_block_new(device, LW_HOST_MAPPED, NULL, 64, &block, err), LW_ERR_DRIVER,
            "cuMemHostGetDevicePointer");
    }
    lw_host_block_free(NULL);
    lw_driver_close();
    CHECK(fake.live("") == 0);
}

/* ---- images and launches ---- */

static void
unloading(void *context, bool alive)
{
    *(int *)context += alive ? 1 : 100;
}

static void
test_images(void)
{
    lw_device *device = device_0();
    fake_image image, other;
    lw_image *one = NULL, *two = NULL, *three = NULL, *bad = NULL;
    lw_kernel *add = NULL, *again = NULL;
    CUdeviceptr address = 0;
    CUmodule handle = NULL;
    size_t n_bytes = 0;
    int n_unloaded = 0;

    fake_image_make(&image, 1);
    fake_image_make(&other, 2);
    GOOD(lw_image_load(device, &image, sizeof image, &one, err));
    GOOD(lw_image_load(device, &image, sizeof image, &two, err));
    GOOD(lw_image_load(device, &other, sizeof other, &three, err));
    CHECK(one == two && one != three && fake.live("modules") == 2);
    GOOD(lw_image_kernel(one, "add", &add, err));
    GOOD(lw_image_kernel(two, "add", &again, err));
    CHECK(add == again && add->module == one && lw_image_device(one) == device);
    CHECK(add->info.registers == 32 && add->info.max_threads == 1024 &&
          add->info.const_bytes == 64 && add->info.binary_version == 90);
    CHECK(fake.calls("cuFuncLoad") > 0);
    BAD(lw_image_kernel(one, "nothing", &again, err), LW_ERR_LINK,
        "no kernel named \"nothing\"");
    GOOD(lw_image_global(one, "table", &address, &n_bytes, err));
    CHECK(address != 0 && n_bytes == 64);
    BAD(lw_image_global(one, "chair", &address, &n_bytes, err), LW_ERR_DRIVER, "\"chair\"");
    GOOD(lw_image_handle(one, &handle, err));
    GOOD(lw_kernel_allow_shared(add, 100000, err));
    BAD(lw_kernel_allow_shared(add, 400000, err), LW_ERR_DRIVER, "a block may have 232448");
    BAD(lw_image_load(device, "not an image at all, but long enough", 36, &bad, err),
        LW_ERR_DRIVER, "compute capability 9.0");
    CHECK(lw_image_unload_context(one, unloading) == NULL);
    GOOD(lw_image_at_unload(one, unloading, &n_unloaded, err));
    CHECK(lw_image_unload_context(one, unloading) == &n_unloaded);
    lw_image_drop(one);
    CHECK(n_unloaded == 0 && fake.live("modules") == 2);
    lw_image_drop(two);
    CHECK(n_unloaded == 1 && fake.live("modules") == 1);
    lw_image_drop(three);
    lw_image_drop(NULL);
    lw_driver_close();
    CHECK(fake.live("") == 0);
}

/* One that is retired is not found again, and its users keep it; a reset is told to callbacks.
 */
static void
test_retired_images(void)
{
    lw_device *device = device_0();
    lw_image *one = NULL, *two = NULL;
    fake_image image;
    int n_unloaded = 0;

    fake_image_make(&image, 1);
    GOOD(lw_image_load(device, &image, sizeof image, &one, err));
    CHECK(lw_image_is_ready(one));
    lw_image_hold_back(one);
    lw_image_hold_back(one);
    lw_image_release(one);
    CHECK(!lw_image_is_ready(one) && lw_image_is_alive(one));
    GOOD(lw_image_load(device, &image, sizeof image, &two, err));
    CHECK(one == two);
    lw_image_drop(two);
    lw_image_retire(one);
    lw_image_release(one);
    CHECK(!lw_image_is_ready(one) && lw_image_is_alive(one));
    GOOD(lw_image_load(device, &image, sizeof image, &two, err));
    CHECK(one != two && lw_image_is_ready(two) && fake.live("modules") == 2);
    GOOD(lw_image_at_unload(one, unloading, &n_unloaded, err));
    CHECK(lw_image_hold(one));
    lw_image_drop(one);
    CHECK(n_unloaded == 0);
    lw_image_drop(one);
    CHECK(n_unloaded == 1 && fake.live("modules") == 1);
    GOOD(lw_image_at_unload(two, unloading, &n_unloaded, err));
    GOOD(lw_device_reset(device, err));
    lw_image_drop(two);
    CHECK(n_unloaded == 101);
    lw_driver_close();
    CHECK(fake.live("") == 0);
}

/* The older calls, where cuLibrary* are absent. */
static void
test_old_images(void)
{
    lw_device *device;
    fake_image image;
    lw_image *one = NULL;
    lw_kernel *add = NULL;
    CUdeviceptr address = 0;
    CUmodule handle = NULL;
    size_t n_bytes = 0;

    fake.absent("cuLibraryLoadData,cuFuncLoad");
    device = device_0();
    fake_image_make(&image, 1);
    GOOD(lw_image_load(device, &image, sizeof image, &one, err));
    GOOD(lw_image_kernel(one, "add", &add, err));
    CHECK(add->handle == NULL && add->function != NULL);
    BAD(lw_image_kernel(one, "nothing", &add, err), LW_ERR_LINK, "nothing");
    GOOD(lw_image_global(one, "table", &address, &n_bytes, err));
    GOOD(lw_image_handle(one, &handle, err));
    CHECK(handle != NULL);
    lw_image_drop(one);
    lw_driver_close();
    CHECK(fake.live("") == 0);
    fake.absent("");
}

static void
test_launches(void)
{
    lw_device *device = device_0();
    fake_image image;
    lw_image *one = NULL;
    lw_kernel *add = NULL;
    lw_launch_config best, of;
    unsigned long long address = 0x1234567890;
    int n = 77;
    void *params[] = {&address, &n};
    fake_launch seen;

    fake_image_make(&image, 1);
    GOOD(lw_image_load(device, &image, sizeof image, &one, err));
    GOOD(lw_image_kernel(one, "add", &add, err));
    fake.reset_calls();
    GOOD(lw_launch(add, &(lw_launch_shape){{5, 2, 1}, {256, 1, 1}, {0, 0, 0}, 64, NULL}, params,
                   err));
    CHECK(fake.calls("") == 1); /* one driver call, nothing else */
    CHECK(fake.last_launch(&seen) && strcmp(seen.name, "add") == 0 && seen.n_params == 2);
    CHECK(seen.grid[0] == 5 && seen.grid[1] == 2 && seen.block[0] == 256 &&
          seen.shared_bytes == 64 && !seen.together);
    CHECK(memcmp(seen.values, &address, 8) == 0 && memcmp(seen.values + 8, &n, 4) == 0);
    GOOD(lw_launch_together(add, &(lw_launch_shape){{1, 1, 1}, {32, 1, 1}, {0, 0, 0}, 0, NULL},
                            params, err));
    CHECK(fake.last_launch(&seen) && seen.together && seen.grid[0] == 1 && seen.block[0] == 32);
    BAD(lw_launch(add, &(lw_launch_shape){{0, 1, 1}, {32, 1, 1}, {0, 0, 0}, 0, NULL}, params,
                  err),
        LW_ERR_DRIVER, "kernel \"add\", grid 0 x 1 x 1, block 32 x 1 x 1");
    fake.fail("cuLaunchKernel", 1, 400); /* the context-free handle is tried */
    GOOD(lw_launch(add, &(lw_launch_shape){{1, 1, 1}, {32, 1, 1}, {0, 0, 0}, 0, NULL}, params,
                   err));
    fake.reset_calls();
    GOOD(lw_launch_config_best(add, 0, 0, &best, err));
    CHECK(best.block == 1024 && best.blocks_per_sm == 2 && best.full_grid == 264);
    CHECK(fake.calls("cuOccupancyMaxPotentialBlockSize") == 1);
    fake.reset_calls();
    GOOD(lw_launch_config_best(add, 0, 0, &of, err));
    CHECK(fake.calls("") == 0 && memcmp(&best, &of, sizeof of) == 0);
    GOOD(lw_launch_config_best(add, 0, 256, &of, err));
    CHECK(of.block == 256 && of.blocks_per_sm == 8);
    GOOD(lw_launch_config_of(add, 128, 0, &of, err));
    CHECK(of.block == 128 && of.blocks_per_sm == 16);
    BAD(lw_launch_config_of(add, 2048, 0, &of, err), LW_ERR_VALUE, "1 to 1024 threads");
    BAD(lw_launch_config_of(add, 128, 300000, &of, err), LW_ERR_VALUE, "cannot run with 128");
    lw_image_drop(one);
    lw_driver_close();
    CHECK(fake.live("") == 0);
}

int
main(int argc, char **argv)
{
    int64_t heap;

    fake_open(argc, argv);
    heap = lw_memory_live();
    test_no_driver();
    test_lookup();
    test_absent();
    test_error_text();
    test_devices();
    test_foreign_context();
    test_close_and_reset();
    test_two_devices();
    test_streams();
    test_copies();
    test_host_blocks();
    test_images();
    test_retired_images();
    test_old_images();
    test_launches();
    check_nothing_left(heap);
    if (n_failures != 0)
        fprintf(stderr, "%d failures\n", n_failures);
    return n_failures != 0;
}
