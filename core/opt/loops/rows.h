/* Arrays whose rows the iterations of a shared loop read. Pure C. */
#ifndef LW_OPT_LOOPS_ROWS_H
#define LW_OPT_LOOPS_ROWS_H

#include "core/opt/loops/loops.h"

/* lw_spread.reads_rows, and lw_spread.own_rows. */
uint64_t lw_rows_read(lw_spreader *s);
uint64_t lw_rows_divided(lw_spreader *s);

#endif
