/* Items on one thread or several: chunks are as large as starting a thread is worth, by what an
 * item was measured to cost. */
#include "gufunc/host_code.h"

#include "core/base/clock.h"
#include "core/base/lock.h"
#include "core/host/element_race.h"
#include "core/host/raise_note.h"
#include "core/host/thread_pool.h"
#include "core/host/value_class.h"

#include <fenv.h>
#include <stdatomic.h>

/* Starting the pool's threads and waiting for them takes some 10 µs. */
enum { PARALLEL_PS = 40000000, CHUNK_PS = 20000000, SAMPLE_NS = 5000, FEW = 64 };

typedef struct job {
    lw_gufunc_host *host;
    const lw_gufunc_code *code;
    char *const *args;
    const int64_t *dims, *steps;
    lw_stop *stop;
    int64_t first;         /* item that number 0 of the pool's loop is */
    int64_t own_ns, own_n; /* the caller's share of the pool's loop */
    lw_gufunc_failure *failure;
    lw_lock lock;
} job;

/* False: an item raised, the rest is not run. */
static bool
piece(void *context, int64_t begin, int64_t end)
{
    job *j = context;
    int32_t status = 0;
    int64_t failed = j->code->run(j->args, j->dims, j->steps, begin, end, &status);

    if (failed < 0)
        return true;
    lw_lock_take(&j->lock);
    if (j->failure->row == 0 || failed < j->failure->item) {
        j->failure->item = failed;
        j->failure->row = (uint32_t)status;
        lw_raise_noted(j->failure->words);
    }
    lw_lock_give(&j->lock);
    return false;
}

static bool
piece_watched(void *context, int64_t begin, int64_t end)
{
    bool going = true;

    for (int64_t i = begin; i < end && going; i++) {
        lw_race_next(lw_race_current());
        going = piece(context, i, i + 1);
    }
    return going;
}

/* The first piece is of few items: what they cost may depend on their values. */
static void
run_part(job *j, int64_t begin, int64_t end, uint32_t worker)
{
    uint32_t cost = atomic_load_explicit(&j->host->cost_ps, memory_order_relaxed);
    int64_t first = cost && end - begin > FEW ? CHUNK_PS / cost : 1;

    lw_in_pieces(j->stop, worker, begin, end, first < FEW ? first : FEW, 1, piece, j);
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
learn(job *j, int64_t took_ns, int64_t n)
{
    double cost = (double)took_ns * 1000.0 / (double)n;

    if (j->stop != NULL && j->stop->stopped) /* not all were run */
        return;
    atomic_store_explicit(&j->host->cost_ps,
                          cost < 1     ? 1
                          : cost > 4e9 ? 4000000000u
                                       : (uint32_t)cost,
                          memory_order_relaxed);
}

/* The first items, twice as many each time, until the clock shows what one costs. Gives how
 * many were run. */
static int64_t
sample(job *j, int64_t n)
{
    int64_t done = 0, begin = lw_now_ns(), took;

    for (int64_t step = 1; done < n && j->failure->row == 0; step *= 2) {
        int64_t end = n - done < step ? n : done + step;
        piece(j, done, end);
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
core_volume(const lw_gufunc_host *host, const int64_t *dims)
{
    int64_t volume = 1;

    for (uint32_t d = 0; d < host->n_dims; d++)
        if (__builtin_mul_overflow(volume, dims[1 + d] + 1, &volume))
            return INT64_MAX;
    return volume;
}

static void
run_many(job *j, int64_t n)
{
    lw_gufunc_host *host = j->host;
    int64_t volume = core_volume(host, j->dims), begin, left;
    double cost;

    if (atomic_load_explicit(&host->cost_ps, memory_order_relaxed) == 0 ||
        atomic_load_explicit(&host->volume, memory_order_relaxed) != volume) {
        atomic_store_explicit(&host->volume, volume, memory_order_relaxed);
        j->first = sample(j, n);
    }
    left = n - j->first;
    if (left <= 0 || j->failure->row != 0)
        return;
    cost = atomic_load_explicit(&host->cost_ps, memory_order_relaxed);
    begin = lw_now_ns();
    if ((double)left * cost > PARALLEL_PS && lw_host_threads() > 1 && !host->in_order) {
        lw_parallel_for(left, (int64_t)(CHUNK_PS / cost) + 1, part, j);
        if (j->own_n > 0) /* without the wait for threads, which would keep few items there */
            learn(j, j->own_ns, j->own_n);
    } else {
        run_part(j, j->first, n, 0);
        learn(j, lw_now_ns() - begin, left);
    }
}

/* ---- floating-point flags ---- */

#define FLAGS (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW)

/* The classes of all elements of an operand's core. */
static unsigned
class_of_core(const lw_core_operand *operand, lw_dtype dtype, const char *at,
              const int64_t *dims, const int64_t *strides, uint32_t d)
{
    unsigned found = 0;

    if (d == operand->n)
        return lw_value_class(dtype, at);
    for (int64_t i = 0; i < dims[1 + operand->dims[d]]; i++)
        found |= class_of_core(operand, dtype, at + i * strides[d], dims, strides, d + 1);
    return found;
}

static int
explained(const job *j, int64_t item, int flags)
{
    const lw_gufunc_loop *loop = j->host->loop;
    const int64_t *strides = j->steps + loop->nin + loop->nout;
    unsigned in = 0, out = 0;

    for (int k = 0; k < loop->nin + loop->nout; k++) {
        const lw_core_operand *operand = &loop->layout->operands[k];
        unsigned found = class_of_core(operand, loop->types[k], j->args[k] + item * j->steps[k],
                                       j->dims, strides, 0);
        *(k < loop->nin ? &in : &out) |= found;
        strides += operand->n;
    }
    return lw_flags_explained(in & ~(unsigned)LW_IS_ZERO, out, flags); /* of some element */
}

/* Take back the flags raised since `before` that no item explains. */
static void
settle_flags(const job *j, int before)
{
    int fresh = fetestexcept(FLAGS) & ~before, real = 0;

    for (int64_t i = 0; i < j->dims[0] && real != fresh; i++)
        real |= explained(j, i, fresh);
    if (real != fresh)
        feclearexcept(fresh & ~real);
}

lw_status
lw_gufunc_host_run(lw_gufunc_host *host, lw_gufunc_code *code, char *const *args,
                   const int64_t *dims, const int64_t *steps, lw_stop *stop,
                   lw_gufunc_failure *failure)
{
    job j = {.host = host,
             .code = code,
             .args = args,
             .dims = dims,
             .steps = steps,
             .stop = stop,
             .failure = failure,
             .lock = LW_LOCK_INIT};
    int before = host->doubts_flags ? fetestexcept(FLAGS) : 0;

    failure->row = 0;
    if (dims[0] <= 0)
        return LW_OK;
    if (code->watched && lw_race_current() != NULL)
        lw_in_pieces(stop, 0, 0, dims[0], 1, 1, piece_watched, &j);
    else if (dims[0] == 1 || (dims[0] <= FEW && core_volume(host, dims) <= FEW))
        run_part(&j, 0, dims[0], 0);
    else
        run_many(&j, dims[0]);
    atomic_fetch_add_explicit(&host->items, dims[0], memory_order_relaxed);
    if (host->doubts_flags)
        settle_flags(&j, before);
    return LW_OK;
}
