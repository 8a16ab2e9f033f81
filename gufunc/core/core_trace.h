/* Which outputs a body writes completely, for constant core sizes (core/opt/overwrite.h). Pure
 * C. */
#ifndef LW_GUFUNC_CORE_CORE_TRACE_H
#define LW_GUFUNC_CORE_CORE_TRACE_H

#include "gufunc/core/core_kernel.h"

/* Clears `keep` of the outputs that the body writes completely, whatever the elements of its
 * inputs, without reading elements that it has not written: nothing of their old contents can
 * be seen. Where that is not certain, and where memory is out, keep stays. */
void lw_core_drop_keep(const lw_gufunc_loop *loop, lw_core_key *key);

#endif
