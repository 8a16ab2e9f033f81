/* Shared by the files of numeric: what they assert of operands. When an allocation has failed,
 * values are 0 and nothing holds of them. */
#ifndef LW_FRONT_NUMERIC_INTERNAL_H
#define LW_FRONT_NUMERIC_INTERNAL_H

#include <assert.h>

#include "core/ir/build.h"

static inline bool
lw_same_type(const lw_builder *b, lw_ref x, lw_ref y)
{
    return x == 0 || y == 0 || lw_ir_type(b, x) == lw_ir_type(b, y);
}

/* Integers; bool, too. */
static inline bool
lw_holds_integer(const lw_builder *b, lw_ref x)
{
    return x == 0 || lw_ir_type(b, x) == LW_DT_b1 || lw_is_integer(lw_ir_type(b, x));
}

static inline bool
lw_holds_float(const lw_builder *b, lw_ref x)
{
    return x == 0 || lw_is_float(lw_ir_type(b, x));
}

#endif
