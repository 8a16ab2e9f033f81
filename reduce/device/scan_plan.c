#include "reduce/device/scan_plan.h"

#include "core/base/divider.h"
#include "reduce/function/body_ir.h"

#include <assert.h>
#include <string.h>

enum {
    SHARED = 48 * 1024 - 16, /* bytes of shared memory that a block may use */
    THREADS_LOG2 = 8,        /* as LW_REDUCE_THREADS */
    LEAST_THREADS_LOG2 = 5,  /* a warp */
    MOST_ITEMS_LOG2 = 5,
    LONG_THREADS_LOG2 = 7,
    LONG_ITEMS_LOG2 = 6,
    LONG_LEAST_THREADS_LOG2 = 6, /* rather than fewer than 2^MOST_ITEMS_LOG2 items */
    SIDE_LOG2 = 3,               /* fewest lanes that load neighbouring elements */
    WIDE_LOG2 = 5,               /* neighbouring rows of a block */
    PREFETCH_FROM = 1 << 27,     /* bytes of the operands */
    SUMS_AT = 128                /* bytes from the counter to the sums in device memory */
};

/* The logarithm of the least power of two that is not below n. */
static uint32_t
log2_above(int64_t n)
{
    uint32_t log = 0;

    while (log < 62 && INT64_C(1) << log < n)
        log++;
    return log;
}

/* ---- axes ---- */

/* Merges the axes from … to - 1 into one of this step. False: their strides do not allow it. */
static bool
merge(int from, int to, const int64_t *shape, const int64_t *strides, int64_t *step)
{
    int64_t size = 1;

    *step = 0;
    for (int d = to - 1; d >= from; d--) {
        if (shape[d] == 1)
            continue;
        if (size == 1)
            *step = strides[d];
        else if (strides[d] != *step * size)
            return false;
        size *= shape[d];
    }
    return true;
}

bool
lw_reduce_scan_operand(lw_reduce_scan *scan, uint32_t which, int ndim, int axis,
                       const int64_t *shape, const int64_t *strides)
{
    scan->step[which] = shape[axis] == 1 ? 0 : strides[axis];
    return merge(0, axis, shape, strides, &scan->outer_step[which]) &&
           merge(axis + 1, ndim, shape, strides, &scan->inner_step[which]);
}

/* ---- the block ---- */

/* Whether rows have several tiles each. Then half as many threads work on a tile of the same
 * size, which takes half the time for waiting on each other and for looking back. */
static bool
is_long(const lw_reduce_scan *scan)
{
    return scan->inner == 1 && scan->keys == NULL &&
           scan->elements > INT64_C(1) << (THREADS_LOG2 + MOST_ITEMS_LOG2);
}

/* Chooses as many threads and elements of a thread as shared memory holds; elements are reduced
 * first. */
static void
choose_size(const lw_reduce_scan *scan, uint32_t *threads, lw_reduce_key *key)
{
    uint32_t bytes = lw_reduce_device_bytes(scan->reduction, key);

    *threads = is_long(scan) ? LONG_THREADS_LOG2 : THREADS_LOG2;
    key->items_log2 = is_long(scan) ? LONG_ITEMS_LOG2 : MOST_ITEMS_LOG2;
    while (scan->max_threads != 0 && *threads > LEAST_THREADS_LOG2 &&
           1u << *threads > scan->max_threads)
        (*threads)--;
    while (scan->max_items != 0 && key->items_log2 > 0 &&
           1u << key->items_log2 > scan->max_items)
        key->items_log2--;
    for (;;) {
        if (lw_reduce_scan_places(scan->reduction, key, *threads) * bytes <= SHARED)
            return;
        if (is_long(scan) && key->items_log2 == MOST_ITEMS_LOG2 &&
            *threads > LONG_LEAST_THREADS_LOG2)
            (*threads)--;
        else if (key->items_log2 > 1 || (*threads == LEAST_THREADS_LOG2 && key->items_log2 > 0))
            key->items_log2--;
        else if (*threads > LEAST_THREADS_LOG2)
            (*threads)--;
        else
            return; /* some 25 KB */
    }
}

/* Distributes the elements of a row over lanes, and other rows over the remaining threads. */
static void
choose_block(const lw_reduce_scan *scan, lw_reduce_key *key)
{
    uint32_t elements = log2_above(scan->elements), threads, lanes, side, rows;

    key->columns = scan->inner > 1;
    choose_size(scan, &threads, key);
    rows = log2_above(scan->outer * scan->inner);
    side = key->columns ? 0 : SIDE_LOG2;
    if (elements < key->items_log2 + side)
        key->items_log2 = (uint8_t)(elements > side ? elements - side : 0);
    lanes = lw_least(threads, elements - lw_least(elements, key->items_log2));
    if (key->columns) /* neighbouring rows first, as many as a warp loads at once */
        lanes = lw_least(lanes, threads - lw_least(lw_least(WIDE_LOG2, rows), threads));
    if (threads > lanes + rows)
        threads = lanes + rows > LEAST_THREADS_LOG2 ? lanes + rows : LEAST_THREADS_LOG2;
    assert(lanes <= threads && threads <= THREADS_LOG2);
    key->lanes_log2 = (uint8_t)lanes;
    key->results_log2 = (uint8_t)(threads - lanes);
}

/* ---- the whole ---- */

static bool
is_dense(const lw_reduce_scan *scan)
{
    const lw_reduction *r = scan->reduction;
    bool dense = scan->inner == 1;

    for (uint32_t i = 0; i < r->n_in; i++)
        dense = dense && scan->step[i] == lw_dtypes[r->loaded[i]].size_bytes;
    return dense;
}

static uint32_t
largest_size(const lw_dtype *dtypes, uint32_t n)
{
    uint32_t largest = 1;

    for (uint32_t i = 0; i < n; i++)
        if (lw_dtypes[dtypes[i]].size_bytes > largest)
            largest = lw_dtypes[dtypes[i]].size_bytes;
    return largest;
}

/* Whether the elements can be accessed as vectors of `n`, from `at` on, where each row begins
 * `step` bytes behind the one before. */
static bool
takes_vectors(const lw_reduce_scan *scan, lw_dtype dtype, const char *at, int64_t step,
              uint32_t n)
{
    uint32_t size = lw_dtypes[dtype].size_bytes * n;
    int64_t bytes = size < 16 ? size : 16;

    return dtype != LW_DT_b1 && lw_dtype_n_parts(dtype) == 1 && (intptr_t)at % bytes == 0 &&
           (scan->outer == 1 || step % bytes == 0);
}

/* How many elements an access takes; 0 where elements are not contiguous. Those of a thread
 * have at most 16 bytes: in two stores of 16 bytes each, a warp would write half of every
 * sector. */
static uint32_t
vector_of(const lw_reduce_scan *scan)
{
    const lw_reduction *r = scan->reduction;
    lw_dtype part[LW_REDUCE_PARTS];
    uint32_t n = lw_reduce_acc_parts(r, part), vector;

    if (!is_dense(scan) || scan->keys != NULL)
        return 0;
    /* elements that are larger than 8 bytes have several parts, and are refused below */
    vector =
        largest_size(r->loaded, r->n_in) == 8 || largest_size(r->out, r->n_out) == 8 ? 2 : 4;
    for (uint32_t i = 0; i < n; i++)
        if (part[i] == LW_DT_b1)
            return 0;
    for (uint32_t i = 0; i < r->n_in; i++)
        if (!takes_vectors(scan, r->loaded[i], scan->operand[i], scan->outer_step[i], vector))
            return 0;
    for (uint32_t i = 0; i < r->n_out; i++)
        if (!takes_vectors(scan, r->out[i], scan->out[i],
                           scan->elements * lw_dtypes[r->out[i]].size_bytes, vector))
            return 0;
    return vector;
}

/* Whether blocks bring later tiles into the second-level cache: of arrays that are much larger
 * than it. Tests use small tiles. */
static bool
prefetches(const lw_reduce_scan *scan, const lw_reduce_key *key)
{
    int64_t bytes = 0;

    for (uint32_t i = 0; i < scan->reduction->n_in; i++)
        bytes += lw_dtypes[scan->reduction->loaded[i]].size_bytes;
    return key->vector != 0 &&
           (scan->max_items != 0 || scan->outer * scan->elements * bytes >= PREFETCH_FROM);
}

static int64_t
groups_of(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

/* How many sums of tiles, groups and super-groups there are. */
static int64_t
sums_of(const lw_reduce_scan_plan *plan)
{
    int64_t size = lw_reduce_scan_group(&plan->key), groups = groups_of(plan->tiles, size);

    return plan->strips * (plan->tiles + groups + groups_of(groups, size));
}

void
lw_reduce_scan_plan_of(const lw_reduce_scan *scan, lw_reduce_scan_plan *out)
{
    int64_t rows = scan->outer * scan->inner;
    uint32_t tile_log2;

    assert(rows > 0 && scan->elements > 0 && (!scan->before || scan->seed != NULL));
    memset(out, 0, sizeof *out);
    out->key.scan = 1;
    out->key.initial = scan->seed != NULL;
    out->key.before = scan->before;
    out->key.dense = is_dense(scan);
    out->key.keyed = scan->keys != NULL;
    out->key.key_dtype = out->key.keyed ? (uint8_t)scan->key_dtype : 0;
    out->key.vector = (uint8_t)vector_of(scan);
    choose_block(scan, &out->key);
    if (out->key.vector > 1u << out->key.items_log2)
        out->key.vector = 0;
    tile_log2 = (uint32_t)out->key.lanes_log2 + out->key.items_log2;
    out->threads = 1u << (out->key.lanes_log2 + out->key.results_log2);
    out->tiles = ((scan->elements - 1) >> tile_log2) + 1;
    out->strips = ((rows - 1) >> out->key.results_log2) + 1;
    out->key.waits = out->tiles > 1;
    if (!out->key.waits)
        return;
    out->key.prefetch = prefetches(scan, &out->key);
    out->bytes = SUMS_AT + ((size_t)sums_of(out) << out->key.results_log2) *
                               lw_reduce_scan_state_bytes(scan->reduction, &out->key);
}

static uint64_t
address(const char *at)
{
    return (uint64_t)(uintptr_t)at;
}

uint32_t
lw_reduce_scan_words(const lw_reduce_scan *scan, const lw_reduce_scan_plan *plan,
                     uint64_t memory, uint64_t words[LW_SCAN_MOST_PARAMS])
{
    const lw_reduction *r = scan->reduction;
    const int64_t counts[] = {scan->outer * scan->inner, scan->inner, scan->elements,
                              plan->tiles, plan->strips};
    uint32_t n = 0;

    for (int i = 0; i < 5; i++)
        words[n++] = (uint64_t)counts[i];
    for (uint32_t i = 0; i < r->n_in; i++) {
        words[n++] = address(scan->operand[i]);
        words[n++] = (uint64_t)scan->outer_step[i];
        words[n++] = (uint64_t)scan->inner_step[i];
        words[n++] = (uint64_t)scan->step[i];
    }
    for (uint32_t i = 0; i < r->n_out; i++)
        words[n++] = address(scan->out[i]);
    if (scan->seed != NULL)
        n += lw_reduce_item_words(r, scan->seed, words + n);
    if (plan->key.keyed) {
        words[n++] = address(scan->keys);
        words[n++] = (uint64_t)scan->key_step;
        words[n++] = address(scan->keys_out);
        words[n++] = address(scan->n_runs);
    }
    if (plan->key.waits) {
        words[n++] = memory;
        words[n++] = memory + SUMS_AT;
        if (plan->key.prefetch)
            words[n++] = (uint64_t)plan->distance;
    }
    assert(n <= LW_SCAN_MOST_PARAMS);
    return n;
}
