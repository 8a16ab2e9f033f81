/* The function is written anew. A callee's instructions are copied, with its parameters
 * replaced by the arguments. */
#include "core/opt/inline.h"

#include "core/base/memory.h"
#include "core/ir/operands.h"

#include <assert.h>
#include <string.h>

typedef LW_ARRAY(lw_inst) lw_insts;

enum { MOST_INLINED = 400 };

bool
lw_opt_can_inline(const lw_func *func)
{
    uint32_t last = func->insts.n - 1;

    if (func->linkage != LW_INTERNAL || func->insts.n > MOST_INLINED)
        return false;
    for (uint32_t i = 1; i <= last; i++) {
        lw_op op = (lw_op)func->insts.data[i].op;
        lw_op_class class = lw_ops[op].class;
        if ((op == LW_OP_RETURN) != (i == last) ||
            (class == LW_CLASS_WRITE && op != LW_OP_SET && op != LW_OP_STORE &&
             op != LW_OP_CALL) ||
            (class == LW_CLASS_DECL && op != LW_OP_SLOT && op != LW_OP_DATA))
            return false;
    }
    return true;
}

bool
lw_func_begin_anew(lw_builder *b, uint32_t room)
{
    lw_insts fresh = {0};
    lw_inst none = {0};

    if (!lw_array_reserve(&fresh, room, &b->module->arena))
        return false;
    assert(fresh.data != NULL);
    fresh.data[fresh.n++] = none;
    memcpy(&b->func->insts, &fresh, sizeof b->func->insts);
    return true;
}

typedef struct inliner {
    lw_builder b;
    lw_func old;
    lw_inline_wanted wanted;
    lw_ref *to, *become, *results;
    lw_ref call; /* whose results are in `results` */
} inliner;

/* Emits a function's instructions in place of a call. */
static void
write_inlined(inliner *n, const lw_inst *call, const lw_func *func)
{
    lw_builder *b = &n->b;

    for (uint32_t i = 1; i < func->insts.n; i++) {
        const lw_inst *inst = &func->insts.data[i];
        if (inst->op == LW_OP_PARAM)
            n->become[i] = n->to[n->old.lists.data[call->b + inst->a]];
        else if (inst->op == LW_OP_CONST)
            n->become[i] =
                lw_ir_bits(b, (lw_dtype)inst->type, func->constants.data[inst->a].bits);
        else if (inst->op != LW_OP_RETURN)
            n->become[i] = lw_ir_copy(b, func, *inst, n->become);
    }
    for (uint32_t i = 0; i < func->results.n; i++)
        n->results[i] = n->become[func->lists.data[func->insts.data[func->insts.n - 1].b + i]];
}

static void
write_with_inlined(inliner *n)
{
    const lw_module *module = n->b.module;

    for (uint32_t i = 1; i < n->old.insts.n; i++) {
        const lw_inst *inst = &n->old.insts.data[i];
        if (inst->op == LW_OP_CALL && n->wanted(module, &n->old, i)) {
            const lw_func *func = module->funcs.data[inst->a];
            write_inlined(n, inst, func);
            n->call = i;
            n->to[i] = func->results.n == 1 ? n->results[0] : 0;
        } else if (inst->op == LW_OP_RESULT && inst->a == n->call)
            n->to[i] = n->results[inst->b];
        else
            n->to[i] = lw_ir_copy(&n->b, &n->old, *inst, n->to);
    }
}

lw_status
lw_opt_inline(lw_module *module, uint32_t func, lw_inline_wanted wanted, lw_error *err)
{
    lw_func *f = module->funcs.data[func];
    inliner n = {
        .b = {.module = module, .func = f, .func_number = func}, .old = *f, .wanted = wanted};
    uint32_t most = MOST_INLINED + 1;

    n.to = lw_alloc_zero(f->insts.n + 2 * (size_t)most, sizeof *n.to);
    if (n.to == NULL || !lw_func_begin_anew(&n.b, f->insts.n)) {
        lw_free(n.to);
        return lw_fail_memory(err);
    }
    n.become = n.to + n.old.insts.n;
    n.results = n.become + most;
    write_with_inlined(&n);
    lw_free(n.to);
    if (module->failed)
        return lw_fail_memory(err);
    f->has_inlined = true;
    return LW_OK;
}
