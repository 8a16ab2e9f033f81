/* A thread keeps a few pieces of memory that it has freed, because items of a gufunc and
 * elements of a ufunc make the same arrays over and over. Keeping them, their alignment, and
 * counting a single reference without an atomic make 26 ns of 36 for an item with one array of
 * 64 float64 that it fills and reads (one core of a Xeon at 2.9 GHz, glibc 2.36, 2026-11-26);
 * it takes 23 without the array. Under AddressSanitizer nothing is kept, so that it sees every
 * use after the end. */
#include "core/host/counted_memory.h"

#include "core/base/memory.h"
#include "core/ir/cell_words.h"
#include "core/ir/counted.h"
#include "core/link/elf_loader.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

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

/* Bytes begin at a multiple of ALIGNMENT, a cache line and the widest vector. What malloc gave
 * is noted in front of the header. */
enum { ALIGNMENT = 64, MOST_BEFORE = 2 * ALIGNMENT };

/* From this size on, memory is asked for in pages of 2 MB, as NumPy does for its arrays: the
 * system maps and clears them when they are first written, and in pages of 4 kB that is 85 ms
 * of the 100 ms of one thread that `a * b + a` takes for 4096 x 4096 float64. */
enum { IN_LARGE_PAGES = 1 << 22, SMALL_PAGE = 4096 };

static void
ask_for_large_pages(char *base, size_t n_bytes)
{
#ifdef MADV_HUGEPAGE
    size_t before = -(uintptr_t)base % SMALL_PAGE;

    if (n_bytes >= IN_LARGE_PAGES) /* advice, which the system may ignore */
        (void)madvise(base + before, n_bytes - before, MADV_HUGEPAGE);
#else
    (void)base;
    (void)n_bytes;
#endif
}

static header *
allocate(size_t n_bytes)
{
    char *base = lw_alloc(n_bytes + MOST_BEFORE), *bytes;
    header *h;

    if (base == NULL)
        return NULL;
    ask_for_large_pages(base, n_bytes);
    bytes = base + MOST_BEFORE - (uintptr_t)base % ALIGNMENT;
    h = (header *)(void *)(bytes - LW_COUNTED_HEADER);
    ((void **)h)[-1] = base;
    return h;
}

static void
give_back(header *h)
{
    lw_free(((void **)h)[-1]);
}

/* Of a thread; made with the first piece that it keeps, and freed at its end. */
typedef struct stock {
    header *kept[MOST_KEPT]; /* n of them; the last one is used first */
    int n;
} stock;

/* The model takes 6 ns off an item that makes one array, for which a place of this one pointer
 * is reserved in every thread when the module is loaded. */
static _Thread_local stock *mine __attribute__((tls_model("initial-exec")));

static pthread_key_t at_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool
free_kept(stock *s)
{
    bool any = s != NULL && s->n > 0;

    while (s != NULL && s->n > 0)
        give_back(s->kept[--s->n]);
    return any;
}

/* A later destructor of the thread may free memory: then there is a new stock, and another end.
 */
static void
end_thread(void *stock_of_thread)
{
    mine = NULL;
    free_kept(stock_of_thread);
    lw_free(stock_of_thread);
}

static void
make_key(void)
{
    int failed = pthread_key_create(&at_end, end_thread);

    assert(failed == 0);
    (void)failed;
}

static bool
has_stock(void)
{
    stock *made;

    if (mine != NULL || pthread_once(&once, make_key) != 0)
        return mine != NULL;
    made = lw_alloc_zero(1, sizeof *made);
    if (made != NULL && pthread_setspecific(at_end, made) == 0)
        mine = made;
    else
        lw_free(made);
    return mine != NULL;
}

static bool
keeps(const header *h)
{
#ifdef __SANITIZE_ADDRESS__
    (void)has_stock;
    return false;
#endif
    return h->room <= MOST_KEPT_BYTES && h->destructor == NULL && has_stock() &&
           mine->n < MOST_KEPT;
}

static void
keep_or_free(header *h)
{
    if (keeps(h))
        mine->kept[mine->n++] = h;
    else
        give_back(h);
}

/* Whether memory that nobody else holds is large enough, and not much larger. */
static bool
fits(const header *h, size_t n_bytes)
{
    return h->destructor == NULL && n_bytes <= h->room &&
           h->room / 2 <= n_bytes + LW_COUNTED_HEADER;
}

static header *
take_kept(stock *s, size_t n_bytes)
{
    header *found;
    int i = s ? s->n : 0;

    while (i > 0 && !fits(s->kept[i - 1], n_bytes))
        i--;
    if (i == 0)
        return NULL;
    found = s->kept[i - 1];
    s->kept[i - 1] = s->kept[--s->n];
    return found;
}

/* ---- memory ---- */

/* The last reference is gone. */
static void
free_counted(void *memory)
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

    if (h != NULL && (atomic_load_explicit(&h->count, memory_order_acquire) == 1 ||
                      atomic_fetch_sub_explicit(&h->count, 1, memory_order_acq_rel) == 1))
        free_counted(h);
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
    stock *s = mine;
    header *h;

    if (n_bytes > SIZE_MAX - MOST_BEFORE || lw_memory_must_fail())
        return NULL;
    h = take_kept(s, n_bytes);
    if (h != NULL)
        return h;
    h = allocate(n_bytes);
    if (h == NULL && free_kept(s))
        h = allocate(n_bytes);
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
    header *h = allocate(0);

    if (h == NULL)
        return NULL;
    h->room = 0;
    begin(h, data, n_bytes);
    h->destructor = destructor;
    h->information = information;
    return h;
}

/* Memory of this size with one reference, in place of `old`, which is released (NULL: nothing)
 * or, where nobody else holds it, used again, which counts as freed and made. NULL: memory is
 * out. */
static void *
renew(void *old, int64_t n_bytes)
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

/* ---- words of typed lists and dicts ---- */

/* The last holder of the words is gone. */
static void
release_cells(void *data, size_t n_bytes, void *information)
{
    const uint64_t *words = data;

    (void)information;
    for (size_t i = LW_CELLS_BEGIN; i + LW_CELL_WORDS <= n_bytes / sizeof *words;
         i += LW_CELL_WORDS)
        lw_counted_release((void *)(uintptr_t)words[i + LW_CELL_MEMORY]);
}

void *
lw_cells_new(int64_t n_words)
{
    size_t n_bytes = (size_t)n_words * sizeof(uint64_t);
    header *h = n_words >= 0 && n_words < INT64_MAX / 16 ? lw_counted_new(n_bytes) : NULL;

    if (h == NULL)
        return NULL;
    memset(h->data, 0, n_bytes);
    h->destructor = release_cells;
    return h;
}

void
lw_cell_set(uint64_t *cell, void *data, int64_t extent, void *memory)
{
    void *before = (void *)(uintptr_t)cell[LW_CELL_MEMORY];

    lw_counted_retain(memory);
    cell[LW_CELL_ADDRESS] = (uint64_t)(uintptr_t)data;
    cell[LW_CELL_EXTENT] = (uint64_t)extent;
    cell[LW_CELL_MEMORY] = (uint64_t)(uintptr_t)memory;
    lw_counted_release(before);
}

/* Who lends to the function that runs in this thread. */
static _Thread_local lw_lender *lender;

void
lw_lender_begin(lw_lender *new)
{
    new->outer = lender;
    lender = new;
}

void
lw_lender_end(lw_lender *old)
{
    assert(lender == old);
    lender = old->outer;
}

/* Puts an array into a slot. memory: the array's; NULL: a lender is asked for it, unless the
 * array has no elements or, data being NULL, there is none. true: nobody knows it, and the slot
 * is as before. */
static bool
keep_in_slot(uint64_t *slot, void *data, int64_t is_empty, void *memory)
{
    void *lent = memory == NULL && lender != NULL ? lender->lend(lender, data) : NULL;

    if (memory == NULL && lent == NULL && !is_empty && data != NULL)
        return true;
    lw_cell_set(slot, data, 0, memory ? memory : lent);
    lw_counted_release(lent);
    return false;
}

void
lw_counted_register(void)
{
    static lw_extern_row rows[] = {{"lw_memory_renew", NULL},
                                   {"lw_memory_free", NULL},
                                   {LW_CELLS_NEW, NULL},
                                   {LW_CELL_SET, NULL},
                                   {LW_SLOT_KEEP, NULL}};

    rows[0].address = (void *)(uintptr_t)renew;
    rows[1].address = (void *)(uintptr_t)free_counted;
    rows[2].address = (void *)(uintptr_t)lw_cells_new;
    rows[3].address = (void *)(uintptr_t)lw_cell_set;
    rows[4].address = (void *)(uintptr_t)keep_in_slot;
    lw_extern_provide(rows, sizeof rows / sizeof *rows);
}
