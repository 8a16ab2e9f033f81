/* The threads of a simulated block and what they wait for.
 *
 * A thread that must wait picks the next one and switches to it directly; control returns to
 * the block's home (the pool thread's own stack) only when no thread can run. Ready lanes are
 * bits of their warp, warps with ready lanes are bits of the block, so that picking is two
 * counts of trailing zeros. Semantics of barriers: PTX ISA 8.5, section 9.7.13.1 (bar). */
#include "core/host/simulator_internal.h"

#include "core/base/text.h"

#include <stdarg.h>
#include <string.h>

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
set_error(sim_block *block, lw_text *text)
{
    if (text->failed)
        lw_fail_memory(&block->error);
    else
        lw_fail(&block->error, LW_ERR_KERNEL, "%s", lw_text_get(text));
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
    set_error(block, &text);
}

_Noreturn void
sim_fault(sim_block *block, sim_thread *caller, const sim_thread *guilty, const char *format,
          ...)
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
    set_error(block, &text);
    lw_fiber_switch(&caller->fiber, &block->home);
    __builtin_unreachable();
}

/* ---- who runs next ---- */

void
sim_wake(sim_block *block, uint32_t warp, uint32_t lanes)
{
    block->warps[warp].ready |= lanes;
    block->ready_warps |= 1u << warp;
}

void
sim_unready(sim_block *block, uint32_t warp, uint32_t lane)
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
    const sim_thread *first = sim_lane(block, warp, sim_lowest(asking));

    for (lanes = asking; lanes != 0; lanes &= lanes - 1)
        if (same_place(sim_lane(block, warp, sim_lowest(lanes)), first))
            together |= lanes & -lanes;
    for (lanes = together; lanes != 0; lanes &= lanes - 1)
        sim_lane(block, warp, sim_lowest(lanes))->result = together;
    block->warps[warp].asking &= ~together;
    sim_wake(block, warp, together);
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
    warp = sim_lowest(later != 0 ? later : block->ready_warps);
    return sim_lane(block, warp, sim_lowest(block->warps[warp].ready));
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
        return sim_lane(block, warp, sim_lowest(own->ready));
    return next_warp(block, warp);
}

static inline void
go_to(sim_thread *thread, sim_thread *next)
{
    if (next != thread)
        lw_fiber_switch(&thread->fiber, next != NULL ? &next->fiber : &thread->block->home);
}

void
sim_leave(sim_thread *thread)
{
    go_to(thread, pick(thread->block, thread->index / SIM_WARP));
}

void
sim_give_way(sim_thread *thread)
{
    sim_block *block = thread->block;
    uint32_t warp = thread->index / SIM_WARP, lane = thread->index % SIM_WARP, above;
    sim_thread *next;

    if (block->warps[warp].asking != 0)
        answer_activemask(block, warp);
    above = block->warps[warp].ready & ~((2u << lane) - 1);
    next = above != 0 ? sim_lane(block, warp, sim_lowest(above)) : next_warp(block, warp);
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
            sim_wake(block, i, block->warps[i].alive);
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
    sim_unready(block, thread->index / SIM_WARP, thread->index % SIM_WARP);
    if (block->n_arrived == block->n_alive) {
        open_barrier(block, thread);
        go_to(thread, next_warp(block, block->n_warps - 1)); /* the first thread of all */
    } else {
        sim_leave(thread);
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
    sim_unready(thread->block, thread->index / SIM_WARP, thread->index % SIM_WARP);
    sim_leave(thread);
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
        sim_fault(block, thread, thread, "the array is not one of the block's shared memory");
    if (rank < 0 || rank >= n)
        sim_fault(block, thread, thread, "there is no block %d: the cluster has %d", rank, n);
    shared = block->peers ? block->peers[rank]->shared : block->shared;
    return (int64_t)(intptr_t)(shared + offset);
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
            sim_try_operation(block, ended, sim_lane(block, warp, sim_lowest(lanes)));
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
    sim_unready(block, warp, lane);
    block->warps[warp].alive &= ~(1u << lane);
    block->n_alive--;
    release_others(block, thread);
    sim_leave(thread);
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

/* Starts the threads that the block's last run has not finished, or that never ran. */
static void
start_threads(sim_block *block)
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
        sim_wake(block, i, block->warps[i].alive);
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
    start_threads(block);
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
            sim_wake(block, i, block->warps[i].alive);
    return go_on(block);
}
