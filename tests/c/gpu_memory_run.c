/* Runs the text of core/emit/gpu_memory.c on the CPU, for tests/oracle/test_gpu_memory.py,
 * which compiles that text and this file. What is assembly there is a function here, with the
 * same ordering; malloc and free are counted, checked and can be made to fail. A thread stands
 * for a lane of a warp; in lockstep 32 of them do the operations between lanes together.
 *
 * Each run_* returns how many checks have failed. */
#include "core/ir/counted.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the device's malloc and free ---- */

enum { ALIVE = 0x600d600d, GONE = 0x0bad0bad };

typedef struct block {
    uint64_t magic, n_bytes;
} block;

static atomic_int_fast64_t live_blocks, live_bytes, n_mallocs, failures;
static int64_t most_bytes = INT64_MAX; /* of the heap */
static int fail_one_in;                /* 0: never */

static int
check(bool holds, const char *what)
{
    if (holds)
        return 0;
    if (atomic_fetch_add(&failures, 1) < 10)
        fprintf(stderr, "gpu_memory_run: %s\n", what);
    return 1;
}

static _Thread_local uint64_t random_state;

static uint32_t
random_below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % n);
}

void *
device_malloc(int64_t n_bytes)
{
    block *made;

    if (n_bytes < 0 || (fail_one_in && random_below((uint32_t)fail_one_in) == 0))
        return NULL;
    if (atomic_fetch_add(&live_bytes, n_bytes) + n_bytes > most_bytes) {
        atomic_fetch_sub(&live_bytes, n_bytes);
        return NULL;
    }
    made = malloc(sizeof *made + (size_t)n_bytes);
    *made = (block){ALIVE, (uint64_t)n_bytes};
    memset(made + 1, 0xcd, (size_t)n_bytes);
    atomic_fetch_add(&live_blocks, 1);
    atomic_fetch_add(&n_mallocs, 1);
    return made + 1;
}

void
device_free(void *memory)
{
    block *gone = (block *)memory - 1;

    if (check(gone->magic == ALIVE, "memory is freed that is not allocated"))
        return;
    atomic_fetch_sub(&live_bytes, (int64_t)gone->n_bytes);
    atomic_fetch_sub(&live_blocks, 1);
    memset(memory, 0xdd, (size_t)gone->n_bytes);
    gone->magic = GONE;
    free(gone);
}

/* ---- lanes ---- */

/* Where the lanes of a mask wait for each other. */
typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t over;
    unsigned n_arrived, n_over;
} meeting;

typedef struct warp {
    meeting all, some[32]; /* some: by the lowest lane of the mask */
    uint64_t values[32];
} warp;

static _Thread_local uint32_t smid, warpid, laneid;
static _Thread_local warp *together; /* NULL: each lane by itself */

uint32_t
device_smid(void)
{
    return smid;
}

uint32_t
device_warpid(void)
{
    return warpid;
}

uint32_t
device_laneid(void)
{
    return laneid;
}

uint32_t
lw_lanes(void)
{
    return together ? UINT32_MAX : 1u << laneid;
}

uint32_t
lw_lanes_below(void)
{
    return (1u << laneid) - 1;
}

void
lw_meet(uint32_t lanes)
{
    meeting *m;
    unsigned n_over;

    if (together == NULL)
        return;
    m = lanes == UINT32_MAX ? &together->all : &together->some[__builtin_ctz(lanes)];
    pthread_mutex_lock(&m->lock);
    n_over = m->n_over;
    if (++m->n_arrived == (unsigned)__builtin_popcount(lanes)) {
        m->n_arrived = 0;
        m->n_over++;
        pthread_cond_broadcast(&m->over);
    }
    while (m->n_over == n_over)
        pthread_cond_wait(&m->over, &m->lock);
    pthread_mutex_unlock(&m->lock);
}

uint64_t
lw_from(uint64_t value, uint32_t lane, uint32_t lanes)
{
    uint64_t got;

    if (together == NULL)
        return value;
    together->values[laneid] = value;
    lw_meet(lanes);
    got = together->values[lane];
    lw_meet(lanes);
    return got;
}

uint32_t
lw_alike(uint64_t value, uint32_t lanes)
{
    uint32_t alike = 0;

    if (together == NULL)
        return lanes;
    together->values[laneid] = value;
    lw_meet(lanes);
    for (int i = 0; i < 32; i++)
        alike |= together->values[i] == value ? 1u << i : 0;
    lw_meet(lanes);
    return alike;
}

/* ---- words ---- */

static uint64_t *
word(uint64_t at)
{
    return (uint64_t *)(uintptr_t)at;
}

uint64_t
lw_peek(uint64_t at)
{
    return __atomic_load_n(word(at), __ATOMIC_RELAXED);
}

uint64_t
lw_see(uint64_t at)
{
    return __atomic_load_n(word(at), __ATOMIC_ACQUIRE);
}

uint64_t
lw_swap(uint64_t at, uint64_t value)
{
    return __atomic_exchange_n(word(at), value, __ATOMIC_RELAXED);
}

uint64_t
lw_empty(uint64_t at)
{
    return __atomic_exchange_n(word(at), 0, __ATOMIC_ACQUIRE);
}

uint64_t
lw_less(uint64_t at)
{
    return __atomic_fetch_sub(word(at), 1, __ATOMIC_RELEASE);
}

void
lw_more(uint64_t at)
{
    __atomic_fetch_add(word(at), 1, __ATOMIC_RELAXED);
}

void
lw_order(void)
{
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
}

uint64_t
lw_opaque(uint64_t value)
{
    return value;
}

/* ---- what is run ---- */

typedef void destructor(void *data, size_t n_bytes, void *information);

typedef struct compiled {
    void *(*renew)(void *old, int64_t n_bytes);
    void (*retain)(void *memory);
    void (*release)(void *memory);
    void *(*allocate)(size_t n_bytes);
    void (*free)(void *memory);
    void *(*info_new)(void *data, size_t n_bytes, destructor *end, void *information);
    void *(*alloc_aligned)(size_t n_bytes, uint32_t align);
    void *(*data_of)(void *memory);
    uint64_t *variable; /* lw_heap_state */
} compiled;

/* A state for this many warps of one multiprocessor. */
static uint64_t *
state_new(uint64_t warps, uint64_t kept_bytes, uint64_t shared_bytes)
{
    uint64_t *state = calloc(1, LW_HEAP_HEADER + warps * LW_HEAP_WARP_BYTES);

    state[LW_HEAP_COUNTS_AT / 8] = 1;
    state[LW_HEAP_WARPS_AT / 8] = state[LW_HEAP_SM_WARPS_AT / 8] = warps;
    state[LW_HEAP_KEPT_AT / 8] = kept_bytes;
    state[LW_HEAP_SHARED_AT / 8] = shared_bytes;
    return state;
}

static void
reset(void)
{
    most_bytes = INT64_MAX;
    fail_one_in = 0;
    atomic_store(&failures, 0);
    atomic_store(&n_mallocs, 0);
}

/* Everything has been given back: as much freed as allocated, and what is kept goes where
 * malloc fails. */
static int
check_end(const compiled *c, uint64_t *state)
{
    check(state[LW_HEAP_ALLOCATED_AT / 8] == state[LW_HEAP_FREED_AT / 8],
          "not as much memory was freed as allocated");
    check(state[LW_HEAP_MADE_AT / 8] == state[LW_HEAP_DESTROYED_AT / 8],
          "not as many headers were destroyed as made");
    check(state[LW_HEAP_ALLOCATED_AT / 8] > 0, "nothing was counted");
    fail_one_in = 1;
    check(c->allocate(5000) == NULL, "memory without malloc"); /* more than is kept */
    check(atomic_load(&live_blocks) == 0, "kept memory was not given back");
    *c->variable = 0;
    free(state);
    return (int)atomic_load(&failures);
}

/* ---- threads that do as they like ---- */

enum { HELD = 8, MAILBOXES = 16 };

typedef struct churn {
    const compiled *c;
    uint32_t number, n_rounds, n_places;
    bool may_fail;
} churn;

static atomic_uintptr_t mailboxes[MAILBOXES];

static int64_t
size_of(const void *memory)
{
    int64_t size;

    memcpy(&size, (const char *)memory + LW_COUNTED_SIZE_AT, sizeof size);
    return size;
}

static unsigned char
tag_of(const void *memory)
{
    return (unsigned char)((uintptr_t)memory >> 4);
}

static void
mark(void *memory)
{
    memset((char *)memory + LW_COUNTED_HEADER, tag_of(memory), (size_t)size_of(memory));
}

static void
verify(const void *memory)
{
    const unsigned char *bytes = (const unsigned char *)memory + LW_COUNTED_HEADER;
    bool good = true;

    for (int64_t i = 0; i < size_of(memory); i++)
        good &= bytes[i] == tag_of(memory);
    check(good, "somebody else has written to memory that is held");
}

static void
churn_once(churn *job, void **held)
{
    const compiled *c = job->c;
    void **slot = &held[random_below(HELD)];
    uint32_t what = random_below(8);

    if (what < 4) { /* most often: an array in place of the one before */
        if (*slot != NULL)
            verify(*slot);
        *slot = c->renew(*slot, random_below(4) ? random_below(300) : random_below(3000));
        check(*slot != NULL || job->may_fail, "no memory");
        if (*slot != NULL && __atomic_load_n((uint64_t *)*slot, __ATOMIC_RELAXED) == 1)
            mark(*slot);
    } else if (what < 6) { /* one reference goes to another thread */
        void *old;
        if (*slot != NULL) {
            verify(*slot);
            c->retain(*slot);
        }
        old = (void *)atomic_exchange(&mailboxes[random_below(MAILBOXES)], (uintptr_t)*slot);
        c->release(old);
    } else if (what == 6) { /* one comes from there */
        void *got = (void *)atomic_exchange(&mailboxes[random_below(MAILBOXES)], 0);
        if (got != NULL)
            verify(got);
        c->release(*slot);
        *slot = got;
    } else {
        uint32_t n = random_below(200);
        void *raw = c->allocate(n);
        if (raw != NULL)
            memset(raw, 1, n);
        c->free(raw);
    }
}

static void *
churn_thread(void *context)
{
    churn *job = context;
    void *held[HELD] = {0};

    random_state = job->number * 2654435761u + 1;
    laneid = job->number % job->n_places;
    warpid = job->number % 3;
    for (uint32_t i = 0; i < job->n_rounds; i++)
        churn_once(job, held);
    for (int i = 0; i < HELD; i++)
        job->c->release(held[i]);
    return NULL;
}

/* n_places: in how many lanes the threads are; few make them meet. */
int
run_churn(const compiled *c, uint32_t n_threads, uint32_t n_rounds, uint32_t n_places,
          int one_fails_in, int64_t heap_bytes)
{
    uint64_t *state = state_new(2, 2048, 4096);
    pthread_t *threads = calloc(n_threads, sizeof *threads);
    churn *jobs = calloc(n_threads, sizeof *jobs);

    reset();
    fail_one_in = one_fails_in;
    most_bytes = heap_bytes ? heap_bytes : INT64_MAX;
    *c->variable = (uint64_t)(uintptr_t)state;
    for (uint32_t i = 0; i < n_threads; i++) {
        jobs[i] = (churn){c, i, n_rounds, n_places, one_fails_in || heap_bytes};
        pthread_create(&threads[i], NULL, churn_thread, &jobs[i]);
    }
    for (uint32_t i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < MAILBOXES; i++)
        c->release((void *)atomic_exchange(&mailboxes[i], 0));
    free(threads);
    free(jobs);
    return check_end(c, state);
}

/* ---- warps in lockstep ---- */

typedef struct lane {
    const compiled *c;
    warp *warp;
    uint32_t warp_number, number, n_rounds;
} lane;

static void
meeting_init(meeting *m)
{
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->over, NULL);
}

static void *
lane_thread(void *context)
{
    lane *job = context;
    void *a = NULL, *b = NULL, *d = NULL;

    smid = 0;
    warpid = job->warp_number;
    laneid = job->number;
    together = job->warp;
    random_state = job->number;
    for (uint32_t i = 0; i < job->n_rounds; i++) {
        int64_t size = i % 5 == 4 ? 100 + (int64_t)(job->number % 2) * 400 : 1024;
        a = job->c->renew(NULL, size);
        b = job->c->renew(NULL, 64);
        d = job->c->renew(NULL, 16 + 16 * (int64_t)(job->number % 3)); /* three groups */
        if (a == NULL || b == NULL || d == NULL) {
            check(false, "no memory");
            break;
        }
        mark(a);
        mark(b);
        mark(d);
        lw_meet(UINT32_MAX);
        verify(a);
        verify(b);
        verify(d);
        job->c->release(a);
        job->c->release(b);
        job->c->release(d);
    }
    return NULL;
}

/* Returns the failures; *mallocs: how often malloc was asked. */
int
run_lockstep(const compiled *c, uint32_t n_warps, uint32_t n_rounds, int64_t *mallocs)
{
    uint64_t *state = state_new(n_warps, 2048, 4096);
    pthread_t *threads = calloc(32 * n_warps, sizeof *threads);
    lane *lanes = calloc(32 * n_warps, sizeof *lanes);
    warp *warps = calloc(n_warps, sizeof *warps);

    reset();
    *c->variable = (uint64_t)(uintptr_t)state;
    for (uint32_t i = 0; i < 32 * n_warps; i++) {
        meeting_init(&warps[i / 32].some[i % 32]);
        if (i % 32 == 0)
            meeting_init(&warps[i / 32].all);
    }
    for (uint32_t i = 0; i < 32 * n_warps; i++) {
        lanes[i] = (lane){c, &warps[i / 32], i / 32, i % 32, n_rounds};
        pthread_create(&threads[i], NULL, lane_thread, &lanes[i]);
    }
    for (uint32_t i = 0; i < 32 * n_warps; i++)
        pthread_join(threads[i], NULL);
    *mallocs = atomic_load(&n_mallocs);
    free(threads);
    free(lanes);
    free(warps);
    return check_end(c, state);
}

/* ---- foreign memory ---- */

static atomic_int n_ended;
static atomic_uintptr_t ended_data, ended_information;
static atomic_size_t ended_bytes;

static void
note_end(void *data, size_t n_bytes, void *information)
{
    atomic_fetch_add(&n_ended, 1);
    atomic_store(&ended_data, (uintptr_t)data);
    atomic_store(&ended_bytes, n_bytes);
    atomic_store(&ended_information, (uintptr_t)information);
}

typedef struct sharer {
    const compiled *c;
    void *memory;
} sharer;

static void *
share(void *context)
{
    const sharer *s = context;

    for (int i = 0; i < 10000; i++) {
        s->c->retain(s->memory);
        s->c->release(s->memory);
    }
    s->c->release(s->memory);
    return NULL;
}

/* One header is shared by many threads: the last one calls its destructor, once. */
int
run_foreign(const compiled *c, uint32_t n_threads)
{
    uint64_t *state = state_new(1, 2048, 4096);
    char data[24];
    pthread_t *threads = calloc(n_threads, sizeof *threads);
    sharer s = {.c = c};
    void *plain;

    reset();
    *c->variable = (uint64_t)(uintptr_t)state;
    atomic_store(&n_ended, 0);
    s.memory = c->info_new(data, sizeof data, note_end, &s);
    check(c->data_of(s.memory) == data, "the header has other data");
    for (uint32_t i = 0; i < n_threads; i++) {
        c->retain(s.memory);
        pthread_create(&threads[i], NULL, share, &s);
    }
    c->release(s.memory);
    for (uint32_t i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    check(atomic_exchange(&n_ended, 0) == 1, "the destructor was not called once");
    check(ended_data == (uintptr_t)data && ended_bytes == sizeof data &&
              ended_information == (uintptr_t)&s,
          "the destructor got something else");
    plain = c->info_new(data, sizeof data, note_end, &s);
    plain = c->renew(plain, 40); /* of foreign memory nothing is used again */
    check(atomic_load(&n_ended) == 1, "renewing has not called the destructor");
    c->release(plain);
    for (uint32_t align = 1; align <= 512; align *= 2) {
        plain = c->alloc_aligned(100, align);
        check((uintptr_t)c->data_of(plain) % align == 0, "memory is not aligned");
        memset(c->data_of(plain), 1, 100);
        c->release(plain);
    }
    check(c->alloc_aligned(SIZE_MAX, 16) == NULL && c->allocate(SIZE_MAX) == NULL,
          "more memory than there is");
    free(threads);
    return check_end(c, state);
}

/* ---- without a state ---- */

int
run_plain(const compiled *c)
{
    void *first, *second;

    reset();
    *c->variable = 0;
    first = c->renew(NULL, 100);
    mark(first);
    first = c->renew(first, 90);
    check(atomic_load(&n_mallocs) == 1, "memory that is held alone is not used again");
    c->retain(first);
    second = c->renew(first, 90);
    check(second != first, "memory that another holds is used again");
    c->release(second);
    check(atomic_load(&live_blocks) == 1, "memory was not freed");
    c->release(first);
    check(atomic_load(&live_blocks) == 0, "memory was not freed");
    return (int)atomic_load(&failures);
}
