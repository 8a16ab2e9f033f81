#include "core/host/schedule.h"

#include "core/base/clock.h"
#include "core/host/raise_note.h"
#include "core/host/thread_pool.h"

/* Starting the pool's threads and waiting for them takes some 10 µs. */
enum { PARALLEL_PS = 40000000, CHUNK_PS = 20000000, SAMPLE_NS = 5000 };
/* The first call of the body in a part has at most so many pieces, because their cost may
 * depend on their values. */
enum { FEW = 64 };

typedef struct job {
    lw_work *work;
    int64_t first;         /* piece that number 0 of the pool's loop is */
    int64_t own_ns, own_n; /* the caller's share of the pool's loop */
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
    bool good = j->work->body(j->work->context, begin, end);

    if (!good)
        atomic_store_explicit(&j->failed, true, memory_order_relaxed);
    return good;
}

static uint32_t
cost_of(const lw_work *work)
{
    return atomic_load_explicit(work->cost_ps, memory_order_relaxed);
}

static void
run_part(job *j, int64_t begin, int64_t end, uint32_t worker)
{
    uint32_t cost = cost_of(j->work);
    int64_t first = cost && end - begin > FEW ? CHUNK_PS / cost : 1;

    lw_in_pieces(j->work->stop, worker, begin, end, first < FEW ? first : FEW, j->work->unit,
                 run_piece, j);
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

static bool
all_run(const job *j)
{
    return !atomic_load_explicit(&j->failed, memory_order_relaxed) &&
           (j->work->stop == NULL || !j->work->stop->stopped);
}

static void
learn(const job *j, int64_t took_ns, int64_t n)
{
    double cost = (double)took_ns * 1000.0 / (double)n;

    if (!all_run(j))
        return;
    atomic_store_explicit(j->work->cost_ps,
                          cost < 1     ? 1
                          : cost > 4e9 ? 4000000000u
                                       : (uint32_t)cost,
                          memory_order_relaxed);
}

/* The first pieces, twice as many each time, until the clock shows what one costs. Gives how
 * many were run. */
static int64_t
sample(job *j)
{
    int64_t done = 0, n = j->work->n, begin = lw_now_ns(), took;

    for (int64_t step = 1; done < n; step *= 2) {
        int64_t end = n - done < step ? n : done + step;
        if (!run_piece(j, done, end))
            break;
        done = end;
        took = lw_now_ns() - begin;
        if (took < SAMPLE_NS && done < n)
            continue;
        learn(j, took, done);
        break;
    }
    return done;
}

static int64_t
grain_of(const lw_work *work, uint32_t cost_ps)
{
    int64_t n = cost_ps ? CHUNK_PS / (int64_t)cost_ps + 1 : work->unit;

    return n < work->unit ? n : n / work->unit * work->unit;
}

bool
lw_work_is_long(const lw_work *work)
{
    uint32_t cost_ps = cost_of(work);

    return cost_ps == 0 || (double)work->n * cost_ps > CHUNK_PS;
}

bool
lw_work_run(lw_work *work)
{
    job j = {.work = work};
    int64_t begin, left;
    uint32_t cost_ps;

    if (cost_of(work) == 0)
        j.first = sample(&j);
    left = work->n - j.first;
    if (left <= 0 || !all_run(&j))
        return all_run(&j);
    begin = lw_now_ns();
    cost_ps = cost_of(work); /* which another thread may change at any time */
    if ((double)left * cost_ps > PARALLEL_PS && lw_host_threads() > 1 && !work->in_order) {
        lw_parallel_for(left, grain_of(work, cost_ps), part, &j);
        if (j.own_n > 0) /* without the wait for threads, which would keep few pieces there */
            learn(&j, j.own_ns, j.own_n);
    } else {
        run_part(&j, j.first, work->n, 0);
        learn(&j, lw_now_ns() - begin, left);
    }
    return all_run(&j);
}
