#include "random/philox.h"

enum { ROUNDS = 10, LANES = 16 };

static const uint32_t KEY_0 = 0x9E3779B9u, KEY_1 = 0xBB67AE85u; /* added after each round */

static inline __attribute__((always_inline)) void
one_round(uint32_t *c0, uint32_t *c1, uint32_t *c2, uint32_t *c3, uint32_t k0, uint32_t k1)
{
    uint64_t x = (uint64_t)*c0 * 0xD2511F53u, y = (uint64_t)*c2 * 0xCD9E8D57u;

    *c0 = (uint32_t)(y >> 32) ^ *c1 ^ k0;
    *c1 = (uint32_t)y;
    *c2 = (uint32_t)(x >> 32) ^ *c3 ^ k1;
    *c3 = (uint32_t)x;
}

/* `LANES` blocks at once, which the compiler keeps in vector registers. */
typedef struct lanes {
    uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
} lanes;

static inline __attribute__((always_inline)) void
blocks_of(const lw_philox *stream, uint64_t first, lanes *c)
{
    uint32_t k0 = stream->key[0], k1 = stream->key[1];

    for (int i = 0; i < LANES; i++) {
        uint64_t counter = first + (uint64_t)i;
        c->c0[i] = (uint32_t)counter;
        c->c1[i] = (uint32_t)(counter >> 32);
        c->c2[i] = 0;
        c->c3[i] = stream->c3;
    }
    for (int r = 0; r < ROUNDS; r++, k0 += KEY_0, k1 += KEY_1) {
        for (int i = 0; i < LANES; i++)
            one_round(&c->c0[i], &c->c1[i], &c->c2[i], &c->c3[i], k0, k1);
    }
}

static void
blocks_any(const lw_philox *stream, uint64_t first, lanes *c)
{
    blocks_of(stream, first, c);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void
blocks_avx2(const lw_philox *stream, uint64_t first, lanes *c)
{
    blocks_of(stream, first, c);
}
#endif

static void
some_blocks(const lw_philox *stream, uint64_t first, lanes *c)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        blocks_avx2(stream, first, c);
        return;
    }
#endif
    blocks_any(stream, first, c);
}

static void
one_block(const lw_philox *stream, uint64_t counter, uint32_t c2, uint32_t c3, uint32_t out[4])
{
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32);
    uint32_t k0 = stream->key[0], k1 = stream->key[1];

    for (int r = 0; r < ROUNDS; r++, k0 += KEY_0, k1 += KEY_1)
        one_round(&c0, &c1, &c2, &c3, k0, k1);
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void
lw_philox_blocks(const lw_philox *stream, uint64_t first, int n, uint32_t *words)
{
    lanes c;

    if (n <= 3) {
        for (int k = 0; k < n; k++)
            one_block(stream, first + (uint64_t)k, 0, stream->c3, words + 4 * k);
        return;
    }
    for (int at = 0; at < n; at += LANES) {
        int here = n - at < LANES ? n - at : LANES;
        some_blocks(stream, first + (uint64_t)at, &c);
        for (int i = 0; i < here; i++) {
            uint32_t *to = words + 4 * (at + i);
            to[0] = c.c0[i];
            to[1] = c.c1[i];
            to[2] = c.c2[i];
            to[3] = c.c3[i];
        }
    }
}

/* ---- integers below a span ---- */

static void
attempt_of(const lw_philox *stream, uint64_t element, uint32_t attempt, uint32_t out[4])
{
    one_block(stream, element, attempt, stream->c3 + 1, out);
}

uint64_t
lw_philox_below32(const lw_philox *stream, uint64_t element, uint32_t word, uint64_t span)
{
    uint64_t product = word * span, least;
    uint32_t again[4];

    if ((uint32_t)product >= span) /* nearly always: no division */
        return product >> 32;
    least = ((UINT64_C(1) << 32) - span) % span;
    for (uint32_t attempt = 0; (uint32_t)product < least; attempt++) {
        attempt_of(stream, element, attempt, again);
        product = again[0] * span;
    }
    return product >> 32;
}

static uint64_t
below64_from(const lw_philox *stream, uint64_t element, uint32_t attempt, uint64_t word,
             uint64_t span)
{
    unsigned __int128 product = (unsigned __int128)word * span;
    uint32_t again[4];
    uint64_t least;

    if ((uint64_t)product >= span)
        return (uint64_t)(product >> 64);
    least = (0 - span) % span;
    for (; (uint64_t)product < least; attempt++) {
        attempt_of(stream, element, attempt, again);
        product = (unsigned __int128)lw_philox_long(again) * span;
    }
    return (uint64_t)(product >> 64);
}

uint64_t
lw_philox_below64(const lw_philox *stream, uint64_t element, uint64_t word, uint64_t span)
{
    return below64_from(stream, element, 0, word, span);
}

uint64_t
lw_philox_integer64(const lw_philox *stream, uint64_t element, uint64_t span)
{
    uint32_t words[4];

    attempt_of(stream, element, 0, words);
    return below64_from(stream, element, 1, lw_philox_long(words), span);
}
