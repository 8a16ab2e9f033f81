/* Runs with where=: only elements whose mask is set are read and written.
 *
 * Where many selected elements follow each other, they are run where they are. Elsewhere they
 * are gathered in blocks of scratch memory, computed there and scattered. */
#include "ufunc/host_internal.h"

#include "core/base/elements.h"

#include <string.h>

enum { DENSE = 32 }; /* selected elements in a row that are run where they are */

static bool
is_dense(const lw_run *r, int64_t at, int64_t end)
{
    static const char ones[DENSE] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

    return r->mask_step == 1 && end - at >= DENSE && memcmp(r->mask + at, ones, DENSE) == 0;
}

/* The first element from `at` on that is not selected. */
static int64_t
end_of_run(const lw_run *r, int64_t at, int64_t end)
{
    const char *zero = memchr(r->mask + at, 0, (size_t)(end - at));

    return zero ? zero - r->mask : end;
}

/* Finds the next selected elements from *at on, at most `most` of them, up to a dense run. *at
 * becomes the element to go on with. */
static uint32_t
select_elements(const lw_run *r, int64_t *at, int64_t end, uint32_t most, int64_t *index)
{
    enum { STEP = 8 };
    uint32_t n = 0;
    int64_t i = *at;

    while (i < end && n + STEP <= most && !is_dense(r, i, end)) {
        int64_t to = end - i < STEP ? end : i + STEP;
        uint64_t eight = 1;
        if (r->mask_step == 1 && to - i == STEP)
            memcpy(&eight, r->mask + i, sizeof eight);
        for (; eight != 0 && i < to; i++) {
            index[n] = i;
            n += r->mask[i * r->mask_step] != 0;
        }
        i = to;
    }
    *at = i;
    return n;
}

static void
selected_block(lw_run *r, const int64_t *index, uint32_t n, char *scratch)
{
    enum { ROW = (1 << LW_HOST_ROW_BITS) - 1 };
    lw_host_kernel *kernel = r->kernel;
    char *work[LW_MAX_ARGS];
    int64_t key;

    for (int i = 0; i < kernel->n; i++) {
        uint32_t size = kernel->size[i];
        work[i] = scratch;
        scratch += kernel->block * size;
        if (i >= kernel->nin)
            continue;
        if (r->strides[i] == 0)
            lw_elements_fill(work[i], r->args[i], size, n);
        else
            lw_elements_gather_at(work[i], r->args[i], r->strides[i], size, index, n);
    }
    key = lw_run_block(r, work, n);
    if (key != INT64_MAX) /* from the number among the selected to that among all */
        lw_run_note(r, index[key >> LW_HOST_ROW_BITS] * (ROW + 1) | (key & ROW), 0);
    for (int i = kernel->nin; i < kernel->n; i++)
        lw_elements_scatter_at(r->args[i], r->strides[i], work[i], kernel->size[i], index, n);
}

void
lw_run_masked_span(lw_run *r, int64_t n)
{
    enum { MOST = 1024 }; /* kernel->block is no larger */
    _Alignas(64) char scratch[LW_HOST_SCRATCH];
    int64_t index[MOST] = {0}; /* for the analyser: all that is read has been written */

    for (int64_t at = 0; at < n;) {
        if (is_dense(r, at, n)) {
            int64_t end = end_of_run(r, at, n);
            lw_run_in_any_order(r, at, end);
            at = end;
            continue;
        }
        uint32_t selected = select_elements(r, &at, n, r->kernel->block, index);
        if (selected > 0)
            selected_block(r, index, selected, scratch);
    }
}
