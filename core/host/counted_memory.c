#include "core/host/counted_memory.h"

#include "core/base/memory.h"
#include "core/ir/counted.h"
#include "core/link/elf_loader.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* What stands at the offsets of core/ir/counted.h. */
typedef struct header {
    atomic_size_t count;
    void (*destructor)(void *data, size_t n_bytes, void *information);
    void *information, *data;
    size_t n_bytes, room; /* room: of ours, how many bytes there are */
} header;

_Static_assert(offsetof(header, destructor) == LW_COUNTED_DESTRUCTOR_AT &&
                   offsetof(header, information) == LW_COUNTED_INFORMATION_AT &&
                   offsetof(header, data) == LW_COUNTED_DATA_AT &&
                   offsetof(header, n_bytes) == LW_COUNTED_SIZE_AT &&
                   sizeof(header) <= LW_COUNTED_HEADER,
               "the header is as compiled code fills it in");

static atomic_bool counts;
static atomic_int_fast64_t n_made, n_freed;

static void
note(atomic_int_fast64_t *counter)
{
    if (atomic_load_explicit(&counts, memory_order_relaxed))
        atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

void
lw_counted_free(void *memory)
{
    header *h = memory;

    if (h->destructor != NULL)
        h->destructor(h->data, h->n_bytes, h->information);
    note(&n_freed);
    lw_free(h);
}

void
lw_counted_release(void *memory)
{
    header *h = memory;

    if (h != NULL && atomic_fetch_sub_explicit(&h->count, 1, memory_order_acq_rel) == 1)
        lw_counted_free(h);
}

/* Whether memory that its owner alone holds can be used again as it is. */
static bool
is_free_for(header *h, size_t n_bytes)
{
    return h != NULL && h->destructor == NULL && n_bytes <= h->room &&
           h->room / 2 <= n_bytes + LW_COUNTED_HEADER &&
           atomic_load_explicit(&h->count, memory_order_acquire) == 1;
}

void *
lw_counted_renew(void *old, int64_t n_bytes)
{
    header *h = old;

    assert(n_bytes >= 0); /* whoever emits NEW has made sure */
    if (is_free_for(h, (size_t)n_bytes)) {
        h->n_bytes = (size_t)n_bytes;
        return h;
    }
    lw_counted_release(old);
    if ((uint64_t)n_bytes > SIZE_MAX - LW_COUNTED_HEADER)
        return NULL;
    h = lw_alloc((size_t)n_bytes + LW_COUNTED_HEADER);
    if (h == NULL)
        return NULL;
    note(&n_made);
    *h = (header){.data = (char *)h + LW_COUNTED_HEADER,
                  .n_bytes = (size_t)n_bytes,
                  .room = (size_t)n_bytes};
    atomic_init(&h->count, 1);
    return h;
}

void
lw_counted_enable(bool enabled)
{
    atomic_store(&counts, enabled);
}

bool
lw_counted_is_enabled(void)
{
    return atomic_load(&counts);
}

void
lw_counted_read(int64_t *made, int64_t *freed)
{
    *made = atomic_load(&n_made);
    *freed = atomic_load(&n_freed);
}

void
lw_counted_register(void)
{
    static lw_extern_row rows[] = {{"lw_memory_renew", NULL}, {"lw_memory_free", NULL}};

    rows[0].address = (void *)(uintptr_t)lw_counted_renew;
    rows[1].address = (void *)(uintptr_t)lw_counted_free;
    lw_extern_provide(rows, 2);
}
