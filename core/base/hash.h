/* SHA-256 (FIPS 180-4, 2015) for cache keys and checksums; a fast 64-bit hash for tables. */
#ifndef LW_BASE_HASH_H
#define LW_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct lw_sha256 {
    uint32_t state[8];
    uint64_t n_bytes;
    uint8_t block[64];
} lw_sha256;

typedef struct lw_digest {
    uint8_t bytes[32];
} lw_digest;

void lw_sha256_init(lw_sha256 *sha);
void lw_sha256_add(lw_sha256 *sha, const void *data, size_t n_bytes);
void lw_sha256_add_text(lw_sha256 *sha,
                        /* including its NUL, so that fields cannot run together */
                        const char *text);
lw_digest lw_sha256_finish(lw_sha256 *sha);
/* 64 hex characters and a NUL. */
void lw_digest_hex(const lw_digest *digest, char out[65]);
/* FNV-1a with a final mix; not for untrusted keys. */
uint64_t lw_hash64(const void *data, size_t n_bytes, uint64_t seed);

#endif
