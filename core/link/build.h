/* From a finished IR module to code that can run: key, cache, emit, compile. The key of a
 * kernel is made of the printed IR, the flags, the target and the toolchain, so that a cached
 * result cannot be outdated. LANEWISE_DUMP prints the stages from here. The caller does not
 * hold the GIL. */
#ifndef LW_LINK_BUILD_H
#define LW_LINK_BUILD_H

#include "core/emit/emit.h"
#include "core/ir/ir.h"
#include "core/link/cubin_info.h"
#include "core/link/elf_loader.h"
#include "core/link/kernel_cache.h"
#include "core/link/nvjitlink.h"

/* The user's code with which a kernel is linked. */
typedef struct lw_link_code {
    lw_link_input input;
    lw_digest id; /* of its bytes, and of the folders */
    /* CUDA C++: where included files are looked for */
    const char **folders;
    uint32_t n_folders;
    bool nrt; /* it calls NRT_ functions, which our module then offers */
} lw_link_code;

typedef struct lw_build_options {
    bool use_disk;    /* cache= of the decorator */
    bool precise;     /* CPU: scalar libm, no vector functions */
    bool opt;         /* false: -O0 */
    bool quick;       /* CPU: soon made, and slower: without vectors of the compiler's own */
    bool lineinfo;    /* CUDA */
    bool variables;   /* debug information, without optimisation */
    lw_watched watch; /* CPU: accesses that are checked for races */
    /* for nvJitLink; always false, because our own pass has fused already */
    bool fma;
    bool ftz;                  /* fastmath */
    bool fast_div;             /* fastmath */
    int max_registers;         /* CUDA; 0: no limit */
    const lw_link_code *links; /* CUDA: what cubins and SASS are linked with */
    uint32_t n_links;
    bool nrt;         /* CUDA: offer the NRT_ functions, whatever the links say */
    const char *name; /* the Python function's, for dumps and log lines */
} lw_build_options;

/* Where a build's result came from and how long it took, for stats and the demo. */
typedef struct lw_build_report {
    lw_cache_origin origin;
    double seconds;
    bool cuda; /* for a GPU */
} lw_build_report;

/* Machine code for the host; lw_code_symbol(code, "<exported function>") finds the entry. */
lw_status lw_build_host(const lw_module *module, const lw_build_options *options, lw_code **out,
                        lw_build_report *report, lw_error *err);
/* A cubin for compute capability cc (90 for sm_90), whose entry is the module's one KERNEL. */
lw_status lw_build_cuda(const lw_module *module, int cc, const lw_build_options *options,
                        lw_blob **out, lw_build_report *report, lw_error *err);
/* The registers and memory that this entry needs. */
lw_status lw_build_info(const lw_module *module, int cc, const lw_build_options *options,
                        lw_cubin_info *out, lw_error *err);
/* The name of the entry; NULL: the module has none. */
const char *lw_build_kernel_name(const lw_module *module);
/* A name for an entry: the Python function's, made safe for ptxas, and a hash of what the
 * entry is for. */
void lw_build_symbol(const char *name, uint64_t hash, char out[96]);
/* Text and binary forms for inspection and ahead-of-time compilation. `output` is one of llvm
 * nvvm ptx ltoir cubin sass object asm ir; target_cc 0 = the host. Not cached. */
lw_status lw_build_output(const lw_module *module, int target_cc, const char *output,
                          const lw_build_options *options, lw_bytes *out, lw_error *err);
/* CUDA C++ as LTO-IR, or as PTX with a NUL behind it. Not cached. */
lw_status lw_build_source(const lw_link_code *code, int cc, const lw_build_options *options,
                          bool ptx, lw_bytes *out, lw_error *err);
/* Whether LANEWISE_DUMP names this stage (and LANEWISE_DUMP_ONLY this function); prints a
 * stage. */
bool lw_dump_wanted(const char *stage, const char *name);
void lw_dump(const char *stage, const char *name, const char *text);
/* The vector width for which code is generated on this CPU: 128, 256 or 512 bits. */
int lw_host_vector_bits(void);
/* The same of code that mostly waits for memory (lw_module.is_light): 256 bits at most. Arrays
 * of NumPy begin at any multiple of 16 bytes, so that as a rule each vector of 64 bytes lies in
 * two cache lines, and only every other one of 32. */
int lw_host_light_vector_bits(void);
/* Whether code for this CPU computes the function by instructions of its own, unless `precise`
 * is on (lw_emit_is_own). */
bool lw_host_is_own(lw_intrinsic which, lw_dtype type);

#endif
