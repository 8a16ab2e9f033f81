/* The scalar types as an enum and a table; see dtypes.def. */
#ifndef LW_TABLES_DTYPES_H
#define LW_TABLES_DTYPES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum lw_time_unit {
#define TIME_UNIT(name, code, parts) LW_UNIT_##name,
#include "core/tables/time_units.def"
    LW_N_TIME_UNITS
} lw_time_unit;

/* LW_DT_void = 0, then LW_DT_b1 … LW_DT_c128 in canonical order, then LW_DT_ptr. What comes
 * behind these, up to LW_N_SCALARS, are datetime64 and timedelta64 of each unit: rows of the
 * table that front end and doors know, but no numbers; in the IR they are i64. */
typedef enum lw_dtype {
    LW_DT_void = 0,
#define DTYPE(name, public, kind, bits, llvm, memory, parts, ctype, numpy, alias) LW_DT_##name,
#include "core/tables/dtypes.def"
    LW_DT_ptr, /* an address; only inside the IR */
    LW_N_DTYPES,
    /* The times: first datetime64 of each unit, then timedelta64, and behind them units with a
     * multiple, datetime64[10ms], in the order in which they were first asked for. */
    LW_DT_FIRST_TIME = LW_N_DTYPES,
    LW_DT_FIRST_MULTIPLE = LW_DT_FIRST_TIME + 2 * LW_N_TIME_UNITS,
    LW_N_SCALARS =
        128 /* a dtype is kept in a byte, and the types of the front end begin here */
} lw_dtype;

typedef enum lw_kind {
    LW_KIND_VOID,
    LW_KIND_BOOL,
    LW_KIND_INT,
    LW_KIND_UINT,
    LW_KIND_FLOAT,
    LW_KIND_COMPLEX,
    LW_KIND_PTR,
    LW_KIND_DATETIME,
    LW_KIND_TIMEDELTA
} lw_kind;

typedef struct lw_dtype_row {
    const char *name;        /* "f32": in IR text */
    const char *public_name; /* "float32": in messages and signatures */
    const char *llvm, *memory;
    const char *alias; /* NumPy's short name, "f4" */
    lw_kind kind;
    uint16_t bits;      /* in memory: 8 for bool, 128 for c128 */
    uint8_t size_bytes; /* in memory */
    lw_dtype parts;     /* c64 -> f32, times -> i64; itself for the others */
    char numpy;         /* type character; 0: NumPy has none */
    lw_time_unit unit;  /* of times … */
    int32_t multiple;   /* … and how many of it a step is */
} lw_dtype_row;

extern lw_dtype_row lw_dtypes[LW_N_SCALARS]; /* a row does not change once it is known */

static inline bool
lw_is_integer(lw_dtype dtype) /* signed or unsigned, not bool */
{
    return lw_dtypes[dtype].kind == LW_KIND_INT || lw_dtypes[dtype].kind == LW_KIND_UINT;
}

static inline bool
lw_is_signed(lw_dtype dtype) /* an integer with a sign */
{
    return lw_dtypes[dtype].kind == LW_KIND_INT;
}

static inline bool
lw_is_float(lw_dtype dtype)
{
    return lw_dtypes[dtype].kind == LW_KIND_FLOAT;
}

static inline bool
lw_is_complex(lw_dtype dtype)
{
    return lw_dtypes[dtype].kind == LW_KIND_COMPLEX;
}

static inline bool
lw_is_time(lw_dtype dtype) /* datetime64 or timedelta64 */
{
    return dtype >= LW_DT_FIRST_TIME;
}

static inline bool
lw_is_datetime(lw_dtype dtype)
{
    return lw_dtypes[dtype].kind == LW_KIND_DATETIME;
}

/* The largest number of an integer type, and of the integers that times are. */
static inline uint64_t
lw_integer_most(lw_dtype dtype)
{
    bool has_sign = lw_is_signed(dtype) || lw_is_time(dtype);

    return UINT64_MAX >> (64 - lw_dtypes[dtype].bits + has_sign);
}

/* How many numbers a value is: 2 of a complex one, of dtype `parts`. */
static inline unsigned
lw_dtype_n_parts(lw_dtype dtype)
{
    return lw_is_complex(dtype) ? 2 : 1;
}

/* What memory holds of one part: bool is a byte there. */
static inline lw_dtype
lw_dtype_memory_part(lw_dtype dtype)
{
    return dtype == LW_DT_b1 ? LW_DT_u8 : lw_dtypes[dtype].parts;
}

/* From a NumPy type character (all platform spellings: 'q', 'Q', 'p', …); LW_DT_void: none. */
lw_dtype lw_dtype_from_char(char c);
/* datetime64 or timedelta64 of that many of a unit; LW_DT_void: more different multiples than
 * there is room for. */
lw_dtype lw_time_dtype(lw_kind kind, lw_time_unit unit, int32_t multiple);
/* The unit of this code, "ms"; LW_N_TIME_UNITS: there is none. */
lw_time_unit lw_time_unit_from(const char *code, unsigned n_bytes);
/* From "datetime64[D]", "M8[10ms]" or "m8"; LW_DT_void: none. */
lw_dtype lw_time_from_name(const char *name, unsigned n_bytes);
/* From "f32", "float32" or "f4", n_bytes long; LW_DT_void: none. */
lw_dtype lw_dtype_from_name(const char *name, unsigned n_bytes);

#endif
