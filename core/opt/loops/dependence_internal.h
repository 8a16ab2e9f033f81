/* Indices and places of the accesses of a prange loop: what index_sum.c, index_division.c and
 * own_place.c find out, for each other and for dependence.c. */
#ifndef LW_OPT_LOOPS_DEPENDENCE_INTERNAL_H
#define LW_OPT_LOOPS_DEPENDENCE_INTERNAL_H

#include "core/opt/loops/parallel_internal.h"

enum {
    LW_INDEX_TERMS = 12,
    LW_INDEX_FACTORS = 8, /* an index for each dimension, and the extents behind it */
    LW_INDEX_DEPTH = 16,  /* operands of operands that are looked at */
    LW_INDEX_MOST_SCALE = 1 << 30
};

typedef struct lw_index_term {
    int64_t scale;
    uint32_t n;
    lw_ref factors[LW_INDEX_FACTORS];
} lw_index_term;

/* by_hand: the program has multiplied by a number that may be zero, and not only by extents. */
typedef struct lw_index_sum {
    uint32_t n;
    lw_index_term terms[LW_INDEX_TERMS];
    bool by_hand;
} lw_index_sum;

/* An element of an array that an iteration loads or stores. */
typedef struct lw_place {
    uint32_t at; /* the LOAD or STORE */
    lw_ref root;
    lw_index_sum offset;
} lw_place;

/* `a // b` or `a % b`. b of constants that are powers of two is their exponent. floors: the
 * quotient is rounded down, and the remainder has the sign of b, as in Python; else towards 0,
 * as in np.fmod. */
typedef struct lw_index_division {
    bool is_remainder, is_shift, floors;
    lw_ref a, b;
    int64_t bits;
} lw_index_division;

static inline const lw_inst *
lw_loop_inst(const lw_parallel_loop *p, lw_ref ref)
{
    return &p->s.func->insts.data[ref];
}

static inline bool
lw_loop_is_counter(const lw_parallel_loop *p, lw_ref ref)
{
    return lw_loop_inst(p, ref)->op == LW_OP_GET && lw_loop_inst(p, ref)->a == p->l.counter;
}

static inline bool
lw_loop_is_zero(const lw_parallel_loop *p, lw_ref value)
{
    const lw_inst *inst = lw_loop_inst(p, value);

    return inst->op == LW_OP_CONST && p->s.func->constants.data[inst->a].bits == 0;
}

/* ---- index_sum.c ---- */

/* The integer as a sum; false: it has too many terms or factors, or is no integer. */
bool lw_index_sum_of(const lw_parallel_loop *p, lw_ref value, lw_index_sum *out);
bool lw_index_same_factors(const lw_parallel_loop *p, const lw_index_term *x,
                           const lw_index_term *y);
/* Adds scale times the term, or the sum; false: there is no room, or the numbers grow too
 * large. */
bool lw_index_add_term(const lw_parallel_loop *p, lw_index_sum *s, const lw_index_term *more,
                       int64_t scale);
bool lw_index_add(const lw_parallel_loop *p, lw_index_sum *s, const lw_index_sum *more,
                  int64_t scale);
bool lw_index_multiply(const lw_parallel_loop *p, const lw_index_sum *x, const lw_index_sum *y,
                       lw_index_sum *out);
/* Whether the CAST keeps the numbers that indices have: np.uint8(i) does not. */
bool lw_index_is_wide_cast(const lw_parallel_loop *p, const lw_inst *inst);
/* What one iteration adds to the sum; false: it is not the same for all. */
bool lw_index_step(const lw_parallel_loop *p, const lw_index_sum *s, lw_index_sum *step);

/* ---- index_division.c ---- */

bool lw_index_division_of(const lw_parallel_loop *p, lw_ref value, lw_index_division *out);
/* Whether they are the two results of one division. */
bool lw_index_is_pair(const lw_parallel_loop *p, const lw_index_division *x,
                      const lw_index_division *y);
/* Whether these are k // (b * c) and (k // c) % b, which tell k // c. */
bool lw_index_is_pair_of_axes(const lw_parallel_loop *p, const lw_index_division *x,
                              const lw_index_division *y);
/* The divisor as a sum; false: it is no sum. */
bool lw_index_divisor(const lw_parallel_loop *p, const lw_index_division *d, lw_index_sum *out);
/* A positive constant divisor; 0: it is none. */
int64_t lw_index_constant_divisor(const lw_parallel_loop *p, const lw_index_division *d);

/* ---- own_place.c ---- */

/* false: it is no such sum, or of an array that depends on the iteration. */
bool lw_place_of_access(const lw_parallel_loop *p, const uint8_t *on, uint32_t at,
                        lw_place *out);
/* Whether a factor depends on the iteration's number, and is not the number itself. */
bool lw_index_has_derived(const lw_parallel_loop *p, const uint8_t *on, const lw_index_term *t);
/* Whether the value grows by a constant from each iteration to the next: *step. */
bool lw_index_counts_iterations(const lw_parallel_loop *p, const uint8_t *on, lw_ref value,
                                int64_t *step);
/* Whether no loop in the iteration counts in the index: blocks of elements that such a loop
 * walks over are mostly apart. */
bool lw_place_is_settled(const lw_parallel_loop *p, const uint8_t *on, lw_ref address);
/* Whether such blocks overlap for certain, as in `x[i + k] *= 2`. */
bool lw_place_overlaps(const lw_parallel_loop *p, const uint8_t *on, uint32_t store);
/* Whether the index of an axis is get_thread_id(): then no other thread has the element. */
bool lw_place_is_of_thread(const lw_parallel_loop *p, const uint8_t *on, uint32_t store);

#endif
