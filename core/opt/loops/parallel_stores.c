/* Parallel loops: stores that several iterations may make to one place. */
#include "core/opt/loops/parallel_internal.h"

#include "core/ir/operands.h"

/* ---- what values depend on ---- */

enum { MOST_OPEN = 64 }; /* regions inside each other */

/* What the value of an instruction depends on, by what is known of its operands. */
static uint8_t
depends(const lw_parallel_loop *p, const uint8_t *on, const lw_inst *inst)
{
    uint8_t result = 0;
    uint32_t k = 0;
    lw_ref operand;

    while (lw_ir_next_operand(p->s.func, inst, &k, &operand))
        result |= on[operand];
    if (inst->type == LW_DT_b1 && (result & LW_ON_PLACES))
        return LW_ON_PLACES;
    switch (inst->op) {
    case LW_OP_DISTANCE:
    case LW_OP_MEET: return LW_ON_PLACES;
    case LW_OP_HOST_CALL:
        if (lw_parallel_is_thread_id(p, inst))
            return result | LW_ON_COUNTER;
        return result | LW_ON_COUNTER | LW_ON_MEMORY;
    case LW_OP_LOAD:
    case LW_OP_CALL:
    case LW_OP_ATOMIC: return result | LW_ON_COUNTER | LW_ON_MEMORY;
    case LW_OP_LOCAL:
    case LW_OP_OWNER:
    case LW_OP_NEW: return result | LW_ON_COUNTER; /* memory of the iteration's own */
    default: return result;
    }
}

/* Propagates dependences once. A variable that is set under a branch depends on what decides
 * about it. */
static bool
spread_once(const lw_parallel_loop *p, uint8_t *on)
{
    uint8_t under[MOST_OPEN + 1] = {0};
    uint32_t depth = 0;
    bool changed = false;

    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        uint8_t now = depends(p, on, inst);
        lw_ref at = inst->op == LW_OP_SET ? inst->a : i;
        if (p->s.regions.ends[i] && depth < MOST_OPEN) {
            under[depth + 1] = under[depth] | (inst->op == LW_OP_IF ? now : 0);
            depth++;
        } else if (inst->op == LW_OP_END && depth > 0) {
            depth--;
        }
        if (inst->op == LW_OP_SET)
            now = on[inst->b] | under[depth];
        changed |= (now & ~on[at]) != 0;
        on[at] |= now;
    }
    return changed;
}

/* Variables that loops in the iteration assign. */
static void
mark_inner(const lw_parallel_loop *p, uint8_t *on)
{
    uint32_t end = 0;

    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        if (lw_inst_at(&p->s, i)->op == LW_OP_LOOP && p->s.regions.ends[i] > end)
            end = p->s.regions.ends[i];
        if (lw_inst_at(&p->s, i)->op == LW_OP_SET && i < end)
            on[lw_inst_at(&p->s, i)->a] |= LW_ON_INNER;
    }
}

enum { PERIODIC_DEPTH = 16 }; /* instructions from a value to a remainder */

/* Whether the operation has few results: a remainder by a constant, or bits under a mask, and
 * not by one that the iterations cannot exceed. */
static bool
is_remainder(const lw_parallel_loop *p, const lw_inst *inst)
{
    const lw_inst *by = lw_inst_at(&p->s, inst->b), *limit = lw_inst_at(&p->s, p->l.limit);
    const lw_func *func = p->s.func;

    if ((inst->op != LW_OP_REM && inst->op != LW_OP_AND) || by->op != LW_OP_CONST ||
        !lw_is_integer((lw_dtype)inst->type))
        return false;
    return limit->op != LW_OP_CONST ||
           func->constants.data[limit->a].bits > func->constants.data[by->a].bits;
}

/* Whether the value repeats after a few iterations: it depends on their number through
 * remainders alone, as `i % 3 == 0` does. */
static bool
is_periodic(const lw_parallel_loop *p, const uint8_t *on, lw_ref value, uint32_t depth)
{
    const lw_inst *inst = lw_inst_at(&p->s, value);
    uint32_t at = 0;
    lw_ref operand;

    if (!(on[value] & LW_ON_COUNTER))
        return !(on[value] & (LW_ON_MEMORY | LW_ON_INNER));
    if (depth == 0 || (on[value] & (LW_ON_MEMORY | LW_ON_INNER)))
        return false;
    if (is_remainder(p, inst))
        return true;
    if (inst->op == LW_OP_GET || lw_ops[inst->op].class != LW_CLASS_PURE)
        return false;
    while (lw_ir_next_operand(p->s.func, inst, &at, &operand))
        if (!is_periodic(p, on, operand, depth - 1))
            return false;
    return true;
}

/* Whether some IF around the store lets it be made by one iteration alone, perhaps. periodic:
 * one that chooses every n-th iteration counts, too. */
static bool
is_guarded(const lw_parallel_loop *p, const uint8_t *on, uint32_t store, bool periodic)
{
    for (uint32_t i = p->l.first; i < store; i++)
        if (lw_inst_at(&p->s, i)->op == LW_OP_IF && p->s.regions.ends[i] > store &&
            (on[lw_inst_at(&p->s, i)->a] & LW_ON_COUNTER) &&
            (periodic || !is_periodic(p, on, lw_inst_at(&p->s, i)->a, PERIODIC_DEPTH)))
            return true;
    return false;
}

/* ---- stores ---- */

/* Whether iterations store different values, which are no updates, to one place: to a fixed
 * one, or to one of a few that they reach in turn. */
static bool
stores_in_turn(const lw_parallel_loop *p, const uint8_t *on, uint32_t store)
{
    const lw_inst *inst = lw_inst_at(&p->s, store);
    bool fixed = !(on[inst->a] & LW_ON_COUNTER);

    return !p->atomics[store] && (on[inst->b] & LW_ON_COUNTER) &&
           lw_parallel_memory(p, inst->a) == LW_SHARED_MEMORY &&
           (fixed || is_periodic(p, on, inst->a, PERIODIC_DEPTH)) &&
           !is_guarded(p, on, store, false);
}

/* Whether the memory of the store is also read in the loop, at a place that all iterations have
 * in common: it is meant for one iteration at a time, as an array of intermediate results is
 * that was made before the loop. */
static bool
is_read_in_common(const lw_parallel_loop *p, const uint8_t *on, uint32_t store)
{
    lw_ref root = lw_ir_root(p->s.func, lw_inst_at(&p->s, store)->a), operand;

    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        uint32_t at = 0;
        if (inst->op != LW_OP_LOAD && inst->op != LW_OP_CALL && inst->op != LW_OP_HOST_CALL)
            continue;
        while (lw_ir_next_operand(p->s.func, inst, &at, &operand))
            if (lw_inst_at(&p->s, operand)->type == LW_DT_ptr &&
                !(on[operand] & LW_ON_COUNTER) &&
                lw_parallel_same(p, lw_ir_root(p->s.func, operand), root))
                return true;
    }
    return false;
}

/* Whether an iteration stores a value of its own in a place that all have in common, under a
 * test that several may pass, for itself to read. */
static bool
stores_for_itself(const lw_parallel_loop *p, const uint8_t *on, uint32_t store)
{
    const lw_inst *inst = lw_inst_at(&p->s, store);

    return !p->atomics[store] && !(on[inst->a] & LW_ON_COUNTER) &&
           (on[inst->b] & LW_ON_COUNTER) &&
           lw_parallel_memory(p, inst->a) == LW_SHARED_MEMORY &&
           is_read_in_common(p, on, store);
}

lw_parallel_fault
lw_parallel_check_stores(lw_parallel_loop *p, uint32_t *culprit)
{
    uint8_t *on = lw_arena_take(&p->s.arena, p->s.func->insts.n + 1);

    if (on == NULL)
        return LW_PARALLEL_GOOD; /* the arena says so */
    on[p->l.counter] = on[p->number] = LW_ON_COUNTER;
    mark_inner(p, on);
    for (uint32_t i = 1; i < p->s.func->insts.n; i++)
        if (p->use[i] == LW_PART_MADE && lw_op_is_own_memory((lw_op)lw_inst_at(&p->s, i)->op))
            on[i] = LW_ON_COUNTER;
    while (spread_once(p, on))
        ;
    p->vectorizes = !p->heavy;
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        p->vectorizes &= inst->op != LW_OP_ATOMIC && inst->op != LW_OP_PRINT &&
                         inst->op != LW_OP_NEW && inst->op != LW_OP_LOCAL;
        if (inst->op != LW_OP_STORE)
            continue;
        *culprit = i;
        if (!(on[inst->a] & LW_ON_COUNTER) && (on[inst->b] & LW_ON_COUNTER) &&
            !is_guarded(p, on, i, true))
            return LW_PARALLEL_MEMORY;
        if (!lw_parallel_is_shared_place(p, on, i))
            continue;
        p->vectorizes = false;
        if (!lw_parallel_take_update(p, i))
            return LW_PARALLEL_NARROW;
        if (!p->atomics[i] && lw_parallel_memory(p, inst->a) == LW_SHARED_MEMORY &&
            lw_parallel_collects(p, on, i))
            return LW_PARALLEL_UPDATE;
        if (stores_in_turn(p, on, i) || stores_for_itself(p, on, i))
            return LW_PARALLEL_MEMORY;
    }
    return lw_parallel_depends(p, on, culprit) ? LW_PARALLEL_DISTANCE : LW_PARALLEL_GOOD;
}
