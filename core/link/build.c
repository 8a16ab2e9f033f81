#include "core/link/build.h"

#include "core/base/clock.h"
#include "core/base/deep_thread.h"
#include "core/base/env.h"
#include "core/base/memory.h"
#include "core/base/profile.h"
#include "core/ir/ir.h"
#include "core/link/compile_cuda.h"
#include "core/link/host_llvm.h"
#include "core/link/nvrtc.h"
#include "core/link/toolchain.h"
#include "core/opt/jam.h"
#include "core/opt/lanes_loops.h"
#include "core/opt/loops/pieces.h"
#include "core/opt/prune.h"
#include "core/tables/version.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static double
now_seconds(void)
{
    return 1e-9 * (double)lw_now_ns();
}

int
lw_host_vector_bits(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return 512;
    if (__builtin_cpu_supports("avx2"))
        return 256;
#endif
    return 128;
}

int
lw_host_light_vector_bits(void)
{
    return lw_host_vector_bits() < 256 ? lw_host_vector_bits() : 256;
}

/* Whether this CPU has a fused multiply-add. */
static bool
host_has_fma(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
#elif defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

bool
lw_host_is_own(lw_intrinsic which, lw_dtype type)
{
    return host_has_fma() && lw_emit_is_own(which, type);
}

/* ---- what is being built, and for what ---- */

typedef struct job {
    const lw_module *module; /* prepared for the side it is built for */
    const lw_module *given;
    const lw_build_options *options;
    int cc;                /* 0: the host */
    bool frozen;           /* host code for another process */
    lw_link_input *extra;  /* options->links, in which CUDA C++ is compiled … */
    lw_blob **extra_blobs; /* … to these; NULL: the bytes are the input's own */
} job;

/* libNVVM refuses debug information of several units, as code of others may have it in
 * LTO-IR. */
static bool
has_variables(const job *j)
{
    bool alone = true;

    for (uint32_t i = 0; j->extra != NULL && i < j->options->n_links; i++)
        alone &= j->extra[i].kind != LW_LINK_LTOIR;
    return j->options->variables && !j->options->opt && alone;
}

/* Debug builds look at every module that is compiled; release builds where they are asked to.
 */
static bool
is_verified(void)
{
#ifdef NDEBUG
    return lw_env_int(LW_ENV_verify) != 0;
#else
    return true;
#endif
}

/* Code that is checked for races, or that a debugger shows, keeps its loops; and code that must
 * be made soon is not made longer. */
static bool
may_be_jammed(const job *j)
{
    return j->cc == 0 && j->options->opt && !j->options->quick &&
           j->options->watch == LW_WATCH_NOTHING && lw_jam_may_apply(j->module);
}

/* The same; and libm itself computes one number after the other. */
static bool
may_have_lanes(const job *j)
{
    return j->cc == 0 && j->options->opt && !j->options->quick && !j->options->precise &&
           j->options->watch == LW_WATCH_NOTHING && lw_lanes_loops_may_apply(j->module);
}

static bool
may_have_pieces(const job *j)
{
    return j->cc != 0 && j->options->opt && lw_ir_has_op(j->module, LW_OP_LOOP);
}

/* What code for the other side alone has goes before anything looks at the module; the loops of
 * host code get lanes, or are jammed, and those of a GPU's code run in pieces. *own: a copy,
 * for the caller to free; or NULL.
 */
static lw_status
prepare(job *j, lw_module **own, lw_error *err)
{
    bool two_sided = lw_ir_has_op(j->module, LW_OP_ON_GPU), jams = may_be_jammed(j);
    bool has_lanes = may_have_lanes(j), has_pieces = may_have_pieces(j);
    const lw_lanes_host host = {.vector_bits = lw_host_vector_bits(), .is_own = lw_host_is_own};
    lw_status status;

    *own = NULL;
    j->given = j->module;
    if (!two_sided && !jams && !has_lanes && !has_pieces)
        return LW_OK;
    LW_TRY(lw_module_copy(j->module, own, err));
    j->module = *own;
    if (two_sided)
        LW_TRY(lw_opt_side(*own, j->cc != 0, err));
    if (has_lanes)
        LW_TRY(lw_opt_lanes_loops(*own, &host, err));
    if (jams)
        LW_TRY(lw_opt_jam(*own, NULL, err));
    if (has_pieces)
        LW_TRY(lw_opt_pieces(*own, LW_PIECES_MOST, NULL, err));
    if (is_verified())
        LW_TRY(lw_ir_verify(*own, err));
fail:
    return status;
}

static bool
offers_nrt(const job *j)
{
    bool offers = j->options->nrt;

    for (uint32_t i = 0; i < j->options->n_links; i++)
        offers |= j->options->links[i].nrt;
    return j->cc && offers;
}

static lw_emit_options
emit_options(const job *j)
{
    lw_emit_options options = {0};

    options.target = j->cc ? LW_TARGET_CUDA : LW_TARGET_CPU;
    options.cc = j->cc;
    options.variables = has_variables(j);
    options.lineinfo = (j->options->lineinfo || options.variables) && j->cc;
    options.nrt = offers_nrt(j);
    options.watch = j->cc ? LW_WATCH_NOTHING : j->options->watch;
    options.precise = j->options->precise;
    options.frozen = j->frozen;
    options.has_fma = host_has_fma();
    options.vector_bits =
        j->module->is_light ? lw_host_light_vector_bits() : lw_host_vector_bits();
    options.has_vector_function = lw_mvec_has;
    return options;
}

static lw_cuda_options
cuda_options(const job *j)
{
    return (lw_cuda_options){.cc = j->cc,
                             .opt = j->options->opt ? 3 : 0,
                             .fma = j->options->fma,
                             .ftz = j->options->ftz,
                             .fast_div = j->options->fast_div,
                             .fast_sqrt = j->options->fast_div,
                             .line_info = j->options->lineinfo,
                             .debug_info = has_variables(j),
                             .max_registers = j->options->max_registers};
}

/* ---- the user's code ---- */

typedef struct source_job {
    const lw_link_code *code;
    const job *job;
    bool ptx;
    lw_bytes *out;
} source_job;

static lw_status
run_nvrtc(void *context, lw_error *err)
{
    const source_job *s = context;
    lw_cuda_options options = cuda_options(s->job);
    lw_nvrtc_source source = {.text = s->code->input.data,
                              .n = s->code->input.n,
                              .name = s->code->input.name,
                              .folders = s->code->folders,
                              .n_folders = s->code->n_folders,
                              .ptx = s->ptx};

    return lw_nvrtc_compile(&source, &options, s->out, err);
}

static lw_status
make_source(void *context, lw_bytes *out, lw_error *err)
{
    source_job *s = context;

    s->out = out;
    return lw_run_deep(run_nvrtc, s, err);
}

/* Files that a source includes are not part of its key, so each process compiles such a source
 * again. */
static bool
includes(const lw_link_input *source)
{
    const char *at = source->data, *end = at + source->n;

    for (; (at = memchr(at, '#', (size_t)(end - at))) != NULL; at++) {
        const char *word = at + 1;
        while (word < end && (*word == ' ' || *word == '\t'))
            word++;
        if ((size_t)(end - word) >= 7 && memcmp(word, "include", 7) == 0)
            return true;
    }
    return false;
}

static lw_status
compile_source(const job *j, const lw_link_code *code, lw_blob **out, lw_error *err)
{
    source_job s = {.code = code, .job = j};
    lw_cache_request request = {
        .kind = LW_CACHE_LTOIR,
        .use_disk = j->options->use_disk && !includes(&code->input),
        .make = make_source,
        .context = &s,
    };
    lw_digest nvrtc;
    lw_status status;
    lw_sha256 sha;
    char flags[96];

    LW_TRY(lw_nvrtc_id(&nvrtc, err));
    snprintf(flags, sizeof flags, "cuda c++ cc=%d line=%d ftz=%d div=%d", j->cc,
             j->options->lineinfo, j->options->ftz, j->options->fast_div);
    lw_sha256_init(&sha);
    lw_sha256_add_text(&sha, flags);
    lw_sha256_add_text(&sha, code->input.name ? code->input.name : "");
    lw_sha256_add_text(&sha, lw_env_text(LW_ENV_include_path));
    lw_sha256_add(&sha, &nvrtc, sizeof nvrtc);
    lw_sha256_add(&sha, &code->id, sizeof code->id);
    request.key = lw_sha256_finish(&sha);
    status = lw_cache_get_or_make(&request, out, NULL, err);
fail:
    return status;
}

lw_status
lw_build_source(const lw_link_code *code, int cc, const lw_build_options *options, bool ptx,
                lw_bytes *out, lw_error *err)
{
    job j = {.cc = cc, .options = options};
    source_job s = {.code = code, .job = &j, .ptx = ptx};

    return make_source(&s, out, err);
}

static lw_status
prepare_links(job *j, lw_error *err)
{
    uint32_t n = j->options->n_links;
    lw_status status = LW_OK;

    if (n == 0 || j->cc == 0)
        return LW_OK;
    j->extra = lw_alloc_zero(n, sizeof *j->extra);
    j->extra_blobs = lw_alloc_zero(n, sizeof *j->extra_blobs);
    if (j->extra == NULL || j->extra_blobs == NULL)
        return lw_fail_memory(err);
    for (uint32_t i = 0; i < n; i++) {
        const lw_link_code *code = &j->options->links[i];
        j->extra[i] = code->input;
        if (code->input.kind != LW_LINK_CUDA)
            continue;
        LW_TRY(compile_source(j, code, &j->extra_blobs[i], err));
        j->extra[i].kind = LW_LINK_LTOIR;
        j->extra[i].data = lw_blob_data(j->extra_blobs[i]);
        j->extra[i].n = lw_blob_size(j->extra_blobs[i]);
    }
fail:
    return status;
}

static void
release_links(job *j)
{
    for (uint32_t i = 0; j->extra_blobs != NULL && i < j->options->n_links; i++)
        lw_blob_unref(j->extra_blobs[i]);
    lw_free(j->extra);
    lw_free(j->extra_blobs);
}

static void
add_links(lw_sha256 *sha, const job *j)
{
    for (uint32_t i = 0; j->extra != NULL && i < j->options->n_links; i++) {
        const lw_link_input *input = &j->extra[i];
        uint32_t kind = input->kind;
        lw_sha256_add(sha, &kind, sizeof kind);
        lw_sha256_add_text(sha, input->name ? input->name : "");
        if (j->extra_blobs[i] != NULL)
            lw_sha256_add(sha, input->data, input->n);
        else
            lw_sha256_add(sha, &j->options->links[i].id, sizeof(lw_digest));
    }
}

const char *
lw_build_kernel_name(const lw_module *module)
{
    for (uint32_t i = 0; i < module->funcs.n; i++)
        if (module->funcs.data[i]->linkage == LW_KERNEL)
            return module->funcs.data[i]->name;
    return NULL;
}

static int
host_level(const job *j)
{
    return !j->options->opt ? 0 : j->options->quick ? 1 : 3;
}

static lw_cuda_source
cuda_source(const job *j, const char *nvvm_text)
{
    return (lw_cuda_source){nvvm_text, lw_build_kernel_name(j->module), j->extra,
                            j->extra ? j->options->n_links : 0};
}

static lw_status
emit(const job *j, lw_text *text, lw_error *err)
{
    lw_emit_options options = emit_options(j);

    return lw_emit(j->module, &options, text, err);
}

/* ---- LANEWISE_DUMP ---- */

static bool
names_word(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = strstr(list, word); at != NULL; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ',' || at[-1] == ' ') &&
            (at[n] == 0 || at[n] == ',' || at[n] == ' '))
            return true;
    return false;
}

bool
lw_dump_wanted(const char *stage, const char *name)
{
    const char *only = lw_env_text(LW_ENV_dump_only);

    if (!names_word(lw_env_text(LW_ENV_dump), stage))
        return false;
    return *only == 0 || (name != NULL && strcmp(only, name) == 0);
}

void
lw_dump(const char *stage, const char *name, const char *text)
{
    assert(text != NULL);
    fprintf(stderr, "---- %s of %s ----\n%s%s", stage, name ? name : "?", text,
            *text && text[strlen(text) - 1] == '\n' ? "" : "\n");
}

/* Forms that need a compilation of their own are made only when they are asked for. */
static lw_status
dump_stages(const job *j, lw_error *err)
{
    static const char *const stages[] = {"ir", "llvm", "nvvm", "ptx", "sass", "asm"};
    lw_status status = LW_OK;
    lw_bytes out = {0};

    if (*lw_env_text(LW_ENV_dump) == 0)
        return LW_OK;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        bool gpu_only = i >= 2 && i <= 4, host_only = i == 5;
        if (!lw_dump_wanted(stages[i], j->options->name) || (gpu_only && !j->cc) ||
            (host_only && j->cc))
            continue;
        LW_TRY(lw_build_output(j->given, j->cc, stages[i], j->options, &out, err));
        lw_dump(stages[i], j->options->name, (const char *)out.data);
        lw_bytes_reset(&out);
    }
fail:
    lw_bytes_reset(&out);
    return status;
}

/* ---- key ---- */

static void
add_flags(lw_sha256 *sha, const job *j)
{
    char flags[160];

    snprintf(flags, sizeof flags,
             "%s cc=%d precise=%d opt=%d line=%d fma=%d ftz=%d div=%d regs=%d bits=%d "
             "watch=%d nrt=%d%s",
             LW_VERSION, j->cc, j->options->precise, j->options->opt, j->options->lineinfo,
             j->options->fma, j->options->ftz, j->options->fast_div, j->options->max_registers,
             j->cc ? 0 : lw_host_vector_bits(), j->cc ? 0 : (int)j->options->watch,
             offers_nrt(j), has_variables(j) ? " variables" : "");
    if (j->options->quick)
        lw_sha256_add_text(sha, "quick");
    if (j->module->is_light && !j->cc)
        lw_sha256_add_text(sha, "light");
    lw_sha256_add_text(sha, flags);
}

static lw_status
key_of(const job *j, lw_digest *key, lw_error *err)
{
    lw_status status = LW_OK;
    lw_sha256 sha;
    lw_text text;
    lw_digest compiler, self = lw_self_id();
    const lw_toolchain *toolchain = NULL;

    lw_text_init(&text);
    /* Line numbers belong into the key if the code contains them: in line tables, and in what
     * it tells the simulator. */
    lw_ir_print(j->module,
                j->options->variables ||
                    (j->cc ? j->options->lineinfo
                           : j->options->watch || lw_ir_is_collective(j->module)),
                &text);
    if (text.failed) {
        status = lw_fail_memory(err);
        goto fail;
    }
    lw_sha256_init(&sha);
    add_flags(&sha, j);
    lw_sha256_add(&sha, &self, sizeof self);
    lw_sha256_add_text(&sha, lw_text_get(&text));
    if (j->cc) {
        LW_TRY(lw_toolchain_get(&toolchain, err));
        lw_sha256_add(&sha, &toolchain->id, sizeof toolchain->id);
        add_links(&sha, j);
    } else {
        LW_TRY(lw_host_compiler_id(&compiler, err));
        lw_sha256_add(&sha, lw_host_cpu_id(), sizeof(lw_digest));
        lw_sha256_add(&sha, &compiler, sizeof compiler);
    }
    *key = lw_sha256_finish(&sha);
fail:
    lw_text_reset(&text);
    return status;
}

/* ---- making ---- */

static lw_status
make(void *context, lw_bytes *out, lw_error *err)
{
    lw_status status = LW_OK;
    const job *j = context;
    lw_text text;

    lw_text_init(&text);
    LW_TRY(emit(j, &text, err));
    if (j->cc) {
        lw_cuda_options options = cuda_options(j);
        lw_cuda_source source = cuda_source(j, lw_text_get(&text));
        LW_TRY(lw_compile_cuda(&source, &options, out, err));
    } else {
        lw_host_options options = {.opt = host_level(j)};
        LW_TRY(lw_compile_host(lw_text_get(&text), &options, LW_HOST_OBJECT, out, err));
    }
fail:
    lw_text_reset(&text);
    return status;
}

/* The addresses of live memory and of functions of ctypes differ between processes: only this
 * one could use the code. */
static bool
is_for_this_process(const job *j)
{
    bool live = false;

    for (uint32_t i = 0; i < j->module->datas.n; i++)
        live |= j->module->datas.data[i].address != 0;
    for (uint32_t i = 0; j->cc == 0 && i < j->module->externs.n; i++)
        live |= j->module->externs.data[i].address != 0;
    return live;
}

static const char *const origins[] = {"memory", "disk", "compiled"};

static lw_status
get_blob(const job *j, lw_cache_kind kind, lw_blob **out, lw_build_report *report,
         lw_error *err)
{
    lw_status status = LW_OK;
    lw_cache_request request = {
        .kind = kind,
        .use_disk = j->options->use_disk && !is_for_this_process(j),
        .make = make,
        .context = (void *)j,
    };
    lw_cache_origin origin;
    double start = now_seconds();

    LW_TRY(dump_stages(j, err));
    if (is_verified())
        LW_TRY(lw_ir_verify(j->module, err));
    LW_TRY(key_of(j, &request.key, err));
    LW_TRY(lw_cache_get_or_make(&request, out, &origin, err));
    if (report != NULL)
        *report = (lw_build_report){origin, now_seconds() - start, j->cc != 0};
    if (lw_env_int(LW_ENV_log))
        fprintf(stderr, "lanewise: %s for %s: %s in %.2f ms\n",
                j->options->name ? j->options->name : "?", j->cc ? "cuda" : "cpu",
                origins[origin], 1e3 * (now_seconds() - start));
fail:
    return status;
}

lw_status
lw_build_host(const lw_module *module, const lw_build_options *options, lw_code **out,
              lw_build_report *report, lw_error *err)
{
    lw_status status = LW_OK;
    job j = {.module = module, .options = options};
    lw_blob *blob = NULL;
    lw_module *own;
    int64_t begun = lw_compile_begin();

    LW_TRY(prepare(&j, &own, err));
    LW_TRY(get_blob(&j, LW_CACHE_OBJECT, &blob, report, err));
    status = lw_code_load(lw_blob_data(blob), lw_blob_size(blob), NULL, 0, out, err);
fail:
    lw_blob_unref(blob);
    lw_module_free(own);
    lw_compile_end(begun);
    return status;
}

lw_status
lw_build_cuda(const lw_module *module, int cc, const lw_build_options *options, lw_blob **out,
              lw_build_report *report, lw_error *err)
{
    job j = {.module = module, .options = options, .cc = cc};
    lw_module *own;
    lw_status status;
    int64_t begun = lw_compile_begin();

    LW_TRY(prepare(&j, &own, err));
    LW_TRY(prepare_links(&j, err));
    status = get_blob(&j, LW_CACHE_CUBIN, out, report, err);
fail:
    release_links(&j);
    lw_module_free(own);
    lw_compile_end(begun);
    return status;
}

lw_status
lw_build_info(const lw_module *module, int cc, const lw_build_options *options,
              lw_cubin_info *out, lw_error *err)
{
    const char *name = lw_build_kernel_name(module);
    lw_blob *cubin = NULL;
    lw_status status;

    LW_TRY(lw_build_cuda(module, cc, options, &cubin, NULL, err));
    LW_TRY(lw_cubin_info_read(lw_blob_data(cubin), lw_blob_size(cubin), name, out, err));
fail:
    lw_blob_unref(cubin);
    return status;
}

void
lw_build_symbol(const char *name, uint64_t hash, char out[96])
{
    char clean[64];
    size_t n = 0;

    for (; name[n] && n + 1 < sizeof clean; n++)
        clean[n] = isalnum((unsigned char)name[n]) ? name[n] : '_';
    clean[n] = 0;
    snprintf(out, 96, "%s%s_%08x", n == 0 || isdigit((unsigned char)clean[0]) ? "k_" : "",
             clean, (unsigned)(hash >> 32));
}

/* ---- every form, for inspection and ahead of time ---- */

static lw_status
text_output(const lw_text *text, lw_bytes *out, lw_error *err)
{
    if (text->failed || !lw_bytes_copy(out, lw_text_get(text), text->n))
        return lw_fail_memory(err);
    return LW_OK;
}

static lw_status
cuda_output(const job *j, const char *output, const char *text, lw_bytes *out, lw_error *err)
{
    lw_status status = LW_OK;
    lw_cuda_options options = cuda_options(j);
    lw_cuda_source source = cuda_source(j, text);
    lw_bytes cubin = {0};

    if (strcmp(output, "ptx") == 0)
        return lw_compile_cuda_ptx(&source, &options, out, err);
    if (strcmp(output, "ltoir") == 0)
        return lw_compile_cuda_ltoir(&source, &options, out, err);
    if (strcmp(output, "cubin") == 0)
        return lw_compile_cuda(&source, &options, out, err);
    if (strcmp(output, "sass") == 0) {
        LW_TRY(lw_compile_cuda(&source, &options, &cubin, err));
        LW_TRY(lw_cuda_sass(cubin.data, cubin.n, out, err));
        goto fail;
    }
    status =
        lw_fail(err, LW_ERR_VALUE,
                "output must be one of ir, llvm, nvvm, ptx, ltoir, cubin or sass for a GPU "
                "target, not '%s'",
                output);
fail:
    lw_bytes_reset(&cubin);
    return status;
}

static lw_status
host_output(const job *j, const char *output, const char *text, lw_bytes *out, lw_error *err)
{
    lw_host_options options = {.opt = host_level(j)};

    if (strcmp(output, "object") == 0)
        return lw_compile_host(text, &options, LW_HOST_OBJECT, out, err);
    if (strcmp(output, "asm") == 0)
        return lw_compile_host(text, &options, LW_HOST_ASM, out, err);
    return lw_fail(err, LW_ERR_VALUE,
                   "output must be one of ir, llvm, object or asm for the host, not '%s'",
                   output);
}

/* Code that others load. */
static bool
is_for_elsewhere(const char *output)
{
    return strcmp(output, "object") == 0 || strcmp(output, "ptx") == 0 ||
           strcmp(output, "ltoir") == 0 || strcmp(output, "cubin") == 0;
}

lw_status
lw_build_output(const lw_module *module, int target_cc, const char *output,
                const lw_build_options *options, lw_bytes *out, lw_error *err)
{
    lw_status status = LW_OK;
    job j = {.module = module,
             .options = options,
             .cc = target_cc,
             .frozen = is_for_elsewhere(output)};
    lw_module *own;
    lw_text text;

    lw_text_init(&text);
    LW_TRY(prepare(&j, &own, err));
    if (strcmp(output, "cubin") == 0 || strcmp(output, "sass") == 0)
        LW_TRY(prepare_links(&j, err));
    if (strcmp(output, "ir") == 0) {
        lw_ir_print(j.module, false, &text);
        status = text_output(&text, out, err);
        goto fail;
    }
    LW_TRY(emit(&j, &text, err));
    if (strcmp(output, "llvm") == 0 || (target_cc && strcmp(output, "nvvm") == 0))
        status = text_output(&text, out, err);
    else if (target_cc)
        status = cuda_output(&j, output, lw_text_get(&text), out, err);
    else
        status = host_output(&j, output, lw_text_get(&text), out, err);
fail:
    release_links(&j);
    lw_module_free(own);
    lw_text_reset(&text);
    return status;
}
