#include "core/front/times.h"

#include "core/base/divider.h"

/* ---- units ---- */

static const uint64_t parts_of_unit[] = {
#define TIME_UNIT(name, code, parts) parts,
#include "core/tables/time_units.def"
};

bool
lw_unit_is_calendar(lw_time_unit unit)
{
    return unit <= LW_UNIT_M;
}

uint64_t
lw_unit_factor(lw_time_unit coarse, lw_time_unit fine)
{
    uint64_t factor = 1;

    for (int unit = coarse; unit < (int)fine; unit++) {
        factor *= lw_unit_is_calendar((lw_time_unit)unit) ? 1 : parts_of_unit[unit];
        if (factor >> 56 != 0)
            return 0;
    }
    return factor;
}

static lw_dtype
of_kind(lw_kind kind, lw_dtype unit_of)
{
    return lw_time_dtype(kind, lw_dtypes[unit_of].unit, lw_dtypes[unit_of].multiple);
}

/* strict: a difference in years or months has no days. Where a date's unit is coarser than the
 * other one, its multiple does not matter, for NumPy neither. */
static bool
scale_to_finer(const lw_dtype_row *coarse, const lw_dtype_row *fine, bool strict,
               uint64_t *multiple)
{
    uint64_t factor = lw_unit_factor(coarse->unit, fine->unit);

    if (coarse->unit == LW_UNIT_Y && fine->unit == LW_UNIT_M)
        factor = 12;
    else if (lw_unit_is_calendar(coarse->unit) && strict)
        return false;
    *multiple *= factor;
    return factor != 0;
}

static lw_dtype
common_of(lw_kind kind, lw_dtype x, lw_dtype y)
{
    const lw_dtype_row *a = &lw_dtypes[x], *b = &lw_dtypes[y];
    uint64_t n = (uint64_t)a->multiple, m = (uint64_t)b->multiple, both;
    bool a_strict = a->kind == LW_KIND_TIMEDELTA, b_strict = b->kind == LW_KIND_TIMEDELTA;
    lw_time_unit unit = a->unit > b->unit ? a->unit : b->unit;

    if (a->unit == LW_UNIT_generic || b->unit == LW_UNIT_generic)
        return of_kind(kind, a->unit == LW_UNIT_generic ? y : x);
    if (a->unit < b->unit && !scale_to_finer(a, b, a_strict, &n))
        return LW_DT_void;
    if (b->unit < a->unit && !scale_to_finer(b, a, b_strict, &m))
        return LW_DT_void;
    both = lw_greatest_divisor(n, m);
    return both > INT32_MAX ? LW_DT_void : lw_time_dtype(kind, unit, (int32_t)both);
}

lw_dtype
lw_time_common(lw_dtype x, lw_dtype y)
{
    if (!lw_is_time(x) || lw_dtypes[x].kind != lw_dtypes[y].kind)
        return LW_DT_void;
    return common_of(lw_dtypes[x].kind, x, y);
}

/* ---- which casts there are ---- */

/* Whether each step of the coarser unit is a whole number of steps of the finer one. */
static bool
divides(const lw_dtype_row *coarse, const lw_dtype_row *fine)
{
    uint64_t n = (uint64_t)coarse->multiple, m = (uint64_t)fine->multiple;
    bool strict = coarse->kind == LW_KIND_TIMEDELTA;

    if (coarse->unit != fine->unit) {
        if (coarse->unit == LW_UNIT_Y && fine->unit == LW_UNIT_M)
            n *= 12;
        else if (lw_unit_is_calendar(coarse->unit))
            return !strict;
        else
            n *= lw_unit_factor(coarse->unit, fine->unit);
    }
    return n % m == 0;
}

static bool
units_cast_safely(const lw_dtype_row *from, const lw_dtype_row *to)
{
    if (from->unit == LW_UNIT_generic || to->unit == LW_UNIT_generic)
        return from->unit == LW_UNIT_generic;
    if (from->kind == LW_KIND_TIMEDELTA &&
        lw_unit_is_calendar(from->unit) != lw_unit_is_calendar(to->unit))
        return false;
    return from->unit <= to->unit && divides(from, to);
}

bool
lw_time_casts_safely(lw_dtype from, lw_dtype to)
{
    const lw_dtype_row *a = &lw_dtypes[from], *b = &lw_dtypes[to];

    if (from == to)
        return true;
    if (a->kind == b->kind)
        return units_cast_safely(a, b);
    return b->kind == LW_KIND_TIMEDELTA &&
           (from == LW_DT_b1 || (lw_is_integer(from) && from != LW_DT_u64));
}

bool
lw_time_casts_same_kind(lw_dtype from, lw_dtype to)
{
    const lw_dtype_row *a = &lw_dtypes[from], *b = &lw_dtypes[to];

    if (a->kind != b->kind)
        return b->kind == LW_KIND_TIMEDELTA && (from == LW_DT_b1 || lw_is_integer(from));
    if (a->unit == LW_UNIT_generic || b->unit == LW_UNIT_generic)
        return a->unit == LW_UNIT_generic;
    return a->kind == LW_KIND_DATETIME ||
           lw_unit_is_calendar(a->unit) == lw_unit_is_calendar(b->unit);
}

bool
lw_time_ratio(const lw_dtype_row *from, const lw_dtype_row *to, uint64_t *num, uint64_t *denom)
{
    bool swapped = from->unit > to->unit;
    lw_time_unit coarse = swapped ? to->unit : from->unit,
                 fine = swapped ? from->unit : to->unit;
    uint64_t n = 1, m = 1, factor, divisor;

    if (coarse == LW_UNIT_Y && fine == LW_UNIT_M) {
        n = 12;
    } else if (lw_unit_is_calendar(coarse) && coarse != fine) {
        n = LW_DAYS_IN_ERA;
        m = LW_YEARS_IN_ERA * (coarse == LW_UNIT_M ? 12 : 1) * (fine == LW_UNIT_W ? 7 : 1);
        coarse = fine == LW_UNIT_W ? LW_UNIT_W : LW_UNIT_D;
    }
    factor = coarse < fine && !lw_unit_is_calendar(coarse) ? lw_unit_factor(coarse, fine) : 1;
    if (factor == 0 || __builtin_mul_overflow(n, factor, &n))
        return false;
    *num = swapped ? m : n;
    *denom = swapped ? n : m;
    if (__builtin_mul_overflow(*num, (uint64_t)from->multiple, num) ||
        __builtin_mul_overflow(*denom, (uint64_t)to->multiple, denom))
        return false;
    divisor = lw_greatest_divisor(*num, *denom);
    *num /= divisor;
    *denom /= divisor;
    return *num <= INT64_MAX && *denom <= INT64_MAX;
}

bool
lw_time_by_calendar(const lw_dtype_row *from, const lw_dtype_row *to)
{
    return from->kind == LW_KIND_DATETIME &&
           (lw_unit_is_calendar(from->unit) || lw_unit_is_calendar(to->unit));
}

bool
lw_time_same_unit(const lw_dtype_row *from, const lw_dtype_row *to)
{
    return (from->unit == to->unit && from->multiple == to->multiple) ||
           from->unit == LW_UNIT_generic || to->unit == LW_UNIT_generic;
}

bool
lw_time_casts(lw_dtype from, lw_dtype to)
{
    const lw_dtype_row *a = &lw_dtypes[from], *b = &lw_dtypes[to];
    uint64_t num, denom;

    if (lw_is_complex(from) || lw_is_complex(to))
        return false;
    if (a->kind != b->kind)
        return true;
    if (to != from && b->unit == LW_UNIT_generic)
        return false;
    if (lw_time_by_calendar(a, b)) /* NumPy asks for the ratio of a day, too */
        return lw_unit_factor(LW_UNIT_D, a->unit > b->unit ? a->unit : b->unit) != 0;
    return lw_time_same_unit(a, b) || lw_time_ratio(a, b, &num, &denom);
}

/* ---- one value ---- */

static int64_t
floor_by(int64_t x, int64_t divisor)
{
    return x / divisor - (x % divisor < 0);
}

/* Wraps. */
static int64_t
product(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x * (uint64_t)y);
}

/* Wraps, too. */
static int64_t
sum(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x + (uint64_t)y);
}

static int64_t
days_of_months(int64_t months)
{
    int64_t from_march = sum(months, LW_MONTHS_TO_1970), year = floor_by(from_march, 12);
    int64_t leap_days =
        floor_by(year, 4) - floor_by(year, 100) + floor_by(year, LW_YEARS_IN_ERA);
    int64_t before_month = ((from_march - 12 * year) * 153 + 2) / 5;

    return sum(product(year, 365), leap_days + before_month - LW_DAYS_TO_1970);
}

static int64_t
months_of_days(int64_t days)
{
    int64_t from_march = sum(days, LW_DAYS_TO_1970), era = floor_by(from_march, LW_DAYS_IN_ERA);
    int64_t day = from_march - era * LW_DAYS_IN_ERA;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t month = (5 * (day - 365 * year - year / 4 + year / 100) + 2) / 153;

    return 12 * (year + era * LW_YEARS_IN_ERA) + month - LW_MONTHS_TO_1970;
}

static int64_t
days_of(const lw_dtype_row *from, int64_t x)
{
    uint64_t in_day;

    x = product(x, from->multiple);
    if (lw_unit_is_calendar(from->unit))
        return days_of_months(product(x, from->unit == LW_UNIT_Y ? 12 : 1));
    if (from->unit == LW_UNIT_W)
        return product(x, 7);
    in_day = lw_unit_factor(LW_UNIT_D, from->unit);
    return in_day == 0 ? -(x < 0) : floor_by(x, (int64_t)in_day);
}

static int64_t
date_by_calendar(const lw_dtype_row *from, const lw_dtype_row *to, int64_t x)
{
    if (lw_unit_is_calendar(from->unit) && lw_unit_is_calendar(to->unit)) {
        x = product(x, from->multiple);
        x = from->unit < to->unit   ? product(x, 12)
            : from->unit > to->unit ? floor_by(x, 12)
                                    : x;
        return floor_by(x, to->multiple);
    }
    x = days_of(from, x);
    if (lw_unit_is_calendar(to->unit))
        x = floor_by(months_of_days(x), to->unit == LW_UNIT_Y ? 12 : 1);
    else if (to->unit == LW_UNIT_W)
        x = floor_by(x, 7);
    else
        for (int unit = LW_UNIT_D; unit < (int)to->unit; unit++)
            x = product(x, (int64_t)parts_of_unit[unit]);
    return floor_by(x, to->multiple);
}

int64_t
lw_time_value(lw_dtype from, lw_dtype to, int64_t steps)
{
    const lw_dtype_row *a = &lw_dtypes[from], *b = &lw_dtypes[to];
    uint64_t num = 1, denom = 1;
    int64_t scaled;

    if (steps == INT64_MIN || lw_time_same_unit(a, b))
        return steps;
    if (lw_time_by_calendar(a, b))
        return date_by_calendar(a, b, steps);
    if (!lw_time_ratio(a, b, &num, &denom))
        return INT64_MIN;
    scaled = product(steps, (int64_t)num);
    if (steps < 0)
        scaled = (int64_t)((uint64_t)scaled - (denom - 1));
    return scaled / (int64_t)denom;
}

/* ---- rules ---- */

static bool
is_whole(lw_dtype dtype) /* counts as an integer beside a time */
{
    return dtype == LW_DT_b1 || lw_is_integer(dtype);
}

static bool
set_rule(lw_time_rule *rule, lw_dtype x, lw_dtype y, lw_dtype result)
{
    rule->operands[0] = x;
    rule->operands[1] = y;
    rule->result = result;
    return x != LW_DT_void && y != LW_DT_void && result != LW_DT_void;
}

/* An integer beside a time is a difference of its unit; u64_too: NumPy adds uint64, too, but
 * has no common type with it. */
static lw_dtype
as_difference(lw_dtype dtype, lw_dtype beside, bool u64_too)
{
    return is_whole(dtype) && (u64_too || dtype != LW_DT_u64)
               ? of_kind(LW_KIND_TIMEDELTA, beside)
               : dtype;
}

static bool
sum_rule(lw_time_rule *rule, lw_dtype x, lw_dtype y)
{
    bool adds = rule->impl == LW_IMPL_ADD;
    lw_dtype time = lw_is_time(x) ? x : y, date;

    x = as_difference(x, time, true);
    y = as_difference(y, time, true);
    if (!lw_is_time(x) || !lw_is_time(y))
        return false;
    if (lw_is_datetime(x) && lw_is_datetime(y)) {
        date = lw_time_common(x, y);
        return !adds && date != LW_DT_void &&
               set_rule(rule, date, date, of_kind(LW_KIND_TIMEDELTA, date));
    }
    if (!lw_is_datetime(x) && !lw_is_datetime(y)) {
        time = lw_time_common(x, y);
        return set_rule(rule, time, time, time);
    }
    date = common_of(LW_KIND_DATETIME, x, y);
    if (date == LW_DT_void || (lw_is_datetime(y) && !adds))
        return false;
    time = of_kind(LW_KIND_TIMEDELTA, date);
    return lw_is_datetime(x) ? set_rule(rule, date, time, date)
                             : set_rule(rule, time, date, date);
}

static bool
product_rule(lw_time_rule *rule, lw_dtype x, lw_dtype y)
{
    lw_dtype time = lw_is_time(x) ? x : y, number = lw_is_time(x) ? y : x;

    if (lw_is_time(number) || lw_is_datetime(time) ||
        !(is_whole(number) || lw_is_float(number)))
        return false;
    number = is_whole(number) ? LW_DT_i64 : LW_DT_f64;
    return lw_is_time(x) ? set_rule(rule, time, number, time)
                         : set_rule(rule, number, time, time);
}

/* timedelta by number is a timedelta; of two timedeltas the quotient is a number. */
static bool
quotient_rule(lw_time_rule *rule, lw_dtype x, lw_dtype y)
{
    bool takes_numbers = rule->impl == LW_IMPL_DIV || rule->impl == LW_IMPL_FLOORDIV;
    lw_dtype common;

    if (!lw_is_time(x) || lw_is_datetime(x) || lw_is_datetime(y))
        return false;
    if (lw_is_time(y)) {
        common = lw_time_common(x, y);
        rule->is_pair = rule->impl == LW_IMPL_DIVMOD;
        return set_rule(rule, common, common,
                        rule->impl == LW_IMPL_DIV   ? LW_DT_f64
                        : rule->impl == LW_IMPL_MOD ? common
                                                    : LW_DT_i64);
    }
    if (!takes_numbers || !(lw_is_integer(y) || lw_is_float(y)))
        return false;
    return set_rule(rule, x, lw_is_integer(y) ? LW_DT_i64 : LW_DT_f64, x);
}

/* Comparisons and extrema: of one kind, where integers count as timedeltas. */
static bool
common_rule(lw_time_rule *rule, lw_dtype x, lw_dtype y, lw_dtype result)
{
    lw_dtype time = lw_is_time(x) ? x : y, common;

    if (!lw_is_datetime(time)) {
        x = as_difference(x, time, false);
        y = as_difference(y, time, false);
    }
    common = lw_time_common(x, y);
    return set_rule(rule, common, common, result == LW_DT_void ? common : result);
}

static bool
unary_rule(lw_time_rule *rule, lw_dtype x)
{
    switch (rule->impl) {
    case LW_IMPL_ISNAT:
    case LW_IMPL_ISNAN:
    case LW_IMPL_ISINF:
    case LW_IMPL_ISFINITE: return set_rule(rule, x, x, LW_DT_b1);
    case LW_IMPL_NOT: return set_rule(rule, LW_DT_b1, LW_DT_b1, LW_DT_b1);
    case LW_IMPL_ABS:
    case LW_IMPL_SIGN:
    case LW_IMPL_NEG:
    case LW_IMPL_POS: return !lw_is_datetime(x) && set_rule(rule, x, x, x);
    default: return false;
    }
}

static bool
ternary_rule(lw_time_rule *rule, const lw_dtype *in)
{
    lw_dtype common;

    switch (rule->impl) {
    case LW_IMPL_WHERE:
        if (!common_rule(rule, in[1], in[2], LW_DT_void))
            return false;
        rule->operands[2] = rule->operands[1];
        rule->operands[0] = LW_DT_b1;
        return true;
    case LW_IMPL_CLIP:
        if (!common_rule(rule, in[0], in[1], LW_DT_void))
            return false;
        common = rule->result;
        if (!common_rule(rule, common, in[2], LW_DT_void))
            return false;
        rule->operands[2] = rule->operands[1];
        return true;
    default: return false;
    }
}

bool
lw_time_rule_of(lw_impl impl, const lw_dtype *in, uint32_t n, lw_time_rule *out)
{
    *out = (lw_time_rule){.impl = impl, .n = n};
    if (n == 1)
        return unary_rule(out, in[0]);
    if (n == 3)
        return ternary_rule(out, in);
    if (n != 2)
        return false;
    switch (impl) {
    case LW_IMPL_ADD:
    case LW_IMPL_SUB: return sum_rule(out, in[0], in[1]);
    case LW_IMPL_MUL: return product_rule(out, in[0], in[1]);
    case LW_IMPL_DIV:
    case LW_IMPL_FLOORDIV:
    case LW_IMPL_MOD:
    case LW_IMPL_DIVMOD: return quotient_rule(out, in[0], in[1]);
    case LW_IMPL_EQ:
    case LW_IMPL_NE:
    case LW_IMPL_LT:
    case LW_IMPL_LE:
    case LW_IMPL_GT:
    case LW_IMPL_GE: return common_rule(out, in[0], in[1], LW_DT_b1);
    case LW_IMPL_MIN:
    case LW_IMPL_MAX:
    case LW_IMPL_MAXIMUM:
    case LW_IMPL_MINIMUM:
    case LW_IMPL_FMAX:
    case LW_IMPL_FMIN: return common_rule(out, in[0], in[1], LW_DT_void);
    case LW_IMPL_LOGICAL_AND:
    case LW_IMPL_LOGICAL_OR:
    case LW_IMPL_LOGICAL_XOR: return set_rule(out, LW_DT_b1, LW_DT_b1, LW_DT_b1);
    default: return false;
    }
}
