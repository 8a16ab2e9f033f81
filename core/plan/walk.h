/* The walk of a call: shape and strides of its operands, normalised to the order in which a
 * kernel goes through them. Pure arithmetic: no driver, no allocation; some tens of
 * nanoseconds.
 *
 *     walk.n_operands and of each operand data, by_value, is_output    set by the caller
 *     lw_walk_begin(&walk, ndim, shape, strides)    drops dimensions of size 1; innermost first
 *     lw_walk_sort(&walk)                           the outputs' fastest dimension innermost
 *     lw_walk_flip(&walk)                           no dimension that all walk backwards
 *     lw_walk_merge(&walk)                          neighbours that continue each other are one
 *
 * NumPy's iterator does the same for its ufuncs (npyiter_find_best_axis_order,
 * npyiter_flip_negative_strides, npyiter_coalesce_axes). Each door says in its plan what kernel
 * a normalised walk asks for; what that kernel may assume of addresses is asked here. */
#ifndef LW_PLAN_WALK_H
#define LW_PLAN_WALK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    LW_WALK_DIMS = 32,    /* longer than 1: with more, an array has 2^33 elements */
    LW_WALK_OPERANDS = 65 /* NumPy's limit on inputs and outputs, and the mask of where= */
};

typedef struct lw_walk_operand {
    uint64_t data; /* the first item's address; where strides were flipped, the lowest one's */
    bool by_value; /* no array: it has neither address nor strides */
    bool is_output;
    int64_t strides[LW_WALK_DIMS]; /* bytes, innermost first */
} lw_walk_operand;

typedef struct lw_walk {
    int n_operands, ndim;                       /* innermost first */
    int64_t n;                                  /* items; 0: nothing else is set */
    int64_t shape[LW_WALK_DIMS];                /* each longer than 1 */
    lw_walk_operand operands[LW_WALK_OPERANDS]; /* last: copies take as many as there are */
} lw_walk;

/* shape and strides come outermost first, already broadcast (stride 0 where a dimension is
 * repeated); strides[i] is not looked at where operand i is by_value. False: more than
 * LW_WALK_DIMS dimensions are longer than 1. */
bool lw_walk_begin(lw_walk *walk, int ndim, const int64_t *shape,
                   const int64_t *const *strides);
/* By the strides of the first operand that has an opinion, outputs before inputs: writes that
 * are not coalesced cost most. Stable: dimensions about which none has one stay in C order. */
void lw_walk_sort(lw_walk *walk);
/* A dimension that no operand walks forwards is walked from its other end. */
void lw_walk_flip(lw_walk *walk);
void lw_walk_merge(lw_walk *walk);
/* One dimension of one item, for a walk that has none. Each operand's stride is left to the
 * caller. */
void lw_walk_single(lw_walk *walk);
void lw_walk_swap(lw_walk *walk, int x, int y);

static inline int64_t
lw_magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* Whether the operand's items are all one. */
bool lw_walk_stays(const lw_walk *walk, int operand);
/* Whether an item of some operand begins more than `most` bytes from its first one. */
bool lw_walk_spans(const lw_walk *walk, uint64_t most);
/* Whether no output shares memory with another operand; bytes: of an item of each. */
bool lw_walk_outputs_apart(const lw_walk *walk, const uint32_t *bytes);
/* Whether accesses of so many bytes at the operand's items are aligned: its address, and all
 * strides but the innermost. */
bool lw_walk_is_aligned(const lw_walk *walk, int operand, uint32_t bytes);

/* Runs on the host go from row to row: the index of the item of this number, in the walk's
 * order; from there, that of the first item of the next row; the item's address. */
static inline void
lw_walk_place(const lw_walk *walk, int64_t at, int64_t *index)
{
    for (int d = 0; d < walk->ndim; d++) {
        index[d] = at % walk->shape[d];
        at /= walk->shape[d];
    }
}

static inline void
lw_walk_next_row(const lw_walk *walk, int64_t *index)
{
    index[0] = 0;
    for (int d = 1; d < walk->ndim && ++index[d] == walk->shape[d]; d++)
        index[d] = 0;
}

static inline char *
lw_walk_address(const lw_walk *walk, int operand, const int64_t *index)
{
    const lw_walk_operand *o = &walk->operands[operand];
    int64_t offset = 0;

    for (int d = 0; d < walk->ndim; d++)
        offset += index[d] * o->strides[d];
    return (char *)(uintptr_t)o->data + offset;
}

/* Launches count their accesses, of `width` items each, in 32 bits; a walk of more than
 * LW_WALK_LAUNCH is cut along its outermost dimensions. launch: gets the parts. The walk is
 * whole again when this returns. The first failure, which is not 0, ends it and is given. */
enum { LW_WALK_LAUNCH = 1 << 30 };
typedef int (*lw_walk_part)(void *context);
bool lw_walk_is_short(const lw_walk *walk, uint32_t width);
int lw_walk_cut(lw_walk *walk, uint32_t width, lw_walk_part launch, void *context);

#endif
