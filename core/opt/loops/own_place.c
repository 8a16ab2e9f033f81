/* Elements that one iteration alone reaches: an axis has an index of its own in each iteration,
 * or the indices of several axes, among them quotients and remainders, tell its number. */
#include "core/opt/loops/dependence_internal.h"

#include "core/base/divider.h"
#include "core/ir/thread_names.h"
#include "core/opt/counted.h"

#include <stdlib.h>
#include <string.h>

bool
lw_place_of_access(const lw_parallel_loop *p, const uint8_t *on, uint32_t at, lw_place *out)
{
    lw_ref root = lw_loop_inst(p, at)->a;

    *out = (lw_place){.at = at};
    for (uint32_t depth = 0; lw_loop_inst(p, root)->op == LW_OP_OFFSET; depth++) {
        lw_index_sum more;
        if (depth == LW_INDEX_DEPTH || !lw_index_sum_of(p, lw_loop_inst(p, root)->b, &more) ||
            !lw_index_add(p, &out->offset, &more, 1))
            return false;
        root = lw_loop_inst(p, root)->a;
    }
    out->root = root;
    return (on[root] & LW_ON_COUNTER) == 0;
}

/* Whether the factor depends on the iteration's number, and is not the number itself. */
static bool
is_derived(const lw_parallel_loop *p, const uint8_t *on, lw_ref factor)
{
    return !lw_loop_is_counter(p, factor) && (on[factor] & LW_ON_COUNTER) != 0;
}

bool
lw_index_has_derived(const lw_parallel_loop *p, const uint8_t *on, const lw_index_term *t)
{
    for (uint32_t k = 0; k < t->n; k++)
        if (is_derived(p, on, t->factors[k]))
            return true;
    return false;
}

/* A term of an index, taken apart. */
typedef struct split_term {
    lw_index_term fixed; /* what all iterations share: its factors, with the term's scale */
    uint32_t n_own;      /* how many other factors the iteration's number decides */
    lw_ref inner;        /* the factor that a loop in the iteration counts; 0: none */
} split_term;

static split_term
split(const lw_parallel_loop *p, const uint8_t *on, const lw_index_term *t)
{
    split_term s = {.fixed = *t};

    s.fixed.n = 0;
    for (uint32_t k = 0; k < t->n; k++)
        if (lw_loop_is_counter(p, t->factors[k]) || is_derived(p, on, t->factors[k]))
            s.n_own++;
        else if (on[t->factors[k]] & LW_ON_INNER)
            s.inner = t->factors[k];
        else
            s.fixed.factors[s.fixed.n++] = t->factors[k];
    return s;
}

static bool
is_constant(const lw_parallel_loop *p, lw_ref value, int64_t *number)
{
    const lw_inst *inst = lw_loop_inst(p, value);

    *number = inst->op == LW_OP_CONST ? (int64_t)p->s.func->constants.data[inst->a].bits : 0;
    return inst->op == LW_OP_CONST && llabs(*number) <= LW_INDEX_MOST_SCALE;
}

/* The counted loop of this counter, in an iteration; false: there is none. */
static bool
loop_of_slot(const lw_parallel_loop *p, lw_ref slot, lw_counted_loop *loop)
{
    for (uint32_t at = p->l.first; at < p->l.latch; at++)
        if (lw_loop_inst(p, at)->op == LW_OP_LOOP &&
            lw_counted_loop_of_any(p->s.func, &p->s.regions, at, loop) && loop->slot == slot)
            return true;
    return false;
}

/* The value of a variable that is assigned once in an iteration; 0: it is not. */
static lw_ref
only_value(const lw_parallel_loop *p, lw_ref slot)
{
    lw_ref found = 0;

    for (uint32_t i = p->l.first; i < p->l.latch; i++)
        if (lw_loop_inst(p, i)->op == LW_OP_SET && lw_loop_inst(p, i)->a == slot) {
            if (found != 0)
                return 0;
            found = lw_loop_inst(p, i)->b;
        }
    return found;
}

/* The value without constants that are added to it, and without conversions. */
static lw_ref
without_constants(const lw_parallel_loop *p, lw_ref value)
{
    const lw_inst *inst = lw_loop_inst(p, value);
    int64_t number;

    while (lw_index_is_wide_cast(p, inst) ||
           ((inst->op == LW_OP_ADD || inst->op == LW_OP_SUB) &&
            is_constant(p, inst->b, &number))) {
        value = inst->a;
        inst = lw_loop_inst(p, value);
    }
    return value;
}

/* How many iterations the inner loop has whose counter is this value; 0: that is no constant.
 */
static int64_t
inner_count(const lw_parallel_loop *p, lw_ref value)
{
    lw_counted_loop loop = {0};
    int64_t start, limit;

    for (int steps = 0; value != 0 && lw_loop_inst(p, value)->op == LW_OP_GET; steps++) {
        if (loop_of_slot(p, lw_loop_inst(p, value)->a, &loop))
            break;
        value = steps < LW_INDEX_DEPTH ? only_value(p, lw_loop_inst(p, value)->a) : 0;
        value = value != 0 ? without_constants(p, value) : 0;
    }
    if (loop.at == 0 || !is_constant(p, loop.limit, &limit))
        return 0;
    for (uint32_t i = loop.at; i-- > p->l.first;)
        if (lw_loop_inst(p, i)->op == LW_OP_SET && lw_loop_inst(p, i)->a == loop.slot)
            return is_constant(p, lw_loop_inst(p, i)->b, &start) && start < limit
                       ? limit - start
                       : 0;
    return 0;
}

/* Whether blocks of elements through which an inner loop counts overlap, as those of x[i + k]
 * do, and those of x[2 * i + k] if k is counted up to 2 or more. Blocks of other strides than
 * the iterations' whose length is no constant are assumed to be apart. `t`: the inner loop's
 * term. */
static bool
overlap(const lw_parallel_loop *p, const split_term *own, const lw_index_term *t, lw_ref inner)
{
    int64_t stride = llabs(own->fixed.scale), step = llabs(t->scale), count = 0;

    if (t->n == own->fixed.n + 1 || t->n == 1)
        count = inner_count(p, inner);
    if (count == 0 || step == 0)
        return stride == step;
    return (count - 1) >=
           stride / (int64_t)lw_greatest_divisor((uint64_t)stride, (uint64_t)step);
}

/* What the term that an axis' index seems to be shares with another term of the sum. */
typedef enum meeting {
    APART,    /* nothing: another stride, or the same in all iterations */
    IN_BLOCK, /* blocks of elements that a loop in the iteration counts through overlap */
    IN_STRIDE /* the other term differs from iteration to iteration, too, by the same stride */
} meeting;

static meeting
meeting_of(const lw_parallel_loop *p, const uint8_t *on, const split_term *own,
           const lw_index_term *t)
{
    const split_term other = split(p, on, t);

    if (!lw_index_same_factors(p, &own->fixed, &other.fixed))
        return APART;
    if (other.n_own != 0)
        return IN_STRIDE;
    return other.inner != 0 && overlap(p, own, t, other.inner) ? IN_BLOCK : APART;
}

/* Whether the term is the index of an axis of its own, as i is in x[i, i % 4] and not in x[i +
 * i % 4] or x[i + k], where a loop in the iteration counts k: all other terms are apart. */
static bool
is_axis(const lw_parallel_loop *p, const uint8_t *on, const lw_index_sum *s, uint32_t which)
{
    const split_term own = split(p, on, &s->terms[which]);

    if (own.n_own != 1 || own.inner != 0)
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        if (i != which && meeting_of(p, on, &own, &s->terms[i]) != APART)
            return false;
    return true;
}

bool
lw_place_overlaps(const lw_parallel_loop *p, const uint8_t *on, uint32_t store)
{
    lw_place to;

    if (!lw_place_of_access(p, on, store, &to))
        return false;
    for (uint32_t k = 0; k < to.offset.n; k++) {
        const split_term own = split(p, on, &to.offset.terms[k]);
        if (own.n_own != 1 || own.inner != 0 ||
            lw_index_has_derived(p, on, &to.offset.terms[k]))
            continue;
        for (uint32_t i = 0; i < to.offset.n; i++)
            if (i != k && meeting_of(p, on, &own, &to.offset.terms[i]) == IN_BLOCK)
                return true;
    }
    return false;
}

static bool
has_axis(const lw_parallel_loop *p, const uint8_t *on, const lw_index_sum *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (is_axis(p, on, s, i))
            return true;
    return false;
}

enum { MOST_KNOWN = LW_INDEX_TERMS };

/* The values that follow from an element's place: the indices of its axes. */
typedef struct known_values {
    uint32_t n;
    lw_ref of[MOST_KNOWN];
} known_values;

bool
lw_index_counts_iterations(const lw_parallel_loop *p, const uint8_t *on, lw_ref value,
                           int64_t *step)
{
    lw_index_sum s, each;

    if (!lw_index_sum_of(p, value, &s) || !lw_index_step(p, &s, &each) || each.n != 1 ||
        each.terms[0].n != 0)
        return false;
    for (uint32_t i = 0; i < s.n; i++)
        if (lw_index_has_derived(p, on, &s.terms[i]))
            return false;
    *step = each.terms[0].scale;
    return *step != 0;
}

static bool
has_inner(const lw_parallel_loop *p, const uint8_t *on, lw_ref value)
{
    lw_index_sum s;

    if (!lw_index_sum_of(p, value, &s))
        return true;
    for (uint32_t i = 0; i < s.n; i++)
        for (uint32_t k = 0; k < s.terms[i].n; k++)
            if (on[s.terms[i].factors[k]] & LW_ON_INNER)
                return true;
    return false;
}

/* Whether the loop has at most as many iterations as this number says: it is that of
 * `range(n)`, or both are constants. */
static bool
is_limit(const lw_parallel_loop *p, lw_index_sum number)
{
    const lw_inst *limit = lw_loop_inst(p, p->l.limit);
    lw_index_sum n;

    if (!lw_index_sum_of(p, limit->op == LW_OP_SELECT ? limit->b : p->l.limit, &n) ||
        (limit->op == LW_OP_SELECT && lw_loop_inst(p, limit->c)->op != LW_OP_CONST))
        return false;
    if (n.n == 1 && number.n == 1 && n.terms[0].n == 0 && number.terms[0].n == 0)
        return n.terms[0].scale > 0 && n.terms[0].scale <= number.terms[0].scale;
    return lw_index_add(p, &number, &n, -1) && number.n == 0;
}

/* Whether the value differs in each iteration by itself: k // 2 where k grows by 2, and (k + 1)
 * % n in a loop over range(n). */
static bool
tells_number(const lw_parallel_loop *p, const uint8_t *on, lw_ref value)
{
    lw_index_division d;
    lw_index_sum by;
    int64_t step, whole;

    if (!lw_index_division_of(p, value, &d) || has_inner(p, on, d.a) ||
        !lw_index_counts_iterations(p, on, d.a, &step))
        return false;
    whole = lw_index_constant_divisor(p, &d);
    if (!d.is_remainder)
        return d.floors && whole != 0 && step % whole == 0;
    return llabs(step) == 1 && lw_index_divisor(p, &d, &by) && is_limit(p, by);
}

/* a // b and a % b tell what a is. Whether the iteration's number follows in the end, as from
 * k // n and k % n. */
static bool
follows(const lw_parallel_loop *p, const uint8_t *on, known_values *known)
{
    int64_t step;

    for (uint32_t i = 0; i < known->n; i++)
        for (uint32_t k = 0; k < known->n; k++) {
            lw_index_division x, y;
            if (!lw_index_division_of(p, known->of[i], &x) ||
                !lw_index_division_of(p, known->of[k], &y))
                continue;
            if (lw_index_is_pair_of_axes(p, &x, &y))
                x.a = y.a;
            else if (!lw_index_is_pair(p, &x, &y))
                continue;
            if (lw_index_counts_iterations(p, on, x.a, &step))
                return true;
            known->of[i] = x.a;
            known->of[k] = known->of[--known->n];
            return follows(p, on, known);
        }
    for (uint32_t i = 0; i < known->n; i++)
        if (tells_number(p, on, known->of[i]))
            return true;
    return false;
}

/* The one factor of a term that has a constant stride besides; 0: it is no such term. */
static lw_ref
only_factor(const lw_index_term *t)
{
    return t->n == 1 ? t->factors[0] : 0;
}

/* k // 2 * 4 + k % 2: the remainder is smaller than the stride of the quotient. */
static bool
is_quotient_and_remainder(const lw_parallel_loop *p, const uint8_t *on, const lw_index_sum *s)
{
    const lw_index_term *found[2] = {NULL};
    uint32_t n = 0;
    lw_index_division x, y;
    int64_t by, step;

    for (uint32_t i = 0; i < s->n; i++)
        if (s->terms[i].n > 0) {
            if (n == 2)
                return false;
            found[n++] = &s->terms[i];
        }
    if (n != 2 || !only_factor(found[0]) || !only_factor(found[1]) ||
        !lw_index_division_of(p, only_factor(found[0]), &x) ||
        !lw_index_division_of(p, only_factor(found[1]), &y))
        return false;
    if (x.is_remainder) {
        const lw_index_term *first = found[0];
        const lw_index_division swapped = x;
        found[0] = found[1];
        found[1] = first;
        x = y;
        y = swapped;
    }
    by = lw_index_is_pair(p, &x, &y) ? lw_index_constant_divisor(p, &y) : 0;
    return by != 0 && y.floors && by <= LW_INDEX_MOST_SCALE &&
           llabs(found[1]->scale) <= LW_INDEX_MOST_SCALE &&
           llabs(found[0]->scale) >= llabs(found[1]->scale) * by &&
           lw_index_counts_iterations(p, on, x.a, &step);
}

bool
lw_place_is_settled(const lw_parallel_loop *p, const uint8_t *on, lw_ref address)
{
    for (uint32_t k = 0; lw_loop_inst(p, address)->op == LW_OP_OFFSET && k < LW_INDEX_DEPTH;
         k++) {
        if (on[lw_loop_inst(p, address)->b] & LW_ON_INNER)
            return false;
        address = lw_loop_inst(p, address)->a;
    }
    return (on[address] & LW_ON_COUNTER) == 0;
}

bool
lw_parallel_has_own_axis(const lw_parallel_loop *p, const uint8_t *on, uint32_t store)
{
    lw_place to;

    if (!lw_place_of_access(p, on, store, &to) || to.offset.by_hand)
        return false;
    for (uint32_t i = 0; i < to.offset.n; i++)
        if (is_axis(p, on, &to.offset, i) && !lw_index_has_derived(p, on, &to.offset.terms[i]))
            return true;
    return false;
}

bool
lw_parallel_is_own_place(const lw_parallel_loop *p, const uint8_t *on, uint32_t store)
{
    known_values known = {0};
    bool derived = false;
    lw_place to;
    lw_index_sum step;

    if (!lw_place_of_access(p, on, store, &to))
        return true; /* it is not of the form that is looked at */
    for (uint32_t i = 0; i < to.offset.n; i++)
        derived |= lw_index_has_derived(p, on, &to.offset.terms[i]);
    if (to.offset.by_hand && lw_place_is_settled(p, on, lw_loop_inst(p, store)->a))
        return false; /* x[i * w]: all iterations have one element if w is 0 */
    if (!derived)
        return lw_index_step(p, &to.offset, &step) && has_axis(p, on, &to.offset);
    for (uint32_t i = 0; i < to.offset.n; i++) {
        const lw_index_term *t = &to.offset.terms[i];
        if (!is_axis(p, on, &to.offset, i))
            continue;
        if (!lw_index_has_derived(p, on, t))
            return true;
        for (uint32_t k = 0; k < t->n; k++)
            if (is_derived(p, on, t->factors[k]))
                known.of[known.n++] = t->factors[k];
    }
    return follows(p, on, &known) || is_quotient_and_remainder(p, on, &to.offset);
}

bool
lw_parallel_is_thread_id(const lw_parallel_loop *p, const lw_inst *inst)
{
    return inst->op == LW_OP_HOST_CALL &&
           strcmp(p->module->externs.data[inst->a].name, LW_THREAD_ID) == 0;
}

bool
lw_place_is_of_thread(const lw_parallel_loop *p, const uint8_t *on, uint32_t store)
{
    lw_place to;

    if (!lw_place_of_access(p, on, store, &to))
        return false;
    for (uint32_t i = 0; i < to.offset.n; i++)
        for (uint32_t k = 0; k < to.offset.terms[i].n; k++)
            if (lw_parallel_is_thread_id(p, lw_loop_inst(p, to.offset.terms[i].factors[k])) &&
                is_axis(p, on, &to.offset, i))
                return true;
    return false;
}
