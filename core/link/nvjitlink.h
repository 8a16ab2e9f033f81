/* nvJitLink: LTO-IR, PTX and cubins -> one cubin (or PTX). It is loaded at the first link;
 * calls run in parallel, no lock is held and the caller does not hold the GIL. */
#ifndef LW_LINK_NVJITLINK_H
#define LW_LINK_NVJITLINK_H

#include "core/link/libnvvm.h"

typedef enum lw_link_kind { /* nvJitLink's own numbers */
                            LW_LINK_CUBIN = 1,
                            LW_LINK_PTX = 2,
                            LW_LINK_LTOIR = 3,
                            LW_LINK_FATBIN = 4,
                            LW_LINK_OBJECT = 5,
                            LW_LINK_LIBRARY = 6,
                            LW_LINK_ANY = 10,
                            /* ours: CUDA C++, which is compiled to LTO-IR first */
                            LW_LINK_CUDA = 100
} lw_link_kind;

typedef struct lw_link_input {
    lw_link_kind kind;
    const void *data; /* PTX: its NUL may be counted or not */
    size_t n;
    const char *name; /* shown in messages */
} lw_link_input;

typedef enum lw_link_output { LW_LINK_TO_CUBIN, LW_LINK_TO_PTX } lw_link_output;

/* What is linked to what. */
typedef struct lw_link_request {
    const lw_link_input *inputs;
    size_t n_inputs;
    lw_link_output output;
    /* It must be a kernel of the result, else LW_ERR_LINK (an all-LTO link silently drops
     * kernels that @llvm.used does not list); NULL: not checked. */
    const char *kernel_symbol;
} lw_link_request;

/* Every failure is LW_ERR_LINK with the library's log. LTO is switched on when an input is
 * LTO-IR or PTX is wanted. */
lw_status lw_nvjitlink_link(const lw_link_request *request, const lw_cuda_options *options,
                            lw_bytes *out, lw_error *err);
lw_status lw_nvjitlink_version(int *major, int *minor, lw_error *err);
/* Whether the ELF symbol table of a cubin defines this function; false on damaged bytes. */
bool lw_cubin_has_function(const void *cubin, size_t n, const char *symbol);

#endif
