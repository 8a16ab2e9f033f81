/* a*b + c -> fma(a, b, c), decided here once, so that CPU and GPU fuse the same operations.
 * needs: LW_MAY_FUSE flags; keeps: types, regions; breaks: use counts. */
#ifndef LW_OPT_CONTRACT_H
#define LW_OPT_CONTRACT_H

#include "core/ir/ir.h"

/* Fuses a product that is used once, by an ADD or SUB in the same region, when both carry
 * LW_MAY_FUSE and are f32 or f64. In `a*b + c*d` the left product is fused. */
lw_status lw_opt_contract(lw_module *module, lw_error *err);

#endif
