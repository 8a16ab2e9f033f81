/* The types of the front end. They are interned: two types are equal when their indices are
 * equal. Scalars are their lw_dtype. Weak types follow NumPy 2's promotion: a literal or a
 * run-time Python number takes the type of the strong operand it meets. */
#ifndef LW_FRONT_TYPES_H
#define LW_FRONT_TYPES_H

#include "core/base/arena.h"
#include "core/base/array.h"
#include "core/base/text.h"
#include "core/tables/dtypes.h"

typedef uint32_t lw_type;

enum {
    LW_T_BOTTOM = 0, /* nothing is known yet */
    /* 1 … LW_DT_c128, and the times, from LW_DT_FIRST_TIME: the strong scalars, = lw_dtype */
    LW_T_INDEX = LW_N_SCALARS, /* run-time Python int: weak, stored as i64 */
    LW_T_PYFLOAT,              /* run-time Python float: weak, stored as f64 */
    LW_T_PYCOMPLEX,            /* weak, stored as two f64 */
    LW_T_NONE,
    LW_T_STATIC, /* exists only as a constant: str, module, function, type, exception */
    LW_T_ABSENT, /* a field that the object has on some paths only */
    LW_T_FIRST_COMPOUND
};

typedef enum lw_type_kind {
    LW_TK_BOTTOM,
    LW_TK_SCALAR,
    LW_TK_WEAK,    /* INDEX, PYFLOAT, PYCOMPLEX */
    LW_TK_LITERAL, /* an int known to lie in lo … hi (128-bit safe): weak, stored as i64, from
                      2^63 on as u64. An int outside both is stored as the nearest f64: beside
                      integers it is E130, beside floats it takes their type */
    LW_TK_NONE,
    LW_TK_STATIC,   /* a string: `text`, and `fn` is a constant of it. Or a field of an object:
                       `fn` is the constant, and `members` its class if it is a member of one.
                       Also STATIC and ABSENT */
    LW_TK_TEXT,     /* one of several strings, chosen at run time. elements: the STATIC types of
                       these, ascending; none: it may be any string. Stored as u64, the number of
                       a format without values (core/ir/format.h), which depends on the
                       characters alone: equal strings have one number, whatever the type, the
                       module or the process */
    LW_TK_MEMBER,   /* a member of an enum class, `members`: stored as i64, its number there */
    LW_TK_TUPLE,    /* elements */
    LW_TK_OPTIONAL, /* None or a value: elements: bool, whether there is one, and its type. The
                       parts of None are zero */
    LW_TK_FUNCTION, /* a nested function as a value: fn index; elements: types of what it
                       captures. In the function that defines it nothing is stored, because
                       captures are read at the call; passed to another function it is the tuple
                       of its captured values */
    LW_TK_RANGE, /* range(...), or enumerate / zip over ranges; elements[0]: type of one item */
    LW_TK_ARRAY, /* elements[0]: type of an element, a strong scalar or a RECORD. A value
                    consists of its parts: the address (ptr), then, unless the shape is
                    constant, ndim extents and ndim strides in bytes (i64 each), outermost
                    first. C and F layouts have strides too, but lowering computes them from the
                    extents */
    LW_TK_ELEMENTWISE, /* an array that is not made yet: what an operator or function gives for
                          each element of its operands. elements[0]: type of an element, a
                          strong scalar; ndim. Only inference knows it, between the operands and
                          the store (core/front/infer/array_expression.c) */
    LW_TK_RECORD, /* a structured item in memory: a value is its address (ptr), followed by the
                     reference of an array that is `owned`, in which it lies. Reading a field
                     loads, assigning one stores */
} lw_type_kind;

/* Bounds that stand for every int of more than 125 bits of that sign. No type holds such an
 * int, so its exact value matters only to other constants. */
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
    char text; /* 'S', 'U': an item of an array of bytes or texts, without fields; else 0 */
    uint32_t align; /* bytes that every item is known to be aligned to; 1 for packed dtypes */
    const lw_record_field *fields;
    const struct lw_class *user_class; /* whose objects these are, or NULL */
    lw_type object;                    /* the type of such an object by value; else BOTTOM */
    lw_type items; /* the same, but objects in its fields are records; for namedtuples */
    const struct lw_arg_record *spec; /* what describes the dtype; no part of the identity */
} lw_record;

typedef struct lw_type_row {
    lw_type_kind kind;
    uint32_t n; /* TUPLE, FUNCTION: elements; RANGE: 1 */
    const lw_type *elements;
    const char *const *names;          /* namedtuple or NULL */
    const struct lw_class *user_class; /* TUPLE: the fields of an object of this class (tree.h,
                                          borrowed from the tree), or NULL */
    __int128 lo, hi;                   /* LITERAL */
    uint32_t fn;                       /* FUNCTION; STATIC: the constant */
    const char *text;                  /* STATIC: of a string, borrowed; else NULL */
    uint8_t ndim, layout; /* ARRAY; layout: lw_layout. 0-d and 1-d contiguous count as C */
    bool readonly;        /* ARRAY and RECORD: assigning to it is E162; TUPLE: these are the
                             fields of a record, by value: t["name"] reads one, too */
    bool is_list;  /* TUPLE: Python made a list of them, which is not equal to a tuple, is no
                      index and no result; nothing changes it */
    bool owned;    /* ARRAY and RECORD: its memory was made in compiled code and is counted; the
                      last part of a value is the reference (ptr; NULL: memory of others) */
    bool endless;  /* ARRAY: a pointer, of which no extent is known: an index below zero lies
                      before it, as in C, and no index is outside. Views of it are ordinary */
    uint8_t align; /* ARRAY: bytes that every element is known to be aligned to, where that is
                      less than its type's own alignment (a field of packed records); else 0 */
    const int64_t *shape; /* ARRAY: constant extents (local, shared and captured tables; layout
                             C), or NULL. An extent of a dynamic shared array is not constant */
    const lw_record *record;       /* RECORD */
    const struct lw_enum *members; /* MEMBER; STATIC, LITERAL: or NULL */
    uint32_t next;                 /* the next row with the same hash: row number + 1 */
} lw_type_row;

typedef struct lw_types {
    lw_arena *arena;
    LW_ARRAY(lw_type_row) rows; /* of compound types, from LW_T_FIRST_COMPOUND */
    uint32_t *buckets;          /* row number + 1 of the first of each hash chain */
    uint32_t n_buckets;
    bool failed;                /* an allocation failed; the type returned then was BOTTOM */
    const struct lw_tree *tree; /* whose classes records may be of; NULL: they are of none */
} lw_types;

typedef enum lw_typing { LW_TYPING_WEAK, LW_TYPING_NUMBA } lw_typing;

void lw_types_init(lw_types *types, lw_arena *arena);
lw_type lw_type_literal(lw_types *types, __int128 lo, __int128 hi);
/* A member of a class of numbers (lw_enum.numbers) that is one int, or any in lo … hi. */
lw_type lw_type_numbered(lw_types *types, __int128 lo, __int128 hi,
                         const struct lw_enum *members);
/* The class of such a type; NULL: it is another. */
const struct lw_enum *lw_type_numbers(const lw_types *types, lw_type type);
/* The type that a LITERAL becomes in loops and recursion, where its range might grow: INDEX, or
 * any member of its class. */
lw_type lw_type_unbounded(lw_types *types, lw_type type);
/* The type of a field whose value exists only as this constant (lw_typed_constant). members:
 * the class whose member it is, or NULL. */
lw_type lw_type_static(lw_types *types, uint32_t constant, const struct lw_enum *members);
/* This string; constant: one that is it. */
lw_type lw_type_known_text(lw_types *types, uint32_t constant, const char *text);
/* The TEXT that is one of the strings of both types, each of a known string or a TEXT. */
lw_type lw_type_texts(lw_types *types, lw_type x, lw_type y);
/* Any string: the TEXT of items of lists and dicts, which lists none. */
lw_type lw_type_any_text(lw_types *types);
bool lw_type_is_any_text(const lw_types *types, lw_type type);
/* Whether it is a string, known or not. */
bool lw_type_is_text(const lw_types *types, lw_type type);
/* The strings that it may be: of a known string itself alone, of any string none. */
const lw_type *lw_type_choices(const lw_types *types, const lw_type *type, uint32_t *n);
/* A member of this class, whichever. */
lw_type lw_type_member(lw_types *types, const struct lw_enum *members);
/* The class of a MEMBER, or of a STATIC that is one of it; else NULL. Members that are numbers
 * have none: see lw_type_numbers. */
const struct lw_enum *lw_type_enum(const lw_types *types, lw_type type);
lw_type lw_type_tuple(lw_types *types, const lw_type *elements, uint32_t n,
                      const char *const *names);
/* The same tuple as the fields of an object of a class (NULL: of none). */
lw_type lw_type_tuple_of_class(lw_types *types, lw_type tuple,
                               const struct lw_class *user_class);
lw_type lw_type_tuple_listed(lw_types *types, lw_type tuple, bool is_list);
/* None or a value of this type, which is no OPTIONAL itself. */
lw_type lw_type_optional(lw_types *types, lw_type type);
/* Of such a type that of the value; of other types BOTTOM. */
lw_type lw_type_given(const lw_types *types, lw_type type);
/* The same, but other types stay as they are. */
lw_type lw_type_without_none(const lw_types *types, lw_type type);
/* Whether it is a slice: a tuple of start, stop and step, integers or None. */
bool lw_type_is_slice(const lw_types *types, lw_type type);
/* Whether it is a list, a dict or a set that grows, or a view of a dict: an object of a class
 * of lanewise/_growing_lists.py or lanewise/_growing_dicts.py. */
bool lw_type_is_grown(const lw_types *types, lw_type type);
/* Whether it is a list, or a tuple that has one. */
bool lw_type_has_list(const lw_types *types, lw_type type);
/* The tuple of a record's fields, by value. */
lw_type lw_type_fields(lw_types *types, const lw_type *elements, uint32_t n,
                       const char *const *names);
lw_type lw_type_function(lw_types *types, uint32_t fn, const lw_type *captured, uint32_t n);
lw_type lw_type_range(lw_types *types, lw_type item);
/* shape: ndim constant extents, or NULL. */
lw_type lw_type_array(lw_types *types, lw_type element, uint32_t ndim, lw_layout layout,
                      bool readonly, const int64_t *shape);
lw_type lw_type_elementwise(lw_types *types, lw_dtype element, uint32_t ndim);
/* The same array with another alignment of its elements (0: that of their type). */
lw_type lw_type_array_aligned(lw_types *types, lw_type array, uint32_t align);
/* An array over the same memory, of as many axes and this layout and constant shape (or NULL).
 */
lw_type lw_type_array_like(lw_types *types, lw_type array, uint32_t ndim, lw_layout layout,
                           const int64_t *shape);
/* An array over the same memory whose elements have another type and its own alignment. */
lw_type lw_type_array_of(lw_types *types, lw_type array, lw_type element);
lw_type lw_type_array_readonly(lw_types *types, lw_type array);
lw_type lw_type_array_endless(lw_types *types, lw_type array);
/* The same array, or a view of it, whose memory is counted or not. */
lw_type lw_type_array_owned(lw_types *types, lw_type array, bool owned);
/* The type of an array, or a typed list or dict, in a slot (core/ir/cell_words.h), of which
 * `like` says what it is: with a reference to its memory, or that of its words. */
lw_type lw_type_in_slots(lw_types *types, lw_type like);
/* Whether it is such an array or record, or a tuple that has one. */
bool lw_type_is_owned(const lw_types *types, lw_type type);
/* Copies what `record` points to. */
lw_type lw_type_record(lw_types *types, const lw_record *record, bool readonly);
/* The same record, read-only or not, in memory that is counted or not. */
lw_type lw_type_record_like(lw_types *types, lw_type record, bool readonly, bool owned);
/* Bytes of an item in memory: of a scalar, a record, or an array of constant shape. */
int64_t lw_type_bytes(const lw_types *types, lw_type type);
/* The natural alignment of an item in memory: of a scalar's part, of a record (its align), or
 * of an array's elements. */
uint32_t lw_type_align(const lw_types *types, lw_type type);
/* datetime64 or timedelta64: a strong scalar that is no number. */
static inline bool
lw_type_is_time(lw_type type)
{
    return type >= LW_DT_FIRST_TIME && type < LW_T_INDEX;
}
lw_type_kind lw_type_kind_of(const lw_types *types, lw_type type);
/* The type of an argument as its caller describes it (core/front/typed.h); CONSTANT: BOTTOM. */
struct lw_arg_spec;
lw_type lw_type_of_spec(lw_types *types, const struct lw_arg_spec *spec);
const lw_type_row *lw_type_get(const lw_types *types, lw_type type); /* of compound types */
/* The number of the item that an attribute of a tuple names; tuple->n: there is none. */
uint32_t lw_type_field(const lw_type_row *tuple, const char *name);
/* The same if it is of this kind, else NULL. */
const lw_type_row *lw_type_get_kind(const lw_types *types, lw_type type, lw_type_kind kind);
/* The scalar in which a value of this type is stored: weak int i64 (constants from 2^63 on u64,
 * outside both f64), weak float f64, weak complex c128, a scalar itself, a member i64;
 * LW_DT_void for tuples and compile-time types. */
lw_dtype lw_type_stored(const lw_types *types, lw_type type);
/* "float32", "int (weak)", "tuple(float32, int64)": as messages and explain() show it. */
void lw_type_print(const lw_types *types, lw_type type, lw_text *out);

void lw_text_add_int128(lw_text *out, __int128 value);

/* The type that arithmetic on both computes in; LW_T_BOTTOM: they cannot be combined. `literal`
 * of a LITERAL operand matters for E130 (does not fit), which the caller checks with
 * lw_literal_fits. */
lw_type lw_promote(lw_types *types, lw_typing typing, lw_type x, lw_type y);
bool lw_literal_fits(const lw_types *types, lw_type literal, lw_dtype dtype);
/* Whether it is an int, or a range of ints, that neither int64 nor uint64 holds. */
bool lw_literal_is_wide(const lw_types *types, lw_type type);
/* The type of a variable or result that receives all of these: a function of the set, not of
 * its order. When there is none, LW_T_BOTTOM, and *problem is "E130", "E140", "E143" or
 * "E112". */
lw_type lw_join(lw_types *types, lw_typing typing, const lw_type *set, uint32_t n,
                const char **problem);
/* The same where None may stand beside numbers, times, arrays, and plain tuples of these: an
 * OPTIONAL. */
lw_type lw_join_optional(lw_types *types, lw_typing typing, const lw_type *set, uint32_t n,
                         const char **problem);
/* Whether np.can_cast allows the cast between two strong scalars. */
bool lw_can_cast_safe(lw_dtype from, lw_dtype to);
bool lw_can_cast_same_kind(lw_dtype from, lw_dtype to);
/* How far an argument is from the type that a signature has for it: 0 the same type, 1 or 2 a
 * wider one of its kind, 3 another kind that holds it, 4 a float that may round a Python int, 5
 * it is rounded; -1: it cannot be converted. weak: the argument is a Python number. */
int lw_cast_cost(lw_dtype from, bool weak, lw_dtype to);
lw_dtype lw_promote_dtypes(lw_dtype x, lw_dtype y); /* as np.promote_types */

#endif
