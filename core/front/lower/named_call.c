/* Operands and results of a call of a named function, with the types that inference chose. */
#include "core/front/lower/lower_internal.h"

#include "core/front/named.h"
#include "core/front/numeric/integers.h"

lw_ref
lw_first_part(lw_lower_value value)
{
    return value.n ? value.parts[0] : 0;
}

/* math.gcd takes absolute values: the sign of an argument has no effect. Elsewhere a negative
 * int beside a uint64 raises. */
static lw_lower_value
argument_of(const lw_named_call *c, uint32_t i)
{
    lw_lower_value value;

    if (!lw_argument_has_sign(c->f, c->node, i))
        return lw_lower_argument_as(c->f, c->node, i, c->operand);
    value = lw_lower_argument(c->f, c->node, i);
    if (lw_type_stored(c->f->l->types, value.type) == LW_DT_i64 &&
        lw_names[lw_typed_at(c->f, c->node)->target].rule == LW_RULE_INT)
        value = lw_value_scalar(c->f, LW_T_INDEX, lw_int_abs(c->b, lw_first_part(value)));
    else
        lw_lower_check_sign(c->f, lw_impl_operator(c->impl), value, c->operand);
    return lw_value_convert(c->f, value, c->operand);
}

lw_lower_value
lw_named_argument(const lw_named_call *c, uint32_t i)
{
    lw_lower_value value = argument_of(c, i);
    lw_ref is = c->had_nan != NULL ? lw_lower_has_nan(c->f, value) : 0;

    if (is)
        *c->had_nan = *c->had_nan ? lw_ir_or(c->b, *c->had_nan, is) : is;
    return value;
}

lw_ref
lw_named_scalar(const lw_named_call *c, uint32_t i)
{
    return lw_first_part(lw_named_argument(c, i));
}

lw_complex
lw_named_complex(const lw_named_call *c, uint32_t i)
{
    return lw_value_as_complex(c->f, lw_named_argument(c, i), lw_dtypes[c->dtype].parts);
}

bool
lw_named_given(const lw_named_call *c, uint32_t i)
{
    return lw_argument_given(c->f, c->node, i);
}

static lw_type
complex_type(const lw_builder *b, lw_complex x)
{
    return lw_ir_type(b, x.re) == LW_DT_f32 ? (lw_type)LW_DT_c64 : (lw_type)LW_DT_c128;
}

static lw_lower_value
plain(const lw_named_call *c, lw_ref made)
{
    return lw_value_scalar(c->f, (lw_type)lw_ir_type(c->b, made), made);
}

lw_lower_value
lw_named_result(const lw_named_call *c, lw_ref made)
{
    return lw_value_convert(c->f, plain(c, made), c->type);
}

lw_lower_value
lw_named_complex_result(const lw_named_call *c, lw_complex made)
{
    lw_lower_value value = lw_value_complex(c->f, complex_type(c->b, made), made);

    return lw_value_convert(c->f, value, c->type);
}

lw_lower_value
lw_named_pair(const lw_named_call *c, lw_ref x, lw_ref y)
{
    lw_ref parts[2] = {0};

    if (lw_type_kind_of(c->f->l->types, c->type) != LW_TK_TUPLE)
        return lw_lower_fail(c->f, c->node, "two results without a tuple type");
    const lw_type_row *row = lw_type_get(c->f->l->types, c->type);
    for (uint32_t i = 0; i < 2 && i < row->n; i++)
        parts[i] =
            lw_first_part(lw_value_convert(c->f, plain(c, i == 0 ? x : y), row->elements[i]));
    return lw_value_of(c->f, c->type, parts, 2);
}

lw_lower_value
lw_named_fail(const lw_named_call *c)
{
    return lw_lower_fail(c->f, c->node, lw_names[lw_typed_at(c->f, c->node)->target].path);
}

bool
lw_argument_is_none(const lw_lower_frame *f, uint32_t node, uint32_t index)
{
    uint32_t entry = f->l->typed->lists.data[lw_typed_at(f, node)->args + index];

    if ((entry & LW_ARG_TAG) == LW_ARG_CONSTANT)
        return lw_typed_constant(f->l->typed, entry & ~(uint32_t)LW_ARG_TAG)->kind == LW_K_NONE;
    return !(entry & LW_ARG_TAG) && lw_typed_at(f, entry)->type == LW_T_NONE;
}

bool
lw_named_is_none(const lw_named_call *c, uint32_t i)
{
    return lw_argument_is_none(c->f, c->node, i);
}
