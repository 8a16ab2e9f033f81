/* The memory of simulated blocks: their stacks, each behind a guard page, and their shared
 * memory. Blocks are kept for the next launch, and the stacks of all are counted. */
#define _GNU_SOURCE /* MAP_NORESERVE, MAP_STACK */
#include "core/host/simulator_internal.h"

#include "core/base/divider.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STACK_BYTES = 64 << 10 };

static size_t
page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

size_t
sim_shared_bytes(const lw_sim_launch *launch)
{
    return lw_round_up(launch->static_bytes, 16) + lw_round_up(launch->dynamic_bytes, 16);
}

size_t
sim_stack_bytes(const lw_sim_launch *launch)
{
    return lw_round_up(STACK_BYTES + (size_t)launch->local_bytes, page_bytes());
}

uint32_t
sim_n_threads(const lw_sim_launch *launch)
{
    return launch->block[0] * launch->block[1] * launch->block[2];
}

uint32_t
sim_n_cluster(const lw_sim_launch *launch)
{
    uint32_t n = launch->cluster[0] * launch->cluster[1] * launch->cluster[2];

    return n ? n : 1;
}

/* Stacks of all blocks that exist, in use and kept. Each is two mappings, and by default a
 * process may have 65,530 of them; stacks take half of these at most, not counting those of
 * callers and of grids that wait in grid_sync. */
static atomic_uint n_stacks;

static uint32_t
most_stacks(void)
{
    static atomic_uint known;
    uint32_t most = atomic_load_explicit(&known, memory_order_relaxed);
    FILE *file = most ? NULL : fopen("/proc/sys/vm/max_map_count", "re");
    unsigned n_mappings = 65530;

    if (file != NULL) {
        if (fscanf(file, "%u", &n_mappings) != 1)
            n_mappings = 65530;
        fclose(file);
    }
    if (most == 0)
        atomic_store(&known, most = n_mappings / 4 + 1);
    return most;
}

static void
free_block(sim_block *block)
{
    uint32_t i;

    atomic_fetch_sub(&n_stacks, block->capacity);
    for (i = 0; i < block->n_started; i++)
        lw_fiber_end(&sim_thread_at(block, i)->fiber);
    munmap(block, block->mapped_bytes);
}

static sim_block *
map_block(uint32_t n_threads, size_t stack_bytes, size_t n_shared)
{
    size_t page = page_bytes(), head, mapped;
    sim_block *block;
    uint32_t i;

    n_shared = lw_round_up(n_shared + 1, page);
    head = lw_round_up(sizeof(sim_block), page) + n_shared;
    mapped = head + n_threads * (page + stack_bytes);
    block = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (block == MAP_FAILED)
        return NULL;
    block->mapped_bytes = mapped;
    block->capacity = n_threads;
    block->stack_bytes = stack_bytes;
    block->stride = page + stack_bytes;
    block->shared_bytes = n_shared;
    block->shared = (char *)block + head - n_shared;
    block->stacks = (char *)block + head;
    for (i = 0; i < n_threads; i++)
        if (mprotect(block->stacks + i * block->stride, page, PROT_NONE) != 0) {
            munmap(block, mapped);
            return NULL;
        }
    return block;
}

/* Blocks are kept for the next launch, because mapping the stacks of one takes longer than most
 * launches. They are exchanged without a lock, so that a fork cannot leave it locked. */
enum { N_KEPT = 64 };
static _Atomic(sim_block *) kept[N_KEPT];

static bool
fits(const sim_block *block, uint32_t n_threads, size_t stack_bytes, size_t n_shared)
{
    return block->capacity >= n_threads && block->stack_bytes >= stack_bytes &&
           block->shared_bytes >= n_shared;
}

void
sim_block_put(sim_block *block)
{
    sim_block *empty;
    uint32_t i;

    sim_shadow_free(&block->shadow);
    for (i = 0; i < N_KEPT; i++) {
        empty = NULL;
        if (atomic_compare_exchange_strong(&kept[i], &empty, block))
            return;
    }
    free_block(block);
}

static sim_block *
find(uint32_t n_threads, size_t stack_bytes, size_t n_shared)
{
    sim_block *block;
    uint32_t i;

    for (i = 0; i < N_KEPT; i++) {
        if (atomic_load_explicit(&kept[i], memory_order_relaxed) == NULL)
            continue;
        block = atomic_exchange(&kept[i], NULL);
        if (block == NULL)
            continue;
        if (fits(block, n_threads, stack_bytes, n_shared))
            return block;
        free_block(block);
    }
    return NULL;
}

void
sim_bind(sim_block *block, const lw_sim_launch *launch, sim_thread *thread, uint32_t index)
{
    uint32_t *sregs = thread->context.sregs, i;
    const uint32_t *n = launch->block;

    thread->index = index;
    thread->block = block;
    thread->context.line = 0;
    thread->n_fences = 0;
    sregs[LW_SREG_TID_X] = index % n[0];
    sregs[LW_SREG_TID_Y] = index / n[0] % n[1];
    sregs[LW_SREG_TID_Z] = index / n[0] / n[1];
    sregs[LW_SREG_LANEID] = index % SIM_WARP;
    sregs[LW_SREG_DYNAMIC_BYTES] = launch->dynamic_bytes;
    for (i = 0; i < 3; i++) {
        sregs[LW_SREG_NTID_X + i] = n[i];
        sregs[LW_SREG_NCTAID_X + i] = launch->grid[i];
    }
}

void
sim_bind_memory(lw_kernel_context *context, const lw_sim_launch *launch, char *shared)
{
    context->shared = shared;
    context->dynamic = shared + lw_round_up(launch->static_bytes, 16);
}

static void
free_kept(void)
{
    uint32_t i;

    for (i = 0; i < N_KEPT; i++) {
        sim_block *block = atomic_exchange(&kept[i], NULL);
        if (block != NULL)
            free_block(block);
    }
}

/* Counts stacks before they are mapped, so that threads that reserve at the same time cannot
 * all go beyond the limit. */
static bool
reserve_stacks(uint32_t n, bool must)
{
    bool fits_in = atomic_fetch_add(&n_stacks, n) + n <= most_stacks();

    if (!fits_in) {
        free_kept();
        fits_in = atomic_load(&n_stacks) <= most_stacks();
    }
    if (!fits_in && !must)
        atomic_fetch_sub(&n_stacks, n);
    return fits_in || must;
}

/* NULL: there is no memory for it, or (unless it must be made) too many stacks exist. */
static sim_block *
new_block(uint32_t n_threads, size_t stack_bytes, size_t n_shared, bool must)
{
    sim_block *block;

    if (!reserve_stacks(n_threads, must))
        return NULL;
    block = map_block(n_threads, stack_bytes, n_shared);
    if (block == NULL && must) {
        free_kept();
        block = map_block(n_threads, stack_bytes, n_shared);
    }
    if (block == NULL)
        atomic_fetch_sub(&n_stacks, n_threads);
    return block;
}

sim_block *
sim_block_take(const lw_sim_launch *launch, bool must)
{
    size_t stack_bytes = sim_stack_bytes(launch);
    uint32_t n_threads = sim_n_threads(launch), i;
    sim_block *block = find(n_threads, stack_bytes, sim_shared_bytes(launch));

    if (block == NULL)
        block = new_block(n_threads, stack_bytes, sim_shared_bytes(launch), must);
    if (block == NULL)
        return NULL;
    block->launch = launch;
    block->n_threads = n_threads;
    block->n_warps = (n_threads + SIM_WARP - 1) / SIM_WARP;
    for (i = 0; i < n_threads; i++) {
        sim_bind(block, launch, sim_thread_at(block, i), i);
        sim_thread_at(block, i)->shadow = launch->checks ? &block->shadow : NULL;
        sim_bind_memory(&sim_thread_at(block, i)->context, launch, block->shared);
    }
    return block;
}
