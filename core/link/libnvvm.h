/* libNVVM: NVVM IR text -> PTX or LTO-IR. It is loaded at the first compilation; calls run in
 * parallel, no lock is held and the caller does not hold the GIL.
 *
 * libNVVM does not verify what it compiles, and some unverified texts end the process, so every
 * text is verified first. libdevice is added lazily, and only when the text names `__nv_`. */
#ifndef LW_LINK_LIBNVVM_H
#define LW_LINK_LIBNVVM_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/text.h"

#include <stdbool.h>

/* One set for both stages: float modes act at LTO-IR generation (libdevice is folded there) and
 * at the link (code is generated there), so both must be given the same. */
typedef struct lw_cuda_options {
    int cc;            /* compute capability times ten, 75 ... 121 */
    int opt;           /* 0 or 3 */
    bool fma;          /* fuse a*b+c */
    bool ftz;          /* float32 denormals become zero */
    bool fast_div;     /* float32 division within 2 ULP */
    bool fast_sqrt;    /* float32 square root within 1 ULP */
    bool line_info;    /* source lines in the code; needs debug metadata in the text */
    bool debug_info;   /* and variables; with opt = 0 only */
    int max_registers; /* a thread; 0: no limit */
    char suffix;       /* 'a' or 'f' for architecture-specific code, else 0 */
} lw_cuda_options;

/* What NumPy-equal results need: full optimisation, no fused multiply-add, IEEE everything. */
#define LW_CUDA_OPTIONS_EXACT(compute) ((lw_cuda_options){.cc = (compute), .opt = 3})
/* The same with a*b+c fused, as CUDA C++ does by default. */
#define LW_CUDA_OPTIONS_FUSED(compute)                                                         \
    ((lw_cuda_options){.cc = (compute), .opt = 3, .fma = true})

/* Turns off a pass of LLVM 7, which libNVVM uses for sm_75 to sm_90. The pass splits a loop at
 * the value that its index is compared with: `for (uint64_t i = 0; i < n; i++) if ((int64_t)i >
 * c) a(); else b();`. If c is negative, it treats c as a large unsigned number, so that every
 * iteration takes the wrong branch, here b() (libNVVM 12.0 to 13.5, seen on an H200 on
 * 2026-11-29). The option is passed for all architectures, after "-Xopt" to libNVVM and after
 * "-Xnvvm=-Xopt" to nvJitLink; both ignore it where the pass does not exist. */
#define LW_NVVM_NO_INDEX_SPLIT "-disable-LoopIndexSplitPass"

typedef enum lw_nvvm_output { LW_NVVM_PTX, LW_NVVM_LTOIR } lw_nvvm_output;

/* name: shown in messages. LW_ERR_COMPILE with libNVVM's log when the text is refused. */
lw_status lw_nvvm_compile(const char *nvvm_text, const char *name,
                          const lw_cuda_options *options, lw_nvvm_output output, lw_bytes *out,
                          lw_error *err);
/* The IR version that libNVVM reads, as "IR 2.0, debug 3.2"; loads the library. */
lw_status lw_nvvm_version(lw_text *out, lw_error *err);

#endif
