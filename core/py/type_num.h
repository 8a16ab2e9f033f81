/* Our scalar types by NumPy's numbers, and back: a table look-up each way. */
#ifndef LW_PY_TYPE_NUM_H
#define LW_PY_TYPE_NUM_H

#include "core/tables/dtypes.h"

int lw_type_num(lw_dtype dtype); /* NumPy's; -1: it has none */

enum { LW_N_TYPE_NUMS = 24 };
extern const uint8_t lw_dtype_of_num[LW_N_TYPE_NUMS];

/* void: none of ours, or a time, whose unit the number does not tell. Inline, as loops that
 * NumPy calls for a single element find their code by it. */
static inline lw_dtype
lw_dtype_from_num(int type_num)
{
    return type_num < 0 || type_num >= LW_N_TYPE_NUMS ? LW_DT_void
                                                      : (lw_dtype)lw_dtype_of_num[type_num];
}

#endif
