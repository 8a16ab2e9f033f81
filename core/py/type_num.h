/* Our scalar types by NumPy's numbers, and back: a table look-up each way. */
#ifndef LW_PY_TYPE_NUM_H
#define LW_PY_TYPE_NUM_H

#include "core/tables/dtypes.h"

#include <stdatomic.h>

/* NumPy's; -1: it has none. That of bfloat16 is known as soon as ml_dtypes is loaded. */
int lw_type_num(lw_dtype dtype);

enum { LW_N_TYPE_NUMS = 24 };
extern const uint8_t lw_dtype_of_num[LW_N_TYPE_NUMS];

/* The number that ml_dtypes has for bfloat16, which is beyond all of NumPy's own; -1: nobody
 * has looked for it since ml_dtypes was loaded. */
extern _Atomic(int) lw_num_of_bf16;
/* As lw_dtype_from_num, with the GIL: looks whether ml_dtypes is loaded. */
lw_dtype lw_dtype_from_any_num(int type_num);

/* void: none of ours, or a time, whose unit the number does not tell. Inline, as loops that
 * NumPy calls for a single element find their code by it. */
static inline lw_dtype
lw_dtype_from_num(int type_num)
{
    if (type_num >= 0 && type_num < LW_N_TYPE_NUMS)
        return (lw_dtype)lw_dtype_of_num[type_num];
    return type_num >= 0 &&
                   type_num == atomic_load_explicit(&lw_num_of_bf16, memory_order_relaxed)
               ? LW_DT_bf16
               : LW_DT_void;
}

#endif
