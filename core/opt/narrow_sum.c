#include "core/opt/narrow_sum.h"

#include <assert.h>
#include <string.h>

#include "core/ir/facts.h"
#include "core/ir/operands.h"

/* MOST_STEPS: how many instructions are examined, which takes some 0.2 s; what has not been
 * found by then is not reported. */
enum {
    MOST_LOOPS = 32,
    MOST_DEPTH = 64,
    MOST_CHAIN = 512, /* operations between a total and what it is set to */
    UNKNOWN = -1,
    MOST_STEPS = 200000000
};

typedef struct loop {
    uint32_t first, end; /* the LOOP and its END */
    int converges;       /* 0 or 1 once it has been computed; else UNKNOWN */
    int64_t iterations;  /* or UNKNOWN */
} loop;

typedef struct search {
    const lw_func *func;
    lw_ref after; /* sums up to here are passed over */
    lw_arena arena;
    uint8_t *follows; /* by instruction and slot: it depends on what was marked */
    uint8_t *holds;   /* by the root of pointers: whether what is stored there depends on it */
    lw_ir_regions regions;
    loop loops[MOST_LOOPS];
    uint32_t n_loops; /* the loops that enclose the current instruction, outermost first */
    uint64_t n_steps;
} search;

/* What is summed up: a slot, or the memory of a LOAD and a STORE. */
typedef struct total {
    lw_ref slot, load; /* one of the two; the other is 0 */
    lw_ref set;
} total;

static const lw_inst *
at(const search *s, lw_ref ref)
{
    return &s->func->insts.data[ref];
}

/* How many additions are known to be harmless: of floats, those that leave half of the digits
 * right. 0: the type is wide enough, or has no sums. Totals of 32-bit integers are taken to fit
 * if their number of terms is as small as that of floats. */
static int64_t
harmless(lw_dtype dtype)
{
    switch (dtype) {
    case LW_DT_f16: return 1 << 5;
    case LW_DT_bf16: return 1 << 4;
    case LW_DT_f32:
    case LW_DT_i32:
    case LW_DT_u32: return 1 << 12;
    case LW_DT_i8:
    case LW_DT_u8:
    case LW_DT_i16:
    case LW_DT_u16: return 1;
    default: return 0;
    }
}

/* ---- what follows from what ---- */

static bool
any_operand_follows(const search *s, const lw_inst *inst)
{
    uint32_t n = 0;
    lw_ref operand;

    while (lw_ir_next_operand(s->func, inst, &n, &operand))
        if (s->follows[operand])
            return true;
    return false;
}

static bool
mark(uint8_t *marks, lw_ref ref, bool follows)
{
    bool changed = follows && !marks[ref];

    marks[ref] |= follows;
    return changed;
}

/* Propagates dependence once through the loop; returns whether anything was new. A variable,
 * and an array as a whole, depend on everything that they are ever set to. */
static bool
spread(search *s, const loop *l)
{
    bool changed = false;

    s->n_steps += l->end - l->first;
    for (uint32_t i = l->first; i < l->end; i++) {
        const lw_inst *inst = at(s, i);

        if (inst->op == LW_OP_SET)
            changed |= mark(s->follows, inst->a, s->follows[inst->b]);
        else if (inst->op == LW_OP_STORE)
            changed |= mark(s->holds, lw_ir_root(s->func, inst->a), s->follows[inst->b]);
        else
            changed |=
                mark(s->follows, i,
                     any_operand_follows(s, inst) ||
                         (inst->op == LW_OP_LOAD && s->holds[lw_ir_root(s->func, inst->a)]));
    }
    return changed;
}

static void
spread_all(search *s, const loop *l)
{
    while (spread(s, l) && s->n_steps < MOST_STEPS)
        continue;
}

static void
forget(search *s)
{
    memset(s->follows, 0, s->func->insts.n);
    memset(s->holds, 0, s->func->insts.n);
}

/* ---- carried from iteration to iteration ---- */

/* Whether the slot is loop-carried: an iteration may read it before it has set it. A SET under
 * an IF does not count as one that is always executed. */
static bool
is_carried(const search *s, const loop *l, lw_ref slot)
{
    uint32_t ifs = 0, n = 0;
    bool is_if[MOST_DEPTH];

    for (uint32_t i = l->first + 1; i < l->end; i++) {
        const lw_inst *inst = at(s, i);

        if (lw_ir_opens_region((lw_op)inst->op) && n < MOST_DEPTH) {
            is_if[n] = inst->op == LW_OP_IF;
            ifs += is_if[n++];
        } else if (inst->op == LW_OP_END && n > 0) {
            ifs -= is_if[--n];
        } else if (inst->op == LW_OP_GET && inst->a == slot) {
            return true;
        } else if (inst->op == LW_OP_SET && inst->a == slot && ifs == 0) {
            return false;
        }
    }
    return false;
}

/* Marks the values that differ from iteration to iteration of the loop. */
static void
mark_varying(search *s, const loop *l)
{
    forget(s);
    for (uint32_t i = 1; i < s->func->insts.n && s->n_steps < MOST_STEPS; i++) {
        if (at(s, i)->op != LW_OP_SLOT)
            continue;
        s->n_steps += l->end - l->first;
        if (lw_ir_is_set(s->func, l->first, l->end, i) && is_carried(s, l, i))
            s->follows[i] = 1;
    }
    spread_all(s, l);
}

/* ---- how often ---- */

static lw_ref
through_casts(const search *s, lw_ref value)
{
    while (at(s, value)->op == LW_OP_CAST)
        value = at(s, value)->a;
    return value;
}

static bool
is_constant(const search *s, lw_ref value, int64_t *out)
{
    const lw_inst *inst = at(s, through_casts(s, value));

    if (inst->op != LW_OP_CONST || !lw_is_integer((lw_dtype)inst->type))
        return false;
    *out = (int64_t)s->func->constants.data[inst->a].bits;
    return true;
}

/* Reads the counter's value before the loop, and what each iteration adds to it. */
static bool
read_counter(const search *s, const loop *l, lw_ref slot, int64_t *start, int64_t *step)
{
    uint32_t n = 0, i = l->first;

    while (--i > slot && !(at(s, i)->op == LW_OP_SET && at(s, i)->a == slot))
        continue;
    if (i <= slot || !is_constant(s, at(s, i)->b, start))
        return false;
    for (i = l->first; i < l->end; i++) {
        const lw_inst *inst = at(s, i), *sum;

        if (inst->op != LW_OP_SET || inst->a != slot)
            continue;
        sum = at(s, through_casts(s, inst->b));
        if (n++ || sum->op != LW_OP_ADD || at(s, through_casts(s, sum->a))->op != LW_OP_GET ||
            at(s, through_casts(s, sum->a))->a != slot || !is_constant(s, sum->b, step))
            return false;
    }
    return n == 1;
}

/* The number of iterations of a loop that starts with `if not counter < n: break`; UNKNOWN for
 * other loops. */
static int64_t
iterations(const search *s, const loop *l)
{
    int64_t start = 0, step = 0, stop = 0;
    const lw_inst *test;
    uint32_t i = l->first + 1;

    while (i < l->end && !lw_ir_opens_region((lw_op)at(s, i)->op))
        i++;
    if (at(s, i)->op != LW_OP_IF)
        return UNKNOWN;
    test = at(s, at(s, i)->a);
    if (test->op == LW_OP_NOT)
        test = at(s, test->a);
    if (test->op != LW_OP_LT || !is_constant(s, test->b, &stop) ||
        at(s, through_casts(s, test->a))->op != LW_OP_GET ||
        !read_counter(s, l, at(s, through_casts(s, test->a))->a, &start, &step) || step <= 0)
        return UNKNOWN;
    return stop <= start ? 0 : (stop - start + step - 1) / step;
}

/* ---- sums ---- */

static bool
is_total(const search *s, const total *t, lw_ref value)
{
    const lw_inst *inst = at(s, value);

    return t->slot ? inst->op == LW_OP_GET && inst->a == t->slot : value == t->load;
}

/* Whether the value is the total with something added, found by following ADDs and the
 * operations that keep a value (casts, selects). *added: there is at least one addition. */
static bool
is_sum(search *s, const total *t, lw_ref value, bool *added, int depth)
{
    const lw_inst *inst = at(s, value);

    if (is_total(s, t, value))
        return true;
    if (depth == 0 || s->n_steps++ >= MOST_STEPS)
        return false;
    switch (inst->op) {
    case LW_OP_CAST: return is_sum(s, t, inst->a, added, depth - 1);
    case LW_OP_SELECT:
        return is_sum(s, t, inst->b, added, depth - 1) &&
               is_sum(s, t, inst->c, added, depth - 1);
    case LW_OP_ADD:
        *added = true;
        return is_sum(s, t, inst->a, added, depth - 1) ||
               is_sum(s, t, inst->b, added, depth - 1);
    case LW_OP_SUB: *added = true; return is_sum(s, t, inst->a, added, depth - 1);
    case LW_OP_FMA: *added = true; return is_sum(s, t, inst->c, added, depth - 1);
    default: return false;
    }
}

/* Whether something that is added depends on the total, whose dependents are marked. Walks as
 * is_sum does. */
static bool
adds_itself(search *s, const total *t, lw_ref value)
{
    const lw_inst *inst = at(s, value);
    bool added;

    if (is_total(s, t, value))
        return false;
    switch (inst->op) {
    case LW_OP_CAST: return adds_itself(s, t, inst->a);
    case LW_OP_SELECT: return adds_itself(s, t, inst->b) || adds_itself(s, t, inst->c);
    case LW_OP_SUB: return s->follows[inst->b] || adds_itself(s, t, inst->a);
    case LW_OP_FMA:
        return s->follows[inst->a] || s->follows[inst->b] || adds_itself(s, t, inst->c);
    default: break;
    }
    if (is_sum(s, t, inst->a, &added, MOST_CHAIN))
        return s->follows[inst->b] || adds_itself(s, t, inst->a);
    return s->follows[inst->a] || adds_itself(s, t, inst->b);
}

/* Whether the loop restarts the total in each iteration: before it adds, it sets the total to a
 * value that does not depend on it. */
static bool
starts_anew(const search *s, const loop *l, const total *t)
{
    lw_ref root = lw_ir_root(s->func, at(s, t->load)->a);

    for (uint32_t i = l->first; i < t->load; i++)
        if (at(s, i)->op == LW_OP_STORE && lw_ir_root(s->func, at(s, i)->a) == root &&
            !s->follows[at(s, i)->b])
            return true;
    return false;
}

/* Whether the total, whose dependents are marked, takes part in what the loop does next: it is
 * a counter or an index. */
static bool
steers(const search *s, const loop *l)
{
    for (uint32_t i = l->first; i < l->end; i++) {
        const lw_inst *inst = at(s, i);

        if (((inst->op == LW_OP_IF || inst->op == LW_OP_SELECT) && s->follows[inst->a]) ||
            (inst->op == LW_OP_OFFSET && any_operand_follows(s, inst)))
            return true;
    }
    return false;
}

/* Marks the values of the loop that depend on the total. */
static void
mark_followers(search *s, const loop *l, const total *t)
{
    forget(s);
    s->follows[t->slot ? t->slot : t->load] = 1;
    spread_all(s, l);
}

static bool
accumulates_over(search *s, const loop *l, const total *t)
{
    if (t->slot)
        return is_carried(s, l, t->slot);
    mark_varying(s, l);
    return !s->follows[at(s, t->load)->a];
}

/* Whether a comparison of floats that the loop itself computes can end it. Sums such as `t +=
 * dt` count as data, not as something that converges, so their variables are not marked. */
static bool
find_convergence(search *s, const loop *l)
{
    forget(s);
    for (uint32_t i = 1; i < s->func->insts.n; i++) {
        total t = {.slot = i};
        bool plain = true;

        if (at(s, i)->op != LW_OP_SLOT || !lw_is_float((lw_dtype)at(s, i)->type) ||
            !lw_ir_is_set(s->func, l->first, l->end, i) || !is_carried(s, l, i))
            continue;
        for (uint32_t k = l->first; k < l->end; k++)
            if (at(s, k)->op == LW_OP_SET && at(s, k)->a == i)
                plain &= is_sum(s, &t, at(s, k)->b, &(bool){false}, MOST_CHAIN);
        s->follows[i] = !plain;
    }
    spread_all(s, l);
    for (uint32_t i = l->first; i < l->end; i++)
        if (at(s, i)->op == LW_OP_IF && s->follows[at(s, i)->a] &&
            (at(s, i + 1)->op == LW_OP_BREAK || at(s, i + 1)->op == LW_OP_RETURN))
            return true;
    return false;
}

/* The answer is the same for every total of the loop, and costs a walk for every variable. */
static bool
converges(search *s, loop *l)
{
    if (l->converges == UNKNOWN) {
        s->n_steps += (uint64_t)(l->end - l->first) * 64;
        l->converges = find_convergence(s, l);
    }
    return l->converges;
}

/* n * times, UNKNOWN if either is; once beyond the limit, n does not grow any more. */
static int64_t
product(int64_t n, int64_t times, int64_t limit)
{
    return n == UNKNOWN || times == UNKNOWN ? UNKNOWN : n > limit ? n : n * times;
}

/* Whether all enclosing loops together run too few iterations, whatever they sum up. */
static bool
are_short(const search *s, int64_t limit)
{
    int64_t n = 1;

    for (uint32_t i = 0; i < s->n_loops; i++)
        n = product(n, s->loops[i].iterations, limit);
    return n != UNKNOWN && n <= limit;
}

/* Whether the loops that the total goes through, from the innermost outwards, make too many
 * additions. */
static bool
is_long(search *s, const total *t, lw_dtype dtype)
{
    int64_t n = 1, limit = harmless(dtype);
    const loop *outermost = NULL;

    if (are_short(s, limit))
        return false;
    for (uint32_t i = s->n_loops; i-- > 0;) {
        loop *l = &s->loops[i];

        if (!accumulates_over(s, l, t)) {
            if (t->slot)
                break;
            continue;
        }
        mark_followers(s, l, t);
        if (!t->slot && starts_anew(s, l, t))
            break;
        if (adds_itself(s, t, at(s, t->set)->b) || (lw_is_integer(dtype) && steers(s, l)) ||
            converges(s, l)) /* last: it marks others */
            return false;
        outermost = l;
        n = product(n, l->iterations, limit);
    }
    return outermost != NULL && (n == UNKNOWN || n > limit);
}

/* Whether two values of one iteration are computed in the same way. */
static bool
is_same(const search *s, lw_ref x, lw_ref y, int depth)
{
    const lw_inst *p = at(s, x), *q = at(s, y);
    uint32_t n = 0, m = 0;
    lw_ref of_p, of_q;

    if (x == y)
        return true;
    if (depth == 0 || p->op != q->op || p->type != q->type ||
        lw_ops[p->op].class == LW_CLASS_DECL || lw_ops[p->op].class == LW_CLASS_WRITE)
        return false;
    if (p->op == LW_OP_CONST)
        return s->func->constants.data[p->a].bits == s->func->constants.data[q->a].bits;
    if (p->op == LW_OP_PARAM || p->op == LW_OP_SREG || p->op == LW_OP_GET)
        return p->a == q->a;
    while (lw_ir_next_operand(s->func, p, &n, &of_p))
        if (!lw_ir_next_operand(s->func, q, &m, &of_q) || !is_same(s, of_p, of_q, depth - 1))
            return false;
    return n > 0 && p->op != LW_OP_INTRINSIC;
}

/* The LOAD, before the STORE, from the address that is stored to. */
static lw_ref
load_of(const search *s, lw_ref store, lw_ref value, int depth)
{
    const lw_inst *inst = at(s, value);
    uint32_t n = 0;
    lw_ref operand, load;

    if (inst->op == LW_OP_LOAD)
        return is_same(s, inst->a, at(s, store)->a, MOST_DEPTH) ? value : 0;
    if (depth == 0 || inst->op == LW_OP_GET || lw_op_is_call((lw_op)inst->op))
        return 0;
    while (lw_ir_next_operand(s->func, inst, &n, &operand))
        if ((load = load_of(s, store, operand, depth - 1)) != 0)
            return load;
    return 0;
}

static bool
is_narrow_sum(search *s, lw_ref i, lw_narrow_sum *out)
{
    enum { DEEP = 8 };
    const lw_inst *inst = at(s, i);
    bool is_set = inst->op == LW_OP_SET, added = false;
    lw_dtype dtype = (lw_dtype)at(s, is_set ? inst->a : inst->b)->type;
    total t = {.set = i, .slot = is_set ? inst->a : 0};

    if (harmless(dtype) == 0 || at(s, inst->b)->lanes > 1 ||
        (!is_set && lw_is_integer(dtype))) /* an array's type was chosen */
        return false;
    if (!is_set)
        t.load = load_of(s, i, inst->b, DEEP);
    if (t.slot + t.load == 0 || !is_sum(s, &t, inst->b, &added, MOST_CHAIN) || !added ||
        !is_long(s, &t, dtype))
        return false;
    *out = (lw_narrow_sum){.dtype = dtype, .at = i, .in_memory = !is_set};
    return true;
}

static void
enter_loop(search *s, uint32_t first)
{
    loop *l = &s->loops[s->n_loops++];

    *l = (loop){.first = first, .end = s->regions.ends[first], .converges = UNKNOWN};
    l->iterations = iterations(s, l);
}

static void
look(search *s, lw_narrow_sum *out)
{
    for (uint32_t i = 1; i < s->func->insts.n && out->at == 0 && s->n_steps < MOST_STEPS; i++) {
        const lw_inst *inst = at(s, i);

        while (s->n_loops > 0 && s->loops[s->n_loops - 1].end <= i)
            s->n_loops--;
        if (inst->op == LW_OP_LOOP && s->n_loops < MOST_LOOPS && s->regions.ends[i])
            enter_loop(s, i);
        if (s->n_loops > 0 && i > s->after &&
            (inst->op == LW_OP_SET || inst->op == LW_OP_STORE))
            is_narrow_sum(s, i, out);
    }
}

lw_status
lw_find_narrow_sum(const lw_func *func, lw_ref after, lw_narrow_sum *out, lw_error *err)
{
    search s = {.func = func, .after = after};
    lw_status status = LW_OK;

    *out = (lw_narrow_sum){0};
    lw_arena_init(&s.arena);
    s.follows = lw_arena_take(&s.arena, func->insts.n + 1);
    s.holds = lw_arena_take(&s.arena, func->insts.n + 1);
    if (s.follows != NULL && s.holds != NULL && lw_ir_regions_init(&s.regions, func))
        look(&s, out);
    else
        status = lw_fail_memory(err);
    lw_ir_regions_reset(&s.regions);
    lw_arena_reset(&s.arena);
    return status;
}
