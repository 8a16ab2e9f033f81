/* Integer operations with the meaning that both targets share (docs/typing.md): they wrap,
 * nothing traps, division by zero gives 0, INT_MIN // -1 is INT_MIN. Operands have one integer
 * type unless stated otherwise. Selects are used instead of branches, so that loops over them
 * can be vectorised. */
#ifndef LW_FRONT_NUMERIC_INTEGERS_H
#define LW_FRONT_NUMERIC_INTEGERS_H

#include "core/ir/build.h"

/* Python's signs: the remainder has the sign of the divisor. Either result may be NULL. */
void lw_int_divmod(lw_builder *b, lw_ref x, lw_ref y, lw_ref *quotient, lw_ref *rest);
lw_ref lw_int_floordiv(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_int_fmod(lw_builder *b, lw_ref x, lw_ref y); /* C's signs, np.fmod */
lw_ref lw_int_reciprocal(lw_builder *b, lw_ref x);     /* 1, -1 or 0 */

/* The count may have any integer type; a count below 0 or not below the width shifts out all
 * bits. */
lw_ref lw_int_shl(lw_builder *b, lw_ref x, lw_ref count);
lw_ref lw_int_shr(lw_builder *b, lw_ref x, lw_ref count);

/* A negative exponent gives 0, except that 1 and -1 give exact results. */
lw_ref lw_int_power(lw_builder *b, lw_ref x, lw_ref exponent);
lw_ref lw_int_abs(lw_builder *b, lw_ref x);
lw_ref lw_int_sign(lw_builder *b, lw_ref x);
lw_ref lw_int_gcd(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_int_lcm(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_int_isqrt(lw_builder *b, lw_ref x); /* of a negative number: 0 */
/* These wrap, and report it in *wraps unless that is NULL; for a negative number, or for k > n,
 * they are 0. */
lw_ref lw_int_factorial(lw_builder *b, lw_ref x, lw_ref *wraps);
lw_ref lw_int_comb(lw_builder *b, lw_ref n, lw_ref k, lw_ref *wraps); /* i64 or u64 */
lw_ref lw_int_perm(lw_builder *b, lw_ref n, lw_ref k, lw_ref *wraps);
lw_ref lw_int_popcount(lw_builder *b, lw_ref x);   /* of the magnitude; u8 */
lw_ref lw_int_bit_length(lw_builder *b, lw_ref x); /* of the magnitude; u8 */
/* 1 + the number of the lowest bit that is set, or 0, as `result`. */
lw_ref lw_int_find_first_set(lw_builder *b, lw_dtype result, lw_ref x);
/* Round half to even at 10**-digits; digits: i64, only negative ones have an effect. */
lw_ref lw_int_round(lw_builder *b, lw_ref x, lw_ref digits);

/* Compares exact values whatever the two integer types (or bool) are: -1 < any uint64. */
lw_ref lw_int_compare(lw_builder *b, lw_op op, lw_ref x, lw_ref y);

lw_dtype lw_unsigned_of(lw_dtype type); /* the unsigned type of the same width */
lw_dtype lw_signed_of(lw_dtype type);

/* Helper functions exist once in a module. begin returns false when the function `stem`_`type`
 * exists already; in both cases *number is the function to call. */
bool lw_helper_begin(lw_builder *helper, lw_module *module, const char *stem, lw_dtype type,
                     uint32_t *number);
void lw_helper_end(lw_builder *helper);

#endif
