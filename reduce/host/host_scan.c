/* Prefix sums, by any operator, of host memory: short rows are scanned in order, long ones in
 * segments. */
#include "reduce/host/host_parts.h"

#include "core/base/memory.h"
#include "core/host/thread_pool.h"

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
start_row(const scan *c, const bank *acc, char *memory, size_t bytes)
{
    memset(memory, 0, bytes);
    if (c->s.job->empty != NULL)
        bank_fill(acc, c->s.job->empty, 1);
    else if (c->s.r->has_identity)
        bank_fill(acc, c->s.r->identity, 1);
    return c->s.job->empty != NULL;
}

static void
one_row(const scan *c, int64_t row)
{
    _Alignas(64) char memory[LW_REDUCE_MOST * 64];
    bank acc = bank_at(c->s.r, memory, 1);
    bool seeded = start_row(c, &acc, memory, sizeof memory);

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

/* ---- long rows: the totals of segments, then each segment from what comes before it ---- */

enum {
    SEGMENT = 2032, /* not a power of two, or segments would compete for the same cache sets */
    COSTLY_SEGMENT = 48, /* of elements that may take long; four segments are one call */
    TOGETHER = 64,       /* calls whose totals are computed before their results */
    LONG_ROW = 1 << 15
};

typedef struct long_row {
    const scan *c;
    int64_t row, at; /* at: the first element of the first piece */
    bank totals;     /* four for each piece; later what comes before each segment */
} long_row;

static bool
some_totals(void *context, int64_t begin, int64_t end)
{
    const long_row *l = context;
    const run *s = &l->c->s;
    int64_t n = l->c->segment;
    row_args a;

    for (int64_t i = begin; i < end && !(i > begin && is_cut(s)); i++) {
        bank to = bank_from(&l->totals, 4 * i);
        int64_t at = l->at + i * 4 * n, slices[8];
        args_at(l->c, l->row, at, &to, &a);
        for (int k = 0; k < 8; k++)
            slices[k] = k % 2 ? n : k / 2 * n;
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
    const long_row *l = context;
    int64_t n = l->c->segment;
    row_args a;

    for (int64_t i = begin; i < end && !(i > begin && is_cut(&l->c->s)); i++) {
        bank from = bank_from(&l->totals, 4 * i);
        int64_t at = l->at + i * 4 * n;
        args_at(l->c, l->row, at, &from, &a);
        l->c->s.code->scans.segments(a.args, n, a.strides, n, at, l->c->before);
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

static void
one_long_row(const scan *c, int64_t row, char *memory)
{
    _Alignas(64) char acc_memory[LW_REDUCE_MOST * 64];
    bank acc = bank_at(c->s.r, acc_memory, 1);
    long_row l = {.c = c, .row = row, .totals = bank_at(c->s.r, memory, 4 * TOGETHER)};
    int64_t n = c->s.n_reduced, four = 4 * c->segment,
            most = lw_host_threads() > 1 ? TOGETHER : 1;

    if (!start_row(c, &acc, acc_memory, sizeof acc_memory)) {
        scan_in_order(c, row, 0, 1, &acc, false);
        l.at = 1;
    }
    while (n - l.at >= four && !lw_stop_asked(c->s.job->stop)) {
        int64_t pieces = (n - l.at) / four < most ? (n - l.at) / four : most;
        run_items(&c->s, LW_REDUCE_TOTALS, pieces, four, some_totals, &l);
        if (ended(&c->s) != LW_OK)
            return;
        put_before(&c->s, &l.totals, 4 * pieces, &acc);
        run_items(&c->s, LW_REDUCE_SEGMENTS, pieces, four, some_segments, &l);
        l.at += pieces * four;
    }
    if (l.at < n && ended(&c->s) == LW_OK)
        scan_in_order(c, row, l.at, n - l.at, &acc, true);
}

static lw_status
long_rows(const scan *c, lw_error *err)
{
    char *memory = lw_alloc(bank_bytes(c->s.r, 4 * TOGETHER) + 64);

    if (memory == NULL)
        return lw_fail_memory(err);
    for (int64_t row = 0; row < c->s.n_kept && ended(&c->s) == LW_OK; row++)
        one_long_row(c, row, memory);
    lw_free(memory);
    return ended(&c->s);
}

/* Whether to scan in segments. Sums and the like of integers take a cycle each and are the same
 * in any order, so that one thread gains nothing from segments. */
static bool
in_segments(const run *s)
{
    bool exact = s->r->has_identity;

    for (uint32_t i = 0; i < s->r->n_acc; i++)
        exact &= lw_is_integer(s->r->acc[i]) || s->r->acc[i] == LW_DT_b1;
    return s->n_reduced >= LONG_ROW && !(exact && lw_host_threads() == 1);
}

lw_status
lw_reduce_scan_run(lw_reduce_job *job, const lw_reduce_space *results, bool before,
                   lw_error *err)
{
    scan c = {.s = lw_reduce_run_of(job), .results = results, .before = before};
    int64_t *index = NULL;
    lw_status status = LW_OK;

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
        status = long_rows(&c, err);
    else
        run_items(&c.s, LW_REDUCE_IN_ORDER, c.s.n_kept, c.s.n_reduced, some_rows, &c);
    lw_free(index);
    return status == LW_OK ? ended(&c.s) : status;
}
