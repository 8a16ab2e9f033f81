/* Writes the function that the threads of a block run together (lw_spread_body): the code
 * between the loops as all threads run it, each loop shared by its threads, and, where guards
 * do not hold, the loop as it was. Loops that scan are written by spread_scan.c. */
#include "core/base/memory.h"
#include "core/ir/operands.h"
#include "core/opt/loops/carried.h"
#include "core/opt/loops/copier.h"
#include "core/block/scan.h"
#include "core/opt/loops/spread.h"

#include <assert.h>

typedef lw_copier copier;

static lw_ref
is_first_thread(copier *c)
{
    return lw_ir_compare(&c->b, LW_OP_EQ, c->block.tid, lw_ir_int(&c->b, LW_DT_u64, 0));
}

/* ---- instructions ---- */

void
lw_copier_inst(copier *c, uint32_t at)
{
    const lw_inst inst = *lw_inst_at(c->s, at);

    assert(at > 0 && at < c->s->func->insts.n);
    if (inst.op == LW_OP_PARAM)
        c->to[at] = c->params[inst.a];
    else if (inst.op == LW_OP_CONST)
        c->to[at] =
            lw_ir_bits(&c->b, (lw_dtype)inst.type, c->s->func->constants.data[inst.a].bits);
    else
        c->to[at] = lw_ir_copy(&c->b, c->s->func, inst, c->to);
}

/* A value that is the same in all iterations, computed before the loop. */
static lw_ref
fixed(copier *c, const lw_spread_loop *l, lw_ref value)
{
    assert(lw_is_fixed(c->s, l, value));
    if (value > l->at)
        lw_copier_inst(c, value);
    return c->to[value];
}

/* One thread does a store that is between the loops, after all threads have read what came
 * before and before any reads what comes after. */
static void
copy_store(copier *c, uint32_t at)
{
    lw_block_wait(&c->b, &c->block);
    lw_ir_if(&c->b, is_first_thread(c));
    lw_copier_inst(c, at);
    lw_ir_end(&c->b);
    lw_block_wait(&c->b, &c->block);
}

/* ---- carried variables ---- */

/* At first no thread has an iteration. */
static void
start_picks(copier *c, lw_spread_loop *l)
{
    lw_dtype type = lw_copier_keeps(c, l) ? LW_DT_i32 : LW_DT_i64;

    for (uint32_t i = 0; i < l->n_picks; i++) {
        l->picks[i].iteration = lw_ir_slot(&c->b, type);
        lw_ir_set(&c->b, l->picks[i].iteration, lw_ir_int(&c->b, type, -1));
    }
}

void
lw_copier_note_pick(copier *c, const lw_spread_loop *l, uint32_t at)
{
    const lw_inst *inst = lw_inst_at(c->s, at);

    for (uint32_t i = 0; i < l->n_picks && inst->op == LW_OP_SET; i++)
        if (l->picks[i].leader == inst->a)
            lw_ir_set(
                &c->b, l->picks[i].iteration,
                lw_ir_cast(&c->b, lw_ir_type(&c->b, l->picks[i].iteration), c->to[l->at + 1]));
}

void
lw_copier_value(copier *c, const lw_spread_loop *l, lw_ref value)
{
    const lw_inst *inst = lw_inst_at(c->s, value);
    const char *args = lw_ops[inst->op].args;
    const uint32_t operands[3] = {inst->a, inst->b, inst->c};

    if (value < l->at)
        return;
    for (int k = 0; k < 3; k++)
        if (args[k] == 'v')
            lw_copier_value(c, l, operands[k]);
    lw_copier_inst(c, value);
}

/* The value that decides about the thread's iteration; any value where the thread has none. */
static lw_ref
deciding_value(copier *c, const lw_spread_loop *l, const lw_pick *pick, lw_ref iteration)
{
    lw_builder *b = &c->b;
    lw_ref made;

    if (pick->best == 0 || pick->place == 0)
        return pick->best ? lw_ir_get(b, c->to[pick->best]) : 0;
    made = lw_ir_slot(b, lw_copier_type(c, pick->place));
    lw_ir_set(b, made, lw_ir_zero(b, lw_copier_type(c, pick->place)));
    lw_ir_if(b, lw_ir_compare(b, LW_OP_GE, iteration, lw_ir_zero(b, lw_ir_type(b, iteration))));
    lw_copier_value(c, l, pick->place);
    lw_ir_set(b, made, c->to[pick->place]);
    lw_ir_end(b);
    return lw_ir_get(b, made);
}

/* Gives all threads the values that the selected iteration has set, or leaves the old ones if
 * no iteration was selected. */
static void
select_iteration(copier *c, const lw_spread_loop *l, uint32_t number)
{
    lw_builder *b = &c->b;
    const lw_pick *pick = &l->picks[number];
    lw_ref values[LW_MOST_CARRIED], slots[LW_MOST_CARRIED],
        mine = lw_ir_get(b, pick->iteration);
    lw_ref best = deciding_value(c, l, pick, mine), stays, any;
    uint32_t n = 0;

    assert(number < l->n_picks);
    stays = lw_block_pick(b, &c->block, &pick->prefers, best, mine);
    any = lw_ir_compare(b, LW_OP_GE, stays, lw_ir_zero(b, lw_ir_type(b, stays)));
    for (uint32_t i = 0; i < l->n_carried; i++)
        if (l->carried[i].how == LW_CARRY_PICKED && l->carried[i].pick == number) {
            slots[n] = c->to[l->carried[i].slot];
            values[n] = lw_ir_get(b, slots[n]);
            n++;
        }
    mine = lw_ir_and(b, any, lw_ir_compare(b, LW_OP_EQ, mine, stays));
    lw_block_give(b, &c->block, values, n, mine);
    lw_ir_if(b, any);
    for (uint32_t i = 0; i < n; i++)
        lw_ir_set(b, slots[i], values[i]);
    lw_ir_end(b);
}

/* Whether all that the loop wants to know is the largest or the smallest value, where no NaN is
 * ever the best. */
static bool
wants_value_only(const copier *c, const lw_spread_loop *l, uint32_t number)
{
    const lw_pick *pick = &l->picks[number];

    if (pick->best == 0 || pick->place || pick->has || pick->first || pick->prefers.nan_best ||
        pick->prefers.nan_worst || !lw_is_float(lw_copier_type(c, pick->best)))
        return false;
    for (uint32_t i = 0; i < l->n_carried; i++)
        if (l->carried[i].how == LW_CARRY_PICKED && l->carried[i].pick == number &&
            l->carried[i].slot != pick->best)
            return false;
    return true;
}

/* Equal values are the same value, except for zeros, whose sign is that of the first or the
 * last one: then it matters which iteration is selected. */
static void
finish_pick(copier *c, const lw_spread_loop *l, uint32_t number)
{
    lw_builder *b = &c->b;
    const lw_pick *pick = &l->picks[number];
    const lw_associative better = {.op = pick->prefers.op};
    lw_ref best, zero;

    if (!wants_value_only(c, l, number)) {
        select_iteration(c, l, number);
        return;
    }
    best = lw_block_total(b, &c->block, &better, lw_ir_get(b, c->to[pick->best]));
    zero = lw_ir_zero(b, lw_ir_type(b, best));
    lw_ir_if(b, lw_ir_compare(b, LW_OP_EQ, best, zero));
    select_iteration(c, l, number);
    lw_ir_else(b);
    lw_ir_set(b, c->to[pick->best], best);
    lw_ir_end(b);
}

/* Each thread starts its partial totals with the identity, and its picks with the values from
 * before the loop. */
static void
start_carried(copier *c, lw_spread_loop *l)
{
    start_picks(c, l);
    for (uint32_t i = 0; i < l->n_carried; i++) {
        lw_carried *one = &l->carried[i];
        lw_ref slot = c->to[one->slot];
        if (one->how != LW_CARRY_COUNT || !lw_picks_start_together(l))
            one->before = lw_ir_get(&c->b, slot);
        if (one->how == LW_CARRY_TOTAL)
            lw_ir_set(&c->b, slot,
                      lw_block_identity(&c->b, &one->combine, lw_copier_type(c, one->slot)));
        if (one->how == LW_CARRY_SCAN) {
            lw_ref kept = lw_ir_slot(&c->b, lw_copier_type(c, one->slot));
            lw_ir_set(&c->b, kept, one->before);
            one->before = kept;
            if (one->affine)
                one->factor = lw_ir_slot(&c->b, lw_copier_type(c, one->slot));
        }
    }
}

void
lw_copier_counts(copier *c, const lw_spread_loop *l, lw_ref number)
{
    lw_builder *b = &c->b;

    for (uint32_t i = 0; i < l->n_carried; i++) {
        const lw_carried *one = &l->carried[i];
        lw_ref by;
        if (one->how != LW_CARRY_COUNT)
            continue;
        by = lw_ir_mul(b, lw_ir_cast(b, lw_copier_type(c, one->slot), number),
                       fixed(c, l, one->by));
        lw_ir_set(b, c->to[one->slot],
                  one->minus ? lw_ir_sub(b, one->before, by) : lw_ir_add(b, one->before, by));
    }
}

static void
finish_carried(copier *c, const lw_spread_loop *l)
{
    lw_builder *b = &c->b;
    lw_ref limit = c->to[l->limit], zero = lw_ir_zero(b, lw_copier_type(c, l->limit));
    lw_ref none = lw_ir_compare(b, LW_OP_LT, limit, zero);

    lw_copier_counts(c, l, lw_ir_select(b, none, zero, limit));
    for (uint32_t i = 0; i < l->n_carried; i++) {
        const lw_carried *one = &l->carried[i];
        lw_ref slot = c->to[one->slot], value;
        if (one->how == LW_CARRY_COUNT || one->how == LW_CARRY_PICKED)
            continue;
        value = lw_ir_get(b, one->how == LW_CARRY_SCAN ? one->before : slot);
        if (one->how == LW_CARRY_TOTAL)
            value = lw_block_combine(b, &one->combine, one->before,
                                     lw_block_total(b, &c->block, &one->combine, value));
        lw_ir_set(b, slot, value);
    }
    for (uint32_t i = 0; i < l->n_picks; i++)
        finish_pick(c, l, i);
}

/* ---- loops that look for something ---- */

/* Iterations of a thread after which the block checks whether one was found. */
enum { SEARCHED_AT_ONCE = 16 };

/* Runs this thread's iterations from `base` on, up to `end` or the first that ends the loop. */
static void
copy_looking(copier *c, const lw_spread_loop *l, lw_ref base, lw_ref end, lw_ref found)
{
    lw_builder *b = &c->b;
    lw_dtype type = lw_copier_type(c, l->counter);
    lw_ref counter = c->to[l->counter], number;

    lw_ir_set(b, counter, lw_ir_add(b, base, lw_ir_cast(b, type, c->block.tid)));
    lw_ir_loop(b, 0);
    number = c->to[l->at + 1] = lw_ir_get(b, counter);
    lw_ir_if(b, lw_ir_not(b, lw_ir_compare(b, LW_OP_LT, number, end)));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    for (uint32_t i = l->first; i < l->latch; i++) {
        if (!lw_ends_loop(c->s, l, i)) {
            lw_copier_inst(c, i);
            continue;
        }
        lw_ir_set(b, found, number);
        lw_ir_break(b, lw_loops_around(c->s, l, i));
    }
    lw_ir_latch(b);
    lw_ir_set(b, counter,
              lw_ir_add(b, lw_ir_get(b, counter), lw_ir_int(b, type, c->block.n_threads)));
    lw_ir_end(b);
}

static void
save_found(copier *c, lw_spread_loop *l)
{
    for (uint32_t i = 0; i < l->n_carried; i++)
        l->carried[i].before = lw_ir_get(&c->b, c->to[l->carried[i].slot]);
}

/* All threads run the first iteration that ends the loop, with the variables as they were
 * before the loop. */
static void
copy_found(copier *c, const lw_spread_loop *l, lw_ref first)
{
    lw_builder *b = &c->b;

    for (uint32_t i = 0; i < l->n_carried; i++)
        lw_ir_set(b, c->to[l->carried[i].slot], l->carried[i].before);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, first, c->to[l->limit]));
    lw_ir_set(b, c->to[l->counter], first);
    for (uint32_t i = l->at; i <= l->end; i++)
        lw_copier_inst(c, i);
    lw_ir_end(b);
}

/* Takes as many iterations at a time as keep each thread busy for a while, then the smallest
 * number that any thread has found. */
static void
copy_search(copier *c, lw_spread_loop *l)
{
    const lw_associative smaller = {.op = LW_OP_LT};
    const lw_thread_block again = {.tid = c->block.tid, .n_threads = c->block.n_threads};
    lw_builder *b = &c->b;
    lw_dtype type = lw_copier_type(c, l->counter);
    lw_ref limit = c->to[l->limit], base = lw_ir_slot(b, type), found = lw_ir_slot(b, type);
    lw_ref start, left, iterations;

    save_found(c, l);
    lw_ir_set(b, base, lw_ir_zero(b, type));
    lw_ir_set(b, found, limit);
    lw_ir_loop(b, 0);
    start = lw_ir_get(b, base);
    lw_ir_if(b, lw_ir_not(b, lw_ir_compare(b, LW_OP_LT, start, limit)));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    left = lw_ir_sub(b, limit, start);
    iterations = lw_ir_int(b, type, (int64_t)SEARCHED_AT_ONCE * c->block.n_threads);
    iterations = lw_ir_smaller(b, left, iterations);
    copy_looking(c, l, start, lw_ir_add(b, start, iterations), found);
    lw_ir_set(b, found, lw_block_total(b, &again, &smaller, lw_ir_get(b, found)));
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, lw_ir_get(b, found), limit));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    lw_ir_set(b, base, lw_ir_add(b, start, iterations));
    lw_ir_latch(b);
    lw_ir_end(b);
    copy_found(c, l, lw_ir_get(b, found));
}

/* ---- other loops ---- */

/* All threads run the first iteration, if there is one. The counted variables still have their
 * first values. */
static void
copy_first(copier *c, lw_spread_loop *l)
{
    lw_builder *b = &c->b;
    lw_ref zero = lw_ir_zero(b, lw_copier_type(c, l->counter));

    start_picks(c, l);
    for (uint32_t i = 0; i < l->n_carried; i++)
        l->carried[i].before = lw_ir_get(b, c->to[l->carried[i].slot]);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, zero, c->to[l->limit]));
    lw_ir_set(b, c->to[l->counter], zero);
    lw_copier_iteration(c, l, false, NULL);
    lw_ir_end(b);
}

/* Whether this reads the bool that says that there is a best: after the first iteration it is
 * true. */
static bool
is_known_has(const lw_spread_loop *l, const lw_inst *inst)
{
    for (uint32_t i = 0; i < l->n_picks; i++)
        if (l->picks[i].first && inst->op == LW_OP_GET && l->picks[i].has == inst->a)
            return true;
    return false;
}

/* The SET of the `v = v and e` whose e this IF computes; 0: the IF is another one. */
static uint32_t
lazy_set(const copier *c, const lw_spread_loop *l, uint32_t at)
{
    lw_carried_step u;

    for (uint32_t i = c->s->regions.ends[at]; i < l->latch && c->s->regions.ends[at]; i++)
        if (lw_inst_at(c->s, i)->op == LW_OP_SET &&
            lw_carried_find(l, lw_inst_at(c->s, i)->a) && lw_carried_update(c->s, l, i, &u) &&
            u.lazy == at)
            return i;
    return 0;
}

/* Copies v = v and e with e evaluated in every iteration, as the guards allow, so that no
 * iteration waits for another. */
static void
copy_eager(copier *c, const lw_spread_loop *l, uint32_t set)
{
    lw_builder *b = &c->b;
    const lw_inst *old = lw_inst_at(c->s, set);
    lw_carried_step u;
    lw_ref both;

    if (!lw_carried_update(c->s, l, set, &u)) {
        b->module->failed = true;
        return;
    }
    both = u.op == LW_OP_AND ? lw_ir_and(b, c->to[u.get], c->to[old->b])
                             : lw_ir_or(b, c->to[u.get], c->to[old->b]);
    lw_ir_set(b, c->to[old->a], both);
}

void
lw_copier_shared_inst(copier *c, const lw_spread_loop *l, uint32_t at, uint32_t *eager)
{
    const lw_inst *inst = lw_inst_at(c->s, at);
    uint32_t set = inst->op == LW_OP_IF ? lazy_set(c, l, at) : 0;

    if (set) {
        *eager = set;
        lw_ir_emit(&c->b, LW_OP_IF, LW_DT_void, lw_ir_int(&c->b, LW_DT_b1, 1), 0, 0);
    } else if (at == *eager) {
        copy_eager(c, l, at);
    } else if (is_known_has(l, inst)) {
        c->to[at] = lw_ir_int(&c->b, LW_DT_b1, 1);
    } else {
        lw_copier_inst(c, at);
    }
    lw_copier_note_pick(c, l, at);
}

/* The first iteration of this thread; where it has none, the limit. */
static lw_ref
first_iteration(copier *c, const lw_spread_loop *l)
{
    lw_builder *b = &c->b;
    lw_dtype type = lw_copier_type(c, l->counter);
    lw_ref first = lw_ir_cast(b, type, c->block.tid), has;

    if (lw_picks_start_together(l))
        return lw_ir_add(b, first, lw_ir_int(b, type, 1));
    if (!c->band)
        return first;
    has = lw_ir_compare(b, LW_OP_LT, c->block.tid, lw_ir_int(b, LW_DT_u64, c->band));
    first = lw_ir_add(b, first, lw_ir_cast(b, type, c->first));
    return lw_ir_select(b, has, first, c->to[l->limit]);
}

/* Gives each thread every n_threads-th iteration. */
static void
copy_sharing(copier *c, const lw_spread_loop *l)
{
    lw_builder *b = &c->b;
    lw_dtype type = lw_copier_type(c, l->counter);
    lw_ref counter = c->to[l->counter], step;
    uint32_t eager = 0;

    lw_ir_set(b, counter, first_iteration(c, l));
    for (uint32_t i = l->at; i <= l->latch; i++) {
        if (i == l->first)
            lw_copier_counts(c, l, c->to[l->at + 1]);
        lw_copier_shared_inst(c, l, i, &eager);
    }
    step = c->band ? lw_ir_cast(b, type, c->step) : lw_ir_int(b, type, c->block.n_threads);
    lw_ir_set(b, counter, lw_ir_add(b, lw_ir_get(b, counter), step));
    lw_copier_inst(c, l->end);
}

/* One thread runs the loop as it is. */
static void
copy_alone(copier *c, const lw_spread_loop *l)
{
    lw_builder *b = &c->b;

    lw_ir_if(b, is_first_thread(c));
    for (uint32_t i = l->at; i <= l->end; i++)
        lw_copier_inst(c, i);
    lw_ir_end(b);
    for (uint32_t i = 0; i < l->n_carried; i++) {
        lw_ref slot = c->to[l->carried[i].slot];
        lw_ir_set(b, slot, lw_block_share(b, &c->block, lw_ir_get(b, slot)));
    }
}

static lw_ref
no_guard_speaks(copier *c, const lw_spread_loop *l)
{
    lw_builder *b = &c->b;
    lw_ref all = lw_ir_int(b, LW_DT_b1, 1);

    for (uint32_t i = 0; i < l->n_guards; i++) {
        lw_ref last =
            lw_ir_sub(b, lw_ir_cast(b, LW_DT_i64, c->to[l->limit]), lw_ir_int(b, LW_DT_i64, 1));
        int64_t step = l->guards[i].step;
        lw_ref sum = lw_ir_int(b, LW_DT_i64, 0);
        if (step < 0) /* the last iteration's index is the smallest */
            sum = lw_ir_mul(b, last, lw_ir_int(b, LW_DT_i64, step));
        for (uint32_t k = 0; k < l->guards[i].n; k++) {
            lw_ref term = lw_ir_cast(b, LW_DT_i64, fixed(c, l, l->guards[i].terms[k].value));
            sum =
                l->guards[i].terms[k].minus ? lw_ir_sub(b, sum, term) : lw_ir_add(b, sum, term);
        }
        all = lw_ir_and(b, all, lw_ir_compare(b, LW_OP_GE, sum, lw_ir_int(b, LW_DT_i64, 0)));
    }
    return all;
}

static void
copy_shared(copier *c, lw_spread_loop *l)
{
    if (l->searches) {
        copy_search(c, l);
        return;
    }
    if (lw_picks_start_together(l))
        copy_first(c, l);
    start_carried(c, l);
    if (l->scans)
        lw_copier_scan(c, l);
    else if (lw_copier_keeps(c, l))
        lw_copier_kept(c, l);
    else
        copy_sharing(c, l);
    finish_carried(c, l);
}

/* Copies the loop as it is: a search is run by all threads, since it may leave the function. */
static void
copy_unshared(copier *c, const lw_spread_loop *l)
{
    if (!l->searches) {
        copy_alone(c, l);
        return;
    }
    for (uint32_t i = l->at; i <= l->end; i++)
        lw_copier_inst(c, i);
}

static void
copy_loop(copier *c, lw_spread_loop *l)
{
    bool waits = lw_copier_waits(c, l);

    if (waits)
        lw_block_wait(&c->b, &c->block);
    if (l->n_guards) {
        lw_ir_if(&c->b, no_guard_speaks(c, l));
        copy_shared(c, l);
        lw_ir_else(&c->b);
        copy_unshared(c, l);
        lw_ir_end(&c->b);
    } else {
        copy_shared(c, l);
    }
    if (waits)
        lw_block_wait(&c->b, &c->block);
}

static void
copy_body(copier *c)
{
    uint32_t next = 0;

    for (uint32_t i = 1; i < c->s->func->insts.n; i++) {
        if (next < c->s->n_loops && c->s->loops[next].at == i) {
            copy_loop(c, &c->s->loops[next]);
            i = c->s->loops[next++].end;
        } else if (c->s->func->insts.data[i].op == LW_OP_STORE) {
            copy_store(c, i);
        } else {
            lw_copier_inst(c, i);
        }
    }
}

static lw_status
start_function(copier *c, uint32_t n_groups, lw_module *module, lw_error *err)
{
    const lw_func *func = c->s->func;
    lw_ref tid;

    c->to = lw_arena_take(&module->arena, (func->insts.n + 1) * sizeof *c->to);
    c->params = lw_arena_take(&module->arena, (func->params.n + 1) * sizeof *c->params);
    if (c->to == NULL || c->params == NULL)
        return lw_fail_memory(err);
    lw_builder_start(&c->b, module, "lw_spread_body");
    if (c->b.func != NULL) {
        c->b.func->line = func->line;
        c->b.func->file = func->file;
    }
    for (uint32_t i = 0; i < func->params.n; i++)
        c->params[i] = lw_ir_param_add(&c->b, func->params.data[i].type,
                                       func->params.data[i].flags, func->params.data[i].name);
    if (c->band) {
        c->first = lw_ir_param_add(&c->b, LW_DT_u32, 0, "first");
        c->step = lw_ir_param_add(&c->b, LW_DT_u32, 0, "step");
    }
    for (uint32_t i = 0; i < func->results.n; i++)
        lw_ir_result_add(&c->b, func->results.data[i]);
    tid = lw_ir_cast(&c->b, LW_DT_u32, lw_ir_sreg(&c->b, LW_SREG_TID_X));
    if (n_groups > 1)
        tid = lw_ir_and(&c->b, tid, lw_ir_int(&c->b, LW_DT_u32, c->block.n_threads - 1));
    c->block.tid = lw_ir_cast(&c->b, LW_DT_u64, tid);
    return LW_OK;
}

lw_status
lw_spread_body(const lw_spread_source *of, lw_spread_threads threads, lw_module *module,
               uint32_t *function, lw_error *err)
{
    lw_spreader *s = lw_alloc_zero(1, sizeof *s);
    copier c = {.s = s, .block = {.n_threads = threads.n, .once = true}, .band = threads.band};
    lw_status status = LW_OK;

    assert(threads.n_groups <= 1 || threads.n == 32);
    assert(threads.band <= threads.n &&
           !(threads.band && (threads.n_groups > 1 || threads.kept)));
    assert(threads.n >= 32 && (threads.n & (threads.n - 1)) == 0);
    if (s == NULL)
        return lw_fail_memory(err);
    if (!lw_spreader_find(s, of)) {
        status = lw_fail(err, LW_ERR_INTERNAL, "a body that cannot be spread");
        goto fail;
    }
    LW_TRY(start_function(&c, threads.n_groups, module, err));
    LW_TRY(lw_copier_start_kept(&c, threads, err));
    copy_body(&c);
    LW_TRY(lw_ir_finish(&c.b, err));
    *function = c.b.func_number;
fail:
    lw_spreader_free(s);
    return status;
}
