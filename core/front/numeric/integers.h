/* Integer operations with the meaning both targets share (docs/typing.md): they wrap, nothing
 * traps, division by zero gives 0, INT_MIN // -1 is INT_MIN. Operands have one integer type
 * unless said otherwise. Selects instead of branches, so that loops over them stay
 * vectorisable. */
#ifndef LW_FRONT_NUMERIC_INTEGERS_H
#define LW_FRONT_NUMERIC_INTEGERS_H

#include "core/ir/build.h"

/* Python's signs: the remainder has the sign of the divisor. Either result may be NULL. */
void lw_int_divmod(lw_builder *b, lw_ref x, lw_ref y, lw_ref *quotient, lw_ref *rest);
lw_ref lw_int_floordiv(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_int_fmod(lw_builder *b, lw_ref x, lw_ref y); /* C's signs, np.fmod */
lw_ref lw_int_reciprocal(lw_builder *b, lw_ref x);     /* 1, -1 or 0 */

/* The count may have any integer type; below 0 or from the width on, all bits are shifted out.
 */
lw_ref lw_int_shl(lw_builder *b, lw_ref x, lw_ref count);
lw_ref lw_int_shr(lw_builder *b, lw_ref x, lw_ref count);

/* A negative exponent gives 0, but 1 and -1 stay exact. */
lw_ref lw_int_power(lw_builder *b, lw_ref x, lw_ref exponent);
lw_ref lw_int_abs(lw_builder *b, lw_ref x);
lw_ref lw_int_sign(lw_builder *b, lw_ref x);
lw_ref lw_int_gcd(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_int_lcm(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_int_isqrt(lw_builder *b, lw_ref x); /* of a negative number: 0 */
/* These wrap, and say so in *wraps where that is not NULL; of a negative number, or for k > n,
 * they are 0. */
lw_ref lw_int_factorial(lw_builder *b, lw_ref x, lw_ref *wraps);
lw_ref lw_int_comb(lw_builder *b, lw_ref n, lw_ref k, lw_ref *wraps); /* i64 or u64 */
lw_ref lw_int_perm(lw_builder *b, lw_ref n, lw_ref k, lw_ref *wraps);
lw_ref lw_int_popcount(lw_builder *b, lw_ref x);   /* of the magnitude; u8 */
lw_ref lw_int_bit_length(lw_builder *b, lw_ref x); /* of the magnitude; u8 */
/* Half to even at 10**-digits; digits: i64, counts when negative. */
lw_ref lw_int_round(lw_builder *b, lw_ref x, lw_ref digits);

/* Exact by value whatever the two integer types (or bool) are: -1 < any uint64. */
lw_ref lw_int_compare(lw_builder *b, lw_op op, lw_ref x, lw_ref y);

lw_dtype lw_unsigned_of(lw_dtype type); /* the unsigned type of the same width */
lw_dtype lw_signed_of(lw_dtype type);
bool lw_is_signed(lw_dtype type);

/* Helper functions live in the module once. begin says false when the function `stem`_`type` is
 * there already; either way *number is what to call. */
bool lw_helper_begin(lw_builder *helper, lw_module *module, const char *stem, lw_dtype type,
                     uint32_t *number);
void lw_helper_end(lw_builder *helper);

#endif
