/* How large a number can be, as far as its instructions show. */
#ifndef LW_IR_BOUND_H
#define LW_IR_BOUND_H

#include "core/ir/ir.h"

/* A bound of the absolute values of a scalar: it is never larger, though it may be NaN.
 * INFINITY: nothing is known, and the value may be infinite. Calls of functions of the module
 * are followed to their results. */
double lw_ir_bound(const lw_module *module, const lw_func *func, lw_ref value);

#endif
