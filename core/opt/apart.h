/* Whether two pointers may refer to the same memory. Code that copies from array to array tests
 * this by MEET, and omits the handling of overlapping arrays where the answer is no.
 * needs: the function that is entered, and what its caller knows of its parameters; keeps:
 * types; breaks: value numbers, use counts, numbers of functions after the entry. */
#ifndef LW_OPT_APART_H
#define LW_OPT_APART_H

#include "core/ir/ir.h"

/* alone: for each parameter of the entry, whether no other parameter refers to the memory that
 * it refers to; NULL: for none. Memory of the function itself (local, shared, new, constant) is
 * always alone. A MEET of pointers that are proved apart is false; an IF that depends on it is
 * removed, with the functions that only it called. */
lw_status lw_opt_apart(lw_module *module, uint32_t entry, const bool *alone, lw_error *err);

#endif
