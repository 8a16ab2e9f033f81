#include "core/py/numpy_api.h"

#include "core/py/type_num.h"

#include "core/py/descr.h"

_Static_assert((int)LW_N_TYPE_NUMS == (int)NPY_NTYPES_LEGACY,
               "NumPy's numbers of its first types");

#define LONG_IS(wide, narrow) (sizeof(long) == 8 ? (wide) : (narrow))

const uint8_t lw_dtype_of_num[LW_N_TYPE_NUMS] = {
    [NPY_BOOL] = LW_DT_b1,
    [NPY_BYTE] = LW_DT_i8,
    [NPY_UBYTE] = LW_DT_u8,
    [NPY_SHORT] = LW_DT_i16,
    [NPY_USHORT] = LW_DT_u16,
    [NPY_INT] = LW_DT_i32,
    [NPY_UINT] = LW_DT_u32,
    [NPY_LONG] = LONG_IS(LW_DT_i64, LW_DT_i32),
    [NPY_ULONG] = LONG_IS(LW_DT_u64, LW_DT_u32),
    [NPY_LONGLONG] = LW_DT_i64,
    [NPY_ULONGLONG] = LW_DT_u64,
    [NPY_HALF] = LW_DT_f16,
    [NPY_FLOAT] = LW_DT_f32,
    [NPY_DOUBLE] = LW_DT_f64,
    [NPY_CFLOAT] = LW_DT_c64,
    [NPY_CDOUBLE] = LW_DT_c128,
};

static const int8_t num_of_dtype[LW_N_DTYPES] = {
    [LW_DT_void] = -1,          [LW_DT_b1] = NPY_BOOL,    [LW_DT_i8] = NPY_INT8,
    [LW_DT_u8] = NPY_UINT8,     [LW_DT_i16] = NPY_INT16,  [LW_DT_u16] = NPY_UINT16,
    [LW_DT_i32] = NPY_INT32,    [LW_DT_u32] = NPY_UINT32, [LW_DT_i64] = NPY_INT64,
    [LW_DT_u64] = NPY_UINT64,   [LW_DT_f16] = NPY_HALF,   [LW_DT_bf16] = -1,
    [LW_DT_f32] = NPY_FLOAT,    [LW_DT_f64] = NPY_DOUBLE, [LW_DT_c64] = NPY_CFLOAT,
    [LW_DT_c128] = NPY_CDOUBLE, [LW_DT_ptr] = -1,
};

_Atomic(int) lw_num_of_bf16 = -1;

static int
num_of_bf16(void)
{
    int num = atomic_load_explicit(&lw_num_of_bf16, memory_order_relaxed);
    PyArray_Descr *descr = num < 0 ? lw_descr_of(LW_DT_bf16) : NULL;

    if (descr != NULL && PyTypeNum_ISUSERDEF(descr->type_num)) {
        num = descr->type_num;
        atomic_store_explicit(&lw_num_of_bf16, num, memory_order_relaxed);
    }
    return num;
}

int
lw_type_num(lw_dtype dtype)
{
    if (lw_is_time(dtype))
        return lw_is_datetime(dtype) ? NPY_DATETIME : NPY_TIMEDELTA;
    return dtype == LW_DT_bf16 ? num_of_bf16() : num_of_dtype[dtype];
}

lw_dtype
lw_dtype_from_any_num(int type_num)
{
    if (PyTypeNum_ISUSERDEF(type_num))
        (void)num_of_bf16();
    return lw_dtype_from_num(type_num);
}
