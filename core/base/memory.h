/* The one door to the heap: counted, so that tests can prove that nothing leaks, and able to
 * fail the n-th call, so that every out-of-memory path can be walked. Thread-safe. */
#ifndef LW_BASE_MEMORY_H
#define LW_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* NULL when memory is out (never for size_bytes == 0, which gives a unique block). */
void *lw_alloc(size_t size_bytes);
void *lw_alloc_zero(size_t n, size_t size_bytes);
/* On failure the old block stays valid. */
void *lw_realloc(void *block, size_t size_bytes);
void lw_free(void *block); /* NULL is allowed */
char *lw_strdup(const char *text);

/* Blocks taken and not yet given back, by the whole process. */
int64_t lw_memory_live(void);
/* The n-th allocation from now fails, once (0 = the next); -1 switches it off. Returns what was
 * left of the last one: negative when it has failed, or was off. */
int64_t lw_memory_fail_at(int64_t n);

#endif
