#include "core/base/hash.h"

#include <string.h>

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

static void
absorb(lw_sha256 *sha, const uint8_t *block)
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
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
                      ((s[4] & s[5]) ^ (~s[4] & s[6])) + round_constants[i] + w[i];
        uint32_t t2 = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) +
                      ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        sha->state[i] += s[i];
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
