#include "core/tables/libdevice.h"

#define WHAT_SAME(what) LW_IN_##what
#define WHAT_IR(what)   LW_FORM_##what
#define WHAT_CALL(what) 0

static const lw_libdevice_row rows[] = {
#define LIBDEVICE(name_, result_, args_, n_, how_, what_)                                      \
    {.name = #name_,                                                                           \
     .result = result_,                                                                        \
     .args = args_,                                                                            \
     .how = LW_LIBDEVICE_##how_,                                                               \
     .what = WHAT_##how_(what_)},
#include "core/tables/libdevice.def"
};

const lw_libdevice_row *
lw_libdevice_of(lw_name_id name)
{
    return &rows[name - LW_NAME_libdevice_abs];
}

lw_dtype
lw_libdevice_dtype(char letter)
{
    switch (letter) {
    case 'h': return LW_DT_i16;
    case 'i': return LW_DT_i32;
    case 'l': return LW_DT_i64;
    case 'f': return LW_DT_f32;
    default: return LW_DT_f64;
    }
}
