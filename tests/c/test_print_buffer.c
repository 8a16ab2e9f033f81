/* What GPU threads print, against the fake driver: the test writes records as the helpers of
 * core/emit/print.c would. */
#include "core/base/memory.h"
#include "core/device/copy.h"
#include "core/device/print_buffer.h"
#include "core/ir/print_buffer.h"
#include "core/ir/printed.h"
#include "tests/c/fake_driver.h"

static lw_device *device;

static void
printing_image(fake_image *out, int variant)
{
    static const char strings[] = "\0add\0" LW_PRINT_VARIABLE;

    fake_image_with(out, variant, strings, sizeof strings);
}

static lw_image *
load(int variant)
{
    fake_image image;
    lw_image *loaded = NULL;

    printing_image(&image, variant);
    GOOD(lw_device_get(0, &device, err));
    GOOD(lw_image_load(device, &image, sizeof image, &loaded, err));
    return loaded;
}

static uint64_t *
buffer_of(lw_image *image)
{
    return fake_address_in(image, LW_PRINT_VARIABLE);
}

static void
gpu_prints(uint64_t *buffer, uint64_t number, uint64_t value)
{
    uint64_t half = buffer[0], at = buffer[1 + half];
    uint64_t *words = buffer + 8 + half * LW_PRINT_WORDS;

    buffer[1 + half] += 3;
    if (at + 3 > LW_PRINT_WORDS) {
        buffer[3 + half]++;
        return;
    }
    words[at] = 2;
    words[at + 1] = number;
    words[at + 2] = value;
}

static void
test_lines(void)
{
    lw_format_value value = {.dtype = LW_DT_i64, .behind = "\n"};
    uint64_t number = lw_format_add("x ", &value, 1);
    lw_image *a = load(1), *b = load(2);
    uint64_t *buffer = buffer_of(a);
    lw_printed got;

    CHECK(number != 0 && number == lw_format_add("x ", &value, 1));
    CHECK(buffer != NULL && buffer == buffer_of(b)); /* one for the context */
    CHECK(lw_print_any());
    GOOD(lw_print_collect(err));
    CHECK(!lw_printed_pending());
    for (uint64_t i = 0; i < 5; i++)
        gpu_prints(buffer, number, i);
    GOOD(lw_print_collect(err));
    CHECK(lw_printed_pending());
    gpu_prints(buffer, number, 5); /* into the other half */
    CHECK(buffer[0] == 1 && buffer[2] == 3);
    GOOD(lw_print_collect(err));
    got = lw_printed_take();
    CHECK(got.n == 12 && got.n_dropped == 0 && got.words[0] == number && got.words[11] == 5);
    lw_free(got.words);
    gpu_prints(buffer, number, 6);
    lw_image_drop(a);
    lw_image_drop(b); /* what was printed before it went is not lost */
    CHECK(!lw_print_any());
    got = lw_printed_take();
    CHECK(got.n == 2 && got.words[1] == 6);
    lw_free(got.words);
    lw_driver_close();
    CHECK(fake.live("") == 0);
}

static void
test_full(void)
{
    lw_format_value value = {.dtype = LW_DT_f64, .behind = "\n"};
    uint64_t number = lw_format_add("y ", &value, 1);
    lw_image *image = load(1);
    uint64_t *buffer = buffer_of(image), fit = LW_PRINT_WORDS / 3;
    lw_printed got;

    for (uint64_t i = 0; i < fit + 7; i++)
        gpu_prints(buffer, number, i);
    GOOD(lw_print_collect(err));
    got = lw_printed_take();
    CHECK(got.n == 2 * fit && got.n_dropped == 7);
    lw_free(got.words);
    for (uint64_t i = 0; i < fit + 7; i++) /* the other half is as long */
        gpu_prints(buffer, number, i);
    GOOD(lw_print_collect(err));
    gpu_prints(buffer, number, 1); /* and the first one is clean again */
    CHECK(buffer[8] == 2 && buffer[11] == 0);
    GOOD(lw_print_collect(err));
    got = lw_printed_take();
    lw_free(got.words);
    lw_image_drop(image);
    lw_driver_close();
    CHECK(fake.live("") == 0);
}

/* Every driver call of loading fails once. */
static void
test_faults(void)
{
    for (int nth = 1; nth < 60; nth++) {
        fake_image bytes;
        lw_image *image = NULL;
        lw_error error = {0};
        printing_image(&bytes, 3);
        GOOD(lw_device_get(0, &device, err));
        GOOD(lw_device_enter(device, err));
        fake.fail("", nth, 2);
        lw_status status = lw_image_load(device, &bytes, sizeof bytes, &image, &error);
        int failed = fake.failed();
        fake.fail("", 0, 0);
        CHECK(status == LW_OK || failed);
        if (status == LW_OK)
            lw_image_drop(image);
        lw_error_reset(&error);
        CHECK(!lw_print_any());
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
    test_lines();
    test_full();
    test_faults();
    return n_failures != 0;
}
