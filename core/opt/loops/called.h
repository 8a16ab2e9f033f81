/* What functions do to memory that iterations of a loop over prange may share, for loops that
 * call these functions. It is computed once for each function of a module. Pure C. */
#ifndef LW_OPT_LOOPS_CALLED_H
#define LW_OPT_LOOPS_CALLED_H

#include "core/ir/ir.h"

enum {
    LW_CALLED_STORES = 1,  /* it may store in memory that it has not made */
    LW_CALLED_UPDATES = 2, /* it computes such an element from what is there */
    LW_CALLED_GIVES = 4    /* all memory that it returns is new */
};

typedef struct lw_called {
    const lw_module *module;
    uint32_t n;
    uint8_t *known; /* by function */
} lw_called;

/* false: memory ran out. */
bool lw_called_init(lw_called *called, const lw_module *module, lw_arena *arena);
/* LW_CALLED_ flags. */
unsigned lw_called_facts(lw_called *called, uint32_t number);
/* The function, if the value is what a call of one returns; or NULL. */
const lw_inst *lw_called_of(const lw_func *func, lw_ref value);

#endif
