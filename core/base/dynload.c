#define _GNU_SOURCE /* dlinfo */
#include "core/base/dynload.h"

#include "core/base/memory.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct lw_library {
    void *handle;
    char *path;
};

static bool
segments_are_whole(int file, uint64_t n_bytes)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) part;

    if (pread(file, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof part)
        return true; /* dlopen gives a better error */
    for (unsigned i = 0; i < head.e_phnum; i++) {
        off_t at = (off_t)(head.e_phoff + i * sizeof part);
        if (pread(file, &part, sizeof part, at) != (ssize_t)sizeof part)
            return false;
        if (part.p_type == PT_LOAD &&
            (part.p_offset > n_bytes || part.p_filesz > n_bytes - part.p_offset))
            return false;
    }
    return true;
}

/* dlopen maps what the ELF header promises, and the process dies of SIGBUS if the file ends
 * before that. */
static bool
is_cut_short(const char *path)
{
    int file = strchr(path, '/') ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    struct stat info;
    bool short_ = false;

    if (file < 0)
        return false; /* dlopen says why */
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode))
        short_ = !segments_are_whole(file, (uint64_t)info.st_size);
    close(file);
    return short_;
}

lw_status
lw_library_open(const char *path, lw_library **out, lw_error *err)
{
    lw_status status = LW_OK;
    lw_library *library = lw_alloc_zero(1, sizeof *library);
    struct link_map *map = NULL;

    if (library == NULL)
        return lw_fail_memory(err);
    if (is_cut_short(path)) {
        status = lw_fail(err, LW_ERR_COMPILER_NOT_FOUND, "%s: the file is cut short", path);
        goto fail;
    }
    library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL) {
        const char *reason = dlerror();
        status = lw_fail(err, LW_ERR_COMPILER_NOT_FOUND, "%s", reason ? reason : path);
        goto fail;
    }
    if (dlinfo(library->handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name[0])
        path = map->l_name;
    library->path = lw_strdup(path);
    if (library->path == NULL) {
        status = lw_fail_memory(err);
        goto fail;
    }
    *out = library;
    return LW_OK;
fail:
    lw_library_close(library);
    return status;
}

void *
lw_library_symbol(lw_library *library, const char *name)
{
    return dlsym(library->handle, name);
}

const char *
lw_library_path(lw_library *library)
{
    return library->path;
}

void
lw_library_close(lw_library *library)
{
    if (library == NULL)
        return;
    if (library->handle != NULL)
        dlclose(library->handle);
    lw_free(library->path);
    lw_free(library);
}
