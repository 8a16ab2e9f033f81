/* The code of times: conversions, and what operators and functions of core/front/times.h
 * compute. A time is an i64 in the IR; NaT is the smallest one. */
#ifndef LW_FRONT_NUMERIC_TIMES_H
#define LW_FRONT_NUMERIC_TIMES_H

#include "core/front/times.h"
#include "core/ir/build.h"

/* A value of one part as the other dtype; one of the two is a time, and lw_time_casts. */
lw_ref lw_time_cast(lw_builder *b, lw_dtype from, lw_dtype to, lw_ref value);
/* Operands of rule->operands; out: one value, of divmod two. */
void lw_time_apply(lw_builder *b, const lw_time_rule *rule, const lw_ref *args, lw_ref *out);

#endif
