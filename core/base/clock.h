/* A monotonic clock for measuring how long work takes. */
#ifndef LW_BASE_CLOCK_H
#define LW_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t
lw_now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The same with a resolution of some milliseconds, at a cost of a few nanoseconds. */
static inline int64_t
lw_about_now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

#endif
