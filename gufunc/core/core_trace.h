/* What a body does to its outputs, for constant core sizes: it is run on the paper, with known
 * sizes and indices and unknown elements. Pure C. */
#ifndef LW_GUFUNC_CORE_CORE_TRACE_H
#define LW_GUFUNC_CORE_CORE_TRACE_H

#include "gufunc/core/core_kernel.h"

/* Clears `keep` of the outputs of which the body writes every element, whatever the elements
 * of its inputs, and reads none that it has not written: nothing of what was there before can
 * be seen. Where that is not certain, and where memory is out, keep stays. */
void lw_core_drop_keep(const lw_gufunc_loop *loop, lw_core_key *key);

#endif
