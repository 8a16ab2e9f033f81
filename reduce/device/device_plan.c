#include "reduce/device/device_plan.h"

#include "core/base/divider.h"
#include "reduce/function/body_ir.h"

#include <assert.h>
#include <string.h>

enum {
    SHARED = 32 * 1024,      /* bytes of shared memory for a block's accumulators, … */
    MOST_SHARED = 47 * 1024, /* … and with its elements */
    MOST_THREADS_LOG2 = 8,
    LEAST_THREADS = 64, /* fewest threads of a block that is made smaller so that these fit */
    LEAST_ITEMS = 16,   /* fewest accesses of a lane where elements are split over blocks */
    MOST_SPLITS = 1024,
    COLUMNS_LOG2 = 5, /* log2 of the threads along neighbouring results, where these are many */
    WIDEST = 32,      /* most bytes of such a thread's accumulators */
    WIDEST_COLUMNS = 96,    /* the same where they are those of neighbouring results */
    LEAST_WITH_HEAD = 4096, /* fewest elements where some come before the first access */
    MOST_SHORT_BYTES = 128, /* most bytes of a thread's accumulators, where rows are short */
    MOST_SHORT = 64,        /* most accesses of a short row, which part of a warp takes */
    LEAST_RESULTS = 64,     /* fewest results for which short rows have a kernel of their own */
    ROWS = 8,               /* short rows of a thread at a time, … */
    LEAST_SHORT = 1 << 17,  /* … where that leaves so many threads */
    LEAST_COSTLY = 64, /* fewest accesses of a lane where lanes are costly to combine, … */
    FULL = 1 << 18     /* … and that leaves so many threads */
};

static uint32_t
log2_of(int64_t n)
{
    uint32_t log = 0;

    while ((INT64_C(1) << (log + 1)) <= n)
        log++;
    return log;
}

static bool
is_masked(const lw_reduce_job *job)
{
    return job->operand[job->reduction->n_in] != NULL;
}

/* Bytes of an accumulator. */
static uint32_t
acc_bytes(const lw_reduce_job *job)
{
    return lw_reduce_device_bytes(job->reduction, &(lw_reduce_key){.masked = is_masked(job)});
}

static uint32_t
threads_log2(const lw_reduce_job *job)
{
    uint32_t bytes = acc_bytes(job), log = log2_of(LW_REDUCE_THREADS);

    while (log > 5 &&
           ((bytes << log) > SHARED || (job->max_threads != 0 && 1u << log > job->max_threads)))
        log--;
    return log;
}

/* Bytes from a result, or an element of a fold, to its neighbour. */
static int64_t
inner_step(const lw_reduce_space *space, uint32_t operand)
{
    return space->n ? space->stride[operand][space->n - 1] : 0;
}

/* Bytes from a row of neighbours to the next row. */
static int64_t
outer_step(const lw_reduce_space *space, uint32_t operand)
{
    return space->n > 1 ? space->stride[operand][0] : 0;
}

/* Whether accesses of `vector` contiguous elements of this size are possible: along results
 * with key.columns, else along elements. */
static bool
lies_in_vectors(const lw_reduce_job *job, const lw_reduce_plan *plan, uint32_t operand,
                uint32_t size, uint32_t vector)
{
    int64_t along = inner_step(&job->reduced, operand),
            across = inner_step(&job->kept, operand);
    int64_t near = plan->key.columns ? across : along, far = plan->key.columns ? along : across;

    return near == size && far % (size * vector) == 0 &&
           outer_step(&job->kept, operand) % (size * vector) == 0 &&
           outer_step(&job->reduced, operand) % (size * vector) == 0 &&
           ((uintptr_t)job->operand[operand] + (uintptr_t)plan->head * size) %
                   (size * vector) ==
               0;
}

static bool
all_lie_in_vectors(const lw_reduce_job *job, const lw_reduce_plan *plan, uint32_t vector)
{
    const lw_reduction *r = job->reduction;

    if (!plan->key.columns && plan->row % vector != 0 && job->reduced.n > 1)
        return false;
    for (uint32_t i = 0; i < r->n_in; i++) {
        uint32_t size = lw_dtypes[r->loaded[i]].size_bytes;
        assert(size > 0);
        if (!lies_in_vectors(job, plan, i, size, vector))
            return false;
    }
    return !is_masked(job) || lies_in_vectors(job, plan, r->n_in, 1, vector);
}

/* How many elements come before the first that an access can begin with: of all operands at
 * once, and where their order does not matter. */
static int64_t
head_of(const lw_reduce_job *job, const lw_reduce_plan *plan, uint32_t vector)
{
    const lw_reduction *r = job->reduction;
    uint32_t size = lw_dtypes[r->loaded[0]].size_bytes;
    uintptr_t past = (uintptr_t)job->operand[0] % (size * vector);

    if (!r->commutative || r->indexed || is_masked(job) || plan->key.best ||
        plan->key.columns || job->reduced.n > 1 || plan->elements < LEAST_WITH_HEAD ||
        past % size != 0)
        return 0;
    return past == 0 ? 0 : (int64_t)(vector - past / size);
}

/* How many elements an access of at most 16 bytes takes; 1 where they are not contiguous. */
static uint32_t
vector_of(const lw_reduce_job *job, lw_reduce_plan *plan)
{
    const lw_reduction *r = job->reduction;
    uint32_t largest = 1, vector;

    for (uint32_t i = 0; i < r->n_in; i++)
        if (lw_dtypes[r->loaded[i]].size_bytes > largest)
            largest = lw_dtypes[r->loaded[i]].size_bytes;
    vector = 16 / largest;
    if (vector < 2)
        return 1;
    if (plan->key.columns) {
        while (vector > 1 &&
               (plan->inner % vector != 0 || acc_bytes(job) * vector > WIDEST_COLUMNS ||
                !all_lie_in_vectors(job, plan, vector)))
            vector /= 2;
        return vector;
    }
    plan->head = head_of(job, plan, vector);
    if (acc_bytes(job) > WIDEST || plan->elements < 16 * (int64_t)vector ||
        !all_lie_in_vectors(job, plan, vector)) {
        plan->head = 0;
        return 1;
    }
    return vector;
}

static int64_t
distance(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* Whether the best element can be found by comparing what decides. */
static bool
looks_for_best(const lw_reduce_job *job)
{
    const lw_extreme *best = &job->reduction->best;

    return best->kind != LW_NO_EXTREME && !is_masked(job) &&
           (best->nan_first || !lw_is_float(job->reduction->acc[best->part]));
}

/* Whether combining two accumulators takes more than an operation or two for each number. */
static bool
is_costly(const lw_reduce_job *job, const lw_reduce_plan *plan)
{
    const lw_reduction *r = job->reduction;

    return plan->key.best || !(r->has_identity || r->exact);
}

/* log2 of the results of a block whose lanes lie along elements: each lane should have some
 * accesses. */
static uint32_t
rows_log2(const lw_reduce_job *job, const lw_reduce_plan *plan, uint32_t threads)
{
    uint32_t results = 0;

    while (results < threads && plan->results > 1 &&
           plan->items < (INT64_C(4) << (threads - results)))
        results++;
    while (is_costly(job, plan) && threads - results > 5 &&
           plan->items < ((int64_t)LEAST_COSTLY << (threads - results)) &&
           plan->results << (threads - results - 1) >= FULL)
        results++;
    return results;
}

/* log2 of the threads of a block along neighbouring results. */
static uint32_t
columns_log2(const lw_reduce_plan *plan)
{
    int64_t wide = plan->results / plan->key.vector;
    uint32_t results = log2_of(2 * wide - 1); /* room for all results, unless there are many */

    return results > COLUMNS_LOG2 + 1 ? COLUMNS_LOG2 : results;
}

/* Sets the threads of a block, 2 ** most at most, which follow from the elements of an access.
 */
static void
set_lanes(const lw_reduce_job *job, lw_reduce_plan *plan, uint32_t most)
{
    uint32_t threads = threads_log2(job), results;

    threads = threads < most ? threads : most;
    plan->items = plan->key.columns ? plan->elements : plan->elements / plan->key.vector;
    results = plan->key.columns ? columns_log2(plan) : rows_log2(job, plan, threads);
    if (results > threads)
        results = threads;
    plan->key.results_log2 = (uint8_t)results;
    plan->key.lanes_log2 = (uint8_t)(threads - results);
    plan->threads = 1u << threads;
}

/* Bytes of shared memory for a thread, where its warp reads `piece` of its accesses together.
 */
static uint32_t
piece_bytes(const lw_reduce_job *job, const lw_reduce_plan *plan, uint32_t piece)
{
    const lw_reduction *r = job->reduction;
    uint32_t bytes = 0;

    for (uint32_t i = 0; i < r->n_in; i++)
        bytes += lw_dtypes[r->loaded[i]].size_bytes * plan->key.vector;
    return (piece + 1) * bytes + acc_bytes(job);
}

/* For an operator that needs the order of elements: chooses how many neighbouring accesses of a
 * lane its warp reads together, in smaller blocks where that takes much shared memory. False:
 * each lane must read its own. */
static bool
choose_piece(const lw_reduce_job *job, lw_reduce_plan *plan)
{
    for (uint32_t piece = LW_REDUCE_MOST_PIECE; piece > 1; piece /= 2) {
        uint32_t threads = LW_REDUCE_THREADS;
        while (threads > LEAST_THREADS && piece_bytes(job, plan, piece) * threads > MOST_SHARED)
            threads /= 2;
        if (piece_bytes(job, plan, piece) * threads > MOST_SHARED)
            continue;
        set_lanes(job, plan, log2_of(threads));
        plan->key.piece = (uint8_t)piece;
        /* accesses are counted in 32 bits, lanes' behind the end among them */
        return plan->key.lanes_log2 >= 5 && !is_masked(job) && plan->items <= INT32_MAX / 2;
    }
    return false;
}

/* Neighbouring threads take neighbouring elements, or neighbouring results where these are
 * nearer to each other. */
static void
choose_block(const lw_reduce_job *job, lw_reduce_plan *plan)
{
    bool in_order;

    plan->key.best = looks_for_best(job);
    plan->key.columns =
        plan->results > 1 && job->reduced.n > 0 &&
        distance(inner_step(&job->kept, 0)) < distance(inner_step(&job->reduced, 0));
    plan->key.vector = (uint8_t)vector_of(job, plan);
    plan->key.head = plan->head > 0;
    plan->elements -= plan->head;
    in_order = !job->reduction->commutative && !plan->key.best && !plan->key.columns;
    if (!in_order) {
        set_lanes(job, plan, MOST_THREADS_LOG2);
    } else if (plan->key.vector == 1 || !choose_piece(job, plan)) {
        plan->key.piece = 0;
        plan->key.vector = 1;
        set_lanes(job, plan, MOST_THREADS_LOG2);
    }
    assert(plan->threads <= LW_REDUCE_THREADS && plan->key.vector <= 16);
}

/* Lanes for a short row of so many accesses: as many as leave at most a fifth more of them idle
 * than the best number does. */
static uint32_t
short_lanes_log2(int64_t items)
{
    uint32_t best = 0;
    int64_t least = items;

    for (uint32_t log = 1; log <= 5 && INT64_C(1) << log <= items; log++) {
        int64_t lanes = INT64_C(1) << log, taken = lw_round_up(items, lanes);
        if (taken * 4 <= least * 5) {
            best = log;
            least = taken < least ? taken : least;
        }
    }
    return best;
}

/* Elements of an access of at most 16 bytes, of which a short row takes only whole ones. */
static uint32_t
short_vector(const lw_reduce_job *job, const lw_reduce_plan *plan)
{
    const lw_reduction *r = job->reduction;
    uint32_t vector = 16;

    for (uint32_t i = 0; i < r->n_in; i++)
        while (vector * lw_dtypes[r->loaded[i]].size_bytes > 16 && vector > 1)
            vector /= 2;
    while (vector > 1 &&
           (plan->elements % vector != 0 || !all_lie_in_vectors(job, plan, vector)))
        vector /= 2;
    return vector;
}

/* Whether rows are so short that part of a warp computes one, with several rows under way; if
 * so, makes the plan. */
static bool
choose_short(const lw_reduce_job *job, lw_reduce_plan *plan)
{
    const lw_reduction *r = job->reduction;
    uint32_t threads = log2_of(LW_REDUCE_THREADS), rows = ROWS, lanes, vector;
    int64_t items;

    if (plan->key.columns || !r->commutative || plan->key.masked || acc_bytes(job) > WIDEST ||
        plan->results < LEAST_RESULTS || job->reduced.n == 0 || threads_log2(job) < threads)
        return false;
    vector = short_vector(job, plan);
    items = plan->elements / vector;
    assert(items * vector == plan->elements);
    if (items > MOST_SHORT)
        return false;
    lanes = short_lanes_log2(items);
    while (rows > 1 && ((plan->results << lanes) / rows < LEAST_SHORT ||
                        acc_bytes(job) * rows > MOST_SHORT_BYTES))
        rows /= 2;
    plan->key.vector = (uint8_t)vector;
    plan->key.rows = (uint8_t)rows;
    plan->key.best = 0;
    plan->key.lanes_log2 = (uint8_t)lanes;
    plan->key.results_log2 = (uint8_t)(threads - lanes);
    plan->threads = LW_REDUCE_THREADS;
    plan->items = items;
    plan->splits = 1;
    plan->tiles = (plan->results - 1) / ((int64_t)rows << plan->key.results_log2) + 1;
    return true;
}

/* Whether this is the largest or smallest of bools or of integers of one or two bytes, as they
 * lie in memory. */
static bool
is_narrow(const lw_reduce_job *job, const lw_reduce_plan *plan)
{
    const lw_reduction *r = job->reduction;

    return plan->key.vector > 4 && plan->key.vector * lw_dtypes[r->acc[0]].size_bytes == 16 &&
           !plan->key.masked && r->map == NULL && r->n_acc == 1 && r->loaded[0] == r->acc[0] &&
           r->in[0] == r->acc[0] && !lw_is_float(r->acc[0]) &&
           lw_reduce_picks(r) != LW_NO_EXTREME;
}

static uint32_t
block_results(const lw_reduce_plan *plan)
{
    return (plan->key.columns ? plan->key.vector : 1u) << plan->key.results_log2;
}

static void
choose_splits(const lw_reduce_job *job, int64_t n_blocks, lw_reduce_plan *plan)
{
    int64_t lanes = INT64_C(1) << plan->key.lanes_log2, most, splits;
    size_t bytes = acc_bytes(job);

    plan->tiles = (plan->results - 1) / block_results(plan) + 1;
    most = plan->items / (lanes * LEAST_ITEMS);
    splits = n_blocks / plan->tiles;
    splits = splits > most ? most : splits;
    splits = splits > MOST_SPLITS ? MOST_SPLITS : splits < 1 ? 1 : splits;
    plan->splits = splits;
    if (job->reduction->commutative) {
        /* each block has an element: without one its accumulator would have no value */
        assert((splits - 1) * lanes * LW_REDUCE_UNROLL < plan->items);
    } else {
        plan->per_block = (plan->items + splits - 1) / splits;
        /* whole iterations: accesses that are left over are waited for one by one */
        if (splits > 1)
            plan->per_block = lw_round_up(plan->per_block, lanes * LW_REDUCE_UNROLL);
        assert(plan->per_block > 0); /* there are elements */
        plan->splits = (plan->items + plan->per_block - 1) / plan->per_block;
        assert(plan->splits * plan->per_block >= plan->items);
    }
    plan->partial_bytes = plan->counters_at = 0;
    if (plan->splits == 1)
        return;
    assert(plan->results <= INT32_MAX / plan->splits); /* the kernel counts them in 32 bits */
    plan->counters_at = ((size_t)(plan->results * plan->splits) * bytes + 511) / 256 * 256;
    plan->partial_bytes = plan->counters_at + (size_t)plan->tiles * 4;
}

/* Whether `step` is used and smaller than the steps between results and between elements. Then
 * neighbouring threads would not read neighbours, and a copy is better. */
static bool
is_nearest(const lw_reduce_job *job, int64_t step)
{
    return step != 0 && distance(step) < distance(inner_step(&job->kept, 0)) &&
           distance(step) < distance(inner_step(&job->reduced, 0));
}

/* Whether the kernel can reach all elements of the job. */
static bool
is_walkable(const lw_reduce_job *job)
{
    return job->kept.n <= 2 && job->reduced.n <= 2 &&
           !is_nearest(job, outer_step(&job->kept, 0)) &&
           !is_nearest(job, outer_step(&job->reduced, 0));
}

bool
lw_reduce_plan_of(lw_reduce_job *job, int64_t n_blocks, lw_reduce_plan *out)
{
    memset(out, 0, sizeof *out);
    lw_reduce_simplify(job);
    if (!is_walkable(job))
        return false;
    out->inner = out->results = job->kept.n ? job->kept.size[job->kept.n - 1] : 1;
    out->row = out->elements = job->reduced.n ? job->reduced.size[job->reduced.n - 1] : 1;
    out->key.nested = job->kept.n > 1;
    out->key.folded = job->reduced.n > 1;
    if (out->key.nested)
        out->results *= job->kept.size[0];
    if (out->key.folded)
        out->elements *= job->reduced.size[0];
    if ((out->key.nested && out->results > INT32_MAX) || /* the kernel divides in 32 bits */
        (out->key.folded && out->elements > INT32_MAX))
        return false;
    assert(out->results > 0 && out->elements > 0);
    out->key.initial = job->initial != NULL;
    out->key.masked = is_masked(job);
    choose_block(job, out);
    if (choose_short(job, out))
        return true;
    out->key.narrow = is_narrow(job, out);
    choose_splits(job, n_blocks, out);
    return true;
}

/* Bytes of an element of an operand, or of the mask. */
static uint64_t
size_of_operand(const lw_reduce_job *job, uint32_t i)
{
    const lw_reduction *r = job->reduction;

    return i < r->n_in ? lw_dtypes[r->loaded[i]].size_bytes : 1;
}

static uint64_t
address(const char *at)
{
    return (uint64_t)(uintptr_t)at;
}

uint32_t
lw_reduce_plan_words(const lw_reduce_job *job, const lw_reduce_plan *plan, uint64_t memory,
                     uint64_t counters, uint64_t words[LW_REDUCE_MOST_PARAMS])
{
    const lw_reduction *r = job->reduction;
    const int64_t counts[] = {plan->results, plan->items, plan->elements, plan->per_block,
                              plan->splits};
    lw_dtype part[LW_REDUCE_PARTS];
    uint32_t n_parts = lw_reduce_device_parts(r, &plan->key, part), n = 0;
    uint64_t at = memory;

    for (int i = 0; i < 5; i++)
        words[n++] = (uint64_t)counts[i];
    if (plan->key.head)
        words[n++] = (uint64_t)plan->head;
    if (plan->key.nested)
        words[n++] = (uint64_t)plan->inner;
    if (plan->key.folded)
        words[n++] = (uint64_t)(plan->key.columns ? plan->row : plan->row / plan->key.vector);
    for (uint32_t i = 0; i < r->n_in + plan->key.masked; i++) {
        words[n++] = address(job->operand[i]) + (uint64_t)plan->head * size_of_operand(job, i);
        words[n++] = (uint64_t)(plan->key.nested ? outer_step(&job->kept, i)
                                                 : inner_step(&job->kept, i));
        words[n++] = (uint64_t)inner_step(&job->reduced, i);
        if (plan->key.nested)
            words[n++] = (uint64_t)inner_step(&job->kept, i);
        if (plan->key.folded)
            words[n++] = (uint64_t)outer_step(&job->reduced, i);
    }
    for (int largest = 8; largest > 0; largest /= 2) /* so that all are aligned */
        for (uint32_t i = 0; i < n_parts; i++)
            if (lw_dtypes[part[i]].size_bytes == largest) {
                words[n + i] = at;
                at += (uint64_t)(plan->results * plan->splits) * (uint64_t)largest;
            }
    n += n_parts;
    words[n++] = counters;
    for (uint32_t i = 0; i < r->n_out; i++)
        words[n++] = address(job->out[i]);
    if (plan->key.initial || plan->key.masked)
        n += lw_reduce_item_words(r, job->initial ? job->initial : job->empty, words + n);
    assert(n <= LW_REDUCE_MOST_PARAMS);
    return n;
}
