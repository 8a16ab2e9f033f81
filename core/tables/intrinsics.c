#include "core/tables/intrinsics.h"

#include <string.h>

const lw_intrinsic_row lw_intrinsics[LW_N_INTRINSICS] = {
#define INTRINSIC(row, args_, result_, kind_, gpu_how_, gpu_stem_, gpu_fast_, host_how_,       \
                  host_stem_, vector_, gpu_f32, gpu_f64, host_f32, host_f64)                   \
    [LW_IN_##row] = {.name = #row,                                                             \
                     .args = args_,                                                            \
                     .kind = LW_INTRINSIC_##kind_,                                             \
                     .gpu_how = LW_HOW_##gpu_how_,                                             \
                     .host_how = LW_HOW_##host_how_,                                           \
                     .gpu_stem = gpu_stem_,                                                    \
                     .gpu_fast_stem = gpu_fast_,                                               \
                     .host_stem = host_stem_,                                                  \
                     .vector_stem = vector_,                                                   \
                     .n_args = sizeof(args_) - 1,                                              \
                     .result = #result_[0],                                                    \
                     .ulp_gpu_f32 = gpu_f32,                                                   \
                     .ulp_gpu_f64 = gpu_f64,                                                   \
                     .ulp_host_f32 = host_f32,                                                 \
                     .ulp_host_f64 = host_f64},
#include "core/tables/intrinsics.def"
};

bool
lw_intrinsic_takes(lw_intrinsic which, lw_dtype dtype)
{
    return lw_intrinsics[which].kind == LW_INTRINSIC_FLOAT ? lw_is_float(dtype)
                                                           : lw_is_integer(dtype);
}

lw_dtype
lw_intrinsic_result(lw_intrinsic which, lw_dtype dtype)
{
    return lw_intrinsics[which].result == 'i' ? LW_DT_i32 : dtype;
}

bool
lw_intrinsic_has_vectors(lw_intrinsic which)
{
    const lw_intrinsic_row *row = &lw_intrinsics[which];

    return row->kind == LW_INTRINSIC_FLOAT &&
           (row->host_how == LW_HOW_LLVM || which == LW_IN_fabs || which == LW_IN_copysign ||
            which == LW_IN_minimum || which == LW_IN_maximum);
}
