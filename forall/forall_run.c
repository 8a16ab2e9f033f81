#include "forall/forall_run.h"

#include "core/base/clock.h"
#include "core/base/lock.h"
#include "core/host/raise_note.h"
#include "core/host/thread_pool.h"

/* Starting the pool's threads and waiting for them takes some 10 µs. */
enum { PARALLEL_PS = 40000000, CHUNK_PS = 20000000, SAMPLE_NS = 5000, LINE = 64 };
/* How long a user waits between Ctrl-C and its effect. */
static const double PIECE_PS = 50e9;

typedef struct job {
    lw_space_run *run;
    int64_t first;         /* element that number 0 of the pool's loop is */
    int64_t own_ns, own_n; /* the caller's share of the pool's loop */
    lw_lock lock;
} job;

/* Whether an element of it raises. */
static bool
run_piece(job *j, int64_t begin, int64_t end)
{
    lw_space_run *run = j->run;
    int32_t status = 0;
    int64_t failed = run->code(run->values, run->space, begin, end, &status);

    if (failed < 0)
        return false;
    lw_lock_take(&j->lock);
    if (run->failed < 0 || failed < run->failed) {
        run->failed = failed;
        run->status = status;
        lw_raise_noted(run->words);
    }
    lw_lock_give(&j->lock);
    return true;
}

/* Elements between two looks at `stop`: all, where that takes no time. */
static int64_t
piece_of(const lw_space_run *run, int64_t n)
{
    uint32_t cost = atomic_load_explicit(run->cost_ps, memory_order_relaxed);
    double most = cost ? PIECE_PS / cost : (double)n;

    if (run->stop == NULL || (double)n <= most)
        return n;
    return most < LINE ? (int64_t)most + 1 : (int64_t)most / LINE * LINE;
}

/* The caller asks, the others see. */
static bool
is_stopped(lw_space_run *run, uint32_t worker)
{
    if (worker == 0 && run->stop != NULL && !run->stopped && run->stop(run->stop_context))
        run->stopped = true;
    return run->stopped;
}

static void
run_part(job *j, int64_t begin, int64_t end, uint32_t worker)
{
    int64_t piece = piece_of(j->run, end - begin);

    for (int64_t at = begin; at < end; at += piece) {
        if (run_piece(j, at, end - at < piece ? end : at + piece))
            return;
        if (end - at > piece && is_stopped(j->run, worker))
            return;
    }
}

static lw_status
part(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    job *j = context;
    int64_t since = worker == 0 ? lw_now_ns() : 0;

    run_part(j, j->first + begin, j->first + end, worker);
    if (worker == 0) {
        j->own_ns += lw_now_ns() - since;
        j->own_n += end - begin;
    }
    return LW_OK;
}

static void
learn(lw_space_run *run, int64_t took_ns, int64_t n)
{
    double cost = (double)took_ns * 1000.0 / (double)n;

    atomic_store_explicit(run->cost_ps,
                          cost < 1     ? 1
                          : cost > 4e9 ? 4000000000u
                                       : (uint32_t)cost,
                          memory_order_relaxed);
}

/* The first elements, twice as many each time, until the clock shows what one costs. Gives how
 * many were run. */
static int64_t
sample(job *j)
{
    lw_space_run *run = j->run;
    int64_t done = 0, begin = lw_now_ns(), took;

    for (int64_t step = 1; done < run->n && run->failed < 0; step *= 2) {
        int64_t end = run->n - done < step ? run->n : done + step;
        run_piece(j, done, end);
        done = end;
        took = lw_now_ns() - begin;
        if (took < SAMPLE_NS && done < run->n)
            continue;
        learn(run, took, done);
        break;
    }
    return done;
}

static int64_t
grain_of(uint32_t cost_ps)
{
    int64_t n = CHUNK_PS / (int64_t)cost_ps + 1;

    return n < LINE ? n : n / LINE * LINE;
}

static double
work_ps(const lw_space_run *run, int64_t n)
{
    return (double)n * atomic_load_explicit(run->cost_ps, memory_order_relaxed);
}

bool
lw_space_is_long(const lw_space_run *run)
{
    return atomic_load_explicit(run->cost_ps, memory_order_relaxed) == 0 ||
           work_ps(run, run->n) > CHUNK_PS;
}

void
lw_space_run_all(lw_space_run *run)
{
    job j = {.run = run, .lock = LW_LOCK_INIT};
    int64_t begin, left;

    run->failed = -1;
    run->status = 0;
    if (atomic_load_explicit(run->cost_ps, memory_order_relaxed) == 0)
        j.first = sample(&j);
    left = run->n - j.first;
    if (left <= 0 || run->failed >= 0)
        return;
    begin = lw_now_ns();
    if (work_ps(run, left) > PARALLEL_PS && lw_host_threads() > 1 && !run->in_order) {
        uint32_t cost = atomic_load_explicit(run->cost_ps, memory_order_relaxed);
        lw_parallel_for(left, grain_of(cost), part, &j);
        if (j.own_n > 0) /* without the wait for threads, which would keep few elements there */
            learn(run, j.own_ns, j.own_n);
    } else {
        run_part(&j, j.first, run->n, 0);
        learn(run, lw_now_ns() - begin, left);
    }
}

void
lw_space_run_watched(lw_space_run *run, lw_race_watch *watch)
{
    enum { SOME = 4096 };
    job j = {.run = run, .lock = LW_LOCK_INIT};

    run->failed = -1;
    run->status = 0;
    for (int64_t i = 0; i < run->n && !lw_race_seen(watch); i++) {
        lw_race_next(watch);
        if (run_piece(&j, i, i + 1) || (i % SOME == SOME - 1 && is_stopped(run, 0)))
            return;
    }
}

void
lw_space_index(const lw_space *space, const lw_entry_key *key, int64_t element,
               int64_t index[LW_MAX_INDEX])
{
    int order[LW_MAX_INDEX];

    lw_space_order(key, order);
    for (int k = 0; k < key->n_index; k++) {
        int d = order[k];
        int64_t at = k + 1 < key->n_index ? element % space->n[d] : element;
        element = k + 1 < key->n_index ? element / space->n[d] : element;
        index[d] = space->start[d] + at * space->step[d];
    }
}
