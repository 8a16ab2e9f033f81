/* All steps of a GPU's code: NVVM IR text -> LTO-IR -> cubin, and each form that may be
 * inspected. */
#ifndef LW_LINK_COMPILE_CUDA_H
#define LW_LINK_COMPILE_CUDA_H

#include "core/link/nvjitlink.h"

/* Whether we generate code for this compute capability (75 ... 121). */
bool lw_cuda_cc_known(int cc);

/* Text -> cubin, linked with the extra inputs (the user's code, NULL when n_extra is 0); what
 * is LTO-IR among them is inlined, all else called. The kernel must come out, see
 * lw_nvjitlink_link. The caller does not hold the GIL. */
lw_status lw_compile_cuda(const char *nvvm_text, const char *kernel_symbol, int cc,
                          const lw_cuda_options *options, const lw_link_input *extra,
                          size_t n_extra, lw_bytes *cubin, lw_error *err);
/* Text -> PTX, with the LTO-IR among the extra inputs inlined (without any, libNVVM's own PTX).
 */
lw_status lw_compile_cuda_ptx(const char *nvvm_text, const char *kernel_symbol, int cc,
                              const lw_cuda_options *options, const lw_link_input *extra,
                              size_t n_extra, lw_bytes *ptx, lw_error *err);
lw_status lw_compile_cuda_ltoir(const char *nvvm_text, const char *kernel_symbol, int cc,
                                const lw_cuda_options *options, lw_bytes *ltoir, lw_error *err);
/* cubin -> SASS text by nvdisasm or cuobjdump, run as a child process;
 * LW_ERR_COMPILER_NOT_FOUND with the places tried when neither is there. */
lw_status lw_cuda_sass(const void *cubin, size_t n, lw_bytes *text, lw_error *err);

#endif
