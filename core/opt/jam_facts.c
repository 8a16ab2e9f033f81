/* Which loops are jammed. The head of an outer loop's body, up to the split, is executed for
 * four iterations together: its straight code once for each, then each of its inner loops for
 * all of them. The rest, with all stores, follows for one iteration after the other. This
 * changes the order of nothing but the loads of the head, if
 *
 * - the inner loops have the same number of iterations in each of the four;
 * - a variable of the head is either set in each iteration before it is read, and then every
 *   iteration has its own, or it is used in one stretch of straight code alone;
 * - the loads of the head do not read what the rest stores (jam_apart.c).
 *
 * The head may also store to an element that belongs to its iteration (jam_places.c).
 *
 * It pays if an inner loop has a chain: a float that each iteration computes from what the one
 * before it has left, in the order that the program says. 100 products of a matrix of 103 x 101
 * numbers with a vector take 0.30 ms instead of 0.65 (two threads of a Xeon at 2.9 GHz,
 * November 2026). */
#include "core/opt/jam_internal.h"

#include "core/ir/operands.h"

#include <assert.h>
#include <string.h>

/* A loop of FEW iterations is unrolled completely, and its chains are short enough for the
 * processor to overlap them by itself. */
enum { MOST_LOOP = 64, MOST_BODY = 400, FEW = 16 };

static bool
is_const(const lw_jammer *j, lw_ref value, uint64_t *bits)
{
    const lw_inst *inst = lw_jam_inst(j, value);

    if (inst->op != LW_OP_CONST)
        return false;
    *bits = j->old.constants.data[inst->a].bits;
    return true;
}

/* ---- values ---- */

/* The most general kind of the operands. */
static lw_jam_value
of_operands(const lw_jammer *j, const lw_inst *inst)
{
    lw_jam_value kind = LW_JAM_INVARIANT;
    uint32_t at = 0;
    lw_ref operand;

    while (lw_ir_next_operand(&j->old, inst, &at, &operand))
        if (j->kinds[operand] > kind)
            kind = (lw_jam_value)j->kinds[operand];
    return kind;
}

static bool
is_wide(const lw_jammer *j, lw_ref value)
{
    return lw_jam_inst(j, value)->type == LW_DT_i64 || lw_jam_inst(j, value)->type == LW_DT_u64;
}

static lw_jam_value
kind_of(const lw_jammer *j, const lw_inst *inst)
{
    lw_jam_value kind = of_operands(j, inst);
    bool linear = false;

    if (lw_ops[inst->op].class != LW_CLASS_PURE || inst->op == LW_OP_RESULT || inst->lanes > 1)
        return LW_JAM_OTHER;
    if (kind == LW_JAM_INVARIANT || kind == LW_JAM_OTHER)
        return kind;
    switch (inst->op) {
    case LW_OP_ADD:
    case LW_OP_SUB:
    case LW_OP_OFFSET: linear = inst->op == LW_OP_OFFSET || is_wide(j, inst->a); break;
    case LW_OP_MUL:
        linear = is_wide(j, inst->a) && (j->kinds[inst->a] == LW_JAM_INVARIANT ||
                                         j->kinds[inst->b] == LW_JAM_INVARIANT);
        break;
    case LW_OP_CAST:
        linear = is_wide(j, inst->a) && (inst->type == LW_DT_i64 || inst->type == LW_DT_u64);
        break;
    default: break;
    }
    return linear ? kind : LW_JAM_OTHER;
}

/* Fills `kinds` for the outer loop; what is in front of it is invariant. */
void
lw_jam_kinds(lw_jammer *j, const lw_counted_loop *outer)
{
    lw_counted_loop loop;

    memset(j->kinds, LW_JAM_INVARIANT, j->old.insts.n);
    j->kinds[outer->at + 1] = LW_JAM_OUTER;
    for (uint32_t i = outer->first; i < outer->end; i++) {
        const lw_inst *inst = lw_jam_inst(j, i);
        if (inst->op == LW_OP_GET && inst->a == outer->slot)
            j->kinds[i] = LW_JAM_OUTER;
        else if (inst->op == LW_OP_GET)
            j->kinds[i] = lw_ir_is_set(&j->old, outer->at, outer->end, inst->a)
                              ? LW_JAM_OTHER
                              : LW_JAM_INVARIANT;
        else
            j->kinds[i] = (uint8_t)kind_of(j, inst);
        if (inst->op == LW_OP_LOOP && lw_counted_loop_at(&j->old, &j->regions, i, &loop) &&
            j->kinds[loop.limit] == LW_JAM_INVARIANT)
            j->kinds[++i] = LW_JAM_AFFINE; /* the GET of its counter */
    }
}

/* ---- what may be in a body ---- */

static bool
is_pure(const lw_module *module, uint32_t number, uint32_t most, int depth)
{
    const lw_func *func = module->funcs.data[number];

    if (depth == 0 || func->insts.n > most)
        return false;
    for (uint32_t i = 1; i < func->insts.n; i++) {
        const lw_inst *inst = &func->insts.data[i];
        lw_op op = (lw_op)inst->op;
        if (op == LW_OP_CALL
                ? !is_pure(module, inst->a, most, depth - 1)
                : op != LW_OP_GET && op != LW_OP_SET && op != LW_OP_SLOT &&
                      lw_ops[op].class != LW_CLASS_PURE && lw_ops[op].class != LW_CLASS_FLOW)
            return false;
    }
    return true;
}

bool
lw_jam_is_pure(const lw_module *module, uint32_t func, uint32_t most)
{
    return is_pure(module, func, most, LW_JAM_DEPTH);
}

bool
lw_jam_may_be_in_head(const lw_jammer *j, const lw_inst *inst, uint32_t most)
{
    switch ((lw_op)inst->op) {
    case LW_OP_GET:
    case LW_OP_SET:
    case LW_OP_SLOT:
    case LW_OP_LOAD:
    case LW_OP_DATA:
    case LW_OP_IF:
    case LW_OP_ELSE:
    case LW_OP_END: return true;
    case LW_OP_CALL: return lw_jam_is_pure(j->module, inst->a, most);
    default: return lw_ops[inst->op].class == LW_CLASS_PURE;
    }
}

static bool
is_in_head(const lw_jammer *j, uint32_t at)
{
    return lw_jam_may_be_in_head(j, lw_jam_inst(j, at), MOST_BODY) ||
           (lw_jam_inst(j, at)->op == LW_OP_STORE && j->place[at] != 0);
}

static bool
all_in_head(const lw_jammer *j, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (!is_in_head(j, i))
            return false;
    return true;
}

/* Whether nothing but stores, loops and what may be in a head is there, and nothing leaves the
 * outer loop. */
static bool
stays_inside(const lw_jammer *j, const lw_counted_loop *outer)
{
    for (uint32_t i = outer->first; i < outer->latch; i++) {
        const lw_inst *inst = lw_jam_inst(j, i);
        if (inst->op == LW_OP_BREAK || inst->op == LW_OP_CONTINUE) {
            if (lw_ir_jumps_out(&j->regions, &j->old, outer->first, i))
                return false;
        } else if (inst->op != LW_OP_STORE && inst->op != LW_OP_LATCH &&
                   inst->op != LW_OP_LOOP && inst->op != LW_OP_BLOCK &&
                   !lw_jam_may_be_in_head(j, inst, MOST_BODY))
            return false;
    }
    return true;
}

/* ---- chains ---- */

/* Whether the loop reads the variable before it sets it, and computes it in a given order. */
static bool
is_chain(const lw_jammer *j, const lw_counted_loop *loop, lw_ref slot)
{
    const lw_inst *variable = lw_jam_inst(j, slot);
    bool read = false;

    if (!lw_is_float((lw_dtype)variable->type) || variable->lanes > 1)
        return false;
    for (uint32_t i = loop->first; i < loop->latch; i++) {
        const lw_inst *inst = lw_jam_inst(j, i);
        read |= inst->op == LW_OP_GET && inst->a == slot;
        if (inst->op == LW_OP_SET && inst->a == slot)
            return read && !(lw_jam_inst(j, inst->b)->flags & LW_FAST_REASSOC);
    }
    return false;
}

/* The same of an element that the loop loads before this STORE. */
static bool
is_chain_of_place(const lw_jammer *j, const lw_counted_loop *loop, uint32_t store)
{
    const lw_inst *value = lw_jam_inst(j, lw_jam_inst(j, store)->b);

    if (!lw_is_float((lw_dtype)value->type) || (value->flags & LW_FAST_REASSOC))
        return false;
    for (uint32_t i = loop->first; i < store; i++)
        if (lw_jam_inst(j, i)->op == LW_OP_LOAD && j->place[i] != 0 &&
            j->place[i] == j->place[store])
            return true;
    return false;
}

static bool
has_chain(const lw_jammer *j, const lw_counted_loop *loop)
{
    uint64_t limit = FEW + 1;

    is_const(j, loop->limit, &limit);
    for (uint32_t i = loop->first; limit > FEW && i < loop->latch; i++) {
        const lw_inst *inst = lw_jam_inst(j, i);
        if ((inst->op == LW_OP_SET && is_chain(j, loop, inst->a)) ||
            (inst->op == LW_OP_STORE && is_chain_of_place(j, loop, i)))
            return true;
    }
    return false;
}

/* ---- the head ---- */

static bool
is_inner(const lw_jammer *j, uint32_t at, lw_counted_loop *loop)
{
    return lw_counted_loop_at(&j->old, &j->regions, at, loop) &&
           loop->latch - loop->first <= MOST_LOOP &&
           j->kinds[loop->limit] == LW_JAM_INVARIANT &&
           all_in_head(j, loop->first, loop->latch);
}

/* Finds the inner loops of the head, which ends with the last of them that has a chain. */
static bool
find_head(const lw_jammer *j, lw_jam_nest *nest)
{
    uint32_t chains = 0;
    lw_counted_loop loop;

    for (uint32_t i = nest->outer.first; i < nest->outer.latch; i++) {
        if (lw_jam_inst(j, i)->op == LW_OP_LOOP) {
            if (nest->n_inner == LW_JAM_LOOPS || !is_inner(j, i, &loop))
                break;
            nest->inner[nest->n_inner++] = loop;
            if (has_chain(j, &loop)) {
                chains = nest->n_inner;
                nest->split = loop.end + 1;
            }
            i = loop.end;
        } else if (lw_jam_inst(j, i)->op == LW_OP_IF) {
            if (!all_in_head(j, i, j->regions.ends[i]))
                break;
            i = j->regions.ends[i];
        } else if (!is_in_head(j, i))
            break;
    }
    nest->n_inner = chains;
    return chains > 0;
}

/* ---- variables ---- */

/* The part of the body that an instruction belongs to: straight code of the head between two
 * inner loops, an inner loop, or the rest. */
static uint32_t
part_of(const lw_jam_nest *nest, uint32_t at)
{
    uint32_t part = 0;

    for (uint32_t k = 0; k < nest->n_inner; k++)
        part += (at >= nest->inner[k].at) + (at > nest->inner[k].end);
    return part;
}

static bool
is_loop_part(const lw_jam_nest *nest, uint32_t part)
{
    return part % 2 == 1 && part < 2 * nest->n_inner;
}

static const lw_counted_loop *
counted_by(const lw_jam_nest *nest, lw_ref slot)
{
    for (uint32_t k = 0; k < nest->n_inner; k++)
        if (nest->inner[k].slot == slot)
            return &nest->inner[k];
    return NULL;
}

/* Whether all iterations start to count an inner loop at the same number, and nothing else uses
 * the counter. */
static bool
is_shared_counter(const lw_jammer *j, const lw_jam_nest *nest, lw_ref slot)
{
    for (uint32_t i = nest->outer.first; i < nest->outer.latch; i++) {
        const lw_inst *inst = lw_jam_inst(j, i);
        uint32_t part = part_of(nest, i);
        if ((inst->op != LW_OP_SET && inst->op != LW_OP_GET) || inst->a != slot)
            continue;
        if (is_loop_part(nest, part)) {
            if (nest->inner[part / 2].slot != slot) /* which its latch sets, and nothing else */
                return false;
        } else if (inst->op == LW_OP_GET || i >= nest->split ||
                   j->kinds[inst->b] != LW_JAM_INVARIANT ||
                   !lw_jam_is_always_executed(j, nest->outer.first, i))
            return false;
    }
    return true;
}

/* Decides about one variable by all places of the body where it is used. False: iterations
 * depend on each other by it. */
static bool
judge_variable(lw_jammer *j, const lw_jam_nest *nest, lw_ref slot)
{
    uint32_t first = 0, first_part = 0;
    bool one_part = true, set = false;

    for (uint32_t i = nest->outer.first; i < nest->outer.latch; i++) {
        const lw_inst *inst = lw_jam_inst(j, i);
        if ((inst->op != LW_OP_GET && inst->op != LW_OP_SET) || inst->a != slot)
            continue;
        if (first == 0) {
            first = i;
            first_part = part_of(nest, i);
        }
        one_part &= part_of(nest, i) == first_part;
        set |= inst->op == LW_OP_SET;
    }
    if (!set)
        return true;
    assert(slot != nest->outer.slot); /* lw_jam_counted: set by the latch alone */
    if (counted_by(nest, slot) != NULL)
        return is_shared_counter(j, nest, slot);
    if (one_part && !is_loop_part(nest, first_part))
        return true;
    if (lw_jam_inst(j, first)->op != LW_OP_SET ||
        (is_loop_part(nest, first_part) && !one_part) ||
        !lw_jam_is_always_executed(j,
                                   is_loop_part(nest, first_part)
                                       ? nest->inner[first_part / 2].first
                                       : nest->outer.first,
                                   first))
        return false;
    j->is_private[slot] = true;
    return true;
}

static bool
judge_variables(lw_jammer *j, const lw_jam_nest *nest)
{
    memset(j->is_private, 0, j->old.insts.n * sizeof *j->is_private);
    for (uint32_t i = 1; i < j->old.insts.n; i++)
        if (lw_jam_inst(j, i)->op == LW_OP_SLOT && !judge_variable(j, nest, i))
            return false;
    return true;
}

bool
lw_jam_nest_of(lw_jammer *j, uint32_t at, lw_jam_nest *nest)
{
    *nest = (lw_jam_nest){0};
    if (!lw_counted_loop_at(&j->old, &j->regions, at, &nest->outer) ||
        nest->outer.latch - nest->outer.first > MOST_BODY || !stays_inside(j, &nest->outer))
        return false;
    lw_jam_kinds(j, &nest->outer);
    lw_jam_places(j, nest);
    if (!find_head(j, nest) || !judge_variables(j, nest))
        return false;
    return lw_jam_keep_places(j, nest) && lw_jam_pairs(j, nest);
}
