/* A list that only grows, newest item first. Readers take no lock while others add: an item is
 * published by one atomic store and never changes its place. The item that was found last is
 * tried first. Functions of the header alone, so that a look-up is inlined with its comparison.
 */
#ifndef LW_BASE_GROWN_H
#define LW_BASE_GROWN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* How an item begins. */
typedef struct lw_grown_item {
    struct lw_grown_item *next; /* the one before it in time */
} lw_grown_item;

typedef struct lw_grown {
    _Atomic(lw_grown_item *) first, last; /* last: found last */
} lw_grown;

/* NULL at the end. */
static inline void *
lw_grown_first(const lw_grown *list)
{
    return atomic_load_explicit(&((lw_grown *)list)->first, memory_order_acquire);
}

static inline void *
lw_grown_next(const void *item)
{
    return ((const lw_grown_item *)item)->next;
}

static inline void
lw_grown_add(lw_grown *list, void *item)
{
    lw_grown_item *added = item;

    added->next = atomic_load(&list->first);
    while (!atomic_compare_exchange_weak(&list->first, &added->next, added))
        ;
}

/* The next look-up tries it first. */
static inline void
lw_grown_note(lw_grown *list, void *item)
{
    atomic_store_explicit(&list->last, item, memory_order_release);
}

/* The item that `is` says has the key; NULL: there is none. */
static inline void *
lw_grown_find(lw_grown *list, bool (*is)(const void *item, const void *key), const void *key)
{
    void *at = atomic_load_explicit(&list->last, memory_order_acquire);

    if (at != NULL && is(at, key))
        return at;
    for (at = lw_grown_first(list); at != NULL; at = lw_grown_next(at))
        if (is(at, key)) {
            lw_grown_note(list, at);
            return at;
        }
    return NULL;
}

/* Empties the list, which nobody reads any more, and frees its items. */
static inline void
lw_grown_free(lw_grown *list, void (*free_item)(void *item))
{
    void *at = lw_grown_first(list), *next;

    atomic_store(&list->first, NULL);
    atomic_store(&list->last, NULL);
    for (; at != NULL; at = next) {
        next = lw_grown_next(at);
        free_item(at);
    }
}

#endif
