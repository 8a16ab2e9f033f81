/* The types of the front end, interned: equality is equality of the index. Scalars are their
 * lw_dtype. Weak types follow NumPy 2's promotion: a literal or run-time Python number takes
 * the type of the strong operand it meets. */
#ifndef LW_FRONT_TYPES_H
#define LW_FRONT_TYPES_H

#include "core/base/arena.h"
#include "core/base/array.h"
#include "core/base/text.h"
#include "core/tables/dtypes.h"

typedef uint32_t lw_type;

enum {
    LW_T_BOTTOM = 0, /* nothing known yet */
    /* 1 … LW_DT_c128: the strong scalars, = lw_dtype */
    LW_T_INDEX = 32, /* run-time Python int: weak, stored as i64 */
    LW_T_PYFLOAT,    /* run-time Python float: weak, stored as f64 */
    LW_T_PYCOMPLEX,  /* weak, stored as two f64 */
    LW_T_NONE,
    LW_T_STATIC, /* only known as a konst: str, module, function, type, exception */
    LW_T_FIRST_COMPOUND
};

typedef enum lw_type_kind {
    LW_TK_BOTTOM,
    LW_TK_SCALAR,
    LW_TK_WEAK,    /* INDEX, PYFLOAT, PYCOMPLEX */
    LW_TK_LITERAL, /* an int known to lie in lo … hi (128-bit safe): weak, stored as i64, from
                      2^63 on as u64. What neither holds is stored as the nearest f64: beside
                      integers it is E130, and beside floats it takes their type */
    LW_TK_NONE,
    LW_TK_STATIC,
    LW_TK_TUPLE,    /* elements */
    LW_TK_FUNCTION, /* a nested function as a value: fn index; elements: types of what it
                       captures. In the function that defines it nothing is stored (captures are
                       read at the call); passed to another one it is the tuple of its captured
                       values */
    LW_TK_RANGE, /* range(...), or enumerate / zip over ranges; elements[0]: type of one item */
    LW_TK_ARRAY, /* elements[0]: type of an element, a strong scalar or a RECORD. A value is its
                    parts: the address (ptr), then, unless the shape is constant, ndim extents
                    and ndim strides in bytes (i64 each), outermost first. The strides of C and
                    F layouts are there too, but lowering computes them from the extents */
    LW_TK_RECORD, /* a structured item in memory: a value is its address (ptr). Reading a field
                     loads, assigning one stores */
} lw_type_kind;

/* Stands for every int of more than 125 bits, with its sign: nothing holds one, so that its
 * exact value matters to other constants only. */
#define LW_LITERAL_FAR ((__int128)1 << 126)

typedef enum lw_layout { LW_LAYOUT_ANY, LW_LAYOUT_C, LW_LAYOUT_F } lw_layout;

enum { LW_MAX_ARRAY_DIMS = 32 };

typedef struct lw_record_field {
    const char *name;
    lw_type type; /* scalar, RECORD, or ARRAY of constant shape */
    uint32_t offset;
} lw_record_field;

typedef struct lw_record {
    const char *name; /* for messages: "Record(x: float32, y: float64)" */
    uint32_t n, itemsize;
    uint32_t align; /* bytes every item is sure to be aligned to; 1 for packed dtypes */
    const lw_record_field *fields;
} lw_record;

typedef struct lw_type_row {
    lw_type_kind kind;
    uint32_t n; /* TUPLE, FUNCTION: elements; RANGE: 1 */
    const lw_type *elements;
    const char *const *names; /* namedtuple or NULL */
    __int128 lo, hi;          /* LITERAL */
    uint32_t fn;              /* FUNCTION */
    uint8_t ndim, layout;     /* ARRAY; layout: lw_layout. 0-d and 1-d contiguous count as C */
    bool readonly;            /* ARRAY and RECORD: assigning to it is E162; TUPLE: these are the
                                 fields of a record, by value: t["name"] reads one, too */
    const int64_t *shape;     /* ARRAY: constant extents (local, shared, captured tables; layout
                                 C), or NULL. An extent of a dynamic shared array is not constant */
    uint8_t align;            /* ARRAY: bytes that every element is sure to be aligned to, where
                                 that is less than its type's own (a field of packed records); else
                                 0 */
    const lw_record *record;  /* RECORD */
    uint32_t next;            /* of the same hash: row number + 1 */
} lw_type_row;

typedef struct lw_types {
    lw_arena *arena;
    LW_ARRAY(lw_type_row) rows; /* of compound types, from LW_T_FIRST_COMPOUND */
    uint32_t *buckets;          /* row number + 1 of the first of each hash chain */
    uint32_t n_buckets;
    bool failed; /* memory was out; what was returned then is BOTTOM */
} lw_types;

typedef enum lw_typing { LW_TYPING_WEAK, LW_TYPING_NUMBA } lw_typing;

void lw_types_init(lw_types *types, lw_arena *arena);
lw_type lw_type_literal(lw_types *types, __int128 lo, __int128 hi);
lw_type lw_type_tuple(lw_types *types, const lw_type *elements, uint32_t n,
                      const char *const *names);
/* The fields of a record, by value. */
lw_type lw_type_fields(lw_types *types, const lw_type *elements, uint32_t n,
                       const char *const *names);
lw_type lw_type_function(lw_types *types, uint32_t fn, const lw_type *captured, uint32_t n);
lw_type lw_type_range(lw_types *types, lw_type item);
/* shape: ndim constant extents, or NULL. */
lw_type lw_type_array(lw_types *types, lw_type element, uint32_t ndim, lw_layout layout,
                      bool readonly, const int64_t *shape);
/* The same array with another promise about its elements' alignment (0: the usual one). */
lw_type lw_type_array_aligned(lw_types *types, lw_type array, uint32_t align);
/* Copies what `record` points to. */
lw_type lw_type_record(lw_types *types, const lw_record *record, bool readonly);
/* Bytes of an item in memory: a scalar's, a record's, that of an array of constant shape. */
int64_t lw_type_bytes(const lw_types *types, lw_type type);
/* What an item of this type in memory is aligned to by itself: a scalar's part, a record's
 * align, that of an array's elements. */
uint32_t lw_type_align(const lw_types *types, lw_type type);
lw_type_kind lw_type_kind_of(const lw_types *types, lw_type type);
/* Of an argument as a door describes it (core/front/typed.h); KONST: BOTTOM. */
struct lw_arg_spec;
lw_type lw_type_of_spec(lw_types *types, const struct lw_arg_spec *spec);
const lw_type_row *lw_type_get(const lw_types *types, lw_type type); /* compound types only */
/* The scalar a value of this type is kept in: weak int i64 (constants from 2^63 on u64, outside
 * of both f64), weak float f64, weak complex c128, itself for scalars; LW_DT_void for tuples
 * and compile-time types. */
lw_dtype lw_type_stored(const lw_types *types, lw_type type);
/* "float32", "int (weak)", "tuple(float32, int64)": as messages and explain() show it. */
void lw_type_print(const lw_types *types, lw_type type, lw_text *out);

void lw_text_add_int128(lw_text *out, __int128 value);

/* What arithmetic computes in; LW_T_BOTTOM: these two cannot be combined. `literal` of a
 * LITERAL operand matters for E130 (does not fit); the caller checks with lw_literal_fits. */
lw_type lw_promote(lw_types *types, lw_typing typing, lw_type x, lw_type y);
bool lw_literal_fits(const lw_types *types, lw_type literal, lw_dtype dtype);
/* An int, or a range of them, that neither int64 nor uint64 holds. */
bool lw_literal_is_wide(const lw_types *types, lw_type type);
/* The type of a variable or result that receives all of these: a function of the set, not of
 * the order. LW_T_BOTTOM with *problem set ("E130", "E140", "E143", "E112") when there is
 * none. */
lw_type lw_join(lw_types *types, lw_typing typing, const lw_type *set, uint32_t n,
                const char **problem);
/* Casts between strong scalars, as np.can_cast. */
bool lw_can_cast_safe(lw_dtype from, lw_dtype to);
bool lw_can_cast_same_kind(lw_dtype from, lw_dtype to);
/* How far an argument is from the type that a signature has for it: 0 it is that, 1 or 2 a
 * wider one of its kind, 3 another kind that holds it, 4 it is rounded; -1: it does not go
 * there. weak: a Python number. */
int lw_cast_cost(lw_dtype from, bool weak, lw_dtype to);
lw_dtype lw_promote_dtypes(lw_dtype x, lw_dtype y); /* np.promote_types */

#endif
