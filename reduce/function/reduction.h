/* A reduction, typed and lowered for operands of given dtypes: map makes an accumulator of one
 * element, combine one of two, finish the results of the last one. Pure C.
 *
 * An accumulator is k numbers, as they stand in a number, a tuple or a record, which may be
 * nested. A record comes by value, as a tuple whose items have names: its numbers are operands
 * of their own, with strides of their own. The accumulator's types are the fixed point of what
 * combine gives for what map gives, joined element by element as a variable's types are;
 * half-precision numbers are kept in float32 meanwhile. */
#ifndef LW_REDUCE_FUNCTION_REDUCTION_H
#define LW_REDUCE_FUNCTION_REDUCTION_H

#include "core/front/lower/lower.h"
#include "reduce/function/form.h"

/* Whether a value of this dtype is two numbers (complex), and where the second one lies. */
static inline int
lw_reduce_parts(lw_dtype dtype)
{
    return lw_is_complex(dtype) ? 2 : 1;
}

typedef struct lw_reduce_item { /* one number, as in memory */
    _Alignas(16) uint8_t bytes[16];
} lw_reduce_item;

/* What the user wrote. Trees are borrowed. */
typedef struct lw_reduce_source {
    const lw_tree *map, *combine, *finish; /* map, finish: NULL where there is none */
    const lw_front_options *options;
    int commutative; /* 0, 1; -1: as combine shows itself */
    lw_text *types;  /* out: the typed trees as text, or NULL */
    /* Dtypes of what stands in identity=, number by number, a record as one: void, which says
     * nothing. */
    lw_dtype said[LW_REDUCE_MOST];
} lw_reduce_source;

/* An array of a call. */
typedef struct lw_reduce_operand {
    lw_dtype dtype;              /* void: … */
    const lw_arg_record *record; /* … of these records (interned), else NULL */
} lw_reduce_operand;

enum { LW_REDUCE_FUNCTIONS = 3 }; /* map, combine, finish */

typedef struct lw_reduction {
    uint32_t n_arrays; /* of a call: each is one parameter of map */
    lw_reduce_operand array[LW_REDUCE_MOST];
    uint32_t n_in;                     /* operands: arrays, and for records their numbers */
    lw_dtype loaded[LW_REDUCE_MOST];   /* as they lie in memory … */
    lw_dtype in[LW_REDUCE_MOST];       /* … and as map (or the accumulator) takes them */
    bool indexed;                      /* map takes the element's index behind them */
    lw_scalar *map, *combine, *finish; /* owned; map, finish: NULL where there is none */
    uint32_t n_acc;                    /* numbers of an accumulator */
    lw_dtype acc[LW_REDUCE_MOST];
    lw_reduce_form acc_form;
    uint32_t n_out;
    lw_dtype out[LW_REDUCE_MOST];
    lw_reduce_form out_form;
    /* The last numbers of an accumulator, and of the results, that carry what a function raised
     * (reduce/function/raised.h); 0: none of them can. The forms are without them. */
    uint32_t n_raised;
    lw_scalar *raising[LW_REDUCE_FUNCTIONS]; /* owned: the user's functions inside the three */
    bool commutative;                        /* elements may change places */
    bool has_identity;                       /* as combine shows itself */
    bool stops;                              /* `and`, `or` of bools: ... */
    bool stop;                               /* ... nothing changes this any more */
    bool exact;                              /* it rounds nothing: any order gives the same */
    bool has_neutral; /* there is what combine gives the other operand with, bit by bit */
    lw_reduce_item identity[LW_REDUCE_MOST]; /* in the accumulator's dtypes */
    lw_reduce_item neutral[LW_REDUCE_MOST];  /* -0 of float sums, infinities of extremes */
} lw_reduction;

/* dtype: what operands are converted to first; void: their own. User diagnostics, LW_ERR_TYPE
 * where the functions do not fit together, LW_ERR_UNSUPPORTED for those that print. */
lw_status lw_reduction_new(const lw_reduce_source *source, const lw_reduce_operand *arrays,
                           uint32_t n, lw_dtype dtype, lw_reduction **out, lw_error *err);
void lw_reduction_free(lw_reduction *self); /* NULL is allowed */
/* The three functions in one module; the numbers of their bodies go to funcs (UINT32_MAX: that
 * one is not there): map, combine, finish. */
lw_status lw_reduction_module(const lw_reduction *self, lw_module **out,
                              uint32_t funcs[LW_REDUCE_FUNCTIONS], lw_error *err);
/* How many results the user's functions give. */
static inline uint32_t
lw_reduce_n_results(const lw_reduction *self)
{
    return self->n_out - self->n_raised;
}
/* Sets commutative, has_identity and identity by what combine's code does. */
void lw_reduce_recognise(lw_reduction *r);
/* Whether scalar `part` of what combine gives is the sum, or the product, of that part of both
 * operands, and nothing else depends on these. */
bool lw_reduce_sums_alone(const lw_scalar *combine, uint32_t part);
/* Whether map names its last parameter `index`. */
bool lw_reduce_is_indexed(const lw_tree *map);

/* What combine is, where it takes one of its operands, whole: that of the larger or smaller
 * value of part `part`, of equal ones the one that comes first. */
typedef enum lw_reduce_extreme_kind {
    LW_REDUCE_NO_EXTREME,
    LW_REDUCE_LARGEST,
    LW_REDUCE_SMALLEST
} lw_reduce_extreme_kind;

typedef struct lw_reduce_extreme {
    lw_reduce_extreme_kind kind;
    uint32_t part;
    bool nan_first; /* NaN counts as better than all; else combine does something else */
} lw_reduce_extreme;

lw_reduce_extreme lw_reduce_extreme_of(const lw_reduction *r);
/* The same of accumulators of one integer. */
lw_reduce_extreme_kind lw_reduce_picks(const lw_reduction *r);

#endif
