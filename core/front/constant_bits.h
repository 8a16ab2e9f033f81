/* The bits that a constant number has in compiled code, of any dtype that it is converted to;
 * and what constant floats come to, for constants that are folded and those that vary. */
#ifndef LW_FRONT_CONSTANT_BITS_H
#define LW_FRONT_CONSTANT_BITS_H

#include "core/front/tree.h"

/* The bits of its real part as `dtype`, which is no complex one. */
uint64_t lw_constant_real_bits(const lw_constant *k, lw_dtype dtype);
/* Of its imaginary part, as a float. */
uint64_t lw_constant_imaginary_bits(const lw_constant *k, lw_dtype dtype);
/* The integer as a double. False: it may not be exact as one. */
bool lw_constant_exact_double(__int128 value, double *out);
/* x op y. False: Python raises, or the operator is not one of those that are folded. */
bool lw_constant_float_op(lw_pyop op, double x, double y, double *out);

#endif
