/* Machine code by key: a table in memory over one file an entry on disk, and one compile per
 * key whatever the threads. The key is a digest that the caller computes over everything that
 * decides the result (final IR, options, target, toolchain). No lock is held while code is
 * made; callers do not hold the GIL, for another thread's make may need it.
 *
 * Entry file: magic, format version, kind, payload length, key, payload, SHA-256 over all
 * before it; named by the key, mode 0600, written aside and renamed. A file that is not exactly
 * so, or not ours alone to write, is a miss and is replaced. A folder that cannot be used costs
 * the disk cache and one warning, never the result. */
#ifndef LW_LINK_KERNEL_CACHE_H
#define LW_LINK_KERNEL_CACHE_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/text.h"

#include <stdbool.h>

/* Bytes shared by their readers; never changed. */
typedef struct lw_blob lw_blob;

const uint8_t *lw_blob_data(const lw_blob *blob); /* a NUL that is not counted follows */
size_t lw_blob_size(const lw_blob *blob);
lw_blob *lw_blob_ref(lw_blob *blob);
void lw_blob_unref(lw_blob *blob); /* NULL is allowed */

typedef enum lw_cache_kind { /* part of the file format: only add at the end */
                             LW_CACHE_OBJECT = 1,
                             LW_CACHE_CUBIN = 2,
                             LW_CACHE_LTOIR = 3,
                             LW_CACHE_PTX = 4,
                             LW_CACHE_TEXT = 5
} lw_cache_kind;

typedef enum lw_cache_origin { LW_CACHE_MEMORY, LW_CACHE_DISK, LW_CACHE_MADE } lw_cache_origin;

typedef lw_status (*lw_cache_make)(void *context, lw_bytes *out, lw_error *err);

/* *out is a new reference. use_disk false: memory only. origin may be NULL. Failures that a
 * second try would meet again (COMPILE, LINK, ...) are remembered and given again; a missing
 * compiler, memory or Python's own exception are not. */
lw_status lw_cache_get_or_make(const lw_digest *key, lw_cache_kind kind, bool use_disk,
                               lw_cache_make make, void *context, lw_blob **out,
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
/* Empties the table in memory alone; codes in use stay valid. */
void lw_cache_forget_memory(void);
/* Moves the waiting warning, if any, to *out and returns true. One per folder and reason. */
bool lw_cache_take_warning(lw_text *out);

#endif
