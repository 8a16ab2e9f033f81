/* Loads of the head are executed before stores of iterations in front of theirs. That is the
 * same if they never refer to the same memory: because parameters say so, here or at all calls
 * of the function; because nobody writes what is loaded; or because a comparison in front of
 * the loop finds that the memory between the ends of the one is apart from that of the other.
 * Addresses are affine in the counters, so their extremes are those of the first and the last
 * iterations. */
#include "core/opt/jam_internal.h"

#include "core/ir/operands.h"

#include <assert.h>
#include <string.h>

typedef struct access {
    lw_ref address;
    uint32_t bytes;
    bool in_loop; /* of its own, in the outer one */
    lw_counted_loop loop;
    lw_ref begin; /* of its counter */
} access;

/* ---- what is known without a comparison ---- */

static lw_ref
root_of(const lw_func *func, lw_ref pointer)
{
    while (func->insts.data[pointer].op == LW_OP_OFFSET)
        pointer = func->insts.data[pointer].a;
    return pointer;
}

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
    const lw_inst *a = &func->insts.data[root_of(func, p)];
    const lw_inst *b = &func->insts.data[root_of(func, q)];

    if (a->op != LW_OP_PARAM || b->op != LW_OP_PARAM || a->a == b->a)
        return false;
    if ((func->params.data[a->a].flags | func->params.data[b->a].flags) & LW_PARAM_NOALIAS)
        return true;
    return callers_keep_apart(module, number, a->a, b->a, depth);
}

static bool
is_constant_data(const lw_jammer *j, lw_ref pointer)
{
    const lw_inst *root = &j->old.insts.data[root_of(&j->old, pointer)];

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
        if (a->in_loop || !lw_jam_counted(j, i, &a->loop) ||
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

static bool
add_pair(const lw_jammer *j, lw_jam_nest *nest, lw_ref load, lw_ref store)
{
    const lw_inst *insts = j->old.insts.data;
    lw_ref from = insts[load].a, to = insts[store].a;
    access a;

    if (is_constant_data(j, from) ||
        are_apart(j->module, &j->old, j->func, from, to, LW_JAM_DEPTH))
        return true;
    if (root_of(&j->old, from) == root_of(&j->old, to) || nest->n_pairs == LW_JAM_PAIRS ||
        !access_at(j, nest, load, &a) || !access_at(j, nest, store, &a))
        return false;
    nest->pairs[nest->n_pairs++] = (lw_jam_pair){load, store};
    return true;
}

bool
lw_jam_pairs(const lw_jammer *j, lw_jam_nest *nest)
{
    const lw_inst *insts = j->old.insts.data;

    for (uint32_t load = nest->outer.first; load < nest->split; load++)
        for (uint32_t store = nest->split;
             insts[load].op == LW_OP_LOAD && store < nest->outer.latch; store++)
            if (insts[store].op == LW_OP_STORE && !add_pair(j, nest, load, store))
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

lw_ref
lw_jam_check(lw_jammer *j, const lw_jam_nest *nest)
{
    lw_builder *b = &j->b;
    lw_ref all = 0, load[2], store[2], apart, origin;
    access a;

    assert(nest->n_pairs > 0);
    for (uint32_t p = 0; p < nest->n_pairs; p++) {
        access_at(j, nest, nest->pairs[p].store, &a);
        origin = address_at(j, &nest->outer, &a, 0);
        ends_of(j, &nest->outer, &a, origin, store);
        access_at(j, nest, nest->pairs[p].load, &a);
        ends_of(j, &nest->outer, &a, origin, load);
        apart = lw_ir_or(b, lw_ir_compare(b, LW_OP_GE, load[0], store[1]),
                         lw_ir_compare(b, LW_OP_GE, store[0], load[1]));
        all = p == 0 ? apart : lw_ir_and(b, all, apart);
    }
    return all;
}
