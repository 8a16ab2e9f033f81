/* A normalised walk (core/plan/walk.h) and dtypes -> the elementwise kernel that it asks for.
 * Pure arithmetic. What is left of a walk falls into one of two classes: FLAT    one dimension,
 * each operand contiguous, constant (stride 0) or passed by value STRIDED anything else:
 * coordinates by multiplication instead of division (Granlund and Montgomery, "Division by
 * Invariant Integers using Multiplication", 1994) A STRIDED call whose innermost dimension is
 * contiguous walks it in vectors of `width`. One in which an input is contiguous along another
 * dimension (a transposed array) is TILED: a block takes a square of both dimensions, so that
 * each sector fetched is used whole by its block. */
#ifndef LW_UFUNC_DEVICE_PLAN_H
#define LW_UFUNC_DEVICE_PLAN_H

#include "core/plan/walk.h"
#include "ufunc/ufunc.h"

enum {
    LW_PLAN_TILE = 32,   /* side of a TILED block's square, in elements */
    LW_PLAN_STAGED = 64, /* the same where it is STAGED */
    LW_PLAN_BLOCK = 256, /* threads; 8 blocks fill an SM of 2048 threads */
};

/* How a kernel reaches one operand. */
typedef enum lw_access {
    LW_ACCESS_VALUE,      /* a scalar in the parameter block */
    LW_ACCESS_CONSTANT,   /* stride 0 in every dimension */
    LW_ACCESS_CONTIGUOUS, /* innermost stride = itemsize */
    LW_ACCESS_REPEATED,   /* innermost stride 0, others not */
    LW_ACCESS_GENERAL
} lw_access;

typedef struct lw_plan {
    int n_in, n_out;
    bool stores;                      /* the function may write elsewhere than to the outputs */
    bool masked;                      /* where=: the last operand is a bool array */
    uint8_t dtypes[LW_WALK_OPERANDS]; /* in memory (VALUE: already the loop's dtype) */
    lw_walk walk;                     /* operands: inputs, outputs, then the mask if any */
} lw_plan;

/* What distinguishes one kernel from another; everything else is a parameter of the launch. */
typedef struct lw_kernel_key {
    uint8_t n_operands, n_in, n_out, ndim; /* ndim 0: FLAT */
    uint8_t width;                         /* elements of one access: 1, 2, 4, 8 or 16 */
    uint8_t groups;                        /* accesses a thread */
    uint8_t wide;                          /* byte offsets do not fit 31 bits */
    uint8_t noalias;                       /* no output shares memory with another operand */
    uint8_t masked;
    uint8_t tiled;  /* dimensions 0 and 1 are walked in squares of LW_PLAN_TILE */
    uint8_t staged; /* TILED: elements of an access; inputs that are GENERAL are contiguous
                       along dimension 1, and go by way of shared memory. 0: by patches */
    uint8_t pad;
    struct {
        uint8_t dtype, access;
    } operands[LW_WALK_OPERANDS];
} lw_kernel_key;

/* Normalises the walk, as lw_walk_begin says; false as there. The counts, dtypes and of each
 * operand data, by_value and is_output are set by the caller. */
bool lw_plan_normalise(lw_plan *plan, int ndim, const int64_t *shape,
                       const int64_t *const *strides);
/* The kernel a normalised plan wants; may swap dimensions of the plan (TILED). cost:
 * instructions of the body; has_loop: it contains one. */
void lw_plan_key(lw_plan *plan, uint32_t cost, bool has_loop, lw_kernel_key *key);
/* The side of a TILED kernel's square. */
static inline int64_t
lw_plan_side(const lw_kernel_key *key)
{
    return key->staged ? LW_PLAN_STAGED : LW_PLAN_TILE;
}

/* STAGED: elements of so many bytes from one row of the square to the next. */
static inline uint32_t
lw_plan_staged_pitch(uint32_t itemsize)
{
    return LW_PLAN_STAGED + (itemsize < 4 ? 4 / itemsize : 1);
}

/* Bytes of the key that are used. */
size_t lw_kernel_key_size(const lw_kernel_key *key);

#endif
