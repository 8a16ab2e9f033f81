/* What the files that run reductions of host memory share: arrays of accumulators, the state of
 * a job, and the reduction of a range of elements. */
#ifndef LW_REDUCE_HOST_HOST_PARTS_H
#define LW_REDUCE_HOST_HOST_PARTS_H

#include "core/host/schedule.h"
#include "reduce/host/host_run.h"

#include <stdatomic.h>
#include <string.h>

enum {
    SCRATCH = 64 * 1024, /* most bytes of a block's operands when they are gathered */
    TILE = 32 * 1024,    /* bytes of the accumulators of a tile of neighbouring results */
    LANE_ROWS = 65,      /* rows of lanes in a block: the first, and sixteen times four */
    BLOCK_ROWS = 64, /* rows of a tile that are combined before they go into its accumulators */
    CHUNK_BLOCKS = 16, /* blocks of a chunk, which one thread takes at a time */
    BEST_CHUNK = 4,   /* times as many, of which only the best element is wanted: it is searched
                         for once in each chunk */
    LANE_BYTES = 256, /* most bytes of one number of the accumulators of a block's lanes */
    GROUP = 1 << 16,  /* most accumulators that are held at a time */
    COSTLY = 256, /* elements of one call of compiled code, where an element may take long */
    FEW = 1024,   /* bytes of accumulators that are held on the stack */
    ROW_BYTES = 8192,    /* and of those of short rows that one piece of work reduces: */
    ROWS = 128,          /* so many rows at most, */
    ROW_ELEMENTS = 4096, /* which have so many elements together, or of which there is one */
    LONG_ROW = 1 << 15,  /* elements of a row that is scanned in segments */
    SMALL_REDUCED = 160  /* of fewer elements, neighbouring results are reduced side by side */
};

/* Arrays of accumulators: one for each number. */
typedef struct bank {
    uint32_t n;
    char *at[LW_REDUCE_MOST];
    uint32_t size[LW_REDUCE_MOST];
} bank;

typedef struct run {
    lw_reduce_job *job;
    const lw_reduction *r;
    const lw_reduce_code *code;
    uint32_t n_in, n_operands;
    int64_t operand_size[LW_REDUCE_MOST + 1]; /* the strides of contiguous operands */
    int64_t n_kept, n_reduced;
    int64_t block, chunk,
        n_chunks;         /* elements of a block, elements of a chunk, chunks of a result */
    int64_t several;      /* elements that are taken together: those of one or more blocks */
    bool best;            /* look for the best by the loops of lw_reduction.best */
    bool at_once;         /* one call of compiled code reduces a whole chunk, or several */
    bool picks;           /* find the best by `pick`, in contiguous elements */
    bool masked;          /* there is a mask that is no operand of map */
    atomic_bool *stopped; /* a single result that stops is known; else NULL */
    int64_t tile;         /* columns */
    int64_t rows;         /* results that one piece of work reduces, if they have one chunk */
} run;

/* Neighbouring results that are worked on together. */
typedef struct group {
    bank acc;     /* their accumulators: one for each chunk of each */
    uint8_t *has; /* by accumulator: whether it has an element; NULL without a mask */
    int64_t first, count;
} group;

/* Runs n items of so many elements each, on several threads where that pays. */
static inline void
run_items(const run *s, lw_reduce_way way, int64_t n, int64_t elements, lw_piece_body body,
          void *context)
{
    lw_work work = {.n = n,
                    .body = body,
                    .context = context,
                    .cost_ps = &s->job->code->cost_ps[way],
                    .steps = elements,
                    .steady = !s->code->costly,
                    .stop = s->job->stop};

    if (s->job->here)
        body(context, 0, n);
    else
        lw_work_run(&work);
}

/* Whether the job has been interrupted; asked between elements that may take long. */
static inline bool
is_cut(const run *s)
{
    return s->code->costly && lw_stop_asked(s->job->stop);
}

static inline lw_status
ended(const run *s)
{
    return s->job->stop != NULL && s->job->stop->stopped ? LW_ERR_PYTHON : LW_OK;
}

/* ---- accumulators ---- */

/* Nothing beyond its n numbers is set, as short reductions take less time than clearing it. */
static inline bank
bank_at(const lw_reduction *r, char *memory, int64_t capacity)
{
    bank b;

    b.n = r->n_acc;
    for (uint32_t i = 0; i < r->n_acc; i++) {
        b.at[i] = memory;
        b.size[i] = lw_dtypes[r->acc[i]].size_bytes;
        memory += ((size_t)capacity * b.size[i] + 63) / 64 * 64;
    }
    return b;
}

static inline size_t
bank_bytes(const lw_reduction *r, int64_t capacity)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < r->n_acc; i++)
        bytes += ((size_t)capacity * lw_dtypes[r->acc[i]].size_bytes + 63) / 64 * 64;
    return bytes;
}

static inline bank
bank_from(const bank *b, int64_t first)
{
    bank moved;

    moved.n = b->n;
    for (uint32_t i = 0; i < b->n; i++) {
        moved.at[i] = b->at[i] + first * b->size[i];
        moved.size[i] = b->size[i];
    }
    return moved;
}

static inline void
bank_copy(const bank *to, const bank *from, int64_t n)
{
    for (uint32_t i = 0; i < to->n && i < from->n; i++)
        memmove(to->at[i], from->at[i], (size_t)n * to->size[i]);
}

static inline void
bank_fill(const bank *to, const lw_reduce_item *item, int64_t n)
{
    for (uint32_t i = 0; i < to->n; i++)
        for (int64_t k = 0; k < n; k++)
            memcpy(to->at[i] + k * to->size[i], item[i].bytes, to->size[i]);
}

static inline void
merge(const run *s, const bank *left, const bank *right, int64_t n)
{
    char *args[2 * LW_REDUCE_MOST];

    memcpy(args, left->at, left->n * sizeof *args);
    memcpy(args + left->n, right->at, right->n * sizeof *args);
    s->code->merge(args, n);
}

/* The offset of element `at` of a space, in bytes. */
static inline int64_t
offset_of(const lw_reduce_space *space, uint32_t operand, int64_t at)
{
    int64_t offset = 0;

    for (int d = space->n - 1; d >= 0 && at > 0; d--) {
        offset += at % space->size[d] * space->stride[operand][d];
        at /= space->size[d];
    }
    return offset;
}

/* Of how many blocks contiguous elements are taken together. Blocks shorten chains of
 * roundings, and limit what is gathered; where neither matters, they may be long. */
static inline int64_t
blocks_together(const lw_reduction *r, const lw_reduce_code *code)
{
    return code->best != NULL && !code->costly
               ? 8 /* only one of these is searched for the best */
           : r->exact && !r->indexed ? CHUNK_BLOCKS
                                     : 1;
}

static inline int64_t
distance(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* Whether the elements of a result are contiguous in this operand. */
static inline bool
lies_straight(const run *s, uint32_t operand)
{
    const lw_reduce_space *space = &s->job->reduced;

    return space->n == 0 ||
           (space->n == 1 && space->stride[operand][0] == s->operand_size[operand]);
}

static inline bool
all_lie_straight(const run *s)
{
    bool straight = true;

    for (uint32_t i = 0; straight && i < s->n_in; i++)
        straight = lies_straight(s, i);
    return straight;
}

/* Makes the accumulator of the best of n contiguous elements by `pick`; the first has the index
 * `first`. size: bytes of an element, by operand. False: nothing has happened, as there is NaN,
 * which the operator does not prefer. */
static inline bool
pick_best(const lw_reduction *r, const lw_reduce_code *code, char *const *in,
          const int64_t *size, int64_t n, int64_t first, const bank *to)
{
    char *args[2 * LW_REDUCE_MOST + 1];
    int64_t found, index;

    code->pick((char **)in, n, &found);
    if (found < 0)
        return false;
    for (uint32_t i = 0; i < r->n_in; i++)
        args[i] = in[i] + found * size[i];
    index = first + found;
    args[r->n_in] = (char *)&index;
    for (uint32_t i = 0; i < to->n; i++)
        args[code->n_operands + i] = to->at[i];
    code->seed(args, 1, size);
    return true;
}

/* The state of a new job: its sizes and dtypes, `block` and `chunk`. Filled where it is, as
 * short reductions take less time than clearing and copying it. */
void lw_reduce_run_start(run *s, lw_reduce_job *job);
/* Reduces the elements begin … end - 1 of result `which`, a chunk at most, to one accumulator.
 * The index that map takes is 0 for element `from`. False: the mask leaves no element, or the
 * job has been interrupted. */
bool lw_reduce_chunk(const run *s, int64_t which, int64_t begin, int64_t end, int64_t from,
                     const bank *to);
/* Reduces neighbouring results side by side; there is no mask. */
lw_status lw_reduce_by_column(run *s, lw_error *err);
/* Combines `times` rows of n accumulators, `apart` accumulators from one to the next, into the
 * first, in a tree of neighbours. */
void lw_reduce_merge_tree(const run *s, const bank *b, int64_t times, int64_t apart, int64_t n);
/* Finishes the first accumulator of each result of the group, with `initial` or for no
 * elements, and stores the results. These accumulators are neighbours. */
void lw_reduce_deliver(const run *s, const group *g);

#endif
