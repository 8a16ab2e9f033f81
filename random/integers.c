#include "random/integers.h"

#include "random/groups.h"

#include <stdbool.h>

enum { GROUP = 4 * LW_PHILOX_BATCH, GROUPS = 64 }; /* numbers at once; groups per thread */

typedef struct job {
    const lw_philox *stream;
    uint64_t place, low, span;
    int64_t n, *out;
} job;

/* Computes all numbers as if no word were rejected. True: one may have to be. */
static bool
any_doubt(const job *j, const uint32_t *words, int n, int64_t *out)
{
    uint32_t span = (uint32_t)j->span, doubts = span == 0; /* 2^32 */

    for (int k = 0; k < n; k++) {
        uint64_t product = (uint64_t)words[k] * span;
        out[k] = (int64_t)(j->low + (product >> 32));
        doubts |= (uint32_t)product < span;
    }
    return doubts != 0;
}

static void
one_group(const job *j, int64_t at)
{
    int n = j->n - at < GROUP ? (int)(j->n - at) : GROUP;
    uint64_t place = j->place + (uint64_t)at / 4, element = 4 * place;
    uint32_t words[GROUP];
    int64_t *out = j->out + at;

    lw_philox_blocks(j->stream, place, (n + 3) / 4, words);
    if (any_doubt(j, words, n, out))
        for (int k = 0; k < n; k++)
            out[k] = (int64_t)(j->low + lw_philox_below32(j->stream, element + (uint64_t)k,
                                                          words[k], j->span));
}

static lw_status
groups(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    (void)worker;
    for (int64_t g = begin; g < end; g++)
        one_group(context, g * GROUP);
    return LW_OK;
}

void
lw_philox_integers32(const lw_philox *stream, uint64_t place, uint64_t low, uint64_t span,
                     int64_t n, int64_t *out, lw_stop *stop)
{
    job j = {stream, place, low, span, n, out};

    lw_run_groups(n / GROUP + (n % GROUP != 0), GROUPS, groups, &j, stop);
}
