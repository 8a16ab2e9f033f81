#include "core/opt/loops/previous.h"

#include "core/ir/operands.h"
#include "core/opt/loops/access_pattern.h"
#include "core/opt/loops/carried.h"

#include <assert.h>
#include <string.h>

/* A store of each iteration, and the load of what the iteration before has stored. */
typedef struct previous {
    lw_spread_loop loop;
    lw_ref first; /* the counter's first value, which is 0 */
    uint32_t load, store;
} previous;

typedef struct rewriter {
    lw_spreader *s;
    lw_func *out;
    lw_ref *to; /* by value of the function: its copy */
    bool failed;
} rewriter;

/* ---- finding them ---- */

/* Splits the sum that an index adds to the counter: its constants, and whether all else is the
 * same in both. */
static bool
differ_by(const lw_spreader *s, const lw_shift *x, const lw_shift *y, int64_t difference)
{
    bool used[LW_MOST_SHIFTS] = {false};

    for (uint32_t i = 0; i < x->n + y->n; i++) {
        bool is_x = i < x->n;
        const lw_shift *of = is_x ? x : y;
        lw_ref value = of->terms[is_x ? i : i - x->n].value;
        bool minus = of->terms[is_x ? i : i - x->n].minus;
        const lw_inst *inst = lw_inst_at(s, value);
        if (inst->op == LW_OP_CONST) {
            int64_t bits = (int64_t)s->func->constants.data[inst->a].bits;
            difference += minus != is_x ? bits : -bits;
            continue;
        }
        for (uint32_t k = 0; is_x && k <= y->n; k++) {
            if (k == y->n)
                return false;
            if (used[k] || y->terms[k].value != value || y->terms[k].minus != minus)
                continue;
            used[k] = true;
            break;
        }
        if (!is_x && !used[i - x->n])
            return false;
    }
    return difference == 0 && x->step == y->step;
}

/* Whether a value can be computed before the loop for its first iteration. */
static bool
can_precede(const lw_spreader *s, const lw_spread_loop *l, lw_ref ref)
{
    for (uint32_t i = l->at; i <= ref; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        bool can = lw_ops[inst->op].args[1] != 'L' && inst->op != LW_OP_SREG &&
                   lw_ops[inst->op].class == LW_CLASS_PURE;
        uint32_t at = 0;
        lw_ref operand;
        while (can && lw_ir_next_operand(s->func, inst, &at, &operand))
            can = operand < l->at || s->marks[operand];
        s->marks[i] = can || (inst->op == LW_OP_GET && inst->a == l->counter);
    }
    return ref < l->at || s->marks[ref];
}

static bool
index_of(const lw_spreader *s, lw_spread_loop *l, uint32_t at, lw_shift *shift)
{
    lw_access_pattern p;
    bool wraps;

    *shift = (lw_shift){0};
    return lw_access_pattern_of(s, lw_inst_at(s, at)->a, &p) && p.n_terms == 1 &&
           s->of->arrays[p.operand].ndim == 1 &&
           lw_shift_add(s, l, lw_index_of(s, p.terms[0].index, &wraps), false, shift) &&
           shift->step == 1;
}

static bool
is_previous(const lw_spreader *s, lw_spread_loop *l, uint32_t load, uint32_t store)
{
    const lw_inst *x = lw_inst_at(s, load), *y = lw_inst_at(s, store);
    lw_shift loaded, stored;

    return x->op == LW_OP_LOAD && load < store && x->lanes <= 1 &&
           x->type == lw_inst_at(s, y->b)->type && lw_root_of(s, x->a) >= 0 &&
           lw_root_of(s, x->a) == lw_root_of(s, y->a) && !lw_is_in_branch(s, l, load) &&
           index_of(s, l, load, &loaded) && index_of(s, l, store, &stored) &&
           differ_by(s, &stored, &loaded, -1) && can_precede(s, l, x->a);
}

/* Whether an iteration may end before it makes the store, which no branch encloses. */
static bool
may_skip(const lw_spreader *s, const lw_spread_loop *l, uint32_t store)
{
    for (uint32_t i = l->first; i < store; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        if (lw_ends_loop(s, l, i) ||
            (inst->op == LW_OP_CONTINUE && inst->a >= lw_loops_around(s, l, i)))
            return true;
    }
    return false;
}

/* The only store to the array of this one, which every iteration makes. */
static bool
is_only_store(const lw_spreader *s, const lw_spread_loop *l, uint32_t store)
{
    int root = lw_root_of(s, lw_inst_at(s, store)->a);

    for (uint32_t i = l->first; i < l->latch; i++)
        if (i != store && lw_inst_at(s, i)->op == LW_OP_STORE &&
            lw_root_of(s, lw_inst_at(s, i)->a) == root)
            return false;
    return root >= 0 && !lw_is_in_branch(s, l, store) && !may_skip(s, l, store);
}

/* Finds the pair of a loop; one for each loop is enough. */
static bool
find_previous(const lw_spreader *s, uint32_t at, previous *found)
{
    lw_spread_loop l;

    if (!lw_spread_loop_at(s, at, &l))
        return false;
    for (uint32_t store = l.first; store < l.latch; store++) {
        if (lw_inst_at(s, store)->op != LW_OP_STORE || !is_only_store(s, &l, store))
            continue;
        for (uint32_t load = l.first; load < store; load++) {
            if (!is_previous(s, &l, load, store))
                continue;
            *found = (previous){.loop = l, .load = load, .store = store};
            for (uint32_t i = 1; i < at; i++)
                if (lw_inst_at(s, i)->op == LW_OP_SET && lw_inst_at(s, i)->a == l.counter)
                    found->first = lw_inst_at(s, i)->b;
            return true;
        }
    }
    return false;
}

/* ---- the function that is written ---- */

static lw_ref
emit(rewriter *r, lw_inst inst)
{
    lw_inst *made = lw_array_push(&r->out->insts, &r->s->arena);

    if (made == NULL) {
        r->failed = true;
        return 0;
    }
    *made = inst;
    return r->out->insts.n - 1;
}

static lw_ref
emit_op(rewriter *r, uint32_t like, lw_op op, lw_dtype type, lw_ref a, lw_ref b)
{
    return emit(r, (lw_inst){.op = (uint16_t)op,
                             .type = (uint8_t)type,
                             .a = a,
                             .b = b,
                             .loc = lw_inst_at(r->s, like)->loc});
}

static void
copy(rewriter *r, uint32_t at)
{
    lw_inst inst = *lw_inst_at(r->s, at);

    r->failed |= !lw_ir_renumber(r->s->func, &inst, r->to, r->out, &r->s->arena);
    r->to[at] = emit(r, inst);
}

/* Computes a value of the first iteration in front of the loop. */
static lw_ref
compute(rewriter *r, const previous *p, lw_ref ref)
{
    lw_inst inst = *lw_inst_at(r->s, ref);
    const char *args = lw_ops[inst.op].args;
    uint32_t *operands[3] = {&inst.a, &inst.b, &inst.c};

    if (ref < p->loop.at || r->to[ref] != 0)
        return r->to[ref];
    if (inst.op == LW_OP_GET)
        return r->to[p->first];
    for (int k = 0; k < 3; k++)
        if (args[k] == 'v')
            *operands[k] = compute(r, p, *operands[k]);
    r->to[ref] = emit(r, inst); /* until the loop itself is copied */
    return r->to[ref];
}

/* Writes `if 0 < limit: v = what the first iteration loads`. */
static lw_ref
start_variable(rewriter *r, const previous *p)
{
    lw_inst load = *lw_inst_at(r->s, p->load);
    lw_ref slot = emit_op(r, p->load, LW_OP_SLOT, (lw_dtype)load.type, 0, 0), any;

    any = emit_op(r, p->load, LW_OP_LT, LW_DT_b1, r->to[p->first], r->to[p->loop.limit]);
    emit_op(r, p->load, LW_OP_IF, LW_DT_void, any, 0);
    load.a = compute(r, p, load.a);
    emit_op(r, p->load, LW_OP_SET, LW_DT_void, slot, emit(r, load));
    emit_op(r, p->load, LW_OP_END, LW_DT_void, 0, 0);
    return slot;
}

static void
write_loop(rewriter *r, previous *p)
{
    lw_ref slot = start_variable(r, p);
    lw_dtype type = (lw_dtype)lw_inst_at(r->s, p->load)->type;

    for (uint32_t i = p->loop.at; i <= p->loop.end && !r->failed; i++) {
        const lw_inst *inst = lw_inst_at(r->s, i);
        if (i > p->loop.at && is_previous(r->s, &p->loop, i, p->store)) {
            r->to[i] = emit_op(r, i, LW_OP_GET, type, slot, 0);
            continue;
        }
        copy(r, i);
        if (i == p->store)
            emit_op(r, i, LW_OP_SET, LW_DT_void, slot, r->to[inst->b]);
    }
}

static bool
any_previous(const lw_spreader *s)
{
    previous p;

    for (uint32_t i = 1; i < s->func->insts.n; i++)
        if (lw_inst_at(s, i)->op == LW_OP_LOOP) {
            if (find_previous(s, i, &p))
                return true;
            i = s->regions.ends[i];
        }
    return false;
}

const lw_func *
lw_previous_body(lw_spreader *s)
{
    rewriter r = {.s = s};
    previous p;

    if (!any_previous(s))
        return s->func;
    r.out = lw_arena_take(&s->arena, sizeof *r.out);
    r.to = lw_arena_take(&s->arena, (s->func->insts.n + 1) * sizeof *r.to);
    if (r.out == NULL || r.to == NULL)
        return NULL;
    *r.out = *s->func; /* the constants stay the same */
    memset(&r.out->insts, 0, sizeof r.out->insts);
    memset(&r.out->lists, 0, sizeof r.out->lists);
    emit(&r, (lw_inst){0}); /* [0] is unused */
    for (uint32_t i = 1; i < s->func->insts.n && !r.failed; i++) {
        if (lw_inst_at(s, i)->op == LW_OP_LOOP && find_previous(s, i, &p)) {
            write_loop(&r, &p);
            i = s->regions.ends[i];
        } else {
            copy(&r, i);
        }
    }
    return r.failed ? NULL : r.out;
}
