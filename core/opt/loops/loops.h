/* What a loop does, as far as a block that shares its iterations has to know. The analyses
 * (spread.c, carried.c, pick.c, search.c) fill it in; the files that write the code
 * (spread_body.c, spread_scan.c) read it. */
#ifndef LW_OPT_LOOPS_LOOPS_H
#define LW_OPT_LOOPS_LOOPS_H

#include "core/ir/facts.h"
#include "core/block/scan.h"
#include "core/opt/loops/spread.h"

enum {
    LW_MOST_LOOPS = 32,
    LW_MOST_CARRIED = 16,
    LW_SHORT_ITERATION = 64, /* instructions */
    LW_NARROW = 4,           /* bytes of a value of which registers hold many */
    LW_MOST_PICKS = 8,
    LW_MOST_SHIFTS = 6,
    LW_MOST_GUARDS = 16
};

/* What becomes of a variable that each iteration computes from its value in the one before. */
typedef enum lw_carry {
    LW_CARRY_TOTAL, /* the loop reads it only to update it: each thread makes a partial total */
    LW_CARRY_COUNT, /* an integer that grows by `by`, the same in all iterations */
    LW_CARRY_SCAN,  /* iterations read it: what they add is scanned */
    LW_CARRY_FOUND, /* of a search: only the iteration that ends the loop sets it */
    LW_CARRY_PICKED /* set by the one iteration that its pick selects, or by none */
} lw_carry;

typedef struct lw_carried {
    lw_ref slot;
    lw_carry how;
    lw_associative combine;
    lw_ref by;     /* COUNT */
    bool minus;    /* COUNT: by -by */
    uint32_t pick; /* PICKED */
    bool affine;   /* SCAN: of a linear recurrence (affine.h) */
    /* while the loop is written: its value before the loop; SCAN: the slot of that */
    lw_ref before;
    lw_ref factor; /* affine: the slot of the factor of a thread's iteration */
} lw_carried;

/* Which of the iterations that set a variable is the one whose values stay. */
typedef struct lw_pick {
    /* The slot of the value that decides; 0: the last iteration's values stay. Each thread
     * compares with its own best so far, which starts as the value from before the loop. */
    lw_ref best;
    /* `best` holds an index, and the value that decides is what this LOAD finds there; or 0 */
    lw_ref place;
    lw_preference prefers;
    lw_ref has; /* a bool that says whether there is a best yet; 0: none */
    /* the first iteration's values stay whatever they are (NaN, say): all threads run it, and
     * start from its result */
    bool first;
    lw_ref leader; /* an iteration that sets this slot is such an iteration */
    /* while the loop is written: the slot of the thread's iteration; -1: it has none */
    lw_ref iteration;
} lw_pick;

/* An index: the counter times `step`, which is not 0, plus values that are the same in all
 * iterations. */
typedef struct lw_shift {
    int64_t step;
    uint32_t n;
    struct {
        lw_ref value;
        bool minus;
    } terms[LW_MOST_SHIFTS];
} lw_shift;

/* An outermost loop: LOOP … LATCH … END. */
typedef struct lw_spread_loop {
    uint32_t at, latch, end;
    uint32_t first; /* first instruction of an iteration */
    lw_ref counter; /* its slot; counts from 0 by 1 */
    lw_ref limit;
    bool stores;
    bool continues; /* some CONTINUE ends an iteration */
    bool scans;     /* some carried variable is SCAN */
    /* Iterations do nothing but decide whether they end the loop, by BREAK or RETURN: the first
     * one that does is found, and then run again by all threads. */
    bool searches;
    uint32_t n_carried;
    lw_carried carried[LW_MOST_CARRIED];
    uint32_t n_picks;
    lw_pick picks[LW_MOST_PICKS];
    uint32_t n_guards; /* where one of these is negative, the loop cannot be spread */
    lw_shift guards[LW_MOST_GUARDS];
} lw_spread_loop;

typedef struct lw_spreader {
    const lw_spread_source *of;
    lw_arena arena;
    const lw_func *func; /* the body, as lw_plain_body rewrites it */
    lw_ir_regions regions;
    /* by instruction of an iteration, where it scans: whether it depends on a loop-carried
     * variable, or on something else that is not known before the scan, and so waits for the
     * second walk */
    uint8_t *waits;
    /* by instruction: for one analysis at a time, which goes through an iteration once */
    uint8_t *marks;
    bool takes_narrow; /* integers of 8 and 16 bits may be carried, too */
    uint32_t n_loops;
    lw_spread_loop loops[LW_MOST_LOOPS];
    uint32_t blocked; /* the LOOP that cannot be spread, or the IF that contains it */
    uint32_t culprit; /* the instruction that prevents it */
    const char *why;  /* what the culprit does, to follow its line in a message */
} lw_spreader;

/* Fills a cleared spreader; false: the body cannot be spread, or memory ran out. */
bool lw_spreader_find(lw_spreader *s, const lw_spread_source *of);
void lw_spreader_free(lw_spreader *s);

/* Fills in the places, the counter and the limit of the loop at a LOOP; false: it does not
 * count from 0 by 1 to a limit. */
bool lw_spread_loop_at(const lw_spreader *s, uint32_t at, lw_spread_loop *l);

/* How many BLOCKs and LOOPs of the iteration enclose instruction `at`. */
uint32_t lw_loops_around(const lw_spreader *s, const lw_spread_loop *l, uint32_t at);
/* Whether this instruction of an iteration ends the loop. */
bool lw_ends_loop(const lw_spreader *s, const lw_spread_loop *l, uint32_t at);

/* Whether all threads run the first iteration, and share the others. */
static inline bool
lw_picks_start_together(const lw_spread_loop *l)
{
    for (uint32_t i = 0; i < l->n_picks; i++)
        if (l->picks[i].first)
            return true;
    return false;
}

static inline const lw_inst *
lw_inst_at(const lw_spreader *s, lw_ref ref)
{
    return &s->func->insts.data[ref];
}

/* Whether a branch or an inner loop of the iteration encloses instruction `at`. */
static inline bool
lw_is_in_branch(const lw_spreader *s, const lw_spread_loop *l, uint32_t at)
{
    for (uint32_t i = l->first; i < at; i++)
        if (s->regions.ends[i] > at)
            return true;
    return false;
}

/* Whether variables of the type can be scanned, apart from bools. */
static inline bool
lw_is_number_type(lw_dtype type)
{
    return lw_is_float(type) || (lw_is_integer(type) && lw_dtypes[type].size_bytes >= 4);
}

/* Whether the value is the same in all iterations and available before the loop, or
 * anywhere. */
static inline bool
lw_is_fixed(const lw_spreader *s, const lw_spread_loop *l, lw_ref ref)
{
    lw_op op = (lw_op)lw_inst_at(s, ref)->op;

    return ref < l->at || op == LW_OP_CONST || op == LW_OP_PARAM;
}

#endif
