/* The walk of a call: shape and strides of its operands, normalised to the order in which a
 * kernel, or a loop on the host, iterates over them. This is pure arithmetic, without the
 * driver or an allocation, and takes some tens of nanoseconds.
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
/* Sorts two dimensions by the strides of the first operand whose strides differ in size and are
 * not 0, outputs before inputs, because writes that are not coalesced cost most. The sort is
 * stable: where there is no such operand, dimensions stay in C order. */
void lw_walk_sort(lw_walk *walk);
/* Dimensions that no operand walks forwards, and some operand backwards, are walked from their
 * other end. */
void lw_walk_flip(lw_walk *walk);
/* Makes one dimension of two where each operand goes on in the outer one as in the inner one.
 */
void lw_walk_merge(lw_walk *walk);
/* Adds a dimension of one item to a walk that has none. The caller sets each operand's stride.
 */
void lw_walk_single(lw_walk *walk);
/* Exchanges two dimensions. */
void lw_walk_swap(lw_walk *walk, int x, int y);

static inline int64_t
lw_magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* Whether the operand has one item, the same for all indices. */
bool lw_walk_stays(const lw_walk *walk, int operand);
/* Whether some operand has an item that is more than `most` bytes away from its first one. */
bool lw_walk_spans(const lw_walk *walk, uint64_t most);
/* Whether no output shares memory with another operand; bytes: of an item of each. */
bool lw_walk_outputs_apart(const lw_walk *walk, const uint32_t *bytes);
/* Whether accesses of so many bytes at the operand's items are aligned: its address, and all
 * strides but the innermost. */
bool lw_walk_is_aligned(const lw_walk *walk, int operand, uint32_t bytes);

/* ---- runs on the host, which go from row to row: index has walk->ndim numbers ---- */

/* The index of the item of number `at`, in the walk's order. */
static inline void
lw_walk_place(const lw_walk *walk, int64_t at, int64_t *index)
{
    for (int d = 0; d < walk->ndim; d++) {
        index[d] = at % walk->shape[d];
        at /= walk->shape[d];
    }
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

enum { LW_WALK_LINE = 64 }; /* bytes of a cache line */
/* The dimension along which the operand's items, of so many bytes each, are close enough to
 * share cache lines, where those along dimension 0 are not: rectangles of these two are
 * transposed before they are used, so that each line is used completely. 0: there is none. */
int lw_walk_across(const lw_walk *walk, int operand, uint32_t bytes);

/* From any item of a row to the first item of the next row, if there is one. at: the addresses
 * of all operands at that item, which are moved along: with short rows this is faster than to
 * ask for them. */
static inline void
lw_walk_next_row(const lw_walk *walk, int64_t *index, char **at)
{
    int64_t done = index[0];
    int to = 1;

    index[0] = 0;
    for (; to < walk->ndim && ++index[to] == walk->shape[to]; to++) {
        index[to] = 0;
        for (int i = 0; i < walk->n_operands; i++)
            at[i] -= (walk->shape[to] - 1) * walk->operands[i].strides[to];
    }
    for (int i = 0; i < walk->n_operands; i++) {
        const int64_t *strides = walk->operands[i].strides;
        at[i] += (to < walk->ndim ? strides[to] : 0) - done * strides[0];
    }
}

/* ---- launches, which count their accesses, of `width` items each, in 32 bits ---- */

/* lw_walk_cut calls `launch` for parts of the walk, which is cut along its outermost dimensions
 * where it has more than LW_WALK_LAUNCH accesses, and is whole again afterwards. The first
 * result that is not 0 ends this and is returned. */
enum { LW_WALK_LAUNCH = 1 << 30 };
typedef int (*lw_walk_part)(void *context);
bool lw_walk_is_short(const lw_walk *walk, uint32_t width);
int lw_walk_cut(lw_walk *walk, uint32_t width, lw_walk_part launch, void *context);

#endif
