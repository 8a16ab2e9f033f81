/* Moves float64 coefficients from the instructions of PTX to constant memory. */
#ifndef LW_LINK_PTX_CONSTANTS_H
#define LW_LINK_PTX_CONSTANTS_H

#include "core/base/bytes.h"
#include "core/base/error.h"

/* Rewrites, in place, PTX whose instructions contain many different float64 numbers; other
 * texts stay as they are. The results of the code do not change. */
lw_status lw_ptx_constants(lw_bytes *ptx, lw_error *err);

#endif
