#include "core/base/hash.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
/* the static analyser does not know these intrinsics, so it reads the portable form */
#if defined(__x86_64__) && !defined(__clang_analyzer__)
#define HAS_SHA_ROUNDS
#include <cpuid.h>
#include <immintrin.h>
#endif

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

static uint32_t
rotate(uint32_t x, int n)
{
    return (x >> n) | (x << (32 - n));
}

/* One round of SHA-256; the eight variables are passed in rotated order, so that none is
 * moved. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                       \
    do {                                                                                       \
        uint32_t t = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +                      \
                     ((e & f) ^ (~e & g)) + round_constants[i] + w[i];                         \
        d += t;                                                                                \
        h = t + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +                               \
            ((a & b) ^ (a & c) ^ (b & c));                                                     \
    } while (0)

static void
absorb_plain(lw_sha256 *sha, const uint8_t *block)
{
    uint32_t w[64], s[8];

    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ (a >> 3)) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ (b >> 10));
    }
    memcpy(s, sha->state, sizeof s);
    for (int i = 0; i < 64; i += 8) {
        ROUND(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], i);
        ROUND(s[7], s[0], s[1], s[2], s[3], s[4], s[5], s[6], i + 1);
        ROUND(s[6], s[7], s[0], s[1], s[2], s[3], s[4], s[5], i + 2);
        ROUND(s[5], s[6], s[7], s[0], s[1], s[2], s[3], s[4], i + 3);
        ROUND(s[4], s[5], s[6], s[7], s[0], s[1], s[2], s[3], i + 4);
        ROUND(s[3], s[4], s[5], s[6], s[7], s[0], s[1], s[2], i + 5);
        ROUND(s[2], s[3], s[4], s[5], s[6], s[7], s[0], s[1], i + 6);
        ROUND(s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[0], i + 7);
    }
    for (int i = 0; i < 8; i++)
        sha->state[i] += s[i];
}

#if defined(HAS_SHA_ROUNDS)
/* Uses the CPU's SHA instructions, some ten times as fast: the checksum of a cached kernel is
 * most of what a disk hit costs. Source: Intel, "Intel SHA Extensions", 2013. */
__attribute__((target("sha,sse4.1"))) static void
absorb_sha_ni(lw_sha256 *sha, const uint8_t *block)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i *in = (const __m128i *)(const void *)block;
    const __m128i *k = (const __m128i *)(const void *)round_constants;
    __m128i *state = (__m128i *)(void *)sha->state;
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128(state), 0xb1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128(state + 1), 0x1b);
    __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xf0);
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[16];

    for (int i = 0; i < 16; i++) {
        __m128i sum;

        if (i < 4)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128(in + i), swap);
        else
            w[i] = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w[i - 4], w[i - 3]),
                                                      _mm_alignr_epi8(w[i - 1], w[i - 2], 4)),
                                        w[i - 1]);
        sum = _mm_add_epi32(w[i], _mm_loadu_si128(k + i));
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    }
    abef = _mm_shuffle_epi32(_mm_add_epi32(abef, abef_before), 0x1b);
    cdgh = _mm_shuffle_epi32(_mm_add_epi32(cdgh, cdgh_before), 0xb1);
    _mm_storeu_si128(state, _mm_blend_epi16(abef, cdgh, 0xf0));
    _mm_storeu_si128(state + 1, _mm_alignr_epi8(cdgh, abef, 8));
}

static bool
has_sha_ni(void)
{
    static atomic_int known; /* 0: not known yet, 1: no, 2: yes */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);

    if (answer == 0) {
        uint32_t a, b = 0, c = 0, d;
        bool sse41 = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_1) && (c & bit_SSSE3);
        bool sha = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);

        answer = sse41 && sha ? 2 : 1;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2;
}
#endif

static void
absorb(lw_sha256 *sha, const uint8_t *block)
{
#if defined(HAS_SHA_ROUNDS)
    if (has_sha_ni()) {
        absorb_sha_ni(sha, block);
        return;
    }
#endif
    absorb_plain(sha, block);
}

void
lw_sha256_init(lw_sha256 *sha)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(sha->state, start, sizeof start);
    sha->n_bytes = 0;
}

void
lw_sha256_add(lw_sha256 *sha, const void *data, size_t n_bytes)
{
    const uint8_t *next = data;

    while (n_bytes > 0) {
        size_t at = sha->n_bytes % 64, n = 64 - at < n_bytes ? 64 - at : n_bytes;
        memcpy(sha->block + at, next, n);
        sha->n_bytes += n;
        next += n;
        n_bytes -= n;
        if (sha->n_bytes % 64 == 0)
            absorb(sha, sha->block);
    }
}

void
lw_sha256_add_text(lw_sha256 *sha, const char *text)
{
    lw_sha256_add(sha, text, strlen(text) + 1);
}

lw_digest
lw_sha256_finish(lw_sha256 *sha)
{
    static const uint8_t pad[64] = {0x80};
    uint64_t n_bits = sha->n_bytes * 8;
    uint8_t length[8];
    lw_digest digest;

    lw_sha256_add(sha, pad, 1 + (119 - sha->n_bytes % 64) % 64);
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(n_bits >> (56 - 8 * i));
    lw_sha256_add(sha, length, 8);
    for (int i = 0; i < 32; i++)
        digest.bytes[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
}

void
lw_digest_hex(const lw_digest *digest, char out[65])
{
    for (int i = 0; i < 32; i++) {
        out[2 * i] = "0123456789abcdef"[digest->bytes[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[digest->bytes[i] & 15];
    }
    out[64] = 0;
}

uint64_t
lw_hash64(const void *data, size_t n_bytes, uint64_t seed)
{
    const uint8_t *next = data;
    uint64_t h = 0xcbf29ce484222325u ^ seed;

    for (size_t i = 0; i < n_bytes; i++)
        h = (h ^ next[i]) * 0x100000001b3u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ (h >> 32);
}
