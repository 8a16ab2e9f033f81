/* Reductions whose results are nearer to each other than their elements: rows of elements go
 * into a tile of neighbouring accumulators. */
#include "reduce/host/host_parts.h"

#include "core/base/divider.h"
#include "core/base/memory.h"

#include <assert.h>

typedef struct tile_rows { /* the rows of a tile */
    char *base[LW_REDUCE_MOST + 1];
    int64_t stride[LW_REDUCE_MOST + 1]; /* bytes from column to column */
    /* bytes from row to row, where these are one dimension */
    int64_t apart[LW_REDUCE_MOST + 1];
    int64_t index[4];
    bool straight;
} tile_rows;

static void
tile_start(const run *s, int64_t which, tile_rows *t)
{
    const lw_reduce_space *kept = &s->job->kept;

    t->straight = true;
    for (uint32_t i = 0; i < s->n_in; i++) {
        t->base[i] = s->job->operand[i] + offset_of(kept, i, which);
        t->stride[i] = kept->stride[i][kept->n - 1];
        t->straight &= t->stride[i] == s->operand_size[i];
        t->apart[i] = s->job->reduced.n ? s->job->reduced.stride[i][0] : 0;
    }
    t->stride[s->n_in] = 0; /* one index for all columns */
    t->apart[s->n_in] = sizeof t->index[0];
}

/* Takes row number `row` of the tile, or four rows: it makes the accumulators if it is the
 * first, else it is combined with them. Gives how many rows were taken. */
static int64_t
tile_row(const run *s, tile_rows *t, int64_t row, int64_t last, int64_t n, const bank *acc,
         bool first)
{
    char *args[2 * LW_REDUCE_MOST + 1];
    const lw_reduce_space *reduced = &s->job->reduced;
    bool straight = t->straight && !s->r->indexed; /* a row has one index */

    for (uint32_t i = 0; i < s->n_in; i++)
        args[i] = t->base[i] +
                  (reduced->n == 1 ? row * reduced->stride[i][0] : offset_of(reduced, i, row));
    for (int k = 0; k < 4; k++)
        t->index[k] = row + k;
    args[s->n_in] = (char *)t->index;
    memcpy(args + s->n_operands, acc->at, acc->n * sizeof *args);
    if (first)
        (straight ? s->code->seed : s->code->seed_strided)(args, n, t->stride);
    else if (last - row >= 4 && reduced->n == 1) {
        if (s->code->fours != NULL)
            s->code->fours(args, n, t->stride, t->apart, 1);
        else
            (t->straight ? s->code->rows : s->code->rows_strided)(args, n, t->stride, t->apart);
        return 4;
    } else
        (straight ? s->code->columns : s->code->columns_strided)(args, n, t->stride);
    return 1;
}

/* The results that are worked on together are whole lines of neighbouring results, or whole
 * tiles of one line. */
typedef struct columns_run {
    const run *s;
    group g;
    int64_t columns; /* of a line, or the part of it */
    int64_t of_line; /* tiles */
    int64_t tiles;   /* of all lines together */
} columns_run;

/* Tile `at` of the group: its first result, and how many it has. */
static int64_t
tile_at(const columns_run *c, int64_t at, int64_t *n)
{
    int64_t column = at % c->of_line * c->s->tile, left = c->columns - column;

    *n = left < c->s->tile ? left : c->s->tile;
    return at / c->of_line * c->columns + column;
}

/* Reduces a chunk of rows of n results from `which` on. */
static void
tile_chunk(const run *s, int64_t which, int64_t n, int64_t chunk, const bank *to)
{
    _Alignas(64) char memory[TILE + 64 * LW_REDUCE_MOST];
    int64_t begin = chunk * s->chunk;
    int64_t end = begin + s->chunk < s->n_reduced ? begin + s->chunk : s->n_reduced;
    bank block = bank_at(s->r, memory, s->tile);
    tile_rows t;

    tile_start(s, which, &t);
    for (int64_t row = begin; row < end; row += BLOCK_ROWS) {
        int64_t last = row + BLOCK_ROWS < end ? row + BLOCK_ROWS : end;
        const bank *acc = row == begin ? to : &block;
        for (int64_t i = row; i < last;) {
            i += tile_row(s, &t, i, last, n, acc, i == row);
            if (is_cut(s))
                return;
        }
        if (acc == &block)
            merge(s, to, &block, n);
    }
}

/* Tiles of one chunk each, whose results are finished at once. */
static bool
some_tiles(void *context, int64_t begin, int64_t end)
{
    _Alignas(64) char memory[TILE + 64 * LW_REDUCE_MOST];
    const columns_run *c = context;
    const run *s = c->s;
    group g = {.acc = bank_at(s->r, memory, s->tile)};

    for (int64_t i = begin; i < end; i++) {
        g.first = tile_at(c, i, &g.count);
        tile_chunk(s, g.first, g.count, 0, &g.acc);
        if (is_cut(s))
            break;
        lw_reduce_deliver(s, &g);
    }
    return true;
}

/* Chunk `i / tiles` of tile `i % tiles`. */
static bool
some_chunks(void *context, int64_t begin, int64_t end)
{
    const columns_run *c = context;

    for (int64_t i = begin; i < end; i++) {
        int64_t n, first = tile_at(c, i % c->tiles, &n), chunk = i / c->tiles;
        bank to = bank_from(&c->g.acc, chunk * c->g.count + first);
        tile_chunk(c->s, c->g.first + first, n, chunk, &to);
    }
    return true;
}

/* Combines the chunks of tiles, and finishes their results. */
static bool
some_joined(void *context, int64_t begin, int64_t end)
{
    const columns_run *c = context;

    for (int64_t i = begin; i < end; i++) {
        group tile = {.has = NULL};
        int64_t first = tile_at(c, i, &tile.count);
        tile.first = c->g.first + first;
        tile.acc = bank_from(&c->g.acc, first);
        lw_reduce_merge_tree(c->s, &tile.acc, c->s->n_chunks, c->g.count, tile.count);
        lw_reduce_deliver(c->s, &tile);
    }
    return true;
}

static int64_t
tile_columns(const lw_reduction *r, int64_t columns)
{
    enum { LEAST = 16, MOST = 1024 };
    int64_t bytes = 0, n, tiles;

    for (uint32_t i = 0; i < r->n_acc; i++)
        bytes += lw_dtypes[r->acc[i]].size_bytes;
    assert(bytes > 0); /* an accumulator has a number */
    n = TILE / bytes / LEAST * LEAST;
    n = n > MOST ? MOST : n;
    if (columns <= n)
        return columns;
    tiles = lw_divide_up(columns, n);
    return lw_round_up(lw_divide_up(columns, tiles),
                       LEAST); /* so tiles have nearly the same size */
}

/* The group of `count` results from `first` on, of lines of so many columns. */
static void
group_at(columns_run *c, int64_t first, int64_t count, int64_t columns)
{
    c->g.first = first;
    c->g.count = count;
    c->columns = lw_least(columns, count);
    c->of_line = (c->columns + c->s->tile - 1) / c->s->tile;
    c->tiles = count / c->columns * c->of_line;
}

/* Results of several chunks, in groups whose accumulators are held. */
static lw_status
in_groups(columns_run *c, int64_t columns, int64_t per_item, lw_error *err)
{
    const run *s = c->s;
    int64_t most = (s->code->costly ? GROUP / 16 : GROUP) / s->n_chunks, together;
    lw_status status = LW_OK;
    char *memory;

    together = most >= columns  ? lw_least(most / columns * columns, s->n_kept)
               : most > s->tile ? most / s->tile * s->tile
                                : s->tile;
    memory = lw_alloc(bank_bytes(s->r, together * s->n_chunks) + 64);
    if (memory == NULL)
        return lw_fail_memory(err);
    c->g.acc = bank_at(s->r, memory, together * s->n_chunks);
    for (int64_t at = 0; at < s->n_kept; at += c->g.count) {
        int64_t left = together < columns ? columns - at % columns : s->n_kept - at;
        group_at(c, at, lw_least(together, left), columns);
        run_items(s, LW_REDUCE_COLUMNS, c->tiles * s->n_chunks, per_item, some_chunks, c);
        LW_TRY(ended(s));
        run_items(s, LW_REDUCE_JOINED, c->tiles, s->tile * s->n_chunks, some_joined, c);
        LW_TRY(ended(s));
    }
fail:
    lw_free(memory);
    return status;
}

lw_status
lw_reduce_by_column(run *s, lw_error *err)
{
    enum { CHUNK = 1 << 16 }; /* elements that a thread takes at a time */
    int64_t columns = s->job->kept.size[s->job->kept.n - 1], per_item;
    columns_run c = {.s = s};

    s->tile = tile_columns(s->r, columns);
    s->chunk = CHUNK / s->tile / BLOCK_ROWS * BLOCK_ROWS;
    s->chunk = s->chunk < BLOCK_ROWS ? BLOCK_ROWS : s->chunk;
    if (s->code->costly && s->tile > COSTLY / 4) /* four rows of a tile are one call */
        s->tile = COSTLY / 4;
    s->n_chunks = (s->n_reduced + s->chunk - 1) / s->chunk;
    per_item = s->tile * lw_least(s->chunk, s->n_reduced);
    if (s->n_chunks > 1)
        return in_groups(&c, columns, per_item, err);
    group_at(&c, 0, s->n_kept, columns);
    run_items(s, LW_REDUCE_COLUMNS, c.tiles, per_item, some_tiles, &c);
    return ended(s);
}
