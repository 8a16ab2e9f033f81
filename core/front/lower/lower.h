/* Typed tree -> IR. The user's function becomes the internal function `lw_body` with one scalar
 * parameter per part (complex: two) and one result per part of each output. */
#ifndef LW_FRONT_LOWER_H
#define LW_FRONT_LOWER_H

#include "core/front/typed.h"
#include "core/ir/build.h"

/* A message that a kernel can raise: what a nonzero status means. */
typedef struct lw_raise_row {
    const char *exception; /* Python class name */
    const char *message;   /* constant; or, where it shows numbers, … */
    uint64_t format;       /* … this lw_format (core/ir/format.h) of the words; 0: constant */
    const char *function, *file;
    uint32_t line;
} lw_raise_row;

/* How an argument of the user's function arrives: which parameters of lw_body it is. The parts
 * of an array follow its type (core/front/types.h): address, extents, strides. */
typedef struct lw_arg_parts {
    uint32_t first, n; /* parameters of the body; n 0: known at compile time */
    uint32_t n_arrays; /* arrays and records in it (a tuple may hold several), in order … */
    const uint32_t *addresses; /* … the parameter that holds each one's address */
    const bool *written;       /* whether the function may write through it */
} lw_arg_parts;

typedef struct lw_scalar {
    lw_module *module;
    uint32_t body; /* function number of the scalar function */
    uint32_t n_in, n_out;
    const lw_dtype *in, *out; /* public dtypes (complex stays c64 / c128); in module's arena;
                                 of kernels: see args */
    bool can_raise; /* then result 0 of the function is an i32 status: 0 or raises index + 1 */
    uint32_t
        n_raise_words; /* then so many results behind the status are what it carries (u64) */
    uint32_t n_raises;
    const lw_raise_row *raises;
    uint32_t n_args; /* parameters of the Python function */
    const lw_arg_parts *args;
    bool pure_integer;   /* no float operation anywhere: no FP flags can be raised */
    const char *warning; /* W203, for the user; NULL: none */
} lw_scalar;

/* out_types: what the signature wants the results to be, or NULL: as inferred (weak int -> i64,
 * weak float -> f64). Contraction is already done. */
lw_status lw_lower(const lw_typed *typed, const lw_dtype *out_types, uint32_t n_out,
                   lw_scalar **out, lw_error *err);
void lw_scalar_free(lw_scalar *scalar);

/* The conversion of one value, as in docs/typing.md; shared with the doors.
 * Complex values are two refs. */
void lw_lower_cast(lw_builder *b, lw_dtype from, const lw_ref *parts, lw_dtype to,
                   lw_ref *out_parts);

#endif
