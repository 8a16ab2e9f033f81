#include "core/tables/dtypes.h"

#include <string.h>

const lw_dtype_row lw_dtypes[LW_N_DTYPES] = {
    [LW_DT_void] = {.name = "void",
                    .public_name = "void",
                    .llvm = "void",
                    .memory = "void",
                    .alias = "",
                    .kind = LW_KIND_VOID,
                    .parts = LW_DT_void},
#define DTYPE(row, public, kind_, bits_, llvm_, memory_, parts_, ctype, numpy_, alias_)        \
    [LW_DT_##row] = {.name = #row,                                                             \
                     .public_name = public,                                                    \
                     .llvm = llvm_,                                                            \
                     .memory = memory_,                                                        \
                     .alias = alias_,                                                          \
                     .kind = LW_KIND_##kind_,                                                  \
                     .bits = bits_,                                                            \
                     .size_bytes = bits_ / 8,                                                  \
                     .parts = LW_DT_##parts_,                                                  \
                     .numpy = numpy_},
#include "core/tables/dtypes.def"
    [LW_DT_ptr] = {.name = "ptr",
                   .public_name = "pointer",
                   .llvm = "ptr",
                   .memory = "ptr",
                   .alias = "",
                   .kind = LW_KIND_PTR,
                   .bits = 64,
                   .size_bytes = 8,
                   .parts = LW_DT_ptr},
};

static lw_dtype
integer_of(unsigned size_bytes, bool is_signed)
{
    switch (size_bytes) {
    case 1: return is_signed ? LW_DT_i8 : LW_DT_u8;
    case 2: return is_signed ? LW_DT_i16 : LW_DT_u16;
    case 4: return is_signed ? LW_DT_i32 : LW_DT_u32;
    default: return is_signed ? LW_DT_i64 : LW_DT_u64;
    }
}

lw_dtype
lw_dtype_from_char(char c)
{
    switch (c) { /* the C types whose width depends on the platform */
    case 'l': return integer_of(sizeof(long), true);
    case 'L': return integer_of(sizeof(long), false);
    case 'q': return LW_DT_i64;
    case 'Q': return LW_DT_u64;
    case 'p': return integer_of(sizeof(intptr_t), true);
    case 'P': return integer_of(sizeof(intptr_t), false);
    default: break;
    }
    for (int i = 1; i < LW_DT_ptr; i++)
        if (lw_dtypes[i].numpy && lw_dtypes[i].numpy == c)
            return (lw_dtype)i;
    return LW_DT_void;
}

static bool
same(const char *row, const char *name, unsigned n_bytes)
{
    return strlen(row) == n_bytes && memcmp(row, name, n_bytes) == 0;
}

lw_dtype
lw_dtype_from_name(const char *name, unsigned n_bytes)
{
    /* NumPy's aliases before our IR names: `i8` and `u8` are 8 bytes to a NumPy user */
    for (int i = 1; i < LW_DT_ptr; i++)
        if (same(lw_dtypes[i].alias, name, n_bytes))
            return (lw_dtype)i;
    for (int i = 1; i < LW_DT_ptr; i++)
        if (same(lw_dtypes[i].public_name, name, n_bytes) ||
            same(lw_dtypes[i].name, name, n_bytes))
            return (lw_dtype)i;
    return LW_DT_void;
}
