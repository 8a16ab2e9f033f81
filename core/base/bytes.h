/* A run of bytes with one owner: object code, a cubin, a text from a vendor's library. It is
 * always followed by a NUL that is not counted, so that texts can be read as C strings. */
#ifndef LW_BASE_BYTES_H
#define LW_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lw_bytes {
    uint8_t *data; /* NULL if it was never filled */
    size_t n;
} lw_bytes;

/* Allocates n bytes and the NUL, not zeroed; false: memory ran out. Overwrites *bytes. */
bool lw_bytes_new(lw_bytes *bytes, size_t n);
bool lw_bytes_copy(lw_bytes *bytes, const void *data, size_t n);
void lw_bytes_reset(lw_bytes *bytes); /* frees it; it may be used again */

#endif
