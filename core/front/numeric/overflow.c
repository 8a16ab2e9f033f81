/* Overflow of sums and differences is seen from the signs of operands and result, that of
 * products from their upper half, and that of powers from the products that make them. */
#include "core/front/numeric/overflow.h"

#include "core/front/numeric/integers.h"
#include "core/front/numeric/numeric_internal.h"

/* ---- products and powers ---- */

lw_ref
lw_int_product_overflows(lw_builder *b, lw_ref x, lw_ref y, lw_ref product)
{
    assert(lw_same_type(b, x, y) && lw_same_type(b, x, product));
    lw_dtype type = lw_ir_type(b, x);
    lw_ref fill = lw_ir_zero(b, type);

    if (lw_is_signed(type))
        fill = lw_int_shr(b, product, lw_ir_int(b, type, lw_dtypes[type].bits - 1));
    return lw_ir_compare(b, LW_OP_NE, lw_ir_mulhi(b, x, y), fill);
}

/* One iteration: the bit of the exponent that multiplies, and the square for the following
 * iterations; overflow of the square matters only if there are any. */
static void
power_iteration(lw_builder *b, lw_ref result, lw_ref square, lw_ref left, lw_ref over)
{
    lw_ref bits = lw_ir_get(b, left), one = lw_ir_int(b, LW_DT_u64, 1);
    lw_ref more = lw_ir_shr(b, bits, one), zero = lw_ir_zero(b, LW_DT_u64);
    lw_ref odd = lw_ir_compare(b, LW_OP_NE, lw_ir_and(b, bits, one), zero);
    lw_ref so_far = lw_ir_get(b, result), factor = lw_ir_get(b, square);
    lw_ref product = lw_ir_mul(b, so_far, factor), next = lw_ir_mul(b, factor, factor);
    lw_ref here = lw_ir_and(b, odd, lw_int_product_overflows(b, so_far, factor, product));
    lw_ref later = lw_ir_and(b, lw_ir_compare(b, LW_OP_NE, more, zero),
                             lw_int_product_overflows(b, factor, factor, next));

    lw_ir_set(b, over, lw_ir_or(b, lw_ir_get(b, over), lw_ir_or(b, here, later)));
    lw_ir_set(b, result, lw_ir_select(b, odd, product, so_far));
    lw_ir_set(b, square, next);
    lw_ir_set(b, left, more);
}

static uint32_t
power_helper(lw_module *module, lw_dtype type)
{
    lw_builder h, *b = &h;
    uint32_t number;

    if (!lw_helper_begin(b, module, "lw_power_overflows", type, &number))
        return number;
    lw_ref x = lw_ir_param_add(b, type, 0, "x"), n = lw_ir_param_add(b, LW_DT_u64, 0, "n");
    lw_ir_result_add(b, LW_DT_b1);
    lw_ref result = lw_ir_slot(b, type), square = lw_ir_slot(b, type),
           left = lw_ir_slot(b, LW_DT_u64), over = lw_ir_slot(b, LW_DT_b1);
    lw_ir_set(b, result, lw_ir_int(b, type, 1));
    lw_ir_set(b, square, x);
    lw_ir_set(b, left, n);
    lw_ir_set(b, over, lw_ir_int(b, LW_DT_b1, 0));
    lw_ir_loop(b, LW_LOOP_NO_VECTORIZE);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_EQ, lw_ir_get(b, left), lw_ir_zero(b, LW_DT_u64)));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    power_iteration(b, result, square, left, over);
    lw_ir_latch(b);
    lw_ir_end(b);
    lw_ref value = lw_ir_get(b, over);
    lw_ir_return(b, &value, 1);
    lw_helper_end(b);
    return number;
}

/* Negative exponents give 0, 1 or -1. */
static lw_ref
power_overflows(lw_builder *b, lw_ref x, lw_ref exponent, lw_dtype type)
{
    lw_dtype given = lw_ir_type(b, exponent);
    lw_ref n = lw_ir_cast(b, LW_DT_u64, exponent), args[2];

    if (lw_is_signed(given))
        n = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, exponent, lw_ir_zero(b, given)),
                         lw_ir_zero(b, LW_DT_u64), n);
    args[0] = lw_ir_type(b, x) == type ? x : lw_ir_cast(b, type, x);
    args[1] = n;
    return lw_ir_result(b, lw_ir_call(b, power_helper(b->module, type), args, 2), 0);
}

/* ---- sums ---- */

static lw_ref
sum_overflows(lw_builder *b, bool add, lw_ref x, lw_ref y, lw_ref result)
{
    lw_dtype type = lw_ir_type(b, x);

    if (!lw_is_signed(type))
        return add ? lw_ir_compare(b, LW_OP_LT, result, x) : lw_ir_compare(b, LW_OP_LT, x, y);
    lw_ref turned = lw_ir_xor(b, x, result);
    lw_ref other = lw_ir_xor(b, add ? y : x, add ? result : y);
    /* a statement of its own, because compilers evaluate the arguments of a call in any order
     */
    lw_ref both = lw_ir_and(b, turned, other);
    return lw_ir_compare(b, LW_OP_LT, both, lw_ir_zero(b, type));
}

/* ---- the number without a negative counterpart ---- */

lw_ref
lw_int_abs_overflows(lw_builder *b, lw_ref x)
{
    lw_dtype type = lw_ir_type(b, x);
    int64_t least = INT64_MIN >> (64 - lw_dtypes[type].bits);

    if (!lw_is_signed(type))
        return 0;
    return lw_ir_compare(b, LW_OP_EQ, x, lw_ir_int(b, type, least));
}

lw_ref
lw_int_neg_overflows(lw_builder *b, lw_ref x)
{
    lw_dtype type = lw_ir_type(b, x);

    if (lw_is_signed(type))
        return lw_int_abs_overflows(b, x);
    return lw_ir_compare(b, LW_OP_NE, x, lw_ir_zero(b, type));
}

lw_ref
lw_int_overflows(lw_builder *b, lw_pyop op, lw_ref x, lw_ref y, lw_ref result)
{
    assert(lw_holds_integer(b, x) && (op == LW_PY_POW || lw_same_type(b, x, y)));
    lw_dtype type = lw_ir_type(b, result);
    lw_ref least;

    switch (op) {
    case LW_PY_ADD:
    case LW_PY_SUB: return sum_overflows(b, op == LW_PY_ADD, x, y, result);
    case LW_PY_MUL: return lw_int_product_overflows(b, x, y, result);
    case LW_PY_POW: return power_overflows(b, x, y, type);
    case LW_PY_FLOORDIV:
        if (!lw_is_signed(type))
            return 0;
        least = lw_int_abs_overflows(b, x);
        return lw_ir_and(b, least, lw_ir_compare(b, LW_OP_EQ, y, lw_ir_int(b, type, -1)));
    default: return 0;
    }
}
