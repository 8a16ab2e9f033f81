/* All steps from NVVM IR text over LTO-IR and PTX to a cubin, and each form that may be
 * inspected. */
#ifndef LW_LINK_COMPILE_CUDA_H
#define LW_LINK_COMPILE_CUDA_H

#include "core/link/nvjitlink.h"

/* Whether we generate code for this compute capability (75 ... 121). */
bool lw_cuda_cc_known(int cc);

typedef struct lw_cuda_source {
    const char *nvvm_text, *kernel_symbol;
    const lw_link_input *extra; /* the user's code; NULL when n_extra is 0 */
    size_t n_extra;
} lw_cuda_source;

/* Text -> cubin, linked with the extra inputs; LTO-IR among them is inlined, the rest is
 * called. The result must contain the kernel, see lw_nvjitlink_link. The caller does not hold
 * the GIL. */
lw_status lw_compile_cuda(const lw_cuda_source *source, const lw_cuda_options *options,
                          lw_bytes *cubin, lw_error *err);
/* Text -> PTX, with the LTO-IR among the extra inputs inlined (without any, libNVVM's own PTX).
 */
lw_status lw_compile_cuda_ptx(const lw_cuda_source *source, const lw_cuda_options *options,
                              lw_bytes *ptx, lw_error *err);
/* Text -> LTO-IR; the extra inputs are ignored. */
lw_status lw_compile_cuda_ltoir(const lw_cuda_source *source, const lw_cuda_options *options,
                                lw_bytes *ltoir, lw_error *err);
/* cubin -> SASS text by nvdisasm or cuobjdump, run as a child process;
 * LW_ERR_COMPILER_NOT_FOUND with the places tried when neither is there. */
lw_status lw_cuda_sass(const void *cubin, size_t n, lw_bytes *text, lw_error *err);

#endif
