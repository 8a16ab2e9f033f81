#define _GNU_SOURCE /* sched_getaffinity, syscall */
#include "core/host/thread_pool.h"

#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/host/flags.h"
#include "core/host/pieces.h"
#include "core/ir/thread_names.h"
#include "core/link/elf_loader.h"

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

/* The most steps that a chunk is divided into. A thread that is held up keeps the others
 * waiting for one step. With the grains that callers choose, a step takes more than 20 us, and
 * taking it costs little beside that. */
enum { STEPS = 16 };

/* What a worker does. */
enum {
    IDLE,   /* It is in no loop. */
    CALLED, /* It was called to a loop, and has not begun. */
    AT_WORK /* It runs steps of the loop. */
};

/* A worker and what it needs, on its own cache lines. `asleep` is true while it may be in the
 * futex. */
typedef struct worker {
    _Alignas(128) atomic_uint state;
    atomic_uint asleep;
    atomic_uint_fast64_t left; /* steps of its chunk that nobody has taken: first << 32 | end */
    lw_status status;          /* of the first step that failed among those that it ran */
    int64_t failed_at;         /* where that step begins */
    int fp_flags;
    uint32_t index;
    pthread_t thread;
} worker;

/* The loop under way: the caller writes it before it calls workers, which read it afterwards.
 */
typedef struct loop {
    lw_loop_body body;
    void *context;
    int64_t n, chunk, step; /* chunk i is [i * chunk, min(n, (i + 1) * chunk)) */
    uint32_t n_chunks;
    int core; /* the caller's */
    fenv_t environment;
    bool stop;
} loop;

static lw_lock pool_lock = LW_LOCK_INIT; /* held during a loop; loops only try to take it */
static worker *workers;                  /* [n_workers]; 0 is the caller's and has no thread */
static uint32_t n_workers, n_wanted;     /* fewer than wanted where threads cannot be started */
static loop current;
_Alignas(128) static atomic_uint pending; /* workers that were called and have not ended */
_Alignas(128) static atomic_uint caller_asleep;
static atomic_bool crowded; /* a worker of the loop under way is on the caller's core */
static _Thread_local bool inside;
static _Thread_local bool is_worker; /* a thread of the pool */
static _Thread_local uint32_t own_index;

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

/* Waits until `pending` differs from `left`. The exchange pairs with the load in `rouse`:
 * either the other side sees us asleep, or we see its store. Asks `stop` meanwhile, where there
 * is one.
 */
static void
await_end_of(unsigned left, lw_stop *stop)
{
    static const struct timespec look = {.tv_nsec = LW_LOOK_NS};

    if (!atomic_load_explicit(&crowded, memory_order_relaxed) && spin_until_not(&pending, left))
        return;
    for (;;) {
        atomic_exchange(&caller_asleep, 1);
        if (atomic_load(&pending) != left)
            break;
        futex_wait(&pending, left, stop ? &look : NULL);
        lw_stop_asked(stop);
    }
    atomic_store(&caller_asleep, 0);
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
        rouse(&workers[i].state, &workers[i].asleep);
}

/* A worker that was called and has not begun, because its core does something else, cannot wake
 * the workers below it, so this worker does. */
static void
rouse_past(uint32_t index)
{
    uint32_t i;

    for (i = 2 * index + 1; i <= 2 * index + 2 && i < current.n_chunks; i++)
        if (atomic_load_explicit(&workers[i].state, memory_order_relaxed) == CALLED) {
            rouse_below(i);
            rouse_past(i);
        }
}

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t
divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* Takes a step of the chunk of `owner`: its first one, or its last one. -1: there is none left.
 */
static int64_t
take_step(worker *owner, bool first)
{
    uint64_t left = atomic_load_explicit(&owner->left, memory_order_relaxed), rest;
    uint32_t begin, end;

    do {
        begin = (uint32_t)(left >> 32);
        end = (uint32_t)left;
        if (begin == end)
            return -1;
        rest = first ? left + ((uint64_t)1 << 32) : left - 1;
    } while (!atomic_compare_exchange_weak(&owner->left, &left, rest));
    return first ? begin : end - 1;
}

static void
run_step(worker *self, uint32_t chunk, int64_t step)
{
    int64_t begin = chunk * current.chunk + step * current.step;
    int64_t end = least(begin + current.step, (chunk + 1) * current.chunk);
    lw_status status = current.body(current.context, begin, least(end, current.n), self->index);

    if (status != LW_OK && (self->status == LW_OK || begin < self->failed_at)) {
        self->status = status;
        self->failed_at = begin;
    }
}

/* The own chunk from its first step on, then what others have not begun of theirs, from its
 * last step on. */
static void
run_steps(worker *self)
{
    for (uint32_t i = 0; i < current.n_chunks; i++) {
        uint32_t chunk = (self->index + i) % current.n_chunks;
        for (int64_t step; (step = take_step(&workers[chunk], i == 0)) >= 0;) {
            run_step(self, chunk, step);
            if (i == 0)
                rouse_past(self->index);
        }
    }
}

/* n workers are not waited for any more. */
static void
settle(uint32_t n)
{
    if (atomic_fetch_sub(&pending, n) == n)
        rouse(&pending, &caller_asleep);
}

/* A worker that came too late to its last loop sleeps at once: its core has other work. */
static void
await_call(worker *self, bool spins)
{
    unsigned called = CALLED;

    if (spins)
        spin_until_not(&self->state, IDLE);
    while (!atomic_compare_exchange_strong(&self->state, &called, AT_WORK)) {
        atomic_exchange(&self->asleep, 1);
        if (atomic_load(&self->state) == IDLE)
            futex_wait(&self->state, IDLE, NULL);
        called = CALLED;
    }
    if (atomic_load_explicit(&self->asleep, memory_order_relaxed) != 0)
        atomic_store(&self->asleep, 0);
}

static void
take_part(worker *self)
{
    fesetenv(&current.environment);
    lw_flags_clear();
    run_steps(self);
    self->fp_flags = lw_flags_raised();
}

static void *
work(void *argument)
{
    worker *self = argument;
    bool stop = false, shares = false;

    inside = is_worker = true; /* an inner loop runs in its worker alone */
    own_index = self->index;
    while (!stop) {
        await_call(self, !shares);
        rouse_below(self->index);
        shares = sched_getcpu() == current.core;
        if (shares)
            atomic_store_explicit(&crowded, true, memory_order_relaxed);
        stop = current.stop;
        if (!stop)
            take_part(self);
        atomic_store(&self->state, IDLE);
        settle(1); /* nothing of the loop may be touched after this */
    }
    return NULL;
}

static void
prepare(worker *one)
{
    int64_t begin = one->index * current.chunk, n = least(current.chunk, current.n - begin);

    one->status = LW_OK;
    one->fp_flags = 0;
    atomic_store_explicit(&one->left, (uint64_t)divide_up(n, current.step),
                          memory_order_relaxed);
}

static void
call_workers(uint32_t n_chunks)
{
    uint32_t i;

    atomic_store(&pending, n_chunks - 1);
    /* from the last one to the first: a worker that is called wakes others with higher indices,
     * which must have been called by then, or they would go back to sleep */
    for (i = n_chunks - 1; i > 0; i--)
        atomic_fetch_add(&workers[i].state, CALLED - IDLE);
    rouse_below(0);
}

/* Once no step is left: a worker that has not begun, because its core does something else, is
 * not waited for. */
static void
recall_workers(uint32_t n_chunks)
{
    uint32_t n = 0;

    for (uint32_t i = 1; i < n_chunks; i++) {
        unsigned called = CALLED;
        n += atomic_load(&workers[i].state) == CALLED &&
             atomic_compare_exchange_strong(&workers[i].state, &called, IDLE);
    }
    if (n > 0)
        settle(n);
}

static void
await_workers(lw_stop *stop)
{
    unsigned left;

    while ((left = atomic_load(&pending)) != 0)
        await_end_of(left, stop);
}

bool
lw_pool_is_worker(void)
{
    return is_worker;
}

uint32_t
lw_pool_thread(void)
{
    return own_index;
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

/* needs: the pool's lock, two workers or more */
static void
describe_loop(int64_t n, int64_t grain, lw_loop_body body, void *context)
{
    int64_t grains = divide_up(divide_up(n, grain), n_workers); /* of a chunk */

    current.body = body;
    current.context = context;
    current.n = n;
    current.chunk = grains * grain;
    current.step = divide_up(grains, least(grains, STEPS)) * grain;
    current.n_chunks = (uint32_t)divide_up(n, current.chunk);
    current.core = sched_getcpu();
    atomic_store_explicit(&crowded, false, memory_order_relaxed);
    fegetenv(&current.environment);
    for (uint32_t i = 0; i < current.n_chunks; i++)
        prepare(&workers[i]);
}

static lw_status
first_failure(uint32_t n_chunks)
{
    const worker *first = &workers[0];

    for (uint32_t i = 1; i < n_chunks; i++)
        if (workers[i].status != LW_OK &&
            (first->status == LW_OK || workers[i].failed_at < first->failed_at))
            first = &workers[i];
    return first->status;
}

/* needs: the pool's lock, a loop that is described */
static lw_status
run_loop(lw_stop *stop)
{
    int fp_flags = 0;

    inside = true;
    call_workers(current.n_chunks);
    run_steps(&workers[0]);
    recall_workers(current.n_chunks);
    await_workers(stop);
    inside = false;
    for (uint32_t i = 1; i < current.n_chunks; i++)
        fp_flags |= workers[i].fp_flags;
    if (fp_flags != 0)
        lw_flags_raise(fp_flags);
    return first_failure(current.n_chunks);
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
    describe_loop(n, grain, body, context);
    status = run_loop(stop);
    lw_lock_give(&pool_lock);
    return status;
}

lw_status
lw_parallel_for(int64_t n, int64_t grain, lw_loop_body body, void *context)
{
    return lw_parallel_until(n, grain, body, context, NULL);
}

/* ---- as compiled code asks -------------------------------------------------------------- */

static int64_t
num_threads(void)
{
    return lw_host_threads();
}

static int64_t
thread_id(void)
{
    return lw_pool_thread();
}

void
lw_thread_pool_register(void)
{
    static lw_extern_row rows[] = {{LW_NUM_THREADS, NULL}, {LW_THREAD_ID, NULL}};

    rows[0].address = (void *)(uintptr_t)num_threads;
    rows[1].address = (void *)(uintptr_t)thread_id;
    lw_extern_provide(rows, 2);
}
