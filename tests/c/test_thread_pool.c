/* The thread pool: every element once, workers that come late, errors, nesting, callers at
 * the same time, floating-point flags and modes, fork, changing the number of threads. */
#include "core/base/env.h"
#include "core/base/memory.h"
#include "core/host/thread_pool.h"
#include "tests/c/check.h"

#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_N 100000

enum { STEPS = 16 }; /* of a chunk, at most */

typedef struct seen {
    unsigned char hits[MAX_N];
    atomic_int n_calls;
    int64_t grain;
} seen;

static lw_status
visit(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    seen *all = context;
    int64_t i;

    CHECK(begin < end && worker < lw_host_threads());
    CHECK(begin % all->grain == 0);
    atomic_fetch_add(&all->n_calls, 1);
    for (i = begin; i < end; i++)
        all->hits[i]++;
    return LW_OK;
}

static void
check_loop(int64_t n, int64_t grain)
{
    static seen all;
    int64_t i;

    memset(&all, 0, sizeof all);
    all.grain = grain < 1 ? 1 : grain;
    CHECK(lw_parallel_for(n, grain, visit, &all) == LW_OK);
    for (i = 0; i < n; i++)
        if (all.hits[i] != 1)
            break;
    CHECK(n <= 0 || i == n);
    CHECK(all.hits[n < 0 ? 0 : n] == 0);
    if (n <= all.grain)
        CHECK(all.n_calls == (n > 0));
    else
        CHECK(all.n_calls == 1 ? lw_host_threads() == 1
                               : all.n_calls <= STEPS * (int)lw_host_threads());
}

static void
test_loops(void)
{
    static const int64_t sizes[] = {-5, 0, 1, 2, 3, 7, 8, 9, 100, 1000, 4097, 99999};
    static const int64_t grains[] = {-1, 0, 1, 2, 8, 64, 1000, 100000};
    size_t i, k;

    for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (k = 0; k < sizeof grains / sizeof *grains; k++)
            check_loop(sizes[i], grains[k]);
}

static void
test_counts(void)
{
    static const char *const counts[] = {"1", "2", "3", "8", "33", "4"};
    size_t i;

    for (i = 0; i < sizeof counts / sizeof *counts; i++) {
        CHECK(lw_env_set(LW_ENV_threads, counts[i]));
        CHECK(lw_host_threads() == (uint32_t)atoi(counts[i]));
        check_loop(50000, 16);
        check_loop(3, 1);
    }
    lw_env_set(LW_ENV_threads, "100000");
    CHECK(lw_host_threads() == LW_MAX_THREADS);
    lw_env_set(LW_ENV_threads, "0");
    CHECK(lw_host_threads() >= 1);
    lw_env_set(LW_ENV_threads, "4");
}

/* ---- errors ---------------------------------------------------------------------------------
 */

typedef struct trouble {
    int64_t from; /* elements from this one on fail, each with its own status */
    atomic_int n_elements;
} trouble;

static lw_status
fail_from(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    trouble *one = context;

    (void)worker;
    atomic_fetch_add(&one->n_elements, (int)(end - begin));
    return end <= one->from ? LW_OK : (lw_status)(LW_ERR_VALUE + (begin > 15) + (begin > 40));
}

static void
test_errors(void)
{
    static const int64_t from[] = {0, 17, 60, 100};
    static const int status[] = {LW_ERR_VALUE, LW_ERR_VALUE + 1, LW_ERR_VALUE + 2, LW_OK};

    for (int i = 0; i < 50; i++)
        for (int k = 0; k < 4; k++) {
            trouble one = {from[k], 0};
            CHECK((int)lw_parallel_for(100, 1, fail_from, &one) == status[k]);
            CHECK(one.n_elements == 100); /* the others ran all the same */
        }
}

/* ---- workers that are held up ---- */

typedef struct queue {
    atomic_int n_workers, n_elements;
    atomic_bool released;
} queue;

/* The worker does not come out of its first step before the last one is begun: the caller takes
 * the rest of the worker's chunk. */
static lw_status
hold_up(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    queue *all = context;

    if (atomic_fetch_add(&all->n_elements, (int)(end - begin)) + (end - begin) == 32)
        all->released = true;
    if (worker > 0)
        atomic_fetch_add(&all->n_workers, 1);
    while (worker > 0 && !all->released)
        continue;
    return LW_OK;
}

static void
test_held_up(void)
{
    lw_env_set(LW_ENV_threads, "2");
    for (int i = 0; i < 200; i++) {
        queue all = {0};
        CHECK(lw_parallel_for(32, 1, hold_up, &all) == LW_OK);
        CHECK(all.n_elements == 32 && all.n_workers <= 1);
    }
    lw_env_set(LW_ENV_threads, "4");
}

/* ---- nesting, several callers
 * ---------------------------------------------------------------- */

static lw_status
add_up(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    (void)worker;
    atomic_fetch_add((atomic_llong *)context, end - begin);
    return LW_OK;
}

static lw_status
nested(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    (void)worker;
    return lw_parallel_for(1000 * (end - begin), 1, add_up, context);
}

static void *
call_often(void *argument)
{
    int i;

    for (i = 0; i < 500; i++) {
        atomic_llong sum = 0;
        CHECK(lw_parallel_for(1000, 10, add_up, &sum) == LW_OK);
        CHECK(sum == 1000);
    }
    return argument;
}

static void
test_callers(void)
{
    pthread_t threads[6];
    atomic_llong sum = 0;
    int i;

    CHECK(lw_parallel_for(100, 1, nested, &sum) == LW_OK);
    CHECK(sum == 100000);
    for (i = 0; i < 6; i++)
        CHECK(pthread_create(&threads[i], NULL, call_often, NULL) == 0);
    for (i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
}

/* Pauses of all lengths: workers are met spinning, falling asleep and sleeping. */
static void
test_sleep(void)
{
    int i;

    for (i = 0; i < 300; i++) {
        struct timespec pause = {0, (i % 60) * 1000};
        atomic_llong sum = 0;
        nanosleep(&pause, NULL);
        CHECK(lw_parallel_for(64, 1, add_up, &sum) == LW_OK);
        CHECK(sum == 64);
    }
}

/* ---- floating point
 * ---------------------------------------------------------------------------- */

typedef struct numbers {
    double x[4], y[4];
    atomic_int n_upward;
} numbers;

static lw_status
divide(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    numbers *all = context;
    volatile double one = 1, little = 1e-30;
    int flags = fetestexcept(FE_ALL_EXCEPT);
    int64_t i;

    (void)worker;
    if (one + little > 1) /* rounded upward */
        atomic_fetch_add(&all->n_upward, 1);
    if ((flags & FE_INEXACT) == 0)
        feclearexcept(FE_INEXACT); /* the sum's */
    for (i = begin; i < end; i++) {
        volatile double x = all->x[i];
        all->y[i] = one / x;
    }
    return LW_OK;
}

static void
test_floating_point(void)
{
    numbers all = {{1, 2, 4, 0}, {0}, 0};

    feclearexcept(FE_ALL_EXCEPT);
    CHECK(lw_parallel_for(4, 1, divide, &all) == LW_OK);
    CHECK(fetestexcept(FE_DIVBYZERO | FE_INVALID | FE_INEXACT) == FE_DIVBYZERO);
    feclearexcept(FE_ALL_EXCEPT);
    all.x[3] = 8;
    CHECK(lw_parallel_for(4, 1, divide, &all) == LW_OK);
    CHECK(fetestexcept(FE_ALL_EXCEPT) == 0); /* nothing of the loop before */
    CHECK(all.n_upward == 0);
    fesetround(FE_UPWARD);
    CHECK(lw_parallel_for(4, 1, divide, &all) == LW_OK);
    fesetround(FE_TONEAREST);
    CHECK(all.n_upward == 4);
}

/* ---- fork, stop
 * ------------------------------------------------------------------------------------ */

static inline void
test_fork(void)
{
    atomic_llong sum = 0;
    int how = 0;
    pid_t child;

    CHECK(lw_parallel_for(1000, 1, add_up, &sum) == LW_OK);
    child = fork();
    if (child == 0) {
        atomic_store(&sum, 0);
        alarm(20); /* hanging is a failure */
        if (lw_parallel_for(1000, 1, add_up, &sum) != LW_OK || sum != 1000)
            _exit(1);
        lw_thread_pool_stop();
        _exit(lw_parallel_for(1000, 1, add_up, &sum) != LW_OK || sum != 2000);
    }
    CHECK(child > 0 && waitpid(child, &how, 0) == child && how == 0);
    CHECK(lw_parallel_for(1000, 1, add_up, &sum) == LW_OK);
}

typedef struct divided {
    atomic_llong sum;
    atomic_int child; /* -1: not forked yet */
    bool lost;
} divided;

/* As a handler does that runs in the middle of a loop. */
static inline lw_status
fork_once(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    divided *all = context;

    if (worker == 0 && all->child < 0) {
        usleep(1000); /* the others are at work */
        all->child = fork();
        all->lost = lw_pool_is_lost();
    }
    while (all->child < 0)
        continue;
    atomic_fetch_add(&all->sum, end - begin);
    return LW_OK;
}

/* The child comes out of the loop, without what its workers were at, and starts its own. */
static inline void
test_fork_within(void)
{
    divided all = {.child = -1};
    atomic_llong sum = 0;
    int how = 0;

    CHECK(lw_parallel_for(1000, 1, fork_once, &all) == LW_OK);
    if (all.child == 0) {
        bool good = all.lost && !lw_pool_is_lost();
        alarm(20); /* hanging is a failure */
        for (int i = 0; i < 20; i++)
            good = good && lw_parallel_for(1000, 1, add_up, &sum) == LW_OK;
        lw_thread_pool_stop();
        _exit(!good || sum != 20000);
    }
    CHECK(all.child > 0 && waitpid(all.child, &how, 0) == all.child && how == 0);
    CHECK(all.sum == 1000 && !all.lost);
    CHECK(lw_parallel_for(1000, 1, add_up, &sum) == LW_OK && sum == 1000);
}

static void
test_stop(void)
{
    int i;

    for (i = 0; i < 20; i++) {
        atomic_llong sum = 0;
        lw_thread_pool_stop();
        CHECK(lw_parallel_for(1000, 1, add_up, &sum) == LW_OK && sum == 1000);
    }
    lw_thread_pool_stop();
    lw_thread_pool_stop();
}

/* Not a verdict, only a figure. */
static void
show_speed(void)
{
    struct timespec from, to;
    const int n = 20000;
    atomic_llong sum = 0;
    int i;

    lw_env_set(LW_ENV_threads, "2");
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (i = 0; i < n; i++)
        (void)lw_parallel_for(64, 1, add_up, &sum);
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("a loop on two threads, back to back: %.2f us\n",
           ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / n /
               1e3);
    lw_thread_pool_stop();
}

int
main(void)
{
    int64_t heap = lw_memory_live();

    lw_env_set(LW_ENV_threads, "4");
    test_loops();
    test_counts();
    test_errors();
    test_held_up();
    test_callers();
    test_sleep();
    test_floating_point();
#ifndef __SANITIZE_THREAD__ /* its shadow memory cannot be forked everywhere */
    test_fork();
    test_fork_within();
#endif
    test_stop();
    show_speed();
    CHECK(lw_memory_live() == heap);
    return n_failures != 0;
}
