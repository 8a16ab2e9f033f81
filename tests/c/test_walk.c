/* core/plan/walk: normalising, and what it says of addresses. Walks of random layouts must meet
 * every item once, and the same items together. */
#include "core/plan/walk.h"
#include "tests/c/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERANDS = 3, MOST = 4096 };

static uint64_t state = 20261123;

static uint32_t
below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

typedef struct tuple {
    uint64_t at[OPERANDS];
} tuple;

static int
compare(const void *x, const void *y)
{
    return memcmp(x, y, sizeof(tuple));
}

/* The addresses that a walk of these strides, innermost last, visits together. */
static int
visit(int n_operands, int ndim, const int64_t *shape, const uint64_t *data,
      const int64_t *const *strides, tuple *out)
{
    int64_t n = 1;

    for (int d = 0; d < ndim; d++)
        n *= shape[d];
    for (int64_t k = 0; k < n; k++) {
        int64_t rest = k;
        memset(&out[k], 0, sizeof out[k]);
        for (int i = 0; i < n_operands; i++)
            out[k].at[i] = data[i];
        for (int d = ndim - 1; d >= 0 && shape[d] > 0; d--) {
            for (int i = 0; i < n_operands; i++)
                out[k].at[i] += (uint64_t)(strides[i][d] * (rest % shape[d]));
            rest /= shape[d];
        }
    }
    qsort(out, (size_t)n, sizeof *out, compare);
    return (int)n;
}

typedef struct layout {
    int n_operands, ndim;
    int64_t shape[6], strides[OPERANDS][6];
    uint64_t data[OPERANDS];
} layout;

static layout
random_layout(void)
{
    layout l = {.n_operands = 1 + (int)below(OPERANDS), .ndim = (int)below(6)};

    for (int d = 0; d < l.ndim; d++)
        l.shape[d] = 1 + below(4);
    for (int i = 0; i < l.n_operands; i++) {
        int64_t step = 8;
        l.data[i] = (uint64_t)(i + 1) << 32;
        for (int d = l.ndim - 1; d >= 0; d--) {
            uint32_t kind = below(8);
            l.strides[i][d] = kind == 0 ? 0 : kind == 1 ? -step : kind == 2 ? 3 * step : step;
            step *= l.shape[d];
        }
        if (below(3) == 0 && l.ndim > 1) { /* transposed */
            int64_t kept = l.strides[i][0];
            l.strides[i][0] = l.strides[i][l.ndim - 1];
            l.strides[i][l.ndim - 1] = kept;
        }
    }
    return l;
}

static tuple before[MOST], after[MOST];

static void
try_layout(const layout *l, lw_walk *walk)
{
    const int64_t *rows[OPERANDS], *walked[OPERANDS];
    int64_t shape[LW_WALK_DIMS], strides[OPERANDS][LW_WALK_DIMS] = {{0}};
    uint64_t data[OPERANDS];
    int n;

    for (int d = 0; d < LW_WALK_DIMS; d++)
        shape[d] = 1;
    walk->n_operands = l->n_operands;
    for (int i = 0; i < l->n_operands; i++) {
        rows[i] = l->strides[i];
        walk->operands[i].data = l->data[i];
        walk->operands[i].by_value = false;
        walk->operands[i].is_output = i == l->n_operands - 1;
    }
    CHECK(lw_walk_begin(walk, l->ndim, l->shape, rows));
    lw_walk_sort(walk);
    lw_walk_flip(walk);
    lw_walk_merge(walk);
    for (int d = 0; d < walk->ndim; d++) {
        CHECK(walk->shape[d] > 1);
        shape[d] = walk->shape[walk->ndim - 1 - d];
        for (int i = 0; i < l->n_operands; i++)
            strides[i][d] = walk->operands[i].strides[walk->ndim - 1 - d];
    }
    for (int i = 0; i < l->n_operands; i++) {
        walked[i] = strides[i];
        data[i] = walk->operands[i].data;
    }
    n = visit(l->n_operands, l->ndim, l->shape, l->data, rows, before);
    CHECK(n == walk->n);
    CHECK(visit(l->n_operands, walk->ndim, shape, data, walked, after) == n);
    CHECK(memcmp(before, after, (size_t)n * sizeof *before) == 0);
}

/* From a random item on, row by row: the addresses are those of each row's first item. */
static void
try_rows(const lw_walk *walk)
{
    int64_t index[LW_WALK_DIMS] = {0}, wanted[LW_WALK_DIMS] = {0}, item;
    char *at[OPERANDS];

    if (walk->n == 0 || walk->ndim == 0)
        return;
    item = below((uint32_t)walk->n);
    lw_walk_place(walk, item, index);
    for (int i = 0; i < walk->n_operands; i++)
        at[i] = lw_walk_address(walk, i, index);
    for (;;) {
        item += walk->shape[0] - index[0];
        if (item >= walk->n)
            return;
        lw_walk_next_row(walk, index, at);
        lw_walk_place(walk, item, wanted);
        CHECK(memcmp(index, wanted, sizeof index) == 0);
        for (int i = 0; i < walk->n_operands; i++)
            CHECK(at[i] == lw_walk_address(walk, i, wanted));
    }
}

static void
test_random(void)
{
    static lw_walk walk;

    for (int k = 0; k < 20000; k++) {
        layout l = random_layout();
        try_layout(&l, &walk);
        try_rows(&walk);
    }
}

static void
test_merges(void)
{
    static lw_walk walk;
    layout dense = {1, 3, {4, 5, 6}, {{240, 48, 8}}, {64}};
    layout back = {1, 2, {4, 5}, {{-40, -8}}, {1000}};
    layout turned = {2, 2, {4, 5}, {{40, 8}, {8, 32}}, {64, 4096}};

    try_layout(&dense, &walk);
    CHECK(walk.ndim == 1 && walk.shape[0] == 120 && walk.operands[0].strides[0] == 8);
    try_layout(&back, &walk);
    CHECK(walk.ndim == 1 && walk.operands[0].strides[0] == 8 &&
          walk.operands[0].data == 1000 - 19 * 8);
    try_layout(&turned, &walk); /* the output, which is the last, has the say */
    CHECK(walk.ndim == 2 && walk.operands[1].strides[0] == 8 && walk.shape[0] == 4);
}

static void
test_addresses(void)
{
    static lw_walk walk;
    const uint32_t bytes[2] = {8, 8};
    layout rows = {2, 2, {10, 6}, {{64, 8}, {64, 8}}, {4096, 4096 + 10 * 64}};

    try_layout(&rows, &walk);
    CHECK(walk.ndim == 2 && lw_walk_outputs_apart(&walk, bytes));
    CHECK(lw_walk_is_aligned(&walk, 0, 16) && !lw_walk_is_aligned(&walk, 0, 128));
    CHECK(lw_walk_spans(&walk, 9 * 64 + 39) && !lw_walk_spans(&walk, 9 * 64 + 40));
    CHECK(!lw_walk_stays(&walk, 0));
    walk.operands[1].data -= 64;
    CHECK(!lw_walk_outputs_apart(&walk, bytes));
    walk.operands[0].data += 8;
    CHECK(!lw_walk_is_aligned(&walk, 0, 16) && lw_walk_is_aligned(&walk, 0, 8));
}

static int
across(int ndim, const int64_t *shape, const int64_t *strides, uint32_t bytes)
{
    static lw_walk walk;

    walk.n_operands = 1;
    walk.operands[0] = (lw_walk_operand){.data = 0};
    CHECK(lw_walk_begin(&walk, ndim, shape, &strides));
    return lw_walk_across(&walk, 0, bytes);
}

/* Outermost first; the dimensions that are found are counted from the innermost one. */
static void
test_across(void)
{
    int64_t shape[3] = {100, 3, 50};

    CHECK(across(3, shape, (int64_t[]){1200, 400, 8}, 8) == 0); /* in C order */
    CHECK(across(3, shape, (int64_t[]){8, 800, 2400}, 8) == 2); /* in the opposite one */
    CHECK(across(3, shape, (int64_t[]){-8, 800, 2400}, 8) == 2);
    CHECK(across(3, shape, (int64_t[]){24, 8, 2400}, 8) == 2);    /* 3 items are too few, */
    CHECK(across(3, shape, (int64_t[]){24, 8, 2400}, 16) == 1);   /* if they are not large */
    CHECK(across(3, shape, (int64_t[]){64, 9600, 6400}, 8) == 0); /* each has its own line */
    CHECK(across(3, shape, (int64_t[]){0, 0, 64}, 8) == 0);
    CHECK(across(1, shape, (int64_t[]){64}, 8) == 0);
    CHECK(across(0, shape, NULL, 8) == 0);
}

typedef struct seen {
    lw_walk *walk;
    uint32_t width;
    int64_t n, parts;
    uint64_t next; /* where the next part of operand 0 must begin */
} seen;

static int
see(void *context)
{
    seen *s = context;

    CHECK(lw_walk_is_short(s->walk, s->width));
    CHECK(s->walk->operands[0].data == s->next && s->walk->operands[1].data == 7);
    s->next += (uint64_t)s->walk->n * 8;
    s->n += s->walk->n;
    s->parts++;
    return 0;
}

static int
refuse(void *context)
{
    ++*(int *)context;
    return -5;
}

static void
test_cut(void)
{
    static lw_walk walk;
    int64_t shapes[3][3] = {
        {1, 1, INT64_C(5) << 30}, {3, 7, INT64_C(1) << 29}, {INT64_C(3) << 31, 2, 3}};
    int calls = 0;

    for (int k = 0; k < 3; k++) {
        const int64_t *shape = shapes[k];
        int64_t dense[3] = {8 * shape[1] * shape[2], 8 * shape[2], 8}, none[3] = {0};
        const int64_t *rows[2] = {dense, none};
        seen s = {&walk, k == 1 ? 4 : 1, 0, 0, 1 << 20};
        walk.n_operands = 2;
        walk.operands[0] = (lw_walk_operand){.data = 1 << 20, .is_output = true};
        walk.operands[1] = (lw_walk_operand){.data = 7, .by_value = true};
        CHECK(lw_walk_begin(&walk, 3, shape, rows));
        CHECK(lw_walk_cut(&walk, s.width, see, &s) == 0);
        CHECK(s.parts > 1 && s.n == walk.n && walk.operands[0].data == 1 << 20);
    }
    CHECK(lw_walk_cut(&walk, 1, refuse, &calls) == -5 && calls == 1);
}

int
main(void)
{
    test_random();
    test_merges();
    test_addresses();
    test_across();
    test_cut();
    return n_failures != 0;
}
