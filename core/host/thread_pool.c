#define _GNU_SOURCE /* sched_getaffinity, syscall */
#include "core/host/thread_pool.h"

#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/host/pieces.h"

#include <fenv.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How long a thread spins before it sleeps. This is longer than a futex wake (some 5 us), so
 * that threads stay awake from loop to loop; a longer spin would burn a core that another
 * process could use. */
#define SPIN_NS 30000

/* A worker and what it needs, on its own cache lines. `ticket` counts the loops to which it was
 * called; `asleep` is true while it may be in the futex. */
typedef struct worker {
    _Alignas(128) atomic_uint ticket;
    atomic_uint asleep;
    lw_status status; /* of its chunk of the last loop */
    int fp_flags;
    uint32_t index;
    pthread_t thread;
} worker;

/* The loop under way: the caller writes it before it changes the tickets, workers read it
 * afterwards. */
typedef struct loop {
    lw_loop_body body;
    void *context;
    int64_t n, chunk; /* chunk i is [i * chunk, min(n, (i + 1) * chunk)) */
    uint32_t n_chunks;
    fenv_t environment;
    bool stop;
} loop;

static lw_lock pool_lock = LW_LOCK_INIT; /* held during a loop; loops only try to take it */
static worker *workers;                  /* [n_workers]; 0 is the caller's and has no thread */
static uint32_t n_workers, n_wanted;     /* fewer than wanted where threads cannot be started */
static loop current;
_Alignas(128) static atomic_uint pending; /* chunks that other threads still work on */
_Alignas(128) static atomic_uint caller_asleep;
static _Thread_local bool inside;
static _Thread_local bool is_worker; /* a thread of the pool */

static void
futex_wait(atomic_uint *word, unsigned expected, const struct timespec *most)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, most, NULL, 0);
}

static void
futex_wake(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline void
breathe(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Spins until the word differs from `old`, for SPIN_NS at most. */
static bool
spin_until_not(atomic_uint *word, unsigned old)
{
    int64_t end = lw_now_ns() + SPIN_NS;
    int i;

    do {
        for (i = 0; i < 64; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != old)
                return true;
            breathe();
        }
    } while (lw_now_ns() < end);
    return false;
}

/* Waits until the word differs from `old`. The exchange pairs with the load in `rouse`: either
 * the other side sees us asleep, or we see its store. Asks `stop` meanwhile, where there is
 * one.
 */
static void
wait_until_not(atomic_uint *word, unsigned old, atomic_uint *asleep, lw_stop *stop)
{
    static const struct timespec look = {.tv_nsec = LW_LOOK_NS};

    if (spin_until_not(word, old))
        return;
    for (;;) {
        atomic_exchange(asleep, 1);
        if (atomic_load(word) != old)
            break;
        futex_wait(word, old, stop ? &look : NULL);
        lw_stop_asked(stop);
    }
    atomic_store(asleep, 0);
}

static void
rouse(atomic_uint *word, atomic_uint *asleep)
{
    /* Only the sleeper clears `asleep`: the last finisher of one loop may come here when the
     * caller already sleeps in the next one, and must not clear the mark that the last finisher
     * of that loop needs. */
    if (atomic_load(asleep) != 0)
        futex_wake(word);
}

/* ---- workers ---------------------------------------------------------------------------- */

/* Every participant wakes at most two others, so that the caller does not pay for all
 * wake-ups. */
static void
rouse_below(uint32_t index)
{
    uint32_t i;

    for (i = 2 * index + 1; i <= 2 * index + 2 && i < current.n_chunks; i++)
        rouse(&workers[i].ticket, &workers[i].asleep);
}

static lw_status
run_chunk(uint32_t index)
{
    int64_t begin = index * current.chunk, end = begin + current.chunk;

    return current.body(current.context, begin, end < current.n ? end : current.n, index);
}

static void
finish_chunk(void)
{
    if (atomic_fetch_sub(&pending, 1) == 1)
        rouse(&pending, &caller_asleep);
}

static void *
work(void *argument)
{
    worker *self = argument;
    unsigned ticket = 0;
    bool stop;

    inside = is_worker = true; /* an inner loop runs in its worker alone */
    for (;;) {
        wait_until_not(&self->ticket, ticket, &self->asleep, NULL);
        ticket++;
        rouse_below(self->index);
        stop = current.stop;
        if (!stop) {
            fesetenv(&current.environment);
            feclearexcept(FE_ALL_EXCEPT);
            self->status = run_chunk(self->index);
            self->fp_flags = fetestexcept(FE_ALL_EXCEPT);
        }
        finish_chunk(); /* nothing of the loop may be touched after this */
        if (stop)
            return NULL;
    }
}

static void
call_workers(uint32_t n_chunks)
{
    uint32_t i;

    atomic_store(&pending, n_chunks - 1);
    /* from the last one to the first: a worker that is called wakes others with higher indices,
     * which must have been called by then, or they would go back to sleep */
    for (i = n_chunks - 1; i > 0; i--)
        atomic_fetch_add(&workers[i].ticket, 1);
    rouse_below(0);
}

static void
await_workers(lw_stop *stop)
{
    unsigned left;

    while ((left = atomic_load(&pending)) != 0)
        wait_until_not(&pending, left, &caller_asleep, stop);
}

bool
lw_pool_is_worker(void)
{
    return is_worker;
}

/* ---- starting and ending; need the pool's lock ----------------------------------------------
 */

/* Workers block all signals, which are for the program's own threads. */
static bool
start_thread(worker *self)
{
    sigset_t all, before;
    int code;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(&self->thread, NULL, work, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0;
}

static void
stop_workers(void)
{
    uint32_t i;

    if (n_workers > 1) {
        current.stop = true;
        current.n_chunks = n_workers;
        call_workers(n_workers);
        await_workers(NULL);
        for (i = 1; i < n_workers; i++)
            pthread_join(workers[i].thread, NULL);
        current.stop = false;
    }
    free(workers);
    workers = NULL;
    n_workers = n_wanted = 0;
}

/* In the child there is no worker, and nobody who could release the lock. */
static void
after_fork(void)
{
    static const lw_lock fresh = LW_LOCK_INIT;

    pool_lock = fresh;
    free(workers);
    workers = NULL;
    n_workers = n_wanted = 0;
    inside = false;
    current.stop = false;
    atomic_store(&pending, 0);
    atomic_store(&caller_asleep, 0);
}

/* Starts as many workers as wanted, or as the system allows. */
static void
start_workers(uint32_t wanted)
{
    static bool watched;

    if (!watched)
        watched = pthread_atfork(NULL, NULL, after_fork) == 0;
    stop_workers();
    n_wanted = wanted;
    /* lives as long as the process, so it is not counted */
    workers = aligned_alloc(128, wanted * sizeof *workers);
    if (workers == NULL)
        return;
    memset(workers, 0, wanted * sizeof *workers);
    for (n_workers = 1; n_workers < wanted; n_workers++) {
        workers[n_workers].index = n_workers;
        if (!start_thread(&workers[n_workers]))
            break;
    }
}

void
lw_thread_pool_stop(void)
{
    lw_lock_take(&pool_lock);
    stop_workers();
    lw_lock_give(&pool_lock);
}

/* ---- how many
 * -------------------------------------------------------------------------------- */

static uint32_t
usable_cores(void)
{
    cpu_set_t set[8]; /* 8192 cores */

    CPU_ZERO_S(sizeof set, set);
    if (sched_getaffinity(0, sizeof set, set) == 0 && CPU_COUNT_S(sizeof set, set) > 0)
        return (uint32_t)CPU_COUNT_S(sizeof set, set);
    return 1;
}

/* A container may have all cores but only the time of a few; more threads than that would be
 * throttled. */
static uint32_t
quota_cores(void)
{
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
    long long quota = 0, period = 0;
    int n = 0;

    if (file == NULL)
        return LW_MAX_THREADS;
    n = fscanf(file, "%lld %lld", &quota, &period); /* "max 100000" when unlimited */
    fclose(file);
    if (n != 2 || quota <= 0 || period <= 0)
        return LW_MAX_THREADS;
    return (uint32_t)((quota + period - 1) / period);
}

static uint32_t
count_threads(void)
{
    int64_t n = lw_env_int(LW_ENV_threads);
    uint32_t quota;

    if (n <= 0) {
        n = usable_cores();
        quota = quota_cores();
        n = n < quota ? n : quota;
    }
    return n < LW_MAX_THREADS ? (uint32_t)n : LW_MAX_THREADS;
}

uint32_t
lw_host_threads(void)
{
    static atomic_uint_fast64_t
        known; /* settings version + 1 in the high half, count in the low */
    uint64_t version = lw_env_version() + 1, packed = atomic_load(&known);

    if (packed >> 16 != version) {
        packed = version << 16 | count_threads();
        atomic_store(&known, packed);
    }
    return (uint32_t)(packed & 0xffff);
}

/* ---- loops
 * ------------------------------------------------------------------------------------ */

/* The size of equal chunks that begin at multiples of grain. */
static int64_t
chunk_size(int64_t n, int64_t grain, uint32_t n_threads)
{
    int64_t n_grains = n / grain + (n % grain != 0);

    return (n_grains + n_threads - 1) / n_threads * grain;
}

static lw_status
first_failure(lw_status status, uint32_t n_chunks, int *fp_flags)
{
    uint32_t i;

    for (i = 1; i < n_chunks; i++) {
        *fp_flags |= workers[i].fp_flags;
        if (status == LW_OK)
            status = workers[i].status;
    }
    return status;
}

/* needs: the pool's lock, workers for all chunks */
static lw_status
run_loop(int64_t n, int64_t chunk, lw_loop_body body, void *context, lw_stop *stop)
{
    uint32_t n_chunks = (uint32_t)((n + chunk - 1) / chunk);
    int fp_flags = 0;
    lw_status status;

    current.body = body;
    current.context = context;
    current.n = n;
    current.chunk = chunk;
    current.n_chunks = n_chunks;
    fegetenv(&current.environment);
    inside = true;
    call_workers(n_chunks);
    status = run_chunk(0);
    await_workers(stop);
    inside = false;
    status = first_failure(status, n_chunks, &fp_flags);
    if (fp_flags != 0)
        feraiseexcept(fp_flags);
    return status;
}

lw_status
lw_parallel_until(int64_t n, int64_t grain, lw_loop_body body, void *context, lw_stop *stop)
{
    uint32_t n_threads;
    lw_status status;

    if (n <= 0)
        return LW_OK;
    if (grain < 1)
        grain = 1;
    n_threads = n <= grain || inside ? 1 : lw_host_threads();
    if (n_threads == 1 || pthread_mutex_trylock(&pool_lock) != 0)
        return body(context, 0, n, 0);
    if (n_wanted != n_threads)
        start_workers(n_threads);
    if (n_workers < 2) {
        lw_lock_give(&pool_lock);
        return body(context, 0, n, 0);
    }
    status = run_loop(n, chunk_size(n, grain, n_workers), body, context, stop);
    lw_lock_give(&pool_lock);
    return status;
}

lw_status
lw_parallel_for(int64_t n, int64_t grain, lw_loop_body body, void *context)
{
    return lw_parallel_until(n, grain, body, context, NULL);
}
