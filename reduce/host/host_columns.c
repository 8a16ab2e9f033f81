/* Reductions whose results are nearer to each other than their elements: rows of elements go
 * into a tile of neighbouring accumulators. */
#include "reduce/host/host_parts.h"

#include "core/base/memory.h"

#include <assert.h>

typedef struct tile_rows { /* the rows of a tile */
    char *base[LW_REDUCE_MOST + 1];
    int64_t stride[LW_REDUCE_MOST + 1]; /* bytes from column to column */
    int64_t
        apart[LW_REDUCE_MOST + 1]; /* bytes from row to row, where these are one dimension */
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

/* Reduces chunk of rows `item / tiles` of tile `item % tiles` of the group. */
static void
one_tile(const run *s, int64_t item)
{
    _Alignas(64) char memory[TILE + 64 * LW_REDUCE_MOST];
    int64_t tiles = (s->count + s->tile - 1) / s->tile, column = item % tiles * s->tile;
    int64_t n = s->count - column < s->tile ? s->count - column : s->tile;
    int64_t begin = item / tiles * s->chunk;
    int64_t end = begin + s->chunk < s->n_reduced ? begin + s->chunk : s->n_reduced;
    bank to = bank_from(&s->partial, item / tiles * s->count + column);
    bank block = bank_at(s->r, memory, s->tile);
    tile_rows t;

    tile_start(s, s->first + column, &t);
    for (int64_t row = begin; row < end; row += BLOCK_ROWS) {
        int64_t last = row + BLOCK_ROWS < end ? row + BLOCK_ROWS : end;
        const bank *acc = row == begin ? &to : &block;
        for (int64_t i = row; i < last;) {
            i += tile_row(s, &t, i, last, n, acc, i == row);
            if (is_cut(s))
                return;
        }
        if (acc == &block)
            merge(s, &to, &block, n);
    }
}

static bool
some_tiles(void *context, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++)
        one_tile(context, i);
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
    tiles = (columns + n - 1) / n;
    columns = (columns + tiles - 1) / tiles;
    return (columns + LEAST - 1) / LEAST * LEAST; /* so tiles have nearly the same size */
}

lw_status
lw_reduce_by_column(run *s, lw_error *err)
{
    enum { CHUNK = 1 << 16 }; /* elements that a thread takes at a time */
    int64_t columns = s->job->kept.size[s->job->kept.n - 1], group, tiles;
    lw_status status = LW_OK;
    char *memory;

    s->tile = tile_columns(s->r, columns);
    s->chunk = CHUNK / s->tile / BLOCK_ROWS * BLOCK_ROWS;
    s->chunk = s->chunk < BLOCK_ROWS ? BLOCK_ROWS : s->chunk;
    if (s->code->costly && s->tile > COSTLY / 4) /* four rows of a tile are one call */
        s->tile = COSTLY / 4;
    s->n_chunks = (s->n_reduced + s->chunk - 1) / s->chunk;
    group = (s->code->costly ? GROUP / 16 : GROUP) / s->n_chunks / s->tile * s->tile;
    group = group < s->tile ? s->tile : group;
    group = group > columns ? columns : group;
    memory = lw_alloc(bank_bytes(s->r, group * s->n_chunks) + 64);
    if (memory == NULL)
        return lw_fail_memory(err);
    s->partial = bank_at(s->r, memory, group * s->n_chunks);
    for (int64_t outer = 0; outer < s->n_kept; outer += columns)
        for (int64_t at = 0; at < columns; at += group) {
            s->first = outer + at;
            s->count = columns - at < group ? columns - at : group;
            tiles = (s->count + s->tile - 1) / s->tile;
            run_items(s, LW_REDUCE_COLUMNS, tiles * s->n_chunks,
                      s->tile * (s->chunk < s->n_reduced ? s->chunk : s->n_reduced), some_tiles,
                      s);
            LW_TRY(ended(s));
            lw_reduce_merge_tree(s, &s->partial, s->n_chunks, s->count);
            lw_reduce_deliver(s, s->first, s->count);
        }
fail:
    lw_free(memory);
    return status;
}
