/* The form of a counted loop is compared instruction by instruction. */
#include "core/opt/counted.h"

enum { HEADER = 7 }; /* instructions in front of a body */

static bool
is_header(const lw_func *func, uint32_t at)
{
    const lw_inst *i = &func->insts.data[at];

    return at + HEADER < func->insts.n && i[1].op == LW_OP_GET && i[1].lanes <= 1 &&
           i[2].op == LW_OP_LT && i[2].a == at + 1 && i[3].op == LW_OP_NOT &&
           i[3].a == at + 2 && i[4].op == LW_OP_IF && i[4].a == at + 3 &&
           i[5].op == LW_OP_BREAK && i[5].a == 0 && i[6].op == LW_OP_END;
}

static bool
is_one(const lw_func *func, lw_ref value)
{
    const lw_inst *inst = &func->insts.data[value];

    return inst->op == LW_OP_CONST && func->constants.data[inst->a].bits == 1;
}

bool
lw_counted_loop_of_any(const lw_func *func, const lw_ir_regions *regions, uint32_t at,
                       lw_counted_loop *loop)
{
    uint32_t latch = regions->middles[at], end = regions->ends[at];
    const lw_inst *i = func->insts.data;

    if (i[at].op != LW_OP_LOOP || !is_header(func, at) || latch < at + HEADER ||
        end != latch + 4 || i[latch + 1].op != LW_OP_GET || i[latch + 2].op != LW_OP_ADD ||
        i[latch + 2].a != latch + 1 || i[latch + 3].op != LW_OP_SET ||
        i[latch + 3].b != latch + 2 || !is_one(func, i[latch + 2].b))
        return false;
    *loop = (lw_counted_loop){at, at + HEADER, latch, end, i[at + 1].a, i[at + 2].b};
    if (i[latch + 1].a != loop->slot || i[latch + 3].a != loop->slot)
        return false;
    for (uint32_t k = at; k < latch; k++)
        if (i[k].op == LW_OP_SET && i[k].a == loop->slot)
            return false;
    return true;
}

bool
lw_counted_loop_at(const lw_func *func, const lw_ir_regions *regions, uint32_t at,
                   lw_counted_loop *loop)
{
    lw_dtype type;

    if (!lw_counted_loop_of_any(func, regions, at, loop))
        return false;
    type = (lw_dtype)func->insts.data[at + 1].type;
    return type == LW_DT_i64 || type == LW_DT_u64;
}
