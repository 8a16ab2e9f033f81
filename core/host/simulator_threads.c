/* The threads of a simulated block and what they wait for.
 *
 * A thread that must wait picks the next one and switches to it directly; control returns to
 * the block's home (the pool thread's own stack) only when no thread can run. Ready lanes are
 * bits of their warp, warps with ready lanes are bits of the block, so that picking is two
 * counts of trailing zeros. The thread that completes an operation computes the results of all.
 *
 * Semantics: PTX ISA 8.5, sections 9.7.9.6 (shfl.sync), 9.7.13.1 (bar), 9.7.13.2
 * (bar.warp.sync), 9.7.13.9 to 9.7.13.12 (vote, match, activemask). */
#include "core/host/simulator_internal.h"

#include "core/base/text.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

/* As users write them. %x: the mask. */
static const char *const wait_names[SIM_N_WAITS] = {
    [SIM_BARRIER] = "syncthreads()",
    [LW_KOP_barrier_count] = "syncthreads_count()",
    [LW_KOP_barrier_and] = "syncthreads_and()",
    [LW_KOP_barrier_or] = "syncthreads_or()",
    [LW_KOP_syncwarp] = "syncwarp(0x%x)",
    [LW_KOP_shfl_idx] = "shfl_sync(0x%x, ...)",
    [LW_KOP_shfl_up] = "shfl_up_sync(0x%x, ...)",
    [LW_KOP_shfl_down] = "shfl_down_sync(0x%x, ...)",
    [LW_KOP_shfl_xor] = "shfl_xor_sync(0x%x, ...)",
    [LW_KOP_vote_all] = "all_sync(0x%x, ...)",
    [LW_KOP_vote_any] = "any_sync(0x%x, ...)",
    [LW_KOP_vote_eq] = "eq_sync(0x%x, ...)",
    [LW_KOP_ballot] = "ballot_sync(0x%x, ...)",
    [LW_KOP_match_any32] = "match_any_sync(0x%x, ...)",
    [LW_KOP_match_any64] = "match_any_sync(0x%x, ...)",
    [LW_KOP_match_all32] = "match_all_sync(0x%x, ...)",
    [LW_KOP_match_all64] = "match_all_sync(0x%x, ...)",
    [LW_KOP_activemask] = "activemask()",
    [LW_KOP_grid_sync] = "grid.sync()",
    [LW_KOP_cluster_sync] = "cluster.sync()",
    [LW_KOP_cluster_map] = "cluster.map_shared_rank()",
};

static sim_thread *
at(const sim_block *block, uint32_t warp, uint32_t lane)
{
    return sim_thread_at(block, warp * SIM_WARP + lane);
}

static uint32_t
lowest(uint32_t bits)
{
    return (uint32_t)__builtin_ctz(bits);
}

/* ---- messages ---- */

static void
say_thread(lw_text *text, const sim_thread *thread)
{
    const uint32_t *sregs = thread->context.sregs;

    lw_text_addf(text, "thread (%u, %u, %u)", sregs[LW_SREG_TID_X], sregs[LW_SREG_TID_Y],
                 sregs[LW_SREG_TID_Z]);
}

static void
say_wait(lw_text *text, const sim_thread *thread)
{
    const char *name = wait_names[thread->wait], *hole = name;

    while (*hole != '\0' && *hole != '%')
        hole++;
    lw_text_add_n(text, name, (size_t)(hole - name));
    if (*hole == '%')
        lw_text_addf(text, "%x%s", thread->mask, hole + 2);
    if (thread->context.line != 0)
        lw_text_addf(text, " in line %u", thread->context.line);
}

static bool
same_place(const sim_thread *a, const sim_thread *b)
{
    return a->wait == b->wait && a->context.line == b->context.line;
}

static bool
is_alive(const sim_block *block, uint32_t index)
{
    return block->warps[index / SIM_WARP].alive >> index % SIM_WARP & 1;
}

static bool
same_group(const sim_thread *a, const sim_thread *b)
{
    return same_place(a, b) && a->mask == b->mask;
}

/* Writes "thread (0, 0, 0) and 3 others wait at syncthreads() in line 7", once for each
 * place. */
static void
say_groups(lw_text *text, const sim_block *block)
{
    uint32_t i, j, n_groups = 0, n_others;

    for (i = 0; i < block->n_threads; i++) {
        const sim_thread *thread = sim_thread_at(block, i);

        for (j = 0; j < i; j++)
            if (is_alive(block, j) && same_group(sim_thread_at(block, j), thread))
                break;
        if (!is_alive(block, i) || j < i)
            continue;
        if (n_groups++ == 8) {
            lw_text_add(text, "; ...");
            return;
        }
        for (n_others = 0, j = i + 1; j < block->n_threads; j++)
            n_others += is_alive(block, j) && same_group(sim_thread_at(block, j), thread);
        lw_text_add(text, n_groups == 1 ? ": " : "; ");
        say_thread(text, thread);
        if (n_others > 0)
            lw_text_addf(text, " and %u other%s", n_others, n_others == 1 ? "" : "s");
        lw_text_add(text, n_others > 0 ? " wait at " : " waits at ");
        say_wait(text, thread);
    }
}

static void
set_error(sim_block *block, lw_status status, lw_text *text)
{
    if (text->failed)
        lw_fail_memory(&block->error);
    else
        lw_fail(&block->error, status, "%s", lw_text_get(text));
    lw_text_reset(text);
}

/* Fails because of the places at which the block's threads wait. */
static void
fail_places(sim_block *block, const char *what)
{
    lw_text text;

    lw_text_init(&text);
    lw_text_addf(&text, "block (%u, %u, %u): %s", block->index[0], block->index[1],
                 block->index[2], what);
    say_groups(&text, block);
    set_error(block, LW_ERR_KERNEL, &text);
}

/* Fails because of one thread, and ends the block. Called by any thread of the block. */
static _Noreturn void
fault(sim_block *block, sim_thread *caller, const sim_thread *guilty, const char *format, ...)
{
    va_list args;
    lw_text text;

    lw_text_init(&text);
    lw_text_addf(&text, "block (%u, %u, %u), ", block->index[0], block->index[1],
                 block->index[2]);
    say_thread(&text, guilty);
    lw_text_add(&text, " at ");
    say_wait(&text, guilty);
    lw_text_add(&text, ": ");
    va_start(args, format);
    lw_text_addv(&text, format, args);
    va_end(args);
    set_error(block, LW_ERR_KERNEL, &text);
    lw_fiber_switch(&caller->fiber, &block->home);
    __builtin_unreachable();
}

/* ---- who runs next ---- */

static void
wake(sim_block *block, uint32_t warp, uint32_t lanes)
{
    block->warps[warp].ready |= lanes;
    block->ready_warps |= 1u << warp;
}

static void
unready(sim_block *block, uint32_t warp, uint32_t lane)
{
    uint32_t ready = block->warps[warp].ready &= ~(1u << lane);

    if (ready == 0)
        block->ready_warps &= ~(1u << warp);
}

/* The lanes that wait in activemask at the same place as the lowest one get an answer together;
 * the others get theirs later. */
static void
answer_activemask(sim_block *block, uint32_t warp)
{
    uint32_t asking = block->warps[warp].asking, together = 0, lanes;
    const sim_thread *first = at(block, warp, lowest(asking));

    for (lanes = asking; lanes != 0; lanes &= lanes - 1)
        if (same_place(at(block, warp, lowest(lanes)), first))
            together |= lanes & -lanes;
    for (lanes = together; lanes != 0; lanes &= lanes - 1)
        at(block, warp, lowest(lanes))->result = together;
    block->warps[warp].asking &= ~together;
    wake(block, warp, together);
}

/* The first ready lane of the first warp after this one that has any, else of the first
 * warp. */
static sim_thread *
next_warp(const sim_block *block, uint32_t warp)
{
    uint32_t from = warp + 1; /* 0: after none */
    uint32_t later = from < 32 ? block->ready_warps & ~((1u << from) - 1) : 0;

    if (block->ready_warps == 0)
        return NULL;
    warp = lowest(later != 0 ? later : block->ready_warps);
    return at(block, warp, lowest(block->warps[warp].ready));
}

/* The thread to run after one of this warp: its lowest ready lane, else one of another warp;
 * NULL: none can go on. */
static sim_thread *
pick(sim_block *block, uint32_t warp)
{
    const sim_warp *own = &block->warps[warp];

    if (own->ready == 0 && own->asking != 0)
        answer_activemask(block, warp);
    if (own->ready != 0)
        return at(block, warp, lowest(own->ready));
    return next_warp(block, warp);
}

static inline void
go_to(sim_thread *thread, sim_thread *next)
{
    if (next != thread)
        lw_fiber_switch(&thread->fiber, next != NULL ? &next->fiber : &thread->block->home);
}

/* Called when the thread is no longer ready, or has been made ready again by what it
 * completed. */
static void
leave(sim_thread *thread)
{
    go_to(thread, pick(thread->block, thread->index / SIM_WARP));
}

/* Lets the other threads run while this one stays ready, for loops that spin. */
static void
give_way(sim_thread *thread)
{
    sim_block *block = thread->block;
    uint32_t warp = thread->index / SIM_WARP, lane = thread->index % SIM_WARP, above;
    sim_thread *next;

    if (block->warps[warp].asking != 0)
        answer_activemask(block, warp);
    above = block->warps[warp].ready & ~((2u << lane) - 1);
    next = above != 0 ? at(block, warp, lowest(above)) : next_warp(block, warp);
    go_to(thread, next);
}

/* ---- barriers of the block ---- */

/* Opens the barrier, at which all threads have arrived. Called by the last one to arrive, or by
 * a thread that ends. */
static void
open_barrier(sim_block *block, sim_thread *caller)
{
    uint32_t i;

    if (block->divergent) {
        fail_places(block, "threads wait at different barriers");
        lw_fiber_switch(&caller->fiber, &block->home);
        __builtin_unreachable();
    }
    block->n_passed = block->n_arrived;
    block->was_true = block->n_true;
    block->n_arrived = block->n_true = 0;
    sim_shadow_barrier(&block->shadow);
    for (i = 0; i < block->n_warps; i++)
        if (block->warps[i].alive != 0)
            wake(block, i, block->warps[i].alive);
}

/* On return n_passed and was_true describe this barrier: the next one cannot open before this
 * thread arrives at it. */
static sim_block *
barrier(lw_kernel_context *context, uint32_t wait, int32_t predicate)
{
    sim_thread *thread = (sim_thread *)context;
    sim_block *block = thread->block;

    thread->wait = wait;
    thread->mask = 0;
    if (block->n_arrived++ == 0) {
        block->first = thread;
        block->divergent = false;
    } else if (!same_place(thread, block->first)) {
        block->divergent = true;
    }
    block->n_true += predicate != 0;
    unready(block, thread->index / SIM_WARP, thread->index % SIM_WARP);
    if (block->n_arrived == block->n_alive) {
        open_barrier(block, thread);
        go_to(thread, next_warp(block, block->n_warps - 1)); /* the first thread of all */
    } else {
        leave(thread);
    }
    return block;
}

void
lw_sim_barrier(lw_kernel_context *context)
{
    barrier(context, SIM_BARRIER, 0);
}

int32_t
lw_sim_barrier_count(lw_kernel_context *context, int32_t predicate)
{
    return (int32_t)barrier(context, LW_KOP_barrier_count, predicate)->was_true;
}

int32_t
lw_sim_barrier_and(lw_kernel_context *context, int32_t predicate)
{
    const sim_block *block = barrier(context, LW_KOP_barrier_and, predicate);

    return block->was_true == block->n_passed;
}

int32_t
lw_sim_barrier_or(lw_kernel_context *context, int32_t predicate)
{
    return barrier(context, LW_KOP_barrier_or, predicate)->was_true != 0;
}

/* GPU code has its counter there; here nobody reads it. */
int64_t
lw_sim_grid_workspace(lw_kernel_context *context)
{
    (void)context;
    return 0;
}

/* Waits for other blocks, of which `arrived` counts this one's threads: simulator.c resumes
 * them when all have arrived. */
static void
wait_for_blocks(sim_thread *thread, uint32_t wait, uint32_t *arrived)
{
    thread->wait = wait;
    thread->mask = 0;
    (*arrived)++;
    unready(thread->block, thread->index / SIM_WARP, thread->index % SIM_WARP);
    leave(thread);
}

void
lw_sim_grid_sync(lw_kernel_context *context, void *counter)
{
    sim_thread *thread = (sim_thread *)context;

    (void)counter; /* only GPU code uses it */
    wait_for_blocks(thread, LW_KOP_grid_sync, &thread->block->n_at_grid);
}

/* ---- clusters ---- */

void
lw_sim_cluster_sync(lw_kernel_context *context)
{
    sim_thread *thread = (sim_thread *)context;

    if (thread->block->peers == NULL) {
        lw_sim_barrier(context);
        return;
    }
    wait_for_blocks(thread, LW_KOP_cluster_sync, &thread->block->n_at_cluster);
}

int32_t
lw_sim_cluster_rank(lw_kernel_context *context)
{
    const sim_block *block = ((sim_thread *)context)->block;

    return block->peers ? (int32_t)block->rank : 0;
}

int32_t
lw_sim_cluster_size(lw_kernel_context *context)
{
    const sim_block *block = ((sim_thread *)context)->block;

    return block->peers ? (int32_t)block->n_peers : 1;
}

int64_t
lw_sim_cluster_map(lw_kernel_context *context, const void *address, int32_t rank)
{
    sim_thread *thread = (sim_thread *)context;
    sim_block *block = thread->block;
    uintptr_t offset = (uintptr_t)address - (uintptr_t)block->shared;
    int32_t n = lw_sim_cluster_size(context);
    char *shared;

    thread->wait = LW_KOP_cluster_map;
    if (offset >= block->shared_bytes)
        fault(block, thread, thread, "the array is not one of the block's shared memory");
    if (rank < 0 || rank >= n)
        fault(block, thread, thread, "there is no block %d: the cluster has %d", rank, n);
    shared = block->peers ? block->peers[rank]->shared : block->shared;
    return (int64_t)(intptr_t)(shared + offset);
}

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
        lane = lowest(lanes);
        thread = at(g->block, g->warp, lane);
        source = source_lane(wait, lane, thread);
        if ((g->lanes >> source & 1) == 0)
            fault(g->block, g->caller, thread, "lane %u reads lane %u, which %s", lane, source,
                  thread->mask >> source & 1 ? "has ended or is not in the block"
                                             : "is not in the mask");
        thread->result = (uint32_t)at(g->block, g->warp, source)->value;
    }
}

static uint32_t
lanes_with(const gathered *g, uint64_t value)
{
    uint32_t lanes, equal = 0;

    for (lanes = g->lanes; lanes != 0; lanes &= lanes - 1)
        if (at(g->block, g->warp, lowest(lanes))->value == value)
            equal |= lanes & -lanes;
    return equal;
}

static void
match_any(const gathered *g)
{
    uint32_t lanes;
    sim_thread *thread;

    for (lanes = g->lanes; lanes != 0; lanes &= lanes - 1) {
        thread = at(g->block, g->warp, lowest(lanes));
        thread->result = lanes_with(g, thread->value);
    }
}

static void
answer_all(const gathered *g, uint32_t result)
{
    uint32_t lanes;

    for (lanes = g->lanes; lanes != 0; lanes &= lanes - 1)
        at(g->block, g->warp, lowest(lanes))->result = result;
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
        votes = lanes_with(g, at(g->block, g->warp, lowest(g->lanes))->value);
        answer_all(g, votes == g->lanes ? votes : 0);
        break;
    /* syncwarp: a mask of some lanes counts as one of all, so that no false race is reported */
    default: g->block->shadow.warp_time[g->warp] = ++g->block->shadow.time; break;
    }
}

/* Performs the operation in which `thread` waits, if all living lanes of its mask have
 * arrived. */
static void
try_operation(sim_block *block, sim_thread *caller, const sim_thread *thread)
{
    uint32_t index = thread->index / SIM_WARP, lanes;
    sim_warp *warp = &block->warps[index];
    gathered g = {block, caller, index, thread->mask & warp->alive};

    if ((g.lanes & ~warp->gathering) != 0)
        return;
    for (lanes = g.lanes; lanes != 0; lanes &= lanes - 1) {
        const sim_thread *other = at(block, index, lowest(lanes));

        if (other->wait != thread->wait || other->mask != thread->mask)
            return;
    }
    perform(&g, thread->wait);
    warp->gathering &= ~g.lanes;
    wake(block, index, g.lanes);
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
        fault(block, thread, thread, "the mask lacks the caller, lane %u", lane);
    unready(block, warp, lane);
    block->warps[warp].gathering |= 1u << lane;
    try_operation(block, thread, thread);
    leave(thread);
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
    unready(thread->block, warp, lane);
    thread->block->warps[warp].asking |= 1u << lane;
    leave(thread);
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
        give_way(thread);
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
        give_way(thread);
}

int64_t
lw_sim_clock(lw_kernel_context *context)
{
    struct timespec time;

    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* ---- a thread's life ---- */

/* Lets those threads continue that waited for this one only. */
static void
release_others(sim_block *block, sim_thread *ended)
{
    uint32_t warp = ended->index / SIM_WARP, lanes;

    if (block->n_arrived != 0 && block->n_arrived == block->n_alive)
        open_barrier(block, ended);
    for (lanes = block->warps[warp].gathering; lanes != 0; lanes &= lanes - 1)
        if (block->warps[warp].gathering & lanes & -lanes)
            try_operation(block, ended, at(block, warp, lowest(lanes)));
}

/* Ends a thread; the call returns when the next block begins. */
static void
end_thread(sim_thread *thread, int32_t status)
{
    sim_block *block = thread->block;
    uint32_t warp = thread->index / SIM_WARP, lane = thread->index % SIM_WARP;

    if (status != 0) {
        block->status = status;
        block->raiser = thread;
        lw_fiber_switch(&thread->fiber, &block->home);
        return;
    }
    unready(block, warp, lane);
    block->warps[warp].alive &= ~(1u << lane);
    block->n_alive--;
    release_others(block, thread);
    leave(thread);
}

static void
thread_main(lw_fiber *self)
{
    sim_thread *thread = (sim_thread *)((char *)self - offsetof(sim_thread, fiber));
    const lw_sim_launch *launch;
    int32_t status;

    for (;;) {
        launch = thread->block->launch; /* another launch each time the stack is reused */
        status = launch->single(&thread->context, launch->values);
        end_thread(thread, status);
    }
}

void
sim_start_threads(sim_block *block)
{
    sim_thread *thread;
    char *low;

    for (; block->n_started < block->n_threads; block->n_started++) {
        thread = sim_thread_at(block, block->n_started);
        low = block->stacks + (block->n_started + 1) * block->stride - block->stack_bytes;
        lw_fiber_start(&thread->fiber, low, (size_t)((char *)thread - low), thread_main);
    }
}

static void
reset(sim_block *block)
{
    uint32_t i, n_lanes;

    block->ready_warps = 0;
    for (i = 0; i < block->n_warps; i++) {
        n_lanes = block->n_threads - i * SIM_WARP;
        block->warps[i] = (sim_warp){.alive = n_lanes >= 32 ? ~0u : (1u << n_lanes) - 1};
        wake(block, i, block->warps[i].alive);
    }
    block->n_alive = block->n_threads;
    block->n_arrived = block->n_true = block->n_at_grid = block->n_at_cluster = 0;
    block->status = 0;
}

static sim_outcome
go_on(sim_block *block)
{
    lw_fiber_home(&block->home);
    lw_fiber_switch(&block->home, &pick(block, 0)->fiber);
    if (block->shadow.error.status != LW_OK && block->error.status == LW_OK) {
        block->error = block->shadow.error;
        memset(&block->shadow.error, 0, sizeof block->shadow.error);
    }
    if (block->status == 0 && block->error.status == LW_OK) {
        if (block->n_alive == 0)
            return SIM_ENDED;
        if (block->n_at_grid == block->n_alive || block->n_at_cluster == block->n_alive)
            return SIM_SUSPENDED;
        fail_places(block, "threads wait for each other for ever");
    }
    block->n_started = 0; /* its threads have not ended */
    return block->error.status != LW_OK ? SIM_FAULT : SIM_RAISED;
}

sim_outcome
sim_run_threads(sim_block *block)
{
    sim_start_threads(block);
    reset(block);
    return go_on(block);
}

sim_outcome
sim_resume_threads(sim_block *block)
{
    uint32_t i;

    block->n_at_grid = block->n_at_cluster = 0;
    sim_shadow_barrier(&block->shadow);
    for (i = 0; i < block->n_warps; i++)
        if (block->warps[i].alive != 0)
            wake(block, i, block->warps[i].alive);
    return go_on(block);
}
