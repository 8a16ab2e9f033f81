/* What the files that run reductions over host memory share: accumulators side by side, the run
 * of a job, and a range of elements into one accumulator. */
#ifndef LW_REDUCE_HOST_HOST_PARTS_H
#define LW_REDUCE_HOST_HOST_PARTS_H

#include "reduce/host/host_run.h"

#include <stdatomic.h>
#include <string.h>

enum {
    SCRATCH = 64 * 1024, /* bytes that the operands of a block may take when copied */
    TILE = 32 * 1024,    /* bytes of accumulators of neighbouring columns */
    LANE_ROWS = 65,      /* rows of lanes in a block: the first, and iterations of four */
    BLOCK_ROWS = 64,     /* rows of a tile summed up by themselves */
    CHUNK_BLOCKS = 16,   /* blocks in a chunk: what one thread takes at once */
    LEVELS = 5,          /* of a tree of so many blocks */
    LANE_BYTES = 256,    /* most that the numbers of a block's lanes take, each */
    GROUP = 1 << 16,     /* accumulators held at one time */
    WORK = 1 << 15,      /* elements worth a thread */
    ITEM = 16,           /* bytes of the largest number */
    COSTLY = 256,        /* elements that take long which are worth a thread, or go together */
    SMALL_REDUCED = 160  /* fewer elements than these: columns side by side */
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
    uint32_t operand_size[LW_REDUCE_MOST + 1];
    int64_t n_kept, n_reduced;
    int64_t block, chunk, n_chunks; /* elements, elements, of a result */
    int64_t several;                /* elements that go together: of one or more blocks */
    bool best;                      /* look for the best by the loops of lw_reduce_extreme */
    bool at_once;                   /* chunks by one call each, or several by one */
    bank partial;                   /* of the group that is worked on */
    uint8_t *has;                   /* by partial; NULL without a mask */
    atomic_bool *stopped;           /* of one result that stops; or NULL */
    int64_t first, count;           /* results of the group */
    int64_t tile;                   /* columns */
} run;

/* Whether the job is to end here, after `done` parts of some thousand elements. */
static inline bool
is_ended(const run *s, uint32_t worker, int64_t done)
{
    return done > 0 && lw_stop_asked(s->job->stop, worker);
}

/* The same between elements that may take long. */
static inline bool
is_cut(const run *s, uint32_t worker)
{
    return s->code->costly && lw_stop_asked(s->job->stop, worker);
}

static inline lw_status
ended(const run *s)
{
    return s->job->stop != NULL && s->job->stop->stopped ? LW_ERR_PYTHON : LW_OK;
}

/* ---- accumulators ---- */

static inline bank
bank_at(const lw_reduction *r, char *memory, int64_t capacity)
{
    bank b = {.n = r->n_acc};

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
    bank moved = *b;

    for (uint32_t i = 0; i < b->n; i++)
        moved.at[i] += first * b->size[i];
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

/* Bytes from the start to element `at` of a space. */
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

static inline int64_t
distance(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* Items of so many elements that are worth a thread. */
static inline int64_t
grain_of(int64_t elements, int64_t work)
{
    return elements >= work ? 1 : work / (elements > 0 ? elements : 1);
}

/* The job's sizes and dtypes; `block` and `chunk` stand, too. */
run lw_reduce_run_of(lw_reduce_job *job);
/* Elements [begin, end) of result `which`, a chunk at most, into one accumulator; the index of
 * element `from` is 0. False: the mask left none, or the job is to end. */
bool lw_reduce_chunk(const run *s, int64_t which, int64_t begin, int64_t end, int64_t from,
                     const bank *to, uint32_t worker);
/* Neighbouring results side by side; operands have no mask. */
lw_status lw_reduce_by_column(run *s, lw_error *err);
/* `times` banks of n each, one behind the other: all into the first, neighbours first. */
void lw_reduce_merge_tree(const run *s, const bank *b, int64_t times, int64_t n);
/* The first n of s->partial: with what the call adds, finished, as results from `first` on. */
void lw_reduce_deliver(const run *s, int64_t first, int64_t n);
/* Elements worth a thread. */
int64_t lw_reduce_work_of(const run *s);

#endif
