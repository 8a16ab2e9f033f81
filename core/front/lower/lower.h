/* Typed tree -> IR. The user's function becomes the internal function `lw_body` with one scalar
 * parameter per part (complex: two) and one result per part of each output. */
#ifndef LW_FRONT_LOWER_H
#define LW_FRONT_LOWER_H

#include "core/front/link_asks.h"
#include "core/front/typed.h"
#include "core/ir/build.h"

/* An argument that `raise` gives to a class of the user's, or a tuple or list of the n rows
 * that follow. Numbers of an argument are the next words of the exception. */
typedef struct lw_raise_arg {
    enum { LW_RAISE_TEXT, LW_RAISE_NUMBER, LW_RAISE_NONE, LW_RAISE_TUPLE, LW_RAISE_LIST } kind;
    uint32_t n;
    uint64_t format;  /* TEXT; NUMBER: of one value, or of the digits of a wide integer */
    const char *name; /* of a keyword, or NULL */
} lw_raise_arg;

/* An exception that a kernel can raise: the meaning of a nonzero status. */
typedef struct lw_raise_row {
    const char *exception; /* Python class name */
    const char *message;   /* constant; or, if it contains numbers, … */
    uint64_t format;       /* … this lw_format (core/ir/format.h) of the words; 0: constant */
    const lw_raise_arg *args; /* in the place of both, of classes of the user's */
    uint32_t n_args;
    const char *function, *file;
    uint32_t line;
} lw_raise_row;

/* How an argument of the user's function is passed: the parameters of lw_body that hold it. The
 * parts of an array follow from its type (core/front/types.h): address, extents, strides. */
typedef struct lw_arg_parts {
    uint32_t first, n;         /* parameters of the body; n 0: known at compile time */
    uint32_t n_arrays;         /* of arrays and records in it, in order … */
    const uint32_t *addresses; /* … the parameter that holds the address of each */
    const bool *written;       /* whether the function may write through it */
    bool pointer;              /* the caller has the address alone (lw_arg_spec) */
    uint32_t item_bytes;       /* of what is there */
} lw_arg_parts;

/* A result that is an array: its parts (core/front/types.h) stand in its place. */
typedef struct lw_array_result {
    bool is_array; /* else it is a number */
    bool readonly, owned;
    bool is_item; /* a record: the only element of an array without dimensions */
    uint8_t ndim;
    const struct lw_arg_record *record; /* what its elements are; NULL: numbers */
    const int64_t *shape; /* in the order C, in the module's arena: the address is its only
                             part; NULL: extents and strides are parts, too */
} lw_array_result;

/* How the outputs make up the result of the user's function. */
typedef struct lw_result {
    enum {
        LW_FORM_NUMBER, /* the next output, which may be an array */
        LW_FORM_MEMBER, /* the next output is its number in `members` */
        LW_FORM_TEXT, /* a string: `text`, or, if that is NULL, that of the number that the next
                         output is (core/ir/format.h) */
        LW_FORM_NONE,
        LW_FORM_TUPLE,
        LW_FORM_OPTIONAL /* of two items, whether there is a value, and the value; else None */
    } kind;
    uint32_t n; /* TUPLE, OPTIONAL: items; names: of an object's fields */
    const struct lw_result *items;
    const char *const *names;
    const lw_class *user_class; /* of the tree; NULL: a plain tuple */
    const lw_enum *members;     /* likewise */
    const lw_enum *numbers;     /* NUMBER: the class whose member it is, likewise; or NULL */
    const char *text;           /* TEXT */
} lw_result;

/* Whether an output is its value. */
static inline bool
lw_result_has_output(const lw_result *form)
{
    return form->kind == LW_FORM_NUMBER || form->kind == LW_FORM_MEMBER ||
           (form->kind == LW_FORM_TEXT && form->text == NULL);
}

typedef struct lw_scalar {
    lw_module *module;
    uint32_t body; /* function number of the scalar function */
    uint32_t n_in, n_out;
    const lw_dtype *in, *out;      /* public dtypes (complex stays c64 / c128), in the module's
                                      arena; for kernels see args; of an array: of its elements */
    const lw_array_result *arrays; /* by result; NULL: all are numbers */
    uint32_t n_out_parts;          /* of all results */
    const lw_result *result;
    uint32_t n_changed; /* the result is then a tuple of the function's result and of the … */
    const uint32_t *changed; /* … objects that it has changed: these parameters */
    uint32_t result_param;   /* from 1: the one that is the function's result; 0: none is */
    bool never_returns;      /* each path raises */
    bool can_raise; /* result 0 of the function is then an i32 status: 0 or raises index + 1 */
    uint32_t n_raise_words; /* so many results after the status are the numbers that it carries
                               (u64) */
    uint32_t n_raises;
    const lw_raise_row *raises;
    uint32_t n_args; /* one for each parameter of the Python function */
    const lw_arg_parts *args;
    bool pure_integer;   /* it contains no float operation: no FP flags can be raised */
    const char *warning; /* W203, shown to the user; NULL: none */
    const char *unbound; /* W205 or W207, the same */
    lw_link_asks asks;   /* which callables are asked for code to link */
} lw_scalar;

/* out_types: the result types of the signature, or NULL: as inferred (weak int -> i64, weak
 * float -> f64). Contraction is already done. */
lw_status lw_lower(const lw_typed *typed, const lw_dtype *out_types, uint32_t n_out,
                   lw_scalar **out, lw_error *err);
void lw_scalar_free(lw_scalar *scalar);

/* The conversion of one value as docs/typing.md defines it, which doors use, too. Complex
 * values are two refs. */
void lw_lower_cast(lw_builder *b, lw_dtype from, const lw_ref *parts, lw_dtype to,
                   lw_ref *out_parts);

#endif
