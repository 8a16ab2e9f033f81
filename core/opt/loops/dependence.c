/* Iterations that access the same memory. Two places that differ by d times what one iteration
 * adds are d iterations apart (the distance test of K. Kennedy, R. Allen, "Optimizing compilers
 * for modern architectures", 2001, with symbols among the strides). Whatever is not a
 * polynomial of index_sum.c is taken as independent. */
#include "core/opt/loops/dependence_internal.h"

#include "core/ir/operands.h"

#include <stdlib.h>

enum {
    MOST_STEPS = 8, /* where each step has several ways: through the SETs of a variable */
    MOST_PLACES = 128,
    NEAR = 2 /* iterations: conditions on the number let some that are so near meet */
};

static bool
place_of(const lw_parallel_loop *p, const uint8_t *on, uint32_t at, lw_place *out)
{
    if (!lw_place_of_access(p, on, at, out))
        return false;
    for (uint32_t i = 0; i < out->offset.n; i++)
        if (lw_index_has_derived(p, on, &out->offset.terms[i]))
            return false;
    return true;
}

/* How many iterations one place is behind the other; 0: none, or no constant number. */
static int64_t
distance(const lw_parallel_loop *p, const lw_place *from, const lw_place *to)
{
    lw_index_sum step, apart = to->offset;
    int64_t d = 0;

    if (!lw_parallel_same(p, from->root, to->root) || !lw_index_step(p, &from->offset, &step) ||
        !lw_index_add(p, &apart, &from->offset, -1))
        return 0;
    for (uint32_t i = 0; i < apart.n; i++)
        if (lw_index_same_factors(p, &apart.terms[i], &step.terms[0]) &&
            apart.terms[i].scale % step.terms[0].scale == 0)
            d = apart.terms[i].scale / step.terms[0].scale;
    return d != 0 && llabs(d) <= LW_INDEX_MOST_SCALE && lw_index_add(p, &apart, &step, -d) &&
                   apart.n == 0
               ? d
               : 0;
}

/* ---- conditions ---- */

/* Whether the condition compares the iteration's number, so that neighbours mostly agree. */
static bool
is_range_test(const lw_parallel_loop *p, const uint8_t *on, lw_ref condition, uint32_t depth)
{
    const lw_inst *inst = lw_loop_inst(p, condition);
    const lw_ref sides[] = {inst->a, inst->b};
    lw_index_sum s;

    if (!(on[condition] & LW_ON_COUNTER))
        return true;
    if (depth == 0 || (on[condition] & LW_ON_MEMORY))
        return false;
    if (inst->op == LW_OP_NOT)
        return is_range_test(p, on, inst->a, depth - 1);
    if (inst->op == LW_OP_AND)
        return is_range_test(p, on, inst->a, depth - 1) &&
               is_range_test(p, on, inst->b, depth - 1);
    if (inst->op != LW_OP_LT && inst->op != LW_OP_LE && inst->op != LW_OP_GT &&
        inst->op != LW_OP_GE)
        return false;
    for (int side = 0; side < 2; side++) {
        if (!lw_index_sum_of(p, sides[side], &s))
            return false;
        for (uint32_t i = 0; i < s.n; i++)
            for (uint32_t k = 0; k < s.terms[i].n; k++)
                if (!lw_loop_is_counter(p, s.terms[i].factors[k]) &&
                    (on[s.terms[i].factors[k]] & LW_ON_COUNTER))
                    return false;
    }
    return true;
}

/* The arm of the IF that the instruction is in: 1, 2; 0: it is outside. */
static int
arm_of(const lw_parallel_loop *p, uint32_t branch, uint32_t at)
{
    uint32_t middle = p->s.regions.middles[branch];

    if (at < branch || at > p->s.regions.ends[branch])
        return 0;
    return middle != 0 && at > middle ? 2 : 1;
}

static bool
is_the_same_in_all(const uint8_t *on, lw_ref condition)
{
    return !(on[condition] & (LW_ON_COUNTER | LW_ON_INNER | LW_ON_MEMORY));
}

/* Whether some iterations reach both, as far as conditions on their numbers tell. *tested:
 * there are such conditions. */
static bool
may_meet(const lw_parallel_loop *p, const uint8_t *on, uint32_t x, uint32_t y, bool *tested)
{
    bool only_x = false, only_y = false;

    *tested = false;
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_loop_inst(p, i);
        bool leaves = false;
        int a, b;
        if (inst->op != LW_OP_IF)
            continue;
        a = arm_of(p, i, x);
        b = arm_of(p, i, y);
        if (is_the_same_in_all(on, inst->a) && a && b && a != b)
            return false;
        if (!(on[inst->a] & LW_ON_COUNTER))
            continue;
        for (uint32_t k = i; k < p->s.regions.ends[i]; k++)
            leaves |= lw_loop_inst(p, k)->op == LW_OP_BREAK ||
                      lw_loop_inst(p, k)->op == LW_OP_CONTINUE;
        if (a == 0 && b == 0 && !leaves)
            continue;
        if ((a && b && a != b) || !is_range_test(p, on, inst->a, LW_INDEX_DEPTH))
            return false;
        *tested = true;
        only_x |= a && !b;
        only_y |= b && !a;
    }
    return !(only_x && only_y);
}

/* Whether the loop is known to be too short for iterations so far apart. */
static bool
is_shorter(const lw_parallel_loop *p, int64_t d)
{
    const lw_inst *limit = lw_loop_inst(p, p->l.limit);

    return limit->op == LW_OP_CONST &&
           p->s.func->constants.data[limit->a].bits <= (uint64_t)llabs(d);
}

static bool
depend(const lw_parallel_loop *p, const uint8_t *on, const lw_place *store,
       const lw_place *other)
{
    int64_t d = distance(p, store, other);
    bool tested;

    return d != 0 && !is_shorter(p, d) && may_meet(p, on, store->at, other->at, &tested) &&
           (!tested || llabs(d) <= NEAR);
}

bool
lw_parallel_depends(lw_parallel_loop *p, const uint8_t *on, uint32_t *culprit)
{
    lw_place *places = lw_arena_take(&p->s.arena, MOST_PLACES * sizeof *places);
    uint32_t n = 0;

    if (places == NULL)
        return false; /* the arena says so */
    for (uint32_t i = p->l.first; i < p->l.latch && n < MOST_PLACES; i++) {
        lw_op op = (lw_op)lw_loop_inst(p, i)->op;
        if (lw_op_is_access(op) && place_of(p, on, i, &places[n]) &&
            lw_parallel_memory(p, lw_loop_inst(p, i)->a) == LW_SHARED_MEMORY)
            n++;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            if (lw_loop_inst(p, places[i].at)->op == LW_OP_STORE &&
                depend(p, on, &places[i], &places[k])) {
                *culprit = places[k].at;
                return true;
            }
    return false;
}

/* ---- updates of places that iterations may share ---- */

/* Whether an iteration that equals a certain number alone reaches the store. */
static bool
is_for_one(const lw_parallel_loop *p, const uint8_t *on, uint32_t store)
{
    int64_t step;

    for (uint32_t i = p->l.first; i < store; i++) {
        const lw_inst *test;
        if (lw_loop_inst(p, i)->op != LW_OP_IF)
            continue;
        test = lw_loop_inst(p, lw_loop_inst(p, i)->a);
        if (arm_of(p, i, store) != 1 || test->op != LW_OP_EQ ||
            ((on[test->a] | on[test->b]) & LW_ON_INNER))
            continue;
        if ((lw_index_counts_iterations(p, on, test->a, &step) &&
             !(on[test->b] & LW_ON_COUNTER)) ||
            (lw_index_counts_iterations(p, on, test->b, &step) &&
             !(on[test->a] & LW_ON_COUNTER)))
            return true;
    }
    return false;
}

bool
lw_parallel_is_shared_place(const lw_parallel_loop *p, const uint8_t *on, uint32_t store)
{
    uint8_t address = on[lw_loop_inst(p, store)->a];

    if (lw_place_is_of_thread(p, on, store))
        return false;
    if (address & LW_ON_MEMORY)
        return !lw_parallel_has_own_axis(p, on, store);
    if (!(address & LW_ON_COUNTER))
        return !is_for_one(p, on, store);
    return !lw_parallel_is_own_place(p, on, store) && !is_for_one(p, on, store);
}

/* Whether the value is computed from what is at the address. */
static bool
reads(const lw_parallel_loop *p, lw_ref value, lw_ref address, uint32_t depth)
{
    const lw_inst *inst = lw_loop_inst(p, value);
    uint32_t at = 0;
    lw_ref operand;

    if (depth == 0 || value < p->l.first || value >= p->l.latch)
        return false;
    if (inst->op == LW_OP_LOAD)
        return lw_parallel_same(p, inst->a, address);
    for (uint32_t i = p->l.first; inst->op == LW_OP_GET && i < value; i++)
        if (lw_loop_inst(p, i)->op == LW_OP_SET && lw_loop_inst(p, i)->a == inst->a &&
            reads(p, lw_loop_inst(p, i)->b, address, depth - 1))
            return true;
    while (lw_ir_next_operand(p->s.func, inst, &at, &operand))
        if (reads(p, operand, address, depth - 1))
            return true;
    return false;
}

bool
lw_parallel_collects(const lw_parallel_loop *p, const uint8_t *on, uint32_t store)
{
    const lw_inst *inst = lw_loop_inst(p, store);
    lw_ref address = inst->a;

    if (lw_loop_inst(p, inst->b)->op == LW_OP_LOAD &&
        lw_parallel_same(p, lw_loop_inst(p, inst->b)->a, address))
        return false; /* the other part of a complex element, which stays */
    if (!(on[inst->b] & LW_ON_COUNTER) ||
        (!lw_place_is_settled(p, on, address) && !lw_place_overlaps(p, on, store)))
        return false;
    if (reads(p, inst->b, address, MOST_STEPS))
        return true;
    for (uint32_t i = p->l.first; i < store; i++)
        if (lw_loop_inst(p, i)->op == LW_OP_IF && arm_of(p, i, store) != 0 &&
            reads(p, lw_loop_inst(p, i)->a, address, MOST_STEPS))
            return true;
    return false;
}
