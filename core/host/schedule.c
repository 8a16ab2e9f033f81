#include "core/host/schedule.h"

#include "core/base/clock.h"
#include "core/base/divider.h"
#include "core/host/raise_note.h"
#include "core/host/thread_pool.h"

#define WAKE_PS  50e6 /* worth waking threads for, which takes 10 µs, or 25 and more in a VM */
#define LONG_PS  20e6 /* from here on, Ctrl-C is looked for and other Python threads may run */
#define SHORT_PS 2e6  /* the clock itself takes some 50 ns */
#define PIECE_PS 1e9  /* the first piece of a part where all cost the same */
#define MOST_PS  4e9  /* a step that costs more counts as this */
#define SURE_PS  10e9 /* the measurement of a run of this length is used as it is */

enum {
    APART_NS = 500000, /* two calls that are so far apart do not follow each other */
    SAMPLE_NS = 5000,
    FEW = 64 /* the most pieces of the first call in a part, where costs vary */
};

typedef struct job {
    const lw_work *work;
    int64_t first;           /* number of the piece at which the pool's loop begins */
    _Atomic int64_t n_run;   /* pieces that the pool's loop has run, */
    _Atomic int64_t took_ps; /* by its threads for all of them; steady work: see note_step */
    atomic_bool failed;
} job;

void
lw_failure_init(lw_failure *failure)
{
    *failure = (lw_failure){.lock = LW_LOCK_INIT, .at = -1};
}

void
lw_failure_note(lw_failure *failure, int64_t at, int32_t status)
{
    lw_lock_take(&failure->lock);
    if (failure->at < 0 || at < failure->at) {
        failure->at = at;
        failure->status = status;
        lw_raise_noted(failure->words);
    }
    lw_lock_give(&failure->lock);
}

static bool
run_piece(void *context, int64_t begin, int64_t end)
{
    job *j = context;
    const lw_work *work = j->work;
    bool good = work->body(work->context, begin, end);

    if (work->stop != NULL && work->stop->done != NULL)
        atomic_fetch_add_explicit(work->stop->done,
                                  (end - begin) * (work->steps > 0 ? work->steps : 1),
                                  memory_order_relaxed);
    if (!good)
        atomic_store_explicit(&j->failed, true, memory_order_relaxed);
    return good;
}

/* The cost of a piece; 0: not known. Another thread may change it at any time. */
static double
cost_of(const lw_work *work)
{
    double steps = work->steps > 0 ? (double)work->steps : 1;

    return steps * atomic_load_explicit(work->cost_ps, memory_order_relaxed);
}

static int64_t
unit_of(const lw_work *work)
{
    return work->unit > 0 ? work->unit : 1;
}

/* The number of pieces that take this long; at most `most`. */
static int64_t
pieces_in(double ps, double cost_ps, int64_t most)
{
    double n = cost_ps > 0 ? ps / cost_ps : 0;

    return n < (double)most ? (int64_t)n : most;
}

static void
run_part(job *j, int64_t begin, int64_t end)
{
    const lw_work *work = j->work;
    double cost = cost_of(work);
    int64_t first =
        work->steady ? pieces_in(PIECE_PS, cost, work->n) : pieces_in(LONG_PS, cost, FEW);

    lw_in_pieces(work->stop, begin, end, first, unit_of(work), run_piece, j);
}

/* Of steady work, took_ps is the least time that a piece has taken in a step; 0: none is known.
 * Steady pieces cost the same, so of two steps one that took longer was interrupted. The last
 * piece may be shorter than the others. */
static void
note_step(job *j, int64_t took_ps, int64_t begin, int64_t end)
{
    int64_t least = atomic_load_explicit(&j->took_ps, memory_order_relaxed);
    int64_t ps = took_ps / (end - begin);

    if (!j->work->steady)
        atomic_fetch_add_explicit(&j->took_ps, took_ps, memory_order_relaxed);
    else if (j->first + end < j->work->n)
        while ((least == 0 || ps < least) &&
               !atomic_compare_exchange_weak(&j->took_ps, &least, ps))
            ;
}

static lw_status
part(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    job *j = context;
    int64_t since = lw_now_ns();

    (void)worker;
    if (j->work->stop != NULL && j->work->stop->stopped)
        return LW_OK;
    run_part(j, j->first + begin, j->first + end);
    atomic_fetch_add_explicit(&j->n_run, end - begin, memory_order_relaxed);
    note_step(j, (lw_now_ns() - since) * 1000, begin, end);
    return LW_OK;
}

static bool
all_run(const job *j)
{
    return !atomic_load_explicit(&j->failed, memory_order_relaxed) &&
           (j->work->stop == NULL || !j->work->stop->stopped);
}

/* n pieces took all threads together so long; 0: not known. A short run may have been disturbed
 * by a page fault or by another process, so that it may at most double the known cost. */
static void
learn(const job *j, double took_ps, int64_t n, int64_t n_threads)
{
    const lw_work *work = j->work;
    double before = atomic_load_explicit(work->cost_ps, memory_order_relaxed);
    double cost = took_ps / (double)n / (double)(work->steps > 0 ? work->steps : 1);

    if (!all_run(j) || took_ps == 0)
        return;
    if (before > 0 && cost > 2 * before && took_ps < (double)n_threads * SURE_PS)
        cost = 2 * before;
    cost = cost < 1 ? 1 : cost > MOST_PS ? MOST_PS : cost;
    atomic_store_explicit(work->cost_ps, (uint32_t)cost, memory_order_relaxed);
}

typedef struct samples {
    job *j;
    int64_t n;
} samples;

/* Runs the first pieces, twice as many each time, until the clock shows what one costs. */
static bool
sample(void *context, int64_t begin, int64_t end)
{
    samples *s = context;
    int64_t start = lw_now_ns(), took;

    (void)begin;
    for (int64_t step = s->j->work->steady ? unit_of(s->j->work) : 1; s->n < end; step *= 2) {
        int64_t next = end - s->n < step ? end : s->n + step;
        if (!run_piece(s->j, s->n, next))
            return false;
        s->n = next;
        took = lw_now_ns() - start;
        if (took < SAMPLE_NS && s->n < end)
            continue;
        learn(s->j, (double)took * 1000, s->n, 1);
        break;
    }
    return true;
}

/* The pool gives each thread the same number of grains. Their size is therefore the share of a
 * thread, divided into as many grains as are long enough (LW_POOL_STEPS at most): twice what a
 * thread should get, because each grain takes up to 0.4 µs longer. */
static int64_t
grain_of(const lw_work *work, int64_t n, double cost_ps)
{
    int64_t least = pieces_in(LW_STEP_PS, cost_ps, n) + 1, parts, share, grains, step;

    parts = n / least > 2 ? n / least : 2;
    parts = lw_least(parts, lw_host_threads());
    if (parts < 2)
        return n;
    share = lw_divide_up(n, parts);
    grains = share > 2 * least ? lw_least(share / (2 * least), LW_POOL_STEPS) : 1;
    while (grains > 1 && lw_divide_up(share, grains) * grains > share + share / 32)
        grains--; /* a few more pieces in one share are as many fewer in the last one */
    share = lw_divide_up(share, grains);
    step = share < work->line || work->line == 0 ? unit_of(work) : work->line;
    return lw_round_up(share, step);
}

/* ---- whether several threads take part ---- */

/* What was lately done by threads alone that several could have done: how long it took
 * together, and when the last one ended. */
static _Atomic double alone_ps;
static _Atomic int64_t alone_ns;

static double
lately_alone(int64_t now)
{
    int64_t since = now - atomic_load_explicit(&alone_ns, memory_order_relaxed);

    return since < APART_NS ? atomic_load_explicit(&alone_ps, memory_order_relaxed) : 0;
}

bool
lw_work_pays(double ps)
{
    if (ps < LW_PARALLEL_PS || lw_host_threads() < 2)
        return false;
    return ps > WAKE_PS || lw_pool_n_awake() > 0 ||
           ps + lately_alone(lw_now_ns()) / 2 > WAKE_PS;
}

void
lw_work_alone(double ps)
{
    int64_t now;

    if (ps < LW_PARALLEL_PS || lw_host_threads() < 2)
        return;
    now = lw_now_ns();
    atomic_store_explicit(&alone_ps, ps + lately_alone(now), memory_order_relaxed);
    atomic_store_explicit(&alone_ns, now, memory_order_relaxed);
}

bool
lw_work_is_long(const lw_work *work)
{
    double cost_ps = cost_of(work);

    return cost_ps == 0 || (double)work->n * cost_ps > LONG_PS;
}

static bool
is_parallel(const lw_work *work, int64_t n)
{
    return n > 1 && !work->in_order && lw_work_pays((double)n * cost_of(work));
}

/* Runs pieces on this thread. The exact clock would cost a good part of work that takes almost
 * no time, so the cost is learnt only where a step of the coarse clock shows that the work was
 * longer. */
static void
run_here(job *j, int64_t n)
{
    bool exact = (double)n * cost_of(j->work) > SHORT_PS;
    int64_t begin = exact ? lw_now_ns() : lw_about_now_ns(), took;

    run_part(j, j->first, j->work->n);
    took = (exact ? lw_now_ns() : lw_about_now_ns()) - begin;
    if (took > 0)
        learn(j, (double)took * 1000, n, 1);
}

bool
lw_work_run(const lw_work *work)
{
    job j = {.work = work};
    double cost_ps = cost_of(work);
    int64_t left;

    if (work->steady && cost_ps > 0 && (double)work->n * cost_ps < SHORT_PS)
        return work->n == 0 || work->body(work->context, 0, work->n);
    if (cost_ps == 0) {
        samples s = {.j = &j};
        lw_in_pieces(work->stop, 0, work->n, work->n, 1, sample, &s);
        j.first = s.n;
    }
    left = work->n - j.first;
    if (left <= 0 || !all_run(&j))
        return all_run(&j);
    if (!is_parallel(work, left)) {
        run_here(&j, left);
        lw_work_alone((double)left * cost_of(work));
        return all_run(&j);
    }
    lw_parallel_until(left, grain_of(work, left, cost_of(work)), part, &j, work->stop);
    /* The wait for threads is not counted, which would make parts of few pieces permanent. */
    if (j.n_run > 0)
        learn(&j, (double)j.took_ps * (work->steady ? (double)j.n_run : 1), j.n_run,
              lw_host_threads());
    return all_run(&j);
}
