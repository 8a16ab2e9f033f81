/* Arithmetic on one scalar of any kind: picks the integer, float or bool form. Operands have
 * one type unless stated otherwise; complex numbers are in complex.h. */
#ifndef LW_FRONT_NUMERIC_NUMERIC_H
#define LW_FRONT_NUMERIC_NUMERIC_H

#include "core/ir/build.h"

lw_ref lw_num_floordiv(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_num_mod(lw_builder *b, lw_ref x, lw_ref y);
void lw_num_divmod(lw_builder *b, lw_ref x, lw_ref y, lw_ref *quotient, lw_ref *rest);
lw_ref lw_num_fmod(lw_builder *b, lw_ref x, lw_ref y);
/* Of integers: the exponent may have any integer type. */
lw_ref lw_num_power(lw_builder *b, lw_ref x, lw_ref y, bool precise);
lw_ref lw_num_abs(lw_builder *b, lw_ref x);
lw_ref lw_num_sign(lw_builder *b, lw_ref x);
lw_ref lw_num_reciprocal(lw_builder *b, lw_ref x);

/* Compares exact values of any two integer types or bool; floats and integers must be converted
 * before. */
lw_ref lw_num_compare(lw_builder *b, lw_op op, lw_ref x, lw_ref y);
lw_ref lw_num_truth(lw_builder *b, lw_ref x); /* != 0; NaN is true */

/* As Python: y if y < x else x (min), y if y > x else x (max). */
lw_ref lw_num_min(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_num_max(lw_builder *b, lw_ref x, lw_ref y);
/* As NumPy: minimum and maximum return NaN if an operand is NaN, fmin and fmax ignore it. */
lw_ref lw_num_minimum(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_num_maximum(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_num_fmin(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_num_fmax(lw_builder *b, lw_ref x, lw_ref y);

#endif
