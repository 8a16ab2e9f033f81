/* Unrolls loops by a step that only the launch knows (`for i in range(grid(1), n,
 * gridsize(1))`), four iterations at a time, so that the loads of four iterations are in flight
 * together. LLVM does not do it: it would need a division to know how often such a loop runs.
 * needs: a function for the GPU whose arrays do not overlap; keeps: types; breaks: value
 * numbers. */
#ifndef LW_OPT_STRIDE_H
#define LW_OPT_STRIDE_H

#include "core/ir/ir.h"

/* Rewrites the loops of lw_ir_for whose step is not a constant and whose iterations are short,
 * neither end the loop nor contain a barrier, a call or a loop that is not short, and load from
 * a parameter that the function does not write to; and those that draw one random number. */
lw_status lw_opt_stride(lw_module *module, uint32_t func, lw_error *err);

#endif
