#include "core/ir/printed.h"

#include "core/base/lock.h"
#include "core/base/memory.h"

#include <stdatomic.h>
#include <string.h>

static lw_lock lock = LW_LOCK_INIT;
static lw_printed kept;
static uint64_t capacity; /* words */
static atomic_bool pending;

/* Makes room for this many more words; false: there is none. */
static bool
make_room(uint64_t n)
{
    uint64_t wanted = capacity ? capacity : 256;
    uint64_t *words;

    while (wanted < kept.n + n)
        wanted *= 2;
    if (wanted == capacity)
        return true;
    if (wanted > LW_PRINTED_BYTES / 8)
        return false;
    words = lw_realloc(kept.words, wanted * 8);
    if (words == NULL)
        return false;
    kept.words = words;
    capacity = wanted;
    return true;
}

void
lw_printed_add(const lw_format *format, const uint64_t *slots)
{
    lw_lock_take(&lock);
    /* once a line was dropped, the following ones are too, so that there are no holes in the
     * middle */
    if (kept.n_dropped == 0 && make_room(format->n_slots + 1)) {
        kept.words[kept.n] = format->number;
        memcpy(kept.words + kept.n + 1, slots, format->n_slots * sizeof *slots);
        kept.n += format->n_slots + 1;
    } else {
        kept.n_dropped++;
    }
    atomic_store_explicit(&pending, true, memory_order_release);
    lw_lock_give(&lock);
}

void
lw_printed_drop(uint64_t n_lines)
{
    if (n_lines == 0)
        return;
    lw_lock_take(&lock);
    kept.n_dropped += n_lines;
    atomic_store_explicit(&pending, true, memory_order_release);
    lw_lock_give(&lock);
}

bool
lw_printed_pending(void)
{
    return atomic_load_explicit(&pending, memory_order_acquire);
}

lw_printed
lw_printed_take(void)
{
    lw_printed taken;

    lw_lock_take(&lock);
    taken = kept;
    kept = (lw_printed){0};
    capacity = 0;
    atomic_store_explicit(&pending, false, memory_order_release);
    lw_lock_give(&lock);
    return taken;
}
