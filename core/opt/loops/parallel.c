#include "core/opt/loops/parallel_internal.h"

#include "core/ir/operands.h"
#include "core/opt/loops/plain.h"

#include <string.h>

/* ---- the form of the loop ---- */

/* LOOP, GET, LT, NOT, IF, BREAK, END, and what follows is the iteration. */
enum { GET_AT = 1, LT_AT, NOT_AT, IF_AT, BREAK_AT, END_AT, FIRST_AT };

static bool
has_form(const lw_func *func, uint32_t at, uint32_t n)
{
    static const lw_op form[] = {LW_OP_LOOP, LW_OP_GET,   LW_OP_LT, LW_OP_NOT,
                                 LW_OP_IF,   LW_OP_BREAK, LW_OP_END};

    if (at + FIRST_AT >= n)
        return false;
    for (uint32_t i = 0; i < FIRST_AT; i++)
        if (func->insts.data[at + i].op != form[i])
            return false;
    return func->insts.data[at + LT_AT].a == at + GET_AT;
}

static void
find_loop(lw_parallel_loop *p, uint32_t at)
{
    const lw_inst *insts = p->s.func->insts.data;

    p->l = (lw_spread_loop){.at = at,
                            .latch = p->s.regions.middles[at],
                            .end = p->s.regions.ends[at],
                            .first = at + FIRST_AT,
                            .counter = insts[at + GET_AT].a,
                            .limit = insts[at + LT_AT].b};
    for (uint32_t i = p->l.first; i < p->l.latch; i++)
        p->l.continues |= insts[i].op == LW_OP_CONTINUE;
}

static bool
is_in_iteration(const lw_parallel_loop *p, uint32_t at)
{
    return at >= p->l.first && at < p->l.latch;
}

/* Whether the iteration does nothing that is bound to its function's own thread, or to the
 * order of iterations. */
static bool
can_move(lw_parallel_loop *p)
{
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        switch (inst->op) {
        case LW_OP_RECUR:
        case LW_OP_ROOM:
        case LW_OP_BARRIER:
        case LW_OP_KERNEL_CALL:
        case LW_OP_CONTEXT:
        case LW_OP_SHARED:
        case LW_OP_DYNAMIC:
        case LW_OP_SREG: return false;
        case LW_OP_RETURN: p->returns = true; break;
        case LW_OP_CALL:
            if (lw_called_facts(p->called, inst->a) & LW_CALLED_UPDATES)
                return false; /* it is not inlined, so its updates do not become atomic */
            p->heavy = true;
            break;
        case LW_OP_LOOP:
        case LW_OP_HOST_CALL: p->heavy = true; break;
        default: break;
        }
    }
    p->prints = lw_ir_prints(p->module);
    return true;
}

/* Whether the iteration of an array expression does nothing but compute and store: nothing that
 * the order of elements could change, and nothing that ends the loop. */
static bool
only_stores(lw_parallel_loop *p)
{
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        switch (inst->op) {
        case LW_OP_LOAD:
        case LW_OP_STORE:
        case LW_OP_GET:
        case LW_OP_SET:
        case LW_OP_SLOT:
        case LW_OP_LOOP:
        case LW_OP_LATCH:
        case LW_OP_IF:
        case LW_OP_ELSE:
        case LW_OP_BLOCK:
        case LW_OP_END:
        case LW_OP_BREAK:
        case LW_OP_CONTINUE: break;
        case LW_OP_CALL:
            if (lw_called_facts(p->called, inst->a) & LW_CALLED_STORES)
                return false;
            break;
        default:
            if (lw_ops[inst->op].class != LW_CLASS_PURE)
                return false;
        }
        if (lw_ir_jumps_out(&p->s.regions, p->s.func, p->l.first, i))
            return false;
    }
    return true;
}

/* ---- values ---- */

/* Whether an instruction outside of the loop uses the value or slot. */
static bool
is_used_outside(const lw_parallel_loop *p, lw_ref ref)
{
    for (uint32_t i = 1; i < p->s.func->insts.n; i++)
        if ((i < p->l.at || i > p->l.end) &&
            lw_ir_inst_uses(p->s.func, lw_inst_at(&p->s, i), ref))
            return true;
    return false;
}

/* Whether the instruction can run after the loop. */
static bool
is_behind(const lw_parallel_loop *p, uint32_t at)
{
    if (at > p->l.end)
        return true;
    for (uint32_t i = 1; i < p->l.at; i++) /* a loop around both */
        if (lw_inst_at(&p->s, i)->op == LW_OP_LOOP && i < at && p->s.regions.ends[i] > p->l.end)
            return true;
    return false;
}

static bool
is_used_behind(const lw_parallel_loop *p, lw_ref ref)
{
    for (uint32_t i = 1; i < p->s.func->insts.n; i++)
        if (!is_in_iteration(p, i) && is_behind(p, i) &&
            lw_ir_inst_uses(p->s.func, lw_inst_at(&p->s, i), ref))
            return true;
    return false;
}

static void
give(lw_parallel_loop *p, lw_ref ref)
{
    p->use[ref] = LW_PART_GIVEN;
    p->place[ref] = p->n_frame++;
}

/* Whether the value is one of two constants: each part then chooses it, and LLVM knows both.
 * The stride of an array that may be repeated is such a value, without which loops over it
 * would not be vectorised. */
static bool
is_choice(const lw_parallel_loop *p, lw_ref ref)
{
    const lw_inst *inst = lw_inst_at(&p->s, ref);

    return inst->op == LW_OP_SELECT && !is_in_iteration(p, ref) &&
           lw_inst_at(&p->s, inst->b)->op == LW_OP_CONST &&
           lw_inst_at(&p->s, inst->c)->op == LW_OP_CONST;
}

static void
take_choice(lw_parallel_loop *p, lw_ref ref)
{
    const lw_inst *inst = lw_inst_at(&p->s, ref);

    p->use[ref] = p->use[inst->b] = p->use[inst->c] = LW_PART_MADE;
    if (p->use[inst->a] == LW_PART_OWN && lw_inst_at(&p->s, inst->a)->op == LW_OP_CONST)
        p->use[inst->a] = LW_PART_MADE;
    else if (p->use[inst->a] == LW_PART_OWN)
        give(p, inst->a);
}

/* A value, or memory, that the iteration uses. */
static lw_parallel_fault
take_value(lw_parallel_loop *p, lw_ref ref)
{
    lw_op op = (lw_op)lw_inst_at(&p->s, ref)->op;

    if (p->use[ref] != LW_PART_OWN || op == LW_OP_SLOT || ref == p->l.at + GET_AT)
        return LW_PARALLEL_GOOD;
    if (op == LW_OP_OWNER && is_used_behind(p, ref))
        return LW_PARALLEL_KEPT;
    if (op == LW_OP_CONST || op == LW_OP_VARYING || op == LW_OP_DATA || op == LW_OP_OWNER ||
        op == LW_OP_ON_GPU || (op == LW_OP_LOCAL && !is_used_outside(p, ref)))
        p->use[ref] = LW_PART_MADE;
    else if (is_choice(p, ref))
        take_choice(p, ref);
    else if (op == LW_OP_LOCAL || op == LW_OP_PARAM || !is_in_iteration(p, ref))
        give(p, ref);
    return LW_PARALLEL_GOOD;
}

static lw_parallel_fault
take_values(lw_parallel_loop *p, uint32_t *culprit)
{
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        uint32_t k = 0;
        lw_ref operand;
        lw_parallel_fault fault;
        while (lw_ir_next_operand(p->s.func, lw_inst_at(&p->s, i), &k, &operand)) {
            fault = take_value(p, operand);
            if (fault != LW_PARALLEL_GOOD) {
                *culprit = i;
                return fault;
            }
        }
    }
    return LW_PARALLEL_GOOD;
}

/* ---- variables ---- */

typedef struct variable {
    uint32_t n_get, n_set; /* in the iteration */
    uint32_t first_set;
    bool is_read_outside, is_read_behind;
} variable;

static variable
look_at(const lw_parallel_loop *p, lw_ref slot)
{
    variable v = {0};

    for (uint32_t i = 1; i < p->s.func->insts.n; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        bool inside = is_in_iteration(p, i);
        if ((inst->op != LW_OP_GET && inst->op != LW_OP_SET) || inst->a != slot)
            continue;
        v.is_read_outside |= !inside && inst->op == LW_OP_GET;
        v.is_read_behind |= !inside && inst->op == LW_OP_GET && is_behind(p, i);
        v.n_get += inside && inst->op == LW_OP_GET;
        if (inside && inst->op == LW_OP_SET && v.n_set++ == 0)
            v.first_set = i;
    }
    return v;
}

/* Whether the variable keeps its value from the GET up to the SET. */
static bool
stays_between(const lw_parallel_loop *p, uint32_t get, uint32_t set)
{
    for (uint32_t i = get + 1; i < set; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        if ((inst->op == LW_OP_SET && inst->a == lw_inst_at(&p->s, set)->a) ||
            (inst->op == LW_OP_LOOP && p->s.regions.ends[i] > set))
            return false;
    }
    return true;
}

/* s = s + a + b, whose additions start with the variable: every one of them has one use. *op:
 * ADD or MUL. */
static bool
is_chain(const lw_parallel_loop *p, uint32_t set, lw_op *op)
{
    lw_ref slot = lw_inst_at(&p->s, set)->a, value = lw_inst_at(&p->s, set)->b;

    *op = lw_inst_at(&p->s, value)->op == LW_OP_MUL ? LW_OP_MUL : LW_OP_ADD;
    while (is_in_iteration(p, value) && lw_ir_count_uses(p->s.func, value) == 1) {
        const lw_inst *inst = lw_inst_at(&p->s, value);
        if (inst->op == LW_OP_GET)
            return inst->a == slot && stays_between(p, value, set);
        if (inst->op == LW_OP_FMA && *op == LW_OP_ADD)
            value = inst->c;
        else if (inst->op == *op || (inst->op == LW_OP_SUB && *op == LW_OP_ADD))
            value = inst->a;
        else
            return false;
    }
    return false;
}

/* How this SET updates the variable; false: in another way than by an associative operation. */
static bool
update_of(const lw_parallel_loop *p, uint32_t set, lw_associative *how)
{
    lw_update u;

    *how = (lw_associative){0};
    if (lw_carried_update(&p->s, &p->l, set, &u) && lw_carried_is_unseen(&p->s, set, &u)) {
        how->op = u.op;
        how->intrinsic = u.intrinsic;
        return true;
    }
    return lw_inst_at(&p->s, lw_inst_at(&p->s, set)->a)->type != LW_DT_b1 &&
           is_chain(p, set, &how->op);
}

/* Whether every SET is an update by the same operation, and nothing else reads the variable. */
static bool
is_total(const lw_parallel_loop *p, lw_ref slot, const variable *v)
{
    lw_associative *one = &p->combines[slot], how;
    bool is_float = lw_is_float((lw_dtype)lw_inst_at(&p->s, slot)->type);
    uint32_t n = 0;

    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        if (inst->op != LW_OP_SET || inst->a != slot)
            continue;
        if (!update_of(p, i, &how) ||
            (n++ && (how.op != one->op || how.intrinsic != one->intrinsic)))
            return false;
        *one = how;
        p->sums[inst->b] = (how.op == LW_OP_ADD || how.op == LW_OP_MUL) && is_float;
    }
    return n == v->n_get;
}

/* Whether the variable may hold memory that is released with its part. */
static bool
may_be_own_memory(const lw_parallel_loop *p, lw_ref slot)
{
    for (uint32_t i = 1; i < p->s.func->insts.n; i++)
        if (p->use[i] == LW_PART_MADE && lw_op_is_own_memory((lw_op)lw_inst_at(&p->s, i)->op))
            return lw_inst_at(&p->s, slot)->type == LW_DT_ptr;
    return false;
}

static bool
is_of_slot(const lw_parallel_loop *p, lw_ref value, lw_ref slot)
{
    const lw_inst *root = lw_inst_at(&p->s, lw_ir_root(p->s.func, value));

    return root->op == LW_OP_GET && root->a == slot;
}

/* Whether each part may begin with the value from before the loop. Not in another loop, whose
 * next iteration would read what this one has set; and not an array that iterations may store
 * in: its memory is that of all iterations where none sets the variable. */
static bool
may_begin_with_given(const lw_parallel_loop *p, lw_ref slot)
{
    for (uint32_t i = 1; i < p->l.at; i++)
        if (lw_inst_at(&p->s, i)->op == LW_OP_LOOP && p->s.regions.ends[i] > p->l.end)
            return false;
    if (lw_inst_at(&p->s, slot)->type != LW_DT_ptr)
        return true;
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        uint32_t at = 0;
        lw_ref operand;
        if (inst->op == LW_OP_SET ? inst->a != slot && is_of_slot(p, inst->b, slot)
                                  : inst->op == LW_OP_STORE && is_of_slot(p, inst->a, slot))
            return false;
        if (inst->op != LW_OP_ATOMIC && inst->op != LW_OP_HOST_CALL &&
            (inst->op != LW_OP_CALL ||
             !(lw_called_facts(p->called, inst->a) & LW_CALLED_STORES)))
            continue;
        while (lw_ir_next_operand(p->s.func, inst, &at, &operand))
            if (is_of_slot(p, operand, slot))
                return false;
    }
    return true;
}

static lw_parallel_fault
take_variable(lw_parallel_loop *p, lw_ref slot, uint32_t *culprit)
{
    variable v = look_at(p, slot);

    *culprit = v.first_set;
    if (v.n_set == 0) {
        give(p, slot);
        return LW_PARALLEL_GOOD;
    }
    if (!lw_carried_is_seen_early(&p->s, &p->l, slot)) {
        p->use[slot] = v.is_read_outside ? LW_PART_LAST : LW_PART_MADE;
    } else if (is_total(p, slot, &v)) {
        p->use[slot] = LW_PART_TOTAL;
    } else if (!v.is_read_behind && may_begin_with_given(p, slot) &&
               lw_carried_is_set_by_case(&p->s, &p->l, slot)) {
        give(p, slot); /* each part begins with the value before the loop */
        return LW_PARALLEL_GOOD;
    } else {
        return LW_PARALLEL_CARRIED;
    }
    if (p->use[slot] == LW_PART_LAST && may_be_own_memory(p, slot))
        return LW_PARALLEL_KEPT;
    if (p->use[slot] != LW_PART_MADE) {
        p->place[slot] = p->n_record;
        p->n_record += p->use[slot] == LW_PART_LAST ? 2 : 1;
    }
    return LW_PARALLEL_GOOD;
}

static lw_parallel_fault
take_variables(lw_parallel_loop *p, uint32_t *culprit)
{
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        bool uses = inst->op == LW_OP_GET || inst->op == LW_OP_SET;
        lw_parallel_fault fault = LW_PARALLEL_GOOD;
        if (uses && p->use[inst->a] == LW_PART_OWN && inst->a != p->l.counter)
            fault = take_variable(p, inst->a, culprit);
        if (fault != LW_PARALLEL_GOOD)
            return fault;
    }
    return LW_PARALLEL_GOOD;
}

/* ---- stores ---- */

enum { MOST_OPEN = 64 };

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

enum { PERIODIC_DEPTH = 16 };

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

/* ---- updates ---- */

lw_ref
lw_parallel_uncast(const lw_parallel_loop *p, lw_ref value)
{
    const lw_inst *inst = lw_inst_at(&p->s, value), *from = lw_inst_at(&p->s, inst->a);

    return inst->op == LW_OP_CAST && is_in_iteration(p, value) &&
                   lw_is_integer((lw_dtype)inst->type) && lw_is_integer((lw_dtype)from->type) &&
                   lw_ir_count_uses(p->s.func, value) == 1
               ? inst->a
               : value;
}

/* The operand of an update that is the old element, perhaps widened: the first of `x - e`, the
 * last of `e * f + x`, either of others. 0: the operation is none that can be atomic. */
static lw_ref
old_of(const lw_parallel_loop *p, const lw_inst *made, lw_ref address)
{
    const lw_ref operands[] = {made->a, made->op == LW_OP_SUB ? 0 : made->b, 0};
    bool is_bits = made->op == LW_OP_AND || made->op == LW_OP_OR || made->op == LW_OP_XOR;

    if (made->lanes > 1 || (is_bits && !lw_is_integer((lw_dtype)made->type)))
        return 0;
    if (!is_bits && made->op != LW_OP_ADD && made->op != LW_OP_SUB && made->op != LW_OP_FMA)
        return 0;
    for (uint32_t k = 0; k < 2; k++) {
        lw_ref old = made->op == LW_OP_FMA ? made->c : operands[k];
        const lw_inst *load;
        old = lw_parallel_uncast(p, old);
        load = lw_inst_at(&p->s, old);
        if (old != 0 && load->op == LW_OP_LOAD && lw_parallel_same(p, load->a, address) &&
            is_in_iteration(p, old) && lw_ir_count_uses(p->s.func, old) == 1)
            return old;
    }
    return 0;
}

enum { MOST_ROOTS = 8 }; /* steps from an address to the memory that it is in */

static lw_part_memory memory_of(const lw_parallel_loop *p, lw_ref address, uint32_t depth);

/* The memory of the arrays that are assigned to a variable of the iteration's own. */
static lw_part_memory
memory_of_slot(const lw_parallel_loop *p, lw_ref slot, uint32_t depth)
{
    lw_part_memory found = LW_OWN_MEMORY;

    if (p->use[slot] != LW_PART_MADE)
        return LW_SHARED_MEMORY;
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        lw_part_memory one;
        if (inst->op != LW_OP_SET || inst->a != slot)
            continue;
        one = memory_of(p, inst->b, depth);
        if (one == LW_SHARED_MEMORY)
            return LW_SHARED_MEMORY;
        found = one == LW_SOME_MEMORY ? LW_SOME_MEMORY : found;
    }
    return found;
}

static lw_part_memory
memory_of(const lw_parallel_loop *p, lw_ref address, uint32_t depth)
{
    const lw_inst *inst = lw_inst_at(&p->s, address);
    const lw_inst *call = lw_called_of(p->s.func, address);

    if (depth == MOST_ROOTS)
        return LW_SOME_MEMORY;
    if (call != NULL && is_in_iteration(p, address) &&
        (lw_called_facts(p->called, call->a) & LW_CALLED_GIVES))
        return LW_OWN_MEMORY;
    switch (inst->op) {
    case LW_OP_OFFSET: return memory_of(p, inst->a, depth + 1);
    case LW_OP_GET: return memory_of_slot(p, inst->a, depth + 1);
    case LW_OP_LOCAL:
        return p->use[address] == LW_PART_GIVEN ? LW_SHARED_MEMORY : LW_OWN_MEMORY;
    case LW_OP_CONST: return LW_OWN_MEMORY; /* NULL: none */
    case LW_OP_NEW: return is_in_iteration(p, address) ? LW_OWN_MEMORY : LW_SHARED_MEMORY;
    default: return is_in_iteration(p, address) ? LW_SOME_MEMORY : LW_SHARED_MEMORY;
    }
}

lw_part_memory
lw_parallel_memory(const lw_parallel_loop *p, lw_ref address)
{
    return memory_of(p, address, 0);
}

/* Whether the two STOREs write the parts of one complex element. */
static bool
is_other_part(const lw_parallel_loop *p, const lw_inst *first, const lw_inst *second)
{
    const lw_inst *at = lw_inst_at(&p->s, second->a);

    return first->op == LW_OP_STORE && at->op == LW_OP_OFFSET && at->a == first->a &&
           lw_inst_at(&p->s, at->b)->op == LW_OP_CONST;
}

/* Whether nothing is written but memory of the iteration's own, and no region ends that began
 * before, from the load up to the store: then one operation in the store's place does the same.
 */
static bool
is_one_step(const lw_parallel_loop *p, uint32_t load, uint32_t store)
{
    uint32_t depth = 0;

    for (uint32_t i = load + 1; i < store; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        switch (inst->op) {
        case LW_OP_STORE:
            if (!is_other_part(p, inst, lw_inst_at(&p->s, store)) &&
                memory_of(p, inst->a, 0) != LW_OWN_MEMORY)
                return false;
            break;
        case LW_OP_CALL:
            if (lw_called_facts(p->called, inst->a) & LW_CALLED_STORES)
                return false;
            break;
        case LW_OP_ATOMIC:
        case LW_OP_HOST_CALL: return false;
        case LW_OP_IF:
        case LW_OP_BLOCK:
        case LW_OP_LOOP: depth++; break;
        case LW_OP_ELSE:
        case LW_OP_END:
            if (depth == 0)
                return false;
            depth -= inst->op == LW_OP_END;
            break;
        default: break;
        }
    }
    return depth == 0;
}

/* Makes the update that ends in this store an atomic one, if it is one and needs that. false:
 * its elements are too narrow. */
static bool
take_update(lw_parallel_loop *p, uint32_t store)
{
    const lw_inst *inst = lw_inst_at(&p->s, store);
    lw_ref value = lw_parallel_uncast(p, inst->b);
    const lw_inst *made = lw_inst_at(&p->s, value);
    lw_ref old = old_of(p, made, inst->a);
    lw_part_memory where = memory_of(p, inst->a, 0);

    if (old == 0 || where == LW_OWN_MEMORY || lw_ir_count_uses(p->s.func, value) != 1 ||
        lw_inst_at(&p->s, old)->type != lw_inst_at(&p->s, inst->b)->type ||
        !is_one_step(p, old, store))
        return true;
    if (lw_dtypes[lw_inst_at(&p->s, old)->type].bits < 32)
        return where == LW_SOME_MEMORY;
    p->atomics[old] = p->atomics[value] = p->atomics[inst->b] = LW_ATOMIC_PART;
    if (lw_parallel_uncast(p, made->a) == old) /* the CAST */
        p->atomics[made->a] = LW_ATOMIC_PART;
    else if (made->op != LW_OP_FMA && lw_parallel_uncast(p, made->b) == old)
        p->atomics[made->b] = LW_ATOMIC_PART;
    p->atomics[store] = LW_ATOMIC_STORE;
    return true;
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

/* Finds stores to one place by all iterations, and whether LLVM may take iterations as
 * independent in memory: it may not where the index comes from memory, as in `hist[b[i]] += 1`,
 * or where iterations have it in common, as in `hist[i % 8] += 1`; both become atomic
 * operations. */
static lw_parallel_fault
check_stores(lw_parallel_loop *p, uint32_t *culprit)
{
    uint8_t *on = lw_arena_take(&p->s.arena, p->s.func->insts.n + 1);

    if (on == NULL)
        return LW_PARALLEL_GOOD; /* the arena says so */
    on[p->l.counter] = on[p->l.at + GET_AT] = LW_ON_COUNTER;
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
        if (!take_update(p, i))
            return LW_PARALLEL_NARROW;
        if (!p->atomics[i] && lw_parallel_memory(p, inst->a) == LW_SHARED_MEMORY &&
            lw_parallel_collects(p, on, i))
            return LW_PARALLEL_UPDATE;
        if (stores_in_turn(p, on, i) || stores_for_itself(p, on, i))
            return LW_PARALLEL_MEMORY;
    }
    return lw_parallel_depends(p, on, culprit) ? LW_PARALLEL_DISTANCE : LW_PARALLEL_GOOD;
}

/* Whether the code at this place replaces memory that was there before the loop, as that of a
 * list which grows. */
static bool
changes_memory(const lw_parallel_loop *p, uint32_t loc)
{
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        if ((inst->op == LW_OP_NEW || inst->op == LW_OP_HOLD || inst->op == LW_OP_TAKE) &&
            inst->loc == loc && is_used_outside(p, inst->a))
            return true;
    }
    return false;
}

static lw_parallel_fault
analyse(lw_parallel_loop *p, uint32_t *culprit)
{
    lw_parallel_fault fault = take_values(p, culprit);

    if (fault != LW_PARALLEL_GOOD)
        return fault;
    if (p->returns)
        p->n_record = p->s.func->results.n;
    fault = take_variables(p, culprit);
    if (fault == LW_PARALLEL_GOOD && p->elements)
        return LW_PARALLEL_GOOD; /* every element is stored once */
    if (fault == LW_PARALLEL_CARRIED && changes_memory(p, lw_inst_at(&p->s, *culprit)->loc))
        return LW_PARALLEL_KEPT;
    if (fault != LW_PARALLEL_GOOD)
        return fault;
    return check_stores(p, culprit);
}

/* ---- functions ---- */

/* Copies the function with the loop replaced by the call. */
static lw_status
replace_loop(lw_parallel_loop *p, uint32_t number, uint32_t part, lw_error *err)
{
    const lw_func *from = p->s.func;
    lw_func *made = lw_arena_take(&p->module->arena, sizeof *made);
    lw_ref *to = lw_arena_take(&p->s.arena, (from->insts.n + 1) * sizeof *to);
    lw_builder b = {.module = p->module, .func = made, .func_number = number};

    if (made == NULL || to == NULL)
        return lw_fail_memory(err);
    *made = *from;
    memset(&made->insts, 0, sizeof made->insts);
    if (lw_array_push(&made->insts, &p->module->arena) == NULL)
        return lw_fail_memory(err);
    for (uint32_t i = 1; i < from->insts.n; i++) {
        if (i == p->l.at)
            lw_parallel_call(p, &b, part, to);
        if (i < p->l.at || i > p->l.end)
            to[i] = lw_ir_copy(&b, from, from->insts.data[i], to);
    }
    if (p->module->failed)
        return lw_fail_memory(err);
    p->module->funcs.data[number] = made;
    return LW_OK;
}

typedef struct fault_place {
    lw_parallel_fault fault;
    uint32_t loc;
} fault_place;

static lw_status
outline(lw_module *module, uint32_t number, uint32_t at, lw_called *called, fault_place *place,
        lw_error *err)
{
    lw_parallel_loop p = {.module = module, .called = called};
    uint32_t n = module->funcs.data[number]->insts.n, culprit = 0, part;
    const lw_spread_source source = {.module = module, .func = number};
    lw_parallel_fault found;
    lw_status status = LW_OK;

    p.s.takes_narrow = true;
    p.s.of = &source; /* no array is known: any two may be one */
    p.s.func = module->funcs.data[number];
    lw_arena_init(&p.s.arena);
    p.use = lw_arena_take(&p.s.arena, n + 1);
    p.sums = lw_arena_take(&p.s.arena, n + 1);
    p.atomics = lw_arena_take(&p.s.arena, n + 1);
    p.combines = lw_arena_take(&p.s.arena, (n + 1) * sizeof *p.combines);
    p.place = lw_arena_take(&p.s.arena, (n + 1) * sizeof *p.place);
    if (p.use == NULL || p.sums == NULL || p.atomics == NULL || p.combines == NULL ||
        p.place == NULL || !lw_ir_regions_init(&p.s.regions, p.s.func)) {
        lw_arena_reset(&p.s.arena);
        return lw_fail_memory(err);
    }
    find_loop(&p, at);
    p.elements = (p.s.func->insts.data[at].flags & LW_LOOP_ELEMENTS) != 0;
    if (can_move(&p) && (!p.elements || only_stores(&p))) {
        found = analyse(&p, &culprit);
        if (found != LW_PARALLEL_GOOD && !p.elements) /* those stay on one thread */
            *place = (fault_place){found, lw_inst_at(&p.s, culprit)->loc};
        if (found == LW_PARALLEL_GOOD)
            LW_TRY(lw_parallel_part(&p, &part, err));
        if (found == LW_PARALLEL_GOOD)
            LW_TRY(replace_loop(&p, number, part, err));
    }
fail:
    lw_ir_regions_reset(&p.s.regions);
    lw_arena_reset(&p.s.arena);
    return status;
}

static bool
is_marked(const lw_inst *inst, bool elements)
{
    return inst->op == LW_OP_LOOP && (inst->flags & LW_LOOP_PARALLEL) &&
           lw_ir_is_prange(inst) != elements;
}

/* The first marked loop from `from` on, of prange or of an array expression; 0: there is none.
 */
static uint32_t
next_marked(const lw_func *func, uint32_t from, bool elements)
{
    for (uint32_t i = from; i < func->insts.n; i++)
        if (is_marked(&func->insts.data[i], elements))
            return i;
    return 0;
}

static void
make_plain(lw_module *module, uint32_t number, const lw_plain_prange *prange)
{
    const lw_func *plain =
        lw_plain_body(module, module->funcs.data[number], prange, &module->arena);

    if (plain != NULL)
        module->funcs.data[number] = (lw_func *)plain;
}

/* Rewrites the marked loops of a function, which lose their marks. */
static lw_status
outline_marked(lw_module *module, uint32_t number, bool elements, lw_called *called,
               fault_place *place, lw_error *err)
{
    lw_status status = LW_OK;
    uint32_t at = 1;

    while (place->fault == LW_PARALLEL_GOOD) {
        lw_func *func = module->funcs.data[number];
        at = next_marked(func, at, elements);
        if (at == 0)
            break;
        func->insts.data[at].flags &= ~(uint32_t)LW_LOOP_PARALLEL;
        if (has_form(func, at, func->insts.n))
            LW_TRY(outline(module, number, at, called, place, err));
    }
fail:
    return status;
}

lw_status
lw_opt_parallel(lw_module *module, const bool *hidden, lw_parallel_fault *fault, uint32_t *loc,
                lw_error *err)
{
    uint32_t n = module->funcs.n; /* those that are added have no such loop */
    fault_place place = {LW_PARALLEL_GOOD, 0};
    lw_called called;
    const lw_plain_prange prange = {&called, hidden};
    lw_status status = LW_OK;

    if (!lw_called_init(&called, module, &module->arena))
        return lw_fail_memory(err);
    for (uint32_t f = 0; f < n; f++) {
        if (next_marked(module->funcs.data[f], 1, false) != 0)
            make_plain(module, f, &prange);
        LW_TRY(outline_marked(module, f, false, &called, &place, err));
    }
    for (uint32_t f = 0; f < n; f++)
        LW_TRY(outline_marked(module, f, true, &called, &place, err));
    *fault = place.fault;
    *loc = place.loc;
fail:
    return status;
}
