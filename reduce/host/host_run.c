#include "reduce/host/host_parts.h"

#include "core/base/memory.h"

#include <assert.h>

void
lw_reduce_merge_tree(const run *s, const bank *b, int64_t times, int64_t apart, int64_t n)
{
    int64_t half = times / 2;
    bank right;

    if (times <= 1)
        return;
    right = bank_from(b, half * apart);
    lw_reduce_merge_tree(s, b, half, apart, n);
    lw_reduce_merge_tree(s, &right, times - half, apart, n);
    merge(s, b, &right, n);
}

/* Reduces the elements begin … end - 1 of n results, from result `which` on, by one call. */
static void
chunks_at_once(const run *s, int64_t which, int64_t n, int64_t begin, int64_t end,
               const bank *to)
{
    const lw_reduce_space *kept = &s->job->kept;
    char *args[2 * LW_REDUCE_MOST + 1];
    int64_t apart[LW_REDUCE_MOST];

    for (uint32_t i = 0; i < s->n_in; i++) {
        args[i] = s->job->operand[i] + offset_of(kept, i, which) + begin * s->operand_size[i];
        apart[i] = kept->n ? kept->stride[i][0] : 0;
    }
    memcpy(args + s->n_in, to->at, to->n * sizeof *args);
    s->code->chunks(args, end - begin, apart, s->several, n);
}

/* Reduces chunk number `item % n_chunks` of result `item / n_chunks` of the group. */
static void
one_chunk(const run *s, const group *g, int64_t item)
{
    bank to = bank_from(&g->acc, item);
    int64_t begin = item % s->n_chunks * s->chunk;
    int64_t end = begin + s->chunk < s->n_reduced ? begin + s->chunk : s->n_reduced;
    int64_t which = g->first + item / s->n_chunks;
    bool any = true;

    if (s->at_once)
        chunks_at_once(s, which, 1, begin, end, &to);
    else
        any = lw_reduce_chunk(s, which, begin, end, 0, &to);
    if (g->has != NULL)
        g->has[item] = any;
}

/* ---- results of one chunk: rows of elements ---- */

/* Reduces rows whose elements lie side by side, each by `pick`; one that cannot be made so is
 * reduced as any other. The same as pick_best, with nothing in the loop over rows that is the
 * same for all: a row of 100 elements took half as long again. */
static void
pick_rows(const run *s, const group *g)
{
    char *args[2 * LW_REDUCE_MOST + 1], *row[LW_REDUCE_MOST];
    uint32_t n_in = s->n_in, n_acc = g->acc.n, n_operands = s->n_operands;
    int64_t apart[LW_REDUCE_MOST], found;

    for (uint32_t i = 0; i < n_in; i++) {
        row[i] = s->job->operand[i] + offset_of(&s->job->kept, i, g->first);
        apart[i] = s->job->kept.n ? s->job->kept.stride[i][0] : 0;
    }
    for (int64_t item = 0; item < g->count; item++) {
        s->code->pick(row, s->n_reduced, &found);
        for (uint32_t i = 0; i < n_in; i++) {
            args[i] = row[i] + (found < 0 ? 0 : found) * s->operand_size[i];
            row[i] += apart[i];
        }
        if (found < 0) {
            one_chunk(s, g, item);
            continue;
        }
        args[n_in] = (char *)&found;
        for (uint32_t k = 0; k < n_acc; k++)
            args[n_operands + k] = g->acc.at[k] + item * g->acc.size[k];
        s->code->seed(args, 1, s->operand_size);
    }
}

static void
reduce_rows(const run *s, const group *g)
{
    if (s->picks && s->job->kept.n <= 1 && all_lie_straight(s))
        pick_rows(s, g);
    else if (s->at_once && s->job->kept.n <= 1)
        chunks_at_once(s, g->first, g->count, 0, s->n_reduced, &g->acc);
    else
        for (int64_t i = 0; i < g->count; i++)
            one_chunk(s, g, i);
}

static bool
some_rows(void *context, int64_t begin, int64_t end)
{
    const run *s = context;
    _Alignas(64) char memory[ROW_BYTES];
    uint8_t has[ROWS];

    for (int64_t i = begin; i < end; i++) {
        int64_t first = i * s->rows, left = s->n_kept - first;
        group g = {.acc = bank_at(s->r, memory, s->rows),
                   .has = s->masked ? has : NULL,
                   .first = first,
                   .count = left < s->rows ? left : s->rows};
        reduce_rows(s, &g);
        if (is_cut(s))
            break;
        lw_reduce_deliver(s, &g);
    }
    return true;
}

/* Every piece of work finishes its results, for which there may be as much to do as for their
 * elements. */
static lw_status
by_row(run *s)
{
    int64_t bytes = 0, elements = s->code->costly ? COSTLY : ROW_ELEMENTS;

    for (uint32_t i = 0; i < s->r->n_acc; i++)
        bytes += lw_dtypes[s->r->acc[i]].size_bytes;
    assert(bytes > 0 && bytes <= LW_REDUCE_MOST * 16); /* numbers, complex ones at most */
    s->rows = (ROW_BYTES - 64 * (int64_t)s->r->n_acc) / bytes;
    s->rows = s->rows < ROWS ? s->rows : ROWS;
    if (s->rows > elements / s->n_reduced)
        s->rows = elements > s->n_reduced ? elements / s->n_reduced : 1;
    if (s->rows > s->n_kept)
        s->rows = s->n_kept;
    run_items(s, LW_REDUCE_ROWS, (s->n_kept + s->rows - 1) / s->rows, s->rows * s->n_reduced,
              some_rows, s);
    return ended(s);
}

/* ---- results of several chunks ---- */

typedef struct chunks_run {
    const run *s;
    group g;
} chunks_run;

/* As one_chunk, for an operator that stops: once a chunk decides the result, the others are
 * skipped. */
static void
one_chunk_or_none(const run *s, const group *g, int64_t item)
{
    char *to = bank_from(&g->acc, item).at[0];

    if (!atomic_load_explicit(s->stopped, memory_order_relaxed)) {
        one_chunk(s, g, item);
        if ((g->has == NULL || g->has[item]) && (*to != 0) == s->r->stop)
            atomic_store_explicit(s->stopped, true, memory_order_relaxed);
        return;
    }
    *to = s->r->stop;
    if (g->has != NULL)
        g->has[item] = true;
}

static bool
some_chunks(void *context, int64_t begin, int64_t end)
{
    const chunks_run *c = context;

    for (int64_t i = begin; i < end; i++)
        one_chunk(c->s, &c->g, i);
    return true;
}

static bool
first_chunk(void *context, int64_t begin, int64_t end)
{
    const chunks_run *c = context;

    for (int64_t i = begin; i < end; i++)
        one_chunk_or_none(c->s, &c->g, i);
    return true;
}

static bool
other_chunks(void *context, int64_t begin, int64_t end)
{
    const chunks_run *c = context;

    for (int64_t i = begin; i < end; i++)
        one_chunk_or_none(c->s, &c->g, i + 1);
    return true;
}

/* Reduces the first chunk alone: if it decides the result, other threads need not wake up. */
static void
until_known(chunks_run *c, int64_t per_chunk)
{
    const run *s = c->s;

    lw_in_pieces(s->job->stop, 0, 1, 1, 1, first_chunk, c);
    if (atomic_load_explicit(s->stopped, memory_order_relaxed))
        other_chunks(c, 0, s->n_chunks - 1);
    else
        run_items(s, LW_REDUCE_ROWS, s->n_chunks - 1, per_chunk, other_chunks, c);
}

/* Combines the chunks of each result; the results are neighbours then. */
static void
join_chunks(const run *s, const group *g)
{
    for (int64_t i = 0; i < g->count; i++) {
        bank from = bank_from(&g->acc, i * s->n_chunks), to = bank_from(&g->acc, i);
        int64_t n = s->n_chunks;

        if (g->has != NULL) {
            n = 0;
            for (int64_t k = 0; k < s->n_chunks; k++) {
                bank one = bank_from(&from, k), place = bank_from(&from, n);
                if (!g->has[i * s->n_chunks + k])
                    continue;
                bank_copy(&place, &one, 1);
                n++;
            }
            g->has[i] = n > 0;
        }
        lw_reduce_merge_tree(s, &from, n, 1, 1);
        if (n > 0)
            bank_copy(&to, &from, 1);
    }
}

/* ---- finishing results ---- */

/* Combines initial with the accumulator, which comes behind it. */
static void
put_initial(const run *s, const bank *acc)
{
    _Alignas(64) char memory[LW_REDUCE_MOST * 64];
    bank left = bank_at(s->r, memory, 1);

    bank_fill(&left, s->job->initial, 1);
    merge(s, &left, acc, 1);
    bank_copy(acc, &left, 1);
}

/* Whether any of n bytes, `stride` bytes apart, is not 0. */
static bool
any_of(const char *items, int64_t stride, int64_t n)
{
    enum { PIECE = 1024 }; /* bytes that are tested together */

    for (int64_t at = 0; at < n; at += PIECE) {
        int64_t end = at + PIECE < n ? at + PIECE : n;
        char any = 0;
        for (int64_t i = at; i < end; i++)
            any |= items[i * stride];
        if (any)
            return true;
    }
    return false;
}

/* Whether the mask, which is the last operand, leaves any element of result `which`. */
static bool
any_is_there(const run *s, int64_t which)
{
    const lw_reduce_space *space = &s->job->reduced;
    uint32_t mask = s->n_in - 1;
    const char *base = s->job->operand[mask] + offset_of(&s->job->kept, mask, which);
    int64_t inner = space->n ? space->size[space->n - 1] : 1;
    int64_t stride = space->n ? space->stride[mask][space->n - 1] : 0;

    for (int64_t at = 0; at < s->n_reduced; at += inner)
        if (any_of(base + offset_of(space, mask, at), stride, inner))
            return true;
    return false;
}

/* Sets accumulators that equal the neutral value to `empty` if they have no element. The two
 * may differ: the sum of no elements is 0, but -0 is neutral, and may be the sum of elements
 * -0. */
static void
put_empty(const run *s, const group *g)
{
    const lw_reduce_job *job = s->job;
    bool differs = false;

    for (uint32_t k = 0; k < g->acc.n; k++)
        differs |= memcmp(job->neutral[k].bytes, job->empty[k].bytes, g->acc.size[k]) != 0;
    for (int64_t i = 0; differs && i < g->count; i++) {
        bank acc = bank_from(&g->acc, i);
        bool neutral = true;
        for (uint32_t k = 0; k < acc.n && neutral; k++)
            neutral = memcmp(acc.at[k], job->neutral[k].bytes, acc.size[k]) == 0;
        if (neutral && !any_is_there(s, g->first + i))
            bank_fill(&acc, job->empty, 1);
    }
}

void
lw_reduce_deliver(const run *s, const group *g)
{
    char *args[2 * LW_REDUCE_MOST];

    if (s->job->neutral != NULL && s->job->initial == NULL && s->job->empty != NULL &&
        s->n_reduced > 0)
        put_empty(s, g);
    for (int64_t i = 0; i < g->count && (g->has != NULL || s->job->initial != NULL); i++) {
        bank acc = bank_from(&g->acc, i);
        if (g->has != NULL && !g->has[i])
            bank_fill(&acc, s->job->empty, 1);
        else if (s->job->initial != NULL)
            put_initial(s, &acc);
    }
    memcpy(args, g->acc.at, g->acc.n * sizeof *args);
    for (uint32_t i = 0; i < s->r->n_out; i++)
        args[g->acc.n + i] = s->job->out[i] + g->first * lw_dtypes[s->r->out[i]].size_bytes;
    s->code->finish(args, g->count);
}

static lw_status
by_chunks(run *s, lw_error *err)
{
    int64_t most = s->code->costly
                       ? GROUP / 16
                       : GROUP; /* nobody looks for Ctrl-C while they are combined */
    int64_t together = most / s->n_chunks > 0 ? most / s->n_chunks : 1;
    lw_status status = LW_OK;
    atomic_bool stopped = false;
    _Alignas(64) char few[FEW];
    char *memory = few;
    chunks_run c = {.s = s};
    size_t bytes;

    s->stopped = s->r->stops && s->n_kept == 1 ? &stopped : NULL;
    if (together > s->n_kept)
        together = s->n_kept;
    bytes = bank_bytes(s->r, together * s->n_chunks);
    if (bytes > sizeof few)
        memory = lw_alloc(bytes + 64);
    if (s->masked)
        c.g.has = lw_alloc((size_t)(together * s->n_chunks));
    if (memory == NULL || (c.g.has == NULL && s->masked)) {
        status = lw_fail_memory(err);
        goto fail;
    }
    c.g.acc = bank_at(s->r, memory, together * s->n_chunks);
    for (; c.g.first < s->n_kept; c.g.first += together) {
        c.g.count = s->n_kept - c.g.first < together ? s->n_kept - c.g.first : together;
        if (s->stopped != NULL)
            until_known(&c, s->chunk);
        else
            run_items(s, LW_REDUCE_ROWS, c.g.count * s->n_chunks, s->chunk, some_chunks, &c);
        LW_TRY(ended(s));
        join_chunks(s, &c.g);
        lw_reduce_deliver(s, &c.g);
    }
fail:
    s->stopped = NULL;
    lw_free(c.g.has);
    if (memory != few)
        lw_free(memory);
    return status;
}

/* ---- spaces ---- */

/* Whether rows are long enough for `pick`, and contiguous. */
static bool
picks_rows(const run *s)
{
    enum { ENOUGH = 32 };

    return s->picks && s->n_reduced >= ENOUGH && all_lie_straight(s);
}

/* Whether neighbouring results are nearer to each other than neighbouring elements, or there
 * are so few elements that results are better made side by side. */
static bool
prefers_columns(const run *s)
{
    const lw_reduce_space *kept = &s->job->kept, *reduced = &s->job->reduced;
    int64_t columns = kept->n ? kept->size[kept->n - 1] : 1;

    if (s->masked || columns < 4)
        return false;
    if (s->n_reduced < SMALL_REDUCED && columns >= s->n_reduced && !picks_rows(s))
        return true;
    return reduced->n > 0 && distance(kept->stride[0][kept->n - 1]) <
                                 distance(reduced->stride[0][reduced->n - 1]);
}

int64_t
lw_reduce_block_of(const lw_reduction *r, uint32_t width)
{
    int64_t rows = LANE_ROWS, bytes = 1 + (r->indexed ? (int64_t)sizeof(int64_t) : 0);

    for (uint32_t i = 0; i < r->n_in; i++)
        bytes += lw_dtypes[r->loaded[i]].size_bytes;
    while (rows > 1 && rows * width * bytes > SCRATCH)
        rows /= 2;
    return rows * width;
}

void
lw_reduce_run_start(run *s, lw_reduce_job *job)
{
    s->job = job;
    s->r = job->reduction;
    s->code = job->code;
    s->n_in = s->r->n_in;
    s->n_operands = s->code->n_operands;
    for (uint32_t i = 0; i < s->n_in; i++)
        s->operand_size[i] = lw_dtypes[s->r->loaded[i]].size_bytes;
    s->operand_size[s->n_in] = sizeof(int64_t);
    s->masked = job->operand[s->n_in] != NULL;
    s->best = s->code->best != NULL && !s->code->costly;
    s->picks = s->code->pick != NULL && !s->code->costly && !s->masked;
    s->at_once = false;
    s->stopped = NULL;
    s->n_kept = lw_reduce_space_size(&job->kept);
    s->n_reduced = lw_reduce_space_size(&job->reduced);
    s->block = s->several = s->code->block;
    s->chunk = s->block * CHUNK_BLOCKS;
    s->n_chunks = s->tile = s->rows = 0;
}

static lw_status
all_empty(run *s, lw_error *err)
{
    int64_t together = s->n_kept < GROUP ? s->n_kept : GROUP;
    char *memory = lw_alloc(bank_bytes(s->r, together) + 64);
    const lw_reduce_item *initial = s->job->initial;
    group g = {.has = NULL};

    if (memory == NULL)
        return lw_fail_memory(err);
    g.acc = bank_at(s->r, memory, together);
    s->job->initial = NULL; /* `empty` includes it */
    for (; g.first < s->n_kept; g.first += together) {
        g.count = s->n_kept - g.first < together ? s->n_kept - g.first : together;
        bank_fill(&g.acc, s->job->empty, g.count);
        lw_reduce_deliver(s, &g);
    }
    s->job->initial = initial;
    lw_free(memory);
    return LW_OK;
}

lw_status
lw_reduce_run(lw_reduce_job *job, lw_error *err)
{
    bool straight;
    run s;

    lw_reduce_run_start(&s, job);
    if (s.n_kept == 0)
        return LW_OK;
    if (s.n_reduced == 0)
        return all_empty(&s, err);
    lw_reduce_simplify(job);
    if (prefers_columns(&s))
        return lw_reduce_by_column(&s, err);
    straight = !s.masked && all_lie_straight(&s);
    if (straight)
        s.several *= blocks_together(s.r, s.code);
    if (s.best && s.several > s.block)
        s.chunk *= BEST_CHUNK;
    s.at_once = straight && s.code->chunks != NULL && !(s.code->costly && s.n_reduced > COSTLY);
    s.n_chunks = (s.n_reduced + s.chunk - 1) / s.chunk;
    return s.n_chunks == 1 ? by_row(&s) : by_chunks(&s, err);
}

bool
lw_reduce_is_undivided(const lw_reduce_code *code, lw_reduce_way way, int64_t n)
{
    return way == LW_REDUCE_IN_ORDER ? n < LONG_ROW : n <= code->block * CHUNK_BLOCKS;
}

bool
lw_reduce_run_few(const lw_reduction *r, const lw_reduce_code *code, const char *in, int64_t n,
                  char *out)
{
    const int64_t size[2] = {lw_dtypes[r->loaded[0]].size_bytes, sizeof(int64_t)};
    _Alignas(64) char memory[LW_REDUCE_MOST * 64];
    char *args[2 * LW_REDUCE_MOST + 1];
    bank acc;

    assert(r->n_in == 1 && n > 0);
    if (code->costly ||
        (code->pick == NULL && (code->chunks == NULL || n > code->block * CHUNK_BLOCKS)))
        return false;
    acc = bank_at(r, memory, 1);
    args[0] = (char *)in;
    if (code->pick == NULL) {
        for (uint32_t i = 0; i < acc.n; i++)
            args[1 + i] = acc.at[i];
        code->chunks(args, n, &(int64_t){0}, code->block * blocks_together(r, code), 1);
    } else if (!pick_best(r, code, args, size, n, 0, &acc))
        return false;
    for (uint32_t i = 0; i < acc.n; i++)
        args[i] = acc.at[i];
    args[acc.n] = out;
    code->finish(args, 1);
    return true;
}
