/* The loops of a ufunc in the order in which they are chosen and shown: declared ones first,
 * both parts narrow to wide, unless the user's order was asked for. A list never changes: one
 * loop more is a new list, published by one store, so that readers take no lock. Older lists
 * live as long as the ufunc. Whoever adds is in a critical section on the ufunc, or makes it.
 */
#ifndef LW_PY_NUMPY_LOOP_ROWS_H
#define LW_PY_NUMPY_LOOP_ROWS_H

#include "core/py/numpy/ufunc_type.h"

#include <stdatomic.h>

typedef struct lw_loop_rows {
    struct lw_loop_rows *older;
    uint32_t n, n_declared;
    void *loops[];
} lw_loop_rows;

/* NULL: there are none. */
static inline const lw_loop_rows *
lw_rows_of(const lw_ufunc_head *self)
{
    return atomic_load_explicit(&self->rows, memory_order_acquire);
}

static inline uint32_t
lw_rows_n(const lw_ufunc_head *self)
{
    const lw_loop_rows *rows = lw_rows_of(self);

    return rows ? rows->n : 0;
}

/* There is one there. */
static inline void *
lw_rows_at(const lw_ufunc_head *self, uint32_t at)
{
    return lw_rows_of(self)->loops[at];
}

/* The loop of exactly these inputs, or NULL. */
void *lw_rows_find(const lw_ufunc_head *self, const lw_dtype *in);
/* The same for calls with Python numbers, which take in[i] where weak[i] is 'i', 'f' or 'c'
 * (else 0): NULL, too, where a number chooses another loop, which a signature before this one
 * has. */
void *lw_rows_find_weak(const lw_ufunc_head *self, const lw_dtype *in, const char *weak);
/* The list and one loop more, to be published; NULL when memory is out. */
lw_loop_rows *lw_rows_with(const lw_ufunc_head *self, void *loop, bool declared);
void lw_rows_publish(lw_ufunc_head *self, lw_loop_rows *rows);
void lw_rows_free(lw_ufunc_head *self);

#endif
