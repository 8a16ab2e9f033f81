#include "core/ir/format.h"

#include "core/base/arena.h"
#include "core/base/hash.h"
#include "core/base/lock.h"
#include "core/base/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* By number, with linear probing: at most half of the places, a power of two, are taken.
 * Formats and tables are never freed, because a kernel may print at any time, and looking up
 * takes no lock: compiled code looks up strings without the GIL. */
typedef struct places {
    struct places *smaller; /* the one before it, which somebody may still look into */
    size_t n;
    _Atomic(lw_format *) at[];
} places;

static lw_lock lock = LW_LOCK_INIT; /* of who adds */
static _Atomic(places *) current;
static size_t n_formats; /* under the lock */

static uint64_t
hash_text(const char *text, uint64_t seed)
{
    return text ? lw_hash64(text, strlen(text) + 1, seed) : lw_hash64("", 0, seed);
}

static uint64_t
number_of(const char *before, const lw_format_value *values, uint32_t n)
{
    uint64_t number = hash_text(before, n);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t kind = (uint32_t)values[i].dtype | (values[i].spec ? 256 : 0) |
                        (values[i].optional ? 512 : 0);
        number = lw_hash64(&kind, sizeof kind, number);
        number = hash_text(values[i].spec, number);
        number = hash_text(values[i].behind, number);
    }
    return number ? number : 1;
}

/* The place of the format with this number, or the free one where it belongs. */
static _Atomic(lw_format *) *
place_of(places *table, uint64_t number)
{
    size_t at = (size_t)number & (table->n - 1);
    lw_format *format;

    while ((format = atomic_load_explicit(&table->at[at], memory_order_acquire)) != NULL &&
           format->number != number)
        at = (at + 1) & (table->n - 1);
    return &table->at[at];
}

const lw_format *
lw_format_find(uint64_t number)
{
    places *table = atomic_load_explicit(&current, memory_order_acquire);

    return table ? atomic_load_explicit(place_of(table, number), memory_order_acquire) : NULL;
}

/* A table with a free place for one more; NULL: memory ran out. Under the lock. */
static places *
with_room(void)
{
    enum { FIRST = 64 };
    places *before = atomic_load(&current), *table;
    size_t n = before ? 2 * before->n : FIRST;

    if (before != NULL && 2 * (n_formats + 1) <= before->n)
        return before;
    table = lw_alloc_zero(1, sizeof *table + n * sizeof table->at[0]);
    if (table == NULL)
        return NULL;
    table->n = n;
    table->smaller = before;
    for (size_t i = 0; before != NULL && i < before->n; i++) {
        lw_format *format = atomic_load(&before->at[i]);
        if (format != NULL)
            atomic_store(place_of(table, format->number), format);
    }
    atomic_store_explicit(&current, table, memory_order_release);
    return table;
}

static size_t
size_of(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static const char *
put(char **at, const char *text)
{
    size_t n = size_of(text);
    const char *copy = *at;

    if (text == NULL)
        return NULL;
    memcpy(*at, text, n);
    *at += n;
    return copy;
}

/* Copies the row, its values and all texts into one block. */
static lw_format *
copy(const char *before, const lw_format_value *values, uint32_t n)
{
    size_t n_bytes = sizeof(lw_format) + n * sizeof *values + size_of(before);
    lw_format_value *copies;
    lw_format *format;
    char *at;

    for (uint32_t i = 0; i < n; i++)
        n_bytes += size_of(values[i].spec) + size_of(values[i].behind);
    format = lw_alloc(n_bytes);
    if (format == NULL)
        return NULL;
    copies = (lw_format_value *)(format + 1);
    at = (char *)(copies + n);
    *format = (lw_format){.before = put(&at, before), .n = n, .values = copies};
    for (uint32_t i = 0; i < n; i++) {
        copies[i].dtype = values[i].dtype;
        copies[i].optional = values[i].optional;
        copies[i].spec = put(&at, values[i].spec);
        copies[i].behind = put(&at, values[i].behind);
        format->n_slots += lw_format_slots(&values[i]);
    }
    return format;
}

static bool
is_same_text(const char *x, const char *y)
{
    return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

/* In the child of a fork, the lock may be held by a thread that the child does not have. What
 * this thread was adding is either not in the table or completely there. */
static void
after_fork(void)
{
    lw_lock_init(&lock);
}

/* Under the lock. */
static bool
add(uint64_t number, const char *before, const lw_format_value *values, uint32_t n)
{
    static bool watched;
    places *table = with_room();
    lw_format *made = table ? copy(before, values, n) : NULL;

    if (!watched)
        watched = pthread_atfork(NULL, NULL, after_fork) == 0;
    if (made == NULL)
        return false;
    made->number = number;
    atomic_store_explicit(place_of(table, number), made, memory_order_release);
    n_formats++;
    return true;
}

uint64_t
lw_format_number(const char *text)
{
    return number_of(text, NULL, 0);
}

uint64_t
lw_format_add(const char *before, const lw_format_value *values, uint32_t n)
{
    uint64_t number = number_of(before, values, n);
    const lw_format *known;

    lw_lock_take(&lock);
    known = lw_format_find(number);
    if (known == NULL ? !add(number, before, values, n)
                      : known->n != n || !is_same_text(known->before, before))
        number = 0;
    lw_lock_give(&lock);
    return number;
}
