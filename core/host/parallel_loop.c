#include "core/host/parallel_loop.h"

#include "core/base/clock.h"
#include "core/base/divider.h"
#include "core/host/pieces.h"
#include "core/host/random_state.h"
#include "core/host/schedule.h"
#include "core/host/thread_pool.h"
#include "core/link/elf_loader.h"

#include <stdatomic.h>
#include <stddef.h>

/* As many as there are records (LW_PARALLEL_PARTS of core/opt/loops): enough that threads that
 * are done early find more, whatever iterations cost. */
enum { MOST_PARTS = 256 };
/* Flags of a loop. STEADY: iterations always cost about the same, and draw no random numbers.
 */
enum { IN_ORDER = 1, HEAVY = 2, STEADY = 4 };
enum { MANY = 1 << 16, N_KNOWN = 256 }; /* light iterations that go to all cores unmeasured */
enum { SURE_NS = 10 * 1000000 }; /* the measurement of a run of this length is used as it is */

typedef struct loop {
    lw_part_code code;
    const void *frame;
    uint64_t n, size; /* iterations; those of a part */
    int64_t parts, stride;
    char *records;
    uint64_t fork;         /* of the random numbers of its parts */
    lw_stop *stop;         /* what ends the call that the loop is a part of; or NULL */
    int64_t own_ns, own_n; /* the calling thread's share: time, iterations */
    /* the lowest part that left the function; parts behind it need not run any more */
    _Atomic int64_t left;
} loop;

/* ---- what an iteration costs ---- */

/* By loop, of which two may share a place: then each is measured anew. */
static struct {
    _Atomic uintptr_t code;
    _Atomic uint64_t cost_ps;
} known[N_KNOWN];

static size_t
place_of(lw_part_code code)
{
    return ((uintptr_t)code >> 4) * 0x9e3779b97f4a7c15u >> 56;
}

static uint64_t
known_cost(lw_part_code code)
{
    size_t at = place_of(code);

    if (atomic_load_explicit(&known[at].code, memory_order_acquire) != (uintptr_t)code)
        return 0;
    return atomic_load_explicit(&known[at].cost_ps, memory_order_relaxed);
}

/* A short run may have been disturbed by a page fault or by another process, so that it may at
 * most double the known cost: otherwise a loop of a microsecond would go to threads next time,
 * which wait for each other, and perhaps be disturbed again. */
static void
learn(const loop *l)
{
    size_t at = place_of(l->code);
    uint64_t before = known_cost(l->code), cost;

    if (l->own_n == 0 || atomic_load_explicit(&l->left, memory_order_relaxed) >= 0)
        return;
    cost = (uint64_t)((double)l->own_ns * 1000 / (double)l->own_n) + 1;
    if (before > 0 && cost > 2 * before && l->own_ns < SURE_NS)
        cost = 2 * before;
    atomic_store_explicit(&known[at].cost_ps, cost, memory_order_relaxed);
    atomic_store_explicit(&known[at].code, (uintptr_t)l->code, memory_order_release);
}

static bool
may_go_over_threads(const loop *l, int32_t flags)
{
    return l->parts > 1 && !(flags & IN_ORDER) && lw_host_threads() > 1;
}

static bool
is_worth_threads(const loop *l, int32_t flags)
{
    uint64_t cost = known_cost(l->code);

    if (!may_go_over_threads(l, flags))
        return false;
    if (cost == 0)
        return (flags & HEAVY) || l->n >= MANY;
    return lw_work_pays((double)l->n * (double)cost);
}

/* Parts that go to a thread together: so many that each thread has 5 µs to do, where it is
 * known what they cost. */
static int64_t
grain_of(const loop *l)
{
    double ps = (double)l->n * (double)known_cost(l->code);
    int64_t threads = lw_host_threads();

    if (ps == 0 || ps >= (double)threads * LW_STEP_PS)
        return 1;
    return lw_divide_up(l->parts, ps < 2 * LW_STEP_PS ? 2 : (int64_t)(ps / LW_STEP_PS));
}

/* ---- parts ---- */

static void
note_left(loop *l, int64_t part)
{
    int64_t before = atomic_load_explicit(&l->left, memory_order_relaxed);

    while ((before < 0 || part < before) &&
           !atomic_compare_exchange_weak(&l->left, &before, part))
        ;
}

static bool
run_code(void *context, int64_t part, int64_t next)
{
    loop *l = context;
    uint64_t begin = (uint64_t)part * l->size, end = (uint64_t)next * l->size;

    if (l->code(l->frame, begin, end < l->n ? end : l->n, l->records + part * l->stride))
        note_left(l, part);
    return true;
}

/* A part that ends early comes back here, in whichever thread it runs: what is around it, the
 * pool among others, must be left in order. */
static void
run_part(loop *l, int64_t part)
{
    lw_random_state saved;

    lw_random_enter(l->fork, part, &saved);
    lw_in_pieces(l->stop, part, part + 1, 1, 1, run_code, l);
    lw_random_leave(&saved);
}

static bool
is_needed(const loop *l, int64_t part)
{
    int64_t left = atomic_load_explicit(&l->left, memory_order_relaxed);

    return left < 0 || part < left;
}

/* The parts of a step of the pool. */
static lw_status
run_parts(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    loop *l = context;
    int64_t n = 0, since = worker == 0 ? lw_now_ns() : 0;

    for (int64_t part = begin; part < end && !lw_stop_asked(l->stop); part++)
        if (is_needed(l, part)) {
            run_part(l, part);
            n += (int64_t)l->size;
        }
    if (worker == 0) {
        l->own_ns += lw_now_ns() - since;
        l->own_n += n;
    }
    return LW_OK;
}

/* ---- as compiled code calls it ---- */

/* How many parts n iterations make, of `grain` at least: by these two alone. */
static int64_t
parts_of(uint64_t n, int64_t grain)
{
    uint64_t most = n / (uint64_t)grain + (n % (uint64_t)grain != 0), size;

    if (n == 0)
        return 0;
    if (most > MOST_PARTS)
        most = MOST_PARTS;
    size = n / most + (n % most != 0);
    return (int64_t)(n / size + (n % size != 0));
}

/* Whether the iterations are known to take so little time together that a look at the clock
 * would be a good part of it. */
static bool
is_very_short(lw_part_code code, uint64_t n, int32_t flags)
{
    uint64_t cost = known_cost(code);

    return (flags & STEADY) && cost > 0 && (double)n * (double)cost < LW_PARALLEL_PS;
}

/* Gives the number of the first part of which an iteration left the function, or -1. */
static int64_t
run(lw_part_code code, const void *frame, uint64_t n, int64_t parts, void *records,
    int64_t stride, int32_t flags)
{
    loop l = {.code = code,
              .frame = frame,
              .n = n,
              .parts = parts,
              .fork = flags & STEADY ? 0 : lw_random_fork(),
              .stop = lw_stop_here(),
              .stride = stride,
              .records = records};

    if (n == 0)
        return -1;
    if (is_very_short(code, n, flags))
        return code(frame, 0, n, records) ? 0 : -1;
    l.size = n / (uint64_t)parts + (n % (uint64_t)parts != 0);
    atomic_init(&l.left, -1);
    if (is_worth_threads(&l, flags))
        lw_parallel_until(parts, grain_of(&l), run_parts, &l, l.stop);
    else {
        run_parts(&l, 0, parts, 0);
        if (may_go_over_threads(&l, flags))
            lw_work_alone((double)n * (double)known_cost(code));
    }
    if (l.stop != NULL && atomic_load_explicit(&l.stop->stopped, memory_order_relaxed))
        lw_stop_look(); /* parts are missing: the function that has the loop ends, too */
    learn(&l);
    return atomic_load(&l.left);
}

void
lw_parallel_loop_register(void)
{
    static lw_extern_row rows[] = {{"lw_parallel_parts", NULL}, {"lw_parallel_run", NULL}};

    rows[0].address = (void *)(uintptr_t)parts_of;
    rows[1].address = (void *)(uintptr_t)run;
    lw_extern_provide(rows, 2);
}
