/* Elementary functions of a complex argument, in float64, without branches.
 *
 * sqrt, asinh, acosh, atanh and what follows from them: W. Kahan, "Branch Cuts for Complex
 * Elementary Functions, or Much Ado About Nothing's Sign Bit", in The State of the Art in
 * Numerical Analysis (1987). tanh: the same, section on tanh. log near the unit circle: the sum
 * |z|**2 - 1 in twice the precision (T. J. Dekker, "A floating-point technique for extending
 * the available precision", Numer. Math. 18, 1971). Special values: C99 Annex G.6. */
#include "core/front/numeric/complex_internal.h"

#include "core/front/numeric/floats.h"

#include <float.h>
#include <math.h>

#define LN2     0.693147180559945309417232121458176568
#define HALF_PI 1.57079632679489661923132169163975144

/* Short names, so that formulas can be read; each emits into `b`. */
#define NUM(value)        lw_ir_float(b, LW_DT_f64, (value))
#define ADD(x, y)         lw_ir_add(b, x, y)
#define SUB(x, y)         lw_ir_sub(b, x, y)
#define MUL(x, y)         lw_ir_mul(b, x, y)
#define DIV(x, y)         lw_ir_div(b, x, y)
#define NEG(x)            lw_ir_neg(b, x)
#define FMA(x, y, z)      lw_ir_fma(b, x, y, z)
#define LT(x, y)          lw_ir_compare(b, LW_OP_LT, x, y)
#define GT(x, y)          lw_ir_compare(b, LW_OP_GT, x, y)
#define EQ(x, y)          lw_ir_compare(b, LW_OP_EQ, x, y)
#define BOTH(x, y)        lw_ir_and(b, x, y)
#define EITHER(x, y)      lw_ir_or(b, x, y)
#define NOT(x)            lw_ir_not(b, x)
#define PICK(c, x, y)     lw_ir_select(b, c, x, y)
#define CALL(name, x)     lw_float_call(b, LW_IN_##name, x)
#define CALL2(name, x, y) lw_float_call2(b, LW_IN_##name, x, y)
#define ABS(x)            CALL(fabs, x)
#define WITH_SIGN(x, y)   CALL2(copysign, x, y)
#define FINITE(x)         lw_float_isfinite(b, x)
#define IS_INF(x)         lw_float_isinf(b, x)
#define IS_NAN(x)         lw_float_isnan(b, x)

static lw_complex
scaled(lw_builder *b, lw_complex z, double factor)
{
    lw_ref f = NUM(factor);

    return (lw_complex){MUL(z.re, f), MUL(z.im, f)};
}

/* ---- sqrt ---- */

/* sqrt((|x| + |z|) / 2) and |y| over twice that. z is scaled by 4**k so that neither |z| nor
 * the half-sum leaves the range. */
static lw_complex
square_root(lw_builder *b, lw_complex z)
{
    lw_ref zero = NUM(0), one = NUM(1), ax = ABS(z.re), ay = ABS(z.im);
    lw_ref largest = PICK(GT(ax, ay), ax, ay);
    lw_ref big = GT(largest, NUM(0x1p1020)), small = LT(largest, NUM(0x1p-900));
    lw_ref up = PICK(big, NUM(0x1p-4), PICK(small, NUM(0x1p200), one));
    lw_ref down = PICK(big, NUM(4), PICK(small, NUM(0x1p-100), one));
    lw_ref x = MUL(ax, up), y = MUL(ay, up);
    lw_ref root = CALL(sqrt, MUL(ADD(x, CALL2(hypot, x, y)), NUM(0.5)));
    lw_ref other = DIV(y, ADD(root, root));
    lw_ref right = lw_ir_compare(b, LW_OP_GE, z.re, zero);
    lw_ref re = MUL(PICK(right, root, other), down), im = MUL(PICK(right, other, root), down);
    lw_ref origin = BOTH(EQ(z.re, zero), EQ(z.im, zero)), far = IS_INF(z.im);

    im = PICK(origin, zero, im);
    re = PICK(origin, zero, re);
    return (lw_complex){PICK(far, NUM(INFINITY), re), WITH_SIGN(PICK(far, ay, im), z.im)};
}

/* ---- exp and log ---- */

/* Beyond 700 the factor exp(700) is multiplied in last, after cosine and sine have reduced the
 * product. */
#define EXP_LIMIT    700.0
#define EXP_OF_LIMIT 1.0142320547350045e304

static lw_complex
exponential(lw_builder *b, lw_complex z)
{
    lw_ref zero = NUM(0), x = z.re, y = z.im;
    lw_ref big = GT(x, NUM(EXP_LIMIT));
    lw_ref size = CALL(exp, PICK(big, SUB(x, NUM(EXP_LIMIT)), x));
    lw_ref factor = PICK(big, NUM(EXP_OF_LIMIT), NUM(1)), flat = EQ(y, zero);
    lw_ref re = MUL(PICK(flat, size, MUL(size, CALL(cos, y))), factor);
    lw_ref im = PICK(flat, y, MUL(MUL(size, CALL(sin, y)), factor));
    lw_ref wild = BOTH(IS_INF(x), NOT(FINITE(y))), up = GT(x, zero);

    re = PICK(wild, PICK(up, x, zero), re);
    im = PICK(wild, PICK(up, NUM(NAN), WITH_SIGN(zero, y)), im);
    return (lw_complex){re, im};
}

static lw_complex
exponential_minus_one(lw_builder *b, lw_complex z)
{
    lw_ref x = z.re, y = z.im, half = CALL(sin, MUL(y, NUM(0.5)));
    lw_complex whole = exponential(b, z);
    lw_ref near = SUB(MUL(CALL(expm1, x), CALL(cos, y)), MUL(MUL(NUM(2), half), half));
    lw_ref use = BOTH(FINITE(x), LT(x, NUM(EXP_LIMIT)));

    return (lw_complex){PICK(use, near, SUB(whole.re, NUM(1))), whole.im};
}

/* x + y without loss: returns the rounded sum, and in *low the rounding error. */
static lw_ref
exact_sum(lw_builder *b, lw_ref x, lw_ref y, lw_ref *low)
{
    lw_ref sum = ADD(x, y), part = SUB(sum, x);

    *low = ADD(SUB(x, SUB(sum, part)), SUB(y, part));
    return sum;
}

/* log(|1 + d + i y|) = log1p(2 d + d**2 + y**2) / 2, with the sum in twice the precision. */
static lw_ref
log_beside_one(lw_builder *b, lw_ref d, lw_ref y)
{
    lw_ref dd = MUL(d, d), yy = MUL(y, y), low1, low2;
    lw_ref dd_low = FMA(d, d, NEG(dd)), yy_low = FMA(y, y, NEG(yy));
    lw_ref sum = exact_sum(b, ADD(d, d), yy, &low1);

    sum = exact_sum(b, sum, dd, &low2);
    sum = ADD(sum, ADD(ADD(low1, low2), ADD(dd_low, yy_low)));
    return MUL(CALL(log1p, sum), NUM(0.5));
}

static lw_complex
logarithm(lw_builder *b, lw_complex z)
{
    lw_ref ax = ABS(z.re), ay = ABS(z.im), swap = LT(ax, ay), one = NUM(1), zero = NUM(0);
    lw_ref large = PICK(swap, ay, ax), small = PICK(swap, ax, ay);
    lw_ref big = GT(large, NUM(0x1p1000)), tiny = LT(large, NUM(0x1p-960));
    lw_ref scale = PICK(big, NUM(0x1p-600), PICK(tiny, NUM(0x1p600), one));
    lw_ref shift = PICK(big, NUM(600 * LN2), PICK(tiny, NUM(-600 * LN2), zero));
    lw_ref size = CALL2(hypot, MUL(ax, scale), MUL(ay, scale));
    lw_ref far = ADD(CALL(log, size), shift);
    lw_ref near = log_beside_one(b, SUB(large, one), small);
    lw_ref beside = BOTH(GT(large, NUM(0.5)), LT(large, NUM(2)));

    return (lw_complex){PICK(BOTH(beside, FINITE(small)), near, far), CALL2(atan2, z.im, z.re)};
}

static lw_complex
logarithm_plus_one(lw_builder *b, lw_complex z)
{
    lw_complex moved = {ADD(z.re, NUM(1)), z.im}, value = logarithm(b, moved);
    lw_ref beside = BOTH(LT(ABS(z.re), NUM(0.5)), LT(ABS(z.im), NUM(1)));

    value.re = PICK(beside, log_beside_one(b, z.re, z.im), value.re);
    return value;
}

/* ---- hyperbolic and circular ---- */

/* exp(|x|) / 2 as two factors, for |x| > 700. */
static lw_ref
half_exp(lw_builder *b, lw_ref x, lw_ref by)
{
    lw_ref size = CALL(exp, SUB(ABS(x), NUM(EXP_LIMIT)));

    return MUL(MUL(MUL(size, NUM(0.5)), by), NUM(EXP_OF_LIMIT));
}

static lw_complex
hyperbolic_sine(lw_builder *b, lw_complex z)
{
    lw_ref zero = NUM(0), x = z.re, y = z.im, c = CALL(cos, y), s = CALL(sin, y);
    lw_ref big = GT(ABS(x), NUM(EXP_LIMIT)), flat = EQ(y, zero), wild = NOT(FINITE(y));
    lw_ref re = PICK(big, half_exp(b, x, MUL(c, WITH_SIGN(NUM(1), x))), MUL(CALL(sinh, x), c));
    lw_ref im = PICK(big, half_exp(b, x, s), MUL(CALL(cosh, x), s));

    re = PICK(flat, CALL(sinh, x), re);
    im = PICK(flat, y, im);
    re = PICK(BOTH(wild, EQ(x, zero)), x, PICK(BOTH(wild, IS_INF(x)), NUM(INFINITY), re));
    return (lw_complex){re, im};
}

static lw_complex
hyperbolic_cosine(lw_builder *b, lw_complex z)
{
    lw_ref zero = NUM(0), x = z.re, y = z.im, c = CALL(cos, y), s = CALL(sin, y);
    lw_ref big = GT(ABS(x), NUM(EXP_LIMIT)), flat = EQ(y, zero), wild = NOT(FINITE(y));
    lw_ref sign = WITH_SIGN(NUM(1), x);
    lw_ref re = PICK(big, half_exp(b, x, c), MUL(CALL(cosh, x), c));
    lw_ref im = PICK(big, half_exp(b, x, MUL(s, sign)), MUL(CALL(sinh, x), s));

    re = PICK(flat, CALL(cosh, x), re);
    im = PICK(flat, MUL(y, sign), im);
    re = PICK(BOTH(wild, IS_INF(x)), NUM(INFINITY), re);
    im = PICK(BOTH(wild, EQ(x, zero)), zero, im);
    return (lw_complex){re, im};
}

/* Computed from t = tan(y) and s = sinh(x); from 22 on, 1 - |tanh(x)| is below half an ulp. */
static lw_complex
hyperbolic_tangent(lw_builder *b, lw_complex z)
{
    lw_ref zero = NUM(0), one = NUM(1), x = z.re, y = z.im;
    lw_ref t = CALL(tan, y), s = CALL(sinh, x), ss = MUL(s, s), beta = ADD(one, MUL(t, t));
    lw_ref rho = CALL(sqrt, ADD(one, ss)), below = ADD(one, MUL(beta, ss));
    lw_ref re = DIV(MUL(MUL(beta, rho), s), below), im = DIV(t, below);
    lw_ref far = GT(ABS(x), NUM(22)), small = CALL(exp, NEG(ABS(x)));
    lw_ref wave = MUL(MUL(MUL(NUM(4), CALL(sin, y)), CALL(cos, y)), MUL(small, small));

    im = PICK(far, PICK(FINITE(y), wave, PICK(IS_INF(x), WITH_SIGN(zero, y), NUM(NAN))), im);
    re = PICK(far, PICK(EITHER(FINITE(y), IS_INF(x)), WITH_SIGN(one, x), NUM(NAN)), re);
    re = PICK(EQ(x, zero), x, re);
    im = PICK(EQ(y, zero), y, im);
    return (lw_complex){re, im};
}

/* ---- inverse ---- */

#define LARGE (DBL_MAX / 4)

/* log|z| for numbers so large that adding 1 would not change their square root. */
static lw_ref
log_of_large(lw_builder *b, lw_complex z)
{
    lw_ref half = NUM(0.5);

    return ADD(CALL(log, CALL2(hypot, MUL(z.re, half), MUL(z.im, half))), NUM(LN2 * 2));
}

static lw_ref
is_large(lw_builder *b, lw_complex z)
{
    return EITHER(GT(ABS(z.re), NUM(LARGE)), GT(ABS(z.im), NUM(LARGE)));
}

static lw_complex
call_sqrt(lw_builder *b, lw_ref re, lw_ref im)
{
    return lw_complex_call(b, LW_COMPLEX_SQRT, (lw_complex){re, im});
}

static lw_complex
inverse_cosine(lw_builder *b, lw_complex z)
{
    lw_ref one = NUM(1), x = z.re, y = z.im, large = is_large(b, z);
    lw_complex s1 = call_sqrt(b, SUB(one, x), NEG(y)), s2 = call_sqrt(b, ADD(one, x), y);
    lw_ref angle = CALL2(atan2, s1.re, s2.re);
    lw_ref im = CALL(asinh, SUB(MUL(s2.re, s1.im), MUL(s2.im, s1.re)));
    lw_ref re = PICK(large, CALL2(atan2, ABS(y), x), ADD(angle, angle));

    re = PICK(BOTH(EQ(x, NUM(0)), IS_NAN(y)), NUM(HALF_PI), re);
    return (lw_complex){re, PICK(large, WITH_SIGN(log_of_large(b, z), NEG(y)), im)};
}

static lw_complex
inverse_hyperbolic_cosine(lw_builder *b, lw_complex z)
{
    lw_ref one = NUM(1), x = z.re, y = z.im, large = is_large(b, z);
    lw_complex s1 = call_sqrt(b, SUB(x, one), y), s2 = call_sqrt(b, ADD(x, one), y);
    lw_ref re = CALL(asinh, ADD(MUL(s1.re, s2.re), MUL(s1.im, s2.im)));
    lw_ref angle = CALL2(atan2, s1.im, s2.re);
    lw_ref im = PICK(large, CALL2(atan2, y, x), ADD(angle, angle));

    im = PICK(BOTH(EQ(x, NUM(0)), IS_NAN(y)), NUM(HALF_PI), im);
    return (lw_complex){PICK(large, log_of_large(b, z), re), im};
}

static lw_complex
inverse_hyperbolic_sine(lw_builder *b, lw_complex z)
{
    lw_ref one = NUM(1), x = z.re, y = z.im, large = is_large(b, z);
    lw_complex s1 = call_sqrt(b, ADD(one, y), NEG(x)), s2 = call_sqrt(b, SUB(one, y), x);
    lw_ref re = CALL(asinh, SUB(MUL(s1.re, s2.im), MUL(s2.re, s1.im)));
    lw_ref im = CALL2(atan2, y, SUB(MUL(s1.re, s2.re), MUL(s1.im, s2.im)));

    re = PICK(large, WITH_SIGN(log_of_large(b, z), x), re);
    im = PICK(large, CALL2(atan2, y, ABS(x)), im);
    return (lw_complex){re, PICK(EQ(y, NUM(0)), PICK(IS_NAN(x), y, im), im)};
}

/* 1/z ± i pi/2 where |z|**2 would overflow. */
static lw_complex
atanh_of_large(lw_builder *b, lw_ref x, lw_ref y)
{
    lw_ref half = NUM(0.5), h = CALL2(hypot, MUL(x, half), MUL(y, half));
    lw_ref re = DIV(DIV(MUL(x, NUM(0.25)), h), h), im = WITH_SIGN(NUM(HALF_PI), y);

    re = PICK(EITHER(IS_INF(x), IS_INF(y)), WITH_SIGN(NUM(0), x), re);
    im = PICK(BOTH(IS_NAN(x), NOT(IS_INF(y))), x, im);
    return (lw_complex){re, PICK(IS_NAN(y), y, im)};
}

/* Close to the pole at 1: ay**2 would vanish. */
static lw_complex
atanh_at_pole(lw_builder *b, lw_ref y, lw_ref ay)
{
    lw_ref two = NUM(2), on = EQ(ay, NUM(0));
    lw_ref re = NEG(CALL(log, DIV(CALL(sqrt, ay), CALL(sqrt, CALL2(hypot, ay, two)))));
    lw_ref im = WITH_SIGN(MUL(CALL2(atan2, two, NEG(ay)), NUM(0.5)), y);

    return (lw_complex){PICK(on, NUM(INFINITY), re), PICK(on, y, im)};
}

/* For x >= 0; the sign of x turns both parts of the argument and the result. */
static lw_complex
inverse_hyperbolic_tangent(lw_builder *b, lw_complex z)
{
    lw_ref one = NUM(1), sign = WITH_SIGN(one, z.re), limit = NUM(0x1p510);
    lw_ref x = ABS(z.re), y = MUL(z.im, sign), ay = ABS(y);
    lw_ref gap = SUB(one, x), squares = ADD(MUL(gap, gap), MUL(ay, ay));
    lw_complex near = {
        MUL(CALL(log1p, DIV(MUL(NUM(4), x), squares)), NUM(0.25)),
        MUL(NEG(CALL2(atan2, MUL(NUM(-2), y), SUB(MUL(gap, ADD(one, x)), MUL(ay, ay)))),
            NUM(0.5))};
    lw_ref large = EITHER(GT(x, limit), GT(ay, limit));
    lw_ref pole = BOTH(EQ(x, one), LT(ay, NUM(0x1p-510)));
    lw_complex value = lw_complex_select(b, pole, atanh_at_pole(b, y, ay), near);

    value = lw_complex_select(b, large, atanh_of_large(b, x, y), value);
    value.re = PICK(BOTH(EQ(x, NUM(0)), IS_NAN(y)), x, value.re);
    return (lw_complex){MUL(value.re, sign), MUL(value.im, sign)};
}

/* ---- all of them ---- */

/* -i f(i z): sin, tan, asin and atan are made from the hyperbolic functions. */
static lw_complex
turned(lw_builder *b, lw_complex_function which, lw_complex z)
{
    lw_complex value = lw_complex_call(b, which, (lw_complex){NEG(z.im), z.re});

    return (lw_complex){value.im, NEG(value.re)};
}

/* The sign of an infinity whose other part is NaN is the C library's. */
static lw_complex
sine(lw_builder *b, lw_complex z)
{
    lw_complex value = turned(b, LW_COMPLEX_SINH, z);
    lw_ref far = BOTH(IS_INF(z.im), NOT(FINITE(z.re)));

    return (lw_complex){value.re, PICK(far, NUM(INFINITY), value.im)};
}

static lw_complex
cosine(lw_builder *b, lw_complex z)
{
    lw_complex value = lw_complex_call(b, LW_COMPLEX_COSH, (lw_complex){NEG(z.im), z.re});
    lw_ref flat = BOTH(EQ(z.re, NUM(0)), IS_NAN(z.im));

    return (lw_complex){value.re, PICK(flat, z.re, value.im)};
}

lw_complex
lw_complex_formula(lw_builder *b, lw_complex_function which, lw_complex z)
{
    switch (which) {
    case LW_COMPLEX_SQRT: return square_root(b, z);
    case LW_COMPLEX_EXP: return exponential(b, z);
    case LW_COMPLEX_EXP2: return lw_complex_call(b, LW_COMPLEX_EXP, scaled(b, z, LN2));
    case LW_COMPLEX_EXPM1: return exponential_minus_one(b, z);
    case LW_COMPLEX_LOG: return logarithm(b, z);
    case LW_COMPLEX_LOG2:
        return scaled(b, lw_complex_call(b, LW_COMPLEX_LOG, z), 1.442695040888963407359924681);
    case LW_COMPLEX_LOG10:
        return scaled(b, lw_complex_call(b, LW_COMPLEX_LOG, z), 0.434294481903251827651128919);
    case LW_COMPLEX_LOG1P: return logarithm_plus_one(b, z);
    case LW_COMPLEX_SIN: return sine(b, z);
    case LW_COMPLEX_COS: return cosine(b, z);
    case LW_COMPLEX_TAN: return turned(b, LW_COMPLEX_TANH, z);
    case LW_COMPLEX_SINH: return hyperbolic_sine(b, z);
    case LW_COMPLEX_COSH: return hyperbolic_cosine(b, z);
    case LW_COMPLEX_TANH: return hyperbolic_tangent(b, z);
    case LW_COMPLEX_ASIN: return turned(b, LW_COMPLEX_ASINH, z);
    case LW_COMPLEX_ACOS: return inverse_cosine(b, z);
    case LW_COMPLEX_ATAN: return turned(b, LW_COMPLEX_ATANH, z);
    case LW_COMPLEX_ASINH: return inverse_hyperbolic_sine(b, z);
    case LW_COMPLEX_ACOSH: return inverse_hyperbolic_cosine(b, z);
    case LW_COMPLEX_ATANH: return inverse_hyperbolic_tangent(b, z);
    case LW_N_COMPLEX_FUNCTIONS: break;
    }
    return z;
}
