/* Constants that are operands: numbers that a function captured and that the program changes
 * again and again. Inference treats them as constants, so that typing, folding and rounding are
 * those of constants. Compiled code does not contain their value: it reads a cell, which has
 * the bits as the dtype that is needed. Cells exist for the captured numbers and for what is
 * computed from them and from constants alone; when a captured number gets another value, all
 * cells are computed again, by the code that folds constants.
 *
 * Whoever needs the value itself (a shape, an exponent, a condition) calls lw_varying_fix,
 * which pins it: from then on it is an ordinary constant, and another value needs other code.
 */
#ifndef LW_FRONT_VARYING_H
#define LW_FRONT_VARYING_H

#include "core/front/tree.h"

typedef struct lw_varying lw_varying;
typedef struct lw_varyings lw_varyings; /* all of a tree; locked inside */

/* NULL: memory ran out. */
lw_varyings *lw_varyings_new(void);
void lw_varyings_free(lw_varyings *all); /* NULL is allowed */
/* Whether one of them is not pinned. NULL is allowed. */
bool lw_varyings_any(lw_varyings *all);
void lw_varyings_pin(lw_varyings *all);
/* How often a value has been set, to see that none was. */
uint64_t lw_varyings_version(lw_varyings *all);

/* Whether a constant can be an operand: a number that is neither a time nor a member. */
bool lw_varying_can_be(const lw_constant *constant);
/* Of a captured number; NULL: memory ran out. It lives as long as `all`. */
lw_varying *lw_varying_new(lw_varyings *all, const lw_constant *value);
/* What x op y is, of which at least one is an operand (y: NULL for unary minus); into *out,
 * whose `varying` is set. False: it is not computed exactly from any value, so that the
 * operands have to be pinned. */
bool lw_varying_fold(lw_pyop op, const lw_constant *x, const lw_constant *y, lw_constant *out);
/* The bits as a dtype, in memory that stays; a complex number has two. NULL: memory ran out. */
const uint64_t *lw_varying_cell(lw_varying *varying, lw_dtype dtype);

/* A constant of the kind and the dtype of its values; of what value does not matter. */
lw_constant lw_varying_like(const lw_varying *varying);
bool lw_varying_is_pinned(const lw_varying *varying);
/* The constant itself, or its value now if it is an operand, which is pinned. */
const lw_constant *lw_varying_fix(const lw_constant *constant);
/* The same without pinning it, so that it may be another value at once: what it is known by in
 * messages, and in inference that knows no operands. */
lw_constant lw_varying_now(const lw_constant *constant);
/* Whether this number is an operand: it varies, and is not pinned. */
bool lw_varying_varies(const lw_constant *constant);
/* The integers that are typed as this one is: they fit the same dtypes. */
void lw_varying_range(const lw_constant *constant, int64_t *lo, int64_t *hi);

/* Another value for a captured number. False: code that was compiled for the present one does
 * not compute with the other; nothing has changed. */
bool lw_varying_set(lw_varying *varying, const lw_constant *value);

#endif
