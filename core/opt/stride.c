/* The function is written again, with an unrolled copy in front of each such loop:
 *
 *     left = i < end ? end - i : 0;
 *     while (left > 4 * step) { body(i); body(i + step); … i += 4 * step; left -= 4 * step; }
 *     while (i < end) { body(i); … }                                       as it was
 *
 * Iterations keep their order, so nothing is assumed about what they store. It is ptxas that
 * moves the loads of a parameter that nobody writes to the front. */
#include "core/opt/stride.h"

#include "core/base/memory.h"
#include "core/ir/operands.h"

#include <assert.h>
#include <string.h>

/* DRAW: instructions of a function that draws a number, and of those that it calls: a normal
 * number has 190. */
enum { UNROLL = 4, SHORT_ITERATION = 80, DRAW = 240, HEAD = 7, MOST_INNER = 8 };

typedef LW_ARRAY(lw_inst) lw_insts;

typedef struct rewriter {
    lw_builder b;
    const lw_inst *old; /* the function as it was */
    uint32_t n;
    lw_ref *to; /* by old number: the new one */
} rewriter;

/* LOOP, GET slot, LT end, NOT, IF, BREAK, END, body, LATCH, GET slot, …, ADD step, SET slot,
 * END */
typedef struct strided {
    uint32_t at, first, latch, end;
    lw_ref slot, limit, step;
} strided;

/* ---- what is found ---- */

static uint32_t
find_end(const rewriter *r, uint32_t at, uint32_t *latch)
{
    uint32_t depth = 0;

    assert(r->old[at].op == LW_OP_LOOP);
    for (uint32_t i = at + 1; i < r->n; i++)
        switch (r->old[i].op) {
        case LW_OP_IF:
        case LW_OP_BLOCK:
        case LW_OP_LOOP: depth++; break;
        case LW_OP_LATCH:
            if (depth == 0)
                *latch = i;
            break;
        case LW_OP_END:
            if (depth-- == 0)
                return i;
            break;
        default: break;
        }
    return 0;
}

static bool
is_fixed(const rewriter *r, const strided *s, lw_ref value)
{
    lw_op op = (lw_op)r->old[value].op;

    return value < s->at || op == LW_OP_CONST || op == LW_OP_PARAM || op == LW_OP_VARYING;
}

/* Whether the loop is one of lw_ir_for or lw_ir_for_end whose step is not a constant. */
static bool
is_strided(const rewriter *r, uint32_t at, strided *s)
{
    const lw_inst *i = r->old;

    *s = (strided){.at = at, .first = at + HEAD};
    s->end = find_end(r, at, &s->latch);
    if (s->latch < s->first || s->end < s->latch + 4 || i[at + 1].op != LW_OP_GET ||
        i[at + 1].type != LW_DT_i64 || i[at + 2].op != LW_OP_LT || i[at + 2].a != at + 1 ||
        i[at + 4].op != LW_OP_IF || i[at + 4].a != at + 3 || i[at + 5].op != LW_OP_BREAK ||
        i[at + 6].op != LW_OP_END || i[s->latch + 1].op != LW_OP_GET ||
        i[s->end - 1].op != LW_OP_SET || i[s->end - 2].op != LW_OP_ADD)
        return false;
    s->slot = i[at + 1].a;
    s->limit = i[at + 2].b;
    s->step = i[s->end - 2].b;
    return i[s->latch + 1].a == s->slot && i[s->end - 1].a == s->slot &&
           i[s->end - 1].b == s->end - 2 && i[s->end - 2].a == s->latch + 1 &&
           i[s->step].op != LW_OP_CONST && is_fixed(r, s, s->step) && is_fixed(r, s, s->limit);
}

/* The parameter from which an address is computed; UINT32_MAX: none. */
static uint32_t
root_of(const rewriter *r, lw_ref pointer)
{
    while (r->old[pointer].op == LW_OP_OFFSET)
        pointer = r->old[pointer].a;
    return r->old[pointer].op == LW_OP_PARAM ? r->old[pointer].a : UINT32_MAX;
}

static bool
is_written(const rewriter *r, uint32_t param)
{
    for (uint32_t i = 1; i < r->n; i++) {
        const lw_inst *inst = &r->old[i];
        if ((inst->op == LW_OP_STORE && root_of(r, inst->a) == param) ||
            (inst->op == LW_OP_ATOMIC && root_of(r, r->b.func->lists.data[inst->b]) == param))
            return true;
    }
    return false;
}

/* Whether an inner loop is one that LLVM unrolls completely. */
static bool
is_small_loop(const rewriter *r, uint32_t at)
{
    const lw_inst *limit;

    if (at + 2 >= r->n || r->old[at + 1].op != LW_OP_GET || r->old[at + 2].op != LW_OP_LT)
        return false;
    limit = &r->old[r->old[at + 2].b];
    return limit->op == LW_OP_CONST && r->b.func->constants.data[limit->a].bits <= MOST_INNER;
}

typedef struct drawing {
    uint32_t size; /* instructions */
    bool loads, stores;
} drawing;

/* Whether a function is straight-line code but for IFs, and what it does, is added to d. */
static bool
is_drawing(const rewriter *r, uint32_t func, drawing *d)
{
    const lw_func *f = r->b.module->funcs.data[func];

    d->size += f->insts.n;
    for (uint32_t i = 1; d->size <= DRAW && i < f->insts.n; i++) {
        const lw_inst *inst = &f->insts.data[i];
        switch (inst->op) {
        case LW_OP_LOAD: d->loads = true; break;
        case LW_OP_STORE: d->stores = true; break;
        case LW_OP_CALL:
            if (!is_drawing(r, inst->a, d))
                return false;
            break;
        case LW_OP_GET:
        case LW_OP_SET:
        case LW_OP_SLOT:
        case LW_OP_IF:
        case LW_OP_ELSE:
        case LW_OP_END:
        case LW_OP_RETURN: break;
        default:
            if (lw_ops[inst->op].class != LW_CLASS_PURE)
                return false;
        }
    }
    return d->size <= DRAW;
}

/* Whether an iteration calls nothing but one short function that reads and writes memory: the
 * next number of a generator whose state is an array. What the loop itself does is half of
 * such an iteration. */
static bool
draws(const rewriter *r, const strided *s)
{
    drawing d = {0};
    uint32_t calls = 0;

    for (uint32_t i = s->first; i < s->latch; i++)
        if (r->old[i].op == LW_OP_CALL && (++calls > 1 || !is_drawing(r, r->old[i].a, &d)))
            return false;
    return d.loads && d.stores;
}

/* Whether an iteration is straight-line code but for IFs and small loops, and does not leave
 * the loop. */
static bool
is_straight(const rewriter *r, const strided *s, bool with_calls)
{
    uint32_t inside = 0, ends[SHORT_ITERATION], latch;

    for (uint32_t i = s->first; i < s->latch; i++) {
        const lw_inst *inst = &r->old[i];
        while (inside > 0 && i == ends[inside - 1])
            inside--;
        switch (inst->op) {
        case LW_OP_LOOP:
            if (!is_small_loop(r, i))
                return false;
            assert(inside < SHORT_ITERATION); /* an iteration has fewer instructions */
            ends[inside++] = find_end(r, i, &latch);
            break;
        case LW_OP_BREAK:
        case LW_OP_CONTINUE:
            if (inst->a >= inside)
                return false;
            break;
        case LW_OP_LATCH:
        case LW_OP_LOAD:
        case LW_OP_GET:
        case LW_OP_SET:
        case LW_OP_SLOT:
        case LW_OP_DATA:
        case LW_OP_STORE:
        case LW_OP_ATOMIC:
        case LW_OP_IF:
        case LW_OP_ELSE:
        case LW_OP_END: break;
        default:
            if (lw_ops[inst->op].class != LW_CLASS_PURE &&
                !(with_calls && inst->op == LW_OP_CALL))
                return false;
        }
    }
    return true;
}

static bool
is_worth(const rewriter *r, const strided *s)
{
    bool draw;

    if (s->latch - s->first > SHORT_ITERATION)
        return false;
    draw = draws(r, s);
    if (!is_straight(r, s, draw))
        return false;
    if (draw)
        return true;
    for (uint32_t i = s->first; i < s->latch; i++) {
        const lw_inst *inst = &r->old[i];
        uint32_t root = inst->op == LW_OP_LOAD ? root_of(r, inst->a) : UINT32_MAX;
        if (root != UINT32_MAX && !is_written(r, root))
            return true;
    }
    return false;
}

/* ---- the function anew ---- */

static void
copy(rewriter *r, uint32_t at)
{
    const lw_inst *inst = &r->old[at];

    assert(at > 0 && at < r->n);
    if (inst->op == LW_OP_SLOT && r->to[at] != 0) /* it was copied in front of a loop already */
        return;
    r->to[at] = lw_ir_copy(&r->b, r->b.func, *inst, r->to);
}

static lw_ref
fixed(rewriter *r, const strided *s, lw_ref value)
{
    if (value > s->at)
        copy(r, value);
    return r->to[value];
}

/* 4 * step, or more than any distance where that would overflow. */
static lw_ref
four_steps(lw_builder *b, lw_ref step)
{
    lw_ref small =
        lw_ir_compare(b, LW_OP_LT, step, lw_ir_int(b, LW_DT_i64, INT64_MAX / UNROLL));
    lw_ref four = lw_ir_mul(b, step, lw_ir_int(b, LW_DT_i64, UNROLL));

    return lw_ir_select(b, small, lw_ir_cast(b, LW_DT_u64, four),
                        lw_ir_bits(b, LW_DT_u64, UINT64_MAX));
}

static void
write_loop(rewriter *r, const strided *s)
{
    lw_builder *b = &r->b;
    lw_ref step, limit, four, i, left, distance;

    b->loc = r->old[s->at].loc;
    for (uint32_t k = s->first; k < s->latch; k++)
        if (r->old[k].op == LW_OP_SLOT)
            copy(r, k);
    step = fixed(r, s, s->step);
    limit = fixed(r, s, s->limit);
    four = four_steps(b, step);
    i = lw_ir_get(b, r->to[s->slot]);
    distance = lw_ir_cast(b, LW_DT_u64, lw_ir_sub(b, limit, i));
    left = lw_ir_slot(b, LW_DT_u64);
    lw_ir_set(b, left,
              lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, i, limit), distance,
                           lw_ir_bits(b, LW_DT_u64, 0)));
    lw_ir_loop(b, LW_LOOP_NO_UNROLL);
    distance = lw_ir_get(b, left);
    lw_ir_if(b, lw_ir_not(b, lw_ir_compare(b, LW_OP_GT, distance, four)));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    i = lw_ir_sub(b, limit, lw_ir_cast(b, LW_DT_i64, distance));
    for (int n = 0; n < UNROLL; n++) {
        r->to[s->at + 1] = i;
        for (uint32_t k = s->first; k < s->latch; k++)
            copy(r, k);
        i = lw_ir_add(b, i, step);
    }
    lw_ir_latch(b);
    distance = lw_ir_sub(b, lw_ir_get(b, left), four);
    lw_ir_set(b, left, distance);
    lw_ir_set(b, r->to[s->slot], lw_ir_sub(b, limit, lw_ir_cast(b, LW_DT_i64, distance)));
    lw_ir_end(b);
}

static bool
has_loops(const rewriter *r)
{
    strided s;

    for (uint32_t i = 1; i < r->n; i++)
        if (r->old[i].op == LW_OP_LOOP && is_strided(r, i, &s) && is_worth(r, &s))
            return true;
    return false;
}

static void
write_function(rewriter *r)
{
    strided s;

    for (uint32_t i = 1; i < r->n; i++) {
        if (r->old[i].op == LW_OP_LOOP && is_strided(r, i, &s) && is_worth(r, &s))
            write_loop(r, &s);
        copy(r, i);
    }
}

lw_status
lw_opt_stride(lw_module *module, uint32_t func, lw_error *err)
{
    lw_func *f = module->funcs.data[func];
    rewriter r = {.b = {.module = module, .func = f, .func_number = func},
                  .old = f->insts.data,
                  .n = f->insts.n};
    lw_insts fresh = {0};

    if (!has_loops(&r))
        return LW_OK;
    r.to = lw_alloc_zero(r.n + 1, sizeof *r.to);
    if (r.to == NULL || !lw_array_reserve(&fresh, r.n + 1, &module->arena)) {
        lw_free(r.to);
        return lw_fail_memory(err);
    }
    assert(fresh.data != NULL);
    fresh.data[fresh.n++] = r.old[0];
    memcpy(&f->insts, &fresh, sizeof f->insts);
    write_function(&r);
    lw_free(r.to);
    return module->failed ? lw_fail_memory(err) : LW_OK;
}
