/* A forward analysis over the structured IR. Each value has a set of facts, which only grow:
 * the dimensions of the index that it depends on, whether it does so through memory, and
 * whether it tests the index in a way that may hold for one element alone. Facts flow through
 * operands, variables and calls, and from a condition to what is assigned under it (implicit
 * flows: D. Denning, P. Denning, "Certification of programs for secure information flow",
 * 1977). Functions are analysed once for all their callers together. Where facts are imprecise
 * there are too many of them, so that a race may be missed and none is invented. */
#include "core/opt/race.h"

#include "core/ir/operands.h"

#include <assert.h>
#include <string.h>

enum {
    DIMS = 7,
    PICKS = 8 * DIMS, /* per dimension: a test of the index that may hold for one element */
    PICK_SHIFT = 3,
    LOADED = 64, /* depends on the index through memory */
    LOCAL = 128, /* addresses: may be memory of the element's own */
    UNKNOWN = DIMS | PICKS | LOADED
};

typedef struct facts_of_func {
    uint8_t *values; /* by instruction; of IF, BLOCK and LOOP: what its content depends on */
    uint8_t *params, *results;
    uint8_t entry; /* the tests that its calls stand under */
} facts_of_func;

typedef struct finder {
    const lw_module *module;
    facts_of_func *funcs;
    lw_arena *arena;
    bool changed;
    /* the function that is walked */
    const lw_func *func;
    facts_of_func *facts;
    lw_ref *regions; /* open ones, by their first instruction */
    uint32_t depth;
    uint8_t after;   /* the tests of the returns that were passed */
    lw_ref *waiting; /* for reads() */
    bool *seen;
    uint32_t all; /* dimensions of the index */
    LW_ARRAY(lw_race_store) found;
} finder;

static void
add(finder *f, uint8_t *facts, unsigned more)
{
    if ((*facts | more) != *facts) {
        *facts |= (uint8_t)more;
        f->changed = true;
    }
}

static uint8_t
operands_of(const finder *f, const lw_inst *inst)
{
    uint8_t facts = 0;
    uint32_t at = 0;
    lw_ref operand;

    while (lw_ir_next_operand(f->func, inst, &at, &operand))
        facts |= f->facts->values[operand];
    return facts;
}

/* What the open regions depend on: which values meet where they end. */
static uint8_t
regions_of(const finder *f)
{
    uint8_t facts = 0;

    for (uint32_t i = 0; i < f->depth; i++)
        facts |= f->facts->values[f->regions[i]];
    return facts;
}

/* What reaching this place depends on. */
static uint8_t
path_of(const finder *f)
{
    return (uint8_t)((f->facts->entry | f->after | regions_of(f)) & ~LOCAL);
}

/* ---- values ---- */

static bool
is_small(const finder *f, lw_ref ref)
{
    const lw_inst *inst = &f->func->insts.data[ref];
    int64_t value;

    if (inst->op != LW_OP_CONST || !lw_is_integer((lw_dtype)inst->type))
        return false;
    value = (int64_t)f->func->konsts.data[inst->a].bits;
    return value >= -1 && value <= 1;
}

/* `i == k`, `i != k`, `i < 1`, `if i:`. Of loaded values many elements may have the same. */
static uint8_t
test_of(const finder *f, const lw_inst *inst)
{
    uint8_t facts = operands_of(f, inst);
    bool picks = inst->op == LW_OP_EQ || inst->op == LW_OP_NE || inst->op == LW_OP_CAST ||
                 is_small(f, inst->a) || is_small(f, inst->b);

    if (picks && !(facts & LOADED))
        facts |= (facts & DIMS) << PICK_SHIFT;
    return facts;
}

static uint8_t
load_of(const finder *f, const lw_inst *inst)
{
    uint8_t address = f->facts->values[inst->a];

    if (address & LOCAL)
        return DIMS | LOADED;
    return address & DIMS ? address | LOADED : address;
}

static void
pass_call(finder *f, const lw_inst *inst, lw_ref ref)
{
    facts_of_func *callee = &f->funcs[inst->a];

    for (uint32_t i = 0; i < inst->c; i++)
        add(f, &callee->params[i], f->facts->values[f->func->lists.data[inst->b + i]]);
    add(f, &callee->entry, path_of(f));
    if (f->module->funcs.data[inst->a]->results.n == 1)
        add(f, &f->facts->values[ref], callee->results[0]);
}

static uint8_t
result_of(const finder *f, const lw_inst *inst)
{
    const lw_inst *call = &f->func->insts.data[inst->a];

    if (call->op != LW_OP_CALL)
        return UNKNOWN;
    return f->funcs[call->a].results[inst->b];
}

/* ---- regions ---- */

static void
open_region(finder *f, lw_ref ref, unsigned facts)
{
    add(f, &f->facts->values[ref], facts);
    f->regions[f->depth++] = ref;
}

/* A way out of the d-th BLOCK or LOOP: what follows in it, and how often it runs, depends on
 * what leads here. */
static void
leave_region(finder *f, uint32_t d)
{
    uint8_t facts = 0;

    for (uint32_t i = f->depth; i-- > 0;) {
        lw_ref region = f->regions[i];
        if (f->func->insts.data[region].op == LW_OP_IF)
            facts |= f->facts->values[region];
        else if (d-- == 0) {
            add(f, &f->facts->values[region], facts);
            return;
        } else
            facts |= f->facts->values[region];
    }
}

static void
pass_return(finder *f, const lw_inst *inst)
{
    uint8_t path = regions_of(f);

    for (uint32_t i = 0; i < inst->c; i++)
        add(f, &f->facts->results[i],
            path | f->facts->values[f->func->lists.data[inst->b + i]]);
    f->after |= path;
}

/* ---- one walk ---- */

static void
walk_inst(finder *f, lw_ref ref)
{
    const lw_inst *inst = &f->func->insts.data[ref];
    uint8_t *own = &f->facts->values[ref];

    switch (inst->op) {
    case LW_OP_PARAM: add(f, own, f->facts->params[inst->a]); break;
    case LW_OP_LOCAL: add(f, own, LOCAL); break;
    case LW_OP_EQ:
    case LW_OP_NE:
    case LW_OP_LT:
    case LW_OP_LE:
    case LW_OP_GT:
    case LW_OP_GE: add(f, own, test_of(f, inst)); break;
    case LW_OP_CAST:
        add(f, own, inst->type == LW_DT_b1 ? test_of(f, inst) : operands_of(f, inst));
        break;
    case LW_OP_LOAD: add(f, own, load_of(f, inst)); break;
    case LW_OP_SET:
        add(f, &f->facts->values[inst->a], regions_of(f) | f->facts->values[inst->b]);
        break;
    case LW_OP_CALL: pass_call(f, inst, ref); break;
    case LW_OP_RESULT: add(f, own, result_of(f, inst)); break;
    case LW_OP_SREG:
    case LW_OP_CONTEXT:
    case LW_OP_ATOMIC:
    case LW_OP_KERNEL_CALL:
    case LW_OP_HOST_CALL: add(f, own, UNKNOWN); break;
    case LW_OP_IF: open_region(f, ref, f->facts->values[inst->a]); break;
    case LW_OP_BLOCK:
    case LW_OP_LOOP: open_region(f, ref, 0); break;
    case LW_OP_END: f->depth--; break;
    case LW_OP_BREAK:
    case LW_OP_CONTINUE: leave_region(f, inst->a); break;
    case LW_OP_RETURN: pass_return(f, inst); break;
    case LW_OP_STORE: break;
    default: add(f, own, operands_of(f, inst)); break;
    }
}

/* ---- stores ---- */

/* Whether two addresses are made in the same way of the same. */
static bool
is_same(const finder *f, lw_ref x, lw_ref y, int depth)
{
    const lw_inst *u = &f->func->insts.data[x], *v = &f->func->insts.data[y];
    uint32_t at = 0, beside = 0;
    lw_ref p, q;

    if (x == y)
        return true;
    if (depth == 0 || u->op != v->op || u->type != v->type ||
        (lw_ops[u->op].class != LW_CLASS_PURE && u->op != LW_OP_GET))
        return false;
    if (u->op == LW_OP_CONST)
        return f->func->konsts.data[u->a].bits == f->func->konsts.data[v->a].bits;
    if (u->op == LW_OP_PARAM)
        return u->a == v->a;
    while (lw_ir_next_operand(f->func, u, &at, &p))
        if (!lw_ir_next_operand(f->func, v, &beside, &q) || !is_same(f, p, q, depth - 1))
            return false;
    return u->op != LW_OP_RESULT && u->op != LW_OP_LANE && u->op != LW_OP_INTRINSIC;
}

static void
wait_for(finder *f, lw_ref ref, uint32_t *n)
{
    if (!f->seen[ref])
        f->waiting[(*n)++] = ref;
    f->seen[ref] = true;
}

/* Whether the value is made of what lies at the address. */
static bool
reads(finder *f, lw_ref value, lw_ref address)
{
    const lw_inst *insts = f->func->insts.data;
    uint32_t n = 0;

    memset(f->seen, 0, f->func->insts.n);
    wait_for(f, value, &n);
    while (n > 0) {
        lw_ref ref = f->waiting[--n], operand;
        uint32_t at = 0;

        if (insts[ref].op == LW_OP_LOAD && is_same(f, insts[ref].a, address, 12))
            return true;
        for (lw_ref i = 1; insts[ref].op == LW_OP_SLOT && i < f->func->insts.n; i++)
            if (insts[i].op == LW_OP_SET && insts[i].a == ref)
                wait_for(f, insts[i].b, &n);
        while (lw_ir_next_operand(f->func, &insts[ref], &at, &operand))
            wait_for(f, operand, &n);
    }
    return false;
}

static lw_status
look_at_store(finder *f, const lw_inst *inst, lw_error *err)
{
    const uint8_t *values = f->facts->values;
    uint32_t address = values[inst->a], path = path_of(f), dims;
    lw_race_store *store;
    bool augmented;

    dims = f->all & ~(address | (path & PICKS) >> PICK_SHIFT);
    if ((address & LOCAL) || dims == 0)
        return LW_OK;
    augmented = reads(f, inst->b, inst->a);
    if (!augmented)
        dims &= path & LOADED ? values[inst->b] & ~path : values[inst->b];
    if (dims == 0)
        return LW_OK;
    store = lw_array_push(&f->found, f->arena);
    if (store == NULL)
        return lw_fail_memory(err);
    *store = (lw_race_store){.loc = inst->loc, .dims = dims, .augmented = augmented};
    return LW_OK;
}

/* ---- the whole ---- */

static lw_status
walk(finder *f, uint32_t number, bool last, lw_error *err)
{
    lw_status status = LW_OK;

    f->func = f->module->funcs.data[number];
    f->facts = &f->funcs[number];
    f->depth = 0;
    f->after = 0;
    for (lw_ref i = 1; i < f->func->insts.n && status == LW_OK; i++) {
        walk_inst(f, i);
        if (last && f->func->insts.data[i].op == LW_OP_STORE)
            status = look_at_store(f, &f->func->insts.data[i], err);
    }
    return status;
}

static lw_status
prepare(finder *f, uint32_t body, uint32_t n_index, lw_error *err)
{
    uint32_t most = 0;

    f->funcs = lw_arena_take(f->arena, (f->module->funcs.n + 1) * sizeof *f->funcs);
    if (f->funcs == NULL)
        return lw_fail_memory(err);
    for (uint32_t i = 0; i < f->module->funcs.n; i++) {
        const lw_func *func = f->module->funcs.data[i];
        uint32_t n = func->insts.n + func->params.n + func->results.n;
        uint8_t *bytes = lw_arena_take(f->arena, n + 1);
        if (bytes == NULL)
            return lw_fail_memory(err);
        memset(bytes, 0, n + 1);
        f->funcs[i] = (facts_of_func){.values = bytes,
                                      .params = bytes + func->insts.n,
                                      .results = bytes + func->insts.n + func->params.n};
        most = func->insts.n > most ? func->insts.n : most;
    }
    f->regions = lw_arena_take(f->arena, (most + 1) * sizeof *f->regions);
    f->waiting = lw_arena_take(f->arena, (most + 1) * sizeof *f->waiting);
    f->seen = lw_arena_take(f->arena, most + 1);
    if (f->regions == NULL || f->waiting == NULL || f->seen == NULL)
        return lw_fail_memory(err);
    for (uint32_t i = 0; i < n_index; i++)
        f->funcs[body].params[i] = (uint8_t)(1u << i);
    f->all = (1u << n_index) - 1;
    return LW_OK;
}

lw_status
lw_opt_find_races(const lw_module *module, uint32_t body, uint32_t n_index, lw_arena *arena,
                  lw_race_store **out, uint32_t *n, lw_error *err)
{
    finder f = {.module = module, .arena = arena};
    lw_status status = LW_OK;

    LW_TRY(prepare(&f, body, n_index, err));
    assert(f.regions != NULL && f.waiting != NULL && f.seen != NULL);
    do {
        f.changed = false;
        for (uint32_t i = 0; i < module->funcs.n; i++)
            LW_TRY(walk(&f, i, false, err));
    } while (f.changed);
    for (uint32_t i = 0; i < module->funcs.n; i++)
        LW_TRY(walk(&f, i, true, err));
    *out = f.found.data;
    *n = f.found.n;
fail:
    return status;
}
