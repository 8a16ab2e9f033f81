#include "core/tables/dtypes.h"

#include "core/base/lock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_TIMEDELTA = LW_DT_FIRST_TIME + LW_N_TIME_UNITS };

#define TIME(at, kind_, name_, alias_, letter, unit_)                                          \
    [(at) + LW_UNIT_##unit_] = {.name = name_,                                                 \
                                .public_name = name_,                                          \
                                .llvm = "i64",                                                 \
                                .memory = "i64",                                               \
                                .alias = alias_,                                               \
                                .kind = kind_,                                                 \
                                .bits = 64,                                                    \
                                .size_bytes = 8,                                               \
                                .parts = LW_DT_i64,                                            \
                                .numpy = letter,                                               \
                                .unit = LW_UNIT_##unit_,                                       \
                                .multiple = 1},

lw_dtype_row lw_dtypes[LW_N_SCALARS] = {
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
#define TIME_UNIT(unit, code, parts)                                                           \
    TIME(LW_DT_FIRST_TIME, LW_KIND_DATETIME, "datetime64[" code "]", "M8[" code "]", 'M', unit)
#include "core/tables/time_units.def"
#define TIME_UNIT(unit, code, parts)                                                           \
    TIME(FIRST_TIMEDELTA, LW_KIND_TIMEDELTA, "timedelta64[" code "]", "m8[" code "]", 'm', unit)
#include "core/tables/time_units.def"
};

static const char *const unit_codes[] = {
#define TIME_UNIT(unit, code, parts) code,
#include "core/tables/time_units.def"
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

/* ---- datetime64 and timedelta64 ---- */

static lw_lock multiples_lock = LW_LOCK_INIT;
static _Atomic int n_multiples;

lw_time_unit
lw_time_unit_from(const char *code, unsigned n_bytes)
{
    for (int i = 0; i < LW_N_TIME_UNITS; i++)
        if (same(unit_codes[i], code, n_bytes))
            return (lw_time_unit)i;
    return LW_N_TIME_UNITS;
}

static lw_dtype
find_multiple(int from, int n, lw_kind kind, lw_time_unit unit, int32_t multiple)
{
    for (int i = LW_DT_FIRST_MULTIPLE + from; i < LW_DT_FIRST_MULTIPLE + n; i++)
        if (lw_dtypes[i].kind == kind && lw_dtypes[i].unit == unit &&
            lw_dtypes[i].multiple == multiple)
            return (lw_dtype)i;
    return LW_DT_void;
}

/* The row stays for the life of the process, as do its names. */
static lw_dtype
add_multiple(lw_kind kind, lw_time_unit unit, int32_t multiple)
{
    int n = atomic_load_explicit(&n_multiples, memory_order_relaxed);
    lw_dtype dtype = (lw_dtype)((int)LW_DT_FIRST_MULTIPLE + n);
    bool is_datetime = kind == LW_KIND_DATETIME;
    char *name, *alias;
    enum { ROOM = 40 };

    if (dtype >= LW_N_SCALARS)
        return LW_DT_void;
    name = malloc(ROOM);
    alias = malloc(ROOM);
    if (name == NULL || alias == NULL) {
        free(name);
        free(alias);
        return LW_DT_void;
    }
    snprintf(name, ROOM, "%s64[%d%s]", is_datetime ? "datetime" : "timedelta", multiple,
             unit_codes[unit]);
    snprintf(alias, ROOM, "%c8[%d%s]", is_datetime ? 'M' : 'm', multiple, unit_codes[unit]);
    lw_dtypes[dtype] = lw_dtypes[lw_time_dtype(kind, unit, 1)];
    lw_dtypes[dtype].name = lw_dtypes[dtype].public_name = name;
    lw_dtypes[dtype].alias = alias;
    lw_dtypes[dtype].multiple = multiple;
    atomic_store_explicit(&n_multiples, n + 1, memory_order_release);
    return dtype;
}

lw_dtype
lw_time_dtype(lw_kind kind, lw_time_unit unit, int32_t multiple)
{
    int n = atomic_load_explicit(&n_multiples, memory_order_acquire);
    lw_dtype found;

    if (multiple == 1 || unit == LW_UNIT_generic)
        return (lw_dtype)((kind == LW_KIND_DATETIME ? (int)LW_DT_FIRST_TIME : FIRST_TIMEDELTA) +
                          (int)unit);
    found = find_multiple(0, n, kind, unit, multiple);
    if (found != LW_DT_void)
        return found;
    lw_lock_take(&multiples_lock);
    found = find_multiple(n, atomic_load(&n_multiples), kind, unit, multiple);
    if (found == LW_DT_void)
        found = add_multiple(kind, unit, multiple);
    lw_lock_give(&multiples_lock);
    return found;
}

/* "[10ms]" */
static lw_dtype
time_of_unit(lw_kind kind, const char *text, unsigned n_bytes)
{
    const char *end = text + n_bytes - 1, *code = text + 1;
    int32_t multiple = 0;
    lw_time_unit unit;

    if (n_bytes < 3 || *text != '[' || *end != ']')
        return LW_DT_void;
    for (; *code >= '0' && *code <= '9' && multiple < INT32_MAX / 10 - 1; code++)
        multiple = multiple * 10 + (*code - '0');
    unit = lw_time_unit_from(code, (unsigned)(end - code));
    if (unit == LW_N_TIME_UNITS || (multiple == 0 && code != text + 1))
        return LW_DT_void;
    return lw_time_dtype(kind, unit, multiple ? multiple : 1);
}

lw_dtype
lw_time_from_name(const char *name, unsigned n_bytes)
{
    static const struct {
        const char *name;
        lw_kind kind;
    } names[] = {{"datetime64", LW_KIND_DATETIME},
                 {"timedelta64", LW_KIND_TIMEDELTA},
                 {"M8", LW_KIND_DATETIME},
                 {"m8", LW_KIND_TIMEDELTA}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsigned n = (unsigned)strlen(names[i].name);
        if (n_bytes >= n && memcmp(name, names[i].name, n) == 0)
            return n == n_bytes ? lw_time_dtype(names[i].kind, LW_UNIT_generic, 1)
                                : time_of_unit(names[i].kind, name + n, n_bytes - n);
    }
    return LW_DT_void;
}
