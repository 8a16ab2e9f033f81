/* Source of the facts about libNVVM: NVIDIA, libNVVM API and NVVM IR specifications, CUDA 13.0,
 * and measurements with libNVVM 13.0 and 13.5: create and result cost under 0.05 ms, a verify
 * 0.35 ms before libdevice is added and 42 ms after it was added whole, a lazy add 1 ms, a
 * whole add 35. */
#include "core/link/libnvvm.h"

#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/link/ptx_mend.h"
#include "core/link/toolchain.h"
#include "core/link/vendor_library.h"

#include <stdio.h>
#include <string.h>

typedef struct nvvm_table {
#define NVVM(field, symbol, must, result, arguments) result(*field) arguments;
#include "core/tables/nvvm.def"
} nvvm_table;

static const lw_vendor_row rows[] = {
#define NVVM(field, symbol, must, result, arguments)                                           \
    {symbol, offsetof(nvvm_table, field), must},
#include "core/tables/nvvm.def"
};

static lw_vendor vendor = {"libNVVM",          rows,         sizeof rows / sizeof *rows,
                           sizeof(nvvm_table), LW_LOCK_INIT, NULL};

/* libdevice as it was last read: half a MB, kept because every compilation with `__nv_` needs
 * it. If the path changes, the new file is read and the old bytes are kept, because a
 * compilation may be using them. */
typedef struct device_library {
    struct device_library *next;
    char *path;
    lw_bytes bytes;
} device_library;

static lw_lock lock = LW_LOCK_INIT;
static device_library *device_libraries;

enum { MAX_LIBDEVICE_BYTES = 64 << 20 };

static void
list_options(lw_vendor_options *list, const lw_cuda_options *options, lw_nvvm_output output)
{
    list->n = 0;
    snprintf(list->text[0], LW_VENDOR_OPTION_LENGTH, "-arch=compute_%d%.1s", options->cc,
             (char[2]){options->suffix, 0});
    list->items[list->n++] = list->text[0];
    if (output == LW_NVVM_LTOIR)
        lw_vendor_option_add(list, "-gen-lto", 0);
    lw_vendor_option_add(list, "-opt=%d", options->opt > 0 ? 3 : 0);
    lw_vendor_option_add(list, "-Xopt", 0);
    lw_vendor_option_add(list, LW_NVVM_NO_INDEX_SPLIT, 0);
    lw_vendor_option_add(list, "-fma=%d", options->fma);
    lw_vendor_option_add(list, "-ftz=%d", options->ftz);
    lw_vendor_option_add(list, "-prec-div=%d", !options->fast_div);
    lw_vendor_option_add(list, "-prec-sqrt=%d", !options->fast_sqrt);
    if (options->debug_info)
        lw_vendor_option_add(list, "-g", 0);
    else if (options->line_info)
        lw_vendor_option_add(list, "-generate-line-info", 0);
}

static lw_status
read_file(const char *path, lw_bytes *out, lw_error *err)
{
    FILE *file = fopen(path, "rb");
    long size = -1;
    lw_status status = LW_OK;

    if (file != NULL && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size <= 0 || size > MAX_LIBDEVICE_BYTES || fseek(file, 0, SEEK_SET) != 0)
        status =
            lw_fail(err, LW_ERR_COMPILER_NOT_FOUND, "libdevice cannot be read from %s", path);
    else if (!lw_bytes_new(out, (size_t)size))
        status = lw_fail_memory(err);
    else if (fread(out->data, 1, out->n, file) != out->n)
        status =
            lw_fail(err, LW_ERR_COMPILER_NOT_FOUND, "libdevice cannot be read from %s", path);
    if (file != NULL)
        fclose(file);
    return status;
}

/* Whether this is complete LLVM bitcode. Top-level blocks are walked by their lengths: each
 * begins with a word of abbreviation, kind and width, and a word with its length in words.
 * libNVVM ends the process when it is given a damaged file. */
static bool
is_whole_bitcode(const lw_bytes *bytes)
{
    static const uint8_t magic[4] = {'B', 'C', 0xC0, 0xDE};
    size_t at = 4;

    if (bytes->n % 4 != 0 || bytes->n < 12 || memcmp(bytes->data, magic, 4) != 0)
        return false;
    while (at + 8 <= bytes->n) {
        const uint8_t *head = bytes->data + at;
        size_t n_words =
            head[4] | (size_t)head[5] << 8 | (size_t)head[6] << 16 | (size_t)head[7] << 24;
        if ((head[0] & 3) != 1 /* a block */ || n_words > (bytes->n - at - 8) / 4)
            return false;
        at += 8 + 4 * n_words;
    }
    return at == bytes->n;
}

/* needs: the lock */
static lw_status
read_device_library(const char *path, device_library **out, lw_error *err)
{
    lw_status status = LW_OK;
    device_library *new = lw_alloc_zero(1, sizeof *new);

    if (new == NULL)
        return lw_fail_memory(err);
    new->path = lw_strdup(path);
    if (new->path == NULL) {
        status = lw_fail_memory(err);
        goto fail;
    }
    LW_TRY(read_file(path, &new->bytes, err));
    if (!is_whole_bitcode(&new->bytes)) {
        status = lw_fail(err, LW_ERR_COMPILER_NOT_FOUND,
                         "libdevice at %s is not LLVM bitcode, or is cut short", path);
        goto fail;
    }
    new->next = device_libraries;
    device_libraries = new;
    *out = new;
    return LW_OK;
fail:
    lw_bytes_reset(&new->bytes);
    lw_free(new->path);
    lw_free(new);
    return status;
}

static lw_status
get_device_library(const char *path, const lw_bytes **out, lw_error *err)
{
    lw_status status = LW_OK;
    device_library *found;

    lw_lock_take(&lock);
    for (found = device_libraries; found != NULL; found = found->next)
        if (strcmp(found->path, path) == 0)
            break;
    if (found == NULL)
        status = read_device_library(path, &found, err);
    lw_lock_give(&lock);
    if (status == LW_OK)
        *out = &found->bytes;
    return status;
}

static lw_status
get_table(const lw_toolchain **toolchain, const nvvm_table **nvvm, lw_error *err)
{
    const void *table = NULL;
    lw_status status;

    LW_TRY(lw_toolchain_need(toolchain, err));
    LW_TRY(lw_vendor_get(&vendor, (*toolchain)->found[LW_COMPONENT_NVVM].path, &table, err));
    *nvvm = table;
fail:
    return status;
}

typedef struct job {
    const nvvm_table *nvvm;
    void *program;
    const char *name;
    int cc;
} job;

/* A failed call on the job's program, with the program's log. */
static lw_status
fail_call(const job *j, const char *call, int result, lw_error *err)
{
    lw_vendor_failure failure = {result, j->nvvm->GetErrorString(result), j->program,
                                 j->nvvm->GetLogSize, j->nvvm->GetLog};
    lw_bytes log = {0};

    lw_vendor_failed(&failure, &log, err);
    lw_fail(err, LW_ERR_COMPILE, "libNVVM refused the code of %s for compute_%d in %s: %s%s",
            j->name, j->cc, call, failure.name, log.data ? (const char *)log.data : "");
    lw_bytes_reset(&log);
    return LW_ERR_COMPILE;
}

#define CALL(function, result)                                                                 \
    do {                                                                                       \
        int result_ = (result);                                                                \
        if (result_ != 0) {                                                                    \
            status = fail_call(j, function, result_, err);                                     \
            goto fail;                                                                         \
        }                                                                                      \
    } while (0)

static lw_status
take_result(const job *j, lw_bytes *out, lw_error *err)
{
    lw_status status = LW_OK;
    size_t n = 0;

    CALL("nvvmGetCompiledResultSize", j->nvvm->GetResultSize(j->program, &n));
    if (!lw_bytes_new(out, n))
        return lw_fail_memory(err);
    CALL("nvvmGetCompiledResult", j->nvvm->GetResult(j->program, (char *)out->data));
    return LW_OK;
fail:
    lw_bytes_reset(out);
    return status;
}

/* The order matters: an unverified text can end the process, and verifying after libdevice was
 * added costs more. */
static lw_status
build(const job *j, const char *text, const lw_bytes *libdevice, lw_vendor_options *options,
      lw_error *err)
{
    lw_status status = LW_OK;

    CALL("nvvmAddModuleToProgram", j->nvvm->AddModule(j->program, text, strlen(text), j->name));
    CALL("nvvmVerifyProgram", j->nvvm->VerifyProgram(j->program, options->n, options->items));
    if (libdevice != NULL)
        CALL("nvvmLazyAddModuleToProgram",
             j->nvvm->LazyAddModule(j->program, (const char *)libdevice->data, libdevice->n,
                                    "libdevice"));
    CALL("nvvmCompileProgram", j->nvvm->CompileProgram(j->program, options->n, options->items));
fail:
    return status;
}

static lw_status
check_arguments(const char *nvvm_text, int cc, lw_error *err)
{
    if (cc < 75 || cc > 999)
        return lw_fail(err, LW_ERR_VALUE,
                       "compute capability: expected 75 (sm_75) or newer, got %d", cc);
    /* without a data layout libNVVM ends the process in its verifier (compute_100, CUDA 13.0)
     */
    if (strstr(nvvm_text, "target datalayout") == NULL || strstr(nvvm_text, "nvptx64") == NULL)
        return lw_fail(err, LW_ERR_INTERNAL,
                       "the NVVM text has no target datalayout or no nvptx64 target triple");
    return LW_OK;
}

lw_status
lw_nvvm_compile(const char *nvvm_text, const char *name, const lw_cuda_options *options,
                lw_nvvm_output output, lw_bytes *out, lw_error *err)
{
    lw_status status;
    const lw_toolchain *toolchain = NULL;
    const lw_bytes *libdevice = NULL;
    lw_vendor_options list;
    job here = {NULL, NULL, name ? name : "kernel", options->cc}, *j = &here;

    LW_TRY(check_arguments(nvvm_text, options->cc, err));
    LW_TRY(get_table(&toolchain, &j->nvvm, err));
    if (strstr(nvvm_text, "@__nv_") != NULL)
        LW_TRY(
            get_device_library(toolchain->found[LW_COMPONENT_LIBDEVICE].path, &libdevice, err));
    list_options(&list, options, output);
    CALL("nvvmCreateProgram", j->nvvm->CreateProgram(&j->program));
    LW_TRY(build(j, nvvm_text, libdevice, &list, err));
    LW_TRY(take_result(j, out, err));
    if (output == LW_NVVM_PTX) {
        if (out->n > 0 && out->data[out->n - 1] == 0)
            out->n--; /* libNVVM counts the NUL of a text */
        LW_TRY(lw_ptx_mend(out, err));
    }
fail:
    if (j->program != NULL)
        j->nvvm->DestroyProgram(&j->program);
    return status;
}

lw_status
lw_nvvm_version(lw_text *out, lw_error *err)
{
    lw_status status;
    const lw_toolchain *toolchain = NULL;
    const nvvm_table *nvvm = NULL;
    int major = 0, minor = 0, debug_major = 0, debug_minor = 0;

    LW_TRY(get_table(&toolchain, &nvvm, err));
    if (nvvm->IRVersion != NULL)
        nvvm->IRVersion(&major, &minor, &debug_major, &debug_minor);
    else
        nvvm->Version(&major, &minor);
    lw_text_addf(out, "IR %d.%d, debug %d.%d", major, minor, debug_major, debug_minor);
fail:
    return status;
}
