/* A thread keeps a few pieces of memory that it has freed, because items of a gufunc and
 * elements of a ufunc make the same arrays over and over: keeping them takes 8 ns less of 36
 * for an item that makes one array of 64 float64 (one core of a Xeon at 2.9 GHz, glibc 2.36,
 * 2026-11-26). Under AddressSanitizer nothing is kept, so that it sees every use after the
 * end. */
#include "core/host/counted_memory.h"

#include "core/base/memory.h"
#include "core/ir/counted.h"
#include "core/link/elf_loader.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* What stands at the offsets of core/ir/counted.h. */
typedef struct header {
    atomic_size_t count;
    lw_counted_destructor *destructor;
    void *information, *data;
    size_t n_bytes, room; /* room: of ours, how many bytes there are */
} header;

_Static_assert(offsetof(header, destructor) == LW_COUNTED_DESTRUCTOR_AT &&
                   offsetof(header, information) == LW_COUNTED_INFORMATION_AT &&
                   offsetof(header, data) == LW_COUNTED_DATA_AT &&
                   offsetof(header, n_bytes) == LW_COUNTED_SIZE_AT &&
                   sizeof(header) <= LW_COUNTED_HEADER,
               "the header is as compiled code fills it in");

/* ---- statistics ---- */

static atomic_bool counts;
static atomic_int_fast64_t n_made, n_freed;

static void
note(atomic_int_fast64_t *counter)
{
    if (atomic_load_explicit(&counts, memory_order_relaxed))
        atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
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
lw_counted_forget(void)
{
    atomic_store(&n_made, 0);
    atomic_store(&n_freed, 0);
}

/* ---- what a thread keeps ---- */

/* MOST_KEPT: as many arrays as a body has at one time. MOST_KEPT_BYTES: of one; above it a
 * loop over the bytes takes longer than malloc, and a thread should not hold much. */
enum { MOST_KEPT = 8, MOST_KEPT_BYTES = 1 << 16 };

static _Thread_local header *kept[MOST_KEPT];
static _Thread_local bool is_known; /* the thread's end frees what it keeps */

static pthread_key_t at_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool
free_kept(void)
{
    bool any = false;

    for (int i = 0; i < MOST_KEPT; i++) {
        any |= kept[i] != NULL;
        lw_free(kept[i]);
        kept[i] = NULL;
    }
    return any;
}

static void
end_thread(void *unused)
{
    (void)unused;
    is_known = false; /* a later destructor of the thread may free memory */
    free_kept();
}

static void
make_key(void)
{
    int failed = pthread_key_create(&at_end, end_thread);

    assert(failed == 0);
    (void)failed;
}

static bool
know_thread(void)
{
    if (!is_known && pthread_once(&once, make_key) == 0)
        is_known = pthread_setspecific(at_end, kept) == 0;
    return is_known;
}

static void
keep_or_free(header *h)
{
#ifndef __SANITIZE_ADDRESS__
    if (h->destructor == NULL && h->room <= MOST_KEPT_BYTES && know_thread())
        for (int i = 0; i < MOST_KEPT; i++)
            if (kept[i] == NULL) {
                kept[i] = h;
                return;
            }
#else
    (void)know_thread;
#endif
    lw_free(h);
}

/* Whether memory that nobody else holds is large enough, and not much larger. */
static bool
fits(const header *h, size_t n_bytes)
{
    return h->destructor == NULL && n_bytes <= h->room &&
           h->room / 2 <= n_bytes + LW_COUNTED_HEADER;
}

static header *
take_kept(size_t n_bytes)
{
    header *found = NULL;

    for (int i = 0; i < MOST_KEPT && found == NULL; i++)
        if (kept[i] != NULL && fits(kept[i], n_bytes)) {
            found = kept[i];
            kept[i] = NULL;
        }
    return found;
}

/* ---- memory ---- */

void
lw_counted_free(void *memory)
{
    header *h = memory;

    if (h->destructor != NULL)
        h->destructor(h->data, h->n_bytes, h->information);
    note(&n_freed);
    keep_or_free(h);
}

void
lw_counted_retain(void *memory)
{
    header *h = memory;

    if (h != NULL)
        atomic_fetch_add_explicit(&h->count, 1, memory_order_relaxed);
}

void
lw_counted_release(void *memory)
{
    header *h = memory;

    if (h != NULL && atomic_fetch_sub_explicit(&h->count, 1, memory_order_acq_rel) == 1)
        lw_counted_free(h);
}

void *
lw_counted_data(void *memory)
{
    return ((header *)memory)->data;
}

/* A new piece, or one that was kept; its header is not filled in. */
static header *
piece_of(size_t n_bytes)
{
    header *h = NULL;

    if (n_bytes > SIZE_MAX - LW_COUNTED_HEADER || lw_memory_must_fail())
        return NULL;
    h = take_kept(n_bytes);
    if (h != NULL)
        return h;
    h = lw_alloc(n_bytes + LW_COUNTED_HEADER);
    if (h == NULL && free_kept())
        h = lw_alloc(n_bytes + LW_COUNTED_HEADER);
    if (h != NULL)
        h->room = n_bytes;
    return h;
}

static void *
begin(header *h, void *data, size_t n_bytes)
{
    size_t room = h->room;

    note(&n_made);
    *h = (header){.data = data, .n_bytes = n_bytes, .room = room};
    atomic_init(&h->count, 1);
    return h;
}

void *
lw_counted_new(size_t n_bytes)
{
    header *h = piece_of(n_bytes);

    return h ? begin(h, (char *)h + LW_COUNTED_HEADER, n_bytes) : NULL;
}

void *
lw_counted_over(void *data, size_t n_bytes, lw_counted_destructor *destructor,
                void *information)
{
    header *h = lw_alloc(LW_COUNTED_HEADER);

    if (h == NULL)
        return NULL;
    h->room = 0;
    begin(h, data, n_bytes);
    h->destructor = destructor;
    h->information = information;
    return h;
}

/* Used again, memory counts as freed and made. */
void *
lw_counted_renew(void *old, int64_t n_bytes)
{
    header *h = old;

    assert(n_bytes >= 0); /* whoever emits NEW has made sure */
    if (h != NULL && fits(h, (size_t)n_bytes) &&
        atomic_load_explicit(&h->count, memory_order_acquire) == 1) {
        note(&n_freed);
        note(&n_made);
        h->n_bytes = (size_t)n_bytes;
        return h;
    }
    lw_counted_release(old);
    return lw_counted_new((size_t)n_bytes);
}

void
lw_counted_register(void)
{
    static lw_extern_row rows[] = {{"lw_memory_renew", NULL}, {"lw_memory_free", NULL}};

    rows[0].address = (void *)(uintptr_t)lw_counted_renew;
    rows[1].address = (void *)(uintptr_t)lw_counted_free;
    lw_extern_provide(rows, 2);
}
