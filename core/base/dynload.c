#define _GNU_SOURCE /* dlinfo */
#include "core/base/dynload.h"

#include "core/base/memory.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

struct lw_library {
    void *handle;
    char *path;
};

lw_status
lw_library_open(const char *path, lw_library **out, lw_error *err)
{
    lw_status status = LW_OK;
    lw_library *library = lw_alloc_zero(1, sizeof *library);
    struct link_map *map = NULL;

    if (library == NULL)
        return lw_fail_memory(err);
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
