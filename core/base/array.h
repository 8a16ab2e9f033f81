/* A growable array of any element type, in the heap or in an arena.
 *
 *     LW_ARRAY(lw_inst) insts = {0};      declares  { lw_inst *data; uint32_t n, capacity; }
 *     lw_inst *slot = lw_array_push(&insts, arena_or_NULL);   zeroed; NULL when memory is out
 *     lw_array_free(&insts);              only for heap arrays (arena == NULL)
 *
 * A push may move data: fetch element pointers again afterwards. */
#ifndef LW_BASE_ARRAY_H
#define LW_BASE_ARRAY_H

#include "core/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

#define LW_ARRAY(type)                                                                         \
    struct {                                                                                   \
        type *data;                                                                            \
        uint32_t n, capacity;                                                                  \
    }

#define lw_array_push(array, arena)                                                            \
    (lw_array_reserve_((void **)&(array)->data, &(array)->n, &(array)->capacity,               \
                       sizeof *(array)->data, 1, (arena))                                      \
         ? &(array)->data[(array)->n++]                                                        \
         : NULL)

/* Makes room for `more` further elements (n does not change); false: memory ran out. */
#define lw_array_reserve(array, more, arena)                                                   \
    lw_array_reserve_((void **)&(array)->data, &(array)->n, &(array)->capacity,                \
                      sizeof *(array)->data, (more), (arena))

#define lw_array_free(array)                                                                   \
    (lw_free((array)->data), (array)->data = NULL, (array)->n = 0, (array)->capacity = 0)

bool lw_array_reserve_(void **data, const uint32_t *n, uint32_t *capacity, size_t element_size,
                       uint32_t more, lw_arena *arena);

#include "core/base/memory.h" /* lw_free, for the macro above */

#endif
