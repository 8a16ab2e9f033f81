#define _GNU_SOURCE /* sched_getaffinity */
#include "core/host/cores.h"

#include "core/base/env.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

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
