/* A bump allocator: one per compilation, freed as a whole. Nothing in it owns anything outside
 * it. Not thread-safe: an arena belongs to one thread at a time. */
#ifndef LW_BASE_ARENA_H
#define LW_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct lw_arena_chunk lw_arena_chunk;

typedef struct lw_arena {
    lw_arena_chunk *chunks; /* newest first */
    char *next, *end;
    size_t used_bytes;
    bool failed; /* sticks: an allocation found no memory; checked once at the end */
} lw_arena;

void lw_arena_init(lw_arena *arena);
void lw_arena_reset(lw_arena *arena); /* frees all; the arena may be used again */
/* Zeroed and aligned to 16 bytes; NULL: memory ran out. */
void *lw_arena_take(lw_arena *arena, size_t size_bytes);
char *lw_arena_strdup(lw_arena *arena, const char *text);
char *lw_arena_strndup(lw_arena *arena, const char *text, size_t n_bytes);

#endif
