/* Writes loops whose threads keep elements in registers (kept.h): the iterations of a thread
 * one after the other, without a loop. Loads whose addresses are known come before all else, so
 * that they are under way together. Only the last iteration of a thread may not exist; its
 * loads then read the element of the loop's last one. */
#include "core/ir/operands.h"
#include "core/opt/loops/carried.h"
#include "core/opt/loops/copier.h"

#include <assert.h>
#include <string.h>

/* Loads of an iteration; iterations whose loads are under way together, where they load what
 * does not stay in registers. */
enum { MOST_EARLY = 12, TOGETHER = 8 };

typedef lw_copier copier;

/* What the iterations of a loop do first. */
typedef struct early {
    uint8_t *is;                              /* by instruction of the iteration */
    uint32_t n;                               /* loads … */
    uint32_t at[MOST_EARLY];                  /* … which they are … */
    lw_ref values[LW_MOST_SHARE][MOST_EARLY]; /* … and what they have loaded */
} early;

lw_status
lw_copier_start_kept(copier *c, lw_spread_threads threads, lw_error *err)
{
    uint32_t share = threads.kept;
    lw_arena *arena = &c->b.module->arena;
    uint32_t n = c->s->of->n_arrays;

    if (share == 0)
        return LW_OK;
    assert(share <= LW_MOST_SHARE);
    c->kept = lw_kept_find(c->s);
    c->slots = lw_arena_take(arena, (n + 1) * sizeof *c->slots);
    c->filled = lw_arena_take(arena, n + 1);
    if (c->kept.dim == 0 || c->slots == NULL || c->filled == NULL)
        return lw_fail_memory(err);
    memset(c->filled, 0, n + 1);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < share && c->kept.arrays[i].kept; k++)
            c->slots[i][k] = lw_ir_slot(&c->b, c->kept.arrays[i].type);
    c->share = share;
    c->whole = threads.whole;
    return LW_OK;
}

bool
lw_copier_keeps(const copier *c, const lw_spread_loop *l)
{
    return c->share != 0 && (c->kept.loops >> (l - c->s->loops) & 1);
}

bool
lw_copier_waits(const copier *c, const lw_spread_loop *l)
{
    if (!l->stores || c->share == 0)
        return l->stores;
    for (uint32_t i = l->first; i < l->latch; i++) {
        const lw_inst *inst = lw_inst_at(c->s, i);
        int root = inst->op == LW_OP_STORE ? lw_root_of(c->s, inst->a) : -1;
        if (inst->op == LW_OP_STORE && (root < 0 || !c->kept.arrays[root].own))
            return true;
    }
    return false;
}

/* ---- loads ---- */

static bool
is_known_early(const lw_spread_loop *l, const early *e, lw_ref ref)
{
    return ref < l->at || ref == l->at + 1 || (ref >= l->first && e->is[ref - l->first]);
}

/* Whether an instruction that every iteration runs can be run before all others. */
static bool
comes_early(const copier *c, const lw_spread_loop *l, const early *e, uint32_t at,
            uint64_t stored)
{
    const lw_inst *inst = lw_inst_at(c->s, at);
    uint32_t k = 0;
    lw_ref operand;

    if (inst->op == LW_OP_GET)
        return inst->a == l->counter;
    if (inst->op == LW_OP_LOAD) {
        int root = lw_root_of(c->s, inst->a);
        return e->n < MOST_EARLY && (root < 0 || !(stored >> root & 1)) &&
               is_known_early(l, e, inst->a);
    }
    if (lw_ops[inst->op].class != LW_CLASS_PURE)
        return false;
    while (lw_ir_next_operand(c->s->func, inst, &k, &operand))
        if (!is_known_early(l, e, operand))
            return false;
    return true;
}

static bool
find_early(const copier *c, const lw_spread_loop *l, early *e)
{
    uint64_t stored = 0; /* arrays */

    e->is = lw_arena_take(&c->s->arena, l->latch - l->first + 1);
    e->n = 0;
    if (e->is == NULL)
        return false;
    memset(e->is, 0, l->latch - l->first + 1);
    for (uint32_t i = l->first; i < l->latch; i++) {
        const lw_inst *inst = lw_inst_at(c->s, i);
        if (c->s->regions.ends[i]) { /* not every iteration runs what is inside */
            for (uint32_t k = i; k < c->s->regions.ends[i]; k++)
                if (lw_inst_at(c->s, k)->op == LW_OP_STORE)
                    stored |= (uint64_t)1 << lw_root_of(c->s, lw_inst_at(c->s, k)->a);
            i = c->s->regions.ends[i];
            continue;
        }
        if (inst->op == LW_OP_STORE)
            stored |= (uint64_t)1 << lw_root_of(c->s, inst->a);
        e->is[i - l->first] = comes_early(c, l, e, i, stored);
        if (inst->op == LW_OP_LOAD && e->is[i - l->first])
            e->at[e->n++] = i;
    }
    return true;
}

/* The array whose element this LOAD or STORE of the loop accesses, if it is kept; else −1. */
static int
kept_access(const copier *c, const lw_spread_loop *l, uint32_t at)
{
    int array = lw_kept_access(c->s, l, at);

    return array >= 0 && c->kept.arrays[array].kept ? array : -1;
}

/* Loads what iteration number k of the thread loads early. */
static void
load_early(copier *c, const lw_spread_loop *l, early *e, uint32_t k, lw_ref number)
{
    uint32_t n = 0;

    c->to[l->at + 1] = number;
    for (uint32_t i = l->first; i < l->latch; i++) {
        const lw_inst *inst = lw_inst_at(c->s, i);
        int array = inst->op == LW_OP_LOAD ? kept_access(c, l, i) : -1;
        if (!e->is[i - l->first])
            continue;
        if (inst->op == LW_OP_GET)
            c->to[i] = number;
        else if (array >= 0 && c->filled[array])
            c->to[i] = lw_ir_get(&c->b, c->slots[array][k]);
        else
            lw_copier_inst(c, i);
        if (array >= 0 && !c->filled[array])
            lw_ir_set(&c->b, c->slots[array][k], c->to[i]);
        if (inst->op == LW_OP_LOAD)
            e->values[k][n++] = c->to[i];
    }
    assert(n == e->n);
}

/* ---- iterations ---- */

/* Sets `filled` to the arrays whose elements this iteration has in registers once it has run
 * the instruction. */
static void
note_filled(const copier *c, const lw_spread_loop *l, uint32_t at, bool *filled)
{
    int array = kept_access(c, l, at);

    if (array >= 0 && !lw_is_in_branch(c->s, l, at))
        filled[array] = true;
}

/* Copies an access to a kept element. False: it goes to memory. */
static bool
copy_kept_access(copier *c, const lw_spread_loop *l, uint32_t at, uint32_t k,
                 const bool *filled)
{
    const lw_inst *inst = lw_inst_at(c->s, at);
    int array = kept_access(c, l, at);

    if (array < 0)
        return false;
    if (inst->op == LW_OP_STORE) {
        lw_ir_set(&c->b, c->slots[array][k], c->to[inst->b]);
        return lw_kept_is_dead(c->s, &c->kept, l, at);
    }
    if (filled[array])
        c->to[at] = lw_ir_get(&c->b, c->slots[array][k]);
    return filled[array];
}

/* Copies any other instruction, or a load that finds the element in memory and keeps it. */
static void
copy_other(copier *c, const lw_spread_loop *l, uint32_t at, uint32_t k, uint32_t *eager)
{
    int array = lw_inst_at(c->s, at)->op == LW_OP_LOAD ? kept_access(c, l, at) : -1;

    lw_copier_shared_inst(c, l, at, eager);
    if (array >= 0)
        lw_ir_set(&c->b, c->slots[array][k], c->to[at]);
}

static void
copy_iteration(copier *c, const lw_spread_loop *l, const early *e, uint32_t k, lw_ref number)
{
    uint32_t eager = 0, n = 0;
    bool filled[64];

    assert(c->s->of->n_arrays <= 64);
    memcpy(filled, c->filled, c->s->of->n_arrays);
    lw_ir_set(&c->b, c->to[l->counter], number);
    c->to[l->at + 1] = number;
    lw_copier_counts(c, l, number);
    for (uint32_t i = l->first; i < l->latch; i++) {
        if (n < e->n && e->at[n] == i)
            c->to[i] = e->values[k][n++];
        else if (!copy_kept_access(c, l, i, k, filled))
            copy_other(c, l, i, k, &eager);
        note_filled(c, l, i, filled);
    }
    if (k + 1 == c->share && lw_kept_is_certain(c->s, l))
        memcpy(c->filled, filled, c->s->of->n_arrays);
}

/* Whether the thread's iteration number k is to be run: the last one may not exist, and the
 * loop's first one may have been run by all threads. 0: it is. */
static lw_ref
is_there(copier *c, const lw_spread_loop *l, uint32_t k, lw_ref number)
{
    lw_builder *b = &c->b;
    lw_ref is_less = 0, is_later = 0;

    if (k + 1 == c->share && !c->whole)
        is_less = lw_ir_compare(b, LW_OP_LT, number, c->to[l->limit]);
    if (k == 0 && lw_picks_start_together(l))
        is_later = lw_ir_compare(b, LW_OP_GT, number, lw_ir_zero(b, lw_ir_type(b, number)));
    return is_less && is_later ? lw_ir_and(b, is_less, is_later)
                               : (is_less ? is_less : is_later);
}

static lw_ref
number_of(copier *c, lw_dtype type, uint32_t k)
{
    return lw_ir_add(&c->b, lw_ir_cast(&c->b, type, c->block.tid),
                     lw_ir_int(&c->b, type, (int64_t)k * c->block.n_threads));
}

/* The iteration whose elements iteration number k of the thread loads: the loop's last one
 * where it does not exist. */
static lw_ref
number_to_load(copier *c, const lw_spread_loop *l, uint32_t k)
{
    lw_builder *b = &c->b;
    lw_dtype type = lw_copier_type(c, l->counter);
    lw_ref number = number_of(c, type, k), exists, last;

    if (k + 1 < c->share || c->whole)
        return number;
    last = lw_ir_sub(b, c->to[l->limit], lw_ir_int(b, type, 1));
    exists = lw_ir_compare(b, LW_OP_LT, number, c->to[l->limit]);
    return lw_ir_select(b, exists, number, last);
}

static bool
keeps_loads(const copier *c, const lw_spread_loop *l, const early *e)
{
    for (uint32_t i = 0; i < e->n; i++)
        if (kept_access(c, l, e->at[i]) < 0)
            return false;
    return true;
}

void
lw_copier_kept(copier *c, const lw_spread_loop *l)
{
    lw_builder *b = &c->b;
    lw_dtype type = lw_copier_type(c, l->counter);
    early *e = lw_arena_take(&c->s->arena, sizeof *e);
    uint32_t n;

    if (e == NULL || !find_early(c, l, e)) {
        b->module->failed = true;
        return;
    }
    n = keeps_loads(c, l, e) ? c->share : TOGETHER;
    for (uint32_t first = 0; first < c->share; first += n) {
        uint32_t end = first + n < c->share ? first + n : c->share;
        for (uint32_t k = first; k < end; k++)
            load_early(c, l, e, k, number_to_load(c, l, k));
        for (uint32_t k = first; k < end; k++) {
            lw_ref number = number_of(c, type, k), exists = is_there(c, l, k, number);
            if (exists)
                lw_ir_if(b, exists);
            copy_iteration(c, l, e, k, number);
            if (exists)
                lw_ir_end(b);
        }
    }
}
