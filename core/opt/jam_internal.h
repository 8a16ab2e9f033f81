/* What the parts of the pass share: the loops that were found, and what is known of values. */
#ifndef LW_OPT_JAM_INTERNAL_H
#define LW_OPT_JAM_INTERNAL_H

#include "core/ir/build.h"
#include "core/ir/facts.h"
#include "core/opt/counted.h"

#include <assert.h>

enum { LW_JAM = 4, LW_JAM_LOOPS = 4, LW_JAM_PAIRS = 8, LW_JAM_PLACES = 4, LW_JAM_DEPTH = 8 };

/* How a value in the body of the outer loop depends on its counter and those of loops in it. */
typedef enum lw_jam_value {
    LW_JAM_INVARIANT,
    LW_JAM_OUTER,  /* affine in the counter of the outer loop */
    LW_JAM_AFFINE, /* in it and in those of inner loops: the extremes of addresses are at the
                      first and the last iterations */
    LW_JAM_OTHER
} lw_jam_value;

/* Two accesses that change places, in different iterations; whether they may meet has to be
 * checked when the loop starts. */
typedef struct lw_jam_pair {
    lw_ref one, store;
} lw_jam_pair;

/* An element that one iteration alone reads and writes, such as y[i] of `y[i] += …`: all
 * accesses of this array have one address. */
typedef struct lw_jam_place {
    lw_ref root, first; /* first: the first access in the body */
    uint32_t bytes;
    bool needed; /* the head uses it */
    bool kept;   /* and stores to it: a variable has its value until the split */
    lw_ref variables[LW_JAM];
} lw_jam_place;

/* An outer loop that is jammed. Its body up to `split` consists of straight code and of the
 * loops of `inner`; the stores but to kept places are behind it, where iterations are executed
 * one after the other. */
typedef struct lw_jam_nest {
    lw_counted_loop outer, inner[LW_JAM_LOOPS];
    uint32_t n_inner, split, n_pairs, n_places;
    lw_jam_pair pairs[LW_JAM_PAIRS];
    lw_jam_place places[LW_JAM_PLACES];
} lw_jam_nest;

typedef struct lw_jammer {
    lw_builder b;
    lw_module *module;
    uint32_t func;
    lw_func old; /* the function as it was */
    lw_ir_regions regions;
    uint8_t *kinds;   /* lw_jam_value, by instruction of the outer loop at hand */
    uint8_t *place;   /* by LOAD and STORE: the number of its place + 1; 0: it has none */
    lw_ref *to;       /* by old number: the new one */
    lw_ref *copies;   /* the same for each iteration that runs together */
    lw_ref *corner;   /* the same for values at one end of the loops */
    bool *is_private; /* by slot: has a copy for each of these iterations */
    bool inlined; /* calls in loops are inlined: such loops are jammed for long rows alone */
    uint32_t n_jammed;
} lw_jammer;

/* An instruction of the function as it was. */
static inline const lw_inst *
lw_jam_inst(const lw_jammer *j, uint32_t at)
{
    assert(at < j->old.insts.n);
    return &j->old.insts.data[at];
}

/* core/opt/jam_facts.c */
/* Fills `kinds` for this loop. */
void lw_jam_kinds(lw_jammer *j, const lw_counted_loop *outer);
/* Whether a function of at most this many instructions only computes its results from its
 * parameters, as do those that it calls. */
bool lw_jam_is_pure(const lw_module *module, uint32_t func, uint32_t most);
/* Whether the instruction only computes and loads, with variables and IFs; `most`: as above. */
bool lw_jam_may_be_in_head(const lw_jammer *j, const lw_inst *inst, uint32_t most);
/* Whether the loop at this instruction is jammed, and how; fills kinds and is_private. */
bool lw_jam_nest_of(lw_jammer *j, uint32_t at, lw_jam_nest *nest);

/* core/opt/jam_places.c: finds the places; and then, with the split, those that are kept. */
void lw_jam_places(lw_jammer *j, lw_jam_nest *nest);
bool lw_jam_keep_places(lw_jammer *j, lw_jam_nest *nest);
/* The LOAD or STORE's place; NULL: it has none. */
const lw_jam_place *lw_jam_place_of(const lw_jammer *j, const lw_jam_nest *nest, uint32_t at);
/* Whether the instruction is executed once in each iteration of the loop whose body begins at
 * `first`. */
bool lw_jam_is_always_executed(const lw_jammer *j, uint32_t first, uint32_t at);

/* core/opt/jam_apart.c: the accesses that have to be compared. False: some may meet, and no
 * comparison before the loop can tell. */
bool lw_jam_pairs(const lw_jammer *j, lw_jam_nest *nest);
/* Emits the comparison: a bool that is true where no pairs meet, and the places of two
 * iterations do not either. */
lw_ref lw_jam_check(lw_jammer *j, const lw_jam_nest *nest);

#endif
