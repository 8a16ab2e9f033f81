/* Places as polynomials: an address is its array's and a sum of terms, each a constant times
 * values that the iterations share (extents, counters of inner loops) and, perhaps, the
 * iteration's number. Two places that differ by d times what one iteration adds are d
 * iterations apart (the distance test of K. Kennedy, R. Allen, "Optimizing compilers for modern
 * architectures", 2001, with symbols among the strides). Whatever is not of that form is
 * taken as independent. */
#include "core/opt/loops/parallel_internal.h"

#include "core/ir/operands.h"
#include "core/ir/thread_names.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_TERMS = 12,
    MOST_FACTORS = 8, /* an index for each dimension, and the extents behind it */
    MOST_DEPTH = 16,
    MOST_STEPS = 8, /* where each step has several ways: through the SETs of a variable */
    MOST_PLACES = 128,
    NEAR = 2 /* iterations: conditions on the number let some that are so near meet */
};

static const int64_t MOST_SCALE = INT64_C(1) << 30;

typedef struct term {
    int64_t scale;
    uint32_t n;
    lw_ref factors[MOST_FACTORS];
} term;

/* by_hand: the program has multiplied by a number that may be zero, and not only by extents. */
typedef struct sum {
    uint32_t n;
    term terms[MOST_TERMS];
    bool by_hand;
} sum;

typedef struct place {
    uint32_t at; /* the LOAD or STORE */
    lw_ref root;
    sum offset;
} place;

static const lw_inst *
inst_of(const lw_parallel_loop *p, lw_ref ref)
{
    return &p->s.func->insts.data[ref];
}

static bool
is_counter(const lw_parallel_loop *p, lw_ref ref)
{
    return inst_of(p, ref)->op == LW_OP_GET && inst_of(p, ref)->a == p->l.counter;
}

/* ---- equal values ---- */

/* Whether the variable has one value at both GETs, of one iteration of all loops around. */
static bool
is_same_get(const lw_parallel_loop *p, lw_ref x, lw_ref y)
{
    lw_ref first = x < y ? x : y, last = x < y ? y : x, slot = inst_of(p, x)->a;

    if (slot != inst_of(p, y)->a)
        return false;
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = inst_of(p, i);
        bool between = i > first && i < last;
        if (between && inst->op == LW_OP_SET && inst->a == slot)
            return false;
        if (inst->op == LW_OP_LOOP && (i < first && p->s.regions.ends[i] > first) !=
                                          (i < last && p->s.regions.ends[i] > last))
            return false;
    }
    return true;
}

static bool
is_same(const lw_parallel_loop *p, lw_ref x, lw_ref y, uint32_t depth)
{
    const lw_inst *u = inst_of(p, x), *v = inst_of(p, y);
    uint32_t at = 0, beside = 0;
    lw_ref a, b;

    if (x == y || (is_counter(p, x) && is_counter(p, y)))
        return true;
    if (depth == 0 || u->op != v->op || u->type != v->type || u->lanes != v->lanes)
        return false;
    if (u->op == LW_OP_CONST)
        return p->s.func->constants.data[u->a].bits == p->s.func->constants.data[v->a].bits;
    if (u->op == LW_OP_GET)
        return is_same_get(p, x, y);
    if (u->op == LW_OP_PARAM)
        return u->a == v->a;
    if ((lw_ops[u->op].class != LW_CLASS_PURE && u->op != LW_OP_LOAD) ||
        u->op == LW_OP_RESULT || u->op == LW_OP_LANE || u->op == LW_OP_INTRINSIC ||
        u->op == LW_OP_SLOT)
        return false;
    while (lw_ir_next_operand(p->s.func, u, &at, &a))
        if (!lw_ir_next_operand(p->s.func, v, &beside, &b) || !is_same(p, a, b, depth - 1))
            return false;
    return true;
}

bool
lw_parallel_same(const lw_parallel_loop *p, lw_ref x, lw_ref y)
{
    return is_same(p, x, y, MOST_DEPTH);
}

static bool
are_same_factors(const lw_parallel_loop *p, const term *x, const term *y)
{
    uint32_t taken = 0;

    if (x->n != y->n)
        return false;
    for (uint32_t i = 0; i < x->n; i++) {
        uint32_t k = 0;
        while (k < y->n &&
               ((taken >> k & 1) || !is_same(p, x->factors[i], y->factors[k], MOST_DEPTH)))
            k++;
        if (k == y->n)
            return false;
        taken |= 1u << k;
    }
    return true;
}

/* ---- sums ---- */

/* So that products and sums of two stay far from the largest number. */
static bool
is_small(int64_t scale)
{
    return scale >= -MOST_SCALE && scale <= MOST_SCALE;
}

static bool
add_term(const lw_parallel_loop *p, sum *s, const term *more, int64_t scale)
{
    if (!is_small(more->scale) || !is_small(scale))
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        if (are_same_factors(p, &s->terms[i], more)) {
            if (!is_small(s->terms[i].scale))
                return false;
            s->terms[i].scale += more->scale * scale;
            if (s->terms[i].scale == 0)
                s->terms[i] = s->terms[--s->n];
            return true;
        }
    if (s->n == MOST_TERMS)
        return false;
    s->terms[s->n] = *more;
    s->terms[s->n++].scale *= scale;
    return true;
}

static bool
add_sum(const lw_parallel_loop *p, sum *s, const sum *more, int64_t scale)
{
    s->by_hand |= more->by_hand;
    for (uint32_t i = 0; i < more->n; i++)
        if (!add_term(p, s, &more->terms[i], scale))
            return false;
    return true;
}

static bool
multiply(const lw_parallel_loop *p, const sum *x, const sum *y, sum *out)
{
    *out = (sum){.by_hand = x->by_hand || y->by_hand};
    for (uint32_t i = 0; i < x->n; i++)
        for (uint32_t k = 0; k < y->n; k++) {
            term one = x->terms[i];
            if (one.n + y->terms[k].n > MOST_FACTORS || llabs(one.scale) > MOST_SCALE)
                return false;
            memcpy(one.factors + one.n, y->terms[k].factors,
                   y->terms[k].n * sizeof *one.factors);
            one.n += y->terms[k].n;
            if (!add_term(p, out, &one, y->terms[k].scale))
                return false;
        }
    return true;
}

static bool
is_zero(const lw_parallel_loop *p, lw_ref value)
{
    const lw_inst *inst = inst_of(p, value);

    return inst->op == LW_OP_CONST && p->s.func->constants.data[inst->a].bits == 0;
}

/* i < 0, or x < y where i is x - y. */
static bool
asks_for_sign(const lw_parallel_loop *p, const lw_inst *test, lw_ref i)
{
    const lw_inst *number = inst_of(p, i);

    if (test->op != LW_OP_LT)
        return false;
    if (is_zero(p, test->b) && is_same(p, test->a, i, MOST_DEPTH))
        return true;
    if (number->op == LW_OP_CAST)
        number = inst_of(p, number->a);
    return number->op == LW_OP_SUB && number->a == test->a && number->b == test->b;
}

/* `i + n if i < 0 else i`: an index that may count from the end. 0: it is none. */
static lw_ref
unwrapped(const lw_parallel_loop *p, const lw_inst *inst)
{
    const lw_inst *wrapped = inst_of(p, inst->b);

    return asks_for_sign(p, inst_of(p, inst->a), inst->c) && wrapped->op == LW_OP_ADD &&
                   (wrapped->a == inst->c || wrapped->b == inst->c)
               ? inst->c
               : 0;
}

/* Whether the CAST keeps the numbers that indices have: np.uint8(i) does not. */
static bool
is_wide_cast(const lw_parallel_loop *p, const lw_inst *inst)
{
    lw_dtype from = (lw_dtype)inst_of(p, inst->a)->type;

    return lw_is_integer(from) && (lw_dtypes[inst->type].bits >= 32 ||
                                   lw_dtypes[inst->type].bits >= lw_dtypes[from].bits);
}

static bool
is_constant_sum(const sum *s)
{
    return s->n == 0 || (s->n == 1 && s->terms[0].n == 0);
}

static bool
sum_of(const lw_parallel_loop *p, lw_ref value, uint32_t depth, sum *out)
{
    const lw_inst *inst = inst_of(p, value);
    sum x, y;

    *out = (sum){0};
    if (depth == 0 || !lw_is_integer((lw_dtype)inst->type) || inst->lanes > 1)
        return false;
    switch (inst->op) {
    case LW_OP_CONST: {
        term one = {.scale = (int64_t)p->s.func->constants.data[inst->a].bits};
        return one.scale == 0 || add_term(p, out, &one, 1);
    }
    case LW_OP_CAST:
        if (is_wide_cast(p, inst))
            return sum_of(p, inst->a, depth - 1, out);
        break;
    case LW_OP_SELECT:
        if (unwrapped(p, inst) != 0)
            return sum_of(p, unwrapped(p, inst), depth - 1, out);
        break;
    case LW_OP_ADD:
    case LW_OP_SUB:
        return sum_of(p, inst->a, depth - 1, out) && sum_of(p, inst->b, depth - 1, &x) &&
               add_sum(p, out, &x, inst->op == LW_OP_ADD ? 1 : -1);
    case LW_OP_MUL:
        if (!sum_of(p, inst->a, depth - 1, &x) || !sum_of(p, inst->b, depth - 1, &y) ||
            !multiply(p, &x, &y, out))
            return false;
        out->by_hand |=
            !(inst->flags & LW_NO_WRAP) && !is_constant_sum(&x) && !is_constant_sum(&y);
        return true;
    default: break;
    }
    return add_term(p, out, &(term){.scale = 1, .n = 1, .factors = {value}}, 1);
}

/* ---- places ---- */

/* false: it is no such sum, or of an array that depends on the iteration. */
static bool
offset_of(const lw_parallel_loop *p, const uint8_t *on, uint32_t at, place *out)
{
    lw_ref root = inst_of(p, at)->a;

    *out = (place){.at = at};
    for (uint32_t depth = 0; inst_of(p, root)->op == LW_OP_OFFSET; depth++) {
        sum more;
        if (depth == MOST_DEPTH || !sum_of(p, inst_of(p, root)->b, MOST_DEPTH, &more) ||
            !add_sum(p, &out->offset, &more, 1))
            return false;
        root = inst_of(p, root)->a;
    }
    out->root = root;
    return (on[root] & LW_ON_COUNTER) == 0;
}

/* Whether the factor depends on the iteration's number, and is not the number itself. */
static bool
is_derived(const lw_parallel_loop *p, const uint8_t *on, lw_ref factor)
{
    return !is_counter(p, factor) && (on[factor] & LW_ON_COUNTER) != 0;
}

static bool
has_derived(const lw_parallel_loop *p, const uint8_t *on, const term *t)
{
    for (uint32_t k = 0; k < t->n; k++)
        if (is_derived(p, on, t->factors[k]))
            return true;
    return false;
}

static bool
place_of(const lw_parallel_loop *p, const uint8_t *on, uint32_t at, place *out)
{
    if (!offset_of(p, on, at, out))
        return false;
    for (uint32_t i = 0; i < out->offset.n; i++)
        if (has_derived(p, on, &out->offset.terms[i]))
            return false;
    return true;
}

/* What one iteration adds to the place; false: it is not the same for all. */
static bool
step_of(const lw_parallel_loop *p, const sum *s, sum *step)
{
    *step = (sum){0};
    for (uint32_t i = 0; i < s->n; i++) {
        term one = s->terms[i];
        uint32_t n = 0, counters = 0;
        for (uint32_t k = 0; k < one.n; k++)
            if (is_counter(p, one.factors[k]))
                counters++;
            else
                one.factors[n++] = one.factors[k];
        one.n = n;
        if (counters > 1 || (counters == 1 && !add_term(p, step, &one, 1)))
            return false;
    }
    return step->n > 0;
}

/* How many iterations one place is behind the other; 0: none, or no constant number. */
static int64_t
distance(const lw_parallel_loop *p, const place *from, const place *to)
{
    sum step, apart = to->offset;
    int64_t d = 0;

    if (!is_same(p, from->root, to->root, MOST_DEPTH) || !step_of(p, &from->offset, &step) ||
        !add_sum(p, &apart, &from->offset, -1))
        return 0;
    for (uint32_t i = 0; i < apart.n; i++)
        if (are_same_factors(p, &apart.terms[i], &step.terms[0]) &&
            apart.terms[i].scale % step.terms[0].scale == 0)
            d = apart.terms[i].scale / step.terms[0].scale;
    return d != 0 && llabs(d) <= MOST_SCALE && add_sum(p, &apart, &step, -d) && apart.n == 0
               ? d
               : 0;
}

/* ---- places of one iteration each ---- */

/* What the term is multiplied by that all iterations share. *n: how many of its factors the
 * iteration's number decides; *inner: whether a loop in the iteration counts another. */
static term
fixed_part(const lw_parallel_loop *p, const uint8_t *on, const term *t, uint32_t *n,
           bool *inner)
{
    term rest = *t;

    rest.n = *n = 0;
    *inner = false;
    for (uint32_t k = 0; k < t->n; k++)
        if (is_counter(p, t->factors[k]) || is_derived(p, on, t->factors[k]))
            ++*n;
        else if (on[t->factors[k]] & LW_ON_INNER)
            *inner = true;
        else
            rest.factors[rest.n++] = t->factors[k];
    return rest;
}

/* Whether the term is the index of an axis of its own, as i is in x[i, i % 4] and not in x[i +
 * i % 4] or x[i + k], where a loop in the iteration counts k: no other term that differs from
 * iteration to iteration has its stride, nor one that an inner loop counts in equal steps. */
static bool
is_axis(const lw_parallel_loop *p, const uint8_t *on, const sum *s, uint32_t which)
{
    uint32_t n;
    bool inner;
    term own = fixed_part(p, on, &s->terms[which], &n, &inner);

    if (n != 1 || inner)
        return false;
    for (uint32_t i = 0; i < s->n; i++) {
        term other = fixed_part(p, on, &s->terms[i], &n, &inner);
        if (i != which && are_same_factors(p, &own, &other) &&
            (n != 0 || (inner && llabs(own.scale) == llabs(other.scale))))
            return false;
    }
    return true;
}

static bool
has_axis(const lw_parallel_loop *p, const uint8_t *on, const sum *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (is_axis(p, on, s, i))
            return true;
    return false;
}

/* `a // b` or `a % b`. b of constants that are powers of two is their exponent. floors: the
 * quotient is rounded down, and the remainder has the sign of b, as in Python; else towards 0,
 * as in np.fmod. */
typedef struct division {
    bool is_remainder, is_shift, floors;
    lw_ref a, b;
    int64_t bits;
} division;

static bool
shift_of(const lw_parallel_loop *p, const lw_inst *inst, division *out)
{
    const lw_inst *by = inst_of(p, inst->b);
    uint64_t value;

    if (by->op != LW_OP_CONST)
        return false;
    value = p->s.func->constants.data[by->a].bits;
    *out = (division){
        .is_remainder = inst->op == LW_OP_AND, .is_shift = true, .floors = true, .a = inst->a};
    if (!out->is_remainder)
        out->bits = (int64_t)value;
    else if ((value & (value + 1)) != 0 || value == UINT64_MAX)
        return false;
    while (out->is_remainder && value >> out->bits != 0)
        out->bits++;
    return true;
}

/* Whether these are the results of one division of the processor. */
static bool
is_of_division(const lw_parallel_loop *p, const lw_inst *inst, const division *d)
{
    return (inst->op == LW_OP_DIV || inst->op == LW_OP_REM) &&
           is_same(p, inst->a, d->a, MOST_DEPTH) && is_same(p, inst->b, d->b, MOST_DEPTH);
}

/* `r != 0 and (r ^ b) < 0`, where r is the remainder: whether rounding down differs. */
static bool
asks_for_rounding(const lw_parallel_loop *p, const lw_inst *test, const division *d)
{
    const lw_inst *some = inst_of(p, test->a), *below, *signs;

    if (test->op != LW_OP_AND || some->op != LW_OP_NE || !is_zero(p, some->b))
        return false;
    below = inst_of(p, test->b);
    if (below->op != LW_OP_LT || !is_zero(p, below->b))
        return false;
    signs = inst_of(p, below->a);
    return signs->op == LW_OP_XOR && is_same(p, signs->a, some->a, MOST_DEPTH) &&
           is_same(p, signs->b, d->b, MOST_DEPTH) && inst_of(p, some->a)->op == LW_OP_REM &&
           is_of_division(p, inst_of(p, some->a), d);
}

/* Whether the SELECT rounds down what it selects from, as lw_int_divmod does. */
static bool
rounds_down(const lw_parallel_loop *p, const lw_inst *select, const division *d)
{
    const lw_inst *moved = inst_of(p, select->b);

    return !d->is_shift && asks_for_rounding(p, inst_of(p, select->a), d) &&
           moved->op == (d->is_remainder ? LW_OP_ADD : LW_OP_SUB) &&
           is_same(p, moved->a, select->c, MOST_DEPTH) &&
           (!d->is_remainder || is_same(p, moved->b, d->b, MOST_DEPTH));
}

/* Whether the SELECT gives 0 where the divisor is 0. */
static bool
guards_zero(const lw_parallel_loop *p, const lw_inst *select, const division *d)
{
    const lw_inst *test = inst_of(p, select->a), *safe;

    if (d->is_shift || test->op != LW_OP_EQ || !is_zero(p, test->b) || !is_zero(p, select->b))
        return false;
    safe = inst_of(p, d->b);
    return is_same(p, test->a, d->b, MOST_DEPTH) ||
           (safe->op == LW_OP_SELECT && is_same(p, test->a, safe->c, MOST_DEPTH));
}

/* The division that makes this value. Of SELECTs, only those of lw_int_divmod belong to it:
 * 0 if x else k // 2 is the same in many iterations. */
static bool
division_within(const lw_parallel_loop *p, lw_ref value, uint32_t depth, division *out)
{
    const lw_inst *inst = inst_of(p, value);

    if (depth == 0)
        return false;
    switch (inst->op) {
    case LW_OP_DIV:
    case LW_OP_REM:
        *out = (division){.is_remainder = inst->op == LW_OP_REM,
                          .floors = !lw_is_signed((lw_dtype)inst->type),
                          .a = inst->a,
                          .b = inst->b};
        return true;
    case LW_OP_SHR:
    case LW_OP_AND: return shift_of(p, inst, out);
    case LW_OP_SELECT:
        if (!division_within(p, inst->c, depth - 1, out))
            return false;
        if (!out->floors && rounds_down(p, inst, out))
            return out->floors = true;
        return guards_zero(p, inst, out);
    case LW_OP_CAST:
        return is_wide_cast(p, inst) && division_within(p, inst->a, depth - 1, out);
    default: return false;
    }
}

static bool
division_of(const lw_parallel_loop *p, lw_ref value, division *out)
{
    return division_within(p, value, MOST_DEPTH, out);
}

/* A divisor as a sum: behind the choice of 1 where it is 0. */
static bool
divisor_of(const lw_parallel_loop *p, lw_ref value, sum *out)
{
    const lw_inst *inst = inst_of(p, value);

    if (inst->op == LW_OP_SELECT && inst_of(p, inst->b)->op == LW_OP_CONST)
        return divisor_of(p, inst->c, out);
    return sum_of(p, value, MOST_DEPTH, out);
}

/* Whether these are k // (b * c) and (k // c) % b, which tell k // c. */
static bool
is_pair_of_axes(const lw_parallel_loop *p, const division *x, const division *y)
{
    division inner;
    sum whole, b, c, product;

    return !x->is_remainder && y->is_remainder && !x->is_shift && !y->is_shift &&
           division_of(p, y->a, &inner) && !inner.is_remainder && !inner.is_shift &&
           is_same(p, x->a, inner.a, MOST_DEPTH) && divisor_of(p, x->b, &whole) &&
           divisor_of(p, y->b, &b) && divisor_of(p, inner.b, &c) &&
           multiply(p, &b, &c, &product) && add_sum(p, &whole, &product, -1) && whole.n == 0;
}

/* Whether they are the two results of one division. */
static bool
is_pair(const lw_parallel_loop *p, const division *x, const division *y)
{
    if (x->is_remainder || !y->is_remainder || x->is_shift != y->is_shift ||
        !is_same(p, x->a, y->a, MOST_DEPTH))
        return false;
    return x->is_shift ? x->bits == y->bits : is_same(p, x->b, y->b, MOST_DEPTH);
}

enum { MOST_KNOWN = MOST_TERMS };

/* The values that follow from an element's place: the indices of its axes. */
typedef struct known_values {
    uint32_t n;
    lw_ref of[MOST_KNOWN];
} known_values;

/* Whether the value grows by a constant from each iteration to the next: *step. */
static bool
is_number_itself(const lw_parallel_loop *p, const uint8_t *on, lw_ref value, int64_t *step)
{
    sum s, each;

    if (!sum_of(p, value, MOST_DEPTH, &s) || !step_of(p, &s, &each) || each.n != 1 ||
        each.terms[0].n != 0)
        return false;
    for (uint32_t i = 0; i < s.n; i++)
        if (has_derived(p, on, &s.terms[i]))
            return false;
    *step = each.terms[0].scale;
    return *step != 0;
}

static bool
has_inner(const lw_parallel_loop *p, const uint8_t *on, lw_ref value)
{
    sum s;

    if (!sum_of(p, value, MOST_DEPTH, &s))
        return true;
    for (uint32_t i = 0; i < s.n; i++)
        for (uint32_t k = 0; k < s.terms[i].n; k++)
            if (on[s.terms[i].factors[k]] & LW_ON_INNER)
                return true;
    return false;
}

/* The divisor as a sum; false: it is no sum. */
static bool
divisor_sum(const lw_parallel_loop *p, const division *d, sum *out)
{
    if (!d->is_shift)
        return divisor_of(p, d->b, out);
    *out = (sum){0};
    return d->bits < 30 && add_term(p, out, &(term){.scale = INT64_C(1) << d->bits}, 1);
}

/* A positive constant divisor; 0: it is none. */
static int64_t
constant_divisor(const lw_parallel_loop *p, const division *d)
{
    sum by;

    return divisor_sum(p, d, &by) && by.n == 1 && by.terms[0].n == 0 && by.terms[0].scale > 0
               ? by.terms[0].scale
               : 0;
}

/* Whether the loop has at most as many iterations as this number says: it is that of
 * `range(n)`, or both are constants. */
static bool
is_limit(const lw_parallel_loop *p, sum number)
{
    const lw_inst *limit = inst_of(p, p->l.limit);
    sum n;

    if (!sum_of(p, limit->op == LW_OP_SELECT ? limit->b : p->l.limit, MOST_DEPTH, &n) ||
        (limit->op == LW_OP_SELECT && inst_of(p, limit->c)->op != LW_OP_CONST))
        return false;
    if (n.n == 1 && number.n == 1 && n.terms[0].n == 0 && number.terms[0].n == 0)
        return n.terms[0].scale > 0 && n.terms[0].scale <= number.terms[0].scale;
    return add_sum(p, &number, &n, -1) && number.n == 0;
}

bool
lw_parallel_is_thread_id(const lw_parallel_loop *p, const lw_inst *inst)
{
    return inst->op == LW_OP_HOST_CALL &&
           strcmp(p->module->externs.data[inst->a].name, LW_THREAD_ID) == 0;
}

/* Whether the value differs in each iteration by itself: k // 2 where k grows by 2, and (k + 1)
 * % n in a loop over range(n). */
static bool
tells_number(const lw_parallel_loop *p, const uint8_t *on, lw_ref value)
{
    division d;
    sum by;
    int64_t step, whole;

    if (!division_of(p, value, &d) || has_inner(p, on, d.a) ||
        !is_number_itself(p, on, d.a, &step))
        return false;
    whole = constant_divisor(p, &d);
    if (!d.is_remainder)
        return d.floors && whole != 0 && step % whole == 0;
    return llabs(step) == 1 && divisor_sum(p, &d, &by) && is_limit(p, by);
}

/* a // b and a % b tell what a is. Whether the iteration's number follows in the end, as from
 * k // n and k % n. */
static bool
follows(const lw_parallel_loop *p, const uint8_t *on, known_values *known)
{
    int64_t step;

    for (uint32_t i = 0; i < known->n; i++)
        for (uint32_t k = 0; k < known->n; k++) {
            division x, y;
            if (!division_of(p, known->of[i], &x) || !division_of(p, known->of[k], &y))
                continue;
            if (is_pair_of_axes(p, &x, &y))
                x.a = y.a;
            else if (!is_pair(p, &x, &y))
                continue;
            if (is_number_itself(p, on, x.a, &step))
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
only_factor(const term *t)
{
    return t->n == 1 ? t->factors[0] : 0;
}

/* k // 2 * 4 + k % 2: the remainder is smaller than the stride of the quotient. */
static bool
is_quotient_and_remainder(const lw_parallel_loop *p, const uint8_t *on, const sum *s)
{
    const term *found[2] = {NULL};
    uint32_t n = 0;
    division x, y;
    int64_t by, step;

    for (uint32_t i = 0; i < s->n; i++)
        if (s->terms[i].n > 0) {
            if (n == 2)
                return false;
            found[n++] = &s->terms[i];
        }
    if (n != 2 || !only_factor(found[0]) || !only_factor(found[1]) ||
        !division_of(p, only_factor(found[0]), &x) ||
        !division_of(p, only_factor(found[1]), &y))
        return false;
    if (x.is_remainder) {
        const term *first = found[0];
        const division swapped = x;
        found[0] = found[1];
        found[1] = first;
        x = y;
        y = swapped;
    }
    by = is_pair(p, &x, &y) ? constant_divisor(p, &y) : 0;
    return by != 0 && y.floors && by <= MOST_SCALE && llabs(found[1]->scale) <= MOST_SCALE &&
           llabs(found[0]->scale) >= llabs(found[1]->scale) * by &&
           is_number_itself(p, on, x.a, &step);
}

/* Whether no loop in the iteration counts in the index: blocks of elements that such a loop
 * walks over are mostly apart. */
static bool
is_settled(const lw_parallel_loop *p, const uint8_t *on, lw_ref address)
{
    for (uint32_t k = 0; inst_of(p, address)->op == LW_OP_OFFSET && k < MOST_DEPTH; k++) {
        if (on[inst_of(p, address)->b] & LW_ON_INNER)
            return false;
        address = inst_of(p, address)->a;
    }
    return (on[address] & LW_ON_COUNTER) == 0;
}

bool
lw_parallel_is_own_place(const lw_parallel_loop *p, const uint8_t *on, uint32_t store)
{
    known_values known = {0};
    bool derived = false;
    place to;
    sum step;

    if (!offset_of(p, on, store, &to))
        return true; /* it is not of the form that is looked at */
    for (uint32_t i = 0; i < to.offset.n; i++)
        derived |= has_derived(p, on, &to.offset.terms[i]);
    if (to.offset.by_hand && is_settled(p, on, inst_of(p, store)->a))
        return false; /* x[i * w]: all iterations have one element if w is 0 */
    if (!derived)
        return step_of(p, &to.offset, &step) && has_axis(p, on, &to.offset);
    for (uint32_t i = 0; i < to.offset.n; i++) {
        const term *t = &to.offset.terms[i];
        if (!is_axis(p, on, &to.offset, i))
            continue;
        if (!has_derived(p, on, t))
            return true;
        for (uint32_t k = 0; k < t->n; k++)
            if (is_derived(p, on, t->factors[k]))
                known.of[known.n++] = t->factors[k];
    }
    return follows(p, on, &known) || is_quotient_and_remainder(p, on, &to.offset);
}

/* ---- conditions ---- */

/* Whether the condition compares the iteration's number, so that neighbours mostly agree. */
static bool
is_range_test(const lw_parallel_loop *p, const uint8_t *on, lw_ref condition, uint32_t depth)
{
    const lw_inst *inst = inst_of(p, condition);
    const lw_ref sides[] = {inst->a, inst->b};
    sum s;

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
        if (!sum_of(p, sides[side], MOST_DEPTH, &s))
            return false;
        for (uint32_t i = 0; i < s.n; i++)
            for (uint32_t k = 0; k < s.terms[i].n; k++)
                if (!is_counter(p, s.terms[i].factors[k]) &&
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

/* Whether some iterations reach both, as far as conditions on their numbers tell. *tested:
 * there are such conditions. */
static bool
may_meet(const lw_parallel_loop *p, const uint8_t *on, uint32_t x, uint32_t y, bool *tested)
{
    bool only_x = false, only_y = false;

    *tested = false;
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = inst_of(p, i);
        bool leaves = false;
        int a, b;
        if (inst->op != LW_OP_IF || !(on[inst->a] & LW_ON_COUNTER))
            continue;
        for (uint32_t k = i; k < p->s.regions.ends[i]; k++)
            leaves |= inst_of(p, k)->op == LW_OP_BREAK || inst_of(p, k)->op == LW_OP_CONTINUE;
        a = arm_of(p, i, x);
        b = arm_of(p, i, y);
        if (a == 0 && b == 0 && !leaves)
            continue;
        if ((a && b && a != b) || !is_range_test(p, on, inst->a, MOST_DEPTH))
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
    const lw_inst *limit = inst_of(p, p->l.limit);

    return limit->op == LW_OP_CONST &&
           p->s.func->constants.data[limit->a].bits <= (uint64_t)llabs(d);
}

static bool
depend(const lw_parallel_loop *p, const uint8_t *on, const place *store, const place *other)
{
    int64_t d = distance(p, store, other);
    bool tested;

    return d != 0 && !is_shorter(p, d) && may_meet(p, on, store->at, other->at, &tested) &&
           (!tested || llabs(d) <= NEAR);
}

bool
lw_parallel_depends(lw_parallel_loop *p, const uint8_t *on, uint32_t *culprit)
{
    place *places = lw_arena_take(&p->s.arena, MOST_PLACES * sizeof *places);
    uint32_t n = 0;

    if (places == NULL)
        return false; /* the arena says so */
    for (uint32_t i = p->l.first; i < p->l.latch && n < MOST_PLACES; i++) {
        lw_op op = (lw_op)inst_of(p, i)->op;
        if ((op == LW_OP_LOAD || op == LW_OP_STORE) && place_of(p, on, i, &places[n]) &&
            lw_parallel_memory(p, inst_of(p, i)->a) == LW_SHARED_MEMORY)
            n++;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            if (inst_of(p, places[i].at)->op == LW_OP_STORE &&
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
        if (inst_of(p, i)->op != LW_OP_IF)
            continue;
        test = inst_of(p, inst_of(p, i)->a);
        if (arm_of(p, i, store) != 1 || test->op != LW_OP_EQ ||
            ((on[test->a] | on[test->b]) & LW_ON_INNER))
            continue;
        if ((is_number_itself(p, on, test->a, &step) && !(on[test->b] & LW_ON_COUNTER)) ||
            (is_number_itself(p, on, test->b, &step) && !(on[test->a] & LW_ON_COUNTER)))
            return true;
    }
    return false;
}

/* Whether the index of an axis is get_thread_id(): then no other thread has the element. */
static bool
is_of_thread(const lw_parallel_loop *p, const uint8_t *on, uint32_t store)
{
    place to;

    if (!offset_of(p, on, store, &to))
        return false;
    for (uint32_t i = 0; i < to.offset.n; i++)
        for (uint32_t k = 0; k < to.offset.terms[i].n; k++)
            if (lw_parallel_is_thread_id(p, inst_of(p, to.offset.terms[i].factors[k])) &&
                is_axis(p, on, &to.offset, i))
                return true;
    return false;
}

bool
lw_parallel_is_shared_place(const lw_parallel_loop *p, const uint8_t *on, uint32_t store)
{
    uint8_t address = on[inst_of(p, store)->a];

    if (is_of_thread(p, on, store))
        return false;
    if (address & LW_ON_MEMORY)
        return true;
    if (!(address & LW_ON_COUNTER))
        return !is_for_one(p, on, store);
    return !lw_parallel_is_own_place(p, on, store) && !is_for_one(p, on, store);
}

/* Whether the value is computed from what is at the address. */
static bool
reads(const lw_parallel_loop *p, lw_ref value, lw_ref address, uint32_t depth)
{
    const lw_inst *inst = inst_of(p, value);
    uint32_t at = 0;
    lw_ref operand;

    if (depth == 0 || value < p->l.first || value >= p->l.latch)
        return false;
    if (inst->op == LW_OP_LOAD)
        return is_same(p, inst->a, address, MOST_DEPTH);
    for (uint32_t i = p->l.first; inst->op == LW_OP_GET && i < value; i++)
        if (inst_of(p, i)->op == LW_OP_SET && inst_of(p, i)->a == inst->a &&
            reads(p, inst_of(p, i)->b, address, depth - 1))
            return true;
    while (lw_ir_next_operand(p->s.func, inst, &at, &operand))
        if (reads(p, operand, address, depth - 1))
            return true;
    return false;
}

bool
lw_parallel_collects(const lw_parallel_loop *p, const uint8_t *on, uint32_t store)
{
    const lw_inst *inst = inst_of(p, store);
    lw_ref address = inst->a;

    if (inst_of(p, inst->b)->op == LW_OP_LOAD &&
        is_same(p, inst_of(p, inst->b)->a, address, MOST_DEPTH))
        return false; /* the other part of a complex element, which stays */
    if (!is_settled(p, on, address) || !(on[inst->b] & LW_ON_COUNTER))
        return false;
    if (reads(p, inst->b, address, MOST_STEPS))
        return true;
    for (uint32_t i = p->l.first; i < store; i++)
        if (inst_of(p, i)->op == LW_OP_IF && arm_of(p, i, store) != 0 &&
            reads(p, inst_of(p, i)->a, address, MOST_STEPS))
            return true;
    return false;
}
