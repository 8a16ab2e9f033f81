/* A call of a row of names.def while it is lowered: its operands and its result. Shared by
 * named.c and named_items.c. */
#ifndef LW_FRONT_LOWER_NAMED_CALL_H
#define LW_FRONT_LOWER_NAMED_CALL_H

#include "core/front/lower/lower_internal.h"

typedef struct lw_named_call {
    lw_lower_frame *f;
    lw_builder *b;
    uint32_t node;
    lw_impl impl;
    lw_type operand, type;
    uint32_t n_args;
    lw_dtype dtype;  /* type in which operands are stored; void: they have none */
    lw_ref *had_nan; /* collects whether an argument is NaN; NULL: it is not asked */
} lw_named_call;

/* Argument i, converted to the type of the operands: as it is, as one scalar, or as a complex
 * number. */
lw_lower_value lw_named_argument(const lw_named_call *c, uint32_t i);
lw_ref lw_named_scalar(const lw_named_call *c, uint32_t i);
lw_complex lw_named_complex(const lw_named_call *c, uint32_t i);
bool lw_named_given(const lw_named_call *c, uint32_t i);
bool lw_named_is_none(const lw_named_call *c, uint32_t i);
lw_ref lw_first_part(lw_lower_value value); /* 0: there is none */

/* The computed value, converted to the type of the call. */
lw_lower_value lw_named_result(const lw_named_call *c, lw_ref made);
lw_lower_value lw_named_complex_result(const lw_named_call *c, lw_complex made);
/* A tuple of two, each converted to the element's type. */
lw_lower_value lw_named_pair(const lw_named_call *c, lw_ref x, lw_ref y);
lw_lower_value lw_named_fail(const lw_named_call *c);

/* ---- named_items.c ---- */
lw_lower_value lw_named_min_max(const lw_named_call *c);
lw_lower_value lw_named_sum(const lw_named_call *c);
lw_lower_value lw_named_any_all(const lw_named_call *c);
lw_lower_value lw_named_gcd_lcm(const lw_named_call *c);
/* enumerate, zip and reversed of tuples are tuples again. */
lw_lower_value lw_named_written_out(const lw_named_call *c);
lw_lower_value lw_named_len(const lw_named_call *c);

#endif
