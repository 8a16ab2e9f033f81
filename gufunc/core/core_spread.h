/* Large cores: the threads of a block share the loops of an item's body, by core/opt/loops.
 * Pure C. */
#ifndef LW_GUFUNC_CORE_CORE_SPREAD_H
#define LW_GUFUNC_CORE_CORE_SPREAD_H

#include "core/opt/loops/spread.h"
#include "gufunc/core/gufunc_loop.h"

/* What can be shared. If memory runs out, nothing can. reads_rows is by operand. */
lw_spread lw_core_spread(const lw_gufunc_loop *loop);
/* Applies lw_spread_body to the loop's body. */
lw_status lw_core_spread_body(const lw_gufunc_loop *loop, lw_spread_threads threads,
                              lw_module *module, uint32_t *function, lw_error *err);

#endif
