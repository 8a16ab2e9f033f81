/* Within core/link: the disk half of kernel_cache. Nothing here can fail a compile: what cannot
 * be read is a miss, what cannot be written is a warning. Thread-safe; no lock is held during
 * I/O. */
#ifndef LW_LINK_DISK_CACHE_H
#define LW_LINK_DISK_CACHE_H

#include "core/link/kernel_cache.h"

/* False: a miss (also when the entry was damaged). On a hit *out is the caller's. */
bool lw_disk_load(const lw_digest *key, lw_cache_kind kind, lw_bytes *out);
void lw_disk_store(const lw_digest *key, lw_cache_kind kind, const void *data, size_t n);
/* Waits while another process makes this entry, and keeps the others waiting until the claim is
 * given up: what several workers need at once is compiled once. The caller looks for the entry
 * again. -1: no claim, which hinders nobody: there is no folder, its file system knows no
 * locks, or the other process takes very long. */
int lw_disk_claim(const lw_digest *key, lw_cache_kind kind);
void lw_disk_give_up(int claim);
/* Adds the disk's fields to info. */
lw_status lw_disk_info(lw_cache_info *info, lw_error *err);
lw_status lw_disk_clear(lw_error *err);
/* Called around a fork: prepare takes the lock, release gives it back in parent and child. */
void lw_disk_fork_prepare(void);
void lw_disk_fork_release(void);
/* In the child, before release. */
void lw_disk_fork_child(void);

#endif
