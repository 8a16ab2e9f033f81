/* Signatures: "float32(float32, int32)", "(f4, i4)", "ff->f". Free of Python: a
 * recursive-descent parser with exact columns; nothing is evaluated. The grammar is in
 * docs/typing.md.
 *
 * The types here are those that a signature can name: scalars, arrays of scalars, tuples. */
#ifndef LW_FRONT_SIGNATURE_H
#define LW_FRONT_SIGNATURE_H

#include "core/base/arena.h"
#include "core/base/array.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/tables/dtypes.h"

typedef enum lw_sig_kind {
    LW_SIG_NONE,     /* no type given: a return type to infer */
    LW_SIG_VOID,     /* void, none */
    LW_SIG_SCALAR,   /* dtype */
    LW_SIG_RECORD,   /* record */
    LW_SIG_ARRAY,    /* dtype (void: record), ndim, layout */
    LW_SIG_TUPLE,    /* items, n */
    LW_SIG_OPTIONAL, /* None or a value: items[0], n is 1. Only whole arguments */
    LW_SIG_POINTER,  /* a pointer: dtype (void: record, or without one to anything) */
} lw_sig_kind;

typedef struct lw_sig_type {
    lw_sig_kind kind;
    lw_dtype dtype;
    uint32_t ndim;
    char layout;   /* 'C' [:, ::1], 'F' [::1, :], 'A' [:, :] */
    bool readonly; /* ARRAY: the function does not write to it, and read-only arrays fit, too */
    uint32_t n;
    const struct lw_sig_type *items;
    const char *const *names; /* names of the items and class_name of a namedtuple, or NULL */
    const char *class_name;
    const struct lw_arg_record *record; /* named_records.h */
    uint32_t col;                       /* its position in the text, in bytes */
} lw_sig_type;

typedef struct lw_signature {
    lw_sig_type result; /* NONE: inferred; TUPLE: several outputs */
    uint32_t n_args;
    const lw_sig_type *args;
    const char *text; /* as the user wrote it */
    uint32_t given;   /* position in the user's list */
} lw_signature;

typedef LW_ARRAY(lw_signature) lw_signature_list;

/* Parse one signature of any of the three forms. A failure is LW_ERR_SIGNATURE with E180 or
 * E183: the text, a caret below the error, and a hint; err->col is the column in `text` (UTF-8
 * bytes). */
lw_status lw_signature_parse(const char *text, lw_arena *arena, lw_signature *out,
                             lw_error *err);
/* A signature with optional arguments means several without them: removes an optional argument
 * from *signature, which has the type itself then, and writes the same with `none` to *none.
 * *found: whether there was one. */
lw_status lw_signature_split(lw_signature *signature, lw_arena *arena, lw_signature *none,
                             bool *found, lw_error *err);
/* Parse one type, "float32[:, ::1]". */
lw_status lw_signature_parse_type(const char *text, lw_arena *arena, lw_sig_type *out,
                                  lw_error *err);
/* Refuse what @vectorize cannot take (E183): array and tuple arguments, void, and results that
 * are neither scalars nor flat tuples of scalars. */
lw_status lw_signature_check_scalar(const lw_signature *signature, lw_error *err);
/* Refuse what a function in another language cannot have (E183): a result that is neither
 * scalar nor void, tuples, 16-bit floats; with C's own convention (c_abi) also arrays and
 * complex numbers. */
lw_status lw_signature_check_device(const lw_signature *signature, bool c_abi, lw_error *err);
/* Refuse a signature with a result for a kernel, which returns nothing (E183). */
lw_status lw_signature_check_kernel(const lw_signature *signature, lw_error *err);
/* Sort from narrow to wide: stable, lexicographic by the ranks of the argument types. Then
 * refuse duplicates and different numbers of arguments (E182, which names both signatures). */
lw_status lw_signatures_sort(lw_signature *signatures, uint32_t n, bool keep_order,
                             lw_error *err);
/* The number of outputs: 0 for void or not yet known, the length of a tuple, else 1. */
uint32_t lw_signature_n_out(const lw_signature *signature);
/* A scalar type by any spelling that a signature may use ("intp", "single", "uchar", "f4");
 * void: it names none. */
lw_dtype lw_scalar_from_name(const char *name, size_t n_bytes);
bool lw_sig_type_same(const lw_sig_type *x, const lw_sig_type *y);
void lw_sig_type_print(const lw_sig_type *type, lw_text *out);
/* "float32(float32, int32)": canonical spelling. */
void lw_signature_print(const lw_signature *signature, lw_text *out);

#endif
