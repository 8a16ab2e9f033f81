#include "core/plan/walk.h"

#include "core/base/memory_span.h"

#include <assert.h>

/* ---- normalising ---- */

bool
lw_walk_begin(lw_walk *walk, int ndim, const int64_t *shape, const int64_t *const *strides)
{
    int kept = 0;

    assert(walk->n_operands > 0 && walk->n_operands <= LW_WALK_OPERANDS);
    walk->n = 1;
    for (int d = 0; d < ndim; d++)
        walk->n *= shape[d];
    walk->ndim = 0;
    if (walk->n == 0)
        return true;
    for (int d = ndim - 1; d >= 0; d--) {
        if (shape[d] == 1)
            continue;
        if (kept == LW_WALK_DIMS)
            return false;
        walk->shape[kept] = shape[d];
        for (int i = 0; i < walk->n_operands; i++)
            walk->operands[i].strides[kept] = walk->operands[i].by_value ? 0 : strides[i][d];
        kept++;
    }
    walk->ndim = kept;
    return true;
}

void
lw_walk_single(lw_walk *walk)
{
    assert(walk->ndim == 0 && walk->n == 1);
    walk->ndim = 1;
    walk->shape[0] = 1;
}

/* Whether dimension x should lie inside dimension y. */
static bool
inside(const lw_walk *walk, int x, int y)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < walk->n_operands; i++) {
            const lw_walk_operand *operand = &walk->operands[i];
            int64_t sx = lw_magnitude(operand->strides[x]);
            int64_t sy = lw_magnitude(operand->strides[y]);
            if (operand->by_value || operand->is_output != (pass == 0) || sx == sy || !sx ||
                !sy)
                continue;
            return sx < sy;
        }
    return false;
}

void
lw_walk_swap(lw_walk *walk, int x, int y)
{
    int64_t size = walk->shape[x];

    assert(x >= 0 && x < walk->ndim && y >= 0 && y < walk->ndim);
    walk->shape[x] = walk->shape[y];
    walk->shape[y] = size;
    for (int i = 0; i < walk->n_operands; i++) {
        int64_t *strides = walk->operands[i].strides, kept = strides[x];
        strides[x] = strides[y];
        strides[y] = kept;
    }
}

void
lw_walk_sort(lw_walk *walk)
{
    for (int i = 1; i < walk->ndim; i++)
        for (int j = i; j > 0 && inside(walk, j, j - 1); j--)
            lw_walk_swap(walk, j, j - 1);
}

void
lw_walk_flip(lw_walk *walk)
{
    for (int d = 0; d < walk->ndim; d++) {
        bool backwards = false, forwards = false;
        for (int i = 0; i < walk->n_operands; i++) {
            if (walk->operands[i].by_value)
                continue;
            backwards |= walk->operands[i].strides[d] < 0;
            forwards |= walk->operands[i].strides[d] > 0;
        }
        if (!backwards || forwards)
            continue;
        for (int i = 0; i < walk->n_operands; i++) {
            lw_walk_operand *operand = &walk->operands[i];
            if (operand->by_value)
                continue;
            operand->data += (uint64_t)(operand->strides[d] * (walk->shape[d] - 1));
            operand->strides[d] = -operand->strides[d];
        }
    }
}

static bool
continues(const lw_walk *walk, int inner, int outer)
{
    for (int i = 0; i < walk->n_operands; i++) {
        const lw_walk_operand *operand = &walk->operands[i];
        if (!operand->by_value &&
            operand->strides[outer] != operand->strides[inner] * walk->shape[inner])
            return false;
    }
    return true;
}

void
lw_walk_merge(lw_walk *walk)
{
    int kept = 0;

    for (int d = 1; d < walk->ndim; d++) {
        if (continues(walk, kept, d)) {
            walk->shape[kept] *= walk->shape[d];
            continue;
        }
        kept++;
        walk->shape[kept] = walk->shape[d];
        for (int i = 0; i < walk->n_operands; i++)
            walk->operands[i].strides[kept] = walk->operands[i].strides[d];
    }
    walk->ndim = walk->ndim ? kept + 1 : 0;
}

/* ---- what a kernel may assume ---- */

bool
lw_walk_stays(const lw_walk *walk, int operand)
{
    for (int d = 0; d < walk->ndim; d++)
        if (walk->operands[operand].strides[d] != 0)
            return false;
    return true;
}

bool
lw_walk_spans(const lw_walk *walk, uint64_t most)
{
    for (int i = 0; i < walk->n_operands; i++) {
        uint64_t span = 0;
        for (int d = 0; d < walk->ndim && !walk->operands[i].by_value; d++)
            span += (uint64_t)lw_magnitude(walk->operands[i].strides[d]) *
                    (uint64_t)(walk->shape[d] - 1);
        if (span > most)
            return true;
    }
    return false;
}

static lw_memory_span
span_of(const lw_walk *walk, int i, uint32_t bytes)
{
    const lw_walk_operand *operand = &walk->operands[i];

    return lw_memory_span_of(walk->ndim, walk->shape, operand->strides, bytes, operand->data);
}

bool
lw_walk_outputs_apart(const lw_walk *walk, const uint32_t *bytes)
{
    for (int o = 0; o < walk->n_operands; o++)
        for (int i = 0; walk->operands[o].is_output && i < walk->n_operands; i++)
            if (i != o && !walk->operands[i].by_value &&
                lw_memory_spans_overlap(span_of(walk, o, bytes[o]), span_of(walk, i, bytes[i])))
                return false;
    return true;
}

bool
lw_walk_is_aligned(const lw_walk *walk, int operand, uint32_t bytes)
{
    const lw_walk_operand *of = &walk->operands[operand];

    if (of->data % bytes != 0)
        return false;
    for (int d = 1; d < walk->ndim; d++)
        if ((uint64_t)lw_magnitude(of->strides[d]) % bytes != 0)
            return false;
    return true;
}

/* ---- runs on the host ---- */

int
lw_walk_across(const lw_walk *walk, int operand, uint32_t bytes)
{
    const int64_t *strides = walk->operands[operand].strides;
    int64_t least = LW_WALK_LINE;
    int closest = 0;

    if (walk->ndim < 2 || lw_magnitude(strides[0]) < LW_WALK_LINE)
        return 0;
    for (int d = 1; d < walk->ndim; d++)
        if (strides[d] != 0 && lw_magnitude(strides[d]) < least &&
            walk->shape[d] * bytes >= LW_WALK_LINE / 2) {
            closest = d;
            least = lw_magnitude(strides[d]);
        }
    return closest;
}

/* ---- parts of a walk ---- */

bool
lw_walk_is_short(const lw_walk *walk, uint32_t width)
{
    return walk->n / width <= LW_WALK_LAUNCH;
}

int
lw_walk_cut(lw_walk *walk, uint32_t width, lw_walk_part launch, void *context)
{
    int d = walk->ndim - 1, failed = 0;
    int64_t whole, inner, step, n = walk->n;
    uint64_t data[LW_WALK_OPERANDS] = {0};

    if (lw_walk_is_short(walk, width))
        return launch(context);
    while (d > 0 && walk->shape[d] == 1)
        d--;
    whole = walk->shape[d];
    inner = n / whole;
    step = inner >= LW_WALK_LAUNCH ? 1 : LW_WALK_LAUNCH / inner;
    if (d == 0)
        step -= step % width;
    for (int i = 0; i < walk->n_operands; i++)
        data[i] = walk->operands[i].data;
    for (int64_t at = 0; at < whole && !failed; at += step) {
        walk->shape[d] = whole - at < step ? whole - at : step;
        walk->n = inner * walk->shape[d];
        for (int i = 0; i < walk->n_operands; i++)
            if (!walk->operands[i].by_value)
                walk->operands[i].data =
                    data[i] + (uint64_t)(at * walk->operands[i].strides[d]);
        failed = lw_walk_cut(walk, width, launch, context);
    }
    walk->shape[d] = whole;
    walk->n = n;
    for (int i = 0; i < walk->n_operands; i++)
        walk->operands[i].data = data[i];
    return failed;
}
