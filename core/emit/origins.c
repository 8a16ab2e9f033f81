/* Where functions are called; what they do with the memory to which their parameters point, and
 * what follows for the attributes of a kernel's parameters.
 *
 * libNVVM merges loads: where one branch reads x[i] and another y[j], it selects the pointer
 * and loads once. If x is noalias and never written, the merged load counts as one of x,
 * although y is written: it becomes ld.global.nc, which need not see what was stored, or is
 * moved out of the loop that stores to y (compute_75 to 90, libNVVM 13.0 and 13.5, seen on an
 * H200, 2026-11-29). So parameters that are never written are called neither noalias nor
 * readonly in modules in which some memory is both read and written. Instead, each load from
 * them is called invariant: it stays ld.global.nc, also across barriers and stores to shared
 * memory, and a load that libNVVM merges with one of y is an ordinary one. */
#include "core/base/memory.h"
#include "core/emit/emit_internal.h"

/* Bits of a parameter. */
enum {
    FROM_KERNEL = 1, /* it is offset from a parameter of a kernel, in every call */
    CONSTANT = 2,    /* and from one to whose memory nothing is written in the launch */
    LOADED = 4,      /* memory at an address offset from it is read */
    STORED = 8,      /* such memory is written */
    USED = LOADED | STORED
};

static uint32_t
n_parameters(const lw_module *m)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < m->funcs.n; i++)
        n += m->funcs.data[i]->params.n;
    return n;
}

static const lw_inst *
root_of(const lw_func *func, lw_ref pointer)
{
    while (func->insts.data[pointer].op == LW_OP_OFFSET)
        pointer = func->insts.data[pointer].a;
    return &func->insts.data[pointer];
}

/* The bits of the parameter from which a pointer is offset; NULL: of none. */
static uint8_t *
bits_of(const lw_emitter *e, uint32_t number, lw_ref pointer)
{
    const lw_inst *root = root_of(e->module->funcs.data[number], pointer);

    return root->op == LW_OP_PARAM ? e->origins + e->callees[number].first_param + root->a
                                   : NULL;
}

static bool
add_bits(uint8_t *bits, uint32_t more)
{
    bool changed = bits != NULL && (*bits | more) != *bits;

    if (changed)
        *bits |= (uint8_t)more;
    return changed;
}

/* What an instruction does with the pointers among its operands. A pointer that is kept in a
 * variable, selected or returned may be used in any way. */
static void
note_uses(lw_emitter *e, uint32_t number, const lw_inst *inst)
{
    const lw_func *func = e->module->funcs.data[number];
    const char *args = lw_ops[inst->op].args;
    const uint32_t operands[3] = {inst->a, inst->b, inst->c};

    switch ((lw_op)inst->op) {
    case LW_OP_OFFSET:
    case LW_OP_PREFETCH:
    case LW_OP_MEET:
    case LW_OP_DISTANCE:
    case LW_OP_CALL: /* see note_call */
    case LW_OP_RECUR:
    case LW_OP_BITCAST: return;
    case LW_OP_LOAD: add_bits(bits_of(e, number, inst->a), LOADED); return;
    case LW_OP_STORE: add_bits(bits_of(e, number, inst->a), STORED); break;
    default: break;
    }
    for (int k = inst->op == LW_OP_STORE; k < 3; k++) {
        uint32_t n = args[k] == 'L' ? operands[k + 1] : args[k] == 'v';

        for (uint32_t i = 0; i < n; i++) {
            lw_ref value = args[k] == 'L' ? func->lists.data[operands[k] + i] : operands[k];
            if (func->insts.data[value].type == LW_DT_ptr)
                add_bits(bits_of(e, number, value), USED);
        }
    }
}

/* The function uses an argument as it uses the parameter. A parameter is FROM_KERNEL or
 * CONSTANT only if the arguments of all calls are. */
static bool
note_call(lw_emitter *e, const lw_emit_call_site *call)
{
    const lw_func *func = e->module->funcs.data[call->caller];
    const lw_inst *inst = &func->insts.data[call->at];
    bool changed = false;

    for (uint32_t k = 0; k < inst->c; k++) {
        uint8_t *to = &e->origins[e->callees[inst->a].first_param + k];
        uint8_t *from = bits_of(e, call->caller, func->lists.data[inst->b + k]);

        uint8_t not_in_this = (FROM_KERNEL | CONSTANT) & ~(from == NULL ? 0u : *from);

        changed |= add_bits(from, *to & USED) || (*to & not_in_this);
        *to &= (uint8_t)~not_in_this;
    }
    return changed;
}

/* Whether it loads, for the user, from memory that is no parameter of a kernel and that may be
 * written. What the block's threads exchange, without a location in the user's code, is read
 * outside of branches that also read arrays. */
static bool
loads_own_memory(const lw_func *func, const lw_inst *inst)
{
    lw_op root = LW_OP_PARAM;

    if (inst->op == LW_OP_LOAD && inst->loc != 0 && !(inst->flags & LW_MEM_INVARIANT))
        root = (lw_op)root_of(func, inst->a)->op;
    return root != LW_OP_PARAM && root != LW_OP_DATA && root != LW_OP_CONTEXT;
}

static void
note(lw_emitter *e, uint32_t number, uint32_t at)
{
    const lw_func *func = e->module->funcs.data[number];
    const lw_inst *inst = &func->insts.data[at];

    note_uses(e, number, inst);
    e->reads_written |= loads_own_memory(func, inst);
    if (inst->op == LW_OP_STORE && lw_is_integer((lw_dtype)func->insts.data[inst->b].type)) {
        e->stores_integers = true;
        e->stores_sums |= lw_may_be_sum(func, inst->b);
    }
}

static bool
list_calls(lw_emitter *e, uint32_t caller)
{
    const lw_func *func = e->module->funcs.data[caller];
    lw_emit_call_site *site;

    for (uint32_t i = 1; i < func->insts.n; i++) {
        const lw_inst *inst = &func->insts.data[i];

        if (!lw_op_is_call((lw_op)inst->op))
            continue;
        site = lw_array_push(&e->calls, NULL);
        if (site == NULL)
            return false;
        *site = (lw_emit_call_site){caller, i, e->callees[inst->a].first_call};
        e->callees[inst->a].first_call = e->calls.n;
    }
    return true;
}

/* What a parameter is assumed to be until a call shows otherwise. */
static uint8_t
where_from(const lw_func *func, const lw_ir_param *param)
{
    const uint32_t constant = LW_PARAM_NOALIAS | LW_PARAM_READONLY;

    if (param->type != LW_DT_ptr || func->linkage == LW_EXPORTED)
        return 0;
    if (func->linkage == LW_KERNEL && (param->flags & constant) != constant)
        return FROM_KERNEL;
    return FROM_KERNEL | CONSTANT;
}

bool
lw_origins_find(lw_emitter *e)
{
    const lw_module *m = e->module;
    bool changed = true;
    uint32_t first = 0;

    e->origins = lw_alloc_zero(n_parameters(m) + 1, sizeof *e->origins);
    if (e->origins == NULL)
        return false;
    for (uint32_t f = 0; f < m->funcs.n; f++) {
        const lw_func *func = m->funcs.data[f];

        e->callees[f].first_param = first;
        for (uint32_t k = 0; k < func->params.n; k++)
            e->origins[first++] = where_from(func, &func->params.data[k]);
        if (!list_calls(e, f))
            return false;
    }
    for (uint32_t f = 0; f < m->funcs.n; f++)
        for (uint32_t i = 1; i < m->funcs.data[f]->insts.n; i++)
            note(e, f, i);
    while (changed) {
        changed = false;
        for (uint32_t c = 0; c < e->calls.n; c++)
            changed |= note_call(e, &e->calls.data[c]);
    }
    for (uint32_t i = 0; i < first; i++)
        e->reads_written |= (e->origins[i] & USED) == USED;
    return true;
}

bool
lw_is_global_memory(const lw_emitter *e, lw_ref pointer)
{
    const uint8_t *bits = bits_of(e, e->number, pointer);

    return bits != NULL && (*bits & FROM_KERNEL);
}

bool
lw_is_constant_memory(const lw_emitter *e, lw_ref pointer)
{
    const uint8_t *bits = e->gpu && e->reads_written ? bits_of(e, e->number, pointer) : NULL;

    return bits != NULL && (*bits & CONSTANT);
}

bool
lw_hides_attributes(const lw_emitter *e, uint32_t param)
{
    return e->gpu && e->func->linkage == LW_KERNEL && e->reads_written &&
           !(e->origins[e->callees[e->number].first_param + param] & STORED);
}
