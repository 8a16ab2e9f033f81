/* Python's operators on values: arithmetic, bits, comparison of scalars, complex numbers and
 * tuples. core/front/numeric has what numbers mean; this file picks the function by the
 * operands' type and adds the checks that `check=` asks for. */
#include "core/front/lower/lower_internal.h"

#include "core/front/numeric/floats.h"
#include "core/front/numeric/integers.h"
#include "core/front/numeric/numeric.h"
#include "core/front/numeric/overflow.h"
#include "core/front/numeric/times.h"

bool
lw_is_shift(lw_pyop op)
{
    return op == LW_PY_LSHIFT || op == LW_PY_RSHIFT;
}

/* ---- checks ---- */

static bool
checks(const lw_lower_frame *f, uint32_t which)
{
    return (f->l->typed->options.checks & which) != 0 && f->can_raise;
}

static bool
divides(lw_pyop op)
{
    return op == LW_PY_DIV || op == LW_PY_FLOORDIV || op == LW_PY_MOD;
}

void
lw_lower_check_divisor(lw_lower_frame *f, lw_lower_value divisor, const char *message)
{
    if (checks(f, LW_CHECK_DIVIDE) && divisor.n > 0)
        lw_lower_raise(f, lw_ir_not(&f->b, lw_value_truth(f, divisor)), "ZeroDivisionError",
                       message);
}

/* An integer to a negative power is no integer; NumPy refuses it, too. */
static void
check_exponent(lw_lower_frame *f, lw_lower_value x, lw_lower_value y)
{
    lw_builder *b = &f->b;
    lw_dtype exponent = lw_ir_type(b, y.parts[0]);

    if (checks(f, LW_CHECK_DIVIDE) && lw_is_integer(lw_ir_type(b, x.parts[0])) &&
        lw_is_integer(exponent) && lw_is_signed(exponent))
        lw_lower_raise(f, lw_ir_compare(b, LW_OP_LT, y.parts[0], lw_ir_zero(b, exponent)),
                       "ValueError", "Integers to negative integer powers are not allowed.");
}

bool
lw_lower_checks_nan(const lw_lower_frame *f)
{
    return checks(f, LW_CHECK_NAN);
}

lw_ref
lw_lower_has_nan(lw_lower_frame *f, lw_lower_value value)
{
    lw_ref any = 0;

    for (uint32_t i = 0; i < value.n; i++) {
        lw_ref is = lw_is_float(lw_ir_type(&f->b, value.parts[i]))
                        ? lw_float_isnan(&f->b, value.parts[i])
                        : 0;
        any = any && is ? lw_ir_or(&f->b, any, is) : any ? any : is;
    }
    return any;
}

void
lw_lower_check_nan(lw_lower_frame *f, lw_ref before, lw_lower_value made)
{
    lw_ref after = lw_lower_has_nan(f, made);

    if (after && before)
        after = lw_ir_and(&f->b, after, lw_ir_not(&f->b, before));
    if (after)
        lw_lower_raise(f, after, "FloatingPointError", "invalid value");
}

void
lw_lower_check_overflow(lw_lower_frame *f, lw_ref overflows)
{
    if (overflows)
        lw_lower_raise(f, overflows, "OverflowError", "integer overflow");
}

bool
lw_lower_checks_overflow(const lw_lower_frame *f, lw_dtype type)
{
    return checks(f, LW_CHECK_OVERFLOW) && !f->fn->of_package && lw_is_integer(type);
}

static void
check_result(lw_lower_frame *f, lw_pyop op, lw_lower_value x, lw_lower_value y, lw_ref result)
{
    lw_builder *b = &f->b;
    lw_dtype type = lw_ir_type(b, result);

    if (lw_lower_checks_overflow(f, type))
        lw_lower_check_overflow(f, lw_int_overflows(b, op, x.parts[0], y.parts[0], result));
}

/* Whether `made` is a NaN although no operand is one. */
static lw_lower_value
without_nan(lw_lower_frame *f, lw_lower_value x, lw_lower_value y, lw_lower_value made)
{
    if (lw_lower_checks_nan(f)) {
        lw_ref p = lw_lower_has_nan(f, x), q = lw_lower_has_nan(f, y);
        lw_lower_check_nan(f, p && q ? lw_ir_or(&f->b, p, q) : p ? p : q, made);
    }
    return made;
}

/* ---- arithmetic ---- */

static lw_lower_value
complex_binary(lw_lower_frame *f, lw_pyop op, lw_lower_value x, lw_lower_value y,
               lw_type result)
{
    lw_builder *b = &f->b;
    lw_dtype half = lw_ir_type(b, x.n ? x.parts[0] : 0);
    lw_complex u = lw_value_as_complex(f, x, half), v = lw_value_as_complex(f, y, half);

    switch (op) {
    case LW_PY_ADD: u = lw_complex_add(b, u, v); break;
    case LW_PY_SUB: u = lw_complex_sub(b, u, v); break;
    case LW_PY_MUL: u = lw_complex_mul(b, u, v); break;
    case LW_PY_DIV: u = lw_complex_div(b, u, v); break;
    case LW_PY_POW: u = lw_complex_power(b, u, v); break;
    default: return lw_lower_fail(f, f->node, "an operator that complex numbers lack");
    }
    lw_type made = half == LW_DT_f32 ? (lw_type)LW_DT_c64 : (lw_type)LW_DT_c128;
    return lw_value_convert(f, lw_value_complex(f, made, u), result);
}

static lw_lower_value
concatenated(lw_lower_frame *f, lw_lower_value x, lw_lower_value y, lw_type result)
{
    lw_ref *parts = lw_arena_take(f->l->arena, (x.n + y.n + 1) * sizeof *parts);

    if (parts == NULL)
        return lw_value_zero(f, result);
    for (uint32_t i = 0; i < x.n + y.n; i++)
        parts[i] = i < x.n ? x.parts[i] : y.parts[i - x.n];
    return (lw_lower_value){.type = result, .n = x.n + y.n, .parts = parts};
}

/* The items as often as the result's type says. */
static lw_lower_value
repeated(lw_lower_frame *f, lw_lower_value x, lw_type result)
{
    uint32_t n = lw_parts_of(f->l->types, result);
    lw_ref *parts = lw_arena_take(f->l->arena, (n + 1) * sizeof *parts);

    if (parts == NULL)
        return lw_value_zero(f, result);
    for (uint32_t i = 0; i < n; i++)
        parts[i] = x.parts[i % x.n];
    return (lw_lower_value){.type = result, .n = n, .parts = parts};
}

/* bool + bool is `or` and bool * bool is `and`, as in NumPy's loops. */
static lw_ref
bool_arithmetic(lw_builder *b, lw_pyop op, lw_ref x, lw_ref y)
{
    switch (op) {
    case LW_PY_ADD: return lw_ir_or(b, x, y);
    case LW_PY_MUL: return lw_ir_and(b, x, y);
    case LW_PY_SUB: return lw_ir_xor(b, x, y);
    default: return 0;
    }
}

static lw_ref
scalar_binary(lw_lower_frame *f, lw_pyop op, lw_ref x, lw_ref y)
{
    lw_builder *b = &f->b;

    if (lw_ir_type(b, x) == LW_DT_b1) {
        lw_ref made = bool_arithmetic(b, op, x, y);
        if (made)
            return made;
    }
    switch (op) {
    case LW_PY_ADD: return lw_ir_add(b, x, y);
    case LW_PY_SUB: return lw_ir_sub(b, x, y);
    case LW_PY_MUL: return lw_ir_mul(b, x, y);
    case LW_PY_DIV:
        if (lw_is_float(lw_ir_type(b, x)))
            return lw_ir_div(b, x, y);
        return lw_ir_div(b, lw_ir_cast(b, LW_DT_f64, x), lw_ir_cast(b, LW_DT_f64, y));
    case LW_PY_FLOORDIV: return lw_num_floordiv(b, x, y);
    case LW_PY_MOD: return lw_num_mod(b, x, y);
    case LW_PY_POW:
        return lw_num_power(b, x, y,
                            f->l->typed->options.precise || f->l->typed->options.same_math);
    case LW_PY_LSHIFT: return lw_int_shl(b, x, y);
    case LW_PY_RSHIFT: return lw_int_shr(b, x, y);
    case LW_PY_BITAND: return lw_ir_and(b, x, y);
    case LW_PY_BITOR: return lw_ir_or(b, x, y);
    case LW_PY_BITXOR: return lw_ir_xor(b, x, y);
    default: return 0;
    }
}

/* ---- times: each operand is converted as the rule says ---- */

static bool
is_time(const lw_lower_value *value)
{
    return lw_type_is_time(value->type);
}

/* An operator or function of which an operand is a time; `type`: of the result. */
static lw_lower_value
lower_time(lw_lower_frame *f, lw_impl impl, const lw_lower_value *operands, uint32_t n,
           lw_type type)
{
    lw_dtype in[LW_TIME_OPERANDS] = {0};
    lw_ref args[LW_TIME_OPERANDS] = {0}, made[2] = {0};
    lw_time_rule rule;

    for (uint32_t i = 0; i < n && i < LW_TIME_OPERANDS; i++)
        in[i] = lw_type_stored(f->l->types, operands[i].type);
    if (n > LW_TIME_OPERANDS || !lw_time_rule_of(impl, in, n, &rule)) {
        lw_lower_fail(f, f->node, "an operator that times lack");
        return lw_value_zero(f, type);
    }
    for (uint32_t i = 0; i < n; i++) {
        lw_lower_value value = lw_value_convert(f, operands[i], rule.operands[i]);
        args[i] = value.n ? value.parts[0] : 0;
    }
    lw_time_apply(&f->b, &rule, args, made);
    if (rule.is_pair)
        return lw_value_of(f, type, made, 2);
    return lw_value_convert(f, lw_value_scalar(f, rule.result, made[0]), type);
}

lw_lower_value
lw_lower_time_named(lw_lower_frame *f, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    lw_lower_value values[LW_TIME_OPERANDS];
    uint32_t n = t->n_args < LW_TIME_OPERANDS ? t->n_args : LW_TIME_OPERANDS;

    for (uint32_t i = 0; i < n; i++)
        values[i] = lw_lower_argument(f, node, i);
    lw_lower_set_loc(f, node);
    return lower_time(f, lw_names[t->target].impl, values, n, t->type);
}

/* ---- operators ---- */

lw_lower_value
lw_lower_binary(lw_lower_frame *f, lw_pyop op, lw_lower_value x, lw_lower_value y,
                lw_type result)
{
    if (lw_value_is_tuple(&x, f) && lw_value_is_tuple(&y, f) && op == LW_PY_ADD)
        return concatenated(f, x, y, result);
    if (op == LW_PY_MUL && (lw_value_is_tuple(&x, f) || lw_value_is_tuple(&y, f)))
        return repeated(f, lw_value_is_tuple(&x, f) ? x : y, result);
    if (x.n == 0 || y.n == 0)
        return lw_lower_fail(f, f->node,
                             "an operator on values that only exist at compile time");
    if (is_time(&x) || is_time(&y))
        return lower_time(f, lw_operator_impl(op), (lw_lower_value[]){x, y}, 2, result);
    if (divides(op))
        lw_lower_check_divisor(f, y,
                               op == LW_PY_MOD ? "integer modulo by zero" : "division by zero");
    if (op == LW_PY_POW)
        check_exponent(f, x, y);
    if (lw_value_is_complex(&x, f))
        return without_nan(f, x, y, complex_binary(f, op, x, y, result));
    if (result == LW_DT_b1 && op == LW_PY_ADD) /* of elements of arrays */
        return lw_value_scalar(f, result, lw_ir_or(&f->b, x.parts[0], y.parts[0]));
    if (result == LW_DT_b1 && op == LW_PY_MUL)
        return lw_value_scalar(f, result, lw_ir_and(&f->b, x.parts[0], y.parts[0]));
    lw_ref made = scalar_binary(f, op, x.parts[0], y.parts[0]);
    if (made == 0 && !f->l->module->failed && !f->l->module->arena.failed)
        return lw_lower_fail(f, f->node, "an operator that scalars lack");
    check_result(f, op, x, y, made);
    lw_type type = (lw_type)lw_ir_type(&f->b, made);
    return lw_value_convert(f, without_nan(f, x, y, lw_value_scalar(f, type, made)), result);
}

lw_lower_value
lw_lower_unary(lw_lower_frame *f, lw_pyop op, lw_lower_value x, lw_type result)
{
    lw_builder *b = &f->b;
    const lw_enum *flags = lw_type_numbers(f->l->types, x.type);

    if (op == LW_PY_NOT) {
        lw_lower_value made = lw_value_scalar(f, LW_DT_b1, lw_ir_not(b, lw_value_truth(f, x)));
        return lw_value_convert(f, made, result);
    }
    if (x.n == 0)
        return lw_lower_fail(f, f->node,
                             "an operator on a value that only exists at compile time");
    if (is_time(&x))
        return lower_time(f, lw_operator_impl(op), &x, 1, result);
    if (op == LW_PY_POS)
        return lw_value_convert(f, x, result);
    if (op == LW_PY_INVERT && flags != NULL && flags->all_bits)
        return lw_value_scalar(
            f, result, lw_ir_xor(b, x.parts[0], lw_ir_int(b, LW_DT_i64, flags->all_bits)));
    if (op == LW_PY_INVERT)
        return lw_value_convert(f, lw_value_scalar(f, x.type, lw_ir_not(b, x.parts[0])),
                                result);
    if (x.n == 2) {
        lw_complex minus = lw_complex_neg(b, (lw_complex){x.parts[0], x.parts[1]});
        return lw_value_convert(f, lw_value_complex(f, x.type, minus), result);
    }
    if (lw_lower_checks_overflow(f, lw_ir_type(b, x.parts[0])))
        lw_lower_check_overflow(f, lw_int_neg_overflows(b, x.parts[0]));
    return lw_value_convert(f, lw_value_scalar(f, x.type, lw_ir_neg(b, x.parts[0])), result);
}

/* ---- comparison ---- */

static lw_op
machine_compare(lw_pyop op)
{
    switch (op) {
    case LW_PY_NE:
    case LW_PY_IS_NOT: return LW_OP_NE;
    case LW_PY_LT: return LW_OP_LT;
    case LW_PY_LE: return LW_OP_LE;
    case LW_PY_GT: return LW_OP_GT;
    case LW_PY_GE: return LW_OP_GE;
    default: return LW_OP_EQ;
    }
}

static lw_ref
constant_bool(lw_lower_frame *f, bool value)
{
    return lw_ir_int(&f->b, LW_DT_b1, value);
}

/* The operand type of element i. */
static lw_type
operand_element(lw_lower_frame *f, lw_type operand, uint32_t i)
{
    if (lw_type_kind_of(f->l->types, operand) != LW_TK_TUPLE)
        return operand;
    const lw_type_row *row = lw_type_get(f->l->types, operand);
    return i < row->n ? row->elements[i] : LW_T_BOTTOM;
}

/* The first elements that differ decide the order, or else the lengths. It is built from the
 * last element to the first: (x < y) or (x == y and the order of what follows). */
static lw_ref
compare_tuples(lw_lower_frame *f, lw_pyop op, lw_lower_value x, lw_lower_value y,
               lw_type operand)
{
    lw_builder *b = &f->b;
    uint32_t nx = lw_type_get(f->l->types, x.type)->n, ny = lw_type_get(f->l->types, y.type)->n;
    bool equality = op == LW_PY_EQ || op == LW_PY_NE;
    lw_ref all = 0;

    if (equality && nx != ny)
        return constant_bool(f, op == LW_PY_NE);
    if (equality)
        all = constant_bool(f, op == LW_PY_EQ);
    else if (op == LW_PY_LT || op == LW_PY_LE)
        all = constant_bool(f, nx < ny || (nx == ny && op == LW_PY_LE));
    else
        all = constant_bool(f, nx > ny || (nx == ny && op == LW_PY_GE));
    lw_pyop strict = op == LW_PY_LE ? LW_PY_LT : op == LW_PY_GE ? LW_PY_GT : op;
    for (uint32_t i = nx < ny ? nx : ny; i-- > 0;) {
        lw_lower_value u = lw_value_element(f, x, i), v = lw_value_element(f, y, i);
        lw_type as = operand_element(f, operand, i);
        lw_ref this = lw_lower_compare(f, strict, u, v, as);
        if (op == LW_PY_EQ) {
            all = lw_ir_and(b, this, all);
        } else if (op == LW_PY_NE) {
            all = lw_ir_or(b, this, all);
        } else {
            lw_ref same = lw_lower_compare(f, LW_PY_EQ, u, v, as);
            all = lw_ir_or(b, this, lw_ir_and(b, same, all));
        }
    }
    return all;
}

/* The type in which numbers of two dtypes are compared if inference left no operand (in
 * tuples). */
static lw_type
common_type(lw_lower_frame *f, lw_lower_value x, lw_lower_value y)
{
    lw_dtype dx = lw_type_stored(f->l->types, x.type), dy = lw_type_stored(f->l->types, y.type);

    return (lw_type)lw_promote_dtypes(dx, dy);
}

/* -1, 0 or 1: the order of two Python ints of which one or both are outside the 64-bit types,
 * which is a constant. Inference folds comparisons of constants; elements of tuples are
 * compared here. */
static int
order_of_wide(lw_lower_frame *f, lw_type x, lw_type y)
{
    const lw_type_row *a = lw_type_get(f->l->types, x), *b = lw_type_get(f->l->types, y);

    if (!lw_literal_is_wide(f->l->types, y))
        return a->lo < 0 ? -1 : 1;
    if (!lw_literal_is_wide(f->l->types, x))
        return b->lo < 0 ? 1 : -1;
    if (a->lo == b->lo && (a->lo == LW_LITERAL_FAR || a->lo == -LW_LITERAL_FAR))
        lw_lower_refuse_number(f, "an integer of more than 125 bits", LW_DT_i64);
    return a->lo < b->lo ? -1 : a->lo > b->lo;
}

static bool
is_integer(const lw_types *types, lw_type type)
{
    return lw_type_is_integer(types, type) || lw_literal_is_wide(types, type);
}

/* Members of one class by their numbers; a member and anything else are not equal. */
static lw_ref
compare_members(lw_lower_frame *f, lw_pyop op, lw_lower_value x, lw_lower_value y)
{
    const lw_types *types = f->l->types;
    const lw_enum *a = lw_type_enum(types, x.type), *b = lw_type_enum(types, y.type);
    lw_op how = machine_compare(op);

    if (a == NULL || b == NULL || a->id != b->id)
        return constant_bool(f, how == LW_OP_NE);
    if (x.n == 0 && y.n == 0) /* both are known */
        return constant_bool(f, (x.type == y.type) == (how == LW_OP_EQ));
    x = lw_value_convert(f, x, x.n ? x.type : y.type);
    y = lw_value_convert(f, y, x.type);
    return lw_int_compare(&f->b, how, x.parts[0], y.parts[0]);
}

static lw_ref
contains(lw_lower_frame *f, lw_lower_value x, lw_lower_value tuple, lw_type operand)
{
    uint32_t n = lw_type_get(f->l->types, tuple.type)->n;
    lw_ref any = constant_bool(f, false);

    for (uint32_t i = 0; i < n; i++) {
        lw_lower_value element = lw_value_element(f, tuple, i);
        lw_type as = operand_element(f, operand, i);
        any = lw_ir_or(&f->b, any, lw_lower_compare(f, LW_PY_EQ, x, element, as));
    }
    return any;
}

/* Whether y has all bits of x: both are members of one enum.IntFlag. */
static lw_ref
contains_flags(lw_lower_frame *f, lw_lower_value x, lw_lower_value y, lw_type operand)
{
    lw_builder *b = &f->b;

    x = lw_value_convert(f, x, operand);
    y = lw_value_convert(f, y, operand);
    if (x.n == 0 || y.n == 0)
        return constant_bool(f, false);
    return lw_ir_compare(b, LW_OP_EQ, lw_ir_and(b, x.parts[0], y.parts[0]), x.parts[0]);
}

/* Both may be None: whether both are, or none is and they are equal. */
static lw_ref
same_optionals(lw_lower_frame *f, lw_lower_value x, lw_lower_value y, lw_type operand)
{
    lw_builder *b = &f->b;
    lw_ref left = x.n ? x.parts[0] : 0, right = y.n ? y.parts[0] : 0;
    lw_ref equal = lw_lower_compare(f, LW_PY_EQ, lw_value_element(f, x, 1),
                                    lw_value_element(f, y, 1), operand);

    return lw_ir_select(b, left, lw_ir_and(b, right, equal), lw_ir_not(b, right));
}

/* One of them may be None, which equals no value: whether there is one, and it is equal. */
static lw_ref
compare_optional(lw_lower_frame *f, lw_pyop op, lw_lower_value x, lw_lower_value y,
                 lw_type operand)
{
    bool left = lw_type_given(f->l->types, x.type) != LW_T_BOTTOM;
    lw_lower_value optional = left ? x : y, other = left ? y : x, given;
    lw_ref is_given = optional.n ? optional.parts[0] : 0, same;

    if (left && lw_type_given(f->l->types, y.type) != LW_T_BOTTOM) {
        same = same_optionals(f, x, y, operand);
    } else if (other.type != LW_T_NONE) {
        given = lw_value_element(f, optional, 1);
        same = lw_ir_and(
            &f->b, is_given,
            lw_lower_compare(f, LW_PY_EQ, left ? given : other, left ? other : given, operand));
    } else {
        same = lw_ir_not(&f->b, is_given);
    }
    return op == LW_PY_NE || op == LW_PY_IS_NOT ? lw_ir_not(&f->b, same) : same;
}

lw_ref
lw_lower_compare(lw_lower_frame *f, lw_pyop op, lw_lower_value x, lw_lower_value y,
                 lw_type operand)
{
    lw_builder *b = &f->b;
    const lw_types *types = f->l->types;

    if (op == LW_PY_IN || op == LW_PY_NOT_IN) {
        lw_ref found = lw_value_is_tuple(&y, f)          ? contains(f, x, y, operand)
                       : lw_type_numbers(types, operand) ? contains_flags(f, x, y, operand)
                       : lw_type_is_text(types, y.type)  ? lw_lower_text_in(f, x, y)
                                                         : constant_bool(f, false);
        return op == LW_PY_IN ? found : lw_ir_not(b, found);
    }
    if (lw_type_given(types, x.type) || lw_type_given(types, y.type))
        return compare_optional(f, op, x, y, operand);
    if (lw_lower_is_text(f, x.type) || lw_lower_is_text(f, y.type)) {
        lw_ref same = lw_lower_same_text(f, x, y);
        return op == LW_PY_NE ? lw_ir_not(b, same) : same;
    }
    x = lw_lower_by_value(f, x);
    y = lw_lower_by_value(f, y);
    if (lw_type_enum(types, x.type) || lw_type_enum(types, y.type))
        return compare_members(f, op, x, y);
    if (lw_type_is_text(types, x.type) || lw_type_is_text(types, y.type))
        return lw_lower_compare_texts(f, machine_compare(op), x, y, operand);
    if (lw_value_is_tuple(&x, f) && lw_value_is_tuple(&y, f))
        return compare_tuples(f, op, x, y, operand);
    if (x.n == 0 && y.n == 0 && x.type == y.type) /* None, or one text, in two tuples */
        return constant_bool(f, lw_op_holds(machine_compare(op), 0));
    if (x.n == 0 || y.n == 0 || x.n > 2 || y.n > 2) /* None == 1, (1, 2) == 1 */
        return constant_bool(f, machine_compare(op) == LW_OP_NE);
    if (is_time(&x) || is_time(&y))
        return lower_time(f, lw_operator_impl(op), (lw_lower_value[]){x, y}, 2, LW_DT_b1)
            .parts[0];
    if (is_integer(types, x.type) && is_integer(types, y.type) &&
        (lw_literal_is_wide(types, x.type) || lw_literal_is_wide(types, y.type)))
        return constant_bool(
            f, lw_op_holds(machine_compare(op), order_of_wide(f, x.type, y.type)));
    if (lw_type_is_integer(types, x.type) && lw_type_is_integer(types, y.type))
        return lw_int_compare(b, machine_compare(op), x.parts[0], y.parts[0]);
    if (operand == LW_T_BOTTOM || lw_parts_of(types, operand) == 0)
        operand = common_type(f, x, y);
    x = lw_value_convert(f, x, operand);
    y = lw_value_convert(f, y, operand);
    if (x.n == 2 && y.n == 2)
        return lw_complex_compare(b, machine_compare(op), (lw_complex){x.parts[0], x.parts[1]},
                                  (lw_complex){y.parts[0], y.parts[1]});
    return lw_num_compare(b, machine_compare(op), x.n ? x.parts[0] : 0, y.n ? y.parts[0] : 0);
}
