/* Large cores: the loops of an item's body spread over the threads of a block, by
 * core/opt/loops. Pure C. */
#ifndef LW_GUFUNC_CORE_CORE_SPREAD_H
#define LW_GUFUNC_CORE_CORE_SPREAD_H

#include "core/opt/loops/spread.h"
#include "gufunc/core/gufunc_loop.h"

/* If memory runs out, the result is that it is not possible. */
lw_spread lw_core_spread(const lw_gufunc_loop *loop);
/* lw_spread_body of the loop's body. */
lw_status lw_core_spread_body(const lw_gufunc_loop *loop, uint32_t n_threads, lw_module *module,
                              uint32_t *function, lw_error *err);

#endif
