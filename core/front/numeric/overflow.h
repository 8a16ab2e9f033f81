/* Whether integer operations, which wrap, have lost information: check={"overflow"} asks
 * this. */
#ifndef LW_FRONT_NUMERIC_OVERFLOW_H
#define LW_FRONT_NUMERIC_OVERFLOW_H

#include "core/front/tree.h"
#include "core/ir/build.h"

/* Whether the exact x op y differs from `result`, the wrapped one. x and y have the type of the
 * result, but the y of LW_PY_POW may have any integer type. 0: it never differs, as for
 * operations on bits: what a shift drops is dropped on purpose. */
lw_ref lw_int_overflows(lw_builder *b, lw_pyop op, lw_ref x, lw_ref y, lw_ref result);

/* Whether the exact x * y differs from `product`, which has their type. */
lw_ref lw_int_product_overflows(lw_builder *b, lw_ref x, lw_ref y, lw_ref product);

/* The same for -x and for abs(x). */
lw_ref lw_int_neg_overflows(lw_builder *b, lw_ref x);
lw_ref lw_int_abs_overflows(lw_builder *b, lw_ref x);

#endif
