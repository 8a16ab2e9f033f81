#include "random/shuffle.h"

#include "core/base/memory.h"

#include <stdbool.h>
#include <string.h>

/* ---- the numbers of some steps ---- */

enum { STEPS = 2 * LW_PHILOX_BATCH }; /* at once: their words fit one batch at either width */
enum { LOOKS = 1 << 12 };             /* times STEPS, between two looks for Ctrl-C */

static bool
is_narrow(int64_t n)
{
    return n <= UINT32_MAX;
}

uint64_t
lw_shuffle_blocks(int64_t n, int64_t count)
{
    uint64_t each = is_narrow(n) ? 4 : 2;

    return ((uint64_t)count + each - 1) / each;
}

/* out[k]: a number below span - k for step `step` + k. narrow: whether 32 bits are enough for
 * all n. */
static void
draw_steps(const lw_draws *d, uint64_t step, bool narrow, uint64_t span, int count,
           uint64_t *out)
{
    uint32_t words[4 * (LW_PHILOX_BATCH + 1)];
    uint64_t each = narrow ? 4 : 2, element = d->place * each + step;
    int from = (int)(step % each);

    if (d->words != NULL) {
        for (int k = 0; k < count; k++)
            out[k] = lw_philox_below64(&d->philox, d->place + step + (uint64_t)k,
                                       d->words[step + (uint64_t)k], span - (uint64_t)k);
        return;
    }
    lw_philox_blocks(&d->philox, d->place + step / each,
                     (from + count + (int)each - 1) / (int)each, words);
    if (narrow) {
        for (int k = 0; k < count; k++)
            out[k] = lw_philox_below32(&d->philox, element + (uint64_t)k, words[from + k],
                                       span - (uint64_t)k);
    } else {
        for (int k = 0; k < count; k++)
            out[k] =
                lw_philox_below64(&d->philox, element + (uint64_t)k,
                                  lw_philox_long(words + 2 * (from + k)), span - (uint64_t)k);
    }
}

/* ---- all elements at hand ---- */

/* With a size that is known here each copy is an instruction or two. */
static inline __attribute__((always_inline)) void
exchange(char *a, char *b, size_t bytes)
{
    char kept[64];

    memcpy(kept, a, bytes);
    memmove(a, b, bytes); /* they may be the same */
    memcpy(b, kept, bytes);
}

static void
exchange_any(char *a, char *b, size_t bytes)
{
    for (; bytes > 64; bytes -= 64, a += 64, b += 64)
        exchange(a, b, 64);
    exchange(a, b, bytes);
}

/* Exchanges the items from `at` on with those `by` further on, which are prefetched since they
 * are anywhere. */
static void
exchange_all(char *at, size_t bytes, size_t stride, const uint64_t *by, int count)
{
    for (int k = 0; k < count; k++)
        __builtin_prefetch(at + ((size_t)k + by[k]) * stride, 1);
    for (int k = 0; k < count; k++, at += stride) {
        char *other = at + by[k] * stride;
        switch (bytes) {
        case 1: exchange(at, other, 1); break;
        case 2: exchange(at, other, 2); break;
        case 4: exchange(at, other, 4); break;
        case 8: exchange(at, other, 8); break;
        case 16: exchange(at, other, 16); break;
        default: exchange_any(at, other, bytes);
        }
    }
}

void
lw_shuffle(const lw_draws *draws, uint64_t step, const lw_shuffled *of, int64_t count)
{
    bool narrow = is_narrow(of->n);
    uint64_t by[STEPS];

    for (int64_t i = 0; i < count; i += STEPS) {
        int here = count - i < STEPS ? (int)(count - i) : STEPS;
        if (i / STEPS % LOOKS == 0 && lw_stop_asked(draws->stop))
            return;
        draw_steps(draws, step + (uint64_t)i, narrow, (uint64_t)(of->n - i), here, by);
        exchange_all(of->items + (size_t)i * of->stride, of->bytes, of->stride, by, here);
    }
}

/* ---- few of many ---- */

/* An index whose value the steps have changed; all others still hold their own number. Open
 * addressing; key 0 is an empty slot. */
typedef struct moved {
    uint64_t key; /* the place + 1 */
    int64_t value;
} moved;

enum { IN_PLACE = 128 };

typedef struct table {
    moved *slots;
    unsigned shift; /* 64 - log2 of their number */
    moved own[IN_PLACE];
} table;

static moved *
slot_of(const table *t, uint64_t place)
{
    uint64_t mask = (UINT64_C(1) << (64 - t->shift)) - 1;
    uint64_t at = (place * UINT64_C(0x9E3779B97F4A7C15)) >> t->shift;

    while (t->slots[at].key != 0 && t->slots[at].key != place + 1)
        at = (at + 1) & mask;
    return &t->slots[at];
}

static void
take_steps(const lw_draws *draws, table *t, int64_t *out, int64_t n, int64_t count)
{
    uint64_t by[STEPS];

    for (int64_t i = 0; i < count; i++) {
        moved *here, *there;
        int64_t own, k = i % STEPS;
        if (i % (LOOKS * STEPS) == 0 && lw_stop_asked(draws->stop))
            return;
        if (k == 0)
            draw_steps(draws, (uint64_t)i, is_narrow(n), (uint64_t)(n - i),
                       count - i < STEPS ? (int)(count - i) : STEPS, by);
        here = slot_of(t, (uint64_t)i);
        own = here->key ? here->value : i;
        there = slot_of(t, (uint64_t)i + by[k]);
        out[i] = there->key ? there->value : i + (int64_t)by[k];
        there->key = (uint64_t)i + by[k] + 1;
        there->value = own;
    }
}

static lw_status
sample_few(const lw_draws *draws, int64_t *out, int64_t n, int64_t count, lw_error *err)
{
    unsigned bits = 7;
    table t;

    while ((INT64_C(1) << bits) < 2 * count)
        bits++;
    t.shift = 64 - bits;
    if (bits == 7) {
        memset(t.own, 0, sizeof t.own);
        t.slots = t.own;
    } else {
        t.slots = lw_alloc_zero((size_t)1 << bits, sizeof *t.slots);
    }
    if (t.slots == NULL)
        return lw_fail_memory(err);
    take_steps(draws, &t, out, n, count);
    if (t.slots != t.own)
        lw_free(t.slots);
    return LW_OK;
}

static lw_status
sample_many(const lw_draws *draws, int64_t *out, int64_t n, int64_t count, lw_error *err)
{
    int64_t *all = count == n ? out : lw_alloc((size_t)n * sizeof *all);

    if (all == NULL)
        return lw_fail_memory(err);
    for (int64_t i = 0; i < n; i++) {
        if (i % (LOOKS * STEPS) == 0 && lw_stop_asked(draws->stop))
            break;
        all[i] = i;
    }
    lw_shuffle(draws, 0, &(lw_shuffled){(char *)all, sizeof *all, sizeof *all, n}, count);
    if (all != out) {
        memcpy(out, all, (size_t)count * sizeof *all);
        lw_free(all);
    }
    return LW_OK;
}

lw_status
lw_sample(const lw_draws *draws, int64_t *out, int64_t n, int64_t count, lw_error *err)
{
    return count < n / 16 ? sample_few(draws, out, n, count, err)
                          : sample_many(draws, out, n, count, err);
}
