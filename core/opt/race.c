/* A forward data-flow analysis over the structured IR. Each value has a set of facts, which
 * only grow: the dimensions of the index that it depends on, whether it does so through memory,
 * and whether it tests the index in a way that may hold for one element alone. Facts flow
 * through operands, variables and calls, and from a condition to what is assigned under it
 * (implicit flows: D. Denning, P. Denning, "Certification of programs for secure information
 * flow", 1977). Functions are analysed once for all their callers together. Imprecise facts are
 * too large sets, so that a race may be missed and none is invented.
 *
 * What a test of the index selects depends on its outcome:
 *
 *     test                     passed by           failed by
 *     i == value               one element         several
 *     i < bound                many                perhaps the last element alone
 *     i < constant of 2 …      at least two        perhaps several
 *     any other                perhaps several     perhaps several
 *
 * and the other way round for the opposites `!=`, `>=`. `i < bound` is the usual check of an
 * index space that is larger than an array. `i < constant` passes two elements if the index
 * starts at 0 and counts by 1. "Perhaps several" never makes an error, and updates under such a
 * test make a warning. */
#include "core/opt/race.h"

#include "core/ir/operands.h"

#include <assert.h>
#include <string.h>

enum {
    DIMS = 7,
    /* What code depends on, per dimension: a test that one element alone passes, or one that
     * one element alone may pass. */
    ONE_SHIFT = 3,
    ONE = DIMS << ONE_SHIFT,
    SOME_SHIFT = 6,
    SOME = DIMS << SOME_SHIFT,
    SELECTED = ONE | SOME,
    /* What code depends on that runs if a test is passed, and if it fails: ONE and SOME */
    PASSED_SHIFT = 6,
    PASSED = SELECTED << PASSED_SHIFT,
    FAILED_SHIFT = 12,
    FAILED = SELECTED << FAILED_SHIFT,
    LOADED = 1 << 21,  /* depends on the index through memory */
    LOCAL = 1 << 22,   /* addresses: may be memory of the element itself */
    COUNTED = 1 << 23, /* a test `i < constant` */
    UNKNOWN = DIMS | ONE | LOADED
};

static_assert((SELECTED << FAILED_SHIFT) < LOADED, "facts overlap");

typedef uint32_t facts;

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
    LW_ARRAY(lw_race_store) updates;
} finder;

static void
add(finder *f, facts *to, unsigned more)
{
    if ((*to | more) != *to) {
        *to |= more;
        f->changed = true;
    }
}

/* The facts of code that runs when a test had this outcome. */
static facts
under(facts test, bool passed)
{
    return (test & ~(PASSED | FAILED)) |
           (passed ? (test & PASSED) >> PASSED_SHIFT : (test & FAILED) >> FAILED_SHIFT);
}

/* What the opposite test depends on. */
static facts
opposite(facts test)
{
    return (test & ~(PASSED | FAILED)) | (test & PASSED) >> PASSED_SHIFT << FAILED_SHIFT |
           (test & FAILED) >> FAILED_SHIFT << PASSED_SHIFT;
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
    return (f->facts->entry | f->after | regions_of(f, false)) & ~(facts)LOCAL;
}

/* ---- values ---- */

/* Whether the value is the index, or the index plus what is the same for all elements. The
 * argument of a helper may have been computed from one in another way. */
static bool
is_index(const finder *f, lw_ref ref, bool *moved)
{
    const lw_inst *inst = &f->func->insts.data[ref];

    while (inst->op == LW_OP_CAST || inst->op == LW_OP_ADD || inst->op == LW_OP_SUB) {
        bool second = inst->op == LW_OP_ADD && !(f->facts->values[inst->a] & DIMS);
        if (inst->op != LW_OP_CAST && !second && (f->facts->values[inst->b] & DIMS))
            return false;
        *moved |= inst->op != LW_OP_CAST;
        inst = &f->func->insts.data[second ? inst->b : inst->a];
    }
    return inst->op == LW_OP_PARAM && (f->facts->params[inst->a] & DIMS);
}

/* Whether the value is a constant, of integers with a sign. */
static bool
is_constant(const finder *f, lw_ref ref, int64_t *value)
{
    const lw_inst *inst = &f->func->insts.data[ref];

    if (inst->op != LW_OP_CONST)
        return false;
    *value = lw_dtypes[inst->type].kind == LW_KIND_INT
                 ? (int64_t)f->func->constants.data[inst->a].bits
                 : 0;
    return true;
}

/* Facts of the dimensions where ONE, SOME or, as 0, many elements are selected. */
static facts
selection(facts dims, unsigned what)
{
    return what & ONE ? dims << ONE_SHIFT : what & SOME ? dims << SOME_SHIFT : 0;
}

/* The facts of a test that these elements pass, and those fail. */
static facts
outcomes(facts dims, unsigned passed, unsigned failed)
{
    assert((dims & ~(unsigned)DIMS) == 0 && (passed & failed & ONE) == 0);
    return selection(dims, passed) << PASSED_SHIFT | selection(dims, failed) << FAILED_SHIFT;
}

/* `index op bound`, of an index that is a parameter. */
static facts
test_of_index(facts dims, lw_op op, bool moved, const int64_t *constant)
{
    bool below = op == LW_OP_LT || op == LW_OP_LE;
    facts test;

    if (op == LW_OP_EQ || op == LW_OP_NE)
        test = outcomes(dims, ONE, SOME);
    else if (constant == NULL)
        test = outcomes(dims, 0, ONE);
    else if (moved)
        test = outcomes(dims, SOME, SOME);
    else if (*constant >= (op == LW_OP_LT || op == LW_OP_GE ? 2 : 1))
        test = outcomes(dims, 0, SOME) | COUNTED;
    else
        test = outcomes(dims, ONE, SOME);
    return below || op == LW_OP_EQ ? test : opposite(test);
}

/* Many elements may have loaded the same value, so tests of loaded values select none of
 * them. */
static facts
test_of(const finder *f, const lw_inst *inst)
{
    static const uint8_t turned[LW_N_OPS] = {
        [LW_OP_LT] = LW_OP_GT, [LW_OP_GT] = LW_OP_LT, [LW_OP_LE] = LW_OP_GE,
        [LW_OP_GE] = LW_OP_LE, [LW_OP_EQ] = LW_OP_EQ, [LW_OP_NE] = LW_OP_NE};
    facts all = operands_of(f, inst), dims = all & DIMS;
    lw_ref index = inst->a, bound = inst->b;
    lw_op op = (lw_op)inst->op;
    int64_t constant;
    bool moved = false;

    if ((all & LOADED) || dims == 0)
        return all;
    if (op == LW_OP_CAST) /* whether it is not 0 */
        return all | outcomes(dims, SOME, is_index(f, index, &moved) ? ONE : SOME);
    if (!(f->facts->values[index] & DIMS)) {
        index = inst->b;
        bound = inst->a;
        op = (lw_op)turned[op];
    }
    if (f->func != f->body)
        return all | outcomes(dims, ONE, 0) | outcomes(dims, 0, ONE);
    if ((f->facts->values[bound] & DIMS) || !is_index(f, index, &moved))
        return all | outcomes(dims, SOME, SOME);
    return all |
           test_of_index(dims, op, moved, is_constant(f, bound, &constant) ? &constant : NULL);
}

static facts
not_of(const finder *f, const lw_inst *inst)
{
    facts all = operands_of(f, inst);

    return inst->type == LW_DT_b1 ? opposite(all) : all;
}

static bool
is_bit(const finder *f, lw_ref ref, uint64_t bit)
{
    const lw_inst *inst = &f->func->insts.data[ref];

    return inst->op == LW_OP_CONST && inst->type == LW_DT_b1 &&
           f->func->constants.data[inst->a].bits == bit;
}

/* `x if test else y`. Where `x` or `y` is a constant, it is known which outcome of the test
 * passes the whole. */
static facts
select_of(const finder *f, const lw_inst *inst)
{
    facts test = f->facts->values[inst->a];
    facts values = f->facts->values[inst->b] | f->facts->values[inst->c];

    if (is_bit(f, inst->b, 1) || is_bit(f, inst->c, 0))
        return test | values;
    if (is_bit(f, inst->b, 0) || is_bit(f, inst->c, 1))
        return opposite(test) | values;
    return test | opposite(test) | values;
}

/* Any other operation on tests, such as an exclusive or, may pass where they fail. */
static facts
other_of(const finder *f, const lw_inst *inst)
{
    facts all = operands_of(f, inst);

    return all | opposite(all);
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
    case LW_OP_SELECT: add(f, own, select_of(f, inst)); break;
    case LW_OP_GET:
    case LW_OP_AND:
    case LW_OP_OR: add(f, own, operands_of(f, inst)); break;
    default: add(f, own, other_of(f, inst)); break;
    }
}

/* ---- stores ---- */

/* Whether two addresses are computed in the same way from the same values, or from what is in
 * memory at the same addresses. */
static bool
is_same(const finder *f, lw_ref x, lw_ref y, int depth)
{
    const lw_inst *u = &f->func->insts.data[x], *v = &f->func->insts.data[y];
    uint32_t at = 0, beside = 0;
    lw_ref p, q;

    if (x == y)
        return true;
    if (depth == 0 || u->op != v->op || u->type != v->type ||
        (lw_ops[u->op].class != LW_CLASS_PURE && u->op != LW_OP_GET && u->op != LW_OP_LOAD))
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

/* Where a condition decides which elements update, many more elements than places are needed
 * to say that they meet: each place may be for one of them. Where the condition and the place
 * are computed from the index, as in `if i % 32 == 0: o[i // 32] += x[i]`, that is so for
 * strides up to the larger number. */
enum { MANY = 16, VERY_MANY = 4096 };

static lw_status
note_update(finder *f, const lw_inst *inst, uint32_t dims, bool same, lw_error *err)
{
    lw_race_store *store = lw_array_push(&f->updates, f->arena);
    facts address = f->facts->values[inst->a], path = path_of(f);
    uint32_t times = MANY;

    if (store == NULL)
        return lw_fail_memory(err);
    if (!same && !(address & LOADED) && (path & SOME))
        times = VERY_MANY;
    else if (!same && !(path & (LOADED | SOME)) && ((address & LOADED) || !(path & DIMS)))
        times = 1;
    *store = (lw_race_store){
        .loc = inst->loc, .dims = dims, .augmented = true, .times = times, .same_place = same};
    return LW_OK;
}

/* An update whose place depends on the element. */
static lw_status
look_at_update(finder *f, const lw_inst *inst, lw_error *err)
{
    facts address = f->facts->values[inst->a];

    if ((address & LOCAL) || !(address & DIMS) || (path_of(f) & ONE) ||
        !reads(f, inst->b, inst->a))
        return LW_OK;
    return note_update(f, inst, address & DIMS, false, err);
}

/* A store whose place does not depend on some dimensions of the index. */
static lw_status
look_at_store(finder *f, const lw_inst *inst, lw_error *err)
{
    const facts *values = f->facts->values;
    facts address = values[inst->a], path = path_of(f);
    uint32_t same = f->all & ~(address | (path & ONE) >> ONE_SHIFT);
    uint32_t dims = same & ~((path & SOME) >> SOME_SHIFT);
    lw_race_store *store;
    bool augmented;

    if ((address & LOCAL) || same == 0)
        return LW_OK;
    augmented = reads(f, inst->b, inst->a);
    if (dims == 0)
        return augmented && !(address & DIMS) ? note_update(f, inst, same, true, err) : LW_OK;
    if (!augmented)
        dims &= path & LOADED ? values[inst->b] & ~path : values[inst->b];
    if (dims == 0)
        return LW_OK;
    store = lw_array_push(&f->found, f->arena);
    if (store == NULL)
        return lw_fail_memory(err);
    assert((dims & ~f->all) == 0);
    *store = (lw_race_store){.loc = inst->loc,
                             .dims = dims,
                             .augmented = augmented,
                             .counted = (path & COUNTED) != 0};
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
        f->funcs[body].params[i] = 1u << i;
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
    *out = (lw_races){f.found.data, f.found.n, f.updates.data, f.updates.n};
fail:
    return status;
}
