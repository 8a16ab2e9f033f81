/* A body rewritten so that loops to share are easy to find. Pure C. */
#ifndef LW_OPT_LOOPS_PLAIN_H
#define LW_OPT_LOOPS_PLAIN_H

#include "core/opt/loops/called.h"

/* For functions with loops over prange. */
typedef struct lw_plain_prange {
    lw_called *called;  /* of the module */
    const bool *hidden; /* by file: whether its functions are not the user's */
} lw_plain_prange;

/* The same function, in the arena, rewritten: calls of functions without loops and branches are
 * inlined, and so are, outside of loops, calls of functions that have loops; a SET in a loop of
 * `e if c else v` to v becomes `if c: v = e`. prange, or NULL: in loops over prange, calls of
 * functions that store in memory that they have not made are inlined, too, as far as the length
 * permits; instructions of hidden functions have the place of the call. NULL: memory ran out,
 * or the function would become too long. */
const lw_func *lw_plain_body(const lw_module *module, const lw_func *func,
                             const lw_plain_prange *prange, lw_arena *arena);

#endif
