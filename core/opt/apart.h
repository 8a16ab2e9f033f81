/* Whether two pointers reach the same memory. Whatever copies from array to array asks it by
 * MEET, and does without the care that overlapping arrays need where the answer is no.
 * needs: the function that is entered, and what its caller knows of its parameters; keeps:
 * types; breaks: value numbers, use counts, numbers of functions behind the entry's. */
#ifndef LW_OPT_APART_H
#define LW_OPT_APART_H

#include "core/ir/ir.h"

/* alone: of each parameter of the entry, whether no other parameter reaches the memory that it
 * reaches; NULL: of none. Memory of the function's own (local, shared, constant) is alone in
 * any case. A MEET of pointers that are proved apart is false; an IF that depends on it goes,
 * with the functions that only it called. */
lw_status lw_opt_apart(lw_module *module, uint32_t entry, const bool *alone, lw_error *err);

#endif
