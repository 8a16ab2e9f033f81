/* Stores by which the elements of an index space get into each other's way, found without
 * running them: the address does not follow the index, and the value does, or is made of what
 * lies at that address. needs: a body before a generator wraps it; changes nothing.
 *
 * What is reported is a race wherever two elements reach the store. What may be none is left to
 * the checks of a running program: addresses that follow the index in any way, also through
 * memory (`o[idx[i]] += 1`), memory of the element's own, stores under a test that may pick one
 * element (`if i == 0:`, `if i > n - 2:`; all but `i < bound`), and plain stores under a test
 * of loaded values (`if x[i] == y:`). */
#ifndef LW_OPT_RACE_H
#define LW_OPT_RACE_H

#include "core/ir/ir.h"

typedef struct lw_race_store {
    uint32_t loc;   /* of the module */
    uint32_t dims;  /* bits: dimensions along which elements meet */
    bool augmented; /* it reads what it overwrites */
} lw_race_store;

/* The racing stores of module->funcs[body], whose first n_index (at most 3) parameters are the
 * index, and of the functions it calls. *out lies in the arena, in the order of instructions.
 */
lw_status lw_opt_find_races(const lw_module *module, uint32_t body, uint32_t n_index,
                            lw_arena *arena, lw_race_store **out, uint32_t *n, lw_error *err);

#endif
