/* Loops that do nothing but search for the iteration that ends them (lw_search_take of
 * access_pattern.h), and guards that keep the loads of iterations that one thread would not
 * have run inside their arrays. */
#include "core/opt/loops/carried.h"
#include "core/opt/loops/access_pattern.h"

#include <assert.h>

uint32_t
lw_loops_around(const lw_spreader *s, const lw_spread_loop *l, uint32_t at)
{
    uint32_t n = 0;

    for (uint32_t i = l->first; i < at; i++)
        n += (lw_inst_at(s, i)->op == LW_OP_LOOP || lw_inst_at(s, i)->op == LW_OP_BLOCK) &&
             s->regions.ends[i] > at;
    return n;
}

bool
lw_ends_loop(const lw_spreader *s, const lw_spread_loop *l, uint32_t at)
{
    const lw_inst *inst = lw_inst_at(s, at);

    return inst->op == LW_OP_RETURN ||
           (inst->op == LW_OP_BREAK && inst->a >= lw_loops_around(s, l, at));
}

/* Whether only loads, SETs and computations are between this SET and the end of the loop. */
static bool
is_last_set(const lw_spreader *s, const lw_spread_loop *l, uint32_t set)
{
    for (uint32_t i = set + 1; i < l->latch; i++) {
        lw_op op = (lw_op)lw_inst_at(s, i)->op;
        if (lw_ends_loop(s, l, i))
            return true;
        if (op != LW_OP_GET && op != LW_OP_SET && op != LW_OP_LOAD && op != LW_OP_CALL &&
            lw_ops[op].class != LW_CLASS_PURE)
            return false;
    }
    return false;
}

/* Takes a variable that only the iteration that ends the loop sets, or that is private to an
 * iteration. */
static bool
take_found(const lw_spreader *s, lw_spread_loop *l, uint32_t set)
{
    lw_ref slot = lw_inst_at(s, set)->a;

    if (!is_last_set(s, l, set))
        return lw_carried_is_private(s, l, slot);
    if (slot > l->at || lw_carried_find(l, slot))
        return true;
    if (l->n_carried == LW_MOST_CARRIED)
        return false;
    l->carried[l->n_carried++] = (lw_carried){.slot = slot, .how = LW_CARRY_FOUND};
    return true;
}

/* The PARAM of a parameter; 0: the function does not use it. */
static lw_ref
param_ref(const lw_spreader *s, uint32_t number)
{
    assert(number < s->func->params.n);
    for (lw_ref ref = 1; ref < s->func->insts.n; ref++)
        if (lw_inst_at(s, ref)->op == LW_OP_PARAM && lw_inst_at(s, ref)->a == number)
            return ref;
    return 0;
}

/* Guards that the sum of the pattern's indices along a dimension is not negative, and less than
 * the extent. */
static bool
guard_inside(const lw_spreader *s, lw_spread_loop *l, const lw_access_pattern *p,
             uint32_t stride)
{
    lw_ref one = lw_inst_at(s, l->latch + 2)->b; /* the constant that the counter grows by */
    uint32_t ndim = s->of->arrays[p->operand].ndim;
    lw_shift shift = {0}, rest;

    for (uint32_t i = 0; i < p->n_terms; i++) {
        bool wraps;
        if (p->terms[i].stride == stride &&
            !lw_shift_add(s, l, lw_index_of(s, p->terms[i].index, &wraps), false, &shift))
            return false;
    }
    rest = shift;
    rest.step = -shift.step;
    for (uint32_t i = 0; i < rest.n; i++)
        rest.terms[i].minus = !shift.terms[i].minus;
    if (rest.n + 2 > LW_MOST_SHIFTS)
        return false;
    rest.terms[rest.n].value = param_ref(s, stride - ndim);
    if (rest.terms[rest.n].value == 0)
        return false;
    rest.terms[rest.n++].minus = false;
    rest.terms[rest.n].value = one;
    rest.terms[rest.n++].minus = true;
    return lw_loop_guard(s, l, &shift) && lw_loop_guard(s, l, &rest);
}

/* Iterations after the one that ends the loop are run too, so their loads must be within the
 * array. */
bool
lw_load_guard(const lw_spreader *s, lw_spread_loop *l, uint32_t load)
{
    lw_access_pattern p;

    if (!lw_access_pattern_of(s, lw_inst_at(s, load)->a, &p))
        return false;
    for (uint32_t i = 0; i < p.n_terms; i++)
        if (!guard_inside(s, l, &p, p.terms[i].stride))
            return false;
    return true;
}

bool
lw_search_take(const lw_spreader *s, lw_spread_loop *l)
{
    assert(l->first > l->at && l->latch > l->first && l->end > l->latch);
    l->n_carried = l->n_picks = l->n_guards = 0;
    l->searches = true;
    for (uint32_t i = l->first; i < l->latch; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        switch (inst->op) {
        case LW_OP_SET:
            if (!take_found(s, l, i))
                return false;
            break;
        case LW_OP_LOAD:
            if (!lw_load_guard(s, l, i))
                return false;
            break;
        case LW_OP_CALL:
            if (!lw_is_pure_call(s, inst))
                return false;
            break;
        case LW_OP_GET:
        case LW_OP_SLOT:
        case LW_OP_IF:
        case LW_OP_ELSE:
        case LW_OP_BLOCK:
        case LW_OP_BREAK:
        case LW_OP_CONTINUE:
        case LW_OP_RETURN:
        case LW_OP_END: break;
        default:
            if (lw_ops[inst->op].class != LW_CLASS_PURE || inst->op == LW_OP_SREG)
                return false;
        }
    }
    return true;
}
