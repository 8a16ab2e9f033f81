/* A normalised walk over items (core/plan/walk.h), their cores and sizes -> the kernel that it
 * asks for, which says how each operand is accessed (core_kernel.h). Pure arithmetic: no
 * driver, no allocation. */
#ifndef LW_GUFUNC_CORE_CORE_PLAN_H
#define LW_GUFUNC_CORE_CORE_PLAN_H

#include "core/plan/walk.h"
#include "gufunc/core/core_kernel.h"
#include "gufunc/core/core_shape.h"

enum { LW_CORE_FEW = 16384 }; /* fewer items than these leave a GPU idle, one thread each */

typedef struct lw_core_plan_operand {
    bool keep; /* an output whose elements stay where the body does not write them */
    /* strides of the core, as the layout has it; 0: one element */
    int64_t core[LW_MAX_CORE_DIMS];
} lw_core_plan_operand;

typedef struct lw_core_plan {
    const lw_gufunc_loop *loop;
    bool can_spread;   /* lw_core_spread says so of the loop */
    bool joins;        /* so it does of this, */
    bool scans_little; /* this */
    bool searches;     /* and of this */
    bool in_order;     /* and of this */
    /* as lw_spread has them */
    uint32_t kept_dim, kept_bytes, kept_weight;
    uint64_t reads_rows, own_rows;
    uint32_t most_shared; /* bytes of shared memory that a block may have; 0: LW_CORE_SHARED */
    const int64_t *sizes; /* of the layout's core dimensions */
    lw_core_plan_operand operands[LW_MAX_OPERANDS];
    lw_walk walk; /* over items, of the same operands; at least 1 dimension once normalised */
} lw_core_plan;

/* Normalises the walk, as lw_walk_begin says; false as there. Of each operand data and by_value
 * are set by the caller. Items that are walked backwards stay so: their numbers are told of
 * where the body raises. */
bool lw_core_plan_normalise(lw_core_plan *plan, int ndim, const int64_t *shape,
                            const int64_t *const *strides);
/* The kernel of a normalised plan. */
void lw_core_plan_key(const lw_core_plan *plan, lw_core_key *key);
/* Few items of so large cores that one thread each leaves the GPU idle, or its memory's lanes.
 */
bool lw_core_plan_is_large(const lw_core_plan *plan);
/* Where one is TILED: items of a block at most. */
uint32_t lw_core_plan_tile(const lw_core_plan *plan, const lw_core_key *key);
/* Blocks that share an item, each with a band of its rows. */
int64_t lw_core_plan_bands(const lw_core_plan *plan, const lw_core_key *key);
/* Bytes of an operand's core. */
int64_t lw_core_plan_bytes(const lw_core_plan *plan, int operand);

#endif
