#include "core/py/numpy/loop_rows.h"

#include "core/base/memory.h"
#include "core/plan/loop.h"
#include "core/py/numpy/numpy_rules.h"
#include "core/py/numpy/ufunc_inner.h"

#include <string.h>

static const lw_dtype *
types_of(const void *loop)
{
    return ((const lw_loop_head *)loop)->types;
}

void *
lw_rows_find(const lw_ufunc_head *self, const lw_dtype *in)
{
    const lw_loop_rows *rows = lw_rows_of(self);
    size_t size = (size_t)self->nin * sizeof *in;

    for (uint32_t i = 0; rows != NULL && i < rows->n; i++)
        if (memcmp(types_of(rows->loops[i]), in, size) == 0)
            return rows->loops[i];
    return NULL;
}

static bool
takes(const void *loop, int nin, const lw_dtype *in, const char *weak)
{
    for (int i = 0; i < nin; i++)
        if (weak[i] ? !lw_weak_fits(weak[i], types_of(loop)[i]) : types_of(loop)[i] != in[i])
            return false;
    return true;
}

/* Of loops that cast no array, the first one is chosen (lw_loops_choose). */
void *
lw_rows_find_weak(const lw_ufunc_head *self, const lw_dtype *in, const char *weak)
{
    const lw_loop_rows *rows = lw_rows_of(self);
    size_t size = (size_t)self->nin * sizeof *in;

    if (self->lazy)
        return lw_rows_find(self, in);
    for (uint32_t i = 0; rows != NULL && i < rows->n; i++)
        if (takes(rows->loops[i], self->nin, in, weak))
            return memcmp(types_of(rows->loops[i]), in, size) == 0 ? rows->loops[i] : NULL;
    return NULL;
}

/* Where it goes among the n loops that there are. */
static uint32_t
place_of(const lw_ufunc_head *self, const lw_loop_rows *rows, const void *loop, bool declared)
{
    uint32_t n_declared = rows ? rows->n_declared : 0, n = rows ? rows->n : 0;
    uint32_t first = declared ? 0 : n_declared, at = declared ? n_declared : n;

    while (!self->options.order_given && at > first &&
           lw_types_go_before(types_of(loop), types_of(rows->loops[at - 1]), self->nin))
        at--;
    return at;
}

lw_loop_rows *
lw_rows_with(const lw_ufunc_head *self, void *loop, bool declared)
{
    lw_loop_rows *old = atomic_load(&self->rows), *rows;
    uint32_t n = old ? old->n : 0, at = place_of(self, old, loop, declared);

    rows = lw_alloc(sizeof *rows + (n + 1) * sizeof rows->loops[0]);
    if (rows == NULL)
        return NULL;
    rows->older = old;
    rows->n = n + 1;
    rows->n_declared = (old ? old->n_declared : 0) + declared;
    for (uint32_t i = 0; i <= n; i++)
        rows->loops[i] = i == at ? loop : old->loops[i - (i > at)];
    return rows;
}

void
lw_rows_publish(lw_ufunc_head *self, lw_loop_rows *rows)
{
    atomic_store_explicit(&self->rows, rows, memory_order_release);
    self->settled = true;
}

void
lw_rows_free(lw_ufunc_head *self)
{
    lw_loop_rows *rows = atomic_exchange(&self->rows, NULL), *older;

    for (; rows != NULL; rows = older) {
        older = rows->older;
        lw_free(rows);
    }
}
