#include "core/opt/loops/called.h"

#include "core/ir/operands.h"

enum { DEPTH = 16, KNOWN = 128 };

bool
lw_called_init(lw_called *called, const lw_module *module, lw_arena *arena)
{
    *called = (lw_called){.module = module, .n = module->funcs.n};
    called->known = lw_arena_take(arena, called->n + 1);
    return called->known != NULL;
}

const lw_inst *
lw_called_of(const lw_func *func, lw_ref value)
{
    const lw_inst *inst = &func->insts.data[value];

    if (inst->op == LW_OP_RESULT)
        inst = &func->insts.data[inst->a];
    return inst->op == LW_OP_CALL ? inst : NULL;
}

/* ---- memory that a function has made ---- */

static bool is_made(lw_called *called, const lw_func *func, lw_ref address, uint32_t depth);

static bool
is_slot_of_made(lw_called *called, const lw_func *func, lw_ref slot, uint32_t depth)
{
    for (uint32_t i = 1; i < func->insts.n; i++)
        if (func->insts.data[i].op == LW_OP_SET && func->insts.data[i].a == slot &&
            !is_made(called, func, func->insts.data[i].b, depth))
            return false;
    return true;
}

static bool
is_made(lw_called *called, const lw_func *func, lw_ref address, uint32_t depth)
{
    lw_ref root = lw_ir_root(func, address);
    const lw_inst *inst = &func->insts.data[root], *call = lw_called_of(func, root);

    if (depth == 0)
        return false;
    if (call != NULL)
        return lw_called_facts(called, call->a) & LW_CALLED_GIVES;
    if (inst->op == LW_OP_GET)
        return is_slot_of_made(called, func, inst->a, depth - 1);
    if (inst->op == LW_OP_CONST) /* none */
        return func->constants.data[inst->a].bits == 0;
    return inst->op == LW_OP_NEW || lw_op_is_own_memory((lw_op)inst->op);
}

/* LOCAL memory ends with the function, so it is not returned. */
static bool
gives_what_it_made(lw_called *called, const lw_func *func, const lw_inst *returns)
{
    for (uint32_t i = 0; i < returns->c; i++) {
        lw_ref value = func->lists.data[returns->b + i];
        if (func->insts.data[value].type == LW_DT_ptr && !is_made(called, func, value, DEPTH))
            return false;
    }
    return true;
}

/* ---- updates ---- */

/* Whether the values are computed in the same way. Variables are assumed to have kept their
 * value. */
static bool
is_alike(const lw_func *func, lw_ref x, lw_ref y, uint32_t depth)
{
    const lw_inst *u = &func->insts.data[x], *v = &func->insts.data[y];
    uint32_t at = 0, beside = 0;
    lw_ref a, b;

    if (x == y)
        return true;
    if (depth == 0 || u->op != v->op || u->type != v->type)
        return false;
    if (u->op == LW_OP_CONST)
        return func->constants.data[u->a].bits == func->constants.data[v->a].bits;
    if (u->op == LW_OP_PARAM || u->op == LW_OP_GET)
        return u->a == v->a;
    if (lw_ops[u->op].class != LW_CLASS_PURE && u->op != LW_OP_LOAD)
        return false;
    while (lw_ir_next_operand(func, u, &at, &a))
        if (!lw_ir_next_operand(func, v, &beside, &b) || !is_alike(func, a, b, depth - 1))
            return false;
    return true;
}

/* Whether the value is computed from what is at the address. */
static bool
is_from(const lw_func *func, lw_ref value, lw_ref address, uint32_t depth)
{
    const lw_inst *inst = &func->insts.data[value];
    uint32_t at = 0;
    lw_ref operand;

    if (inst->op == LW_OP_LOAD)
        return is_alike(func, inst->a, address, DEPTH);
    if (depth == 0 || lw_ops[inst->op].class != LW_CLASS_PURE)
        return false;
    while (lw_ir_next_operand(func, inst, &at, &operand))
        if (is_from(func, operand, address, depth - 1))
            return true;
    return false;
}

/* ---- functions ---- */

enum { OPERATIONS = 4 }; /* from the element that is read to the one that is stored */

static unsigned
facts_of(lw_called *called, const lw_func *func)
{
    unsigned facts = LW_CALLED_GIVES;

    for (uint32_t i = 1; i < func->insts.n; i++) {
        const lw_inst *inst = &func->insts.data[i];
        unsigned inner;
        switch (inst->op) {
        case LW_OP_STORE:
            if (is_made(called, func, inst->a, DEPTH))
                break;
            facts |= LW_CALLED_STORES;
            if (is_from(func, inst->b, inst->a, OPERATIONS))
                facts |= LW_CALLED_UPDATES;
            break;
        case LW_OP_CALL:
            inner = lw_called_facts(called, inst->a);
            facts |= inner & (LW_CALLED_STORES | LW_CALLED_UPDATES);
            break;
        case LW_OP_ATOMIC:
        case LW_OP_HOST_CALL:
        case LW_OP_RECUR: facts |= LW_CALLED_STORES; break;
        case LW_OP_RETURN:
            if (!gives_what_it_made(called, func, inst))
                facts &= ~(unsigned)LW_CALLED_GIVES;
            break;
        default: break;
        }
    }
    return facts;
}

unsigned
lw_called_facts(lw_called *called, uint32_t number)
{
    if (number >= called->n) /* a part of a loop, which was added meanwhile */
        return LW_CALLED_STORES | LW_CALLED_UPDATES;
    if (called->known[number] == 0)
        called->known[number] =
            (uint8_t)(KNOWN | facts_of(called, called->module->funcs.data[number]));
    return called->known[number] & ~(unsigned)KNOWN;
}
