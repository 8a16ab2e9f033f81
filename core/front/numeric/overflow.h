/* Whether integer operations, which wrap, have lost something: what check={"overflow"} asks. */
#ifndef LW_FRONT_NUMERIC_OVERFLOW_H
#define LW_FRONT_NUMERIC_OVERFLOW_H

#include "core/front/tree.h"
#include "core/ir/build.h"

/* Whether the exact x op y is not `result`, the wrapped one, whose type x and y have; but y of
 * LW_PY_POW is of any integer type. 0: it never is, as of operations on bits: what a shift
 * drops is meant to go. */
lw_ref lw_int_overflows(lw_builder *b, lw_pyop op, lw_ref x, lw_ref y, lw_ref result);

/* Whether x * y is not `product`, of their type. */
lw_ref lw_int_product_overflows(lw_builder *b, lw_ref x, lw_ref y, lw_ref product);

/* The same for -x and for abs(x). */
lw_ref lw_int_neg_overflows(lw_builder *b, lw_ref x);
lw_ref lw_int_abs_overflows(lw_builder *b, lw_ref x);

#endif
