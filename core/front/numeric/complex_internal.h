/* Shared by complex.c and complex_functions.c. */
#ifndef LW_FRONT_NUMERIC_COMPLEX_INTERNAL_H
#define LW_FRONT_NUMERIC_COMPLEX_INTERNAL_H

#include "core/front/numeric/complex.h"

/* The float64 formula of a function, emitted in place. */
lw_complex lw_complex_formula(lw_builder *b, lw_complex_function which, lw_complex z);

#endif
