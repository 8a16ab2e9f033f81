#include "core/opt/prune.h"

#include "core/base/memory.h"
#include "core/ir/facts.h"
#include "core/ir/operands.h"

#include <assert.h>
#include <string.h>

/* ---- one function anew ---- */

typedef struct rewriter {
    lw_module *module;
    lw_func *func;
    uint32_t func_number;
    const lw_prune_facts *facts;
    int8_t *known;  /* by value: 1 true, -1 false, 0 not known */
    uint8_t *gone;  /* by instruction */
    uint8_t *moves; /* by instruction: it stays, at the beginning of the function */
    uint32_t *uses; /* by value */
    lw_ref *number; /* by value: its number in the new array */
} rewriter;

static int8_t
knowledge(const rewriter *r, const lw_inst *inst)
{
    int8_t x = 0, y = 0;

    if (inst->op == LW_OP_AND || inst->op == LW_OP_OR || inst->op == LW_OP_NOT)
        x = r->known[inst->a];
    if (inst->op == LW_OP_AND || inst->op == LW_OP_OR)
        y = r->known[inst->b];
    switch (inst->op) {
    case LW_OP_AND: return x < y ? x : y;
    case LW_OP_OR: return x > y ? x : y;
    case LW_OP_NOT: return -x;
    default: return (int8_t)r->facts->known(r->facts->context, r->func_number, inst);
    }
}

/* Values of these may be used outside the region in which they are computed. */
static bool
is_anywhere(const lw_inst *inst)
{
    return lw_ops[inst->op].class == LW_CLASS_DECL || inst->op == LW_OP_CONST ||
           inst->op == LW_OP_PARAM || inst->op == LW_OP_SREG || inst->op == LW_OP_VARYING;
}

/* Drops an IF whose condition is known, with the arm that is not taken; what the other arm
 * consists of stays. */
static void
drop_if(rewriter *r, uint32_t at)
{
    bool taken = r->known[r->func->insts.data[at].a] > 0, inside = taken;

    assert(r->func->insts.data[at].op == LW_OP_IF);
    for (uint32_t i = at, depth = 0; i < r->func->insts.n; i++) {
        const lw_inst *inst = &r->func->insts.data[i];
        bool opens = lw_ir_opens_region((lw_op)inst->op);
        bool own = i == at;

        if (inst->op == LW_OP_ELSE && depth == 1) {
            inside = !taken;
            own = true;
        }
        depth += opens;
        depth -= inst->op == LW_OP_END;
        r->gone[i] |= own || depth == 0 || (!inside && !is_anywhere(inst));
        r->moves[i] |= !inside && is_anywhere(inst);
        if (depth == 0)
            return;
    }
}

/* What follows a jump in its region, now that an arm has become part of the region. */
static void
drop_dead(rewriter *r)
{
    uint32_t depth = 0; /* of regions in dead code */
    bool dead = false;

    for (uint32_t i = 1; i < r->func->insts.n; i++) {
        const lw_inst *inst = &r->func->insts.data[i];
        bool closes =
            inst->op == LW_OP_END || inst->op == LW_OP_ELSE || inst->op == LW_OP_LATCH;

        if (r->gone[i])
            continue;
        if (closes && depth == 0)
            dead = false;
        if (dead) {
            depth += lw_ir_opens_region((lw_op)inst->op);
            depth -= inst->op == LW_OP_END;
            r->moves[i] |= is_anywhere(inst);
            r->gone[i] = !is_anywhere(inst);
        }
        dead |=
            inst->op == LW_OP_BREAK || inst->op == LW_OP_CONTINUE || inst->op == LW_OP_RETURN;
    }
}

static void
count_uses(rewriter *r, uint32_t at, int by)
{
    uint32_t k = 0;
    lw_ref operand;

    while (lw_ir_next_operand(r->func, &r->func->insts.data[at], &k, &operand)) {
        assert(by > 0 || r->uses[operand] > 0);
        r->uses[operand] += (uint32_t)by;
    }
}

/* Drops the values that nothing uses any longer. */
static void
drop_unused(rewriter *r)
{
    for (uint32_t i = 1; i < r->func->insts.n; i++)
        if (!r->gone[i])
            count_uses(r, i, 1);
    for (uint32_t i = r->func->insts.n; i-- > 1;) {
        lw_op_class class = lw_ops[r->func->insts.data[i].op].class;
        bool stays = class != LW_CLASS_PURE && class != LW_CLASS_DECL &&
                     r->func->insts.data[i].op != LW_OP_GET;
        if (r->gone[i] || stays || r->uses[i] > 0)
            continue;
        r->gone[i] = true;
        count_uses(r, i, -1);
    }
}

/* Those that move come first. */
static bool
write_function(rewriter *r)
{
    lw_func *func = r->func;
    lw_func old = *func;
    uint32_t n = 1, n_old = func->insts.n;
    lw_inst *insts = lw_arena_take(&r->module->arena, n_old * sizeof *insts);

    if (insts == NULL)
        return false;
    drop_dead(r);
    drop_unused(r);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 1; i < n_old; i++) {
            lw_inst inst = old.insts.data[i];
            if (r->gone[i] || r->moves[i] == round)
                continue;
            if (!lw_ir_renumber(&old, &inst, r->number, func, &r->module->arena))
                return false;
            old.lists = func->lists; /* the array has grown and may have moved */
            r->number[i] = n;
            insts[n++] = inst;
        }
    assert(n <= n_old); /* instructions only go */
    memcpy(func->insts.data + 1, insts + 1, (n - 1) * sizeof *insts);
    func->insts.n = n;
    return true;
}

static bool
rewrite(rewriter *r, bool *changed)
{
    uint32_t n = r->func->insts.n;
    uint8_t *tables = lw_alloc_zero(n + 1, 3 + 2 * sizeof(uint32_t));
    bool good = true, found = false;

    if (tables == NULL)
        return false;
    r->uses = (uint32_t *)(void *)tables;
    r->number = r->uses + n;
    r->known = (int8_t *)(r->number + n);
    r->gone = (uint8_t *)(r->known + n);
    r->moves = r->gone + n;
    for (uint32_t i = 1; i < n; i++) {
        const lw_inst *inst = &r->func->insts.data[i];
        r->known[i] = knowledge(r, inst);
        if (inst->op != LW_OP_IF || r->known[inst->a] == 0 || r->gone[i])
            continue;
        drop_if(r, i);
        found = true;
    }
    if (found)
        good = write_function(r);
    *changed |= found;
    lw_free(tables);
    return good;
}

/* ---- functions that nobody calls any longer ---- */

static void
mark_called(const lw_module *module, uint32_t number, uint8_t bit, uint8_t *called)
{
    const lw_func *func = module->funcs.data[number];

    assert(number < module->funcs.n);
    if (called[number] & bit)
        return;
    called[number] |= bit;
    for (uint32_t i = 1; i < func->insts.n; i++)
        if (lw_op_names_function((lw_op)func->insts.data[i].op))
            mark_called(module, func->insts.data[i].a, bit, called);
}

static void
drop_functions(lw_module *module, const uint8_t *called, uint32_t *number)
{
    uint32_t n = 0;

    for (uint32_t f = 0; f < module->funcs.n; f++)
        if (called[f] != 1) {
            module->funcs.data[n] = module->funcs.data[f];
            number[f] = n++;
        }
    module->funcs.n = n;
    for (uint32_t f = 0; f < n; f++)
        for (uint32_t i = 1; i < module->funcs.data[f]->insts.n; i++) {
            lw_inst *inst = &module->funcs.data[f]->insts.data[i];
            if (!lw_op_names_function((lw_op)inst->op))
                continue;
            assert(called[inst->a] != 1); /* its callers went, too */
            inst->a = number[inst->a];
        }
}

static void
mark_all_called(const lw_module *module, uint32_t entry, uint8_t bit, uint8_t *called)
{
    for (uint32_t f = 0; f < module->funcs.n; f++) {
        lw_linkage linkage = module->funcs.data[f]->linkage;
        if (entry == (uint32_t)LW_EVERY_ENTRY ? linkage == LW_KERNEL || linkage == LW_EXPORTED
                                              : f == entry)
            mark_called(module, f, bit, called);
    }
}

/* called: bit 0 for the module before the change, bit 1 for the one after. */
bool
lw_prune(lw_module *module, const lw_prune_facts *facts, uint32_t entry)
{
    uint32_t n = module->funcs.n;
    uint32_t *number = lw_alloc_zero(n + 1, sizeof *number + 1);
    uint8_t *called = (uint8_t *)(number + n);
    bool good = number != NULL, changed = false;

    if (good)
        mark_all_called(module, entry, 1, called);
    for (uint32_t f = 0; good && f < n; f++) {
        rewriter r = {
            .module = module, .func = module->funcs.data[f], .func_number = f, .facts = facts};
        good = rewrite(&r, &changed);
    }
    if (good && changed) {
        mark_all_called(module, entry, 2, called);
        drop_functions(module, called, number);
    }
    lw_free(number);
    return good;
}

/* ---- the side that code is for ---- */

static int
is_on_gpu(const void *context, uint32_t func, const lw_inst *inst)
{
    (void)func;
    if (inst->op != LW_OP_ON_GPU)
        return 0;
    return *(const bool *)context ? 1 : -1;
}

lw_status
lw_opt_side(lw_module *module, bool gpu, lw_error *err)
{
    const lw_prune_facts facts = {is_on_gpu, &gpu};

    return lw_prune(module, &facts, (uint32_t)LW_EVERY_ENTRY) ? LW_OK : lw_fail_memory(err);
}
