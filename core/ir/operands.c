#include "core/ir/operands.h"

#include <assert.h>

/* In an instruction with a list, the other operands are numbers. */
bool
lw_ir_next_operand(const lw_func *func, const lw_inst *inst, uint32_t *at, lw_ref *operand)
{
    const char *args = lw_ops[inst->op].args;
    const uint32_t operands[3] = {inst->a, inst->b, inst->c};

    assert(inst->op < LW_N_OPS);
    if (args[1] == 'L') {
        assert(inst->b + inst->c <= func->lists.n);
        if (*at >= inst->c)
            return false;
        *operand = func->lists.data[inst->b + (*at)++];
        assert(*operand < func->insts.n);
        return true;
    }
    while (*at < 3 && args[*at] != 'v' && args[*at] != 's')
        ++*at;
    if (*at >= 3)
        return false;
    *operand = operands[(*at)++];
    assert(*operand < func->insts.n);
    return true;
}

bool
lw_ir_inst_uses(const lw_func *func, const lw_inst *inst, lw_ref ref)
{
    uint32_t at = 0;
    lw_ref operand;

    while (lw_ir_next_operand(func, inst, &at, &operand))
        if (operand == ref)
            return true;
    return false;
}

uint32_t
lw_ir_count_uses(const lw_func *func, lw_ref ref)
{
    uint32_t n = 0;

    assert(ref > 0 && ref < func->insts.n); /* uses follow it */
    for (uint32_t i = ref + 1; i < func->insts.n; i++)
        n += lw_ir_inst_uses(func, &func->insts.data[i], ref);
    return n;
}

static bool
renumber_list(const lw_func *from, lw_inst *inst, const lw_ref *become, lw_func *to_func,
              lw_arena *arena)
{
    uint32_t start = to_func->lists.n;

    assert(inst->b + inst->c <= from->lists.n);
    if (inst->c > 0 && !lw_array_reserve(&to_func->lists, inst->c, arena))
        return false;
    for (uint32_t i = 0; i < inst->c; i++)
        to_func->lists.data[start + i] = become[from->lists.data[inst->b + i]];
    to_func->lists.n += inst->c;
    inst->b = start;
    return true;
}

bool
lw_ir_renumber(const lw_func *from, lw_inst *inst, const lw_ref *become, lw_func *to_func,
               lw_arena *arena)
{
    const char *args = lw_ops[inst->op].args;
    uint32_t *operands[3] = {&inst->a, &inst->b, &inst->c};

    if (args[1] == 'L')
        return renumber_list(from, inst, become, to_func, arena);
    for (int k = 0; k < 3; k++)
        if (args[k] == 'v' || args[k] == 's')
            *operands[k] = become[*operands[k]];
    return true;
}

lw_ref
lw_ir_copy(lw_builder *b, const lw_func *from, lw_inst inst, const lw_ref *become)
{
    lw_inst *made;
    lw_ref copy;

    if (b->func == NULL || !lw_ir_renumber(from, &inst, become, b->func, &b->module->arena)) {
        b->module->failed = true;
        return 0;
    }
    copy = lw_ir_emit(b, (lw_op)inst.op, (lw_dtype)inst.type, inst.a, inst.b, inst.c);
    if (copy == 0)
        return 0;
    made = &b->func->insts.data[copy];
    made->flags = inst.flags;
    made->lanes = inst.lanes;
    made->loc = inst.loc;
    return copy;
}
