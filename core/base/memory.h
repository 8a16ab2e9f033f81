/* The only access to the heap. In builds for tests (LW_WINDOWS) it is counted, so that they can
 * prove that nothing leaks, and can fail the n-th call, so that every out-of-memory path can be
 * tested. Thread-safe. */
#ifndef LW_BASE_MEMORY_H
#define LW_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* NULL: memory ran out (not for size_bytes == 0, which gives a unique block). */
void *lw_alloc(size_t size_bytes);
void *lw_alloc_zero(size_t n, size_t size_bytes);
/* On failure the old block stays valid. */
void *lw_realloc(void *block, size_t size_bytes);
void lw_free(void *block); /* NULL is allowed */
char *lw_strdup(const char *text);

/* Whether a caller that has memory at hand is to fail as lw_alloc would: what is kept for the
 * next allocation must not hide a test's failure. */
#ifdef LW_WINDOWS
int lw_memory_must_fail(void);
#else
static inline int
lw_memory_must_fail(void)
{
    return 0;
}
#endif

#ifdef LW_WINDOWS
/* The number of blocks that the whole process has taken and not given back yet. */
int64_t lw_memory_live(void);
/* The n-th allocation from now fails, once (0 = the next one); -1 disables this. Returns the
 * former counter: negative if that allocation has failed, or the counter was disabled. */
int64_t lw_memory_fail_at(int64_t n);
#endif

#endif
