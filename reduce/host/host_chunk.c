/* The reduction of a chunk to one accumulator: its blocks, whose operands are gathered where
 * they are not contiguous, and the search for the best element. */
#include "reduce/host/host_parts.h"

#include "core/base/elements.h"

#include <assert.h>

/* Combines the accumulators of n lanes, whose order does not matter, into the first. */
static void
merge_lanes(const run *s, const bank *b, int64_t n)
{
    while (n > 1) {
        int64_t half = n / 2;
        bank right = bank_from(b, n - half);
        merge(s, b, &right, half);
        n -= half;
    }
}

/* ---- one block of contiguous elements, to accumulators of lanes or to one ---- */

static void
set_args(const run *s, char **args, char *const *operands, int64_t first, const bank *acc)
{
    for (uint32_t i = 0; i < s->n_operands; i++)
        args[i] = operands[i] + first * s->operand_size[i];
    memcpy(args + s->n_operands, acc->at, acc->n * sizeof *args);
}

/* A block that is being reduced. */
typedef struct block_way {
    const run *s;
    char *const *operands;
    const bank *to;
} block_way;

/* The same as `lanes`, of code that has `fours`. */
static void
rows_by_fours(const block_way *w, int64_t begin, int64_t end)
{
    const run *s = w->s;
    int64_t width = s->code->width, together = s->code->together, fours = (end - begin) / 4;
    int64_t apart[LW_REDUCE_MOST + 1];
    char *args[2 * LW_REDUCE_MOST + 1];

    for (uint32_t i = 0; i < s->n_operands; i++)
        apart[i] = together * s->operand_size[i];
    set_args(s, args, w->operands, begin * width, w->to);
    s->code->fours(args, together, s->operand_size, apart, fours * (width / together));
    for (int64_t row = begin + 4 * fours; row < end; row++) {
        set_args(s, args, w->operands, row * width, w->to);
        s->code->columns(args, width, s->operand_size);
    }
}

static bool
some_lanes(void *context, int64_t begin, int64_t end)
{
    const block_way *w = context;
    char *args[2 * LW_REDUCE_MOST + 1];

    if (w->s->code->fours != NULL) {
        rows_by_fours(w, begin + 1, end + 1);
        return true;
    }
    set_args(w->s, args, w->operands, (begin + 1) * w->s->code->width, w->to);
    w->s->code->lanes(args, end - begin);
    return true;
}

/* Reduces a block to lanes and gives how many of these there are: fewer than `width` where
 * there are fewer elements. Where elements may take long, four rows are taken at a time, as
 * `lanes` takes them itself. */
static int64_t
block_in_lanes(const run *s, char *const *operands, int64_t n, const bank *to)
{
    int64_t width = s->code->width, rows = n / width, lanes = n < width ? n : width;
    char *args[2 * LW_REDUCE_MOST + 1];

    set_args(s, args, operands, 0, to);
    s->code->seed(args, lanes, s->operand_size);
    if (rows > 1)
        lw_in_pieces(s->code->costly ? s->job->stop : NULL, 0, rows - 1, 4, 4, some_lanes,
                     &(block_way){s, operands, to});
    if (rows > 0 && n % width > 0) {
        set_args(s, args, operands, rows * width, to);
        s->code->columns(args, n % width, s->operand_size);
    }
    return lanes;
}

static bool
some_in_order(void *context, int64_t begin, int64_t end)
{
    const block_way *w = context;
    char *args[2 * LW_REDUCE_MOST + 1];

    set_args(w->s, args, w->operands, begin, w->to);
    w->s->code->fold(args, end - begin, w->s->operand_size);
    return true;
}

static int64_t
block_in_order(const run *s, char *const *operands, int64_t n, const bank *to)
{
    char *args[2 * LW_REDUCE_MOST + 1];

    set_args(s, args, operands, 0, to);
    s->code->seed(args, 1, s->operand_size);
    lw_in_pieces(s->code->costly ? s->job->stop : NULL, 1, n, 64, 1, some_in_order,
                 &(block_way){s, operands, to});
    return 1;
}

/* ---- gathering operands ---- */

/* Gathers n elements of the reduced space, from `at` on, of an operand or of the mask behind
 * them. */
static void
gather_space(const run *s, uint32_t operand, const char *base, int64_t at, int64_t n, char *to)
{
    const lw_reduce_space *space = &s->job->reduced;
    uint32_t size = operand < s->n_in ? (uint32_t)s->operand_size[operand] : 1;
    int64_t inner = space->n ? space->size[space->n - 1] : 1;
    int64_t stride = space->n ? space->stride[operand][space->n - 1] : 0;

    while (n > 0) {
        int64_t rest = inner - at % inner, now = rest < n ? rest : n;
        lw_elements_gather_far(to, base + offset_of(space, operand, at), stride, size, now);
        to += now * size;
        at += now;
        n -= now;
    }
}

/* Keeps the elements whose mask is set. Gives how many these are. */
static int64_t
compress(const run *s, char *const *operands, const uint8_t *mask, int64_t n)
{
    int64_t kept = 0;

    assert(n > 0);
    for (int64_t i = 0; i < n; i++)
        kept += mask[i] != 0;
    if (kept == n || kept == 0)
        return kept;
    for (uint32_t k = 0; k < s->n_operands; k++) {
        assert(operands[k] != NULL);
        lw_elements_compress(operands[k], (uint32_t)s->operand_size[k], mask, n);
    }
    return kept;
}

typedef struct scratch {
    _Alignas(64) char bytes[SCRATCH + 64 * (LW_REDUCE_MOST + 2)];
} scratch;

/* Makes n elements of each operand, from element `at` on, contiguous. Gives the free rest of
 * the scratch memory. */
static char *
bring(const run *s, int64_t which, int64_t at, int64_t n, scratch *space, char **operands)
{
    const lw_reduce_job *job = s->job;
    char *free_at = space->bytes;

    for (uint32_t i = 0; i < s->n_in; i++) {
        char *base = job->operand[i] + offset_of(&job->kept, i, which);
        operands[i] = base + at * s->operand_size[i];
        if (lies_straight(s, i) && !s->masked)
            continue;
        operands[i] = free_at;
        gather_space(s, i, base, at, n, free_at);
        free_at += (n * s->operand_size[i] + 63) / 64 * 64;
    }
    return free_at;
}

/* Reduces the elements at … at + n - 1 of result `which`. Gives how many accumulators there
 * are: 0 where the mask leaves no element. */
static int64_t
one_block(const run *s, int64_t which, int64_t at, int64_t n, int64_t from, const bank *to)
{
    const lw_reduce_job *job = s->job;
    char *operands[LW_REDUCE_MOST + 1] = {0}, *free_at;
    scratch space;

    free_at = bring(s, which, at, n, &space, operands);
    if (s->r->indexed) {
        operands[s->n_in] = free_at;
        for (int64_t i = 0; i < n; i++, free_at += sizeof i) {
            int64_t index = at + i - from;
            memcpy(free_at, &index, sizeof index);
        }
    }
    if (s->masked) {
        assert(n > 0 && n <= SCRATCH);
        memset(free_at, 0, (size_t)n);
        gather_space(s, s->n_in, job->operand[s->n_in] + offset_of(&job->kept, s->n_in, which),
                     at, n, free_at);
        n = compress(s, operands, (const uint8_t *)free_at, n);
        if (n == 0)
            return 0;
    }
    return s->r->commutative ? block_in_lanes(s, operands, n, to)
                             : block_in_order(s, operands, n, to);
}

/* ---- combine gives the better of its operands ---- */

typedef struct candidate { /* the best so far: its block and its value */
    int64_t at, n;         /* elements of the block; n 0: there is none yet */
    _Alignas(64) char value[LW_REDUCE_BEST_BYTES];
} candidate;

/* Makes the block the best one if its best element is better. False: reduce it element by
 * element. */
static bool
block_best(const run *s, int64_t which, int64_t at, int64_t n, int64_t from, candidate *best)
{
    _Alignas(64) char lane[LW_REDUCE_BEST_BYTES];
    char *operands[LW_REDUCE_MOST + 1] = {0}, *compared[3];
    int64_t verdict = 0;
    scratch space;

    if (!s->best || s->masked || n * s->code->value_size < 4 * LW_REDUCE_BEST_BYTES)
        return false;
    bring(s, which, at, n, &space, operands);
    s->code->best(operands, n, lane, at - from);
    compared[0] = lane;
    compared[1] = best->n > 0 ? best->value : lane;
    compared[2] = (char *)&verdict;
    s->code->judge(compared, 1);
    if (verdict == 2) { /* NaN */
        if (!s->code->extreme.nan_first)
            return false;
        if (best->n > 0) { /* if the best so far is NaN, it comes first */
            compared[0] = best->value;
            s->code->judge(compared, 1);
            verdict = verdict == 2 ? 0 : 1;
        }
    }
    if (best->n == 0 || verdict != 0) {
        best->at = at;
        best->n = n;
        memcpy(best->value, lane, s->code->value_size);
    }
    return true;
}

/* The accumulator of the best element, which map makes of it. */
static void
put_best(const run *s, int64_t which, int64_t from, const candidate *best, const bank *to)
{
    char *operands[LW_REDUCE_MOST + 1] = {0}, *args[2 * LW_REDUCE_MOST + 1];
    int64_t index, found = 0;
    scratch space;

    bring(s, which, best->at, best->n, &space, operands);
    s->code->find(operands, best->n, &found, best->value, best->at - from);
    assert(found < best->n); /* the best is one of them */
    index = best->at + found - from;
    for (uint32_t i = 0; i < s->n_in; i++)
        args[i] = operands[i] + found * s->operand_size[i];
    args[s->n_in] = (char *)&index;
    memcpy(args + s->n_operands, to->at, to->n * sizeof *args);
    s->code->seed(args, 1, s->operand_size);
}

/* ---- results one after the other ---- */

/* Blocks that are combined into one accumulator, one after the other. Those of `lanes` lanes go
 * into `all`; blocks of fewer lanes, which only commutative operators have, go into `odd`. */
typedef struct joined {
    int64_t lanes;
    bool any, any_odd;
    bank all, odd, block;
} joined;

/* Where the next block is to be reduced. */
static const bank *
next_block(const joined *j)
{
    return j->any ? &j->block : &j->all;
}

static void
join_block(const run *s, joined *j, int64_t lanes)
{
    const bank *block = next_block(j);

    if (lanes == j->lanes) {
        if (j->any)
            merge(s, &j->all, block, lanes);
        j->any = true;
        return;
    }
    merge_lanes(s, block, lanes);
    if (j->any_odd)
        merge(s, &j->odd, block, 1);
    else
        bank_copy(&j->odd, block, 1);
    j->any_odd = true;
}

static void
join_best(const run *s, joined *j, int64_t which, int64_t from, candidate *best)
{
    if (best->n == 0)
        return;
    put_best(s, which, from, best, next_block(j));
    join_block(s, j, 1);
    best->n = 0;
}

static bool
join_end(const run *s, joined *j, const bank *to)
{
    if (!j->any && !j->any_odd)
        return false;
    if (j->any) {
        merge_lanes(s, &j->all, j->lanes);
        if (j->any_odd)
            merge(s, &j->all, &j->odd, 1);
    }
    bank_copy(to, j->any ? &j->all : &j->odd, 1);
    return true;
}

/* A chunk that is one block. */
static bool
single_block(const run *s, int64_t which, int64_t at, int64_t n, int64_t from, const bank *to)
{
    _Alignas(64) char memory[LW_REDUCE_MOST * LANE_BYTES];
    bank block = bank_at(s->r, memory, s->r->commutative ? s->code->width : 1);
    int64_t lanes = one_block(s, which, at, n, from, &block);

    if (is_cut(s) || lanes == 0)
        return false;
    merge_lanes(s, &block, lanes);
    bank_copy(to, &block, 1);
    return true;
}

/* The same by `pick`, of contiguous elements at once, else of what is gathered at a time.
 * False: it has to be done step by step. */
static bool
picked(const run *s, int64_t which, int64_t begin, int64_t end, int64_t from, const bank *to)
{
    _Alignas(64) char memory[LW_REDUCE_MOST * 64];
    bank acc = bank_at(s->r, memory, 1);
    int64_t several = all_lie_straight(s) ? end - begin : s->block;
    char *in[LW_REDUCE_MOST + 1];
    scratch space;

    for (int64_t at = begin, n; at < end; at += n) {
        n = end - at < several ? end - at : several;
        bring(s, which, at, n, &space, in);
        if (!pick_best(s->r, s->code, in, s->operand_size, n, at - from,
                       at > begin ? &acc : to))
            return false;
        if (at > begin)
            merge(s, to, &acc, 1);
    }
    return true;
}

static bool chunk_by_blocks(const run *s, int64_t which, int64_t begin, int64_t end,
                            int64_t from, const bank *to);

bool
lw_reduce_chunk(const run *s, int64_t which, int64_t begin, int64_t end, int64_t from,
                const bank *to)
{
    if (s->picks && picked(s, which, begin, end, from, to))
        return true;
    return chunk_by_blocks(s, which, begin, end, from, to);
}

/* Not inlined: its frame would be made for every short row. */
__attribute__((noinline)) static bool
chunk_by_blocks(const run *s, int64_t which, int64_t begin, int64_t end, int64_t from,
                const bank *to)
{
    _Alignas(64) char memory[3 * LW_REDUCE_MOST * LANE_BYTES];
    joined j;
    size_t bytes;
    candidate best = {.n = 0};

    assert(end - begin <= s->chunk);
    if (end - begin <= s->several && block_best(s, which, begin, end - begin, from, &best)) {
        put_best(s, which, from, &best, to);
        return true;
    }
    if (end - begin <= (s->best ? s->block : s->several))
        return single_block(s, which, begin, end - begin, from, to);
    j = (joined){.lanes = s->r->commutative ? s->code->width : 1};
    bytes = bank_bytes(s->r, j.lanes);
    assert(bytes <= LW_REDUCE_MOST * LANE_BYTES);
    j.all = bank_at(s->r, memory, j.lanes);
    j.odd = bank_at(s->r, memory + bytes, j.lanes);
    j.block = bank_at(s->r, memory + 2 * bytes, j.lanes);
    for (int64_t at = begin, n, lanes; at < end; at += n) {
        n = end - at < s->several ? end - at : s->several;
        if (block_best(s, which, at, n, from, &best))
            continue;
        if (s->best) /* there is NaN, so go element by element */
            n = n < s->block ? n : s->block;
        join_best(s, &j, which, from, &best);
        lanes = one_block(s, which, at, n, from, next_block(&j));
        if (is_cut(s))
            return false;
        if (lanes > 0)
            join_block(s, &j, lanes);
    }
    join_best(s, &j, which, from, &best);
    return join_end(s, &j, to);
}
