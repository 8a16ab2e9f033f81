/* The GPU kernel templates: every class of walk makes valid IR, and where libNVVM and nvJitLink
 * are found, a cubin with the kernel in it. Plans are checked against hand-computed shapes. */
#include "core/link/build.h"
#include "core/link/cubin_info.h"
#include "core/base/divider.h"
#include "ufunc/device_kernel.h"
#include "ufunc/host_kernel.h"

#include "core/ir/build.h"
#include "core/link/nvjitlink.h"
#include "core/link/toolchain.h"
#include "tests/c/must.h"

#include <string.h>

/* body(a, b) = a * b + a, each in its own parts; can_raise adds a status that is always 0 */
static void
make_scalar(lw_scalar *scalar, lw_dtype *dtypes, bool can_raise)
{
    lw_error err = {0};
    lw_builder b;
    lw_dtype part = lw_dtypes[dtypes[0]].parts;
    unsigned parts = lw_is_complex(dtypes[0]) ? 2 : 1;
    lw_ref in[4], out[3];
    uint32_t n = 0;

    memset(scalar, 0, sizeof *scalar);
    GOOD(lw_module_new(&scalar->module, &err));
    lw_builder_start(&b, scalar->module, "lw_body");
    for (unsigned i = 0; i < 2 * parts; i++)
        in[i] = lw_ir_param_add(&b, part, 0, "x");
    if (can_raise) {
        lw_ir_result_add(&b, LW_DT_i32);
        out[n++] = lw_ir_int(&b, LW_DT_i32, 0);
    }
    for (unsigned p = 0; p < parts; p++) {
        lw_ir_result_add(&b, part);
        out[n++] = part == LW_DT_b1 ? lw_ir_xor(&b, in[p], in[parts + p])
                                    : lw_ir_add(&b, lw_ir_mul(&b, in[p], in[parts + p]), in[p]);
    }
    lw_ir_return(&b, out, n);
    GOOD(lw_ir_finish(&b, &err));
    scalar->body = b.func_number;
    scalar->n_in = 2;
    scalar->n_out = 1;
    scalar->in = dtypes;
    scalar->out = dtypes + 2;
    scalar->can_raise = can_raise;
}

static void
start_plan(lw_plan *plan, lw_dtype dtype)
{
    memset(plan, 0, sizeof *plan);
    plan->n_in = 2;
    plan->n_out = 1;
    plan->walk.n_operands = 3;
    for (int i = 0; i < 3; i++) {
        plan->dtypes[i] = (uint8_t)dtype;
        plan->walk.operands[i].data = (uint64_t)(i + 1) << 36;
        plan->walk.operands[i].is_output = i == 2;
    }
}

static void
normalise(lw_plan *plan, int ndim, const int64_t *shape, const int64_t *a, const int64_t *b,
          const int64_t *out)
{
    const int64_t *strides[4] = {a, b, out, out};

    CHECK(lw_plan_normalise(plan, ndim, shape, strides));
}

static bool have_compiler;
static int n_cubins;

static void
try_kernel(lw_scalar *scalar, const lw_dtype *types, const lw_kernel_key *key)
{
    static const int ccs[] = {75, 80, 86, 90, 100, 120};
    lw_error err = {0};
    lw_module *module = NULL;
    lw_build_options options = {.opt = true, .name = "test"};

    lw_loop loop = {.nin = 2, .nout = 1, .scalar = scalar};

    memcpy(loop.types, types, 3 * sizeof *types);
    lw_uniforms_none(&loop.uniforms, 2);
    GOOD(lw_device_kernel(&loop, key, "test_kernel", 0, &module, &err));
    GOOD(lw_ir_verify(module, &err));
    if (have_compiler) {
        lw_bytes cubin = {0};
        lw_cubin_info info;
        int cc = ccs[n_cubins++ % 6];
        GOOD(lw_build_output(module, cc, "cubin", &options, &cubin, &err));
        CHECK(lw_cubin_has_function(cubin.data, cubin.n, "test_kernel"));
        GOOD(lw_cubin_info_read(cubin.data, cubin.n, "test_kernel", &info, &err));
        CHECK(info.registers > 0 && info.local_bytes == 0);
        lw_bytes_reset(&cubin);
    }
    lw_module_free(module);
}

static void
test_flat(void)
{
    for (int d = LW_DT_b1; d <= LW_DT_c128; d++) {
        lw_dtype types[3] = {(lw_dtype)d, (lw_dtype)d, (lw_dtype)d};
        int64_t shape[1] = {1000000}, stride[1] = {lw_dtypes[d].size_bytes};
        lw_scalar scalar;
        lw_kernel_key key;
        lw_plan plan;
        if (d == LW_DT_bf16)
            continue;
        make_scalar(&scalar, types, false);
        start_plan(&plan, types[0]);
        normalise(&plan, 1, shape, stride, stride, stride);
        lw_plan_key(&plan, 3, false, &key);
        CHECK(key.ndim == 0 && key.noalias && !key.wide);
        CHECK(key.width * lw_dtypes[d].size_bytes == (lw_dtypes[d].size_bytes == 1 ? 8 : 16));
        try_kernel(&scalar, types, &key);
        key.width = 1;
        key.operands[1].access = LW_ACCESS_VALUE;
        try_kernel(&scalar, types, &key);
        lw_module_free(scalar.module);
    }
}

static void
test_strided(void)
{
    lw_dtype types[3] = {LW_DT_f32, LW_DT_f32, LW_DT_f32};
    int64_t shape[3] = {600, 80, 10};
    int64_t dense[3] = {3200, 40, 4}, row[3] = {0, 0, 4}, column[3] = {320, 4, 0},
            odd[3] = {10000, 84, 8};
    int64_t back[3] = {-3200, -40, -4};
    int64_t turned_shape[3] = {100, 80, 90}; /* a[k, j, i] where out is [i, j, k] */
    int64_t turned[3] = {4, 400, 32000}, dense_turned[3] = {28800, 360, 4};
    lw_scalar scalar;
    lw_kernel_key key;
    lw_plan plan;

    make_scalar(&scalar, types, true);
    start_plan(&plan, LW_DT_f32);
    normalise(&plan, 3, shape, dense, row, dense);
    CHECK(plan.walk.ndim == 2 && plan.walk.shape[0] == 10 && plan.walk.shape[1] == 48000);
    lw_plan_key(&plan, 3, false, &key);
    CHECK(key.ndim == 2 && key.width == 2 && key.operands[1].access == LW_ACCESS_CONTIGUOUS);
    try_kernel(&scalar, types, &key);

    start_plan(&plan, LW_DT_f32);
    normalise(&plan, 3, shape, dense, column, dense);
    CHECK(plan.walk.ndim == 2 && plan.walk.operands[1].strides[0] == 0 &&
          plan.walk.operands[1].strides[1] == 4);
    lw_plan_key(&plan, 3, false, &key);
    CHECK(key.operands[1].access == LW_ACCESS_REPEATED);
    try_kernel(&scalar, types, &key);

    start_plan(&plan, LW_DT_f32);
    normalise(&plan, 3, shape, odd, dense, dense);
    CHECK(plan.walk.ndim == 3);
    lw_plan_key(&plan, 3, false, &key);
    CHECK(key.width == 1 && key.operands[0].access == LW_ACCESS_GENERAL);
    try_kernel(&scalar, types, &key);
    key.wide = 1;
    try_kernel(&scalar, types, &key);

    start_plan(&plan, LW_DT_f32);
    normalise(&plan, 3, turned_shape, turned, dense_turned, dense_turned);
    lw_plan_key(&plan, 3, false, &key);
    CHECK(key.tiled && plan.walk.operands[0].strides[1] == 4);
    try_kernel(&scalar, types, &key);

    start_plan(&plan, LW_DT_f32);
    normalise(&plan, 3, shape, back, back, back);
    CHECK(plan.walk.ndim == 1 && plan.walk.operands[0].strides[0] == 4);
    CHECK(plan.walk.operands[0].data == ((uint64_t)1 << 36) - (uint64_t)479999 * 4);
    lw_module_free(scalar.module);
}

/* Which squares are transposed in shared memory, and by accesses of how many elements. */
static void
test_squares(void)
{
    static const struct {
        lw_dtype dtype;
        int64_t rows, columns, skew; /* bytes of the transposed operand's address */
        uint32_t cost;
        unsigned staged;
    } cases[] = {
        {LW_DT_f32, 8192, 8192, 0, 3, 4},  {LW_DT_f16, 1000, 520, 0, 3, 8},
        {LW_DT_i8, 1000, 520, 0, 3, 8},    {LW_DT_f64, 1000, 510, 0, 3, 2},
        {LW_DT_c64, 1000, 510, 0, 3, 2},   {LW_DT_c128, 1000, 520, 0, 3, 0}, /* 66 KB */
        {LW_DT_f32, 8191, 8192, 0, 3, 0},  {LW_DT_f32, 8192, 8190, 0, 3, 0},
        {LW_DT_f32, 8192, 8192, 4, 3, 0},  {LW_DT_f32, 63 * 100, 60, 0, 3, 0},
        {LW_DT_f32, 8192, 8192, 0, 90, 0}, /* 16 bodies are too many */
    };

    for (size_t t = 0; t < sizeof cases / sizeof *cases; t++) {
        int64_t rows = cases[t].rows, columns = cases[t].columns;
        int64_t size = lw_dtypes[cases[t].dtype].size_bytes, shape[2] = {rows, columns};
        int64_t dense[2] = {columns * size, size}, turned[2] = {size, rows * size};
        lw_dtype types[3] = {cases[t].dtype, cases[t].dtype, cases[t].dtype};
        lw_scalar scalar;
        lw_kernel_key key;
        lw_plan plan;
        start_plan(&plan, cases[t].dtype);
        plan.walk.operands[1].data += (uint64_t)cases[t].skew;
        normalise(&plan, 2, shape, dense, turned, dense);
        lw_plan_key(&plan, cases[t].cost, false, &key);
        CHECK(key.tiled == (columns >= LW_PLAN_TILE && rows >= LW_PLAN_TILE));
        CHECK(key.staged == cases[t].staged && key.width == 1);
        CHECK(lw_plan_side(&key) == (key.staged ? 64 : 32));
        if (cases[t].dtype == LW_DT_f32 || cases[t].dtype == LW_DT_f64) {
            make_scalar(&scalar, types, false);
            try_kernel(&scalar, types, &key);
            lw_module_free(scalar.module);
        }
    }
}

static void
test_masked(void)
{
    lw_dtype types[3] = {LW_DT_f64, LW_DT_f64, LW_DT_f64};
    int64_t shape[1] = {100}, stride[1] = {8}, byte[1] = {1};
    const int64_t *strides[4] = {stride, stride, stride, byte};
    lw_scalar scalar;
    lw_kernel_key key;
    lw_plan plan;

    make_scalar(&scalar, types, false);
    start_plan(&plan, LW_DT_f64);
    plan.masked = true;
    plan.walk.n_operands = 4;
    plan.walk.operands[3].data = (uint64_t)9 << 36;
    plan.dtypes[3] = LW_DT_b1;
    CHECK(lw_plan_normalise(&plan, 1, shape, strides));
    lw_plan_key(&plan, 3, false, &key);
    CHECK(key.masked && key.width == 1 && key.groups == 1);
    try_kernel(&scalar, types, &key);
    lw_module_free(scalar.module);
}

/* A thread has two groups of elements where it has much to compute. */
static void
test_groups(void)
{
    static const struct {
        uint32_t cost;
        bool masked;
        int width, groups;
    } cases[] = {{3, false, 4, 1},   {99, false, 4, 1},  {100, false, 4, 2},
                 {150, false, 4, 2}, {160, false, 4, 1}, {120, true, 1, 4}};
    lw_dtype types[3] = {LW_DT_f32, LW_DT_f32, LW_DT_f32};
    int64_t shape[1] = {1000000}, stride[1] = {4};
    lw_scalar scalar;
    lw_kernel_key key;
    lw_plan plan;

    make_scalar(&scalar, types, false);
    for (size_t t = 0; t < sizeof cases / sizeof *cases; t++) {
        start_plan(&plan, LW_DT_f32);
        plan.masked = cases[t].masked;
        normalise(&plan, 1, shape, stride, stride, stride);
        lw_plan_key(&plan, cases[t].cost, false, &key);
        CHECK(key.width == cases[t].width && key.groups == cases[t].groups);
        if (!plan.masked)
            try_kernel(&scalar, types, &key);
    }
    lw_module_free(scalar.module);
}

static void
test_overlap(void)
{
    int64_t shape[1] = {100}, stride[1] = {4};
    lw_kernel_key key;
    lw_plan plan;

    start_plan(&plan, LW_DT_f32);
    plan.walk.operands[2].data = plan.walk.operands[0].data + 64;
    normalise(&plan, 1, shape, stride, stride, stride);
    lw_plan_key(&plan, 3, false, &key);
    CHECK(!key.noalias);
}

static void
test_divider(void)
{
    static const uint32_t divisors[] = {
        1,   2,   3,     5,     7,       10,         48,         255,
        256, 641, 65535, 65537, 1000003, 0x40000000, 0x7ffffffe, 0x7fffffff};
    for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++) {
        lw_divider divider = lw_divider_of(divisors[i]);
        for (uint64_t n = 0; n < 0x80000000u; n = n * 3 / 2 + 1) {
            uint32_t high = (uint32_t)(n * divider.multiplier >> 32);
            CHECK((high + (uint32_t)n) >> divider.shift == n / divisors[i]);
        }
    }
}

int
main(void)
{
    const lw_toolchain *toolchain;
    lw_error err = {0};

    have_compiler = lw_toolchain_need(&toolchain, &err) == LW_OK;
    if (!have_compiler)
        printf("SKIP cubins: %s\n", lw_error_text(&err));
    lw_error_reset(&err);
    test_divider();
    test_groups();
    test_overlap();
    test_flat();
    test_strided();
    test_squares();
    test_masked();
    printf("ok, %d cubins\n", n_cubins);
    CHECK(lw_memory_live() < 200); /* what the toolchain keeps for the process */
    return 0;
}
