/* Float operations as IR; floats.h says what they mean. Formulas and special cases follow
 * NumPy's numpy/_core/src/npymath (npy_math_internal.h.src, halffloat.cpp), rewritten without
 * branches. */
#include "core/front/numeric/floats.h"

#include "core/front/numeric/integers.h"
#include "core/front/numeric/numeric_internal.h"

#include <math.h>

lw_ref
lw_float_call(lw_builder *b, lw_intrinsic which, lw_ref x)
{
    return lw_ir_intrinsic(b, which, lw_ir_type(b, x), &x, 1);
}

lw_ref
lw_float_call2(lw_builder *b, lw_intrinsic which, lw_ref x, lw_ref y)
{
    lw_ref args[2] = {x, y};

    return lw_ir_intrinsic(b, which, lw_ir_type(b, x), args, 2);
}

uint32_t
lw_float_exact(lw_builder *b)
{
    uint32_t fast = b->fast;

    b->fast = 0;
    return fast;
}

void
lw_float_relax(lw_builder *b, uint32_t fast)
{
    b->fast = fast;
}

/* The type in which formulas are computed. */
static lw_dtype
wide_of(lw_dtype type)
{
    return type == LW_DT_f16 || type == LW_DT_bf16 ? LW_DT_f32 : type;
}

static lw_ref
widen(lw_builder *b, lw_ref x)
{
    return lw_ir_cast(b, wide_of(lw_ir_type(b, x)), x);
}

static lw_ref
number(lw_builder *b, lw_ref like, double value)
{
    return lw_ir_float(b, lw_ir_type(b, like), value);
}

/* ---- division ---- */

/* Quotient and remainder from mod0 = fmod(x, y), as npy_divmod computes them. */
static void
exact_divmod(lw_builder *b, lw_ref x, lw_ref y, lw_ref *quotient, lw_ref *rest)
{
    lw_ref zero = number(b, x, 0), one = number(b, x, 1);
    lw_ref mod = lw_float_call2(b, LW_IN_fmod, x, y);
    lw_ref nonzero = lw_ir_compare(b, LW_OP_NE, mod, zero);
    lw_ref differ = lw_ir_xor(b, lw_ir_compare(b, LW_OP_LT, y, zero),
                              lw_ir_compare(b, LW_OP_LT, mod, zero));
    lw_ref adjust = lw_ir_and(b, nonzero, differ);

    if (rest) {
        lw_ref moved = lw_ir_select(b, adjust, lw_ir_add(b, mod, y), mod);
        *rest = lw_ir_select(b, nonzero, moved, lw_float_call2(b, LW_IN_copysign, zero, y));
    }
    if (quotient) {
        lw_ref whole = lw_ir_div(b, lw_ir_sub(b, x, mod), y),
               true_quotient = lw_ir_div(b, x, y);
        whole = lw_ir_select(b, adjust, lw_ir_sub(b, whole, one), whole);
        lw_ref below = lw_float_call(b, LW_IN_floor, whole);
        lw_ref gap = lw_ir_sub(b, whole, below);
        lw_ref snap = lw_ir_compare(b, LW_OP_GT, gap, number(b, x, 0.5));
        below = lw_ir_select(b, snap, lw_ir_add(b, below, one), below);
        lw_ref signed_zero = lw_float_call2(b, LW_IN_copysign, zero, true_quotient);
        below = lw_ir_select(b, lw_ir_compare(b, LW_OP_NE, whole, zero), below, signed_zero);
        lw_ref by_zero = lw_ir_compare(b, LW_OP_EQ, y, zero);
        *quotient = lw_ir_select(b, by_zero, true_quotient, below);
    }
}

/* floor(x / y) and the remainder, for fast math. */
static void
fast_divmod(lw_builder *b, lw_ref x, lw_ref y, lw_ref *quotient, lw_ref *rest)
{
    lw_ref below = lw_float_call(b, LW_IN_floor, lw_ir_div(b, x, y));

    if (quotient)
        *quotient = below;
    if (rest)
        *rest = lw_ir_sub(b, x, lw_ir_mul(b, below, y));
}

void
lw_float_divmod(lw_builder *b, lw_ref x, lw_ref y, lw_ref *quotient, lw_ref *rest)
{
    assert(lw_holds_float(b, x) && lw_same_type(b, x, y));
    lw_dtype type = lw_ir_type(b, x);
    uint32_t fast = b->fast;

    x = widen(b, x);
    y = widen(b, y);
    if (fast & LW_FAST_AFN) {
        fast_divmod(b, x, y, quotient, rest);
    } else {
        lw_float_exact(b);
        exact_divmod(b, x, y, quotient, rest);
        lw_float_relax(b, fast);
    }
    if (quotient)
        *quotient = lw_ir_cast(b, type, *quotient);
    if (rest)
        *rest = lw_ir_cast(b, type, *rest);
}

/* ---- power ---- */

/* x**0.5. It is not sqrt(x): (-inf)**0.5 is inf and (-0.0)**0.5 is 0.0. */
static lw_ref
power_of_half(lw_builder *b, lw_ref x)
{
    uint32_t fast = lw_float_exact(b);
    lw_ref is_low = lw_ir_compare(b, LW_OP_EQ, x, number(b, x, -INFINITY));
    lw_ref root =
        lw_float_call(b, LW_IN_sqrt, lw_ir_select(b, is_low, number(b, x, INFINITY), x));

    lw_float_relax(b, fast);
    return lw_float_call(b, LW_IN_fabs, root);
}

/* x**n as products, for exponents where that is exact or within an ulp; 0: call pow. */
static lw_ref
power_by_products(lw_builder *b, lw_ref x, double n, bool precise)
{
    lw_ref one = number(b, x, 1), square;

    if (n == 0)
        return one;
    if (n == 1)
        return x;
    if (n == -1)
        return lw_ir_div(b, one, x);
    if (n == 0.5 && (b->fast & LW_FAST_AFN))
        return lw_float_call(b, LW_IN_sqrt, x);
    if (n == 0.5 && !precise)
        return power_of_half(b, x);
    if (n != 2 && (precise || (n != 3 && n != 4)))
        return 0;
    square = lw_ir_mul(b, x, x);
    return n == 2 ? square : lw_ir_mul(b, square, n == 3 ? x : square);
}

static double
constant_value(lw_dtype type, uint64_t bits)
{
    union {
        uint64_t u;
        double d;
    } wide = {.u = bits};
    union {
        uint32_t u;
        float f;
    } narrow = {.u = (uint32_t)bits};

    return type == LW_DT_f64 ? wide.d : (double)narrow.f;
}

lw_ref
lw_float_power(lw_builder *b, lw_ref x, lw_ref y, bool precise)
{
    assert(lw_holds_float(b, x) && lw_same_type(b, x, y));
    lw_dtype type = lw_ir_type(b, x), wide = wide_of(type);
    uint32_t fast = b->fast;
    uint64_t bits;
    lw_ref value = 0;

    b->fast &= ~(uint32_t)LW_MAY_FUSE; /* keeps x**2 - y from being contracted as one expression
                                          of products */
    x = lw_ir_cast(b, wide, x);
    if (lw_ir_is_const(b, y, &bits) && lw_ir_type(b, y) == wide)
        value = power_by_products(b, x, constant_value(wide, bits), precise);
    else if (lw_ir_is_const(b, y, &bits) && type == LW_DT_f16 && bits == 0x4000)
        value = lw_ir_mul(b, x, x);
    if (value == 0)
        value = lw_float_call2(b, LW_IN_pow, x, lw_ir_cast(b, wide, y));
    b->fast = fast;
    return lw_ir_cast(b, type, value);
}

/* ---- simple formulas ---- */

lw_ref
lw_float_sign(lw_builder *b, lw_ref x)
{
    assert(lw_holds_float(b, x));
    lw_ref zero = number(b, x, 0);
    uint32_t fast = lw_float_exact(b);
    lw_ref value = lw_ir_select(b, lw_ir_compare(b, LW_OP_EQ, x, zero), zero, x);

    value = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, x, zero), number(b, x, -1), value);
    value = lw_ir_select(b, lw_ir_compare(b, LW_OP_GT, x, zero), number(b, x, 1), value);
    lw_float_relax(b, fast);
    return value;
}

lw_ref
lw_float_heaviside(lw_builder *b, lw_ref x, lw_ref at_zero)
{
    assert(lw_holds_float(b, x) && lw_same_type(b, x, at_zero));
    lw_ref zero = number(b, x, 0);
    uint32_t fast = lw_float_exact(b);
    /* 0 last: where at_zero is x, a selection between it and 0 would lose the sign of -0 in
     * libNVVM 13.0 */
    lw_ref value = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, x, zero), zero, x);

    value = lw_ir_select(b, lw_ir_compare(b, LW_OP_GT, x, zero), number(b, x, 1), value);
    value = lw_ir_select(b, lw_ir_compare(b, LW_OP_EQ, x, zero), at_zero, value);
    lw_float_relax(b, fast);
    return value;
}

/* max + log(1 + base**(min - max)); equal operands (infinities too) are x + log(2). */
static lw_ref
log_of_sum(lw_builder *b, lw_ref x, lw_ref y, lw_intrinsic exponential, double log_of_two,
           double scale)
{
    lw_dtype type = lw_ir_type(b, x);
    uint32_t fast = lw_float_exact(b);

    x = widen(b, x);
    y = widen(b, y);
    lw_ref gap = lw_ir_sub(b, x, y);
    lw_ref larger = lw_ir_select(b, lw_ir_compare(b, LW_OP_GT, gap, number(b, x, 0)), x, y);
    lw_ref minus = lw_ir_neg(b, lw_float_call(b, LW_IN_fabs, gap));
    lw_ref tail = lw_float_call(b, LW_IN_log1p, lw_float_call(b, exponential, minus));
    if (scale != 1)
        tail = lw_ir_mul(b, number(b, x, scale), tail);
    lw_ref sum = lw_ir_add(b, larger, tail);
    sum = lw_ir_select(b, lw_ir_compare(b, LW_OP_NE, gap, gap), gap, sum);
    lw_ref twice = lw_ir_add(b, x, number(b, x, log_of_two));
    sum = lw_ir_select(b, lw_ir_compare(b, LW_OP_EQ, x, y), twice, sum);
    lw_float_relax(b, fast);
    return lw_ir_cast(b, type, sum);
}

lw_ref
lw_float_logaddexp(lw_builder *b, lw_ref x, lw_ref y)
{
    assert(lw_holds_float(b, x) && lw_same_type(b, x, y));
    return log_of_sum(b, x, y, LW_IN_exp, 0.693147180559945309417232121458176568, 1);
}

lw_ref
lw_float_logaddexp2(lw_builder *b, lw_ref x, lw_ref y)
{
    assert(lw_holds_float(b, x) && lw_same_type(b, x, y));
    return log_of_sum(b, x, y, LW_IN_exp2, 1, 1.442695040888963407359924681001892137);
}

lw_ref
lw_float_scale(lw_builder *b, lw_ref x, double factor)
{
    assert(lw_holds_float(b, x));
    lw_dtype type = lw_ir_type(b, x);
    lw_ref wide = widen(b, x);

    return lw_ir_cast(b, type, lw_ir_mul(b, wide, number(b, wide, factor)));
}

/* As in NumPy, 0 is replaced by a number so small that the quotient rounds to 1. */
lw_ref
lw_float_sinc(lw_builder *b, lw_ref x)
{
    assert(lw_holds_float(b, x));
    lw_dtype type = lw_ir_type(b, x);
    lw_ref wide = widen(b, x), zero = number(b, wide, 0), tiny = number(b, wide, 1e-20);
    lw_ref safe = lw_ir_select(b, lw_ir_compare(b, LW_OP_EQ, wide, zero), tiny, wide);
    lw_ref angle = lw_ir_mul(b, safe, number(b, wide, 3.14159265358979323846));

    return lw_ir_cast(b, type, lw_ir_div(b, lw_float_call(b, LW_IN_sin, angle), angle));
}

lw_ref
lw_float_fma(lw_builder *b, lw_ref x, lw_ref y, lw_ref z)
{
    assert(lw_same_type(b, x, y) && lw_same_type(b, x, z));
    return lw_ir_fma(b, x, y, z); /* of 16-bit floats, too, the emitter rounds once */
}

/* ---- rounding to decimals ---- */

/* 10**|digits| in the type of x: exact up to 10**22 in float64. */
static lw_ref
power_of_ten(lw_builder *b, lw_ref x, lw_ref digits)
{
    lw_dtype type = lw_ir_type(b, x);
    uint64_t bits;

    if (lw_ir_is_const(b, digits, &bits))
        return lw_ir_float(b, type, pow(10, fabs((double)(int64_t)bits)));
    lw_ref count = lw_ir_cast(b, LW_DT_f64, lw_int_abs(b, digits));
    lw_ref ten = lw_ir_float(b, LW_DT_f64, 10);
    return lw_ir_cast(b, type, lw_float_call2(b, LW_IN_pow, ten, count));
}

/* np.round: scale, round half to even, scale back. If scaling overflows, x has no digits at
 * that position. */
lw_ref
lw_float_round(lw_builder *b, lw_ref x, lw_ref digits)
{
    assert(lw_holds_float(b, x));
    uint64_t bits = 1;
    bool constant = lw_ir_is_const(b, digits, &bits);

    if (constant && bits == 0)
        return lw_float_call(b, LW_IN_rint, x);
    uint32_t fast = lw_float_exact(b);
    lw_ref unit = power_of_ten(b, x, digits), up = 0, down = 0, value;
    if (!constant || (int64_t)bits > 0) {
        lw_ref scaled = lw_ir_mul(b, x, unit);
        up = lw_ir_div(b, lw_float_call(b, LW_IN_rint, scaled), unit);
        up = lw_ir_select(b, lw_float_isfinite(b, scaled), up, x);
    }
    if (!constant || (int64_t)bits < 0)
        down = lw_ir_mul(b, lw_float_call(b, LW_IN_rint, lw_ir_div(b, x, unit)), unit);
    if (up && down)
        value = lw_ir_select(b, lw_ir_compare(b, LW_OP_GE, digits, lw_ir_zero(b, LW_DT_i64)),
                             up, down);
    else
        value = up ? up : down;
    lw_float_relax(b, fast);
    return value;
}

/* ---- bits ---- */

typedef struct bits_of {
    lw_dtype type; /* unsigned, as wide as the float */
    lw_ref magnitude;
    uint64_t infinity;
} bits_of;

static bits_of
take_bits(lw_builder *b, lw_ref x)
{
    lw_dtype type = lw_ir_type(b, x);
    bits_of bits = {.type = lw_unsigned_of(type)};
    uint64_t sign = UINT64_C(1) << (lw_dtypes[type].bits - 1);
    lw_ref raw = lw_ir_bitcast(b, bits.type, x);

    bits.magnitude = lw_ir_and(b, raw, lw_ir_int(b, bits.type, (int64_t)(sign - 1)));
    bits.infinity = type == LW_DT_f16   ? 0x7c00
                    : type == LW_DT_f64 ? UINT64_C(0x7ff0000000000000)
                    : type == LW_DT_f32 ? 0x7f800000
                                        : 0x7f80;
    return bits;
}

static lw_ref
against_infinity(lw_builder *b, lw_ref x, lw_op op)
{
    bits_of bits = take_bits(b, x);

    return lw_ir_compare(b, op, bits.magnitude,
                         lw_ir_int(b, bits.type, (int64_t)bits.infinity));
}

lw_ref
lw_float_isnan(lw_builder *b, lw_ref x)
{
    assert(lw_holds_float(b, x));
    return against_infinity(b, x, LW_OP_GT);
}

lw_ref
lw_float_isinf(lw_builder *b, lw_ref x)
{
    assert(lw_holds_float(b, x));
    return against_infinity(b, x, LW_OP_EQ);
}

lw_ref
lw_float_isfinite(lw_builder *b, lw_ref x)
{
    assert(lw_holds_float(b, x));
    return against_infinity(b, x, LW_OP_LT);
}

lw_ref
lw_float_signbit(lw_builder *b, lw_ref x)
{
    assert(lw_holds_float(b, x));
    lw_dtype type = lw_signed_of(lw_ir_type(b, x));

    return lw_ir_compare(b, LW_OP_LT, lw_ir_bitcast(b, type, x), lw_ir_zero(b, type));
}

/* For two that are equal, which only zeros can be without being the same, it is y, as in C;
 * NumPy does so for float16, too, from 2.5 on. */
lw_ref
lw_float_nextafter(lw_builder *b, lw_ref x, lw_ref y)
{
    assert(lw_holds_float(b, x) && lw_same_type(b, x, y));
    uint32_t fast = lw_float_exact(b);
    lw_ref value = lw_float_call2(b, LW_IN_nextafter, x, y);

    lw_float_relax(b, fast);
    return value;
}

static lw_ref
step_outwards(lw_builder *b, lw_ref x, bool keep_sign)
{
    lw_dtype type = lw_ir_type(b, x), ints = lw_unsigned_of(type);
    lw_ref raw = lw_ir_bitcast(b, ints, x);

    if (!keep_sign)
        raw = take_bits(b, x).magnitude;
    return lw_ir_bitcast(b, type, lw_ir_add(b, raw, lw_ir_int(b, ints, 1)));
}

/* The step to the next number away from zero. NumPy's float16 has code of its own, which takes
 * the next number upwards. Infinities give NaN; 0 gives the smallest positive number. */
lw_ref
lw_float_spacing(lw_builder *b, lw_ref x)
{
    assert(lw_holds_float(b, x));
    lw_dtype type = lw_ir_type(b, x);
    uint32_t fast = lw_float_exact(b);
    lw_ref next, value, zero = number(b, x, 0);

    if (type == LW_DT_f16)
        next = lw_float_call2(b, LW_IN_nextafter, x, number(b, x, INFINITY));
    else
        next = step_outwards(b, x, true);
    value = lw_ir_sub(b, next, x);
    value = lw_ir_select(b, lw_ir_compare(b, LW_OP_EQ, x, zero), lw_ir_bits(b, type, 1), value);
    lw_ref nan = lw_ir_select(b, lw_float_isinf(b, x), number(b, x, NAN), x);
    value = lw_ir_select(b, lw_float_isfinite(b, x), value, nan);
    lw_float_relax(b, fast);
    return value;
}

/* The largest number has no successor; its result is the step below it. */
lw_ref
lw_float_ulp(lw_builder *b, lw_ref x)
{
    assert(lw_holds_float(b, x));
    lw_dtype type = lw_ir_type(b, x), ints = lw_unsigned_of(type);
    uint32_t fast = lw_float_exact(b);
    lw_ref size = lw_float_call(b, LW_IN_fabs, x), up = step_outwards(b, x, false);
    lw_ref raw = lw_ir_sub(b, take_bits(b, x).magnitude, lw_ir_int(b, ints, 1));
    lw_ref below = lw_ir_sub(b, size, lw_ir_bitcast(b, type, raw));
    lw_ref value = lw_ir_select(b, lw_float_isfinite(b, up), lw_ir_sub(b, up, size), below);

    value = lw_ir_select(b, lw_float_isfinite(b, x), value, size);
    lw_float_relax(b, fast);
    return value;
}

lw_ref
lw_float_ldexp(lw_builder *b, lw_ref x, lw_ref exponent)
{
    assert(lw_holds_float(b, x) && lw_holds_integer(b, exponent));
    lw_dtype type = lw_ir_type(b, x), given = lw_ir_type(b, exponent);

    if (lw_dtypes[given].bits == 64 || given == LW_DT_u32) { /* beyond ±32767: 0 or inf */
        lw_ref low = lw_ir_int(b, LW_DT_i64, -32767), high = lw_ir_int(b, given, 32767);
        lw_ref above = lw_int_compare(b, LW_OP_GT, exponent, high);
        exponent = lw_ir_select(b, above, high, exponent);
        lw_ref below = lw_int_compare(b, LW_OP_LT, exponent, low);
        exponent = lw_ir_select(b, below, low, lw_ir_cast(b, LW_DT_i64, exponent));
    }
    lw_ref args[2] = {x, lw_ir_cast(b, LW_DT_i32, exponent)};
    return lw_ir_intrinsic(b, LW_IN_ldexp, type, args, 2);
}

void
lw_float_frexp(lw_builder *b, lw_ref x, lw_ref *mantissa, lw_ref *exponent)
{
    assert(lw_holds_float(b, x));
    *mantissa = lw_float_call(b, LW_IN_frexp_mantissa, x);
    *exponent = lw_float_call(b, LW_IN_frexp_exponent, x);
}

/* Both parts have the sign of x; the fraction of an infinity is 0. */
void
lw_float_modf(lw_builder *b, lw_ref x, lw_ref *fraction, lw_ref *whole)
{
    assert(lw_holds_float(b, x));
    uint32_t fast = lw_float_exact(b);
    lw_ref zero = number(b, x, 0), rest;

    *whole = lw_float_call(b, LW_IN_trunc, x);
    rest = lw_ir_select(b, lw_float_isinf(b, x), zero, lw_ir_sub(b, x, *whole));
    *fraction = lw_float_call2(b, LW_IN_copysign, rest, x);
    lw_float_relax(b, fast);
}

lw_ref
lw_float_isclose(lw_builder *b, lw_ref x, lw_ref y, lw_ref relative, lw_ref absolute)
{
    assert(lw_same_type(b, x, y) && lw_same_type(b, x, relative));
    uint32_t fast = lw_float_exact(b);
    lw_ref gap = lw_float_call(b, LW_IN_fabs, lw_ir_sub(b, x, y));
    lw_ref size_x = lw_float_call(b, LW_IN_fabs, lw_ir_mul(b, relative, x));
    lw_ref size_y = lw_float_call(b, LW_IN_fabs, lw_ir_mul(b, relative, y));
    lw_ref near = lw_ir_or(b, lw_ir_compare(b, LW_OP_LE, gap, size_x),
                           lw_ir_compare(b, LW_OP_LE, gap, size_y));

    near = lw_ir_or(b, near, lw_ir_compare(b, LW_OP_LE, gap, absolute));
    near = lw_ir_and(
        b, near,
        lw_ir_and(b, lw_ir_not(b, lw_float_isinf(b, x)), lw_ir_not(b, lw_float_isinf(b, y))));
    near = lw_ir_or(b, near, lw_ir_compare(b, LW_OP_EQ, x, y));
    lw_float_relax(b, fast);
    return near;
}
