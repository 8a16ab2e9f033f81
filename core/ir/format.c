#include "core/ir/format.h"

#include "core/base/arena.h"
#include "core/base/array.h"
#include "core/base/hash.h"
#include "core/base/lock.h"

#include <string.h>

static lw_lock lock = LW_LOCK_INIT;
static LW_ARRAY(lw_format *) formats; /* never freed, because a kernel may print at any time */

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

static const lw_format *
find(uint64_t number)
{
    for (uint32_t i = 0; i < formats.n; i++)
        if (formats.data[i]->number == number)
            return formats.data[i];
    return NULL;
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

uint64_t
lw_format_add(const char *before, const lw_format_value *values, uint32_t n)
{
    uint64_t number = number_of(before, values, n);
    lw_format **slot, *made;

    lw_lock_take(&lock);
    if (find(number) == NULL) {
        made = copy(before, values, n);
        slot = made ? lw_array_push(&formats, NULL) : NULL;
        if (slot == NULL) {
            lw_free(made);
            number = 0;
        } else {
            made->number = number;
            *slot = made;
        }
    }
    lw_lock_give(&lock);
    return number;
}
