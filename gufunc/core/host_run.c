/* Running the items of a call on one thread or several, and which floating-point flags they
 * leave. */
#include "gufunc/core/host_code.h"

#include "core/host/element_race.h"
#include "core/host/flags.h"
#include "core/host/value_class.h"
#include "core/plan/walk.h"

#include <stdatomic.h>
#include <string.h>

enum { FEW = 64 };

typedef struct job {
    lw_gufunc_host *host;
    const lw_gufunc_code *code;
    char *const *args;
    const int64_t *dims, *steps;
    lw_failure *failure;
} job;

/* False: an item raised, the rest is not run. */
static bool
piece(void *context, int64_t begin, int64_t end)
{
    job *j = context;
    int32_t status = 0;
    int64_t failed = j->code->run(j->args, j->dims, j->steps, begin, end, &status);

    if (failed >= 0)
        lw_failure_note(j->failure, failed, status);
    return failed < 0;
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

static int64_t
core_volume(const lw_gufunc_host *host, const int64_t *dims)
{
    int64_t volume = 1;

    for (uint32_t d = 0; d < host->n_dims; d++)
        if (__builtin_mul_overflow(volume, dims[1 + d] + 1, &volume))
            return INT64_MAX;
    return volume;
}

/* Whether items write to the same elements: an input that is broadcast over them is written
 * to. Then the later item's elements stay, as in a loop. */
static bool
items_meet(const job *j)
{
    const lw_gufunc_loop *loop = j->host->loop;
    bool meet = false;

    for (int k = 0; k < loop->nin; k++)
        meet |= loop->writable[k] && j->steps[k] == 0;
    return meet;
}

/* The cost of an item is remembered for the core sizes of the latest call; for other sizes it
 * is measured anew. */
static void
forget_other_sizes(lw_gufunc_host *host, int64_t volume)
{
    if (atomic_exchange_explicit(&host->volume, volume, memory_order_relaxed) != volume)
        atomic_store_explicit(&host->cost_ps, 0, memory_order_relaxed);
}

/* Runs items on several threads. */
static void
run_many(job *j, lw_stop *stop)
{
    lw_gufunc_host *host = j->host;
    lw_work work = {.n = j->dims[0],
                    .body = piece,
                    .context = j,
                    .cost_ps = &host->cost_ps,
                    .steady = host->steady,
                    .in_order = host->in_order || items_meet(j),
                    .stop = stop};

    forget_other_sizes(host, core_volume(host, j->dims));
    lw_work_run(&work);
}

/* ---- floating-point flags ---- */

/* The classes of all elements of an operand's core, together. */
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

/* Clears the flags set since `before` that no item explains. */
static void
settle_flags(const job *j, int before)
{
    int fresh = lw_flags_raised() & ~before, real = 0;

    for (int64_t i = 0; i < j->dims[0] && real != fresh; i++)
        real |= explained(j, i, fresh);
    if (real != fresh)
        feclearexcept(fresh & ~real);
}

void
lw_gufunc_host_run(lw_gufunc_host *host, lw_gufunc_code *code, char *const *args,
                   const int64_t *dims, const int64_t *steps, lw_stop *stop,
                   lw_failure *failure)
{
    job j = {.host = host,
             .code = code,
             .args = args,
             .dims = dims,
             .steps = steps,
             .failure = failure};
    int before = host->doubts_flags ? lw_flags_raised() : 0;

    lw_failure_init(failure);
    if (dims[0] <= 0)
        return;
    if (code->watched && lw_race_current() != NULL)
        lw_in_pieces(stop, 0, dims[0], 1, 1, piece_watched, &j);
    else if (dims[0] == 1 || (dims[0] <= FEW && core_volume(host, dims) <= FEW))
        lw_in_pieces(stop, 0, dims[0], 1, 1, piece, &j);
    else
        run_many(&j, stop);
    atomic_fetch_add_explicit(&host->items, dims[0], memory_order_relaxed);
    if (host->doubts_flags)
        settle_flags(&j, before);
}

/* ---- items of several dimensions ---- */

typedef struct walk_job {
    job row; /* of a row of items; its args are set for each */
    const lw_walk *walk;
} walk_job;

/* One row of items, or a part of it. */
static bool
run_row(const walk_job *w, char *const *args, int64_t at, int64_t n)
{
    int before = w->row.host->doubts_flags ? lw_flags_raised() : 0;
    int64_t dims[1 + LW_MAX_CORE_DIMS], failed;
    job row = w->row;
    int32_t status = 0;

    memcpy(dims, row.dims, (1 + row.host->n_dims) * sizeof *dims);
    dims[0] = n;
    row.args = args;
    row.dims = dims;
    failed = row.code->run(args, dims, row.steps, 0, n, &status);
    if (failed >= 0)
        lw_failure_note(row.failure, at + failed, status);
    if (row.host->doubts_flags)
        settle_flags(&row, before);
    return failed < 0;
}

static bool
rows(void *context, int64_t begin, int64_t end)
{
    const walk_job *w = context;
    int64_t index[LW_WALK_DIMS] = {0};
    char *args[LW_MAX_OPERANDS];
    bool going = true;

    lw_walk_place(w->walk, begin, index);
    for (int k = 0; k < w->walk->n_operands; k++)
        args[k] = lw_walk_address(w->walk, k, index);
    while (begin < end && going) {
        int64_t left = w->walk->shape[0] - index[0],
                n = left < end - begin ? left : end - begin;
        going = run_row(w, args, begin, n);
        begin += n;
        lw_walk_next_row(w->walk, index, args);
    }
    return going;
}

bool
lw_gufunc_host_may_walk(const lw_gufunc_host *host, const lw_gufunc_code *code)
{
    return !host->in_order && !code->watched;
}

void
lw_gufunc_host_run_walk(lw_gufunc_host *host, lw_gufunc_code *code, const lw_walk *walk,
                        const int64_t *dims, const int64_t *steps, lw_stop *stop,
                        lw_failure *failure)
{
    walk_job w = {
        .row = {.host = host, .code = code, .dims = dims, .steps = steps, .failure = failure},
        .walk = walk};
    lw_work work = {.n = walk->n,
                    .body = rows,
                    .context = &w,
                    .cost_ps = &host->cost_ps,
                    .steady = host->steady,
                    .stop = stop};

    lw_failure_init(failure);
    forget_other_sizes(host, core_volume(host, dims));
    lw_work_run(&work);
    atomic_fetch_add_explicit(&host->items, walk->n, memory_order_relaxed);
}
