/* Values from other lanes of a warp, for the makers of kernels. Included by these files alone.
 */
#ifndef LW_REDUCE_KERNEL_SHUFFLE_H
#define LW_REDUCE_KERNEL_SHUFFLE_H

#include "core/tables/kernel_ops.h"
#include "reduce/kernel_parts.h"

/* row: one of LW_KOP_shfl_*; all lanes of the warp come. */
static inline lw_ref
shuffle_word(lw_reduce_maker *k, uint32_t row, lw_ref word, lw_ref lane)
{
    lw_ref args[] = {lw_ir_int(&k->b, LW_DT_i32, -1), word, lane,
                     lw_ir_int(&k->b, LW_DT_i32, row == LW_KOP_shfl_up ? 0 : 31)};

    return lw_ir_kernel_call(&k->b, row, LW_DT_i32, args, 4);
}

static inline lw_ref
shuffle_wide(lw_reduce_maker *k, uint32_t row, lw_ref value, lw_ref lane)
{
    lw_builder *b = &k->b;
    lw_ref bits = lw_ir_bitcast(b, LW_DT_u64, value), halves[2];
    lw_ref far = lw_ir_int(b, LW_DT_u64, 32);

    for (int i = 0; i < 2; i++) {
        lw_ref half = lw_ir_cast(b, LW_DT_u32, i ? lw_ir_shr(b, bits, far) : bits);
        half = shuffle_word(k, row, lw_ir_bitcast(b, LW_DT_i32, half), lane);
        halves[i] = lw_ir_cast(b, LW_DT_u64, lw_ir_bitcast(b, LW_DT_u32, half));
    }
    bits = lw_ir_or(b, lw_ir_shl(b, halves[1], far), halves[0]);
    return lw_ir_bitcast(b, lw_ir_type(b, value), bits);
}

static inline lw_ref
shuffle_value(lw_reduce_maker *k, uint32_t row, lw_ref value, lw_ref lane)
{
    lw_builder *b = &k->b;
    lw_dtype type = lw_ir_type(b, value);
    uint32_t size = lw_dtypes[type].size_bytes;

    if (size == 8)
        return shuffle_wide(k, row, value, lane);
    if (size == 4)
        return lw_ir_bitcast(b, type,
                             shuffle_word(k, row, lw_ir_bitcast(b, LW_DT_i32, value), lane));
    if (type == LW_DT_b1) {
        value = shuffle_word(k, row,
                             lw_ir_select(b, value, lw_ir_int(&k->b, LW_DT_i32, 1),
                                          lw_ir_int(&k->b, LW_DT_i32, 0)),
                             lane);
        return lw_ir_compare(b, LW_OP_NE, value, lw_ir_int(&k->b, LW_DT_i32, 0));
    }
    value = lw_ir_bitcast(b, size == 1 ? LW_DT_u8 : LW_DT_u16, value);
    value = shuffle_word(k, row, lw_ir_cast(b, LW_DT_i32, value), lane);
    return lw_ir_bitcast(b, type, lw_ir_cast(b, size == 1 ? LW_DT_u8 : LW_DT_u16, value));
}

#endif
