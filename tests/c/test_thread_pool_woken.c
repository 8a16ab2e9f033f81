/* A worker that is woken so late that its loop is over: it stays awake for the next loop. The
 * pool's own source, in which the system call that a worker sleeps in returns only after the
 * loop. */
#define _GNU_SOURCE /* for the source below, which says so too late here */
#include <stdatomic.h>
#include <stdint.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { N_LOOPS = 300, APART_NS = 200000, STEP_NS = 50000 };

static atomic_int loops_run;
static _Atomic(void *) late_word; /* what the worker sleeps on */

static long
late_syscall(long number, void *word, int what, unsigned value, const void *most, void *none,
             int zero)
{
    int before = loops_run;
    long result = syscall(number, word, what, value, most, none, zero);

    while (what == FUTEX_WAIT_PRIVATE && word == late_word && loops_run == before &&
           loops_run < N_LOOPS)
        usleep(10);
    return result;
}
#define syscall                 late_syscall
#define lw_parallel_for         late_parallel_for
#define lw_parallel_until       late_parallel_until
#define lw_pool_is_lost         late_pool_is_lost
#define lw_pool_is_worker       late_pool_is_worker
#define lw_pool_thread          late_pool_thread
#define lw_thread_pool_register late_thread_pool_register
#define lw_thread_pool_stop     late_thread_pool_stop
#include "core/host/thread_pool.c"

#include "core/base/env.h"

static atomic_int by_worker;

static void
let_pass(int64_t ns)
{
    int64_t end = lw_now_ns() + ns;

    while (lw_now_ns() < end)
        continue;
}

static lw_status
take_time(void *context, int64_t begin, int64_t end, uint32_t index)
{
    (void)context, (void)begin, (void)end;
    by_worker += index == 1;
    let_pass(STEP_NS);
    return LW_OK;
}

int
main(void)
{
    alarm(100); /* hanging is a failure */
    lw_env_set(LW_ENV_threads, "2");
    for (int i = 0; i < N_LOOPS; i++) {
        if (lw_parallel_for(2, 1, take_time, NULL) != LW_OK)
            return 1;
        loops_run++;
        late_word = &workers[1].asleep;
        let_pass(APART_NS);
    }
    lw_thread_pool_stop();
    return by_worker < N_LOOPS / 10;
}
