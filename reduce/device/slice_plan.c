#include "reduce/device/slice_plan.h"

#include "reduce/function/body_ir.h"

#include <assert.h>
#include <string.h>

enum {
    SHARED = 32 * 1024, /* bytes of shared memory that a block may use */
    LEAST_ITEMS = 4     /* fewest elements of a lane */
};

void
lw_reduce_slices_of(const int64_t *index, int64_t n, int64_t elements, lw_reduce_slice *out)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t end = i + 1 < n ? index[i + 1] : elements;
        out[i].begin = index[i];
        out[i].count = end > index[i] ? end - index[i] : 1;
    }
}

static uint32_t
threads_log2(const lw_reduce_scan *scan)
{
    uint32_t bytes = lw_reduce_device_bytes(scan->reduction, &(lw_reduce_key){0}), log = 8;

    while (log > 5 && ((bytes << log) > SHARED ||
                       (scan->max_threads != 0 && 1u << log > scan->max_threads)))
        log--;
    return log;
}

/* The number of lanes follows from the mean length of a slice. */
void
lw_reduce_slice_plan_of(const lw_reduce_scan *scan, int64_t n_slices, lw_reduce_slice_plan *out)
{
    uint32_t threads = threads_log2(scan), lanes = 0, most = threads;

    assert(n_slices > 0 && scan->outer > 0 && scan->inner > 0 && scan->elements > 0);
    memset(out, 0, sizeof *out);
    out->key.slices = out->key.vector = 1;
    out->key.columns = scan->inner > 1;
    if (out->key.columns) /* neighbouring results, for a warp to load neighbours */
        for (int64_t n = 1; n < scan->inner && n < 32; n *= 2)
            most--;
    while (lanes < most && (int64_t)LEAST_ITEMS << lanes < scan->elements / n_slices)
        lanes++;
    out->key.lanes_log2 = (uint8_t)lanes;
    out->key.results_log2 = (uint8_t)(threads - lanes);
    out->threads = 1u << threads;
    out->results = scan->outer * n_slices * scan->inner;
    out->tiles = ((out->results - 1) >> out->key.results_log2) + 1;
}

uint32_t
lw_reduce_slice_words(const lw_reduce_scan *scan, const lw_reduce_slice_plan *plan,
                      int64_t n_slices, uint64_t slices, uint64_t words[LW_SCAN_MOST_PARAMS])
{
    const lw_reduction *r = scan->reduction;
    /* items, elements and items of a block differ from slice to slice: the kernel sets them */
    const uint64_t head[] = {(uint64_t)plan->results, 0,     0, 0, 1, (uint64_t)n_slices,
                             (uint64_t)scan->inner,   slices};
    uint32_t n = sizeof head / sizeof *head, n_parts = lw_reduce_acc_parts(r, NULL);

    memcpy(words, head, sizeof head);
    for (uint32_t i = 0; i < r->n_in; i++) {
        words[n++] = (uint64_t)(uintptr_t)scan->operand[i];
        words[n++] = (uint64_t)scan->outer_step[i];
        words[n++] = (uint64_t)scan->step[i];
        words[n++] = (uint64_t)scan->inner_step[i];
    }
    memset(words + n, 0, (n_parts + 1) * sizeof *words); /* nothing is split */
    n += n_parts + 1;
    for (uint32_t i = 0; i < r->n_out; i++)
        words[n++] = (uint64_t)(uintptr_t)scan->out[i];
    assert(n <= LW_SCAN_MOST_PARAMS);
    return n;
}
