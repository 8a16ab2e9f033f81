/* A tally is an integer variable whose values in the loop all are its own earlier values plus
 * constants, and which nothing else reads there: what it counts may be counted from 0, and
 * added to it later. Sums wrap, so it does not matter when they are made. Whatever leaves the
 * loop adds what has been counted so far:
 *
 *     loop                                  of pieces
 *         done = get counter; break unless done < limit
 *         n = min(limit - done, piece); few = 0.0; left = false
 *         loop                              the loop as it was, for k from 0 to n
 *             …                             few = select(hit, few + 1.0, few)
 *             left = true; break 0          where there was break 0
 *             tally += few; break 2         where there was break 1
 *         end
 *         tally += few
 *         break if left
 *         set counter, done + n
 *     end
 *
 * A tally is steady if each iteration adds the same constant to it. LLVM knows what it is after
 * n iterations, so it stays as it is, unless the loop may end early: then it is computed from k
 * where that happens. A loop that has only such tallies, or none, is written twice instead:
 *
 *     if n is small: the loop with k; tally += few
 *     else: the loop as it was
 *
 * Pieces would be no better there: threads that leave both loops at once cost two instructions
 * in each iteration. */
#include "core/opt/loops/pieces.h"

#include "core/base/memory.h"
#include "core/ir/operands.h"
#include "core/opt/counted.h"
#include "core/opt/inline.h"

#include <assert.h>
#include <string.h>

enum {
    MOST_TALLIES = 8,
    MOST_STEP = 256,      /* that all counts of an iteration may change a tally by */
    MOST_SMALL = 64,      /* iterations of a loop that LLVM unrolls, or that is not worth it */
    MOST_CHAIN = 16,      /* sums between two assignments */
    SHORT_ITERATION = 48, /* instructions */
    PIECES = 64,          /* that are one for loops without such tallies */
    NOT_CONSTANT = 1 << 30
};

typedef struct tally {
    lw_ref slot;
    lw_ref few;      /* the variable that counts in a piece */
    uint32_t step;   /* by how much an iteration changes it at most */
    bool steady;     /* each iteration adds the same constant, with one assignment */
    int32_t by;      /* … this one */
    uint32_t set_at; /* … here */
} tally;

typedef struct piecewise {
    lw_counted_loop loop;
    tally tallies[MOST_TALLIES];
    uint32_t n_tallies;
    bool leaves;    /* it may end early */
    bool in_pieces; /* it has tallies that are not steady */
    lw_ref left;    /* a variable: it has ended early */
    lw_ref k;       /* the counter of 32 bits */
} piecewise;

typedef struct rewriter {
    lw_builder b;
    lw_func old; /* the function as it was */
    lw_ir_regions regions;
    uint32_t most;
    lw_ref *to;     /* by old number: the new one */
    uint8_t *chain; /* by old number: of which tally this is a value, from 1 */
} rewriter;

static const lw_inst *
inst_at(const rewriter *r, lw_ref i)
{
    return &r->old.insts.data[i];
}

/* ---- tallies ---- */

/* The bits of a constant that is small, as a number; NOT_CONSTANT: something else. */
static int64_t
small_constant(const rewriter *r, lw_ref value)
{
    const lw_inst *inst = inst_at(r, value);
    int64_t number;

    if (inst->op != LW_OP_CONST)
        return NOT_CONSTANT;
    number = (int64_t)r->old.constants.data[inst->a].bits;
    if (lw_dtypes[inst->type].bits == 32)
        number = (int32_t)number;
    return number >= -MOST_STEP && number <= MOST_STEP ? number : NOT_CONSTANT;
}

static bool
is_flag(const rewriter *r, lw_ref value)
{
    const lw_inst *inst = inst_at(r, value);

    return inst->op == LW_OP_CAST && inst_at(r, inst->a)->type == LW_DT_b1;
}

static bool
is_choice(const rewriter *r, lw_ref value)
{
    const lw_inst *inst = inst_at(r, value);

    return inst->op == LW_OP_SELECT && small_constant(r, inst->b) != NOT_CONSTANT &&
           small_constant(r, inst->c) != NOT_CONSTANT;
}

/* How far from 0 a number that is added may be; NOT_CONSTANT: not known. */
static uint32_t
distance(const rewriter *r, lw_ref value)
{
    const lw_inst *inst = inst_at(r, value);
    int64_t number = small_constant(r, value);
    uint32_t yes, no;

    if (is_flag(r, value))
        return 1;
    if (!is_choice(r, value))
        return (uint32_t)(number < 0 ? -number : number);
    yes = distance(r, inst->b);
    no = distance(r, inst->c);
    return yes > no ? yes : no;
}

static bool
is_step(const rewriter *r, lw_ref value)
{
    return distance(r, value) != NOT_CONSTANT;
}

/* Which operand of a sum is the step: the other one is the variable's value. */
static lw_ref
step_of(const rewriter *r, const lw_inst *sum)
{
    return sum->op == LW_OP_ADD && is_step(r, sum->a) ? sum->a : sum->b;
}

static lw_ref
rest_of(const rewriter *r, const lw_inst *sum)
{
    return step_of(r, sum) == sum->a ? sum->b : sum->a;
}

/* By how much a value may differ from earlier values of the variable, and marks what it is
 * computed from; more than MOST_STEP: it is no such value. */
static uint32_t
mark_chain(rewriter *r, const piecewise *p, uint32_t number, lw_ref value, uint32_t depth)
{
    const lw_inst *inst = inst_at(r, value);
    uint32_t yes, no;

    if (value < p->loop.first || depth > MOST_CHAIN || inst->lanes > 1)
        return NOT_CONSTANT;
    r->chain[value] = (uint8_t)number;
    switch ((lw_op)inst->op) {
    case LW_OP_GET: return inst->a == p->tallies[number - 1].slot ? 0 : NOT_CONSTANT;
    case LW_OP_ADD:
    case LW_OP_SUB:
        yes = distance(r, step_of(r, inst));
        no = mark_chain(r, p, number, rest_of(r, inst), depth + 1);
        return yes > MOST_STEP || no > MOST_STEP ? NOT_CONSTANT : yes + no;
    case LW_OP_SELECT:
        yes = mark_chain(r, p, number, inst->b, depth + 1);
        no = mark_chain(r, p, number, inst->c, depth + 1);
        return yes > no ? yes : no;
    default: return NOT_CONSTANT;
    }
}

/* The constants that are added to the variable to get a marked value. False: it is not
 * computed so. */
static bool
is_steady(const rewriter *r, lw_ref value, int32_t *by)
{
    const lw_inst *inst = inst_at(r, value);
    int64_t step;

    for (*by = 0; inst->op == LW_OP_ADD || inst->op == LW_OP_SUB;
         inst = inst_at(r, rest_of(r, inst))) {
        step = small_constant(r, step_of(r, inst));
        if (step == NOT_CONSTANT)
            return false;
        *by += (int32_t)(inst->op == LW_OP_SUB ? -step : step);
    }
    return inst->op == LW_OP_GET;
}

/* How many iterations a loop has at most, if they are few; 0: many, or nobody knows. */
static uint32_t
few_iterations(const rewriter *r, uint32_t at)
{
    const lw_inst *before = inst_at(r, at - 1);
    lw_counted_loop loop;
    int64_t limit, begin;

    if (!lw_counted_loop_of_any(&r->old, &r->regions, at, &loop) || before->op != LW_OP_SET ||
        before->a != loop.slot)
        return 0;
    begin = small_constant(r, before->b);
    limit = small_constant(r, loop.limit);
    return begin == 0 && limit > 0 && limit <= MOST_SMALL ? (uint32_t)limit : 0;
}

/* What the walk over an iteration knows of its place. */
typedef struct place {
    uint32_t times; /* that it is run in an iteration, at most */
    uint32_t inner; /* the END of the outermost region inside of the loop; 0: there is none */
    uint32_t small; /* … of the small loop; 0: there is none */
    bool skipped;   /* some iterations may go on before they come here */
} place;

/* Moves to the next instruction. False: a loop is there that is not small. */
static bool
walk_to(const rewriter *r, const piecewise *p, uint32_t i, place *at)
{
    const lw_inst *inst = inst_at(r, i);
    uint32_t depth = r->regions.targets[i] - r->regions.targets[p->loop.first];

    if (at->inner == i)
        at->inner = 0;
    if (at->small == i) {
        at->small = 0;
        at->times = 1;
    }
    if (lw_ir_opens_region((lw_op)inst->op) && at->inner == 0)
        at->inner = r->regions.ends[i];
    at->skipped |= inst->op == LW_OP_CONTINUE && inst->a == depth;
    if (inst->op != LW_OP_LOOP)
        return true;
    at->times *= few_iterations(r, i);
    if (at->small == 0)
        at->small = r->regions.ends[i];
    return at->times > 0 && at->times <= MOST_STEP;
}

/* Whether each use of the marked values is one of the chain: another value of it, or the
 * assignment. */
static bool
is_closed(const rewriter *r, const piecewise *p, uint32_t number)
{
    lw_ref slot = p->tallies[number - 1].slot, operand;

    for (uint32_t i = p->loop.at; i <= p->loop.end; i++) {
        const lw_inst *inst = inst_at(r, i);
        uint32_t at = 0;
        bool is_ours = r->chain[i] == number || (inst->op == LW_OP_SET && inst->a == slot);
        while (lw_ir_next_operand(&r->old, inst, &at, &operand))
            if ((operand == slot || r->chain[operand] == number) && !is_ours)
                return false;
        if (inst->op == LW_OP_SELECT && r->chain[inst->a] == number)
            return false;
    }
    return true;
}

static void
unmark(rewriter *r, const piecewise *p, uint32_t number)
{
    for (uint32_t i = p->loop.at; i <= p->loop.end; i++)
        if (r->chain[i] == number)
            r->chain[i] = 0;
}

/* Whether the last of p's tallies is one. */
static bool
is_tally(rewriter *r, piecewise *p)
{
    tally *t = &p->tallies[p->n_tallies - 1];
    place at = {.times = 1};
    uint32_t step;

    t->steady = true;
    for (uint32_t i = p->loop.first; i < p->loop.latch; i++) {
        const lw_inst *inst = inst_at(r, i);
        if (!walk_to(r, p, i, &at))
            return false;
        if (inst->op != LW_OP_SET || inst->a != t->slot)
            continue;
        if (r->chain[inst->b])
            return false;
        step = mark_chain(r, p, p->n_tallies, inst->b, 0);
        if (step > MOST_STEP)
            return false;
        t->step += step * at.times;
        t->steady &=
            at.inner == 0 && !at.skipped && t->set_at == 0 && is_steady(r, inst->b, &t->by);
        t->set_at = i;
        if (t->step > MOST_STEP)
            return false;
    }
    return t->step > 0 && is_closed(r, p, p->n_tallies) && (!t->steady || p->leaves);
}

static bool
is_wide_integer(const lw_inst *slot)
{
    lw_dtype type = (lw_dtype)slot->type;

    return lw_is_integer(type) && lw_dtypes[type].bits >= 32 && slot->lanes <= 1;
}

static void
find_tallies(rewriter *r, piecewise *p)
{
    for (uint32_t i = p->loop.first; i < p->loop.latch && p->n_tallies < MOST_TALLIES; i++) {
        const lw_inst *inst = inst_at(r, i);
        if (inst->op != LW_OP_SET || !is_wide_integer(inst_at(r, inst->a)) ||
            lw_ir_is_set(&r->old, p->loop.first, i, inst->a))
            continue;
        p->tallies[p->n_tallies++] = (tally){.slot = inst->a};
        if (is_tally(r, p))
            continue;
        unmark(r, p, p->n_tallies);
        p->n_tallies--;
    }
}

/* ---- loops ---- */

/* Whether the body has no threads that wait for others and no loop that is not small; and
 * whether it may leave the loop. */
static bool
is_simple(const rewriter *r, piecewise *p)
{
    place at = {.times = 1};

    for (uint32_t i = p->loop.first; i < p->loop.latch; i++) {
        const lw_inst *inst = inst_at(r, i);
        if (inst->op == LW_OP_BARRIER || inst->op == LW_OP_KERNEL_CALL ||
            !walk_to(r, p, i, &at))
            return false;
        p->leaves |= inst->op == LW_OP_RETURN ||
                     (lw_ir_jumps_out(&r->regions, &r->old, p->loop.first, i) &&
                      !(inst->op == LW_OP_CONTINUE &&
                        inst->a == r->regions.targets[i] - r->regions.targets[p->loop.first]));
    }
    return true;
}

/* Whether only the loop reads its counter. */
static bool
owns_counter(const rewriter *r, const piecewise *p)
{
    for (uint32_t i = 1; i < r->old.insts.n; i++)
        if (inst_at(r, i)->op == LW_OP_GET && inst_at(r, i)->a == p->loop.slot &&
            (i < p->loop.at || i > p->loop.end))
            return false;
    return true;
}

/* Whether the loop is one that LLVM does not unroll, and short. */
static bool
is_short(const rewriter *r, const piecewise *p)
{
    lw_dtype type = (lw_dtype)inst_at(r, p->loop.slot)->type;

    if (lw_dtypes[type].bits < 64 || !p->leaves ||
        p->loop.latch - p->loop.first > SHORT_ITERATION)
        return false;
    for (uint32_t i = p->loop.first; i < p->loop.latch; i++) {
        lw_op op = (lw_op)inst_at(r, i)->op;
        if (op == LW_OP_LOOP || lw_op_is_call(op) ||
            (lw_ops[op].class == LW_CLASS_DECL && op != LW_OP_SLOT))
            return false;
    }
    return true;
}

/* Whether the loop may be one of few short iterations that is entered again and again: it is
 * inside of another one. The code around a piece takes as long as it saves in about 15
 * iterations. */
static bool
is_brief(const rewriter *r, const piecewise *p)
{
    bool inside = false;

    for (uint32_t i = 1; i < p->loop.at && !inside; i++)
        inside = inst_at(r, i)->op == LW_OP_LOOP && r->regions.ends[i] > p->loop.end;
    for (uint32_t i = p->loop.first; i < p->loop.latch && inside; i++)
        inside = !lw_op_is_call((lw_op)inst_at(r, i)->op);
    return inside && inst_at(r, p->loop.limit)->op != LW_OP_CONST &&
           p->loop.latch - p->loop.first <= SHORT_ITERATION;
}

static bool
is_worth(const rewriter *r, piecewise *p)
{
    for (uint32_t i = 0; i < p->n_tallies; i++)
        p->in_pieces |= !p->tallies[i].steady;
    return p->in_pieces ? !is_brief(r, p) : is_short(r, p);
}

static bool
is_piecewise(rewriter *r, uint32_t at, piecewise *p)
{
    *p = (piecewise){0};
    if (inst_at(r, at)->op != LW_OP_LOOP || (inst_at(r, at)->flags & LW_LOOP_UNROLL_FULL) ||
        !lw_counted_loop_of_any(&r->old, &r->regions, at, &p->loop) ||
        !is_wide_integer(inst_at(r, p->loop.slot)) || few_iterations(r, at) > 0 ||
        !is_simple(r, p) || !owns_counter(r, p))
        return false;
    find_tallies(r, p);
    if (is_worth(r, p))
        return true;
    for (uint32_t i = 1; i <= p->n_tallies; i++)
        unmark(r, p, i);
    return false;
}

/* ---- the function anew ---- */

static void
copy(rewriter *r, uint32_t at)
{
    if (inst_at(r, at)->op == LW_OP_SLOT &&
        r->to[at] != 0) /* it is in front of a loop already */
        return;
    r->to[at] = lw_ir_copy(&r->b, &r->old, *inst_at(r, at), r->to);
}

static lw_dtype
type_of_few(const tally *t)
{
    return t->steady ? LW_DT_i32 : LW_DT_f32;
}

/* few + step, or few - step */
static lw_ref
few_sum(rewriter *r, const lw_inst *sum)
{
    lw_builder *b = &r->b;
    lw_ref step = step_of(r, sum), few = r->to[rest_of(r, sum)], condition, yes, no;
    const lw_inst *inst = inst_at(r, step);
    double sign = sum->op == LW_OP_SUB ? -1 : 1;

    if (inst->op == LW_OP_CONST) {
        yes = lw_ir_float(b, LW_DT_f32, sign * (double)small_constant(r, step));
        return lw_ir_add(b, few, yes);
    }
    condition = r->to[inst->a];
    if (is_flag(r, step))
        return lw_ir_select(b, condition, lw_ir_add(b, few, lw_ir_float(b, LW_DT_f32, sign)),
                            few);
    yes = lw_ir_float(b, LW_DT_f32, sign * (double)small_constant(r, inst->b));
    no = lw_ir_float(b, LW_DT_f32, sign * (double)small_constant(r, inst->c));
    return lw_ir_add(b, few, lw_ir_select(b, condition, yes, no));
}

static lw_ref
few_value(rewriter *r, const tally *t, const lw_inst *inst)
{
    if (t->steady)
        return 0;
    switch ((lw_op)inst->op) {
    case LW_OP_GET: return lw_ir_get(&r->b, t->few);
    case LW_OP_SELECT:
        return lw_ir_select(&r->b, r->to[inst->a], r->to[inst->b], r->to[inst->c]);
    default: return few_sum(r, inst);
    }
}

/* What the steady tallies have counted at instruction `at`, in iteration k of these. */
static void
count_steady(rewriter *r, const piecewise *p, uint32_t at)
{
    lw_builder *b = &r->b;

    for (uint32_t i = 0; i < p->n_tallies; i++) {
        const tally *t = &p->tallies[i];
        lw_ref k = p->k;
        if (!t->steady)
            continue;
        if (at > t->set_at)
            k = lw_ir_add(b, k, lw_ir_int(b, LW_DT_i32, 1));
        lw_ir_set(b, t->few, lw_ir_mul(b, k, lw_ir_int(b, LW_DT_i32, t->by)));
    }
}

/* Adds what has been counted. */
static void
settle(rewriter *r, const piecewise *p)
{
    lw_builder *b = &r->b;

    for (uint32_t i = 0; i < p->n_tallies; i++) {
        const tally *t = &p->tallies[i];
        lw_ref few = lw_ir_cast(b, LW_DT_i32, lw_ir_get(b, t->few)), slot = r->to[t->slot];
        few = lw_ir_cast(b, (lw_dtype)inst_at(r, t->slot)->type, few);
        lw_ir_set(b, slot, lw_ir_add(b, lw_ir_get(b, slot), few));
    }
}

static const tally *
tally_of_set(const piecewise *p, const lw_inst *inst)
{
    for (uint32_t i = 0; i < p->n_tallies; i++)
        if (inst->op == LW_OP_SET && inst->a == p->tallies[i].slot)
            return &p->tallies[i];
    return NULL;
}

static void
copy_jump(rewriter *r, const piecewise *p, uint32_t i)
{
    lw_inst jump = *inst_at(r, i);
    uint32_t depth = r->regions.targets[i] - r->regions.targets[p->loop.first];

    if (jump.a > depth || (jump.a == depth && jump.op == LW_OP_BREAK))
        count_steady(r, p, i);
    if (jump.a > depth) {
        settle(r, p);
        jump.a += p->in_pieces;
    } else if (jump.a == depth && jump.op == LW_OP_BREAK && p->in_pieces)
        lw_ir_set(&r->b, p->left, lw_ir_int(&r->b, LW_DT_b1, 1));
    r->to[i] = lw_ir_copy(&r->b, &r->old, jump, r->to);
}

static void
write_body(rewriter *r, const piecewise *p)
{
    for (uint32_t i = p->loop.first; i < p->loop.latch; i++) {
        const lw_inst *inst = inst_at(r, i);
        const tally *t = tally_of_set(p, inst);
        r->b.loc = inst->loc;
        if (r->chain[i])
            r->to[i] = few_value(r, &p->tallies[r->chain[i] - 1], inst);
        else if (t != NULL && !t->steady)
            lw_ir_set(&r->b, t->few, r->to[inst->b]);
        else if (t != NULL)
            continue;
        else if (inst->op == LW_OP_BREAK || inst->op == LW_OP_CONTINUE)
            copy_jump(r, p, i);
        else
            copy(r, i);
    }
}

/* The largest power of two of iterations whose steps add up to `most` at most. */
static uint32_t
piece_of(const rewriter *r, const piecewise *p)
{
    uint32_t piece = r->most;

    for (uint32_t i = 0; i < p->n_tallies; i++)
        while (piece > 1 && (uint64_t)piece * p->tallies[i].step > r->most)
            piece /= 2;
    return piece;
}

/* The loop with a counter of 32 bits, for `n` iterations from `begin` on. */
static void
write_narrow(rewriter *r, piecewise *p, lw_ref begin, lw_ref n)
{
    lw_builder *b = &r->b;
    const lw_inst *loop = inst_at(r, p->loop.at);
    lw_dtype type = (lw_dtype)inst_at(r, p->loop.slot)->type;
    lw_ref few;
    lw_for inner;

    n = lw_ir_cast(b, LW_DT_i32, n);
    for (uint32_t i = 0; i < p->n_tallies; i++) {
        const tally *t = &p->tallies[i];
        few = t->steady ? lw_ir_mul(b, n, lw_ir_int(b, LW_DT_i32, t->by))
                        : lw_ir_zero(b, LW_DT_f32);
        lw_ir_set(b, t->few, few);
    }
    inner =
        lw_ir_for(b, lw_ir_int(b, LW_DT_i32, 0), n, lw_ir_int(b, LW_DT_i32, 1), loop->flags);
    p->k = inner.i;
    r->to[p->loop.at + 1] =
        lw_ir_add(b, begin, lw_ir_cast(b, type, lw_ir_bitcast(b, LW_DT_u32, p->k)));
    write_body(r, p);
    b->loc = loop->loc;
    lw_ir_for_end(b, &inner);
    settle(r, p);
}

static lw_dtype
unsigned_type(const rewriter *r, const piecewise *p)
{
    lw_dtype type = (lw_dtype)inst_at(r, p->loop.slot)->type;

    return lw_is_signed(type) ? (lw_dtype)(type + 1) : type; /* each follows its signed one */
}

/* How many iterations are left; the counter is less than the limit. */
static lw_ref
left_of(rewriter *r, const piecewise *p, lw_ref counter)
{
    return lw_ir_cast(&r->b, unsigned_type(r, p),
                      lw_ir_sub(&r->b, r->to[p->loop.limit], counter));
}

static void
write_pieces(rewriter *r, piecewise *p)
{
    lw_builder *b = &r->b;
    lw_ref counter = r->to[p->loop.slot], done, n, piece;

    if (p->leaves)
        p->left = lw_ir_slot(b, LW_DT_b1);
    lw_ir_loop(b, LW_LOOP_NO_UNROLL | LW_LOOP_NO_VECTORIZE);
    done = lw_ir_get(b, counter);
    lw_ir_if(b, lw_ir_not(b, lw_ir_compare(b, LW_OP_LT, done, r->to[p->loop.limit])));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    if (p->leaves)
        lw_ir_set(b, p->left, lw_ir_int(b, LW_DT_b1, 0));
    n = left_of(r, p, done);
    piece = lw_ir_bits(b, lw_ir_type(b, n), piece_of(r, p));
    n = lw_ir_smaller(b, n, piece);
    write_narrow(r, p, done, n);
    if (p->leaves) {
        lw_ir_if(b, lw_ir_get(b, p->left));
        lw_ir_break(b, 0);
        lw_ir_end(b);
    }
    lw_ir_set(b, counter, lw_ir_add(b, done, lw_ir_cast(b, lw_ir_type(b, done), n)));
    lw_ir_latch(b);
    lw_ir_end(b);
}

static void
write_both(rewriter *r, piecewise *p)
{
    lw_builder *b = &r->b;
    lw_ref begin = lw_ir_get(b, r->to[p->loop.slot]), n, most;

    for (uint32_t i = p->loop.first; i < p->loop.latch; i++)
        if (inst_at(r, i)->op == LW_OP_SLOT)
            copy(r, i);
    n = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, begin, r->to[p->loop.limit]),
                     left_of(r, p, begin), lw_ir_bits(b, unsigned_type(r, p), 0));
    most = lw_ir_bits(b, lw_ir_type(b, n), (uint64_t)piece_of(r, p) * PIECES);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LE, n, most));
    write_narrow(r, p, begin, n);
    lw_ir_else(b);
    for (uint32_t i = p->loop.at; i <= p->loop.end; i++)
        copy(r, i);
    lw_ir_end(b);
}

static void
write_loop(rewriter *r, piecewise *p)
{
    r->b.loc = inst_at(r, p->loop.at)->loc;
    for (uint32_t i = 0; i < p->n_tallies; i++)
        p->tallies[i].few = lw_ir_slot(&r->b, type_of_few(&p->tallies[i]));
    if (p->in_pieces)
        write_pieces(r, p);
    else
        write_both(r, p);
}

static uint32_t
write_function(rewriter *r)
{
    uint32_t rewritten = 0;
    piecewise p;

    for (uint32_t i = 1; i < r->old.insts.n; i++) {
        if (!is_piecewise(r, i, &p)) {
            copy(r, i);
            continue;
        }
        write_loop(r, &p);
        i = p.loop.end;
        rewritten++;
    }
    return rewritten;
}

static bool
has_pieces(rewriter *r)
{
    piecewise p;
    bool has = false;

    for (uint32_t i = 1; i < r->old.insts.n && !has; i++)
        has = is_piecewise(r, i, &p);
    if (has)
        memset(r->chain, 0, r->old.insts.n);
    return has;
}

static lw_status
rewrite(rewriter *r, uint32_t *rewritten, lw_error *err)
{
    if (!has_pieces(r))
        return LW_OK;
    if (!lw_func_begin_anew(&r->b, r->old.insts.n + 1))
        return lw_fail_memory(err);
    *rewritten += write_function(r);
    return r->b.module->failed ? lw_fail_memory(err) : LW_OK;
}

static lw_status
rewrite_function(lw_module *module, uint32_t number, uint32_t most, uint32_t *rewritten,
                 lw_error *err)
{
    lw_func *f = module->funcs.data[number];
    rewriter r = {
        .b = {.module = module, .func = f, .func_number = number}, .old = *f, .most = most};
    uint32_t n = f->insts.n + 1;
    lw_status status = LW_OK;

    r.to = lw_alloc_zero(n, sizeof *r.to);
    r.chain = lw_alloc_zero(n, sizeof *r.chain);
    if (r.to == NULL || r.chain == NULL || !lw_ir_regions_init(&r.regions, &r.old))
        status = lw_fail_memory(err);
    else
        status = rewrite(&r, rewritten, err);
    lw_ir_regions_reset(&r.regions);
    lw_free(r.chain);
    lw_free(r.to);
    return status;
}

lw_status
lw_opt_pieces(lw_module *module, uint32_t most, uint32_t *rewritten, lw_error *err)
{
    uint32_t n = 0;
    lw_status status;

    for (uint32_t i = 0; i < module->funcs.n; i++)
        if (lw_func_has_op(module->funcs.data[i], LW_OP_LOOP))
            LW_TRY(rewrite_function(module, i, most, &n, err));
    if (rewritten != NULL)
        *rewritten = n;
    return LW_OK;
fail:
    return status;
}
