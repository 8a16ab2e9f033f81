#include "core/host/value_class.h"

#include <fenv.h>
#include <string.h>

static unsigned
class_of_bits(uint64_t bits, int fraction_bits, uint64_t exponent_mask)
{
    uint64_t fraction = bits & (((uint64_t)1 << fraction_bits) - 1);
    uint64_t exponent = bits >> fraction_bits & exponent_mask;

    if (exponent == exponent_mask)
        return fraction ? LW_IS_NAN : LW_IS_INF;
    return exponent ? 0 : fraction ? LW_IS_TINY : LW_IS_TINY | LW_IS_ZERO;
}

unsigned
lw_value_class(lw_dtype dtype, const char *at)
{
    uint64_t bits = 0;

    switch (dtype) {
    case LW_DT_f16: memcpy(&bits, at, 2); return class_of_bits(bits, 10, 0x1f);
    case LW_DT_bf16: memcpy(&bits, at, 2); return class_of_bits(bits, 7, 0xff);
    case LW_DT_f32: memcpy(&bits, at, 4); return class_of_bits(bits, 23, 0xff);
    case LW_DT_f64: memcpy(&bits, at, 8); return class_of_bits(bits, 52, 0x7ff);
    case LW_DT_c64: return lw_value_class(LW_DT_f32, at) | lw_value_class(LW_DT_f32, at + 4);
    case LW_DT_c128: return lw_value_class(LW_DT_f64, at) | lw_value_class(LW_DT_f64, at + 8);
    default: return 0;
    }
}

int
lw_flags_explained(unsigned in, unsigned out, int flags)
{
    const int large = FE_OVERFLOW | FE_DIVBYZERO;
    int real = 0;

    if ((out & LW_IS_NAN) && !(in & LW_IS_NAN))
        real |= FE_INVALID;
    if ((out & LW_IS_INF) && !(in & (LW_IS_NAN | LW_IS_INF)))
        real |= (in & LW_IS_ZERO) && (flags & large) == large ? FE_DIVBYZERO : large;
    if ((out & LW_IS_TINY) && !(in & (LW_IS_NAN | LW_IS_INF)) && !(in & out & LW_IS_ZERO))
        real |= FE_UNDERFLOW;
    return real & flags;
}
