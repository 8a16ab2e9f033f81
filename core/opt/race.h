/* Finds stores by which the elements of an index space race, without running them: the address
 * does not depend on the index, and the value does, or is computed from what is stored at that
 * address. needs: a body before a generator wraps it; changes nothing.
 *
 * Everything reported is a race whenever two elements execute the store. What may not be a race
 * is left to the checks of a running program: addresses that depend on the index in any way,
 * also through memory (`o[idx[i]] += 1`), memory of the element itself, stores under a test
 * that may select one element (`if i == 0:`, `if i > n - 2:`, `if i % 3 == 0:`; all but
 * `i < bound`), and plain stores under a test of loaded values (`if x[i] == y:`). Updates,
 * which read what they overwrite, are lost there if there are enough elements. */
#ifndef LW_OPT_RACE_H
#define LW_OPT_RACE_H

#include "core/ir/ir.h"

typedef struct lw_race_store {
    uint32_t loc; /* number in the module's locs */
    /* bits: the dimensions along which different elements store to the same place */
    uint32_t dims;
    bool augmented; /* it reads what it overwrites, as += does */
    /* Of updates: how many times as many elements as places lose some. */
    uint32_t times;
    bool same_place; /* an update of one place, under a test that several elements may pass */
    bool counted;    /* two elements do so if the index starts at 0 and counts by 1 */
} lw_race_store;

typedef struct lw_races {
    lw_race_store *stores; /* in the order of instructions */
    uint32_t n;
    /* Updates that race if there are more elements than places, as in `o[idx[i]] += 1` and
     * `o[i % 4] += 1`, and those of same_place, which do if several elements pass the test. */
    lw_race_store *updates;
    uint32_t n_updates;
} lw_races;

/* The racing stores of module->funcs[body], whose first n_index (at most 3) parameters are the
 * index, and of the functions it calls. They are allocated in the arena. */
lw_status lw_opt_find_races(const lw_module *module, uint32_t body, uint32_t n_index,
                            lw_arena *arena, lw_races *out, lw_error *err);

#endif
