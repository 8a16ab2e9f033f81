/* The scalar types as an enum and a table; see dtypes.def. */
#ifndef LW_TABLES_DTYPES_H
#define LW_TABLES_DTYPES_H

#include <stdbool.h>
#include <stdint.h>

/* LW_DT_void = 0, then LW_DT_b1 … LW_DT_c128 in canonical order, then LW_DT_ptr. */
typedef enum lw_dtype {
    LW_DT_void = 0,
#define DTYPE(name, public, kind, bits, llvm, memory, parts, ctype, numpy, alias) LW_DT_##name,
#include "core/tables/dtypes.def"
    LW_DT_ptr, /* an address; only inside the IR */
    LW_N_DTYPES
} lw_dtype;

typedef enum lw_kind {
    LW_KIND_VOID,
    LW_KIND_BOOL,
    LW_KIND_INT,
    LW_KIND_UINT,
    LW_KIND_FLOAT,
    LW_KIND_COMPLEX,
    LW_KIND_PTR
} lw_kind;

typedef struct lw_dtype_row {
    const char *name;        /* "f32": in IR text */
    const char *public_name; /* "float32": in messages and signatures */
    const char *llvm, *memory;
    const char *alias; /* NumPy's short name, "f4" */
    lw_kind kind;
    uint16_t bits;      /* in memory: 8 for bool, 128 for c128 */
    uint8_t size_bytes; /* in memory */
    lw_dtype parts;     /* c64 -> f32; itself for the others */
    char numpy;         /* type character; 0: NumPy has none */
} lw_dtype_row;

extern const lw_dtype_row lw_dtypes[LW_N_DTYPES];

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
/* From "f32", "float32" or "f4", n_bytes long; LW_DT_void: none. */
lw_dtype lw_dtype_from_name(const char *name, unsigned n_bytes);

#endif
