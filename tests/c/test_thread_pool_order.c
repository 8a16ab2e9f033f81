/* A caller that is held up between two calls of its workers, at each of them: the pool's own
 * source with a pause after every call. Whoever is called already rouses those behind it, and
 * they must find their call then, or they go back to sleep. Every step is run once, also where
 * a worker comes when others have run all of them. */
#define _GNU_SOURCE /* for the source below, which says so too late here */
#include <stdatomic.h>
#include <unistd.h>

static unsigned
add_and_pause(atomic_uint *word, unsigned n)
{
    unsigned before = atomic_fetch_add_explicit(word, n, memory_order_seq_cst);

    usleep(200);
    return before;
}
#undef atomic_fetch_add
#define atomic_fetch_add        add_and_pause
#define lw_parallel_for         paused_parallel_for
#define lw_parallel_until       paused_parallel_until
#define lw_pool_is_worker       paused_pool_is_worker
#define lw_pool_thread          paused_pool_thread
#define lw_thread_pool_register paused_thread_pool_register
#define lw_host_threads         paused_host_threads
#define lw_thread_pool_stop     paused_thread_pool_stop
#include "core/host/thread_pool.c"

/* Worker 1 works until the others sleep, so that it still spins when it is called again. */
static lw_status
work_unevenly(void *context, int64_t begin, int64_t end, uint32_t index)
{
    int64_t until = lw_now_ns() + (index == 1 ? 5 * SPIN_NS : 0);

    (void)end;
    ((int *)context)[begin]++;
    while (lw_now_ns() < until)
        continue;
    return LW_OK;
}

int
main(void)
{
    enum { N_THREADS = 16, N_LOOPS = 100 };
    int n_runs[N_THREADS] = {0}, i;

    alarm(100); /* hanging is a failure */
    lw_env_set(LW_ENV_threads, "16");
    for (i = 0; i < N_LOOPS; i++)
        if (lw_parallel_for(N_THREADS, 1, work_unevenly, n_runs) != LW_OK)
            return 1;
    lw_thread_pool_stop();
    for (i = 0; i < N_THREADS; i++)
        if (n_runs[i] != N_LOOPS)
            return 1;
    return 0;
}
