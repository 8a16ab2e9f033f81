/* The indices of a forall are independent by definition: what the body does at one index must
 * not depend on what it does at another. So loads of one index may be executed before stores of
 * another. LLVM and ptxas do not know this and keep `y[i] = a * x[i] + y[i]` of the second
 * index behind the store of the first, because the two may be at one address; with the bodies
 * of four indices one after the other, a thread waits for memory four times instead of once.
 *
 * The order within an index is kept. A function that breaks the rule, whose threads race in any
 * case, may see older values of what another index writes than it would with one index after
 * the other. */
#include "core/opt/batch.h"

#include "core/ir/operands.h"

#include <assert.h>
#include <string.h>

/* More values than this for each index would cost more registers than their loads gain. */
enum { MOST_LOADS = 8 };

/* Whether the instruction can stand before instructions of other indices. Own memory cannot: it
 * exists once in the body. */
static bool
is_early(const lw_inst *inst)
{
    switch ((lw_op)inst->op) {
    case LW_OP_LOAD:
    case LW_OP_GET:
    case LW_OP_SET:
    case LW_OP_SLOT:
    case LW_OP_DATA: return true;
    default: return lw_ops[inst->op].class == LW_CLASS_PURE;
    }
}

/* Whether the body is left at its end alone, and has no memory of its own. */
static bool
is_divisible(const lw_func *body)
{
    uint32_t last = body->insts.n - 1;

    for (uint32_t i = 1; i < body->insts.n; i++) {
        lw_op op = (lw_op)body->insts.data[i].op;
        if ((op == LW_OP_RETURN) != (i == last) ||
            (lw_ops[op].class == LW_CLASS_DECL && op != LW_OP_SLOT && op != LW_OP_DATA))
            return false;
    }
    return body->results.n == 0;
}

/* Whether the element is in an array that nobody writes. */
static bool
is_readonly(const lw_func *body, const uint32_t *flags, lw_ref pointer)
{
    const lw_inst *inst = &body->insts.data[pointer];

    while (inst->op == LW_OP_OFFSET)
        inst = &body->insts.data[inst->a];
    return inst->op == LW_OP_DATA ||
           (inst->op == LW_OP_PARAM && (flags[inst->a] & LW_PARAM_READONLY));
}

uint32_t
lw_batch_split(const lw_func *body, const uint32_t *flags, bool noalias)
{
    uint32_t n_loads = 0, at = 1;
    bool gains = false;

    if (body->insts.n < 2 || !is_divisible(body))
        return 0;
    for (; is_early(&body->insts.data[at]); at++) {
        const lw_inst *inst = &body->insts.data[at];
        if (inst->op != LW_OP_LOAD)
            continue;
        n_loads++;
        gains |= !noalias || !is_readonly(body, flags, inst->a);
    }
    return gains && n_loads <= MOST_LOADS && body->insts.data[at].op != LW_OP_RETURN ? at : 0;
}

static void
copy(lw_builder *b, const lw_func *body, uint32_t at, lw_ref *const args, lw_ref *to)
{
    const lw_inst inst = body->insts.data[at];

    if (inst.op == LW_OP_PARAM)
        to[at] = args[inst.a];
    else if (inst.op == LW_OP_CONST)
        to[at] = lw_ir_bits(b, (lw_dtype)inst.type, body->constants.data[inst.a].bits);
    else
        to[at] = lw_ir_copy(b, body, inst, to);
}

void
lw_batch_emit(lw_builder *b, const lw_func *body, uint32_t split, lw_ref *const args[LW_BATCH])
{
    uint32_t n = body->insts.n;
    lw_ref *to = lw_arena_take(&b->module->arena, LW_BATCH * (size_t)n * sizeof *to);

    if (to == NULL) {
        b->module->failed = true;
        return;
    }
    assert(split > 0 && split < n);
    memset(to, 0, LW_BATCH * (size_t)n * sizeof *to);
    for (int k = 0; k < LW_BATCH; k++)
        for (uint32_t i = 1; i < split; i++)
            copy(b, body, i, args[k], to + (size_t)k * n);
    for (int k = 0; k < LW_BATCH; k++)
        for (uint32_t i = split; i + 1 < n; i++)
            copy(b, body, i, args[k], to + (size_t)k * n);
}
