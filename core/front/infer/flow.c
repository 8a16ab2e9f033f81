/* The sets of definitions that reach a point of the program, one bit for each definition of a
 * variable. A variable has one word for its bits; one with more definitions gets further words
 * at the end, of which it is known only in the middle of a walk that they are needed: that walk
 * goes on with one definition for several assignments, and the next one has room for all. */
#include "core/front/infer/infer_internal.h"

#include <assert.h>
#include <string.h>

enum { WORD = 64 };

uint32_t
lw_flow_words(const lw_infer_frame *f)
{
    return 2 * f->fn->vars.n + f->n_more;
}

static size_t
flow_bytes(const lw_infer_frame *f)
{
    return (lw_flow_words(f) + 1) * sizeof(uint64_t);
}

uint64_t *
lw_flow_new(lw_infer_frame *f)
{
    return lw_arena_take(f->run->arena, flow_bytes(f));
}

bool
lw_flow_take(lw_infer_frame *f, lw_flow *flow)
{
    if (f->n_pool)
        *flow = f->pool[--f->n_pool];
    else
        flow->reach = lw_flow_new(f);
    if (flow->reach == NULL)
        return false;
    memcpy(flow->reach, f->now.reach, flow_bytes(f));
    flow->live = f->now.live;
    return true;
}

bool
lw_flow_take_none(lw_infer_frame *f, lw_flow *flow)
{
    if (!lw_flow_take(f, flow))
        return false;
    memset(flow->reach, 0, flow_bytes(f));
    flow->live = false;
    return true;
}

void
lw_flow_put(lw_infer_frame *f, lw_flow *flow)
{
    if (flow->reach && f->n_pool < sizeof f->pool / sizeof f->pool[0])
        f->pool[f->n_pool++] = *flow;
    assert(f->n_pool <= sizeof f->pool / sizeof f->pool[0]);
    flow->reach = NULL;
}

void
lw_flow_merge(lw_infer_frame *f, lw_flow *into, const lw_flow *from)
{
    assert(!from->live || (into->reach != NULL && from->reach != NULL)); /* both were taken */
    if (!from->live)
        return;
    if (!into->live) {
        memcpy(into->reach, from->reach, flow_bytes(f));
        into->live = true;
        return;
    }
    for (uint32_t i = 0; i < lw_flow_words(f); i++)
        into->reach[i] |= from->reach[i];
}

void
lw_flow_set(lw_infer_frame *f, const lw_flow *from)
{
    assert(from->reach != NULL);
    memcpy(f->now.reach, from->reach, flow_bytes(f));
    f->now.live = from->live;
}

void
lw_flow_keep(const lw_infer_frame *f, lw_flow *flow)
{
    assert(flow->reach != NULL); /* it was taken before */
    memcpy(flow->reach, f->now.reach, flow_bytes(f));
    flow->live = f->now.live;
}

/* ---- and, or, chains: operands that may not be reached ---- */

bool
lw_may_stop_here(lw_infer_frame *f, int truth, bool goes_on, lw_flow *stopped)
{
    if (!f->run->assigns_inside || truth == goes_on)
        return true;
    if (stopped->reach == NULL)
        return lw_flow_take(f, stopped);
    lw_flow_merge(f, stopped, &f->now);
    return true;
}

void
lw_join_stopped(lw_infer_frame *f, const lw_flow *stopped)
{
    if (stopped->reach)
        lw_flow_merge(f, &f->now, stopped);
}

/* ---- the bits of a variable ---- */

static uint64_t *
word_of(const lw_infer_frame *f, uint32_t var, uint32_t bit)
{
    assert(bit < (f->more[var].n + 1) * WORD);
    return bit < WORD ? &f->now.reach[var] : &f->now.reach[f->more[var].at + bit / WORD - 1];
}

static uint32_t
highest(uint64_t word)
{
    uint32_t bit = 0;

    for (uint32_t step = WORD / 2; step != 0; step /= 2)
        if (word >> step != 0) {
            word >>= step;
            bit += step;
        }
    return bit;
}

uint32_t
lw_next_reached(const lw_infer_frame *f, uint32_t var, uint32_t def)
{
    uint32_t end =
        def ? f->defs.data[def].bit : f->defs_of[var].n + 1; /* bits below are left */

    while (end > 1) {
        uint32_t first = (end - 1) / WORD * WORD;
        uint64_t word = *word_of(f, var, first);

        if (end - first < WORD)
            word &= (1ull << (end - first)) - 1;
        if (first == 0)
            word &= ~1ull; /* unbound */
        if (word != 0)
            return f->defs_of[var].data[first + highest(word) - 1];
        end = first;
    }
    return 0;
}

void
lw_reach_only(lw_infer_frame *f, uint32_t var, uint32_t bit)
{
    f->now.reach[var] = 0;
    if (f->more[var].n)
        memset(&f->now.reach[f->more[var].at], 0, f->more[var].n * sizeof(uint64_t));
    *word_of(f, var, bit) = 1ull << bit % WORD;
}

bool
lw_has_room(lw_infer_frame *f, uint32_t var)
{
    if (f->defs_of[var].n + 1 < (f->more[var].n + 1) * WORD)
        return true;
    f->more[var].n_missing++;
    f->changed = f->crowded = true;
    return false;
}

/* ---- try ---- */

void
lw_note_raise(lw_infer_frame *f)
{
    uint64_t *raised = f->tries && f->now.live ? f->tries->raised.reach : NULL;

    for (uint32_t i = 0; raised && i < lw_flow_words(f); i++)
        raised[i] |= f->now.reach[i];
    if (raised != NULL)
        f->tries->raised.live = true;
}

/* The words of one variable in `from` join those in `into`, or replace them. */
static void
copy_variable(const lw_infer_frame *f, uint64_t *into, const uint64_t *from, uint32_t var,
              bool replace)
{
    const uint32_t at[] = {var, f->fn->vars.n + var, f->more[var].at};
    const uint32_t n[] = {1, 1, f->more[var].n};

    for (int part = 0; part < 3; part++)
        for (uint32_t i = at[part]; i < at[part] + n[part]; i++)
            into[i] = from[i] | (replace ? 0 : into[i]);
}

void
lw_note_assigned(lw_infer_frame *f, uint32_t var)
{
    if (f->tries != NULL)
        copy_variable(f, f->tries->raised.reach, f->now.reach, var, false);
    if (f->assigned != NULL)
        f->assigned[var] = true;
}

void
lw_flow_pass(const lw_infer_frame *f, lw_flow *flow, const lw_flow *after)
{
    uint32_t n = f->fn->vars.n;

    assert(f->assigned != NULL);
    flow->live &= after->live;
    for (uint32_t var = 0; var < n; var++) {
        if (f->assigned[var])
            copy_variable(f, flow->reach, after->reach, var, true);
        else
            flow->reach[n + var] |= after->reach[n + var];
    }
}

/* ---- room ---- */

static void
separate(lw_infer_frame *f, uint32_t var)
{
    for (uint32_t i = 0; i < f->defs_of[var].n; i++) {
        uint32_t def = f->defs_of[var].data[i];
        f->defs.data[def].parent = f->defs.data[def].ring = def;
    }
}

bool
lw_flows_grow(lw_infer_frame *f)
{
    uint32_t n_old = lw_flow_words(f);

    if (!f->crowded)
        return true;
    for (uint32_t var = 0; var < f->fn->vars.n; var++) {
        lw_more_bits *more = &f->more[var];
        if (more->n_missing == 0)
            continue;
        more->at = lw_flow_words(f);
        more->n = (f->defs_of[var].n + more->n_missing) / WORD + 1;
        more->n_missing = 0;
        f->n_more += more->n;
        separate(f, var);
    }
    f->crowded = false;
    f->n_pool = 0;
    f->now.reach = lw_flow_new(f);
    for (uint32_t i = 1; i < f->back_edges.n; i++) {
        uint64_t *grown = lw_flow_new(f);
        if (grown == NULL)
            return false;
        memcpy(grown, f->back_edges.data[i], n_old * sizeof *grown);
        f->back_edges.data[i] = grown;
    }
    return f->now.reach != NULL;
}
