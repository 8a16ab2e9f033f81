#include "core/opt/loops/carried.h"

#include "core/ir/operands.h"
#include "core/tables/intrinsics.h"
#include "core/opt/loops/access_pattern.h"
#include "core/opt/loops/affine.h"

#include <assert.h>

enum { MOST_REGIONS = 64, MOST_DEPTH = 24 };

const lw_carried *
lw_carried_find(const lw_spread_loop *l, lw_ref slot)
{
    for (uint32_t k = 0; k < l->n_carried; k++)
        if (l->carried[k].slot == slot)
            return &l->carried[k];
    return NULL;
}

/* ---- equal values ---- */

/* Whether a LOOP in the iteration encloses `to` but not `from`: the value of `from` is then not
 * that of each iteration of this LOOP. */
static bool
loop_between(const lw_spreader *s, uint32_t from, uint32_t to)
{
    for (uint32_t i = from + 1; i < to; i++)
        if (lw_inst_at(s, i)->op == LW_OP_LOOP && s->regions.ends[i] > to)
            return true;
    return false;
}

static bool
is_stored(const lw_spreader *s, const lw_spread_loop *l, int operand)
{
    for (uint32_t i = l->first; i < l->latch; i++)
        if (lw_inst_at(s, i)->op == LW_OP_STORE &&
            lw_root_of(s, lw_inst_at(s, i)->a) == operand)
            return true;
    return false;
}

static bool
is_equal(const lw_spreader *s, const lw_spread_loop *l, lw_ref x, lw_ref y, int depth)
{
    const lw_inst *p = lw_inst_at(s, x), *q = lw_inst_at(s, y);
    const char *args = lw_ops[p->op].args;
    const uint32_t a[3] = {p->a, p->b, p->c}, b[3] = {q->a, q->b, q->c};

    if (x == y)
        return true;
    if (depth == 0 || p->op != q->op || p->type != q->type || p->lanes != q->lanes)
        return false;
    if (p->op == LW_OP_CONST)
        return s->func->constants.data[p->a].bits == s->func->constants.data[q->a].bits;
    if (p->op == LW_OP_GET)
        return p->a == q->a && x < y && !lw_ir_is_set(s->func, x + 1, y, p->a) &&
               !loop_between(s, x, y);
    if (p->op == LW_OP_LOAD && is_stored(s, l, lw_root_of(s, p->a)))
        return false;
    if ((p->op != LW_OP_LOAD && lw_ops[p->op].class != LW_CLASS_PURE) || args[1] == 'L')
        return false;
    for (int k = 0; k < 3; k++)
        if (args[k] == 'v' ? !is_equal(s, l, a[k], b[k], depth - 1)
                           : args[k] != '-' && a[k] != b[k])
            return false;
    return true;
}

bool
lw_is_equal(const lw_spreader *s, const lw_spread_loop *l, lw_ref x, lw_ref y)
{
    return is_equal(s, l, x, y, MOST_DEPTH);
}

/* ---- updates ---- */

static bool
is_get(const lw_spreader *s, lw_ref value, lw_ref slot)
{
    return lw_inst_at(s, value)->op == LW_OP_GET && lw_inst_at(s, value)->a == slot;
}

/* One of x and y must be the variable; the other joins it. */
static bool
take_pair(const lw_spreader *s, lw_ref slot, lw_ref x, lw_ref y, lw_carried_step *u)
{
    bool first = is_get(s, x, slot);

    assert(lw_inst_at(s, slot)->op == LW_OP_SLOT);
    if (first == is_get(s, y, slot))
        return false;
    u->get = first ? x : y;
    u->e = first ? y : x;
    return true;
}

static lw_op
turned_around(lw_op op)
{
    return op == LW_OP_LT   ? LW_OP_GT
           : op == LW_OP_GT ? LW_OP_LT
           : op == LW_OP_LE ? LW_OP_GE
           : op == LW_OP_GE ? LW_OP_LE
                            : op;
}

/* The comparison of the variable with u->e that decides whether it takes that value. Floats are
 * accepted only where NaN is never taken, so that the order of the values does not matter. */
static bool
take_comparison(const lw_spreader *s, lw_ref slot, lw_ref condition, bool takes,
                lw_carried_step *u)
{
    const lw_inst *cmp = lw_inst_at(s, condition);
    lw_op op = (lw_op)cmp->op;

    if (op < LW_OP_EQ || op > LW_OP_GE || op == LW_OP_EQ || op == LW_OP_NE ||
        !take_pair(s, slot, cmp->a, cmp->b, u))
        return false;
    if (cmp->a == u->get)
        op = turned_around(op);
    if (lw_is_float((lw_dtype)lw_inst_at(s, u->get)->type) &&
        (!takes || op == LW_OP_LE || op == LW_OP_GE))
        return false;
    u->op = (op == LW_OP_LT || op == LW_OP_LE) == takes ? LW_OP_LT : LW_OP_GT;
    return true;
}

static bool
take_select(const lw_spreader *s, lw_ref slot, const lw_inst *w, lw_carried_step *u)
{
    lw_ref get, e;

    if (!take_pair(s, slot, w->b, w->c, u))
        return false;
    get = u->get;
    e = u->e;
    return take_comparison(s, slot, w->a, w->b == e, u) && u->get == get && u->e == e;
}

static bool
take_intrinsic(const lw_spreader *s, lw_ref slot, const lw_inst *w, lw_carried_step *u)
{
    const lw_ref *args = &s->func->lists.data[w->b];

    u->op = LW_OP_INTRINSIC;
    u->intrinsic = w->a;
    return (w->a == LW_IN_minimum || w->a == LW_IN_maximum) && w->c == 2 &&
           take_pair(s, slot, args[0], args[1], u);
}

/* Computed values, and SETs of other variables. */
static bool
is_beside_choice(const lw_spreader *s, uint32_t set, uint32_t at)
{
    const lw_inst *inst = lw_inst_at(s, at);

    return inst->op == LW_OP_LOAD || inst->op == LW_OP_GET || at == set ||
           (inst->op == LW_OP_SET && inst->a != lw_inst_at(s, set)->a) ||
           lw_ops[inst->op].class == LW_CLASS_PURE;
}

/* `if e > v: v = e`, possibly with other variables that are set in the same branch. */
static bool
take_choice(const lw_spreader *s, const lw_spread_loop *l, uint32_t set, lw_carried_step *u)
{
    const lw_inst *i = lw_inst_at(s, set);
    uint32_t at = set - 1;

    assert(i->op == LW_OP_SET && set >= l->first && set < l->latch);
    while (at > l->first && is_beside_choice(s, set, at))
        at--;
    if (lw_inst_at(s, at)->op != LW_OP_IF || s->regions.middles[at])
        return false;
    for (uint32_t k = at + 1; k < s->regions.ends[at]; k++)
        if (!is_beside_choice(s, set, k))
            return false;
    if (!take_comparison(s, i->a, lw_inst_at(s, at)->a, true, u) ||
        !lw_is_equal(s, l, u->e, i->b))
        return false;
    u->choice = at;
    return true;
}

static bool
take_operation(const lw_spreader *s, lw_ref slot, const lw_inst *w, lw_carried_step *u)
{
    u->op = (lw_op)w->op;
    switch (w->op) {
    case LW_OP_AND:
    case LW_OP_OR:
    case LW_OP_XOR:
    case LW_OP_ADD:
    case LW_OP_MUL: return take_pair(s, slot, w->a, w->b, u);
    case LW_OP_SUB:
        u->op = LW_OP_ADD;
        u->get = w->a;
        return is_get(s, w->a, slot) && !is_get(s, w->b, slot);
    case LW_OP_FMA:
        u->op = LW_OP_ADD;
        u->get = w->c;
        return is_get(s, w->c, slot) && !is_get(s, w->a, slot) && !is_get(s, w->b, slot);
    case LW_OP_SELECT: return take_select(s, slot, w, u);
    case LW_OP_INTRINSIC: return take_intrinsic(s, slot, w, u);
    default: return false;
    }
}

/* Whether every GET and SET of the slot is between `from` and `to`. */
static bool
is_known_within(const lw_spreader *s, lw_ref slot, uint32_t from, uint32_t to)
{
    for (uint32_t i = 1; i < s->func->insts.n; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        if ((inst->op == LW_OP_GET || inst->op == LW_OP_SET) && inst->a == slot &&
            (i < from || i > to))
            return false;
    }
    return true;
}

/* Whether an instruction may belong to `e` of `v and e`: some iterations compute it where one
 * thread would not. */
static bool
is_lazy_part(const lw_spreader *s, lw_ref made, uint32_t from, uint32_t at)
{
    const lw_inst *inst = lw_inst_at(s, at);

    switch (inst->op) {
    case LW_OP_SET:
        return inst->a == made || is_known_within(s, inst->a, from, s->regions.ends[from]);
    case LW_OP_CALL: return lw_is_pure_call(s, inst);
    case LW_OP_LOAD:
    case LW_OP_GET:
    case LW_OP_SLOT:
    case LW_OP_IF:
    case LW_OP_ELSE:
    case LW_OP_END: return true;
    default: return lw_ops[inst->op].class == LW_CLASS_PURE && inst->op != LW_OP_SREG;
    }
}

/* Recognises t = v; if v: … t = e; v = t, which is `v = v and e`; for `or` the branch tests not
 * v. */
static bool
take_lazy(const lw_spreader *s, lw_ref slot, uint32_t set, lw_carried_step *u)
{
    const lw_inst *w = lw_inst_at(s, lw_inst_at(s, set)->b), *condition;
    uint32_t first = 1, at;

    if (w->op != LW_OP_GET || lw_inst_at(s, slot)->type != LW_DT_b1)
        return false;
    while (first < set &&
           (lw_inst_at(s, first)->op != LW_OP_SET || lw_inst_at(s, first)->a != w->a))
        first++;
    if (first == set || !is_get(s, lw_inst_at(s, first)->b, slot))
        return false;
    u->get = lw_inst_at(s, first)->b;
    for (at = first + 1; lw_ops[lw_inst_at(s, at)->op].class == LW_CLASS_PURE;)
        at++;
    if (lw_inst_at(s, at)->op != LW_OP_IF || s->regions.middles[at] ||
        s->regions.ends[at] > set || !is_known_within(s, w->a, first, lw_inst_at(s, set)->b))
        return false;
    condition = lw_inst_at(s, lw_inst_at(s, at)->a);
    u->op = lw_inst_at(s, at)->a == u->get ? LW_OP_AND : LW_OP_OR;
    if (u->op == LW_OP_OR && (condition->op != LW_OP_NOT || condition->a != u->get ||
                              lw_ir_count_uses(s->func, lw_inst_at(s, at)->a) != 1))
        return false;
    for (uint32_t i = at + 1; i < s->regions.ends[at]; i++)
        if (!is_lazy_part(s, w->a, at, i))
            return false;
    for (uint32_t i = s->regions.ends[at] + 1; i < set; i++)
        if (lw_inst_at(s, i)->op != LW_OP_GET &&
            lw_ops[lw_inst_at(s, i)->op].class != LW_CLASS_PURE)
            return false;
    u->lazy = at;
    return true;
}

static bool
fits_type(const lw_spreader *s, const lw_carried_step *u, lw_dtype type)
{
    return type == LW_DT_b1
               ? u->op == LW_OP_AND || u->op == LW_OP_OR || u->op == LW_OP_XOR
               : lw_is_number_type(type) || (s->takes_narrow && lw_is_integer(type));
}

bool
lw_carried_update(const lw_spreader *s, const lw_spread_loop *l, uint32_t set,
                  lw_carried_step *u)
{
    const lw_inst *i = lw_inst_at(s, set), *w = lw_inst_at(s, i->b);
    bool works;

    assert(i->op == LW_OP_SET);
    *u = (lw_carried_step){0};
    if (w->lanes > 1)
        return false;
    works = take_operation(s, i->a, w, u);
    if (!works) {
        *u = (lw_carried_step){0};
        works = take_choice(s, l, set, u) || take_lazy(s, i->a, set, u);
    }
    return works && fits_type(s, u, (lw_dtype)lw_inst_at(s, i->a)->type) && u->get > l->at &&
           u->get < set && !lw_ir_is_set(s->func, u->get + 1, set, i->a) &&
           !loop_between(s, u->get, set);
}

/* ---- kinds of variables ---- */

/* What is asked of a variable, and what was found: it may be read before it is set; it may be
 * set. A condition that is assumed to hold, or not to, chooses the arms of its IFs. */
typedef struct visit {
    lw_ref slot;
    lw_ref assumed; /* a condition that is the same in all iterations; 0: none */
    bool holds;
    bool early, sets;
} visit;

enum { MOST_NEGATIONS = 4 };

/* The condition without NOT; *holds becomes the opposite for each. */
static lw_ref
without_not(const lw_spreader *s, lw_ref condition, bool *holds)
{
    for (int i = 0; i < MOST_NEGATIONS && lw_inst_at(s, condition)->op == LW_OP_NOT; i++) {
        condition = lw_inst_at(s, condition)->a;
        *holds = !*holds;
    }
    return condition;
}

static bool
is_assumed(const lw_spreader *s, const lw_spread_loop *l, const visit *v, lw_ref condition)
{
    if (lw_inst_at(s, condition)->op == LW_OP_GET)
        return is_get(s, v->assumed, lw_inst_at(s, condition)->a);
    return condition < v->assumed ? lw_is_equal(s, l, condition, v->assumed)
                                  : lw_is_equal(s, l, v->assumed, condition);
}

/* The arms of the IF that may be taken if the assumption holds. */
enum { FIRST = 1, SECOND = 2 };

static unsigned
arms_taken(const lw_spreader *s, const lw_spread_loop *l, const visit *v, uint32_t at)
{
    bool holds = v->holds;

    if (v->assumed == 0 || !is_assumed(s, l, v, without_not(s, lw_inst_at(s, at)->a, &holds)))
        return FIRST | SECOND;
    return holds ? FIRST : SECOND;
}

/* Whether the variable is set on every path to `end`, if it is set at `at` or not. */
static bool
sets_first(const lw_spreader *s, const lw_spread_loop *l, visit *v, uint32_t at, uint32_t end,
           bool set)
{
    for (; at < end; at++) {
        const lw_inst *inst = lw_inst_at(s, at);
        uint32_t middle = s->regions.middles[at], last = s->regions.ends[at];
        bool yes = true, no = true;
        unsigned arms;
        switch (inst->op) {
        case LW_OP_SET:
            set |= inst->a == v->slot;
            v->sets |= inst->a == v->slot;
            break;
        case LW_OP_GET: v->early |= inst->a == v->slot && !set; break;
        case LW_OP_BREAK:
        case LW_OP_CONTINUE: return true; /* control does not reach what follows */
        case LW_OP_IF:
            arms = arms_taken(s, l, v, at);
            if (arms & FIRST)
                yes = sets_first(s, l, v, at + 1, middle ? middle : last, set);
            if (arms & SECOND)
                no = middle ? sets_first(s, l, v, middle + 1, last, set) : set;
            set = yes && no;
            at = last;
            break;
        case LW_OP_LOOP:
            sets_first(s, l, v, at + 1, middle ? middle : last, set);
            if (middle) /* the latch may be reached by a CONTINUE, before the SETs */
                sets_first(s, l, v, middle + 1, last, set);
            at = last;
            break;
        case LW_OP_BLOCK:
            sets_first(s, l, v, at + 1, last, set);
            at = last;
            break;
        default: break;
        }
    }
    return set;
}

bool
lw_carried_is_seen_early(const lw_spreader *s, const lw_spread_loop *l, lw_ref slot)
{
    visit v = {.slot = slot};

    sets_first(s, l, &v, l->first, l->latch, false);
    return v.early;
}

/* Whether the value is the same wherever the loop computes it. */
static bool
is_invariant(const lw_spreader *s, const lw_spread_loop *l, lw_ref value, uint32_t depth)
{
    const lw_inst *inst = lw_inst_at(s, value);
    uint32_t at = 0;
    lw_ref operand;

    if (lw_is_fixed(s, l, value))
        return true;
    if (inst->op == LW_OP_GET)
        return !lw_ir_is_set(s->func, l->at, l->end, inst->a);
    if (depth == 0 || lw_ops[inst->op].class != LW_CLASS_PURE)
        return false;
    while (lw_ir_next_operand(s->func, inst, &at, &operand))
        if (!is_invariant(s, l, operand, depth - 1))
            return false;
    return true;
}

bool
lw_carried_is_set_by_case(const lw_spreader *s, const lw_spread_loop *l, lw_ref slot)
{
    for (uint32_t i = l->first; i < l->latch; i++) {
        visit v = {.slot = slot, .holds = true};
        bool works = true;
        if (lw_inst_at(s, i)->op != LW_OP_IF ||
            !lw_ir_is_set(s->func, i, s->regions.ends[i], slot))
            continue;
        v.assumed = without_not(s, lw_inst_at(s, i)->a, &v.holds);
        if (!is_invariant(s, l, v.assumed, MOST_DEPTH))
            continue;
        for (int k = 0; k < 2; k++) {
            v.holds = k != 0;
            v.early = v.sets = false;
            sets_first(s, l, &v, l->first, l->latch, false);
            works &= !v.early || !v.sets;
        }
        if (works)
            return true;
    }
    return false;
}

bool
lw_carried_is_private(const lw_spreader *s, const lw_spread_loop *l, lw_ref slot)
{
    for (uint32_t i = 1; i < s->func->insts.n; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        if ((inst->op == LW_OP_GET || inst->op == LW_OP_SET) && inst->a == slot &&
            (i < l->at || i > l->latch))
            return false;
    }
    return !lw_carried_is_seen_early(s, l, slot);
}

bool
lw_carried_is_unseen(const lw_spreader *s, uint32_t set, const lw_carried_step *u)
{
    lw_ref w = lw_inst_at(s, set)->b;

    for (uint32_t i = u->choice; i < s->regions.ends[u->choice]; i++)
        if (lw_inst_at(s, i)->op == LW_OP_SET && i != set)
            return false;
    if (u->op != LW_OP_LT && u->op != LW_OP_GT)
        return lw_ir_count_uses(s->func, u->get) == (u->lazy ? 2 : 1) &&
               lw_ir_count_uses(s->func, w) == 1;
    if (u->choice)
        return lw_ir_count_uses(s->func, u->get) == 1 &&
               lw_ir_count_uses(s->func, lw_inst_at(s, u->choice)->a) == 1;
    return lw_ir_count_uses(s->func, u->get) == 2 && lw_ir_count_uses(s->func, w) == 1 &&
           lw_ir_count_uses(s->func, lw_inst_at(s, w)->a) == 1;
}

/* Whether the result depends on the order: of +0 and -0 the first one stays, so that partial
 * results cannot be combined in any order. */
static bool
keeps_order(const lw_spreader *s, lw_ref slot, const lw_carried_step *u)
{
    return (u->op == LW_OP_LT || u->op == LW_OP_GT) &&
           lw_is_float((lw_dtype)lw_inst_at(s, slot)->type);
}

/* Whether the variable grows by the same amount in every iteration. */
static bool
counts(const lw_spreader *s, const lw_spread_loop *l, uint32_t set, const lw_carried_step *u,
       lw_carried *one)
{
    const lw_inst *w = lw_inst_at(s, lw_inst_at(s, set)->b);

    assert(one->slot == lw_inst_at(s, set)->a);
    one->minus = w->op == LW_OP_SUB;
    one->by = one->minus ? w->b : u->e;
    return u->op == LW_OP_ADD && lw_is_integer((lw_dtype)w->type) && one->by != 0 &&
           lw_is_fixed(s, l, one->by) && !l->continues && !lw_is_in_branch(s, l, set);
}

/* Guards the loads of an expression that is evaluated in more iterations than one thread would
 * evaluate it in. */
static bool
guard_lazy(const lw_spreader *s, lw_spread_loop *l, uint32_t lazy)
{
    for (uint32_t i = lazy; i < s->regions.ends[lazy]; i++)
        if (lw_inst_at(s, i)->op == LW_OP_LOAD && !lw_load_guard(s, l, i))
            return false;
    return true;
}

/* Whether all SETs of the variable in the loop are updates of a linear recurrence. */
static bool
is_recurrence(const lw_spreader *s, const lw_spread_loop *l, lw_ref slot)
{
    for (uint32_t i = l->first; i < l->latch; i++)
        if (lw_inst_at(s, i)->op == LW_OP_SET && lw_inst_at(s, i)->a == slot &&
            !lw_affine_is(s, l, i))
            return false;
    return true;
}

static bool
take_recurrence(lw_spread_loop *l, lw_ref slot)
{
    l->scans = true;
    l->carried[l->n_carried++] = (lw_carried){
        .slot = slot, .how = LW_CARRY_SCAN, .affine = true, .combine = {.op = LW_OP_ADD}};
    return true;
}

bool
lw_carried_take(const lw_spreader *s, lw_spread_loop *l, lw_ref slot)
{
    lw_carried one = {.slot = slot, .how = LW_CARRY_TOTAL};
    uint32_t n_get = 0, n_set = 0;
    bool counting = false;

    if (lw_carried_find(l, slot) || lw_carried_is_private(s, l, slot))
        return true;
    if (slot > l->at || l->n_carried == LW_MOST_CARRIED)
        return false;
    for (uint32_t i = l->first; i < l->latch; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        lw_carried_step u;
        n_get += inst->op == LW_OP_GET && inst->a == slot;
        if (inst->op != LW_OP_SET || inst->a != slot)
            continue;
        if (!lw_carried_update(s, l, i, &u) ||
            (n_set && (u.op != one.combine.op || u.intrinsic != one.combine.intrinsic)))
            return is_recurrence(s, l, slot) ? take_recurrence(l, slot)
                                             : lw_pick_last(s, l, slot);
        if (lw_affine_adds_itself(s, l, i, &u) && is_recurrence(s, l, slot))
            return take_recurrence(l, slot);
        if (!guard_lazy(s, l, u.lazy))
            return false;
        one.combine.op = u.op;
        one.combine.intrinsic = u.intrinsic;
        if (!lw_carried_is_unseen(s, i, &u) || keeps_order(s, slot, &u))
            one.how = LW_CARRY_SCAN;
        counting = n_set++ == 0 && counts(s, l, i, &u, &one);
    }
    if (n_get != n_set)
        one.how = LW_CARRY_SCAN;
    if (counting)
        one.how = LW_CARRY_COUNT;
    if (one.how == LW_CARRY_SCAN && lw_inst_at(s, slot)->type == LW_DT_b1)
        return false; /* lw_block_scan scans whole words */
    assert(n_set > 0 && l->n_carried < LW_MOST_CARRIED);
    l->scans |= one.how == LW_CARRY_SCAN;
    l->carried[l->n_carried++] = one;
    return true;
}

/* ---- what waits for the scan ---- */

/* Whether some operand of the instruction waits. */
static bool
waits_for(const lw_spreader *s, const lw_inst *inst)
{
    uint32_t at = 0;
    lw_ref operand;

    while (lw_ir_next_operand(s->func, inst, &at, &operand))
        if (s->waits[operand])
            return true;
    return false;
}

static void
mark(const lw_spreader *s, uint32_t i, bool waits, bool *changed)
{
    *changed |= waits && !s->waits[i];
    s->waits[i] |= waits;
}

/* Propagates waiting once through the iteration; a variable that waits anywhere waits
 * everywhere. *changed: something new waits. False: a BREAK or CONTINUE depends on what waits.
 */
static bool
spread_waits(const lw_spreader *s, const lw_spread_loop *l, bool *changed)
{
    uint32_t depth = 0, doubtful = 0;
    bool waiting[MOST_REGIONS] = {false};

    for (uint32_t i = l->first; i < l->latch; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        bool waits = waits_for(s, inst);
        switch (inst->op) {
        case LW_OP_IF:
        case LW_OP_BLOCK:
        case LW_OP_LOOP:
            assert(depth < MOST_REGIONS); /* lw_spreader_find */
            waiting[depth++] = waits;
            doubtful += waits;
            break;
        case LW_OP_END:
            assert(depth > 0);
            doubtful -= waiting[--depth];
            break;
        case LW_OP_BREAK:
        case LW_OP_CONTINUE:
            if (doubtful)
                return false;
            break;
        case LW_OP_SET:
            waits = s->waits[inst->b] || doubtful || s->waits[inst->a];
            mark(s, inst->a, waits, changed);
            break;
        default: break;
        }
        mark(s, i, waits, changed);
    }
    return true;
}

/* Whether both the value that this SET adds and the condition under which it is executed are
 * known before the scan. */
static bool
is_brought(const lw_spreader *s, const lw_spread_loop *l, uint32_t set)
{
    const lw_inst *w = lw_inst_at(s, lw_inst_at(s, set)->b);
    bool affine = lw_carried_find(l, lw_inst_at(s, set)->a)->affine;
    lw_carried_step u = {0};

    if (!affine && !lw_carried_update(s, l, set, &u))
        return false;
    for (uint32_t i = l->first; i < set; i++)
        if (s->regions.ends[i] > set && s->waits[i] && i != u.choice)
            return false;
    if (affine)
        return lw_affine_is_known(s, l, set);
    if (u.e)
        return !s->waits[u.e];
    return w->op == LW_OP_SUB ? !s->waits[w->b] : !s->waits[w->a] && !s->waits[w->b];
}

static bool
share_a_loop(const lw_spreader *s, const lw_spread_loop *l, uint32_t x, uint32_t y)
{
    for (uint32_t i = l->first; i < x && i < y; i++)
        if (lw_inst_at(s, i)->op == LW_OP_LOOP && s->regions.ends[i] > x &&
            s->regions.ends[i] > y)
            return true;
    return false;
}

/* Nothing is stored in the first walk, so a load may be made there only if it precedes all
 * stores to its array. */
static bool
reads_before_stores(const lw_spreader *s, const lw_spread_loop *l, uint32_t load)
{
    int operand = lw_root_of(s, lw_inst_at(s, load)->a);

    for (uint32_t i = l->first; i < l->latch; i++)
        if (lw_inst_at(s, i)->op == LW_OP_STORE &&
            lw_root_of(s, lw_inst_at(s, i)->a) == operand &&
            (i < load || share_a_loop(s, l, i, load)))
            return false;
    return true;
}

/* Marks what is not known before the scan, before anything is propagated. */
static void
start_waits(const lw_spreader *s, const lw_spread_loop *l)
{
    for (uint32_t i = 1; i < s->func->insts.n; i++)
        if (lw_inst_at(s, i)->op == LW_OP_SLOT)
            s->waits[i] = 0;
    for (uint32_t k = 0; k < l->n_carried; k++)
        s->waits[l->carried[k].slot] = l->carried[k].how != LW_CARRY_COUNT;
    for (uint32_t i = l->first; i < l->latch; i++)
        if (lw_inst_at(s, i)->op == LW_OP_LOAD && !reads_before_stores(s, l, i))
            s->waits[i] = 1;
}

bool
lw_carried_settle(lw_spreader *s, const lw_spread_loop *l)
{
    bool changed = true;

    if (!l->scans)
        return true;
    start_waits(s, l);
    while (changed) {
        changed = false;
        if (!spread_waits(s, l, &changed))
            return false;
    }
    for (uint32_t i = l->first; i < l->latch; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        const lw_carried *one = inst->op == LW_OP_SET ? lw_carried_find(l, inst->a) : NULL;
        if (one != NULL && one->how == LW_CARRY_SCAN && !is_brought(s, l, i))
            return false;
        if (one != NULL && one->affine && l->n_picks)
            return false; /* one thread could not run some of the iterations for all */
    }
    return true;
}
