/* Variables of a shared loop that keep the values of one iteration: the best by a comparison,
 * or the last that sets them (lw_picks_find and lw_pick_last of carried.h).
 *
 * An event is an IF whose branch sets the variable. Its condition is evaluated for each
 * relation that the value that comes and the best so far can have, NaN included, which gives a
 * truth table. Only a table that selects the first or the last of the best of a total order
 * makes a pick, and only where nothing else in the iteration depends on the best. */
#include "core/base/memory.h"
#include "core/ir/operands.h"
#include "core/opt/loops/carried.h"
#include "core/opt/loops/access_pattern.h"
#include "core/opt/relation.h"

enum { MOST_EVENTS = 4, MOST_FREE = 3, MOST_DEPTH = 24 };

typedef enum kind { UNKNOWN, BIT, COMES, BEST } kind;

typedef struct value {
    kind kind;
    bool bit;
} value;

/* An IF that sets the best: if c: best = e; … */
typedef struct event {
    uint32_t at;   /* the first IF of this condition */
    uint32_t last; /* and the last one */
    lw_ref condition, e;
} event;

/* One variable, examined as a possible best so far. */
typedef struct picker {
    const lw_spreader *s;
    const lw_spread_loop *l;
    lw_ref best;
    bool by_place; /* the variable is the index of the best element: `if x[i] > x[k]: k = i` */
    lw_ref place;  /* x[k], once it is found */
    uint32_t n_events;
    event events[MOST_EVENTS];
    const event *now; /* the event whose condition is evaluated, */
    lw_relation is;   /* under this relation, */
    lw_ref has;       /* a bool that events set: whether there is a best yet; 0: none */
    bool has_best;    /* its assumed value */
    uint32_t free;    /* assumed bits of the leaves, which depend on neither value */
    uint32_t n_free;
    lw_ref leaves[MOST_FREE];
    uint8_t *seen;    /* by instruction: its part in a condition is understood */
    uint8_t *follows; /* by instruction and slot: it depends on the best */
} picker;

/* ---- regions ---- */

/* The innermost region of the iteration that encloses an instruction; 0: the iteration itself.
 */
static uint32_t
region_of(const picker *p, uint32_t at)
{
    uint32_t found = 0;

    for (uint32_t i = p->l->first; i < at; i++)
        if (p->s->regions.ends[i] > at)
            found = i;
    return found;
}

static bool
is_event_if(const picker *p, const event *e, uint32_t at)
{
    return lw_inst_at(p->s, at)->op == LW_OP_IF && at >= e->at && at <= e->last &&
           lw_inst_at(p->s, at)->a == e->condition;
}

/* The event whose branch encloses an instruction, directly or not; *branch: its IF. */
static const event *
event_around(const picker *p, uint32_t at, uint32_t *branch)
{
    for (uint32_t k = 0; k < p->n_events; k++)
        for (uint32_t i = p->events[k].at; i <= p->events[k].last && i < at; i++)
            if (p->s->regions.ends[i] > at && is_event_if(p, &p->events[k], i)) {
                *branch = i;
                return &p->events[k];
            }
    return NULL;
}

/* ---- what a condition says ---- */

static value evaluate(picker *p, lw_ref ref, int depth);

static value
bit(bool is)
{
    return (value){.kind = BIT, .bit = is};
}

/* The best so far comes first. */
static lw_side
side_of(kind which)
{
    return which == BEST ? LW_FIRST : LW_SECOND;
}

static value
compare(picker *p, lw_op op, kind x, kind y)
{
    return bit(lw_relation_holds(p->is, op, side_of(x), side_of(y)));
}

/* The float that this comparison tests for NaN, by asking whether its bits without the sign
 * exceed those of infinity; 0: it is another comparison. */
static lw_ref
asked_whether_nan(const picker *p, const lw_inst *cmp)
{
    const lw_inst *a = lw_inst_at(p->s, cmp->a), *k = lw_inst_at(p->s, cmp->b), *bits, *mask;
    bool is_wide = a->type == LW_DT_u64 || a->type == LW_DT_i64;
    uint64_t infinity = is_wide ? 0x7ff0000000000000u : 0x7f800000u;
    uint64_t all = is_wide ? INT64_MAX : INT32_MAX;

    if (cmp->op != LW_OP_GT || a->op != LW_OP_AND || k->op != LW_OP_CONST ||
        p->s->func->constants.data[k->a].bits != infinity)
        return 0;
    bits = lw_inst_at(p->s, a->a);
    mask = lw_inst_at(p->s, a->b);
    if (bits->op != LW_OP_BITCAST || mask->op != LW_OP_CONST ||
        p->s->func->constants.data[mask->a].bits != all ||
        lw_inst_at(p->s, bits->a)->type != (is_wide ? LW_DT_f64 : LW_DT_f32))
        return 0;
    p->seen[cmp->a] = p->seen[a->a] = true;
    return bits->a;
}

/* A bool that is independent of the relation, and so is tried with both values. Whether it
 * really is independent is checked later: what depends on the best must be marked as seen. */
static value
leaf(picker *p, lw_ref ref)
{
    for (uint32_t i = 0; i < p->n_free; i++)
        if (p->leaves[i] == ref)
            return bit(p->free >> i & 1);
    if (p->n_free == MOST_FREE || lw_inst_at(p->s, ref)->type != LW_DT_b1)
        return (value){0};
    p->leaves[p->n_free++] = ref;
    return bit(p->free >> (p->n_free - 1) & 1);
}

/* ---- bests by their place ---- */

/* Whether this reads the variable as it is when the event's condition is tested. */
static bool
is_current(const picker *p, lw_ref ref)
{
    const lw_inst *inst = lw_inst_at(p->s, ref);

    if (inst->op != LW_OP_GET || inst->a != p->best || ref < p->l->first || ref > p->now->at)
        return false;
    for (uint32_t i = ref + 1; i < p->now->at; i++)
        if ((lw_inst_at(p->s, i)->op == LW_OP_SET && lw_inst_at(p->s, i)->a == p->best) ||
            lw_inst_at(p->s, i)->op == LW_OP_LOOP)
            return false;
    return true;
}

/* Whether the value is computed from the variable, as it is then, and from what is the same in
 * all iterations. */
static bool
is_of_place(const picker *p, lw_ref ref, int depth, bool *uses)
{
    const lw_inst *inst = lw_inst_at(p->s, ref);
    const char *args = lw_ops[inst->op].args;
    const uint32_t operands[3] = {inst->a, inst->b, inst->c};

    if (is_current(p, ref)) {
        *uses = true;
        return true;
    }
    if (lw_is_fixed(p->s, p->l, ref))
        return true;
    if (depth == 0 || (inst->op != LW_OP_LOAD && lw_ops[inst->op].class != LW_CLASS_PURE) ||
        args[1] == 'L')
        return false;
    for (int k = 0; k < 3; k++)
        if (args[k] == 'v' && !is_of_place(p, operands[k], depth - 1, uses))
            return false;
    return true;
}

static void
see(picker *p, lw_ref ref)
{
    const lw_inst *inst = lw_inst_at(p->s, ref);
    const char *args = lw_ops[inst->op].args;
    const uint32_t operands[3] = {inst->a, inst->b, inst->c};

    if (lw_is_fixed(p->s, p->l, ref))
        return;
    p->seen[ref] = true;
    for (int k = 0; k < 3; k++)
        if (args[k] == 'v')
            see(p, operands[k]);
}

/* Whether x would have the value of y if the variable had the value that the event gives it. An
 * index that is used without a wrap is not negative, so that it does not wrap in x either. */
static bool
becomes(const picker *p, lw_ref x, lw_ref y, int depth)
{
    const lw_inst *a = lw_inst_at(p->s, x), *b = lw_inst_at(p->s, y);
    const char *args = lw_ops[a->op].args;
    const uint32_t from[3] = {a->a, a->b, a->c}, to[3] = {b->a, b->b, b->c};
    bool wraps, other;
    lw_ref index;

    if (is_current(p, x))
        return lw_is_equal(p->s, p->l, y, p->now->e);
    if (lw_is_fixed(p->s, p->l, x) || lw_is_fixed(p->s, p->l, y))
        return x < y ? lw_is_equal(p->s, p->l, x, y) : lw_is_equal(p->s, p->l, y, x);
    index = lw_index_of(p->s, x, &wraps);
    lw_index_of(p->s, y, &other);
    if (wraps && !other && is_current(p, index))
        return lw_is_equal(p->s, p->l, y, p->now->e);
    if (depth == 0 || a->op != b->op || a->type != b->type || args[1] == 'L')
        return false;
    for (int k = 0; k < 3; k++)
        if (args[k] == 'v' ? !becomes(p, from[k], to[k], depth - 1)
                           : args[k] != '-' && from[k] != to[k])
            return false;
    return true;
}

static bool
is_never_stored(const picker *p, lw_ref load)
{
    int operand = lw_root_of(p->s, lw_inst_at(p->s, load)->a);

    for (uint32_t i = p->l->first; i < p->l->latch; i++)
        if (lw_inst_at(p->s, i)->op == LW_OP_STORE &&
            lw_root_of(p->s, lw_inst_at(p->s, i)->a) == operand)
            return false;
    return operand >= 0;
}

static bool
is_element_type(const lw_inst *inst)
{
    lw_dtype type = (lw_dtype)inst->type;

    return inst->lanes <= 1 && type != LW_DT_b1 && (lw_is_integer(type) || lw_is_float(type));
}

/* Compares x[i] with x[k]. */
static value
compare_places(picker *p, lw_ref ref)
{
    const lw_inst *inst = lw_inst_at(p->s, ref);
    bool x = false, y = false;
    lw_ref place, comes;

    is_of_place(p, inst->a, MOST_DEPTH, &x);
    is_of_place(p, inst->b, MOST_DEPTH, &y);
    if (x == y)
        return leaf(p, ref);
    place = x ? inst->a : inst->b;
    comes = x ? inst->b : inst->a;
    if (lw_inst_at(p->s, place)->op != LW_OP_LOAD || (p->place && p->place != place) ||
        lw_inst_at(p->s, comes)->op != LW_OP_LOAD || !is_never_stored(p, place) ||
        !is_element_type(lw_inst_at(p->s, place)) || !is_of_place(p, place, MOST_DEPTH, &x) ||
        !becomes(p, place, comes, MOST_DEPTH))
        return leaf(p, ref);
    p->place = place;
    p->seen[ref] = true;
    see(p, place);
    return compare(p, (lw_op)inst->op, place == inst->a ? BEST : COMES,
                   place == inst->a ? COMES : BEST);
}

/* ---- conditions ---- */

static value
evaluate_compare(picker *p, lw_ref ref, int depth)
{
    const lw_inst *inst = lw_inst_at(p->s, ref);
    lw_ref asked = asked_whether_nan(p, inst);
    value x, y;

    if (p->by_place)
        return compare_places(p, ref);

    if (asked) {
        x = evaluate(p, asked, depth);
        if (x.kind == COMES || x.kind == BEST) {
            p->seen[ref] = true;
            return bit(lw_relation_is_nan(p->is, side_of(x.kind)));
        }
        return leaf(p, ref);
    }
    x = evaluate(p, inst->a, depth);
    y = evaluate(p, inst->b, depth);
    if ((x.kind != COMES && x.kind != BEST) || (y.kind != COMES && y.kind != BEST))
        return leaf(p, ref);
    p->seen[ref] = true;
    return compare(p, (lw_op)inst->op, x.kind, y.kind);
}

/* Whether the branches that enclose the SET, except those that also enclose the GET, are taken.
 */
static bool
is_reached(picker *p, uint32_t set, uint32_t get, int depth, bool *known)
{
    for (uint32_t i = p->l->first; i < set; i++) {
        value v;
        if (p->s->regions.ends[i] < set || p->s->regions.ends[i] > get)
            continue;
        v = lw_inst_at(p->s, i)->op == LW_OP_IF ? evaluate(p, lw_inst_at(p->s, i)->a, depth)
                                                : (value){0};
        *known &= v.kind == BIT;
        p->seen[i] = true;
        if (p->s->regions.middles[i] && p->s->regions.middles[i] < set)
            v.bit = !v.bit;
        if (!*known || !v.bit)
            return false;
    }
    return true;
}

/* Whether this is the bool that says that there is a best: only events set it, and to True. */
static bool
is_has(picker *p, lw_ref slot)
{
    uint32_t branch;

    if (slot > p->l->at || (p->has && p->has != slot) || slot == p->best)
        return false;
    for (uint32_t i = p->l->first; i < p->l->latch && !p->has; i++) {
        const lw_inst *inst = lw_inst_at(p->s, i), *is = lw_inst_at(p->s, inst->b);
        if (inst->op == LW_OP_SET && inst->a == slot &&
            (event_around(p, i, &branch) == NULL || is->op != LW_OP_CONST ||
             !(p->s->func->constants.data[is->a].bits & 1)))
            return false;
    }
    return true;
}

/* Evaluates a bool that the iteration has set before this, as `and` and `or` do. */
static value
evaluate_get(picker *p, lw_ref get, int depth)
{
    const lw_ref slot = lw_inst_at(p->s, get)->a;
    value made = {0};

    if (lw_ir_is_set(p->s->func, p->l->first, p->l->latch, slot) && is_has(p, slot)) {
        p->has = slot;
        p->seen[get] = true;
        return bit(p->has_best);
    }
    for (uint32_t i = 1; i < p->s->func->insts.n; i++) {
        const lw_inst *inst = lw_inst_at(p->s, i);
        bool known = true;
        if (inst->op != LW_OP_SET || inst->a != slot)
            continue;
        if (i < p->l->first || i > get)
            return leaf(p, get);
        p->seen[i] = true;
        if (is_reached(p, i, get, depth, &known))
            made = evaluate(p, inst->b, depth);
        if (!known || made.kind != BIT) /* even the first SET must be reached */
            return leaf(p, get);
    }
    p->seen[get] = p->seen[slot] = made.kind == BIT;
    return made.kind == BIT ? made : leaf(p, get);
}

static value
evaluate_logic(picker *p, lw_ref ref, int depth)
{
    const lw_inst *inst = lw_inst_at(p->s, ref);
    value a = evaluate(p, inst->a, depth), b = a, c = a;

    if (inst->op != LW_OP_NOT)
        b = evaluate(p, inst->b, depth);
    if (inst->op == LW_OP_SELECT)
        c = evaluate(p, inst->c, depth);
    if (a.kind != BIT || b.kind != BIT || c.kind != BIT)
        return leaf(p, ref);
    p->seen[ref] = true;
    return bit(lw_logic_holds((lw_op)inst->op, a.bit, b.bit, c.bit));
}

static value
evaluate(picker *p, lw_ref ref, int depth)
{
    const lw_inst *inst = lw_inst_at(p->s, ref);

    if (depth-- == 0)
        return (value){0};
    if (!p->by_place && is_current(p, ref)) {
        p->seen[ref] = true;
        return (value){.kind = BEST};
    }
    if (!p->by_place && lw_is_equal(p->s, p->l, ref, p->now->e))
        return (value){.kind = COMES};
    switch (inst->op) {
    case LW_OP_EQ:
    case LW_OP_NE:
    case LW_OP_LT:
    case LW_OP_LE:
    case LW_OP_GT:
    case LW_OP_GE: return evaluate_compare(p, ref, depth);
    case LW_OP_NOT:
    case LW_OP_AND:
    case LW_OP_OR:
    case LW_OP_XOR:
    case LW_OP_SELECT:
        return inst->type == LW_DT_b1 ? evaluate_logic(p, ref, depth) : leaf(p, ref);
    case LW_OP_CONST:
        return inst->type == LW_DT_b1 ? bit(p->s->func->constants.data[inst->a].bits & 1)
                                      : (value){0};
    case LW_OP_GET: return inst->type == LW_DT_b1 ? evaluate_get(p, ref, depth) : (value){0};
    default: return leaf(p, ref);
    }
}

/* Elements that an index leads to count as floats, because their dtype is not known yet. */
static bool
may_be_nan(const picker *p)
{
    return p->by_place || lw_is_float((lw_dtype)lw_inst_at(p->s, p->best)->type);
}

/* The end of the relations that the two values can have. */
static lw_relation
relations_end(const picker *p)
{
    return may_be_nan(p) ? LW_N_RELATIONS : LW_SECOND_IS_NAN;
}

/* The truth table of the event's condition by relation, for the given bits of the leaves. */
static bool
table_of(picker *p, uint32_t free, uint32_t *table)
{
    *table = 0;
    p->free = free;
    for (p->is = LW_IS_LESS; p->is < relations_end(p); p->is++) {
        value v = evaluate(p, p->now->condition, MOST_DEPTH);
        if (v.kind != BIT)
            return false;
        *table |= (uint32_t)v.bit << p->is;
    }
    return true;
}

/* The truth table, which must be the same for all bits of the leaves for which it is not empty;
 * where there is no best yet, every value must be taken then. */
static bool
whole_table(picker *p, uint32_t *table)
{
    uint32_t all = (1u << relations_end(p)) - 1;

    *table = 0;
    p->n_free = 0;
    for (uint32_t free = 0; free < 1u << MOST_FREE; free++) {
        uint32_t one, none;
        p->has_best = true;
        if (!table_of(p, free, &one) || (*table && one && one != *table))
            return false;
        *table |= one;
        p->has_best = false;
        if (p->has && (!table_of(p, free, &none) || none != (one ? all : 0)))
            return false;
    }
    return true;
}

/* ---- events ---- */

static bool
add_event(picker *p, uint32_t set)
{
    uint32_t at = region_of(p, set), branch;
    event *e = &p->events[p->n_events];

    if (at == 0 || lw_inst_at(p->s, at)->op != LW_OP_IF || p->s->regions.middles[at] ||
        p->n_events == MOST_EVENTS || event_around(p, set, &branch) != NULL)
        return false;
    *e = (event){.at = at,
                 .last = at,
                 .condition = lw_inst_at(p->s, at)->a,
                 .e = lw_inst_at(p->s, set)->b};
    for (uint32_t i = p->l->first; i < p->l->latch; i++) {
        const lw_inst *inst = lw_inst_at(p->s, i);
        if (inst->op != LW_OP_IF || inst->a != e->condition)
            continue;
        if (p->s->regions.middles[i] || region_of(p, i) != region_of(p, at))
            return false;
        e->at = i < e->at ? i : e->at;
        e->last = i > e->last ? i : e->last;
    }
    for (uint32_t i = e->at; i < e->last; i++) { /* all IFs of the condition run, or none */
        lw_op op = (lw_op)lw_inst_at(p->s, i)->op;
        if (op == LW_OP_BREAK || op == LW_OP_CONTINUE || op == LW_OP_RETURN ||
            op == LW_OP_LOOP || op == LW_OP_BLOCK)
            return false;
    }
    p->n_events++;
    return true;
}

static bool
find_events(picker *p)
{
    for (uint32_t i = p->l->first; i < p->l->latch; i++)
        if (lw_inst_at(p->s, i)->op == LW_OP_SET && lw_inst_at(p->s, i)->a == p->best &&
            !add_event(p, i))
            return false;
    return p->n_events > 0;
}

/* A NaN that comes first is taken and then stays, so all threads must start from the first
 * iteration. There is one, since no region encloses the event. */
static bool
settle_first(const picker *p, lw_pick *pick)
{
    if (!p->has || pick->prefers.nan_best || pick->prefers.nan_worst || !may_be_nan(p))
        return true;
    pick->first = true;
    return p->n_events == 1 && p->n_free == 0 &&
           !lw_is_in_branch(p->s, p->l, p->events[0].at) && !p->l->continues;
}

static bool
understand_events(picker *p, lw_pick *pick)
{
    uint32_t table = 0;

    for (uint32_t k = 0; k < p->n_events; k++) {
        uint32_t one;
        p->now = &p->events[k];
        if (!whole_table(p, &one) || (k && one != table))
            return false;
        table = one;
    }
    pick->place = p->place;
    pick->has = p->has;
    return lw_relation_preference(table, &pick->prefers) && settle_first(p, pick) &&
           (!p->by_place || (p->place && p->n_events == 1));
}

/* ---- what follows from the best ---- */

/* Whether some operand depends on the best. A SET depends on the value that it sets, not on the
 * old value of the variable. */
static bool
follows_by_operand(const picker *p, const lw_inst *inst)
{
    uint32_t at = inst->op == LW_OP_SET;
    lw_ref operand;

    while (lw_ir_next_operand(p->s->func, inst, &at, &operand))
        if (p->follows[operand])
            return true;
    return false;
}

/* Propagates dependence on the best once through the iteration, except the branches of events.
 * False: something with an effect outside of a thread depends on it. */
static bool
follow(picker *p, bool *changed)
{
    uint32_t until = 0, branch; /* end of the branches that depend on it */

    for (uint32_t i = p->l->first; i < p->l->latch; i++) {
        const lw_inst *inst = lw_inst_at(p->s, i);
        bool follows = follows_by_operand(p, inst);
        if (event_around(p, i, &branch) != NULL)
            continue;
        if (i < until && (inst->op == LW_OP_STORE || inst->op == LW_OP_BREAK ||
                          inst->op == LW_OP_CONTINUE || inst->op == LW_OP_LOOP))
            return false;
        follows |= i < until && inst->op == LW_OP_SET;
        if (!follows)
            continue;
        if (inst->op == LW_OP_IF && p->s->regions.ends[i] > until)
            until = p->s->regions.ends[i];
        if (inst->op == LW_OP_SET) {
            *changed |= !p->follows[inst->a];
            p->follows[inst->a] = true;
        }
        *changed |= !p->follows[i];
        p->follows[i] = true;
    }
    return true;
}

static bool
is_an_event(const picker *p, uint32_t at)
{
    for (uint32_t k = 0; k < p->n_events; k++)
        if (is_event_if(p, &p->events[k], at))
            return true;
    return false;
}

static bool
nothing_else_follows(picker *p)
{
    bool changed = true;

    p->follows[p->best] = true;
    if (p->has)
        p->follows[p->has] = true;
    while (changed) {
        changed = false;
        if (!follow(p, &changed))
            return false;
    }
    for (uint32_t i = p->l->first; i < p->l->latch; i++)
        if (p->follows[i] && !p->seen[i] && !is_an_event(p, i))
            return false;
    /* the bool of an `and` is not read after the loop */
    for (uint32_t i = 1; i < p->s->func->insts.n; i++)
        if (lw_inst_at(p->s, i)->op == LW_OP_GET && i > p->l->latch &&
            lw_inst_at(p->s, i)->a != p->best && lw_inst_at(p->s, i)->a != p->has &&
            p->follows[lw_inst_at(p->s, i)->a])
            return false;
    return true;
}

/* ---- what the branches set ---- */

/* Whether the slot is used in this branch only. */
static bool
is_local(const picker *p, lw_ref slot, uint32_t branch)
{
    for (uint32_t i = 1; i < p->s->func->insts.n; i++) {
        const lw_inst *inst = lw_inst_at(p->s, i);
        if ((inst->op == LW_OP_GET || inst->op == LW_OP_SET) && inst->a == slot &&
            (i < branch || i > p->s->regions.ends[branch]))
            return false;
    }
    return true;
}

/* Whether every event sets the slot exactly once and nothing else sets it, and it is read only
 * after that in the same branch (the best itself also by the conditions). */
static bool
is_set_by_events(const picker *p, lw_ref slot)
{
    uint32_t n[MOST_EVENTS] = {0}, branch = 0, set_in = 0;

    for (uint32_t i = p->l->first; i < p->l->latch; i++) {
        const lw_inst *inst = lw_inst_at(p->s, i);
        const event *e;
        if ((inst->op != LW_OP_GET && inst->op != LW_OP_SET) || inst->a != slot)
            continue;
        e = event_around(p, i, &branch);
        if (inst->op == LW_OP_GET && e == NULL && (slot == p->best || slot == p->has))
            continue;
        if (e == NULL || (inst->op == LW_OP_GET && set_in != branch))
            return false;
        if (inst->op == LW_OP_SET && (region_of(p, i) != branch || n[e - p->events]++))
            return false;
        set_in = branch;
    }
    for (uint32_t k = 0; k < p->n_events; k++)
        if (n[k] != 1)
            return false;
    return true;
}

static bool
add_member(const picker *p, lw_spread_loop *l, lw_ref slot)
{
    if (lw_carried_find(l, slot))
        return true;
    if (l->n_carried == LW_MOST_CARRIED || slot > l->at || !is_set_by_events(p, slot))
        return false;
    l->carried[l->n_carried++] =
        (lw_carried){.slot = slot, .how = LW_CARRY_PICKED, .pick = l->n_picks};
    return true;
}

static bool
take_branches(const picker *p, lw_spread_loop *l)
{
    for (uint32_t i = l->first; i < l->latch; i++) {
        const lw_inst *inst = lw_inst_at(p->s, i);
        uint32_t branch;
        if (event_around(p, i, &branch) == NULL)
            continue;
        if (inst->op == LW_OP_SET && !is_local(p, inst->a, branch) &&
            !add_member(p, l, inst->a))
            return false;
        if (inst->op == LW_OP_STORE || inst->op == LW_OP_LOOP || inst->op == LW_OP_BLOCK ||
            inst->op == LW_OP_BREAK || inst->op == LW_OP_CONTINUE)
            return false;
    }
    return true;
}

/* ---- variables ---- */

static bool
may_be_best(const lw_spreader *s, const lw_spread_loop *l, lw_ref slot)
{
    return slot < l->at && !lw_carried_find(l, slot) && l->n_picks < LW_MOST_PICKS &&
           is_element_type(lw_inst_at(s, slot));
}

static void
take_best(const lw_spreader *s, lw_spread_loop *l, lw_ref slot, bool by_place)
{
    uint32_t n = s->func->insts.n, n_carried = l->n_carried;
    picker p = {.s = s, .l = l, .best = slot, .by_place = by_place};
    lw_pick pick = {.best = slot, .leader = slot};

    p.seen = lw_alloc_zero(n, 2);
    if (p.seen == NULL)
        return; /* without the analysis the loop is not shared, which is correct */
    p.follows = p.seen + n;
    if (find_events(&p) && understand_events(&p, &pick) && nothing_else_follows(&p) &&
        add_member(&p, l, slot) && take_branches(&p, l))
        l->picks[l->n_picks++] = pick;
    else
        l->n_carried = n_carried;
    lw_free(p.seen);
}

void
lw_picks_find(const lw_spreader *s, lw_spread_loop *l)
{
    for (uint32_t i = l->first; i < l->latch; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        if (inst->op == LW_OP_SET && may_be_best(s, l, inst->a))
            take_best(s, l, inst->a, false);
        if (inst->op == LW_OP_SET && may_be_best(s, l, inst->a))
            take_best(s, l, inst->a, true);
    }
}

bool
lw_pick_last(const lw_spreader *s, lw_spread_loop *l, lw_ref slot)
{
    const lw_inst *inst = lw_inst_at(s, slot);

    if (slot > l->at || inst->lanes > 1 || inst->type == LW_DT_ptr ||
        l->n_carried == LW_MOST_CARRIED || l->n_picks == LW_MOST_PICKS ||
        lw_carried_is_seen_early(s, l, slot))
        return false;
    l->carried[l->n_carried++] =
        (lw_carried){.slot = slot, .how = LW_CARRY_PICKED, .pick = l->n_picks};
    l->picks[l->n_picks++] = (lw_pick){.leader = slot};
    return true;
}
