/* What the files of parallel loops share: parallel.c, which finds and replaces them,
 * parallel_values.c, parallel_stores.c, parallel_updates.c, dependence.c and own_place.c, which
 * analyse them, and parallel_body.c, which writes the functions for their parts. */
#ifndef LW_OPT_LOOPS_PARALLEL_INTERNAL_H
#define LW_OPT_LOOPS_PARALLEL_INTERNAL_H

#include "core/ir/build.h"
#include "core/opt/loops/called.h"
#include "core/opt/loops/carried.h"
#include "core/opt/loops/parallel.h"

/* What becomes of a value, a slot or memory that the iterations use. */
typedef enum lw_part_use {
    LW_PART_OWN = 0, /* it is made in the iteration, or not used there */
    LW_PART_GIVEN,   /* its value before the loop */
    LW_PART_MADE,    /* each part makes it: constants, private memory and variables */
    LW_PART_LAST,    /* a variable: the last iteration that sets it decides */
    LW_PART_TOTAL    /* a variable: a reduction */
} lw_part_use;

/* `counts[x[i]] += 1` and `counts[i % 4] += 1`, whose place other iterations may update too, is
 * one atomic operation. */
typedef enum lw_part_atomic {
    LW_ATOMIC_NOT = 0,
    LW_ATOMIC_PART, /* the load or the sum, which the operation makes */
    LW_ATOMIC_STORE /* the store, in whose place it stands */
} lw_part_atomic;

/* What a value of an iteration depends on. PLACES: on where arrays are; a condition that does
 * asks whether they overlap, which tells iterations apart as little as anything outside. INNER:
 * on a variable that a loop in the iteration assigns. */
enum { LW_ON_COUNTER = 1, LW_ON_MEMORY = 2, LW_ON_PLACES = 4, LW_ON_INNER = 8 };

/* Where an element is: in memory from before the loop, in memory that the iteration has made,
 * or in either, as where a function that the iteration calls returns the array. */
typedef enum lw_part_memory { LW_SHARED_MEMORY, LW_OWN_MEMORY, LW_SOME_MEMORY } lw_part_memory;

typedef struct lw_parallel_loop {
    lw_spreader s; /* func and regions alone: what the analyses of carried.c look at */
    lw_spread_loop l;
    lw_ref number; /* the GET of the iteration's number */
    lw_module *module;
    lw_called *called;
    uint8_t *use;             /* by value: lw_part_use */
    lw_associative *combines; /* by slot that is a TOTAL */
    uint8_t *sums;            /* by value: it adds to, or multiplies, a TOTAL that is a float */
    uint8_t *atomics;         /* by value: lw_part_atomic */
    uint32_t *place;          /* by value: GIVEN: its number in the frame; LAST, TOTAL: in the
                                 record */
    uint32_t n_frame;
    uint32_t n_record; /* words of the record: the function's results first, where it returns */
    bool returns;      /* some iteration may end the function: it raises */
    bool heavy;        /* an iteration has a loop or a call, and may be a part of its own */
    bool vectorizes;   /* iterations are free of dependences through memory, too */
    bool prints;
    bool elements; /* of an array expression: each iteration stores elements of its own */
} lw_parallel_loop;

enum { LW_PARALLEL_PARTS = 256 }; /* the most; also the most records on the stack */

/* Adds the function for a part; its number is *part. */
lw_status lw_parallel_part(lw_parallel_loop *p, uint32_t *part, lw_error *err);
/* Emits the call in place of the loop. to: by value of the function, its copy. */
void lw_parallel_call(lw_parallel_loop *p, lw_builder *b, uint32_t part, lw_ref *to);

static inline bool
lw_parallel_is_inside(const lw_parallel_loop *p, uint32_t at)
{
    return at >= p->l.first && at < p->l.latch;
}

/* ---- parallel_values.c ---- */

/* Whether an instruction outside of the loop uses the value or slot. */
bool lw_parallel_is_used_outside(const lw_parallel_loop *p, lw_ref ref);
/* Decide what becomes of the values, and of the variables, that the iteration uses. *culprit:
 * the instruction that is at fault. */
lw_parallel_fault lw_parallel_take_values(lw_parallel_loop *p, uint32_t *culprit);
lw_parallel_fault lw_parallel_take_variables(lw_parallel_loop *p, uint32_t *culprit);

/* ---- parallel_stores.c ---- */

/* Finds stores to one place by all iterations, and whether LLVM may take iterations as
 * independent in memory: it may not where the index comes from memory, as in `hist[b[i]] += 1`,
 * or where iterations have it in common, as in `hist[i % 8] += 1`; both become atomic
 * operations. */
lw_parallel_fault lw_parallel_check_stores(lw_parallel_loop *p, uint32_t *culprit);

/* ---- parallel_updates.c ---- */

/* The integer from which the value is a CAST that has no other use; else the value itself. */
lw_ref lw_parallel_uncast(const lw_parallel_loop *p, lw_ref value);
/* In which memory an address is. */
lw_part_memory lw_parallel_memory(const lw_parallel_loop *p, lw_ref address);
/* Makes the update that ends in this store an atomic one, if it is one and needs that. false:
 * its elements are too narrow. */
bool lw_parallel_take_update(lw_parallel_loop *p, uint32_t store);

/* ---- dependence.c and own_place.c. on: by value, the LW_ON_ of it. ---- */

/* Whether this calls get_thread_id(), whose result differs in iterations that run at the same
 * time. */
bool lw_parallel_is_thread_id(const lw_parallel_loop *p, const lw_inst *inst);
/* Whether two values are computed in the same way from the same ones, loads included. */
bool lw_parallel_same(const lw_parallel_loop *p, lw_ref x, lw_ref y);

/* Whether an iteration stores what another, a constant number of iterations away, loads or
 * stores. *culprit: the load or store. */
bool lw_parallel_depends(lw_parallel_loop *p, const uint8_t *on, uint32_t *culprit);
/* Whether the STORE's address is known to be another one in each iteration, by its form: the
 * index is a constant times the iteration's number, and what all iterations share; or an index
 * of one axis is, or those of several tell the number. */
bool lw_parallel_is_own_place(const lw_parallel_loop *p, const uint8_t *on, uint32_t store);
/* Whether the index of one axis of the STORE's address is a constant times the iteration's
 * number and what all iterations share, whatever those of others are. */
bool lw_parallel_has_own_axis(const lw_parallel_loop *p, const uint8_t *on, uint32_t store);
/* Whether several iterations may reach this STORE with one address. */
bool lw_parallel_is_shared_place(const lw_parallel_loop *p, const uint8_t *on, uint32_t store);
/* Whether the STORE writes to such a place what is computed from, or decided by, the element
 * that was there. */
bool lw_parallel_collects(const lw_parallel_loop *p, const uint8_t *on, uint32_t store);

#endif
