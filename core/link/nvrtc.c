/* Source of the facts about NVRTC: NVIDIA, NVRTC documentation, CUDA 13.0. */
#include "core/link/nvrtc.h"

#include "core/base/array.h"
#include "core/base/env.h"
#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/link/toolchain.h"
#include "core/link/vendor_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct nvrtc_table {
#define NVRTC(field, symbol, result, arguments) result(*field) arguments;
#include "core/tables/nvrtc.def"
} nvrtc_table;

static const lw_vendor_row rows[] = {
#define NVRTC(field, symbol, result, arguments) {symbol, offsetof(nvrtc_table, field), 1},
#include "core/tables/nvrtc.def"
};

static lw_vendor vendor = {"NVRTC",      rows, sizeof rows / sizeof *rows, sizeof(nvrtc_table),
                           LW_LOCK_INIT, NULL};

/* path: of the library; include: of the toolkit's headers, "" where there are none. */
static lw_status
find(lw_text *path, lw_text *include, lw_error *err)
{
    lw_status status = LW_OK;
    lw_text tried;

    lw_text_init(&tried);
    if (!lw_toolchain_nvrtc(path, include, &tried))
        status =
            lw_fail(err, LW_ERR_COMPILER_NOT_FOUND,
                    "CUDA C++ is compiled by NVRTC (libnvrtc), which was not found. Places "
                    "tried:\n%sInstall it with `pip install nvidia-cuda-nvrtc`, or name it "
                    "in LANEWISE_NVRTC.",
                    lw_text_get(&tried));
    if (path->failed || include->failed || tried.failed)
        status = lw_fail_memory(err);
    lw_text_reset(&tried);
    return status;
}

/* ---- one compile ---- */

typedef struct job {
    const nvrtc_table *nvrtc;
    void *program;
    const lw_nvrtc_source *source;
    const char *name;
} job;

static lw_status
fail_call(const job *j, const char *call, int result, lw_error *err)
{
    lw_vendor_failure failure = {result, j->nvrtc->GetErrorString(result), j->program,
                                 j->nvrtc->GetProgramLogSize, j->nvrtc->GetProgramLog};
    lw_bytes log = {0};

    lw_vendor_failed(&failure, &log, err);
    lw_fail(err, LW_ERR_LINK, "NVRTC refused %s in %s: %s%s", j->name, call, failure.name,
            log.data ? (const char *)log.data : "");
    lw_bytes_reset(&log);
    return LW_ERR_LINK;
}

#define CALL(function, result)                                                                 \
    do {                                                                                       \
        int result_ = (result);                                                                \
        if (result_ != 0) {                                                                    \
            status = fail_call(j, function, result_, err);                                     \
            goto fail;                                                                         \
        }                                                                                      \
    } while (0)

enum { FLAG_LENGTH = 32 };

typedef struct flags {
    lw_arena arena; /* of all that is here */
    LW_ARRAY(const char *) items;
} flags;

static const char *
truth(bool value)
{
    return value ? "true" : "false";
}

/* What does not fit is seen in arena.failed. */
static void
add(flags *f, const char *text)
{
    const char **slot = lw_array_push(&f->items, &f->arena);

    if (slot != NULL)
        *slot = lw_arena_strdup(&f->arena, text);
}

static void
add_folder(flags *f, const char *folder, size_t n)
{
    lw_text text;

    if (n == 0)
        return;
    lw_text_init(&text);
    lw_text_addf(&text, "-I%.*s", (int)n, folder);
    if (text.failed)
        f->arena.failed = true;
    else
        add(f, lw_text_get(&text));
    lw_text_reset(&text);
}

/* Folders with colons between them. */
static void
add_path(flags *f, const char *path)
{
    for (; *path != 0; path += *path == ':') {
        size_t n = strcspn(path, ":");
        add_folder(f, path, n);
        path += n;
    }
}

static void
add_options(flags *f, const lw_cuda_options *options, bool ptx)
{
    char text[FLAG_LENGTH];

    snprintf(text, sizeof text, ptx ? "-arch=compute_%d" : "-arch=sm_%d", options->cc);
    add(f, text);
    snprintf(text, sizeof text, "-ftz=%s", truth(options->ftz));
    add(f, text);
    snprintf(text, sizeof text, "-prec-div=%s", truth(!options->fast_div));
    add(f, text);
    snprintf(text, sizeof text, "-prec-sqrt=%s", truth(!options->fast_sqrt));
    add(f, text);
    add(f, ptx ? "-rdc=true" : "-dlto");
    add(f, "-default-device");
    if (options->line_info)
        add(f, "-lineinfo");
}

/* A source that has a path finds headers beside it. */
static void
list_flags(flags *f, const job *j, const lw_cuda_options *options, const char *include)
{
    const char *slash = strrchr(j->name, '/');
    lw_text library;

    lw_arena_init(&f->arena);
    add_options(f, options, j->source->ptx);
    if (slash != NULL && slash != j->name)
        add_folder(f, j->name, (size_t)(slash - j->name));
    for (uint32_t i = 0; i < j->source->n_folders; i++)
        add_folder(f, j->source->folders[i], strlen(j->source->folders[i]));
    add_path(f, lw_env_text(LW_ENV_include_path));
    if (include[0] == 0)
        return;
    add_folder(f, include, strlen(include));
    lw_text_init(&library);
    lw_text_addf(&library, "%s/cccl", include); /* CUDA 13's <cuda/std/...> */
    f->arena.failed |= library.failed;
    add_folder(f, lw_text_get(&library), strlen(lw_text_get(&library)));
    lw_text_reset(&library);
}

static lw_status
get(const job *j, lw_bytes *out, lw_error *err)
{
    const nvrtc_table *nvrtc = j->nvrtc;
    bool ptx = j->source->ptx;
    lw_status status = LW_OK;
    size_t n = 0;

    CALL(ptx ? "nvrtcGetPTXSize" : "nvrtcGetLTOIRSize",
         (ptx ? nvrtc->GetPTXSize : nvrtc->GetLTOIRSize)(j->program, &n));
    if (!lw_bytes_new(out, n))
        return lw_fail_memory(err);
    CALL(ptx ? "nvrtcGetPTX" : "nvrtcGetLTOIR",
         (ptx ? nvrtc->GetPTX : nvrtc->GetLTOIR)(j->program, (char *)out->data));
fail:
    if (status != LW_OK)
        lw_bytes_reset(out);
    return status;
}

static lw_status
build(const job *j, const lw_cuda_options *options, const char *include, lw_bytes *out,
      lw_error *err)
{
    flags f = {0};
    lw_status status = LW_OK;

    list_flags(&f, j, options, include);
    if (f.arena.failed) {
        status = lw_fail_memory(err);
        goto fail;
    }
    CALL("nvrtcCompileProgram",
         j->nvrtc->CompileProgram(j->program, (int)f.items.n, f.items.data));
    status = get(j, out, err);
fail:
    lw_arena_reset(&f.arena);
    return status;
}

/* NVRTC opens its second library by its bare name, which it finds only by a run path or if it
 * is loaded already. So that library is loaded here, from beside the first one. Where there is
 * none NVRTC reports it. */
static void
open_builtins(const char *path)
{
    lw_text pattern;
    glob_t found;

    lw_text_init(&pattern);
    lw_text_add_n(&pattern, path, (size_t)(strrchr(path, '/') + 1 - path));
    lw_text_add(&pattern, "libnvrtc-builtins.so.*");
    if (!pattern.failed && glob(pattern.data, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            /* stays open for the life of the process */
            (void)dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
        globfree(&found);
    }
    lw_text_reset(&pattern);
}

static void
prepare(const char *path)
{
    static lw_lock lock = LW_LOCK_INIT;
    static bool done;

    lw_lock_take(&lock);
    if (!done && strchr(path, '/') != NULL) {
        open_builtins(path);
        done = true;
    }
    lw_lock_give(&lock);
}

/* A copy that ends with a NUL; a source with an inner NUL would be cut short and is refused. */
static lw_status
copy_source(const char *source, size_t n, const char *name, char **out, lw_error *err)
{
    if (memchr(source, 0, n) != NULL)
        return lw_fail(err, LW_ERR_LINK, "the CUDA C++ of %s holds a null character", name);
    *out = lw_alloc(n + 1);
    if (*out == NULL)
        return lw_fail_memory(err);
    memcpy(*out, source, n);
    (*out)[n] = 0;
    return LW_OK;
}

lw_status
lw_nvrtc_compile(const lw_nvrtc_source *source, const lw_cuda_options *options, lw_bytes *out,
                 lw_error *err)
{
    job here = {.source = source, .name = source->name ? source->name : "CUDA C++"}, *j = &here;
    const void *table = NULL;
    lw_text path, include;
    lw_status status;
    char *text = NULL;

    lw_text_init(&path);
    lw_text_init(&include);
    LW_TRY(find(&path, &include, err));
    LW_TRY(lw_vendor_get(&vendor, lw_text_get(&path), &table, err));
    prepare(lw_text_get(&path));
    j->nvrtc = table;
    LW_TRY(copy_source(source->text, source->n, j->name, &text, err));
    CALL("nvrtcCreateProgram",
         j->nvrtc->CreateProgram(&j->program, text, j->name, 0, NULL, NULL));
    LW_TRY(build(j, options, lw_text_get(&include), out, err));
fail:
    if (j->program != NULL)
        j->nvrtc->DestroyProgram(&j->program);
    lw_free(text);
    lw_text_reset(&path);
    lw_text_reset(&include);
    return status;
}

lw_status
lw_nvrtc_id(lw_digest *id, lw_error *err)
{
    lw_text path, include;
    struct stat info;
    int64_t facts[3] = {0};
    lw_status status;
    lw_sha256 sha;

    lw_text_init(&path);
    lw_text_init(&include);
    LW_TRY(find(&path, &include, err));
    if (stat(lw_text_get(&path), &info) == 0) {
        facts[0] = info.st_size;
        facts[1] = info.st_mtim.tv_sec;
        facts[2] = info.st_mtim.tv_nsec;
    }
    lw_sha256_init(&sha);
    lw_sha256_add_text(&sha, lw_text_get(&path));
    lw_sha256_add(&sha, facts, sizeof facts);
    lw_sha256_add_text(&sha, lw_text_get(&include));
    *id = lw_sha256_finish(&sha);
fail:
    lw_text_reset(&path);
    lw_text_reset(&include);
    return status;
}
