/* Machine code by key: a table in memory in front of a folder with one file per entry, and one
 * compilation per key, however many threads ask for it. The key is a digest that the caller
 * computes over everything that decides the result (final IR, options, target, toolchain). No
 * lock is held while code is made; callers do not hold the GIL, because another thread's make
 * may need it.
 *
 * Entry file: magic, format version, kind, payload length, key, payload, SHA-256 over
 * everything before it; it is named after the key, has mode 0600, and is written under another
 * name and then renamed. A file in any other form, or one that others may write, is a miss and
 * is replaced. A folder that cannot be used costs the disk cache and one warning, never the
 * result. */
#ifndef LW_LINK_KERNEL_CACHE_H
#define LW_LINK_KERNEL_CACHE_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/text.h"

#include <stdbool.h>

/* Counted bytes; they never change. */
typedef struct lw_blob lw_blob;

const uint8_t *lw_blob_data(const lw_blob *blob); /* followed by a NUL that is not counted */
size_t lw_blob_size(const lw_blob *blob);
void lw_blob_unref(lw_blob *blob); /* NULL is allowed */

typedef enum lw_cache_kind { /* part of the file format: add at the end only */
                             LW_CACHE_OBJECT = 1,
                             LW_CACHE_CUBIN = 2,
                             LW_CACHE_LTOIR = 3
} lw_cache_kind;

typedef enum lw_cache_origin { LW_CACHE_MEMORY, LW_CACHE_DISK, LW_CACHE_MADE } lw_cache_origin;

typedef lw_status (*lw_cache_make)(void *context, lw_bytes *out, lw_error *err);

typedef struct lw_cache_request {
    lw_digest key;
    lw_cache_kind kind;
    bool use_disk; /* false: memory only */
    lw_cache_make make;
    void *context; /* of make */
} lw_cache_request;

/* *out is a new reference. origin may be NULL. Failures that a second try would meet again
 * (COMPILE, LINK, ...) are remembered and given again; a missing compiler, memory or Python's
 * own exception are not. */
lw_status lw_cache_get_or_make(const lw_cache_request *request, lw_blob **out,
                               lw_cache_origin *origin, lw_error *err);

typedef struct lw_cache_info {
    char *folder;  /* owned by the struct */
    char *problem; /* why the disk is not used, or NULL; owned */
    uint64_t disk_entries, disk_bytes, cap_bytes;
    uint64_t memory_entries, memory_bytes;
    uint64_t memory_hits, disk_hits, made, failed; /* since the process started */
} lw_cache_info;

lw_status lw_cache_info_get(lw_cache_info *info, lw_error *err);
void lw_cache_info_reset(lw_cache_info *info); /* frees */
/* Removes every entry from memory and from the disk folder (only our own entry files and
 * leftovers). */
lw_status lw_cache_clear(lw_error *err);
/* Empties only the table in memory; code in use stays valid. */
void lw_cache_forget_memory(void);
/* Moves the waiting warning, if any, to *out and returns true. One per folder and reason. */
bool lw_cache_take_warning(lw_text *out);

#endif
