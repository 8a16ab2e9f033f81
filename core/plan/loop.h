/* What every loop of a ufunc begins with: exact dtypes, and the scalar function's IR for them.
 * Loops are append-only and immortal while their ufunc lives. */
#ifndef LW_PLAN_LOOP_H
#define LW_PLAN_LOOP_H

#include "core/front/lower/lower.h"

#include <stdatomic.h>

enum { LW_LOOP_OPERANDS = 64 /* NumPy's limit on inputs and outputs */ };

/* types: of the inputs, then of the outputs; declared: from a signature of the decorator;
 * given: the numpy.ufunc that was given the loop last; numpy_ran: NumPy has run it, so it takes
 * the loop for exactly these dtypes; next: the loop that was made before it.
 */
#define LW_LOOP_HEAD                                                                           \
    int nin, nout;                                                                             \
    lw_dtype types[LW_LOOP_OPERANDS];                                                          \
    lw_scalar *scalar;                                                                         \
    bool declared;                                                                             \
    bool raises_flags; /* whatever its scalar says */                                          \
    _Atomic(const void *) given;                                                               \
    atomic_bool numpy_ran;                                                                     \
    struct lw_loop_head *next;

typedef struct lw_loop_head {
    LW_LOOP_HEAD
} lw_loop_head;

#endif
