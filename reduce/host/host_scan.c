/* Prefix sums, by any operator, of host memory: short rows are scanned in order, long ones in
 * segments. */
#include "reduce/host/host_parts.h"

#include "core/base/memory.h"
#include "core/host/thread_pool.h"

#include <assert.h>

typedef struct scan {
    run s;
    const lw_reduce_space *results; /* kept dimensions, then the reduced one */
    bool before;
    int64_t segment; /* elements */
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

/* The arguments of the loops. */
typedef struct row_args {
    char *args[3 * LW_REDUCE_MOST + 1];
    int64_t strides[2 * LW_REDUCE_MOST + 1];
} row_args;

static void
args_at(const scan *c, int64_t row, int64_t at, const bank *acc, row_args *to)
{
    const run *s = &c->s;
    const lw_reduce_job *job = s->job;

    for (uint32_t i = 0; i < s->n_in; i++) {
        to->strides[i] = job->reduced.stride[i][0];
        to->args[i] = job->operand[i] + offset_of(&job->kept, i, row) + at * to->strides[i];
    }
    memcpy(to->args + s->n_operands, acc->at, acc->n * sizeof *to->args);
    for (uint32_t i = 0; i < s->r->n_out; i++) {
        int64_t stride = c->results->stride[i][c->results->n - 1];
        to->strides[s->n_operands + i] = stride;
        to->args[s->n_operands + acc->n + i] =
            job->out[i] + result_offset(c, i, row) + at * stride;
    }
    if (s->r->indexed) {
        to->args[s->n_in] = job->operand[s->n_in] + at * (int64_t)sizeof(int64_t);
        to->strides[s->n_in] = sizeof(int64_t);
    }
}

/* A row that is being scanned. */
typedef struct way {
    const scan *c;
    int64_t row;
    const bank *acc;
    bool seeded;
} way;

static bool
scan_piece(void *context, int64_t begin, int64_t end)
{
    way *w = context;
    row_args a;

    args_at(w->c, w->row, begin, w->acc, &a);
    w->c->s.code->scans.scan(a.args, end - begin, a.strides, w->seeded, w->c->before);
    w->seeded = true;
    return true;
}

/* Scans the elements at … at + n - 1 of a row, starting from acc, which then holds the last
 * sum. The first piece is short, as elements may be costly. */
static void
scan_in_order(const scan *c, int64_t row, int64_t at, int64_t n, const bank *acc, bool seeded)
{
    enum { FIRST = 64 };
    way w = {c, row, acc, seeded};

    lw_in_pieces(c->s.job->stop, at, at + n, FIRST, 1, scan_piece, &w);
}

/* Loops combine the first element with what is in memory, and throw the result away if that is
 * nothing: the identity, where there is one, raises no floating-point flags then. */
static bool
start_row(const scan *c, const bank *acc)
{
    if (c->s.job->empty != NULL)
        bank_fill(acc, c->s.job->empty, 1);
    else if (c->s.r->has_identity)
        bank_fill(acc, c->s.r->identity, 1);
    else
        for (uint32_t i = 0; i < acc->n; i++)
            memset(acc->at[i], 0, acc->size[i]);
    return c->s.job->empty != NULL;
}

static void
one_row(const scan *c, int64_t row)
{
    _Alignas(64) char memory[LW_REDUCE_MOST * 64];
    bank acc = bank_at(c->s.r, memory, 1);
    bool seeded = start_row(c, &acc);

    scan_in_order(c, row, 0, c->s.n_reduced, &acc, seeded);
}

static bool
some_rows(void *context, int64_t begin, int64_t end)
{
    const scan *c = context;

    for (int64_t i = begin; i < end && !is_cut(&c->s); i++)
        one_row(c, i);
    return true;
}

/* ---- neighbouring rows side by side: an element of each, then the next ---- */

enum { LEAST_TILE = 64, MOST_TILE = 1024 };

typedef struct tiles_run {
    const scan *c;
    int64_t columns, tile; /* rows that are neighbours in memory, and of a tile */
    int64_t of_line;       /* tiles */
} tiles_run;

static void
scan_tile(const scan *c, int64_t row, int64_t n)
{
    _Alignas(64) char memory[TILE + 64 * LW_REDUCE_MOST], one[LW_REDUCE_MOST * 64];
    char *args[2 * LW_REDUCE_MOST + 1], *ends[2 * LW_REDUCE_MOST];
    const run *s = &c->s;
    const lw_reduce_space *kept = &s->job->kept, *to = c->results;
    bank acc = bank_at(s->r, memory, n), first = bank_at(s->r, one, 1);
    bool seeded = start_row(c, &first), straight = !s->r->indexed;
    int64_t strides[LW_REDUCE_MOST + 1];

    if (seeded)
        bank_fill(&acc, s->job->empty, n);
    for (uint32_t i = 0; i < s->n_in; i++) {
        args[i] = s->job->operand[i] + offset_of(kept, i, row);
        strides[i] = kept->stride[i][kept->n - 1];
        straight &= strides[i] == s->operand_size[i];
    }
    args[s->n_in] = s->job->operand[s->n_in];
    strides[s->n_in] = 0; /* one index for all */
    memcpy(args + s->n_operands, acc.at, acc.n * sizeof *args);
    memcpy(ends, acc.at, acc.n * sizeof *ends);
    for (uint32_t i = 0; i < s->r->n_out; i++)
        ends[acc.n + i] = s->job->out[i] + result_offset(c, i, row);
    for (int64_t at = 0; at < s->n_reduced; at++) {
        if (c->before)
            s->code->finish(ends, n);
        if (at == 0 && !seeded)
            (straight ? s->code->seed : s->code->seed_strided)(args, n, strides);
        else
            (straight ? s->code->columns : s->code->columns_strided)(args, n, strides);
        if (!c->before)
            s->code->finish(ends, n);
        for (uint32_t i = 0; i < s->n_in; i++)
            args[i] += s->job->reduced.stride[i][0];
        if (s->r->indexed)
            args[s->n_in] += sizeof(int64_t);
        for (uint32_t i = 0; i < s->r->n_out; i++)
            ends[acc.n + i] += to->stride[i][to->n - 1];
    }
}

static bool
some_tiles(void *context, int64_t begin, int64_t end)
{
    const tiles_run *t = context;

    for (int64_t i = begin; i < end && !(i > begin && is_cut(&t->c->s)); i++) {
        int64_t at = i % t->of_line * t->tile, left = t->columns - at;
        scan_tile(t->c, i / t->of_line * t->columns + at, left < t->tile ? left : t->tile);
    }
    return true;
}

/* Whether neighbouring rows are nearer to each other than their elements, and what is computed
 * for them together has the bits of what is computed for each. */
static bool
goes_side_by_side(const scan *c)
{
    enum { ENOUGH = 16 };
    const run *s = &c->s;
    const lw_reduce_space *kept = &s->job->kept, *to = c->results;
    int d = kept->n - 1;

    if (s->code->seed_strided == NULL || s->code->costly || !s->code->same_in_vectors ||
        kept->n == 0 || kept->size[d] < ENOUGH)
        return false;
    for (uint32_t i = 0; i < s->r->n_out; i++)
        if (to->stride[i][to->n - 2] != (int64_t)lw_dtypes[s->r->out[i]].size_bytes)
            return false;
    return distance(kept->stride[0][d]) < distance(s->job->reduced.stride[0][0]);
}

/* A tile has fewer columns where there are more threads: each still reads whole cache lines. */
static void
side_by_side(const scan *c)
{
    const lw_reduce_space *kept = &c->s.job->kept;
    tiles_run t = {.c = c, .columns = kept->size[kept->n - 1]};
    int64_t most, bytes = 0;

    for (uint32_t i = 0; i < c->s.r->n_acc; i++)
        bytes += lw_dtypes[c->s.r->acc[i]].size_bytes;
    assert(bytes > 0); /* an accumulator has a number */
    most = TILE / bytes < MOST_TILE ? TILE / bytes : MOST_TILE;
    t.tile = c->s.n_kept / (4 * (int64_t)lw_host_threads()) / LEAST_TILE * LEAST_TILE;
    t.tile = t.tile < LEAST_TILE ? LEAST_TILE : t.tile > most ? most : t.tile;
    t.of_line = (t.columns + t.tile - 1) / t.tile;
    run_items(&c->s, LW_REDUCE_SIDE_BY_SIDE, c->s.n_kept / t.columns * t.of_line,
              (t.tile < t.columns ? t.tile : t.columns) * c->s.n_reduced, some_tiles, &t);
}

/* ---- long rows: the totals of segments, then each segment from what comes before it ---- */

enum {
    SEGMENT = 2032, /* not a power of two, or segments would compete for the same cache sets */
    COSTLY_SEGMENT = 48, /* of elements that may take long; four segments are one call */
    TOGETHER = 16,       /* calls for each thread whose totals are computed before their
                            results: their elements stay in its cache */
};

/* Neighbouring rows, of which so many pieces of four segments each are scanned together. */
typedef struct long_rows {
    const scan *c;
    int64_t row, n_rows;
    int64_t at;     /* the first element of the first piece of each row */
    int64_t pieces; /* of each row */
    bank totals;    /* four for each piece; later what comes before each segment */
    bank acc;       /* for each row, what comes before the next piece */
} long_rows;

/* Piece `item % pieces` of row `item / pieces`. Gives its first element. */
static int64_t
piece_at(const long_rows *l, int64_t item, row_args *a)
{
    bank four = bank_from(&l->totals, 4 * item);
    int64_t at = l->at + item % l->pieces * 4 * l->c->segment;

    args_at(l->c, l->row + item / l->pieces, at, &four, a);
    return at;
}

static bool
some_totals(void *context, int64_t begin, int64_t end)
{
    const long_rows *l = context;
    const run *s = &l->c->s;
    int64_t n = l->c->segment, slices[8];
    row_args a;

    for (int k = 0; k < 8; k++)
        slices[k] = k % 2 ? n : k / 2 * n;
    for (int64_t i = begin; i < end && !(i > begin && is_cut(s)); i++) {
        int64_t at = piece_at(l, i, &a);
        if (s->r->commutative && !s->r->indexed)
            s->code->scans.slices(a.args, 4, a.strides, slices);
        else
            s->code->scans.totals(a.args, n, a.strides, n, at);
    }
    return true;
}

static bool
some_segments(void *context, int64_t begin, int64_t end)
{
    const long_rows *l = context;
    int64_t n = l->c->segment;
    row_args a;

    for (int64_t i = begin; i < end && !(i > begin && is_cut(&l->c->s)); i++) {
        int64_t at = piece_at(l, i, &a);
        l->c->s.code->scans.segments(a.args, n, a.strides, n, at, l->c->before);
    }
    return true;
}

/* What is left of rows: less than a piece of each. */
static bool
some_ends(void *context, int64_t begin, int64_t end)
{
    const long_rows *l = context;

    for (int64_t i = begin; i < end && !(i > begin && is_cut(&l->c->s)); i++) {
        bank acc = bank_from(&l->acc, i);
        scan_in_order(l->c, l->row + i, l->at, l->c->s.n_reduced - l->at, &acc, true);
    }
    return true;
}

/* An exclusive prefix sum: each total becomes what comes before its segment, and acc the sum of
 * all. */
static void
put_before(const run *s, const bank *totals, int64_t n, const bank *acc)
{
    _Alignas(64) char memory[LW_REDUCE_MOST * 64];
    bank total = bank_at(s->r, memory, 1);

    for (int64_t i = 0; i < n; i++) {
        bank one = bank_from(totals, i);
        bank_copy(&total, &one, 1);
        bank_copy(&one, acc, 1);
        merge(s, acc, &total, 1);
    }
}

/* Makes the accumulators of the rows. Gives how many elements they have then: 1 where there is
 * nothing before the first. */
static int64_t
start_rows(const long_rows *l)
{
    _Alignas(64) char memory[LW_REDUCE_MOST * 64];
    bank one = bank_at(l->c->s.r, memory, 1);
    bool seeded = true;

    for (int64_t i = 0; i < l->n_rows; i++) {
        bank acc = bank_from(&l->acc, i);
        seeded = start_row(l->c, &one);
        if (!seeded)
            scan_in_order(l->c, l->row + i, 0, 1, &one, false);
        bank_copy(&acc, &one, 1);
    }
    return seeded ? 0 : 1;
}

static lw_status
scan_together(long_rows *l, int64_t most)
{
    const run *s = &l->c->s;
    int64_t n = s->n_reduced, four = 4 * l->c->segment;
    lw_status status = LW_OK;

    l->at = start_rows(l);
    for (; n - l->at >= four; l->at += l->pieces * four) {
        int64_t left = (n - l->at) / four;
        l->pieces = left * l->n_rows <= most ? left : most / l->n_rows;
        LW_TRY(lw_stop_asked(s->job->stop) ? LW_ERR_PYTHON : LW_OK);
        run_items(s, LW_REDUCE_TOTALS, l->n_rows * l->pieces, four, some_totals, l);
        LW_TRY(ended(s));
        for (int64_t i = 0; i < l->n_rows; i++) {
            bank totals = bank_from(&l->totals, 4 * i * l->pieces), acc = bank_from(&l->acc, i);
            put_before(s, &totals, 4 * l->pieces, &acc);
        }
        run_items(s, LW_REDUCE_SEGMENTS, l->n_rows * l->pieces, four, some_segments, l);
        LW_TRY(ended(s));
    }
    if (l->at < n)
        run_items(s, LW_REDUCE_IN_ORDER, l->n_rows, n - l->at, some_ends, l);
    status = ended(s);
fail:
    return status;
}

static lw_status
scan_long(const scan *c, lw_error *err)
{
    int64_t of_row = c->s.n_reduced / (4 * c->segment), threads = lw_host_threads();
    int64_t most = threads > 1 ? TOGETHER * threads : 1;
    int64_t together = most > of_row ? most / of_row : 1;
    lw_status status = LW_OK;
    char *memory, *acc;

    memory = lw_alloc(bank_bytes(c->s.r, 4 * most) + 64);
    acc = lw_alloc(bank_bytes(c->s.r, together) + 64);
    if (memory == NULL || acc == NULL) {
        status = lw_fail_memory(err);
        goto fail;
    }
    for (int64_t row = 0; row < c->s.n_kept; row += together) {
        int64_t left = c->s.n_kept - row;
        long_rows l = {.c = c,
                       .row = row,
                       .n_rows = left < together ? left : together,
                       .totals = bank_at(c->s.r, memory, 4 * most),
                       .acc = bank_at(c->s.r, acc, together)};
        LW_TRY(scan_together(&l, most));
    }
fail:
    lw_free(memory);
    lw_free(acc);
    return status;
}

/* Whether to scan in segments. Sums and the like of integers take a cycle each and are the same
 * in any order, so that few threads gain nothing from segments, which take twice as long. */
static bool
in_segments(const run *s)
{
    enum { FEW_THREADS = 3 };
    bool exact = s->r->has_identity;

    for (uint32_t i = 0; i < s->r->n_acc; i++)
        exact &= lw_is_integer(s->r->acc[i]) || s->r->acc[i] == LW_DT_b1;
    return s->n_reduced >= LONG_ROW && !(exact && lw_host_threads() <= FEW_THREADS);
}

lw_status
lw_reduce_scan_run(lw_reduce_job *job, const lw_reduce_space *results, bool before,
                   lw_error *err)
{
    int64_t *index = NULL;
    lw_status status = LW_OK;
    scan c;

    lw_reduce_run_start(&c.s, job);
    c.results = results;
    c.before = before;
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
    c.segment = c.s.code->costly ? COSTLY_SEGMENT : SEGMENT;
    if (in_segments(&c.s))
        status = scan_long(&c, err);
    else if (goes_side_by_side(&c))
        side_by_side(&c);
    else
        run_items(&c.s, LW_REDUCE_IN_ORDER, c.s.n_kept, c.s.n_reduced, some_rows, &c);
    lw_free(index);
    return status == LW_OK ? ended(&c.s) : status;
}
