/* Loads of the head are executed before stores of iterations in front of theirs. That is the
 * same if they never refer to the same memory: because parameters say so, here or at all calls
 * of the function; because nobody writes what is loaded; or because a comparison in front of
 * the loop finds that the memory between the ends of the one is apart from that of the other.
 * Addresses are affine in the counters, so their extremes are those of the first and the last
 * iterations. */
#include "core/opt/jam_internal.h"

#include "core/ir/operands.h"

#include <string.h>

typedef struct access {
    lw_ref address;
    uint32_t bytes;
    bool in_loop; /* of its own, in the outer one */
    lw_counted_loop loop;
    lw_ref begin; /* of its counter */
} access;

/* ---- what is known without a comparison ---- */

static bool are_apart(const lw_module *module, const lw_func *func, uint32_t number, lw_ref p,
                      lw_ref q, int depth);

/* Whether all calls of the function pass pointers that are apart. */
static bool
callers_keep_apart(const lw_module *module, uint32_t number, uint32_t p, uint32_t q, int depth)
{
    lw_linkage linkage = module->funcs.data[number]->linkage;
    bool called = false;

    if (depth == 0 || (linkage != LW_INTERNAL && linkage != LW_OUTLINED))
        return false;
    for (uint32_t f = 0; f < module->funcs.n; f++) {
        const lw_func *caller = module->funcs.data[f];
        for (uint32_t i = 1; i < caller->insts.n; i++) {
            const lw_inst *call = &caller->insts.data[i];
            if (!lw_op_names_function((lw_op)call->op) || call->a != number)
                continue;
            if (call->op != LW_OP_CALL ||
                !are_apart(module, caller, f, caller->lists.data[call->b + p],
                           caller->lists.data[call->b + q], depth - 1))
                return false;
            called = true;
        }
    }
    return called;
}

/* func: function `number` of the module, or what it was before it was rewritten. */
static bool
are_apart(const lw_module *module, const lw_func *func, uint32_t number, lw_ref p, lw_ref q,
          int depth)
{
    const lw_inst *a = &func->insts.data[lw_ir_root(func, p)];
    const lw_inst *b = &func->insts.data[lw_ir_root(func, q)];

    if (a->op != LW_OP_PARAM || b->op != LW_OP_PARAM || a->a == b->a)
        return false;
    if ((func->params.data[a->a].flags | func->params.data[b->a].flags) & LW_PARAM_NOALIAS)
        return true;
    return callers_keep_apart(module, number, a->a, b->a, depth);
}

static bool
is_constant_data(const lw_jammer *j, lw_ref pointer)
{
    const lw_inst *root = &j->old.insts.data[lw_ir_root(&j->old, pointer)];

    return root->op == LW_OP_DATA && j->module->datas.data[root->a].address == 0;
}

/* ---- what is compared ---- */

/* The value at which the loop starts to count: that of the last SET in front of it. 0: it is
 * not the same in all iterations of the outer loop. */
static lw_ref
begin_of(const lw_jammer *j, const lw_counted_loop *outer, const lw_counted_loop *loop)
{
    for (uint32_t i = loop->at - 1; i >= outer->first; i--) {
        const lw_inst *inst = &j->old.insts.data[i];
        if (inst->op == LW_OP_SET && inst->a == loop->slot)
            return j->kinds[inst->b] == LW_JAM_INVARIANT ? inst->b : 0;
        if (lw_ops[inst->op].class == LW_CLASS_FLOW)
            return 0;
    }
    return 0;
}

/* Finds the loop around an instruction. False: there are several, or one whose ends are not
 * known. */
static bool
find_loop(const lw_jammer *j, const lw_counted_loop *outer, uint32_t at, access *a)
{
    for (uint32_t i = outer->first; i < at; i++) {
        if (j->old.insts.data[i].op != LW_OP_LOOP || j->regions.ends[i] < at)
            continue;
        if (a->in_loop || !lw_counted_loop_at(&j->old, &j->regions, i, &a->loop) ||
            j->kinds[a->loop.limit] != LW_JAM_INVARIANT)
            return false;
        a->in_loop = true;
        a->begin = begin_of(j, outer, &a->loop);
        if (a->begin == 0)
            return false;
    }
    return true;
}

static bool
access_at(const lw_jammer *j, const lw_jam_nest *nest, uint32_t at, access *a)
{
    const lw_inst *inst = &j->old.insts.data[at];
    const lw_inst *value = inst->op == LW_OP_LOAD ? inst : &j->old.insts.data[inst->b];

    *a = (access){.address = inst->a,
                  .bytes = lw_dtypes[value->type].size_bytes *
                           (value->lanes > 1 ? value->lanes : 1)};
    return j->kinds[a->address] <= LW_JAM_AFFINE && find_loop(j, &nest->outer, at, a);
}

/* one: a load or a store. */
static bool
add_pair(const lw_jammer *j, lw_jam_nest *nest, lw_ref one, lw_ref store)
{
    const lw_inst *insts = j->old.insts.data;
    lw_ref from = insts[one].a, to = insts[store].a;
    access a;

    if (j->place[one] != 0 && j->place[one] == j->place[store])
        return true;
    if (is_constant_data(j, from) ||
        are_apart(j->module, &j->old, j->func, from, to, LW_JAM_DEPTH))
        return true;
    if (lw_ir_root(&j->old, from) == lw_ir_root(&j->old, to) || nest->n_pairs == LW_JAM_PAIRS ||
        !access_at(j, nest, one, &a) || !access_at(j, nest, store, &a))
        return false;
    nest->pairs[nest->n_pairs++] = (lw_jam_pair){one, store};
    return true;
}

/* Whether two accesses may be executed in another order, those of different iterations: a store
 * of the head with any other access, or a load of the head with a store behind it. */
static bool
change_places(const lw_jammer *j, const lw_jam_nest *nest, uint32_t one, uint32_t store)
{
    const lw_inst *insts = j->old.insts.data;

    if (insts[store].op != LW_OP_STORE || one == store)
        return false;
    if (insts[one].op == LW_OP_LOAD)
        return one < nest->split || store < nest->split;
    return insts[one].op == LW_OP_STORE && store < nest->split;
}

/* A place has one pair with each other access, whatever the number of its stores. */
static bool
is_first_store(const lw_jammer *j, const lw_jam_nest *nest, uint32_t store)
{
    for (uint32_t i = nest->outer.first; i < store; i++)
        if (j->place[i] != 0 && j->place[i] == j->place[store] &&
            j->old.insts.data[i].op == LW_OP_STORE)
            return false;
    return true;
}

bool
lw_jam_pairs(const lw_jammer *j, lw_jam_nest *nest)
{
    const lw_counted_loop *outer = &nest->outer;

    for (uint32_t one = outer->first; one < outer->latch; one++)
        for (uint32_t store = outer->first; store < outer->latch; store++)
            if (change_places(j, nest, one, store) && is_first_store(j, nest, store) &&
                !add_pair(j, nest, one, store))
                return false;
    return true;
}

/* ---- the comparison ---- */

/* Emits a value of the body for the numbers of iterations that `corner` has for the counters;
 * it keeps what was emitted. */
static lw_ref
evaluate(lw_jammer *j, const lw_counted_loop *outer, lw_ref value)
{
    const lw_inst *inst = &j->old.insts.data[value];
    uint32_t at = 0;
    lw_ref operand;

    if (j->corner[value] != 0)
        return j->corner[value];
    if (value < outer->at || inst->op == LW_OP_SLOT)
        return j->corner[value] = j->to[value];
    if (inst->op == LW_OP_GET && inst->a == outer->slot)
        return j->corner[value] = j->corner[outer->at + 1];
    while (lw_ir_next_operand(&j->old, inst, &at, &operand))
        evaluate(j, outer, operand);
    return j->corner[value] = lw_ir_copy(&j->b, &j->old, *inst, j->corner);
}

static lw_ref
last_of(lw_jammer *j, lw_ref limit)
{
    return lw_ir_sub(&j->b, limit, lw_ir_int(&j->b, lw_ir_type(&j->b, limit), 1));
}

static lw_ref
address_at(lw_jammer *j, const lw_counted_loop *outer, const access *a, int corner)
{
    lw_builder *b = &j->b;
    lw_ref counter;

    memset(j->corner, 0, j->old.insts.n * sizeof *j->corner);
    j->corner[outer->at + 1] =
        corner & 1 ? last_of(j, j->to[outer->limit]) : lw_ir_get(b, j->to[outer->slot]);
    if (a->in_loop) {
        counter = corner & 2 ? last_of(j, evaluate(j, outer, a->loop.limit))
                             : evaluate(j, outer, a->begin);
        j->corner[a->loop.at + 1] = counter;
    }
    return evaluate(j, outer, a->address);
}

static void
ends_of(lw_jammer *j, const lw_counted_loop *outer, const access *a, lw_ref origin,
        lw_ref ends[2])
{
    lw_builder *b = &j->b;

    for (int corner = 0; corner < (a->in_loop ? 4 : 2); corner++) {
        lw_ref at = lw_ir_emit(b, LW_OP_DISTANCE, LW_DT_i64, origin,
                               address_at(j, outer, a, corner), 0);
        for (int k = 0; k < 2; k++)
            ends[k] =
                corner == 0
                    ? at
                    : lw_ir_select(b, lw_ir_compare(b, k ? LW_OP_GT : LW_OP_LT, at, ends[k]),
                                   at, ends[k]);
    }
    ends[1] = lw_ir_add(b, ends[1], lw_ir_int(b, LW_DT_i64, a->bytes));
}

/* Whether the pair's memory is apart, from the first to the last iteration. */
static lw_ref
pair_is_apart(lw_jammer *j, const lw_jam_nest *nest, const lw_jam_pair *pair)
{
    lw_builder *b = &j->b;
    lw_ref one[2], store[2], origin;
    access a;

    access_at(j, nest, pair->store, &a);
    origin = address_at(j, &nest->outer, &a, 0);
    ends_of(j, &nest->outer, &a, origin, store);
    access_at(j, nest, pair->one, &a);
    ends_of(j, &nest->outer, &a, origin, one);
    return lw_ir_or(b, lw_ir_compare(b, LW_OP_GE, one[0], store[1]),
                    lw_ir_compare(b, LW_OP_GE, store[0], one[1]));
}

/* Whether the elements of two iterations are. */
static lw_ref
place_is_own(lw_jammer *j, const lw_jam_nest *nest, const lw_jam_place *place)
{
    lw_builder *b = &j->b;
    const lw_counted_loop *outer = &nest->outer;
    lw_ref address = j->old.insts.data[place->first].a, at[2], step;

    for (int k = 0; k < 2; k++) {
        lw_ref i = lw_ir_get(b, j->to[outer->slot]);
        memset(j->corner, 0, j->old.insts.n * sizeof *j->corner);
        j->corner[outer->at + 1] =
            k == 0 ? i : lw_ir_add(b, i, lw_ir_int(b, lw_ir_type(b, i), 1));
        at[k] = evaluate(j, outer, address);
    }
    step = lw_ir_emit(b, LW_OP_DISTANCE, LW_DT_i64, at[0], at[1], 0);
    return lw_ir_or(
        b, lw_ir_compare(b, LW_OP_GE, step, lw_ir_int(b, LW_DT_i64, place->bytes)),
        lw_ir_compare(b, LW_OP_LE, step, lw_ir_int(b, LW_DT_i64, -(int64_t)place->bytes)));
}

/* Whether the first inner loop has more iterations than the processor overlaps those of several
 * calls: vectors of three or four numbers take less time as they are. */
static lw_ref
is_long(lw_jammer *j, const lw_jam_nest *nest)
{
    enum { FEW = 4 };
    lw_ref limit;

    memset(j->corner, 0, j->old.insts.n * sizeof *j->corner);
    limit = evaluate(j, &nest->outer, nest->inner[0].limit);
    return lw_ir_compare(&j->b, LW_OP_GT, limit,
                         lw_ir_int(&j->b, lw_ir_type(&j->b, limit), FEW));
}

lw_ref
lw_jam_check(lw_jammer *j, const lw_jam_nest *nest)
{
    lw_ref all = j->inlined ? is_long(j, nest) : lw_ir_int(&j->b, LW_DT_b1, 1);

    for (uint32_t p = 0; p < nest->n_pairs; p++)
        all = lw_ir_and(&j->b, all, pair_is_apart(j, nest, &nest->pairs[p]));
    for (uint32_t p = 0; p < nest->n_places; p++)
        if (nest->places[p].needed)
            all = lw_ir_and(&j->b, all, place_is_own(j, nest, &nest->places[p]));
    return all;
}
