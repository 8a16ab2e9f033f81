/* datetime64 and timedelta64: NumPy's rules of units, casts, operators and functions. The unit
 * of a time is in its dtype alone, so whoever emits code converts operands first, as
 * lw_time_rule says; the code is in core/front/numeric/times. */
#ifndef LW_FRONT_TIMES_H
#define LW_FRONT_TIMES_H

#include "core/front/named.h"

enum { LW_TIME_OPERANDS = 3 };

/* One operator or function of times: what each operand is converted to, and what comes out. Of
 * divmod `result` is the quotient's type, and the rest is of the operands'. */
typedef struct lw_time_rule {
    lw_impl impl;
    uint32_t n;
    lw_dtype operands[LW_TIME_OPERANDS];
    lw_dtype result;
    bool is_pair;
} lw_time_rule;

/* in: dtypes of the operands, of which one is a time; Python's numbers are i64 and f64. False:
 * NumPy refuses it, too. */
bool lw_time_rule_of(lw_impl impl, const lw_dtype *in, uint32_t n, lw_time_rule *out);

/* The unit in which times of one kind meet; void: there is none. */
lw_dtype lw_time_common(lw_dtype x, lw_dtype y);
/* As np.can_cast, where one of the two is a time. */
bool lw_time_casts_safely(lw_dtype from, lw_dtype to);
bool lw_time_casts_same_kind(lw_dtype from, lw_dtype to);
/* Whether an explicit cast, x.astype("m8[s]"), exists: NumPy's unsafe casts, but for units so
 * far apart that no 64-bit number holds their ratio. */
bool lw_time_casts(lw_dtype from, lw_dtype to);

/* One number of steps in the other unit, as core/front/numeric/times computes it. Both are of
 * one kind. */
int64_t lw_time_value(lw_dtype from, lw_dtype to, int64_t steps);

/* ---- for conversions ---- */

/* 400 years have 400 * 365 + 97 days. */
enum { LW_DAYS_IN_ERA = 146097, LW_YEARS_IN_ERA = 400 };
/* Years begin in March, so that the leap day is their last one, and months have (153 * m + 2) /
 * 5 days before them (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms"). Both are
 * counted from March of the year 0. */
enum { LW_MONTHS_TO_1970 = 1970 * 12 - 2, LW_DAYS_TO_1970 = 719468 };

bool lw_unit_is_calendar(lw_time_unit unit); /* years, months: the length depends on the date */
/* How many of the finer unit the coarser one has, both from week to attosecond; 0: too many, by
 * NumPy's bound. */
uint64_t lw_unit_factor(lw_time_unit coarse, lw_time_unit fine);
/* The same number in both: of one unit, or of none. */
bool lw_time_same_unit(const lw_dtype_row *from, const lw_dtype_row *to);
/* Dates in years or months are converted by the calendar … */
bool lw_time_by_calendar(const lw_dtype_row *from, const lw_dtype_row *to);
/* … and others by a step of `from` in steps of `to`, a fraction; false: it does not fit. */
bool lw_time_ratio(const lw_dtype_row *from, const lw_dtype_row *to, uint64_t *num,
                   uint64_t *denom);

#endif
