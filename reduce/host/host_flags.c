/* Flags that the code raises on behalf of a formula are believed (LW_FLAGS_SURE). Those of code
 * that may have computed more than the formula are kept if a result explains them, as for
 * ufuncs (core/host/value_class.h): elements are looked at only then, and only as far as
 * necessary. Loops of scans and slices combine a first element with nothing, which only an
 * identity keeps free of flags. */
#include "reduce/host/host_flags.h"

#include "core/host/flags.h"
#include "core/host/value_class.h"
#include "reduce/host/host_parts.h"

enum { SPOILT = LW_IS_NAN | LW_IS_INF };

void
lw_reduce_flags_begin(void)
{
    if (lw_flags_raised())
        lw_flags_clear();
}

/* The class bits of the elements of one result, until nothing can be added. */
static unsigned
class_of_elements(const lw_reduce_job *job, int64_t result)
{
    const lw_reduction *r = job->reduction;
    unsigned found = 0;
    int64_t n = 1;

    for (int d = 0; d < job->reduced.n; d++)
        n *= job->reduced.size[d];
    for (uint32_t i = 0; i < r->n_in; i++) {
        const char *base = job->operand[i] + offset_of(&job->kept, i, result);
        if (!lw_is_float(r->loaded[i]) && !lw_is_complex(r->loaded[i]))
            continue;
        for (int64_t at = 0; at < n && (found & SPOILT) != SPOILT; at++)
            found |= lw_value_class(r->loaded[i], base + offset_of(&job->reduced, i, at));
    }
    return found & ~(unsigned)LW_IS_ZERO; /* of some element */
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

static int64_t
n_kept(const lw_reduce_job *job)
{
    int64_t n = 1;

    for (int d = 0; d < job->kept.n; d++)
        n *= job->kept.size[d];
    return n;
}

/* Which of `fresh` some result explains. */
static int
by_each(const lw_reduce_job *job, int fresh)
{
    int64_t n = n_kept(job);
    int real = 0;

    for (int64_t i = 0; i < n && real != fresh; i++) {
        unsigned out = class_of_result(job, i);
        if (lw_flags_explained(0, out, fresh & ~real))
            real |= lw_flags_explained(class_of_elements(job, i), out, fresh);
    }
    return real;
}

static int
by_all(const lw_reduce_job *job, int64_t n_results, int fresh)
{
    int64_t n = n_kept(job);
    unsigned in = 0, out = 0;

    for (int64_t i = 0; i < n_results; i++)
        out |= class_of_result(job, i);
    for (int64_t i = 0; i < n && lw_flags_explained(in, out, fresh); i++)
        in |= class_of_elements(job, i);
    return lw_flags_explained(in, out, fresh);
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
