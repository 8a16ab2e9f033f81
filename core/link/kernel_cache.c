/* Waiters for one key share one result: an entry is MAKING while its owner compiles without the
 * lock, and everybody else who needs it sleeps on `changed`. */
#include "core/link/kernel_cache.h"

#include "core/base/env.h"
#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/link/disk_cache.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { N_BUCKETS = 1024 };

struct lw_blob {
    atomic_int references;
    lw_bytes bytes;
};

typedef enum entry_state { MAKING, READY, FAILED } entry_state;

typedef struct entry {
    struct entry *next;            /* in its bucket */
    struct entry *older, *younger; /* ordered by last use */
    lw_digest key;
    lw_cache_kind kind;
    entry_state state;
    bool gone; /* no longer in the table; the last waiter frees it */
    int waiters;
    pthread_t owner;  /* while MAKING */
    lw_blob *blob;    /* READY */
    lw_error failure; /* FAILED */
    size_t size_bytes;
} entry;

static lw_lock lock = LW_LOCK_INIT;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static entry *buckets[N_BUCKETS];
static entry *oldest, *youngest;
static uint64_t n_entries, memory_bytes;
static uint64_t memory_hits, disk_hits, n_made, n_failed;

/* ---- blobs ---- */

const uint8_t *
lw_blob_data(const lw_blob *blob)
{
    return blob->bytes.data;
}

size_t
lw_blob_size(const lw_blob *blob)
{
    return blob->bytes.n;
}

static lw_blob *
blob_ref(lw_blob *blob)
{
    int before = atomic_fetch_add(&blob->references, 1);

    assert(before > 0); /* whoever copies a reference holds one */
    (void)before;
    return blob;
}

void
lw_blob_unref(lw_blob *blob)
{
    if (blob == NULL || atomic_fetch_sub(&blob->references, 1) > 1)
        return;
    lw_bytes_reset(&blob->bytes);
    lw_free(blob);
}

/* Takes the bytes over, also when it fails. */
static lw_blob *
blob_new(lw_bytes *bytes)
{
    lw_blob *blob = lw_alloc_zero(1, sizeof *blob);

    if (blob == NULL) {
        lw_bytes_reset(bytes);
        return NULL;
    }
    atomic_init(&blob->references, 1);
    blob->bytes = *bytes;
    memset(bytes, 0, sizeof *bytes);
    return blob;
}

/* ---- the table; all these need the lock ---- */

static entry **
bucket_of(const lw_digest *key)
{
    return &buckets[(key->bytes[0] | (unsigned)key->bytes[1] << 8) % N_BUCKETS];
}

static entry *
find(const lw_digest *key, lw_cache_kind kind)
{
    for (entry *e = *bucket_of(key); e != NULL; e = e->next)
        if (e->kind == kind && memcmp(e->key.bytes, key->bytes, sizeof key->bytes) == 0)
            return e;
    return NULL;
}

static void
entry_free(entry *e)
{
    lw_blob_unref(e->blob);
    lw_error_reset(&e->failure);
    lw_free(e);
}

static void
leave_order(entry *e)
{
    assert((e->older == NULL) == (oldest == e) && (e->younger == NULL) == (youngest == e));
    *(e->older ? &e->older->younger : &oldest) = e->younger;
    *(e->younger ? &e->younger->older : &youngest) = e->older;
}

static void
become_youngest(entry *e)
{
    e->older = youngest;
    e->younger = NULL;
    *(youngest ? &youngest->younger : &oldest) = e;
    youngest = e;
}

static void
set_size(entry *e, size_t size_bytes)
{
    assert(memory_bytes >= e->size_bytes);
    memory_bytes += size_bytes - e->size_bytes;
    e->size_bytes = size_bytes;
}

/* Removes an entry from the table; it is freed now, or by its last waiter. */
static void
drop(entry *e)
{
    entry **at = bucket_of(&e->key);

    assert(!e->gone && n_entries > 0); /* it is in the table */
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    leave_order(e);
    set_size(e, 0);
    e->gone = true;
    n_entries--;
    if (e->waiters == 0)
        entry_free(e);
}

static entry *
insert(const lw_digest *key, lw_cache_kind kind)
{
    entry *e = lw_alloc_zero(1, sizeof *e), **at = bucket_of(key);

    if (e == NULL)
        return NULL;
    e->key = *key;
    e->kind = kind;
    e->state = MAKING;
    e->owner = pthread_self();
    e->next = *at;
    *at = e;
    n_entries++;
    become_youngest(e);
    set_size(e, sizeof *e);
    return e;
}

static void
use(entry *e)
{
    leave_order(e);
    become_youngest(e);
}

/* Drops the least recently used entries until the others take no more than most_bytes. Blobs
 * are counted, so that those in use by loaded code or by a waiter stay valid. */
static void
trim(uint64_t most_bytes)
{
    for (entry *e = oldest, *younger; e != NULL && memory_bytes > most_bytes; e = younger) {
        younger = e->younger;
        if (e->state != MAKING)
            drop(e);
    }
}

static uint64_t
most_memory_bytes(void)
{
    int64_t megabytes = lw_env_int(LW_ENV_memory_cache_mb);

    return megabytes > 0 ? (uint64_t)megabytes << 20 : 0;
}

/* ---- failures ---- */

static lw_status
copy_error(const lw_error *from, lw_error *to)
{
    assert(from != NULL);
    if (to == NULL || to->status != LW_OK)
        return from->status;
    *to = *from;
    to->text = from->text ? lw_strdup(from->text) : NULL;
    to->file = from->file ? lw_strdup(from->file) : NULL;
    to->help = from->help ? lw_strdup(from->help) : NULL;
    to->label = from->label ? lw_strdup(from->label) : NULL;
    to->vendor_name = from->vendor_name ? lw_strdup(from->vendor_name) : NULL;
    return from->status;
}

/* Whether a second try with the same key would fail the same way. */
static bool
is_lasting(lw_status status)
{
    switch (status) {
    case LW_ERR_COMPILE:
    case LW_ERR_TYPING:
    case LW_ERR_ARGUMENT:
    case LW_ERR_UNSUPPORTED:
    case LW_ERR_SIGNATURE:
    case LW_ERR_LINK:
    case LW_ERR_INTERNAL: return true;
    default: return false;
    }
}

/* ---- forks: the child has no other thread, so what others were making is not being made ----
 */

static void
fork_prepare(void)
{
    lw_lock_take(&lock);
    lw_disk_fork_prepare();
}

static void
fork_parent(void)
{
    lw_disk_fork_release();
    lw_lock_give(&lock);
}

static void
fork_child(void)
{
    for (int b = 0; b < N_BUCKETS; b++)
        for (entry *e = buckets[b], *next; e != NULL; e = next) {
            next = e->next;
            e->waiters = 0;
            if (e->state == MAKING && !pthread_equal(e->owner, pthread_self()))
                drop(e);
        }
    (void)pthread_cond_init(&changed, NULL);
    lw_disk_fork_child();
    fork_parent();
}

static void
watch_forks(void)
{
    (void)pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* ---- get or make ---- */

/* needs: the lock. Sleeps until e has been made, then answers from it. False: the caller must
 * look in the table again. */
static bool
wait_for(entry *e, lw_blob **out, lw_status *status, lw_error *err)
{
    bool answered = true;

    assert(!e->gone);
    e->waiters++;
    while (e->state == MAKING)
        pthread_cond_wait(&changed, &lock);
    e->waiters--;
    if (e->state == READY) {
        *out = blob_ref(e->blob);
        *status = LW_OK;
        memory_hits++;
    } else if (e->failure.status == LW_ERR_PYTHON) {
        answered = false; /* the exception belongs to another thread; this one compiles again */
    } else {
        *status = copy_error(&e->failure, err);
    }
    if (e->gone && e->waiters == 0)
        entry_free(e);
    return answered;
}

/* Publishes what the owner has made. blob: the entry takes a reference; NULL: it failed, and
 * the failure is copied. */
static void
publish(entry *e, lw_blob *blob, const lw_error *failure)
{
    lw_lock_take(&lock);
    assert(e->state == MAKING && pthread_equal(e->owner, pthread_self()));
    if (blob != NULL) {
        e->state = READY;
        e->blob = blob_ref(blob);
        set_size(e, sizeof *e + sizeof *blob + blob->bytes.n);
    } else {
        e->state = FAILED;
        n_failed++;
        copy_error(failure, &e->failure);
        set_size(e, sizeof *e + (e->failure.text ? strlen(e->failure.text) : 0));
        if (!is_lasting(e->failure.status))
            drop(e);
    }
    trim(most_memory_bytes());
    pthread_cond_broadcast(&changed);
    lw_lock_give(&lock);
}

/* Whether it is on disk. If not, *claim keeps other processes from making it, too. */
static bool
load(const lw_cache_request *r, lw_bytes *bytes, int *claim)
{
    if (!r->use_disk)
        return false;
    if (lw_disk_load(&r->key, r->kind, bytes))
        return true;
    *claim = lw_disk_claim(&r->key, r->kind);
    return *claim >= 0 && lw_disk_load(&r->key, r->kind, bytes);
}

static lw_status
load_or_make(const lw_cache_request *r, lw_blob **out, lw_cache_origin *origin, int *claim,
             lw_error *err)
{
    lw_bytes bytes = {0};
    lw_status status = LW_OK;

    *origin = LW_CACHE_DISK;
    if (!load(r, &bytes, claim)) {
        *origin = LW_CACHE_MADE;
        LW_TRY(r->make(r->context, &bytes, err));
    }
    *out = blob_new(&bytes);
    if (*out == NULL)
        status = lw_fail_memory(err);
    return status;
fail:
    lw_bytes_reset(&bytes);
    return status;
}

/* Called by the owner of a MAKING entry, without the lock. */
static lw_status
fill_entry(entry *e, const lw_cache_request *r, lw_blob **out, lw_cache_origin *origin,
           lw_error *err)
{
    lw_error cause = {0};
    lw_blob *blob = NULL;
    int claim = -1;
    lw_status status = load_or_make(r, &blob, origin, &claim, &cause);

    if (status != LW_OK) {
        lw_disk_give_up(claim);
        cause.status = status;
        publish(e, NULL, &cause);
        copy_error(&cause, err);
        lw_error_reset(&cause);
        return status;
    }
    publish(e, blob, NULL);
    lw_lock_take(&lock);
    *(*origin == LW_CACHE_DISK ? &disk_hits : &n_made) += 1;
    lw_lock_give(&lock);
    /* waiters go on first, since a disk may be slow */
    if (r->use_disk && *origin == LW_CACHE_MADE)
        lw_disk_store(&r->key, r->kind, blob->bytes.data, blob->bytes.n);
    lw_disk_give_up(claim);
    *out = blob;
    return LW_OK;
}

lw_status
lw_cache_get_or_make(const lw_cache_request *request, lw_blob **out, lw_cache_origin *origin,
                     lw_error *err)
{
    lw_status status = LW_OK;
    lw_cache_origin ignored, *from = origin ? origin : &ignored;
    entry *e;

    pthread_once(&fork_once, watch_forks);
    *from = LW_CACHE_MEMORY;
    lw_lock_take(&lock);
    for (;;) {
        e = find(&request->key, request->kind);
        if (e == NULL)
            break;
        use(e);
        if (e->state == MAKING && pthread_equal(e->owner, pthread_self())) {
            lw_lock_give(&lock);
            return lw_fail(err, LW_ERR_INTERNAL, "a kernel needs itself to be compiled");
        }
        if (wait_for(e, out, &status, err)) {
            lw_lock_give(&lock);
            return status;
        }
    }
    e = insert(&request->key, request->kind);
    lw_lock_give(&lock);
    if (e == NULL)
        return lw_fail_memory(err);
    return fill_entry(e, request, out, from, err);
}

/* ---- info and clear ---- */

lw_status
lw_cache_info_get(lw_cache_info *info, lw_error *err)
{
    memset(info, 0, sizeof *info);
    lw_lock_take(&lock);
    info->memory_entries = n_entries;
    info->memory_bytes = memory_bytes;
    info->memory_hits = memory_hits;
    info->disk_hits = disk_hits;
    info->made = n_made;
    info->failed = n_failed;
    lw_lock_give(&lock);
    return lw_disk_info(info, err);
}

void
lw_cache_info_reset(lw_cache_info *info)
{
    lw_free(info->folder);
    lw_free(info->problem);
    memset(info, 0, sizeof *info);
}

void
lw_cache_forget_memory(void)
{
    lw_lock_take(&lock);
    trim(0);
    lw_lock_give(&lock);
}

lw_status
lw_cache_clear(lw_error *err)
{
    lw_cache_forget_memory();
    return lw_disk_clear(err);
}
