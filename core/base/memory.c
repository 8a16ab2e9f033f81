#include "core/base/memory.h"

#ifdef LW_WINDOWS
#include <stdatomic.h>
#endif
#include <stdlib.h>
#include <string.h>

#ifdef LW_WINDOWS
static atomic_int_fast64_t live_blocks;
static atomic_int_fast64_t fail_in = -1;

int64_t
lw_memory_live(void)
{
    return atomic_load(&live_blocks);
}

int64_t
lw_memory_fail_at(int64_t n)
{
    return atomic_exchange(&fail_in, n);
}

int
lw_memory_must_fail(void)
{
    if (atomic_load_explicit(&fail_in, memory_order_relaxed) < 0)
        return 0;
    return atomic_fetch_sub(&fail_in, 1) == 0;
}

static void
count(int n)
{
    atomic_fetch_add_explicit(&live_blocks, n, memory_order_relaxed);
}
#else
static void
count(int n)
{
    (void)n;
}
#endif

static void *
counted(void *block)
{
    if (block != NULL)
        count(1);
    return block;
}

void *
lw_alloc(size_t size_bytes)
{
    return lw_memory_must_fail() ? NULL : counted(malloc(size_bytes ? size_bytes : 1));
}

void *
lw_alloc_zero(size_t n, size_t size_bytes)
{
    return lw_memory_must_fail() ? NULL
                                 : counted(calloc(n ? n : 1, size_bytes ? size_bytes : 1));
}

void *
lw_realloc(void *block, size_t size_bytes)
{
    if (block == NULL)
        return lw_alloc(size_bytes);
    return lw_memory_must_fail() ? NULL : realloc(block, size_bytes ? size_bytes : 1);
}

void
lw_free(void *block)
{
    if (block == NULL)
        return;
    count(-1);
    free(block);
}

char *
lw_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = lw_alloc(size);

    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}
