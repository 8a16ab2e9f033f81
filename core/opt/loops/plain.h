/* A body rewritten so that loops to share are easy to find. Pure C. */
#ifndef LW_OPT_LOOPS_PLAIN_H
#define LW_OPT_LOOPS_PLAIN_H

#include "core/ir/ir.h"

/* The same function, in the arena, rewritten: calls of functions without loops and branches are
 * inlined, and so are, outside of loops, calls of functions that have loops; a SET in a loop of
 * `e if c else v` to v becomes `if c: v = e`. NULL: memory ran out, or the function would
 * become too long. */
const lw_func *lw_plain_body(const lw_module *module, const lw_func *func, lw_arena *arena);

#endif
