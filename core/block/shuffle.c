#include "core/block/shuffle.h"

enum { WARP = 32 };

lw_ref
lw_value_bits(lw_builder *b, lw_ref value)
{
    static const lw_dtype unsigned_of[] = {
        [1] = LW_DT_u8, [2] = LW_DT_u16, [4] = LW_DT_u32, [8] = LW_DT_u64};
    lw_dtype type = lw_ir_type(b, value);
    uint32_t bytes = lw_dtypes[type].bits / 8;

    if (type == LW_DT_b1)
        return lw_ir_cast(b, LW_DT_u32, value);
    value = lw_ir_bitcast(b, unsigned_of[bytes], value);
    return bytes < 4 ? lw_ir_cast(b, LW_DT_u32, value) : value;
}

static lw_ref
from_bits(lw_builder *b, lw_ref bits, lw_dtype type)
{
    uint32_t bytes = lw_dtypes[type].bits / 8;

    if (type == LW_DT_b1)
        return lw_ir_compare(b, LW_OP_NE, bits, lw_ir_zero(b, LW_DT_u32));
    if (bytes < 4)
        bits = lw_ir_cast(b, bytes == 1 ? LW_DT_u8 : LW_DT_u16, bits);
    return lw_ir_bitcast(b, type, bits);
}

int64_t
lw_shuffle_clamp(lw_kernel_op op, int64_t width)
{
    return (WARP - width) << 8 | (op == LW_KOP_shfl_up ? 0 : WARP - 1);
}

static lw_ref
shuffle_word(lw_builder *b, const lw_shuffle *s, lw_ref word)
{
    lw_ref args[4] = {s->mask, lw_ir_bitcast(b, LW_DT_i32, word), s->lane, s->clamp};

    return lw_ir_bitcast(b, LW_DT_u32, lw_ir_kernel_call(b, s->op, LW_DT_i32, args, 4));
}

lw_ref
lw_shuffle_value(lw_builder *b, const lw_shuffle *s, lw_ref value)
{
    lw_dtype type = lw_ir_type(b, value);
    lw_ref bits = lw_value_bits(b, value), half, low, high;

    if (lw_ir_type(b, bits) == LW_DT_u32)
        return from_bits(b, shuffle_word(b, s, bits), type);
    half = lw_ir_int(b, LW_DT_u64, 32);
    low = shuffle_word(b, s, lw_ir_cast(b, LW_DT_u32, bits));
    high = shuffle_word(b, s, lw_ir_cast(b, LW_DT_u32, lw_ir_shr(b, bits, half)));
    high = lw_ir_shl(b, lw_ir_cast(b, LW_DT_u64, high), half);
    return from_bits(b, lw_ir_or(b, high, lw_ir_cast(b, LW_DT_u64, low)), type);
}

lw_ref
lw_warp_shuffle(lw_builder *b, lw_kernel_op op, lw_ref value, lw_ref lane)
{
    lw_shuffle s = {.op = op,
                    .mask = lw_ir_int(b, LW_DT_i32, -1),
                    .lane = lane,
                    .clamp = lw_ir_int(b, LW_DT_i32, lw_shuffle_clamp(op, WARP))};

    return lw_shuffle_value(b, &s, value);
}
