#include "core/ir/facts.h"

#include <assert.h>

#include "core/base/memory.h"

bool
lw_ir_opens_region(lw_op op)
{
    return op == LW_OP_IF || op == LW_OP_BLOCK || op == LW_OP_LOOP;
}

bool
lw_ir_is_prange(const lw_inst *inst)
{
    return inst->op == LW_OP_LOOP && (inst->flags & LW_LOOP_PARALLEL) &&
           !(inst->flags & LW_LOOP_ELEMENTS);
}

bool
lw_ir_is_set(const lw_func *func, uint32_t from, uint32_t to, lw_ref slot)
{
    assert(to <= func->insts.n);
    for (uint32_t i = from; i < to; i++)
        if (func->insts.data[i].op == LW_OP_SET && func->insts.data[i].a == slot)
            return true;
    return false;
}

/* `open` is a stack of the open regions. */
static void
find(lw_ir_regions *regions, const lw_func *func, uint32_t *open)
{
    uint32_t depth = 0, targets = 0;

    for (uint32_t i = 1; i < func->insts.n; i++) {
        lw_op op = (lw_op)func->insts.data[i].op;

        regions->targets[i] = targets;
        if (lw_ir_opens_region(op)) {
            targets += op != LW_OP_IF;
            open[depth++] = i;
            if (depth > regions->deepest)
                regions->deepest = depth;
            continue;
        }
        if (op != LW_OP_ELSE && op != LW_OP_LATCH && op != LW_OP_END)
            continue;
        assert(depth > 0); /* lw_ir_verify: regions are nested */
        if (op == LW_OP_END) {
            regions->ends[open[--depth]] = i;
            targets -= func->insts.data[open[depth]].op != LW_OP_IF;
            regions->targets[i] = targets;
        } else {
            regions->middles[open[depth - 1]] = i;
        }
        assert(op != LW_OP_ELSE || func->insts.data[open[depth - 1]].op == LW_OP_IF);
        assert(op != LW_OP_LATCH || func->insts.data[open[depth - 1]].op == LW_OP_LOOP);
    }
    assert(depth == 0);
}

bool
lw_ir_regions_init(lw_ir_regions *regions, const lw_func *func)
{
    uint32_t n = func->insts.n + 1;
    uint32_t *words = lw_alloc_zero(n, 4 * sizeof *words);

    *regions = (lw_ir_regions){.ends = words};
    if (words == NULL)
        return false;
    regions->middles = words + n;
    regions->targets = words + 2 * (size_t)n;
    find(regions, func, words + 3 * (size_t)n);
    return true;
}

bool
lw_ir_jumps_out(const lw_ir_regions *regions, const lw_func *func, uint32_t from, uint32_t at)
{
    const lw_inst *jump = &func->insts.data[at];

    assert(regions->targets[from] <= regions->targets[at]);
    return (jump->op == LW_OP_BREAK || jump->op == LW_OP_CONTINUE) &&
           jump->a >= regions->targets[at] - regions->targets[from];
}

void
lw_ir_regions_reset(lw_ir_regions *regions)
{
    lw_free(regions->ends);
    *regions = (lw_ir_regions){0};
}
