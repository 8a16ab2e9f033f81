/* Reductions of many slices of host memory, without a call of compiled code for each. */
#include "reduce/host/host_parts.h"

#include <assert.h>

enum {
    TOGETHER = 256, /* slices whose accumulators and results are held at a time */
    SHORT = 512     /* most elements of a slice that is reduced without lanes */
};

typedef struct host_slice { /* as the loop lw_slices reads them */
    int64_t begin, count;   /* count > 0 */
} host_slice;

typedef struct slices_run {
    run s;
    const int64_t *index;
    int64_t n, groups; /* groups of TOGETHER slices in a row */
    int64_t inner;
} slices_run;

/* Reduces a slice of any length, by combining its chunks from left to right. */
static void
long_slice(const run *s, int64_t row, const host_slice *slice, const bank *to)
{
    _Alignas(64) char memory[LW_REDUCE_MOST * 64];
    bank next = bank_at(s->r, memory, 1);
    int64_t begin = slice->begin, stop = slice->begin + slice->count;

    for (int64_t at = begin; at < stop && (at == begin || !is_cut(s)); at += s->chunk) {
        int64_t end = at + s->chunk < stop ? at + s->chunk : stop;
        lw_reduce_chunk(s, row, at, end, begin, at == begin ? to : &next);
        if (at > begin)
            merge(s, to, &next, 1);
    }
}

/* Reduces n slices of a row to n accumulators. */
static void
reduce_slices(const slices_run *c, int64_t row, const host_slice *slices, int64_t n,
              const bank *to)
{
    char *args[2 * LW_REDUCE_MOST + 1] = {0};
    int64_t strides[LW_REDUCE_MOST + 1] = {0}, end;
    const run *s = &c->s;

    for (uint32_t i = 0; i < s->n_in; i++) {
        args[i] = s->job->operand[i] + offset_of(&s->job->kept, i, row);
        strides[i] = s->job->reduced.stride[i][0];
    }
    for (int64_t i = 0; i < n && (i == 0 || !is_cut(s)); i = end) {
        const host_slice *slice = &slices[i];
        bank at = bank_from(to, i);
        end = i + 1;
        if (slice->count > SHORT) {
            long_slice(s, row, slice, &at);
            continue;
        }
        while (end < n && slices[end].count <= SHORT && !s->code->costly)
            end++;
        memcpy(args + s->n_operands, at.at, at.n * sizeof *args);
        s->code->scans.slices(args, end - i, strides, &slice->begin);
    }
}

/* Reads the slices of numpy.ufunc.reduceat: each reaches to the next index, or has one
 * element. */
static void
read_slices(const slices_run *c, int64_t first, int64_t n, host_slice *out)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t begin = c->index[first + i];
        int64_t end = first + i + 1 < c->n ? c->index[first + i + 1] : c->s.n_reduced;
        out[i].begin = begin;
        out[i].count = end > begin ? end - begin : 1;
    }
}

/* Stores the results of n slices, which are `inner` elements apart in memory. */
static void
put_results(const slices_run *c, const bank *acc, int64_t place, int64_t n)
{
    _Alignas(64) char memory[LW_REDUCE_MOST * TOGETHER * 16];
    const lw_reduction *r = c->s.r;
    char *args[2 * LW_REDUCE_MOST];

    memcpy(args, acc->at, acc->n * sizeof *args);
    for (uint32_t i = 0; i < r->n_out; i++) {
        size_t size = lw_dtypes[r->out[i]].size_bytes;
        args[acc->n + i] = c->inner == 1 ? c->s.job->out[i] + (size_t)place * size
                                         : memory + (size_t)i * TOGETHER * 16;
    }
    c->s.code->finish(args, n);
    for (uint32_t i = 0; i < r->n_out && c->inner > 1; i++) {
        size_t size = lw_dtypes[r->out[i]].size_bytes;
        for (int64_t k = 0; k < n; k++)
            memcpy(c->s.job->out[i] + (size_t)(place + k * c->inner) * size,
                   args[acc->n + i] + (size_t)k * size, size);
    }
}

static bool
some_groups(void *context, int64_t begin, int64_t end)
{
    _Alignas(64) char memory[LW_REDUCE_MOST * TOGETHER * 16];
    const slices_run *c = context;
    bank acc = bank_at(c->s.r, memory, TOGETHER);
    host_slice slices[TOGETHER];

    for (int64_t i = begin; i < end; i++) {
        int64_t row = i / c->groups, first = i % c->groups * TOGETHER;
        int64_t n = c->n - first < TOGETHER ? c->n - first : TOGETHER;
        read_slices(c, first, n, slices);
        reduce_slices(c, row, slices, n, &acc);
        if (is_cut(&c->s))
            return false;
        put_results(c, &acc, (row / c->inner * c->n + first) * c->inner + row % c->inner, n);
    }
    return true;
}

lw_status
lw_reduce_slices_run(lw_reduce_job *job, const int64_t *index, int64_t n, int64_t inner)
{
    slices_run c;

    assert(job->reduced.n == 1);
    lw_reduce_run_start(&c.s, job);
    c.index = index;
    c.n = n;
    c.inner = inner;
    if (c.s.n_kept == 0 || n == 0)
        return LW_OK;
    c.groups = (n + TOGETHER - 1) / TOGETHER;
    run_items(&c.s, LW_REDUCE_SLICES, c.s.n_kept * c.groups,
              c.s.n_reduced / c.groups + TOGETHER, some_groups, &c);
    return ended(&c.s);
}
