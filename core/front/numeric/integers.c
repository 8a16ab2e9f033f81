/* Integer operations as IR; integers.h says what they mean. The raw DIV, REM, SHL and SHR
 * receive only operands for which all machines agree; the results for other operands are
 * selected afterwards. */
#include "core/front/numeric/integers.h"

#include "core/front/numeric/overflow.h"
#include "core/tables/intrinsics.h"
#include "core/front/numeric/numeric_internal.h"

#include <stdio.h>

static unsigned
width_of(lw_dtype type)
{
    return lw_dtypes[type].bits;
}

static lw_dtype
integer_of(lw_dtype type, bool is_signed)
{
    switch (width_of(type)) {
    case 8: return is_signed ? LW_DT_i8 : LW_DT_u8;
    case 16: return is_signed ? LW_DT_i16 : LW_DT_u16;
    case 32: return is_signed ? LW_DT_i32 : LW_DT_u32;
    default: return is_signed ? LW_DT_i64 : LW_DT_u64;
    }
}

lw_dtype
lw_unsigned_of(lw_dtype type)
{
    return integer_of(type, false);
}

lw_dtype
lw_signed_of(lw_dtype type)
{
    return integer_of(type, true);
}

/* ---- helper functions ---- */

bool
lw_helper_begin(lw_builder *helper, lw_module *module, const char *stem, lw_dtype type,
                uint32_t *number)
{
    char name[64];

    snprintf(name, sizeof name, "%s_%s", stem, lw_dtypes[type].name);
    *number = lw_ir_find(module, name);
    if (*number != UINT32_MAX)
        return false;
    *helper = (lw_builder){0};
    lw_builder_start(helper, module, name);
    *number = helper->func_number;
    return true;
}

void
lw_helper_end(lw_builder *helper)
{
    if (lw_ir_finish(helper, NULL) != LW_OK)
        helper->module->failed = true;
}

/* ---- division ---- */

static lw_ref
is_zero(lw_builder *b, lw_ref x)
{
    return lw_ir_compare(b, LW_OP_EQ, x, lw_ir_zero(b, lw_ir_type(b, x)));
}

static lw_ref
minimum_of(lw_builder *b, lw_dtype type)
{
    return lw_ir_int(b, type, (int64_t)(UINT64_MAX << (width_of(type) - 1)));
}

/* y where x / y is defined, else 1: MIN / 1 and MIN % 1 are the results that MIN // -1 and MIN
 * % -1 must have. */
static lw_ref
safe_divisor(lw_builder *b, lw_ref x, lw_ref y)
{
    lw_dtype type = lw_ir_type(b, y);
    bool is_signed = lw_is_signed(type);
    uint64_t bits;

    if (lw_ir_is_const(b, y, &bits) && bits != 0 && !(is_signed && (int64_t)bits == -1))
        return y;
    lw_ref bad = is_zero(b, y);
    if (is_signed) {
        lw_ref minus_one = lw_ir_compare(b, LW_OP_EQ, y, lw_ir_int(b, type, -1));
        lw_ref lowest = lw_ir_compare(b, LW_OP_EQ, x, minimum_of(b, type));
        bad = lw_ir_or(b, bad, lw_ir_and(b, minus_one, lowest));
    }
    return lw_ir_select(b, bad, lw_ir_int(b, type, 1), y);
}

/* log2 of a constant power of two; -1: it is not one. */
static int
power_of_two(lw_builder *b, lw_ref y)
{
    uint64_t bits;

    if (!lw_ir_is_const(b, y, &bits) || (bits & (bits - 1)) != 0 || bits == 0)
        return -1;
    if (lw_is_signed(lw_ir_type(b, y)) && (int64_t)bits < 0)
        return -1;
    return __builtin_ctzll(bits);
}

static void
divmod_by_shift(lw_builder *b, lw_ref x, int shift, lw_ref *quotient, lw_ref *rest)
{
    lw_dtype type = lw_ir_type(b, x);

    if (quotient)
        *quotient = shift == 0 ? x : lw_ir_shr(b, x, lw_ir_int(b, type, shift));
    if (rest)
        *rest = lw_ir_and(b, x, lw_ir_int(b, type, (int64_t)((1ULL << shift) - 1)));
}

void
lw_int_divmod(lw_builder *b, lw_ref x, lw_ref y, lw_ref *quotient, lw_ref *rest)
{
    assert(lw_holds_integer(b, x) && lw_same_type(b, x, y));
    lw_dtype type = lw_ir_type(b, x);
    int shift = power_of_two(b, y);

    if (shift >= 0) {
        divmod_by_shift(b, x, shift, quotient, rest);
        return;
    }
    lw_ref divisor = safe_divisor(b, x, y), zero = lw_ir_zero(b, type);
    lw_ref q = quotient ? lw_ir_div(b, x, divisor) : 0;
    lw_ref r = lw_is_signed(type) || rest ? lw_ir_rem(b, x, divisor) : 0;
    if (lw_is_signed(type)) {
        lw_ref signs_differ = lw_ir_compare(b, LW_OP_LT, lw_ir_xor(b, r, divisor), zero);
        lw_ref floors = lw_ir_and(b, lw_ir_compare(b, LW_OP_NE, r, zero), signs_differ);
        if (quotient)
            q = lw_ir_select(b, floors, lw_ir_sub(b, q, lw_ir_int(b, type, 1)), q);
        if (rest)
            r = lw_ir_select(b, floors, lw_ir_add(b, r, divisor), r);
    }
    if (quotient)
        *quotient = divisor == y ? q : lw_ir_select(b, is_zero(b, y), zero, q);
    if (rest)
        *rest = r; /* x % 1 = 0 where y is 0 */
}

lw_ref
lw_int_floordiv(lw_builder *b, lw_ref x, lw_ref y)
{
    lw_ref quotient = 0;

    lw_int_divmod(b, x, y, &quotient, NULL);
    return quotient;
}

lw_ref
lw_int_fmod(lw_builder *b, lw_ref x, lw_ref y)
{
    assert(lw_holds_integer(b, x) && lw_same_type(b, x, y));
    return lw_ir_rem(b, x, safe_divisor(b, x, y));
}

lw_ref
lw_int_reciprocal(lw_builder *b, lw_ref x)
{
    assert(lw_holds_integer(b, x));
    lw_dtype type = lw_ir_type(b, x);
    lw_ref unit = lw_ir_compare(b, LW_OP_EQ, x, lw_ir_int(b, type, 1));

    if (lw_is_signed(type))
        unit = lw_ir_or(b, unit, lw_ir_compare(b, LW_OP_EQ, x, lw_ir_int(b, type, -1)));
    return lw_ir_select(b, unit, x, lw_ir_zero(b, type));
}

/* ---- shifts ---- */

/* The count in the type of x if it is in 0 … width-1, else `otherwise`; *inside: which. */
static lw_ref
safe_count(lw_builder *b, lw_ref x, lw_ref count, int64_t otherwise, lw_ref *inside)
{
    lw_dtype type = lw_ir_type(b, x), given = lw_ir_type(b, count);

    if (given == LW_DT_b1)
        given = LW_DT_u8;
    lw_ref natural = lw_ir_cast(b, lw_unsigned_of(given), lw_ir_cast(b, given, count));
    lw_ref width = lw_ir_int(b, lw_unsigned_of(given), width_of(type));
    *inside = lw_ir_compare(b, LW_OP_LT, natural, width);
    return lw_ir_select(b, *inside, lw_ir_cast(b, type, natural),
                        lw_ir_int(b, type, otherwise));
}

/* A constant count below the width, in the type that the shift needs; 0: it is not one. */
static lw_ref
constant_count(lw_builder *b, lw_ref x, lw_ref count)
{
    lw_dtype type = lw_ir_type(b, x);
    uint64_t bits;

    if (!lw_ir_is_const(b, count, &bits) || bits >= width_of(type))
        return 0;
    return lw_ir_int(b, type, (int64_t)bits);
}

lw_ref
lw_int_shl(lw_builder *b, lw_ref x, lw_ref count)
{
    assert(lw_holds_integer(b, x) && lw_holds_integer(b, count));
    lw_ref constant = constant_count(b, x, count), inside;

    if (constant)
        return lw_ir_shl(b, x, constant);
    lw_ref safe = safe_count(b, x, count, 0, &inside);
    return lw_ir_select(b, inside, lw_ir_shl(b, x, safe), lw_ir_zero(b, lw_ir_type(b, x)));
}

lw_ref
lw_int_shr(lw_builder *b, lw_ref x, lw_ref count)
{
    assert(lw_holds_integer(b, x) && lw_holds_integer(b, count));
    lw_dtype type = lw_ir_type(b, x);
    lw_ref constant = constant_count(b, x, count), inside;

    if (constant)
        return lw_ir_shr(b, x, constant);
    lw_ref safe = safe_count(b, x, count, width_of(type) - 1, &inside);
    lw_ref shifted = lw_ir_shr(b, x, safe);
    return lw_is_signed(type) ? shifted : lw_ir_select(b, inside, shifted, lw_ir_zero(b, type));
}

/* ---- power ---- */

static lw_ref
power_unrolled(lw_builder *b, lw_ref x, uint64_t n)
{
    lw_ref result = 0, square = x;

    for (; n; n >>= 1) {
        if (n & 1)
            result = result ? lw_ir_mul(b, result, square) : square;
        if (n > 1)
            square = lw_ir_mul(b, square, square);
    }
    return result ? result : lw_ir_int(b, lw_ir_type(b, x), 1);
}

/* x**n for n < 0: x for odd n when x is 1 or -1, x*x for even n, else 0. */
static lw_ref
power_negative(lw_builder *b, lw_ref x, lw_ref odd)
{
    lw_ref unit = lw_int_reciprocal(b, x);

    return lw_ir_select(b, odd, unit, lw_ir_mul(b, unit, unit));
}

/* Square and multiply; the loop ends when no bit of the exponent is left. */
static uint32_t
power_helper(lw_module *module, lw_dtype type)
{
    lw_builder h, *b = &h;
    uint32_t number;

    if (!lw_helper_begin(b, module, "lw_int_power", type, &number))
        return number;
    lw_ref x = lw_ir_param_add(b, type, 0, "x"), n = lw_ir_param_add(b, type, 0, "n");
    lw_ir_result_add(b, type);
    lw_ref zero = lw_ir_zero(b, type), one = lw_ir_int(b, type, 1);
    lw_ref result = lw_ir_slot(b, type), square = lw_ir_slot(b, type),
           left = lw_ir_slot(b, type);
    lw_ir_set(b, result, one);
    lw_ir_set(b, square, x);
    lw_ir_set(b, left, n);
    lw_ir_loop(b, LW_LOOP_NO_VECTORIZE);
    lw_ref bits = lw_ir_get(b, left), factor = lw_ir_get(b, square),
           so_far = lw_ir_get(b, result);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LE, bits, zero));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    lw_ref odd = lw_ir_compare(b, LW_OP_NE, lw_ir_and(b, bits, one), zero);
    lw_ir_set(b, result, lw_ir_select(b, odd, lw_ir_mul(b, so_far, factor), so_far));
    lw_ir_set(b, square, lw_ir_mul(b, factor, factor));
    lw_ir_set(b, left, lw_ir_shr(b, bits, one));
    lw_ir_latch(b);
    lw_ir_end(b);
    lw_ref value = lw_ir_get(b, result);
    if (lw_is_signed(type)) {
        odd = lw_ir_compare(b, LW_OP_NE, lw_ir_and(b, n, one), zero);
        value = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, n, zero), power_negative(b, x, odd),
                             value);
    }
    lw_ir_return(b, &value, 1);
    lw_helper_end(b);
    return number;
}

lw_ref
lw_int_power(lw_builder *b, lw_ref x, lw_ref exponent)
{
    assert(lw_holds_integer(b, x) && lw_holds_integer(b, exponent));
    lw_dtype type = lw_ir_type(b, x);
    uint64_t bits, base;

    if (lw_ir_is_const(b, exponent, &bits)) {
        if (lw_is_signed(lw_ir_type(b, exponent)) && (int64_t)bits < 0)
            return power_negative(b, x, lw_ir_int(b, LW_DT_b1, (int64_t)(bits & 1)));
        return power_unrolled(b, x, bits);
    }
    if (lw_ir_is_const(b, x, &base) && base == 2)
        return lw_int_shl(b, lw_ir_int(b, type, 1), exponent);
    lw_ref args[2] = {x, lw_ir_cast(b, type, exponent)};
    uint32_t helper = power_helper(b->module, type);
    return lw_ir_result(b, lw_ir_call(b, helper, args, 2), 0);
}

/* ---- sign and size ---- */

lw_ref
lw_int_abs(lw_builder *b, lw_ref x)
{
    assert(lw_holds_integer(b, x));
    lw_dtype type = lw_ir_type(b, x);

    if (!lw_is_signed(type))
        return x;
    lw_ref negative = lw_ir_compare(b, LW_OP_LT, x, lw_ir_zero(b, type));
    return lw_ir_select(b, negative, lw_ir_neg(b, x), x);
}

lw_ref
lw_int_sign(lw_builder *b, lw_ref x)
{
    assert(lw_holds_integer(b, x));
    lw_dtype type = lw_ir_type(b, x);
    lw_ref zero = lw_ir_zero(b, type), one = lw_ir_int(b, type, 1);
    lw_ref positive = lw_ir_select(b, lw_ir_compare(b, LW_OP_GT, x, zero), one, zero);

    if (!lw_is_signed(type))
        return positive;
    return lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, x, zero), lw_ir_int(b, type, -1),
                        positive);
}

static lw_ref
magnitude(lw_builder *b, lw_ref x)
{
    return lw_ir_cast(b, lw_unsigned_of(lw_ir_type(b, x)), lw_int_abs(b, x));
}

/* Euclid's algorithm on unsigned numbers; the divisor is never 0. */
static uint32_t
gcd_helper(lw_module *module, lw_dtype type)
{
    lw_builder h, *b = &h;
    uint32_t number;

    if (!lw_helper_begin(b, module, "lw_int_gcd", type, &number))
        return number;
    lw_ref x = lw_ir_param_add(b, type, 0, "x"), y = lw_ir_param_add(b, type, 0, "y");
    lw_ir_result_add(b, type);
    lw_ref large = lw_ir_slot(b, type), small = lw_ir_slot(b, type);
    lw_ir_set(b, large, x);
    lw_ir_set(b, small, y);
    lw_ir_loop(b, LW_LOOP_NO_VECTORIZE);
    lw_ref divisor = lw_ir_get(b, small), number_left = lw_ir_get(b, large);
    lw_ir_if(b, is_zero(b, divisor));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    lw_ir_set(b, large, divisor);
    lw_ir_set(b, small, lw_ir_rem(b, number_left, divisor));
    lw_ir_latch(b);
    lw_ir_end(b);
    lw_ref value = lw_ir_get(b, large);
    lw_ir_return(b, &value, 1);
    lw_helper_end(b);
    return number;
}

lw_ref
lw_int_gcd(lw_builder *b, lw_ref x, lw_ref y)
{
    assert(lw_holds_integer(b, x) && lw_same_type(b, x, y));
    lw_dtype type = lw_ir_type(b, x);
    lw_ref args[2] = {magnitude(b, x), magnitude(b, y)};
    uint32_t helper = gcd_helper(b->module, lw_unsigned_of(type));

    return lw_ir_cast(b, type, lw_ir_result(b, lw_ir_call(b, helper, args, 2), 0));
}

lw_ref
lw_int_lcm(lw_builder *b, lw_ref x, lw_ref y)
{
    assert(lw_holds_integer(b, x) && lw_same_type(b, x, y));
    lw_dtype type = lw_ir_type(b, x);
    lw_ref divisor = lw_ir_cast(b, lw_unsigned_of(type), lw_int_gcd(b, x, y));
    lw_ref times = lw_int_floordiv(b, magnitude(b, x), divisor); /* 0 // 0 = 0 */

    return lw_ir_cast(b, type, lw_ir_mul(b, times, magnitude(b, y)));
}

/* The float64 root is off by at most one, which is corrected in integers. 2**32 - 1 is the
 * largest root. */
lw_ref
lw_int_isqrt(lw_builder *b, lw_ref x)
{
    assert(lw_holds_integer(b, x));
    lw_dtype type = lw_ir_type(b, x);
    lw_ref zero = lw_ir_zero(b, type), one = lw_ir_int(b, LW_DT_u64, 1);
    lw_ref natural = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, x, zero), zero, x);
    lw_ref v = lw_ir_cast(b, LW_DT_u64, natural), limit = lw_ir_int(b, LW_DT_u64, UINT32_MAX);
    lw_ref as_float = lw_ir_cast(b, LW_DT_f64, v);
    lw_ref root = lw_ir_intrinsic(b, LW_IN_sqrt, LW_DT_f64, &as_float, 1);
    lw_ref r = lw_ir_cast(b, LW_DT_u64, root);

    r = lw_ir_select(b, lw_ir_compare(b, LW_OP_GT, r, limit), limit, r);
    lw_ref above = lw_ir_compare(b, LW_OP_GT, lw_ir_mul(b, r, r), v);
    r = lw_ir_select(b, above, lw_ir_sub(b, r, one), r);
    lw_ref next = lw_ir_add(b, r, one);
    lw_ref fits = lw_ir_compare(b, LW_OP_LE, lw_ir_mul(b, next, next), v);
    fits = lw_ir_and(b, fits, lw_ir_compare(b, LW_OP_LE, next, limit));
    return lw_ir_cast(b, type, lw_ir_select(b, fits, next, r));
}

/* ---- products ---- */

/* Multiply two positive numbers in the slots of a loop, and record when the product wraps. */
static void
multiply(lw_builder *b, lw_ref result, lw_ref wraps, lw_ref x, lw_ref y)
{
    lw_ref product = lw_ir_mul(b, x, y), over = lw_int_product_overflows(b, x, y, product);

    lw_ir_set(b, result, product);
    lw_ir_set(b, wraps, lw_ir_or(b, lw_ir_get(b, wraps), over));
}

static void
return_counted(lw_builder *b, lw_ref result, lw_ref wraps)
{
    lw_ref values[2] = {lw_ir_get(b, result), lw_ir_get(b, wraps)};

    lw_ir_return(b, values, 2);
    lw_helper_end(b);
}

/* n (n-1) … (n-k+1) for 0 <= k: the falling factorial, which may end early. 66 factors make any
 * product of consecutive numbers 0 modulo 2**64. */
static uint32_t
falling_helper(lw_module *module, lw_dtype type)
{
    lw_builder h, *b = &h;
    uint32_t number;

    if (!lw_helper_begin(b, module, "lw_int_falling", type, &number))
        return number;
    lw_ref n = lw_ir_param_add(b, type, 0, "n"), k = lw_ir_param_add(b, type, 0, "k");
    lw_ir_result_add(b, type);
    lw_ir_result_add(b, LW_DT_b1);
    lw_ref limit = lw_ir_int(b, type, 66), one = lw_ir_int(b, type, 1);
    lw_ref result = lw_ir_slot(b, type), wraps = lw_ir_slot(b, LW_DT_b1);
    lw_ir_set(b, result, one);
    lw_ir_set(b, wraps, lw_ir_int(b, LW_DT_b1, 0));
    lw_ref iterations = lw_ir_smaller(b, k, limit);
    lw_for loop = lw_ir_for(b, lw_ir_zero(b, type), iterations, one, LW_LOOP_NO_VECTORIZE);
    multiply(b, result, wraps, lw_ir_get(b, result), lw_ir_sub(b, n, loop.i));
    lw_ir_for_end(b, &loop);
    return_counted(b, result, wraps);
    return number;
}

/* The value of a helper that counts, 0 where `wrong`; *wraps: whether it does not fit. */
static lw_ref
counted(lw_builder *b, uint32_t helper, const lw_ref *args, lw_ref wrong, lw_ref *wraps)
{
    lw_ref call = lw_ir_call(b, helper, args, 2), value = lw_ir_result(b, call, 0);

    if (wraps != NULL)
        *wraps = lw_ir_and(b, lw_ir_result(b, call, 1), lw_ir_not(b, wrong));
    return lw_ir_select(b, wrong, lw_ir_zero(b, lw_ir_type(b, value)), value);
}

lw_ref
lw_int_factorial(lw_builder *b, lw_ref x, lw_ref *wraps)
{
    assert(lw_holds_integer(b, x));
    lw_ref wide = lw_ir_cast(b, LW_DT_i64, x), args[2] = {wide, wide};
    lw_ref negative = lw_ir_compare(b, LW_OP_LT, wide, lw_ir_zero(b, LW_DT_i64));
    lw_ref value = counted(b, falling_helper(b->module, LW_DT_i64), args, negative, wraps);

    return lw_ir_cast(b, lw_ir_type(b, x), value);
}

static lw_ref
outside(lw_builder *b, lw_ref n, lw_ref k)
{
    lw_ref zero = lw_ir_zero(b, lw_ir_type(b, n));
    lw_ref negative =
        lw_ir_or(b, lw_ir_compare(b, LW_OP_LT, n, zero), lw_ir_compare(b, LW_OP_LT, k, zero));

    return lw_ir_or(b, negative, lw_ir_compare(b, LW_OP_GT, k, n));
}

lw_ref
lw_int_perm(lw_builder *b, lw_ref n, lw_ref k, lw_ref *wraps)
{
    assert(lw_holds_integer(b, n) && lw_same_type(b, n, k));
    lw_ref args[2] = {n, k};

    return counted(b, falling_helper(b->module, lw_ir_type(b, n)), args, outside(b, n, k),
                   wraps);
}

/* c(n, j+1) = c(n, j) (n-j) / (j+1), divided by g = gcd first, so that the division is exact
 * and no intermediate value is larger than the result. */
static uint32_t
comb_helper(lw_module *module, lw_dtype type)
{
    lw_builder h, *b = &h;
    uint32_t number;

    if (!lw_helper_begin(b, module, "lw_int_comb", type, &number))
        return number;
    lw_ref n = lw_ir_param_add(b, type, 0, "n"), k = lw_ir_param_add(b, type, 0, "k");
    lw_ir_result_add(b, type);
    lw_ir_result_add(b, LW_DT_b1);
    lw_ref one = lw_ir_int(b, type, 1), other = lw_ir_sub(b, n, k);
    lw_ref fewer = lw_ir_smaller(b, other, k);
    lw_ref result = lw_ir_slot(b, type), wraps = lw_ir_slot(b, LW_DT_b1);
    lw_ir_set(b, result, one);
    lw_ir_set(b, wraps, lw_ir_int(b, LW_DT_b1, 0));
    lw_for loop = lw_ir_for(b, lw_ir_zero(b, type), fewer, one, LW_LOOP_NO_VECTORIZE);
    lw_ref so_far = lw_ir_get(b, result), factor = lw_ir_sub(b, n, loop.i);
    lw_ref divisor = lw_ir_add(b, loop.i, one), common = lw_int_gcd(b, so_far, divisor);
    lw_ref rest = lw_int_floordiv(b, divisor, common);
    so_far = lw_int_floordiv(b, so_far, common);
    multiply(b, result, wraps, so_far, lw_int_floordiv(b, factor, rest));
    lw_ir_if(b, lw_ir_get(b, wraps)); /* all coefficients after it are 0 */
    lw_ir_break(b, 0);
    lw_ir_end(b);
    lw_ir_for_end(b, &loop);
    return_counted(b, result, wraps);
    return number;
}

lw_ref
lw_int_comb(lw_builder *b, lw_ref n, lw_ref k, lw_ref *wraps)
{
    assert(lw_holds_integer(b, n) && lw_same_type(b, n, k));
    lw_dtype type = lw_ir_type(b, n);
    lw_ref wrong = outside(b, n, k),
           args[2] = {n, lw_ir_select(b, wrong, lw_ir_zero(b, type), k)};

    return counted(b, comb_helper(b->module, type), args, wrong, wraps);
}

/* ---- bits and digits ---- */

lw_ref
lw_int_popcount(lw_builder *b, lw_ref x)
{
    assert(lw_holds_integer(b, x));
    lw_ref natural = magnitude(b, x);

    natural = lw_ir_intrinsic(b, LW_IN_popcount, lw_ir_type(b, natural), &natural, 1);
    return lw_ir_cast(b, LW_DT_u8, natural);
}

lw_ref
lw_int_find_first_set(lw_builder *b, lw_dtype result, lw_ref x)
{
    assert(lw_holds_integer(b, x));
    lw_dtype type = lw_ir_type(b, x);
    lw_ref zeros = lw_ir_cast(b, result, lw_ir_intrinsic(b, LW_IN_ctz, type, &x, 1));
    lw_ref none = lw_ir_compare(b, LW_OP_EQ, x, lw_ir_zero(b, type));

    return lw_ir_select(b, none, lw_ir_zero(b, result),
                        lw_ir_add(b, zeros, lw_ir_int(b, result, 1)));
}

lw_ref
lw_int_bit_length(lw_builder *b, lw_ref x)
{
    assert(lw_holds_integer(b, x));
    lw_ref natural = magnitude(b, x), width;
    lw_dtype type = lw_ir_type(b, natural);

    width = lw_ir_int(b, type, lw_dtypes[type].bits);
    natural = lw_ir_intrinsic(b, LW_IN_clz, type, &natural, 1);
    return lw_ir_cast(b, LW_DT_u8, lw_ir_sub(b, width, natural));
}

lw_ref
lw_int_round(lw_builder *b, lw_ref x, lw_ref digits)
{
    assert(lw_holds_integer(b, x));
    lw_dtype type = lw_ir_type(b, x);
    lw_dtype work = lw_is_signed(type) ? LW_DT_i64 : LW_DT_u64;
    uint64_t bits;
    lw_ref quotient, rest, zero = lw_ir_zero(b, work), one = lw_ir_int(b, work, 1);

    if (lw_ir_is_const(b, digits, &bits) && (int64_t)bits >= 0)
        return x;
    /* from 19 digits (u64: 20) on, unit wraps; such a number rounds to 0, except in the upper
     * half */
    lw_ref decimals = lw_ir_cast(b, work, lw_ir_neg(b, digits));
    lw_ref unit = lw_int_power(b, lw_ir_int(b, work, 10), decimals);
    lw_ref wide = lw_ir_cast(b, work, x);
    lw_int_divmod(b, wide, unit, &quotient, &rest);
    lw_ref missing = lw_ir_sub(b, unit, rest);
    lw_ref odd = lw_ir_compare(b, LW_OP_NE, lw_ir_and(b, quotient, one), zero);
    lw_ref half = lw_ir_and(b, lw_ir_compare(b, LW_OP_EQ, rest, missing), odd);
    lw_ref up = lw_ir_or(b, half, lw_ir_compare(b, LW_OP_GT, rest, missing));
    quotient = lw_ir_select(b, up, lw_ir_add(b, quotient, one), quotient);
    lw_ref rounded = lw_ir_cast(b, type, lw_ir_mul(b, quotient, unit));
    lw_ref most = lw_ir_int(b, LW_DT_i64, work == LW_DT_i64 ? -18 : -19);
    lw_ref too_many = lw_ir_compare(b, LW_OP_LT, digits, most);
    rounded = lw_ir_select(b, too_many, lw_ir_zero(b, type), rounded);
    lw_ref keep = lw_ir_compare(b, LW_OP_GE, digits, lw_ir_zero(b, LW_DT_i64));
    return lw_ir_select(b, keep, x, rounded);
}

/* ---- comparison ---- */

static bool
constant_fits(lw_dtype from, uint64_t bits, lw_dtype to)
{
    unsigned width = width_of(to);
    bool negative = lw_is_signed(from) && (int64_t)bits < 0;

    if (to == LW_DT_b1)
        return bits <= 1;
    if (lw_is_signed(to)) {
        int64_t limit = (int64_t)(UINT64_MAX >> (65 - width));
        return negative ? (int64_t)bits >= -limit - 1 : bits <= (uint64_t)limit;
    }
    return !negative && (width == 64 || bits >> width == 0);
}

/* A constant in the type of the other operand if it fits there: this saves widening and the
 * test of the sign. */
static lw_ref
adapt_constant(lw_builder *b, lw_ref x, lw_dtype to)
{
    lw_dtype from = lw_ir_type(b, x);
    uint64_t bits;

    if (from == to || !lw_ir_is_const(b, x, &bits) || !constant_fits(from, bits, to))
        return x;
    return lw_ir_int(b, to, (int64_t)bits);
}

static lw_op
mirrored(lw_op op)
{
    switch (op) {
    case LW_OP_LT: return LW_OP_GT;
    case LW_OP_LE: return LW_OP_GE;
    case LW_OP_GT: return LW_OP_LT;
    case LW_OP_GE: return LW_OP_LE;
    default: return op;
    }
}

/* signed `op` uint64: a negative number is below all of them. */
static lw_ref
compare_with_u64(lw_builder *b, lw_op op, lw_ref x, lw_ref y)
{
    lw_ref wide = lw_ir_cast(b, LW_DT_i64, x);
    lw_ref negative = lw_ir_compare(b, LW_OP_LT, wide, lw_ir_zero(b, LW_DT_i64));
    lw_ref same_sign = lw_ir_compare(b, op, lw_ir_cast(b, LW_DT_u64, wide), y);

    if (op == LW_OP_NE || op == LW_OP_LT || op == LW_OP_LE)
        return lw_ir_or(b, negative, same_sign);
    return lw_ir_and(b, lw_ir_not(b, negative), same_sign);
}

static lw_dtype
wide_enough(lw_dtype x, lw_dtype y)
{
    if (lw_is_signed(x) == lw_is_signed(y))
        return width_of(x) >= width_of(y) ? x : y;
    lw_dtype with_sign = lw_is_signed(x) ? x : y, without = lw_is_signed(x) ? y : x;
    if (width_of(without) < width_of(with_sign))
        return with_sign;
    return width_of(without) == 8 ? LW_DT_i16 : width_of(without) == 16 ? LW_DT_i32 : LW_DT_i64;
}

lw_ref
lw_int_compare(lw_builder *b, lw_op op, lw_ref x, lw_ref y)
{
    assert(lw_holds_integer(b, x) && lw_holds_integer(b, y));
    x = adapt_constant(b, x, lw_ir_type(b, y));
    y = adapt_constant(b, y, lw_ir_type(b, x));
    if (lw_ir_type(b, x) == lw_ir_type(b, y) && (op == LW_OP_EQ || op == LW_OP_NE))
        return lw_ir_compare(b, op, x, y);
    if (lw_ir_type(b, x) == LW_DT_b1)
        x = lw_ir_cast(b, LW_DT_u8, x);
    if (lw_ir_type(b, y) == LW_DT_b1)
        y = lw_ir_cast(b, LW_DT_u8, y);
    lw_dtype tx = lw_ir_type(b, x), ty = lw_ir_type(b, y);
    if (tx == LW_DT_u64 && lw_is_signed(ty))
        return compare_with_u64(b, mirrored(op), y, x);
    if (ty == LW_DT_u64 && lw_is_signed(tx))
        return compare_with_u64(b, op, x, y);
    lw_dtype common = wide_enough(tx, ty);
    return lw_ir_compare(b, op, lw_ir_cast(b, common, x), lw_ir_cast(b, common, y));
}
