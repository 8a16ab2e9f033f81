#include "ufunc/device_plan.h"

#include <stddef.h>
#include <string.h>

/* Bytes each thread should have in flight. CUB asks for 48 KB an SM on the H200; 2048 threads
 * of 32 bytes are 64 KB (its tuning tables, read 2026-11-21). */
#define BYTES_IN_FLIGHT 32
/* A body of this many instructions, times the elements a thread takes, still fits its registers
 * and compiles in some tens of milliseconds. */
#define COST_PER_THREAD 1200

/* Up to here a thread takes one element: all SMs have work, and the kernel compiles in two
 * thirds of the time. 2^18 elements are one wave of 132 SMs x 2048 threads. */
#define SMALL (INT64_C(1) << 18)

static int64_t
magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* Whether dimension x should lie inside dimension y. The first operand that has an opinion
 * decides, outputs before inputs: writes that are not coalesced cost most. */
static bool
inside(const lw_plan *plan, int x, int y)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < plan->n_operands; i++) {
            const lw_plan_operand *operand = &plan->operands[i];
            int64_t sx = magnitude(operand->strides[x]), sy = magnitude(operand->strides[y]);
            if (operand->by_value || operand->is_output != (pass == 0) || sx == sy || !sx ||
                !sy)
                continue;
            return sx < sy;
        }
    return false;
}

static void
swap_dims(lw_plan *plan, int x, int y)
{
    int64_t size = plan->shape[x];

    plan->shape[x] = plan->shape[y];
    plan->shape[y] = size;
    for (int i = 0; i < plan->n_operands; i++) {
        int64_t *strides = plan->operands[i].strides, kept = strides[x];
        strides[x] = strides[y];
        strides[y] = kept;
    }
}

/* Insertion sort, stable: dimensions nobody has an opinion about stay in C order. */
static void
sort_dims(lw_plan *plan)
{
    for (int i = 1; i < plan->ndim; i++)
        for (int j = i; j > 0 && inside(plan, j, j - 1); j--)
            swap_dims(plan, j, j - 1);
}

/* A dimension that no operand walks forwards is walked from its other end. */
static void
flip_negative(lw_plan *plan)
{
    for (int d = 0; d < plan->ndim; d++) {
        bool backwards = false, forwards = false;
        for (int i = 0; i < plan->n_operands; i++) {
            if (plan->operands[i].by_value)
                continue;
            backwards |= plan->operands[i].strides[d] < 0;
            forwards |= plan->operands[i].strides[d] > 0;
        }
        if (!backwards || forwards)
            continue;
        for (int i = 0; i < plan->n_operands; i++) {
            lw_plan_operand *operand = &plan->operands[i];
            if (operand->by_value)
                continue;
            operand->data += operand->strides[d] * (plan->shape[d] - 1);
            operand->strides[d] = -operand->strides[d];
        }
    }
}

static bool
mergeable(const lw_plan *plan, int inner, int outer)
{
    for (int i = 0; i < plan->n_operands; i++) {
        const lw_plan_operand *operand = &plan->operands[i];
        if (!operand->by_value &&
            operand->strides[outer] != operand->strides[inner] * plan->shape[inner])
            return false;
    }
    return true;
}

static void
merge_dims(lw_plan *plan)
{
    int kept = 0;

    for (int d = 1; d < plan->ndim; d++) {
        if (mergeable(plan, kept, d)) {
            plan->shape[kept] *= plan->shape[d];
            continue;
        }
        kept++;
        plan->shape[kept] = plan->shape[d];
        for (int i = 0; i < plan->n_operands; i++)
            plan->operands[i].strides[kept] = plan->operands[i].strides[d];
    }
    plan->ndim = plan->ndim ? kept + 1 : 0;
}

bool
lw_plan_normalise(lw_plan *plan, int ndim, const int64_t *shape, const int64_t *const *strides)
{
    int kept = 0;

    plan->n = 1;
    for (int d = 0; d < ndim; d++)
        plan->n *= shape[d];
    plan->ndim = 0;
    if (plan->n == 0)
        return true;
    for (int d = ndim - 1; d >= 0; d--) { /* innermost first from here on */
        if (shape[d] == 1)
            continue;
        if (kept == LW_PLAN_DIMS)
            return false;
        plan->shape[kept] = shape[d];
        for (int i = 0; i < plan->n_operands; i++)
            plan->operands[i].strides[kept] = plan->operands[i].by_value ? 0 : strides[i][d];
        kept++;
    }
    plan->ndim = kept;
    sort_dims(plan);
    flip_negative(plan);
    merge_dims(plan);
    if (plan->ndim == 0) { /* one element */
        plan->ndim = 1;
        plan->shape[0] = 1;
        for (int i = 0; i < plan->n_operands; i++)
            plan->operands[i].strides[0] = lw_dtypes[plan->operands[i].dtype].size_bytes;
    }
    return true;
}

static lw_access
access_of(const lw_plan *plan, const lw_plan_operand *operand)
{
    bool constant = true;

    if (operand->by_value)
        return LW_ACCESS_VALUE;
    for (int d = 0; d < plan->ndim; d++)
        constant &= operand->strides[d] == 0;
    if (constant && !operand->is_output)
        return LW_ACCESS_CONSTANT;
    if (operand->strides[0] == lw_dtypes[operand->dtype].size_bytes)
        return LW_ACCESS_CONTIGUOUS;
    return operand->strides[0] == 0 ? LW_ACCESS_REPEATED : LW_ACCESS_GENERAL;
}

/* The furthest byte any operand reaches from its start. */
static bool
reaches_far(const lw_plan *plan)
{
    for (int i = 0; i < plan->n_operands; i++) {
        uint64_t reach = 0;
        if (plan->operands[i].by_value)
            continue;
        for (int d = 0; d < plan->ndim; d++)
            reach += (uint64_t)magnitude(plan->operands[i].strides[d]) *
                     (uint64_t)(plan->shape[d] - 1);
        if (reach >= INT32_MAX - 64)
            return true;
    }
    return false;
}

typedef struct range {
    const char *begin, *end;
} range;

static range
range_of(const lw_plan *plan, const lw_plan_operand *operand)
{
    range r = {operand->data, operand->data + lw_dtypes[operand->dtype].size_bytes};

    for (int d = 0; d < plan->ndim; d++) {
        int64_t reach = operand->strides[d] * (plan->shape[d] - 1);
        if (reach < 0)
            r.begin += reach;
        else
            r.end += reach;
    }
    return r;
}

static bool
outputs_alone(const lw_plan *plan)
{
    for (int o = 0; o < plan->n_operands; o++) {
        range mine;
        if (!plan->operands[o].is_output)
            continue;
        mine = range_of(plan, &plan->operands[o]);
        for (int i = 0; i < plan->n_operands; i++) {
            range other;
            if (i == o || plan->operands[i].by_value)
                continue;
            other = range_of(plan, &plan->operands[i]);
            if (mine.begin < other.end && other.begin < mine.end)
                return false;
        }
    }
    return true;
}

/* Widest access that every operand allows: 16 bytes of the widest dtype, when addresses,
 * strides and the inner length are multiples of it. */
static unsigned
width_of(const lw_plan *plan, const lw_kernel_key *key)
{
    unsigned widest = 1, width;
    bool flat = plan->ndim == 1;

    for (int i = 0; i < plan->n_operands; i++)
        if (key->operands[i].access == LW_ACCESS_GENERAL ||
            (plan->operands[i].is_output && key->operands[i].access != LW_ACCESS_CONTIGUOUS))
            return 1;
        else if (key->operands[i].access == LW_ACCESS_CONTIGUOUS &&
                 lw_dtypes[plan->operands[i].dtype].size_bytes > widest)
            widest = lw_dtypes[plan->operands[i].dtype].size_bytes;
    width = 16 / widest;
    if (width > 8) /* 16 one-byte elements cost more registers than they save accesses */
        width = 8;
    for (; width > 1; width /= 2) {
        bool good = flat || plan->shape[0] % width == 0;
        for (int i = 0; good && i < plan->n_operands; i++) {
            const lw_plan_operand *operand = &plan->operands[i];
            uint64_t step = width * lw_dtypes[operand->dtype].size_bytes;
            if (key->operands[i].access != LW_ACCESS_CONTIGUOUS)
                continue;
            good = (uintptr_t)operand->data % step == 0;
            for (int d = 1; good && d < plan->ndim; d++)
                good = (uint64_t)magnitude(operand->strides[d]) % step == 0;
        }
        if (good)
            return width;
    }
    return 1;
}

static unsigned
groups_of(const lw_plan *plan, const lw_kernel_key *key)
{
    unsigned bytes = 0, groups = 1;

    for (int i = 0; i < plan->n_in; i++)
        if (key->operands[i].access == LW_ACCESS_CONTIGUOUS ||
            key->operands[i].access == LW_ACCESS_GENERAL)
            bytes += key->width * lw_dtypes[plan->operands[i].dtype].size_bytes;
    while (bytes && bytes * groups < BYTES_IN_FLIGHT && groups < 4)
        groups *= 2;
    return groups;
}

/* The dimension along which some input that is not contiguous innermost is contiguous; 0: none
 * worth a square. */
static int
tiled_dim(const lw_plan *plan, const lw_kernel_key *key)
{
    for (int i = 0; i < plan->n_in; i++) {
        const lw_plan_operand *operand = &plan->operands[i];
        if (key->operands[i].access != LW_ACCESS_GENERAL)
            continue;
        for (int d = 1; d < plan->ndim; d++)
            if (operand->strides[d] == lw_dtypes[operand->dtype].size_bytes &&
                plan->shape[d] >= LW_PLAN_TILE && plan->shape[0] >= LW_PLAN_TILE)
                return d;
    }
    return 0;
}

void
lw_plan_key(lw_plan *plan, uint32_t cost, bool has_loop, lw_kernel_key *key)
{
    int tiled;

    memset(key, 0, sizeof *key);
    key->n_operands = (uint8_t)plan->n_operands;
    key->n_in = (uint8_t)plan->n_in;
    key->n_out = (uint8_t)plan->n_out;
    key->masked = plan->masked;
    key->noalias = !plan->stores && outputs_alone(plan);
    key->ndim = plan->ndim == 1 ? 0 : (uint8_t)plan->ndim;
    for (int i = 0; i < plan->n_operands; i++) {
        key->operands[i].dtype = (uint8_t)plan->operands[i].dtype;
        key->operands[i].access = (uint8_t)access_of(plan, &plan->operands[i]);
        if (key->operands[i].access == LW_ACCESS_GENERAL ||
            (plan->operands[i].is_output && key->operands[i].access != LW_ACCESS_CONTIGUOUS))
            key->ndim = (uint8_t)plan->ndim;
    }
    key->wide = key->ndim && reaches_far(plan);
    key->width = 1;
    key->groups = 1;
    if (has_loop || plan->masked || plan->n <= SMALL)
        return;
    tiled = tiled_dim(plan, key);
    if (tiled) {
        if (tiled != 1)
            swap_dims(plan, 1, tiled);
        key->tiled = 1;
        return;
    }
    key->width = (uint8_t)width_of(plan, key);
    key->groups = (uint8_t)groups_of(plan, key);
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
