#include "core/ir/format.h"

#include "core/base/arena.h"
#include "core/base/hash.h"
#include "core/base/lock.h"
#include "core/base/memory.h"

#include <string.h>

static lw_lock lock = LW_LOCK_INIT;
/* By number, with linear probing: at most half of the places, a power of two, are taken.
 * Formats are never freed, because a kernel may print at any time. */
static lw_format **table;
static size_t n_formats, n_places;

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
static size_t
place_of(uint64_t number)
{
    size_t at = (size_t)number & (n_places - 1);

    while (table[at] != NULL && table[at]->number != number)
        at = (at + 1) & (n_places - 1);
    return at;
}

static const lw_format *
find(uint64_t number)
{
    return n_places ? table[place_of(number)] : NULL;
}

static bool
make_room(void)
{
    enum { FIRST = 64 };
    lw_format **before = table;
    size_t n_before = n_places;

    if (2 * (n_formats + 1) <= n_places)
        return true;
    table = lw_alloc_zero(n_before ? 2 * n_before : FIRST, sizeof *table);
    if (table == NULL) {
        table = before;
        return false;
    }
    n_places = n_before ? 2 * n_before : FIRST;
    for (size_t i = 0; i < n_before; i++)
        if (before[i] != NULL)
            table[place_of(before[i]->number)] = before[i];
    lw_free(before);
    return true;
}

const lw_format *
lw_format_find(uint64_t number)
{
    const lw_format *format;

    lw_lock_take(&lock);
    format = find(number);
    lw_lock_give(&lock);
    return format;
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

uint64_t
lw_format_add(const char *before, const lw_format_value *values, uint32_t n)
{
    uint64_t number = number_of(before, values, n);
    const lw_format *known;
    lw_format *made;

    lw_lock_take(&lock);
    known = find(number);
    if (known != NULL && (known->n != n || !is_same_text(known->before, before))) {
        number = 0;
    } else if (known == NULL) {
        made = make_room() ? copy(before, values, n) : NULL;
        if (made != NULL) {
            made->number = number;
            table[place_of(number)] = made;
            n_formats++;
        } else {
            number = 0;
        }
    }
    lw_lock_give(&lock);
    return number;
}
