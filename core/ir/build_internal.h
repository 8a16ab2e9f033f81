/* What the files build*.c share: the instruction of a value, and the questions of their
 * asserts. */
#ifndef LW_IR_BUILD_INTERNAL_H
#define LW_IR_BUILD_INTERNAL_H

#include "core/ir/build.h"

#include <assert.h>

static const lw_inst nothing; /* what value 0 stands for: it has no type and no operands */

static inline const lw_inst *
inst_of(const lw_builder *b, lw_ref value)
{
    if (b->func == NULL || value == 0 || value >= b->func->insts.n)
        return &nothing;
    return &b->func->insts.data[value];
}

#ifndef NDEBUG
/* What asserts ask. Once memory has run out values are 0, so nothing is known. */
static inline bool
has_type(const lw_builder *b, lw_ref value, lw_dtype type)
{
    return b->module->failed || inst_of(b, value)->type == type;
}

static inline bool
same_types(const lw_builder *b, lw_ref x, lw_ref y)
{
    return b->module->failed || inst_of(b, x)->type == inst_of(b, y)->type;
}

static inline bool
is_scalar(const lw_builder *b, lw_dtype type)
{
    return b->module->failed || (type != LW_DT_void && !lw_is_complex(type));
}

static inline bool
is_op(const lw_builder *b, lw_ref value, lw_op op)
{
    return b->module->failed || inst_of(b, value)->op == op;
}

static inline bool
is_power_of_two(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}
#endif

#endif
