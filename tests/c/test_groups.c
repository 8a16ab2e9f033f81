/* Fills with random numbers in parts: every group is run once, and Ctrl-C ends the fill between
 * two parts. */
#include "random/groups.h"

#include "tests/c/check.h"

#include <time.h>

enum { N = 1 << 14 };

static atomic_int runs[N];

static lw_status
count(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    const struct timespec pause = {.tv_nsec = *(long *)context};

    (void)worker;
    for (int64_t i = begin; i < end; i++)
        runs[i]++;
    nanosleep(&pause, NULL);
    return LW_OK;
}

static bool
ask(void *context)
{
    ++*(int *)context;
    return true;
}

static int
total(int most)
{
    int sum = 0;

    for (int i = 0; i < N; i++) {
        CHECK(runs[i] <= most);
        sum += runs[i];
        runs[i] = 0;
    }
    return sum;
}

int
main(void)
{
    int asked = 0;
    lw_stop stop = {.ask = ask, .context = &asked};
    long pause = 0;

    lw_run_groups(N, 8, count, &pause, NULL);
    CHECK(total(1) == N);
    lw_run_groups(10, 8, count, &pause, NULL);
    CHECK(total(1) == 10);
    pause = 2000000; /* the thread asks every 50 ms */
    lw_run_groups(N, 8, count, &pause, &stop);
    CHECK(asked == 1 && stop.stopped);
    CHECK(total(1) < N);
    return n_failures != 0;
}
