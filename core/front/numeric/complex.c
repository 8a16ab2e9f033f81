/* Complex arithmetic as NumPy's loops compute it (numpy/_core/src/umath/loops.c.src and
 * npymath/npy_math_complex.c.src), without branches. The formulas of the elementary functions
 * are in complex_functions.c. */
#include "core/front/numeric/complex_internal.h"

#include "core/front/numeric/floats.h"
#include "core/front/numeric/integers.h"
#include "core/front/numeric/numeric_internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static lw_dtype
type_of(const lw_builder *b, lw_complex x)
{
    return lw_ir_type(b, x.re);
}

static lw_ref
real(lw_builder *b, lw_complex like, double value)
{
    return lw_ir_float(b, type_of(b, like), value);
}

static lw_ref
absolute(lw_builder *b, lw_ref x)
{
    return lw_float_call(b, LW_IN_fabs, x);
}

/* ---- arithmetic ---- */

lw_complex
lw_complex_add(lw_builder *b, lw_complex x, lw_complex y)
{
    assert(lw_same_type(b, x.re, x.im) && lw_same_type(b, x.re, y.re));
    return (lw_complex){lw_ir_add(b, x.re, y.re), lw_ir_add(b, x.im, y.im)};
}

lw_complex
lw_complex_sub(lw_builder *b, lw_complex x, lw_complex y)
{
    assert(lw_same_type(b, x.re, x.im) && lw_same_type(b, x.re, y.re));
    return (lw_complex){lw_ir_sub(b, x.re, y.re), lw_ir_sub(b, x.im, y.im)};
}

lw_complex
lw_complex_mul(lw_builder *b, lw_complex x, lw_complex y)
{
    assert(lw_same_type(b, x.re, x.im) && lw_same_type(b, x.re, y.re));
    lw_ref re = lw_ir_sub(b, lw_ir_mul(b, x.re, y.re), lw_ir_mul(b, x.im, y.im));
    lw_ref im = lw_ir_add(b, lw_ir_mul(b, x.re, y.im), lw_ir_mul(b, x.im, y.re));

    return (lw_complex){re, im};
}

/* Division under fast math, which does not guard against overflow of |y|**2. */
static lw_complex
quick_div(lw_builder *b, lw_complex x, lw_complex y)
{
    lw_ref size = lw_ir_add(b, lw_ir_mul(b, y.re, y.re), lw_ir_mul(b, y.im, y.im));
    lw_ref scale = lw_ir_div(b, real(b, x, 1), size);
    lw_complex product = lw_complex_mul(b, x, lw_complex_conjugate(b, y));

    return (lw_complex){lw_ir_mul(b, product.re, scale), lw_ir_mul(b, product.im, scale)};
}

/* R. L. Smith, "Algorithm 116: Complex division", CACM 5 (1962): divide by the larger part. */
static lw_complex
smith_div(lw_builder *b, lw_complex x, lw_complex y)
{
    lw_ref size_re = absolute(b, y.re), size_im = absolute(b, y.im), zero = real(b, x, 0);
    lw_ref by_re = lw_ir_compare(b, LW_OP_GE, size_re, size_im);
    lw_ref large = lw_ir_select(b, by_re, y.re, y.im),
           small = lw_ir_select(b, by_re, y.im, y.re);
    lw_ref ratio = lw_ir_div(b, small, large);
    lw_ref sum = lw_ir_add(b, large, lw_ir_mul(b, small, ratio));
    lw_ref scale = lw_ir_div(b, real(b, x, 1), sum);
    lw_ref re_ratio = lw_ir_mul(b, x.re, ratio), im_ratio = lw_ir_mul(b, x.im, ratio);
    lw_complex first = {lw_ir_add(b, x.re, im_ratio), lw_ir_sub(b, x.im, re_ratio)};
    lw_complex second = {lw_ir_add(b, re_ratio, x.im), lw_ir_sub(b, im_ratio, x.re)};
    lw_complex top = lw_complex_select(b, by_re, first, second);
    lw_complex value = {lw_ir_mul(b, top.re, scale), lw_ir_mul(b, top.im, scale)};
    lw_ref by_zero = lw_ir_and(b, lw_ir_compare(b, LW_OP_EQ, size_re, zero),
                               lw_ir_compare(b, LW_OP_EQ, size_im, zero));
    lw_complex pole = {lw_ir_div(b, x.re, size_re), lw_ir_div(b, x.im, size_re)};

    return lw_complex_select(b, by_zero, pole, value);
}

lw_complex
lw_complex_div(lw_builder *b, lw_complex x, lw_complex y)
{
    assert(lw_same_type(b, x.re, x.im) && lw_same_type(b, x.re, y.re));
    if (b->fast & LW_FAST_AFN)
        return quick_div(b, x, y);
    uint32_t fast = lw_float_exact(b);
    lw_complex value = smith_div(b, x, y);
    lw_float_relax(b, fast);
    return value;
}

lw_complex
lw_complex_neg(lw_builder *b, lw_complex x)
{
    return (lw_complex){lw_ir_neg(b, x.re), lw_ir_neg(b, x.im)};
}

lw_complex
lw_complex_conjugate(lw_builder *b, lw_complex x)
{
    return (lw_complex){x.re, lw_ir_neg(b, x.im)};
}

lw_complex
lw_complex_select(lw_builder *b, lw_ref condition, lw_complex yes, lw_complex no)
{
    assert(lw_same_type(b, yes.re, no.re) && lw_same_type(b, yes.im, no.im));
    return (lw_complex){lw_ir_select(b, condition, yes.re, no.re),
                        lw_ir_select(b, condition, yes.im, no.im)};
}

static lw_complex
cast_complex(lw_builder *b, lw_dtype part, lw_complex x)
{
    return (lw_complex){lw_ir_cast(b, part, x.re), lw_ir_cast(b, part, x.im)};
}

/* ---- tests and order ---- */

lw_ref
lw_complex_isnan(lw_builder *b, lw_complex x)
{
    return lw_ir_or(b, lw_float_isnan(b, x.re), lw_float_isnan(b, x.im));
}

lw_ref
lw_complex_isinf(lw_builder *b, lw_complex x)
{
    return lw_ir_or(b, lw_float_isinf(b, x.re), lw_float_isinf(b, x.im));
}

lw_ref
lw_complex_isfinite(lw_builder *b, lw_complex x)
{
    return lw_ir_and(b, lw_float_isfinite(b, x.re), lw_float_isfinite(b, x.im));
}

lw_ref
lw_complex_truth(lw_builder *b, lw_complex x)
{
    return lw_ir_or(b, lw_ir_cast(b, LW_DT_b1, x.re), lw_ir_cast(b, LW_DT_b1, x.im));
}

/* LT and LE give LT, GT and GE give GT. */
static lw_op
strict(lw_op op)
{
    return op == LW_OP_LT || op == LW_OP_LE ? LW_OP_LT : LW_OP_GT;
}

lw_ref
lw_complex_compare(lw_builder *b, lw_op op, lw_complex x, lw_complex y)
{
    assert(lw_same_type(b, x.re, x.im) && lw_same_type(b, x.re, y.re));
    lw_ref im = lw_ir_compare(b, op, x.im, y.im);

    if (op == LW_OP_EQ)
        return lw_ir_and(b, lw_ir_compare(b, op, x.re, y.re), im);
    if (op == LW_OP_NE)
        return lw_ir_or(b, lw_ir_compare(b, op, x.re, y.re), im);
    lw_ref no_nan = lw_ir_not(b, lw_ir_or(b, lw_float_isnan(b, x.im), lw_float_isnan(b, y.im)));
    lw_ref decided = lw_ir_and(b, lw_ir_compare(b, strict(op), x.re, y.re), no_nan);
    lw_ref tie = lw_ir_and(b, lw_ir_compare(b, LW_OP_EQ, x.re, y.re), im);
    return lw_ir_or(b, decided, tie);
}

lw_complex
lw_complex_extremum(lw_builder *b, lw_op op, bool pass_nan, lw_complex x, lw_complex y)
{
    assert(lw_same_type(b, x.re, x.im) && lw_same_type(b, x.re, y.re));
    lw_ref nan = lw_complex_isnan(b, pass_nan ? x : y);
    lw_ref first = lw_ir_or(b, nan, lw_complex_compare(b, op, x, y));

    return lw_complex_select(b, first, x, y);
}

lw_ref
lw_complex_isclose(lw_builder *b, lw_complex x, lw_complex y, lw_ref relative, lw_ref tolerance)
{
    uint32_t fast = lw_float_exact(b);
    lw_ref gap = lw_complex_abs(b, lw_complex_sub(b, x, y));
    lw_ref size_x = lw_ir_mul(b, relative, lw_complex_abs(b, x));
    lw_ref size_y = lw_ir_mul(b, relative, lw_complex_abs(b, y));
    lw_ref near = lw_ir_or(b, lw_ir_compare(b, LW_OP_LE, gap, size_x),
                           lw_ir_compare(b, LW_OP_LE, gap, size_y));

    near = lw_ir_or(b, near, lw_ir_compare(b, LW_OP_LE, gap, tolerance));
    lw_ref infinite = lw_ir_or(b, lw_complex_isinf(b, x), lw_complex_isinf(b, y));
    near = lw_ir_and(b, near, lw_ir_not(b, infinite));
    near = lw_ir_or(b, near, lw_complex_compare(b, LW_OP_EQ, x, y));
    lw_float_relax(b, fast);
    return near;
}

/* ---- size, angle, small functions ---- */

lw_ref
lw_complex_abs(lw_builder *b, lw_complex x)
{
    return lw_float_call2(b, LW_IN_hypot, x.re, x.im);
}

lw_ref
lw_complex_angle(lw_builder *b, lw_complex x)
{
    return lw_float_call2(b, LW_IN_atan2, x.im, x.re);
}

lw_complex
lw_complex_rint(lw_builder *b, lw_complex x)
{
    return (lw_complex){lw_float_call(b, LW_IN_rint, x.re), lw_float_call(b, LW_IN_rint, x.im)};
}

/* rect(r, angle): an angle of 0 stays 0, whatever the radius is; where the angle has no
 * direction (inf, NaN), the result is known only for a radius of 0 and as an infinite size. */
lw_complex
lw_complex_rect(lw_builder *b, lw_ref radius, lw_ref angle)
{
    assert(lw_same_type(b, radius, angle));
    lw_complex at = {radius, angle};
    lw_ref flat = lw_ir_compare(b, LW_OP_EQ, angle, real(b, at, 0));
    lw_ref re = lw_ir_mul(b, radius, lw_float_call(b, LW_IN_cos, angle));
    lw_ref im = lw_ir_mul(b, radius, lw_float_call(b, LW_IN_sin, angle));
    lw_ref none = real(b, at, 0), nan = real(b, at, NAN);
    lw_ref side = lw_float_call2(b, LW_IN_copysign, real(b, at, 1), radius);
    lw_ref still = lw_ir_select(b, lw_float_isnan(b, radius), none, lw_ir_mul(b, angle, side));
    lw_ref is_point = lw_ir_compare(b, LW_OP_EQ, radius, none);
    lw_ref size = lw_ir_select(b, lw_float_isinf(b, radius), absolute(b, radius), nan);
    lw_ref finite = lw_float_isfinite(b, angle);

    re = lw_ir_select(b, finite, re, lw_ir_select(b, is_point, none, size));
    im = lw_ir_select(b, finite, im, lw_ir_select(b, is_point, none, nan));
    return (lw_complex){re, lw_ir_select(b, flat, still, im)};
}

lw_complex
lw_complex_reciprocal(lw_builder *b, lw_complex x)
{
    uint32_t fast = lw_float_exact(b);
    lw_ref one = real(b, x, 1);
    lw_ref by_re = lw_ir_compare(b, LW_OP_LE, absolute(b, x.im), absolute(b, x.re));
    lw_ref large = lw_ir_select(b, by_re, x.re, x.im),
           small = lw_ir_select(b, by_re, x.im, x.re);
    lw_ref ratio = lw_ir_div(b, small, large);
    lw_ref sum = lw_ir_add(b, large, lw_ir_mul(b, small, ratio));
    lw_ref plain = lw_ir_div(b, one, sum), scaled = lw_ir_div(b, ratio, sum);
    lw_complex value = {lw_ir_select(b, by_re, plain, scaled),
                        lw_ir_neg(b, lw_ir_select(b, by_re, scaled, plain))};

    lw_float_relax(b, fast);
    return value;
}

/* As NumPy's sign where |x| is infinite: the direction of the real part if that is infinite,
 * else of the imaginary part; NaN if both are infinite, or one is NaN. */
lw_complex
lw_complex_sign(lw_builder *b, lw_complex x)
{
    uint32_t fast = lw_float_exact(b);
    lw_ref zero = real(b, x, 0), one = real(b, x, 1), nan = real(b, x, NAN);
    lw_ref size = lw_complex_abs(b, x);
    lw_ref inf_re = lw_float_isinf(b, x.re), inf_im = lw_float_isinf(b, x.im);
    lw_complex value = {lw_ir_div(b, x.re, size), lw_ir_div(b, x.im, size)};
    lw_complex far = {
        lw_ir_select(b, inf_re, lw_float_call2(b, LW_IN_copysign, one, x.re), zero),
        lw_ir_select(b, inf_re, zero, lw_float_call2(b, LW_IN_copysign, one, x.im))};
    lw_complex neither = {nan, nan}, none = {zero, zero};
    lw_ref wrong = lw_ir_or(b, lw_ir_and(b, inf_re, inf_im), lw_float_isnan(b, size));

    value = lw_complex_select(b, lw_float_isinf(b, size), far, value);
    value = lw_complex_select(b, wrong, neither, value);
    value = lw_complex_select(b, lw_ir_compare(b, LW_OP_EQ, size, zero), none, value);
    lw_float_relax(b, fast);
    return value;
}

lw_complex
lw_complex_sinc(lw_builder *b, lw_complex x)
{
    lw_ref zero = real(b, x, 0), origin = lw_ir_not(b, lw_complex_truth(b, x));
    lw_complex tiny = {real(b, x, 1e-20), zero},
               pi = {real(b, x, 3.14159265358979323846), zero};
    lw_complex angle = lw_complex_mul(b, pi, lw_complex_select(b, origin, tiny, x));

    return lw_complex_div(b, lw_complex_call(b, LW_COMPLEX_SIN, angle), angle);
}

/* ---- functions as helpers ---- */

static const char *const stems[LW_N_COMPLEX_FUNCTIONS] = {
    [LW_COMPLEX_SQRT] = "lw_complex_sqrt",   [LW_COMPLEX_EXP] = "lw_complex_exp",
    [LW_COMPLEX_EXP2] = "lw_complex_exp2",   [LW_COMPLEX_EXPM1] = "lw_complex_expm1",
    [LW_COMPLEX_LOG] = "lw_complex_log",     [LW_COMPLEX_LOG2] = "lw_complex_log2",
    [LW_COMPLEX_LOG10] = "lw_complex_log10", [LW_COMPLEX_LOG1P] = "lw_complex_log1p",
    [LW_COMPLEX_SIN] = "lw_complex_sin",     [LW_COMPLEX_COS] = "lw_complex_cos",
    [LW_COMPLEX_TAN] = "lw_complex_tan",     [LW_COMPLEX_SINH] = "lw_complex_sinh",
    [LW_COMPLEX_COSH] = "lw_complex_cosh",   [LW_COMPLEX_TANH] = "lw_complex_tanh",
    [LW_COMPLEX_ASIN] = "lw_complex_asin",   [LW_COMPLEX_ACOS] = "lw_complex_acos",
    [LW_COMPLEX_ATAN] = "lw_complex_atan",   [LW_COMPLEX_ASINH] = "lw_complex_asinh",
    [LW_COMPLEX_ACOSH] = "lw_complex_acosh", [LW_COMPLEX_ATANH] = "lw_complex_atanh",
};

static lw_complex
call_parts(lw_builder *b, uint32_t helper, const lw_ref *args, uint32_t n)
{
    lw_ref call = lw_ir_call(b, helper, args, n);

    return (lw_complex){lw_ir_result(b, call, 0), lw_ir_result(b, call, 1)};
}

static void
return_parts(lw_builder *b, lw_complex value)
{
    lw_ref parts[2] = {value.re, value.im};

    lw_ir_return(b, parts, 2);
}

lw_complex
lw_complex_call(lw_builder *b, lw_complex_function which, lw_complex x)
{
    lw_dtype type = type_of(b, x);
    lw_builder h;
    uint32_t helper;

    if (lw_helper_begin(&h, b->module, stems[which], LW_DT_f64, &helper)) {
        lw_complex z;
        z.re = lw_ir_param_add(&h, LW_DT_f64, 0, "re");
        z.im = lw_ir_param_add(&h, LW_DT_f64, 0, "im");
        lw_ir_result_add(&h, LW_DT_f64);
        lw_ir_result_add(&h, LW_DT_f64);
        return_parts(&h, lw_complex_formula(&h, which, z));
        lw_helper_end(&h);
    }
    x = cast_complex(b, LW_DT_f64, x);
    lw_ref args[2] = {x.re, x.im};
    return cast_complex(b, type, call_parts(b, helper, args, 2));
}

/* ---- power ---- */

/* The product tree of npy_cpow, for n in 1 … 99. */
static lw_complex
power_unrolled(lw_builder *b, lw_complex x, unsigned n)
{
    lw_complex result = {0, 0}, square = x;

    if (n == 3)
        return lw_complex_mul(b, x, lw_complex_mul(b, x, x));
    for (; n; n >>= 1) {
        if (n & 1)
            result = result.re ? lw_complex_mul(b, result, square) : square;
        if (n > 1)
            square = lw_complex_mul(b, square, square);
    }
    return result;
}

/* Whether y is a constant integer or half-integer in -99 … 99 without imaginary part. Writes 2
 * y. */
static bool
constant_exponent(const lw_builder *b, lw_complex y, int *doubled)
{
    uint64_t re, im, sign = UINT64_C(1) << (lw_dtypes[type_of(b, y)].bits - 1);
    union {
        uint64_t u;
        double d;
    } wide;
    union {
        uint32_t u;
        float f;
    } narrow;

    if (!lw_ir_is_const(b, y.re, &re) || !lw_ir_is_const(b, y.im, &im) || (im & ~sign) != 0)
        return false;
    wide.u = re;
    narrow.u = (uint32_t)re;
    double value = type_of(b, y) == LW_DT_f64 ? wide.d : (double)narrow.f;
    if (!(fabs(value) < 100) || 2 * value != floor(2 * value))
        return false;
    *doubled = (int)(2 * value);
    return true;
}

/* 1 / power, for a power of x whose exponent is positive. It is zero if x is infinite; the
 * division, or a product that led to the power, may give NaN there. */
static lw_complex
inverse_power(lw_builder *b, lw_complex x, lw_complex power)
{
    lw_complex one = {real(b, x, 1), real(b, x, 0)}, none = {one.im, one.im};
    lw_ref most = real(b, x, INFINITY);
    lw_ref re_is = lw_ir_compare(b, LW_OP_EQ, absolute(b, x.re), most);
    lw_ref im_is = lw_ir_compare(b, LW_OP_EQ, absolute(b, x.im), most);

    return lw_complex_select(b, lw_ir_or(b, re_is, im_is), none, lw_complex_div(b, one, power));
}

/* x**(doubled / 2). A half-integer power is that of the integer below, times the square root:
 * this is exact to about an ulp, where exp(y log x) is wrong by |y log x| of them. */
static lw_complex
power_constant(lw_builder *b, lw_complex x, int doubled)
{
    lw_complex one = {real(b, x, 1), real(b, x, 0)}, nan = {real(b, x, NAN), real(b, x, NAN)};
    unsigned size = (unsigned)abs(doubled);

    if (doubled == 0)
        return one;
    lw_complex value = size > 1 ? power_unrolled(b, x, size / 2) : one;
    if (size % 2) {
        lw_complex root = lw_complex_call(b, LW_COMPLEX_SQRT, x);
        value = size > 1 ? lw_complex_mul(b, value, root) : root;
    }
    if (doubled > 0)
        return value;
    value = size % 2 ? inverse_power(b, x, value) : lw_complex_div(b, one, value);
    return lw_complex_select(b, lw_complex_truth(b, x), value, nan);
}

/* x**n for an integer 0 <= n < 100 that is known only at run time, multiplied in the order of
 * npy_cpow. */
static lw_complex
power_loop(lw_builder *b, lw_complex x, lw_ref n)
{
    lw_dtype type = type_of(b, x);
    lw_ref one = lw_ir_int(b, LW_DT_i64, 1), zero = lw_ir_zero(b, LW_DT_i64);
    lw_ref slots[4], left = lw_ir_slot(b, LW_DT_i64);
    lw_ref start[4] = {real(b, x, 1), real(b, x, 0), x.re, x.im};

    for (int i = 0; i < 4; i++) {
        slots[i] = lw_ir_slot(b, type);
        lw_ir_set(b, slots[i], start[i]);
    }
    lw_ir_set(b, left, n);
    lw_ir_loop(b, LW_LOOP_NO_VECTORIZE);
    lw_ref bits = lw_ir_get(b, left);
    lw_complex result = {lw_ir_get(b, slots[0]), lw_ir_get(b, slots[1])};
    lw_complex square = {lw_ir_get(b, slots[2]), lw_ir_get(b, slots[3])};
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LE, bits, zero));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    lw_ref odd = lw_ir_compare(b, LW_OP_NE, lw_ir_and(b, bits, one), zero);
    result = lw_complex_select(b, odd, lw_complex_mul(b, result, square), result);
    square = lw_complex_mul(b, square, square);
    lw_ref next[4] = {result.re, result.im, square.re, square.im};
    for (int i = 0; i < 4; i++)
        lw_ir_set(b, slots[i], next[i]);
    lw_ir_set(b, left, lw_ir_shr(b, bits, one));
    lw_ir_latch(b);
    lw_ir_end(b);
    return (lw_complex){lw_ir_get(b, slots[0]), lw_ir_get(b, slots[1])};
}

/* x, x * x or x * (x * x) where y is 1, 2 or 3: without the factor 1 that power_loop begins
 * with, which makes NaN of infinity times its imaginary 0. */
static void
return_short_powers(lw_builder *b, lw_complex x, lw_ref whole, lw_ref exponent)
{
    for (int n = 1; n <= 3; n++) {
        lw_ref is_n = lw_ir_compare(b, LW_OP_EQ, exponent, real(b, x, n));
        lw_ir_if(b, lw_ir_and(b, whole, is_n));
        lw_complex power = n == 1 ? x : lw_complex_mul(b, x, x);
        return_parts(b, n == 3 ? lw_complex_mul(b, x, power) : power);
        lw_ir_end(b);
    }
}

/* Returns x**y where y is a half-integer between -100 and 100, as power_constant does. */
static void
return_half_power(lw_builder *b, lw_complex x, lw_complex y, lw_ref is_real)
{
    lw_ref size = absolute(b, y.re), below = lw_float_call(b, LW_IN_floor, size);
    lw_ref is_half = lw_ir_compare(b, LW_OP_EQ, lw_ir_sub(b, size, below), real(b, x, 0.5));
    lw_ref is_short = lw_ir_compare(b, LW_OP_LT, size, real(b, x, 100));

    lw_ir_if(b, lw_ir_and(b, is_real, lw_ir_and(b, is_half, is_short)));
    lw_complex root = lw_complex_call(b, LW_COMPLEX_SQRT, x);
    lw_complex power = power_loop(b, x, lw_ir_cast(b, LW_DT_i64, below));
    lw_ref is_root = lw_ir_compare(b, LW_OP_EQ, below, real(b, x, 0));
    power = lw_complex_select(b, is_root, root, lw_complex_mul(b, power, root));
    lw_ref negative = lw_ir_compare(b, LW_OP_LT, y.re, real(b, x, 0));
    return_parts(b, lw_complex_select(b, negative, inverse_power(b, x, power), power));
    lw_ir_end(b);
}

/* Returns x**y for a finite real y and an x, both in float64, whose absolute value is in the
 * range of normal numbers: pow(|x|, y), turned by y times the angle. */
static void
return_turned_power(lw_builder *b, lw_complex x, lw_complex y, lw_dtype type)
{
    lw_ref size = lw_float_call2(b, LW_IN_hypot, x.re, x.im);
    lw_ref fits =
        lw_ir_and(b, lw_ir_compare(b, LW_OP_GE, size, lw_ir_float(b, LW_DT_f64, DBL_MIN)),
                  lw_ir_compare(b, LW_OP_LE, size, lw_ir_float(b, LW_DT_f64, DBL_MAX)));
    lw_ref is_real = lw_ir_compare(b, LW_OP_EQ, y.im, lw_ir_float(b, LW_DT_f64, 0));

    fits = lw_ir_and(
        b, fits,
        lw_ir_compare(b, LW_OP_LE, absolute(b, y.re), lw_ir_float(b, LW_DT_f64, DBL_MAX)));
    lw_ir_if(b, lw_ir_and(b, is_real, fits));
    lw_ref power = lw_float_call2(b, LW_IN_pow, size, y.re);
    lw_ref angle = lw_ir_mul(b, y.re, lw_float_call2(b, LW_IN_atan2, x.im, x.re));
    lw_complex value = {lw_ir_mul(b, power, lw_float_call(b, LW_IN_cos, angle)),
                        lw_ir_mul(b, power, lw_float_call(b, LW_IN_sin, angle))};
    return_parts(b, cast_complex(b, type, value));
    lw_ir_end(b);
}

/* The cases of npy_cpow, each in a region of its own: 0 to a power, integer exponents, exp(y
 * log x); and two cases that it leaves to the last of these, half-integer and real exponents.
 */
static void
emit_power(lw_builder *b, lw_complex x, lw_complex y)
{
    lw_ref zero = real(b, x, 0), hundred = real(b, x, 100);
    lw_complex one = {real(b, x, 1), zero}, nan = {real(b, x, NAN), real(b, x, NAN)};

    lw_ir_if(b, lw_ir_not(b, lw_complex_truth(b, y)));
    return_parts(b, one);
    lw_ir_end(b);
    lw_ir_if(b, lw_ir_not(b, lw_complex_truth(b, x)));
    lw_complex none = {zero, zero};
    lw_ref vanishes = lw_ir_compare(b, LW_OP_GT, y.re, zero);
    return_parts(b, lw_complex_select(b, vanishes, none, nan));
    lw_ir_end(b);
    lw_ref size = absolute(b, y.re), is_real = lw_ir_compare(b, LW_OP_EQ, y.im, zero);
    lw_ref whole = lw_ir_compare(b, LW_OP_EQ, y.re, lw_float_call(b, LW_IN_floor, y.re));
    whole = lw_ir_and(b, whole, is_real);
    return_short_powers(b, x, whole, y.re);
    lw_ir_if(b, lw_ir_and(b, whole, lw_ir_compare(b, LW_OP_LT, size, hundred)));
    lw_complex power = power_loop(b, x, lw_ir_cast(b, LW_DT_i64, size));
    lw_ref negative = lw_ir_compare(b, LW_OP_LT, y.re, zero);
    return_parts(b, lw_complex_select(b, negative, lw_complex_div(b, one, power), power));
    lw_ir_end(b);
    return_half_power(b, x, y, is_real);
    lw_dtype type = type_of(b, x);
    x = cast_complex(b, LW_DT_f64, x);
    y = cast_complex(b, LW_DT_f64, y);
    return_turned_power(b, x, y, type);
    lw_complex exponent = lw_complex_mul(b, y, lw_complex_call(b, LW_COMPLEX_LOG, x));
    return_parts(b, cast_complex(b, type, lw_complex_call(b, LW_COMPLEX_EXP, exponent)));
}

lw_complex
lw_complex_power(lw_builder *b, lw_complex x, lw_complex y)
{
    assert(lw_same_type(b, x.re, x.im) && lw_same_type(b, x.re, y.re));
    lw_dtype type = type_of(b, x);
    lw_builder h;
    uint32_t helper;
    int n;

    if (constant_exponent(b, y, &n))
        return power_constant(b, x, n);
    if (lw_helper_begin(&h, b->module, "lw_complex_power", type, &helper)) {
        static const char *const names[4] = {"x_re", "x_im", "y_re", "y_im"};
        lw_ref p[4];
        for (int i = 0; i < 4; i++)
            p[i] = lw_ir_param_add(&h, type, 0, names[i]);
        lw_ir_result_add(&h, type);
        lw_ir_result_add(&h, type);
        emit_power(&h, (lw_complex){p[0], p[1]}, (lw_complex){p[2], p[3]});
        lw_helper_end(&h);
    }
    lw_ref args[4] = {x.re, x.im, y.re, y.im};
    return call_parts(b, helper, args, 4);
}
