/* Loops that read the element which the iteration before has written (`y[i] = a[i]*y[i-1] +
 * b[i]`). Pure C. */
#ifndef LW_OPT_LOOPS_PREVIOUS_H
#define LW_OPT_LOOPS_PREVIOUS_H

#include "core/opt/loops/loops.h"

/* The spreader's function, rewritten in its arena: in such loops a variable holds the element.
 * It is set where the element is stored, and starts as what the first iteration would load. The
 * function itself where there is no such loop; NULL: memory ran out. */
const lw_func *lw_previous_body(lw_spreader *s);

#endif
