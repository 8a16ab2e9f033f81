#include "core/link/host_llvm.h"

#include "core/base/lock.h"
#include "core/base/text.h"
#include "core/link/toolchain.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__linux__)
#include <sys/auxv.h>
#endif

static _Atomic(lw_host_compile_fn) compile_function;

void
lw_host_llvm_set(lw_host_compile_fn compile)
{
    atomic_store(&compile_function, compile);
}

lw_status
lw_compile_host(const char *llvm_text, const lw_host_options *options, lw_host_output output,
                lw_bytes *out, lw_error *err)
{
    lw_host_compile_fn compile = atomic_load(&compile_function);

    if (compile == NULL)
        return lw_fail(err, LW_ERR_COMPILER_NOT_FOUND,
                       "no CPU compiler is registered: code for the CPU is made by llvmlite, "
                       "which needs Python");
    return compile(llvm_text, options, output, out, err);
}

/* ---- which CPU this is ---- */

#if defined(__x86_64__)
/* The cpuid leaves that decide which code may run here, or which CPU LLVM assumes. What differs
 * from core to core (the APIC number in leaf 1's ebx) or from boot to boot is left out. */
static const struct {
    uint32_t leaf, sub;
    bool a, b, c, d;
} leaves[] = {
    {0, 0, 0, 1, 1, 1},          {1, 0, 1, 0, 1, 1},          {7, 0, 0, 1, 1, 1},
    {7, 1, 1, 1, 1, 1},          {0xd, 1, 1, 0, 0, 0},        {0x14, 0, 0, 1, 1, 0},
    {0x19, 0, 0, 1, 0, 0},       {0x24, 0, 0, 1, 0, 0},       {0x80000001, 0, 1, 0, 1, 1},
    {0x80000002, 0, 1, 1, 1, 1}, {0x80000003, 0, 1, 1, 1, 1}, {0x80000004, 0, 1, 1, 1, 1},
    {0x80000008, 0, 0, 1, 0, 0}};

static uint64_t
enabled_state(void)
{
    uint32_t a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return (uint64_t)d << 32 | a;
}

static void
add_cpu(lw_sha256 *sha)
{
    uint64_t state = enabled_state();

    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        uint32_t r[4] = {0};

        __get_cpuid_count(leaves[i].leaf, leaves[i].sub, &r[0], &r[1], &r[2], &r[3]);
        r[0] = leaves[i].a ? r[0] : 0;
        r[1] = leaves[i].b ? r[1] : 0;
        r[2] = leaves[i].c ? r[2] : 0;
        r[3] = leaves[i].d ? r[3] : 0;
        lw_sha256_add(sha, r, sizeof r);
    }
    lw_sha256_add(sha, &state, sizeof state);
}
#else
static void
add_cpu(lw_sha256 *sha)
{
#if defined(__linux__)
    unsigned long caps[2] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
    lw_sha256_add(sha, caps, sizeof caps);
#else
    (void)sha; /* only the machine's name is known, which the caller adds */
#endif
}
#endif

/* Which vector functions libmvec has decides which of them the code may call. */
static void
add_c_library(lw_sha256 *sha)
{
    char version[64] = "";

#if defined(_CS_GNU_LIBC_VERSION)
    if (confstr(_CS_GNU_LIBC_VERSION, version, sizeof version) > sizeof version)
        version[0] = 0;
#endif
    lw_sha256_add_text(sha, version);
}

static lw_digest cpu_id;
static pthread_once_t cpu_once = PTHREAD_ONCE_INIT;

static void
find_cpu_id(void)
{
    struct utsname machine;
    lw_sha256 sha;

    lw_sha256_init(&sha);
    /* The number grows when the list of leaves or the code for a CPU changes. */
    lw_sha256_add_text(&sha, "cpu 2");
    if (uname(&machine) == 0) {
        lw_sha256_add_text(&sha, machine.sysname);
        lw_sha256_add_text(&sha, machine.machine);
    }
    add_c_library(&sha);
    add_cpu(&sha);
    cpu_id = lw_sha256_finish(&sha);
}

const lw_digest *
lw_host_cpu_id(void)
{
    pthread_once(&cpu_once, find_cpu_id);
    return &cpu_id;
}

/* ---- which llvmlite is installed ---- */

static bool
identify_library(const char *path, lw_digest *out)
{
    struct stat info;
    lw_sha256 sha;
    int64_t facts[3];

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    facts[0] = info.st_size;
    facts[1] = info.st_mtim.tv_sec;
    facts[2] = info.st_mtim.tv_nsec;
    lw_sha256_init(&sha);
    lw_sha256_add_text(&sha, path);
    lw_sha256_add(&sha, facts, sizeof facts);
    *out = lw_sha256_finish(&sha);
    return true;
}

lw_status
lw_host_compiler_id(lw_digest *out, lw_error *err)
{
    lw_text folders, path;
    const char *next;
    bool found = false;
    lw_status status;

    lw_text_init(&folders);
    lw_text_init(&path);
    memset(out, 0, sizeof *out);
    LW_TRY(lw_toolchain_folders(&folders, err));
    for (next = lw_text_get(&folders); !found && *next != 0;) {
        size_t n = strcspn(next, "\n");

        path.n = 0;
        lw_text_add_n(&path, next, n);
        lw_text_add(&path, "/llvmlite/binding/libllvmlite.so");
        found = identify_library(lw_text_get(&path), out);
        next += n + (next[n] == '\n');
    }
    if (path.failed)
        status = lw_fail_memory(err);
fail:
    lw_text_reset(&folders);
    lw_text_reset(&path);
    return status;
}
