/* What kernels report: the host half against the fake driver (the test writes what a kernel
 * would), the IR half through the verifier and as text. */
#include "core/device/copy.h"
#include "core/device/report.h"
#include "core/device/stream.h"
#include "tests/c/fake_driver.h"

static lw_device *device;

/* The fake's device memory is host memory. */
static lw_report_control *
control_of(const lw_report *report)
{
    return (lw_report_control *)(uintptr_t)lw_report_address(report);
}

static bool
kernel_fails(const lw_report *report, int32_t status)
{
    lw_report_control *control = control_of(report);
    lw_report_record *record = (lw_report_record *)(uintptr_t)control->record;

    if (control->claimed)
        return false;
    control->claimed = 1;
    *record = (lw_report_record){1, status, {1, 2, 3}, {4, 5, 6}, {7, 8, 9, 10}};
    return true;
}

static bool
look(lw_report *report, CUstream stream, lw_report_record *out)
{
    bool found = true;

    memset(out, 0, sizeof *out);
    GOOD(lw_report_check(report, stream, &found, out, err));
    return found;
}

static void
test_take(void)
{
    lw_report *report = NULL;
    lw_report_record got;

    GOOD(lw_device_get(0, &device, err));
    GOOD(lw_report_new(device, &report, err));
    CHECK(lw_report_is_alive(report));
    fake.reset_calls();
    CHECK(!look(report, NULL, &got));
    CHECK(fake.calls("") == 0);                                   /* looking is no call */
    CHECK(kernel_fails(report, 17) && !kernel_fails(report, 18)); /* the first wins */
    CHECK(look(report, NULL, &got) && got.status == 17);
    CHECK(got.block[0] == 1 && got.block[2] == 3 && got.thread[0] == 4 && got.thread[2] == 6);
    CHECK(got.values[0] == 7 && got.values[3] == 10);
    CHECK(!look(report, NULL, &got)); /* clean afterwards */
    CHECK(kernel_fails(report, 18) && look(report, NULL, &got) && got.status == 18);
    lw_report_free(report);
    lw_report_free(NULL);
    lw_driver_close();
    CHECK(fake.live("") == 0);
}

static void
test_capture(void)
{
    lw_report *report = NULL;
    lw_stream *stream = NULL;
    lw_report_record got;

    GOOD(lw_device_get(0, &device, err));
    GOOD(lw_report_new(device, &report, err));
    GOOD(lw_stream_new(device, false, 0, &stream, err));
    CHECK(kernel_fails(report, 5));
    fake.set_capturing(stream->handle, 1);
    CHECK(!look(report, stream->handle, &got));
    fake.set_capturing(stream->handle, 0);
    CHECK(look(report, stream->handle, &got) && got.status == 5);
    lw_stream_free(stream);
    lw_report_free(report);
    lw_driver_close();
    CHECK(fake.live("") == 0);
}

/* Every driver call fails once: nothing leaks, and the next try works. */
static void
test_faults(void)
{
    for (int nth = 1; nth < 40; nth++) {
        lw_report *report = NULL;
        lw_error error = {0};
        GOOD(lw_device_get(0, &device, err));
        fake.fail("", nth, 2);
        lw_status status = lw_report_new(device, &report, &error);
        int failed = fake.failed();
        fake.fail("", 0, 0);
        CHECK(status == LW_OK || (failed && report == NULL));
        lw_report_free(report);
        lw_error_reset(&error);
        lw_driver_close();
        CHECK(fake.live("") == 0);
        if (!failed)
            return;
    }
    CHECK(!"the sweep ends");
}

static void
test_instructions(void)
{
    lw_module *module = NULL;
    lw_builder b;
    lw_text text = {0};

    GOOD(lw_module_new(&module, err));
    lw_builder_start(&b, module, "kernel");
    b.func->linkage = LW_KERNEL;
    lw_ref control = lw_ir_param_add(&b, LW_DT_ptr, 0, "report");
    lw_ref status = lw_ir_param_add(&b, LW_DT_i32, 0, "status");
    lw_ref values[] = {lw_ir_int(&b, LW_DT_i64, 42)};
    lw_report_emit(&b, control, status, values, 1);
    GOOD(lw_ir_finish(&b, err));
    lw_ir_print(module, false, &text);
    GOOD(lw_ir_verify(module, err));
    CHECK(strstr(lw_text_get(&text), "atomic") && strstr(lw_text_get(&text), "kcall"));
    lw_text_reset(&text);
    lw_module_free(module);
}

int
main(int argc, char **argv)
{
    fake_open(argc, argv);
    test_take();
    test_capture();
    test_faults();
    test_instructions();
    return n_failures != 0;
}
