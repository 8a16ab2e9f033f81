/* Strides and sizes of a call -> how its kernel walks it. Pure arithmetic: no driver, no
 * allocation. The loop is normalised first: dimensions of size 1 dropped, the rest ordered by
 * the strides of the outputs, neighbours merged. Then each operand gets its reach
 * (core_kernel.h). */
#ifndef LW_GUFUNC_CORE_CORE_PLAN_H
#define LW_GUFUNC_CORE_CORE_PLAN_H

#include "gufunc/core/core_kernel.h"
#include "gufunc/core/core_shape.h"

enum { LW_CORE_FEW = 16384 }; /* fewer items than these leave a GPU idle, one thread each */

typedef struct lw_core_plan_operand {
    uint64_t data; /* device address */
    bool by_value;
    bool keep; /* an output whose elements stay where the body does not write them */
    int64_t strides[LW_SHAPE_DIMS]; /* of the loop, bytes; normalised: innermost first */
    int64_t core[LW_MAX_CORE_DIMS]; /* of the core, as the layout has it; 0: one element */
} lw_core_plan_operand;

typedef struct lw_core_plan {
    const lw_gufunc_loop *loop;
    int n_operands;
    bool can_spread;      /* lw_core_spread says so of the loop */
    bool joins;           /* so it does of this */
    bool searches;        /* and of this */
    const int64_t *sizes; /* of the layout's core dimensions */
    int64_t n;            /* items */
    int ndim;             /* at least 1 once normalised; innermost first */
    int64_t shape[LW_SHAPE_DIMS];
    lw_core_plan_operand operands[LW_MAX_OPERANDS];
} lw_core_plan;

/* The loop's shape and strides come outermost first; fills n and, where there are items, ndim,
 * shape and strides anew. False: more than LW_CORE_LOOP_DIMS dimensions longer than 1. */
bool lw_core_plan_normalise(lw_core_plan *plan, int ndim, const int64_t *shape);
/* The kernel of a normalised plan. */
void lw_core_plan_key(const lw_core_plan *plan, lw_core_key *key);
/* Few items of so large cores that one thread each leaves the GPU idle, or its memory's lanes.
 */
bool lw_core_plan_is_large(const lw_core_plan *plan);
/* Where one is TILED: items of a block at most. */
uint32_t lw_core_plan_tile(const lw_core_plan *plan, const lw_core_key *key);
/* Bytes of an operand's core. */
int64_t lw_core_plan_bytes(const lw_core_plan *plan, int operand);

#endif
