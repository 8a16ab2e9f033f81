#include "core/front/constant_bits.h"

#include "core/ir/build.h"

#include <math.h>

/* As CAST converts: a value that does not fit saturates, NaN gives 0. */
static int64_t
saturated(double value, lw_dtype dtype)
{
    unsigned bits = lw_dtypes[dtype].bits;
    bool is_signed = lw_dtypes[dtype].kind == LW_KIND_INT;
    double high = ldexp(1, (int)(is_signed ? bits - 1 : bits)), low = is_signed ? -high : 0;
    uint64_t most = UINT64_MAX >> (64 - bits);

    if (isnan(value))
        return 0;
    if (value >= high)
        return (int64_t)(is_signed ? most >> 1 : most);
    if (value < low)
        return is_signed ? (int64_t) ~(most >> 1) : 0;
    return value < 0 ? (int64_t)value : (int64_t)(uint64_t)value;
}

static double
real(const lw_constant *k)
{
    switch (k->kind) {
    case LW_K_BOOL:
    case LW_K_INT: return (double)k->i;
    case LW_K_UINT: return (double)k->u;
    case LW_K_SCALAR:
        if (lw_dtypes[k->dtype].kind == LW_KIND_UINT)
            return (double)k->u;
        return lw_is_integer(k->dtype) || k->dtype == LW_DT_b1 ? (double)k->i : k->d;
    default: return k->d;
    }
}

/* Whether it is a bool, an integer or a time, whose value is `i` or `u`. */
static bool
is_integer(const lw_constant *k)
{
    return k->kind == LW_K_BOOL || k->kind == LW_K_INT || k->kind == LW_K_UINT ||
           (k->kind == LW_K_SCALAR &&
            (lw_is_integer(k->dtype) || k->dtype == LW_DT_b1 || lw_is_time(k->dtype)));
}

static double
imaginary(const lw_constant *k)
{
    bool two = k->kind == LW_K_COMPLEX || (k->kind == LW_K_SCALAR && lw_is_complex(k->dtype));

    return two ? k->im : 0;
}

uint64_t
lw_constant_real_bits(const lw_constant *k, lw_dtype dtype)
{
    if (dtype == LW_DT_b1)
        return is_integer(k) ? k->u != 0 : real(k) != 0 || imaginary(k) != 0;
    if (lw_is_float(dtype))
        return lw_ir_float_bits(dtype, real(k));
    if (is_integer(k))
        return lw_ir_int_bits(dtype, (int64_t)k->u);
    return lw_ir_int_bits(dtype, saturated(real(k), dtype));
}

uint64_t
lw_constant_imaginary_bits(const lw_constant *k, lw_dtype dtype)
{
    return lw_ir_float_bits(dtype, imaginary(k));
}

bool
lw_constant_exact_double(__int128 value, double *out)
{
    *out = (double)value;
    return value <= (1ll << 53) && value >= -(1ll << 53);
}

bool
lw_constant_float_op(lw_pyop op, double x, double y, double *out)
{
    switch (op) {
    case LW_PY_ADD: *out = x + y; return true;
    case LW_PY_SUB: *out = x - y; return true;
    case LW_PY_MUL: *out = x * y; return true;
    case LW_PY_DIV: *out = x / y; return y != 0;
    default: return false;
    }
}
