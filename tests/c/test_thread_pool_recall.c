/* Workers that come too late to a loop: each of them waits between seeing a call and following
 * it, often until the caller has run all steps, has taken the call back and has called to the
 * next loop. The pool's own source with a pause there. Every step is run once, and no worker
 * works on a loop that has ended. */
#define _GNU_SOURCE /* for the source below, which says so too late here */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

static bool exchange_late(atomic_uint_fast64_t *word, uint64_t *before, uint64_t value);

#undef atomic_compare_exchange_strong
#define atomic_compare_exchange_strong exchange_late
#define lw_parallel_for                late_parallel_for
#define lw_parallel_until              late_parallel_until
#define lw_pool_is_lost                late_pool_is_lost
#define lw_pool_is_worker              late_pool_is_worker
#define lw_pool_n_awake                late_pool_n_awake
#define lw_pool_thread                 late_pool_thread
#define lw_thread_pool_register        late_thread_pool_register
#define lw_thread_pool_stop            late_thread_pool_stop
#include "core/host/thread_pool.c"

#include "core/base/env.h"

enum { N_THREADS = 8, N_STEPS = 64, N_LOOPS = 300 };

static bool
exchange_late(atomic_uint_fast64_t *word, uint64_t *before, uint64_t value)
{
    static atomic_uint n;
    unsigned at = atomic_fetch_add(&n, 1);

    if (is_worker)
        usleep(at % 7 * 50);
    return atomic_compare_exchange_strong_explicit(word, before, value, memory_order_seq_cst,
                                                   memory_order_seq_cst);
}

typedef struct counts {
    atomic_bool over;
    atomic_int by_step[N_STEPS], by_workers, too_late;
} counts;

static lw_status
count(void *context, int64_t begin, int64_t end, uint32_t index)
{
    counts *c = context;

    for (int64_t i = begin; i < end; i++) {
        atomic_fetch_add(&c->by_step[i], 1);
        usleep(20);
    }
    atomic_fetch_add(&c->by_workers, index != 0);
    atomic_fetch_add(&c->too_late, atomic_load(&c->over));
    return LW_OK;
}

int
main(void)
{
    static counts all[N_LOOPS];
    int by_workers = 0;

    alarm(100); /* hanging is a failure */
    lw_env_set(LW_ENV_threads, "8");
    for (int i = 0; i < N_LOOPS; i++) {
        /* the number of workers that are called varies */
        if (lw_parallel_for(N_STEPS, 8 + i % 5 * 8, count, &all[i]) != LW_OK)
            return 1;
        atomic_store(&all[i].over, true);
    }
    lw_thread_pool_stop();
    for (int i = 0; i < N_LOOPS; i++) {
        for (int k = 0; k < N_STEPS; k++)
            if (all[i].by_step[k] != 1)
                return 1;
        if (all[i].too_late)
            return 1;
        by_workers += all[i].by_workers;
    }
    return by_workers == 0;
}
