/* The device side of gufuncs, without a device: shapes by NumPy's rules, how calls are walked,
 * and every kind of kernel as valid IR; where libNVVM and nvJitLink are found, as a cubin. */
#include "core/base/divider.h"
#include "core/base/memory.h"
#include "core/ir/build.h"
#include "core/link/build.h"
#include "core/link/cubin_info.h"
#include "core/link/nvjitlink.h"
#include "core/link/toolchain.h"
#include "core/tables/kernel_ops.h"
#include "gufunc/core/core_plan.h"
#include "gufunc/core/core_spread.h"
#include "gufunc/core/core_trace.h"
#include "tests/c/must.h"

#include <string.h>

/* ---- layouts by hand ---- */

/* (m,n),(n)->(m) */
static const lw_core_dim matvec_names[] = {{.name = "m"}, {.name = "n"}};
static const uint16_t dims_mn[] = {0, 1}, dims_n[] = {1}, dims_m[] = {0};
static const bool no_broadcast[4];

static lw_core_layout
matvec_layout(void)
{
    lw_core_layout layout = {.text = "(m,n),(n)->(m)",
                             .numpy_text = "(m,n),(n)->(m)",
                             .nin = 2,
                             .nout = 1,
                             .n_dims = 2,
                             .dims = matvec_names};

    layout.operands[0] = (lw_core_operand){2, dims_mn, no_broadcast};
    layout.operands[1] = (lw_core_operand){1, dims_n, no_broadcast};
    layout.operands[2] = (lw_core_operand){1, dims_m, no_broadcast};
    return layout;
}

static lw_core_view
view_of(int ndim, const int64_t *shape)
{
    static const int64_t strides[8] = {1024, 512, 256, 128, 64, 32, 16, 8};

    return (lw_core_view){true, ndim, shape, strides + 8 - ndim};
}

static lw_status
resolve(lw_core_shape *s, const lw_core_layout *layout, const lw_core_view *views,
        bool keepdims, lw_error *err)
{
    lw_status status;

    LW_TRY(lw_core_shape_init(s, layout, "f", err));
    LW_TRY(lw_core_shape_dims(s, views, keepdims, err));
    LW_TRY(lw_core_shape_sizes(s, views, err));
    LW_TRY(lw_core_shape_loop(s, views, err));
fail:
    return status;
}

static void
test_shapes(void)
{
    const int64_t a[] = {7, 1, 2, 3}, x[] = {5, 3}, wrong[] = {5, 4}, out[] = {7, 5, 2};
    lw_core_layout layout = matvec_layout();
    lw_core_view views[3] = {view_of(4, a), view_of(2, x), {false, 0, NULL, NULL}};
    int64_t shape[LW_SHAPE_DIMS], loop[LW_SHAPE_DIMS], core[LW_MAX_CORE_DIMS];
    lw_core_shape s;
    lw_error err = {0};

    GOOD(resolve(&s, &layout, views, false, &err));
    CHECK(s.sizes[0] == 2 && s.sizes[1] == 3 && s.loop_ndim == 2);
    CHECK(s.loop[0] == 7 && s.loop[1] == 5);
    CHECK(lw_core_shape_result(&s, 2, shape) == 3 && memcmp(shape, out, sizeof out) == 0);
    lw_core_shape_strides(&s, 0, &views[0], loop, core);
    CHECK(loop[0] == 64 && loop[1] == 0 && core[0] == 16 && core[1] == 8);
    lw_core_shape_strides(&s, 1, &views[1], loop, core);
    CHECK(loop[0] == 0 && loop[1] == 16 && core[0] == 8);
    views[1] = view_of(2, wrong);
    CHECK(resolve(&s, &layout, views, false, &err) == LW_ERR_VALUE);
    CHECK(strcmp(lw_error_text(&err),
                 "f: Input operand 1 has a mismatch in its core dimension 0, with gufunc "
                 "signature (m,n),(n)->(m) (size 4 is different from 3)") == 0);
    lw_error_reset(&err);
    views[1] = view_of(0, x);
    CHECK(resolve(&s, &layout, views, false, &err) == LW_ERR_VALUE);
    CHECK(strcmp(lw_error_text(&err),
                 "f: Input operand 1 does not have enough dimensions (has 0, gufunc core with "
                 "signature (m,n),(n)->(m) requires 1)") == 0);
    lw_error_reset(&err);
    views[1] = view_of(2, x);
    views[2] = view_of(3, a + 1);
    CHECK(resolve(&s, &layout, views, false, &err) == LW_ERR_VALUE); /* out of (1, 2, 3) */
    lw_error_reset(&err);
    CHECK(resolve(&s, &layout, views, true, &err) == LW_ERR_TYPE); /* keepdims */
    lw_error_reset(&err);
}

/* axes: the matrix in front of the loop; the result's core first */
static void
test_axes(void)
{
    const int64_t a[] = {2, 3, 7}, x[] = {3}, want[] = {2, 7};
    lw_core_layout layout = matvec_layout();
    lw_core_view views[3] = {view_of(3, a), view_of(1, x), {false, 0, NULL, NULL}};
    int64_t shape[LW_SHAPE_DIMS], loop[LW_SHAPE_DIMS], core[LW_MAX_CORE_DIMS];
    lw_core_shape s;
    lw_error err = {0};

    GOOD(lw_core_shape_init(&s, &layout, "f", &err));
    GOOD(lw_core_shape_dims(&s, views, false, &err));
    s.axes[0][0] = 0;
    s.axes[0][1] = 1;
    s.axes[2][0] = 0;
    GOOD(lw_core_shape_sizes(&s, views, &err));
    GOOD(lw_core_shape_loop(&s, views, &err));
    CHECK(lw_core_shape_result(&s, 2, shape) == 2 && memcmp(shape, want, sizeof want) == 0);
    lw_core_shape_strides(&s, 0, &views[0], loop, core);
    CHECK(loop[0] == 8 && core[0] == 32 && core[1] == 16);
}

/* (n|1)->(): broadcast; (n?),(n?)->(): dropped where one is too short */
static void
test_marks(void)
{
    static const bool yes[] = {true};
    static const uint16_t first[] = {0};
    static const lw_core_dim plain[] = {{.name = "n"}},
                             maybe[] = {{.name = "n", .optional = true}};
    const int64_t one[] = {1}, three[] = {3}, two[] = {2};
    lw_core_layout layout = {
        .text = "(n|1),(n|1)->()", .nin = 2, .nout = 1, .n_dims = 1, .dims = plain};
    lw_core_view views[3] = {view_of(1, one), view_of(1, three), {false, 0, NULL, NULL}};
    int64_t loop[LW_SHAPE_DIMS], core[LW_MAX_CORE_DIMS];
    lw_core_shape s;
    lw_error err = {0};

    layout.operands[0] = layout.operands[1] = (lw_core_operand){1, first, yes};
    GOOD(resolve(&s, &layout, views, false, &err));
    CHECK(s.sizes[0] == 3);
    lw_core_shape_strides(&s, 0, &views[0], loop, core);
    CHECK(core[0] == 0);
    views[0] = view_of(1, two);
    CHECK(resolve(&s, &layout, views, false, &err) == LW_ERR_VALUE);
    lw_error_reset(&err);
    layout.operands[0] = layout.operands[1] = (lw_core_operand){1, first, no_broadcast};
    views[0] = view_of(1, one);
    CHECK(resolve(&s, &layout, views, false, &err) == LW_ERR_VALUE); /* no mark: no broadcast */
    lw_error_reset(&err);
    layout.dims = maybe;
    views[0] = view_of(0, one);
    GOOD(resolve(&s, &layout, views, false, &err));
    CHECK(s.dropped[0] && s.sizes[0] == 1 && s.loop_ndim == 1 && s.loop[0] == 3);
}

/* ---- a loop ---- */

static lw_ref
element(lw_builder *b, const lw_ref *array, unsigned ndim, lw_ref i, lw_ref j)
{
    lw_ref at = lw_ir_mul(b, i, array[1 + ndim]);

    if (ndim == 2)
        at = lw_ir_add(b, at, lw_ir_mul(b, j, array[1 + ndim + 1]));
    return lw_ir_offset(b, array[0], at);
}

/* y[i] = sum of a[i, j] * x[j]; from row `first` on */
static void
matvec_body_from(lw_scalar *scalar, lw_dtype dtype, bool can_raise, lw_arg_parts *parts,
                 int first)
{
    static const unsigned ndims[] = {2, 1, 1};
    lw_error err = {0};
    lw_builder b;
    lw_ref p[3][5], zero, one, sum, status;
    lw_for rows, columns;
    uint32_t n = 0;

    GOOD(lw_module_new(&scalar->module, &err));
    lw_builder_start(&b, scalar->module, "lw_body");
    for (int k = 0; k < 3; k++) {
        parts[k].first = n;
        parts[k].n = 1 + 2 * ndims[k];
        for (unsigned i = 0; i < parts[k].n; i++, n++)
            p[k][i] = lw_ir_param_add(&b, i ? LW_DT_i64 : LW_DT_ptr, 0, "p");
    }
    if (can_raise)
        lw_ir_result_add(&b, LW_DT_i32);
    zero = lw_ir_int(&b, LW_DT_i64, 0);
    one = lw_ir_int(&b, LW_DT_i64, 1);
    sum = lw_ir_slot(&b, dtype);
    rows = lw_ir_for(&b, lw_ir_int(&b, LW_DT_i64, first), p[0][1], one, 0);
    lw_ir_set(&b, sum, lw_ir_zero(&b, dtype));
    columns = lw_ir_for(&b, zero, p[0][2], one, 0);
    lw_ir_set(
        &b, sum,
        lw_ir_add(
            &b, lw_ir_get(&b, sum),
            lw_ir_mul(&b,
                      lw_ir_load(&b, dtype, 1, element(&b, p[0], 2, rows.i, columns.i), 0, 0),
                      lw_ir_load(&b, dtype, 1, element(&b, p[1], 1, columns.i, 0), 0, 0))));
    lw_ir_for_end(&b, &columns);
    lw_ir_store(&b, element(&b, p[2], 1, rows.i, 0), lw_ir_get(&b, sum), 0, 0);
    lw_ir_for_end(&b, &rows);
    status = can_raise ? lw_ir_int(&b, LW_DT_i32, 0) : 0;
    lw_ir_return(&b, &status, can_raise);
    GOOD(lw_ir_finish(&b, &err));
    scalar->body = b.func_number;
    scalar->can_raise = can_raise;
    scalar->n_args = 3;
    scalar->args = parts;
}

static void
matvec_body(lw_scalar *scalar, lw_dtype dtype, bool can_raise, lw_arg_parts *parts)
{
    matvec_body_from(scalar, dtype, can_raise, parts, 0);
}

static void
make_loop(lw_gufunc_loop *loop, const lw_core_layout *layout, lw_dtype dtype, lw_scalar *scalar)
{
    static const uint8_t ndims[] = {2, 1, 1};

    memset(loop, 0, sizeof *loop);
    loop->layout = layout;
    loop->nin = 2;
    loop->nout = 1;
    loop->scalar = scalar;
    for (int i = 0; i < 3; i++) {
        loop->types[i] = dtype;
        loop->form[i] = LW_CORE_ARRAY;
        loop->core_ndim[i] = ndims[i];
    }
}

/* Contiguous operands of n items of cores m x k. */
static void
make_plan(lw_core_plan *plan, const lw_gufunc_loop *loop, int64_t *sizes, int64_t m, int64_t k,
          int64_t n)
{
    int64_t itemsize = lw_dtypes[loop->types[0]].size_bytes;
    const int64_t core[3][2] = {{k * itemsize, itemsize}, {itemsize, 0}, {itemsize, 0}};
    const int64_t *rows[3];
    int64_t steps[3];

    *plan = (lw_core_plan){.loop = loop, .sizes = sizes};
    sizes[0] = m;
    sizes[1] = k;
    plan->walk.n_operands = 3;
    for (int i = 0; i < 3; i++) {
        plan->walk.operands[i].data = (uint64_t)(i + 1) << 36;
        memcpy(plan->operands[i].core, core[i], sizeof core[i]);
        steps[i] = lw_core_plan_bytes(plan, i);
        rows[i] = &steps[i];
    }
    CHECK(lw_core_plan_normalise(plan, 1, &n, rows));
}

/* Many items get a warp each, of which four are a block. */
static bool
has_warps(const lw_core_key *key)
{
    return key->spread && key->block == 128 && key->warps == 4;
}

static bool have_compiler;
static int n_cubins;

static bool
calls(const lw_module *module, const char *caller, const char *callee)
{
    const lw_func *func = module->funcs.data[lw_ir_find(module, caller)];
    uint32_t wanted = lw_ir_find(module, callee);

    for (uint32_t i = 1; i < func->insts.n; i++)
        if (func->insts.data[i].op == LW_OP_CALL && func->insts.data[i].a == wanted)
            return true;
    return false;
}

static lw_cubin_info
try_kernel(const lw_gufunc_loop *loop, const lw_core_key *key)
{
    static const int ccs[] = {75, 90, 100, 120};
    lw_build_options options = {.opt = true, .name = "test"};
    lw_error err = {0};
    lw_module *module = NULL;
    lw_cubin_info info = {0};

    GOOD(lw_core_kernel(loop, key, "test_kernel", 0, &module, &err));
    GOOD(lw_ir_verify(module, &err));
    CHECK(calls(module, "test_kernel", key->spread ? "lw_spread_body" : "lw_body"));
    if (have_compiler) {
        lw_bytes cubin = {0};
        GOOD(lw_build_output(module, ccs[n_cubins++ % 4], "cubin", &options, &cubin, &err));
        CHECK(lw_cubin_has_function(cubin.data, cubin.n, "test_kernel"));
        GOOD(lw_cubin_info_read(cubin.data, cubin.n, "test_kernel", &info, &err));
        CHECK(info.registers > 0 && info.local_bytes == 0);
        lw_bytes_reset(&cubin);
    }
    lw_module_free(module);
    return info;
}

static void
test_staged(void)
{
    static const lw_dtype dtypes[] = {LW_DT_f32, LW_DT_f64, LW_DT_i8, LW_DT_f16};
    lw_core_layout layout = matvec_layout();

    for (int t = 0; t < 4; t++)
        for (int keep = 0; keep < 2; keep++) {
            lw_arg_parts parts[3] = {{0}};
            lw_scalar scalar = {0};
            lw_gufunc_loop loop;
            lw_core_plan plan;
            lw_core_key key;
            int64_t sizes[2];
            uint32_t bytes = 0;
            matvec_body(&scalar, dtypes[t], keep, parts);
            make_loop(&loop, &layout, dtypes[t], &scalar);
            make_plan(&plan, &loop, sizes, 3 + keep, 3 + keep, 1 << 20);
            plan.operands[2].keep = keep;
            lw_core_plan_key(&plan, &key);
            CHECK(key.block == 128 && key.constant && key.sizes[0] == 3 + keep);
            for (int i = 0; i < 3; i++) {
                CHECK(key.operands[i].access == LW_ACCESS_STAGED);
                CHECK(key.operands[i].chunk == 16);
                bytes += 128 * lw_core_pitch(&loop, &key, i);
            }
            CHECK(!have_compiler || try_kernel(&loop, &key).shared_bytes >= (int)bytes);
            plan.walk.operands[0].data += 8; /* chunks of 8 bytes */
            lw_core_plan_key(&plan, &key);
            CHECK(key.operands[0].chunk == 8 && key.operands[1].chunk == 16);
            try_kernel(&loop, &key);
            lw_module_free(scalar.module);
        }
}

/* Outputs of which every element is written need not be fetched; others must be. */
static void
test_keep(void)
{
    lw_core_layout layout = matvec_layout();

    for (int first = 0; first < 2; first++) {
        lw_arg_parts parts[3] = {{0}};
        lw_scalar scalar = {0};
        lw_gufunc_loop loop;
        lw_core_plan plan;
        lw_core_key key;
        int64_t sizes[2];
        matvec_body_from(&scalar, LW_DT_f32, true, parts, first);
        make_loop(&loop, &layout, LW_DT_f32, &scalar);
        make_plan(&plan, &loop, sizes, 5, 3, 1 << 20);
        plan.operands[2].keep = true;
        lw_core_plan_key(&plan, &key);
        CHECK(key.operands[2].keep == 1);
        lw_core_drop_keep(&loop, &key);
        CHECK(key.operands[2].keep == first);
        try_kernel(&loop, &key);
        lw_module_free(scalar.module);
    }
}

static void
test_plain(void)
{
    lw_core_layout layout = matvec_layout();
    lw_arg_parts parts[3] = {{0}};
    lw_scalar scalar = {0};
    lw_gufunc_loop loop;
    lw_core_plan plan;
    lw_core_key key;
    int64_t sizes[2];

    matvec_body(&scalar, LW_DT_f32, true, parts);
    make_loop(&loop, &layout, LW_DT_f32, &scalar);
    make_plan(&plan, &loop, sizes, 3, 100, 1 << 20); /* large cores: sizes are parameters */
    lw_core_plan_key(&plan, &key);
    CHECK(!key.constant && key.operands[2].access == LW_ACCESS_DENSE); /* 12 bytes */
    CHECK(!key.wide);
    loop.writes_excluded = true;
    lw_core_plan_key(&plan, &key);
    CHECK(!key.tiled && key.block == 0 && key.operands[0].access == LW_ACCESS_DENSE);
    loop.writes_excluded = false;
    try_kernel(&loop, &key);
    make_plan(&plan, &loop, sizes, 3, 100, 1 << 22);
    lw_core_plan_key(&plan, &key);
    CHECK(key.wide); /* 4.8 GB */
    try_kernel(&loop, &key);
    make_plan(&plan, &loop, sizes, 3, 3, 10); /* few items */
    lw_core_plan_key(&plan, &key);
    CHECK(key.constant && key.block == 0 && key.operands[1].access == LW_ACCESS_RUN);
    try_kernel(&loop, &key);
    make_plan(&plan, &loop, sizes, 3, 3, 1 << 20);
    plan.walk.operands[1].strides[0] = 0; /* one vector for all */
    plan.operands[0].core[0] = 4;         /* transposed matrices */
    plan.operands[0].core[1] = 12;
    lw_core_plan_key(&plan, &key);
    CHECK(key.operands[1].access == LW_ACCESS_CONSTANT);
    CHECK(key.operands[0].access == LW_ACCESS_STRIDED);
    CHECK(key.operands[2].access == LW_ACCESS_STAGED && key.block == 128);
    try_kernel(&loop, &key);
    lw_module_free(scalar.module);
}

/* Rows are independent of each other: a block an item, where cores are large. */
/* Large cores, a thread each: through shared memory as far as they fit. */
static void
test_tiles(void)
{
    static const struct {
        lw_dtype dtype;
        int64_t m, k, n;
        bool tiled[3];
        uint32_t tile;
    } cases[] = {
        {LW_DT_f32, 3, 100, 1 << 20, {true, true, false}, 30},
        {LW_DT_f64, 16, 16, 1 << 20, {true, false, false}, 23},
        {LW_DT_f64, 20, 90, 1 << 20, {false, true, true}, 54}, /* a matrix: more than 8 KB */
        {LW_DT_f64, 20, 90, 1024, {true, true, true}, 3},      /* few items */
        {LW_DT_f32, 200, 200, 1024, {false, true, true}, 30},
        {LW_DT_i8, 1, 65, 1 << 20, {true, true, false}, 256},
        {LW_DT_c128, 2, 18, 100, {true, true, false}, 54},
    };
    lw_core_layout layout = matvec_layout();

    for (unsigned t = 0; t < sizeof cases / sizeof cases[0]; t++) {
        lw_arg_parts parts[3] = {{0}};
        lw_scalar scalar = {0};
        lw_gufunc_loop loop;
        lw_core_plan plan;
        lw_core_key key;
        int64_t sizes[2];
        lw_dtype dtype = lw_is_complex(cases[t].dtype) ? LW_DT_f64 : cases[t].dtype;
        matvec_body(&scalar, dtype, t % 2, parts);
        make_loop(&loop, &layout, cases[t].dtype, &scalar);
        make_plan(&plan, &loop, sizes, cases[t].m, cases[t].k, cases[t].n);
        plan.operands[2].keep = t == 4;
        lw_core_plan_key(&plan, &key);
        CHECK(key.tiled && key.block == LW_CORE_THREADS && !key.spread);
        for (int i = 0; i < 3; i++)
            CHECK((key.operands[i].access == LW_ACCESS_TILED) == cases[t].tiled[i]);
        CHECK(key.operands[2].keep == (t == 4));
        CHECK(lw_core_plan_tile(&plan, &key) == cases[t].tile);
        CHECK(!have_compiler || try_kernel(&loop, &key).shared_bytes >= LW_CORE_SHARED);
        lw_module_free(scalar.module);
    }
}

/* The matrix goes by way of shared memory if it fits there. */
static void
test_rows(void)
{
    static const struct {
        int64_t rows, columns;
        bool many;
        /* of float32, and of float64: KiB; 0: it is read where it is. Threads of a block, items
         * of a block. */
        struct {
            int kb, block, warps;
        } wants[2];
    } cases[] = {
        {100, 30, false, {{13, 128, 0}, {25, 128, 0}}},
        {64, 64, true, {{17, 64, 0}, {33, 128, 0}}},
        {40, 64, false, {{11, 64, 0}, {21, 128, 0}}},
        {16, 100, true, {{26, 128, 4}, {13, 32, 0}}}, /* four do not fit */
        {15, 100, true, {{0, 128, 4}, {0, 128, 4}}},
        {600, 30, false, {{73, 512, 0}, {146, 512, 0}}}, /* dynamic memory */
        {200, 40, true, {{33, 128, 0}, {65, 256, 0}}},
        {128, 128, true, {{65, 256, 0}, {129, 512, 0}}},
        {300, 300, true, {{0, 128, 4}, {0, 128, 4}}},
        {48, 48, true, {{10, 64, 0}, {19, 128, 0}}},
        {32, 32, true, {{17, 128, 4}, {33, 128, 4}}},
        {24, 24, true, {{10, 128, 4}, {19, 128, 4}}},
        {17, 20, false, {{2, 32, 0}, {3, 32, 0}}},
    };
    lw_core_layout layout = matvec_layout();

    for (size_t t = 0; t < 2 * sizeof cases / sizeof cases[0]; t++) {
        int64_t rows = cases[t / 2].rows, columns = cases[t / 2].columns, sizes[2];
        lw_dtype dtype = t % 2 ? LW_DT_f64 : LW_DT_f32;
        lw_arg_parts parts[3] = {{0}};
        lw_scalar scalar = {0};
        lw_gufunc_loop loop;
        lw_core_plan plan;
        lw_core_key key;
        int kb = cases[t / 2].wants[t % 2].kb;
        lw_spread spread;
        matvec_body(&scalar, dtype, false, parts);
        make_loop(&loop, &layout, dtype, &scalar);
        spread = lw_core_spread(&loop);
        CHECK(spread.reads_rows == 1 && spread.in_order);
        make_plan(&plan, &loop, sizes, rows, columns, cases[t / 2].many ? 1 << 16 : 100);
        plan.can_spread = plan.in_order = true;
        plan.reads_rows = 1;
        plan.most_shared = 232448;
        lw_core_plan_key(&plan, &key);
        CHECK(key.spread && key.rows_kb == kb);
        CHECK((key.operands[0].access == LW_ACCESS_ROWS) == (kb > 0));
        CHECK(key.operands[1].access == LW_ACCESS_DENSE);
        CHECK(key.block == cases[t / 2].wants[t % 2].block &&
              key.warps == cases[t / 2].wants[t % 2].warps);
        CHECK(lw_core_dynamic_bytes(&key) == (kb > 44 ? 1024U * (unsigned)kb : 0));
        if (kb > 0 && kb <= 44 && have_compiler)
            CHECK(try_kernel(&loop, &key).shared_bytes >= 1024 * key.rows_kb);
        if (kb > 44 && have_compiler)
            CHECK(try_kernel(&loop, &key).shared_bytes <= 4096);
        plan.most_shared = 0; /* not known: static memory only */
        lw_core_plan_key(&plan, &key);
        CHECK(key.rows_kb == (kb > 44 ? 0 : kb));
        plan.reads_rows = 0;
        lw_core_plan_key(&plan, &key);
        CHECK(key.rows_kb == 0 && key.operands[0].access != LW_ACCESS_ROWS);
        CHECK(key.spread == (rows >= 64 || columns >= 64 || rows == 40));
        plan.reads_rows = 1;
        plan.in_order = false; /* sums by several threads: only where a block is worth it */
        lw_core_plan_key(&plan, &key);
        CHECK(key.spread == (rows >= 64 || columns >= 64 || rows == 40));
        lw_module_free(scalar.module);
    }
}

/* Large matrices are divided among blocks, which have so many rows each. */
static void
test_bands(void)
{
    static const struct {
        int64_t rows, columns;
        struct {
            int band, kb, block;
            int64_t blocks; /* of an item */
        } wants[2];
    } cases[] = {
        {64, 64, {{0, 17, 64, 1}, {0, 33, 128, 1}}},
        {65, 64, {{32, 9, 64, 3}, {32, 17, 64, 3}}},
        {128, 128, {{32, 17, 128, 4}, {32, 33, 128, 4}}},
        {200, 200, {{32, 26, 128, 7}, {32, 51, 128, 7}}},
        {300, 30, {{32, 4, 32, 10}, {32, 8, 32, 10}}},
        {100, 2000, {{0, 0, 128, 1}, {0, 0, 128, 1}}}, /* 32 rows do not fit */
    };
    lw_core_layout layout = matvec_layout();

    for (size_t t = 0; t < 2 * sizeof cases / sizeof cases[0]; t++) {
        int64_t rows = cases[t / 2].rows, columns = cases[t / 2].columns, sizes[2];
        lw_dtype dtype = t % 2 ? LW_DT_f64 : LW_DT_f32;
        lw_arg_parts parts[3] = {{0}};
        lw_scalar scalar = {0};
        lw_gufunc_loop loop;
        lw_core_plan plan;
        lw_core_key key;
        matvec_body(&scalar, dtype, false, parts);
        make_loop(&loop, &layout, dtype, &scalar);
        CHECK(lw_core_spread(&loop).own_rows == 1);
        make_plan(&plan, &loop, sizes, rows, columns, 100);
        plan.can_spread = plan.in_order = true;
        plan.reads_rows = plan.own_rows = 1;
        plan.most_shared = 232448;
        lw_core_plan_key(&plan, &key);
        CHECK(key.spread && key.band == cases[t / 2].wants[t % 2].band);
        CHECK(key.rows_kb == cases[t / 2].wants[t % 2].kb || columns == 2000);
        CHECK(key.block == cases[t / 2].wants[t % 2].block || columns == 2000);
        CHECK(lw_core_plan_bands(&plan, &key) == cases[t / 2].wants[t % 2].blocks);
        CHECK(!have_compiler || try_kernel(&loop, &key).registers > 0);
        plan.walk.n = 1 << 20;
        lw_core_plan_key(&plan, &key);
        CHECK(key.band == cases[t / 2].wants[t % 2].band);
        make_plan(&plan, &loop, sizes, 100, t % 2 ? 500 : 1000, 33); /* long rows */
        plan.can_spread = plan.in_order = true;
        plan.reads_rows = plan.own_rows = 1;
        plan.most_shared = 232448;
        lw_core_plan_key(&plan, &key);
        CHECK(key.band == 32 && lw_core_plan_bands(&plan, &key) == 4);
        plan.walk.n = 34;
        lw_core_plan_key(&plan, &key);
        CHECK(key.band == 0);
        plan.walk.n = INT32_MAX; /* more blocks than a grid may have */
        lw_core_plan_key(&plan, &key);
        CHECK(key.band == 0 && lw_core_plan_bands(&plan, &key) == 1);
        lw_module_free(scalar.module);
    }
}

static void
test_spread(void)
{
    lw_core_layout layout = matvec_layout();

    for (int cc = 0; cc < 3; cc++) {
        lw_arg_parts parts[3] = {{0}};
        lw_scalar scalar = {0};
        lw_gufunc_loop loop;
        lw_core_plan plan;
        lw_core_key key;
        int64_t sizes[2];
        matvec_body(&scalar, cc ? LW_DT_f64 : LW_DT_f32, cc == 2, parts);
        make_loop(&loop, &layout, cc ? LW_DT_f64 : LW_DT_f32, &scalar);
        CHECK(lw_core_spread(&loop).possible);
        make_plan(&plan, &loop, sizes, 600, 30, 1 << 16);
        plan.can_spread = true;
        lw_core_plan_key(&plan, &key);
        CHECK(key.spread && key.block == 64); /* many items */
        plan.searches = true;
        lw_core_plan_key(&plan, &key);
        CHECK(key.spread && key.block == 64);
        plan.searches = false;
        lw_core_plan_key(&plan, &key);
        try_kernel(&loop, &key);
        plan.walk.n = 100;
        lw_core_plan_key(&plan, &key);
        CHECK(key.spread && key.block == 128);
        try_kernel(&loop, &key);
        plan.operands[2].core[0] = 16; /* not dense: two rows might be one place */
        lw_core_plan_key(&plan, &key);
        CHECK(!key.spread && key.operands[2].access == LW_ACCESS_STRIDED);
        make_plan(&plan, &loop, sizes, 9000, 30, 1 << 16);
        plan.can_spread = true;
        lw_core_plan_key(&plan, &key);
        CHECK(key.spread && key.block == 512); /* long items */
        plan.joins = true;
        lw_core_plan_key(&plan, &key);
        CHECK(has_warps(&key)); /* read once */
        plan.walk.n = 100;
        lw_core_plan_key(&plan, &key);
        CHECK(key.spread && key.block == 512);
        plan.scans_little = true; /* each step waits for the one before */
        lw_core_plan_key(&plan, &key);
        CHECK(key.spread && key.block == 1024);
        plan.joins = plan.scans_little = false;
        make_plan(&plan, &loop, sizes, 2048, 30, 1 << 16);
        plan.can_spread = true;
        lw_core_plan_key(&plan, &key);
        CHECK(key.spread && key.block == 128);
        make_plan(&plan, &loop, sizes, 3, 70, 1 << 16);
        plan.can_spread = true;
        lw_core_plan_key(&plan, &key);
        CHECK(has_warps(&key));
        plan.walk.n = 100;
        lw_core_plan_key(&plan, &key);
        CHECK(key.spread && key.block == 64);
        make_plan(&plan, &loop, sizes, 10, 40, 1 << 16);
        plan.can_spread = true;
        lw_core_plan_key(&plan, &key);
        CHECK(!key.spread && !key.constant);
        layout.operands[2].dims = dims_n; /* an output with the dimensions of an input */
        make_plan(&plan, &loop, sizes, 2, 1024, 1 << 16);
        plan.can_spread = true;
        lw_core_plan_key(&plan, &key);
        CHECK(key.spread && key.block == 128);
        make_plan(&plan, &loop, sizes, 2, 256, 1 << 18);
        plan.can_spread = true;
        lw_core_plan_key(&plan, &key);
        CHECK(has_warps(&key));
        layout.operands[2].dims = dims_m;
        lw_module_free(scalar.module);
    }
}

/* total += a[i, 0] (whole: += a[i, j] for all j; largest: max); y[i] = total */
static void
running_body(lw_scalar *scalar, lw_dtype dtype, bool whole, bool largest, lw_arg_parts *parts)
{
    static const unsigned ndims[] = {2, 1, 1};
    lw_error err = {0};
    lw_builder b;
    lw_ref p[3][5], zero, one, total, x, was;
    lw_for rows, columns = {0};
    uint32_t n = 0;

    GOOD(lw_module_new(&scalar->module, &err));
    lw_builder_start(&b, scalar->module, "lw_body");
    for (int k = 0; k < 3; k++) {
        parts[k].first = n;
        parts[k].n = 1 + 2 * ndims[k];
        for (unsigned i = 0; i < parts[k].n; i++, n++)
            p[k][i] = lw_ir_param_add(&b, i ? LW_DT_i64 : LW_DT_ptr, 0, "p");
    }
    zero = lw_ir_int(&b, LW_DT_i64, 0);
    one = lw_ir_int(&b, LW_DT_i64, 1);
    total = lw_ir_slot(&b, dtype);
    lw_ir_set(&b, total, lw_ir_zero(&b, dtype));
    rows = lw_ir_for(&b, zero, p[0][1], one, 0);
    if (whole)
        columns = lw_ir_for(&b, zero, p[0][2], one, 0);
    x = lw_ir_load(&b, dtype, 1, element(&b, p[0], 2, rows.i, whole ? columns.i : zero), 0, 0);
    was = lw_ir_get(&b, total);
    lw_ir_set(&b, total,
              largest ? lw_ir_select(&b, lw_ir_compare(&b, LW_OP_GT, x, was), x, was)
                      : lw_ir_add(&b, was, x));
    if (whole)
        lw_ir_for_end(&b, &columns);
    lw_ir_store(&b, element(&b, p[2], 1, rows.i, 0), lw_ir_get(&b, total), 0, 0);
    lw_ir_for_end(&b, &rows);
    lw_ir_return(&b, NULL, 0);
    GOOD(lw_ir_finish(&b, &err));
    scalar->body = b.func_number;
    scalar->n_args = 3;
    scalar->args = parts;
}

static unsigned
count_calls(const lw_module *module, uint32_t row)
{
    const lw_func *func = module->funcs.data[lw_ir_find(module, "lw_spread_body")];
    unsigned n = 0;

    for (uint32_t i = 1; i < func->insts.n; i++)
        n += func->insts.data[i].op == LW_OP_KERNEL_CALL && func->insts.data[i].a == row;
    return n;
}

/* Words of a value * (5 steps of a warp's scan, and one back), for one round a thread. Where
 * rounds are short, there are eight, or four of 8 bytes, all there or not: 8 groups of lanes
 * scan four rounds at a time, by 3 steps and one back. And the log of the warps' number for
 * each step of the block. */
static unsigned
ups_wanted(lw_dtype dtype, bool is_short, int block)
{
    unsigned words = lw_dtypes[dtype].size_bytes / 4, warps = 0, times = words == 1 ? 8 : 4;

    while (32 << warps < block)
        warps++;
    return words * (is_short ? 2 * (times / 4 * (3 + 1) + warps) : 6 + warps);
}

static void
test_scan(void)
{
    static const lw_dtype dtypes[] = {LW_DT_f32, LW_DT_f64, LW_DT_i32, LW_DT_u64};
    lw_core_layout layout = matvec_layout();

    for (int t = 0; t < 16; t++) {
        bool whole = t & 1, largest = t & 2;
        lw_dtype dtype = dtypes[t / 4];
        lw_arg_parts parts[3] = {{0}};
        lw_scalar scalar = {0};
        lw_gufunc_loop loop;
        lw_core_plan plan;
        lw_core_key key;
        lw_error err = {0};
        lw_module *module = NULL;
        int64_t sizes[2];
        running_body(&scalar, dtype, whole, largest, parts);
        make_loop(&loop, &layout, dtype, &scalar);
        CHECK(lw_core_spread(&loop).possible && lw_core_spread(&loop).joins &&
              lw_core_spread(&loop).scans_little);
        make_plan(&plan, &loop, sizes, t % 8 < 4 ? 600 : 50, 3, 30);
        plan.can_spread = true;
        lw_core_plan_key(&plan, &key);
        plan.joins = true;
        plan.walk.n = 10000;
        lw_core_plan_key(&plan, &key);
        CHECK(has_warps(&key));
        try_kernel(&loop, &key);
        plan.walk.n = 2000;
        lw_core_plan_key(&plan, &key);
        CHECK(key.spread && key.block == (t % 8 < 4 ? 64 : 32));
        plan.walk.n = 30;
        lw_core_plan_key(&plan, &key);
        CHECK(key.spread && key.block == (t % 8 < 4 ? 128 : 32));
        GOOD(lw_core_kernel(&loop, &key, "test_kernel", 0, &module, &err));
        CHECK(count_calls(module, LW_KOP_shfl_up) == ups_wanted(dtype, !whole, key.block));
        lw_module_free(module);
        try_kernel(&loop, &key);
        lw_module_free(scalar.module);
    }
}

/* Dimensions merge where every operand allows; size 1 goes; the order is the output's. */
static void
test_normalise(void)
{
    const int64_t shape[4] = {4, 1, 5, 6};
    const int64_t matrices[4] = {30 * 36, 999, 6 * 36, 36};
    const int64_t vectors[4] = {30 * 12, 999, 6 * 12, 12};
    const int64_t repeated[4] = {0, 999, 6 * 12, 12}; /* along the first dimension */
    const int64_t *all[3] = {matrices, vectors, vectors};
    const int64_t *some[3] = {matrices, repeated, vectors};
    lw_core_layout layout = matvec_layout();
    lw_arg_parts parts[3] = {{0}};
    lw_scalar scalar = {0};
    lw_gufunc_loop loop;
    lw_core_plan plan;
    lw_core_key key;
    int64_t sizes[2];

    matvec_body(&scalar, LW_DT_f32, false, parts);
    make_loop(&loop, &layout, LW_DT_f32, &scalar);
    make_plan(&plan, &loop, sizes, 3, 3, 1);
    CHECK(plan.walk.n == 1 && plan.walk.ndim == 1);
    CHECK(lw_core_plan_normalise(&plan, 4, shape, all));
    CHECK(plan.walk.n == 120 && plan.walk.ndim == 1 && plan.walk.operands[0].strides[0] == 36);
    CHECK(lw_core_plan_normalise(&plan, 4, shape, some));
    CHECK(plan.walk.n == 120 && plan.walk.ndim == 2 && plan.walk.shape[0] == 30 &&
          plan.walk.shape[1] == 4);
    CHECK(plan.walk.operands[1].strides[0] == 12 && plan.walk.operands[1].strides[1] == 0);
    lw_core_plan_key(&plan, &key);
    CHECK(key.ndim == 2 && key.operands[1].access == LW_ACCESS_DENSE);
    try_kernel(&loop, &key);
    CHECK(lw_core_plan_normalise(&plan, 2, (const int64_t[]){0, 3}, all) && plan.walk.n == 0);
    lw_module_free(scalar.module);
}

static void
test_divider(void)
{
    const uint32_t sizes[] = {1, 2, 3, 7, 10, 641, 65535, 65536, 1000003, 0x7fffffff};

    for (int i = 0; i < 10; i++) {
        lw_divider divider = lw_divider_of(sizes[i]);
        for (uint64_t n = 0; n < INT32_MAX; n = n * 5 / 3 + 1) {
            uint64_t high = n * divider.multiplier >> 32;
            CHECK(((high + n) & 0xffffffff) >> divider.shift == n / sizes[i]);
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
    test_shapes();
    test_axes();
    test_marks();
    test_divider();
    test_staged();
    test_plain();
    test_tiles();
    test_keep();
    test_rows();
    test_bands();
    test_spread();
    test_scan();
    test_normalise();
    printf("ok, %d cubins\n", n_cubins);
    CHECK(lw_memory_live() < 200); /* what the toolchain keeps for the process */
    return EXIT_SUCCESS;
}
