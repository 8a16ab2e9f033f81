#include "random/philox.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { ROUNDS = 10, MOST_AT_ONCE = 8 };

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

/* ---- many blocks at once ---- */

#if defined(__x86_64__)
/* The words of N blocks, each in the lower half of a lane of 64 bits; what is in the upper
 * halves does not count, and is ignored by the multiplication. The lanes have the blocks in the
 * order that `low` and `high`, which interleave the even and the odd lanes of two vectors,
 * undo. */
#define DEFINE_LANES(N, cpu, vector, multiply, low, high, ...)                                 \
    typedef uint64_t lanes##N __attribute__((vector_size(8 * N)));                             \
    typedef double doubles##N __attribute__((vector_size(8 * N)));                             \
    typedef struct blocks##N {                                                                 \
        lanes##N c0, c1, c2, c3;                                                               \
    } blocks##N;                                                                               \
                                                                                               \
    __attribute__((target(cpu), always_inline)) static inline void rounds##N(                  \
        const lw_philox *stream, uint64_t first, blocks##N *c)                                 \
    {                                                                                          \
        const lanes##N m0 = (lanes##N){0} + 0xD2511F53u, m1 = (lanes##N){0} + 0xCD9E8D57u;     \
        uint32_t k0 = stream->key[0], k1 = stream->key[1];                                     \
                                                                                               \
        c->c0 = (lanes##N){__VA_ARGS__} + first;                                               \
        c->c1 = c->c0 >> 32;                                                                   \
        c->c2 = (lanes##N){0};                                                                 \
        c->c3 = c->c2 + stream->c3;                                                            \
        for (int r = 0; r < ROUNDS; r++, k0 += KEY_0, k1 += KEY_1) {                           \
            lanes##N x = (lanes##N)multiply((vector)c->c0, (vector)m0);                        \
            lanes##N y = (lanes##N)multiply((vector)c->c2, (vector)m1);                        \
            c->c0 = (y >> 32) ^ c->c1 ^ k0;                                                    \
            c->c1 = y;                                                                         \
            c->c2 = (x >> 32) ^ c->c3 ^ k1;                                                    \
            c->c3 = x;                                                                         \
        }                                                                                      \
    }                                                                                          \
                                                                                               \
    __attribute__((target(cpu))) static void words##N(const lw_philox *stream, uint64_t first, \
                                                      uint32_t *out)                           \
    {                                                                                          \
        blocks##N c;                                                                           \
        vector front, back, parts[2];                                                          \
                                                                                               \
        rounds##N(stream, first, &c);                                                          \
        front = (vector)((c.c0 & UINT32_MAX) | c.c1 << 32);                                    \
        back = (vector)((c.c2 & UINT32_MAX) | c.c3 << 32);                                     \
        parts[0] = low(front, back);                                                           \
        parts[1] = high(front, back);                                                          \
        memcpy(out, parts, sizeof parts);                                                      \
    }                                                                                          \
                                                                                               \
    /* An integer below 2^52 in the lower bits of the double 2^52 adds its value to it, so all \
     * steps are exact. */                                                                     \
    __attribute__((target(cpu), always_inline)) static inline lanes##N unit##N(                \
        lanes##N high_word, lanes##N low_word)                                                 \
    {                                                                                          \
        const lanes##N one = (lanes##N){0} + UINT64_C(0x4330000000000000);                     \
        doubles##N x = (doubles##N)(((high_word & UINT32_MAX) >> 5) | one) - 0x1p52;           \
        doubles##N y = (doubles##N)(((low_word & UINT32_MAX) >> 6) | one) - 0x1p52;            \
                                                                                               \
        return (lanes##N)(x * 0x1p-27 + y * 0x1p-53);                                          \
    }                                                                                          \
                                                                                               \
    __attribute__((target(cpu))) static void units##N(const lw_philox *stream, uint64_t first, \
                                                      double *out)                             \
    {                                                                                          \
        blocks##N c;                                                                           \
        vector front, back, parts[2];                                                          \
                                                                                               \
        rounds##N(stream, first, &c);                                                          \
        front = (vector)unit##N(c.c0, c.c1);                                                   \
        back = (vector)unit##N(c.c2, c.c3);                                                    \
        parts[0] = low(front, back);                                                           \
        parts[1] = high(front, back);                                                          \
        memcpy(out, parts, sizeof parts);                                                      \
    }

DEFINE_LANES(4, "avx2", __m256i, _mm256_mul_epu32, _mm256_unpacklo_epi64, _mm256_unpackhi_epi64,
             0, 2, 1, 3)
DEFINE_LANES(8, "avx512f", __m512i, _mm512_mul_epu32, _mm512_unpacklo_epi64,
             _mm512_unpackhi_epi64, 0, 4, 1, 5, 2, 6, 3, 7)
#undef DEFINE_LANES
#endif

static void
words1(const lw_philox *stream, uint64_t first, uint32_t *out)
{
    one_block(stream, first, 0, stream->c3, out);
}

static void
units1(const lw_philox *stream, uint64_t first, double *out)
{
    uint32_t words[4];

    words1(stream, first, words);
    out[0] = lw_philox_unit(words);
    out[1] = lw_philox_unit(words + 2);
}

/* What this CPU computes at once. */
static const struct way {
    int n;
    void (*words)(const lw_philox *stream, uint64_t first, uint32_t *out); /* of n blocks */
    void (*units)(const lw_philox *stream, uint64_t first, double *out);
} ways[] = {{1, words1, units1},
#if defined(__x86_64__)
            {4, words4, units4},
            {8, words8, units8}
#endif
};

static const struct way *
way_here(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return &ways[2];
    if (__builtin_cpu_supports("avx2"))
        return &ways[1];
#endif
    return &ways[0];
}

void
lw_philox_blocks(const lw_philox *stream, uint64_t first, int n, uint32_t *words)
{
    const struct way *way = n > 3 ? way_here() : &ways[0];
    uint32_t last[4 * MOST_AT_ONCE];
    int at = 0;

    for (; at + way->n <= n; at += way->n)
        way->words(stream, first + (uint64_t)at, words + 4 * at);
    if (at < n) {
        way->words(stream, first + (uint64_t)at, last);
        memcpy(words + 4 * at, last, (size_t)(n - at) * 16);
    }
}

void
lw_philox_units(const lw_philox *stream, uint64_t first, int n, double *out)
{
    const struct way *way = n > 6 ? way_here() : &ways[0];
    double last[2 * MOST_AT_ONCE];
    int at = 0;

    for (; at + 2 * way->n <= n; at += 2 * way->n)
        way->units(stream, first + (uint64_t)at / 2, out + at);
    for (; at < n; at += 2 * way->n) {
        int here = n - at < 2 * way->n ? n - at : 2 * way->n;
        way->units(stream, first + (uint64_t)at / 2, last);
        memcpy(out + at, last, (size_t)here * 8);
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
