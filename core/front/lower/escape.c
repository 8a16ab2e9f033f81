/* Memory of local(...) lives as long as the call of the function that makes it, and must not be
 * returned. Pointers are traced through offsets, selects, variables and calls. A callee cannot
 * return local memory of its own, so that the result of a call is local only if an argument
 * is. */
#include "core/front/lower/lower_internal.h"

#include "core/front/diagnose.h"

#include <assert.h>

static bool
any_in_list(const lw_func *func, const bool *local, const lw_inst *inst)
{
    for (uint32_t i = 0; i < inst->c; i++)
        if (local[func->lists.data[inst->b + i]])
            return true;
    return false;
}

static bool
is_local(const lw_func *func, const bool *local, uint32_t at)
{
    const lw_inst *inst = &func->insts.data[at];

    switch (inst->op) {
    case LW_OP_LOCAL: return true;
    case LW_OP_OFFSET:
    case LW_OP_GET:
    case LW_OP_RESULT: return local[inst->a];
    case LW_OP_SELECT: return local[inst->b] || local[inst->c];
    case LW_OP_CALL:
    case LW_OP_RECUR: return any_in_list(func, local, inst);
    default: return false;
    }
}

/* By instruction: whether its value is an address in this call's own memory. */
static bool *
find_local(lw_lower_frame *f)
{
    assert(f->b.func != NULL);
    const lw_func *func = f->b.func;
    bool *local = lw_arena_take(f->l->arena, func->insts.n + 1), changed = local != NULL;

    while (changed) {
        changed = false;
        for (uint32_t i = 1; i < func->insts.n; i++) {
            const lw_inst *inst = &func->insts.data[i];
            uint32_t to = inst->op == LW_OP_SET ? inst->a : i;
            bool now = inst->op == LW_OP_SET ? local[inst->b] : is_local(func, local, i);

            changed |= now && !local[to];
            local[to] |= now;
        }
    }
    return local;
}

static void
complain(lw_lower_frame *f, uint32_t node)
{
    f->l->status =
        lw_diagnose(f->l->tree, lw_node_at(f, node)->loc,
                    (lw_fault){LW_ERR_UNSUPPORTED, "E102",
                               .label = "this is memory of the call that ends here",
                               .help = "make it in the caller, and pass it as an argument",
                               .where = f->fn->name},
                    f->l->err, "a local array leaves the function that made it");
}

void
lw_check_escapes(lw_lower_frame *f)
{
    const lw_func *func = f->b.func;
    bool has_local = false, *local;

    for (uint32_t i = 1; func && i < func->insts.n; i++)
        has_local |= func->insts.data[i].op == LW_OP_LOCAL;
    if (!has_local || f->l->status != LW_OK)
        return;
    local = find_local(f);
    for (uint32_t i = 0; local && i < f->returns.n; i++) {
        const lw_return *left = &f->returns.data[i];

        for (uint32_t j = 0; j < func->insts.data[left->inst].c; j++) {
            lw_ref value = func->lists.data[func->insts.data[left->inst].b + j];

            if (lw_ir_type(&f->b, value) == LW_DT_ptr && local[value]) {
                complain(f, left->node);
                return;
            }
        }
    }
}
