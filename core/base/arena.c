#include "core/base/arena.h"

#include "core/base/memory.h"

#include <stdint.h>
#include <string.h>

/* 32 KiB: one function of 40 lines with its IR fits in one or two (12.7 kB of nodes measured
 * for 14 lines); a smaller chunk only costs more calls. LW_STRESS shrinks it to find lapses. */
#ifdef LW_STRESS
#define CHUNK_BYTES 64
#else
#define CHUNK_BYTES (32 * 1024)
#endif
#define ALIGN 16

struct lw_arena_chunk {
    lw_arena_chunk *older;
    size_t size_bytes;
};

void
lw_arena_init(lw_arena *arena)
{
    memset(arena, 0, sizeof *arena);
}

void
lw_arena_reset(lw_arena *arena)
{
    lw_arena_chunk *chunk = arena->chunks;

    while (chunk != NULL) {
        lw_arena_chunk *older = chunk->older;
        lw_free(chunk);
        chunk = older;
    }
    lw_arena_init(arena);
}

static void *
grow(lw_arena *arena, size_t size_bytes)
{
    size_t head = (sizeof(lw_arena_chunk) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    size_t body = size_bytes > CHUNK_BYTES ? size_bytes : CHUNK_BYTES;
    lw_arena_chunk *chunk = body > SIZE_MAX - head ? NULL : lw_alloc(head + body);

    if (chunk == NULL) {
        arena->failed = true;
        return NULL;
    }
    chunk->older = arena->chunks;
    chunk->size_bytes = body;
    arena->chunks = chunk;
    arena->next = (char *)chunk + head + size_bytes;
    arena->end = (char *)chunk + head + body;
    return (char *)chunk + head;
}

void *
lw_arena_take(lw_arena *arena, size_t size_bytes)
{
    void *block = arena->next;

    if (size_bytes > SIZE_MAX - ALIGN) {
        arena->failed = true;
        return NULL;
    }
    size_bytes = (size_bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (block == NULL || (size_t)(arena->end - arena->next) < size_bytes) {
        block = grow(arena, size_bytes);
        if (block == NULL)
            return NULL;
    } else {
        arena->next += size_bytes;
    }
    arena->used_bytes += size_bytes;
    return memset(block, 0, size_bytes);
}

char *
lw_arena_strndup(lw_arena *arena, const char *text, size_t n_bytes)
{
    char *copy = lw_arena_take(arena, n_bytes + 1);

    if (copy != NULL)
        memcpy(copy, text, n_bytes);
    return copy;
}

char *
lw_arena_strdup(lw_arena *arena, const char *text)
{
    return lw_arena_strndup(arena, text, strlen(text));
}
