/* NVRTC: the user's CUDA C++ -> LTO-IR. It is loaded at the first such source; calls run in
 * parallel, no lock is held and the caller does not hold the GIL. */
#ifndef LW_LINK_NVRTC_H
#define LW_LINK_NVRTC_H

#include "core/base/hash.h"
#include "core/link/libnvvm.h"

/* source: text of n bytes; name: shown in messages. LW_ERR_COMPILER_NOT_FOUND with the places
 * tried where NVRTC is missing, LW_ERR_LINK with its log where it refuses the code. */
lw_status lw_nvrtc_compile(const char *source, size_t n, const char *name,
                           const lw_cuda_options *options, lw_bytes *ltoir, lw_error *err);
/* A digest of the library's file, for cache keys. */
lw_status lw_nvrtc_id(lw_digest *id, lw_error *err);

#endif
