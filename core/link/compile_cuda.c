#include "core/link/compile_cuda.h"

#include "core/base/array.h"
#include "core/base/deep_thread.h"
#include "core/base/memory.h"
#include "core/link/ptx_constants.h"
#include "core/link/ptx_mend.h"
#include "core/link/toolchain.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

bool
lw_cuda_cc_known(int cc)
{
    static const int known[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == cc)
            return true;
    return false;
}

/* ---- all steps from LLVM text to machine code, on the compiler's thread ---- */

typedef struct job {
    const lw_cuda_source *source;
    const lw_cuda_options *options;
    lw_bytes *out;
} job;

/* Links our code with the extra inputs that are LTO-IR (to PTX) or with all others (to a
 * cubin). Ours comes first, because nvJitLink names the first input in many failures. */
static lw_status
link_with(const job *j, lw_link_input ours, lw_link_output output, lw_bytes *out, lw_error *err)
{
    const lw_cuda_source *source = j->source;
    lw_link_input *inputs = lw_alloc((source->n_extra + 1) * sizeof *inputs);
    lw_link_request request = {.inputs = inputs, .output = output, .kernel_symbol = ours.name};
    bool ltoir = output == LW_LINK_TO_PTX;
    lw_status status;

    if (inputs == NULL)
        return lw_fail_memory(err);
    assert(ours.data != NULL && (ours.kind == LW_LINK_LTOIR) == ltoir);
    inputs[request.n_inputs++] = ours;
    for (size_t i = 0; i < source->n_extra; i++)
        if ((source->extra[i].kind == LW_LINK_LTOIR) == ltoir)
            inputs[request.n_inputs++] = source->extra[i];
    status = lw_nvjitlink_link(&request, j->options, out, err);
    lw_free(inputs);
    return status;
}

static bool
has_ltoir(const lw_cuda_source *source)
{
    for (size_t i = 0; i < source->n_extra; i++)
        if (source->extra[i].kind == LW_LINK_LTOIR)
            return true;
    return false;
}

static lw_status
compile_to(const job *j, lw_nvvm_output output, lw_bytes *out, lw_error *err)
{
    return lw_nvvm_compile(j->source->nvvm_text, j->source->kernel_symbol, j->options, output,
                           out, err);
}

/* Whether float64 numbers of instructions go to constant memory. Of the architectures, sm_90
 * was measured: of Black-Scholes for 2^24 options in float64, which has 58 of these numbers,
 * the time fell from 258 to 238 us (H200, CUDA 13.0, 2026-11-27). Linked code may need all
 * of the constant memory itself, and code for a debugger stays as it is. */
static bool
wants_constants(const job *j)
{
    return j->options->cc == 90 && j->options->opt > 0 && !j->options->debug_info &&
           j->source->n_extra == 0;
}

/* Compiles the kernel with all LTO-IR inlined to PTX, the form in which wrong instructions can
 * be corrected. A kernel without LTO-IR is compiled to PTX directly: the code is the same, and
 * it takes 1 ms of 18 less (a*b+a float32 in vectors of four, CUDA 13.0 on an EPYC,
 * 2026-11-21). */
static lw_status
compile_to_ptx(const job *j, lw_bytes *ptx, lw_error *err)
{
    lw_link_input ours = {.kind = LW_LINK_LTOIR, .name = j->source->kernel_symbol};
    lw_bytes ltoir = {0};
    lw_status status;

    if (!has_ltoir(j->source)) {
        LW_TRY(compile_to(j, LW_NVVM_PTX, ptx, err));
        if (wants_constants(j))
            LW_TRY(lw_ptx_constants(ptx, err));
        return LW_OK;
    }
    LW_TRY(compile_to(j, LW_NVVM_LTOIR, &ltoir, err));
    ours.data = ltoir.data;
    ours.n = ltoir.n;
    LW_TRY(link_with(j, ours, LW_LINK_TO_PTX, ptx, err));
    LW_TRY(lw_ptx_mend(ptx, err));
fail:
    lw_bytes_reset(&ltoir);
    return status;
}

static lw_status
make_cubin(void *context, lw_error *err)
{
    const job *j = context;
    lw_link_input ours = {.kind = LW_LINK_PTX, .name = j->source->kernel_symbol};
    lw_bytes ptx = {0};
    lw_status status;

    LW_TRY(compile_to_ptx(j, &ptx, err));
    ours.data = ptx.data;
    ours.n = ptx.n;
    LW_TRY(link_with(j, ours, LW_LINK_TO_CUBIN, j->out, err));
fail:
    lw_bytes_reset(&ptx);
    return status;
}

static lw_status
make_ptx(void *context, lw_error *err)
{
    const job *j = context;

    return compile_to_ptx(j, j->out, err);
}

static lw_status
make_ltoir(void *context, lw_error *err)
{
    const job *j = context;

    return compile_to(j, LW_NVVM_LTOIR, j->out, err);
}

/* The libraries are looked for on the caller's thread, because Python may be asked where they
 * are, and an exception that a signal handler raises there belongs to the caller. */
static lw_status
run_job(lw_deep_work make, job j, lw_error *err)
{
    const lw_toolchain *toolchain = NULL;
    lw_status status;

    LW_TRY(lw_toolchain_need(&toolchain, err));
    LW_TRY(lw_run_deep(make, &j, err));
fail:
    return status;
}

lw_status
lw_compile_cuda(const lw_cuda_source *source, const lw_cuda_options *options, lw_bytes *cubin,
                lw_error *err)
{
    return run_job(make_cubin, (job){source, options, cubin}, err);
}

lw_status
lw_compile_cuda_ptx(const lw_cuda_source *source, const lw_cuda_options *options, lw_bytes *ptx,
                    lw_error *err)
{
    return run_job(make_ptx, (job){source, options, ptx}, err);
}

lw_status
lw_compile_cuda_ltoir(const lw_cuda_source *source, const lw_cuda_options *options,
                      lw_bytes *ltoir, lw_error *err)
{
    return run_job(make_ltoir, (job){source, options, ltoir}, err);
}

/* ---- SASS, by a child process ---- */

static bool
write_all(int file, const void *data, size_t n)
{
    const char *next = data;

    while (n > 0) {
        ssize_t wrote = write(file, next, n);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        next += wrote;
        n -= (size_t)wrote;
    }
    return true;
}

static void
read_all(int file, lw_text *out)
{
    char buffer[4096];
    ssize_t n;

    while ((n = read(file, buffer, sizeof buffer)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        lw_text_add_n(out, buffer, (size_t)n);
    }
}

/* Runs a program with its output and errors in `output`. Returns its exit status, or -1. */
static int
run_program(const char *path, const char *const *arguments, lw_text *output)
{
    posix_spawn_file_actions_t actions;
    int ends[2], exit_status = -1, started;
    pid_t child;

    if (pipe(ends) != 0)
        return -1;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    if (posix_spawn_file_actions_init(&actions) != 0) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    started = posix_spawn(&child, path, &actions, NULL, (char *const *)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (started == 0)
        read_all(ends[0], output);
    close(ends[0]);
    while (started == 0 && waitpid(child, &exit_status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return started == 0 ? exit_status : -1;
}

static lw_status
disassemble(const char *program, const char *flag, const char *file, lw_bytes *text,
            lw_error *err)
{
    const char *arguments[] = {program, flag, file, NULL};
    const char *bare[] = {program, file, NULL};
    lw_text output;
    lw_status status = LW_OK;
    int result;

    lw_text_init(&output);
    result = run_program(program, flag ? arguments : bare, &output);
    if (output.failed)
        status = lw_fail_memory(err);
    else if (result != 0)
        status = lw_fail(err, LW_ERR_LINK, "%s failed with status %d: %s", program, result,
                         lw_text_get(&output));
    else if (!lw_bytes_copy(text, lw_text_get(&output), output.n))
        status = lw_fail_memory(err);
    lw_text_reset(&output);
    return status;
}

/* Both programs read from a file only. */
static lw_status
with_file(const char *program, const char *flag, const void *cubin, size_t n, lw_bytes *text,
          lw_error *err)
{
    const char *folder = getenv("TMPDIR");
    lw_text path;
    lw_status status = LW_OK;
    int file;

    lw_text_init(&path);
    lw_text_addf(&path, "%s/lanewise-XXXXXX", folder && folder[0] ? folder : "/tmp");
    if (path.failed)
        return lw_fail_memory(err);
    file = mkstemp(path.data);
    if (file < 0 || !write_all(file, cubin, n))
        status = lw_fail(err, LW_ERR_OS, "cannot write the temporary file %s: %s", path.data,
                         strerror(errno));
    if (file >= 0)
        close(file);
    if (status == LW_OK)
        status = disassemble(program, flag, path.data, text, err);
    if (file >= 0)
        unlink(path.data);
    lw_text_reset(&path);
    return status;
}

lw_status
lw_cuda_sass(const void *cubin, size_t n, lw_bytes *text, lw_error *err)
{
    lw_text program, tried;
    const char *flag = NULL;
    lw_status status;

    lw_text_init(&program);
    lw_text_init(&tried);
    if (!lw_toolchain_program("nvdisasm", &program, &tried)) {
        flag = "--dump-sass";
        if (!lw_toolchain_program("cuobjdump", &program, &tried)) {
            status = lw_fail(err, LW_ERR_COMPILER_NOT_FOUND,
                             "SASS is shown by nvdisasm or cuobjdump, and neither was found. "
                             "Places tried:\n%sInstall one with `pip install "
                             "nvidia-cuda-nvdisasm`.",
                             lw_text_get(&tried));
            goto fail;
        }
    }
    LW_TRY(with_file(lw_text_get(&program), flag, cubin, n, text, err));
fail:
    lw_text_reset(&program);
    lw_text_reset(&tried);
    return status;
}
