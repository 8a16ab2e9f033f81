/* A body written so that loops to share are easy to find. Pure C. */
#ifndef LW_OPT_LOOPS_PLAIN_H
#define LW_OPT_LOOPS_PLAIN_H

#include "core/ir/ir.h"

/* The same function, in the arena: calls of straight lines stand in line, and so do, outside of
 * loops, calls of functions that have loops; what a loop sets by `v = e if c else v` it sets by
 * `if c: v = e`. NULL: memory is out, or it would become too long. */
const lw_func *lw_plain_body(const lw_module *module, const lw_func *func, lw_arena *arena);

#endif
