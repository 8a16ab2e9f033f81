/* The memory of items: room for more of them, gaps, and the references of slots. */
#include "core/py/typed/typed_internal.h"

#include "core/host/counted_memory.h"

#include <string.h>

/* The bytes that an extent counts. */
static Py_ssize_t
unit(const lw_typed_leaf *leaf)
{
    return lw_typed_has_slots(leaf) ? (Py_ssize_t)LW_TYPED_WORD : leaf->stride;
}

/* For how many items a cell has memory. */
static int64_t
room_of(const lw_typed_leaf *leaf, const uint64_t *cell)
{
    int64_t n_bytes = (int64_t)cell[LW_CELL_EXTENT] * unit(leaf) - leaf->begin;

    return n_bytes > 0 ? n_bytes / leaf->stride : 0;
}

/* Memory for so many items; NULL with an exception. */
static void *
new_room(const lw_typed_leaf *leaf, int64_t room)
{
    void *memory = NULL;
    int64_t n_bytes;

    if (!__builtin_mul_overflow(room, leaf->stride, &n_bytes) && n_bytes < INT64_MAX / 2)
        memory = lw_typed_has_slots(leaf)
                     ? lw_cells_new((n_bytes + leaf->begin) / LW_TYPED_WORD)
                     : lw_counted_new((size_t)n_bytes);
    if (memory == NULL)
        PyErr_NoMemory();
    return memory;
}

/* Takes the references of n items that were copied. */
static void
retain_slots(const lw_typed_leaf *leaf, const void *items, int64_t n)
{
    const uint64_t *slot = items;

    for (int64_t i = 0; lw_typed_has_slots(leaf) && i < n; i++) {
        lw_counted_retain((void *)(uintptr_t)slot[LW_CELL_MEMORY]);
        slot += leaf->stride / LW_TYPED_WORD;
    }
}

/* Puts new memory for so many items into the cell, which takes its reference. */
static void
adopt(const lw_typed_leaf *leaf, uint64_t *cell, void *memory, int64_t room)
{
    lw_cell_set(cell, lw_counted_data(memory), (room * leaf->stride + leaf->begin) / unit(leaf),
                memory);
    lw_counted_release(memory);
}

/* As make_room of lanewise/_typed_containers.py. */
static int
make_room(const lw_typed_leaf *leaf, uint64_t *cell, int64_t n)
{
    int64_t room = n < 4 ? 8 : 2 * n;
    void *memory;

    if (room_of(leaf, cell) > n)
        return 0;
    memory = new_room(leaf, room);
    if (memory == NULL)
        return -1;
    if (n > 0)
        memcpy(lw_typed_place_in(leaf, lw_counted_data(memory), 0),
               lw_typed_place_of(leaf, cell, 0), (size_t)(n * leaf->stride));
    retain_slots(leaf, lw_typed_place_in(leaf, lw_counted_data(memory), 0), n);
    adopt(leaf, cell, memory, room);
    return 0;
}

int
lw_typed_make_room(const lw_typed_form *form, uint64_t *cells, int64_t n)
{
    for (int k = 0; k < form->n; k++)
        if (make_room(&form->leaves[k], lw_typed_cell_of(cells, k), n) < 0)
            return -1;
    return 0;
}

static void *
compacted(const lw_typed_leaf *leaf, const uint64_t *cell, const int64_t *hashes, int64_t n,
          int64_t room)
{
    void *memory = new_room(leaf, room);
    int64_t to = 0;

    for (int64_t i = 0; memory != NULL && i < n; i++)
        if (hashes[i] != LW_TYPED_DELETED)
            memcpy(lw_typed_place_in(leaf, lw_counted_data(memory), to++),
                   lw_typed_place_of(leaf, cell, i), (size_t)leaf->stride);
    if (memory != NULL)
        retain_slots(leaf, lw_typed_place_in(leaf, lw_counted_data(memory), 0), to);
    return memory;
}

int
lw_typed_compacted(const lw_typed_form *form, const uint64_t *cells, const int64_t *hashes,
                   int64_t n, int64_t room, void **made)
{
    for (int k = 0; k < form->n; k++) {
        made[k] = compacted(&form->leaves[k], cells + k * LW_CELL_WORDS, hashes, n, room);
        if (made[k] == NULL) {
            while (k-- > 0)
                lw_counted_release(made[k]);
            return -1;
        }
    }
    return 0;
}

void
lw_typed_adopt(const lw_typed_form *form, uint64_t *cells, void *const *made, int64_t room)
{
    for (int k = 0; k < form->n; k++)
        adopt(&form->leaves[k], lw_typed_cell_of(cells, k), made[k], room);
}

/* ---- items that end ---- */

void
lw_typed_ended_release(lw_typed_ended *ended)
{
    for (int64_t i = 0; i < ended->n; i++)
        lw_counted_release(ended->memories[i]);
    if (ended->memories != ended->few)
        PyMem_Free(ended->memories);
}

/* Makes room for n references. -1 with an exception. */
static int
make_ended(lw_typed_ended *ended, int64_t n)
{
    ended->n = 0;
    ended->memories = n <= LW_TYPED_MOST_CELLS ? ended->few : PyMem_New(void *, n);
    if (ended->memories == NULL)
        PyErr_NoMemory();
    return ended->memories ? 0 : -1;
}

int
lw_typed_take(const lw_typed_form *form, uint64_t *cells, int64_t from, int64_t to,
              lw_typed_ended *ended)
{
    int n_slots = 0;

    for (int k = 0; k < form->n; k++)
        n_slots += lw_typed_has_slots(&form->leaves[k]);
    if (make_ended(ended, n_slots * (to - from)) < 0)
        return -1;
    for (int k = 0; k < form->n; k++)
        for (int64_t i = from; lw_typed_has_slots(&form->leaves[k]) && i < to; i++) {
            uint64_t *slot = lw_typed_place_of(&form->leaves[k], lw_typed_cell_of(cells, k), i);
            ended->memories[ended->n++] = (void *)(uintptr_t)slot[LW_CELL_MEMORY];
            memset(slot, 0, (size_t)form->leaves[k].stride);
        }
    return 0;
}

int
lw_typed_close_gap(const lw_typed_form *form, uint64_t *cells, int64_t to, int64_t from,
                   int64_t n, lw_typed_ended *ended)
{
    if (lw_typed_take(form, cells, to, from, ended) < 0)
        return -1;
    for (int k = 0; from > to && k < form->n; k++) {
        const lw_typed_leaf *leaf = &form->leaves[k];
        char *place = lw_typed_place_of(leaf, lw_typed_cell_of(cells, k), to);
        size_t gap = (size_t)((from - to) * leaf->stride);
        size_t rest = (size_t)((n - from) * leaf->stride);

        memmove(place, place + gap, rest);
        if (lw_typed_has_slots(leaf)) /* the references of the last items have moved */
            memset(place + rest, 0, gap);
    }
    return 0;
}

void
lw_typed_open_gap(const lw_typed_form *form, uint64_t *cells, int64_t at, int64_t n)
{
    for (int k = 0; k < form->n; k++) {
        const lw_typed_leaf *leaf = &form->leaves[k];
        char *place = lw_typed_place_of(leaf, lw_typed_cell_of(cells, k), at);

        memmove(place + leaf->stride, place, (size_t)((n - at) * leaf->stride));
        if (lw_typed_has_slots(leaf)) /* its references have moved */
            memset(place, 0, (size_t)leaf->stride);
    }
}

void
lw_typed_reverse(const lw_typed_form *form, uint64_t *cells, int64_t n)
{
    char one[(1 + NPY_MAXDIMS) * LW_CELL_WORDS * LW_TYPED_WORD];

    for (int k = 0; k < form->n; k++)
        for (int64_t i = 0; i < n / 2; i++) {
            const lw_typed_leaf *leaf = &form->leaves[k];
            char *low = lw_typed_place_of(leaf, lw_typed_cell_of(cells, k), i);
            char *high = lw_typed_place_of(leaf, lw_typed_cell_of(cells, k), n - 1 - i);

            memcpy(one, low, (size_t)leaf->stride);
            memcpy(low, high, (size_t)leaf->stride);
            memcpy(high, one, (size_t)leaf->stride);
        }
}
