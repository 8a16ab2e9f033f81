/* NVRTC: the user's CUDA C++ -> LTO-IR. It is loaded at the first such source; calls run in
 * parallel, no lock is held and the caller does not hold the GIL. */
#ifndef LW_LINK_NVRTC_H
#define LW_LINK_NVRTC_H

#include "core/base/hash.h"
#include "core/link/libnvvm.h"

typedef struct lw_nvrtc_source {
    const char *text; /* n bytes */
    size_t n;
    const char *name; /* shown in messages; or NULL */
    /* where included files are looked for: behind those beside a source that has a path, before
     * the setting include_path and the toolkit's */
    const char *const *folders;
    uint32_t n_folders;
    bool ptx; /* PTX with a NUL behind it in place of LTO-IR */
} lw_nvrtc_source;

/* LW_ERR_COMPILER_NOT_FOUND with the places tried where NVRTC is missing, LW_ERR_LINK with its
 * log where it refuses the code. */
lw_status lw_nvrtc_compile(const lw_nvrtc_source *source, const lw_cuda_options *options,
                           lw_bytes *out, lw_error *err);
/* A digest of the library's file, for cache keys. */
lw_status lw_nvrtc_id(lw_digest *id, lw_error *err);

#endif
