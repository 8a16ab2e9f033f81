/* Finding the compiler's libraries among empty files in made-up places; and who this host is.
 */
#include "core/link/toolchain.h"

#include "core/base/env.h"
#include "core/base/memory.h"
#include "core/link/host_llvm.h"
#include "tests/c/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__aarch64__)
#define TARGET "sbsa"
#else
#define TARGET "x86_64"
#endif

static char root[] = "/tmp/lw_test_tools_XXXXXX";
static char folders_text[1024];
static int n_asked, n_pathfinder;

static void
make_file(const char *name, int mode)
{
    char command[1024];

    snprintf(command, sizeof command,
             "mkdir -p \"$(dirname '%s/%s')\" && echo x > '%s/%s' && chmod %o '%s/%s'", root,
             name, root, name, (unsigned)mode, root, name);
    CHECK(system(command) == 0);
}

static lw_status
folders(lw_text *out, lw_error *err)
{
    n_asked++;
    lw_text_add(out, folders_text);
    return out->failed ? lw_fail_memory(err) : LW_OK;
}

static lw_status
pathfinder(const char *name, lw_text *out, lw_error *err)
{
    n_pathfinder++;
    if (strcmp(name, "libdevice") == 0)
        lw_text_addf(out, "%s/far/libdevice.10.bc", root);
    return out->failed ? lw_fail_memory(err) : LW_OK;
}

static const lw_toolchain *
look(void)
{
    const lw_toolchain *toolchain = NULL;
    lw_error err = {0};

    CHECK(lw_toolchain_get(&toolchain, &err) == LW_OK);
    lw_error_reset(&err);
    return toolchain;
}

static bool
is_at(const lw_toolchain *toolchain, lw_component component, const char *name)
{
    char path[1024];

    if (name == NULL)
        return toolchain->found[component].path == NULL;
    snprintf(path, sizeof path, "%s/%s", root, name);
    if (toolchain->found[component].path != NULL &&
        strcmp(toolchain->found[component].path, path) == 0)
        return true;
    fprintf(stderr, "%s: %s, expected %s\n", lw_component_names[component],
            toolchain->found[component].path, path);
    return false;
}

static void
use_folders(const char *a, const char *b)
{
    snprintf(folders_text, sizeof folders_text, "%s/%s\n%s/%s", root, a, root, b);
    lw_toolchain_forget();
}

static void
set(lw_env_id id, const char *name)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/%s", root, name ? name : "");
    CHECK(lw_env_set(id, name ? path : NULL));
}

static void
test_wheels(void)
{
    const lw_toolchain *toolchain;
    lw_digest before;

    make_file("site13/nvidia/cu13/lib/libnvvm.so.4", 0644);
    make_file("site13/nvidia/cu13/nvvm/libdevice/libdevice.10.bc", 0644);
    make_file("site13/nvidia/cu13/lib/libnvJitLink.so.13", 0644);
    make_file("site12/nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so", 0644);
    make_file("site12/nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc", 0644);
    make_file("site12/nvidia/nvjitlink/lib/libnvJitLink.so.12", 0644);
    use_folders("nowhere", "site13");
    toolchain = look();
    CHECK(is_at(toolchain, LW_COMPONENT_NVVM, "site13/nvidia/cu13/lib/libnvvm.so.4"));
    CHECK(is_at(toolchain, LW_COMPONENT_LIBDEVICE,
                "site13/nvidia/cu13/nvvm/libdevice/libdevice.10.bc"));
    CHECK(
        is_at(toolchain, LW_COMPONENT_NVJITLINK, "site13/nvidia/cu13/lib/libnvJitLink.so.13"));
    CHECK(strcmp(toolchain->found[0].place, "wheel") == 0 && n_pathfinder == 0);
    CHECK(strstr(toolchain->tried, "nowhere/nvidia/cu13: no such folder") != NULL);
    n_asked = 0;
    CHECK(look() == toolchain && n_asked == 0); /* remembered */
    before = toolchain->id;
    make_file("site13/nvidia/cu13/lib/libnvvm.so.4", 0644); /* installed anew */
    lw_toolchain_forget();
    CHECK(memcmp(&look()->id, &before, sizeof before) != 0);
    use_folders("site12", "site13"); /* CUDA 13 comes first, wherever it is */
    CHECK(is_at(look(), LW_COMPONENT_NVVM, "site13/nvidia/cu13/lib/libnvvm.so.4"));
    use_folders("site12", "nowhere");
    CHECK(is_at(look(), LW_COMPONENT_NVVM, "site12/nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so"));
    CHECK(is_at(look(), LW_COMPONENT_NVJITLINK,
                "site12/nvidia/nvjitlink/lib/libnvJitLink.so.12"));
}

/* A place with only some of the three loses against a whole one that comes later. */
static void
test_one_toolkit(void)
{
    make_file("part/nvidia/cu13/lib/libnvJitLink.so.13", 0644);
    use_folders("part", "site12");
    CHECK(is_at(look(), LW_COMPONENT_NVJITLINK,
                "site12/nvidia/nvjitlink/lib/libnvJitLink.so.12"));
}

static void
test_settings(void)
{
    const lw_toolchain *toolchain;
    lw_error err = {0};

    make_file("kit/nvvm/lib64/libnvvm.so.4", 0644);
    make_file("kit/nvvm/libdevice/libdevice.10.bc", 0644);
    make_file("kit/lib64/libnvJitLink.so.13", 0644);
    use_folders("site13", "nowhere");
    set(LW_ENV_libnvvm, "kit/nvvm/lib64/libnvvm.so.4");
    toolchain = look(); /* and what lies beside it: one toolkit */
    CHECK(is_at(toolchain, LW_COMPONENT_NVVM, "kit/nvvm/lib64/libnvvm.so.4"));
    CHECK(is_at(toolchain, LW_COMPONENT_LIBDEVICE, "kit/nvvm/libdevice/libdevice.10.bc"));
    CHECK(is_at(toolchain, LW_COMPONENT_NVJITLINK, "kit/lib64/libnvJitLink.so.13"));
    CHECK(strcmp(toolchain->found[0].place, "setting LANEWISE_LIBNVVM") == 0);
    set(LW_ENV_nvjitlink, "nowhere/libnvJitLink.so");
    CHECK(is_at(look(), LW_COMPONENT_NVJITLINK, NULL)); /* a setting is never replaced */
    CHECK(lw_toolchain_need(&toolchain, &err) == LW_ERR_COMPILER_NOT_FOUND);
    CHECK(strstr(lw_error_text(&err), "not found: nvJitLink.") != NULL);
    CHECK(strstr(lw_error_text(&err), "nowhere/libnvJitLink.so: no such file") != NULL);
    CHECK(strstr(lw_error_text(&err), "pip install lanewise[cu13]") != NULL);
    lw_error_reset(&err);
    set(LW_ENV_nvjitlink, NULL);
    set(LW_ENV_libnvvm, NULL);
    CHECK(is_at(look(), LW_COMPONENT_NVVM, "site13/nvidia/cu13/lib/libnvvm.so.4"));
}

static void
test_environment(void)
{
    char path[256];

    use_folders("nowhere", "nowhere");
    snprintf(path, sizeof path, "%s/kit", root);
    setenv("CUDA_PATH", path, 1);
    CHECK(is_at(look(), LW_COMPONENT_NVJITLINK, "kit/lib64/libnvJitLink.so.13"));
    CHECK(strcmp(look()->found[0].place, "CUDA_PATH") == 0);
    unsetenv("CUDA_PATH");
    setenv("CONDA_PREFIX", path, 1);
    lw_toolchain_forget();
    CHECK(strcmp(look()->found[0].place, "conda") == 0);
    make_file("conda/nvvm/lib64/libnvvm.so.4", 0644);
    make_file("conda/nvvm/libdevice/libdevice.10.bc", 0644);
    make_file("conda/targets/" TARGET "-linux/lib/libnvJitLink.so.13", 0644);
    snprintf(path, sizeof path, "%s/conda", root);
    setenv("CONDA_PREFIX", path, 1);
    lw_toolchain_forget();
    CHECK(is_at(look(), LW_COMPONENT_NVJITLINK,
                "conda/targets/" TARGET "-linux/lib/libnvJitLink.so.13"));
    unsetenv("CONDA_PREFIX");
    lw_toolchain_forget();
}

/* Asked last, and only for what is missing. */
static void
test_pathfinder(void)
{
    const lw_toolchain *toolchain;

    make_file("far/libdevice.10.bc", 0644);
    make_file("part/nvidia/cu13/lib/libnvvm.so.4", 0644);
    use_folders("part", "nowhere");
    n_pathfinder = 0;
    toolchain = look();
    if (strncmp(toolchain->found[LW_COMPONENT_LIBDEVICE].path, root, strlen(root)) != 0) {
        puts("SKIP pathfinder: this machine has a whole toolkit");
        return;
    }
    CHECK(is_at(toolchain, LW_COMPONENT_LIBDEVICE, "far/libdevice.10.bc") && n_pathfinder == 1);
}

static void
test_programs(void)
{
    lw_text path, tried;

    lw_text_init(&path);
    lw_text_init(&tried);
    make_file("site13/nvidia/cu13/bin/lw_disasm", 0755);
    make_file("site13/nvidia/cu13/bin/lw_plain", 0644);
    use_folders("site13", "nowhere");
    CHECK(lw_toolchain_program("lw_disasm", &path, &tried));
    CHECK(strstr(lw_text_get(&path), "site13/nvidia/cu13/bin/lw_disasm") != NULL);
    CHECK(!lw_toolchain_program("lw_plain", &path, &tried)); /* not executable */
    CHECK(strstr(lw_text_get(&tried), "site13/nvidia/cu13/bin/lw_plain") != NULL);
    lw_text_reset(&path);
    lw_text_reset(&tried);
}

/* Every allocation fails once: a search never ends with half an answer. */
static void
test_no_memory(void)
{
    int n_refused = 0;

    use_folders("site13", "nowhere");
    for (int n = 0; n < 60; n++) {
        const lw_toolchain *toolchain = NULL;
        lw_error err = {0};

        lw_toolchain_forget();
        lw_memory_fail_at(n);
        if (lw_toolchain_get(&toolchain, &err) != LW_OK) {
            CHECK(err.status == LW_ERR_OUT_OF_MEMORY && toolchain == NULL);
            n_refused++;
        } else {
            CHECK(is_at(toolchain, LW_COMPONENT_NVVM, "site13/nvidia/cu13/lib/libnvvm.so.4"));
            CHECK(is_at(toolchain, LW_COMPONENT_NVJITLINK,
                        "site13/nvidia/cu13/lib/libnvJitLink.so.13"));
        }
        lw_memory_fail_at(-1);
        lw_error_reset(&err);
    }
    CHECK(n_refused > 5 && n_refused < 60);
}

static lw_status
compile(const char *llvm_text, const lw_host_options *options, lw_host_output output,
        lw_bytes *out, lw_error *err)
{
    (void)options, (void)output;
    return lw_bytes_copy(out, llvm_text, strlen(llvm_text)) ? LW_OK : lw_fail_memory(err);
}

static void
test_host(void)
{
    static const lw_digest zero;
    lw_host_options options = LW_HOST_OPTIONS_DEFAULT;
    lw_digest id, again, cpu = *lw_host_cpu_id();
    lw_bytes out = {0};
    lw_error err = {0};

    CHECK(memcmp(&cpu, &zero, sizeof cpu) != 0);
    CHECK(memcmp(&cpu, lw_host_cpu_id(), sizeof cpu) == 0);
    use_folders("nowhere", "nowhere");
    CHECK(lw_host_compiler_id(&id, &err) == LW_OK && memcmp(&id, &zero, sizeof id) == 0);
    make_file("site13/llvmlite/binding/libllvmlite.so", 0644);
    use_folders("nowhere", "site13");
    CHECK(lw_host_compiler_id(&id, &err) == LW_OK && memcmp(&id, &zero, sizeof id) != 0);
    CHECK(lw_host_compiler_id(&again, &err) == LW_OK && memcmp(&id, &again, sizeof id) == 0);
    id = lw_self_id();
    CHECK(memcmp(&id, &zero, sizeof id) != 0);
    CHECK(lw_compile_host("text", &options, LW_HOST_OBJECT, &out, &err) ==
          LW_ERR_COMPILER_NOT_FOUND);
    lw_error_reset(&err);
    lw_host_llvm_set(compile);
    CHECK(lw_compile_host("text", &options, LW_HOST_OBJECT, &out, &err) == LW_OK && out.n == 4);
    lw_bytes_reset(&out);
}

int
main(void)
{
    static const lw_python_finder finder = {folders, pathfinder};
    char command[256];

    CHECK(mkdtemp(root) != NULL);
    unsetenv("CUDA_HOME");
    unsetenv("CUDA_PATH");
    unsetenv("CONDA_PREFIX");
    unsetenv("LD_LIBRARY_PATH");
    lw_toolchain_set_finder(&finder);
    test_wheels();
    test_one_toolkit();
    test_settings();
    test_environment();
    test_pathfinder();
    test_programs();
    test_no_memory();
    test_host();
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    CHECK(system(command) == 0);
    return n_failures != 0;
}
