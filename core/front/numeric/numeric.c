#include "core/front/numeric/numeric.h"

#include "core/front/numeric/floats.h"
#include "core/front/numeric/integers.h"
#include "core/front/numeric/numeric_internal.h"

static bool
is_float(const lw_builder *b, lw_ref x)
{
    return lw_is_float(lw_ir_type(b, x));
}

/* Arithmetic on bool is done in int8, as in NumPy's loops for // and %. */
static lw_ref
number_of(lw_builder *b, lw_ref x)
{
    return lw_ir_type(b, x) == LW_DT_b1 ? lw_ir_cast(b, LW_DT_i8, x) : x;
}

void
lw_num_divmod(lw_builder *b, lw_ref x, lw_ref y, lw_ref *quotient, lw_ref *rest)
{
    assert(lw_same_type(b, x, y));
    if (is_float(b, x))
        lw_float_divmod(b, x, y, quotient, rest);
    else
        lw_int_divmod(b, number_of(b, x), number_of(b, y), quotient, rest);
}

lw_ref
lw_num_floordiv(lw_builder *b, lw_ref x, lw_ref y)
{
    assert(lw_same_type(b, x, y));
    lw_ref quotient = 0;

    lw_num_divmod(b, x, y, &quotient, NULL);
    return quotient;
}

lw_ref
lw_num_mod(lw_builder *b, lw_ref x, lw_ref y)
{
    assert(lw_same_type(b, x, y));
    lw_ref rest = 0;

    lw_num_divmod(b, x, y, NULL, &rest);
    return rest;
}

lw_ref
lw_num_fmod(lw_builder *b, lw_ref x, lw_ref y)
{
    assert(lw_same_type(b, x, y));
    return is_float(b, x) ? lw_float_call2(b, LW_IN_fmod, x, y)
                          : lw_int_fmod(b, number_of(b, x), number_of(b, y));
}

lw_ref
lw_num_power(lw_builder *b, lw_ref x, lw_ref y, bool precise)
{
    return is_float(b, x) ? lw_float_power(b, x, y, precise)
                          : lw_int_power(b, number_of(b, x), number_of(b, y));
}

lw_ref
lw_num_abs(lw_builder *b, lw_ref x)
{
    if (is_float(b, x))
        return lw_float_call(b, LW_IN_fabs, x);
    return lw_ir_type(b, x) == LW_DT_b1 ? x : lw_int_abs(b, x);
}

lw_ref
lw_num_sign(lw_builder *b, lw_ref x)
{
    return is_float(b, x) ? lw_float_sign(b, x) : lw_int_sign(b, number_of(b, x));
}

lw_ref
lw_num_reciprocal(lw_builder *b, lw_ref x)
{
    if (!is_float(b, x))
        return lw_int_reciprocal(b, number_of(b, x));
    return lw_ir_div(b, lw_ir_float(b, lw_ir_type(b, x), 1), x);
}

lw_ref
lw_num_compare(lw_builder *b, lw_op op, lw_ref x, lw_ref y)
{
    return is_float(b, x) ? lw_ir_compare(b, op, x, y) : lw_int_compare(b, op, x, y);
}

lw_ref
lw_num_truth(lw_builder *b, lw_ref x)
{
    return lw_ir_cast(b, LW_DT_b1, x);
}

lw_ref
lw_num_min(lw_builder *b, lw_ref x, lw_ref y)
{
    assert(lw_same_type(b, x, y));
    return lw_ir_select(b, lw_num_compare(b, LW_OP_LT, y, x), y, x);
}

lw_ref
lw_num_max(lw_builder *b, lw_ref x, lw_ref y)
{
    assert(lw_same_type(b, x, y));
    return lw_ir_select(b, lw_num_compare(b, LW_OP_GT, y, x), y, x);
}

lw_ref
lw_num_minimum(lw_builder *b, lw_ref x, lw_ref y)
{
    assert(lw_same_type(b, x, y));
    return is_float(b, x) ? lw_float_call2(b, LW_IN_minimum, x, y) : lw_num_min(b, x, y);
}

lw_ref
lw_num_maximum(lw_builder *b, lw_ref x, lw_ref y)
{
    assert(lw_same_type(b, x, y));
    return is_float(b, x) ? lw_float_call2(b, LW_IN_maximum, x, y) : lw_num_max(b, x, y);
}

lw_ref
lw_num_fmin(lw_builder *b, lw_ref x, lw_ref y)
{
    assert(lw_same_type(b, x, y));
    return is_float(b, x) ? lw_float_call2(b, LW_IN_fmin, x, y) : lw_num_min(b, x, y);
}

lw_ref
lw_num_fmax(lw_builder *b, lw_ref x, lw_ref y)
{
    assert(lw_same_type(b, x, y));
    return is_float(b, x) ? lw_float_call2(b, LW_IN_fmax, x, y) : lw_num_max(b, x, y);
}
