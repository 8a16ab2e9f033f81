#include "core/front/numeric/times.h"

#include "core/front/numeric/integers.h"
#include "core/front/numeric/numeric.h"

#include <assert.h>

/* ---- conversions ---- */

static lw_ref
i64(lw_builder *b, int64_t value)
{
    return lw_ir_int(b, LW_DT_i64, value);
}

static lw_ref
nat(lw_builder *b)
{
    return i64(b, INT64_MIN);
}

static lw_ref
is_nat(lw_builder *b, lw_ref x)
{
    return lw_ir_compare(b, LW_OP_EQ, x, nat(b));
}

/* NaT where x is NaT. */
static lw_ref
keep_nat(lw_builder *b, lw_ref x, lw_ref made)
{
    return lw_ir_select(b, is_nat(b, x), nat(b), made);
}

/* x / divisor towards minus infinity, of a divisor above 0. */
static lw_ref
floor_by(lw_builder *b, lw_ref x, int64_t divisor)
{
    return divisor == 1 ? x : lw_int_floordiv(b, x, i64(b, divisor));
}

static lw_ref
times_of(lw_builder *b, lw_ref x, int64_t factor)
{
    return factor == 1 ? x : lw_ir_mul(b, x, i64(b, factor));
}

static lw_ref
sum(lw_builder *b, lw_ref x, int64_t y)
{
    return lw_ir_add(b, x, i64(b, y));
}

/* Days since 1970 of the first day of a month, counted from January 1970. */
static lw_ref
days_of_months(lw_builder *b, lw_ref months)
{
    lw_ref from_march = sum(b, months, LW_MONTHS_TO_1970), year = floor_by(b, from_march, 12);
    lw_ref month = lw_ir_sub(b, from_march, times_of(b, year, 12));
    lw_ref days = times_of(b, year, 365);

    days = lw_ir_add(b, days, floor_by(b, year, 4));
    days = lw_ir_sub(b, days, floor_by(b, year, 100));
    days = lw_ir_add(b, days, floor_by(b, year, 400));
    month = floor_by(b, sum(b, times_of(b, month, 153), 2), 5);
    return sum(b, lw_ir_add(b, days, month), -LW_DAYS_TO_1970);
}

static lw_ref
months_of_days(lw_builder *b, lw_ref days)
{
    lw_ref from_march = sum(b, days, LW_DAYS_TO_1970);
    lw_ref era = floor_by(b, from_march, LW_DAYS_IN_ERA);
    lw_ref day = lw_ir_sub(b, from_march, times_of(b, era, LW_DAYS_IN_ERA)), year, month;

    year = lw_ir_sub(b, day, floor_by(b, day, 1460));
    year = lw_ir_add(b, year, floor_by(b, day, 36524));
    year = floor_by(b, lw_ir_sub(b, year, floor_by(b, day, 146096)), 365);
    day = lw_ir_sub(b, day, times_of(b, year, 365));
    day = lw_ir_sub(b, day, floor_by(b, year, 4));
    day = lw_ir_add(b, day, floor_by(b, year, 100));
    month = floor_by(b, sum(b, times_of(b, day, 5), 2), 153);
    year = lw_ir_add(b, year, times_of(b, era, LW_YEARS_IN_ERA));
    return sum(b, lw_ir_add(b, times_of(b, year, 12), month), -LW_MONTHS_TO_1970);
}

static lw_ref
days_of(lw_builder *b, const lw_dtype_row *from, lw_ref x)
{
    uint64_t in_day;

    x = times_of(b, x, from->multiple);
    if (lw_unit_is_calendar(from->unit))
        return days_of_months(b, times_of(b, x, from->unit == LW_UNIT_Y ? 12 : 1));
    if (from->unit == LW_UNIT_W)
        return times_of(b, x, 7);
    in_day = lw_unit_factor(LW_UNIT_D, from->unit);
    if (in_day == 0) /* less than a day on either side of 1970 */
        return lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, x, i64(b, 0)), i64(b, -1), i64(b, 0));
    return floor_by(b, x, (int64_t)in_day);
}

static lw_ref
date_by_calendar(lw_builder *b, const lw_dtype_row *from, const lw_dtype_row *to, lw_ref x)
{
    lw_ref made;

    if (lw_unit_is_calendar(from->unit) && lw_unit_is_calendar(to->unit)) {
        made = times_of(b, x, from->multiple);
        made = from->unit < to->unit   ? times_of(b, made, 12)
               : from->unit > to->unit ? floor_by(b, made, 12)
                                       : made;
        return floor_by(b, made, to->multiple);
    }
    made = days_of(b, from, x);
    if (lw_unit_is_calendar(to->unit)) {
        made = months_of_days(b, made);
        made = to->unit == LW_UNIT_Y ? floor_by(b, made, 12) : made;
    } else if (to->unit == LW_UNIT_W) {
        made = floor_by(b, made, 7);
    } else {
        for (int unit = LW_UNIT_D; unit < (int)to->unit; unit++)
            made = times_of(
                b, made, (int64_t)lw_unit_factor((lw_time_unit)unit, (lw_time_unit)(unit + 1)));
    }
    return floor_by(b, made, to->multiple);
}

/* x * num / denom, towards minus infinity. As in NumPy the product wraps, and below 0 the
 * quotient is that of x * num - (denom - 1), truncated. */
static lw_ref
scaled(lw_builder *b, lw_ref x, uint64_t num, uint64_t denom)
{
    lw_ref product = times_of(b, x, (int64_t)num), below;

    if (denom == 1)
        return product;
    below = sum(b, product, -(int64_t)(denom - 1));
    product = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, x, i64(b, 0)), below, product);
    return lw_ir_div(b, product, i64(b, (int64_t)denom));
}

static lw_ref
convert_unit(lw_builder *b, const lw_dtype_row *from, const lw_dtype_row *to, lw_ref x)
{
    uint64_t num = 1, denom = 1;

    if (lw_time_same_unit(from, to))
        return x;
    if (lw_time_by_calendar(from, to))
        return keep_nat(b, x, date_by_calendar(b, from, to, x));
    if (!lw_time_ratio(from, to, &num, &denom))
        b->module->failed = true; /* inference has refused it: lw_time_casts */
    return keep_nat(b, x, scaled(b, x, num, denom));
}

/* Truncated; NaT where no 64-bit number holds it. */
static lw_ref
from_double(lw_builder *b, lw_ref x)
{
    lw_ref low = lw_ir_float(b, LW_DT_f64, -0x1p63), high = lw_ir_float(b, LW_DT_f64, 0x1p63);
    lw_ref fits =
        lw_ir_and(b, lw_ir_compare(b, LW_OP_GE, x, low), lw_ir_compare(b, LW_OP_LT, x, high));

    return lw_ir_select(b, fits, lw_ir_cast(b, LW_DT_i64, x), nat(b));
}

lw_ref
lw_time_cast(lw_builder *b, lw_dtype from, lw_dtype to, lw_ref value)
{
    if (from == to)
        return value;
    if (lw_is_time(from) && lw_is_time(to))
        return lw_dtypes[from].kind == lw_dtypes[to].kind
                   ? convert_unit(b, &lw_dtypes[from], &lw_dtypes[to], value)
                   : value;
    if (to == LW_DT_b1)
        return lw_num_truth(b, value);
    if (lw_is_time(from))
        return lw_ir_cast(b, to, value);
    if (lw_is_float(from))
        return from_double(b, lw_ir_cast(b, LW_DT_f64, value));
    return lw_ir_cast(b, LW_DT_i64, value);
}

/* ---- code ---- */

static lw_ref
either_nat(lw_builder *b, lw_ref x, lw_ref y)
{
    return lw_ir_or(b, is_nat(b, x), is_nat(b, y));
}

/* Where there is a NaT only != holds. */
static lw_ref
compare(lw_builder *b, lw_impl impl, lw_ref x, lw_ref y)
{
    static const lw_op ops[] = {LW_OP_EQ, LW_OP_NE, LW_OP_LT, LW_OP_LE, LW_OP_GT, LW_OP_GE};
    lw_ref nats = either_nat(b, x, y);
    lw_ref holds = lw_ir_compare(b, ops[impl - LW_IMPL_EQ], x, y);

    return impl == LW_IMPL_NE ? lw_ir_or(b, holds, nats)
                              : lw_ir_and(b, holds, lw_ir_not(b, nats));
}

/* Python's min and max, by `<` and `>`: x unless y is known to be before it. */
static lw_ref
extremum(lw_builder *b, lw_impl impl, lw_ref x, lw_ref y)
{
    bool is_max = impl == LW_IMPL_MAX || impl == LW_IMPL_MAXIMUM || impl == LW_IMPL_FMAX;
    lw_ref made;

    if (impl == LW_IMPL_MAX || impl == LW_IMPL_MIN)
        return lw_ir_select(b, compare(b, is_max ? LW_IMPL_GT : LW_IMPL_LT, y, x), y, x);
    made = lw_ir_select(b, lw_ir_compare(b, is_max ? LW_OP_GE : LW_OP_LE, x, y), x, y);
    if (impl == LW_IMPL_MAXIMUM || impl == LW_IMPL_MINIMUM)
        return lw_ir_select(b, either_nat(b, x, y), nat(b), made);
    return lw_ir_select(b, is_nat(b, x), y, lw_ir_select(b, is_nat(b, y), x, made));
}

/* Two timedeltas: the quotient of NaT, and by 0, is 0, the rest NaT. */
static void
divmod(lw_builder *b, lw_ref x, lw_ref y, lw_ref *quotient, lw_ref *rest)
{
    lw_ref undefined =
        lw_ir_or(b, either_nat(b, x, y), lw_ir_compare(b, LW_OP_EQ, y, i64(b, 0)));

    lw_int_divmod(b, x, y, quotient, rest);
    if (quotient != NULL)
        *quotient = lw_ir_select(b, undefined, i64(b, 0), *quotient);
    if (rest != NULL)
        *rest = lw_ir_select(b, undefined, nat(b), *rest);
}

/* Integers truncate here, also under `//`. */
static lw_ref
divided_by_number(lw_builder *b, lw_ref x, lw_ref y)
{
    lw_ref none = is_nat(b, x), zero, divisor;

    if (lw_ir_type(b, y) == LW_DT_f64)
        return lw_ir_select(b, none, nat(b),
                            from_double(b, lw_ir_div(b, lw_ir_cast(b, LW_DT_f64, x), y)));
    zero = lw_ir_compare(b, LW_OP_EQ, y, i64(b, 0));
    none = lw_ir_or(b, none, zero);
    divisor = lw_ir_select(b, none, i64(b, 1), y); /* nor is it NaT / -1 */
    return lw_ir_select(b, none, nat(b), lw_ir_div(b, x, divisor));
}

static lw_ref
multiplied(lw_builder *b, const lw_time_rule *rule, lw_ref x, lw_ref y)
{
    lw_ref time = lw_is_time(rule->operands[0]) ? x : y;
    lw_ref number = time == x && lw_is_time(rule->operands[0]) ? y : x;

    if (lw_ir_type(b, number) == LW_DT_f64)
        return keep_nat(b, time,
                        from_double(b, lw_ir_mul(b, lw_ir_cast(b, LW_DT_f64, time), number)));
    return keep_nat(b, time, lw_ir_mul(b, time, number));
}

static lw_ref
ratio(lw_builder *b, lw_ref x, lw_ref y)
{
    lw_ref quotient = lw_ir_div(b, lw_ir_cast(b, LW_DT_f64, x), lw_ir_cast(b, LW_DT_f64, y));

    return lw_ir_select(b, either_nat(b, x, y), lw_ir_float(b, LW_DT_f64, __builtin_nan("")),
                        quotient);
}

static lw_ref
apply_unary(lw_builder *b, lw_impl impl, lw_ref x)
{
    switch (impl) {
    case LW_IMPL_ISNAT:
    case LW_IMPL_ISNAN: return is_nat(b, x);
    case LW_IMPL_ISFINITE: return lw_ir_not(b, is_nat(b, x));
    case LW_IMPL_ISINF: return lw_ir_int(b, LW_DT_b1, 0);
    case LW_IMPL_NOT: return lw_ir_not(b, x);
    case LW_IMPL_ABS: return lw_int_abs(b, x);
    case LW_IMPL_SIGN: return lw_int_sign(b, x);
    case LW_IMPL_NEG: return lw_ir_neg(b, x);
    default: return x;
    }
}

static void
apply_quotient(lw_builder *b, const lw_time_rule *rule, lw_ref x, lw_ref y, lw_ref *out)
{
    if (!lw_is_time(rule->operands[1]))
        out[0] = divided_by_number(b, x, y);
    else if (rule->impl == LW_IMPL_DIV)
        out[0] = ratio(b, x, y);
    else if (rule->impl == LW_IMPL_MOD)
        divmod(b, x, y, NULL, &out[0]);
    else
        divmod(b, x, y, &out[0], rule->is_pair ? &out[1] : NULL);
}

static lw_ref
apply_binary(lw_builder *b, const lw_time_rule *rule, lw_ref x, lw_ref y)
{
    switch (rule->impl) {
    case LW_IMPL_ADD: return lw_ir_select(b, either_nat(b, x, y), nat(b), lw_ir_add(b, x, y));
    case LW_IMPL_SUB: return lw_ir_select(b, either_nat(b, x, y), nat(b), lw_ir_sub(b, x, y));
    case LW_IMPL_MUL: return multiplied(b, rule, x, y);
    case LW_IMPL_LOGICAL_AND: return lw_ir_and(b, x, y);
    case LW_IMPL_LOGICAL_OR: return lw_ir_or(b, x, y);
    case LW_IMPL_LOGICAL_XOR: return lw_ir_xor(b, x, y);
    case LW_IMPL_EQ:
    case LW_IMPL_NE:
    case LW_IMPL_LT:
    case LW_IMPL_LE:
    case LW_IMPL_GT:
    case LW_IMPL_GE: return compare(b, rule->impl, x, y);
    default: return extremum(b, rule->impl, x, y);
    }
}

void
lw_time_apply(lw_builder *b, const lw_time_rule *rule, const lw_ref *args, lw_ref *out)
{
    assert(rule->n >= 1 && rule->n <= LW_TIME_OPERANDS);
    if (rule->n == 1)
        out[0] = apply_unary(b, rule->impl, args[0]);
    else if (rule->impl == LW_IMPL_WHERE)
        out[0] = lw_ir_select(b, args[0], args[1], args[2]);
    else if (rule->impl == LW_IMPL_CLIP)
        out[0] = extremum(b, LW_IMPL_MINIMUM, extremum(b, LW_IMPL_MAXIMUM, args[0], args[1]),
                          args[2]);
    else if (rule->impl == LW_IMPL_DIV || rule->impl == LW_IMPL_FLOORDIV ||
             rule->impl == LW_IMPL_MOD || rule->impl == LW_IMPL_DIVMOD)
        apply_quotient(b, rule, args[0], args[1], out);
    else
        out[0] = apply_binary(b, rule, args[0], args[1]);
}
