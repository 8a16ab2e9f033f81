#include "random/units.h"

#include "random/groups.h"

#include <math.h>

/* Numbers at once, which stay in L1; groups per thread: 25 us (AMD EPYC Zen 5, November 2026).
 */
enum { GROUP = 1024, GROUPS = 32 };

typedef struct job {
    const lw_philox *stream;
    uint64_t place;
    double low, width;
    int64_t n;
    double *out;
} job;

static void
move_any(double *x, int64_t n, double loc, double scale)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = fma(scale, x[i], loc);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void
move_fma(double *x, int64_t n, double loc, double scale)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = __builtin_fma(scale, x[i], loc);
}
#endif

void
lw_move_numbers(double *x, int64_t n, double loc, double scale)
{
    if (loc == 0.0 && scale == 1.0)
        return;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        move_fma(x, n, loc, scale);
        return;
    }
#endif
    move_any(x, n, loc, scale);
}

static lw_status
groups(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    const job *j = context;

    (void)worker;
    for (int64_t at = begin * GROUP; at < end * GROUP && at < j->n; at += GROUP) {
        int here = j->n - at < GROUP ? (int)(j->n - at) : GROUP;
        lw_philox_units(j->stream, j->place + (uint64_t)at / 2, here, j->out + at);
        lw_move_numbers(j->out + at, here, j->low, j->width);
    }
    return LW_OK;
}

void
lw_philox_uniforms(const lw_philox *stream, uint64_t place, double low, double width, int64_t n,
                   double *out, lw_stop *stop)
{
    job j = {stream, place, low, width, n, out};

    lw_run_groups(n / GROUP + (n % GROUP != 0), GROUPS, groups, &j, stop);
}

/* ---- float32 ---- */

typedef struct job32 {
    const lw_philox *stream;
    uint64_t place;
    int64_t n;
    float *out;
} job32;

static lw_status
groups32(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    const job32 *j = context;
    uint32_t words[4 * LW_PHILOX_BATCH];
    int64_t n = end * GROUP < j->n ? end * GROUP : j->n;

    (void)worker;
    for (int64_t at = begin * GROUP; at < n; at += 4 * LW_PHILOX_BATCH) {
        int here = n - at < 4 * LW_PHILOX_BATCH ? (int)(n - at) : 4 * LW_PHILOX_BATCH;
        lw_philox_blocks(j->stream, j->place + (uint64_t)at / 4, (here + 3) / 4, words);
        for (int k = 0; k < here; k++)
            j->out[at + k] = (float)(int32_t)(words[k] >> 8) * 0x1p-24f;
    }
    return LW_OK;
}

void
lw_philox_uniforms32(const lw_philox *stream, uint64_t place, int64_t n, float *out,
                     lw_stop *stop)
{
    job32 j = {stream, place, n, out};

    lw_run_groups(n / GROUP + (n % GROUP != 0), GROUPS, groups32, &j, stop);
}
