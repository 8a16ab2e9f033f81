#include "core/tables/kernel_ops.h"

const lw_kernel_op_row lw_kernel_ops[LW_N_KERNEL_OPS] = {
#define KERNEL_OP(name_, args_, result_, collective_, ptx_, host_)                             \
    [LW_KOP_##name_] = {.name = #name_,                                                        \
                        .args = args_,                                                         \
                        .result = #result_[0] == 'v' ? 0 : #result_[0],                        \
                        .collective = collective_,                                             \
                        .ptx = ptx_,                                                           \
                        .host = #host_},
#include "core/tables/kernel_ops.def"
};

lw_dtype
lw_kernel_op_type(char letter)
{
    switch (letter) {
    case 'i': return LW_DT_i32;
    case 'l': return LW_DT_i64;
    case 'b': return LW_DT_b1;
    case 'p': return LW_DT_ptr;
    default: return LW_DT_void;
    }
}
