/* Flags that the code raises on behalf of a formula are believed (LW_FLAGS_SURE). Those of code
 * that may have computed more than the formula are kept if a result explains them, as for
 * ufuncs (core/host/value_class.h): elements are looked at only then, and only as far as
 * necessary. Loops of scans and slices combine a first element with nothing, which only an
 * identity keeps free of flags. */
#include "reduce/host/host_flags.h"

#include "core/host/flags.h"
#include "core/host/thread_pool.h"
#include "core/host/value_class.h"
#include "reduce/host/host_parts.h"

enum { SPOILT = LW_IS_NAN | LW_IS_INF };

void
lw_reduce_flags_begin(void)
{
    if (lw_flags_raised())
        lw_flags_clear();
}

/* Values that are looked at: the threads' findings are joined in any order. */
typedef struct look {
    const lw_reduce_job *job;
    int64_t result;    /* whose elements are looked at */
    int fresh;         /* flags that are to be explained */
    atomic_uint found; /* class bits */
    atomic_int real;   /* flags that a result explains */
} look;

enum { GRAIN = 1 << 14 }; /* values, which take some 40 us */

static void
look_at(lw_dtype dtype, const char *at, int64_t stride, int64_t n, atomic_uint *found)
{
    unsigned bits = 0;

    for (int64_t i = 0; i < n; i++)
        bits |= lw_value_class(dtype, at + i * stride);
    atomic_fetch_or_explicit(found, bits, memory_order_relaxed);
}

static bool
is_spoilt(look *l)
{
    return (atomic_load_explicit(&l->found, memory_order_relaxed) & SPOILT) == SPOILT;
}

static lw_status
some_elements(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    enum { PIECE = 4096 };
    look *l = context;
    const lw_reduction *r = l->job->reduction;
    const lw_reduce_space *space = &l->job->reduced;
    int64_t inner = space->n ? space->size[space->n - 1] : 1;

    (void)worker;
    for (int64_t at = begin, n; at < end && !is_spoilt(l); at += n) {
        n = inner - at % inner < end - at ? inner - at % inner : end - at;
        n = n < PIECE ? n : PIECE;
        for (uint32_t i = 0; i < r->n_in; i++)
            if (lw_is_float(r->loaded[i]) || lw_is_complex(r->loaded[i]))
                look_at(r->loaded[i],
                        l->job->operand[i] + offset_of(&l->job->kept, i, l->result) +
                            offset_of(space, i, at),
                        space->n ? space->stride[i][space->n - 1] : 0, n, &l->found);
    }
    return LW_OK;
}

/* The class bits of the elements of one result, until nothing can be added. */
static unsigned
class_of_elements(const lw_reduce_job *job, int64_t result)
{
    look l = {.job = job, .result = result};

    lw_parallel_for(lw_reduce_space_size(&job->reduced), GRAIN, some_elements, &l);
    return l.found & ~(unsigned)LW_IS_ZERO; /* of some element */
}

static unsigned
class_of_result(const lw_reduce_job *job, int64_t result)
{
    const lw_reduction *r = job->reduction;
    unsigned found = 0;

    for (uint32_t i = 0; i < r->n_out; i++)
        found |=
            lw_value_class(r->out[i], job->out[i] + result * lw_dtypes[r->out[i]].size_bytes);
    return found;
}

static lw_status
each_result(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    look *l = context;

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        unsigned out = class_of_result(l->job, i);
        int left = l->fresh & ~atomic_load_explicit(&l->real, memory_order_relaxed);
        if (left == 0)
            break;
        if (lw_flags_explained(0, out, left))
            atomic_fetch_or_explicit(
                &l->real, lw_flags_explained(class_of_elements(l->job, i), out, l->fresh),
                memory_order_relaxed);
    }
    return LW_OK;
}

/* Which of `fresh` some result explains. */
static int
by_each(const lw_reduce_job *job, int fresh)
{
    look l = {.job = job, .fresh = fresh};
    int64_t n = lw_reduce_space_size(&job->reduced);

    lw_parallel_for(lw_reduce_space_size(&job->kept), n < GRAIN ? GRAIN / (n + 1) : 1,
                    each_result, &l);
    return l.real;
}

static lw_status
some_results(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    look *l = context;
    const lw_reduction *r = l->job->reduction;

    (void)worker;
    for (uint32_t i = 0; i < r->n_out; i++) {
        int64_t size = lw_dtypes[r->out[i]].size_bytes;
        look_at(r->out[i], l->job->out[i] + begin * size, size, end - begin, &l->found);
    }
    return LW_OK;
}

static int
by_all(const lw_reduce_job *job, int64_t n_results, int fresh)
{
    look l = {.job = job};
    int64_t n = lw_reduce_space_size(&job->kept);
    unsigned in = 0;

    lw_parallel_for(n_results, GRAIN, some_results, &l);
    for (int64_t i = 0; i < n && lw_flags_explained(in, l.found, fresh); i++)
        in |= class_of_elements(job, i);
    return lw_flags_explained(in, l.found, fresh);
}

int
lw_reduce_flags_end(const lw_reduce_job *job, bool by_result, int64_t n)
{
    const lw_reduction *r = job->reduction;
    int fresh = lw_flags_raised(), real = fresh;

    if (fresh == 0)
        return 0;
    if (r->flags == LW_FLAGS_NONE)
        real = 0;
    else if (r->flags == LW_FLAGS_DOUBTED || (!by_result && !r->has_identity))
        real = by_result ? by_each(job, fresh) : by_all(job, n, fresh);
    lw_flags_clear();
    return real;
}
