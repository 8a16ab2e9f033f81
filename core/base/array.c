#include "core/base/array.h"

#include <string.h>

#ifdef LW_STRESS
#define FIRST_CAPACITY 1
#else
#define FIRST_CAPACITY 8
#endif

bool
lw_array_reserve_(void **data, const uint32_t *n, uint32_t *capacity, size_t element_size,
                  uint32_t more, lw_arena *arena)
{
    uint64_t wanted = (uint64_t)*n + more, grown = *capacity ? *capacity : FIRST_CAPACITY;
    void *block;

    if (wanted > *capacity) {
        while (grown < wanted)
            grown *= 2;
        if (grown > UINT32_MAX || grown > SIZE_MAX / element_size)
            return false;
        block = arena ? lw_arena_take(arena, grown * element_size)
                      : lw_realloc(*data, grown * element_size);
        if (block == NULL)
            return false;
        if (arena && *n)
            memcpy(block, *data, *n * element_size);
        *data = block;
        *capacity = (uint32_t)grown;
    }
    if (more > 0)
        memset((char *)*data + *n * element_size, 0, more * element_size);
    return true;
}
