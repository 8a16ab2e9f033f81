/* Scans over host memory. */
#include "reduce/host_parts.h"

#include "core/base/memory.h"
#include "core/host/thread_pool.h"

typedef struct scan {
    run s;
    const lw_reduce_space *results; /* kept dimensions, then the reduced one */
    bool before;
} scan;

static int64_t
result_offset(const scan *c, uint32_t which, int64_t row)
{
    int64_t offset = 0;

    for (int d = c->results->n - 2; d >= 0 && row > 0; d--) {
        offset += row % c->results->size[d] * c->results->stride[which][d];
        row /= c->results->size[d];
    }
    return offset;
}

static void
one_row(const scan *c, int64_t row)
{
    _Alignas(64) char memory[LW_REDUCE_MOST * 64];
    const run *s = &c->s;
    const lw_reduce_job *job = s->job;
    bank acc = bank_at(s->r, memory, 1);
    char *args[3 * LW_REDUCE_MOST + 1];
    int64_t strides[2 * LW_REDUCE_MOST + 1];

    for (uint32_t i = 0; i < s->n_in; i++) {
        args[i] = job->operand[i] + offset_of(&job->kept, i, row);
        strides[i] = job->reduced.stride[i][0];
    }
    memset(memory, 0, sizeof memory);
    if (job->empty != NULL)
        bank_fill(&acc, job->empty, 1);
    memcpy(args + s->n_operands, acc.at, acc.n * sizeof *args);
    for (uint32_t i = 0; i < s->r->n_out; i++) {
        args[s->n_operands + acc.n + i] = job->out[i] + result_offset(c, i, row);
        strides[s->n_operands + i] = c->results->stride[i][c->results->n - 1];
    }
    if (s->r->indexed) {
        args[s->n_in] = job->operand[s->n_in];
        strides[s->n_in] = sizeof(int64_t);
    }
    s->code->scan(args, s->n_reduced, strides, job->empty != NULL, c->before);
}

static lw_status
some_rows(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        one_row(context, i);
    return LW_OK;
}

lw_status
lw_reduce_scan_run(lw_reduce_job *job, const lw_reduce_space *results, bool before,
                   lw_error *err)
{
    scan c = {.s = lw_reduce_run_of(job), .results = results, .before = before};
    int64_t *index = NULL;
    lw_status status;

    if (c.s.n_kept == 0 || c.s.n_reduced == 0)
        return LW_OK;
    if (c.s.r->indexed) {
        index = lw_alloc((size_t)c.s.n_reduced * sizeof *index);
        if (index == NULL)
            return lw_fail_memory(err);
        for (int64_t i = 0; i < c.s.n_reduced; i++)
            index[i] = i;
        job->operand[c.s.n_in] = (char *)index;
    }
    status = lw_parallel_for(c.s.n_kept, grain_of(c.s.n_reduced), some_rows, &c);
    lw_free(index);
    return status;
}
