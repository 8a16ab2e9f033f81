/* Complex numbers as pairs of values, because the IR has none. Arithmetic follows NumPy formula
 * by formula and is emitted where it is used. Functions are helpers of the module; they compute
 * in float64 for complex64, too, where overflow and underflow of intermediate results cannot
 * occur.
 *
 * Branch cuts and special values: ISO C99 Annex G.6. */
#ifndef LW_FRONT_NUMERIC_COMPLEX_H
#define LW_FRONT_NUMERIC_COMPLEX_H

#include "core/ir/build.h"

typedef struct lw_complex {
    lw_ref re, im; /* of one type, f32 or f64 */
} lw_complex;

typedef enum lw_complex_function {
    LW_COMPLEX_SQRT,
    LW_COMPLEX_EXP,
    LW_COMPLEX_EXP2,
    LW_COMPLEX_EXPM1,
    LW_COMPLEX_LOG,
    LW_COMPLEX_LOG2,
    LW_COMPLEX_LOG10,
    LW_COMPLEX_LOG1P,
    LW_COMPLEX_SIN,
    LW_COMPLEX_COS,
    LW_COMPLEX_TAN,
    LW_COMPLEX_SINH,
    LW_COMPLEX_COSH,
    LW_COMPLEX_TANH,
    LW_COMPLEX_ASIN,
    LW_COMPLEX_ACOS,
    LW_COMPLEX_ATAN,
    LW_COMPLEX_ASINH,
    LW_COMPLEX_ACOSH,
    LW_COMPLEX_ATANH,
    LW_N_COMPLEX_FUNCTIONS
} lw_complex_function;

lw_complex lw_complex_add(lw_builder *b, lw_complex x, lw_complex y);
lw_complex lw_complex_sub(lw_builder *b, lw_complex x, lw_complex y);
lw_complex lw_complex_mul(lw_builder *b, lw_complex x, lw_complex y);
lw_complex lw_complex_div(lw_builder *b, lw_complex x, lw_complex y); /* Smith's method */
lw_complex lw_complex_neg(lw_builder *b, lw_complex x);
lw_complex lw_complex_conjugate(lw_builder *b, lw_complex x);
lw_complex lw_complex_select(lw_builder *b, lw_ref condition, lw_complex yes, lw_complex no);

lw_complex lw_complex_call(lw_builder *b, lw_complex_function which, lw_complex x);
/* A function's value with cmath's special values in place of those of NumPy. */
lw_complex lw_complex_as_cmath(lw_builder *b, lw_complex_function which, lw_complex x,
                               lw_complex value);
lw_complex lw_complex_power(lw_builder *b, lw_complex x, lw_complex y); /* npy_cpow */
lw_complex lw_complex_reciprocal(lw_builder *b, lw_complex x);
lw_complex lw_complex_sign(lw_builder *b, lw_complex x); /* x / |x| */
lw_complex lw_complex_rint(lw_builder *b, lw_complex x);
lw_complex lw_complex_sinc(lw_builder *b, lw_complex x);
lw_complex lw_complex_rect(lw_builder *b, lw_ref radius, lw_ref angle);
lw_ref lw_complex_abs(lw_builder *b, lw_complex x); /* no intermediate overflow */
lw_ref lw_complex_angle(lw_builder *b, lw_complex x);

/* EQ and NE compare both parts; the others compare lexicographically and are false when a part
 * is NaN, as in NumPy. */
lw_ref lw_complex_compare(lw_builder *b, lw_op op, lw_complex x, lw_complex y);
lw_ref lw_complex_truth(lw_builder *b, lw_complex x);
lw_ref lw_complex_isnan(lw_builder *b, lw_complex x);
lw_ref lw_complex_isinf(lw_builder *b, lw_complex x);
lw_ref lw_complex_isfinite(lw_builder *b, lw_complex x);
lw_ref lw_complex_isclose(lw_builder *b, lw_complex x, lw_complex y, lw_ref relative,
                          lw_ref absolute);
/* op: LW_OP_GE for the larger, LW_OP_LE for the smaller of the two; pass_nan: a NaN is
 * returned. */
lw_complex lw_complex_extremum(lw_builder *b, lw_op op, bool pass_nan, lw_complex x,
                               lw_complex y);

#endif
