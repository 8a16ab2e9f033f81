/* Source of the facts about nvJitLink: NVIDIA, nvJitLink documentation, CUDA 13.0. */
#include "core/link/nvjitlink.h"

#include "core/link/elf_view.h"
#include "core/link/toolchain.h"
#include "core/link/vendor_library.h"

#include <stdio.h>
#include <string.h>

typedef struct jit_table {
#define NVJITLINK(field, symbol, arguments) int(*field) arguments;
#include "core/tables/nvjitlink.def"
} jit_table;

static const lw_vendor_row rows[] = {
#define NVJITLINK(field, symbol, arguments) {symbol, offsetof(jit_table, field), 1},
#include "core/tables/nvjitlink.def"
};

static lw_vendor vendor = {"nvJitLink",       rows,         sizeof rows / sizeof *rows,
                           sizeof(jit_table), LW_LOCK_INIT, NULL};

static const char *const result_names[] = {"SUCCESS",
                                           "UNRECOGNIZED_OPTION",
                                           "MISSING_ARCH",
                                           "INVALID_INPUT",
                                           "PTX_COMPILE",
                                           "NVVM_COMPILE",
                                           "INTERNAL",
                                           "THREADPOOL",
                                           "UNRECOGNIZED_INPUT",
                                           "FINALIZE",
                                           "NULL_INPUT",
                                           "INCOMPATIBLE_OPTIONS",
                                           "INCORRECT_INPUT_TYPE",
                                           "ARCH_MISMATCH",
                                           "OUTDATED_LIBRARY",
                                           "MISSING_FATBIN",
                                           "UNRECOGNIZED_ARCH",
                                           "UNSUPPORTED_ARCH",
                                           "LTO_NOT_ENABLED"};

enum { N_RESULTS = sizeof result_names / sizeof *result_names };

static bool
wants_lto(const lw_link_request *request)
{
    bool lto = request->output == LW_LINK_TO_PTX;

    for (size_t i = 0; i < request->n_inputs; i++)
        lto = lto || request->inputs[i].kind == LW_LINK_LTOIR;
    return lto;
}

static void
list_options(lw_vendor_options *list, const lw_cuda_options *options, bool lto,
             lw_link_output output)
{
    list->n = 1;
    snprintf(list->text[0], LW_VENDOR_OPTION_LENGTH, "-arch=sm_%d%.1s", options->cc,
             (char[2]){options->suffix, 0});
    list->items[0] = list->text[0];
    if (lto) {
        lw_vendor_option_add(list, "-lto", 0);
        lw_vendor_option_add(list, "-fma=%d", options->fma);
        lw_vendor_option_add(list, "-ftz=%d", options->ftz);
        lw_vendor_option_add(list, "-prec-div=%d", !options->fast_div);
        lw_vendor_option_add(list, "-prec-sqrt=%d", !options->fast_sqrt);
        lw_vendor_option_add(list, "-Xnvvm=-Xopt", 0);
        lw_vendor_option_add(list, "-Xnvvm=" LW_NVVM_NO_INDEX_SPLIT, 0);
    }
    lw_vendor_option_add(list, "-O%d", options->opt > 0 ? 3 : 0);
    if (output == LW_LINK_TO_PTX)
        lw_vendor_option_add(list, "-ptx", 0);
    if (options->debug_info)
        lw_vendor_option_add(list, "-g", 0);
    else if (options->line_info)
        lw_vendor_option_add(list, "-lineinfo", 0);
    if (options->max_registers > 0)
        lw_vendor_option_add(list, "-maxrregcount=%d", options->max_registers);
}

static lw_status
get_table(const jit_table **jit, lw_error *err)
{
    const lw_toolchain *toolchain = NULL;
    const void *table = NULL;
    lw_status status;

    LW_TRY(lw_toolchain_need(&toolchain, err));
    LW_TRY(lw_vendor_get(&vendor, toolchain->found[LW_COMPONENT_NVJITLINK].path, &table, err));
    *jit = table;
fail:
    return status;
}

/* What helps where the log names functions of the runtime. */
static const char *
help_for(const lw_bytes *log)
{
    const char *text = (const char *)log->data;

    return text != NULL && strstr(text, "'NRT_") != NULL
               ? "\nThe NRT_ functions are offered to linked code whose object says "
                 "nrt=True, and by jit(nrt=True)."
               : "";
}

static lw_status
fail_call(const jit_table *jit, void *handle, const char *call, const char *input, int result,
          lw_error *err)
{
    char name[64];
    lw_vendor_failure failure = {result, name, handle, jit->GetErrorLogSize, jit->GetErrorLog};
    lw_bytes log = {0};

    snprintf(name, sizeof name, "NVJITLINK_ERROR_%s",
             result > 0 && result < N_RESULTS ? result_names[result] : "unknown");
    lw_vendor_failed(&failure, &log, err);
    lw_fail(err, LW_ERR_LINK, "%s failed%s%s: %s (%d)%s%s", call, input ? " on " : "",
            input ? input : "", name, result, log.data ? (const char *)log.data : "",
            help_for(&log));
    lw_bytes_reset(&log);
    return LW_ERR_LINK;
}

#define CALL(function, input, result)                                                          \
    do {                                                                                       \
        int result_ = (result);                                                                \
        if (result_ != 0) {                                                                    \
            status = fail_call(jit, handle, function, input, result_, err);                    \
            goto fail;                                                                         \
        }                                                                                      \
    } while (0)

static lw_status
take_result(const jit_table *jit, void *handle, lw_link_output output, lw_bytes *out,
            lw_error *err)
{
    lw_status status = LW_OK;
    bool ptx = output == LW_LINK_TO_PTX;
    size_t n = 0;

    CALL("nvJitLinkGetLinkedSize", NULL,
         ptx ? jit->GetPtxSize(handle, &n) : jit->GetCubinSize(handle, &n));
    if (!lw_bytes_new(out, n))
        return lw_fail_memory(err);
    CALL("nvJitLinkGetLinked", NULL,
         ptx ? jit->GetPtx(handle, (char *)out->data) : jit->GetCubin(handle, out->data));
    if (ptx && out->n > 0 && out->data[out->n - 1] == 0)
        out->n--;
    return LW_OK;
fail:
    lw_bytes_reset(out);
    return status;
}

static lw_status
check_kernel(const lw_bytes *out, const lw_link_request *request, lw_error *err)
{
    const char *symbol = request->kernel_symbol;
    char entry[256];
    bool there;

    if (symbol == NULL)
        return LW_OK;
    snprintf(entry, sizeof entry, ".entry %s", symbol);
    there = request->output == LW_LINK_TO_CUBIN
                ? lw_cubin_has_function(out->data, out->n, symbol)
                : strstr((const char *)out->data, entry) != NULL;
    if (there)
        return LW_OK;
    return lw_fail(err, LW_ERR_LINK,
                   "the linked program has no kernel %s (link-time optimisation keeps only "
                   "kernels that @llvm.used lists)",
                   symbol);
}

static lw_status
run(const jit_table *jit, void *handle, const lw_link_request *request, lw_error *err)
{
    const lw_link_input *inputs = request->inputs;
    lw_status status = LW_OK;

    for (size_t i = 0; i < request->n_inputs; i++) {
        const lw_link_input *in = &inputs[i];
        const char *name = in->name ? in->name : "input";
        const char *text = in->data;
        size_t n = in->n;

        if (in->kind == LW_LINK_PTX && n > 0 && text[n - 1] == 0)
            n--;
        CALL("nvJitLinkAddData", name, jit->AddData(handle, (int)in->kind, in->data, n, name));
    }
    CALL("nvJitLinkComplete", request->n_inputs == 1 ? inputs[0].name : NULL,
         jit->Complete(handle));
fail:
    return status;
}

static lw_status
link_once(const jit_table *jit, const lw_link_request *request, const lw_cuda_options *options,
          bool lto, lw_bytes *out, lw_error *err)
{
    lw_status status = LW_OK;
    void *handle = NULL;
    lw_vendor_options list;

    list_options(&list, options, lto, request->output);
    CALL("nvJitLinkCreate", NULL, jit->Create(&handle, list.n, list.items));
    LW_TRY(run(jit, handle, request, err));
    LW_TRY(take_result(jit, handle, request->output, out, err));
fail:
    if (handle != NULL)
        jit->Destroy(&handle);
    return status;
}

enum { LTO_NOT_ENABLED = 18 };

/* Archives and fat binaries may or may not contain LTO-IR, and -lto requires some. */
lw_status
lw_nvjitlink_link(const lw_link_request *request, const lw_cuda_options *options, lw_bytes *out,
                  lw_error *err)
{
    bool lto = wants_lto(request);
    const jit_table *jit = NULL;
    lw_error first = {0};
    lw_status status;

    LW_TRY(get_table(&jit, err));
    status = link_once(jit, request, options, lto, out, &first);
    if (status == LW_ERR_LINK && !lto && first.vendor_code == LTO_NOT_ENABLED)
        status = link_once(jit, request, options, true, out, err);
    else if (status != LW_OK && err != NULL && err->status == LW_OK) {
        *err = first;
        first = (lw_error){0};
    }
    LW_TRY(status);
    status = check_kernel(out, request, err);
    if (status != LW_OK)
        lw_bytes_reset(out);
fail:
    lw_error_reset(&first);
    return status;
}

lw_status
lw_nvjitlink_version(int *major, int *minor, lw_error *err)
{
    lw_status status;
    const jit_table *jit = NULL;
    void *handle = NULL;
    unsigned int numbers[2] = {0};

    LW_TRY(get_table(&jit, err));
    CALL("nvJitLinkVersion", NULL, jit->Version(&numbers[0], &numbers[1]));
    *major = (int)numbers[0];
    *minor = (int)numbers[1];
fail:
    return status;
}

bool
lw_cubin_has_function(const void *cubin, size_t n, const char *symbol)
{
    lw_elf elf;
    Elf64_Shdr table;
    Elf64_Sym sym;

    if (!lw_elf_open(&elf, cubin, n))
        return false;
    for (uint32_t s = 0; s < elf.n_sections; s++) {
        if (!lw_elf_section(&elf, s, &table) || table.sh_type != SHT_SYMTAB)
            continue;
        for (uint64_t i = 0; lw_elf_entry(&elf, &table, i, &sym, sizeof sym); i++) {
            const char *name = lw_elf_name(&elf, table.sh_link, sym.st_name);
            if (ELF64_ST_TYPE(sym.st_info) == STT_FUNC && sym.st_shndx != SHN_UNDEF &&
                name != NULL && strcmp(name, symbol) == 0)
                return true;
        }
    }
    return false;
}
