/* A forward data-flow analysis over the structured IR. Each value has a set of facts, which
 * only grow: the dimensions of the index that it depends on, whether it does so through memory,
 * and whether it tests the index in a way that may hold for one element alone. Facts flow
 * through operands, variables and calls, and from a condition to what is assigned under it
 * (implicit flows: D. Denning, P. Denning, "Certification of programs for secure information
 * flow", 1977). Functions are analysed once for all their callers together. Imprecise facts are
 * too large sets, so that a race may be missed and none is invented.
 *
 * Every comparison of the index may select one element, with one exception: `i < bound`, where
 * the bound is not a constant, is the usual check of an index space that is larger than an
 * array, and is assumed to pass many elements. Its complement (`i >= bound`) may hold for the
 * last element alone, so the facts of such a test depend on its outcome. */
#include "core/opt/race.h"

#include "core/ir/operands.h"

#include <assert.h>
#include <string.h>

enum {
    DIMS = 7,
    PICK_SHIFT = 3, /* per dimension: a test of the index that one element alone may pass */
    PICKS = DIMS << PICK_SHIFT,
    BELOW_SHIFT = 6, /* a test `i < bound`: one element alone may fail it */
    BELOW = DIMS << BELOW_SHIFT,
    ABOVE_SHIFT = 9, /* a test `i >= bound`: one element alone may pass it */
    ABOVE = DIMS << ABOVE_SHIFT,
    LOADED = 1 << 12, /* depends on the index through memory */
    LOCAL = 1 << 13,  /* addresses: may be memory of the element itself */
    UNKNOWN = DIMS | PICKS | LOADED
};

typedef uint16_t facts;

typedef struct facts_of_func {
    facts *values; /* by instruction; of IF, BLOCK and LOOP: what its execution depends on */
    facts *params, *results;
    facts entry; /* the tests under which it is called */
} facts_of_func;

typedef struct finder {
    const lw_module *module;
    const lw_func *body;
    facts_of_func *funcs;
    lw_arena *arena;
    bool changed;
    /* the function that is being walked */
    const lw_func *func;
    facts_of_func *facts;
    lw_ref *regions; /* open regions, by their first instruction */
    bool *in_else;   /* for each of them, whether it is an IF whose ELSE has begun */
    uint32_t depth;
    facts after;     /* the tests of the returns that precede the current instruction */
    lw_ref *waiting; /* scratch memory of reads() */
    bool *seen;
    uint32_t all; /* dimensions of the index */
    LW_ARRAY(lw_race_store) found;
    LW_ARRAY(lw_race_store) scattered;
} finder;

static void
add(finder *f, facts *to, unsigned more)
{
    if ((*to | more) != *to) {
        *to |= (facts)more;
        f->changed = true;
    }
}

/* The facts of code that runs when a test had this outcome. */
static facts
under(facts test, bool passed)
{
    unsigned picks = passed ? (test & ABOVE) >> ABOVE_SHIFT : (test & BELOW) >> BELOW_SHIFT;

    return (facts)((test & ~(ABOVE | BELOW)) | picks << PICK_SHIFT);
}

static facts
operands_of(const finder *f, const lw_inst *inst)
{
    facts all = 0;
    uint32_t at = 0;
    lw_ref operand;

    while (lw_ir_next_operand(f->func, inst, &at, &operand))
        all |= f->facts->values[operand];
    return all;
}

/* The facts on which it depends that the i-th open region is executed, or, if `left`, that it
 * is not. */
static facts
region_of(const finder *f, uint32_t i, bool left)
{
    return under(f->facts->values[f->regions[i]], f->in_else[i] == left);
}

/* What the open regions depend on: which values meet where they end. */
static facts
regions_of(const finder *f, bool left)
{
    facts all = 0;

    for (uint32_t i = 0; i < f->depth; i++)
        all |= region_of(f, i, left);
    return all;
}

/* What it depends on that this instruction is reached. */
static facts
path_of(const finder *f)
{
    return (facts)((f->facts->entry | f->after | regions_of(f, false)) & ~LOCAL);
}

/* ---- values ---- */

/* Whether the value is the index itself. The argument of a helper may have been computed from
 * one. */
static bool
is_index(const finder *f, lw_ref ref)
{
    const lw_inst *inst = &f->func->insts.data[ref];

    while (inst->op == LW_OP_CAST)
        inst = &f->func->insts.data[inst->a];
    return inst->op == LW_OP_PARAM && f->func == f->body && (f->facts->values[ref] & DIMS);
}

static bool
is_const(const finder *f, lw_ref ref)
{
    return f->func->insts.data[ref].op == LW_OP_CONST;
}

/* Many elements may have loaded the same value, so tests of loaded values select none of
 * them. */
static facts
test_of(const finder *f, const lw_inst *inst)
{
    facts all = operands_of(f, inst), dims = all & DIMS;
    bool below = inst->op == LW_OP_LT || inst->op == LW_OP_LE;
    bool ordered = below || inst->op == LW_OP_GT || inst->op == LW_OP_GE;
    lw_ref index = inst->a, bound = inst->b;

    if (all & LOADED)
        return all;
    if (ordered && !(f->facts->values[index] & DIMS)) {
        index = inst->b;
        bound = inst->a;
        below = !below;
    }
    if (!ordered || !is_index(f, index) || is_const(f, bound) ||
        (f->facts->values[bound] & DIMS))
        return (facts)(all | dims << PICK_SHIFT);
    return (facts)(all | dims << (below ? BELOW_SHIFT : ABOVE_SHIFT));
}

static facts
not_of(const finder *f, const lw_inst *inst)
{
    facts all = operands_of(f, inst);

    if (inst->type != LW_DT_b1)
        return all;
    return (facts)((all & ~(ABOVE | BELOW)) | (all & ABOVE) >> ABOVE_SHIFT << BELOW_SHIFT |
                   (all & BELOW) >> BELOW_SHIFT << ABOVE_SHIFT);
}

static facts
load_of(const finder *f, const lw_inst *inst)
{
    facts address = f->facts->values[inst->a];

    if (address & LOCAL)
        return DIMS | LOADED;
    return address & DIMS ? address | LOADED : address;
}

static void
pass_call(finder *f, const lw_inst *inst, lw_ref ref)
{
    facts_of_func *callee = &f->funcs[inst->a];

    assert(inst->c == f->module->funcs.data[inst->a]->params.n);
    for (uint32_t i = 0; i < inst->c; i++)
        add(f, &callee->params[i], f->facts->values[f->func->lists.data[inst->b + i]]);
    add(f, &callee->entry, path_of(f));
    if (f->module->funcs.data[inst->a]->results.n == 1)
        add(f, &f->facts->values[ref], callee->results[0]);
}

static facts
result_of(const finder *f, const lw_inst *inst)
{
    const lw_inst *call = &f->func->insts.data[inst->a];

    if (!lw_op_is_call((lw_op)call->op))
        return UNKNOWN;
    assert(inst->b < f->module->funcs.data[call->a]->results.n);
    return f->funcs[call->a].results[inst->b];
}

/* ---- regions ---- */

static void
open_region(finder *f, lw_ref ref, unsigned more)
{
    add(f, &f->facts->values[ref], more);
    f->in_else[f->depth] = false;
    f->regions[f->depth++] = ref;
}

/* A jump out of the d-th BLOCK or LOOP: what follows in it, and how often it runs, depends on
 * what leads here. */
static void
leave_region(finder *f, uint32_t d)
{
    facts all = 0;

    for (uint32_t i = f->depth; i-- > 0;) {
        lw_ref region = f->regions[i];
        if (f->func->insts.data[region].op != LW_OP_IF && d-- == 0) {
            add(f, &f->facts->values[region], all);
            return;
        }
        all |= region_of(f, i, true);
    }
}

static void
pass_return(finder *f, const lw_inst *inst)
{
    facts path = regions_of(f, false);

    assert(inst->c == f->func->results.n);
    for (uint32_t i = 0; i < inst->c; i++)
        add(f, &f->facts->results[i],
            path | f->facts->values[f->func->lists.data[inst->b + i]]);
    f->after |= regions_of(f, true);
}

/* ---- one walk ---- */

static void
walk_inst(finder *f, lw_ref ref)
{
    const lw_inst *inst = &f->func->insts.data[ref];
    facts *own = &f->facts->values[ref];

    switch (inst->op) {
    case LW_OP_PARAM: add(f, own, f->facts->params[inst->a]); break;
    case LW_OP_OWNER:
    case LW_OP_NEW:
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
    case LW_OP_NOT: add(f, own, not_of(f, inst)); break;
    case LW_OP_LOAD: add(f, own, load_of(f, inst)); break;
    case LW_OP_SET:
        add(f, &f->facts->values[inst->a], regions_of(f, false) | f->facts->values[inst->b]);
        break;
    case LW_OP_CALL:
    case LW_OP_RECUR: pass_call(f, inst, ref); break;
    case LW_OP_RESULT: add(f, own, result_of(f, inst)); break;
    case LW_OP_ROOM:
    case LW_OP_SREG:
    case LW_OP_CONTEXT:
    case LW_OP_ATOMIC:
    case LW_OP_KERNEL_CALL:
    case LW_OP_HOST_CALL: add(f, own, UNKNOWN); break;
    case LW_OP_IF: open_region(f, ref, f->facts->values[inst->a]); break;
    case LW_OP_BLOCK:
    case LW_OP_LOOP: open_region(f, ref, 0); break;
    case LW_OP_ELSE:
        assert(f->depth > 0 && !f->in_else[f->depth - 1]);
        f->in_else[f->depth - 1] = true;
        break;
    case LW_OP_END:
        assert(f->depth > 0);
        f->depth--;
        break;
    case LW_OP_BREAK:
    case LW_OP_CONTINUE: leave_region(f, inst->a); break;
    case LW_OP_RETURN: pass_return(f, inst); break;
    case LW_OP_STORE: break;
    default: add(f, own, operands_of(f, inst)); break;
    }
}

/* ---- stores ---- */

/* Whether two addresses are computed in the same way from the same values. */
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
        return f->func->constants.data[u->a].bits == f->func->constants.data[v->a].bits;
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
    assert(ref < f->func->insts.n && *n <= f->func->insts.n); /* each waits once */
    if (!f->seen[ref])
        f->waiting[(*n)++] = ref;
    f->seen[ref] = true;
}

/* Whether the value is computed from what is stored at the address. */
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

/* An update whose place is computed from what the element has loaded. */
static lw_status
look_at_update(finder *f, const lw_inst *inst, lw_error *err)
{
    uint32_t address = f->facts->values[inst->a], path = path_of(f);
    lw_race_store *store;

    if ((address & LOCAL) || !(address & LOADED) || !(address & DIMS) || (path & PICKS) ||
        f->func != f->body || !reads(f, inst->b, inst->a))
        return LW_OK;
    store = lw_array_push(&f->scattered, f->arena);
    if (store == NULL)
        return lw_fail_memory(err);
    *store = (lw_race_store){.loc = inst->loc,
                             .dims = address & DIMS,
                             .augmented = true,
                             .conditional = (path & LOADED) != 0};
    return LW_OK;
}

static lw_status
look_at_store(finder *f, const lw_inst *inst, lw_error *err)
{
    const facts *values = f->facts->values;
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
    assert((dims & ~f->all) == 0);
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
        if (last && status == LW_OK && f->func->insts.data[i].op == LW_OP_STORE)
            status = look_at_update(f, &f->func->insts.data[i], err);
    }
    assert(status != LW_OK || f->depth == 0);
    return status;
}

static lw_status
prepare(finder *f, uint32_t body, uint32_t n_index, lw_error *err)
{
    uint32_t most = 0;

    assert(body < f->module->funcs.n && n_index <= 3 &&
           n_index <= f->module->funcs.data[body]->params.n);
    f->funcs = lw_arena_take(f->arena, (f->module->funcs.n + 1) * sizeof *f->funcs);
    if (f->funcs == NULL)
        return lw_fail_memory(err);
    for (uint32_t i = 0; i < f->module->funcs.n; i++) {
        const lw_func *func = f->module->funcs.data[i];
        uint32_t n = func->insts.n + func->params.n + func->results.n;
        facts *all = lw_arena_take(f->arena, (n + 1) * sizeof *all);
        if (all == NULL)
            return lw_fail_memory(err);
        memset(all, 0, (n + 1) * sizeof *all);
        f->funcs[i] = (facts_of_func){.values = all,
                                      .params = all + func->insts.n,
                                      .results = all + func->insts.n + func->params.n};
        most = func->insts.n > most ? func->insts.n : most;
    }
    f->regions = lw_arena_take(f->arena, (most + 1) * sizeof *f->regions);
    f->waiting = lw_arena_take(f->arena, (most + 1) * sizeof *f->waiting);
    f->seen = lw_arena_take(f->arena, most + 1);
    f->in_else = lw_arena_take(f->arena, most + 1);
    if (f->in_else == NULL || f->regions == NULL || f->waiting == NULL || f->seen == NULL)
        return lw_fail_memory(err);
    for (uint32_t i = 0; i < n_index; i++)
        f->funcs[body].params[i] = (facts)(1u << i);
    f->body = f->module->funcs.data[body];
    f->all = (1u << n_index) - 1;
    return LW_OK;
}

lw_status
lw_opt_find_races(const lw_module *module, uint32_t body, uint32_t n_index, lw_arena *arena,
                  lw_races *out, lw_error *err)
{
    finder f = {.module = module, .arena = arena};
    lw_status status = LW_OK;

    LW_TRY(prepare(&f, body, n_index, err));
    assert(f.in_else != NULL && f.regions != NULL && f.waiting != NULL && f.seen != NULL);
    do {
        f.changed = false;
        for (uint32_t i = 0; i < module->funcs.n; i++)
            LW_TRY(walk(&f, i, false, err));
    } while (f.changed);
    for (uint32_t i = 0; i < module->funcs.n; i++)
        LW_TRY(walk(&f, i, true, err));
    *out = (lw_races){f.found.data, f.found.n, f.scattered.data, f.scattered.n};
fail:
    return status;
}
