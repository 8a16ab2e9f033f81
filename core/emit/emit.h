/* IR -> LLVM assembly text. One printer, two dialects. GPU: the subset of NVVM IR that
 * libNVVM's LLVM 7 reader takes (typed pointers), or opaque pointers on request. CPU: the text
 * of today's LLVM. README.md says what each reader refuses. */
#ifndef LW_EMIT_EMIT_H
#define LW_EMIT_EMIT_H

#include "core/ir/ir.h"
#include "core/tables/intrinsics.h"

/* Which accesses of the user's source the CPU's code reports before it makes them. */
typedef enum lw_watched {
    LW_WATCH_NOTHING,
    /* those that may be to shared memory: lw_sim_access (core/host/simulator.h) */
    LW_WATCH_SHARED,
    LW_WATCH_ELEMENTS /* all: lw_race_access (core/host/element_race.h) */
} lw_watched;

typedef enum lw_target { LW_TARGET_CPU, LW_TARGET_CUDA } lw_target;

typedef struct lw_emit_options {
    lw_target target;
    int cc;               /* CUDA: compute capability, 90 for sm_90; 0: not known */
    bool opaque_pointers; /* CUDA only; CPU text always is */
    bool lineinfo;        /* CUDA: line tables of the user's Python */
    bool variables;       /* and the user's variables, on both targets: for debuggers */
    bool nrt;             /* CUDA: offer the NRT_ functions to what the module is linked with */
    bool precise;         /* CPU: scalar libm, neither libmvec nor our own */
    lw_watched watch;     /* CPU */
    bool frozen;  /* code for another process, or that others load: it cannot use live data */
    bool has_fma; /* CPU: has a fused multiply-add; then some functions are our own */
    int vector_bits; /* CPU: preferred vector width, 128, 256 or 512 */
    /* CPU: whether the C library has this vector function; NULL = none has */
    bool (*has_vector_function)(const char *symbol);
    /* CPU: for function attributes; "" = LLVM's target machine decides */
    const char *host_features;
} lw_emit_options;

lw_status lw_emit(const lw_module *module, const lw_emit_options *options, lw_text *out,
                  lw_error *err);

/* Whether CPU code computes this function by its own instructions where the processor has a
 * fused multiply-add and `precise` is off; the result then depends on nothing but the
 * arguments. */
bool lw_emit_is_own(lw_intrinsic which, lw_dtype type);

#endif
