/* Conversions of blocks of host memory between types of C, for inputs of a call that are
 * narrower than the loop's. They are the casts that NumPy calls safe, and values are converted
 * as C converts them, as NumPy does. */
#include "ufunc/host_internal.h"

#include <string.h>

#define CONVERTER(from, from_t, to, to_t)                                                      \
    static void from##_as_##to(char *out, const char *in, int64_t stride, int64_t n)           \
    {                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                      \
            from_t value;                                                                      \
            to_t wide;                                                                         \
            memcpy(&value, in + i * stride, sizeof value);                                     \
            wide = (to_t)value;                                                                \
            memcpy(out + i * (int64_t)sizeof wide, &wide, sizeof wide);                        \
        }                                                                                      \
    }

/* Every byte of a bool that is not 0 is True. */
#define BOOL_CONVERTER(from, from_t, to, to_t)                                                 \
    static void from##_as_##to(char *out, const char *in, int64_t stride, int64_t n)           \
    {                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                      \
            to_t wide = (to_t)(in[i * stride] != 0);                                           \
            memcpy(out + i * (int64_t)sizeof wide, &wide, sizeof wide);                        \
        }                                                                                      \
    }

/* The pairs of a type and a wider one that holds all its values, by NumPy's rules. */
#define WIDENINGS(ROW, BOOL_ROW)                                                               \
    BOOL_ROW(b1, uint8_t, i8, int8_t)                                                          \
    BOOL_ROW(b1, uint8_t, u8, uint8_t)                                                         \
    BOOL_ROW(b1, uint8_t, i16, int16_t)                                                        \
    BOOL_ROW(b1, uint8_t, u16, uint16_t)                                                       \
    BOOL_ROW(b1, uint8_t, i32, int32_t)                                                        \
    BOOL_ROW(b1, uint8_t, u32, uint32_t)                                                       \
    BOOL_ROW(b1, uint8_t, i64, int64_t)                                                        \
    BOOL_ROW(b1, uint8_t, u64, uint64_t)                                                       \
    BOOL_ROW(b1, uint8_t, f32, float)                                                          \
    BOOL_ROW(b1, uint8_t, f64, double)                                                         \
    ROW(i8, int8_t, i16, int16_t)                                                              \
    ROW(i8, int8_t, i32, int32_t)                                                              \
    ROW(i8, int8_t, i64, int64_t)                                                              \
    ROW(i8, int8_t, f32, float)                                                                \
    ROW(i8, int8_t, f64, double)                                                               \
    ROW(u8, uint8_t, i16, int16_t)                                                             \
    ROW(u8, uint8_t, u16, uint16_t)                                                            \
    ROW(u8, uint8_t, i32, int32_t)                                                             \
    ROW(u8, uint8_t, u32, uint32_t)                                                            \
    ROW(u8, uint8_t, i64, int64_t)                                                             \
    ROW(u8, uint8_t, u64, uint64_t)                                                            \
    ROW(u8, uint8_t, f32, float)                                                               \
    ROW(u8, uint8_t, f64, double)                                                              \
    ROW(i16, int16_t, i32, int32_t)                                                            \
    ROW(i16, int16_t, i64, int64_t)                                                            \
    ROW(i16, int16_t, f32, float)                                                              \
    ROW(i16, int16_t, f64, double)                                                             \
    ROW(u16, uint16_t, i32, int32_t)                                                           \
    ROW(u16, uint16_t, u32, uint32_t)                                                          \
    ROW(u16, uint16_t, i64, int64_t)                                                           \
    ROW(u16, uint16_t, u64, uint64_t)                                                          \
    ROW(u16, uint16_t, f32, float)                                                             \
    ROW(u16, uint16_t, f64, double)                                                            \
    ROW(i32, int32_t, i64, int64_t)                                                            \
    ROW(i32, int32_t, f64, double)                                                             \
    ROW(u32, uint32_t, i64, int64_t)                                                           \
    ROW(u32, uint32_t, u64, uint64_t)                                                          \
    ROW(u32, uint32_t, f64, double)                                                            \
    ROW(i64, int64_t, f64, double)                                                             \
    ROW(u64, uint64_t, f64, double)                                                            \
    ROW(f32, float, f64, double)

WIDENINGS(CONVERTER, BOOL_CONVERTER)

lw_converter
lw_host_converter(lw_dtype from, lw_dtype to)
{
#define ROW(a, a_t, b, b_t)                                                                    \
    if (from == LW_DT_##a && to == LW_DT_##b)                                                  \
        return a##_as_##b;

    WIDENINGS(ROW, ROW)
#undef ROW
    return NULL;
}
