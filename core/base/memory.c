#include "core/base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int_fast64_t live_blocks;
static atomic_int_fast64_t fail_in = -1;

static int
must_fail(void)
{
    if (atomic_load_explicit(&fail_in, memory_order_relaxed) < 0)
        return 0;
    return atomic_fetch_sub(&fail_in, 1) == 0;
}

static void *
counted(void *block)
{
    if (block != NULL)
        atomic_fetch_add_explicit(&live_blocks, 1, memory_order_relaxed);
    return block;
}

void *
lw_alloc(size_t size_bytes)
{
    return must_fail() ? NULL : counted(malloc(size_bytes ? size_bytes : 1));
}

void *
lw_alloc_zero(size_t n, size_t size_bytes)
{
    return must_fail() ? NULL : counted(calloc(n ? n : 1, size_bytes ? size_bytes : 1));
}

void *
lw_realloc(void *block, size_t size_bytes)
{
    if (block == NULL)
        return lw_alloc(size_bytes);
    return must_fail() ? NULL : realloc(block, size_bytes ? size_bytes : 1);
}

void
lw_free(void *block)
{
    if (block == NULL)
        return;
    atomic_fetch_sub_explicit(&live_blocks, 1, memory_order_relaxed);
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
