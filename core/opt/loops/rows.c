/* Which arrays a shared loop reads along their rows, and whether several blocks may divide its
 * iterations. */
#include "core/opt/loops/rows.h"

#include "core/opt/loops/access_pattern.h"
#include "core/opt/loops/carried.h"

#include <assert.h>

enum { MOST_ARRAYS = 64 }; /* in the sets that lw_spread has */

/* The number of the array that the instruction accesses; -1: there is none in the sets. */
static int
accessed(const lw_spreader *s, uint32_t at)
{
    const lw_inst *inst = lw_inst_at(s, at);
    int root = lw_op_is_access((lw_op)inst->op) ? lw_root_of(s, inst->a) : -1;

    return root < MOST_ARRAYS ? root : -1;
}

/* That array as a set. */
static uint64_t
set_of(const lw_spreader *s, uint32_t at)
{
    int array = accessed(s, at);

    return array < 0 ? 0 : UINT64_C(1) << array;
}

static uint32_t
stride_of_rows(const lw_spread_array *array)
{
    assert(array->ndim == 2);
    return array->first + 1 + array->ndim;
}

/* Sorts the arrays that a loop loads from: those with a row for each iteration, along which
 * an inner loop runs, and those whose neighbours threads read at one time. Elements that all
 * iterations read count as neither. */
static void
note_rows(const lw_spreader *s, lw_spread_loop *l, uint64_t *rows, uint64_t *others)
{
    for (uint32_t i = l->at + 1; i < l->latch; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        int operand = inst->op == LW_OP_LOAD ? accessed(s, i) : -1;
        const lw_spread_array *array;
        lw_access_pattern p;
        uint32_t stride;
        lw_shift shift;
        if (operand < 0)
            continue;
        array = &s->of->arrays[operand];
        if (!lw_access_pattern_of(s, inst->a, &p) || array->ndim != 2)
            *others |= UINT64_C(1) << operand;
        else if (!lw_runs_along(s, l, &p, &stride, &shift))
            continue;
        else if (stride != stride_of_rows(array))
            *others |= UINT64_C(1) << operand;
        else if (lw_loops_around(s, l, i) > 0)
            *rows |= UINT64_C(1) << operand;
    }
}

uint64_t
lw_rows_read(lw_spreader *s)
{
    uint64_t rows = 0, others = 0;

    for (uint32_t i = 0; i < s->n_loops; i++)
        note_rows(s, &s->loops[i], &rows, &others);
    return rows & ~others;
}

/* ---- iterations that blocks divide ---- */

static bool
is_inside(const lw_spread_loop *l, uint32_t at)
{
    return at > l->at && at < l->end;
}

/* Whether nothing is stored outside the loop, and nothing loaded there that it stores: blocks
 * that have different iterations then need not wait for each other. */
static bool
is_alone_with_memory(const lw_spreader *s, const lw_spread_loop *l)
{
    uint64_t stored = 0;

    for (uint32_t i = 1; i < s->func->insts.n; i++) {
        if (lw_inst_at(s, i)->op != LW_OP_STORE)
            continue;
        if (!is_inside(l, i) || set_of(s, i) == 0)
            return false;
        stored |= set_of(s, i);
    }
    for (uint32_t i = 1; i < s->func->insts.n; i++)
        if (!is_inside(l, i) && (stored & set_of(s, i)))
            return false;
    return true;
}

/* Whether each block may run some of the function's iterations. */
static bool
can_divide(const lw_spreader *s)
{
    const lw_spread_loop *l = &s->loops[0];

    return s->n_loops == 1 && l->n_carried == 0 && l->n_picks == 0 && !l->searches &&
           l->n_guards == 0 && s->of->module->funcs.data[s->of->func]->results.n == 0 &&
           is_alone_with_memory(s, l);
}

/* Whether the access is one to row i in iteration i. */
static bool
is_to_own_row(const lw_spreader *s, lw_spread_loop *l, uint32_t at)
{
    const lw_spread_array *array = &s->of->arrays[accessed(s, at)];
    lw_access_pattern p;
    uint32_t stride;
    lw_shift shift;

    return is_inside(l, at) && array->ndim == 2 &&
           lw_access_pattern_of(s, lw_inst_at(s, at)->a, &p) &&
           lw_runs_along(s, l, &p, &stride, &shift) && stride == stride_of_rows(array) &&
           shift.step == 1 && shift.n == 0;
}

uint64_t
lw_rows_divided(lw_spreader *s)
{
    uint64_t rows = can_divide(s) ? lw_rows_read(s) : 0;

    for (uint32_t i = 1; i < s->func->insts.n && rows; i++)
        if ((rows & set_of(s, i)) && !is_to_own_row(s, &s->loops[0], i))
            rows &= ~set_of(s, i);
    return rows;
}
