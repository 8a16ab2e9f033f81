#include "ufunc/device_plan.h"

#include <stddef.h>
#include <string.h>

/* Bytes each thread should have in flight. CUB asks for 48 KB an SM on the H200; 2048 threads
 * of 32 bytes are 64 KB (its tuning tables, read 2026-11-21). */
#define BYTES_IN_FLIGHT 32
/* With a body of this many instructions a thread has two groups of elements at least: a block
 * that computes for as long as its loads take has nothing to do while the next one's are under
 * way. */
#define HEAVY 100
/* A body of this many instructions, times the elements a thread takes, still fits its registers
 * and compiles in some tens of milliseconds. */
#define COST_PER_THREAD 1200

/* Of a STAGED square: elements of a thread; bytes of shared memory at most. */
#define STAGED_ELEMENTS (LW_PLAN_STAGED * LW_PLAN_STAGED / LW_PLAN_BLOCK)
#define STAGED_SHARED   49152

/* Up to here a thread takes one element: all SMs have work, and the kernel compiles in two
 * thirds of the time. 2^18 elements are one wave of 132 SMs x 2048 threads. */
#define SMALL (INT64_C(1) << 18)

bool
lw_plan_normalise(lw_plan *plan, int ndim, const int64_t *shape, const int64_t *const *strides)
{
    lw_walk *walk = &plan->walk;

    if (!lw_walk_begin(walk, ndim, shape, strides))
        return false;
    if (walk->n == 0)
        return true;
    lw_walk_sort(walk);
    lw_walk_flip(walk);
    lw_walk_merge(walk);
    if (walk->ndim == 0) { /* one element */
        lw_walk_single(walk);
        for (int i = 0; i < walk->n_operands; i++)
            walk->operands[i].strides[0] = lw_dtypes[plan->dtypes[i]].size_bytes;
    }
    return true;
}

static int64_t
itemsize_of(const lw_plan *plan, int operand)
{
    return lw_dtypes[plan->dtypes[operand]].size_bytes;
}

static lw_access
access_of(const lw_plan *plan, int i)
{
    const lw_walk_operand *operand = &plan->walk.operands[i];

    if (operand->by_value)
        return LW_ACCESS_VALUE;
    if (!operand->is_output && lw_walk_stays(&plan->walk, i))
        return LW_ACCESS_CONSTANT;
    if (operand->strides[0] == itemsize_of(plan, i))
        return LW_ACCESS_CONTIGUOUS;
    return operand->strides[0] == 0 ? LW_ACCESS_REPEATED : LW_ACCESS_GENERAL;
}

static bool
outputs_alone(const lw_plan *plan)
{
    uint32_t bytes[LW_WALK_OPERANDS];

    for (int i = 0; i < plan->walk.n_operands; i++)
        bytes[i] = (uint32_t)itemsize_of(plan, i);
    return lw_walk_outputs_apart(&plan->walk, bytes);
}

/* Widest access that every operand allows: 16 bytes of the widest dtype, when addresses,
 * strides and the inner length are multiples of it. */
static unsigned
width_of(const lw_plan *plan, const lw_kernel_key *key)
{
    const lw_walk *walk = &plan->walk;
    unsigned widest = 1, width;

    for (int i = 0; i < walk->n_operands; i++)
        if (key->operands[i].access == LW_ACCESS_GENERAL ||
            (walk->operands[i].is_output && key->operands[i].access != LW_ACCESS_CONTIGUOUS))
            return 1;
        else if (key->operands[i].access == LW_ACCESS_CONTIGUOUS &&
                 itemsize_of(plan, i) > widest)
            widest = (unsigned)itemsize_of(plan, i);
    width = 16 / widest;
    if (width > 8) /* 16 one-byte elements cost more registers than they save accesses */
        width = 8;
    for (; width > 1; width /= 2) {
        bool good = walk->ndim == 1 || walk->shape[0] % width == 0;
        for (int i = 0; good && i < walk->n_operands; i++)
            good = key->operands[i].access != LW_ACCESS_CONTIGUOUS ||
                   lw_walk_is_aligned(walk, i, width * (unsigned)itemsize_of(plan, i));
        if (good)
            return width;
    }
    return 1;
}

static unsigned
groups_of(const lw_plan *plan, const lw_kernel_key *key, uint32_t cost)
{
    unsigned bytes = 0, groups = 1;

    for (int i = 0; i < plan->n_in; i++)
        if (key->operands[i].access == LW_ACCESS_CONTIGUOUS ||
            key->operands[i].access == LW_ACCESS_GENERAL)
            bytes += key->width * (unsigned)itemsize_of(plan, i);
    while (bytes && bytes * groups < BYTES_IN_FLIGHT && groups < 4)
        groups *= 2;
    if (bytes && groups == 1 && cost >= HEAVY && !plan->masked)
        groups = 2;
    return groups;
}

/* The dimension along which some input that is not contiguous innermost is contiguous; 0: none
 * worth a square. */
static int
tiled_dim(const lw_plan *plan, const lw_kernel_key *key)
{
    const lw_walk *walk = &plan->walk;

    for (int i = 0; i < plan->n_in; i++) {
        if (key->operands[i].access != LW_ACCESS_GENERAL)
            continue;
        for (int d = 1; d < walk->ndim; d++)
            if (walk->operands[i].strides[d] == itemsize_of(plan, i) &&
                walk->shape[d] >= LW_PLAN_TILE && walk->shape[0] >= LW_PLAN_TILE)
                return d;
    }
    return 0;
}

/* Whether every access of an operand along dimension `along` can be as wide as this. */
static bool
is_aligned_along(const lw_plan *plan, int operand, int along, uint32_t bytes)
{
    const lw_walk_operand *of = &plan->walk.operands[operand];

    if (of->data % bytes != 0)
        return false;
    for (int d = 0; d < plan->walk.ndim; d++)
        if (d != along && (uint64_t)lw_magnitude(of->strides[d]) % bytes != 0)
            return false;
    return true;
}

/* Elements of an access of a TILED kernel that is staged; 0: it is not. */
static unsigned
staged_width(const lw_plan *plan, const lw_kernel_key *key, uint32_t cost)
{
    const lw_walk *walk = &plan->walk;
    unsigned widest = 2, width; /* of bytes no more than 8 */
    int64_t shared = 0;

    if (walk->shape[0] < LW_PLAN_STAGED || walk->shape[1] < LW_PLAN_STAGED ||
        cost * STAGED_ELEMENTS > COST_PER_THREAD)
        return 0;
    for (int i = 0; i < plan->n_in + plan->n_out; i++)
        if (key->operands[i].access > LW_ACCESS_CONSTANT && itemsize_of(plan, i) > widest)
            widest = (unsigned)itemsize_of(plan, i);
    width = 16 / widest;
    for (int i = 0; i < walk->n_operands; i++) {
        lw_access access = (lw_access)key->operands[i].access;
        uint32_t bytes = width * (uint32_t)itemsize_of(plan, i);
        if (i >= plan->n_in + plan->n_out) /* the mask is read where it is */
            continue;
        if (access == LW_ACCESS_GENERAL && !walk->operands[i].is_output) {
            shared += LW_PLAN_STAGED * itemsize_of(plan, i) *
                      lw_plan_staged_pitch((uint32_t)itemsize_of(plan, i));
            if (walk->operands[i].strides[1] != itemsize_of(plan, i) ||
                !is_aligned_along(plan, i, 1, bytes))
                return 0;
        } else if (access == LW_ACCESS_CONTIGUOUS && !plan->masked) {
            if (!is_aligned_along(plan, i, 0, bytes))
                return 0;
        } else if (walk->operands[i].is_output && access != LW_ACCESS_CONTIGUOUS) {
            return 0;
        }
    }
    return shared <= STAGED_SHARED ? width : 0;
}

void
lw_plan_key(lw_plan *plan, uint32_t cost, bool has_loop, lw_kernel_key *key)
{
    /* Offsets are made of a stride and a position each; an access begins up to 15 bytes on. */
    const uint64_t narrow = INT32_MAX - 65;
    lw_walk *walk = &plan->walk;
    int tiled;

    memset(key, 0, sizeof *key);
    key->n_operands = (uint8_t)walk->n_operands;
    key->n_in = (uint8_t)plan->n_in;
    key->n_out = (uint8_t)plan->n_out;
    key->masked = plan->masked;
    key->noalias = !plan->stores && outputs_alone(plan);
    key->ndim = walk->ndim == 1 ? 0 : (uint8_t)walk->ndim;
    for (int i = 0; i < walk->n_operands; i++) {
        key->operands[i].dtype = plan->dtypes[i];
        key->operands[i].access = (uint8_t)access_of(plan, i);
        if (key->operands[i].access == LW_ACCESS_GENERAL ||
            (walk->operands[i].is_output && key->operands[i].access != LW_ACCESS_CONTIGUOUS))
            key->ndim = (uint8_t)walk->ndim;
    }
    key->wide = key->ndim && lw_walk_spans(walk, narrow);
    key->width = 1;
    key->groups = 1;
    if (has_loop || walk->n <= SMALL)
        return;
    tiled = tiled_dim(plan, key);
    if (tiled) {
        if (tiled != 1)
            lw_walk_swap(walk, 1, tiled);
        key->tiled = 1;
        key->staged = (uint8_t)staged_width(plan, key, cost);
        return;
    }
    if (!plan->masked) /* elements are stored one by one, so neighbours by one warp */
        key->width = (uint8_t)width_of(plan, key);
    key->groups = (uint8_t)groups_of(plan, key, cost);
    while (key->groups > 1 && cost * key->width * key->groups > COST_PER_THREAD)
        key->groups /= 2;
    while (key->width > 1 && cost * key->width > COST_PER_THREAD)
        key->width /= 2;
}

size_t
lw_kernel_key_size(const lw_kernel_key *key)
{
    return offsetof(lw_kernel_key, operands) + key->n_operands * sizeof key->operands[0];
}
