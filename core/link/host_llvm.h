/* Compiling for the CPU: LLVM text -> a relocatable object, by llvmlite, which is the only part
 * that needs Python and comes in through a registered function. Also identifies this CPU,
 * without LLVM. */
#ifndef LW_LINK_HOST_LLVM_H
#define LW_LINK_HOST_LLVM_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/hash.h"

#include <stdbool.h>

typedef struct lw_host_options {
    int opt; /* 0 ... 3; from 2 on the vectorisers run; 1 selects machine code as 0 does */
    /* code for every CPU of this architecture (x86-64) instead of this machine's */
    bool baseline;
} lw_host_options;

#define LW_HOST_OPTIONS_DEFAULT ((lw_host_options){.opt = 3})

typedef enum lw_host_output {
    LW_HOST_OBJECT, /* ELF, pic, small code model */
    LW_HOST_ASM     /* assembler text */
} lw_host_output;

/* Takes the GIL itself; LW_ERR_COMPILE with LLVM's words when the text is refused. */
typedef lw_status (*lw_host_compile_fn)(const char *llvm_text, const lw_host_options *options,
                                        lw_host_output output, lw_bytes *out, lw_error *err);

void lw_host_llvm_set(lw_host_compile_fn compile); /* NULL: none */

/* The caller does not hold the GIL. LW_ERR_COMPILER_NOT_FOUND when there is no llvmlite. */
lw_status lw_compile_host(const char *llvm_text, const lw_host_options *options,
                          lw_host_output output, lw_bytes *out, lw_error *err);

/* A digest of this CPU for cache keys: of the cpuid leaves and xgetbv that decide which code it
 * runs. Valid for the life of the process. */
const lw_digest *lw_host_cpu_id(void);
/* A digest of the installed llvmlite for cache keys: path, size and time of its library, found
 * without importing it; all zero when Python's folders contain none. */
lw_status lw_host_compiler_id(lw_digest *out, lw_error *err);

#endif
