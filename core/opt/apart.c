/* Finds which pointers may refer to the same memory. Each origin of a pointer (a parameter of
 * the entry, an instruction that makes memory) is a bit. The sets of origins are propagated
 * through offsets, selects, variables, calls and results, over all functions at once and
 * without regard to the call they came by, until nothing changes. A pointer that was loaded
 * from memory, or for whose origin no bit is left, is of unknown origin and may refer to
 * anything.
 *
 * Then each IF whose condition is now known to be false is removed. What is left is what would
 * have been written if nobody had tested for an overlap. */
#include "core/opt/apart.h"

#include "core/base/memory.h"
#include "core/opt/prune.h"

#include <assert.h>
#include <string.h>

#define UNKNOWN (UINT64_C(1) << 63)
enum { N_ORIGINS = 63 };

typedef struct origins {
    const lw_module *module;
    uint32_t n_funcs;  /* before some of them are removed */
    uint64_t **of;     /* by function, by value */
    uint64_t **params; /* by function, by parameter */
    uint64_t *results; /* by function: of all pointers that it returns */
    uint64_t alone;    /* origins whose memory no other origin refers to */
    uint32_t n;
    bool changed;
} origins;

static uint64_t
new_origin(origins *o, bool alone)
{
    uint64_t bit = o->n < N_ORIGINS ? UINT64_C(1) << o->n++ : UNKNOWN;

    assert(o->n <= N_ORIGINS && (o->alone & UNKNOWN) == 0);
    o->alone |= alone && bit != UNKNOWN ? bit : 0;
    return bit;
}

static void
join(origins *o, uint64_t *at, uint64_t set)
{
    o->changed |= (*at | set) != *at;
    *at |= set;
}

static void
follow_call(origins *o, uint64_t *of, const lw_func *func, uint32_t at)
{
    const lw_inst *inst = &func->insts.data[at];

    assert(inst->c == o->module->funcs.data[inst->a]->params.n);
    for (uint32_t i = 0; i < inst->c; i++)
        join(o, &o->params[inst->a][i], of[func->lists.data[inst->b + i]]);
    join(o, &of[at], o->results[inst->a]);
}

static void
follow_return(origins *o, uint32_t number, const uint64_t *of, const lw_inst *inst)
{
    const lw_func *func = o->module->funcs.data[number];

    for (uint32_t i = 0; i < inst->c; i++)
        join(o, &o->results[number], of[func->lists.data[inst->b + i]]);
}

static void
follow(origins *o, uint32_t number, uint32_t at)
{
    const lw_func *func = o->module->funcs.data[number];
    const lw_inst *inst = &func->insts.data[at];
    uint64_t *of = o->of[number];

    switch (inst->op) {
    case LW_OP_PARAM: join(o, &of[at], o->params[number][inst->a]); return;
    case LW_OP_OFFSET:
    case LW_OP_GET:
    case LW_OP_RESULT: join(o, &of[at], of[inst->a]); return;
    case LW_OP_SELECT: join(o, &of[at], of[inst->b] | of[inst->c]); return;
    case LW_OP_SET: join(o, &of[inst->a], of[inst->b]); return;
    case LW_OP_CALL:
    case LW_OP_RECUR: follow_call(o, of, func, at); return;
    case LW_OP_RETURN: follow_return(o, number, of, inst); return;
    case LW_OP_LOCAL:
    case LW_OP_SHARED:
    case LW_OP_DYNAMIC:
    case LW_OP_NEW:
    case LW_OP_DATA: return; /* name_memory() has given them their origins */
    default:
        if (inst->type == LW_DT_ptr)
            join(o, &of[at], UNKNOWN);
    }
}

/* Data with an address is an array of the caller's, which may be an argument as well. */
static uint64_t
origin_of_data(origins *o, const lw_inst *inst)
{
    return o->module->datas.data[inst->a].address ? UNKNOWN : new_origin(o, true);
}

static void
name_memory(origins *o, uint32_t number)
{
    const lw_func *func = o->module->funcs.data[number];

    for (uint32_t i = 1; i < func->insts.n; i++) {
        const lw_inst *inst = &func->insts.data[i];

        if (inst->op == LW_OP_DYNAMIC)
            o->of[number][i] = UNKNOWN;
        else if (inst->op == LW_OP_DATA)
            o->of[number][i] = origin_of_data(o, inst);
        else if (inst->op == LW_OP_LOCAL || inst->op == LW_OP_SHARED || inst->op == LW_OP_NEW)
            o->of[number][i] = new_origin(o, true);
    }
}

static bool
are_apart(const origins *o, uint64_t x, uint64_t y)
{
    if (((x | y) & UNKNOWN) || (x & y) || x == 0 || y == 0)
        return false;
    return !(x & ~o->alone) || !(y & ~o->alone);
}

/* ---- memory of the tables ---- */

static void
free_origins(origins *o)
{
    for (uint32_t i = 0; i < o->n_funcs; i++) {
        if (o->of)
            lw_free(o->of[i]);
        if (o->params)
            lw_free(o->params[i]);
    }
    lw_free(o->of);
    lw_free(o->params);
    lw_free(o->results);
}

static bool
take_origins(origins *o)
{
    uint32_t n = o->module->funcs.n;

    o->of = lw_alloc_zero(n + 1, sizeof *o->of);
    o->params = lw_alloc_zero(n + 1, sizeof *o->params);
    o->results = lw_alloc_zero(n + 1, sizeof *o->results);
    if (!o->of || !o->params || !o->results)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const lw_func *func = o->module->funcs.data[i];
        o->of[i] = lw_alloc_zero(func->insts.n + 1, sizeof **o->of);
        o->params[i] = lw_alloc_zero(func->params.n + 1, sizeof **o->params);
        if (!o->of[i] || !o->params[i])
            return false;
    }
    return true;
}

static bool
find_origins(origins *o, uint32_t entry, const bool *alone)
{
    const lw_func *func = o->module->funcs.data[entry];

    if (!take_origins(o))
        return false;
    for (uint32_t i = 0; i < func->params.n; i++)
        if (func->params.data[i].type == LW_DT_ptr)
            o->params[entry][i] = new_origin(o, alone && alone[i]);
    for (uint32_t f = 0; f < o->module->funcs.n; f++)
        name_memory(o, f);
    do {
        o->changed = false;
        for (uint32_t f = 0; f < o->module->funcs.n; f++)
            for (uint32_t i = 1; i < o->module->funcs.data[f]->insts.n; i++)
                follow(o, f, i);
    } while (o->changed);
    return true;
}

static int
is_known(const void *context, uint32_t func, const lw_inst *inst)
{
    const origins *o = context;
    const uint64_t *of = o->of[func];

    return inst->op == LW_OP_MEET && are_apart(o, of[inst->a], of[inst->b]) ? -1 : 0;
}

static bool
has_meets(const lw_module *module)
{
    for (uint32_t f = 0; f < module->funcs.n; f++)
        for (uint32_t i = 1; i < module->funcs.data[f]->insts.n; i++)
            if (module->funcs.data[f]->insts.data[i].op == LW_OP_MEET)
                return true;
    return false;
}

lw_status
lw_opt_apart(lw_module *module, uint32_t entry, const bool *alone, lw_error *err)
{
    origins o = {.module = module, .n_funcs = module->funcs.n};
    bool good;

    if (!has_meets(module))
        return LW_OK;
    good = find_origins(&o, entry, alone) &&
           lw_prune(module, &(lw_prune_facts){is_known, &o}, entry);
    free_origins(&o);
    return good ? LW_OK : lw_fail_memory(err);
}
