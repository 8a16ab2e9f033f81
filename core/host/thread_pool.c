#define _GNU_SOURCE /* sched_getcpu, syscall */
#include "core/host/thread_pool.h"

#include "core/base/clock.h"
#include "core/base/divider.h"
#include "core/base/lock.h"
#include "core/host/flags.h"
#include "core/host/pieces.h"
#include "core/ir/thread_names.h"
#include "core/link/elf_loader.h"

#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How long a thread spins before it sleeps. A worker takes the long time if its last call came
 * within that time, so that workers stay awake while a program calls one loop after the other,
 * and the short time otherwise. Waking a thread takes some 5 us, and up to 50 us where its core
 * is a virtual one that has stopped. After each short time, a thread yields its core to others
 * that want to run, which can take as long as waking it. */
#define SPIN_NS      30000
#define LONG_SPIN_NS 500000

/* A call to a loop is one number for all workers: the number of the loop << CALL_BITS | its
 * chunks. The workers below that number of chunks are called. */
enum { CALL_BITS = 9 };
static_assert(LW_MAX_THREADS < 1 << CALL_BITS, "the workers of a loop fit into a call");

/* What is left of a chunk is one number, too: loop << LEFT_BITS | first << STEP_BITS | end. */
enum { STEP_BITS = 8, LEFT_BITS = 2 * STEP_BITS, STEP_MASK = (1 << STEP_BITS) - 1 };
static_assert(LW_POOL_STEPS < 1 << STEP_BITS, "the number of a step fits into what is left");

/* A worker and what it needs, on its own cache lines. */
typedef struct worker {
    /* The last call that it has followed, or that was taken back. */
    _Alignas(128) atomic_uint_fast64_t answered;
    /* Steps of its chunk that nobody has taken. The number of another loop means that nobody
     * has taken any, so that the caller of a loop need not write here. */
    atomic_uint_fast64_t left;
    atomic_uint asleep; /* what it sleeps on: 1 while it may be in the futex */
    uint32_t index;
    int64_t spin_ns; /* before it sleeps */
    pthread_t thread;
} worker;

/* The loop under way: the caller writes it before it calls workers, which read it afterwards.
 */
typedef struct loop {
    lw_loop_body body;
    void *context;
    int64_t n, chunk, step;               /* chunk i is [i * chunk, min(n, (i + 1) * chunk)) */
    uint32_t n_chunks, steps, last_steps; /* of a chunk, of the last chunk */
    atomic_int core;                      /* the caller's */
    lw_float_mode mode;                   /* the caller's */
    bool stop;
} loop;

/* What workers report of the loop under way; only few write here. */
typedef struct report {
    lw_lock lock;
    lw_status status;  /* of the first step that failed, */
    int64_t failed_at; /* which begins here */
    atomic_int fp_flags;
} report;

static lw_lock pool_lock = LW_LOCK_INIT; /* held during a loop; loops only try to take it */
static worker *workers;                  /* [n_workers]; 0 is the caller's and has no thread */
static uint32_t n_workers, n_wanted;     /* fewer than wanted where threads cannot be started */
static loop current;
static report found = {.lock = LW_LOCK_INIT};
/* The last call; all workers wait for it to change. */
_Alignas(128) static atomic_uint_fast64_t call;
/* Workers that were called and have not ended. */
_Alignas(128) static atomic_uint pending;
_Alignas(128) static atomic_uint caller_asleep;
static atomic_uint n_awake; /* workers that are not in the futex */
static bool lost;           /* the loop under way is the copy of one in the parent process */
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

/* Spins until `is_over` says so, for `most_ns` at most; yields: from the beginning on, each
 * time that it has looked a while. */
static bool
spin_until(bool (*is_over)(const void *), const void *what, int64_t most_ns, bool yields)
{
    int64_t begin = lw_now_ns(), apart = yields ? 0 : SPIN_NS, yields_at = apart, spent = 0;

    do {
        for (int i = 0; i < 64; i++) {
            if (is_over(what))
                return true;
            breathe();
        }
        if (spent > yields_at) {
            sched_yield();
            yields_at += apart;
        }
        spent = lw_now_ns() - begin;
    } while (spent < most_ns);
    return false;
}

static bool
none_pending(const void *unused)
{
    (void)unused;
    return atomic_load_explicit(&pending, memory_order_acquire) == 0;
}

/* Waits until no worker is pending. The exchange pairs with the load in `settle`: either the
 * other side sees us asleep, or we see its store. Asks `stop` meanwhile, where there is one. */
static void
await_workers(lw_stop *stop)
{
    static const struct timespec look = {.tv_nsec = LW_LOOK_NS};
    unsigned left;

    if (!atomic_load_explicit(&crowded, memory_order_relaxed) &&
        spin_until(none_pending, NULL, LONG_SPIN_NS, false))
        return;
    atomic_exchange(&caller_asleep, 1);
    while ((left = atomic_load(&pending)) != 0) {
        futex_wait(&pending, left, stop ? &look : NULL);
        lw_stop_asked(stop);
    }
    atomic_store(&caller_asleep, 0);
}

/* ---- workers ---- */

/* The chunks of a call, and so the workers that it calls, the caller included. */
static uint32_t
chunks_of(uint64_t one)
{
    return one & ((1u << CALL_BITS) - 1);
}

/* The exchange pairs with the load of `call` in `await_call`: either we see the worker asleep,
 * or it sees the call. */
static void
rouse(worker *one)
{
    if (atomic_load(&one->asleep) != 0 && atomic_exchange(&one->asleep, 0) != 0)
        futex_wake(&one->asleep);
}

/* Every participant wakes at most two others, so that the caller does not pay for all
 * wake-ups. */
static void
rouse_below(uint32_t index)
{
    for (uint32_t i = 2 * index + 1; i <= 2 * index + 2 && i < current.n_chunks; i++)
        rouse(&workers[i]);
}

/* A worker that was called and has not begun, because its core does something else, cannot wake
 * the workers below it, so this worker does. */
static void
rouse_past(uint32_t index)
{
    for (uint32_t i = 2 * index + 1; i <= 2 * index + 2 && i < current.n_chunks; i++)
        if (atomic_load_explicit(&workers[i].answered, memory_order_relaxed) != call) {
            rouse_below(i);
            rouse_past(i);
        }
}

/* Takes a step of a chunk: its first one, or its last one. -1: there is none left. */
static int64_t
take_step(uint32_t chunk, bool first)
{
    atomic_uint_fast64_t *word = &workers[chunk].left;
    uint64_t left = atomic_load_explicit(word, memory_order_relaxed), rest;
    uint64_t number = call >> CALL_BITS << LEFT_BITS;
    uint32_t begin, end;

    do {
        if ((left ^ number) >> LEFT_BITS != 0)
            rest =
                number | (chunk + 1 == current.n_chunks ? current.last_steps : current.steps);
        else
            rest = left;
        begin = rest >> STEP_BITS & STEP_MASK;
        end = rest & STEP_MASK;
        if (begin == end)
            return -1;
        rest = first ? rest + (1 << STEP_BITS) : rest - 1;
    } while (!atomic_compare_exchange_weak(word, &left, rest));
    return first ? begin : end - 1;
}

static void
note_failure(lw_status status, int64_t at)
{
    lw_lock_take(&found.lock);
    if (found.status == LW_OK || at < found.failed_at) {
        found.status = status;
        found.failed_at = at;
    }
    lw_lock_give(&found.lock);
}

static void
run_step(uint32_t index, uint32_t chunk, int64_t step)
{
    int64_t begin = chunk * current.chunk + step * current.step;
    int64_t end = lw_least(begin + current.step, (chunk + 1) * current.chunk);
    lw_status status = current.body(current.context, begin, lw_least(end, current.n), index);

    if (status != LW_OK)
        note_failure(status, begin);
}

/* The own chunk from its first step on, then what others have not begun of theirs, from its
 * last step on. */
static void
run_steps(uint32_t index)
{
    for (uint32_t i = 0; i < current.n_chunks; i++) {
        uint32_t chunk = (index + i) % current.n_chunks;
        for (int64_t step; (step = take_step(chunk, i == 0)) >= 0;) {
            run_step(index, chunk, step);
            if (i == 0)
                rouse_past(index);
        }
    }
}

/* n workers are not waited for any more. Only the caller clears `caller_asleep`: the last
 * worker of one loop may come here when the caller already sleeps in the next one. */
static void
settle(uint32_t n)
{
    if (atomic_fetch_sub(&pending, n) == n && atomic_load(&caller_asleep) != 0)
        futex_wake(&pending);
}

/* Whether there is a call that this worker follows. It does not if the caller has taken the
 * call back, which has changed `answered` since we looked at it. */
static bool
follows_call(worker *self)
{
    uint64_t before = atomic_load(&self->answered), one = atomic_load(&call);

    return one != before && self->index < chunks_of(one) &&
           atomic_compare_exchange_strong(&self->answered, &before, one);
}

/* Whether this thread is on the core of the caller, whose time it would take. */
static bool
shares_core(void)
{
    return sched_getcpu() == atomic_load_explicit(&current.core, memory_order_relaxed);
}

static bool
is_called(const void *worker_)
{
    const worker *self = worker_;
    uint64_t one = atomic_load(&call);

    return self->index < chunks_of(one) && atomic_load(&self->answered) != one;
}

static void
sleep_until_called(worker *self)
{
    atomic_exchange(&self->asleep, 1);
    if (!is_called(self)) {
        atomic_fetch_sub(&n_awake, 1);
        futex_wait(&self->asleep, 1, NULL);
        atomic_fetch_add(&n_awake, 1);
    }
    atomic_store(&self->asleep, 0);
}

/* A worker that was woken too late, when its call had been taken back, spins like one that has
 * worked: otherwise it would be too late for each of several short loops. On the caller's core
 * it yields all the time. It does not sleep there at once, as some virtual machines number
 * cores by chance. */
static void
await_call(worker *self)
{
    int64_t begin;

    do {
        begin = lw_now_ns();
        if (!spin_until(is_called, self, self->spin_ns, shares_core()))
            sleep_until_called(self);
        self->spin_ns = lw_now_ns() - begin < LONG_SPIN_NS ? LONG_SPIN_NS : SPIN_NS;
    } while (!follows_call(self));
}

static void
take_part(worker *self)
{
    int flags;

    lw_float_mode_set(current.mode);
    lw_flags_clear();
    run_steps(self->index);
    flags = lw_flags_raised();
    if (flags != 0)
        atomic_fetch_or(&found.fp_flags, flags);
}

static void *
work(void *argument)
{
    worker *self = argument;
    bool stop = false;

    inside = is_worker = true; /* an inner loop runs in its worker alone */
    own_index = self->index;
    atomic_fetch_add(&n_awake, 1);
    while (!stop) {
        await_call(self);
        rouse_below(self->index);
        if (shares_core())
            atomic_store_explicit(&crowded, true, memory_order_relaxed);
        stop = current.stop;
        if (stop)
            atomic_fetch_sub(&n_awake, 1);
        else
            take_part(self);
        settle(1); /* nothing of the loop may be touched after this */
    }
    return NULL;
}

/* Calls the workers to the loop that is described. */
static void
call_workers(void)
{
    uint64_t number = (call >> CALL_BITS) + 1;

    atomic_store(&pending, current.n_chunks - 1);
    atomic_store(&call, number << CALL_BITS | current.n_chunks);
    rouse_below(0);
}

/* Once no step is left: a worker that has not begun, because its core does something else, is
 * not waited for. */
static void
recall_workers(void)
{
    uint64_t one = call;
    uint32_t n = 0;

    for (uint32_t i = 1; i < current.n_chunks; i++) {
        uint64_t before = atomic_load(&workers[i].answered);
        n +=
            before != one && atomic_compare_exchange_strong(&workers[i].answered, &before, one);
    }
    if (n > 0)
        settle(n);
}

uint32_t
lw_pool_n_awake(void)
{
    return atomic_load_explicit(&n_awake, memory_order_relaxed);
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

/* ---- starting and ending; need the pool's lock ---- */

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
        call_workers();
        await_workers(NULL);
        for (i = 1; i < n_workers; i++)
            pthread_join(workers[i].thread, NULL);
        current.stop = false;
    }
    free(workers);
    workers = NULL;
    n_workers = n_wanted = 0;
}

/* In the child of a handler that ran while its thread waited, or between two steps: nothing is
 * left to wait for, and the memory of the workers is that of the loop until it ends. The lock
 * is this thread's. */
static void
lose_workers(void)
{
    for (uint32_t i = 1; i < n_workers; i++)
        atomic_store(&workers[i].answered, call);
    lost = true;
}

/* In the child there is no worker, and nobody who could release a lock that another thread
 * holds. Such a thread may have been about to free the workers: their memory is left alone. */
static void
after_fork(void)
{
    static const lw_lock fresh = LW_LOCK_INIT;

    found.lock = fresh;
    atomic_store(&pending, 0);
    atomic_store(&n_awake, 0);
    if (inside) {
        lose_workers();
    } else {
        pool_lock = fresh;
        workers = NULL;
        current.stop = false;
        atomic_store(&caller_asleep, 0);
    }
    n_workers = n_wanted = 0;
}

bool
lw_pool_is_lost(void)
{
    return lost && inside;
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
        workers[n_workers].spin_ns = SPIN_NS;
        workers[n_workers].answered = call;
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

/* ---- loops ---- */

/* needs: the pool's lock, two workers or more */
static void
describe_loop(int64_t n, int64_t grain, lw_loop_body body, void *context)
{
    int64_t grains = lw_divide_up(lw_divide_up(n, grain), n_workers); /* of a chunk */

    current.body = body;
    current.context = context;
    current.n = n;
    current.chunk = grains * grain;
    current.step = lw_divide_up(grains, lw_least(grains, LW_POOL_STEPS)) * grain;
    current.n_chunks = (uint32_t)lw_divide_up(n, current.chunk);
    current.steps = (uint32_t)lw_divide_up(current.chunk, current.step);
    current.last_steps =
        (uint32_t)lw_divide_up(n - (current.n_chunks - 1) * current.chunk, current.step);
    atomic_store_explicit(&current.core, sched_getcpu(), memory_order_relaxed);
    atomic_store_explicit(&crowded, false, memory_order_relaxed);
    current.mode = lw_float_mode_here();
    found.status = LW_OK;
    atomic_store_explicit(&found.fp_flags, 0, memory_order_relaxed);
}

/* needs: the pool's lock, a loop that is described */
static lw_status
run_loop(lw_stop *stop)
{
    int fp_flags;

    inside = true;
    call_workers();
    run_steps(0);
    recall_workers();
    await_workers(stop);
    inside = lost = false;
    fp_flags = atomic_load(&found.fp_flags);
    if (fp_flags != 0)
        lw_flags_raise(fp_flags);
    return found.status;
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

/* ---- functions that compiled code calls ---- */

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
