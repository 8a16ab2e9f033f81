/* A body rewritten so that loops to share are easy to find. Pure C. */
#ifndef LW_OPT_LOOPS_PLAIN_H
#define LW_OPT_LOOPS_PLAIN_H

#include "core/ir/ir.h"

/* The same function, in the arena, rewritten: calls of functions without loops and branches are
 * inlined, and so are, outside of loops, calls of functions that have loops, and, in loops over
 * prange, calls of functions that store in memory that they have not made, unless the function
 * would become too long; a SET in a loop of `e if c else v` to v becomes `if c: v = e`. hidden:
 * by file, whether functions of it, which are inlined, have the place of the call; or NULL.
 * NULL: memory ran out, or the function would become too long. */
const lw_func *lw_plain_body(const lw_module *module, const lw_func *func, const bool *hidden,
                             lw_arena *arena);

/* Whether a call of the function may store in memory that the function has not made. */
bool lw_stores_elsewhere(const lw_module *module, uint32_t number);

#endif
