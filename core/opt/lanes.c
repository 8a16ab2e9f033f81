/* The function's structured control flow becomes straight code: an IF computes both arms, and
 * assignments select by the mask of the lanes that are in the arm. LOOPs stay loops, which end
 * when no lane is left in them. What is the same in all lanes, such as the counter of a range,
 * stays a scalar, and jumps that depend on nothing else stay jumps.
 *
 * Masks are narrowed by selections, since what a lane computes that does not take part may be
 * poison. */
#include "core/opt/lanes_internal.h"

#include "core/base/memory.h"

#include <assert.h>
#include <string.h>

/* The lanes that execute what is emitted; besides masks: */
enum { ALL = 0 };
#define NONE UINT32_MAX

/* An arm of an IF that is at least as long is skipped if no lane takes it. */
enum { LONG_ARM = 32 };

/* A BLOCK or LOOP that is open. */
typedef struct target {
    uint32_t at;
    lw_ref broke;     /* slot: the lanes that a BREAK has taken out of it; 0: not needed */
    lw_ref continued; /* slot: the lanes that wait at the latch */
    lw_ref inside;    /* slot of a LOOP: the lanes in it */
    lw_ref top;       /* LOOP: the mask at the top of the body */
    bool tested;      /* LOOP: it ends at the top of the body if no lane is left */
    struct target *outer;
} target;

/* A function that is being emitted: the body, or what it calls. */
typedef struct frame {
    lw_lanes_facts facts;
    lw_ref *now;     /* by value and slot of the function: what it has become */
    lw_ref *results; /* slots */
    const lw_ref *args;
    lw_ref base; /* the lanes that called it */
    target *targets;
} frame;

typedef struct maker {
    lw_builder *b;
    lw_lanes_choice choice;
    frame *f;
    lw_ref live; /* a mask, ALL or NONE */
    bool failed; /* no memory */
} maker;

static void run(maker *m, uint32_t begin, uint32_t end);

static const lw_inst *
inst_at(const maker *m, uint32_t i)
{
    return &m->f->facts.func->insts.data[i];
}

static bool
has(const maker *m, uint32_t i, uint8_t flag)
{
    return m->f->facts.flags[i] & flag;
}

/* ---- vectors and masks ---- */

static lw_ref
vector(maker *m, lw_ref value)
{
    return lw_ir_lanes(m->b, value) > 1 ? value : lw_ir_splat(m->b, value, m->choice.lanes);
}

static lw_ref
mask_of(maker *m, lw_ref live)
{
    if (live == ALL || live == NONE)
        return vector(m, lw_ir_int(m->b, m->choice.mask, live == ALL ? -1 : 0));
    return live;
}

/* As a vector of bools. */
static lw_ref
bools(maker *m, lw_ref live)
{
    lw_ref mask = mask_of(m, live);

    if (m->choice.mask == LW_DT_b1)
        return mask;
    return lw_ir_compare(m->b, LW_OP_LT, mask, vector(m, lw_ir_zero(m->b, m->choice.mask)));
}

/* The lanes of `live` in which the condition holds. Integers are combined with those before,
 * or LLVM would keep bools from one iteration to the next, and pack and unpack them. */
static lw_ref
narrowed(maker *m, lw_ref live, lw_ref condition)
{
    if (live == NONE)
        return NONE;
    if (live != ALL)
        condition = lw_ir_select(m->b, bools(m, live), condition,
                                 vector(m, lw_ir_zero(m->b, LW_DT_b1)));
    if (m->choice.mask == LW_DT_b1)
        return condition;
    condition = lw_ir_neg(m->b, lw_ir_cast(m->b, m->choice.mask, condition));
    return live == ALL ? condition : lw_ir_and(m->b, live, condition);
}

/* The lanes of `live` that are not in `part`, which is a part of it. */
static lw_ref
others(maker *m, lw_ref live, lw_ref part)
{
    if (live == ALL || live == NONE)
        return live == ALL ? lw_ir_not(m->b, part) : NONE;
    return lw_ir_xor(m->b, live, part);
}

static lw_ref
joined(maker *m, lw_ref x, lw_ref y)
{
    if (x == ALL || y == ALL)
        return ALL;
    if (x == NONE || y == NONE)
        return x == NONE ? y : x;
    return lw_ir_or(m->b, x, y);
}

static lw_ref
mask_slot(maker *m)
{
    return lw_ir_vector_slot(m->b, m->choice.mask, m->choice.lanes);
}

static void
set_mask(maker *m, lw_ref slot, lw_ref live)
{
    lw_ir_set(m->b, slot, mask_of(m, live));
}

static lw_ref
any(maker *m, lw_ref live)
{
    return lw_ir_any(m->b, bools(m, live));
}

/* Assigns to a slot for the lanes at hand. Lanes outside of the function at hand have no
 * variables in it. */
static void
assign(maker *m, lw_ref slot, lw_ref value, bool plain)
{
    value = vector(m, value);
    if (!plain && m->live != m->f->base)
        value = lw_ir_select(m->b, bools(m, m->live), value, lw_ir_get(m->b, slot));
    lw_ir_set(m->b, slot, value);
}

/* ---- values ---- */

static void
slot_or_variable(maker *m, uint32_t i)
{
    const lw_inst *inst = inst_at(m, i);
    lw_dtype type = (lw_dtype)inst->type;

    if (inst->op == LW_OP_SLOT)
        m->f->now[i] = has(m, i, LW_LANES_UNIFORM)
                           ? lw_ir_slot(m->b, type)
                           : lw_ir_vector_slot(m->b, type, m->choice.lanes);
    else if (inst->op == LW_OP_GET)
        m->f->now[i] = lw_ir_get(m->b, m->f->now[inst->a]);
    else if (has(m, inst->a, LW_LANES_UNIFORM))
        lw_ir_set(m->b, m->f->now[inst->a], m->f->now[inst->b]);
    else
        assign(m, m->f->now[inst->a], m->f->now[inst->b], has(m, i, LW_LANES_PLAIN));
}

/* A function that has no vector form: one lane after the other, through memory. Where the
 * function is our own, LLVM vectorises this loop. */
static lw_ref
lane_by_lane(maker *m, const lw_inst *inst, const lw_ref *args)
{
    lw_builder *b = m->b;
    lw_dtype type = lw_ir_type(b, args[0]), result = (lw_dtype)inst->type;
    bool own = m->choice.host.is_own((lw_intrinsic)inst->a, type);
    lw_ref memory[3] = {0}, one[3] = {0}, out, value;
    lw_for loop;

    for (uint32_t i = 0; i < inst->c; i++) {
        memory[i] =
            lw_ir_local(b, m->choice.lanes * lw_dtypes[lw_ir_type(b, args[i])].size_bytes, 64);
        lw_ir_store(b, memory[i], args[i], 64, 0);
    }
    out = lw_ir_local(b, m->choice.lanes * lw_dtypes[result].size_bytes, 64);
    loop = lw_ir_for(b, lw_ir_int(b, LW_DT_i64, 0), lw_ir_int(b, LW_DT_i64, m->choice.lanes),
                     lw_ir_int(b, LW_DT_i64, 1),
                     (own ? LW_LOOP_VECTORIZE : LW_LOOP_NO_VECTORIZE) | LW_LOOP_NO_UNROLL);
    for (uint32_t i = 0; i < inst->c; i++) {
        lw_dtype of = lw_ir_type(b, args[i]);
        value = lw_ir_mul(b, loop.i, lw_ir_int(b, LW_DT_i64, lw_dtypes[of].size_bytes));
        one[i] = lw_ir_load(b, of, 1, lw_ir_offset(b, memory[i], value), 0, 0);
    }
    b->fast = inst->flags & LW_FAST_ALL;
    value = lw_ir_intrinsic(b, inst->a, type, one, inst->c);
    b->fast = 0;
    lw_ir_store(b,
                lw_ir_offset(b, out,
                             lw_ir_mul(b, loop.i,
                                       lw_ir_int(b, LW_DT_i64, lw_dtypes[result].size_bytes))),
                value, 0, 0);
    lw_ir_for_end(b, &loop);
    return lw_ir_load(b, result, m->choice.lanes, out, 64, 0);
}

static lw_ref
intrinsic(maker *m, uint32_t i)
{
    const lw_inst *inst = inst_at(m, i);
    const uint32_t *list = m->f->facts.func->lists.data + inst->b;
    lw_ref args[3] = {0};

    assert(inst->c > 0 && inst->c <= 3);
    for (uint32_t k = 0; k < inst->c; k++) {
        args[k] = m->f->now[list[k]];
        if (!has(m, i, LW_LANES_UNIFORM))
            args[k] = vector(m, args[k]);
    }
    if (!has(m, i, LW_LANES_UNIFORM) && !lw_intrinsic_has_vectors((lw_intrinsic)inst->a))
        return lane_by_lane(m, inst, args);
    return lw_ir_intrinsic(m->b, inst->a, lw_ir_type(m->b, args[0]), args, inst->c);
}

/* A comparison of hypot(x, y) with a constant c: x*x + y*y is compared with c*c. Where they are
 * too close for the roundings of both, of c*c and of libm's hypot (four units in the last place
 * at most, intrinsics.def), or x or y is not a number, libm decides. */
static void
compare_squares(maker *m, uint32_t i, lw_ref hypot, double c)
{
    lw_builder *b = m->b;
    const lw_inst *inst = inst_at(m, i), *call = inst_at(m, hypot);
    const uint32_t *list = m->f->facts.func->lists.data + call->b;
    lw_dtype type = (lw_dtype)call->type;
    lw_ref args[2] = {vector(m, m->f->now[list[0]]), vector(m, m->f->now[list[1]])};
    lw_ref constant = vector(m, lw_ir_float(b, type, c)), more, less, unclear, exact;
    lw_ref square =
        lw_ir_add(b, lw_ir_mul(b, args[0], args[0]), lw_ir_mul(b, args[1], args[1]));
    lw_ref result = lw_ir_vector_slot(b, LW_DT_b1, m->choice.lanes);
    double margin = type == LW_DT_f32 ? 64 * 0x1p-24 : 64 * 0x1p-53;
    bool is_first = inst->a == hypot;
    bool above = (inst->op == LW_OP_GT || inst->op == LW_OP_GE) == is_first;

    more = lw_ir_compare(b, LW_OP_GT, square,
                         vector(m, lw_ir_float(b, type, c * c * (1 + margin))));
    less = lw_ir_compare(b, LW_OP_LT, square,
                         vector(m, lw_ir_float(b, type, c * c * (1 - margin))));
    lw_ir_set(b, result, above ? more : less);
    unclear = lw_ir_select(b, bools(m, m->live), lw_ir_not(b, lw_ir_or(b, more, less)),
                           vector(m, lw_ir_zero(b, LW_DT_b1)));
    lw_ir_if(b, lw_ir_any(b, unclear));
    exact = lane_by_lane(m, call, args);
    exact = lw_ir_compare(b, (lw_op)inst->op, is_first ? exact : constant,
                          is_first ? constant : exact);
    lw_ir_set(b, result, lw_ir_select(b, unclear, exact, lw_ir_get(b, result)));
    lw_ir_end(b);
    m->f->now[i] = lw_ir_get(b, result);
}

static void
elementwise(maker *m, uint32_t i)
{
    const lw_inst *inst = inst_at(m, i);
    uint32_t operands[3] = {inst->a, inst->b, inst->c};
    uint32_t flags = inst->flags;
    lw_ref made, hypot;
    double constant;

    if (has(m, i, LW_LANES_SQUARED))
        return; /* its comparisons compute it */
    if (lw_lanes_squared(&m->f->facts, i, &hypot, &constant)) {
        compare_squares(m, i, hypot, constant);
        return;
    }
    if (inst->op == LW_OP_INTRINSIC) {
        made = intrinsic(m, i);
    } else {
        for (int k = 0; k < 3; k++) {
            if (lw_ops[inst->op].args[k] != 'v')
                continue;
            operands[k] = m->f->now[operands[k]];
            if (!has(m, i, LW_LANES_UNIFORM))
                operands[k] = vector(m, operands[k]);
        }
        made = lw_ir_emit(m->b, (lw_op)inst->op, (lw_dtype)inst->type, operands[0], operands[1],
                          operands[2]);
    }
    if (made != 0 && m->b->func != NULL && m->b->func->insts.data[made].op == inst->op)
        m->b->func->insts.data[made].flags = flags;
    m->f->now[i] = made;
}

/* ---- control flow ---- */

static void
arm(maker *m, lw_ref lanes, uint32_t begin, uint32_t end)
{
    bool skips = end - begin >= LONG_ARM, jumps = lw_lanes_jumps(&m->f->facts, begin, end);
    lw_ref after = 0;

    for (uint32_t i = begin; i < end; i++)
        skips |= inst_at(m, i)->op == LW_OP_LOOP || inst_at(m, i)->op == LW_OP_CALL;
    m->live = lanes;
    if (!skips || lanes == ALL || lanes == NONE) {
        run(m, begin, end);
        return;
    }
    if (jumps) {
        after = mask_slot(m);
        set_mask(m, after, lanes);
    }
    lw_ir_if(m->b, any(m, lanes));
    run(m, begin, end);
    if (jumps)
        set_mask(m, after, m->live);
    lw_ir_end(m->b);
    m->live = jumps ? lw_ir_get(m->b, after) : lanes;
}

/* Leaves the loop that is emitted if no lane is in it any more. */
static void
test(maker *m, target *t)
{
    set_mask(m, t->inside, m->live);
    lw_ir_if(m->b, lw_ir_not(m->b, any(m, m->live)));
    lw_ir_break(m->b, 0);
    lw_ir_end(m->b);
}

/* `if c: break` directly in a loop, where c is uniform. */
static void
leave_together(maker *m, uint32_t at)
{
    target *t = m->f->targets;

    assert(t != NULL); /* lw_lanes_facts: the IF stands in a loop */
    lw_ir_if(m->b, m->f->now[inst_at(m, at)->a]);
    if (t->broke)
        set_mask(m, t->broke, joined(m, lw_ir_get(m->b, t->broke), m->live));
    if (!t->broke && t->inside && m->live != t->top)
        set_mask(m, t->inside, m->live);
    lw_ir_break(m->b, 0);
    lw_ir_end(m->b);
}

static void
uniform_branch(maker *m, uint32_t at, uint32_t middle, uint32_t end)
{
    lw_ref live = m->live;

    lw_ir_if(m->b, m->f->now[inst_at(m, at)->a]);
    run(m, at + 1, middle ? middle : end);
    if (middle) {
        lw_ir_else(m->b);
        run(m, middle + 1, end);
    }
    lw_ir_end(m->b);
    m->live = live; /* there are no jumps in it, but masks made in it end with it */
}

static void
branch(maker *m, uint32_t at)
{
    const lw_ir_regions *regions = &m->f->facts.regions;
    uint32_t middle = regions->middles[at], end = regions->ends[at];
    target *t = m->f->targets;
    bool at_top = t != NULL && t->inside && m->f->facts.inner[at] == t->at &&
                  m->live == t->top && !t->tested && at < regions->middles[t->at];
    lw_ref before = m->live, taken, yes;

    if (has(m, at, LW_LANES_TOGETHER)) {
        leave_together(m, at);
        return;
    }
    if (has(m, at, LW_LANES_BRANCH)) {
        uniform_branch(m, at, middle, end);
        return;
    }
    taken = narrowed(m, before, vector(m, m->f->now[inst_at(m, at)->a]));
    arm(m, taken, at + 1, middle ? middle : end);
    yes = m->live;
    m->live = others(m, before, taken);
    if (middle)
        arm(m, m->live, middle + 1, end);
    m->live = lw_lanes_jumps(&m->f->facts, at, end) ? joined(m, yes, m->live) : before;
    if (at_top && inst_at(m, at + 1)->op == LW_OP_BREAK && inst_at(m, at + 1)->a == 0) {
        test(m, t);
        t->tested = true;
    }
}

static void
block(maker *m, uint32_t at)
{
    target t = {.at = at, .outer = m->f->targets};
    lw_ref before = m->live;

    if (has(m, at, LW_LANES_OUTWARD)) {
        t.broke = mask_slot(m);
        set_mask(m, t.broke, NONE);
    }
    m->f->targets = &t;
    run(m, at + 1, m->f->facts.regions.ends[at]);
    m->f->targets = t.outer;
    m->live = t.broke ? joined(m, m->live, lw_ir_get(m->b, t.broke)) : before;
}

static void
loop_body(maker *m, target *t, uint32_t latch, uint32_t end)
{
    m->live = t->top;
    if (t->continued)
        set_mask(m, t->continued, NONE);
    run(m, t->at + 1, latch);
    if (t->continued)
        m->live = t->inside ? joined(m, m->live, lw_ir_get(m->b, t->continued)) : t->top;
    if (t->inside && !t->tested)
        test(m, t);
    else if (t->inside)
        set_mask(m, t->inside, m->live);
    lw_ir_latch(m->b);
    m->live = t->inside ? lw_ir_get(m->b, t->inside) : t->top;
    run(m, latch + 1, end);
    if (t->inside && lw_lanes_jumps(&m->f->facts, latch + 1, end))
        set_mask(m, t->inside, m->live); /* those that the latch has let go on */
}

static void
loop(maker *m, uint32_t at)
{
    enum { KEPT = LW_LOOP_NO_UNROLL | LW_LOOP_UNROLL_FULL };
    const lw_ir_regions *regions = &m->f->facts.regions;
    bool outward = has(m, at, LW_LANES_OUTWARD), breaks = has(m, at, LW_LANES_BREAKS);
    target t = {.at = at, .outer = m->f->targets, .top = m->live};
    lw_ref before = m->live;

    if (outward || breaks) {
        t.inside = mask_slot(m);
        set_mask(m, t.inside, before);
    }
    if (outward && breaks) {
        t.broke = mask_slot(m);
        set_mask(m, t.broke, NONE);
    }
    if (has(m, at, LW_LANES_CONTINUED))
        t.continued = mask_slot(m);
    lw_ir_loop(m->b, inst_at(m, at)->flags & KEPT);
    if (t.inside)
        t.top = lw_ir_get(m->b, t.inside);
    m->f->targets = &t;
    loop_body(m, &t, regions->middles[at], regions->ends[at]);
    m->f->targets = t.outer;
    lw_ir_end(m->b);
    m->live = !outward ? before : lw_ir_get(m->b, breaks ? t.broke : t.inside);
}

static void
jump(maker *m, uint32_t i)
{
    const lw_inst *inst = inst_at(m, i);
    uint32_t to = inst->op == LW_OP_RETURN ? 0 : lw_lanes_target(&m->f->facts, i);
    const uint32_t *list = m->f->facts.func->lists.data + inst->b;
    target *t = m->f->targets;
    lw_ref slot;

    for (uint32_t k = 0; inst->op == LW_OP_RETURN && k < inst->c; k++)
        assign(m, m->f->results[k], m->f->now[list[k]], false);
    if (inst->op != LW_OP_RETURN) {
        while (t != NULL && t->at != to)
            t = t->outer;
        assert(t != NULL);
        slot = inst->op == LW_OP_BREAK ? t->broke : t->continued;
        if (slot)
            set_mask(m, slot, joined(m, lw_ir_get(m->b, slot), m->live));
    }
    m->live = NONE;
}

/* ---- functions ---- */

static void function(maker *m, uint32_t number, const lw_ref *args, lw_ref *results);

static void
called(maker *m, uint32_t i)
{
    const lw_inst *inst = inst_at(m, i);
    const uint32_t *list = m->f->facts.func->lists.data + inst->b;
    uint32_t n_results = m->b->module->funcs.data[inst->a]->results.n;
    lw_ref *args = lw_alloc_zero(inst->c + n_results + 1u, sizeof *args);

    if (args == NULL) {
        m->failed = true;
        return;
    }
    for (uint32_t k = 0; k < inst->c; k++)
        args[k] = m->f->now[list[k]];
    function(m, inst->a, args, args + inst->c);
    /* its RESULTs, which may stand anywhere after it */
    for (uint32_t k = i; k < m->f->facts.func->insts.n; k++) {
        const lw_inst *result = inst_at(m, k);
        if (result->op == LW_OP_RESULT && result->a == i)
            m->f->now[k] = args[inst->c + result->b];
    }
    if (n_results == 1)
        m->f->now[i] = args[inst->c];
    lw_free(args);
}

static void
one(maker *m, uint32_t i)
{
    const lw_inst *inst = inst_at(m, i);

    m->b->loc = inst->loc;
    switch ((lw_op)inst->op) {
    case LW_OP_CONST:
        m->f->now[i] = lw_ir_bits(m->b, (lw_dtype)inst->type,
                                  m->f->facts.func->constants.data[inst->a].bits);
        break;
    case LW_OP_PARAM: m->f->now[i] = m->f->args[inst->a]; break;
    case LW_OP_SLOT:
    case LW_OP_GET:
    case LW_OP_SET: slot_or_variable(m, i); break;
    case LW_OP_CALL: called(m, i); break;
    case LW_OP_RESULT: break;
    case LW_OP_IF: branch(m, i); break;
    case LW_OP_BLOCK: block(m, i); break;
    case LW_OP_LOOP: loop(m, i); break;
    case LW_OP_BREAK:
    case LW_OP_CONTINUE:
    case LW_OP_RETURN: jump(m, i); break;
    default: elementwise(m, i); break;
    }
}

static void
run(maker *m, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end && !m->failed && !m->b->module->failed; i++) {
        one(m, i);
        if (lw_ir_opens_region((lw_op)inst_at(m, i)->op))
            i = m->f->facts.regions.ends[i];
    }
}

/* Emits the function for the lanes at hand, all of which return from it. */
static void
function(maker *m, uint32_t number, const lw_ref *args, lw_ref *results)
{
    const lw_func *func = m->b->module->funcs.data[number];
    frame f = {.args = args, .base = m->live}, *caller = m->f;
    bool ok = lw_lanes_facts_init(&f.facts, func);

    f.now = lw_alloc_zero(func->insts.n + 1, sizeof *f.now);
    f.results = lw_alloc_zero(func->results.n + 1, sizeof *f.results);
    m->failed |= !ok || f.now == NULL || f.results == NULL;
    m->f = &f;
    for (uint32_t i = 0; !m->failed && i < func->results.n; i++)
        f.results[i] = lw_ir_vector_slot(m->b, func->results.data[i], m->choice.lanes);
    if (!m->failed)
        run(m, 1, func->insts.n);
    for (uint32_t i = 0; !m->failed && i < func->results.n; i++)
        results[i] = lw_ir_get(m->b, f.results[i]);
    m->live = f.base;
    m->f = caller;
    lw_free(f.now);
    lw_free(f.results);
    lw_lanes_facts_reset(&f.facts);
}

lw_status
lw_lanes_inline(lw_builder *b, uint32_t body, const lw_lanes_choice *choice, const lw_ref *args,
                lw_ref *results, lw_error *err)
{
    maker m = {.b = b, .choice = *choice, .live = ALL};

    function(&m, body, args, results);
    return m.failed || b->module->failed ? lw_fail_memory(err) : LW_OK;
}
