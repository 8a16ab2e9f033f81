#include "gufunc/core/core_plan.h"

#include "gufunc/core/core_spread.h"

#include <string.h>

/* Below so many items what a kernel reads comes from the caches, and staging only costs its two
 * barriers. */
#define STAGE_FROM 4096
/* Iterations of a loop from which on an item is worth a block, whatever the number of items;
 * and where there are few, or where elements are kept. */
#define SPREAD_FROM 64
#define SPREAD_FEW  32
/* Threads that keep a large GPU busy: some 24 warps on each of 132 SMs. */
#define FULL_THREADS  100000
#define MOST_THREADS  512  /* for an item, */
#define MOST_SCANNING 1024 /* or for one whose threads wait at every step, for a few values */
/* Items of a block that get a warp each, of so many items: an SM takes 32 blocks, which would
 * be half of its warps. */
#define WARPS      4
#define WARPS_FROM 2048
/* Of a thread whose loops keep elements in registers: the bytes of these, the code of its
 * iterations, and their number; such a block may have this many threads. */
#define KEPT_BYTES   128
#define KEPT_WEIGHT  4096
#define KEPT_MOST    32
#define KEPT_THREADS 1024
#define LARGE_CORE   128 /* elements; of fewer nobody is warned */
/* Bytes of an operand's core from which on tiles pay; with constant sizes loops unroll, and
 * loads are under way together. */
#define TILE_FROM     64
#define TILE_CONSTANT 512
/* Bytes of an item in shared memory. Of larger ones too few fit to keep its lanes busy: worth
 * it only where there are few items anyway. */
#define TILE_MOST  8192
#define TILE_ITEMS 1024
/* Of fewer rows the lines of all stay in the first-level cache. */
#define ROWS_FROM        16
#define MOST_ROW_THREADS 128
/* More threads than there are rows, where each would fetch more bytes than this: a block whose
 * memory leaves an SM room for few others keeps more loads under way. Measured on an H200 with
 * 128 to 264 and 520 bytes, in matrices of 48 to 200 rows (64 rows of 65 words have 260 for
 * each of 64 threads). */
#define ROWS_EACH          264
#define MOST_FETCH_THREADS 512
/* Rows of a band, so that an SM has several blocks, of which some load while others compute,
 * and of how many rows matrices are not divided. Parts (loads) of a thread: with more there are
 * more threads. Measured on an H200: bands of 64 rows, and 25, 32 to 50, 64 and 100 parts, in
 * matrices of 100 to 400 rows. */
#define BAND       32
#define BANDS_FROM 64
#define BAND_PARTS 52
/* Bytes of a band, so that an SM has four such blocks; where there are at most so many blocks,
 * each has an SM for itself anyway. */
#define BAND_BYTES  57344
#define BANDS_ALONE 132
/* Of matrices of fewer bytes, tiles hold enough to keep a block's threads busy. */
#define ROWS_ALONE_BYTES 1024
/* The key has KiB in 8 bits. */
#define MOST_ROWS_KB 255

static bool
is_output(const lw_core_plan *plan, int operand)
{
    return operand >= plan->loop->nin;
}

static int64_t
itemsize_of(const lw_core_plan *plan, int operand)
{
    return lw_dtypes[plan->loop->types[operand]].size_bytes;
}

int64_t
lw_core_plan_bytes(const lw_core_plan *plan, int operand)
{
    const lw_core_operand *core = &plan->loop->layout->operands[operand];
    int64_t bytes = itemsize_of(plan, operand);

    for (uint32_t d = 0; d < core->n; d++)
        bytes *= plan->sizes[core->dims[d]];
    return bytes;
}

/* ---- the walk ---- */

bool
lw_core_plan_normalise(lw_core_plan *plan, int ndim, const int64_t *shape,
                       const int64_t *const *strides)
{
    lw_walk *walk = &plan->walk;

    for (int i = 0; i < walk->n_operands; i++)
        walk->operands[i].is_output = is_output(plan, i);
    if (!lw_walk_begin(walk, ndim, shape, strides))
        return false;
    if (walk->n == 0)
        return true;
    lw_walk_sort(walk);
    lw_walk_merge(walk);
    if (walk->ndim == 0) { /* one item, which is a run of one */
        lw_walk_single(walk);
        for (int i = 0; i < walk->n_operands; i++)
            walk->operands[i].strides[0] = lw_core_plan_bytes(plan, i);
    }
    return true;
}

/* ---- the kernel ---- */

static bool
is_dense(const lw_core_plan *plan, int operand)
{
    const lw_core_operand *core = &plan->loop->layout->operands[operand];
    int64_t step = itemsize_of(plan, operand);

    for (uint32_t d = core->n; d-- > 0;) {
        int64_t size = plan->sizes[core->dims[d]];
        if (size != 1 && plan->operands[operand].core[d] != step)
            return false;
        step *= size;
    }
    return true;
}

static lw_core_access
access_of(const lw_core_plan *plan, const lw_core_key *key, int operand)
{
    const lw_walk *walk = &plan->walk;
    bool is_written = is_output(plan, operand) || plan->loop->writable[operand];

    if (walk->operands[operand].by_value)
        return LW_ACCESS_VALUE;
    if (!is_dense(plan, operand))
        return LW_ACCESS_STRIDED;
    if (!is_written && lw_walk_stays(walk, operand))
        return LW_ACCESS_CONSTANT;
    if (key->constant && walk->ndim == 1 &&
        walk->operands[operand].strides[0] == lw_core_plan_bytes(plan, operand))
        return LW_ACCESS_RUN;
    return LW_ACCESS_DENSE;
}

static bool
are_small(const lw_core_plan *plan, lw_core_key *key)
{
    uint32_t n = plan->loop->layout->n_dims;

    if (n > LW_CORE_KEY_DIMS)
        return false;
    for (uint32_t d = 0; d < n; d++)
        if (plan->sizes[d] < 1 || plan->sizes[d] > LW_CORE_SMALL)
            return false;
    for (uint32_t d = 0; d < n; d++)
        key->sizes[d] = (uint8_t)plan->sizes[d];
    return true;
}

/* ---- staging ---- */

static bool
wants_staging(const lw_core_plan *plan, const lw_core_key *key, int operand)
{
    return key->operands[operand].access == LW_ACCESS_RUN &&
           lw_core_count(plan->loop, key, operand) > 1;
}

static uint8_t
chunk_of(const lw_core_plan *plan, int operand)
{
    lw_dtype dtype = plan->loop->types[operand];
    unsigned part = dtype == LW_DT_b1 ? 1 : lw_dtypes[lw_dtypes[dtype].parts].size_bytes;
    unsigned chunk = 16;

    while (chunk > part && plan->walk.operands[operand].data % chunk != 0)
        chunk /= 2;
    return (uint8_t)chunk;
}

/* Bytes of a block of key->block items; 0: nobody wants to be staged. */
static uint32_t
staged_bytes(const lw_core_plan *plan, const lw_core_key *key)
{
    uint32_t bytes = 0;

    for (int i = 0; i < plan->walk.n_operands; i++)
        if (wants_staging(plan, key, i))
            bytes += (lw_core_shared_bytes(plan->loop, key, i) + 15) / 16 * 16;
    return bytes;
}

static void
stage(const lw_core_plan *plan, lw_core_key *key)
{
    uint32_t bytes;

    for (int i = 0; i < plan->walk.n_operands; i++)
        if (wants_staging(plan, key, i)) {
            key->operands[i].chunk = chunk_of(plan, i);
            key->operands[i].keep = plan->operands[i].keep;
        }
    for (key->block = 128; (bytes = staged_bytes(plan, key)) > LW_CORE_SHARED; key->block /= 2)
        if (key->block == 32)
            break;
    for (int i = 0; i < plan->walk.n_operands; i++) {
        if (!wants_staging(plan, key, i))
            continue;
        if (bytes <= LW_CORE_SHARED)
            key->operands[i].access = LW_ACCESS_STAGED;
        else
            key->operands[i].chunk = key->operands[i].keep = 0;
    }
    if (bytes == 0 || bytes > LW_CORE_SHARED)
        key->block = 0;
}

/* ---- tiles ---- */

/* Bytes that an operand takes of a tile. */
static int64_t
tile_bytes(const lw_core_plan *plan, int operand)
{
    int64_t pitch =
        lw_core_pitch_of(lw_core_plan_bytes(plan, operand), itemsize_of(plan, operand));

    return (pitch + 15) / 16 * 16;
}

/* In the order of the operands, as long as they fit; the others are read and written directly.
 */
static void
tile(const lw_core_plan *plan, lw_core_key *key)
{
    int64_t left = plan->walk.n <= TILE_ITEMS ? LW_CORE_SHARED : TILE_MOST;

    if (plan->loop->writes_excluded) /* an excluded array may be an operand too */
        return;
    for (int i = 0; i < plan->walk.n_operands; i++) {
        uint8_t *access = &key->operands[i].access;
        int64_t bytes = lw_core_plan_bytes(plan, i);
        if ((*access != LW_ACCESS_RUN && *access != LW_ACCESS_DENSE) ||
            bytes < (key->constant ? TILE_CONSTANT : TILE_FROM) || bytes > LW_CORE_SHARED ||
            tile_bytes(plan, i) > left)
            continue;
        left -= tile_bytes(plan, i);
        *access = LW_ACCESS_TILED;
        key->operands[i].keep = plan->operands[i].keep;
        key->tiled = 1;
        key->block = LW_CORE_THREADS;
    }
}

uint32_t
lw_core_plan_tile(const lw_core_plan *plan, const lw_core_key *key)
{
    int64_t item = 0, rest = LW_CORE_SHARED, items;

    for (int i = 0; i < plan->walk.n_operands; i++)
        if (key->operands[i].access == LW_ACCESS_TILED) {
            item += lw_core_pitch_of(lw_core_plan_bytes(plan, i), itemsize_of(plan, i));
            rest -= 15; /* rounded up to 16 */
        }
    if (item == 0)
        return 1; /* nothing is in shared memory */
    items = rest / item;
    return items > LW_CORE_THREADS ? LW_CORE_THREADS : items < 1 ? 1 : (uint32_t)items;
}

bool
lw_core_plan_is_large(const lw_core_plan *plan)
{
    int64_t most = 0;

    for (int i = 0; i < plan->walk.n_operands; i++) {
        int64_t count = lw_core_plan_bytes(plan, i) / itemsize_of(plan, i);
        most = count > most ? count : most;
    }
    return most >= LARGE_CORE && plan->walk.n < LW_CORE_FEW;
}

/* Whether an output has the core dimensions of an input, as rows that are centred have:
 * elements that were read are written, mostly after they were read once more. */
static bool
writes_what_it_reads(const lw_core_plan *plan)
{
    const lw_core_operand *operands = plan->loop->layout->operands;

    for (int i = 0; i < plan->walk.n_operands; i++)
        for (int k = 0; is_output(plan, i) && k < i; k++)
            if (!is_output(plan, k) && operands[k].n != 0 && operands[k].n == operands[i].n &&
                memcmp(operands[k].dims, operands[i].dims,
                       operands[k].n * sizeof *operands[k].dims) == 0)
                return true;
    return false;
}

/* Of many items each gets no more threads than it takes to fill a GPU, for the warps of a block
 * wait for each other; but so many that what is read twice stays in the caches, and that loads
 * of enough warps are under way: 8 elements a thread where these are written, too, else 16.
 * Measured on an H100 with 2^26 float32 in rows of 256 to 16384: rows centred, divided by their
 * mean, softmax, dot products, argmax, moving averages, any, by 32 to 512 threads. */
static uint32_t
fewer_threads(const lw_core_plan *plan, int64_t longest, uint32_t threads)
{
    int64_t share = writes_what_it_reads(plan) ? 8 : 16;
    uint32_t least = 32;

    while (least < MOST_THREADS && !plan->joins && least * share < longest)
        least *= 2;
    if (plan->searches && least < 64)
        least = 64; /* measured: any() of 1000 elements, by 32, 64 and 128 threads */
    if (threads < least)
        threads = least;
    while (threads > least && plan->walk.n * threads / 2 >= FULL_THREADS)
        threads /= 2;
    return threads;
}

/* ---- rows ---- */

/* Whether the operand of a spread kernel goes by way of shared memory. */
static bool
wants_rows(const lw_core_plan *plan, const lw_core_key *key, int operand)
{
    uint8_t access = key->operands[operand].access;

    return plan->reads_rows >> operand & 1 && !is_output(plan, operand) &&
           !plan->loop->writable[operand] && !plan->loop->writes_excluded &&
           plan->loop->layout->operands[operand].n == 2 &&
           (access == LW_ACCESS_DENSE || access == LW_ACCESS_CONSTANT);
}

/* Bytes of shared memory for operands that are ROWS. */
static int64_t
most_rows_bytes(const lw_core_plan *plan)
{
    int64_t most = LW_CORE_ROWS_KB * 1024, rest = LW_CORE_SHARED - most;

    if (plan->most_shared > LW_CORE_SHARED)
        most = plan->most_shared - rest;
    return most < MOST_ROWS_KB * 1024 ? most : MOST_ROWS_KB * 1024;
}

static int64_t
rows_of(const lw_core_plan *plan, int operand)
{
    return plan->sizes[plan->loop->layout->operands[operand].dims[0]];
}

/* Bytes from one row of an operand to the next in shared memory. */
static int64_t
row_pitch(const lw_core_plan *plan, int operand)
{
    int64_t rows = rows_of(plan, operand);

    return lw_core_pitch_of(lw_core_plan_bytes(plan, operand) / (rows ? rows : 1),
                            itemsize_of(plan, operand));
}

/* Bytes of shared memory that an operand takes of what is left; 0: it is read where it is. */
static int64_t
rows_bytes(const lw_core_plan *plan, const lw_core_key *key, int operand, int64_t left)
{
    int64_t rows, pitch;

    if (!wants_rows(plan, key, operand))
        return 0;
    rows = key->band ? key->band : rows_of(plan, operand);
    pitch = row_pitch(plan, operand);
    if (rows < ROWS_FROM || pitch > left || (pitch * rows + 15) / 16 * 16 > left)
        return 0;
    return (pitch * rows + 15) / 16 * 16;
}

/* Whether an item is worth a block, or a warp, from fewer iterations on: all larger operands
 * are ROWS, which one thread would read with strides, and each row is the work of one thread.
 */
static bool
is_rows_alone(const lw_core_plan *plan, const lw_core_key *key)
{
    int64_t left = most_rows_bytes(plan), used = 0, most = 0;

    for (int i = 0; i < plan->walk.n_operands && plan->in_order; i++) {
        int64_t bytes = rows_bytes(plan, key, i, left - used);
        if (bytes == 0 && plan->loop->layout->operands[i].n >= 2)
            return false;
        if (bytes != 0 && rows_of(plan, i) > most)
            most = rows_of(plan, i);
        used += bytes;
    }
    return most > LW_CORE_SMALL && used >= ROWS_ALONE_BYTES;
}

/* How many bands of so many rows the operand has. */
static int64_t
n_bands(const lw_core_plan *plan, int operand, int64_t band)
{
    return (rows_of(plan, operand) + band - 1) / band;
}

/* Rows of a band; 0: a block takes all rows of an item. Each operand that is ROWS must have a
 * row for each iteration, and all of them as many. */
static uint8_t
band_of(const lw_core_plan *plan, const lw_core_key *key)
{
    int64_t pitch = 0;
    int first = -1;

    for (int i = 0; i < plan->walk.n_operands; i++) {
        if (!wants_rows(plan, key, i))
            continue;
        first = first < 0 ? i : first;
        if (!(plan->own_rows >> i & 1) || rows_of(plan, i) <= BANDS_FROM ||
            rows_of(plan, i) != rows_of(plan, first))
            return 0;
        pitch += row_pitch(plan, i);
    }
    if (pitch == 0 || BAND * pitch + 16 * plan->walk.n_operands > most_rows_bytes(plan) ||
        plan->walk.n > INT32_MAX / n_bands(plan, first, BAND))
        return 0;
    if (BAND * pitch > BAND_BYTES && plan->walk.n * n_bands(plan, first, BAND) > BANDS_ALONE)
        return 0;
    return BAND;
}

int64_t
lw_core_plan_bands(const lw_core_plan *plan, const lw_core_key *key)
{
    for (int i = 0; i < plan->walk.n_operands && key->band; i++)
        if (key->operands[i].access == LW_ACCESS_ROWS)
            return n_bands(plan, i, key->band);
    return 1;
}

/* Operands become ROWS in their order, as long as they fit. */
static void
take_rows(const lw_core_plan *plan, lw_core_key *key)
{
    int64_t left = most_rows_bytes(plan), used = 0, most = 0, parts = 0;

    key->band = band_of(plan, key);
    if (key->band)
        key->block = 32;
    for (int i = 0; i < plan->walk.n_operands; i++) {
        int64_t bytes = rows_bytes(plan, key, i, left - used);
        if (bytes == 0)
            continue;
        used += bytes;
        parts += bytes / lw_dtypes[lw_dtype_memory_part(plan->loop->types[i])].size_bytes;
        most = rows_of(plan, i) > most ? rows_of(plan, i) : most;
        most = key->band ? key->band : most;
        key->operands[i].access = LW_ACCESS_ROWS;
    }
    while (used && key->block < most && key->block < MOST_ROW_THREADS)
        key->block *= 2;
    while ((key->band ? parts > BAND_PARTS * key->block
                      : key->block > 32 && used > ROWS_EACH * key->block) &&
           key->block < MOST_FETCH_THREADS)
        key->block *= 2;
    if (used && !key->band && key->block == 32 && plan->walk.n >= WARPS_FROM &&
        WARPS * used <= LW_CORE_ROWS_KB * 1024)
        key->warps = WARPS;
    key->rows_kb = (uint8_t)((used * (key->warps ? key->warps : 1) + 1023) / 1024);
}

/* ---- threads that share an item ---- */

/* Threads for an item whose loops can be spread: some iterations for each of them, and enough
 * blocks to fill an SM. 0: it is left to one thread. Two iterations must not meet in one
 * element: what is written must be dense. */
static uint32_t
spread_threads(const lw_core_plan *plan, const lw_core_key *key)
{
    int64_t longest = 0;

    if (!plan->can_spread)
        return 0;
    for (uint32_t d = 0; d < plan->loop->layout->n_dims; d++)
        longest = plan->sizes[d] > longest ? plan->sizes[d] : longest;
    if (longest < (plan->walk.n < LW_CORE_FEW || plan->kept_dim ? SPREAD_FEW : SPREAD_FROM) &&
        (plan->kept_dim || !is_rows_alone(plan, key)))
        return 0;
    for (int i = 0; i < plan->walk.n_operands; i++)
        if ((is_output(plan, i) || plan->loop->writable[i]) && !is_dense(plan, i))
            return 0;
    return fewer_threads(plan, longest,
                         longest >= 8192   ? (plan->scans_little ? MOST_SCANNING : MOST_THREADS)
                         : longest >= 4096 ? 256
                         : longest >= 512  ? 128
                         : longest > 64    ? 64
                                           : 32);
}

/* Iterations of each thread where loops keep their elements in registers; 0: too many for that.
 * *threads: as many as there would be otherwise, or more. */
static uint32_t
kept_share(const lw_core_plan *plan, uint32_t *threads)
{
    int64_t size = plan->kept_dim ? plan->sizes[plan->kept_dim - 1] : 0, most;

    if (size < 1)
        return 0;
    most = KEPT_BYTES / plan->kept_bytes;
    if (most > KEPT_WEIGHT / (plan->kept_weight + 1))
        most = KEPT_WEIGHT / (plan->kept_weight + 1);
    if (most > KEPT_MOST)
        most = KEPT_MOST;
    if (size > most * KEPT_THREADS)
        return 0;
    while (size > most * *threads)
        *threads *= 2;
    return (uint32_t)((size + *threads - 1) / *threads);
}

void
lw_core_plan_key(const lw_core_plan *plan, lw_core_key *key)
{
    uint32_t threads;

    memset(key, 0, sizeof *key);
    key->n_operands = (uint8_t)plan->walk.n_operands;
    key->ndim = (uint8_t)plan->walk.ndim;
    key->constant = are_small(plan, key);
    key->wide = lw_walk_spans(&plan->walk, INT32_MAX);
    for (int i = 0; i < plan->walk.n_operands; i++)
        key->operands[i].access = (uint8_t)access_of(plan, key, i);
    threads = spread_threads(plan, key);
    if (threads)
        key->kept = (uint8_t)kept_share(plan, &threads);
    key->whole = key->kept && plan->sizes[plan->kept_dim - 1] == (int64_t)key->kept * threads;
    key->block = (uint16_t)threads;
    key->spread = key->block != 0;
    if (key->spread && !key->kept)
        take_rows(plan, key);
    if (key->block == 32 && !key->rows_kb && plan->walk.n >= WARPS_FROM)
        key->warps = WARPS;
    if (key->warps)
        key->block *= WARPS;
    if (!key->spread && key->constant && plan->walk.n >= STAGE_FROM)
        stage(plan, key);
    if (!key->block)
        tile(plan, key);
}
