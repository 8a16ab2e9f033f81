/* Our scalar types by NumPy's numbers, and back: a table look-up each way. */
#ifndef LW_PY_TYPE_NUM_H
#define LW_PY_TYPE_NUM_H

#include "core/tables/dtypes.h"

int lw_type_num(lw_dtype dtype); /* NumPy's; -1: it has none */
/* void: none of ours, or a time, whose unit the number does not tell */
lw_dtype lw_dtype_from_num(int type_num);

#endif
