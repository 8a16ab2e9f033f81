/* Finds which pointers may refer to the same memory. Each origin of a pointer (a parameter of
 * the entry, an instruction that makes memory) is a bit. The sets of origins are propagated
 * through offsets, selects, variables, calls and results, over all functions at once and
 * without regard to the call they came by, until nothing changes. A pointer that was loaded
 * from memory, or for whose origin no bit is left, is of unknown origin and may refer to
 * anything.
 *
 * Then, function by function, an IF whose condition is now known to be false is removed with
 * what only it used. What is left is what would have been written if nobody had tested for an
 * overlap. */
#include "core/opt/apart.h"

#include "core/base/memory.h"
#include "core/ir/operands.h"

#include <assert.h>
#include <string.h>

#define UNKNOWN (UINT64_C(1) << 63)
enum { N_ORIGINS = 63 };

typedef struct origins {
    const lw_module *module;
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
        else if (inst->op == LW_OP_LOCAL || inst->op == LW_OP_SHARED)
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
    for (uint32_t i = 0; i < o->module->funcs.n; i++) {
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

/* ---- one function anew ---- */

typedef struct rewriter {
    lw_module *module;
    lw_func *func;
    const origins *origins;
    const uint64_t *of;
    uint8_t *no;    /* by value: it is false */
    uint8_t *gone;  /* by instruction */
    uint32_t *uses; /* by value */
    lw_ref *number; /* by value: its number in the new array */
} rewriter;

static bool
is_false(const rewriter *r, const lw_inst *inst)
{
    switch (inst->op) {
    case LW_OP_MEET: return are_apart(r->origins, r->of[inst->a], r->of[inst->b]);
    case LW_OP_AND: return r->no[inst->a] || r->no[inst->b];
    case LW_OP_OR: return r->no[inst->a] && r->no[inst->b];
    default: return false;
    }
}

/* Values of these may be used outside the region in which they are computed. */
static bool
is_anywhere(const lw_inst *inst)
{
    return lw_ops[inst->op].class == LW_CLASS_DECL || inst->op == LW_OP_CONST ||
           inst->op == LW_OP_PARAM || inst->op == LW_OP_SREG;
}

/* Drops an IF whose condition is false: everything up to its ELSE, then the ELSE and the
 * END. */
static void
drop_if(rewriter *r, uint32_t at)
{
    bool inside = true;

    assert(r->func->insts.data[at].op == LW_OP_IF);
    for (uint32_t i = at, depth = 0; i < r->func->insts.n; i++) {
        const lw_inst *inst = &r->func->insts.data[i];
        bool opens = inst->op == LW_OP_IF || inst->op == LW_OP_BLOCK || inst->op == LW_OP_LOOP;

        if (inst->op == LW_OP_ELSE && depth == 1) {
            inside = false;
            r->gone[i] = true;
        }
        depth += opens;
        depth -= inst->op == LW_OP_END;
        r->gone[i] |= (inside && !is_anywhere(inst)) || depth == 0;
        if (depth == 0)
            return;
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

static bool
write_function(rewriter *r)
{
    lw_func *func = r->func;
    lw_func old = *func;
    uint32_t n = 1;

    drop_unused(r);
    for (uint32_t i = 1; i < func->insts.n; i++) {
        lw_inst inst = func->insts.data[i];
        if (r->gone[i])
            continue;
        if (!lw_ir_renumber(&old, &inst, r->number, func, &r->module->arena))
            return false;
        old.lists = func->lists; /* the array has grown and may have moved */
        r->number[i] = n;
        func->insts.data[n++] = inst;
    }
    assert(n <= func->insts.n); /* instructions only go */
    func->insts.n = n;
    return true;
}

static bool
rewrite(rewriter *r, bool *changed)
{
    uint32_t n = r->func->insts.n;
    uint8_t *tables = lw_alloc_zero(n + 1, 2 + 2 * sizeof(uint32_t));
    bool good = true, found = false;

    if (tables == NULL)
        return false;
    r->uses = (uint32_t *)(void *)tables;
    r->number = r->uses + n;
    r->no = (uint8_t *)(r->number + n);
    r->gone = r->no + n;
    for (uint32_t i = 1; i < n; i++) {
        const lw_inst *inst = &r->func->insts.data[i];
        r->no[i] = is_false(r, inst);
        if (inst->op != LW_OP_IF || !r->no[inst->a] || r->gone[i])
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
        if (lw_op_is_call((lw_op)func->insts.data[i].op))
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
            if (!lw_op_is_call((lw_op)inst->op))
                continue;
            assert(called[inst->a] != 1); /* its callers went, too */
            inst->a = number[inst->a];
        }
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

/* called: bit 0 for the module before the change, bit 1 for the one after. */
static bool
rewrite_all(lw_module *module, uint32_t entry, const origins *o, uint8_t *called,
            uint32_t *number)
{
    bool changed = false;

    mark_called(module, entry, 1, called);
    for (uint32_t f = 0; f < module->funcs.n; f++) {
        rewriter r = {
            .module = module, .func = module->funcs.data[f], .origins = o, .of = o->of[f]};
        if (!rewrite(&r, &changed))
            return false;
    }
    mark_called(module, entry, 2, called);
    if (changed)
        drop_functions(module, called, number);
    return true;
}

lw_status
lw_opt_apart(lw_module *module, uint32_t entry, const bool *alone, lw_error *err)
{
    origins o = {.module = module};
    uint32_t n = module->funcs.n;
    uint32_t *number;
    bool good;

    if (!has_meets(module))
        return LW_OK;
    number = lw_alloc_zero(n + 1, sizeof *number + 1);
    good = number != NULL && find_origins(&o, entry, alone);
    if (good) {
        uint64_t **of = o.of, **params = o.params;
        good = rewrite_all(module, entry, &o, (uint8_t *)(number + n), number);
        for (uint32_t i = module->funcs.n; i < n; i++) { /* of functions that are removed */
            lw_free(of[i]);
            lw_free(params[i]);
        }
    }
    free_origins(&o);
    lw_free(number);
    return good ? LW_OK : lw_fail_memory(err);
}
