#define _GNU_SOURCE /* dladdr */
#include "core/link/toolchain.h"

#include "core/base/arena.h"
#include "core/base/array.h"
#include "core/base/dynload.h"
#include "core/base/env.h"
#include "core/base/lock.h"
#include "core/base/memory.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const lw_component_names[LW_N_COMPONENTS] = {"libNVVM", "libdevice", "nvJitLink"};

static const lw_env_id settings[LW_N_COMPONENTS] = {LW_ENV_libnvvm, LW_ENV_libdevice,
                                                    LW_ENV_nvjitlink};
static const char *const pathfinder_names[LW_N_COMPONENTS] = {"nvvm", "libdevice", "nvJitLink"};

/* A distribution's folder of libraries for this processor, and a toolkit's folder of a target:
 * sbsa is Arm's Server Base System Architecture (Grace, DGX Spark). */
#if defined(__aarch64__)
#define SYSTEM(name) ("lib/aarch64-linux-gnu/" name)
#define TARGET(name) ("targets/sbsa-linux/" name)
#else
#define SYSTEM(name) ("lib/x86_64-linux-gnu/" name)
#define TARGET(name) ("targets/x86_64-linux/" name)
#endif

enum { MAX_LAYOUTS = 12 };

/* Where a file is under the root of a place: a toolkit, a CUDA 13 wheel (the same tree), the
 * nvidia/ folder of CUDA 12 wheels, a distribution's /usr, or a library folder itself. */
static const char *const layouts[LW_N_COMPONENTS][MAX_LAYOUTS] = {
    {"nvvm/lib64/libnvvm.so.4", "lib/libnvvm.so.4", "lib64/libnvvm.so.4",
     "nvvm/lib64/libnvvm.so", "cuda_nvcc/nvvm/lib64/libnvvm.so",
     "cuda_nvcc/nvvm/lib64/libnvvm.so.4", SYSTEM("libnvvm.so.4"), "libnvvm.so.4"},
    {"nvvm/libdevice/libdevice.10.bc", "cuda_nvcc/nvvm/libdevice/libdevice.10.bc",
     "lib/nvidia-cuda-toolkit/libdevice/libdevice.10.bc", "../nvvm/libdevice/libdevice.10.bc",
     "libdevice.10.bc"},
    {"lib64/libnvJitLink.so.13", "lib/libnvJitLink.so.13", "lib64/libnvJitLink.so.12",
     "lib/libnvJitLink.so.12", "nvjitlink/lib/libnvJitLink.so.12",
     TARGET("lib/libnvJitLink.so.13"), TARGET("lib/libnvJitLink.so.12"),
     SYSTEM("libnvJitLink.so.12"), "libnvJitLink.so.13", "libnvJitLink.so.12",
     "lib64/libnvJitLink.so"}};

typedef struct place {
    char *label, *root;
    char *files[LW_N_COMPONENTS]; /* NULL: it is not there */
} place;

typedef struct search {
    lw_arena arena; /* holds everything of the search; the result is copied out */
    LW_ARRAY(place) places;
    char *files[LW_N_COMPONENTS];
    char *labels[LW_N_COMPONENTS];
    bool fixed[LW_N_COMPONENTS]; /* set by a setting: nothing else may take its place */
    lw_text tried;
} search;

/* Kept for the life of the process: one for each combination of the three settings. */
typedef struct known {
    lw_toolchain toolchain;
    char *settings[LW_N_COMPONENTS];
    bool stale;
    struct known *next;
} known;

static lw_lock lock = LW_LOCK_INIT;
static known *all;
static const known *current;
static uint64_t current_version;
static lw_python_finder python;
static char *python_folders; /* NULL: not asked for yet */

void
lw_toolchain_set_finder(const lw_python_finder *finder)
{
    static const lw_python_finder none;

    lw_lock_take(&lock);
    python = finder ? *finder : none;
    lw_lock_give(&lock);
    lw_toolchain_forget();
}

void
lw_toolchain_forget(void)
{
    lw_lock_take(&lock);
    for (known *k = all; k != NULL; k = k->next)
        k->stale = true;
    current = NULL;
    lw_free(python_folders);
    python_folders = NULL;
    lw_lock_give(&lock);
}

lw_status
lw_toolchain_folders(lw_text *out, lw_error *err)
{
    lw_status status = LW_OK;
    lw_python_finder finder;
    lw_text folders;
    bool answered = false;

    lw_text_init(&folders);
    lw_lock_take(&lock);
    finder = python;
    if (python_folders != NULL || finder.folders == NULL) {
        lw_text_add(out, python_folders ? python_folders : "");
        answered = true;
    }
    lw_lock_give(&lock);
    if (answered)
        return out->failed ? lw_fail_memory(err) : LW_OK;

    LW_TRY(finder.folders(&folders, err)); /* no lock is held while Python runs */
    lw_text_add(out, lw_text_get(&folders));
    if (folders.failed || out->failed) {
        status = lw_fail_memory(err);
        goto fail;
    }
    lw_lock_take(&lock);
    if (python_folders == NULL)
        python_folders = lw_strdup(lw_text_get(&folders));
    lw_lock_give(&lock);
fail:
    lw_text_reset(&folders);
    return status;
}

static char *
join(lw_arena *arena, const char *folder, const char *name)
{
    size_t n = strlen(folder), more = strlen(name);
    char *path = lw_arena_take(arena, n + more + 2);

    if (path == NULL)
        return NULL;
    memcpy(path, folder, n);
    path[n] = '/';
    memcpy(path + n + 1, name, more + 1);
    return path;
}

static bool
is_file(const char *path)
{
    struct stat info;

    return path != NULL && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool
is_folder(const char *path)
{
    struct stat info;

    return path != NULL && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static void
add_place(search *s, const char *label, const char *root)
{
    place *new;

    if (root == NULL || root[0] == 0)
        return;
    for (uint32_t i = 0; i < s->places.n; i++)
        if (strcmp(s->places.data[i].root, root) == 0)
            return;
    new = lw_array_push(&s->places, &s->arena);
    if (new == NULL)
        return;
    new->label = lw_arena_strdup(&s->arena, label);
    new->root = lw_arena_strdup(&s->arena, root);
    if (new->label == NULL || new->root == NULL)
        s->places.n--; /* the arena remembers that memory ran out */
}

/* Adds the folders one to three levels above a file, among which is the root of its toolkit. */
static void
add_above(search *s, const char *label, const char *path)
{
    char *folder = lw_arena_strdup(&s->arena, path);

    for (int level = 0; folder != NULL && level < 3; level++) {
        char *slash = strrchr(folder, '/');
        if (slash == NULL || slash == folder)
            return;
        *slash = 0;
        add_place(s, label, folder);
    }
}

/* Calls add for each part of a list whose parts are separated by `divider`. */
static void
add_each(search *s, const char *label, const char *list, char divider, const char *below)
{
    while (list != NULL && *list != 0) {
        const char *end = strchr(list, divider);
        size_t n = end ? (size_t)(end - list) : strlen(list);
        char *folder = n > 0 ? lw_arena_strndup(&s->arena, list, n) : NULL;

        if (folder != NULL)
            add_place(s, label, below ? join(&s->arena, folder, below) : folder);
        list = end ? end + 1 : NULL;
    }
}

static int
toolkit_version(const char *path)
{
    int major = 0, minor = 0;
    const char *dash = strrchr(path, '-');

    if (dash != NULL)
        sscanf(dash, "-%d.%d", &major, &minor);
    return major * 1000 + minor;
}

static int
newest_first(const void *a, const void *b)
{
    return toolkit_version(*(char *const *)b) - toolkit_version(*(char *const *)a);
}

static void
add_installed_toolkits(search *s)
{
    glob_t found;

    add_place(s, "toolkit", "/usr/local/cuda");
    if (glob("/usr/local/cuda-*", 0, NULL, &found) == 0) {
        qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, newest_first);
        for (size_t i = 0; i < found.gl_pathc; i++)
            add_place(s, "toolkit", found.gl_pathv[i]);
        globfree(&found);
    }
    add_place(s, "toolkit", "/opt/cuda");
}

static lw_status
add_all_places(search *s, lw_error *err)
{
    lw_status status;
    lw_text folders;

    lw_text_init(&folders);
    LW_TRY(lw_toolchain_folders(&folders, err));
    add_each(s, "wheel", lw_text_get(&folders), '\n', "nvidia/cu13");
    add_each(s, "wheel", lw_text_get(&folders), '\n', "nvidia");
    add_place(s, "CUDA_HOME", getenv("CUDA_HOME"));
    add_place(s, "CUDA_PATH", getenv("CUDA_PATH"));
    add_place(s, "conda", getenv("CONDA_PREFIX"));
    add_installed_toolkits(s);
    add_each(s, "LD_LIBRARY_PATH", getenv("LD_LIBRARY_PATH"), ':', NULL);
    add_place(s, "system", "/usr");
fail:
    lw_text_reset(&folders);
    return status;
}

static void
look_into(search *s, place *p)
{
    const char *divider = ": ";

    lw_text_addf(&s->tried, "%s %s", p->label, p->root);
    if (!is_folder(p->root)) {
        lw_text_add(&s->tried, ": no such folder\n");
        return;
    }
    for (int c = 0; c < LW_N_COMPONENTS; c++) {
        for (size_t i = 0; i < MAX_LAYOUTS && layouts[c][i] != NULL && p->files[c] == NULL;
             i++) {
            char *path = join(&s->arena, p->root, layouts[c][i]);
            if (is_file(path))
                p->files[c] = path;
        }
        if (p->files[c] != NULL) {
            lw_text_addf(&s->tried, "%s%s", divider, lw_component_names[c]);
            divider = ", ";
        }
    }
    lw_text_add(&s->tried, divider[0] == ':' ? ": nothing\n" : "\n");
}

static void
take_from(search *s, const place *p)
{
    for (int c = 0; c < LW_N_COMPONENTS; c++) {
        if (s->fixed[c] || s->files[c] != NULL || p->files[c] == NULL)
            continue;
        s->files[c] = p->files[c];
        s->labels[c] = p->label;
    }
}

static bool
has_all(const search *s, const place *p)
{
    for (int c = 0; c < LW_N_COMPONENTS; c++)
        if (!s->fixed[c] && p->files[c] == NULL)
            return false;
    return true;
}

static void
search_settings(search *s)
{
    for (int c = 0; c < LW_N_COMPONENTS; c++) {
        const char *value = lw_env_text(settings[c]);
        const char *variable = lw_env_rows[settings[c]].variable;
        bool bare = strchr(value, '/') == NULL && c != LW_COMPONENT_LIBDEVICE;

        if (value[0] == 0)
            continue;
        s->fixed[c] = true;
        lw_text_addf(&s->tried, "setting %s=%s: %s\n", variable, value,
                     bare             ? "for the system's loader to find"
                     : is_file(value) ? "there"
                                      : "no such file");
        if (!bare && !is_file(value))
            continue;
        s->files[c] = lw_arena_strdup(&s->arena, value);
        s->labels[c] = join(&s->arena, "setting", variable);
        if (s->labels[c] != NULL)
            s->labels[c][strlen("setting")] = ' ';
        if (!bare)
            add_above(s, "beside the setting's", value);
    }
}

static void
search_places(search *s)
{
    const place *whole = NULL;

    for (uint32_t i = 0; i < s->places.n && whole == NULL; i++) {
        look_into(s, &s->places.data[i]);
        if (has_all(s, &s->places.data[i]))
            whole = &s->places.data[i];
    }
    if (whole != NULL)
        take_from(s, whole);
    for (uint32_t i = 0; whole == NULL && i < s->places.n; i++)
        take_from(s, &s->places.data[i]);
}

/* Imports cuda-pathfinder, so it is called only for what the cheap places lack. */
static lw_status
search_pathfinder(search *s, lw_error *err)
{
    lw_status status = LW_OK;
    lw_text path;

    lw_text_init(&path);
    for (int c = 0; c < LW_N_COMPONENTS && python.pathfinder != NULL; c++) {
        if (s->fixed[c] || s->files[c] != NULL)
            continue;
        lw_text_reset(&path);
        LW_TRY(python.pathfinder(pathfinder_names[c], &path, err));
        lw_text_addf(&s->tried, "cuda-pathfinder \"%s\": %s\n", pathfinder_names[c],
                     path.n > 0 ? lw_text_get(&path) : "nothing, or not installed");
        if (path.n > 0 && is_file(lw_text_get(&path))) {
            s->files[c] = lw_arena_strdup(&s->arena, lw_text_get(&path));
            s->labels[c] = lw_arena_strdup(&s->arena, "cuda-pathfinder");
        }
    }
fail:
    lw_text_reset(&path);
    return status;
}

/* Uses the system loader's own search, which must load the library to answer. */
static void
search_loader(search *s)
{
    static const char *const names[LW_N_COMPONENTS][3] = {
        {"libnvvm.so.4", "libnvvm.so"},
        {NULL},
        {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"}};

    for (int c = 0; c < LW_N_COMPONENTS; c++) {
        for (int i = 0; i < 3 && names[c][i] != NULL; i++) {
            lw_library *library = NULL;
            if (s->fixed[c] || s->files[c] != NULL)
                continue;
            if (lw_library_open(names[c][i], &library, NULL) == LW_OK) {
                s->files[c] = lw_arena_strdup(&s->arena, lw_library_path(library));
                s->labels[c] = lw_arena_strdup(&s->arena, "system loader");
            }
            lw_text_addf(&s->tried, "system loader %s: %s\n", names[c][i],
                         library ? "there" : "nothing");
            lw_library_close(library);
        }
    }
}

static void
add_identity(lw_sha256 *sha, const char *path)
{
    struct stat info;
    int64_t facts[3] = {0};

    lw_sha256_add_text(sha, path);
    if (path[0] != 0 && stat(path, &info) == 0) {
        facts[0] = info.st_size;
        facts[1] = info.st_mtim.tv_sec;
        facts[2] = info.st_mtim.tv_nsec;
    }
    lw_sha256_add(sha, facts, sizeof facts);
}

static lw_digest
identify(char *const files[LW_N_COMPONENTS])
{
    lw_sha256 sha;

    lw_sha256_init(&sha);
    for (int c = 0; c < LW_N_COMPONENTS; c++)
        add_identity(&sha, files[c] ? files[c] : "");
    return lw_sha256_finish(&sha);
}

lw_digest
lw_self_id(void)
{
    Dl_info info = {0};
    lw_sha256 sha;

    lw_sha256_init(&sha);
    if (dladdr(&all, &info) != 0 && info.dli_fname != NULL)
        add_identity(&sha, info.dli_fname);
    return lw_sha256_finish(&sha);
}

static void
known_free(known *k)
{
    if (k == NULL)
        return;
    for (int c = 0; c < LW_N_COMPONENTS; c++) {
        lw_free((char *)k->toolchain.found[c].path);
        lw_free((char *)k->toolchain.found[c].place);
        lw_free(k->settings[c]);
    }
    lw_free((char *)k->toolchain.tried);
    lw_free(k);
}

/* Copies the answer out of the search's arena. */
static known *
known_new(const search *s)
{
    known *new = lw_alloc_zero(1, sizeof *new);
    bool good = new != NULL && !s->arena.failed && !s->tried.failed;

    for (int c = 0; good && c < LW_N_COMPONENTS; c++) {
        lw_found *found = &new->toolchain.found[c];

        new->settings[c] = lw_strdup(lw_env_text(settings[c]));
        good = new->settings[c] != NULL;
        if (!good || s->files[c] == NULL)
            continue;
        found->path = lw_strdup(s->files[c]);
        found->place = lw_strdup(s->labels[c]);
        good = found->path != NULL && found->place != NULL;
    }
    if (good)
        new->toolchain.tried = lw_strdup(lw_text_get(&s->tried));
    if (!good || new->toolchain.tried == NULL) {
        known_free(new);
        return NULL;
    }
    new->toolchain.id = identify(s->files);
    return new;
}

static lw_status
look(known **out, lw_error *err)
{
    lw_status status;
    search s = {0};

    lw_arena_init(&s.arena);
    lw_text_init(&s.tried);
    search_settings(&s);
    LW_TRY(add_all_places(&s, err));
    search_places(&s);
    LW_TRY(search_pathfinder(&s, err));
    search_loader(&s);
    *out = known_new(&s);
    if (*out == NULL)
        status = lw_fail_memory(err);
fail:
    lw_text_reset(&s.tried);
    lw_arena_reset(&s.arena);
    return status;
}

/* An earlier answer for the present settings. needs: the lock. */
static const known *
recall(void)
{
    for (const known *k = all; k != NULL; k = k->next) {
        bool same = !k->stale;
        for (int c = 0; same && c < LW_N_COMPONENTS; c++)
            same = strcmp(k->settings[c], lw_env_text(settings[c])) == 0;
        if (same)
            return k;
    }
    return NULL;
}

lw_status
lw_toolchain_get(const lw_toolchain **out, lw_error *err)
{
    lw_status status = LW_OK;
    known *new = NULL;
    const known *answer;
    uint64_t version = lw_env_version();

    lw_lock_take(&lock);
    answer = current_version == version ? current : NULL;
    if (answer == NULL)
        answer = recall();
    lw_lock_give(&lock);
    if (answer == NULL)
        LW_TRY(look(&new, err));

    lw_lock_take(&lock);
    if (answer == NULL)
        answer = recall(); /* another thread may have been faster */
    if (answer == NULL) {
        new->next = all;
        all = new;
        answer = new;
        new = NULL;
    }
    current = answer;
    current_version = version;
    lw_lock_give(&lock);
    *out = &answer->toolchain;
fail:
    known_free(new);
    return status;
}

lw_status
lw_toolchain_need(const lw_toolchain **out, lw_error *err)
{
    const lw_toolchain *toolchain = NULL;
    lw_status status = lw_toolchain_get(&toolchain, err);
    char missing[64] = "";

    if (status != LW_OK)
        return status;
    for (int c = 0; c < LW_N_COMPONENTS; c++)
        if (toolchain->found[c].path == NULL)
            snprintf(missing + strlen(missing), sizeof missing - strlen(missing), "%s%s",
                     missing[0] ? ", " : "", lw_component_names[c]);
    if (missing[0] != 0)
        return lw_fail(err, LW_ERR_COMPILER_NOT_FOUND,
                       "the CUDA compiler libraries are needed to compile for a GPU, and these "
                       "were not found: %s.\nPlaces tried:\n%s"
                       "Install them with `pip install lanewise[cu13]`, or name them in "
                       "LANEWISE_LIBNVVM, LANEWISE_LIBDEVICE and LANEWISE_NVJITLINK.",
                       missing, toolchain->tried);
    *out = toolchain;
    return LW_OK;
}

static bool
try_program(const char *folder, const char *name, lw_arena *arena, lw_text *path,
            lw_text *tried)
{
    char *full = join(arena, folder, name);

    if (full == NULL)
        return false;
    if (is_file(full) && access(full, X_OK) == 0) {
        lw_text_add(path, full);
        return !path->failed;
    }
    lw_text_addf(tried, "%s\n", full);
    return false;
}

/* Adds every folder that may contain a toolkit's programs, the best first. */
static void
add_program_places(search *s)
{
    const lw_toolchain *toolchain = NULL;
    uint32_t n;

    if (lw_toolchain_get(&toolchain, NULL) == LW_OK)
        for (int c = 0; c < LW_N_COMPONENTS; c++)
            if (toolchain->found[c].path != NULL)
                add_above(s, "beside", toolchain->found[c].path);
    (void)add_all_places(s, NULL);
    n = s->places.n;
    for (uint32_t i = 0; i < n; i++) { /* the CUDA 12 wheels of the programs */
        const char *root = s->places.data[i].root;
        size_t length = strlen(root);
        if (length < 7 || strcmp(root + length - 7, "/nvidia") != 0)
            continue;
        add_place(s, "wheel", join(&s->arena, s->places.data[i].root, "cuda_nvrtc"));
        add_place(s, "wheel", join(&s->arena, root, "cuda_nvdisasm"));
        add_place(s, "wheel", join(&s->arena, s->places.data[i].root, "cuda_cuobjdump"));
        add_place(s, "wheel", join(&s->arena, s->places.data[i].root, "cuda_nvcc"));
    }
}

bool
lw_toolchain_program(const char *name, lw_text *path, lw_text *tried)
{
    search s = {0};
    bool found = false;

    lw_arena_init(&s.arena);
    add_program_places(&s);
    for (uint32_t i = 0; !found && i < s.places.n; i++) {
        char *bin = join(&s.arena, s.places.data[i].root, "bin");
        found = is_folder(bin) && try_program(bin, name, &s.arena, path, tried);
    }
    s.places.n = 0;
    if (!found)
        add_each(&s, "PATH", getenv("PATH"), ':', NULL);
    for (uint32_t i = 0; !found && i < s.places.n; i++)
        found = try_program(s.places.data[i].root, name, &s.arena, path, tried);
    lw_arena_reset(&s.arena);
    return found;
}

/* ---- NVRTC ---- */

static const char *const nvrtc_layouts[] = {"lib64/libnvrtc.so.13",
                                            "lib/libnvrtc.so.13",
                                            TARGET("lib/libnvrtc.so.13"),
                                            SYSTEM("libnvrtc.so.13"),
                                            "lib64/libnvrtc.so.12",
                                            "lib/libnvrtc.so.12",
                                            TARGET("lib/libnvrtc.so.12"),
                                            SYSTEM("libnvrtc.so.12"),
                                            "libnvrtc.so.13",
                                            "libnvrtc.so.12"};

/* In CUDA 12's wheels the headers are in another folder than the compiler. */
static const char *const header_layouts[] = {"include/cuda_fp16.h",
                                             TARGET("include/cuda_fp16.h"),
                                             "../cuda_runtime/include/cuda_fp16.h"};

static bool
nvrtc_below(search *s, const char *root, lw_text *path)
{
    for (size_t i = 0; i < sizeof nvrtc_layouts / sizeof *nvrtc_layouts; i++) {
        char *file = join(&s->arena, root, nvrtc_layouts[i]);
        if (!is_file(file))
            continue;
        lw_text_add(path, file);
        return true;
    }
    return false;
}

static bool
headers_below(search *s, const char *root, lw_text *include)
{
    for (size_t i = 0; i < sizeof header_layouts / sizeof *header_layouts; i++) {
        char *file = join(&s->arena, root, header_layouts[i]);
        if (!is_file(file))
            continue;
        lw_text_add_n(include, file, (size_t)(strrchr(file, '/') - file));
        return true;
    }
    return false;
}

/* Prefers the headers of NVRTC's own place; NVRTC's wheel has none. */
static void
find_headers(search *s, uint32_t own, lw_text *include)
{
    if (own < s->places.n && headers_below(s, s->places.data[own].root, include))
        return;
    for (uint32_t i = 0; i < s->places.n; i++)
        if (headers_below(s, s->places.data[i].root, include))
            return;
}

static bool
nvrtc_in_places(search *s, lw_text *path, lw_text *tried, uint32_t *at)
{
    for (*at = 0; *at < s->places.n; ++*at) {
        if (nvrtc_below(s, s->places.data[*at].root, path))
            return true;
        lw_text_addf(tried, "%s %s\n", s->places.data[*at].label, s->places.data[*at].root);
    }
    return false;
}

bool
lw_toolchain_nvrtc(lw_text *path, lw_text *include, lw_text *tried)
{
    const char *setting = lw_env_text(LW_ENV_nvrtc);
    uint32_t at = UINT32_MAX;
    search s = {0};
    bool found;

    lw_arena_init(&s.arena);
    add_program_places(&s);
    if (setting[0] != 0) {
        lw_text_addf(tried, "setting LANEWISE_NVRTC=%s\n", setting);
        found = is_file(setting);
        if (found)
            lw_text_add(path, setting);
    } else {
        found = nvrtc_in_places(&s, path, tried, &at);
    }
    if (found)
        find_headers(&s, at, include);
    lw_arena_reset(&s.arena);
    return found && !path->failed;
}
