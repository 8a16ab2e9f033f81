/* The order of a call's stream with those who made and who will read its operands. GIL held. */
#ifndef LW_PY_LAUNCH_ORDER_H
#define LW_PY_LAUNCH_ORDER_H

#include "core/py/numpy/family.h"

/* Puts the stream behind whoever produced the operands. extra: may be NULL. */
lw_status lw_operands_behind(lw_operand *operands, int n, const lw_extra_arrays *extra,
                             CUstream stream, lw_error *err);
/* Aligned copies that were written go back, and foreign producers wait for the stream. */
lw_status lw_operands_after(lw_operand *operands, int n, const lw_extra_arrays *extra,
                            CUstream stream, lw_error *err);

#endif
