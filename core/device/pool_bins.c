#include "core/device/pool_bins.h"

#include "core/base/memory.h"
#include "core/device/stream.h"

#include <assert.h>

static uint32_t
place_of(const lw_pool *pool, CUstream stream, uint64_t thread, size_t class_bytes)
{
    uint64_t key = (uint64_t)(uintptr_t)stream * 0x9e3779b97f4a7c15u;

    assert(pool->capacity != 0 && (pool->capacity & (pool->capacity - 1)) == 0);
    key = (key ^ thread ^ class_bytes) * 0xd6e8feb86659fd93u;
    return (uint32_t)(key >> 32) & (pool->capacity - 1);
}

lw_bin *
lw_bin_find_(const lw_pool *pool, CUstream stream, uint64_t thread, size_t class_bytes)
{
    lw_bin *bin = NULL;

    if (pool->capacity != 0)
        bin = pool->table[place_of(pool, stream, thread, class_bytes)];
    while (bin != NULL &&
           (bin->class_bytes != class_bytes || bin->stream != stream || bin->thread != thread))
        bin = bin->next;
    return bin;
}

static void
insert_bin(lw_pool *pool, lw_bin *bin)
{
    lw_bin **head = &pool->table[place_of(pool, bin->stream, bin->thread, bin->class_bytes)];

    assert(!bin->gone && bin->pool == pool);
    bin->next = *head;
    *head = bin;
    pool->n_bins++;
}

/* Doubles the table and frees bins that hold nothing. Without memory for it the old table
 * stays. */
static void
grow(lw_pool *pool)
{
    uint32_t i, n = pool->capacity, wanted = n ? 2 * n : 64;
    lw_bin **old = pool->table;
    lw_bin **fresh = lw_alloc_zero(wanted, sizeof *fresh);

    if (fresh == NULL)
        return;
    pool->table = fresh;
    pool->capacity = wanted;
    pool->n_bins = 0;
    for (i = 0; i < n; i++) {
        lw_bin *next, *bin;
        for (bin = old[i]; bin != NULL; bin = next) {
            next = bin->next;
            if (bin->n_free == 0 && bin->n_used == 0)
                lw_free(bin);
            else
                insert_bin(pool, bin);
        }
    }
    lw_free(old);
}

static bool
is_foreign(const lw_pool *pool, CUstream stream)
{
    const lw_stream *known = pool->streams;

    while (known != NULL && known->handle != stream)
        known = known->next;
    return known == NULL && stream != NULL && stream != LW_STREAM_PER_THREAD &&
           stream != pool->side;
}

lw_bin *
lw_bin_need_(lw_pool *pool, CUstream stream, uint64_t thread, size_t class_bytes)
{
    lw_bin *bin = lw_bin_find_(pool, stream, thread, class_bytes);

    if (bin != NULL)
        return bin;
    if (pool->n_bins >= pool->capacity)
        grow(pool);
    bin = pool->capacity ? lw_alloc_zero(1, sizeof *bin) : NULL;
    if (bin == NULL)
        return NULL;
    bin->pool = pool;
    bin->stream = stream;
    bin->thread = thread;
    bin->class_bytes = class_bytes;
    bin->foreign = is_foreign(pool, stream);
    insert_bin(pool, bin);
    return bin;
}

void
lw_bin_lose_(lw_bin *bin)
{
    assert(bin->n_used > 0);
    bin->n_used--;
    if (bin->gone && bin->n_used == 0)
        lw_free(bin);
}

/* Blocks that were never put stay valid structs for their owners; their bins are freed with the
 * pool. */
void
lw_pool_free_(lw_pool *pool)
{
    uint32_t i;

    for (i = 0; i < pool->capacity; i++) {
        lw_bin *next, *bin;
        for (bin = pool->table[i]; bin != NULL; bin = next) {
            next = bin->next;
            while (bin->free != NULL) {
                lw_block *block = bin->free;
                bin->free = block->next;
                lw_free(block);
            }
            lw_free(bin);
        }
    }
    lw_free(pool->table);
    pool->table = NULL;
    pool->capacity = pool->n_bins = 0;
}
