/* Float operations that take more than one instruction, with NumPy's results (docs/typing.md)
 * on both targets. Operands have one float type; float16 and bfloat16 are computed in float32
 * and rounded once, as in NumPy. Selects are used instead of branches. Fast-math flags of the
 * builder choose a faster form where there is one; all other formulas are emitted without these
 * flags, so that contraction does not change their bits. */
#ifndef LW_FRONT_NUMERIC_FLOATS_H
#define LW_FRONT_NUMERIC_FLOATS_H

#include "core/ir/build.h"
#include "core/tables/intrinsics.h"

/* An intrinsic of one or two operands of the type; its result has that type (or i32 if the row
 * says so). */
lw_ref lw_float_call(lw_builder *b, lw_intrinsic which, lw_ref x);
lw_ref lw_float_call2(lw_builder *b, lw_intrinsic which, lw_ref x, lw_ref y);

/* Clear the fast-math flags; lw_float_relax restores what this returned. */
uint32_t lw_float_exact(lw_builder *b);
void lw_float_relax(lw_builder *b, uint32_t fast);

/* As npy_divmod: fmod, then Python's signs. Either result may be NULL. */
void lw_float_divmod(lw_builder *b, lw_ref x, lw_ref y, lw_ref *quotient, lw_ref *rest);

/* Constant exponents -1, 0, 1, 2 are exact operations; 3 and 4 are products unless `precise`.
 */
lw_ref lw_float_power(lw_builder *b, lw_ref x, lw_ref y, bool precise);
lw_ref lw_float_sign(lw_builder *b, lw_ref x);
lw_ref lw_float_heaviside(lw_builder *b, lw_ref x, lw_ref at_zero);
lw_ref lw_float_logaddexp(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_float_logaddexp2(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_float_scale(lw_builder *b, lw_ref x, double factor); /* x * factor */
lw_ref lw_float_sinc(lw_builder *b, lw_ref x);                 /* sin(pi x) / (pi x) */
lw_ref lw_float_round(lw_builder *b, lw_ref x, lw_ref digits); /* np.round; digits: i64 */
lw_ref lw_float_fma(lw_builder *b, lw_ref x, lw_ref y, lw_ref z);

/* math.isclose; the tolerances have the operands' type */
lw_ref lw_float_isclose(lw_builder *b, lw_ref x, lw_ref y, lw_ref relative, lw_ref absolute);
/* Computed from the bits, so that no fast-math flag can assume them away. */
lw_ref lw_float_isnan(lw_builder *b, lw_ref x);
lw_ref lw_float_isinf(lw_builder *b, lw_ref x);
lw_ref lw_float_isfinite(lw_builder *b, lw_ref x);
lw_ref lw_float_signbit(lw_builder *b, lw_ref x); /* bool */
lw_ref lw_float_nextafter(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_float_spacing(lw_builder *b, lw_ref x); /* np.spacing: signed, except for float16 */
lw_ref lw_float_ulp(lw_builder *b, lw_ref x);     /* math.ulp: positive */
lw_ref lw_float_ldexp(lw_builder *b, lw_ref x, lw_ref exponent); /* exponent: any integer */
void lw_float_frexp(lw_builder *b, lw_ref x, lw_ref *mantissa, lw_ref *exponent); /* i32 */
void lw_float_modf(lw_builder *b, lw_ref x, lw_ref *fraction, lw_ref *whole);

#endif
