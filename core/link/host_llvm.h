/* The CPU's road: LLVM text -> a relocatable object, by llvmlite (the only thing here that only
 * Python can do; it comes in through a registered function). And who this CPU is, without LLVM.
 */
#ifndef LW_LINK_HOST_LLVM_H
#define LW_LINK_HOST_LLVM_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/hash.h"

#include <stdbool.h>

typedef struct lw_host_options {
    int opt;       /* 0 ... 3; the vectorisers run from 2 on */
    bool baseline; /* code for every CPU of this kind (x86-64) instead of this machine's own */
} lw_host_options;

#define LW_HOST_OPTIONS_DEFAULT ((lw_host_options){.opt = 3})

typedef enum lw_host_output {
    LW_HOST_OBJECT, /* ELF, pic, small code model */
    LW_HOST_ASM,    /* assembler text */
    LW_HOST_LLVM    /* the optimised LLVM text */
} lw_host_output;

/* Takes the GIL itself; LW_ERR_COMPILE with LLVM's words when the text is refused. */
typedef lw_status (*lw_host_compile_fn)(const char *llvm_text, const lw_host_options *options,
                                        lw_host_output output, lw_bytes *out, lw_error *err);

void lw_host_llvm_set(lw_host_compile_fn compile); /* NULL: none */

/* The caller does not hold the GIL. LW_ERR_COMPILER_NOT_FOUND when no llvmlite is there. */
lw_status lw_compile_host(const char *llvm_text, const lw_host_options *options,
                          lw_host_output output, lw_bytes *out, lw_error *err);

/* This CPU, for cache keys: the cpuid leaves and xgetbv that say what code it runs. Valid for
 * the life of the process. */
const lw_digest *lw_host_cpu_id(void);
/* The llvmlite installed, for cache keys: path, size and time of its library, without importing
 * it; all zero when there is none in Python's folders. */
lw_status lw_host_compiler_id(lw_digest *out, lw_error *err);

#endif
