/* A launch: its blocks are spread over the pool.
 *
 * The threads of the pool draw batches of blocks, in order, from one counter; a grid that will
 * be done before another thread has woken stays with the caller. When a block raises, the
 * blocks after it are skipped; those before it have all been drawn, so the lowest block that
 * raises wins. Blocks that wait in grid_sync are kept; when every block of the grid does, all
 * are resumed. */
#include "core/host/simulator_internal.h"

#include "core/base/clock.h"
#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/host/element_race.h"
#include "core/host/raise_note.h"
#include "core/host/thread_pool.h"
#include "core/link/elf_loader.h"

#include <stdatomic.h>
#include <string.h>

enum {
    /* more than any GPU has; a larger number is a mistake and is reported */
    MAX_SHARED = 64 << 20,
    MAX_LOCAL = 64 << 20,
    /* work for which waking others does not pay: the time of some wake-ups */
    ALONE_NS = 30000,
    STOP_NS = 100000000, /* between two checks whether to stop, which may wait for the GIL */
    /* the work of one draw from the counter, some hundred times what the draw costs */
    BATCH_NS = 20000,
};

typedef struct sim_run {
    _Alignas(128) atomic_int_fast64_t next;
    _Alignas(128) atomic_int_fast64_t worst; /* lowest block that raised; n_blocks: none */
    /* a block that ended without waiting in grid_sync; -1: none has */
    atomic_int_fast64_t ended;
    int64_t asked_ns; /* when the caller last checked whether to stop */
    const lw_sim_launch *launch;
    int64_t n_blocks;
    int64_t n_items;  /* what is drawn: clusters, or blocks */
    uint32_t cluster; /* blocks of a cluster, at least 1 */
    /* by block: those that wait in grid_sync; NULL until one does; under lock */
    sim_block **held;
    int64_t n_held;       /* since the blocks were last resumed; under lock */
    lw_sim_result result; /* under lock */
    lw_error error;       /* under lock */
    uint32_t n_threads;   /* of a block */
    lw_lock lock;
    bool resuming;
} sim_run;

/* ---- one block ---- */

/* What a worker runs blocks with. */
typedef struct sim_worker {
    sim_run *run;
    sim_block *block;   /* of `single` kernels; NULL until one is needed */
    sim_thread *thread; /* of `whole` kernels: the context, followed by shared memory */
    sim_shadow shadow;  /* of `whole` kernels */
} sim_worker;

static void
place_in_cluster(const lw_sim_launch *launch, int64_t cluster, uint32_t rank, uint32_t index[3])
{
    for (int d = 0; d < 3; d++) {
        uint32_t n = launch->cluster[d], n_clusters = launch->grid[d] / n;
        index[d] = (uint32_t)(cluster % n_clusters) * n + rank % n;
        cluster /= n_clusters;
        rank /= n;
    }
}

/* Block i; those of a cluster have numbers in a row. */
static void
place(const sim_run *run, int64_t i, uint32_t index[3])
{
    const uint32_t *n = run->launch->grid;

    if (run->cluster > 1) {
        place_in_cluster(run->launch, i / run->cluster, (uint32_t)(i % run->cluster), index);
        return;
    }
    index[0] = (uint32_t)(i % n[0]);
    index[1] = (uint32_t)(i / n[0] % n[1]);
    index[2] = (uint32_t)(i / n[0] / n[1]);
}

/* Notes that block i raised or failed, if it is the lowest such block so far. Takes the error
 * over. */
static void
note(sim_run *run, int64_t i, int32_t status, const uint32_t *sregs, lw_error *error)
{
    lw_lock_take(&run->lock);
    if (i < atomic_load(&run->worst)) {
        atomic_store(&run->worst, i);
        lw_error_reset(&run->error);
        run->result.status = status;
        if (status != 0) {
            memcpy(run->result.thread, sregs + LW_SREG_TID_X, sizeof run->result.thread);
            place(run, i, run->result.block);
            lw_raise_noted(run->result.words); /* this thread's code has just noted them */
        } else if (error != NULL) {
            run->error = *error;
            memset(error, 0, sizeof *error);
        }
    }
    lw_lock_give(&run->lock);
    if (error != NULL)
        lw_error_reset(error);
}

static bool
thread_for_whole(sim_worker *worker, int64_t i)
{
    const lw_sim_launch *launch = worker->run->launch;
    lw_error error = {0};
    char *shared;

    if (worker->thread != NULL)
        return true;
    worker->thread =
        lw_alloc_zero(1, SIM_THREAD_BYTES + SIM_SHARED_ALIGN + sim_shared_bytes(launch));
    if (worker->thread == NULL) {
        lw_fail_memory(&error);
        note(worker->run, i, 0, NULL, &error);
        return false;
    }
    shared = (char *)worker->thread + SIM_THREAD_BYTES;
    shared += -(uintptr_t)shared & (SIM_SHARED_ALIGN - 1);
    sim_bind(NULL, launch, worker->thread, 0);
    worker->thread->shadow = launch->checks ? &worker->shadow : NULL;
    sim_bind_memory(&worker->thread->context, launch, shared);
    return true;
}

static void
run_whole(sim_worker *worker, int64_t i)
{
    const lw_sim_launch *launch = worker->run->launch;
    lw_kernel_context *context;
    int32_t status;

    if (!thread_for_whole(worker, i))
        return;
    context = &worker->thread->context;
    place(worker->run, i, context->sregs + LW_SREG_CTAID_X);
    if (launch->checks) {
        memset(context->shared, 0xcd, sim_shared_bytes(launch));
        sim_shadow_begin(&worker->shadow, (uint32_t)sim_shared_bytes(launch));
    }
    status = launch->whole(context, launch->values);
    if (worker->shadow.error.status != LW_OK)
        note(worker->run, i, 0, NULL, &worker->shadow.error);
    else if (status != 0)
        note(worker->run, i, status, context->sregs, NULL);
}

/* Keeps block i, all of whose threads wait in grid_sync, with its memory. */
static void
hold(sim_worker *worker, int64_t i)
{
    sim_run *run = worker->run;
    lw_error error = {0};

    if (run->n_blocks > LW_SIM_RESIDENT / run->n_threads) {
        lw_fail(&error, LW_ERR_VALUE,
                "grid.sync() on the CPU needs all threads of the grid at once, at most %d: "
                "%lld blocks of %u threads are more",
                LW_SIM_RESIDENT, (long long)run->n_blocks, run->n_threads);
        worker->block->n_started = 0;
        note(run, i, 0, NULL, &error);
        return;
    }
    lw_lock_take(&run->lock);
    if (run->held == NULL)
        run->held = lw_alloc_zero((size_t)run->n_blocks, sizeof *run->held);
    if (run->held == NULL) {
        lw_fail_memory(&error);
    } else {
        run->held[i] = worker->block;
        run->n_held++;
        worker->block = NULL;
    }
    lw_lock_give(&run->lock);
    if (error.status != LW_OK) {
        worker->block->n_started = 0;
        note(run, i, 0, NULL, &error);
    }
}

static bool
block_for_single(sim_worker *worker, int64_t i)
{
    sim_run *run = worker->run;
    lw_error error = {0};

    if (run->resuming) {
        if (worker->block != NULL)
            sim_block_put(worker->block);
        worker->block = run->held[i];
        run->held[i] = NULL;
        return worker->block != NULL;
    }
    if (worker->block == NULL)
        worker->block = sim_block_take(run->launch, true);
    if (worker->block == NULL) {
        lw_fail_memory(&error);
        note(run, i, 0, NULL, &error);
    }
    return worker->block != NULL;
}

static void
begin_block(sim_block *block, const sim_run *run, int64_t i)
{
    uint32_t j;

    place(run, i, block->index);
    for (j = 0; j < block->n_threads; j++)
        memcpy(sim_thread_at(block, j)->context.sregs + LW_SREG_CTAID_X, block->index,
               sizeof block->index);
    if (run->launch->checks) {
        memset(block->shared, 0xcd, sim_shared_bytes(run->launch));
        sim_shadow_begin(&block->shadow, (uint32_t)sim_shared_bytes(run->launch));
    }
}

static void
run_single(sim_worker *worker, int64_t i)
{
    sim_run *run = worker->run;
    sim_block *block;
    sim_outcome outcome;

    if (!block_for_single(worker, i))
        return;
    block = worker->block;
    if (run->resuming) {
        outcome = sim_resume_threads(block);
    } else {
        begin_block(block, run, i);
        outcome = sim_run_threads(block);
    }
    switch (outcome) {
    case SIM_ENDED:
        if (atomic_load_explicit(&run->ended, memory_order_relaxed) < 0)
            atomic_store_explicit(&run->ended, i, memory_order_relaxed);
        break;
    case SIM_SUSPENDED: hold(worker, i); break;
    case SIM_RAISED: note(run, i, block->status, block->raiser->context.sregs, NULL); break;
    case SIM_FAULT: note(run, i, 0, NULL, &block->error); break;
    }
}

/* ---- one cluster ---- */

typedef struct sim_cluster {
    sim_block *blocks[LW_SIM_CLUSTER];
    bool ended[LW_SIM_CLUSTER];
    uint32_t n_left;
} sim_cluster;

/* Takes the blocks of cluster i. False: noted. */
static bool
cluster_take(sim_run *run, int64_t i, sim_cluster *cluster)
{
    lw_error error = {0};

    for (uint32_t k = 0; k < run->cluster; k++) {
        sim_block *block = cluster->blocks[k] = sim_block_take(run->launch, true);
        if (block == NULL) {
            lw_fail_memory(&error);
            note(run, i * run->cluster, 0, NULL, &error);
            return false;
        }
        begin_block(block, run, i * run->cluster + k);
        block->peers = cluster->blocks;
        block->n_peers = run->cluster;
        block->rank = k;
    }
    cluster->n_left = run->cluster;
    return true;
}

static void
cluster_put(sim_run *run, sim_cluster *cluster)
{
    for (uint32_t k = 0; k < run->cluster && cluster->blocks[k] != NULL; k++) {
        if (!cluster->ended[k])
            cluster->blocks[k]->n_started = 0; /* its threads have not ended */
        cluster->blocks[k]->peers = NULL;
    }
    for (uint32_t k = 0; k < run->cluster && cluster->blocks[k] != NULL; k++)
        sim_block_put(cluster->blocks[k]);
}

/* Runs one block until it ends or waits for the others. False: it raised or failed. */
static bool
run_peer(sim_run *run, sim_cluster *cluster, int64_t i, uint32_t k, bool first)
{
    sim_block *block = cluster->blocks[k];
    lw_error error = {0};
    int64_t number = i * run->cluster + k;

    switch (first ? sim_run_threads(block) : sim_resume_threads(block)) {
    case SIM_ENDED:
        cluster->ended[k] = true;
        cluster->n_left--;
        return true;
    case SIM_SUSPENDED:
        if (block->n_at_cluster != 0)
            return true;
        lw_fail(&error, LW_ERR_VALUE,
                "grid.sync() on the CPU does not go together with clusters of blocks");
        note(run, number, 0, NULL, &error);
        return false;
    case SIM_RAISED:
        note(run, number, block->status, block->raiser->context.sregs, NULL);
        return false;
    case SIM_FAULT: note(run, number, 0, NULL, &block->error); return false;
    }
    return false;
}

static void
run_cluster(sim_run *run, int64_t i)
{
    sim_cluster cluster = {0};
    bool good = cluster_take(run, i, &cluster);

    for (bool first = true; good && cluster.n_left > 0; first = false)
        for (uint32_t k = 0; good && k < run->cluster; k++)
            good = cluster.ended[k] || run_peer(run, &cluster, i, k, first);
    cluster_put(run, &cluster);
}

static void
worker_end(sim_worker *worker)
{
    if (worker->block != NULL)
        sim_block_put(worker->block);
    lw_free(worker->thread);
    sim_shadow_free(&worker->shadow);
}

/* ---- all blocks ---- */

/* False when no block is left that has to run. */
static bool
run_batch(sim_worker *worker, int64_t n)
{
    sim_run *run = worker->run;
    int64_t i = atomic_fetch_add(&run->next, n), end = i + n;

    for (; i < end; i++) {
        if (i >= run->n_items ||
            i * run->cluster > atomic_load_explicit(&run->worst, memory_order_relaxed))
            return false;
        if (run->launch->whole != NULL)
            run_whole(worker, i);
        else if (run->cluster > 1)
            run_cluster(run, i);
        else
            run_single(worker, i);
    }
    return true;
}

/* What a block of this code cost last time, to choose between the caller alone and the pool. An
 * entry that is lost or belongs to other code costs some microseconds once. */
enum { N_COSTS = 256 };
static struct {
    atomic_uintptr_t code;
    atomic_int_fast64_t block_ns;
} costs[N_COSTS];

static uintptr_t
code_of(const lw_sim_launch *launch)
{
    return launch->whole != NULL ? (uintptr_t)launch->whole : (uintptr_t)launch->single;
}

static void
remember_cost(const lw_sim_launch *launch, int64_t spent_ns, int64_t n_blocks)
{
    uintptr_t code = code_of(launch);

    if (n_blocks == 0)
        return;
    atomic_store_explicit(&costs[code / 16 % N_COSTS].code, code, memory_order_relaxed);
    atomic_store_explicit(&costs[code / 16 % N_COSTS].block_ns, spent_ns / n_blocks + 1,
                          memory_order_relaxed);
}

/* The default is a nanosecond for each thread, which is the least that it can cost. */
static int64_t
expected_cost(const lw_sim_launch *launch)
{
    uintptr_t code = code_of(launch);

    if (atomic_load_explicit(&costs[code / 16 % N_COSTS].code, memory_order_relaxed) != code)
        return sim_n_threads(launch);
    return atomic_load_explicit(&costs[code / 16 % N_COSTS].block_ns, memory_order_relaxed);
}

/* Called by the caller's thread only. Blocks that are running are finished. */
static bool
is_stopped(sim_run *run, int64_t now)
{
    lw_error error = {0};

    if (run->launch->stop == NULL || now - run->asked_ns < STOP_NS)
        return false;
    run->asked_ns = now;
    if (!run->launch->stop(run->launch->stop_context))
        return false;
    lw_fail(&error, LW_ERR_PYTHON, "the launch was interrupted");
    note(run, -1, 0, NULL, &error);
    return true;
}

/* A worker that gets no stacks leaves the blocks to the others; the caller, worker 0, always
 * continues. */
static bool
may_help(sim_worker *worker, uint32_t index)
{
    const lw_sim_launch *launch = worker->run->launch;

    if (index == 0 || launch->whole != NULL || worker->run->resuming)
        return true;
    worker->block = sim_block_take(launch, false);
    return worker->block != NULL;
}

/* Draws batches that grow until drawing costs little, as long as enough blocks are left for
 * all. */
static lw_status
drain(void *context, int64_t begin, int64_t end, uint32_t index)
{
    sim_worker worker = {.run = context};
    sim_run *run = worker.run;
    int64_t start = lw_now_ns(), last = start, now, batch = 1, n = 0, left;
    int64_t n_workers = lw_host_threads();

    (void)begin, (void)end; /* a worker that comes late finds no blocks left */
    if (!may_help(&worker, index))
        return LW_OK;
    while (run_batch(&worker, batch)) {
        n += batch;
        now = lw_now_ns();
        left = run->n_items - atomic_load_explicit(&run->next, memory_order_relaxed);
        if (now - last < BATCH_NS / 2 && batch < left / (8 * n_workers))
            batch *= 2;
        else if (batch > 1 && batch > left / (4 * n_workers))
            batch /= 2;
        last = now;
        if (index == 0 && is_stopped(run, now))
            break;
    }
    remember_cost(run->launch, last - start, n);
    worker_end(&worker);
    return LW_OK;
}

/* Runs blocks in the caller, until it turns out that others should be woken. */
static bool
run_alone(sim_run *run)
{
    sim_worker worker = {.run = run};
    int64_t start = lw_now_ns(), n = 0, step, spent = 0;
    bool more = true;

    for (step = 1; more && spent < ALONE_NS; step = n) {
        more = run_batch(&worker, step);
        n += step;
        spent = lw_now_ns() - start;
    }
    remember_cost(run->launch, spent, n < run->n_items ? n : run->n_items);
    worker_end(&worker);
    return more && n < run->n_items;
}

static void
run_round(sim_run *run)
{
    int64_t cost = expected_cost(run->launch),
            n_workers = run->launch->in_order ? 1 : lw_host_threads();

    atomic_store(&run->next, 0);
    run->n_held = 0;
    if (n_workers > 1 && run->n_items > 1 && cost > ALONE_NS / run->n_items)
        lw_parallel_for(n_workers < run->n_items ? n_workers : run->n_items, 1, drain, run);
    else if (n_workers == 1 || run_alone(run))
        lw_parallel_for(n_workers, 1, drain, run);
}

/* Reports that some blocks wait in grid_sync and others have ended. */
static void
fail_ended(sim_run *run)
{
    uint32_t there[3], here[3];
    lw_error error = {0};
    int64_t i = 0;

    while (run->held[i] == NULL)
        i++;
    place(run, i, here);
    place(run, atomic_load(&run->ended), there);
    lw_fail(&error, LW_ERR_KERNEL,
            "block (%u, %u, %u) waits at grid.sync() for ever: block (%u, %u, %u) has ended",
            here[0], here[1], here[2], there[0], there[1], there[2]);
    note(run, i, 0, NULL, &error);
}

static void
run_all(sim_run *run)
{
    run_round(run);
    while (run->n_held > 0 && atomic_load(&run->worst) == run->n_blocks) {
        if (run->n_held < run->n_blocks) {
            fail_ended(run);
            return;
        }
        run->resuming = true;
        run_round(run);
    }
}

static void
free_held(sim_run *run)
{
    int64_t i;

    for (i = 0; run->held != NULL && i < run->n_blocks; i++)
        if (run->held[i] != NULL) {
            run->held[i]->n_started = 0; /* its threads have not ended */
            sim_block_put(run->held[i]);
        }
    lw_free(run->held);
}

/* ---- the launch ---- */

/* Applies CUDA's limits, so that what runs here can run there. */
static lw_status
check_shape(const lw_sim_launch *launch, lw_error *err)
{
    const uint32_t *g = launch->grid, *b = launch->block;
    uint64_t n_threads = (uint64_t)b[0] * b[1];

    if (b[0] < 1 || b[1] < 1 || b[2] < 1 || b[0] > 1024 || b[1] > 1024 || b[2] > 64 ||
        n_threads * b[2] > SIM_MAX_THREADS)
        return lw_fail(err, LW_ERR_VALUE,
                       "block (%u, %u, %u): expected sizes of at least 1, at most (1024, 1024, "
                       "64), and at most 1024 threads in all",
                       b[0], b[1], b[2]);
    if (g[0] < 1 || g[1] < 1 || g[2] < 1 || g[0] > INT32_MAX || g[1] > 65535 || g[2] > 65535)
        return lw_fail(err, LW_ERR_VALUE,
                       "grid (%u, %u, %u): expected sizes of at least 1 and at most "
                       "(2147483647, 65535, 65535)",
                       g[0], g[1], g[2]);
    if (sim_n_cluster(launch) > LW_SIM_CLUSTER ||
        (launch->cluster[0] &&
         (g[0] % launch->cluster[0] || g[1] % launch->cluster[1] || g[2] % launch->cluster[2])))
        return lw_fail(err, LW_ERR_VALUE,
                       "clusters of (%u, %u, %u) blocks: expected at most %d, and a grid of "
                       "whole clusters, not (%u, %u, %u)",
                       launch->cluster[0], launch->cluster[1], launch->cluster[2],
                       LW_SIM_CLUSTER, g[0], g[1], g[2]);
    if (launch->static_bytes > MAX_SHARED || launch->dynamic_bytes > MAX_SHARED)
        return lw_fail(err, LW_ERR_VALUE,
                       "shared memory of %u + %u bytes a block: expected at most %d each",
                       launch->static_bytes, launch->dynamic_bytes, MAX_SHARED);
    if (launch->local_bytes > MAX_LOCAL)
        return lw_fail(err, LW_ERR_VALUE,
                       "local arrays of %u bytes a thread: expected at most %d",
                       launch->local_bytes, MAX_LOCAL);
    return LW_OK;
}

lw_status
lw_simulate(const lw_sim_launch *launch, lw_sim_result *result, lw_error *err)
{
    sim_run run = {.launch = launch, .lock = LW_LOCK_INIT, .ended = -1};
    lw_status status;

    memset(result, 0, sizeof *result);
    status = check_shape(launch, err);
    if (status != LW_OK)
        return status;
    run.n_threads = sim_n_threads(launch);
    run.n_blocks = (int64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    run.cluster = launch->whole == NULL ? sim_n_cluster(launch) : 1;
    run.n_items = run.n_blocks / run.cluster;
    atomic_init(&run.worst, run.n_blocks);
    run.asked_ns = lw_now_ns();
    run_all(&run);
    free_held(&run);
    *result = run.result;
    status = run.error.status;
    if (status != LW_OK && err != NULL && err->status == LW_OK)
        *err = run.error;
    else
        lw_error_reset(&run.error);
    return status;
}

/* ---- for the loader ---- */

static const lw_code_extern externs[] = {
    {"lw_sim_barrier", (void *)(uintptr_t)lw_sim_barrier},
    {"lw_sim_access", (void *)(uintptr_t)lw_sim_access},
    {"lw_race_access", (void *)(uintptr_t)lw_race_access},
#define KERNEL_OP(name, args, result, collective, ptx, host) {#host, (void *)(uintptr_t)host},
#include "core/tables/kernel_ops.def"
};

/* Called once when the module starts, so that compiled code finds these functions. */
void
lw_simulator_register(void)
{
    lw_extern_provide(externs, sizeof externs / sizeof *externs);
}
