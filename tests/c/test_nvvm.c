/* The GPU's road with the real libraries, no GPU needed: every architecture, every output,
 * options that must act, texts that must be refused. Skipped, with the reason, where they are
 * not found. */
#include "core/link/compile_cuda.h"

#include "core/base/env.h"
#include "core/base/memory.h"
#include "core/link/ptx_constants.h"
#include "core/link/toolchain.h"
#include "tests/c/check.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* the full data layout: nvJitLink 13.5 refuses the short one for compute_100 and newer */
#define HEAD                                                                                   \
    "target datalayout = \"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-"          \
    "i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"    \
    "\"\n"                                                                                     \
    "target triple = \"nvptx64-nvidia-cuda\"\n"
#define TAIL                                                                                   \
    "!nvvm.annotations = !{!0}\n"                                                              \
    "!0 = !{void (float*, float*, i32)* @lw_k, !\"kernel\", i32 1}\n"                          \
    "!nvvmir.version = !{!1}\n!1 = !{i32 2, i32 0, i32 3, i32 2}\n"
#define USED                                                                                   \
    "@llvm.used = appending global [1 x i8*] [i8* bitcast (void (float*, float*, i32)* "       \
    "@lw_k to i8*)], section \"llvm.metadata\"\n"
#define BODY(value)                                                                            \
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"                                           \
    "declare float @__nv_expf(float)\n"                                                        \
    "declare float @lw_given(float)\n"                                                         \
    "define void @lw_k(float* %x, float* %y, i32 %n) {\n"                                      \
    "start:\n"                                                                                 \
    "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"                                       \
    "  %in = icmp ult i32 %t, %n\n"                                                            \
    "  br i1 %in, label %work, label %end\n"                                                   \
    "work:\n"                                                                                  \
    "  %i = zext i32 %t to i64\n"                                                              \
    "  %px = getelementptr inbounds float, float* %x, i64 %i\n"                                \
    "  %py = getelementptr inbounds float, float* %y, i64 %i\n"                                \
    "  %v = load float, float* %px, align 4\n" value "  store float %r, float* %py, align 4\n" \
    "  br label %end\n"                                                                        \
    "end:\n"                                                                                   \
    "  ret void\n"                                                                             \
    "}\n"

static const char *const plain =
    HEAD USED BODY("  %m = fmul float %v, %v\n  %r = fadd float %m, %v\n") TAIL;
static const char *const with_exp =
    HEAD USED BODY("  %r = call float @__nv_expf(float %v)\n") TAIL;
static const char *const with_given =
    HEAD USED BODY("  %r = call float @lw_given(float %v)\n") TAIL;
static const char *const not_used =
    HEAD BODY("  %m = fmul float %v, %v\n  %r = fadd float %m, %v\n") TAIL;
static const char *const division = HEAD USED BODY("  %r = fdiv float 1.0, %v\n") TAIL;
static const char *const given = HEAD
    "define float @lw_given(float %x) {\nstart:\n  %r = fmul float %x, 3.0\n  ret float %r\n}\n"
    "@llvm.used = appending global [1 x i8*] [i8* bitcast (float (float)* @lw_given to i8*)], "
    "section \"llvm.metadata\"\n"
    "!nvvmir.version = !{!1}\n!1 = !{i32 2, i32 0, i32 3, i32 2}\n";

/* The folders of the Python on PATH: the wheels of a test environment lie there. */
static lw_status
python_folders(lw_text *out, lw_error *err)
{
    FILE *pipe =
        popen("python -c 'import sys; print(chr(10).join(sys.path))' 2>/dev/null", "r");
    char line[1024];

    while (pipe != NULL && fgets(line, sizeof line, pipe) != NULL)
        lw_text_add(out, line);
    if (pipe != NULL)
        pclose(pipe);
    return out->failed ? lw_fail_memory(err) : LW_OK;
}

static double
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool
good(lw_status status, lw_error *err)
{
    if (status != LW_OK)
        fprintf(stderr, "%s\n", lw_error_text(err));
    lw_error_reset(err);
    return status == LW_OK;
}

/* The kernel lw_k of this text for a compute capability, linked with `extra` unless it is NULL.
 */
static lw_status
compile(const char *text, int cc, const lw_cuda_options *options, const lw_link_input *extra,
        lw_bytes *cubin, lw_error *err)
{
    lw_cuda_source source = {text, "lw_k", extra, extra != NULL};
    lw_cuda_options same = *options;

    same.cc = cc;
    return lw_compile_cuda(&source, &same, cubin, err);
}

static lw_status
compile_ptx(const char *text, int cc, const lw_cuda_options *options,
            const lw_link_input *extra, lw_bytes *ptx, lw_error *err)
{
    lw_cuda_source source = {text, "lw_k", extra, extra != NULL};
    lw_cuda_options same = *options;

    same.cc = cc;
    return lw_compile_cuda_ptx(&source, &same, ptx, err);
}

static void
test_architectures(void)
{
    static const int all[] = {75, 80, 86, 89, 90, 100, 120};
    lw_cuda_options options = LW_CUDA_OPTIONS_EXACT(90);

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lw_bytes cubin = {0};
        lw_error err = {0};
        double start = now_ms();

        CHECK(lw_cuda_cc_known(all[i]));
        CHECK(good(compile(with_exp, all[i], &options, NULL, &cubin, &err), &err));
        printf("sm_%d: %zu bytes of cubin in %.1f ms\n", all[i], cubin.n, now_ms() - start);
        CHECK(lw_cubin_has_function(cubin.data, cubin.n, "lw_k"));
        CHECK(!lw_cubin_has_function(cubin.data, cubin.n, "lw_other"));
        lw_bytes_reset(&cubin);
    }
}

static bool
ptx_has(const char *text, const lw_cuda_options *options, const char *words)
{
    lw_bytes ptx = {0};
    lw_error err = {0};
    bool found = false;

    CHECK(good(compile_ptx(text, 90, options, NULL, &ptx, &err), &err));
    if (ptx.data != NULL) {
        CHECK(strlen((char *)ptx.data) == ptx.n);
        found = strstr((char *)ptx.data, words) != NULL;
    }
    lw_bytes_reset(&ptx);
    return found;
}

static bool
sass_has(const char *text, const lw_cuda_options *options, const char *words)
{
    lw_bytes cubin = {0}, sass = {0};
    lw_error err = {0};
    bool found = false;

    CHECK(good(compile(text, 90, options, NULL, &cubin, &err), &err));
    CHECK(good(lw_cuda_sass(cubin.data, cubin.n, &sass, &err), &err));
    found = sass.data != NULL && strstr((char *)sass.data, words) != NULL;
    lw_bytes_reset(&cubin);
    lw_bytes_reset(&sass);
    return found;
}

static void
test_options(void)
{
    lw_cuda_options exact = LW_CUDA_OPTIONS_EXACT(90), fused = LW_CUDA_OPTIONS_FUSED(90);
    lw_cuda_options fast = {.cc = 90, .opt = 3, .fma = true, .ftz = true, .fast_div = true};
    lw_cuda_options none = {.cc = 90, .opt = 0, .line_info = true, .max_registers = 32};
    lw_text program, tried;

    CHECK(ptx_has(plain, &exact, ".entry lw_k"));
    CHECK(!ptx_has(plain, &exact, "fma.rn"));
    CHECK(ptx_has(plain, &fused, "fma.rn"));
    CHECK(ptx_has(division, &exact, "div.rn.f32") || ptx_has(division, &exact, "rcp.rn.f32"));
    CHECK(!ptx_has(division, &fast, "div.rn.f32") && !ptx_has(division, &fast, "rcp.rn.f32"));
    CHECK(ptx_has(plain, &none, ".entry lw_k"));
    CHECK(!ptx_has(with_exp, &exact, "call")); /* libdevice is inlined */
    lw_text_init(&program);
    lw_text_init(&tried);
    if (lw_toolchain_program("nvdisasm", &program, &tried) ||
        lw_toolchain_program("cuobjdump", &program, &tried)) {
        CHECK(!sass_has(plain, &exact, "FFMA"));
        CHECK(sass_has(plain, &fused, "FFMA"));
    } else {
        puts("SKIP sass: no nvdisasm and no cuobjdump");
    }
    lw_text_reset(&program);
    lw_text_reset(&tried);
}

static void
test_link_inputs(void)
{
    lw_cuda_options options = LW_CUDA_OPTIONS_EXACT(90);
    lw_bytes other = {0}, out = {0};
    lw_error err = {0};
    lw_link_input extra = {LW_LINK_LTOIR, NULL, 0, "given.ltoir"};

    CHECK(compile(with_given, 90, &options, NULL, &out, &err) == LW_ERR_LINK);
    CHECK(strstr(lw_error_text(&err), "lw_given") != NULL &&
          lw_error_vendor_name(&err)[0] != 0);
    lw_error_reset(&err);
    CHECK(good(lw_compile_cuda_ltoir(&(lw_cuda_source){given, "lw_given", NULL, 0}, &options,
                                     &other, &err),
               &err));
    extra.data = other.data;
    extra.n = other.n;
    CHECK(good(compile(with_given, 90, &options, &extra, &out, &err), &err));
    lw_bytes_reset(&out);
    CHECK(good(compile_ptx(with_given, 90, &options, &extra, &out, &err), &err));
    CHECK(out.data && strstr((char *)out.data, "call") == NULL); /* inlined across modules */
    lw_bytes_reset(&out);
    lw_bytes_reset(&other);
    CHECK(good(lw_nvvm_compile(given, "lw_given", &options, LW_NVVM_PTX, &other, &err), &err));
    extra = (lw_link_input){LW_LINK_PTX, other.data, other.n, "given.ptx"};
    CHECK(good(compile(with_given, 90, &options, &extra, &out, &err), &err));
    lw_bytes_reset(&out);
    extra = (lw_link_input){LW_LINK_LTOIR, "not LTO-IR", 10, "rubbish"};
    CHECK(compile(plain, 90, &options, &extra, &out, &err) == LW_ERR_LINK);
    CHECK(strstr(lw_error_text(&err), "rubbish") != NULL);
    lw_error_reset(&err);
    lw_bytes_reset(&other);
}

/* A kernel with 50 different float64 numbers, of which no half is zero; the last one is `last`,
 * so that two kernels have different tables. */
static void
text_with_numbers(lw_text *out, const char *kernel, int last)
{
    lw_text_addf(out,
                 HEAD "define void @%s(double* %%x) {\n  %%v0 = load double, double* %%x\n",
                 kernel);
    for (int k = 1; k <= 50; k++)
        lw_text_addf(out,
                     "  %%p%d = fmul double %%v%d, 0x4001234512345%03X\n"
                     "  %%v%d = fadd double %%p%d, %%v0\n",
                     k, k - 1, k < 50 ? k : last, k, k);
    lw_text_addf(out,
                 "  store double %%v50, double* %%x\n  ret void\n}\n"
                 "@llvm.used = appending global [1 x i8*] [i8* bitcast (void (double*)* @%s to "
                 "i8*)], section \"llvm.metadata\"\n"
                 "!nvvm.annotations = !{!0}\n!0 = !{void (double*)* @%s, !\"kernel\", i32 1}\n"
                 "!nvvmir.version = !{!1}\n!1 = !{i32 2, i32 0, i32 3, i32 2}\n",
                 kernel, kernel);
}

static bool
has_table(const char *text, const lw_cuda_options *options, const lw_link_input *extra)
{
    lw_cuda_source source = {text, "lw_many", extra, extra != NULL};
    lw_bytes ptx = {0}, cubin = {0};
    lw_error err = {0};
    bool found;

    CHECK(good(lw_compile_cuda_ptx(&source, options, &ptx, &err), &err));
    CHECK(good(lw_compile_cuda(&source, options, &cubin, &err), &err));
    found = ptx.data != NULL && strstr((char *)ptx.data, "lw_constants[50]") != NULL;
    lw_bytes_reset(&ptx);
    lw_bytes_reset(&cubin);
    return found;
}

/* For every architecture ptxas takes what lw_ptx_constants writes, and two such kernels, whose
 * tables have one name, are linked to one program. */
static void
test_linked_tables(const char *first, const char *second)
{
    static const int all[] = {75, 80, 86, 89, 90, 100, 120};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lw_cuda_options options = LW_CUDA_OPTIONS_EXACT(all[i]);
        lw_bytes ptx[2] = {0}, cubin = {0};
        lw_link_input inputs[2];
        lw_link_request request = {inputs, 2, LW_LINK_TO_CUBIN, "lw_many"};
        lw_error err = {0};

        for (int k = 0; k < 2; k++) {
            CHECK(good(lw_nvvm_compile(k ? second : first, "lw_many", &options, LW_NVVM_PTX,
                                       &ptx[k], &err),
                       &err));
            CHECK(good(lw_ptx_constants(&ptx[k], &err), &err));
            CHECK(ptx[k].data && strstr((char *)ptx[k].data, "lw_constants[50]") != NULL);
            inputs[k] = (lw_link_input){LW_LINK_PTX, ptx[k].data, ptx[k].n, "many"};
        }
        CHECK(good(lw_nvjitlink_link(&request, &options, &cubin, &err), &err));
        CHECK(lw_cubin_has_function(cubin.data, cubin.n, "lw_more"));
        for (int k = 0; k < 2; k++)
            lw_bytes_reset(&ptx[k]);
        lw_bytes_reset(&cubin);
    }
}

static void
test_constants(void)
{
    lw_cuda_options exact = LW_CUDA_OPTIONS_EXACT(90), older = LW_CUDA_OPTIONS_EXACT(80);
    lw_cuda_options lines = {.cc = 90, .opt = 3, .line_info = true};
    lw_cuda_options none = {.cc = 90, .opt = 0};
    lw_bytes other = {0};
    lw_link_input extra = {LW_LINK_PTX, NULL, 0, "given.ptx"};
    lw_error err = {0};
    lw_text first, second;

    lw_text_init(&first);
    lw_text_init(&second);
    text_with_numbers(&first, "lw_many", 50);
    text_with_numbers(&second, "lw_more", 51);
    CHECK(!first.failed && !second.failed);
    CHECK(has_table(lw_text_get(&first), &exact, NULL));
    CHECK(has_table(lw_text_get(&first), &lines, NULL));
    CHECK(!has_table(lw_text_get(&first), &older, NULL));
    CHECK(!has_table(lw_text_get(&first), &none, NULL));
    CHECK(good(lw_nvvm_compile(given, "lw_given", &exact, LW_NVVM_PTX, &other, &err), &err));
    extra.data = other.data;
    extra.n = other.n;
    CHECK(!has_table(lw_text_get(&first), &exact, &extra));
    lw_bytes_reset(&other);
    test_linked_tables(lw_text_get(&first), lw_text_get(&second));
    lw_text_reset(&first);
    lw_text_reset(&second);
}

static void
expect_refusal(const char *text, int cc, lw_status expected, const char *words)
{
    lw_cuda_options options = LW_CUDA_OPTIONS_EXACT(90);
    lw_bytes out = {0};
    lw_error err = {0};

    CHECK(compile(text, cc, &options, NULL, &out, &err) == expected);
    CHECK(err.status == expected && out.data == NULL);
    CHECK(strstr(lw_error_text(&err), words) != NULL);
    if (strstr(lw_error_text(&err), words) == NULL)
        fprintf(stderr, "got: %s\n", lw_error_text(&err));
    lw_error_reset(&err);
}

static void
test_refusals(void)
{
    int64_t live = lw_memory_live();

    expect_refusal(HEAD "rubbish", 90, LW_ERR_COMPILE, "lw_k");
    expect_refusal(HEAD "rubbish", 120, LW_ERR_COMPILE, "lw_k");
    expect_refusal("define void @lw_k() { ret void }", 90, LW_ERR_INTERNAL, "datalayout");
    expect_refusal(plain, 30, LW_ERR_VALUE, "got 30");
    expect_refusal(plain, 777, LW_ERR_COMPILE, "777");
    /* compiled without the verifier this would end the process */
    expect_refusal(HEAD USED "declare double @llvm.exp.f64(double)\n" BODY(
                       "  %d = fpext float %v to double\n"
                       "  %e = call double @llvm.exp.f64(double %d)\n"
                       "  %r = fptrunc double %e to float\n") TAIL,
                   90, LW_ERR_COMPILE, "nvvmVerifyProgram");
    CHECK(lw_memory_live() == live);
}

/* A kernel that @llvm.used does not name comes out of a link by way of PTX; link-time
 * optimisation drops it, which is told. */
static void
test_dropped_kernel(void)
{
    lw_cuda_options options = LW_CUDA_OPTIONS_EXACT(90);
    lw_bytes out = {0}, other = {0};
    lw_link_input extra;
    lw_error err = {0};
    int64_t live = lw_memory_live();

    CHECK(good(compile(not_used, 90, &options, NULL, &out, &err), &err));
    lw_bytes_reset(&out);
    CHECK(
        good(lw_nvvm_compile(given, "lw_given", &options, LW_NVVM_LTOIR, &other, &err), &err));
    extra = (lw_link_input){LW_LINK_LTOIR, other.data, other.n, "given"};
    CHECK(compile(not_used, 90, &options, &extra, &out, &err) == LW_ERR_LINK);
    CHECK(out.data == NULL && strstr(lw_error_text(&err), "no kernel lw_k") != NULL);
    lw_error_reset(&err);
    lw_bytes_reset(&other);
    CHECK(lw_memory_live() == live);
}

static void
test_not_found(void)
{
    lw_cuda_options options = LW_CUDA_OPTIONS_EXACT(90);
    lw_bytes out = {0};
    lw_error err = {0};

    CHECK(lw_env_set(LW_ENV_libnvvm, "/nowhere/libnvvm.so.4"));
    CHECK(compile(plain, 90, &options, NULL, &out, &err) == LW_ERR_COMPILER_NOT_FOUND);
    CHECK(strstr(lw_error_text(&err), "/nowhere/libnvvm.so.4: no such file") != NULL);
    CHECK(strstr(lw_error_text(&err), "pip install lanewise[cu13]") != NULL);
    lw_error_reset(&err);
    CHECK(lw_env_set(LW_ENV_libnvvm, "/bin/sh")); /* there, but no library */
    CHECK(compile(plain, 90, &options, NULL, &out, &err) == LW_ERR_COMPILER_NOT_FOUND);
    CHECK(strstr(lw_error_text(&err), "cannot be loaded") != NULL);
    lw_error_reset(&err);
    CHECK(lw_env_set(LW_ENV_libnvvm, "libm.so.6")); /* a library, but another */
    CHECK(compile(plain, 90, &options, NULL, &out, &err) == LW_ERR_COMPILER_NOT_FOUND);
    CHECK(strstr(lw_error_text(&err), "nvvmVersion") != NULL);
    lw_error_reset(&err);
    CHECK(lw_env_set(LW_ENV_libnvvm, NULL));
    CHECK(good(compile(plain, 90, &options, NULL, &out, &err), &err));
    lw_bytes_reset(&out);
}

static void *
compile_some(void *context)
{
    lw_bytes *out = context;
    lw_cuda_options options = LW_CUDA_OPTIONS_EXACT(90);

    for (int i = 0; i < 4; i++) {
        lw_error err = {0};

        lw_bytes_reset(out);
        CHECK(good(compile(with_exp, i % 2 ? 100 : 90, &options, NULL, out, &err), &err));
    }
    return NULL;
}

static void
test_threads(void)
{
    pthread_t threads[4];
    lw_bytes out[4] = {0};

    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, compile_some, &out[i]) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < 4; i++) /* the same bytes whatever the threads */
        CHECK(out[i].n == out[0].n && memcmp(out[i].data, out[0].data, out[0].n) == 0);
    for (int i = 0; i < 4; i++)
        lw_bytes_reset(&out[i]);
}

static void
test_damaged_cubin(void)
{
    lw_cuda_options options = LW_CUDA_OPTIONS_EXACT(90);
    lw_bytes cubin = {0};
    lw_error err = {0};
    uint32_t state = 12345;

    CHECK(good(compile(plain, 90, &options, NULL, &cubin, &err), &err));
    for (size_t n = 0; n < cubin.n; n += 13) /* reads nothing beyond what is there */
        (void)lw_cubin_has_function(cubin.data, n, "lw_k");
    for (int i = 0; i < 2000 && cubin.n > 0; i++) {
        size_t at = (state = state * 1664525 + 1013904223) % cubin.n;
        uint8_t before = cubin.data[at];
        cubin.data[at] = (uint8_t)(state >> 24);
        (void)lw_cubin_has_function(cubin.data, cubin.n, "lw_k");
        cubin.data[at] = before;
    }
    CHECK(lw_cubin_has_function(cubin.data, cubin.n, "lw_k"));
    lw_bytes_reset(&cubin);
}

/* Compilations after the first few use memory that earlier ones freed. A sanitizer's allocator
 * keeps none. */
static void
test_memory_is_kept(void)
{
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const lw_cuda_options options = LW_CUDA_OPTIONS_EXACT(90);
    long fewest = LONG_MAX;

    for (int i = 0; i < 6; i++) {
        struct rusage before, after;
        lw_bytes cubin = {0};
        lw_error err = {0};

        getrusage(RUSAGE_SELF, &before);
        CHECK(good(compile(plain, 90, &options, NULL, &cubin, &err), &err));
        getrusage(RUSAGE_SELF, &after);
        lw_bytes_reset(&cubin);
        if (after.ru_minflt - before.ru_minflt < fewest)
            fewest = after.ru_minflt - before.ru_minflt;
    }
    printf("%ld new pages for a compilation\n", fewest);
    CHECK(fewest < 500);
#endif
}

int
main(void)
{
    static const lw_python_finder finder = {python_folders, NULL};
    const lw_toolchain *toolchain = NULL, *again = NULL;
    lw_error err = {0};
    lw_text version;
    int major = 0, minor = 0;

    lw_toolchain_set_finder(&finder);
    if (lw_toolchain_need(&toolchain, &err) != LW_OK) {
        CHECK(strstr(lw_error_text(&err), "Places tried") != NULL);
        printf("SKIP: %s\n", lw_error_text(&err));
        lw_error_reset(&err);
        return n_failures != 0;
    }
    CHECK(lw_env_set(LW_ENV_threads, "0")); /* an unrelated setting changes nothing */
    CHECK(lw_toolchain_get(&again, &err) == LW_OK && again == toolchain);
    lw_text_init(&version);
    CHECK(good(lw_nvvm_version(&version, &err), &err));
    CHECK(good(lw_nvjitlink_version(&major, &minor, &err), &err));
    for (int c = 0; c < LW_N_COMPONENTS; c++)
        printf("%s: %s (%s)\n", lw_component_names[c], toolchain->found[c].path,
               toolchain->found[c].place);
    printf("%s; nvJitLink %d.%d\n", lw_text_get(&version), major, minor);
    CHECK(major >= 12 && !lw_cuda_cc_known(77));
    lw_text_reset(&version);
    test_memory_is_kept();
    test_architectures();
    test_options();
    test_link_inputs();
    test_constants();
    test_refusals();
    test_dropped_kernel();
    test_not_found();
    test_threads();
    test_damaged_cubin();
    return n_failures != 0;
}
