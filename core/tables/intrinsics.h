/* The intrinsics as an enum and a table; see intrinsics.def. LW_IN_sqrt is operand a of
 * INTRINSIC. */
#ifndef LW_TABLES_INTRINSICS_H
#define LW_TABLES_INTRINSICS_H

#include "core/tables/dtypes.h"

typedef enum lw_intrinsic {
#define INTRINSIC(name, args, result, kind, gpu_how, gpu_stem, gpu_fast, host_how, host_stem,  \
                  vector, gpu_f32, gpu_f64, host_f32, host_f64)                                \
    LW_IN_##name,
#include "core/tables/intrinsics.def"
    LW_N_INTRINSICS
} lw_intrinsic;

typedef enum lw_how { LW_HOW_LLVM, LW_HOW_NVVM, LW_HOW_CALL, LW_HOW_OPEN } lw_how;
typedef enum lw_intrinsic_kind { LW_INTRINSIC_FLOAT, LW_INTRINSIC_INT } lw_intrinsic_kind;

typedef struct lw_intrinsic_row {
    const char *name;
    const char *args; /* one letter each: v the operation's type, i an i32 */
    lw_intrinsic_kind kind;
    lw_how gpu_how, host_how;
    const char *gpu_stem, *gpu_fast_stem, *host_stem, *vector_stem; /* "": none */
    uint8_t n_args;
    char result; /* v or i */
    uint8_t ulp_gpu_f32, ulp_gpu_f64, ulp_host_f32, ulp_host_f64;
} lw_intrinsic_row;

extern const lw_intrinsic_row lw_intrinsics[LW_N_INTRINSICS];

/* Whether the intrinsic exists for this type of `v`. */
bool lw_intrinsic_takes(lw_intrinsic which, lw_dtype dtype);
/* Whether the host has it for vectors, lane by lane (core/ir/ir.h: lw_op_is_elementwise). */
bool lw_intrinsic_has_vectors(lw_intrinsic which);
/* The result's type when v is dtype. */
lw_dtype lw_intrinsic_result(lw_intrinsic which, lw_dtype dtype);

#endif
