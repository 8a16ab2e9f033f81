/* The functions of names.def: what each emits depends on its `impl` and on the type that
 * inference chose for its operands. */
#include "core/front/lower/lower_internal.h"

#include "core/front/numeric/floats.h"
#include "core/front/numeric/integers.h"
#include "core/front/named.h"
#include "core/front/numeric/numeric.h"
#include "core/front/numeric/overflow.h"

/* ---- functions of one float or complex number ---- */

/* `complex` is the complex function's number + 1; 0: there is none. */
static const struct simple_row {
    bool known;
    uint8_t complex;
    lw_intrinsic intrinsic;
} simple[LW_N_IMPLS] = {
#define BOTH(impl, name) [LW_IMPL_##impl] = {true, LW_COMPLEX_##impl + 1, LW_IN_##name}
#define REAL(impl, name) [LW_IMPL_##impl] = {true, 0, LW_IN_##name}
    BOTH(SIN, sin),
    BOTH(COS, cos),
    BOTH(TAN, tan),
    BOTH(ASIN, asin),
    BOTH(ACOS, acos),
    BOTH(ATAN, atan),
    BOTH(SINH, sinh),
    BOTH(COSH, cosh),
    BOTH(TANH, tanh),
    BOTH(ASINH, asinh),
    BOTH(ACOSH, acosh),
    BOTH(ATANH, atanh),
    BOTH(EXP, exp),
    BOTH(EXP2, exp2),
    BOTH(EXPM1, expm1),
    BOTH(LOG, log),
    BOTH(LOG2, log2),
    BOTH(LOG10, log10),
    BOTH(LOG1P, log1p),
    BOTH(SQRT, sqrt),
    REAL(CBRT, cbrt),
    REAL(ERF, erf),
    REAL(ERFC, erfc),
    REAL(TGAMMA, tgamma),
    REAL(LGAMMA, lgamma),
    REAL(ATAN2, atan2),
    REAL(FABS, fabs),
    REAL(COPYSIGN, copysign),
    REAL(FMOD, fmod),
    REAL(IEEE_REMAINDER, remainder),
    REAL(RSQRT, rsqrt),
    REAL(SQRT_NORMAL, sqrt_normal),
    REAL(LOG_NORMAL, log_normal),
#undef BOTH
#undef REAL
};

static lw_complex
complex_function(const lw_named_call *c, lw_complex_function which)
{
    lw_complex x = lw_named_complex(c, 0), value = lw_complex_call(c->b, which, x);
    uint32_t name = lw_typed_at(c->f, c->node)->target;

    return lw_names[name].rule == LW_RULE_COMPLEX ? lw_complex_as_cmath(c->b, which, x, value)
                                                  : value;
}

static lw_lower_value
lower_simple(const lw_named_call *c)
{
    const struct simple_row *row = &simple[c->impl];

    if (lw_is_complex(c->dtype) && row->complex)
        return lw_named_complex_result(
            c, complex_function(c, (lw_complex_function)(row->complex - 1)));
    if (lw_is_complex(c->dtype))
        return lw_named_fail(c);
    if (!lw_is_float(c->dtype) && c->impl != LW_IMPL_FMOD)
        return lw_named_fail(c);
    lw_ref x = lw_named_scalar(c, 0);
    if (lw_intrinsics[row->intrinsic].n_args == 1)
        return lw_named_result(c, lw_float_call(c->b, row->intrinsic, x));
    lw_ref y = lw_named_scalar(c, 1);
    if (c->impl == LW_IMPL_FMOD)
        lw_lower_check_divisor(c->f, lw_value_scalar(c->f, (lw_type)c->dtype, y),
                               "modulo by zero");
    if (!lw_is_float(c->dtype))
        return lw_named_result(c, lw_num_fmod(c->b, x, y));
    return lw_named_result(c, lw_float_call2(c->b, row->intrinsic, x, y));
}

/* log(x, base) = log(x) / log(base) */
static lw_lower_value
lower_log(const lw_named_call *c)
{
    if (!lw_named_given(c, 1))
        return lower_simple(c);
    if (lw_is_complex(c->dtype)) {
        lw_complex x = lw_complex_call(c->b, LW_COMPLEX_LOG, lw_named_complex(c, 0));
        lw_complex base = lw_complex_call(c->b, LW_COMPLEX_LOG, lw_named_complex(c, 1));
        return lw_named_complex_result(c, lw_complex_div(c->b, x, base));
    }
    lw_ref x = lw_float_call(c->b, LW_IN_log, lw_named_scalar(c, 0));
    return lw_named_result(
        c, lw_ir_div(c->b, x, lw_float_call(c->b, LW_IN_log, lw_named_scalar(c, 1))));
}

static lw_lower_value
lower_hypot(const lw_named_call *c)
{
    if (c->n_args == 0)
        return lw_value_zero(c->f, c->type);
    lw_ref size = lw_named_scalar(c, 0);
    if (c->n_args == 1)
        size = lw_float_call(c->b, LW_IN_fabs, size);
    for (uint32_t i = 1; i < c->n_args; i++)
        size = lw_float_call2(c->b, LW_IN_hypot, size, lw_named_scalar(c, i));
    return lw_named_result(c, size);
}

static lw_lower_value
lower_div_normal(const lw_named_call *c)
{
    lw_ref x = lw_named_scalar(c, 0), y = lw_named_scalar(c, 1);

    return lw_named_result(c, lw_float_call2(c->b, LW_IN_div_normal, x, y));
}

/* ---- tests ---- */

/* An infinity is not an integer, although trunc returns it unchanged. */
static lw_lower_value
lower_is_integer(const lw_named_call *c)
{
    lw_ref x = lw_named_scalar(c, 0), whole;

    if (!lw_is_float(c->dtype))
        return lw_named_result(c, lw_ir_int(c->b, LW_DT_b1, 1));
    whole = lw_ir_compare(c->b, LW_OP_EQ, lw_float_call(c->b, LW_IN_trunc, x), x);
    return lw_named_result(c, lw_ir_and(c->b, whole, lw_float_isfinite(c->b, x)));
}

static lw_lower_value
lower_test(const lw_named_call *c)
{
    if (lw_is_complex(c->dtype)) {
        lw_complex x = lw_named_complex(c, 0);
        return lw_named_result(c, c->impl == LW_IMPL_ISNAN   ? lw_complex_isnan(c->b, x)
                                  : c->impl == LW_IMPL_ISINF ? lw_complex_isinf(c->b, x)
                                                             : lw_complex_isfinite(c->b, x));
    }
    lw_ref x = lw_named_scalar(c, 0);
    if (!lw_is_float(c->dtype))
        return lw_named_result(c, lw_ir_int(c->b, LW_DT_b1, c->impl == LW_IMPL_ISFINITE));
    return lw_named_result(c, c->impl == LW_IMPL_ISNAN   ? lw_float_isnan(c->b, x)
                              : c->impl == LW_IMPL_ISINF ? lw_float_isinf(c->b, x)
                                                         : lw_float_isfinite(c->b, x));
}

static lw_lower_value
lower_signbit(const lw_named_call *c)
{
    lw_ref x = lw_named_scalar(c, 0);

    if (lw_is_float(c->dtype))
        return lw_named_result(c, lw_float_signbit(c->b, x));
    return lw_named_result(
        c, lw_int_compare(c->b, LW_OP_LT, x, lw_ir_zero(c->b, lw_ir_type(c->b, x))));
}

static lw_lower_value
lower_isclose(const lw_named_call *c)
{
    lw_dtype part = lw_dtypes[c->dtype].parts;
    lw_type real = (lw_type)part;
    lw_ref tolerance[2];

    for (uint32_t i = 0; i < 2; i++)
        tolerance[i] = lw_named_given(c, 2 + i)
                           ? lw_first_part(lw_lower_argument_as(c->f, c->node, 2 + i, real))
                           : lw_ir_float(c->b, part, i == 0 ? 1e-9 : 0);
    if (lw_is_complex(c->dtype)) {
        lw_complex x = lw_named_complex(c, 0), y = lw_named_complex(c, 1);
        return lw_named_result(c, lw_complex_isclose(c->b, x, y, tolerance[0], tolerance[1]));
    }
    lw_ref x = lw_named_scalar(c, 0), y = lw_named_scalar(c, 1);
    return lw_named_result(c, lw_float_isclose(c->b, x, y, tolerance[0], tolerance[1]));
}

/* ---- rounding ---- */

static lw_intrinsic
rounding_of(lw_impl impl)
{
    switch (impl) {
    case LW_IMPL_FLOOR:
    case LW_IMPL_FLOOR_INT: return LW_IN_floor;
    case LW_IMPL_CEIL:
    case LW_IMPL_CEIL_INT: return LW_IN_ceil;
    case LW_IMPL_TRUNC:
    case LW_IMPL_TRUNC_INT: return LW_IN_trunc;
    default: return LW_IN_rint;
    }
}

static lw_lower_value
lower_rounding(const lw_named_call *c)
{
    if (lw_is_complex(c->dtype) && c->impl == LW_IMPL_RINT)
        return lw_named_complex_result(c, lw_complex_rint(c->b, lw_named_complex(c, 0)));
    lw_ref x = lw_named_scalar(c, 0);
    if (!lw_is_float(c->dtype))
        return lw_named_result(c, x);
    return lw_named_result(c, lw_float_call(c->b, rounding_of(c->impl), x));
}

/* round(x), round(x, n), np.round(x, n) */
static lw_lower_value
lower_round(const lw_named_call *c)
{
    lw_ref digits = 0;

    if (lw_named_given(c, 1) && !lw_named_is_none(c, 1))
        digits = lw_first_part(lw_lower_argument_as(c->f, c->node, 1, LW_T_INDEX));
    else if (c->impl == LW_IMPL_ROUND_DECIMALS)
        digits = lw_ir_zero(c->b, LW_DT_i64);
    if (lw_is_complex(c->dtype)) {
        lw_complex x = lw_named_complex(c, 0);
        x = (lw_complex){lw_float_round(c->b, x.re, digits),
                         lw_float_round(c->b, x.im, digits)};
        return lw_named_complex_result(c, x);
    }
    lw_ref x = lw_named_scalar(c, 0);
    if (lw_is_float(c->dtype))
        return lw_named_result(c, digits ? lw_float_round(c->b, x, digits)
                                         : lw_float_call(c->b, LW_IN_rint, x));
    if (c->dtype == LW_DT_b1)
        return lw_named_result(c, x);
    return lw_named_result(c, digits ? lw_int_round(c->b, x, digits) : x);
}

/* ---- parts ---- */

static lw_lower_value
lower_frexp(const lw_named_call *c)
{
    lw_ref mantissa, exponent;

    lw_float_frexp(c->b, lw_named_scalar(c, 0), &mantissa, &exponent);
    return lw_named_pair(c, mantissa, exponent);
}

static lw_lower_value
lower_modf(const lw_named_call *c)
{
    lw_ref fraction, whole;

    lw_float_modf(c->b, lw_named_scalar(c, 0), &fraction, &whole);
    return lw_named_pair(c, fraction, whole);
}

static lw_lower_value
lower_divmod(const lw_named_call *c)
{
    lw_ref x = lw_named_scalar(c, 0), y = lw_named_scalar(c, 1), quotient, rest;

    lw_lower_check_divisor(c->f, lw_value_scalar(c->f, (lw_type)c->dtype, y),
                           "division by zero");
    lw_num_divmod(c->b, x, y, &quotient, &rest);
    if (lw_lower_checks_overflow(c->f, lw_ir_type(c->b, x)))
        lw_lower_check_overflow(c->f, lw_int_overflows(c->b, LW_PY_FLOORDIV, x, y, quotient));
    return lw_named_pair(c, quotient, rest);
}

static lw_lower_value
lower_ldexp(const lw_named_call *c)
{
    lw_ref x = lw_named_scalar(c, 0);

    return lw_named_result(
        c, lw_float_ldexp(c->b, x, lw_first_part(lw_lower_argument(c->f, c->node, 1))));
}

static lw_lower_value
lower_complex_part(const lw_named_call *c)
{
    lw_lower_value x = lw_lower_argument(c->f, c->node, 0);
    bool imaginary = c->impl == LW_IMPL_IMAG;

    if (x.n == 2)
        return lw_named_result(c, x.parts[imaginary]);
    return imaginary ? lw_value_zero(c->f, c->type) : lw_value_convert(c->f, x, c->type);
}

static lw_complex
as_complex(const lw_named_call *c)
{
    lw_lower_value value = lw_lower_argument(c->f, c->node, 0);
    lw_dtype dtype = lw_is_float(c->dtype) || lw_is_complex(c->dtype) ? c->dtype : LW_DT_f64;

    return lw_value_as_complex(c->f, value, lw_dtypes[dtype].parts);
}

static lw_lower_value
lower_polar(const lw_named_call *c)
{
    lw_complex x = as_complex(c);

    if (c->impl == LW_IMPL_ANGLE)
        return lw_named_result(c, lw_complex_angle(c->b, x));
    return lw_named_pair(c, lw_complex_abs(c->b, x), lw_complex_angle(c->b, x));
}

/* complex(x, y) = x + y j: for real arguments exactly these two parts. */
static lw_lower_value
lower_to_complex(const lw_named_call *c)
{
    lw_dtype half = lw_dtypes[lw_type_stored(c->f->l->types, c->type)].parts;

    if (!lw_named_given(c, 0) && !lw_named_given(c, 1))
        return lw_value_zero(c->f, c->type);
    lw_complex zero = {lw_ir_zero(c->b, half), lw_ir_zero(c->b, half)};
    lw_lower_value x =
        lw_named_given(c, 0) ? lw_lower_argument(c->f, c->node, 0) : (lw_lower_value){0};
    lw_complex re = x.n ? lw_value_as_complex(c->f, x, half) : zero;
    if (!lw_named_given(c, 1))
        return lw_named_complex_result(c, re);
    lw_lower_value y = lw_lower_argument(c->f, c->node, 1);
    lw_complex im = lw_value_as_complex(c->f, y, half);
    if (y.n == 2)
        re.re = lw_ir_sub(c->b, re.re, im.im);
    re.im = x.n == 2 ? lw_ir_add(c->b, re.im, im.re) : im.re;
    return lw_named_complex_result(c, re);
}

static lw_lower_value
lower_convert(const lw_named_call *c)
{
    if (!lw_named_given(c, 0))
        return lw_value_zero(c->f, c->type);
    if (c->impl == LW_IMPL_TO_BOOL) {
        lw_ref truth = lw_value_truth(c->f, lw_lower_argument(c->f, c->node, 0));
        return lw_named_result(c, truth);
    }
    return lw_lower_argument_as(c->f, c->node, 0, c->type);
}

/* ---- counting ---- */

/* An argument as an i64. *beyond becomes true, too, if the argument is larger than any i64. */
static lw_ref
counted(const lw_named_call *c, uint32_t i, lw_ref *beyond)
{
    lw_lower_value given = lw_lower_argument(c->f, c->node, i);
    lw_ref number = lw_first_part(lw_value_convert(c->f, given, c->operand));
    bool is_u64 = lw_type_stored(c->f->l->types, given.type) == LW_DT_u64;

    if (number != 0 && is_u64)
        *beyond = lw_ir_or(c->b, *beyond,
                           lw_ir_compare(c->b, LW_OP_LT, number, lw_ir_zero(c->b, LW_DT_i64)));
    return number;
}

static lw_lower_value
lower_counting(const lw_named_call *c)
{
    lw_ref beyond, n, k = 0, value, wraps;

    if (c->impl == LW_IMPL_ISQRT)
        return lw_named_result(c, lw_int_isqrt(c->b, lw_named_scalar(c, 0)));
    beyond = lw_ir_int(c->b, LW_DT_b1, 0);
    n = counted(c, 0, &beyond);
    if (c->impl != LW_IMPL_FACTORIAL && lw_named_given(c, 1) && !lw_named_is_none(c, 1))
        k = counted(c, 1, &beyond);
    value = k == 0                    ? lw_int_factorial(c->b, n, &wraps)
            : c->impl == LW_IMPL_COMB ? lw_int_comb(c->b, n, k, &wraps)
                                      : lw_int_perm(c->b, n, k, &wraps);
    wraps = lw_ir_or(c->b, wraps, beyond);
    if (lw_raises_errors(c->f))
        lw_lower_raise(c->f, wraps, "OverflowError", "the result does not fit int64");
    return lw_named_result(c, value);
}

/* ---- NumPy ---- */

static lw_lower_value
lower_extremum(const lw_named_call *c)
{
    bool larger = c->impl == LW_IMPL_MAXIMUM || c->impl == LW_IMPL_FMAX;
    bool pass_nan = c->impl == LW_IMPL_MAXIMUM || c->impl == LW_IMPL_MINIMUM;

    if (lw_is_complex(c->dtype)) {
        lw_complex x = lw_named_complex(c, 0), y = lw_named_complex(c, 1);
        lw_op op = larger ? LW_OP_GE : LW_OP_LE;
        return lw_named_complex_result(c, lw_complex_extremum(c->b, op, pass_nan, x, y));
    }
    lw_ref x = lw_named_scalar(c, 0), y = lw_named_scalar(c, 1);
    switch (c->impl) {
    case LW_IMPL_MAXIMUM: return lw_named_result(c, lw_num_maximum(c->b, x, y));
    case LW_IMPL_MINIMUM: return lw_named_result(c, lw_num_minimum(c->b, x, y));
    case LW_IMPL_FMAX: return lw_named_result(c, lw_num_fmax(c->b, x, y));
    default: return lw_named_result(c, lw_num_fmin(c->b, x, y));
    }
}

/* A bound: a negative Python int is 0 beside a uint64, which is never less. */
static lw_ref
clip_bound(const lw_named_call *c, uint32_t i)
{
    lw_lower_value given;
    lw_ref bound;

    if (c->dtype != LW_DT_u64)
        return lw_named_scalar(c, i);
    given = lw_lower_argument(c->f, c->node, i);
    if (given.n != 1 || lw_ir_type(c->b, given.parts[0]) != LW_DT_i64)
        return lw_named_scalar(c, i);
    bound = lw_num_maximum(c->b, given.parts[0], lw_ir_zero(c->b, LW_DT_i64));
    return lw_ir_cast(c->b, LW_DT_u64, bound);
}

/* Whether the bound is there, and not a constant beyond the type that no element reaches. */
static bool
has_bound(const lw_named_call *c, uint32_t i)
{
    lw_lower_value given;

    if (!lw_named_given(c, i) || lw_named_is_none(c, i))
        return false;
    given = lw_lower_argument(c->f, c->node, i);
    return lw_type_kind_of(c->f->l->types, given.type) != LW_TK_LITERAL ||
           !lw_is_integer(c->dtype) || lw_literal_fits(c->f->l->types, given.type, c->dtype);
}

/* minimum(maximum(x, low), high); a bound may be None or left out. */
static lw_lower_value
lower_clip(const lw_named_call *c)
{
    lw_ref x;

    if (lw_is_complex(c->dtype)) {
        lw_complex z = lw_named_complex(c, 0);
        for (uint32_t i = 1; i <= 2; i++)
            if (lw_named_given(c, i) && !lw_named_is_none(c, i))
                z = lw_complex_extremum(c->b, i == 1 ? LW_OP_GE : LW_OP_LE, true, z,
                                        lw_named_complex(c, i));
        return lw_named_complex_result(c, z);
    }
    x = lw_named_scalar(c, 0);
    if (has_bound(c, 1))
        x = lw_num_maximum(c->b, x, clip_bound(c, 1));
    if (has_bound(c, 2))
        x = lw_num_minimum(c->b, x, clip_bound(c, 2));
    return lw_named_result(c, x);
}

static lw_lower_value
lower_logical(const lw_named_call *c)
{
    lw_ref x = lw_value_truth(c->f, lw_lower_argument(c->f, c->node, 0));
    lw_ref y = lw_value_truth(c->f, lw_lower_argument(c->f, c->node, 1));

    switch (c->impl) {
    case LW_IMPL_LOGICAL_AND: return lw_named_result(c, lw_ir_and(c->b, x, y));
    case LW_IMPL_LOGICAL_OR: return lw_named_result(c, lw_ir_or(c->b, x, y));
    default: return lw_named_result(c, lw_ir_xor(c->b, x, y));
    }
}

static lw_lower_value
lower_where(const lw_named_call *c)
{
    lw_ref condition = lw_value_truth(c->f, lw_lower_argument(c->f, c->node, 0));
    lw_lower_value yes = lw_lower_argument_as(c->f, c->node, 1, c->type);
    lw_lower_value no = lw_lower_argument_as(c->f, c->node, 2, c->type);

    return lw_value_select(c->f, condition, yes, no);
}

static lw_lower_value
lower_abs(const lw_named_call *c)
{
    if (lw_is_complex(c->dtype))
        return lw_named_result(c, lw_complex_abs(c->b, lw_named_complex(c, 0)));
    lw_ref x = lw_named_scalar(c, 0);
    if (lw_lower_checks_overflow(c->f, lw_ir_type(c->b, x)))
        lw_lower_check_overflow(c->f, lw_int_abs_overflows(c->b, x));
    return lw_named_result(c, lw_num_abs(c->b, x));
}

static lw_lower_value
lower_complex_unary(const lw_named_call *c)
{
    lw_complex x = lw_named_complex(c, 0);

    switch (c->impl) {
    case LW_IMPL_CONJUGATE: return lw_named_complex_result(c, lw_complex_conjugate(c->b, x));
    case LW_IMPL_SQUARE: return lw_named_complex_result(c, lw_complex_mul(c->b, x, x));
    case LW_IMPL_RECIPROCAL: return lw_named_complex_result(c, lw_complex_reciprocal(c->b, x));
    case LW_IMPL_SIGN: return lw_named_complex_result(c, lw_complex_sign(c->b, x));
    default: return lw_named_complex_result(c, lw_complex_sinc(c->b, x));
    }
}

static lw_lower_value
lower_square(const lw_named_call *c, lw_ref x)
{
    lw_ref made;

    if (lw_ir_type(c->b, x) == LW_DT_b1)
        return lw_named_result(c, x);
    made = lw_ir_mul(c->b, x, x);
    if (lw_lower_checks_overflow(c->f, lw_ir_type(c->b, x)))
        lw_lower_check_overflow(c->f, lw_int_overflows(c->b, LW_PY_MUL, x, x, made));
    return lw_named_result(c, made);
}

static lw_lower_value
lower_numpy_unary(const lw_named_call *c)
{
    if (lw_is_complex(c->dtype))
        return lower_complex_unary(c);
    lw_ref x = lw_named_scalar(c, 0);
    switch (c->impl) {
    case LW_IMPL_CONJUGATE: return lw_named_result(c, x);
    case LW_IMPL_SQUARE: return lower_square(c, x);
    case LW_IMPL_RECIPROCAL: return lw_named_result(c, lw_num_reciprocal(c->b, x));
    case LW_IMPL_SIGN: return lw_named_result(c, lw_num_sign(c->b, x));
    case LW_IMPL_SINC: return lw_named_result(c, lw_float_sinc(c->b, x));
    case LW_IMPL_SPACING: return lw_named_result(c, lw_float_spacing(c->b, x));
    case LW_IMPL_ULP: return lw_named_result(c, lw_float_ulp(c->b, x));
    case LW_IMPL_DEGREES:
        return lw_named_result(c, lw_float_scale(c->b, x, 57.29577951308232087680));
    case LW_IMPL_RADIANS:
        return lw_named_result(c, lw_float_scale(c->b, x, 0.017453292519943295769));
    case LW_IMPL_BIT_LENGTH: return lw_named_result(c, lw_int_bit_length(c->b, x));
    default:
        return lw_named_result(c, lw_ir_type(c->b, x) == LW_DT_b1
                                      ? lw_ir_cast(c->b, LW_DT_u8, x)
                                      : lw_int_popcount(c->b, x));
    }
}

static lw_lower_value
lower_float_binary(const lw_named_call *c)
{
    lw_ref x = lw_named_scalar(c, 0), y = lw_named_scalar(c, 1);

    switch (c->impl) {
    case LW_IMPL_LOGADDEXP: return lw_named_result(c, lw_float_logaddexp(c->b, x, y));
    case LW_IMPL_LOGADDEXP2: return lw_named_result(c, lw_float_logaddexp2(c->b, x, y));
    case LW_IMPL_HEAVISIDE: return lw_named_result(c, lw_float_heaviside(c->b, x, y));
    case LW_IMPL_NEXTAFTER: return lw_named_result(c, lw_float_nextafter(c->b, x, y));
    case LW_IMPL_RECT: return lw_named_complex_result(c, lw_complex_rect(c->b, x, y));
    default: return lw_named_result(c, lw_float_fma(c->b, x, y, lw_named_scalar(c, 2)));
    }
}

/* ---- operators as functions ---- */

static lw_lower_value
lower_operator(const lw_named_call *c, lw_pyop op)
{
    bool joined =
        c->operand == LW_T_BOTTOM || lw_type_kind_of(c->f->l->types, c->operand) == LW_TK_TUPLE;
    lw_lower_value x = joined ? lw_lower_argument(c->f, c->node, 0) : lw_named_argument(c, 0),
                   y;

    if (op == LW_PY_NOT || op == LW_PY_NEG || op == LW_PY_POS || op == LW_PY_INVERT)
        return lw_lower_unary(c->f, op, x, c->type);
    bool own = joined || lw_is_shift(op) ||
               (op == LW_PY_POW && lw_type_is_integer(c->f->l->types, c->operand));
    y = own ? lw_lower_argument(c->f, c->node, 1) : lw_named_argument(c, 1);
    if (op == LW_PY_POW && own)
        lw_lower_check_sign(c->f, op, y, c->operand);
    if (op >= LW_PY_EQ && op <= LW_PY_GE)
        return lw_named_result(c, lw_lower_compare(c->f, op, x, y, c->operand));
    return lw_lower_binary(c->f, op, x, y, c->type);
}

/* ---- entry points ---- */

static lw_lower_value
lower_by_impl(const lw_named_call *c)
{
    switch (c->impl) {
    case LW_IMPL_LOG: return lower_log(c);
    case LW_IMPL_HYPOT: return lower_hypot(c);
    case LW_IMPL_DIV_NORMAL: return lower_div_normal(c);
    case LW_IMPL_ISNAN:
    case LW_IMPL_ISINF:
    case LW_IMPL_ISFINITE: return lower_test(c);
    case LW_IMPL_ISINTEGER: return lower_is_integer(c);
    case LW_IMPL_SIGNBIT: return lower_signbit(c);
    case LW_IMPL_ISCLOSE: return lower_isclose(c);
    case LW_IMPL_FLOOR:
    case LW_IMPL_CEIL:
    case LW_IMPL_TRUNC:
    case LW_IMPL_RINT:
    case LW_IMPL_FLOOR_INT:
    case LW_IMPL_CEIL_INT:
    case LW_IMPL_TRUNC_INT: return lower_rounding(c);
    case LW_IMPL_ROUND:
    case LW_IMPL_ROUND_DECIMALS: return lower_round(c);
    case LW_IMPL_FREXP: return lower_frexp(c);
    case LW_IMPL_MODF: return lower_modf(c);
    case LW_IMPL_DIVMOD: return lower_divmod(c);
    case LW_IMPL_LDEXP: return lower_ldexp(c);
    case LW_IMPL_REAL:
    case LW_IMPL_IMAG: return lower_complex_part(c);
    case LW_IMPL_ANGLE:
    case LW_IMPL_POLAR: return lower_polar(c);
    case LW_IMPL_TO_COMPLEX: return lower_to_complex(c);
    case LW_IMPL_TO_INT:
    case LW_IMPL_TO_FLOAT:
    case LW_IMPL_TO_BOOL: return lower_convert(c);
    case LW_IMPL_MIN:
    case LW_IMPL_MAX: return lw_named_min_max(c);
    case LW_IMPL_LEN: return lw_named_len(c);
    case LW_IMPL_SUM: return lw_named_sum(c);
    case LW_IMPL_ANY:
    case LW_IMPL_ALL: return lw_named_any_all(c);
    case LW_IMPL_GCD:
    case LW_IMPL_LCM: return lw_named_gcd_lcm(c);
    case LW_IMPL_ISQRT:
    case LW_IMPL_FACTORIAL:
    case LW_IMPL_COMB:
    case LW_IMPL_PERM: return lower_counting(c);
    case LW_IMPL_MAXIMUM:
    case LW_IMPL_MINIMUM:
    case LW_IMPL_FMAX:
    case LW_IMPL_FMIN: return lower_extremum(c);
    case LW_IMPL_CLIP: return lower_clip(c);
    case LW_IMPL_LOGICAL_AND:
    case LW_IMPL_LOGICAL_OR:
    case LW_IMPL_LOGICAL_XOR: return lower_logical(c);
    case LW_IMPL_WHERE: return lower_where(c);
    case LW_IMPL_ABS: return lower_abs(c);
    case LW_IMPL_PRINT: return lw_lower_print(c->f, c->node);
    case LW_IMPL_OVERLAPS:
    case LW_IMPL_IN_ORDER:
    case LW_IMPL_IN_FRONT:
    case LW_IMPL_MEET: return lw_lower_overlap(c->f, c->node, c->impl);
    case LW_IMPL_CONJUGATE:
    case LW_IMPL_SQUARE:
    case LW_IMPL_RECIPROCAL:
    case LW_IMPL_SIGN:
    case LW_IMPL_SINC:
    case LW_IMPL_SPACING:
    case LW_IMPL_ULP:
    case LW_IMPL_DEGREES:
    case LW_IMPL_RADIANS:
    case LW_IMPL_BIT_LENGTH:
    case LW_IMPL_BITWISE_COUNT: return lower_numpy_unary(c);
    case LW_IMPL_LOGADDEXP:
    case LW_IMPL_LOGADDEXP2:
    case LW_IMPL_HEAVISIDE:
    case LW_IMPL_NEXTAFTER:
    case LW_IMPL_RECT:
    case LW_IMPL_FMA: return lower_float_binary(c);
    case LW_IMPL_RANGE:
    case LW_IMPL_ZIP:
    case LW_IMPL_NDINDEX:
    case LW_IMPL_NDENUMERATE:
    case LW_IMPL_ENUMERATE:
    case LW_IMPL_REVERSED:
        return lw_type_kind_of(c->f->l->types, c->type) == LW_TK_RANGE
                   ? lw_iterator_value(c->f, c->node)
                   : lw_named_written_out(c);
    default: return lw_named_fail(c);
    }
}

static lw_named_call
describe(lw_lower_frame *f, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    lw_named_call c = {.f = f,
                       .b = &f->b,
                       .node = node,
                       .impl = lw_names[t->target].impl,
                       .operand = t->operand,
                       .type = t->type,
                       .n_args = t->n_args};

    if (lw_parts_of(f->l->types, c.operand) > 0)
        c.dtype = lw_type_stored(f->l->types, c.operand);
    return c;
}

/* Functions whose result may be NaN although no argument is. Operators are checked where they
 * are lowered. */
static bool
makes_nan(lw_impl impl)
{
    switch (impl) {
    case LW_IMPL_HYPOT:
    case LW_IMPL_DIVMOD:
    case LW_IMPL_SQUARE:
    case LW_IMPL_RECIPROCAL:
    case LW_IMPL_SINC:
    case LW_IMPL_LOGADDEXP:
    case LW_IMPL_LOGADDEXP2:
    case LW_IMPL_RECT:
    case LW_IMPL_FMA: return true;
    default: return simple[impl].known;
    }
}

lw_lower_value
lw_lower_named(lw_lower_frame *f, uint32_t node)
{
    lw_named_call c = describe(f, node);
    lw_pyop op = lw_impl_operator(c.impl);
    lw_ref had_nan = 0;
    lw_lower_value made;

    if (lw_is_kernel_rule(lw_names[lw_typed_at(f, node)->target].rule))
        return lw_lower_kernel(f, node);
    if (lw_type_is_time(c.operand))
        return lw_lower_time_named(f, node);
    if (op != LW_PY_NONE)
        return lower_operator(&c, op);
    c.had_nan = lw_lower_checks_nan(f) && makes_nan(c.impl) ? &had_nan : NULL;
    made = simple[c.impl].known && c.impl != LW_IMPL_LOG ? lower_simple(&c) : lower_by_impl(&c);
    if (c.had_nan != NULL)
        lw_lower_check_nan(f, had_nan, made);
    return made;
}

/* ---- cost ---- */

/* Functions that loop inside, or that call the host's library for one number at a time. */
static uint32_t
cost_of_impl(const lw_named_call *c)
{
    bool integer = lw_is_integer(c->dtype) || c->dtype == LW_DT_b1;

    switch (c->impl) {
    case LW_IMPL_GCD:
    case LW_IMPL_LCM:
    case LW_IMPL_FACTORIAL:
    case LW_IMPL_COMB:
    case LW_IMPL_PERM:
    case LW_IMPL_OVERLAPS:
    case LW_IMPL_IN_ORDER:
    case LW_IMPL_MEET:
    case LW_IMPL_PRINT: return LW_COST_NEVER;
    case LW_IMPL_POW: return integer || lw_is_complex(c->dtype) ? LW_COST_NEVER : 24;
    case LW_IMPL_TGAMMA:
    case LW_IMPL_LGAMMA:
    case LW_IMPL_IEEE_REMAINDER:
    case LW_IMPL_LDEXP: return 40;
    case LW_IMPL_FMOD:
    case LW_IMPL_FLOORDIV:
    case LW_IMPL_MOD:
    case LW_IMPL_DIVMOD: return integer ? 12 : 40;
    case LW_IMPL_FABS:
    case LW_IMPL_COPYSIGN: return 1;
    case LW_IMPL_SQRT: return 6;
    default: return simple[c->impl].known || c->impl == LW_IMPL_HYPOT ? 14 : 4;
    }
}

uint32_t
lw_cost_named(const lw_lower_frame *f, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    lw_named_call c = {.impl = lw_names[t->target].impl};
    uint32_t cost;

    if (lw_is_kernel_rule(lw_names[t->target].rule))
        return lw_cost_kernel(lw_names[t->target].rule);
    if (lw_parts_of(f->l->types, t->operand) > 0)
        c.dtype = lw_type_stored(f->l->types, t->operand);
    if (f->can_raise && f->l->typed->options.checks)
        return LW_COST_NEVER;
    cost = cost_of_impl(&c);
    return cost < LW_COST_NEVER && lw_is_complex(c.dtype) ? 6 * cost : cost;
}
