/* What the lanes of a simulated warp do together, and what a thread does alone. The thread that
 * completes an operation computes the results of all.
 *
 * Semantics: PTX ISA 8.5, sections 9.7.9.6 (shfl.sync), 9.7.13.2 (bar.warp.sync), 9.7.13.9 to
 * 9.7.13.12 (vote, match, activemask). */
#include "core/host/simulator_internal.h"

#include <time.h>

/* ---- operations of a warp ---- */

typedef struct gathered {
    sim_block *block;
    sim_thread *caller; /* the running thread */
    uint32_t warp, lanes;
} gathered;

/* The lane that a lane reads, following PTX's pseudocode. */
static uint32_t
source_lane(uint32_t wait, uint32_t lane, const sim_thread *thread)
{
    uint32_t b = thread->operand & 31, segment = thread->clamp >> 8 & 31;
    uint32_t bound = (lane & segment) | (thread->clamp & 31 & ~segment);
    uint32_t source;

    switch (wait) {
    case LW_KOP_shfl_up:
        source = lane - b;
        return (int32_t)source >= (int32_t)bound ? source : lane;
    case LW_KOP_shfl_down: source = lane + b; break;
    case LW_KOP_shfl_xor: source = lane ^ b; break;
    default: source = (lane & segment) | (b & ~segment); break;
    }
    return source <= bound ? source : lane;
}

static void
shuffle(const gathered *g, uint32_t wait)
{
    uint32_t lanes, lane, source;
    sim_thread *thread;

    for (lanes = g->lanes; lanes != 0; lanes &= lanes - 1) {
        lane = sim_lowest(lanes);
        thread = sim_lane(g->block, g->warp, lane);
        source = source_lane(wait, lane, thread);
        if ((g->lanes >> source & 1) == 0)
            sim_fault(g->block, g->caller, thread, "lane %u reads lane %u, which %s", lane,
                      source,
                      thread->mask >> source & 1 ? "has ended or is not in the block"
                                                 : "is not in the mask");
        thread->result = (uint32_t)sim_lane(g->block, g->warp, source)->value;
    }
}

static uint32_t
lanes_with(const gathered *g, uint64_t value)
{
    uint32_t lanes, equal = 0;

    for (lanes = g->lanes; lanes != 0; lanes &= lanes - 1)
        if (sim_lane(g->block, g->warp, sim_lowest(lanes))->value == value)
            equal |= lanes & -lanes;
    return equal;
}

static void
match_any(const gathered *g)
{
    uint32_t lanes;
    sim_thread *thread;

    for (lanes = g->lanes; lanes != 0; lanes &= lanes - 1) {
        thread = sim_lane(g->block, g->warp, sim_lowest(lanes));
        thread->result = lanes_with(g, thread->value);
    }
}

static void
answer_all(const gathered *g, uint32_t result)
{
    uint32_t lanes;

    for (lanes = g->lanes; lanes != 0; lanes &= lanes - 1)
        sim_lane(g->block, g->warp, sim_lowest(lanes))->result = result;
}

static void
perform(const gathered *g, uint32_t wait)
{
    uint32_t votes;

    switch (wait) {
    case LW_KOP_shfl_idx:
    case LW_KOP_shfl_up:
    case LW_KOP_shfl_down:
    case LW_KOP_shfl_xor: shuffle(g, wait); break;
    case LW_KOP_vote_all: answer_all(g, lanes_with(g, 1) == g->lanes); break;
    case LW_KOP_vote_any: answer_all(g, lanes_with(g, 1) != 0); break;
    case LW_KOP_vote_eq:
        votes = lanes_with(g, 1);
        answer_all(g, votes == g->lanes || votes == 0);
        break;
    case LW_KOP_ballot: answer_all(g, lanes_with(g, 1)); break;
    case LW_KOP_match_any32:
    case LW_KOP_match_any64: match_any(g); break;
    case LW_KOP_match_all32:
    case LW_KOP_match_all64:
        votes = lanes_with(g, sim_lane(g->block, g->warp, sim_lowest(g->lanes))->value);
        answer_all(g, votes == g->lanes ? votes : 0);
        break;
    /* syncwarp: a mask of some lanes counts as one of all, so that no false race is reported */
    default: g->block->shadow.warp_time[g->warp] = ++g->block->shadow.time; break;
    }
}

void
sim_try_operation(sim_block *block, sim_thread *caller, const sim_thread *thread)
{
    uint32_t index = thread->index / SIM_WARP, lanes;
    sim_warp *warp = &block->warps[index];
    gathered g = {block, caller, index, thread->mask & warp->alive};

    if ((g.lanes & ~warp->gathering) != 0)
        return;
    for (lanes = g.lanes; lanes != 0; lanes &= lanes - 1) {
        const sim_thread *other = sim_lane(block, index, sim_lowest(lanes));

        if (other->wait != thread->wait || other->mask != thread->mask)
            return;
    }
    perform(&g, thread->wait);
    warp->gathering &= ~g.lanes;
    sim_wake(block, index, g.lanes);
}

static sim_thread *
warp_operation(lw_kernel_context *context, uint32_t wait, int32_t mask, uint64_t value)
{
    sim_thread *thread = (sim_thread *)context;
    sim_block *block = thread->block;
    uint32_t warp = thread->index / SIM_WARP, lane = thread->index % SIM_WARP;

    thread->wait = wait;
    thread->mask = (uint32_t)mask;
    thread->value = value;
    if ((thread->mask >> lane & 1) == 0)
        sim_fault(block, thread, thread, "the mask lacks the caller, lane %u", lane);
    sim_unready(block, warp, lane);
    block->warps[warp].gathering |= 1u << lane;
    sim_try_operation(block, thread, thread);
    sim_leave(thread);
    return thread;
}

static int32_t
shuffle_operation(lw_kernel_context *context, uint32_t wait, int32_t mask, int32_t value,
                  int32_t operand, int32_t clamp)
{
    sim_thread *thread = (sim_thread *)context;

    thread->operand = (uint32_t)operand;
    thread->clamp = (uint32_t)clamp;
    return (int32_t)warp_operation(context, wait, mask, (uint32_t)value)->result;
}

int32_t
lw_sim_shfl_idx(lw_kernel_context *context, int32_t mask, int32_t value, int32_t lane,
                int32_t clamp)
{
    return shuffle_operation(context, LW_KOP_shfl_idx, mask, value, lane, clamp);
}

int32_t
lw_sim_shfl_up(lw_kernel_context *context, int32_t mask, int32_t value, int32_t delta,
               int32_t clamp)
{
    return shuffle_operation(context, LW_KOP_shfl_up, mask, value, delta, clamp);
}

int32_t
lw_sim_shfl_down(lw_kernel_context *context, int32_t mask, int32_t value, int32_t delta,
                 int32_t clamp)
{
    return shuffle_operation(context, LW_KOP_shfl_down, mask, value, delta, clamp);
}

int32_t
lw_sim_shfl_xor(lw_kernel_context *context, int32_t mask, int32_t value, int32_t bits,
                int32_t clamp)
{
    return shuffle_operation(context, LW_KOP_shfl_xor, mask, value, bits, clamp);
}

void
lw_sim_syncwarp(lw_kernel_context *context, int32_t mask)
{
    warp_operation(context, LW_KOP_syncwarp, mask, 0);
}

int32_t
lw_sim_vote_all(lw_kernel_context *context, int32_t mask, int32_t predicate)
{
    return (int32_t)warp_operation(context, LW_KOP_vote_all, mask, predicate != 0)->result;
}

int32_t
lw_sim_vote_any(lw_kernel_context *context, int32_t mask, int32_t predicate)
{
    return (int32_t)warp_operation(context, LW_KOP_vote_any, mask, predicate != 0)->result;
}

int32_t
lw_sim_vote_eq(lw_kernel_context *context, int32_t mask, int32_t predicate)
{
    return (int32_t)warp_operation(context, LW_KOP_vote_eq, mask, predicate != 0)->result;
}

int32_t
lw_sim_ballot(lw_kernel_context *context, int32_t mask, int32_t predicate)
{
    return (int32_t)warp_operation(context, LW_KOP_ballot, mask, predicate != 0)->result;
}

int32_t
lw_sim_match_any32(lw_kernel_context *context, int32_t mask, int32_t value)
{
    return (int32_t)warp_operation(context, LW_KOP_match_any32, mask, (uint32_t)value)->result;
}

int32_t
lw_sim_match_any64(lw_kernel_context *context, int32_t mask, int64_t value)
{
    return (int32_t)warp_operation(context, LW_KOP_match_any64, mask, (uint64_t)value)->result;
}

int32_t
lw_sim_match_all32(lw_kernel_context *context, int32_t mask, int32_t value)
{
    return (int32_t)warp_operation(context, LW_KOP_match_all32, mask, (uint32_t)value)->result;
}

int32_t
lw_sim_match_all64(lw_kernel_context *context, int32_t mask, int64_t value)
{
    return (int32_t)warp_operation(context, LW_KOP_match_all64, mask, (uint64_t)value)->result;
}

int32_t
lw_sim_activemask(lw_kernel_context *context)
{
    sim_thread *thread = (sim_thread *)context;
    uint32_t warp = thread->index / SIM_WARP, lane = thread->index % SIM_WARP;

    thread->wait = LW_KOP_activemask;
    thread->mask = 0;
    sim_unready(thread->block, warp, lane);
    thread->block->warps[warp].asking |= 1u << lane;
    sim_leave(thread);
    return (int32_t)thread->result;
}

/* ---- operations of one thread: also of `whole` kernels, whose context is no fiber's ---- */

int32_t
lw_sim_lanemask_lt(lw_kernel_context *context)
{
    return (int32_t)((1u << sim_linear_index(context) % SIM_WARP) - 1);
}

/* The processor keeps the order of accesses among the threads of one pool thread; other blocks
 * need a fence. A thread that spins over a fence lets others run now and then. */
void
lw_sim_fence(lw_kernel_context *context)
{
    sim_thread *thread = (sim_thread *)context;

    __sync_synchronize();
    if (thread->block != NULL && (++thread->n_fences & 1023) == 0)
        sim_give_way(thread);
}

int64_t
lw_sim_load_relaxed(lw_kernel_context *context, const void *word)
{
    (void)context;
    return __atomic_load_n((const int64_t *)word, __ATOMIC_RELAXED);
}

void
lw_sim_store_relaxed(lw_kernel_context *context, void *word, int64_t value)
{
    (void)context;
    __atomic_store_n((int64_t *)word, value, __ATOMIC_RELAXED);
}

void
lw_sim_nanosleep(lw_kernel_context *context, int32_t nanoseconds)
{
    sim_thread *thread = (sim_thread *)context;

    (void)nanoseconds;
    if (thread->block != NULL)
        sim_give_way(thread);
}

int64_t
lw_sim_clock(lw_kernel_context *context)
{
    struct timespec time;

    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
