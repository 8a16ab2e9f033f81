/* A worker that is woken and does not get to run, because its core does something else: those
 * that it would wake take part nevertheless. The pool's own source, in which the system call
 * that a worker sleeps in returns late. */
#define _GNU_SOURCE /* for the source below, which says so too late here */
#include <stdatomic.h>
#include <stdint.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic(void *) late_word; /* what the late worker sleeps on */

static long
late_syscall(long number, void *word, int what, unsigned value, const void *most, void *none,
             int zero)
{
    long result = syscall(number, word, what, value, most, none, zero);

    while (what == FUTEX_WAIT_PRIVATE && word == late_word)
        usleep(500);
    return result;
}
#define syscall                 late_syscall
#define lw_parallel_for         late_parallel_for
#define lw_parallel_until       late_parallel_until
#define lw_pool_is_lost         late_pool_is_lost
#define lw_pool_is_worker       late_pool_is_worker
#define lw_pool_n_awake         late_pool_n_awake
#define lw_pool_thread          late_pool_thread
#define lw_thread_pool_register late_thread_pool_register
#define lw_thread_pool_stop     late_thread_pool_stop
#include "core/host/thread_pool.c"

#include "core/base/env.h"

enum { N_THREADS = 8, N_STEPS = 16 * N_THREADS };

typedef struct seen {
    atomic_int steps, by[N_THREADS]; /* by worker */
} seen;

static lw_status
take_time(void *context, int64_t begin, int64_t end, uint32_t index)
{
    seen *s = context;

    s->steps += (int)(end - begin);
    s->by[index]++;
    usleep(2000);
    return LW_OK;
}

/* Workers 3 and 4 are woken by worker 1. */
static int
run_one(bool is_late)
{
    seen s = {0};

    if (lw_parallel_for(N_STEPS, 1, take_time, &s) != LW_OK || s.steps != N_STEPS)
        return 1;
    return (s.by[1] == 0) != is_late || s.by[3] == 0 || s.by[4] == 0;
}

int
main(void)
{
    int failed;

    alarm(100); /* hanging is a failure */
    lw_env_set(LW_ENV_threads, "8");
    failed = run_one(false);
    for (int i = 0; i < 5; i++) {
        late_word = &workers[1].asleep;
        usleep(20000); /* all workers sleep */
        failed |= run_one(true);
        late_word = NULL;
        usleep(20000);
        failed |= run_one(false);
    }
    lw_thread_pool_stop();
    return failed;
}
