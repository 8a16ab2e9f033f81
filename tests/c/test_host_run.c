/* Running host kernels, with kernels written in C: layouts, overlap, tails, threads, flags,
 * failures. */
#include "ufunc/host_internal.h"
#include "tests/c/check.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* out = a + 2 b, in order */
static int64_t
sum_strided(char *const *args, int64_t n, const int64_t *strides)
{
    for (int64_t i = 0; i < n; i++) {
        double a, b, out;
        memcpy(&a, args[0] + i * strides[0], 8);
        memcpy(&b, args[1] + i * strides[1], 8);
        out = a + 2 * b;
        memcpy(args[2] + i * strides[2], &out, 8);
    }
    return INT64_MAX;
}

static int64_t
sum_contiguous(char *const *args, int64_t n)
{
    const int64_t strides[] = {8, 8, 8};

    return sum_strided(args, n, strides);
}

static int64_t
sum_blocks(char *const *args, int64_t n)
{
    CHECK(n % LW_HOST_BLOCK == 0);
    return sum_contiguous(args, n);
}

/* raises row 3 at each negative a */
static int64_t
picky(char *const *args, int64_t n)
{
    int64_t first = INT64_MAX;

    sum_contiguous(args, n);
    for (int64_t i = n - 1; i >= 0; i--)
        if (((double *)(void *)args[0])[i] < 0)
            first = i << LW_HOST_ROW_BITS | 3;
    return first;
}

/* raises every flag without reason, besides the sum */
static int64_t
noisy(char *const *args, int64_t n)
{
    volatile double zero = 0, big = 1e308, small = 1e-308, unused;

    unused = zero / zero;
    unused = 1 / zero;
    unused = big * big;
    unused = small * small;
    (void)unused;
    return sum_contiguous(args, n);
}

static lw_host_kernel
kernel_of(lw_contiguous_entry contiguous, lw_strided_entry strided)
{
    lw_host_kernel kernel = {.contiguous = contiguous,
                             .strided = strided,
                             .takes_any = strided != NULL,
                             .nin = 2,
                             .n = 3,
                             .touches_flags = true,
                             .block = 64,
                             .cost_ps = 1000};

    for (int i = 0; i < 3; i++) {
        kernel.size[i] = 8;
        kernel.dtype[i] = LW_DT_f64;
    }
    return kernel;
}

/* One whose loop in order has not been compiled yet. */
static lw_host_kernel
kernel_without_strided(void)
{
    lw_host_kernel kernel = kernel_of(sum_contiguous, NULL);

    kernel.takes_any = kernel.plain = true;
    return kernel;
}

static double *
ramp(int64_t n)
{
    double *x = lw_alloc((size_t)n * 8);

    for (int64_t i = 0; i < n; i++)
        x[i] = (double)i;
    return x;
}

static void
check_layout(lw_host_kernel *kernel, int64_t n, int64_t step_a, int64_t step_b,
             int64_t step_out)
{
    double *a = ramp(3 * n + 1), *b = ramp(3 * n + 1), *out = ramp(3 * n + 1);
    int64_t strides[] = {8 * step_a, 8 * step_b, 8 * step_out};
    char *args[] = {(char *)(a + (step_a < 0 ? n : 0)), (char *)b, (char *)out};
    lw_host_failure failure;

    lw_host_run(kernel, args, n, strides, NULL, &failure);
    CHECK(failure.row == 0);
    for (int64_t i = 0; i < n; i++) {
        double want = (double)((step_a < 0 ? n : 0) + i * step_a) + 2.0 * (double)(i * step_b);
        CHECK(out[i * step_out] == want);
    }
    for (int64_t i = 0; step_out == 2 && i < n; i++)
        CHECK(out[2 * i + 1] == (double)(2 * i + 1)); /* what lies between stays */
    lw_free(a);
    lw_free(b);
    lw_free(out);
}

static void
test_layouts(void)
{
    lw_host_kernel plain = kernel_of(sum_contiguous, sum_strided);
    lw_host_kernel blocks = kernel_of(sum_blocks, NULL);
    lw_host_kernel without = kernel_without_strided();
    static const int64_t sizes[] = {1, 2, 15, 16, 17, 33, 64, 65, 127, 1000, 100000};
    static const int64_t steps[][3] = {{1, 1, 1},  {1, 0, 1}, {0, 0, 1}, {2, 1, 1},
                                       {-1, 3, 1}, {1, 1, 2}, {2, 0, 2}};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            check_layout(&plain, sizes[i], steps[k][0], steps[k][1], steps[k][2]);
            check_layout(&blocks, sizes[i], steps[k][0], steps[k][1], steps[k][2]);
            check_layout(&without, sizes[i], steps[k][0], steps[k][1], steps[k][2]);
        }
}

/* acc = acc + 2 x for each x, and its running form */
static void
test_in_order(lw_host_kernel kernel)
{
    double x[100], acc = 0, running[101] = {0}, want = 0;
    int64_t reduce[] = {0, 8, 0}, accumulate[] = {8, 8, 8};
    char *reduce_args[] = {(char *)&acc, (char *)x, (char *)&acc};
    char *accumulate_args[] = {(char *)running, (char *)x, (char *)(running + 1)};
    lw_host_failure failure;

    for (int i = 0; i < 100; i++)
        x[i] = i;
    lw_host_run(&kernel, reduce_args, 100, reduce, NULL, &failure);
    lw_host_run(&kernel, accumulate_args, 100, accumulate, NULL, &failure);
    for (int i = 0; i < 100; i++) {
        want += 2.0 * i;
        CHECK(running[i + 1] == want);
    }
    CHECK(acc == want);
}

/* Long runs that are dependent or strided; short ones when there have been many. */
static void
test_what_is_lacking(void)
{
    lw_host_kernel kernel = kernel_without_strided();
    double x[200];
    char *apart[] = {(char *)x, (char *)x, (char *)(x + 100)};
    char *shifted[] = {(char *)x, (char *)x, (char *)(x + 1)};
    int64_t straight[] = {8, 8, 8}, other[] = {16, 16, 8}, one[] = {8, 0, 8};

    kernel.is_light = true;
    CHECK(!lw_host_lacks_strided(&kernel, apart, 100, straight));
    CHECK(!lw_host_lacks_strided(&kernel, apart, 100, one));
    CHECK(lw_host_lacks_strided(&kernel, apart, 50, other));
    CHECK(lw_host_lacks_strided(&kernel, shifted, 100, straight));
    for (int i = 0; i < 64; i++)
        CHECK(!lw_host_lacks_strided(&kernel, apart, 3, one));
    CHECK(lw_host_lacks_strided(&kernel, apart, 3, one));
    CHECK(!lw_host_lacks_strided(&kernel, apart, 1, one));
    kernel.strided = sum_strided;
    CHECK(!lw_host_lacks_strided(&kernel, shifted, 100, straight));
}

static void
test_in_place(lw_host_kernel kernel)
{
    double x[50], y[50];
    int64_t strides[] = {8, 8, 8};
    char *args[] = {(char *)x, (char *)y, (char *)x};
    lw_host_failure failure;

    for (int i = 0; i < 50; i++)
        x[i] = y[i] = i;
    lw_host_run(&kernel, args, 50, strides, NULL, &failure);
    for (int i = 0; i < 50; i++)
        CHECK(x[i] == 3.0 * i);
}

static void
test_failures(void)
{
    lw_host_kernel kernel = kernel_of(picky, NULL);
    int64_t n = 200000, strides[] = {8, 8, 8};
    double *a = ramp(n), *b = ramp(n), *out = ramp(n);
    char *args[] = {(char *)a, (char *)b, (char *)out};
    lw_host_failure failure;

    kernel.can_raise = true;
    a[199999] = a[150001] = a[777] = -1;
    lw_host_run(&kernel, args, n, strides, NULL, &failure);
    CHECK(failure.row == 3 && failure.element == 777);
    strides[0] = 16;
    a[778] = -1;
    lw_host_run(&kernel, args, n / 2, strides, NULL, &failure);
    CHECK(failure.row == 3 && failure.element == 389);
    lw_free(a);
    lw_free(b);
    lw_free(out);
}

static int
flags_of(lw_host_kernel *kernel, double a, double b, int64_t n, bool in_place)
{
    double x[40], y[40], out[40];
    int64_t strides[] = {8, 8, 8};
    char *args[] = {(char *)x, (char *)y, (char *)(in_place ? x : out)};
    lw_host_failure failure;

    for (int i = 0; i < 40; i++)
        x[i] = y[i] = 1;
    x[n - 1] = a;
    y[n - 1] = b;
    feclearexcept(FE_ALL_EXCEPT);
    lw_host_run(kernel, args, n, strides, NULL, &failure);
    return fetestexcept(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO | FE_UNDERFLOW);
}

static void
test_flags(void)
{
    lw_host_kernel kernel = kernel_of(noisy, NULL);

    kernel.doubts_flags = kernel.float_outputs = true;
    for (int in_place = 0; in_place < 2; in_place++)
        for (int64_t n = 1; n <= 40; n += 13) {
            CHECK(flags_of(&kernel, 1, 1, n, in_place) == 0);
            CHECK(flags_of(&kernel, NAN, 1, n, in_place) == 0);
            CHECK(flags_of(&kernel, INFINITY, 1, n, in_place) == 0);
            CHECK(flags_of(&kernel, INFINITY, -INFINITY, n, in_place) == FE_INVALID);
            CHECK(flags_of(&kernel, 1e308, 1e308, n, in_place) == (FE_OVERFLOW | FE_DIVBYZERO));
            CHECK(flags_of(&kernel, 0, 0, n, in_place) == 0);
            CHECK(flags_of(&kernel, 5e-324, 0, n, in_place) == FE_UNDERFLOW);
        }
    feraiseexcept(FE_INVALID); /* what stood before stays */
    flags_of(&kernel, 1, 1, 4, false);
}

int
main(void)
{
    test_layouts();
    test_in_order(kernel_of(sum_contiguous, sum_strided));
    test_in_order(kernel_of(sum_blocks, NULL));
    test_in_order(kernel_without_strided());
    test_in_place(kernel_of(sum_contiguous, sum_strided));
    test_in_place(kernel_of(sum_blocks, NULL));
    test_in_place(kernel_without_strided());
    test_what_is_lacking();
    test_failures();
    test_flags();
    return n_failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
