/* A reduction, typed and lowered for operands of given dtypes: map makes an accumulator of an
 * element, combine makes one of two, finish makes the results of the last one. Pure C.
 *
 * An accumulator consists of k numbers, structured as a number, a tuple or a record, possibly
 * nested. Records are passed by value, as tuples whose items have names: each number of a
 * record is an operand of its own, with its own strides. The accumulator's types are a fixed
 * point: the types that map gives, joined with those that combine gives for them, until nothing
 * changes. Half-precision numbers are accumulated in float32. */
#ifndef LW_REDUCE_FUNCTION_REDUCTION_H
#define LW_REDUCE_FUNCTION_REDUCTION_H

#include "core/front/lower/lower.h"
#include "core/ir/flags.h"
#include "core/opt/operator.h"
#include "reduce/function/form.h"

typedef struct lw_reduce_item { /* one number, as in memory */
    _Alignas(16) uint8_t bytes[16];
} lw_reduce_item;

/* What is made of the three functions. Dask reduces by blocks: the accumulators of each, then
 * accumulators of several blocks into one, and finish at the end. */
typedef enum lw_reduce_stage {
    LW_REDUCE_WHOLE,
    LW_REDUCE_PARTIAL, /* without finish: results are accumulators, number by number, … */
    LW_REDUCE_MERGE,   /* … and so are the operands; without map */
    LW_REDUCE_FINISH   /* the operands are accumulators, and the results those of the whole */
} lw_reduce_stage;

/* A reduction as the user wrote it. Trees are borrowed. */
typedef struct lw_reduce_source {
    const lw_tree *map, *combine, *finish; /* map and finish may be NULL */
    const lw_front_options *options;
    int commutative; /* 0 or 1 as the user said; -1: find out from combine */
    lw_text *types;  /* out: text of the typed trees; or NULL */
    /* The dtypes of identity=, number by number, where a record counts as one number of dtype
     * void. void: not given. */
    lw_dtype said[LW_REDUCE_MOST];
    lw_reduce_stage stage;
} lw_reduce_source;

/* An array that a call reduces. */
typedef struct lw_reduce_operand {
    lw_dtype dtype;              /* void: its elements are … */
    const lw_arg_record *record; /* … records of this type (interned); else NULL */
} lw_reduce_operand;

enum { LW_REDUCE_FUNCTIONS = 3 }; /* map, combine, finish */

typedef struct lw_reduction {
    uint32_t n_arrays; /* each array of a call is one parameter of map */
    lw_reduce_operand array[LW_REDUCE_MOST];
    uint32_t n_in; /* operands of kernels: arrays or, of records, each of their numbers */
    lw_dtype loaded[LW_REDUCE_MOST];   /* their dtypes in memory … */
    lw_dtype in[LW_REDUCE_MOST];       /* … and as map, or the accumulator, takes them */
    bool indexed;                      /* map takes the element's index behind the operands */
    lw_scalar *map, *combine, *finish; /* owned; map, finish: NULL where there is none */
    uint32_t n_acc;                    /* numbers of an accumulator */
    lw_dtype acc[LW_REDUCE_MOST];
    lw_reduce_form acc_form;
    uint32_t n_out;
    lw_dtype out[LW_REDUCE_MOST];
    lw_reduce_form out_form;
    /* How many of the last numbers of an accumulator, and of the results, carry an exception
     * (reduce/function/raised.h); 0: no function can raise. The forms do not include them. */
    uint32_t n_raised;
    lw_flags_kind flags; /* the floating-point flags of the three functions */
    /* Owned: the user's functions, which the three call. */
    lw_scalar *raising[LW_REDUCE_FUNCTIONS];
    bool commutative;  /* elements may be combined in any order */
    bool has_identity; /* combine has an identity, which its code shows */
    bool stops;        /* combine is `and`, `or`, the minimum or the maximum of bools: … */
    bool stop;         /* … nothing changes this value any more */
    lw_extreme best;  /* what combine is, where it gives the better of its operands and that can
                         be found by a search among the elements; of equal ones the one that
                         comes first */
    bool exact;       /* combine does not round: any order gives the same bits */
    bool has_neutral; /* there is a neutral value: combined with it, any other is unchanged, bit
                         by bit */
    lw_reduce_item identity[LW_REDUCE_MOST]; /* in the accumulator's dtypes */
    lw_reduce_item neutral[LW_REDUCE_MOST];  /* -0 of float sums, infinities of extremes */
} lw_reduction;

/* arrays: at every stage those of which the accumulators are made, which decide the types.
 * dtype: what operands are converted to first; void: they are not. Fails with the user's
 * diagnostics, with LW_ERR_TYPE where the functions do not fit together, and with
 * LW_ERR_UNSUPPORTED if they print. */
lw_status lw_reduction_new(const lw_reduce_source *source, const lw_reduce_operand *arrays,
                           uint32_t n, lw_dtype dtype, lw_reduction **out, lw_error *err);
void lw_reduction_free(lw_reduction *self); /* NULL is allowed */
/* The user's functions (map, combine, finish) as they were lowered; NULL where there is none.
 */
void lw_reduction_functions(const lw_reduction *self,
                            const lw_scalar *out[LW_REDUCE_FUNCTIONS]);
/* Copies the three functions into a new module. funcs: the numbers of map, combine and finish
 * in it; UINT32_MAX where there is none. */
lw_status lw_reduction_module(const lw_reduction *self, lw_module **out,
                              uint32_t funcs[LW_REDUCE_FUNCTIONS], lw_error *err);
/* How many results the user's functions return. */
static inline uint32_t
lw_reduce_n_results(const lw_reduction *self)
{
    return self->n_out - self->n_raised;
}
/* Finds out what combine does, and sets commutative, exact, stops, the identity and the neutral
 * value. */
void lw_reduce_recognise(lw_reduction *r);
/* Whether map names its last parameter `index`. */
bool lw_reduce_is_indexed(const lw_tree *map);

/* Whether combine adds integers of 64 bits, all of which are integers of 16 bits where map
 * makes them of an element: sums of some thousand elements fit into 32 bits. */
bool lw_reduce_adds_small(const lw_reduction *r);

/* Finds out whether the best element can be searched for, and sets best. */
void lw_reduce_recognise_best(lw_reduction *r);
/* The operand whose elements, as they are loaded, are the values that decide which one is the
 * best, or floats of 16 bits that become these; -1: they are made from elements. */
int lw_reduce_deciding_operand(const lw_reduction *r);
/* The same of accumulators of one integer. */
lw_extreme_kind lw_reduce_picks(const lw_reduction *r);

#endif
